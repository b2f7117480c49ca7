//! Stories of compaction: in a chat and on a session that lies on disk.

use crate::stage::{Stage, block};
use crate::terminal::Terminal;
use scrubjay_testkit::simulator::{Pacer, RecordedRequest, Reply, Script, Simulator, error, text, tool_use};
use serde_json::json;
use std::process::Stdio;

const CTRL_C: &str = "\u{3}";

const SUMMARY: &str = "<summary>\n## 1. Primary Request and Intent\nKeep the seeds \u{1b}[31mdry.\n\
    ## 8. Current Work\nCounting jays.\n</summary>";

fn wants_summary(request: &RecordedRequest) -> bool {
    request.last_user_text().contains("will be replaced by a summary")
}

/// Answers at length, and summarises when asked.
fn talkative() -> Script {
    let long = || text("an answer of some length about jays and their seeds ".repeat(200));
    Script::new().when(wants_summary, text(SUMMARY)).otherwise_with(move |request: &RecordedRequest| -> Reply {
        match request {
            _ if wants_summary(request) => text(SUMMARY),
            _ if request.last_user_text().contains("plan it") && request.tool_results().is_empty() => {
                tool_use("Tasks", json!({ "tasks": [{ "title": "feed the jays", "status": "pending" }] }))
                    .and(tool_use("Read", json!({ "file_path": "seeds.txt" })))
            }
            _ => long(),
        }
    })
}

async fn talked(script: Script) -> (Simulator, Stage) {
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.write("seeds.txt", "sunflower\n");
    stage.run(&["-p", "Never push to main. Please plan it."]).ended_with(0);
    stage.run(&["-c", "-p", "the second question"]).ended_with(0);
    stage.run(&["-c", "-p", "the third question"]).ended_with(0);
    (simulator, stage)
}

fn record(stage: &Stage) -> String {
    std::fs::read_to_string(&stage.transcripts()[0]).unwrap()
}

fn used(stage: &Stage) -> u64 {
    stage.run(&["context", "--json"]).ended_with(0).json()["budget"]["used"].as_u64().unwrap()
}

// spec: C12
// spec: U8
#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_looked_at_compacted_and_brought_back() {
    let (simulator, stage) = talked(talkative()).await;
    let whole = used(&stage);

    let preview = stage.run(&["compact", "--preview", "mind", "the numbers"]).ended_with(0).out;
    for words in [
        "Keep the seeds ⟦U+001B⟧[31mdry.",
        "3 of 3 messages word for word",
        "Never push to main.",
        "seeds.txt",
        "open tasks     1",
        "the cached prefix breaks once",
        " % less)",
        "nothing was changed",
    ] {
        assert!(preview.contains(words), "{words} in\n{preview}");
    }
    assert!(simulator.last_request().unwrap().last_user_text().contains("mind the numbers"));
    let told = stage.run(&["compact", "--preview", "--json"]).ended_with(0).json();
    assert_eq!((&told["schema"], &told["preview"]), (&json!("scrubjay.compact/1"), &json!(true)));
    assert!(told["after"].as_u64().unwrap() < told["before"].as_u64().unwrap());
    assert_eq!(told["quoted_messages"], json!({ "all": 3, "word_for_word": 3 }));
    assert!(!record(&stage).contains("\"kind\":\"compacted\""), "a preview changes nothing");
    assert_eq!(used(&stage), whole);

    let done = stage.run(&["compact"]).ended_with(0).complained_about(&["breaks it once"]);
    assert!(done.out.contains(" % less)") && done.out.contains("scrubjay uncompact"), "{done:#?}");
    assert!(!done.err.contains("compacted:"), "told once: {done:#?}");
    let context = stage.run(&["context"]).ended_with(0).out;
    assert!(context.contains("1 compaction, the last one "), "{context}");
    assert!(used(&stage) < whole);
    let listed = stage.run(&["sessions"]).ended_with(0).out;
    assert!(listed.contains("3 questions") && listed.contains("Never push to main."), "{listed}");
    stage.run(&["context", "--exact"]).ended_with(0);

    stage.run(&["-c", "-p", "and now?"]).ended_with(0);
    let asked = simulator.last_request().unwrap().all_text();
    assert!(asked.contains("Counting jays.") && asked.contains("the second question"), "{asked}");
    assert_eq!(asked.matches("an answer of some length").count(), 0, "{asked}");

    let back = stage.run(&["uncompact", "--json"]).ended_with(0).json();
    assert_eq!(back["schema"], "scrubjay.uncompact/1");
    let tokens = |key: &str| back[key].as_u64().unwrap();
    assert!(tokens("after") > tokens("before"), "{back}");
    stage.run(&["-c", "-p", "once more"]).ended_with(0);
    assert!(!simulator.last_request().unwrap().all_text().contains("Counting jays."));
    stage.run(&["uncompact"]).ended_with(3).complained_about(&["no compaction to take back"]);

    let id = stage.run(&["sessions", "--json"]).json()["sessions"][0]["id"].as_str().unwrap().to_owned();
    let copied = stage.run(&["compact", "--session", &id[..30], "--fork-session", "--json"]).ended_with(0).json();
    assert_ne!(copied["session_id"], id.as_str());
    stage.run(&["uncompact", "--session", &id]).ended_with(3);
    stage.run(&["uncompact", "--session", copied["session_id"].as_str().unwrap()]).ended_with(0);
}

