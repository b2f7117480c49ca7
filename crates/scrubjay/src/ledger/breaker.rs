//! Breakers: background work that gets nowhere rests, longer each time, in every session and after every restart.
//!
//! One breaker a kind of work. What it counts is model calls that led to no progress, whatever the reason: an error, a cut
//! stream, an empty answer, a result that is no smaller, turns used up with nothing written, a process that died on the way.
//! A few within a window open it. When its rest is over one run may try: success closes it, failure doubles the rest. All
//! breakers lie in one small file beside the book of the day, changed under a lock.

use crate::limits::Limits;
use crate::paths;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// What came of a piece of background work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It did what it was for, even if that was to find nothing to do.
    Made,
    /// It was stopped from outside, which says nothing about it.
    Stopped,
    /// It got nowhere.
    None {
        /// Why.
        because: String,
        /// How many model calls that took; one at least is counted.
        calls: u64,
    },
}

/// A kind of work that rests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rest {
    /// The kind: the query source of its calls.
    pub kind: String,
    /// Until when.
    pub until: Timestamp,
    /// How many calls without progress led to it.
    pub calls: u64,
    /// What the last of them failed of.
    pub because: String,
}

impl Rest {
    /// What a person is told about it, and what can be done.
    pub fn words(&self, now: Timestamp, zone: &TimeZone) -> String {
        let Self { kind, calls, because, .. } = self;
        let (until, now) = (self.until.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
        let until = until.strftime(if until.date() == now.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" });
        let calls = if *calls == 1 { "another call".to_owned() } else { format!("{calls} calls") };
        format!(
            "{kind} rests until {until} after {calls} without progress: {because}; \
             `scrubjay jobs reset {kind}` lets it try again"
        )
    }
}

/// All breakers: in a file that sessions share, or in memory where there is none.
#[derive(Debug, Clone, Default)]
pub struct Breakers {
    folder: Option<PathBuf>,
    table: Table,
}

type Table = BTreeMap<String, Breaker>;

/// One breaker. Closed while `until` is not set and not to come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Breaker {
    strikes: Vec<Strike>,
    away: Vec<Away>,
    /// How often in a row it has opened.
    rests: u32,
    until: Option<Timestamp>,
    /// What opened it.
    calls: u64,
    because: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Strike {
    at: Timestamp,
    calls: u64,
}

/// A run that has left and is not home yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Away {
    at: Timestamp,
    process: u32,
}

/// Who asks, and when.
struct Now<'a> {
    at: Timestamp,
    process: u32,
    limits: &'a Limits,
}

impl Breakers {
    /// In this folder, for all sessions; without one, for this session alone.
    pub fn at(folder: Option<&Path>) -> Self {
        Self { folder: folder.map(Path::to_owned), table: Table::new() }
    }

    /// Whether a run of this kind may leave. Who is told yes says later what came of it, with [`Breakers::ended`].
    pub fn start(&mut self, kind: &str, at: Timestamp, limits: &Limits) -> bool {
        self.change(at, limits, |table, now| table.entry(kind.to_owned()).or_default().start(now))
    }

    /// What came of a run. The rest that it led to, if it did.
    pub fn ended(&mut self, kind: &str, progress: &Progress, at: Timestamp, limits: &Limits) -> Option<Rest> {
        self.change(at, limits, |table, now| {
            let breaker = table.entry(kind.to_owned()).or_default();
            breaker.ended(progress, now).then(|| breaker.rest(kind, now.at)).flatten()
        })
    }

    /// What rests now.
    pub fn resting(&self, at: Timestamp, limits: &Limits) -> Vec<Rest> {
        let mut table = self.read(limits).unwrap_or_else(|_| self.table.clone());
        let now = Now { at, process: std::process::id(), limits };
        table.values_mut().for_each(|breaker| breaker.settle(&now));
        table.iter().filter_map(|(kind, breaker)| breaker.rest(kind, at)).collect()
    }

    /// Close a breaker at a person's word. Whether anything was held against this kind.
    pub fn reset(&mut self, kind: &str, at: Timestamp, limits: &Limits) -> bool {
        self.change(at, limits, |table, _| table.remove(kind).is_some())
    }

    /// Every kind that something is held against, resting or not.
    pub fn kinds(&self, limits: &Limits) -> Vec<String> {
        self.read(limits).unwrap_or_else(|_| self.table.clone()).into_keys().collect()
    }

