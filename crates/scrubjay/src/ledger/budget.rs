//! One daily budget for all background work of all sessions.
//!
//! Every session writes what its background calls took into one folder, a file a day, one locked line at a time; a
//! session that wants to start background work adds up what all of them took since midnight.

use super::book::{self, Book};
use super::{Called, Row};
use crate::limits::Limits;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use std::io;
use std::path::{Path, PathBuf};

/// The folder in which all sessions of a machine write down what their background work took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayBook {
    folder: PathBuf,
}

impl DayBook {
    /// In this folder.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Write down a call. Files are named by the day in Greenwich, so that sessions in several zones share them; those of
    /// days that no zone still has are removed.
    pub fn book(&self, called: &Called, limits: &Limits) -> io::Result<()> {
        let file = self.file(day(called.at, &TimeZone::UTC));
        let begins = !file.exists();
        Book::open(&file, limits)?.book(Row::Called(called.clone()))?;
        if begins { self.sweep(called.at) } else { Ok(()) }
    }

    /// What was taken since midnight in this zone, and what may be.
    pub fn today(&self, now: Timestamp, zone: &TimeZone, limits: &Limits) -> io::Result<Budget> {
        let midnight = midnight(now, zone);
        let mut rows = Vec::new();
        let (mut date, last) = (day(midnight, &TimeZone::UTC), day(now, &TimeZone::UTC));
        while date <= last {
            rows.extend(book::read(&self.file(date), limits)?.records);
            date = date.saturating_add(1.day());
        }
        Ok(Budget::of(&rows, midnight, limits))
    }

    fn file(&self, date: Date) -> PathBuf {
        self.folder.join(format!("{date}.jsonl"))
    }

