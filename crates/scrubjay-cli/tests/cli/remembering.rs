//! Stories of memory across sessions: what one run writes down, the next one knows.

use crate::stage::{Stage, block, files};
use crate::terminal::Terminal;
use crate::workweek::{is_learner, learned};
use scrubjay_testkit::simulator::{Pacer, Script, Simulator, error, text, tool_use};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const CTRL_D: &str = "\u{4}";
const TEA: &str =
    "---\nname: Tea\ndescription: what Ada drinks in the morning\ntype: user\n---\nGreen tea, no sugar.\n";

/// The memory directory, which a first run has made.
fn memory(stage: &Stage) -> PathBuf {
    stage.run(&["-p", "hello there"]).ended_with(0);
    let projects = stage.home().join("data/projects");
    let project = fs::read_dir(projects).unwrap().next().unwrap().unwrap().path();
    let memory = project.join("memory");
    assert!(memory.is_dir(), "the directory exists before the model is told about it");
    memory.canonicalize().unwrap()
}

/// The same stage without a service.
fn offline(stage: &Stage, question: &str) -> String {
    let mut command = stage.command(&["-p", question]);
    command.env_remove("SCRUBJAY_BASE_URL").env_remove("SCRUBJAY_MODEL").env_remove("ANTHROPIC_API_KEY");
    crate::stage::finished(command).ended_with(0).out
}

// spec: U2
// spec: R2
// spec: D10
#[tokio::test(flavor = "multi_thread")]
async fn what_one_run_writes_down_the_next_one_finds_even_offline() {
    let simulator = Simulator::start(Script::new().reply(text("Hello."))).await.unwrap();
    let stage = Stage::with(&simulator);
    let dir = memory(&stage);
    let file = dir.join("user_tea.md");
    let script = Script::new()
        .when(is_learner, learned(&tea()))
        .reply(tool_use("remember", json!({ "note": "Green tea, no sugar." })))
        .reply(text("I will remember it."));
    let simulator = Simulator::start(script).await.unwrap();
    let said = "Remember that I drink green tea, no sugar, in the morning.";
    let mut command = stage.command(&[LEARNS, &["-p", said]].concat());
    command.env("SCRUBJAY_BASE_URL", simulator.url());
    let saved = crate::stage::finished(command).ended_with(0);
    assert!(fs::read_to_string(&file).unwrap().contains("Green tea, no sugar."), "nobody had to be asked");
    let learner = simulator.requests().into_iter().find(is_learner).unwrap();
    assert_eq!(learner.json["tools"][0]["strict"], true, "the service checks the answer's form");
    assert!(learner.all_text().contains(said), "it reads what was typed");
    saved.complained_about(&["✓ remembered: Tea · scrubjay undo 1"]);
    assert!(fs::read_to_string(dir.join("MEMORY.md")).unwrap().contains("user_tea.md"));

    let answer = offline(&stage, "What do I drink in the morning?");
    assert!(answer.contains("Green tea, no sugar.") && answer.contains(file.to_str().unwrap()), "{answer}");
    assert!(offline(&stage, "Why does the walrus whistle?").contains("Nothing was recalled"));
}

// spec: P1
// spec: P5
// spec: P6
// spec: D4
#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_told_how_to_use_its_memory_and_what_is_in_it_once() {
    let script = (0..5).fold(Script::new(), |script, n| script.reply(text(format!("answer {n}"))));
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.write("CLAUDE.md", "Use tabs.");
    let dir = memory(&stage);
    fs::write(dir.join("user_tea.md"), TEA).unwrap();
    stage.run(&["--continue", "-p", "again"]).ended_with(0);
    stage.run(&["-p", "afresh"]).ended_with(0);
    stage.run(&["--bare", "-p", "bare"]).ended_with(0);
    stage.run(&["--set", "memory.enabled=false", "-p", "off"]).ended_with(0);
    let requests = simulator.requests();
    let line = "- [Tea](user_tea.md) — what Ada drinks in the morning";
    let system = |at: usize| requests[at].system_text();
    assert!(system(0).contains(dir.to_str().unwrap()), "behaviour goes into the system prompt");
    assert_eq!(system(0), system(1));
    assert_eq!(requests[1].divergence_from(&requests[0]), None, "a session keeps its words");
    let again = requests[1].all_text();
    assert_eq!(again.matches(line).count(), 1, "and is told of what was remembered since: {again}");
    let fresh = requests[2].all_text();
    assert!(fresh.contains(line) && !system(2).contains(line), "the index goes into the user context");
    let place = |words: &str| fresh.find(words).unwrap_or_else(|| panic!("{words} in {fresh}"));
    assert!(place("Use tabs.") < place("MEMORY.md") && place(line) < place("afresh"));
    for (at, request) in requests.iter().enumerate().skip(3) {
        let told = request.system_text() + &request.all_text();
        assert!(!told.contains("user_tea.md") && !told.contains(dir.to_str().unwrap()), "request {at}: {told}");
    }
}

