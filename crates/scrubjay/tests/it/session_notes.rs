//! Layer 3: notes written beside the conversation, kept within their template, and good for a summary without a call.

use scrubjay::context::notes::template::{self, TEMPLATE};
use scrubjay::context::session_notes::place;
use scrubjay::desk::OwnWords;
use scrubjay::event::Event;
use scrubjay::limits::Limits;
use scrubjay::message::{Origin, Usage};
use scrubjay::model::ModelError;
use scrubjay::prompt::Prompt;
use scrubjay::prompt_cache::prices::Prices;
use scrubjay::tokens::ContextWindow;
use scrubjay::tools;
use scrubjay::transcript::{Author, Call, Entry, Writer};
use scrubjay_providers::Offline;
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_testkit::{Setting, Story};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn wants_notes(prompt: &Prompt) -> bool {
    let last_person = prompt.history.iter().rev().find(|message| message.origin == Origin::Reminder);
    last_person.is_some_and(|last| last.text().contains("name=\"session_notes\""))
}

/// The file named in the errand.
pub(crate) fn notes_file(prompt: &Prompt) -> String {
    let text = prompt.history.iter().rev().find(|m| m.text().contains("The notes are in ")).unwrap().text();
    text.split("The notes are in ").nth(1).unwrap().split(" and read now").next().unwrap().to_owned()
}

/// Writes a line below the heading of the current state, as a good fork does.
pub(crate) fn good_note(prompt: &Prompt) -> Turn {
    let already_edited = prompt.history.last().unwrap().tool_results().next().is_some();
    if already_edited { Turn::text("noted") } else { edit_note(prompt) }
}

pub(crate) fn edit_note(prompt: &Prompt) -> Turn {
    let old = "_What is being done at this moment, what is unfinished, what comes next_";
    let new = format!("{old}\nHiding seeds, {} messages in.", prompt.history.len());
    Turn::call("Edit", json!({ "file_path": notes_file(prompt), "old_string": old, "new_string": new }))
}

fn talkative(note: impl Fn(&Prompt) -> Result<Turn, ModelError> + Send + Sync + 'static) -> Scripted {
    Scripted::new().holding(ContextWindow { size: 60_000, max_output: 4_000 }).afterwards(move |prompt| {
        if wants_notes(prompt) { note(prompt) } else { Ok(Turn::text("an answer of some length ".repeat(100))) }
    })
}

fn begun(setting: Setting) -> Story {
    let limits = setting.limits.clone();
    setting.tools(tools::standard(&[], &limits)).begin().unwrap()
}

fn file(story: &Story) -> PathBuf {
    place(&story.session.transcript().folder().unwrap())
}

/// Talk, letting background work come home after each answer.
async fn talk(story: &mut Story, questions: usize) {
    for n in 0..questions {
        talk_about(story, n).await;
    }
}

