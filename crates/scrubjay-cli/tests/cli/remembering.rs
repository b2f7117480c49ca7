//! Stories of memory across sessions: what one run writes down, the next one knows.

use crate::stage::{Stage, block, files};
use crate::terminal::Terminal;
use scrubjay_testkit::simulator::{Pacer, RecordedRequest, Script, Simulator, text, tool_use};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

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
        .reply(tool_use("Write", json!({ "file_path": file, "content": TEA })))
        .reply(text("I will remember it."));
    let simulator = Simulator::start(script).await.unwrap();
    let mut command = stage.command(&["-p", "Remember that I drink green tea without sugar in the morning."]);
    command.env("SCRUBJAY_BASE_URL", simulator.url());
    let saved = crate::stage::finished(command).ended_with(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), TEA, "nobody had to be asked");
    saved.complained_about(&["user_tea.md: new", "scrubjay memory undo 1"]);
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
    assert!(!requests[1].all_text().contains(line), "a session keeps its words");
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

fn is_errand(request: &RecordedRequest) -> bool {
    request.last_user_text().contains("name=\"extract\"")
}

/// An answer, and an extraction that saves what was said.
fn saving(dir: &Path) -> Script {
    let content = TEA.replace("type: user", "type: user\ncites: [\"I drink green tea, no sugar, in the morning\"]");
    let content = content.replace("what Ada drinks in the morning", "drinks green tea in the morning");
    let file = dir.join("user_tea.md");
    Script::new()
        .reply(text("Good to know."))
        .when(is_errand, tool_use("Write", json!({ "file_path": file, "content": content })))
        .reply(text("saved"))
}

// spec: E7
// spec: E8
#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_in_a_chat_is_remembered_by_the_time_it_is_left() {
    let simulator = Simulator::start(Script::new().reply(text("Hello."))).await.unwrap();
    let mut stage = Stage::with(&simulator);
    let dir = memory(&stage);
    let simulator = Simulator::start(saving(&dir)).await.unwrap();
    stage.talk_to(&simulator);
    block(|| {
        let mut terminal = Terminal::start(&stage, &[&["chat"], LEARNS].concat());
        terminal.wait_for_prompt();
        terminal.type_line("By the way, I drink green tea, no sugar, in the morning.");
        terminal.wait_for("Good to know.");
        terminal.wait_for_prompt();
        terminal.press(CTRL_D);
        terminal.wait_for("Memory saved: user_tea.md");
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
    let script = Script::new().reply(text("Good to know.")).when(is_errand, text("thinking it over").paced(&pacer));
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
    let simulator = Simulator::start(saving(&dir)).await.unwrap();
    stage.talk_to(&simulator);
    stage.run(&[LEARNS, &["-p", said]].concat()).ended_with(0);
    assert_eq!(simulator.requests().len(), 1);
    let simulator = Simulator::start(saving(&dir)).await.unwrap();
    stage.talk_to(&simulator);
    let switched = [LEARNS, &["--set", "layers.extraction_headless=true", "-p", said]].concat();
    stage.run(&switched).ended_with(0).complained_about(&["Memory saved: user_tea.md"]);
    assert!(dir.join("user_tea.md").exists());
}
