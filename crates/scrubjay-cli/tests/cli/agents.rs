//! Stories of agents as a person meets them: in print mode, across a kill, and from files of a project.

use crate::stage::{Stage, block, files};
use scrubjay::limits::Limits;
use scrubjay::message::SessionId;
use scrubjay::transcript::{Entry, Transcript};
use scrubjay_testkit::simulator::{Pacer, RecordedRequest, Script, Simulator, text, tool_use};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

fn is_agent(request: &RecordedRequest) -> bool {
    request.system_text().contains("Another agent started you")
}

fn wish(more: Value) -> Value {
    let mut input = json!({ "prompt": "Find the seeds.", "description": "find the seeds" });
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    input
}

fn records(stage: &Stage) -> Vec<PathBuf> {
    let is_record = |path: &PathBuf| path.parent().is_some_and(|dir| dir.ends_with("agents"));
    let mut found: Vec<PathBuf> =
        files(&stage.home()).into_iter().filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect();
    found.retain(is_record);
    found.sort();
    found
}

// spec: A3
// spec: U2
#[tokio::test(flavor = "multi_thread")]
async fn print_mode_starts_agents_of_the_project_and_waits_for_those_in_the_background() {
    let script = Script::new()
        .when(
            |request| is_agent(request) && request.tool_results().is_empty(),
            tool_use("Glob", json!({ "pattern": "*.txt" })),
        )
        .when(is_agent, text("a.txt has them"))
        .reply(tool_use("Agent", wish(json!({ "agent": "finder", "background": true }))))
        .reply(text("I wait."))
        .reply(text("They are in a.txt."));
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    std::fs::create_dir_all(stage.project().join(".claude/agents")).unwrap();
    stage.write(
        ".claude/agents/finder.md",
        "---\nname: finder\ndescription: finds seeds\ntools: Glob, Read\ncolor: blue\n---\nYou find seeds.\n",
    );
    stage.write("a.txt", "seeds\n");
    let ran = stage
        .run(&["-p", "where are the seeds?"])
        .ended_with(0)
        .complained_about(&["● Agent find the seeds", "finder-1 (finder): done"]);
    assert_eq!(ran.out, "They are in a.txt.\n", "the last word, after the report");
    let requests = simulator.requests();
    let first = requests.iter().find(|request| is_agent(request)).unwrap();
    assert_eq!(first.tool_names(), ["Read", "Glob"]);
    assert!(first.system_text().starts_with("You find seeds."));
    let main = requests.iter().find(|request| !is_agent(request)).unwrap();
    assert!(main.tool_names().contains(&"Agent".to_owned()));
    let last = requests.last().unwrap().last_user_text();
    assert!(last.contains("<scrubjay-letter from=\"finder-1\">") && last.contains("a.txt has them"), "{last}");
    assert_eq!(records(&stage).len(), 1);
    simulator.push(text("Without agents."));
    stage.run(&["-p", "and now?", "--set", "layers.agents=false"]).ended_with(0);
    assert!(!simulator.last_request().unwrap().tool_names().contains(&"Agent".to_owned()));
}

// spec: A3
// spec: Q4
#[tokio::test(flavor = "multi_thread")]
async fn killed_while_three_agents_work_the_records_are_whole_and_the_next_start_reports_it() {
    let pacer = Pacer::new();
    let three = tool_use("Agent", wish(json!({})))
        .and(tool_use("Agent", wish(json!({ "background": true }))))
        .and(tool_use("Agent", wish(json!({ "fork": true }))));
    let never = || text("an answer that never ends").paced(&pacer);
    let script = Script::new()
        .when(is_agent, never())
        .when(|request| request.last_user_text().contains("<scrubjay-errand"), never())
        .reply(three);
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    let mut child =
        stage.command(&["-p", "the first question"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    simulator.wait_for_requests(4).await;
    child.kill().unwrap();
    block(|| child.wait().unwrap());
    let records = records(&stage);
    assert_eq!(records.len(), 3, "{records:?}");
    simulator.set_script(Script::new().otherwise(text("Here again.")));
    let ran = stage.run(&["-c", "-p", "and now?"]).ended_with(0);
    assert_eq!(ran.out, "Here again.\n");
    assert_eq!(ran.err.matches("was cut off when the program ended").count(), 3, "{}", ran.err);
    let asked = simulator.last_request().unwrap().all_text();
    assert_eq!(asked.matches("did not finish and does not go on").count(), 3, "{asked}");
    for path in records {
        let limits = Arc::new(Limits::default());
        let (record, damage) = Transcript::peek(&path, SessionId::new("x"), limits).unwrap();
        assert!(damage.is_empty(), "{damage:?}");
        let ends = record.records().iter().filter(|one| matches!(&one.entry, Entry::Returned(r) if r.how == "lost"));
        assert_eq!(ends.count(), 1);
    }
    let ran = stage.run(&["-c", "-p", "and now?"]).ended_with(0);
    assert!(!ran.err.contains("was cut off"), "once: {}", ran.err);
}
