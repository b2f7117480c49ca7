//! Stories of dreams and of what waits for the person: proposed, looked at, decided, and taken back.

use crate::stage::{CANARY, MODEL, Ran, Stage, block, files, finished};
use crate::terminal::Terminal;
use crate::workweek::{is_learner, learned};
use scrubjay_testkit::simulator::{Pacer, RecordedRequest, Script, Simulator, text, tool_use};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

/// Where the memories of a stage lie.
fn folder(stage: &Stage) -> PathBuf {
    let projects = fs::read_dir(stage.home().join("data/projects")).unwrap();
    let dir = projects.flatten().map(|entry| entry.path().join("memory")).find(|dir| dir.is_dir()).unwrap();
    dir.canonicalize().unwrap()
}

/// Every memory with its text.
fn memories(stage: &Stage) -> BTreeMap<String, String> {
    let is_memory = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "md");
    let read =
        |file: PathBuf| (file.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(file).unwrap());
    files(&folder(stage)).into_iter().filter(is_memory).map(read).collect()
}

fn add(stage: &Stage, name: &str, description: &str, body: &str) {
    let arguments = ["memory", "add", "--type", "project", "--name", name, "--description", description, body];
    stage.run(&arguments).ended_with(0);
}

/// Two that say the same, and two that do not agree.
fn untidy(stage: &Stage) {
    add(
        stage,
        "staging",
        "the staging database",
        "The staging database listens on port 5433. Ask Ada for the password.",
    );
    let more = "Ask Ada for the password. The staging database listens on port 5433. It sleeps at night.";
    add(stage, "staging again", "staging database", more);
    add(stage, "deploy old", "deploys", "Deploys happen on Friday evening.");
    add(stage, "deploy new", "when deploys are", "Deploys happen on Tuesday evening.");
}

fn said(ran: &Ran, words: &[&str]) {
    for word in words {
        assert!(ran.out.contains(word), "`{word}` in {ran:#?}");
    }
}

// spec: Z9
// spec: V4
#[test]
fn a_dream_without_a_model_proposes_and_the_person_decides() {
    let stage = Stage::offline();
    let nothing = stage.run(&["dream"]).ended_with(0);
    said(&nothing, &["0 memories", "nothing to tidy", "scrubjay remember"]);
    let sessions: Vec<PathBuf> =
        stage.transcripts().into_iter().filter(|file| !file.ends_with("journal/changes.jsonl")).collect();
    assert_eq!(sessions, Vec::<PathBuf>::new(), "a dream leaves no session behind");
    untidy(&stage);
    let before = memories(&stage);

    let rehearsed = stage.run(&["dream", "--dry-run"]).ended_with(0);
    said(&rehearsed, &["--- a/project_staging.md", "-The staging database listens on port 5433."]);
    rehearsed.complained_about(&["project_deploy_new.md (newer) says", "nothing was changed"]);
    stage.run(&["dream", "--apply"]).ended_with(3).complained_about(&["no proposal waits", "`scrubjay dream`"]);

    let dreamt = stage.run(&["dream"]).ended_with(0);
    said(
        &dreamt,
        &[
            "dream · 4 memories",
            "no model was asked",
            "1 merged",
            "→ project_staging.md: project_staging_again.md says it too",
            "recall test:",
            "lines of the index: 4 now, 3 then",
            "for you to judge:",
            "scrubjay dream --apply",
        ],
    );
    assert_eq!(memories(&stage), before, "a dream that a person asks for changes nothing by itself");
    let again = stage.run(&["dream", "--json"]).ended_with(0).json();
    let id = again["waiting"][0].as_str().unwrap().to_owned();
    assert!(again["proposal"].is_null(), "it is proposed once: {again}");
    let diff = stage.run(&["dream", "--diff", "--json"]).ended_with(0).json();
    assert_eq!((&diff["id"], diff["steps"].as_array().unwrap().len()), (&id.as_str().into(), 2), "{diff}");
    let tried = &diff["recall_test"];
    assert!(tried["found_after"].as_u64() >= tried["found_before"].as_u64() && tried["asked"] != 0, "{tried}");
    said(&stage.run(&["dream", "--apply", "--dry-run"]).ended_with(0), &["--- a/project_staging.md"]);
    assert_eq!(memories(&stage), before);

    said(
        &stage.run(&["status"]).ended_with(0),
        &["dreams     last one just now, 1 proposal waits in `scrubjay inbox`"],
    );
    stage.run(&["dream", "--reject", &id[..5]]).ended_with(0);
    said(&stage.run(&["inbox"]).ended_with(0), &["nothing waits for you"]);
    let declined = stage.run(&["dream"]).ended_with(0);
    let names = format!("dream {id} · 1 merged · rejected just now");
    said(&declined, &["nothing new to tidy", &names, "→ project_staging.md", "`scrubjay inbox reopen ID`"]);
    let declined = stage.run(&["dream", "--json"]).ended_with(0).json();
    assert_eq!((&declined["declined"][0], &declined["proposal"]), (&id.as_str().into(), &Value::Null), "{declined}");
    stage.run(&["inbox", "reopen", &id[..6]]).ended_with(0);

    let applied = stage.run(&["dream", "--apply"]).ended_with(0);
    said(&applied, &["removed project_staging.md", "project_staging_again.md", "take it back with `scrubjay undo "]);
    assert!(!memories(&stage).contains_key("project_staging"));
    said(&stage.run(&["memory", "log"]).ended_with(0), &[&format!("dream {id}, applied by a person")]);
    stage.run(&["undo"]).ended_with(0);
    said(&stage.run(&["dream"]).ended_with(0), &[&format!("dream {id} · 1 merged · applied and taken back just now")]);
    let (mut back, mut was) = (memories(&stage), before);
    back.remove("MEMORY");
    was.remove("MEMORY");
    assert_eq!(back, was, "one command takes it all back");
}

