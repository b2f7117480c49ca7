//! Receipts: every call is booked, a cache that gave less than it promised is named, and breaks of our own are announced.

use scrubjay::context::compaction::boundary::{Part, Wish};
use scrubjay::event::Event;
use scrubjay::ledger::{Called, Row, book, savings};
use scrubjay::limits::Limits;
use scrubjay::message::Usage;
use scrubjay::tools;
use scrubjay::transcript::{Cause, Trigger};
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_providers::{Catalogue, Choice, Keys, connect};
use scrubjay_testkit::simulator::{self, Script, Simulator};
use scrubjay_testkit::{Setting, Story};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

fn calls(story: &Story) -> Vec<Called> {
    let rows = story.session.ledger().iter();
    rows.filter_map(|row| if let Row::Called(called) = row { Some(called.clone()) } else { None }).collect()
}

fn breaks(story: &Story) -> Vec<Cause> {
    let rows = story.session.ledger().iter();
    rows.filter_map(|row| if let Row::Broke { lost, .. } = row { Some(lost.cause) } else { None }).collect()
}

async fn over_http(script: Script) -> (Story, Simulator) {
    let simulator = Simulator::start(script).await.unwrap();
    let keys = Keys::from_values(&BTreeMap::from([("ANTHROPIC_API_KEY".to_owned(), "k".to_owned())]));
    let choice = Choice { model: "claude-opus-5-5".into(), base_url: Some(simulator.url()), ..Choice::default() };
    let limits = Limits::default();
    let model = connect(&choice, &keys, &Catalogue::built_in().unwrap(), &limits).unwrap();
    (Setting::new(model).tools(tools::standard(&[], &limits)).begin().unwrap(), simulator)
}

// spec: H3
// spec: H4
#[tokio::test]
async fn every_call_has_a_receipt_and_the_cache_keeps_its_promise() {
    let script = Script::new()
        .when(
            |request| request.last_user_text().contains("replaced by a summary"),
            simulator::text("<summary>\n## 8. Current Work\nSeeds.\n</summary>"),
        )
        .otherwise(simulator::text("an answer of some length ".repeat(100)));
    let (mut story, _simulator) = over_http(script).await;
    for n in 0..6 {
        story.ask(&format!("question {n}")).await.unwrap();
    }
    let booked = calls(&story);
    assert_eq!(booked.len(), 6);
    assert!(booked.iter().all(|called| called.money.is_some_and(|money| money > 0.0)), "{booked:?}");
    for pair in booked.windows(2) {
        assert_eq!(pair[1].promised, Some(pair[1].usage.cache_read), "what was promised was read");
    }
    assert_eq!(breaks(&story), []);

    story.session.compact(Wish { trigger: Trigger::Manual, instructions: None, part: Part::All }).await.unwrap();
    story.ask("and on").await.unwrap();
    assert_eq!(breaks(&story), [], "a break of our own is announced, not discovered");
    let announced = story.session.ledger().iter().any(|row| matches!(row, Row::Announced { cause: Cause::Us, .. }));
    assert!(announced);
    assert!(calls(&story).iter().any(|called| called.source == "compact"));
    let path = book::Book::path_of(story.session.transcript().path().unwrap());
    assert_eq!(book::read(&path, &Limits::default()).unwrap().records, story.session.ledger(), "it is all on disk");
}

// spec: H3
#[tokio::test]
async fn a_cache_that_gives_less_than_it_promised_is_named() {
    let read = |read, write| Usage { cache_read: read, cache_write_5m: write, output: 10, ..Usage::default() };
    let model = Scripted::new()
        .then(Turn::text("one").counting(read(0, 50_000)))
        .then(Turn::text("two").counting(read(50_000, 400)))
        .then(Turn::text("three").counting(read(0, 50_900)));
    let mut story = Setting::new(Arc::new(model)).switch("layers.session_notes", "false").begin().unwrap();
    for question in ["a", "b", "c"] {
        story.ask(question).await.unwrap();
    }
    assert_eq!(breaks(&story), [Cause::Server]);
    let told = |event: &Event| matches!(event, Event::Notice(text) if text.contains("cause: server"));
    assert_eq!(story.events().iter().filter(|event| told(event)).count(), 1);
}

// spec: V1
#[tokio::test]
async fn what_was_kept_out_of_the_window_is_booked_and_netted_out() {
    let script = Script::new()
        .reply(simulator::tool_use("Bash", json!({ "command": "seq 1 30000" })))
        .otherwise(simulator::text("ok"));
    let (mut story, _simulator) = over_http(script).await;
    for n in 0..4 {
        story.ask(&format!("question {n}")).await.unwrap();
    }
    let account = savings::savings(story.session.ledger());
    assert!(account.gross.tokens > 30_000 && account.gross.money.unwrap() > 0.0, "{account}");
    assert_eq!(account.spend.tokens, 0, "no calls of our own");
    assert_eq!(account.net().tokens, account.gross.tokens, "{account}");
}