    fn sweep(&self, now: Timestamp) -> io::Result<()> {
        let oldest = day(now, &TimeZone::UTC).saturating_sub(2.days());
        for entry in std::fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let date = path.file_stem().and_then(|name| name.to_str()?.parse::<Date>().ok());
            let ours = path.extension().is_some_and(|extension| extension == "jsonl");
            if ours && date.is_some_and(|date| date < oldest) {
                std::fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

fn day(at: Timestamp, zone: &TimeZone) -> Date {
    at.to_zoned(zone.clone()).date()
}

/// When the day of this moment began.
pub fn midnight(now: Timestamp, zone: &TimeZone) -> Timestamp {
    let today = now.to_zoned(zone.clone());
    today.start_of_day().map_or(now, |start| start.timestamp())
}

/// What background work took today, and what it may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// Tokens taken.
    pub tokens: u64,
    /// Dollars taken, as far as receipts say.
    pub money: f64,
    /// Tokens allowed.
    pub most_tokens: u64,
    /// Dollars allowed.
    pub most_money: f64,
}

impl Budget {
    /// What background calls since `midnight` took. The rows may come from several sessions, in any order.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row>, midnight: Timestamp, limits: &Limits) -> Self {
        let mut budget = Self {
            tokens: 0,
            money: 0.0,
            most_tokens: limits.background_day_tokens,
            most_money: limits.background_day_cents as f64 / 100.0,
        };
        for row in rows {
            let Row::Called(called) = row else { continue };
            if called.is_ours() && called.at >= midnight {
                budget.tokens =
                    budget.tokens.saturating_add(called.usage.total_input()).saturating_add(called.usage.output);
                budget.money += called.money.unwrap_or(0.0);
            }
        }
        budget
    }

    /// Why no more background work may start today, if so.
    pub fn refusal(&self) -> Option<String> {
        let remedy =
            "it goes on tomorrow, or with higher `limits.background_day_tokens` and `limits.background_day_cents`";
        if self.tokens >= self.most_tokens {
            let Self { tokens, most_tokens, .. } = self;
            return Some(format!("background work used {tokens} of today's {most_tokens} tokens and stops; {remedy}"));
        }
        (self.money >= self.most_money).then(|| {
            let Self { money, most_money, .. } = self;
            format!("background work used ${money:.2} of today's ${most_money:.2} and stops; {remedy}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at, called};
    use super::*;
    use crate::message::Usage;

    fn took(second: i64, source: &str, input: u64) -> Row {
        Row::Called(called(second, source, Usage { input, ..Usage::default() }))
    }

    // spec: V2
    #[test]
    fn background_work_stops_at_the_day_s_limit_and_says_so() {
        let limits = Limits { background_day_tokens: 1_000, background_day_cents: 1, ..Limits::default() };
        let refusal = |rows: &[Row]| Budget::of(rows, at(100), &limits).refusal();
        let table = [
            ("nothing yet", vec![], false),
            ("yesterday", vec![took(99, "extract", 5_000)], false),
            ("the person's own", vec![took(101, "main", 5_000), took(101, "agent:x", 5_000)], false),
            ("a summariser's call counts", vec![took(101, "compact", 5_000)], true),
            ("below", vec![took(100, "extract", 999)], false),
            ("at it, from two", vec![took(100, "extract", 500), took(500, "dream", 500)], true),
        ];
        for (name, rows, stops) in table {
            assert_eq!(refusal(&rows).is_some(), stops, "{name}: {:?}", refusal(&rows));
        }
        let costly = [
            took(100, "select", 999),
            Row::Called(Called { money: Some(0.02), ..called(100, "dream", Usage::default()) }),
        ];
        let said = refusal(&costly).unwrap();
        assert!(said.contains("of today's $0.01 and stops"), "{said}");
        let usage = Usage { input: 9, cache_read: 20, cache_write_5m: 300, cache_write_1h: 4_000, output: 50_000 };
        let unpriced = [Row::Called(Called { money: None, ..called(100, "dream", usage) })];
        assert_eq!(Budget::of(&unpriced, at(0), &limits).tokens, 54_329, "whatever went in or came out");
    }

    // spec: V2
    #[test]
    fn all_sessions_share_a_day_and_midnight_is_the_person_s() {
        let home = tempfile::tempdir().unwrap();
        let (limits, time) = (Limits::default(), |text: &str| text.parse::<Timestamp>().unwrap());
        let took = |at: &str, input| {
            let called = called(0, "session_notes", Usage { input, ..Usage::default() });
            Called { at: time(at), ..called }
        };
        let books = [DayBook::at(home.path()), DayBook::at(home.path())];
        books[0].book(&took("2026-03-09T20:00:00Z", 1), &limits).unwrap();
        books[1].book(&took("2026-03-09T23:30:00Z", 20), &limits).unwrap();
        books[0].book(&took("2026-03-10T08:00:00Z", 300), &limits).unwrap();
        let zone = |hours| TimeZone::fixed(jiff::tz::offset(hours));
        for (hours, tokens) in [(0, 300), (1, 320), (5, 321), (-5, 300)] {
            let today = books[1].today(time("2026-03-10T09:00:00Z"), &zone(hours), &limits).unwrap();
            assert_eq!(today.tokens, tokens, "{hours} hours east");
        }
        let keep = home.path().join("mine.jsonl");
        std::fs::write(&keep, "").unwrap();
        books[0].book(&took("2026-03-12T08:00:00Z", 4_000), &limits).unwrap();
        let mut left: Vec<_> = std::fs::read_dir(home.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["2026-03-10.jsonl", "2026-03-12.jsonl", "mine.jsonl"], "old days go, other files stay");
    }

    // spec: V2
    #[test]
    fn sessions_that_write_at_once_lose_nothing() {
        let home = tempfile::tempdir().unwrap();
        let limits = Limits::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        let called = called(0, "session_notes", Usage { input: 1, ..Usage::default() });
                        DayBook::at(home.path()).book(&called, &limits).unwrap();
                    }
                });
            }
        });
        assert_eq!(DayBook::at(home.path()).today(at(1), &TimeZone::UTC, &limits).unwrap().tokens, 100);
    }
}
