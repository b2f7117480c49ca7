//! Forks: the parent's exact bytes, restrained when they call.

use scrubjay::agents::fork;
use scrubjay::errand::{Ending, EndsWhen, Errand};
use scrubjay::gate::Gate;
use scrubjay::message::Usage;
use scrubjay::model::{ModelError, Pending};
use scrubjay::prompt::Prompt;
use scrubjay::tool::{Bench, Effect, Tool, ToolOutcome};
use scrubjay::tools;
use scrubjay::transcript::ToolSpec;
use scrubjay_providers::scripted::{self, Scripted, Turn};
use scrubjay_testkit::{Setting, Story};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

fn errand(gate: Gate) -> Errand {
    Errand {
        name: "session_notes".into(),
        directive: "Write the notes.".into(),
        gate,
        turns: 5,
        ends: EndsWhen::Silent,
        receipt: Box::new(|_| None),
    }
}

async fn begun(model: Scripted) -> (Story, Arc<Scripted>) {
    let model = Arc::new(model);
    let limits = scrubjay::limits::Limits::default();
    let mut story = Setting::new(model.clone()).tools(tools::standard(&[], &limits)).begin().unwrap();
    story.ask("Hello").await.unwrap();
    (story, model)
}

// spec: A1
#[tokio::test]
async fn a_fork_begins_with_its_parents_exact_bytes_and_changes_nothing_of_it() {
    let usage = Usage { input: 5, cache_read: 900, output: 7, ..Usage::default() };
    let (mut story, model) = begun(
        Scripted::saying(["Hi."])
            .then(Turn::call("Write", json!({ "file_path": "notes.md", "content": "noted" })).counting(usage))
            .then(Turn::text("written").counting(usage))
            .then(Turn::text("And on we go.")),
    )
    .await;
    let parent = Prompt::of(story.session.transcript().view());
    let (history, files) =
        (story.session.transcript().view().history.clone(), story.session.transcript().view().files.clone());
    let target = story.home.project().join("notes.md");
    let outcome = story.session.send(errand(Gate::only_file(target.clone()))).await.unwrap();
    assert_eq!((outcome.ending.clone(), outcome.text().as_str()), (Ending::Done, "written"));
    assert_eq!(outcome.wrote, [target]);

    let sent = model.prompts();
    for prompt in &sent[1..3] {
        assert!(prompt.rendering().starts_with(&parent.rendering()), "the parent's prefix, to the byte");
        assert_eq!(prompt.tools, parent.tools, "all of the parent's tools stay listed");
        assert!(fork::is_fork(prompt) && !fork::is_fork(&parent));
    }
    let view = story.session.transcript().view();
    assert_eq!((&view.history, &view.files), (&history, &files), "nothing of the parent's changed");
    let spent = view.spent[&("session_notes".to_owned(), "scripted".to_owned())];
    assert_eq!((spent.calls, spent.usage.cache_read), (2, 1_800), "its cost is on the parent's record");
    story.ask("Next").await.unwrap();
}

// spec: A2
#[tokio::test]
async fn siblings_differ_in_their_last_block_alone() {
    let model = Arc::new(Scripted::new().afterwards(|_| Ok(Turn::text("ok"))));
    let mut story = Setting::new(model.clone()).begin().unwrap();
    story.ask("Hello").await.unwrap();
    let mut origins = story.session.origins();
    // An assistant message whose calls are still open, as when the model summons several agents at once.
    let mut open = (**origins.prompt.history.last().unwrap()).clone();
    open.blocks.extend(["t1", "t2"].map(|id| scrubjay::message::Block::tool_use(id.into(), "Agent", json!({}))));
    origins.prompt.history.pop();
    origins.prompt.history.push(Arc::new(open));
    let desk = story.session.desk().clone();
    for directive in ["Look left.", "Look right."] {
        let errand = Errand { directive: directive.into(), ..errand(Gate::open()) };
        fork::run(origins.clone(), &errand, &desk, &CancellationToken::new()).await;
    }
    let sent = model.prompts();
    let [left, right] = [&sent[1], &sent[2]].map(|prompt| prompt.history.last().unwrap().blocks.clone());
    assert_eq!(left.len(), 3, "two placeholders and the directive");
    assert_eq!(left[..2], right[..2]);
    assert_ne!(left[2], right[2]);
    let strip = |prompt: &Prompt| prompt.history[..prompt.history.len() - 1].to_vec();
    assert_eq!(strip(&sent[1]), strip(&sent[2]));
}