// spec: T6
#[tokio::test(flavor = "multi_thread")]
async fn recalled_memories_are_their_own_part_of_the_window() {
    let stage = Stage::offline();
    let dir = memory(&stage);
    fs::write(dir.join("user_tea.md"), TEA).unwrap();
    block(|| {
        let mut terminal = Terminal::start(&stage, &["chat"]);
        terminal.wait_for_prompt();
        terminal.type_line("What do I drink in the morning?");
        terminal.wait_for("Green tea, no sugar.");
        terminal.wait_for_prompt();
        terminal.type_line("/context");
        let screen = terminal.wait_for("tokens left until");
        assert!(screen.contains("memory"), "{screen}");
        terminal.wait_for_prompt();
        terminal.press(CTRL_D);
        assert!(terminal.wait_for_end().success());
    });
    let context = stage.run(&["context", "--json"]).ended_with(0).json();
    assert!(context["by_share"]["memory"].as_u64().unwrap_or_default() > 0, "{context}");
}

// spec: X8
#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_to_find_memories_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let stage = Stage::offline();
    let dir = memory(&stage);
    fs::write(dir.join("user_tea.md"), TEA).unwrap();
    stage.run(&["-p", "What do I drink in the morning?"]).ended_with(0);
    let kept: Vec<PathBuf> = files(&stage.home()).into_iter().filter(|path| path.ends_with("recall/memory")).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(fs::metadata(&kept[0]).unwrap().permissions().mode() & 0o777, 0o600);
}

const LEARNS: &[&str] = &["--set", "layers.extraction=true"];

/// What the learner makes of the words about tea.
fn tea() -> Value {
    json!([{ "action": "create", "type": "user", "name": "Tea", "description": "drinks green tea in the morning",
        "statement": "Green tea, no sugar.", "why": "", "how_to_apply": "",
        "cites": ["I drink green tea, no sugar, in the morning"] }])
}

/// An answer, and a learner that saves what was said.
fn saving() -> Script {
    Script::new().when(is_learner, learned(&tea())).reply(text("Good to know."))
}

// spec: E7
// spec: E8
#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_in_a_chat_is_remembered_by_the_time_it_is_left() {
    let simulator = Simulator::start(Script::new().reply(text("Hello."))).await.unwrap();
    let mut stage = Stage::with(&simulator);
    let dir = memory(&stage);
    let simulator = Simulator::start(saving()).await.unwrap();
    stage.talk_to(&simulator);
    block(|| {
        let mut terminal = Terminal::start(&stage, &[&["chat"], LEARNS].concat());
        terminal.wait_for_prompt();
        terminal.type_line("By the way, I drink green tea, no sugar, in the morning.");
        terminal.wait_for("Good to know.");
        terminal.wait_for_prompt();
        terminal.press(CTRL_D);
        terminal.wait_for("✓ remembered: Tea · scrubjay undo 1");
        assert!(terminal.wait_for_end().success());
    });
    let saved = fs::read_to_string(dir.join("user_tea.md")).unwrap();
    assert!(saved.contains("Green tea, no sugar.") && !saved.contains("cites"), "{saved}");
    assert!(stage.run(&["memory", "log"]).ended_with(0).out.contains("user_tea.md"));
}

