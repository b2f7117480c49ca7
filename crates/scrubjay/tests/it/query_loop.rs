//! Stories of the loop: questions, tools, interruptions, failures. Both invariants are checked after every question.

use jiff::SignedDuration;
use scrubjay::desk::{Consent, Person};
use scrubjay::event::Event;
use scrubjay::gate::{Gate, Verdict};
use scrubjay::message::{Block, Kind, Origin, Usage};
use scrubjay::model::{ModelError, Pending};
use scrubjay::tokens::ContextWindow;
use scrubjay::tool::{Bench, Effect, Tool, ToolOutcome};
use scrubjay::transcript::{Entry, ToolSpec};
use scrubjay::{Error, tools};
use scrubjay_providers::scripted::{self, Scripted, Turn};
use scrubjay_testkit::{Setting, Story};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn with_tools(model: Scripted) -> Setting {
    let limits = scrubjay::limits::Limits::default();
    Setting::new(Arc::new(model)).tools(tools::standard(&[], &limits))
}

fn results(story: &Story) -> Vec<(String, bool)> {
    let history = &story.session.transcript().view().history;
    history
        .iter()
        .flat_map(|message| message.tool_results().map(|r| (r.text(), r.is_error)).collect::<Vec<_>>())
        .collect()
}

// spec: Q1
#[tokio::test]
async fn a_question_goes_through_tools_to_an_answer() {
    let model = Scripted::new()
        .then(Turn::text("I will look.").and_call("Read", json!({ "file_path": "notes.txt" })))
        .then(Turn::call("Edit", json!({ "file_path": "notes.txt", "old_string": "seeds", "new_string": "acorns" })))
        .then(Turn::text("Done: it says acorns now.").counting(Usage { input: 900, output: 12, ..Usage::default() }))
        .then(Turn::text("You asked about acorns."));
    let mut story = with_tools(model).begin().unwrap();
    story.home.write("notes.txt", "hide the seeds\n").unwrap();
    let answer = story.ask("Change seeds to acorns in notes.txt").await.unwrap();
    assert_eq!((answer.text.as_str(), answer.rounds), ("Done: it says acorns now.", 3));
    assert_eq!(std::fs::read_to_string(story.home.project().join("notes.txt")).unwrap(), "hide the acorns\n");

    story.setting.clock.advance(SignedDuration::from_hours(24));
    story.ask("What did I ask?").await.unwrap();
    insta::with_settings!({ filters => vec![(r"/tmp/\S*?/project", "[project]")] }, {
        insta::assert_snapshot!(story.storyboard());
    });
}

// spec: Q4
#[tokio::test]
async fn a_resumed_session_sends_the_same_bytes() {
    let model = Scripted::new()
        .then(Turn::call("Read", json!({ "file_path": "a.txt" })))
        .then(Turn::text("It says one."))
        .then(Turn::call("Edit", json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" })))
        .then(Turn::text("Changed."));
    let mut story = with_tools(model).begin().unwrap();
    story.home.write("a.txt", "one\n").unwrap();
    story.ask("What does a.txt say?").await.unwrap();
    let before = scrubjay::prompt::Prompt::of(story.session.transcript().view());

    let mut story = story.resume().unwrap();
    let after = scrubjay::prompt::Prompt::of(story.session.transcript().view());
    assert_eq!(before.rendering(), after.rendering());
    assert!(story.damage.is_empty());
    story.ask("Make it two").await.unwrap();
    assert!(!results(&story).last().unwrap().1, "what was read before the kill still counts as read");
}

// spec: Q3
// spec: Q4
#[tokio::test]
async fn a_session_killed_in_the_middle_of_a_tool_round_goes_on() {
    let gate = scripted::Gate::new();
    let held = gate.clone();
    let model = Scripted::new()
        .then(Turn::text("Two things.").and_call("Pause", json!({})).and_call("Read", json!({ "file_path": "x" })))
        .then(Turn::text("I see that it was not finished."));
    let pause = Arc::new(Pause { spec: spec("Pause"), gate: held });
    let setting = Setting::new(Arc::new(model)).tools([pause as Arc<dyn Tool>]);
    let mut story = setting.begin().unwrap();
    tokio::select! {
        _ = story.ask("Begin") => panic!("the tool never returns"),
        () = gate.reached() => {}
    }
    let mut story = story.resume().unwrap();
    let answer = story.ask("And now?").await.unwrap();
    assert_eq!(answer.text, "I see that it was not finished.");
    let lost = results(&story);
    assert_eq!(lost.len(), 2);
    assert!(lost.iter().all(|(text, failed)| *failed && text.contains("never finished")), "{lost:?}");
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "a tool of a story", &json!({ "type": "object" }))
}

/// A tool that does not come back by itself.
struct Pause {
    spec: ToolSpec,
    gate: scripted::Gate,
}

impl Tool for Pause {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn effect(&self, _: &Value, _: &Path) -> Effect {
        Effect::Nothing
    }
    fn call<'a>(&'a self, _: &'a Value, _: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        Box::pin(async {
            self.gate.pass().await;
            ToolOutcome::ok("the gate was opened")
        })
    }
}

