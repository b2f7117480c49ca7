//! Background work that can be watched and stopped, that rests when it gets nowhere, and that remembers so.

use crate::session_notes::{edit_note, good_note, notes_file, wants_notes};
use scrubjay::agents::jobs::{Card, Jobs, State, Stopping};
use scrubjay::clock::Clock as _;
use scrubjay::event::Event;
use scrubjay::ledger::Row;
use scrubjay::limits::Limits;
use scrubjay::message::Usage;
use scrubjay::model::ModelError;
use scrubjay::prompt::Prompt;
use scrubjay::prompt_cache::prices::Prices;
use scrubjay::tools;
use scrubjay_providers::scripted::{Gate, Scripted, Turn};
use scrubjay_testkit::{Setting, Story};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// Answers questions at length, and notes as it is told to.
fn model(note: impl Fn(&Prompt) -> Result<Turn, ModelError> + Send + Sync + 'static) -> Scripted {
    let prices =
        Prices { input: Some(4.0), write_5m: Some(5.0), write_1h: Some(8.0), read: Some(0.5), output: Some(20.0) };
    Scripted::new().priced(prices).afterwards(move |prompt| match wants_notes(prompt) {
        true => note(prompt),
        false => Ok(Turn::text("an answer of some length ".repeat(40))),
    })
}

/// Notes are due after every answer.
fn eager(model: Arc<Scripted>) -> Setting {
    let mut setting = Setting::new(model).tools(tools::standard(&[], &Limits::default()));
    setting.switches.push(("session_notes.writer".into(), "model".into()));
    setting.limits.notes_first_tokens = 100;
    setting.limits.notes_every_tokens = 100;
    setting
}

fn from_elsewhere(story: &Story) -> Jobs {
    Jobs::at(Some(story.home.data().join("jobs")))
}

fn told(story: &Story, words: &str) -> usize {
    story.events().iter().filter(|event| matches!(event, Event::Notice(text) if text.contains(words))).count()
}

fn only(cards: Vec<Card>) -> Card {
    let [card] = <[Card; 1]>::try_from(cards).unwrap();
    card
}

// spec: Z5
#[tokio::test]
async fn a_job_can_be_watched_while_it_runs_and_says_afterwards_what_it_did_and_took() {
    let (before, gate) = (Gate::new(), Gate::new());
    let (first, second) = (before.clone(), gate.clone());
    let usage = Usage { input: 1_000, output: 50, ..Usage::default() };
    let mut story = eager(Arc::new(model(move |prompt| {
        let edited = prompt.history.last().unwrap().tool_results().next().is_some();
        // The first edit finds nothing to replace, so it takes another.
        let missed = json!({ "file_path": notes_file(prompt), "old_string": "not there", "new_string": "x" });
        let (gate, turn) = match edited {
            true => (&second, edit_note(prompt)),
            false => (&first, Turn::call("Edit", missed)),
        };
        Ok(turn.counting(usage).behind(gate))
    })))
    .begin()
    .unwrap();
    story.ask("Where are the seeds?").await.unwrap();
    before.reached().await;
    let (jobs, limits) = (story.session.jobs(), story.setting.limits.clone());
    let card = only(jobs.running());
    assert_eq!((card.kind.as_str(), card.what.as_str()), ("session_notes", "session notes"));
    assert_eq!((card.state, card.phase.as_str(), card.calls), (State::Running, "starting", 0));
    assert_eq!(only(from_elsewhere(&story).list(&limits)), card, "another process sees the same");
    before.open();
    gate.reached().await;
    let card = only(from_elsewhere(&story).list(&limits));
    assert_eq!((card.state, card.phase.as_str(), card.calls), (State::Running, "starting", 1));
    assert_eq!((card.turns[0].tools, card.tokens()), (1, 1_050));
    assert!((card.money.unwrap() - 0.005).abs() < 1e-9, "{card:?}");
    story.setting.clock.advance(jiff::SignedDuration::from_secs(7));
    gate.open();
    assert!(story.session.wait_for_background(LONG).await.unwrap());
    let card = only(from_elsewhere(&story).list(&limits));
    assert_eq!((card.state, card.phase.as_str(), card.calls), (State::Completed, "updating", 2));
    assert_eq!(card.elapsed(story.setting.clock.now()), Duration::from_secs(7));
    assert!(card.files[0].ends_with("session-memory/summary.md") && card.files.len() == 1, "{card:?}");
    assert!(jobs.running().is_empty() && jobs.list(&limits) == [card]);
    let left: Vec<_> = std::fs::read_dir(story.home.data().join("jobs")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "only the card is left: {left:?}");
}