// spec: E8
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_leaves_without_waiting_for_a_memory() {
    let pacer = Pacer::new();
    let script = Script::new().reply(text("Good to know.")).when(is_learner, text("thinking it over").paced(&pacer));
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    block(|| {
        let mut terminal = Terminal::start(&stage, &[&["chat"], LEARNS].concat());
        terminal.wait_for_prompt();
        terminal.type_line("By the way, I drink green tea.");
        terminal.wait_for("Good to know.");
        terminal.wait_for_prompt();
        terminal.press(CTRL_D);
        terminal.wait_for("Ctrl-C leaves without it");
        terminal.press("\u{3}");
        assert!(terminal.wait_for_end().success());
    });
}

// spec: E1
#[tokio::test(flavor = "multi_thread")]
async fn print_mode_learns_only_where_it_is_told_to() {
    let simulator = Simulator::start(Script::new().reply(text("Hello."))).await.unwrap();
    let mut stage = Stage::with(&simulator);
    let dir = memory(&stage);
    let said = "By the way, I drink green tea, no sugar, in the morning.";
    let simulator = Simulator::start(saving()).await.unwrap();
    stage.talk_to(&simulator);
    stage.run(&[LEARNS, &["-p", said]].concat()).ended_with(0);
    assert_eq!(simulator.requests().len(), 1);
    let simulator = Simulator::start(saving()).await.unwrap();
    stage.talk_to(&simulator);
    let switched = [LEARNS, &["--set", "layers.extraction_headless=true", "-p", said]].concat();
    stage.run(&switched).ended_with(0).complained_about(&["✓ remembered: Tea · scrubjay undo 1"]);
    assert!(dir.join("user_tea.md").exists());
}

/// What the model writes into the memory folder itself is a note: it waits for the user.
// spec: D10
// spec: X4
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_the_model_writes_waits_in_the_inbox() {
    let simulator = Simulator::start(Script::new().reply(text("Hello."))).await.unwrap();
    let mut stage = Stage::with(&simulator);
    let dir = memory(&stage);
    let wharf =
        "---\nname: Wharf\ndescription: where the boats are\ntype: reference\n---\nThe boats are at the wharf.\n";
    let write = || tool_use("Write", json!({ "file_path": dir.join("reference_wharf.md"), "content": wharf }));
    let script = Script::new().when(is_learner, learned(&json!([]))).reply(write()).reply(text("Noted."));
    let simulator = Simulator::start(script).await.unwrap();
    stage.talk_to(&simulator);
    let streamed =
        stage.run(&["-p", "--output-format", "stream-json", "Look at the harbour plan and go on."]).ended_with(0);
    let memory = streamed.lines().into_iter().find(|line| line["type"] == "memory").unwrap();
    assert_eq!((&memory["event"], &memory["title"]), (&json!("unconfirmed"), &json!("Wharf")), "{memory}");
    assert_eq!(memory["path"], "reference_wharf.md");
    assert!(memory["doubt"].as_str().unwrap().contains("the model's own note"), "{memory}");
    assert!(!fs::read_to_string(dir.join("MEMORY.md")).unwrap_or_default().contains("wharf"));
    let listed = stage.run(&["inbox"]).ended_with(0).out;
    assert!(listed.contains("reference_wharf") && listed.contains("unconfirmed: the model's own note"), "{listed}");
    stage.run(&["inbox", "keep", "--all"]).ended_with(0);
    assert!(fs::read_to_string(dir.join("MEMORY.md")).unwrap().contains("wharf"));
}