// spec: Q3
#[tokio::test]
async fn interrupted_in_the_middle_of_a_reply_what_was_shown_is_kept() {
    let gate = scripted::Gate::new();
    let model = Scripted::new()
        .then(Turn::text("One two three").in_pieces(4).behind(&gate))
        .then(Turn::text("I had said: One."));
    let mut story = Setting::new(Arc::new(model)).begin().unwrap();
    let interrupt = story.session.interrupt();
    let (asked, ()) = tokio::join!(story.ask("Count"), async {
        gate.reached().await;
        interrupt.now();
    });
    assert!(matches!(asked, Err(Error::Interrupted)));
    let last = story.session.transcript().view().history.last().unwrap().clone();
    assert_eq!((last.text().as_str(), last.origin), ("One ", Origin::Model));
    assert_eq!(story.ask("What had you said?").await.unwrap().text, "I had said: One.");
}

// spec: Q3
#[tokio::test]
async fn interrupted_in_the_middle_of_a_tool_every_call_has_a_result() {
    let gate = scripted::Gate::new();
    let model = Scripted::new()
        .then(
            Turn::call("Pause", json!({}))
                .and_call("Pause", json!({}))
                .and_call("Write", json!({ "file_path": "w", "content": "" })),
        )
        .then(Turn::text("Stopped."));
    let mut setting = with_tools(model);
    setting.tools.push(Arc::new(Pause { spec: spec("Pause"), gate: gate.clone() }));
    let mut story = setting.begin().unwrap();
    let interrupt = story.session.interrupt();
    let (asked, ()) = tokio::join!(story.ask("Begin"), async {
        gate.reached().await;
        interrupt.now();
    });
    assert!(matches!(asked, Err(Error::Interrupted)));
    let answers = results(&story);
    assert_eq!(answers.len(), 3);
    assert!(answers.iter().all(|(text, failed)| *failed && text.contains("interrupted")), "{answers:?}");
    assert!(!story.home.project().join("w").exists(), "nothing starts after an interrupt");
    story.ask("Go on").await.unwrap();
}

// spec: Q2
#[tokio::test]
async fn a_cut_reply_is_continued_and_nothing_is_said_twice() {
    let cut = |words: &str| ModelError::Cut {
        partial: vec![Block::text(words)],
        usage: Usage { input: 10, output: 2, ..Usage::default() },
        because: "connection reset".into(),
    };
    let model = Scripted::new()
        .then_fail(cut("The first half"))
        .then(Turn::text(" and the second half."))
        .then_fail(cut("a"))
        .then_fail(cut("b"))
        .then_fail(cut("c"));
    let mut story = Setting::new(Arc::new(model)).begin().unwrap();
    let answer = story.ask("Tell me").await.unwrap();
    assert_eq!(answer.text, " and the second half.");
    insta::assert_snapshot!(story.storyboard());
    assert!(story.events().iter().any(|event| matches!(event, Event::Notice(text) if text.contains("cut off"))));

    let failed = story.ask("Again").await.unwrap_err();
    assert!(matches!(failed, Error::Model(ModelError::Cut { .. })), "{failed}");
    let kept: Vec<String> = story.session.transcript().view().history.iter().map(|m| m.text()).collect();
    for words in ["a", "b", "c"] {
        assert!(kept.iter().any(|text| text == words), "{words} was shown and is kept");
    }
}

#[tokio::test]
async fn a_failed_question_leaves_the_next_one_possible() {
    let model = Scripted::new().then_fail(ModelError::Unreachable("no route".into())).then(Turn::text("Here again."));
    let mut story = Setting::new(Arc::new(model)).begin().unwrap();
    assert!(matches!(story.ask("Hello?").await, Err(Error::Model(ModelError::Unreachable(_)))));
    assert_eq!(story.ask("Hello?").await.unwrap().text, "Here again.");
}

// spec: T4
#[tokio::test]
async fn a_request_that_cannot_fit_is_not_sent_and_says_what_to_do() {
    let model = Scripted::saying(["never"]).holding(ContextWindow { size: 10_000, max_output: 1_000 });
    let model = Arc::new(model);
    let mut story = Setting::new(model.clone()).begin().unwrap();
    let refused = story.ask(&"word ".repeat(9_000)).await.unwrap_err();
    assert!(matches!(refused, Error::Full(_)));
    assert!(refused.to_string().contains("/clear"), "{refused}");
    assert_eq!(model.prompts().len(), 0);
}

