//! Layer 4: when the window is nearly full, a summary takes the place of what was said; checked, recorded, taken back.

use scrubjay::context::compaction::boundary::{NotCompacted, Part, Wish};
use scrubjay::event::Event;
use scrubjay::hooks::Hooks;
use scrubjay::limits::Limits;
use scrubjay::message::{MessageId, Origin, Usage};
use scrubjay::model::{ModelError, Pending};
use scrubjay::prompt::Prompt;
use scrubjay::tokens::ContextWindow;
use scrubjay::tool::{Bench, Effect, Tool, ToolOutcome};
use scrubjay::transcript::{Author, Entry, ToolSpec, Trigger};
use scrubjay::{Error, tools};
use scrubjay_providers::Offline;
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_testkit::{Setting, Story};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

const SUMMARY: &str = "<analysis>scratch</analysis>\n<summary>\n## 1. Primary Request and Intent\nKeep the build green.\n\
    ## 3. Files and Code Sections\nsrc/lib.rs was changed.\n## 6. All User Messages\n(left out)\n## 8. Current Work\nTests.\n</summary>";

fn wants_summary(prompt: &Prompt) -> bool {
    prompt.history.last().is_some_and(|last| last.text().contains("will be replaced by a summary"))
}

/// Answers at length, and summarises when asked.
fn talkative() -> Scripted {
    Scripted::new().holding(ContextWindow { size: 20_000, max_output: 4_000 }).afterwards(|prompt| {
        Ok(if wants_summary(prompt) { Turn::text(SUMMARY) } else { Turn::text("an answer of some length ".repeat(60)) })
    })
}

fn begun(model: Scripted) -> (Story, Arc<Scripted>) {
    let model = Arc::new(model);
    (Setting::new(model.clone()).begin().unwrap(), model)
}

fn manual() -> Wish {
    Wish { trigger: Trigger::Manual, instructions: None, part: Part::All }
}

async fn talk(story: &mut Story, questions: usize) {
    for n in 0..questions {
        story.ask(&format!("question {n}: what about the seeds?")).await.unwrap();
    }
}

fn said(story: &Story, origin: Origin) -> Vec<String> {
    let history = &story.session.transcript().view().history;
    history.iter().filter(|message| message.origin == origin).map(|message| message.text()).collect()
}

fn notices(story: &Story) -> Vec<String> {
    let events = story.events().into_iter();
    events.filter_map(|event| if let Event::Notice(text) = event { Some(text) } else { None }).collect()
}

// spec: C1
// spec: C3
// spec: C5
#[tokio::test]
async fn a_long_conversation_never_exceeds_its_window_and_keeps_what_the_person_said() {
    let (mut story, model) = begun(talkative());
    story.ask("Never push to main. Fix the seeds.").await.unwrap();
    for n in 0..120 {
        story.ask(&format!("question {n}: what about the seeds?")).await.unwrap();
        let used = story.session.transcript().view().count.total();
        assert!(used < 20_000, "turn {n} uses {used}");
    }
    let view = story.session.transcript().view();
    assert!(view.compactions.len() >= 2, "{} compactions", view.compactions.len());
    let last = model.prompts().into_iter().rfind(|prompt| !wants_summary(prompt)).unwrap();
    let summary = last.history.iter().find(|message| message.origin == Origin::Summary).unwrap().text();
    assert!(summary.contains("Never push to main."), "{summary}");
    assert!(
        summary.contains("question 0: what about the seeds?"),
        "the person's words are there although the model left them out"
    );
    assert!(!summary.contains("scratch"), "the analysis is not kept");
    assert_eq!(said(&story, Origin::Summary).len(), 1);
    let (_, first) = &view.compactions[0];
    assert_eq!((first.trigger, first.author), (Trigger::Auto, Author::Model));
    assert!(first.before > 14_000);
    let whole =
        story.session.transcript().records().iter().filter(|record| matches!(record.entry, Entry::Said(_))).count();
    assert!(whole > 240, "the transcript keeps every message: {whole}");
    let mut story = story.resume().unwrap();
    story.ask("And on?").await.unwrap();
}