/// The tool that starts agents, as a fork sees it.
struct Summon(ToolSpec);

impl Tool for Summon {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn effect(&self, _: &Value, _: &Path) -> Effect {
        Effect::Summons
    }
    fn call<'a>(&'a self, _: &'a Value, _: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        Box::pin(async { ToolOutcome::ok("summoned") })
    }
}

// spec: A2
#[tokio::test]
async fn a_fork_cannot_fork_ask_or_leave_its_scope() {
    let calls = Turn::call("Agent", json!({}))
        .and_call("Write", json!({ "file_path": "elsewhere.md", "content": "" }))
        .and_call("Bash", json!({ "command": "touch escaped" }));
    let model = Arc::new(Scripted::saying(["Hi."]).then(calls).then(Turn::text("could not")));
    let limits = scrubjay::limits::Limits::default();
    let mut tools = tools::standard(&[], &limits);
    tools.push(Arc::new(Summon(ToolSpec::new("Agent", "starts agents", &json!({ "type": "object" })))));
    let mut story = Setting::new(model.clone()).tools(tools).begin().unwrap();
    story.ask("Hello").await.unwrap();
    let only = story.home.project().join("notes.md");
    let outcome = story.session.send(errand(Gate::only_file(only))).await.unwrap();
    assert_eq!(outcome.denials, 3);
    let refusals: Vec<String> =
        outcome.messages.iter().flat_map(|m| m.tool_results().map(|r| r.text()).collect::<Vec<_>>()).collect();
    assert!(refusals[0].contains("cannot start another agent"), "{refusals:?}");
    assert!(refusals[1].contains("may only read and edit"), "{refusals:?}");
    assert_eq!(std::fs::read_dir(story.home.project()).unwrap().count(), 0);
    assert!(model.prompts()[1].tools.iter().any(|tool| tool.name == "Agent"), "the tool stays listed");
}

#[tokio::test]
async fn a_fork_ends_when_its_turns_are_over_when_it_fails_and_when_it_is_stopped() {
    let forever = || Ok(Turn::call("Tasks", json!({ "tasks": [] })));
    let (mut story, _) = begun(Scripted::saying(["Hi."]).afterwards(move |_| forever())).await;
    let outcome = story.session.send(Errand { turns: 3, ..errand(Gate::open()) }).await.unwrap();
    assert_eq!((outcome.ending, outcome.calls.len()), (Ending::OutOfTurns, 3));

    let (mut story, _) = begun(Scripted::saying(["Hi."]).then_fail(ModelError::Unreachable("gone".into()))).await;
    let outcome = story.session.send(errand(Gate::open())).await.unwrap();
    assert_eq!((outcome.ending, outcome.calls.len()), (Ending::Failed("gone".into()), 0));

    let gate = scripted::Gate::new();
    let (story, _) = begun(Scripted::saying(["Hi."]).then(Turn::text("slow").behind(&gate))).await;
    let (cancel, errand) = (CancellationToken::new(), errand(Gate::open()));
    let (outcome, ()) =
        tokio::join!(fork::run(story.session.origins(), &errand, story.session.desk(), &cancel), async {
            gate.reached().await;
            cancel.cancel();
        });
    assert_eq!(outcome.ending, Ending::Cancelled);
}

// spec: R1
#[tokio::test]
async fn a_forks_results_pass_layer_1_too() {
    let (mut story, model) = begun(
        Scripted::saying(["Hi."]).then(Turn::call("Bash", json!({ "command": "seq 1 20000" }))).then(Turn::text("ok")),
    )
    .await;
    story.session.send(errand(Gate::open())).await.unwrap();
    let sent = model.prompts().pop().unwrap();
    let shown = sent.history.last().unwrap().tool_results().next().unwrap().text();
    assert!(shown.starts_with("<persisted-output>") && shown.len() < 3_000, "{} bytes", shown.len());
    assert!(story.session.transcript().view().spilled.is_empty(), "nothing of the parent's changed");
}
