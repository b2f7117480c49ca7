//! When a conversation is shortened and by whom, with default settings: not before it must be, the cheapest layer first, and
//! what replaces it is written by the model.

use jiff::SignedDuration;
use scrubjay::context;
use scrubjay::limits::Limits;
use scrubjay::message::Origin;
use scrubjay::prompt::Prompt;
use scrubjay::prompt_cache::prices::Prices;
use scrubjay::tokens::{Budget, ContextWindow};
use scrubjay::tools;
use scrubjay::transcript::{Author, Cause, Entry};
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_testkit::{Setting, Story};
use serde_json::json;
use std::sync::Arc;

const SUMMARY: &str =
    "<summary>\n## 1. Primary Request and Intent\nHide seeds.\n## 8. Current Work\nDigging.\n</summary>";

fn wants_summary(prompt: &Prompt) -> bool {
    prompt.history.last().is_some_and(|last| last.text().contains("will be replaced by a summary"))
}

fn prices() -> Prices {
    Prices { input: Some(5.0), write_5m: Some(6.25), write_1h: Some(10.0), read: Some(0.5), output: Some(25.0) }
}

/// Reads a page of a file at each question, if there is one to read, and answers.
fn reader(window: u64, words: usize) -> Scripted {
    let window = ContextWindow { size: window, max_output: 4_000 };
    Scripted::new().holding(window).priced(prices()).afterwards(move |prompt| {
        let answered = prompt.history.last().is_some_and(|last| last.tool_results().next().is_some());
        let asked = prompt.history.iter().rev().find(|message| message.origin == Origin::Person);
        let reads = asked.is_some_and(|asked| asked.text().starts_with("Read"));
        Ok(match () {
            () if wants_summary(prompt) => Turn::text(SUMMARY),
            () if reads && !answered => Turn::call("Read", json!({ "file_path": "big.txt" })),
            () => Turn::text("an answer of some length ".repeat(words)),
        })
    })
}

fn begun(model: &Arc<Scripted>, switches: &[(&str, &str)]) -> Story {
    let setting = Setting::new(model.clone()).switch("layers.session_notes", "false");
    let setting = switches.iter().fold(setting, |setting, (key, value)| setting.switch(key, value));
    let story = setting.tools(tools::standard(&[], &Limits::default())).begin().unwrap();
    story.home.write("big.txt", "a line of some length, as files have them\n".repeat(300)).unwrap();
    story
}

fn budget(story: &Story) -> Budget {
    context::budget(story.session.transcript(), story.session.desk())
}

/// What was changed of what had been sent, and why.
fn breaks(story: &Story) -> Vec<Cause> {
    story.session.transcript().records().iter().filter_map(|record| record.entry.cause()).collect()
}

fn cleared(story: &Story) -> usize {
    let entries = story.session.transcript().records().iter();
    entries.map(|record| if let Entry::Cleared { results, .. } = &record.entry { results.len() } else { 0 }).sum()
}

// spec: M5
// spec: C1
#[tokio::test]
async fn while_the_cache_is_warm_nothing_sent_changes_below_the_line() {
    let model = Arc::new(reader(60_000, 4));
    let mut story = begun(&model, &[]);
    while budget(&story).used < budget(&story).compaction * 9 / 10 {
        story.ask("Read it again").await.unwrap();
    }
    assert_eq!(breaks(&story), [], "{:?}", budget(&story));
    assert_eq!(cleared(&story), 0);
}

// spec: C1
// spec: M2
#[tokio::test]
async fn five_minutes_of_pause_in_a_wide_window_clear_results_at_most() {
    let model = Arc::new(reader(1_000_000, 600));
    let mut story = begun(&model, &[]);
    while budget(&story).used < 66_000 {
        story.ask("Read it again").await.unwrap();
    }
    story.setting.clock.advance(SignedDuration::from_mins(6));
    story.ask("And now?").await.unwrap();
    let view = story.session.transcript().view();
    assert!(view.compactions.is_empty() && cleared(&story) > 0);
    assert_eq!(breaks(&story), [Cause::Ttl]);
    assert!(!model.prompts().iter().any(wants_summary));
    let said = view.history.iter().filter(|message| message.origin == Origin::Model).count();
    let whole = story.session.transcript().records().iter();
    let whole = whole.filter(|record| matches!(&record.entry, Entry::Said(said) if said.origin == Origin::Model));
    assert_eq!(said, whole.count(), "what the model said is all there");
}

// spec: C1
// spec: Q1
#[tokio::test]
async fn a_full_window_of_old_results_is_cleared_and_not_summarised() {
    let model = Arc::new(reader(100_000, 4));
    let mut story = begun(&model, &[]);
    while cleared(&story) == 0 {
        let before = budget(&story).used;
        story.ask("Read it again").await.unwrap();
        assert!(story.session.transcript().view().compactions.is_empty(), "{before}");
    }
    assert_eq!(breaks(&story), [Cause::Us], "one declared break");
    assert!(budget(&story).used <= budget(&story).compaction * 70 / 100 + 8_000, "{:?}", budget(&story));
    assert!(!model.prompts().iter().any(wants_summary));
}

// spec: C1
// spec: Q1
#[tokio::test]
async fn where_clearing_would_not_do_the_model_summarises_and_nothing_is_cleared_as_well() {
    let model = Arc::new(reader(100_000, 200));
    let mut story = begun(&model, &[]);
    for n in 0..7 {
        story.ask(if n == 0 { "Read it" } else { "Read it again" }).await.unwrap();
    }
    while story.session.transcript().view().compactions.is_empty() {
        story.ask("Go on").await.unwrap();
    }
    assert_eq!((cleared(&story), breaks(&story).len()), (0, 1));
    assert_eq!(story.session.transcript().view().compactions[0].1.author, Author::Model);
}

// spec: T4
#[tokio::test]
async fn a_line_of_the_users_own_is_shown_and_obeyed() {
    for (setting, line) in [("60 %", 51_600), ("30000", 30_000), ("5000", 20_000), ("99 %", 77_000)] {
        let model = Arc::new(reader(90_000, 240));
        let mut story = begun(&model, &[("context.compact_at", setting)]);
        assert_eq!(budget(&story).compaction, line, "{setting}: {:?}", budget(&story));
        while story.session.transcript().view().compactions.is_empty() {
            story.ask("Go on").await.unwrap();
        }
        let before = story.session.transcript().view().compactions[0].1.before;
        assert!(before > line && before < line + 3_000, "{setting}: compacted at {before}");
    }
}

// spec: T4
#[tokio::test]
async fn a_smaller_window_of_the_users_own_holds_and_a_larger_one_does_not() {
    for (setting, window) in [("50000", 50_000), ("500000", 90_000)] {
        let model = Arc::new(reader(90_000, 60));
        let story = begun(&model, &[("context.window", setting)]);
        assert_eq!(budget(&story).window, window);
    }
}