// spec: C8
#[tokio::test(flavor = "multi_thread")]
async fn a_part_is_named_by_the_number_of_a_question() {
    let (simulator, stage) = talked(talkative()).await;
    let listed = stage.run(&["compact", "--list"]).ended_with(0).out;
    let lines: Vec<&str> = listed.lines().map(str::trim).collect();
    assert_eq!(lines, ["1  Never push to main. Please plan it.", "2  the second question", "3  the third question"]);
    let json = stage.run(&["compact", "--list", "--json"]).ended_with(0).json();
    assert_eq!(json["questions"][1], json!({ "number": 2, "title": "the second question" }));

    stage.run(&["compact", "--from", "2"]).ended_with(0).complained_about(&["stays cached"]);
    stage.run(&["-c", "-p", "on"]).ended_with(0);
    let asked = simulator.last_request().unwrap();
    assert_eq!(asked.tool_results().len(), 2, "what precedes stays");
    assert!(asked.all_text().contains("Counting jays."));
    stage.run(&["uncompact"]).ended_with(0);

    let preview = stage.run(&["compact", "--up-to", "2", "--preview", "--json"]).ended_with(0).json();
    assert_eq!(preview["quoted_messages"]["all"], 2);
    assert!(preview["kept_messages"].as_u64().unwrap() >= 2 && preview["breaks_cached_prefix"] == true, "{preview}");
    stage.run(&["compact", "--up-to", "2"]).ended_with(0).complained_about(&["breaks it once"]);
    let left = stage.run(&["compact", "--list"]).ended_with(0).out;
    assert!(left.trim_start().starts_with("1  the third question"), "{left}");

    for number in ["0", "9", "18446744073709551615"] {
        stage.run(&["compact", "--from", number]).ended_with(3).complained_about(&["numbered 1 to", "--list"]);
    }
    stage.run(&["compact", "--up-to", "-1"]).ended_with(2);
    stage.run(&["compact", "--from", "x"]).ended_with(2);
    stage.run(&["compact", "--from", "1", "--up-to", "1"]).ended_with(2);
}