    /// Read, change and write under a lock. A disk that refuses never costs the session: then memory counts.
    fn change<T>(&mut self, at: Timestamp, limits: &Limits, change: impl FnOnce(&mut Table, &Now<'_>) -> T) -> T {
        let now = Now { at, process: std::process::id(), limits };
        let lock = self.lock().ok();
        if lock.is_some() {
            self.table = self.read(limits).unwrap_or_else(|_| self.table.clone());
        }
        let before = self.table.clone();
        self.table.values_mut().for_each(|breaker| breaker.settle(&now));
        let answer = change(&mut self.table, &now);
        self.table.retain(|_, breaker| *breaker != Breaker::default());
        if let Some(file) = self.file().filter(|_| lock.is_some() && self.table != before) {
            // What cannot be written is counted in memory, and goes out with the next change.
            let bytes = serde_json::to_vec(&self.table).unwrap_or_default();
            paths::write_private(&file, &bytes).unwrap_or_default();
        }
        answer
    }

    fn file(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join("breakers.json"))
    }

    fn lock(&self) -> io::Result<File> {
        let folder = self.folder.as_deref().ok_or(io::ErrorKind::NotFound)?;
        paths::create_dir_private(folder)?;
        let path = folder.join("breakers.lock");
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        file.lock()?;
        Ok(file)
    }

    /// A breaker that cannot be read is a closed one, and the others still hold. No file is no breaker.
    fn read(&self, limits: &Limits) -> io::Result<Table> {
        let Some(file) = self.file() else { return Ok(self.table.clone()) };
        let mut text = String::new();
        match File::open(file) {
            Ok(file) => file.take(limits.background_file_bytes).read_to_string(&mut text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Table::new()),
            Err(error) => return Err(error),
        };
        let rows: BTreeMap<String, serde_json::Value> = serde_json::from_str(&text).unwrap_or_default();
        Ok(rows.into_iter().filter_map(|(kind, row)| Some((kind, serde_json::from_value(row).ok()?))).collect())
    }
}

impl Breaker {
    fn start(&mut self, now: &Now<'_>) -> bool {
        let held = self.held();
        // While something failed lately, what is under way counts as if it would fail too.
        let suspect = held > 0 || self.rests > 0;
        let under_way = if suspect { self.away.len() as u64 } else { 0 };
        if self.is_resting(now.at) || held + under_way >= self.patience(now.limits) {
            return false;
        }
        self.away.push(Away { at: now.at, process: now.process });
        true
    }

    /// Whether it opened.
    fn ended(&mut self, progress: &Progress, now: &Now<'_>) -> bool {
        if let Some(mine) = self.away.iter().position(|away| away.process == now.process) {
            self.away.remove(mine);
        }
        match progress {
            Progress::Stopped => false,
            Progress::Made => {
                *self = Self { away: std::mem::take(&mut self.away), ..Self::default() };
                false
            }
            Progress::None { because, calls } => self.strike(*calls, because, now),
        }
    }

    fn strike(&mut self, calls: u64, because: &str, now: &Now<'_>) -> bool {
        self.strikes.push(Strike { at: now.at, calls: calls.max(1) });
        self.because = one_line(because);
        if self.is_resting(now.at) || self.held() < self.patience(now.limits) {
            return false;
        }
        self.calls = self.held();
        self.strikes.clear();
        self.until = now.at.checked_add(length(self.rests, now.limits)).ok();
        self.rests = self.rests.saturating_add(1);
        true
    }

    /// How many calls without progress are borne. After a rest one run may try.
    fn patience(&self, limits: &Limits) -> u64 {
        if self.rests > 0 { 1 } else { limits.breaker_calls }
    }

    fn held(&self) -> u64 {
        self.strikes.iter().map(|strike| strike.calls).fold(0, u64::saturating_add)
    }

    /// Forget what is over, and count runs whose process is gone. A clock that was set back forgives what is yet to come.
    fn settle(&mut self, now: &Now<'_>) {
        let window = minutes(now.limits.breaker_window_minutes);
        let recent = |at: Timestamp| at <= now.at && now.at.duration_since(at) < window;
        self.strikes.retain(|strike| recent(strike.at));
        self.until = self.until.filter(|until| until.duration_since(now.at) <= length(u32::MAX, now.limits));
        let (gone, mut away) = std::mem::take(&mut self.away).into_iter().partition(|away| is_gone(away.process));
        self.away.append(&mut away);
        self.away.retain(|away| recent(away.at));
        for away in Vec::<Away>::into_iter(gone).filter(|away| recent(away.at)) {
            let then = Now { at: away.at, process: away.process, limits: now.limits };
            self.strike(1, "its process ended before it was done", &then);
        }
    }

