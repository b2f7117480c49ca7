//! Stories of the chat, in a terminal.

use crate::stage::{Bell, Stage, block};
use crate::terminal::Terminal;
use scrubjay_testkit::simulator::{Pacer, Script, Simulator, error, text, tool_use};
use serde_json::json;

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

async fn stage_of(script: Script) -> (Simulator, Stage) {
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    (simulator, stage)
}

// spec: U2
#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_with_tools_and_retries() {
    let script = Script::new()
        .reply(error(529, "overloaded_error", "Overloaded").header("retry-after", "0"))
        .reply(text("Let me look.").and(tool_use("Read", json!({ "file_path": "a.txt" }))))
        .reply(text("It says \u{1b}]0;owned\u{7}hello."))
        .reply(text("The second answer."));
    let (simulator, stage) = stage_of(script).await;
    stage.write("a.txt", "hello\n");
    block(|| {
        let mut terminal = Terminal::start(&stage, &["chat"]);
        terminal.wait_for("permission: ask");
        terminal.wait_for_prompt();
        terminal.type_line("what does a.txt say?");
        terminal.wait_for("hello.");
        let screen = terminal.wait_for_prompt();
        for words in
            ["retrying in", "Let me look.", "● Read a.txt", "└ 1 line", "⟦U+001B⟧]0;owned", "tokens (", "cache "]
        {
            assert!(screen.contains(words), "{words} in\n{screen}");
        }
        terminal.press("first line \\\r");
        terminal.type_line("second line");
        terminal.wait_for("The second answer.");
        terminal.wait_for_prompt();
        terminal.press(CTRL_D);
        assert!(terminal.wait_for_end().success());
    });
    assert!(simulator.last_request().unwrap().last_user_text().contains("first line \nsecond line"));
    let history = std::fs::read_to_string(stage.home().join("state/history")).unwrap();
    assert!(history.contains("what does a.txt say?"), "{history}");
}

// spec: Q3
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_stops_the_answer_and_twice_leaves() {
    let pacer = Pacer::new();
    let (simulator, stage) =
        stage_of(Script::new().reply(text("A beginning without an end").paced(&pacer)).reply(text("Fine."))).await;
    block(|| {
        let mut terminal = Terminal::start(&stage, &["chat"]);
        terminal.wait_for("permission: ask");
        terminal.wait_for_prompt();
        terminal.type_line("tell me a story");
        pacer.step(4);
        terminal.wait_for("A beginning");
        terminal.press(CTRL_C);
        terminal.wait_for("interrupted; what was said is kept");
        terminal.wait_for_prompt();
        terminal.type_line("are you there?");
        terminal.wait_for("Fine.");
        terminal.wait_for_prompt();
        terminal.press(CTRL_C);
        terminal.wait_for("Ctrl-C again leaves");
        terminal.press(CTRL_C);
        assert!(terminal.wait_for_end().success());
    });
    let asked = simulator.last_request().unwrap().all_text();
    assert!(asked.contains("tell me a story") && asked.contains("A beginning"), "{asked}");
}

