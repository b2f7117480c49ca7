//! Receipts: every call is booked, a cache that gave less than it promised is named, and breaks of our own are announced.

use crate::session_notes::{good_note, wants_notes, writers};
use jiff::SignedDuration;
use scrubjay::agents::fork;
use scrubjay::context::compaction::boundary::{Part, Wish};
use scrubjay::event::Event;
use scrubjay::ledger::brake::{self, State};
use scrubjay::ledger::budget::DayBook;
use scrubjay::ledger::{Called, Row, book, savings};
use scrubjay::limits::Limits;
use scrubjay::message::Usage;
use scrubjay::tokens::ContextWindow;
use scrubjay::tools;
use scrubjay::transcript::{CLEARED, Cause, Trigger, Writer};
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

// spec: H4
#[tokio::test]
async fn every_call_says_how_long_it_took_and_who_asked() {
    let clock = scrubjay_testkit::FixedClock::default();
    let time = clock.clone();
    let model = Scripted::new().afterwards(move |prompt| {
        let (summarises, notes) = (fork::is_fork(prompt), wants_notes(prompt));
        time.advance(SignedDuration::from_secs(if notes {
            2
        } else if summarises {
            3
        } else {
            1
        }));
        Ok(match (notes, summarises) {
            (true, _) => good_note(prompt),
            (_, true) => Turn::text("<summary>\n## 8. Current Work\nSeeds.\n</summary>"),
            _ => Turn::text("an answer of some length ".repeat(200)),
        })
    });
    let mut setting = Setting::new(Arc::new(model)).tools(tools::standard(&[], &Limits::default()));
    setting.clock = clock;
    setting.limits.notes_first_tokens = 2_000;
    setting.switches.push(("session_notes.writer".into(), "model".into()));
    let mut story = setting.begin().unwrap();
    talk(&mut story, 4).await;
    story.session.compact(Wish { trigger: Trigger::Manual, instructions: None, part: Part::All }).await.unwrap();
    let of = |source: &str| calls(&story).into_iter().filter(|called| called.source == source).collect::<Vec<_>>();
    assert_eq!(of("compact").iter().map(|called| called.duration_ms).collect::<Vec<_>>(), [3_000]);
    let noting = of("session_notes");
    assert!(!noting.is_empty() && noting.iter().all(|called| called.duration_ms >= 2_000), "{noting:?}");
    assert!(of("main").iter().all(|called| called.duration_ms >= 1_000));
}

