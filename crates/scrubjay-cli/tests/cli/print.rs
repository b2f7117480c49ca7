//! Stories of print mode.

use crate::stage::{CANARY, MODEL, Ran, Stage, block, files};
use scrubjay_testkit::simulator::{Script, Simulator, text, tool_use};
use serde_json::json;
use std::io::Write as _;
use std::process::Stdio;

async fn simulator(script: Script) -> Simulator {
    Simulator::start(script).await.unwrap()
}

// spec: U2
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_goes_to_standard_output_and_talk_goes_beside_it() {
    let script = Script::new().reply(tool_use("Read", json!({ "file_path": "a.txt" }))).reply(text("It says hello."));
    let simulator = simulator(script).await;
    let stage = Stage::with(&simulator);
    stage.write("a.txt", "hello\n");
    let ran = stage.run(&["-p", "what does a.txt say?"]).ended_with(0).complained_about(&["● Read"]);
    assert_eq!(ran.out, "It says hello.\n");
    let asked = &simulator.requests()[1];
    assert!(asked.tool_results()[0].1.contains("hello"));
    assert!(asked.tool_names().contains(&"WebFetch".to_owned()));
}

// spec: U2
#[tokio::test(flavor = "multi_thread")]
async fn one_object_says_what_it_took() {
    let simulator = simulator(Script::new().reply(text("Four."))).await;
    let stage = Stage::with(&simulator);
    let result = stage.run(&["-p", "2+2?", "--output-format", "json"]).ended_with(0).json();
    assert_eq!((&result["schema"], &result["result"]), (&json!("scrubjay.result/1"), &json!("Four.")));
    assert_eq!((&result["is_error"], &result["rounds"]), (&json!(false), &json!(1)));
    assert_eq!((&result["stop_reason"], &result["model"]), (&json!("end_turn"), &json!(MODEL)));
    assert!(result["cost_usd"].as_f64().unwrap() > 0.0 && result["usage"]["output"].as_u64().unwrap() > 0);
    assert!(result["tool_version"].is_string() && result["session_id"].is_string());
}

