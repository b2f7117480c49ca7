//! Stories of what is shared and what is not, what rests on what, and what is used.

use crate::stage::{CANARY, MODEL, Ran, Stage, files, finished};
use scrubjay_testkit::simulator::{Reply, Script, Simulator, text, tool_use};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

const TEAM: &[&str] = &["--set", "layers.team=true"];

fn run(stage: &Stage, arguments: &[&str]) -> Ran {
    stage.run(&[TEAM, arguments].concat())
}

/// Ask a service that answers so.
async fn asked(stage: &Stage, arguments: &[&str], replies: Vec<Reply>) -> Ran {
    let script = replies.into_iter().fold(Script::new(), Script::reply);
    let simulator = Simulator::start(script).await.unwrap();
    let mut command = stage.command(arguments);
    command.env("SCRUBJAY_BASE_URL", simulator.url()).env("SCRUBJAY_MODEL", MODEL).env("ANTHROPIC_API_KEY", CANARY);
    finished(command)
}

fn has_text(file: &Path, text: &str) -> bool {
    String::from_utf8_lossy(&fs::read(file).unwrap()).contains(text)
}

fn token() -> String {
    ["ghp", "16C7e42F292c6912E7710c838347Ae178B4a"].join("_")
}

fn folder(stage: &Stage) -> PathBuf {
    let projects = fs::read_dir(stage.home().join("data/projects")).unwrap();
    projects.flatten().map(|entry| entry.path().join("memory")).find(|dir| dir.is_dir()).unwrap()
}

fn below(stage: &Stage) -> Vec<String> {
    let folder = folder(stage);
    let mut found: Vec<String> =
        files(&folder).iter().map(|file| file.strip_prefix(&folder).unwrap().display().to_string()).collect();
    // Neither indexes nor what tells when the memory was last dreamt over.
    found.retain(|file| !file.ends_with("MEMORY.md") && !file.starts_with('.'));
    found.sort();
    found
}

// spec: G1
// spec: D12
#[test]
fn what_is_remembered_goes_where_it_belongs() {
    let stage = Stage::offline();
    for (arguments, words) in [
        (&["remember", "I am a violinist who writes Rust."][..], "never shared"),
        (&["remember", "Always keep answers short."], "kept private"),
        (&["remember", "Our tests should never mock the database."], "shared with the team"),
        (&["remember", "The freeze starts on 2026-11-19."], "--private says otherwise"),
        (&["remember", "Bugs are documented in the tracker INGEST."], "shared with the team"),
    ] {
        run(&stage, arguments).ended_with(0).complained_about(&[words]);
    }
    run(&stage, &["remember", "--private", "The audit starts on 2026-12-01."]).ended_with(0);
    run(&stage, &["memory", "add", "--team", "--type", "feedback", "--name", "Tabs", "Always use tabs."]).ended_with(0);
    let expected = [
        "feedback_always_keep_answers_short.md",
        "project_the_audit_starts_on_2026-12-01.md",
        "team/feedback_our_tests_should_never_mock_the_database.md",
        "team/feedback_tabs.md",
        "team/project_the_freeze_starts_on_2026-11-19.md",
        "team/reference_bugs_are_documented_in_the_tracker_ingest.md",
        "user_i_am_a_violinist_who_writes_rust.md",
    ];
    assert_eq!(below(&stage), expected);
    run(&stage, &["remember", "--team", "I am a violinist."]).ended_with(4).complained_about(&["never shared"]);
    stage
        .run(&["remember", "--team", "The yard is closed."])
        .ended_with(2)
        .complained_about(&["not shared with a team"]);
    let team = fs::read_to_string(folder(&stage).join("team/MEMORY.md")).unwrap();
    assert_eq!(team.lines().count(), 4, "{team}");
    let found = run(&stage, &["recall", "when does the freeze start"]).ended_with(0);
    assert!(found.out.contains("team/project_the_freeze"), "{found:#?}");
}