/// The text of a transcript, all sessions together.
fn recorded(stage: &Stage) -> String {
    stage.transcripts().iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

// spec: X5
#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_with_one_letter_at_the_next_prompt() {
    let note = |words: &str| tool_use("remember", json!({ "note": words }));
    let script = Script::new()
        .when(is_learner, learned(&json!([])))
        .reply(note("The tide gate closes at 530 cm."))
        .reply(text("I noted the gate."))
        .reply(note("The pump is in hall 4."))
        .reply(note("The crane is in hall 5."))
        .reply(text("I noted both halls."))
        .reply(text("As you say."));
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    let mut terminal = Terminal::start(&stage, &[&["chat"], LEARNS].concat());
    let index = || stage.run(&["memory", "ls", "--json"]).out;
    block(|| {
        terminal.wait_for_prompt();
        terminal.type_line("read the plan of the harbour");
        terminal.wait_for("what you typed does not say it) · k keep · d drop");
        terminal.wait_for("    project: The tide gate closes at 530 cm.");
        terminal.wait_for("I noted the gate.");
        terminal.wait_for_prompt();
        terminal.type_line("k");
        terminal.wait_for("✓ remembered: The tide gate closes at 530 cm · /undo 2");
        terminal.wait_for_prompt();
    });
    assert!(index().contains("tide_gate"), "{}", index());
    assert_eq!(simulator.requests().iter().filter(|request| !is_learner(request)).count(), 2, "no letter is sent");
    block(|| {
        terminal.type_line("and the halls?");
        terminal.wait_for("k2 keep · d2 drop");
        terminal.wait_for("I noted both halls.");
        terminal.wait_for_prompt();
        terminal.type_line("k");
        terminal.wait_for("which one? k1, k2");
        terminal.wait_for_prompt();
        terminal.type_line("d2");
        terminal.wait_for("✓ dropped: The crane is in hall 5 · /undo");
        terminal.wait_for_prompt();
        terminal.type_line("yes, go on");
        terminal.wait_for("1 question stays in the inbox");
        terminal.wait_for("As you say.");
        terminal.wait_for_prompt();
        terminal.type_line("/memory inbox");
        terminal.wait_for("memory project_the_pump_is_in_hall_4");
        terminal.wait_for("/memory inbox show N");
        terminal.wait_for_prompt();
        terminal.press(CTRL_D);
        assert!(terminal.wait_for_end().success());
    });
    let waiting = stage.run(&["inbox", "--json"]).ended_with(0).json();
    assert_eq!(
        waiting["waiting"][0]["name"], "project_the_pump_is_in_hall_4.md",
        "a yes to the model confirms nothing"
    );
}

/// A clean memory goes only when the user says so to the program.
// spec: X5
// spec: D10
#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_the_model_wants_is_proposed_and_decided() {
    let forget = || tool_use("forget", json!({ "name": "project_tea_is_at_four" }));
    let script = Script::new()
        .when(is_learner, learned(&json!([])))
        .reply(forget())
        .reply(text("It waits for you."))
        .reply(text("Fine."));
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.run(&["remember", "--type", "project", "Tea is at four"]).ended_with(0);
    let path = files(&stage.home()).into_iter().find(|path| path.ends_with("project_tea_is_at_four.md")).unwrap();
    let mut terminal = Terminal::start(&stage, &[&["chat"], LEARNS].concat());
    block(|| {
        terminal.wait_for_prompt();
        terminal.type_line("look at the plan of the day");
        terminal.wait_for("? proposed: removal of Tea is at four (");
        terminal.wait_for("-Tea is at four");
        terminal.wait_for("It waits for you.");
        terminal.wait_for_prompt();
    });
    assert!(path.exists(), "nothing happens before the yes");
    block(|| {
        terminal.type_line("k");
        terminal.wait_for("✓ done: removal of Tea is at four · /undo 2");
        terminal.wait_for_prompt();
    });
    assert!(!path.exists());
    block(|| {
        terminal.type_line("/undo");
        terminal.wait_for("is taken back");
        terminal.wait_for_prompt();
    });
    assert!(path.exists());
}

/// A yes covers exactly what was shown.
// spec: X5
#[tokio::test(flavor = "multi_thread")]
async fn a_memory_that_changed_since_it_was_shown_is_asked_about_again() {
    let script = Script::new()
        .when(is_learner, learned(&json!([])))
        .reply(tool_use("remember", json!({ "note": "The tide gate closes at 530 cm." })))
        .reply(text("I noted the gate."));
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    let mut terminal = Terminal::start(&stage, &[&["chat"], LEARNS].concat());
    block(|| {
        terminal.wait_for_prompt();
        terminal.type_line("read the plan of the harbour");
        terminal.wait_for("I noted the gate.");
        terminal.wait_for_prompt();
    });
    let path = files(&stage.home()).into_iter().find(|path| path.to_string_lossy().contains("tide_gate")).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("530", "900")).unwrap();
    block(|| {
        terminal.type_line("k");
        terminal.wait_for("it has changed since it was shown");
        terminal.wait_for("closes at 900 cm");
        terminal.wait_for_prompt();
        terminal.type_line("d");
        terminal.wait_for("✓ dropped: ");
        terminal.wait_for_prompt();
    });
    assert!(!path.exists());
}