// spec: C12
#[tokio::test]
async fn a_compaction_can_be_taken_back_and_the_next_request_is_what_it_would_have_been() {
    let (mut story, _) = begun(talkative());
    talk(&mut story, 6).await;
    let before = Prompt::of(story.session.transcript().view()).rendering();
    let done = story.session.compact(manual()).await.unwrap();
    assert!(done.after < done.before);
    assert_ne!(Prompt::of(story.session.transcript().view()).rendering(), before);
    story.session.uncompact().unwrap();
    assert_eq!(Prompt::of(story.session.transcript().view()).rendering(), before);
    assert!(matches!(story.session.uncompact(), Err(Error::NotCompacted(NotCompacted::Nothing))));
    story.ask("And now?").await.unwrap();
    let mut story = story.resume().unwrap();
    story.ask("Still?").await.unwrap();
    assert!(story.session.transcript().view().compactions.is_empty());
}

// spec: C12
// spec: T2
#[tokio::test]
async fn what_was_measured_while_it_was_compacted_says_nothing_about_the_whole() {
    // A service that counts what it was sent.
    let counted = Scripted::new().afterwards(|prompt| {
        let sent: usize = prompt.history.iter().map(|message| message.text().len()).sum();
        let words = if wants_summary(prompt) { SUMMARY.to_owned() } else { "an answer of some length ".repeat(60) };
        Ok(Turn::text(words).counting(Usage { input: sent as u64 / 4, ..Usage::default() }))
    });
    let (mut story, _) = begun(counted);
    talk(&mut story, 6).await;
    let whole = story.session.transcript().view().count.total();
    story.session.compact(manual()).await.unwrap();
    talk(&mut story, 1).await;
    let taken_back = story.session.uncompact().unwrap();
    let now = story.session.transcript().view().count.total();
    assert!(now > whole && now == taken_back.after, "{whole} before it, {now} now: {taken_back:?}");
}

// spec: C12
#[tokio::test]
async fn what_no_longer_fits_is_not_brought_back() {
    let (mut story, _) = begun(talkative());
    talk(&mut story, 40).await;
    talk(&mut story, 20).await;
    let view = story.session.transcript().view();
    assert!(!view.compactions.is_empty());
    let used = view.count.total();
    match story.session.uncompact() {
        Err(Error::Full(_)) => assert_eq!(story.session.transcript().view().count.total(), used),
        other => panic!("it cannot fit: {other:?}"),
    }
}

// spec: C12
#[tokio::test]
async fn a_preview_changes_nothing() {
    let (mut story, _) = begun(talkative());
    talk(&mut story, 6).await;
    let before = Prompt::of(story.session.transcript().view());
    let planned = story.session.preview(manual()).await.unwrap();
    assert!(planned.after < planned.compaction.before);
    assert!(planned.compaction.summary.text().contains("Keep the build green."));
    assert_eq!(Prompt::of(story.session.transcript().view()), before);
}

fn authors(story: &Story) -> Vec<Author> {
    story.session.transcript().view().compactions.iter().map(|(_, compaction)| compaction.author).collect()
}

fn asked_for_summaries(model: &Scripted) -> usize {
    model.prompts().iter().filter(|prompt| wants_summary(prompt)).count()
}