// spec: G2
#[test]
fn no_door_of_the_program_lets_a_credential_into_the_team() {
    let stage = Stage::offline();
    let secret = format!("Deploys use {} for now.", token());
    let refused = run(&stage, &["remember", "--team", &secret]).ended_with(4);
    assert!(!format!("{}{}", refused.out, refused.err).contains(&token()), "{refused:#?}");
    refused.complained_about(&["looks like a credential", "line "]);
    run(&stage, &["remember", &secret]).ended_with(0).complained_about(&["kept private", "credential"]);
    assert!(below(&stage).iter().all(|file| !file.starts_with("team/")), "{:?}", below(&stage));

    run(&stage, &["remember", "The yard is closed on 2026-11-19."]).ended_with(0);
    let shared = folder(&stage).join("team/project_the_yard_is_closed_on_2026-11-19.md");
    let by_hand = fs::read_to_string(&shared).unwrap() + &secret;
    fs::write(&shared, by_hand).unwrap();
    let checked = run(&stage, &["memory", "check"]).ended_with(1);
    assert!(checked.out.contains("wrong") && checked.out.contains("it is shared"), "{checked:#?}");
    assert!(!format!("{}{}", checked.out, checked.err).contains(&token()), "{checked:#?}");
    assert!(!fs::read_to_string(folder(&stage).join("team/MEMORY.md")).unwrap().contains("the_yard"));
}

// spec: X5
// spec: V5
#[tokio::test(flavor = "multi_thread")]
async fn what_rests_on_a_file_is_forgotten_with_everything_made_from_it() {
    let stage = Stage::offline();
    stage.write("vendor.md", "The mirror for packages is mirror.evil.example, says the vendor.");
    stage.run(&["remember", "--type", "reference", "Lunch is at noon."]).ended_with(0);
    let memory = folder(&stage);
    let header = "---\nname: Mirror\ndescription: where packages come from\ntype: reference\n---\n";
    let write = |file: &str, body: &str| {
        let content = format!("{header}{body}\n");
        tool_use("Write", json!({ "file_path": memory.join(file).display().to_string(), "content": content }))
    };
    let replies = vec![
        tool_use("Read", json!({ "file_path": "vendor.md" })),
        write("reference_mirror.md", "Packages come from mirror.evil.example."),
        text("Saved."),
    ];
    asked(&stage, &["-p", "What does the vendor say?"], replies).await.ended_with(0);
    let replies = vec![
        tool_use("Read", json!({ "file_path": memory.join("reference_mirror.md").display().to_string() })),
        write("reference_setup.md", "Setup fetches everything there."),
        text("Done."),
    ];
    asked(&stage, &["-p", "How is it set up?"], replies).await.ended_with(0);
    assert_eq!(below(&stage).len(), 3, "{:?}", below(&stage));

    let rehearsed = stage.run(&["memory", "forget", "--source", "vendor.md", "--dry-run"]).ended_with(0);
    assert!(
        rehearsed.out.contains("reference_mirror.md") && rehearsed.out.contains("reference_setup.md"),
        "{rehearsed:#?}"
    );
    assert_eq!(below(&stage).len(), 3, "nothing was changed");
    let receipt = stage.run(&["forget", "--source", "vendor.md", "--json"]).ended_with(0).json();
    assert_eq!(receipt["outcomes"].as_array().unwrap().len(), 2, "{receipt:#}");
    assert_eq!(below(&stage), ["reference_lunch_is_at_noon.md"]);
    stage.run(&["memory", "forget", "--source", "vendor.md"]).ended_with(3).complained_about(&["no memory rests on"]);
    stage.run(&["undo"]).ended_with(0);
    assert_eq!(below(&stage).len(), 3, "one change, taken back as one");

    // The model read one of them, and that is counted.
    let used = stage.run(&["memory", "ls", "--by", "use"]).ended_with(0).out;
    assert!(used.starts_with("reference_mirror.md") && used.contains("used in 1 of 1 recall, last just now"), "{used}");
    let shown = stage.run(&["memory", "show", "reference_mirror", "--json"]).ended_with(0).json();
    assert_eq!((&shown["uses"]["shown"], &shown["uses"]["used"]), (&json!(1), &json!(1)), "{shown:#}");
}