    fn is_resting(&self, at: Timestamp) -> bool {
        self.until.is_some_and(|until| until > at)
    }

    fn rest(&self, kind: &str, at: Timestamp) -> Option<Rest> {
        let until = self.until.filter(|until| *until > at)?;
        Some(Rest { kind: kind.to_owned(), until, calls: self.calls, because: self.because.clone() })
    }
}

/// How long the next rest is.
fn length(rests: u32, limits: &Limits) -> SignedDuration {
    let doubled = limits.breaker_window_minutes.saturating_mul(1_u64.checked_shl(rests).unwrap_or(u64::MAX));
    minutes(doubled.min(limits.breaker_longest_minutes).max(limits.breaker_window_minutes))
}

fn minutes(count: u64) -> SignedDuration {
    SignedDuration::from_mins(i64::try_from(count).unwrap_or(i64::MAX / 60).min(i64::MAX / 60))
}

/// Whether no process has this number any more. A number that was given away again reads as alive, until the window is over.
fn is_gone(process: u32) -> bool {
    let process = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw);
    process.is_none_or(|process| rustix::process::test_kill_process(process) == Err(rustix::io::Errno::SRCH))
}

/// A reason may come from a service: one line, bounded.
fn one_line(text: &str) -> String {
    const LONGEST: usize = 200;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::at;
    use super::*;
    use proptest::prelude::*;

    const MINUTE: i64 = 60;

    fn nowhere(calls: u64) -> Progress {
        Progress::None { because: "the stream\n was cut".into(), calls }
    }

    /// Try once at this minute, and fail. Whether it could.
    fn fails(breakers: &mut Breakers, minute: i64) -> bool {
        let (now, limits) = (at(minute * MINUTE), Limits::default());
        let may = breakers.start("extract", now, &limits);
        if may {
            breakers.ended("extract", &nowhere(1), now, &limits);
        }
        may
    }

    // spec: X7
    #[test]
    fn three_calls_without_progress_open_it_and_each_rest_is_longer_until_a_success() {
        let (home, limits) = (tempfile::tempdir().unwrap(), Limits::default());
        // A process for every step: nothing is known but what lies on disk.
        let breakers = || Breakers::at(Some(home.path()));
        let tried: Vec<i64> = (0..400).filter(|minute| fails(&mut breakers(), *minute)).collect();
        assert_eq!(tried, [0, 1, 2, 32, 92, 212], "after half an hour, an hour, two, four");
        let rest = breakers().resting(at(213 * MINUTE), &limits).remove(0);
        let told = (rest.kind.as_str(), rest.until, rest.calls, rest.because.as_str());
        assert_eq!(told, ("extract", at(452 * MINUTE), 1, "the stream was cut"));
        let late = at(500 * MINUTE);
        assert!(breakers().start("dream", at(213 * MINUTE), &limits), "other kinds go on");
        assert!(breakers().start("extract", late, &limits));
        assert!(!breakers().start("extract", late, &limits), "one run tries");
        assert_eq!(breakers().ended("extract", &Progress::Made, late, &limits), None);
        let tried: Vec<i64> = (501..520).filter(|minute| fails(&mut breakers(), *minute)).collect();
        assert_eq!(tried, [501, 502, 503], "a success closes it");
    }

    // spec: X7
    #[test]
    fn what_is_spread_out_is_forgotten_and_what_is_stopped_counts_for_nothing() {
        let mut breakers = Breakers::default();
        assert!((0..100).all(|time| fails(&mut breakers, time * 16)), "two within half an hour are borne");
        let (mut breakers, limits) = (Breakers::default(), Limits::default());
        for second in 0..100 {
            assert!(breakers.start("select", at(second), &limits));
            breakers.ended("select", &Progress::Stopped, at(second), &limits);
        }
        assert!(breakers.start("dream", at(0), &limits));
        let rest = breakers.ended("dream", &nowhere(30), at(0), &limits).unwrap();
        assert_eq!(rest.calls, 30, "one run that used thirty calls up is enough");
    }

    // spec: X7
    #[test]
    fn a_run_whose_process_died_counts_and_runs_under_way_are_not_overtaken_by_others_once_one_failed() {
        let (home, limits) = (tempfile::tempdir().unwrap(), Limits::default());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let dead = child.id();
        child.wait().unwrap();
        let mut breaker = Breaker::default();
        for second in 0..3 {
            assert!(breaker.start(&Now { at: at(second), process: dead, limits: &limits }));
        }
        let table = Table::from([("extract".to_owned(), breaker)]);
        paths::write_private(&home.path().join("breakers.json"), &serde_json::to_vec(&table).unwrap()).unwrap();
        let mut breakers = Breakers::at(Some(home.path()));
        assert!(!breakers.start("extract", at(4), &limits));
        assert!(breakers.resting(at(4), &limits)[0].because.contains("process ended"));

        for _ in 0..4 {
            assert!(breakers.start("session_notes", at(5), &limits), "while all is well, any number may run");
        }
        breakers.ended("session_notes", &nowhere(1), at(5), &limits);
        assert!(!breakers.start("session_notes", at(6), &limits), "three are still under way");
        assert!(breakers.reset("session_notes", at(6), &limits) && !breakers.reset("nothing", at(6), &limits));
        assert!(breakers.start("session_notes", at(6), &limits));
        assert_eq!(breakers.kinds(&limits), ["extract", "session_notes"]);
    }

    // spec: X7
    #[test]
    fn damage_and_clocks_that_jump_never_lock_anything_for_good() {
        let (home, limits) = (tempfile::tempdir().unwrap(), Limits::default());
        let file = home.path().join("breakers.json");
        let mut breakers = Breakers::at(Some(home.path()));
        (0..3).for_each(|minute| assert!(fails(&mut breakers, minute)));
        let whole = std::fs::read_to_string(&file).unwrap();
        for damaged in ["", "{", "[]", "\u{0}", r#"{"extract":7}"#, &whole[..whole.len() / 2]] {
            std::fs::write(&file, damaged).unwrap();
            assert!(fails(&mut breakers, 5), "{damaged}");
        }
        std::fs::write(&file, whole.replacen('{', r#"{"dream":{"strikes":false},"#, 1)).unwrap();
        assert!(!fails(&mut breakers, 5), "a broken neighbour costs nothing");
        let years = 3 * 365 * 24 * 60;
        std::fs::remove_file(&file).unwrap();
        (0..3).for_each(|minute| assert!(fails(&mut breakers, years + minute)));
        assert!(fails(&mut breakers, 0), "a clock that was years ahead is set right");
        let no_folder = home.path().join("in the way");
        std::fs::write(&no_folder, "").unwrap();
        let mut breakers = Breakers::at(Some(&no_folder));
        let tried = (0..10).filter(|minute| fails(&mut breakers, *minute)).count();
        assert_eq!(tried, 3, "without a disk memory counts");
        assert_eq!(breakers.resting(at(9 * MINUTE), &limits).len(), 1);
    }

    // safety: SG18
    // spec: X7
    #[test]
    fn processes_that_fail_at_once_and_restart_all_the_time_stay_within_the_bound() {
        let home = tempfile::tempdir().unwrap();
        let tried = std::sync::atomic::AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let may = fails(&mut Breakers::at(Some(home.path())), 1);
                        tried.fetch_add(u64::from(may), std::sync::atomic::Ordering::Relaxed);
                    }
                });
            }
        });
        // Three, and one more for each other that had already left when the first failure came home.
        assert!((3..=6).contains(&tried.into_inner()));
    }

    proptest! {
        // safety: SG18
        #[test]
        fn no_window_ever_sees_more_than_three_calls(gaps in prop::collection::vec(0_i64..4_000, 0..300)) {
            let (mut breakers, limits) = (Breakers::default(), Limits::default());
            let (mut second, mut tried) = (0, Vec::new());
            for gap in gaps {
                second += gap;
                if breakers.start("x", at(second), &limits) {
                    tried.push(second);
                    breakers.ended("x", &nowhere(1), at(second), &limits);
                }
            }
            let window = limits.breaker_window_minutes as i64 * MINUTE;
            for (first, fourth) in tried.iter().zip(tried.iter().skip(3)) {
                prop_assert!(fourth - first >= window, "{first} and {fourth}");
            }
        }
    }
}