async fn talk_about(story: &mut Story, n: usize) {
    story.ask(&format!("question {n}: and the seeds?")).await.unwrap();
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

fn noted(story: &Story) -> usize {
    story.session.transcript().records().iter().filter(|record| matches!(record.entry, Entry::Noted(_))).count()
}

// spec: S1
// spec: S2
// spec: S3
// spec: S7
#[tokio::test]
async fn notes_are_written_when_enough_was_said_by_a_fork_that_may_edit_one_file() {
    let model = Arc::new(talkative(|prompt| Ok(good_note(prompt))));
    let mut story = begun(Setting::new(model.clone()).switch("session_notes.writer", "model"));
    talk(&mut story, 8).await;
    assert_eq!(noted(&story), 0, "not before ten thousand tokens");
    talk(&mut story, 16).await;
    story.session.drain(Duration::from_secs(30)).await.unwrap();
    story.check();
    let text = std::fs::read_to_string(file(&story)).unwrap();
    assert!(text.contains("Hiding seeds"), "{text}");
    assert_eq!(text.matches("\n# ").count() + 1, 10, "ten sections");
    let times = noted(&story);
    assert!((1..=3).contains(&times), "written {times} times in twenty-four turns of 640 tokens");
    let forks: Vec<_> = model.prompts().into_iter().filter(wants_notes).collect();
    assert!(forks.iter().all(|prompt| prompt.tools.len() == 8), "all tools stay listed");
    let view = story.session.transcript().view();
    assert!(view.spent.keys().any(|(source, _)| source == "session_notes"));
    assert!(
        view.history.iter().all(|message| !message.text().contains("scrubjay-errand")),
        "the conversation knows nothing of it"
    );
}

fn prices() -> Prices {
    Prices { input: Some(5.0), write_5m: Some(6.25), write_1h: Some(10.0), read: Some(0.5), output: Some(25.0) }
}

/// A service that bills what it is asked, mostly as cache reads.
fn billing() -> Scripted {
    Scripted::new().holding(ContextWindow { size: 60_000, max_output: 4_000 }).priced(prices()).afterwards(|prompt| {
        let tokens = prompt.rendering().len() as u64 / 4;
        if wants_notes(prompt) {
            let usage = Usage { cache_read: tokens, input: 100, output: 200, ..Usage::default() };
            return Ok(good_note(prompt).counting(usage));
        }
        let usage = Usage { cache_read: tokens / 10 * 9, input: tokens / 10, output: 600, ..Usage::default() };
        Ok(Turn::text("an answer of some length ".repeat(100)).counting(usage))
    })
}

pub(crate) fn writers(story: &Story) -> Vec<Writer> {
    let entries = story.session.transcript().records().iter();
    entries.filter_map(|record| if let Entry::Noted(noted) = &record.entry { Some(noted.by) } else { None }).collect()
}

// spec: S2
// spec: S3
#[tokio::test]
async fn with_economy_or_a_fixed_writer_notes_are_written_as_the_conversation_goes() {
    for (policy, writer, percent, expected) in [
        ("economy", "auto", 0, vec![Writer::Code; 3]),
        ("economy", "auto", 100, vec![Writer::Model; 3]),
        ("faithful", "model", 0, vec![Writer::Model; 3]),
        ("faithful", "code", 100, vec![Writer::Code; 3]),
    ] {
        let model = Arc::new(billing());
        let setting = Setting::new(model.clone()).switch("session_notes.writer", writer);
        let mut setting = setting.switch("context.policy", policy);
        setting.limits.economy_notes_cost_percent = percent;
        let mut story = begun(setting);
        talk(&mut story, 40).await;
        story.session.drain(Duration::from_secs(30)).await.unwrap();
        let wrote = writers(&story);
        assert!(wrote.len() >= 3, "due as often as ever: {wrote:?}");
        assert_eq!(wrote[..3], expected, "{policy}, {writer} at {percent} %");
        let forks = model.prompts().iter().filter(|prompt| wants_notes(prompt)).count();
        assert_eq!(forks > 0, expected[0] == Writer::Model);
        let text = std::fs::read_to_string(file(&story)).unwrap();
        assert_eq!(template::check(TEMPLATE, &text), Ok(()));
        assert_eq!(text.contains("Hiding seeds"), expected[0] == Writer::Model, "{text}");
    }
}

fn spent_on(story: &Story, name: &str) -> f64 {
    let spent = story.session.transcript().view().spent.iter();
    let calls = spent.filter(|((source, _), _)| source == name);
    calls.filter_map(|(_, spent)| prices().cost(&spent.usage)).sum()
}

// spec: S3
// spec: H7
#[tokio::test]
async fn with_economy_code_continues_what_a_model_wrote_within_its_share() {
    let mut setting = Setting::new(Arc::new(billing())).switch("context.policy", "economy");
    setting.limits.economy_notes_cost_percent = 4;
    setting.limits.notes_update_tokens = 500;
    let mut story = begun(setting);
    talk(&mut story, 100).await;
    story.session.drain(Duration::from_secs(30)).await.unwrap();
    let wrote = writers(&story);
    let first = wrote.iter().position(|by| *by == Writer::Model).expect("in time it is little");
    assert!(wrote[first..].contains(&Writer::Code), "and not every time: {wrote:?}");
    let text = std::fs::read_to_string(file(&story)).unwrap();
    assert!(text.contains("Hiding seeds"), "what the model wrote is still there: {text}");
    assert!(text.contains("Since then, from the record:"), "and code has gone on: {wrote:?} {text}");
    assert!(spent_on(&story, "session_notes") > 0.0);
    assert!(spent_on(&story, "session_notes") <= 0.04 * spent_on(&story, Call::MAIN) + 1e-9, "within their share");
}

// spec: S2
// spec: S3
// spec: S9
#[tokio::test]
async fn a_model_writes_the_notes_once_before_the_line_and_the_compaction_starts_from_them() {
    let model = Arc::new(billing());
    let mut setting = Setting::new(model.clone());
    setting.limits.notes_update_tokens = 500;
    setting.limits.notes_cost_percent = 20;
    let mut story = begun(setting);
    let line = scrubjay::context::budget(story.session.transcript(), story.session.desk()).compaction;
    let mut noted_at = None;
    for n in 0..200 {
        talk_about(&mut story, n).await;
        if noted_at.is_none() && writers(&story).contains(&Writer::Model) {
            noted_at = Some(story.session.transcript().view().count.total());
        }
        if !story.session.transcript().view().compactions.is_empty() {
            break;
        }
    }
    let noted_at = noted_at.expect("notes of the model");
    assert!(noted_at > line * 60 / 100 && noted_at <= line, "{noted_at} of {line}");
    let [(_, compaction)] = &story.session.transcript().view().compactions[..] else { panic!("one compaction") };
    assert_eq!(compaction.author, Author::Notes);
    let calls = model.prompts().iter().filter(|prompt| wants_notes(prompt)).count();
    assert_eq!(calls, 1, "one call, and none to hear that it was done");
    assert!(spent_on(&story, "session_notes") <= 0.20 * spent_on(&story, Call::MAIN));
}

// spec: S2
#[tokio::test]
async fn notes_of_a_model_that_would_cost_too_much_are_left_to_the_summariser() {
    let model = Arc::new(billing());
    let mut setting = Setting::new(model.clone());
    setting.limits.notes_cost_percent = 0;
    let mut story = begun(setting);
    for n in 0..200 {
        talk_about(&mut story, n).await;
        if !story.session.transcript().view().compactions.is_empty() {
            break;
        }
    }
    assert!(!model.prompts().iter().any(wants_notes));
    let authors: Vec<Author> =
        story.session.transcript().view().compactions.iter().map(|(_, compaction)| compaction.author).collect();
    assert_eq!(authors, [Author::Model]);
    assert!(writers(&story).iter().all(|by| *by == Writer::Code), "code keeps them for whoever looks");
}

// spec: S6
#[tokio::test]
async fn an_update_that_breaks_the_template_is_rejected_and_the_notes_stay() {
    let breaking = |prompt: &Prompt| {
        if prompt.history.last().unwrap().tool_results().next().is_some() {
            return Ok(Turn::text("done"));
        }
        Ok(Turn::call(
            "Edit",
            json!({ "file_path": notes_file(prompt), "old_string": "# Worklog", "new_string": "# My diary" }),
        ))
    };
    let mut story = begun(Setting::new(Arc::new(talkative(breaking))).switch("session_notes.writer", "model"));
    talk(&mut story, 20).await;
    story.session.drain(Duration::from_secs(30)).await.unwrap();
    assert_eq!(noted(&story), 0);
    assert_eq!(std::fs::read_to_string(file(&story)).unwrap(), TEMPLATE);
    let told: Vec<Event> = story.events().into_iter().filter(|event| matches!(event, Event::Notice(_))).collect();
    let times = told
        .iter()
        .filter(
            |event| matches!(event, Event::Notice(text) if text.contains("not updated: the update lost `# Worklog`")),
        )
        .count();
    assert!((1..=3).contains(&times), "said, and given up after a few: {told:?}");
}

// spec: S9
#[tokio::test]
async fn ready_notes_become_the_summary_without_a_call() {
    let model = Arc::new(talkative(|prompt| Ok(good_note(prompt))));
    let mut setting = Setting::new(model.clone());
    setting.limits.kept_least_tokens = 2_000;
    setting.limits.kept_most_tokens = 20_000;
    let mut story = begun(setting);
    story.ask("Never bury seeds in the sand.").await.unwrap();
    talk(&mut story, 90).await;
    let view = story.session.transcript().view();
    assert!(!view.compactions.is_empty());
    assert!(view.compactions.iter().all(|(_, compaction)| compaction.author == Author::Notes));
    assert!(
        !model.prompts().iter().any(|prompt| prompt
            .history
            .last()
            .unwrap()
            .text()
            .contains("will be replaced by a summary"))
    );
    let summary = view.history.iter().find(|message| message.origin == Origin::Summary).unwrap().text();
    assert!(summary.contains("Hiding seeds") && summary.contains("Never bury seeds in the sand."), "{summary}");
    assert!(view.history.len() > 8, "recent messages are kept");
    assert!(view.count.total() < 60_000);
}

// spec: S9
// spec: S3
#[tokio::test]
async fn where_notes_cannot_serve_the_next_layer_does() {
    let summary = "<summary>\n## 1. Primary Request and Intent\nSeeds.\n</summary>";
    for switch in ["layers.session_notes", "layers.notes_compaction"] {
        let model =
            Scripted::new().holding(ContextWindow { size: 30_000, max_output: 4_000 }).afterwards(move |prompt| {
                let last = prompt.history.last().unwrap().text();
                Ok(match () {
                    () if wants_notes(prompt) && !last.contains("replaced by a summary") => good_note(prompt),
                    () if last.contains("replaced by a summary") => Turn::text(summary),
                    () => Turn::text("an answer of some length ".repeat(100)),
                })
            });
        let mut story = begun(Setting::new(Arc::new(model)).switch(switch, "false"));
        talk(&mut story, 45).await;
        let view = story.session.transcript().view();
        assert!(
            !view.compactions.is_empty() && view.compactions.iter().all(|(_, c)| c.author == Author::Model),
            "{switch}"
        );
        assert_eq!(noted(&story) > 0, switch == "layers.notes_compaction", "{switch}");
    }
}

// spec: S8
#[tokio::test]
async fn without_a_model_code_keeps_the_notes() {
    let limits = Limits { notes_first_tokens: 500, notes_every_tokens: 300, ..Limits::default() };
    let mut setting = Setting::new(Arc::new(Offline::new(&limits)));
    setting.limits = limits;
    let mut story = begun(setting);
    story.home.write("seeds.md", "acorns under the oak\n".repeat(100)).unwrap();
    for _ in 0..4 {
        story.ask("show seeds.md").await.unwrap();
    }
    assert!(noted(&story) >= 1);
    let text = std::fs::read_to_string(file(&story)).unwrap();
    assert!(text.contains("seeds.md") && text.contains("# Worklog"), "{text}");
}

// spec: S5
#[tokio::test]
async fn a_persons_own_template_and_instructions_are_used() {
    let own = OwnWords {
        notes_template: Some("# Diary\n_Dear diary_\n".into()),
        notes_prompt: Some("Write into {{notesPath}}; it says {{currentNotes}} and {{nothing}}.".into()),
    };
    let asked = |prompt: &Prompt| {
        assert!(prompt.history.last().unwrap().text().contains("it says # Diary\n_Dear diary_\n and {{nothing}}."));
        Ok(Turn::text("no"))
    };
    let mut setting = Setting::new(Arc::new(talkative(asked))).switch("session_notes.writer", "model");
    setting.own_words = Arc::new(own);
    let mut story = begun(setting);
    talk(&mut story, 20).await;
    story.session.drain(Duration::from_secs(30)).await.unwrap();
    assert_eq!(std::fs::read_to_string(file(&story)).unwrap(), "# Diary\n_Dear diary_\n");
}

// spec: S6
#[tokio::test]
async fn notes_edited_into_nonsense_are_put_aside_whole() {
    for (writer, words) in [("model", "Hiding seeds"), ("code", "and the seeds?")] {
        let setting = Setting::new(Arc::new(talkative(|prompt| Ok(good_note(prompt)))));
        let mut story = begun(setting.switch("session_notes.writer", writer));
        let path = file(&story);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, b"\xff\xfe not notes at all").unwrap();
        talk(&mut story, 20).await;
        story.session.drain(Duration::from_secs(30)).await.unwrap();
        assert_eq!(std::fs::read(path.with_extension("aside.md")).unwrap(), b"\xff\xfe not notes at all");
        assert!(std::fs::read_to_string(&path).unwrap().contains(words), "{writer}");
    }
}