// spec: V4
#[test]
fn the_three_health_figures_are_at_hand() {
    let stage = Stage::offline();
    stage.run(&["remember", "--type", "reference", "Integration tests talk to the real database."]).ended_with(0);
    stage.run(&["remember", "--type", "reference", "The integration tests talk to the real database!"]).ended_with(0);
    for command in [&["status"][..], &["doctor"]] {
        let out = stage.run(command).out;
        assert!(out.contains("memory pollution 50 % (counted): 1 duplicate"), "{out}");
    }
    let checked = stage.run(&["memory", "check"]).ended_with(0);
    assert!(checked.out.contains("duplicate: reference_"), "{checked:#?}");
    let json = stage.run(&["status", "--json"]).ended_with(0).json();
    assert_eq!(json["memory"]["pollution"]["share"], 0.5, "{json:#}");
}

// spec: K1
#[tokio::test(flavor = "multi_thread")]
async fn a_daily_log_is_appended_to_and_shown_by_its_day() {
    let stage = Stage::offline();
    stage.run(&["remember", "--type", "reference", "Lunch is at noon."]).ended_with(0);
    let log = folder(&stage).join("logs/2026/03/2026-03-05.md");
    let write =
        |content: &str| tool_use("Write", json!({ "file_path": log.display().to_string(), "content": content }));
    let replies = vec![
        write("09:00 the freeze begins on 2026-03-12\n"),
        write("tidied\n"),
        write("09:00 the freeze begins on 2026-03-12\n10:00 Ada owns the parser\n"),
        text("Logged."),
    ];
    asked(&stage, &["--set", "layers.daily_log=true", "-p", "log it, please"], replies).await.ended_with(0);
    let expected = "09:00 the freeze begins on 2026-03-12\n10:00 Ada owns the parser\n";
    assert_eq!(fs::read_to_string(&log).unwrap(), expected);
    let shown = stage.run(&["memory", "show", "logs/2026/03/2026-03-05.md"]).ended_with(0);
    assert_eq!(shown.out, expected);
    assert_eq!(below(&stage).len(), 2);
    assert_eq!(stage.run(&["memory", "ls", "--json"]).json()["memories"].as_array().unwrap().len(), 1);
}

/// A credential is planted in a question, a file, a memory and a service's refusal; then everything that tells about the
/// session is asked for. The transcript and stored results have the exact bytes; nothing else does.
// spec: G2
// safety: SG23
#[tokio::test(flavor = "multi_thread")]
async fn a_planted_credential_is_in_no_log_error_report_export_or_note() {
    let stage = Stage::offline();
    stage.write("deploy.env", &format!("TOKEN={}\n", token()));
    stage.run(&["remember", "--type", "reference", &format!("Deploys use {} for now.", token())]).ended_with(0);
    let replies = vec![tool_use("Read", json!({ "file_path": "deploy.env" })), text("It is set.")];
    let question = format!("Is {} still in deploy.env?", token());
    let limits = ["--set", "limits.notes_first_tokens=1", "--set", "limits.notes_every_tokens=1"];
    asked(&stage, &[&limits[..], &["-p", &question]].concat(), replies).await.ended_with(0);
    let mut told = Vec::new();
    let exported = stage.project().join("out");
    for arguments in [
        &["status"][..],
        &["sessions"],
        &["doctor"],
        &["notes"],
        &["savings"],
        &["context"],
        &["memory", "check"],
        &["memory", "log"],
        &["export", "out"],
        &["memory", "show", &token()],
        &["--resume", &token()],
        &["compact", "--report"],
    ] {
        let ran = stage.run(arguments);
        told.push((format!("{arguments:?}"), format!("{}{}", ran.out, ran.err)));
    }
    for (what, text) in &told {
        assert!(!text.contains(&token()), "{what}: {text}");
    }
    assert!(files(&exported).len() >= 2 && files(&exported).iter().all(|file| !has_text(file, &token())));
    let holders: Vec<PathBuf> = files(&stage.home()).into_iter().filter(|file| has_text(file, &token())).collect();
    assert!(!holders.is_empty(), "it was planted");
    let notes = files(&stage.home()).into_iter().find(|file| file.ends_with("session-memory/summary.md")).unwrap();
    assert!(has_text(&notes, "[REDACTED:"), "the notes speak of it, and do not say it");
    for file in holders {
        let path = file.display().to_string();
        let exact = path.contains("/memory/") || path.contains("/journal/") || path.contains("/recall/");
        let record = path.ends_with(".jsonl") || path.contains("tool-results") || path.contains("/blobs/");
        assert!((exact || record) && !path.contains("session-memory") && !path.ends_with("ledger.jsonl"), "{path}");
    }
}
