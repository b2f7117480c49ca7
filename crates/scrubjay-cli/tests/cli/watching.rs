//! Stories of a person who looks after agents: their kinds, what they are doing, and how they are stopped.

use crate::stage::{Ran, Stage, block};
use crate::terminal::Terminal;
use scrubjay_testkit::simulator::{Pacer, RecordedRequest, Script, Simulator, text, tool_use};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

const JAY: &str = "---\nname: jay\ndescription: hides seeds\ntools: Read, Write\nmemory: user\n---\nYou hide seeds.\n";

/// The program with this on its standard input.
fn with_input(stage: &Stage, arguments: &[&str], input: &str) -> Ran {
    let given = stage.project().join("given");
    fs::write(&given, input).unwrap();
    let mut command = stage.command(arguments);
    command.stdin(fs::File::open(given).unwrap());
    Ran::from(block(|| command.output().unwrap()))
}

fn names(listed: &Value) -> Vec<&str> {
    listed["agents"].as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap()).collect()
}

// spec: A3
// spec: U8
#[tokio::test(flavor = "multi_thread")]
async fn kinds_are_listed_with_where_they_come_from_and_defined_from_standard_input() {
    let stage = Stage::offline();
    let listed = stage.run(&["agents"]).ended_with(0).out;
    assert!(listed.contains("explore  comes with the program\n  Find out"), "{listed}");
    let said = with_input(&stage, &["agents", "create", "jay"], JAY).ended_with(0).out;
    assert!(said.contains("config/agents/jay.md") && said.contains("from the next start"), "{said}");
    let listed = stage.run(&["agents", "ls", "--json"]).ended_with(0).json();
    assert_eq!((names(&listed), &listed["agents"][2]["author"]), (vec!["explore", "general", "jay"], &"person".into()));
    let shown = stage.run(&["agents", "show", "jay"]).ended_with(0).out;
    for part in ["yours, ", "Read, Write", "memory   user", "You hide seeds."] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let theirs = JAY.replace("hides", "finds").replace("You hide", "You find");
    let said = with_input(&stage, &["agents", "create", "jay", "--project", "--json"], &theirs).ended_with(0).json();
    assert_eq!((&said["author"], &said["instead_of"]), (&"project".into(), &"person".into()), "{said}");
    let notices = said["notices"].to_string();
    assert!(notices.contains("a repository cannot ask for"), "{notices}");
    let file = stage.project().join(".scrubjay/agents/jay.md");
    assert_eq!(fs::read_to_string(&file).unwrap(), theirs);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    with_input(&stage, &["agents", "edit", "jay"], &theirs.replace("seeds", "acorns")).ended_with(0);
    assert!(fs::read_to_string(&file).unwrap().contains("You find acorns."), "the project's counts here");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    let shown = stage.run(&["agents", "show", "jay", "--json"]).ended_with(0).json();
    assert_eq!((&shown["role"], &shown["memory"]), (&"You find acorns.".into(), &"project".into()));
}

// spec: A3
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_definition_is_refused_and_kept_and_nothing_is_written_outside_of_the_project() {
    let stage = Stage::offline();
    let refused = |arguments: &[&str], input: &str, code: i32, words: &[&str]| {
        with_input(&stage, arguments, input).ended_with(code).complained_about(words).err
    };
    let said = refused(&["agents", "create", "jay"], "You hide seeds.", 2, &["no definition", "kept in"]);
    let kept = said.split("kept in ").nth(1).unwrap().trim();
    assert_eq!(fs::read_to_string(kept).unwrap(), "You hide seeds.");
    refused(&["agents", "create", "crow"], JAY, 2, &["is called `jay` and not `crow`"]);
    refused(&["agents", "create", "../jay"], JAY, 2, &["cannot be the name"]);
    refused(&["agents", "create", "jay"], "", 2, &["empty"]);
    refused(&["agents", "edit", "explore"], JAY, 4, &["comes with the program", "agents create explore"]);
    refused(&["agents", "show", "exploer"], "", 3, &["did you mean `explore`?"]);
    assert!(!stage.home().join("config/agents").exists());
    with_input(&stage, &["agents", "create", "jay"], JAY).ended_with(0);
    refused(&["agents", "create", "jay"], JAY, 2, &["there is already", "agents edit jay"]);
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), stage.project().join(".scrubjay")).unwrap();
    refused(&["agents", "create", "jay", "--project"], JAY, 1, &["a link leads out of the project", "kept in"]);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

// spec: Q7
#[tokio::test(flavor = "multi_thread")]
async fn in_the_chat_kinds_are_made_and_changed_in_the_editor() {
    let stage = Stage::offline();
    let editor = stage.project().join("editor.sh");
    fs::write(&editor, "#!/bin/sh\nsed -i 's/^description:.*/description: hides nuts/; s/one task/nuts/' \"$1\"\n")
        .unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    block(|| {
        let editor = editor.display().to_string();
        let mut terminal = Terminal::start_with(&stage, &["chat"], &[("EDITOR", &editor)]);
        terminal.wait_for_prompt();
        let mut say = |line: &str, shown: &str| {
            terminal.type_line(line);
            terminal.wait_for(shown);
            terminal.wait_for_prompt();
        };
        say("/agents create jay", "the agent jay is in");
        say("/agents edit jay", "nothing was changed");
        say("/agents", "  hides nuts");
        say("/agents show jay", "You work for another agent on nuts.");
        say("/agents edit general", "comes with the program and stays as it is");
    });
    assert!(stage.home().join("config/agents/jay.md").exists());
}