// spec: X4
#[tokio::test(flavor = "multi_thread")]
async fn what_is_pasted_run_and_piped_is_labelled_in_the_record() {
    let simulator = Simulator::start(Script::new().otherwise(text("Fine."))).await.unwrap();
    let stage = Stage::with(&simulator);
    block(|| {
        let mut terminal = Terminal::start(&stage, &["chat"]);
        terminal.wait_for_prompt();
        terminal.type_line("!echo printed");
        terminal.wait_for("the model sees this with your next question");
        terminal.wait_for_prompt();
        terminal.press("look at ");
        terminal.press("\u{1b}[200~one heron\ntwo herons\nthree herons\u{1b}[201~");
        terminal.wait_for("three herons");
        terminal.type_line(" please");
        terminal.wait_for("Fine.");
        terminal.wait_for_prompt();
        terminal.press(CTRL_D);
        assert!(terminal.wait_for_end().success());
    });
    let record = recorded(&stage);
    assert!(record.contains("look at one heron\\ntwo herons\\nthree herons please"), "{record}");
    assert!(record.contains(r#"{"block":0,"origin":"output"}"#), "{record}");
    assert!(record.contains(r#"{"block":1,"range":[8,41],"origin":"pasted"}"#), "{record}");

    let piped = Stage::with(&simulator);
    let mut command = assert_cmd::Command::from_std(piped.command(&["-p", "what is this?"]));
    block(|| command.write_stdin("a page of text").assert().success());
    assert!(recorded(&piped).contains(r#"{"block":1,"origin":"piped"}"#), "{}", recorded(&piped));
    let alone = Stage::with(&simulator);
    let mut command = assert_cmd::Command::from_std(alone.command(&["-p"]));
    block(|| command.write_stdin("a page of text").assert().success());
    assert!(recorded(&alone).contains(r#"{"block":0,"origin":"piped"}"#), "{}", recorded(&alone));
}

const SAID: &str = "By the way, I drink green tea, no sugar, in the morning.";
const HAIKU: &str = "claude-haiku-4-5";
const HEADLESS: &[&str] = &[
    "--set",
    "layers.extraction=true",
    "--set",
    "layers.extraction_headless=true",
    "--set",
    "models.extract=claude-haiku-4-5",
];

// spec: E1
#[tokio::test(flavor = "multi_thread")]
async fn the_learner_asks_the_cheap_model_and_the_main_one_where_that_is_refused() {
    let simulator = Simulator::start(saving()).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.run(&[HEADLESS, &["-p", SAID]].concat()).ended_with(0).complained_about(&["✓ remembered: Tea"]);
    let asked: Vec<(bool, String)> =
        simulator.requests().iter().map(|request| (is_learner(request), request.model().to_owned())).collect();
    assert_eq!(asked, [(false, crate::stage::MODEL.to_owned()), (true, HAIKU.to_owned())]);
    let status = stage.run(&[HEADLESS, &["status"]].concat()).ended_with(0).out;
    assert!(status.contains("learns with: claude-haiku-4-5"), "{status}");

    let refused = Script::new()
        .when(|request| request.model() == HAIKU, error(404, "not_found_error", "model: claude-haiku-4-5"))
        .when(is_learner, learned(&tea()))
        .reply(text("Good to know."));
    let simulator = Simulator::start(refused).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.run(&[HEADLESS, &["-p", SAID]].concat()).ended_with(0).complained_about(&["✓ remembered: Tea"]);
    let asked: Vec<String> =
        simulator.requests().iter().filter(|request| is_learner(request)).map(|one| one.model().to_owned()).collect();
    assert_eq!(asked, [HAIKU, crate::stage::MODEL]);
}