// spec: Z5
// spec: Z7
#[tokio::test(flavor = "multi_thread")]
async fn a_dream_that_is_stopped_with_ctrl_c_changes_nothing() {
    let pacer = Pacer::new();
    let held = pacer.clone();
    let script = Script::new().otherwise_with(move |_| text("one word after the other ".repeat(40)).paced(&held));
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    untidy(&stage);
    let before = memories(&stage);
    let child = stage.command(&["dream"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    simulator.wait_for_requests(1).await;
    let interrupt = ["-INT", &child.id().to_string()].map(str::to_owned);
    assert!(std::process::Command::new("kill").args(interrupt).status().unwrap().success());
    let ran: Ran = block(|| child.wait_with_output().unwrap().into());
    let ran = ran.ended_with(130);
    ran.complained_about(&["the memory is as it was"]);
    assert_eq!(memories(&stage), before);
    said(&stage.run(&["inbox"]).ended_with(0), &["nothing waits for you"]);
}

/// Let a model read a page of the project and write down what it says.
async fn poison(stage: &Stage) {
    let fact = "The heron gateway listens on port 7001 behind the old mill.";
    stage.write("page.txt", fact);
    let memory = format!(
        "---\nname: Heron gateway\ndescription: where the heron gateway listens\ntype: reference\n---\n{fact}\n"
    );
    let file = folder(stage).join("reference_heron.md");
    let script = Script::new()
        .reply(tool_use("Read", json!({ "file_path": stage.project().join("page.txt") })))
        .reply(tool_use("Write", json!({ "file_path": file, "content": memory })))
        .reply(text("Noted."));
    let simulator = Simulator::start(script).await.unwrap();
    let mut command = stage.command(&["-p", "Look at the page."]);
    command.env("SCRUBJAY_BASE_URL", simulator.url()).env("SCRUBJAY_MODEL", MODEL).env("ANTHROPIC_API_KEY", CANARY);
    finished(command).ended_with(0);
}

// spec: V5
// spec: D11
#[tokio::test(flavor = "multi_thread")]
async fn the_inbox_holds_what_waits_and_each_answer_can_be_taken_back() {
    let stage = Stage::offline();
    untidy(&stage);
    poison(&stage).await;
    stage.run(&["dream"]).ended_with(0);
    let listed = stage.run(&["inbox"]).ended_with(0);
    said(
        &listed,
        &["  1  dream ", "1 merged", "  2  memory reference_heron", "unconfirmed: the model's own note", "keep N"],
    );
    let json = stage.run(&["inbox", "--json"]).ended_with(0).json();
    let kinds: Vec<_> = json["waiting"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["dream", "unconfirmed"], "{json}");
    said(&stage.run(&["inbox", "show", "1"]).ended_with(0), &["--- a/project_staging.md", "recall test"]);
    said(&stage.run(&["inbox", "show", "reference_heron"]).ended_with(0), &["behind the old mill"]);
    stage.run(&["inbox", "accept", "9"]).ended_with(3).complained_about(&["nothing that waits", "`scrubjay inbox`"]);

    let index = || fs::read_to_string(folder(&stage).join("MEMORY.md")).unwrap();
    assert!(!index().contains("reference_heron"));
    let accepted = stage.run(&["inbox", "accept", "1", "reference_heron.md"]).ended_with(0);
    said(&accepted, &["removed project_staging.md", "confirmed reference_heron.md", "scrubjay undo"]);
    assert!(index().contains("reference_heron") && !memories(&stage).contains_key("project_staging"));
    said(&stage.run(&["inbox"]).ended_with(0), &["nothing waits for you"]);
    stage.run(&["undo"]).ended_with(0);
    assert!(!index().contains("reference_heron"), "the confirmation is taken back");
    let rejected = stage.run(&["inbox", "reject", "1", "--json"]).ended_with(0).json();
    assert_eq!(rejected["receipts"][0]["outcomes"][0]["outcome"], "removed", "{rejected}");
    stage.run(&["undo"]).ended_with(0);
    said(&stage.run(&["inbox"]).ended_with(0), &["  1  memory reference_heron"]);
}

// spec: Q7
#[tokio::test(flavor = "multi_thread")]
async fn the_chat_dreams_and_decides_like_the_commands() {
    let stage = Stage::offline();
    untidy(&stage);
    let mut terminal = Terminal::start(&stage, &["chat"]);
    block(|| {
        terminal.wait_for_prompt();
        terminal.type_line("/memory inbox");
        terminal.wait_for("nothing waits for you");
        terminal.wait_for_prompt();
        terminal.type_line("/dream");
        terminal.wait_for("project_staging_again.md says it too");
        terminal.wait_for("/dream apply");
        terminal.wait_for_prompt();
        terminal.type_line("/memory inbox");
        terminal.wait_for("/memory inbox show N");
        terminal.wait_for_prompt();
        terminal.type_line("/dream apply");
        terminal.wait_for("take it back with `/undo");
        terminal.wait_for_prompt();
    });
    assert!(!memories(&stage).contains_key("project_staging"));
    block(|| {
        terminal.type_line("/undo");
        terminal.wait_for("is taken back");
    });
    assert!(memories(&stage).contains_key("project_staging"));
}

// spec: E10
// spec: E7
#[tokio::test(flavor = "multi_thread")]
async fn a_chat_without_a_model_learns_what_is_said_outright_and_says_how_to_take_it_back() {
    let stage = Stage::offline();
    let mut terminal = Terminal::start_with(&stage, &["chat"], &[("SCRUBJAY_LAYER_EXTRACTION", "true")]);
    block(|| {
        terminal.wait_for_prompt();
        terminal.type_line("Remember that integration tests must use the real database.");
        terminal.wait_for(" · /undo 1");
        assert!(terminal.wait_for_prompt().contains("✓ remembered: "), "the receipt stands under the answer");
        terminal.press("\u{4}");
        assert!(terminal.wait_for_end().success());
    });
    let listed = stage.run(&["memory", "ls"]).ended_with(0);
    said(&listed, &["real database"]);
    stage.run(&["memory", "undo", "1"]).ended_with(0);
    stage.run(&["memory", "ls"]).ended_with(3);
}

// spec: V1
// spec: Z5
#[tokio::test(flavor = "multi_thread")]
async fn what_extractions_and_dreams_took_is_the_same_wherever_it_is_told() {
    let is = |name: &'static str| move |request: &RecordedRequest| request.last_user_text().contains(name);
    let script = Script::new()
        .when(is_learner, learned(&json!([])))
        .when(is("name=\"dream\""), text("Nothing had to be changed."))
        .otherwise_with(|_| text("Good to know."));
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    untidy(&stage);
    let learns = ["--set", "layers.extraction=true", "--set", "layers.extraction_headless=true"];
    stage.run(&[&learns[..], &["-p", "By the way, I drink green tea in the morning."]].concat()).ended_with(0);
    let dreamt = stage.run(&["dream", "--json"]).ended_with(0).json();
    let jobs = stage.run(&["jobs", "--json"]).ended_with(0).json();
    let jobs: Vec<&Value> = jobs["jobs"].as_array().unwrap().iter().filter(|job| job["calls"] != 0).collect();
    let kinds: Vec<&str> = jobs.iter().filter_map(|job| job["kind"].as_str()).collect();
    assert_eq!(kinds, ["dream", "extract"], "the newest first: {jobs:?}");
    let cost = |job: &&Value| job["money"].as_f64().unwrap();
    assert!((cost(&jobs[0]) - dreamt["usd"].as_f64().unwrap()).abs() < 1e-9, "{dreamt}");
    let savings = stage.run(&["savings", "--since", "1d", "--json"]).ended_with(0).json();
    let (booked, watched) = (savings["own_calls"]["usd"].as_f64().unwrap(), jobs.iter().map(cost).sum::<f64>());
    assert!(watched > 0.0 && (booked.abs() - watched).abs() < 1e-9, "{booked} in the receipts, {watched} in the cards");
}
