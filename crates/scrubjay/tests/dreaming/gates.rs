//! When a dream begins, and who may dream.

use crate::bench::{Bench, touch};
use jiff::{SignedDuration, Timestamp};
use scrubjay::memory::dreaming::{Closed, DreamError, Dreams, Gates, Holder, Judgement, Switch};
use scrubjay::settings::{Settings, Sources};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

fn sessions(bench: &Bench, count: usize) {
    let at = bench.now();
    for n in 0..count {
        bench.session(&format!("past-{n}"), at, &["hello there"]);
    }
}

fn few(new: u64) -> Result<usize, Closed> {
    Err(Closed::FewSessions { new, wanted: 5 })
}

fn look(gates: &mut Gates, bench: &Bench) -> Result<usize, Closed> {
    gates.look(&bench.dreams(), "story", Switch::On).map(|news| news.sessions.len())
}

// spec: Z1
#[test]
fn gates_close_in_their_order_and_open_when_a_day_and_five_sessions_have_passed() {
    let bench = Bench::offline();
    let mut gates = Gates::default();
    assert_eq!(gates.look(&bench.dreams(), "story", Switch::Off).unwrap_err(), Closed::Off);
    assert_eq!(look(&mut gates, &bench), few(0), "the current session is not counted");
    assert_eq!(look(&mut gates, &bench), Err(Closed::LookedLately));
    sessions(&bench, 4);
    bench.clock.advance(SignedDuration::from_mins(10));
    assert_eq!(look(&mut gates, &bench), few(4));
    sessions(&bench, 5);
    bench.clock.advance(SignedDuration::from_mins(10));
    assert_eq!(look(&mut gates, &bench), Ok(5));

    bench.dream();
    let last = bench.now();
    bench.hours_pass(23);
    assert_eq!(look(&mut gates, &bench), Err(Closed::Recent { last }));
    bench.hours_pass(1);
    assert_eq!(look(&mut gates, &bench), few(0), "those sessions were there before the dream");
    sessions(&bench, 6);
    bench.hours_pass(1);
    assert_eq!(look(&mut gates, &bench), Ok(6));
}

// spec: Z1
#[test]
fn sessions_are_looked_for_last_and_at_most_once_in_ten_minutes() {
    let bench = Bench::offline();
    // A look at this folder fails, so that each can be counted.
    let folder = bench.story.home.write("no-folder", "").unwrap();
    let (settings, zone) = (Settings::resolve(&Sources::default()), jiff::tz::TimeZone::UTC);
    let clock = Arc::new(bench.clock.clone());
    let dreams = Dreams::outside(bench.memory.clone(), [&folder, &folder], &settings, clock, zone);
    let mut gates = Gates::default();
    let mut looks = |switch| matches!(gates.look(&dreams, "story", switch), Err(Closed::Unreadable(_)));
    assert!(!looks(Switch::Off), "off comes first");
    let mut count = 0;
    for _ in 0..30 {
        count += usize::from(looks(Switch::On));
        bench.clock.advance(SignedDuration::from_mins(1));
    }
    assert_eq!(count, 3, "in half an hour");
    bench.dream();
    let last = bench.now();
    for _ in 0..23 {
        assert_eq!(gates.look(&dreams, "story", Switch::On).unwrap_err(), Closed::Recent { last });
        bench.hours_pass(1);
    }
    bench.hours_pass(1);
    assert!(matches!(gates.look(&dreams, "story", Switch::On), Err(Closed::Unreadable(_))));
}

// spec: Z1
// spec: K1
#[test]
fn days_that_were_logged_and_not_read_are_enough() {
    let bench = Bench::offline();
    let logs = bench.dir().join("logs/2026/03");
    std::fs::create_dir_all(&logs).unwrap();
    std::fs::write(logs.join("2026-03-03.md"), "- today, still being written\n").unwrap();
    assert_eq!(look(&mut Gates::default(), &bench), few(0));
    std::fs::write(logs.join("2026-03-02.md"), "- fed the birds\n").unwrap();
    assert_eq!(look(&mut Gates::default(), &bench), Ok(0));
}