// spec: Z5
#[tokio::test]
async fn a_job_is_stopped_from_here_or_from_another_process_and_that_is_no_failure() {
    for elsewhere in [true, false] {
        let gate = Gate::new();
        let held = gate.clone();
        let story = eager(Arc::new(model(move |_| Ok(Turn::text("wait for it").in_pieces(3).behind(&held)))));
        let mut story = story.begin().unwrap();
        story.ask("Where are the seeds?").await.unwrap();
        gate.reached().await;
        let (here, limits) = (story.session.jobs(), story.setting.limits.clone());
        let jobs = if elsewhere { from_elsewhere(&story) } else { here.clone() };
        let id = only(jobs.list(&limits)).id;
        assert_eq!(jobs.stop("zzz", &limits).unwrap(), Stopping::NoSuch);
        assert_eq!(jobs.stop("", &limits).unwrap(), Stopping::NoSuch);
        assert_eq!(jobs.stop(&id[..3], &limits).unwrap(), Stopping::Asked(id.clone()));
        // From here it is stopped at once; from elsewhere with the next piece of its reply.
        if elsewhere {
            assert_eq!(only(here.running()).state, State::Running);
            gate.open();
        }
        assert!(story.session.wait_for_background(LONG).await.unwrap());
        assert_eq!(only(jobs.list(&limits)).state, State::Killed);
        assert_eq!(jobs.stop(&id, &limits).unwrap(), Stopping::NotRunning(id, State::Killed));
        assert!(story.session.resting_work().is_empty());
        assert!(story.session.may_start("session_notes"), "it may start again when it is due");
    }
}

// spec: Z5
#[tokio::test]
async fn a_job_whose_process_is_gone_is_seen_as_such_and_old_cards_are_cleared_away() {
    let mut setting = eager(Arc::new(model(|prompt| Ok(good_note(prompt)))));
    setting.limits.jobs_kept = 3;
    let mut story = setting.begin().unwrap();
    story.ask("Where are the seeds?").await.unwrap();
    assert!(story.session.wait_for_background(LONG).await.unwrap());
    let (jobs, limits) = (from_elsewhere(&story), story.setting.limits.clone());
    let folder = story.home.data().join("jobs");
    let card = only(jobs.list(&limits));
    let dead = Card { id: "dead".into(), state: State::Running, ended: None, ..card };
    std::fs::write(folder.join("dead.json"), serde_json::to_vec(&dead).unwrap()).unwrap();
    std::fs::write(folder.join("dead.run"), "").unwrap();
    std::fs::write(folder.join("other.json"), serde_json::to_vec(&dead).unwrap()).unwrap();
    std::fs::write(folder.join("broken.json"), "{").unwrap();
    let cards = jobs.list(&limits);
    assert_eq!(cards.len(), 2, "what is no card is passed over: {cards:?}");
    assert_eq!(jobs.stop("dead", &limits).unwrap(), Stopping::NotRunning("dead".into(), State::Died));
    for n in 0..8 {
        story.setting.clock.advance(jiff::SignedDuration::from_secs(1));
        story.ask(&format!("question {n}")).await.unwrap();
        assert!(story.session.wait_for_background(LONG).await.unwrap());
    }
    assert_eq!(jobs.list(&limits).len(), 4, "three old ones and the one that came last");
    assert!(!folder.join("dead.json").exists() && !folder.join("dead.run").exists());
}