// spec: C1
// spec: C6
// spec: C13
#[tokio::test]
async fn after_three_failures_code_writes_the_summary_and_the_session_goes_on() {
    let broken = |prompt: &Prompt| match wants_summary(prompt) {
        true => Err(ModelError::Refused("no summaries today".into())),
        false => Ok(Turn::text("an answer of some length ".repeat(60))),
    };
    let (mut story, model) =
        begun(Scripted::new().holding(ContextWindow { size: 20_000, max_output: 4_000 }).afterwards(broken));
    story.ask("Never push to main.").await.unwrap();
    for n in 0.. {
        story.ask(&format!("question {n}")).await.unwrap();
        if !authors(&story).is_empty() {
            break;
        }
    }
    assert_eq!((authors(&story), asked_for_summaries(&model)), (vec![Author::Extract], 3));
    let told = notices(&story);
    for words in ["failed 3 times in a row", "compacted without a model"] {
        assert_eq!(told.iter().filter(|text| text.contains(words)).count(), 1, "{words}: {told:?}");
    }
    let summary = said(&story, Origin::Summary).join("\n");
    assert!(summary.contains("Never push to main.") && summary.contains("question 0"), "{summary}");

    let mut story = story.resume().unwrap();
    for n in 0..60 {
        story.ask(&format!("later {n}")).await.unwrap();
    }
    let again = authors(&story).len() - 1;
    assert!(again > 0 && authors(&story).iter().all(|author| *author == Author::Extract));
    assert_eq!(asked_for_summaries(&model), 3 + again, "one more try each time the window is full again");
    assert_eq!(notices(&story).iter().filter(|text| text.contains("times in a row")).count(), 0, "said once");
}

// spec: C6
// spec: C13
#[tokio::test]
async fn a_compaction_that_was_asked_for_is_made_without_the_model_when_it_fails() {
    let broken = |prompt: &Prompt| {
        Ok(if wants_summary(prompt) { Turn::text("") } else { Turn::text("an answer of some length ".repeat(60)) })
    };
    let (mut story, model) = begun(Scripted::new().afterwards(broken));
    talk(&mut story, 6).await;
    let preview = story.session.preview(manual()).await.unwrap();
    assert_eq!(preview.compaction.author, Author::Extract);
    let done = story.session.compact(manual()).await.unwrap();
    assert!(done.after < done.before && asked_for_summaries(&model) == 2);
    assert_eq!(authors(&story), [Author::Extract]);
    let told = notices(&story);
    assert!(
        told.iter().any(|text| text.contains("came back empty; the summary is made without the model")),
        "{told:?}"
    );
    story.session.uncompact().unwrap();
    story.ask("And now?").await.unwrap();
}

// spec: C11
#[tokio::test]
async fn a_summary_that_is_not_smaller_is_rejected() {
    let long = format!("<summary>\n## 1. Primary Request and Intent\n{}\n</summary>", "on and on ".repeat(1_000));
    let model = Scripted::new().afterwards(move |prompt| {
        Ok(if wants_summary(prompt) { Turn::text(long.clone()) } else { Turn::text("words ".repeat(300)) })
    });
    let (mut story, _) = begun(model);
    talk(&mut story, 5).await;
    let before = Prompt::of(story.session.transcript().view());
    let refused = story.session.compact(manual()).await.unwrap_err();
    assert!(matches!(refused, Error::NotCompacted(NotCompacted::NotSmaller { .. })), "{refused}");
    assert_eq!(Prompt::of(story.session.transcript().view()), before);
    assert!(!notices(&story).iter().any(|text| text.starts_with("compacted")), "success is told only after the checks");
}

/// A tool with a long manual.
struct Manual(ToolSpec);

impl Tool for Manual {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn effect(&self, _: &Value, _: &Path) -> Effect {
        Effect::Nothing
    }

    fn call<'a>(&'a self, _: &'a Value, _: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        Box::pin(async { ToolOutcome::ok("done") })
    }
}

// spec: C11
#[tokio::test]
async fn what_no_summary_can_shorten_is_not_held_against_one() {
    let spec = ToolSpec::new("Manual", "how to use it ".repeat(12_000), &json!({ "type": "object" }));
    let model = talkative().holding(ContextWindow { size: 200_000, max_output: 4_000 });
    let tool: Arc<dyn Tool> = Arc::new(Manual(spec));
    let mut story = Setting::new(Arc::new(model)).tools([tool]).begin().unwrap();
    talk(&mut story, 12).await;
    let made = story.session.compact(manual()).await.unwrap();
    assert!(made.after < made.before && made.after * 100 > made.before * 80, "the window is mostly tools: {made:?}");
}

