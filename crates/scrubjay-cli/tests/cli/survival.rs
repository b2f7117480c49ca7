//! Ends that nobody planned: kills, signals, and two programs that want the same session.

use crate::stage::{Bell, Ran, Stage, block};
use scrubjay_testkit::simulator::{Pacer, Script, Simulator, text, tool_use};
use serde_json::json;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};

fn begin(stage: &Stage, arguments: &[&str]) -> Child {
    stage.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(name: &str, child: &Child) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

async fn goes_on(simulator: &Simulator, stage: &Stage) -> String {
    simulator.set_script(Script::new().otherwise(text("Here again.")));
    let ran = stage.run(&["-c", "-p", "and now?"]).ended_with(0);
    assert_eq!(ran.out, "Here again.\n");
    simulator.last_request().unwrap().all_text()
}

// spec: Q4
#[tokio::test(flavor = "multi_thread")]
async fn killed_while_the_answer_streams() {
    let pacer = Pacer::new();
    let simulator =
        Simulator::start(Script::new().reply(text("a long answer that never ends").paced(&pacer))).await.unwrap();
    let stage = Stage::with(&simulator);
    let mut child = begin(&stage, &["-p", "the first question", "--output-format", "stream-json"]);
    pacer.step(4);
    simulator.wait_for_requests(1).await;
    child.kill().unwrap();
    block(|| child.wait().unwrap());
    assert!(goes_on(&simulator, &stage).await.contains("the first question"));
}

// spec: Q3
// spec: Q4
#[tokio::test(flavor = "multi_thread")]
async fn killed_in_the_middle_of_a_tool_every_call_has_an_answer() {
    let script = Script::new().reply(tool_use("Bash", json!({ "command": "echo begun > bell; sleep 5" })));
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    let bell = Bell::new(&stage, "bell");
    let mut child = begin(&stage, &["-p", "the first question", "--allow", "Bash"]);
    bell.wait();
    child.kill().unwrap();
    block(|| child.wait().unwrap());
    // The simulator refuses a call without its answer, so going on proves it.
    goes_on(&simulator, &stage).await;
    let results = simulator.last_request().unwrap().tool_results();
    assert_eq!(results.len(), 1, "{results:?}");
}

// spec: Q3
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_print_mode_with_its_number_and_keeps_what_was_shown() {
    for (name, code) in [("-INT", 130), ("-TERM", 143)] {
        let pacer = Pacer::new();
        let simulator =
            Simulator::start(Script::new().reply(text("Half an answer and more").paced(&pacer))).await.unwrap();
        let stage = Stage::with(&simulator);
        let mut child = begin(&stage, &["-p", "the first question", "--output-format", "stream-json"]);
        pacer.step(4);
        let mut out = child.stdout.take().unwrap();
        let shown = block(|| {
            let mut seen = String::new();
            let mut piece = [0; 4_096];
            while !seen.contains("\"delta\"") {
                let read = out.read(&mut piece).unwrap();
                assert!(read > 0, "{seen}");
                seen.push_str(&String::from_utf8_lossy(&piece[..read]));
            }
            seen
        });
        signal(name, &child);
        let rest = block(|| {
            let mut rest = String::new();
            out.read_to_string(&mut rest).unwrap();
            rest
        });
        let ran = Ran::from(block(|| child.wait_with_output().unwrap())).ended_with(code);
        ran.complained_about(&["interrupted", "saved"]);
        assert!(rest.contains("\"is_error\":true"), "{shown}{rest}");
        let asked = goes_on(&simulator, &stage).await;
        assert!(asked.contains("the first question") && asked.contains("Half"), "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_open_elsewhere_is_not_shared_but_can_be_copied() {
    let pacer = Pacer::new();
    let simulator = Simulator::start(Script::new().reply(text("Yes."))).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.run(&["-p", "the first question"]).ended_with(0);
    simulator.push(text("slow").paced(&pacer));
    let mut open = begin(&stage, &["-c", "-p", "wait for me"]);
    simulator.wait_for_requests(2).await;
    stage.run(&["-c", "-p", "me too"]).ended_with(1).complained_about(&["open in another process", "--fork-session"]);
    simulator.push(text("In a copy."));
    let copy = stage.run(&["-c", "--fork-session", "-p", "me too"]).ended_with(0);
    assert_eq!(copy.out, "In a copy.\n");
    pacer.open();
    assert!(block(|| open.wait().unwrap()).success());
}
