//! What goes wrong outside: each with a clear message, its exit code, and nothing lost.

use crate::stage::{CANARY, MODEL, Stage, files, finished, program};
use scrubjay_testkit::simulator::{Cut, Script, Simulator, error, html_page, raw, text, tool_use};
use serde_json::json;
use std::fs;
use std::net::TcpListener;
use std::process::Command;

async fn stage_of(script: Script) -> (Simulator, Stage) {
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    (simulator, stage)
}

/// Whatever happened, the question is on disk and the session goes on.
async fn goes_on(simulator: &Simulator, stage: &Stage) {
    simulator.set_script(Script::new().otherwise(text("Here again.")));
    let ran = stage.run(&["-c", "-p", "and now?"]).ended_with(0);
    assert_eq!(ran.out, "Here again.\n");
    let asked = simulator.last_request().unwrap().all_text();
    assert!(asked.contains("the first question") && asked.contains("and now?"), "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key() {
    let stage = Stage::offline();
    let ran = stage.run(&["-p", "hello"]).ended_with(0);
    assert!(ran.out.contains("No language model") && ran.out.contains("ANTHROPIC_API_KEY"), "{ran:#?}");
    let named = stage.run(&["-p", "hello", "--model", MODEL]).ended_with(1);
    named.complained_about(&["no key", "ANTHROPIC_API_KEY", "config/keys"]);
    let json = stage.run(&["-p", "hello", "--model", MODEL, "--output-format", "json"]).ended_with(1);
    let error: serde_json::Value = serde_json::from_str(&json.err).unwrap();
    assert!(error["fix"].as_str().unwrap().contains("keys"), "{error}");
}

// safety: F-70
#[tokio::test(flavor = "multi_thread")]
async fn wrong_key() {
    let simulator = Simulator::builder().key("the-right-one").start().await.unwrap();
    let stage = Stage::with(&simulator);
    let ran = stage.run(&["-v", "-p", "the first question"]).ended_with(1).complained_about(&["key"]);
    assert!(!format!("{ran:?}").contains(CANARY));
    for path in files(&stage.home()) {
        assert!(!String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(CANARY), "{path:?}");
    }
    let result = stage.run(&["-c", "-p", "x", "--output-format", "json"]).ended_with(1);
    assert_eq!(result.json()["is_error"], true);
}

// safety: F-70
#[tokio::test(flavor = "multi_thread")]
async fn a_key_may_come_from_a_command_and_is_never_shown() {
    let simulator = Simulator::builder()
        .key("canary-of-a-key")
        .script(Script::new().otherwise(text("Yes.")))
        .start()
        .await
        .unwrap();
    let stage = Stage::offline();
    let url = simulator.url();
    let ask = |command: &str| {
        let set = format!("api_key_command={command}");
        stage.run(&["-v", "-p", "hello", "--model", MODEL, "--base-url", &url, "--set", &set])
    };
    assert_eq!(ask("echo canary-of-a-key").ended_with(0).out, "Yes.\n");
    for command in ["echo canary-of-a-key; exit 1", "true"] {
        let ran = ask(command).ended_with(1).complained_about(&["prints the key", "api_key_command"]);
        assert!(!ran.err.contains("canary"), "{ran:#?}");
    }
    let status = stage.run(&["--set", "api_key_command=touch ran", "--model", MODEL, "status"]).ended_with(0);
    assert!(status.out.contains(MODEL) && !stage.project().join("ran").exists(), "looking runs nothing: {status:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_host() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let stage = Stage::at(&format!("http://{free}"));
    let fast = ["--set", "limits.retry_attempts=2", "--set", "limits.retry_first_delay_ms=1"];
    let ran = stage.run(&[&["-p", "the first question"][..], &fast].concat()).ended_with(5);
    ran.complained_about(&[&free.to_string(), "base URL", "retrying", "saved"]);
    let simulator = Simulator::start(Script::new().otherwise(text("Here."))).await.unwrap();
    stage.run(&["-c", "-p", "and now?", "--base-url", &simulator.url()]).ended_with(0);
    assert!(simulator.last_request().unwrap().all_text().contains("the first question"));
    stage.run(&["-p", "x", "--base-url", "ftp://h"]).ended_with(2).complained_about(&["http"]);
    stage.run(&["-p", "x", "--provider", "nobody"]).ended_with(2).complained_about(&["no provider"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_stream() {
    for reply in [
        raw(200, "text/event-stream", "data: {\"type\":\"message_start\",,,\n\n"),
        raw(200, "text/event-stream", "\u{0}\u{1}garbage"),
        raw(200, "text/html", "<html>hello</html>"),
        raw(200, "application/json", "{}"),
        html_page(502),
    ] {
        let (simulator, stage) = stage_of(Script::new().otherwise(reply.clone())).await;
        let ran = stage.run(&["-p", "the first question", "--set", "limits.retry_attempts=0"]);
        assert!(
            matches!(ran.code, Some(1 | 5)) && ran.out.is_empty() && ran.err.contains("error:"),
            "{reply:?}: {ran:#?}"
        );
        assert!(!ran.err.contains("panicked"), "{ran:#?}");
        goes_on(&simulator, &stage).await;
    }
}

// spec: Q2
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_breaks_off_is_continued_and_then_given_up() {
    let cut = || text("one two three four five six seven").cut(Cut::AfterEvents(5));
    let (simulator, stage) = stage_of(Script::new().otherwise(cut())).await;
    let ran = stage.run(&["-p", "the first question", "--set", "limits.retry_first_delay_ms=1"]).ended_with(1);
    ran.complained_about(&["cut off", "saved"]);
    goes_on(&simulator, &stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_model() {
    let (simulator, stage) = stage_of(Script::echo()).await;
    let ran = stage.run(&["-p", "the first question", "--model", "claude-opuss-5"]).ended_with(1);
    ran.complained_about(&["claude-opuss-5", "--model"]);
    goes_on(&simulator, &stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_stays_busy_is_unreachable() {
    let busy = || error(529, "overloaded_error", "Overloaded").header("retry-after", "0");
    let (simulator, stage) = stage_of(Script::new().otherwise(busy())).await;
    let few = ["--set", "limits.retry_attempts=3", "--set", "limits.retry_first_delay_ms=1"];
    let ran = stage.run(&[&["-p", "the first question"][..], &few].concat()).ended_with(5);
    ran.complained_about(&["retrying", "try again later"]);
    goes_on(&simulator, &stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_home() {
    use std::os::unix::fs::PermissionsExt as _;
    let stage = Stage::offline();
    std::fs::write(stage.home(), "a file where the folder should be").unwrap();
    for arguments in [&["-p", "hello"][..], &["chat"]] {
        stage.run(arguments).ended_with(1).complained_about(&["cannot be used", "SCRUBJAY_HOME"]);
    }
    std::fs::remove_file(stage.home()).unwrap();
    std::fs::create_dir(stage.home()).unwrap();
    std::fs::set_permissions(stage.home(), std::fs::Permissions::from_mode(0o000)).unwrap();
    let locked = std::fs::read_dir(stage.home()).is_err();
    let ran = stage.run(&["-p", "hello"]);
    std::fs::set_permissions(stage.home(), std::fs::Permissions::from_mode(0o700)).unwrap();
    // Whoever may read everything is not stopped by this.
    if locked {
        ran.ended_with(1).complained_about(&["cannot be used"]);
    }
}

// safety: F-31
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_full_loses_nothing_that_was_saved() {
    let (simulator, stage) = stage_of(Script::new().otherwise(text("Yes."))).await;
    stage.run(&["-p", "the first question"]).ended_with(0);
    let transcript = stage.transcripts().remove(0);
    let before = std::fs::read(&transcript).unwrap();
    let blocks = before.len().div_ceil(1_024);
    let long = "x".repeat(4_000);
    let mut bash = Command::new("bash");
    // A file may not grow beyond this many blocks; the signal that would end the program is ignored.
    bash.args(["-c", "trap '' XFSZ; ulimit -f $1; exec \"$0\" -c -p \"$2\"", program().to_str().unwrap()]);
    bash.args([&blocks.to_string(), &long]);
    bash.env_clear().envs(stage.environment()).current_dir(stage.project());
    let ran = finished(bash).ended_with(1);
    ran.complained_about(&["could not be saved", "make room on the disk"]);
    let after = std::fs::read(&transcript).unwrap();
    assert!(after.starts_with(&before), "what was saved is unharmed");
    goes_on(&simulator, &stage).await;
    let damage = stage.run(&["sessions", "--json"]).json()["sessions"][0]["damaged_parts"].clone();
    assert_eq!(damage, 0);
}

// safety: F-30
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_transcript_goes_on_and_says_what_was_skipped() {
    type Harm = fn(Vec<u8>) -> Vec<u8>;
    let harms: [(&str, Harm); 4] = [
        ("head", |mut bytes| {
            bytes[..30].fill(b'#');
            bytes
        }),
        ("middle", |mut bytes| {
            let middle = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 60;
            bytes[middle] ^= 0x20;
            bytes
        }),
        ("tail", |mut bytes| {
            bytes.truncate(bytes.len() - 9);
            bytes
        }),
        ("everywhere", |bytes| bytes.into_iter().map(|byte| if byte == b'7' { b'8' } else { byte }).collect()),
    ];
    for (place, harm) in harms {
        let (simulator, stage) = stage_of(Script::new().otherwise(text("Yes."))).await;
        stage.run(&["-p", "the first question"]).ended_with(0);
        stage.run(&["-c", "-p", "the second question"]).ended_with(0);
        let transcript = stage.transcripts().remove(0);
        let whole = std::fs::read(&transcript).unwrap();
        std::fs::write(&transcript, harm(whole)).unwrap();
        let ran = stage.run(&["-c", "-p", "the third question"]).ended_with(0);
        assert_eq!(ran.out, "Yes.\n", "{place}");
        ran.complained_about(&["damaged part", "skipped", "intact"]);
        let asked = simulator.last_request().unwrap().all_text();
        assert!(asked.contains("the third question"), "{place}");
        if place != "everywhere" {
            assert!(asked.contains("the second question"), "{place}: {asked}");
        }
    }
}

// spec: Q3
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_never_returns_is_stopped_and_the_answer_comes() {
    let script =
        Script::new().reply(tool_use("Bash", json!({ "command": "sleep 600" }))).reply(text("It took too long."));
    let (simulator, stage) = stage_of(script).await;
    let ran = stage.run(&["-p", "wait", "--allow", "Bash", "--set", "limits.shell_timeout_ms=200"]).ended_with(0);
    assert_eq!(ran.out, "It took too long.\n");
    assert!(simulator.last_request().unwrap().tool_results()[0].1.contains("did not end within"));
}

#[tokio::test(flavor = "multi_thread")]
async fn huge_and_broken_output_of_a_command_is_bounded() {
    let commands = ["yes 0123456789 | head -c 200000000", "printf 'a\\xff\\xfe\\x00\\x1b[31mb'; exit 3"];
    let script = commands
        .iter()
        .fold(Script::new(), |script, command| script.reply(tool_use("Bash", json!({ "command": command }))));
    let (simulator, stage) = stage_of(script.reply(text("Seen."))).await;
    stage.run(&["-p", "run them", "--allow", "Bash"]).ended_with(0);
    let results = simulator.last_request().unwrap().tool_results();
    assert!(results[0].1.len() < 4_000_000, "{}", results[0].1.len());
    assert!(results[1].1.contains("exit code 3") && !results[1].1.contains('\u{1b}'), "{}", results[1].1);
    let size: u64 = files(&stage.home()).iter().map(|path| path.metadata().unwrap().len()).sum();
    assert!(size < 10_000_000, "{size}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_where_text_was_expected_is_shown_as_one() {
    const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xff\xff?\0\x05\xfe\x02\xfe\xa7\x35\x81\x84\0\0\0\0IEND\xaeB`\x82";
    let script = Script::new().reply(tool_use("Read", json!({ "file_path": "notes.txt" }))).reply(text("A picture."));
    let (simulator, stage) = stage_of(script).await;
    std::fs::write(stage.project().join("notes.txt"), PIXEL).unwrap();
    stage.run(&["-p", "read it"]).ended_with(0);
    let sent = String::from_utf8(simulator.last_request().unwrap().body).unwrap();
    assert!(sent.contains("image/png"), "the picture itself is sent");
}

/// Every file of the home, with its bytes.
fn bytes_below(folder: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut all: Vec<_> = files(folder).into_iter().map(|file| (file.clone(), fs::read(file).unwrap())).collect();
    all.sort();
    all
}

#[test]
fn doctor_on_a_full_disk_says_so_and_leaves_nothing_behind() {
    let stage = Stage::offline();
    stage.run(&["remember", "The ferry leaves at noon."]).ended_with(0);
    stage.run(&["-p", "Is anybody there?"]).ended_with(0);
    stage.run(&["doctor"]).ended_with(0);
    let before = bytes_below(&stage.home());
    for verb in [&["doctor"][..], &["doctor", "--json"], &["doctor", "--fix"]] {
        let mut full = std::process::Command::new("bash");
        full.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"", program().to_str().unwrap()]).args(verb);
        full.env_clear().envs(stage.environment()).current_dir(stage.project());
        let ran = finished(full);
        assert_eq!(ran.code, Some(1), "{ran:#?}");
        assert!(ran.out.contains("not-writable") && ran.out.contains("File too large"), "{ran:#?}");
        assert!(ran.out.contains("version") && ran.out.contains("memory"), "the other checks are told: {ran:#?}");
        assert_eq!(bytes_below(&stage.home()), before, "{verb:?}");
    }
}