// spec: C7
#[tokio::test]
async fn a_summariser_whose_own_request_is_too_long_leaves_out_the_oldest() {
    let model = Scripted::new().afterwards(|prompt| match wants_summary(prompt) {
        true if prompt.history.len() > 8 => Err(ModelError::PromptTooLong { over_by: Some(400) }),
        true => Ok(Turn::text(SUMMARY)),
        false => Ok(Turn::text("words ".repeat(200))),
    });
    let (mut story, model) = begun(model);
    talk(&mut story, 5).await;
    story.session.compact(manual()).await.unwrap();
    let sizes: Vec<usize> =
        model.prompts().iter().filter(|prompt| wants_summary(prompt)).map(|prompt| prompt.history.len()).collect();
    assert!(sizes.len() <= 4 && sizes.windows(2).all(|pair| pair[1] < pair[0]), "{sizes:?}");

    let model = Scripted::new().afterwards(|prompt| match wants_summary(prompt) {
        true => Err(ModelError::PromptTooLong { over_by: None }),
        false => Ok(Turn::text("words ".repeat(200))),
    });
    let (mut story, model) = begun(model);
    talk(&mut story, 5).await;
    story.session.compact(manual()).await.unwrap();
    assert_eq!(authors(&story), [Author::Extract], "then code does it");
    assert_eq!(asked_for_summaries(&model), 4, "three retries");
}

// spec: Q2
#[tokio::test]
async fn a_prompt_the_service_finds_too_long_is_compacted_and_sent_once_more() {
    let model = Scripted::new().afterwards(|prompt| match wants_summary(prompt) {
        true => Ok(Turn::text(SUMMARY)),
        false if prompt.history.len() > 12 => Err(ModelError::PromptTooLong { over_by: Some(1) }),
        false => Ok(Turn::text("words ".repeat(200))),
    });
    let (mut story, _) = begun(model);
    talk(&mut story, 12).await;
    assert!(!story.session.transcript().view().compactions.is_empty());
    let always = Scripted::saying(["one"]).afterwards(|prompt| match wants_summary(prompt) {
        true => Ok(Turn::text(SUMMARY)),
        false => Err(ModelError::PromptTooLong { over_by: Some(1) }),
    });
    let (mut story, _) = begun(always);
    story.ask(&"a long question ".repeat(400)).await.unwrap();
    assert!(
        matches!(story.ask("two").await, Err(Error::Model(ModelError::PromptTooLong { .. }))),
        "one retry, then an error"
    );
}

// spec: C8
#[tokio::test]
async fn a_part_can_be_compacted_either_way() {
    let ids =
        |story: &Story| story.session.transcript().view().history.iter().map(|m| m.id.clone()).collect::<Vec<_>>();
    let (mut story, model) = begun(talkative());
    talk(&mut story, 6).await;
    let all = ids(&story);
    story.session.compact(Wish { part: Part::From(all[7].clone()), ..manual() }).await.unwrap();
    assert_eq!(ids(&story)[..7], all[..7], "what precedes stays, and so does its cache");
    assert_eq!(ids(&story).len(), 8, "and the summary; the date is still told before");
    let asked = model.prompts().into_iter().rfind(wants_summary).unwrap();
    assert!(asked.history.last().unwrap().text().contains("only the last part"));

    let (mut story, _) = begun(talkative());
    talk(&mut story, 6).await;
    let all = ids(&story);
    story.session.compact(Wish { part: Part::UpTo(all[8].clone()), ..manual() }).await.unwrap();
    let after = ids(&story);
    assert_eq!(after[1..after.len() - 1], all[9..], "what follows stays");
    let date = said(&story, Origin::Reminder).pop().unwrap();
    assert!(date.contains("Today's date is"), "and the date is told again: {date}");
    let unknown = Wish { part: Part::UpTo(MessageId::new("nowhere")), ..manual() };
    assert!(matches!(story.session.compact(unknown).await, Err(Error::NotCompacted(NotCompacted::NoSuchMessage(_)))));
    story.ask("And on?").await.unwrap();
}