// spec: Q3
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_twice_in_a_moment_leaves_a_session_that_goes_on() {
    let script = Script::new().reply(tool_use("Bash", json!({ "command": "trap '' INT; echo begun > bell; sleep 5" })));
    let (simulator, stage) = stage_of(script).await;
    let bell = Bell::new(&stage, "bell");
    block(|| {
        let mut terminal =
            Terminal::start(&stage, &["chat", "--allow", "Bash", "--set", "limits.second_interrupt_ms=60000"]);
        terminal.wait_for("permission: ask");
        terminal.type_line("do something long");
        bell.wait();
        terminal.press(CTRL_C);
        terminal.wait_for("interrupted");
        terminal.wait_for_prompt();
        terminal.press(CTRL_C);
        assert!(terminal.wait_for_end().success());
    });
    simulator.set_script(Script::new().otherwise(text("Here again.")));
    stage.run(&["-c", "-p", "and now?"]).ended_with(0);
    assert_eq!(simulator.last_request().unwrap().tool_results().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_asked_and_may_say_yes_no_always_or_why_not() {
    let touch = |name: &str| tool_use("Bash", json!({ "command": format!("touch {name}") }));
    let script = Script::new()
        .reply(touch("one"))
        .reply(touch("two"))
        .reply(touch("three"))
        .reply(touch("three"))
        .reply(tool_use("Write", json!({ "file_path": "four", "content": "new text\n" })))
        .reply(text("All done."));
    let (simulator, stage) = stage_of(script).await;
    block(|| {
        let mut terminal = Terminal::start(&stage, &["chat"]);
        terminal.wait_for("permission: ask");
        terminal.wait_for_prompt();
        terminal.type_line("go");
        for (wanted, answer) in [("touch one", "y"), ("touch two", "not in this folder"), ("touch three", "a")] {
            terminal.wait_for(&format!("wants to run:\n    {wanted}"));
            terminal.wait_for_prompt();
            terminal.type_line(answer);
        }
        terminal.wait_for("wants to change");
        terminal.wait_for("+ new text");
        terminal.wait_for_prompt();
        terminal.type_line("n");
        terminal.wait_for("All done.");
        terminal.wait_for_prompt();
        terminal.type_line("/quit");
        assert!(terminal.wait_for_end().success());
    });
    let made = |name: &str| stage.project().join(name).exists();
    assert_eq!(["one", "two", "three", "four"].map(made), [true, false, true, false]);
    let results = simulator.last_request().unwrap().tool_results();
    assert!(results[1].1.contains("not in this folder") && results[4].1.contains("said no"), "{results:?}");
}

// spec: Q7
#[tokio::test(flavor = "multi_thread")]
async fn slash_commands_and_shell_commands() {
    let script = Script::new()
        .reply(
            text("First.")
                .and(tool_use("Tasks", json!({ "tasks": [{ "title": "feed the jays", "status": "in_progress" }] }))),
        )
        .reply(text("Noted."))
        .reply(text("Another answer."))
        .reply(text("A fresh answer."));
    let (simulator, stage) = stage_of(script).await;
    block(|| {
        let mut terminal = Terminal::start(&stage, &["chat"]);
        terminal.wait_for("permission: ask");
        terminal.wait_for_prompt();
        let mut say = |line: &str, shown: &str| {
            terminal.type_line(line);
            terminal.wait_for(&format!("› {line}"));
            terminal.wait_for(shown);
            terminal.wait_for_prompt();
        };
        say("/help", "stop the answer; twice: leave");
        say("/hlep", "did you mean /help?");
        say("what now?", "Noted.");
        say("/tasks", "[>] feed the jays");
        say("/context", "tokens left until");
        say("/cost", "total $");
        say("/model claude-sonnet-5", "from now on: claude-sonnet-5");
        say("!echo from-the-shell", "the model sees this");
        say("go on", "Another answer.");
        say("/clear", "a new session");
        say("a fresh question", "A fresh answer.");
        terminal.type_line("/resume");
        terminal.wait_for("number or id");
        terminal.type_line("2");
        terminal.wait_for("2 questions so far");
        terminal.wait_for_prompt();
        terminal.press(CTRL_D);
        assert!(terminal.wait_for_end().success());
    });
    let requests = simulator.requests();
    let asked = requests.iter().filter(|request| request.path == "/v1/messages").collect::<Vec<_>>();
    let with_shell = asked.iter().find(|request| request.last_user_text().contains("go on")).unwrap();
    assert!(with_shell.all_text().contains("from-the-shell") && with_shell.model() == "claude-sonnet-5");
    assert!(!asked.last().unwrap().all_text().contains("what now?"), "/clear begins a new session");
}

// spec: Q6
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_approved_before_anything_is_changed() {
    let write = || tool_use("Write", json!({ "file_path": "made", "content": "x" }));
    let script = Script::new()
        .reply(write())
        .reply(tool_use("Plan", json!({ "plan": "1. write the file" })))
        .reply(write())
        .reply(text("Done."));
    let (simulator, stage) = stage_of(script).await;
    block(|| {
        let mut terminal = Terminal::start(&stage, &["chat", "--permission-mode", "accept-edits"]);
        terminal.wait_for("permission: accept-edits");
        terminal.type_line("/plan");
        terminal.wait_for("nothing is changed until");
        terminal.type_line("write it");
        terminal.wait_for("1. write the file");
        terminal.wait_for_prompt();
        assert!(!stage.project().join("made").exists());
        terminal.type_line("y");
        terminal.wait_for("Done.");
    });
    assert!(stage.project().join("made").exists());
    assert!(simulator.last_request().unwrap().tool_results()[0].1.contains("plan"));
}

// spec: U2
#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_the_chat_says_what_it_is_and_leaves_nothing_behind() {
    let stage = Stage::offline();
    block(|| {
        let mut terminal = Terminal::start(&stage, &["chat"]);
        let screen = terminal.wait_for("ANTHROPIC_API_KEY");
        assert!(screen.contains("no language model is connected"), "{screen}");
        terminal.wait_for_prompt();
        terminal.type_line("/quit");
        assert!(terminal.wait_for_end().success());
    });
    assert!(stage.transcripts().is_empty(), "nothing was asked, so nothing is kept");
    let mut piped = stage.command(&["chat"]);
    let mut child = piped.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"hello\n/quit\n").unwrap();
    let ran = crate::stage::Ran::from(block(|| child.wait_with_output().unwrap())).ended_with(0);
    assert!(ran.out.contains("No language model is configured"), "{ran:#?}");
}