#[tokio::test]
async fn a_loop_without_end_is_stopped() {
    let model = Scripted::new().afterwards(|_| Ok(Turn::call("Tasks", json!({ "tasks": [] }))));
    let mut setting = with_tools(model);
    setting.limits.rounds_per_question = 7;
    let mut story = setting.begin().unwrap();
    assert!(matches!(story.ask("Go").await, Err(Error::TooManyRounds(7))));
    assert_eq!(results(&story).len(), 7);
}

/// Counts how many of its calls run at the same time.
struct Crowd {
    spec: ToolSpec,
    effect: Effect,
    here: AtomicUsize,
    most: Arc<AtomicUsize>,
}

impl Tool for Crowd {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn effect(&self, _: &Value, _: &Path) -> Effect {
        self.effect.clone()
    }
    fn call<'a>(&'a self, input: &'a Value, _: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        Box::pin(async {
            let here = self.here.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(here, Ordering::SeqCst);
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            self.here.fetch_sub(1, Ordering::SeqCst);
            ToolOutcome::ok(input["n"].to_string())
        })
    }
}

// spec: Q1
#[tokio::test]
async fn readers_run_together_and_writers_alone_and_answers_keep_their_order() {
    let crowd = |name: &str, effect| {
        let most = Arc::new(AtomicUsize::new(0));
        (Arc::new(Crowd { spec: spec(name), effect, here: AtomicUsize::new(0), most: most.clone() }), most)
    };
    let (reader, readers) = crowd("Look", Effect::Reads(vec![]));
    let (writer, writers) = crowd("Change", Effect::Writes("/x".into()));
    let calls =
        (0..6).fold(Turn::default(), |turn, n| turn.and_call(if n < 4 { "Look" } else { "Change" }, json!({ "n": n })));
    let model = Scripted::new().then(calls).then(Turn::text("ok"));
    let mut story = Setting::new(Arc::new(model)).tools([reader as Arc<dyn Tool>, writer]).begin().unwrap();
    story.ask("Go").await.unwrap();
    assert_eq!((readers.load(Ordering::SeqCst), writers.load(Ordering::SeqCst)), (4, 1));
    let answers: Vec<String> = results(&story).into_iter().map(|(text, _)| text).collect();
    assert_eq!(answers, ["0", "1", "2", "3", "4", "5"]);
}

#[tokio::test]
async fn tools_that_fail_panic_or_do_not_exist_answer_the_model() {
    struct Faulty(ToolSpec);
    impl Tool for Faulty {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }
        fn effect(&self, _: &Value, _: &Path) -> Effect {
            Effect::Nothing
        }
        fn call<'a>(&'a self, _: &'a Value, _: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
            Box::pin(async { panic!("a fault in a tool") })
        }
    }
    let model = Scripted::new()
        .then(
            Turn::call("Faulty", json!({})).and_call("Nonsense", json!({})).and_call("Read", json!({ "file_path": 7 })),
        )
        .then(Turn::text("ok"));
    let mut setting = with_tools(model);
    setting.tools.push(Arc::new(Faulty(spec("Faulty"))));
    let mut story = setting.begin().unwrap();
    story.ask("Go").await.unwrap();
    let answers = results(&story);
    assert!(answers[0].0.contains("failed inside itself"), "{answers:?}");
    assert!(answers[1].0.contains("There is no tool called Nonsense") && answers[1].0.contains("Read"), "{answers:?}");
    assert!(answers[2].0.contains("file_path"), "{answers:?}");
    assert!(answers.iter().all(|(_, failed)| *failed));
}

#[tokio::test]
async fn what_the_gate_and_the_person_refuse_is_told_to_the_model() {
    let model = Scripted::new()
        .then(
            Turn::call("Bash", json!({ "command": "touch denied" }))
                .and_call("Write", json!({ "file_path": "asked", "content": "" })),
        )
        .then(Turn::text("ok"));
    let mut setting = with_tools(model);
    setting.gate = Gate::new(|_, effect| match effect {
        Effect::Runs { .. } => Verdict::Deny("no commands here".into()),
        _ => Verdict::Ask,
    });
    setting.person =
        Person::new(|request| Box::pin(async move { Consent::Declined(format!("not {} please", request.tool)) }));
    let mut story = setting.begin().unwrap();
    story.ask("Go").await.unwrap();
    assert_eq!(results(&story), [("no commands here".into(), true), ("not Write please".into(), true)]);
    assert_eq!(std::fs::read_dir(story.home.project()).unwrap().count(), 0);
}