// spec: C2
#[tokio::test]
async fn hooks_add_to_the_instructions_or_forbid_it() {
    let hook = |command: &str| json!({ "PreCompact": [{ "matcher": "", "hooks": [{ "type": "command", "command": command }] }] });
    for (command, forbids) in [("echo keep the names of all birds", false), ("echo not now >&2; exit 2", true)] {
        let model = Arc::new(talkative());
        let mut setting = Setting::new(model.clone());
        setting.hooks = Arc::new(Hooks::from_json(&hook(command), &Limits::default()).0);
        let mut story = setting.begin().unwrap();
        talk(&mut story, 6).await;
        let done = story.session.compact(Wish { instructions: Some("and the dates".into()), ..manual() }).await;
        if forbids {
            assert!(matches!(done, Err(Error::Blocked(reason)) if reason.contains("not now")));
        } else {
            done.unwrap();
            let asked = model.prompts().into_iter().rfind(wants_summary).unwrap().history.last().unwrap().text();
            assert!(asked.contains("keep the names of all birds") && asked.contains("and the dates"), "{asked}");
        }
    }
}

// spec: C4
#[tokio::test]
async fn files_read_last_and_open_tasks_come_back() {
    let model = Scripted::new()
        .then(
            Turn::call("Read", json!({ "file_path": "notes.txt" }))
                .and_call("Tasks", json!({ "tasks": [{ "title": "count the seeds", "status": "in_progress" }] })),
        )
        .afterwards(|prompt| {
            Ok(if wants_summary(prompt) { Turn::text(SUMMARY) } else { Turn::text("words ".repeat(600)) })
        });
    let limits = Limits::default();
    let mut story = Setting::new(Arc::new(model)).tools(tools::standard(&[], &limits)).begin().unwrap();
    let file = story.home.write("notes.txt", "as it was\n").unwrap();
    talk(&mut story, 4).await;
    std::fs::write(file, "as it is now\n").unwrap();
    story.session.compact(manual()).await.unwrap();
    let back = said(&story, Origin::Reminder).join("\n");
    assert!(back.contains("as it is now") && back.contains("[in progress] count the seeds"), "{back}");
}

// spec: C13
#[tokio::test]
async fn without_a_model_code_writes_the_summary() {
    let limits = Limits::default();
    let mut story = Setting::new(Arc::new(Offline::new(&limits))).tools(tools::standard(&[], &limits)).begin().unwrap();
    story.home.write("seeds.md", "acorns under the oak\n".repeat(300)).unwrap();
    story.ask("Never delete seeds.md. show seeds.md").await.unwrap();
    for _ in 0..6 {
        story.ask("show seeds.md").await.unwrap();
    }
    let done = story.session.compact(manual()).await.unwrap();
    assert!(done.after * 2 < done.before, "{done:?}");
    let summary = said(&story, Origin::Summary).remove(0);
    assert!(summary.contains("Never delete seeds.md.") && summary.contains("## 6. All User Messages"), "{summary}");
    assert_eq!(story.session.transcript().view().compactions[0].1.author, Author::Extract);
    story.ask("show seeds.md").await.unwrap();
}

// spec: T4
#[tokio::test]
async fn the_person_is_warned_once_before_each_compaction() {
    let (mut story, _) = begun(talkative());
    talk(&mut story, 110).await;
    let told = notices(&story);
    let order: Vec<&str> = told
        .iter()
        .filter_map(|text| match text {
            text if text.contains("nearly full") => Some("warned"),
            text if text.starts_with("compacted") => Some("compacted"),
            _ => None,
        })
        .collect();
    assert!(order.len() >= 3, "{told:?}");
    assert!(
        order.chunks(2).all(|pair| pair[0] == "warned" && pair.get(1).is_none_or(|next| *next == "compacted")),
        "{order:?}"
    );
}