// spec: U2
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_begins_with_init_and_ends_with_the_result() {
    let script = Script::new()
        .reply(text("Let me look. ").and(tool_use("Glob", json!({ "pattern": "*" }))))
        .reply(text("Nothing here."));
    let simulator = simulator(script).await;
    let stage = Stage::with(&simulator);
    let lines = stage.run(&["-p", "look", "--output-format", "stream-json"]).ended_with(0).lines();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("init", "result"));
    let position = |kind: &str| kinds.iter().position(|found| *found == kind).unwrap();
    assert!(position("delta") < position("tool_started") && position("tool_started") < position("tool_finished"));
    assert_eq!(lines[lines.len() - 1]["result"], "Nothing here.");
    assert!(lines.iter().all(|line| line["schema"] == "scrubjay.stream/1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_question_may_be_piped_in_behind_what_was_typed() {
    let simulator = simulator(Script::echo()).await;
    let stage = Stage::with(&simulator);
    let mut child = stage
        .command(&["-p", "--model", MODEL, "explain:"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"let x = \xff 1;\n").unwrap();
    let ran = Ran::from(block(|| child.wait_with_output().unwrap()));
    assert!(
        ran.out.starts_with("explain:\n") && ran.out.contains("<input>\nlet x = \u{fffd} 1;\n</input>"),
        "{}",
        ran.out
    );
    let mut alone =
        stage.command(&["-p", "--model", MODEL]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    alone.stdin.take().unwrap().write_all(b"what is this?\n").unwrap();
    assert_eq!(
        Ran::from(block(|| alone.wait_with_output().unwrap())).out,
        "what is this?\n",
        "alone it is the question"
    );
    stage.run(&["-p"]).ended_with(2).complained_about(&["there is no question"]);
    stage.run(&["-p", " "]).ended_with(2);
}

// spec: Q4
#[tokio::test(flavor = "multi_thread")]
async fn sessions_go_on_by_newest_by_id_and_in_a_copy() {
    let simulator = simulator(Script::new().otherwise(text("Yes."))).await;
    let stage = Stage::with(&simulator);
    let json = ["--output-format", "json"];
    let run = |arguments: &[&str]| stage.run(&[arguments, &json].concat()).ended_with(0).json();
    let first = run(&["-p", "my name is Ada"])["session_id"].as_str().unwrap().to_owned();
    assert_eq!(run(&["-c", "-p", "and more"])["session_id"], first);
    assert_eq!(run(&["--resume", &first[..23], "-p", "again"])["session_id"], first);
    let copy = run(&["-c", "--fork-session", "-p", "only-in-the-copy"])["session_id"].as_str().unwrap().to_owned();
    assert_ne!(copy, first);
    let asked = simulator.last_request().unwrap().all_text();
    assert!(asked.contains("my name is Ada") && asked.contains("again"), "{asked}");
    let original = std::fs::read_to_string(
        stage.transcripts().iter().find(|path| path.ends_with(format!("{first}.jsonl"))).unwrap(),
    )
    .unwrap();
    assert!(!original.contains("only-in-the-copy"));
    let requests = simulator.requests();
    for pair in requests.windows(2) {
        assert_eq!(pair[0].system_text(), pair[1].system_text(), "what requests begin with never changes");
    }
    stage.run(&["--resume", "zzz", "-p", "x"]).ended_with(3).complained_about(&["no session `zzz`"]);
    stage.run(&["--fork-session", "-p", "x"]).ended_with(2).complained_about(&["needs a session to copy"]);
    let list = stage.run(&["--resume", "-p", "x"]).ended_with(2);
    assert!(list.out.contains(&first) && list.err.contains("--resume ID"), "{list:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_allowed_up_front_is_denied_and_says_how_to_allow_it() {
    let script = || Script::new().reply(tool_use("Bash", json!({ "command": "touch made" }))).reply(text("Done."));
    let sim = simulator(script()).await;
    let stage = Stage::with(&sim);
    stage.run(&["-p", "make it"]).ended_with(4).complained_about(&["--allow Bash"]);
    assert!(!stage.project().join("made").exists());
    assert!(sim.last_request().unwrap().tool_results()[0].1.contains("--allow Bash"));
    for allowed in [&["--allow", "Bash(touch *)"][..], &["--permission-mode", "allow-all"]] {
        let sim = simulator(script()).await;
        let stage = Stage::with(&sim);
        stage.run(&[&["-p", "make it"], allowed].concat()).ended_with(0);
        assert!(stage.project().join("made").exists(), "{allowed:?}");
    }
    let sim = simulator(script()).await;
    let stage = Stage::with(&sim);
    stage.run(&["-p", "make it", "--permission-mode", "read-only", "--allow", "Bash"]).ended_with(4);
    assert!(!stage.project().join("made").exists(), "read-only is read-only");
    let sim = simulator(script()).await;
    let stage = Stage::with(&sim);
    stage.write(".scrubjay.toml", "permissions.deny = [\"Bash(touch *)\"]\n");
    stage.run(&["-p", "make it", "--permission-mode", "allow-all"]).ended_with(4);
    assert!(!stage.project().join("made").exists(), "a rule that refuses counts before everything else");
    stage.run(&["-p", "x", "--allow", "Bash("]).ended_with(2).complained_about(&["not a rule"]);
}

// spec: X8
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_is_private_and_holds_no_key() {
    use std::os::unix::fs::PermissionsExt;
    let script = Script::new().reply(tool_use("Read", json!({ "file_path": "a.txt" }))).reply(text("secret answer"));
    let simulator = simulator(script).await;
    let stage = Stage::with(&simulator);
    stage.write("a.txt", &"long line\n".repeat(20_000));
    stage.run(&["-v", "-p", "secret question", "--allow", "Read"]).ended_with(0);
    let kept = files(&stage.home());
    assert!(kept.iter().any(|path| path.ends_with("scrubjay.log")), "{kept:?}");
    for path in &kept {
        let bytes = std::fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(CANARY), "{path:?}");
        assert!(!path.ends_with("scrubjay.log") || !text.contains("secret"), "{text}");
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600, "{path:?}");
        let folder = path.parent().unwrap();
        assert_eq!(std::fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700, "{folder:?}");
    }
}

// spec: R2
#[tokio::test(flavor = "multi_thread")]
async fn a_stored_result_can_be_read_without_asking() {
    let script = Script::new()
        .reply(tool_use("Bash", json!({ "command": "seq 100000" })))
        .answer(|request| {
            let preview = request.tool_results()[0].1.clone();
            let path =
                preview.split_whitespace().find(|word| word.contains("tool-results")).unwrap_or_default().to_owned();
            tool_use("Read", json!({ "file_path": path, "offset": 99_000 }))
        })
        .reply(text("Found it."));
    let simulator = simulator(script).await;
    let stage = Stage::with(&simulator);
    stage.run(&["-p", "count", "--allow", "Bash"]).ended_with(0);
    let results = simulator.last_request().unwrap().tool_results();
    assert!(results[0].1.starts_with("<persisted-output>"), "{}", results[0].1);
    assert!(results[1].1.contains("99500"), "{}", &results[1].1[..results[1].1.len().min(400)]);
}

// spec: Q5
#[tokio::test(flavor = "multi_thread")]
async fn hooks_hear_how_a_session_begins_and_ends() {
    let simulator = simulator(Script::new().otherwise(text("Yes."))).await;
    let stage = Stage::with(&simulator);
    let heard = stage.project().join("heard");
    let config = stage.home().join("config/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    let hook = format!("[{{ hooks = [{{ type = \"command\", command = \"cat >> {}\" }}] }}]", heard.display());
    std::fs::write(&config, format!("[hooks]\nSessionStart = {hook}\nSessionEnd = {hook}\n")).unwrap();
    stage.run(&["-p", "one"]).ended_with(0);
    stage.run(&["-c", "-p", "two"]).ended_with(0);
    let said = std::fs::read_to_string(&heard).unwrap();
    for words in ["\"source\":\"startup\"", "\"source\":\"resume\"", "\"reason\":\"other\""] {
        assert!(said.contains(words), "{words} in {said}");
    }
    std::fs::remove_file(&heard).unwrap();
    stage.run(&["--bare", "-p", "three"]).ended_with(0);
    assert!(!heard.exists(), "bare mode runs no hooks");
}

// spec: U2
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_call_is_listed_and_ends_with_its_own_number() {
    let script = || {
        Script::new()
            .reply(tool_use("Bash", json!({ "command": "touch pwned" })))
            .reply(tool_use("Write", json!({ "file_path": "a.txt", "content": "x".repeat(1_000) })))
            .reply(text("I could not."))
    };
    let json = simulator(script()).await;
    let stage = Stage::with(&json);
    let ran = stage.run(&["-p", "touch it", "--output-format", "json"]).ended_with(4);
    let result = ran.json();
    assert_eq!((&result["result"], &result["is_error"]), (&json!("I could not."), &json!(false)));
    let denials = result["permission_denials"].as_array().unwrap();
    assert_eq!(denials.len(), 2);
    assert_eq!(
        (&denials[0]["tool_name"], &denials[0]["tool_input"]),
        (&json!("Bash"), &json!({ "command": "touch pwned" }))
    );
    assert!(denials[0]["tool_use_id"].is_string() && denials[0]["reason"].as_str().unwrap().contains("--allow Bash"));
    assert!(denials[1]["tool_input"]["content"].as_str().unwrap().chars().count() < 500);
    assert!(!stage.project().join("pwned").exists());

    let stream = simulator(script()).await;
    let lines = Stage::with(&stream).run(&["-p", "touch it", "--output-format", "stream-json"]).ended_with(4).lines();
    assert!(lines.iter().any(|line| line["type"] == "permission_denied" && line["tool_name"] == "Write"));
    assert_eq!(lines[lines.len() - 1]["permission_denials"].as_array().unwrap().len(), 2);

    let plain = simulator(script()).await;
    let ran = Stage::with(&plain).run(&["-p", "touch it"]).ended_with(4);
    let ran = ran.complained_about(&["2 tool calls were refused (Bash, Write)", "--permission-mode"]);
    assert_eq!(ran.out, "I could not.\n");

    let fine = simulator(Script::new().reply(text("Fine."))).await;
    let result = Stage::with(&fine).run(&["-p", "hello", "--output-format", "json"]).ended_with(0).json();
    assert_eq!(result["permission_denials"], json!([]));
}

// spec: Q6
#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_would_fail_is_answered_without_asking() {
    let edit = |old: &str| tool_use("Edit", json!({ "file_path": "a.txt", "old_string": old, "new_string": "new" }));
    let script = Script::new()
        .reply(edit("one"))
        .reply(tool_use("Read", json!({ "file_path": "a.txt" })))
        .reply(edit("three"))
        .reply(edit("o"))
        .reply(tool_use("Write", json!({ "file_path": "b.txt", "content": "x" })))
        .reply(text("Nothing changed."));
    let simulator = simulator(script).await;
    let stage = Stage::with(&simulator);
    stage.write("a.txt", "one\ntwo\n");
    stage.write("b.txt", "unread\n");
    // Nobody can be asked here, so that a question would be a refusal.
    let result = stage.run(&["-p", "edit", "--output-format", "json"]).ended_with(0).json();
    assert_eq!(result["permission_denials"], json!([]));
    let requests = simulator.requests();
    let said: Vec<String> = requests[requests.len() - 1].tool_results().into_iter().map(|(_, said)| said).collect();
    for (said, why) in
        [(&said[0], "Read"), (&said[2], "not in the file"), (&said[3], "occurs 2 times"), (&said[4], "Read")]
    {
        assert!(said.contains(why) && !said.contains("nobody can be asked"), "{why}: {said}");
    }
}