// spec: P5
#[tokio::test]
async fn the_date_is_told_once_a_day_and_never_rewritten() {
    let model = Scripted::saying(["a", "b", "c"]);
    let mut story = Setting::new(Arc::new(model)).begin().unwrap();
    story.ask("one").await.unwrap();
    story.ask("two").await.unwrap();
    story.setting.clock.advance(SignedDuration::from_hours(13));
    story.ask("three").await.unwrap();
    let told: Vec<String> = story
        .session
        .transcript()
        .view()
        .history
        .iter()
        .filter(|message| message.origin == Origin::Reminder)
        .map(|message| message.text())
        .collect();
    assert_eq!(told.len(), 2);
    assert!(told[0].contains("2026-03-03 (Tuesday)") && told[1].contains("2026-03-04 (Wednesday)"), "{told:?}");
}

// spec: H6
#[tokio::test]
async fn another_model_is_a_declared_break() {
    let mut story = Setting::new(Arc::new(Scripted::saying(["a", "b"]))).begin().unwrap();
    story.ask("one").await.unwrap();
    let desk = story.session.desk().clone();
    let mut opening = (**story.session.transcript().view().opening.as_ref().unwrap()).clone();
    opening.model = "another".into();
    story.session.reopen(desk.clone(), opening.clone()).unwrap();
    story.session.reopen(desk, opening).unwrap();
    story.ask("two").await.unwrap();
    let breaks: Vec<_> = story.session.transcript().records().iter().filter_map(|r| r.entry.breaks_cache()).collect();
    assert_eq!(breaks, ["model"], "the same opening again is no entry");
}

#[tokio::test]
async fn thinking_and_unknown_blocks_go_back_byte_for_byte() {
    let strange: Vec<Block> = [
        r#"{"type":"thinking","thinking":"hm","signature":"Eos/9=="}"#,
        r#"{"type":"hologram","z":1.50,"a":{"y":1,"x":[1e2]}}"#,
        r#"{"type":"text","text":"so","citations":null}"#,
    ]
    .iter()
    .map(|json| serde_json::from_str(json).unwrap())
    .collect();
    let model = Arc::new(Scripted::new().then(Turn::blocks(strange.clone())).then(Turn::text("ok")));
    let mut story = Setting::new(model.clone()).begin().unwrap();
    story.ask("one").await.unwrap();
    let mut story = story.resume().unwrap();
    story.ask("two").await.unwrap();
    let sent = &model.prompts()[1].history;
    let back = sent.iter().find(|message| message.origin == Origin::Model).unwrap();
    assert_eq!(back.blocks, strange);
    assert!(back.blocks.iter().any(|block| matches!(block.kind(), Kind::Other(_))));
}

#[tokio::test]
async fn damage_in_the_middle_is_on_record_and_the_conversation_goes_on() {
    let model = Scripted::new()
        .then(Turn::call("Tasks", json!({ "tasks": [{ "title": "look", "status": "pending" }] })))
        .then(Turn::text("noted"))
        .then(Turn::text("still here"));
    let mut story = with_tools(model).begin().unwrap();
    story.ask("one").await.unwrap();
    let path = story.session.transcript().path().unwrap().to_owned();
    let text = std::fs::read_to_string(&path).unwrap();
    let broken: Vec<String> = text
        .lines()
        .map(|line| if line.contains("tool_result") { line[..40].to_owned() } else { line.to_owned() })
        .collect();
    std::fs::write(&path, broken.join("\n") + "\n").unwrap();
    let mut story = story.resume().unwrap();
    assert_eq!(story.damage.len(), 1);
    assert!(
        story.session.transcript().records().iter().any(|record| matches!(record.entry, Entry::Mended { lost: 1 }))
    );
    assert_eq!(story.session.ask(vec![Block::text("two")]).await.unwrap().text, "still here");
}

// spec: T1
#[tokio::test]
async fn what_was_measured_with_something_that_is_lost_measures_nothing_afterwards() {
    let usage = scrubjay::message::Usage { input: 50_000, output: 5, ..Default::default() };
    let model = Scripted::new().then(Turn::text("noted").counting(usage)).then(Turn::text("still here"));
    let mut story = with_tools(model).begin().unwrap();
    story.ask("one").await.unwrap();
    let path = story.session.transcript().path().unwrap().to_owned();
    let text = std::fs::read_to_string(&path).unwrap();
    let without_tools: Vec<&str> =
        text.lines().map(|line| if line.contains("\"opened\"") { "damaged" } else { line }).collect();
    std::fs::write(&path, without_tools.join("\n") + "\n").unwrap();
    let story = story.resume().unwrap();
    let count = story.session.transcript().view().count.total();
    assert!(count < 50_000, "tools that were lost must not be taken for the weight of a few words: {count}");
}