/// A way to get nowhere, and how many calls of it one window may see.
type Mode = (&'static str, u64, fn(&Prompt) -> Result<Turn, ModelError>);

const MODES: [Mode; 6] = [
    ("an error", 3, |_| Err(ModelError::Refused("no".into()))),
    ("no connection", 3, |_| Err(ModelError::Unreachable("connection reset".into()))),
    ("a cut stream", 3, |_| {
        let usage = Usage { input: 9, ..Usage::default() };
        Err(ModelError::Cut { partial: Vec::new(), usage, because: "reset".into() })
    }),
    ("an empty answer", 3, |_| Ok(Turn::text(""))),
    ("its own request too long", 3, |_| Err(ModelError::PromptTooLong { over_by: None })),
    // One run of five turns is more than enough.
    ("all turns and nothing written", 5, |_| Ok(Turn::call("Glob", json!({ "pattern": "*.md" })))),
];

// safety: SG18
// spec: X7
#[tokio::test]
async fn whatever_fails_in_the_background_is_tried_three_times_a_window_through_a_long_session_and_restarts() {
    for (name, most, mode) in MODES {
        let asked = Arc::new(AtomicU64::new(0));
        let count = asked.clone();
        let mut setting = eager(Arc::new(model(move |prompt| {
            count.fetch_add(1, Relaxed);
            mode(prompt)
        })));
        setting.limits.default_window = 10_000_000;
        let mut story = setting.begin().unwrap();
        let mut windows = BTreeMap::<i64, u64>::new();
        let (mut seen, begun, mut said) = (0, story.setting.clock.now(), 0);
        for turn in 0..240 {
            story.session.ask(vec![scrubjay::message::Block::text(format!("question {turn}"))]).await.unwrap();
            assert!(story.session.wait_for_background(LONG).await.unwrap(), "{name}");
            let calls = asked.load(Relaxed);
            let minute = story.setting.clock.now().duration_since(begun).as_mins();
            *windows.entry(minute / 30).or_default() += calls - seen;
            seen = calls;
            story.setting.clock.advance(jiff::SignedDuration::from_secs(45));
            if turn % 20 == 19 {
                said += told(&story, "session_notes rests until");
                story = story.resume().unwrap();
            }
        }
        let hours = 3;
        assert!(windows.values().all(|calls| *calls <= most), "{name}: {windows:?}");
        assert_eq!(windows[&0], most, "{name}");
        assert!(windows.len() == hours * 2 && said == 3, "{name}: rests {said} times, longer each time: {windows:?}");
        let rest = story.session.resting_work().remove(0);
        assert_eq!(rest.kind, "session_notes");
    }
}

// spec: X7
#[tokio::test]
async fn a_success_after_the_rest_closes_it_and_what_a_cut_stream_took_is_booked() {
    let works = Arc::new(AtomicBool::new(false));
    let again = works.clone();
    let (_, _, cut) = MODES[2];
    let mut story = eager(Arc::new(model(move |prompt| match again.load(Relaxed) {
        true => Ok(good_note(prompt)),
        false => cut(prompt),
    })))
    .begin()
    .unwrap();
    for n in 0..6 {
        story.ask(&format!("question {n}")).await.unwrap();
        assert!(story.session.wait_for_background(LONG).await.unwrap());
    }
    assert_eq!(
        told(&story, "session_notes rests until 12:30 after 3 calls without progress: the reply was cut off"),
        1
    );
    assert_eq!(story.session.allowance().tokens, 27, "three cut replies of nine tokens");
    let booked = story.session.ledger().iter().filter(|row| matches!(row, Row::Called(called) if called.is_ours()));
    assert_eq!(booked.count(), 3);
    assert_eq!(only(story.session.jobs().list(&story.setting.limits)[..1].to_vec()).state, State::Failed);
    works.store(true, Relaxed);
    story.ask("and now?").await.unwrap();
    assert!(story.session.wait_for_background(LONG).await.unwrap());
    assert!(story.session.transcript().view().noted.is_none(), "it rests");
    story.setting.clock.advance(jiff::SignedDuration::from_mins(31));
    story.ask("and now?").await.unwrap();
    assert!(story.session.wait_for_background(LONG).await.unwrap());
    assert!(story.session.transcript().view().noted.is_some() && story.session.resting_work().is_empty());
}