// spec: Z2
// safety: F-05
// safety: F-06
#[test]
fn a_backup_that_moves_the_time_of_the_lock_changes_no_decision() {
    let bench = Bench::offline();
    sessions(&bench, 5);
    let lock = bench.dir().join(".consolidate-lock");
    bench.dream();
    let last = bench.now();
    assert_eq!(modified(&lock), last, "one look at one file says when");
    bench.hours_pass(1);
    for moved in [Timestamp::UNIX_EPOCH, bench.now(), bench.now() + SignedDuration::from_hours(9_000)] {
        touch(&lock, moved);
        assert_eq!(look(&mut Gates::default(), &bench), Err(Closed::Recent { last }), "{moved}");
    }
    bench.hours_pass(24);
    sessions(&bench, 5);
    touch(&lock, bench.now());
    assert_eq!(look(&mut Gates::default(), &bench), Ok(5), "a lock that looks new does not stop a dream");
    bench.clock.advance(SignedDuration::from_hours(-24 * 400));
    assert_eq!(look(&mut Gates::default(), &bench), Ok(5), "nor does a clock that was set back");
}

fn modified(path: &std::path::Path) -> Timestamp {
    std::fs::metadata(path).unwrap().modified().unwrap().try_into().unwrap()
}

// spec: Z2
// spec: Z3
// safety: F-02
#[test]
fn one_dreams_at_a_time_and_one_that_is_gone_leaves_no_trace() {
    let bench = Bench::offline();
    bench.save("a.md", "a thing", "A thing that is remembered.");
    let dreams = bench.dreams();
    let begin = || dreams.plan(dreams.news("story").unwrap(), CancellationToken::new());
    let lock = bench.dir().join(".consolidate-lock");
    let first = begin().unwrap();
    let holder = match begin() {
        Err(DreamError::Busy(holder)) => holder,
        _ => panic!("two dream at once"),
    };
    assert_eq!((holder.pid, holder.beat), (std::process::id(), bench.now()));
    assert!(!holder.host.is_empty() && !holder.token.is_empty(), "{holder:?}");
    bench.hours_pass(1);
    first.beat().unwrap();
    bench.clock.advance(SignedDuration::from_mins(59));
    assert!(matches!(begin(), Err(DreamError::Busy(_))), "it showed a sign of life 59 minutes ago");
    drop(first);
    assert_eq!(modified(&lock), Timestamp::UNIX_EPOCH, "nobody has dreamt yet");
    let second = begin().unwrap();
    second.land(Judgement::Nobody).unwrap();
    assert_eq!((modified(&lock), std::fs::read(&lock).unwrap().len()), (bench.now(), 0), "never written");
    assert!(!bench.dir().join(".consolidate-lease").exists());
    let found = bench.memory.with(|memory| memory.check()).unwrap();
    assert!(found.is_empty(), "the lock disturbs nobody: {found:?}");
}

// spec: Z2
// safety: F-04
#[test]
fn whoever_was_silent_for_an_hour_is_replaced_and_cannot_land() {
    let bench = Bench::offline();
    bench.save("a.md", "staging", "Staging is on port 5433.");
    bench.save("b.md", "staging", "Staging is on port 5433.");
    let dreams = bench.dreams();
    let begin = || dreams.plan(dreams.news("story").unwrap(), CancellationToken::new());
    let sleepy = begin().unwrap();
    bench.hours_pass(1);
    let other = begin().unwrap();
    assert!(matches!(sleepy.beat(), Err(DreamError::Lost)));
    let before = bench.files();
    assert!(matches!(sleepy.land(Judgement::Nobody), Err(DreamError::Lost)));
    assert_eq!(bench.files(), before, "not a byte");
    assert_eq!(bench.dreams().last().unwrap(), None);
    other.land(Judgement::Nobody).unwrap();
    assert_eq!(bench.files().len(), 2, "one memory and the index");
}

// spec: Z2
#[test]
fn a_dreamer_on_another_machine_is_believed_to_live_as_long_as_it_shows_signs_of_it() {
    let bench = Bench::offline();
    bench.save("a.md", "a thing", "A thing that is remembered.");
    let dreams = bench.dreams();
    let begin = || dreams.plan(dreams.news("story").unwrap(), CancellationToken::new());
    // Nobody here holds its file: the system of that machine knows who does.
    let holder = Holder { pid: 1, host: "elsewhere".into(), token: "1-1-1".into(), beat: bench.now() };
    std::fs::write(bench.dir().join(".consolidate-lease"), serde_json::to_vec(&holder).unwrap()).unwrap();
    bench.clock.advance(SignedDuration::from_mins(59));
    assert!(matches!(begin(), Err(DreamError::Busy(other)) if other == holder));
    bench.clock.advance(SignedDuration::from_mins(1));
    assert!(begin().is_ok(), "after an hour of silence it is gone");
}
