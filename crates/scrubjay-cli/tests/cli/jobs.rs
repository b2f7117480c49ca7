//! Stories of background work: seen, stopped and put to rest from outside.

use crate::stage::{Stage, block};
use crate::terminal::Terminal;
use scrubjay_testkit::simulator::{Pacer, RecordedRequest, Reply, Script, Simulator, error, text};
use std::process::Stdio;

/// A model writes the notes, after every answer.
const EAGER: [&str; 4] = ["--set", "session_notes.writer=model", "--set", "limits.notes_first_tokens=0"];

fn wants_notes(request: &RecordedRequest) -> bool {
    request.all_text().contains("name=\"session_notes\"")
}

/// Answers questions at once, and notes like this.
async fn noting(notes: impl Fn() -> Reply + Send + 'static) -> (Simulator, Stage) {
    let script =
        Script::new().otherwise_with(move |request| if wants_notes(request) { notes() } else { text("An answer.") });
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    (simulator, stage)
}

// spec: Z5
// spec: Q7
#[tokio::test(flavor = "multi_thread")]
async fn the_chat_shows_what_runs_and_another_process_lists_follows_and_stops_it() {
    let pacer = Pacer::new();
    let held = pacer.clone();
    let (simulator, stage) = noting(move || text("one word after the other ".repeat(40)).paced(&held)).await;
    let mut terminal = Terminal::start(&stage, &[&["chat"][..], &EAGER].concat());
    block(|| {
        terminal.wait_for_prompt();
        terminal.type_line("/jobs");
        terminal.wait_for("no background work in this project yet");
        terminal.wait_for_prompt();
        terminal.type_line("where are the seeds?");
        terminal.wait_for("An answer.");
        terminal.wait_for_prompt();
    });
    simulator.wait_for_requests(2).await;
    block(|| {
        terminal.type_line("/jobs");
        terminal.wait_for("session notes · running, starting ·");
        terminal.wait_for("/jobs stop ID stops one");
        // The line above every prompt while it runs.
        terminal.wait_for("session notes · starting ·");
        terminal.wait_for_prompt();
    });
    let status = stage.run(&["status"]).ended_with(0).out;
    assert!(status.contains("session notes · starting ·"), "{status}");
    let listed = stage.run(&["jobs", "--json"]).ended_with(0).json();
    let job = &listed["jobs"][0];
    assert_eq!((&job["kind"], &job["state"]), (&"session_notes".into(), &"running".into()), "{listed}");
    let id = job["id"].as_str().unwrap();
    let watch = stage.command(&["jobs", "watch"]).stdout(Stdio::piped()).spawn().unwrap();
    let said = stage.run(&["jobs", "kill", &id[..4]]).ended_with(0).out;
    assert!(said.contains(id) && said.contains("asked to stop"), "{said}");
    pacer.step(6);
    let watched = block(|| watch.wait_with_output().unwrap());
    let watched = String::from_utf8(watched.stdout).unwrap();
    assert!(watched.contains("running · session notes") || watched.contains("nothing runs"), "{watched}");
    let listed = stage.run(&["jobs"]).ended_with(0).out;
    assert!(listed.contains("killed") && !listed.contains("rests"), "{listed}");
    stage.run(&["jobs", "kill", id]).ended_with(3).complained_about(&["does not run any more (killed)"]);
    block(|| {
        terminal.type_line(&format!("/jobs stop {id}"));
        terminal.wait_for("does not run any more");
        terminal.wait_for_prompt();
    });
}

// spec: Z5
#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_process_was_killed_has_died() {
    let pacer = Pacer::new();
    let (simulator, stage) = noting(move || text("never").paced(&pacer)).await;
    let patient = ["--set", "limits.notes_exit_ms=600000"];
    let arguments = [&["-p", "where are the seeds?"][..], &EAGER, &patient].concat();
    let mut child = stage.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    simulator.wait_for_requests(2).await;
    let running = stage.run(&["jobs"]).ended_with(0).out;
    assert!(running.contains("running, starting"), "{running}");
    child.kill().unwrap();
    block(|| child.wait().unwrap());
    let died = stage.run(&["jobs"]).ended_with(0).out;
    assert!(died.contains("session notes · died ·"), "{died}");
    let watched = stage.run(&["jobs", "watch"]).ended_with(0).out;
    assert!(watched.contains("nothing runs"), "{watched}");
}

// spec: X7
#[tokio::test(flavor = "multi_thread")]
async fn what_gets_nowhere_rests_across_processes_shows_in_status_and_is_reset_by_hand() {
    let (simulator, stage) = noting(|| error(400, "invalid_request_error", "no notes today")).await;
    stage.run(&["jobs"]).ended_with(0);
    stage.run(&["jobs", "reset", "session_notes"]).ended_with(3).complained_about(&["nothing is held against"]);
    stage.run(&["jobs", "kill", "zzz"]).ended_with(3).complained_about(&["no job `zzz`", "scrubjay jobs"]);
    for n in 0..5 {
        stage.run(&[&["-p", &format!("question {n}")][..], &EAGER].concat()).ended_with(0);
    }
    let tried = |simulator: &Simulator| simulator.requests().iter().filter(|request| wants_notes(request)).count();
    assert_eq!(tried(&simulator), 3, "three processes tried, and no fourth");
    let rests = "session_notes rests until";
    for command in ["status", "jobs"] {
        let said = stage.run(&[command]).ended_with(0).out;
        assert!(said.contains(rests) && said.contains("no notes today"), "{said}");
        assert!(said.contains("scrubjay jobs reset session_notes"), "{said}");
    }
    assert_eq!(stage.run(&["status", "--json"]).json()["resting"][0]["kind"], "session_notes");
    stage.run(&["jobs", "reset", "session_notes"]).ended_with(0);
    assert!(!stage.run(&["status"]).ended_with(0).out.contains(rests));
    stage.run(&[&["-p", "again"][..], &EAGER].concat()).ended_with(0);
    assert_eq!(tried(&simulator), 4);
}

// spec: V2
#[tokio::test(flavor = "multi_thread")]
async fn that_the_day_s_budget_is_used_up_stands_in_status() {
    let (_simulator, stage) = noting(|| text("nothing to note")).await;
    stage.run(&[&["-p", "where are the seeds?"][..], &EAGER].concat()).ended_with(0);
    let small = ["--set", "limits.background_day_tokens=1"];
    let said = stage.run(&[&["status"][..], &small].concat()).ended_with(0).out;
    assert!(said.contains("of today's 1 tokens and stops"), "{said}");
    let told = stage.run(&[&["-p", "and the acorns?"][..], &EAGER, &small].concat()).ended_with(0).err;
    assert_eq!(told.matches("of today's 1 tokens and stops").count(), 1, "{told}");
}