// spec: H3
#[tokio::test]
async fn a_promise_outlives_the_process_that_was_given_it() {
    let read = |read, write| Usage { cache_read: read, cache_write_5m: write, output: 10, ..Usage::default() };
    let model = Scripted::new()
        .then(Turn::text("one").counting(read(0, 50_000)))
        .then(Turn::text("two").counting(read(50_000, 400)))
        .then(Turn::text("three").counting(read(9_000, 41_900)));
    let mut story = Setting::new(Arc::new(model)).switch("layers.session_notes", "false").begin().unwrap();
    story.ask("a").await.unwrap();
    let mut story = story.resume().unwrap();
    story.ask("b").await.unwrap();
    assert_eq!(calls(&story)[1].promised, Some(50_000));
    let mut story = story.resume().unwrap();
    story.ask("c").await.unwrap();
    assert_eq!(breaks(&story), [Cause::Server]);
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

fn told(story: &Story, words: &str) -> usize {
    story.events().iter().filter(|event| matches!(event, Event::Notice(text) if text.contains(words))).count()
}

fn is_cleared(story: &Story) -> bool {
    let mut results = story.session.transcript().view().history.iter().flat_map(|message| message.tool_results());
    results.any(|result| result.text() == CLEARED)
}

fn is_braked(story: &Story) -> bool {
    brake::state(story.session.ledger(), &story.setting.limits) != State::Released
}

const PAUSE: SignedDuration = SignedDuration::from_mins(6);

// spec: V3
// spec: H3, H6
#[tokio::test]
async fn a_service_that_drops_the_cache_trips_the_brake_until_it_keeps_its_promise_again() {
    let page = |n: usize| simulator::tool_use("Read", json!({ "file_path": "big.txt", "offset": 1 + n }));
    let pages = (1..9).fold(page(0), |pages, n| pages.and(page(n)));
    let simulator = Simulator::start(Script::new().reply(pages).otherwise(simulator::text("ok"))).await.unwrap();
    let keys = Keys::from_values(&BTreeMap::from([("ANTHROPIC_API_KEY".to_owned(), "k".to_owned())]));
    let choice = Choice { model: "claude-opus-5-5".into(), base_url: Some(simulator.url()), ..Choice::default() };
    let model = connect(&choice, &keys, &Catalogue::built_in().unwrap(), &Limits::default()).unwrap();
    let setting = Setting::new(model).switch("layers.session_notes", "false");
    let mut setting = setting.tools(tools::standard(&[], &Limits::default()));
    setting.limits.brake_window = 4;
    let mut story = setting.begin().unwrap();
    story.home.write("big.txt", "a line of some length, as files have them\n".repeat(200)).unwrap();
    story.ask("Read it all").await.unwrap();
    for n in 0..4 {
        assert!(!is_braked(&story), "not before a whole window, request {n}");
        // Time passes for the service alone: it forgets what it should still have.
        simulator.clock().advance(PAUSE.unsigned_abs());
        story.ask("And?").await.unwrap();
        if is_braked(&story) {
            break;
        }
    }
    assert!(is_braked(&story));
    assert_eq!(told(&story, "the brake is on: the cache gave"), 1);
    assert_eq!(told(&story, "cause: server"), 1, "one word, however often it happened: {:?}", breaks(&story));
    assert!(breaks(&story).len() > 1 && breaks(&story).iter().all(|cause| *cause == Cause::Server));

    let pause = |story: &Story| {
        story.setting.clock.advance(PAUSE);
        simulator.clock().advance(PAUSE.unsigned_abs());
    };
    pause(&story);
    story.ask("Back").await.unwrap();
    assert!(!is_cleared(&story), "the layers are out of the way");
    let mut story = story.resume().unwrap();
    pause(&story);
    story.ask("Back again").await.unwrap();
    assert!(is_braked(&story) && !is_cleared(&story), "a restart does not release it");
    assert_eq!(told(&story, "the brake is"), 0, "and nobody has to be told again");

    for _ in 0..6 {
        story.ask("And?").await.unwrap();
    }
    assert!(!is_braked(&story) && told(&story, "the brake is off") == 1);
    pause(&story);
    story.ask("Back once more").await.unwrap();
    assert!(is_cleared(&story), "the layers work again");
}

// spec: V3
#[tokio::test]
async fn under_the_brake_nothing_is_noted_and_a_full_window_is_still_compacted() {
    let size = ContextWindow { size: 60_000, max_output: 4_000 };
    let model = Scripted::new().holding(size).afterwards(|prompt| {
        if fork::is_fork(prompt) {
            return Ok(Turn::text("<summary>\n## 8. Current Work\nSeeds.\n</summary>"));
        }
        let sent = 3_000 * prompt.history.len() as u64;
        let usage = Usage { cache_write_5m: sent, output: 700, ..Usage::default() };
        Ok(Turn::text("an answer of some length ".repeat(100)).counting(usage))
    });
    let mut setting = Setting::new(Arc::new(model));
    setting.limits.brake_window = 2;
    let mut story = setting.begin().unwrap();
    for n in 0..3 {
        story.ask(&format!("question {n}")).await.unwrap();
    }
    assert!(is_braked(&story), "{:?}", calls(&story));
    for n in 3..12 {
        story.ask(&format!("question {n}")).await.unwrap();
        story.session.drain(std::time::Duration::from_secs(30)).await.unwrap();
    }
    assert!(!story.session.transcript().view().compactions.is_empty(), "what is needed to fit stays");
    assert!(calls(&story).iter().all(|called| called.source != "session_notes"), "notes wait");
}

/// Talk; what runs in the background comes home before the next question.
async fn talk(story: &mut Story, questions: usize) {
    for n in 0..questions {
        story.ask(&format!("question {n}: and the seeds?")).await.unwrap();
        assert!(story.session.wait_for_background(std::time::Duration::from_secs(60)).await.unwrap());
    }
}

fn noting(input: u64) -> Arc<Scripted> {
    Arc::new(Scripted::new().afterwards(move |prompt| {
        let usage = Usage { input, output: 10, ..Usage::default() };
        if wants_notes(prompt) {
            return Ok(good_note(prompt).counting(usage));
        }
        if fork::is_fork(prompt) {
            return Ok(Turn::text("<summary>\n## 8. Current Work\nSeeds.\n</summary>"));
        }
        Ok(Turn::text("an answer of some length ".repeat(200)))
    }))
}

/// How often a model wrote the notes; code goes on without it.
fn noted(story: &Story) -> usize {
    writers(story).into_iter().filter(|by| *by == Writer::Model).count()
}

fn budgeted(tokens: u64) -> Story {
    let setting = Setting::new(noting(1_200)).tools(tools::standard(&[], &Limits::default()));
    let mut setting = setting.switch("session_notes.writer", "model");
    setting.limits.background_day_tokens = tokens;
    setting.limits.notes_first_tokens = 2_000;
    setting.limits.notes_every_tokens = 2_000;
    setting.begin().unwrap()
}

// spec: V2
#[tokio::test]
async fn background_work_stops_at_the_day_s_budget_says_so_once_and_goes_on_tomorrow() {
    let mut story = budgeted(1_000);
    talk(&mut story, 16).await;
    assert_eq!(noted(&story), 1, "the first update used the budget up");
    assert_eq!(told(&story, "of today's 1000 tokens and stops"), 1);
    assert!(story.session.allowance().tokens >= 1_000);
    let wish = Wish { trigger: Trigger::Manual, instructions: None, part: Part::All };
    story.session.compact(wish).await.unwrap();
    assert_eq!(story.session.transcript().view().compactions.len(), 1, "what the person asks for is done");

    story.setting.clock.advance(SignedDuration::from_hours(12));
    assert_eq!(story.session.allowance().tokens, 0, "midnight has passed");
    talk(&mut story, 8).await;
    assert_eq!(noted(&story), 2);
}

// spec: V2
#[tokio::test]
async fn one_budget_holds_for_all_sessions() {
    let mut story = budgeted(1_000);
    DayBook::at(&story.home.data().join("background")).book(&booked_elsewhere(&story), &story.setting.limits).unwrap();
    talk(&mut story, 8).await;
    assert_eq!((noted(&story), told(&story, "of today's 1000 tokens and stops")), (0, 1));
    let mut free = budgeted(1_000_000);
    talk(&mut free, 8).await;
    assert!(noted(&free) > 0, "with budget left they are written");
}

fn booked_elsewhere(story: &Story) -> Called {
    let usage = Usage { input: 1_000, ..Usage::default() };
    let call = scrubjay::transcript::Call {
        source: "session_notes".into(),
        model: "m".into(),
        usage,
        stop: scrubjay::message::StopReason::EndTurn,
        cleared: 0,
    };
    let now = scrubjay::clock::Clock::now(&story.setting.clock);
    Called::of(now, &call, None, scrubjay::transcript::Ttl::FiveMinutes, std::time::Duration::ZERO)
}