// spec: C11
// spec: C12
#[tokio::test(flavor = "multi_thread")]
async fn what_was_dropped_is_told_and_single_questions_come_back() {
    let (simulator, stage) = talked(talkative()).await;
    stage.run(&["compact", "--report"]).ended_with(3).complained_about(&["no compaction to report on"]);
    stage.run(&["uncompact", "--list"]).ended_with(3).complained_about(&["no compaction to take back"]);
    stage.run(&["compact"]).ended_with(0);
    let report = stage.run(&["compact", "--report"]).ended_with(0).out;
    for words in
        ["by the model, at ", " kept, ", "dropped, what matters most first", "constraint   Never push to main."]
    {
        assert!(report.contains(words), "{words} in\n{report}");
    }
    let told = stage.run(&["compact", "--report", "--json"]).ended_with(0).json();
    assert_eq!(
        (&told["schema"], &told["report"]["kept"][0]["what"]),
        (&json!("scrubjay.report/1"), &json!("constraint"))
    );
    stage.run(&["compact", "--report", "--preview"]).ended_with(2);

    let listed = stage.run(&["uncompact", "--list"]).ended_with(0).out;
    assert!(listed.contains("2  the second question"), "{listed}");
    let back = stage.run(&["uncompact", "2-3"]).ended_with(0).out;
    assert!(back.contains("given back: ") && back.contains(" more)"), "{back}");
    stage.run(&["-c", "-p", "and now?"]).ended_with(0);
    let asked = simulator.last_request().unwrap().all_text();
    assert_eq!(asked.matches("an answer of some length about jays").count(), 400, "two answers of three");
    assert!(asked.contains("Counting jays."), "behind the summary");
    stage.run(&["uncompact", "2"]).ended_with(3).complained_about(&["in view already"]);
    stage.run(&["uncompact", "9"]).ended_with(3).complained_about(&["numbered 1 to 3"]);
    for odd in ["0", "5-3", "x", "1-"] {
        stage.run(&["uncompact", odd]).ended_with(2).complained_about(&["3-5"]);
    }
    stage.run(&["uncompact"]).ended_with(0);
    stage.run(&["-c", "-p", "once more"]).ended_with(0);
    assert!(!simulator.last_request().unwrap().all_text().contains("Counting jays."));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_compacted_is_said_with_its_number() {
    let simulator = Simulator::start(Script::new().otherwise(text("Yes."))).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.run(&["compact"]).ended_with(3).complained_about(&["no session"]);
    stage.run(&["-p", "is it?"]).ended_with(0);
    stage.run(&["compact", "--session", "zzz"]).ended_with(3).complained_about(&["no session `zzz`"]);
    stage.run(&["uncompact", "--session", "zzz"]).ended_with(3);
    simulator.set_script(Script::new().otherwise(text(SUMMARY)));
    stage.run(&["compact"]).ended_with(3).complained_about(&["not be clearly smaller", "nothing was changed"]);
    assert!(!record(&stage).contains("\"kind\":\"compacted\""));

    let (simulator, stage) = talked(talkative()).await;
    simulator.set_script(Script::new().otherwise(error(400, "invalid_request_error", "no")));
    let done = stage.run(&["compact", "--json"]).ended_with(0);
    assert!(done.err.contains("the summary could not be written"), "{done:#?}");
    assert_eq!(done.json()["author"], "code, without a model", "a session is never stuck");
    stage.run(&["uncompact"]).ended_with(0);
    drop(simulator);
    let mut gone = stage.command(&["compact"]);
    gone.env("SCRUBJAY_BASE_URL", "http://127.0.0.1:9").env("SCRUBJAY_LIMIT_RETRY_ATTEMPTS", "1");
    let gone = crate::stage::finished(gone).ended_with(0);
    assert!(gone.err.contains("the summary is made without the model"), "{gone:#?}");
    assert!(gone.out.contains("compacted by code, without a model"), "{gone:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_in_use_is_left_alone_and_an_interruption_changes_nothing() {
    let (simulator, stage) = talked(talkative()).await;
    let pacer = Pacer::new();
    simulator.set_script(Script::new().otherwise(text(SUMMARY).paced(&pacer)));
    let asked = simulator.requests().len();
    let mut child = stage.command(&["compact"]);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    simulator.wait_for_requests(asked + 1).await;
    stage.run(&["compact"]).ended_with(1).complained_about(&["open in another process"]);
    stage.run(&["uncompact"]).ended_with(1).complained_about(&["open in another process"]);
    stage.run(&["compact", "--list"]).ended_with(0);
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let ran = crate::stage::Ran::from(block(|| child.wait_with_output().unwrap())).ended_with(130);
    ran.complained_about(&["nothing was changed"]);
    assert!(!record(&stage).contains("\"kind\":\"compacted\""));
}

// spec: C12
#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_code_writes_the_summary() {
    let (_simulator, stage) = talked(talkative()).await;
    let preview = |stage: &Stage| {
        let mut offline = stage.command(&["compact", "--preview", "--json", "--provider", "offline"]);
        offline.env_remove("SCRUBJAY_MODEL").env_remove("SCRUBJAY_BASE_URL").env_remove("ANTHROPIC_API_KEY");
        crate::stage::finished(offline)
    };
    let told = preview(&stage).ended_with(0).json();
    assert_eq!(told["author"], "code, without a model");
    assert_eq!(told["quoted_messages"]["all"], 3);
}

// spec: C8
// spec: C12
// spec: Q7
#[tokio::test(flavor = "multi_thread")]
async fn in_a_chat_it_is_looked_at_stopped_done_and_taken_back() {
    let (simulator, stage) = talked(talkative()).await;
    let pacer = Pacer::new();
    block(|| {
        let mut terminal = Terminal::start(&stage, &["chat", "-c"]);
        terminal.wait_for("3 questions so far");
        terminal.wait_for_prompt();
        let say = |terminal: &mut Terminal, line: &str, shown: &str| {
            terminal.type_line(line);
            terminal.wait_for(&format!("› {line}"));
            terminal.wait_for(shown);
            terminal.wait_for_prompt();
        };
        say(&mut terminal, "/help", "/uncompact");
        say(&mut terminal, "/compact list", "2  the second question");
        say(&mut terminal, "/compact from 9", "numbered 1 to 3");
        say(&mut terminal, "/compact from here", "needs the number");
        say(&mut terminal, "/uncompact", "no compaction to take back");
        say(&mut terminal, "/compact --preview the seeds", "nothing was changed; the same without --preview does it");
        assert!(!record(&stage).contains("\"kind\":\"compacted\""));

        simulator.set_script(Script::new().otherwise(text(SUMMARY).paced(&pacer)));
        let asked = simulator.requests().len();
        terminal.type_line("/compact now");
        tokio::runtime::Handle::current().block_on(simulator.wait_for_requests(asked + 1));
        terminal.press(CTRL_C);
        terminal.wait_for("interrupted; nothing was changed");
        terminal.wait_for_prompt();

        simulator.set_script(talkative());
        say(&mut terminal, "/compact up_to 2", "/uncompact takes it back");
        say(&mut terminal, "/context", "1 compaction");
        say(&mut terminal, "/compact --report", "dropped, what matters most first");
        say(&mut terminal, "/uncompact list", "1  Never push to main.");
        say(&mut terminal, "/uncompact 2", "the summary stays before them");
        say(&mut terminal, "/uncompact 7-1", "names no questions");
        say(&mut terminal, "/uncompact", "every message is there again");
        say(&mut terminal, "/compact the birds", "/uncompact takes it back");
        say(&mut terminal, "the last question", "cache ");
        terminal.type_line("/quit");
        assert!(terminal.wait_for_end().success());
    });
    let asked = simulator.last_request().unwrap().all_text();
    assert!(asked.contains("Counting jays.") && asked.contains("the third question"), "{asked}");
}

// spec: P5
// spec: P6
#[tokio::test(flavor = "multi_thread")]
async fn what_the_model_is_told_of_its_memory_changes_at_a_compaction_and_a_clear_and_never_between() {
    let (simulator, stage) = talked(talkative()).await;
    let before = simulator.requests().len();
    block(|| {
        let mut terminal = Terminal::start(&stage, &["chat", "--continue"]);
        terminal.wait_for_prompt();
        for (line, words) in [
            ("# Jays hide acorns under the third oak", "take it back with"),
            ("tell me about seeds", "an answer of some length"),
            ("/compact", "/uncompact takes it back"),
            ("and what else is there", "an answer of some length"),
            ("# Owls sleep in the old barn all day", "take it back with"),
            ("tell me once more", "an answer of some length"),
            ("/clear", "a new session"),
            ("begin from the start", "an answer of some length"),
        ] {
            terminal.type_line(line);
            terminal.wait_for(&format!("› {line}"));
            terminal.wait_for(words);
            terminal.wait_for_prompt();
        }
        terminal.type_line("/quit");
        terminal.wait_for_end();
    });
    let requests = simulator.requests();
    let asked: Vec<&RecordedRequest> = requests[before..]
        .iter()
        .filter(|request| {
            ["tell me about seeds", "what else", "once more", "from the start"]
                .iter()
                .any(|words| request.last_user_text().contains(words))
        })
        .collect();
    assert_eq!(asked.len(), 4, "{:?}", requests.iter().map(|request| request.last_user_text()).collect::<Vec<_>>());
    let lines = |request: &&RecordedRequest| {
        ["acorns", "barn"].map(|word| {
            let text = request.all_text();
            text.lines().any(|line| line.starts_with("- [") && line.contains(word))
        })
    };
    let told: Vec<[bool; 2]> = asked.iter().map(lines).collect();
    assert_eq!(told, [[false, false], [true, false], [true, false], [true, true]]);
    for request in &asked {
        assert_eq!(request.system_text(), asked[0].system_text(), "how to use it is said in the same words");
    }
}