fn asks(request: &RecordedRequest, words: &str) -> bool {
    request.system_text().contains("Another agent started you") && request.all_text().contains(words)
}

/// An agent that looks for something once and then writes a report as fast as the pacer lets it.
fn working(script: Script, task: &'static str, looks: &str, report: &str, pacer: &Pacer) -> Script {
    let first = move |request: &RecordedRequest| asks(request, task) && request.tool_results().is_empty();
    script
        .when(first, tool_use("Glob", json!({ "pattern": looks })))
        .when(move |request| asks(request, task), text(report).paced(pacer))
}

// spec: A6
// spec: A3
// spec: Q7
#[tokio::test(flavor = "multi_thread")]
async fn three_agents_are_watched_at_work_followed_and_stopped() {
    let [seeds, jays, tree] = [Pacer::new(), Pacer::new(), Pacer::new()];
    let started = |prompt: &str, background: bool| {
        tool_use("Agent", json!({ "prompt": prompt, "description": prompt, "background": background }))
    };
    let script = working(Script::new(), "Find the seeds", "*.seed", "They are under the oak.", &seeds);
    let script = working(script, "Count the jays", "*.jay", "There are very many of them.", &jays);
    let script = working(script, "Climb the tree", "*.tree", "It is high.", &tree)
        .reply(
            started("Find the seeds", true).and(started("Count the jays", true)).and(started("Climb the tree", false)),
        )
        .otherwise(text("Two of them still work."));
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    let mut terminal = Terminal::start(&stage, &["chat"]);
    block(|| {
        terminal.wait_for_prompt();
        terminal.type_line("where are the seeds?");
        terminal.wait_for("◦ 3 agents · ");
        for words in ["general-1: Looking for *.seed", "general-2: Looking for *.jay", "general-3: Looking for *.tree"]
        {
            terminal.wait_for(words);
        }
        tree.open();
        terminal.wait_for("Two of them still work.");
        let screen = terminal.wait_for_prompt();
        assert!(screen.contains("◦ 2 agents · ") && !screen.contains("◦ 3 agents"), "{screen}");
        terminal.type_line("/tasks");
        let screen = terminal.wait_for("/tasks stop NAME");
        assert!(screen.contains("general-1  general · running · Looking for *.seed · "), "{screen}");
        assert!(screen.contains("general-3  general · done · "), "{screen}");
        assert!(screen.contains("2 calls, ") && screen.contains(" tokens, $0."), "{screen}");
        terminal.wait_for_prompt();
        terminal.type_line("/tasks attach general-1");
        terminal.wait_for("● Looking for *.seed");
        terminal.wait_for("following general-1 · Enter returns ›");
        seeds.open();
        terminal.wait_for("They are under the oak.");
        terminal.wait_for("general-1 is done; Enter returns");
        terminal.type_line("");
        terminal.wait_for("◦ 1 agent · ");
        terminal.wait_for_prompt();
        terminal.type_line("/tasks message general-2 the barn is empty");
        terminal.wait_for("the agent general-2 reads it before its next request");
        terminal.wait_for_prompt();
        terminal.type_line("/tasks stop general-2");
        terminal.wait_for("general-2 (general): stopped");
        terminal.wait_for_prompt();
        terminal.type_line("/tasks stop general-2");
        terminal.wait_for("does not work any more (stopped)");
        terminal.type_line("/tasks attach nobody");
        terminal.wait_for("no agent `nobody` was started here");
    });
}

// spec: A3
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_in_the_background_that_must_ask_is_heard_while_the_person_is_at_the_prompt() {
    let pacer = Pacer::new();
    let script = Script::new()
        .when(
            |request| asks(request, "Touch it") && request.tool_results().is_empty(),
            tool_use("Bash", json!({ "command": "touch made" })).paced(&pacer),
        )
        .when(|request| asks(request, "Touch it"), text("It is there."))
        .reply(tool_use("Agent", json!({ "prompt": "Touch it", "description": "touch it", "background": true })))
        .otherwise(text("It has begun."));
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    let mut terminal = Terminal::start(&stage, &["chat"]);
    block(|| {
        terminal.wait_for_prompt();
        terminal.type_line("begin");
        terminal.wait_for("It has begun.");
        terminal.wait_for_prompt();
        pacer.open();
        terminal.wait_for("press Enter to hear it");
        terminal.type_line("");
        terminal.wait_for("wants to run:");
        terminal.type_line("y");
        terminal.wait_for("general-1 (general): done");
    });
    assert!(stage.project().join("made").exists());
}
