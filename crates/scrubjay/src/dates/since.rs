//! From when on something counts, as people say it to a flag: `7d`, `yesterday`, `last week`, a date, a moment.

use super::asked;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::str::FromStr;

/// A beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Since(Beginning);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Beginning {
    /// So long ago.
    Ago(SignedDuration),
    /// The beginning of the day that these words name; which one is known only when they are used.
    Day(Vec<String>),
    /// A moment.
    At(Timestamp),
}

/// What is understood, for whoever said something else.
const EXPECTED: &str = "say how long ago (45m, 12h, 7d, 2w), `today`, `yesterday`, `last week`, `3 days ago`, `monday`, \
                        a day (2026-11-01) or a moment (2026-11-01T09:00Z)";

impl Since {
    /// The moment, for somebody whose clock and zone these are.
    pub fn moment(&self, now: Timestamp, zone: &TimeZone) -> Timestamp {
        match &self.0 {
            Beginning::Ago(length) => now.checked_sub(*length).unwrap_or(Timestamp::MIN),
            Beginning::At(moment) => *moment,
            Beginning::Day(words) => {
                let today = now.to_zoned(zone.clone()).date();
                let start = asked::first_day(words, today).and_then(|day| day.to_zoned(zone.clone()).ok());
                // A day before all days: everything counts.
                start.map_or(Timestamp::MIN, |start| start.timestamp())
            }
        }
    }
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let length = || ago(text).map(Beginning::Ago);
        let moment = || text.parse().ok().map(Beginning::At);
        length().or_else(moment).or_else(|| day(text)).map(Self).ok_or_else(|| EXPECTED.to_owned())
    }
}

/// The words of a day. Whether they name one does not depend on the day they are read.
fn day(text: &str) -> Option<Beginning> {
    let words: Vec<String> =
        text.split([' ', '-', ',']).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let is_plain =
        text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | ',')) && !text.starts_with('-');
    asked::first_day(&words, Date::ZERO).filter(|_| is_plain).map(|_| Beginning::Day(words))
}

/// A number and a unit.
fn ago(word: &str) -> Option<SignedDuration> {
    let (number, unit) = word.split_at_checked(word.len().checked_sub(1)?)?;
    let hours = match unit {
        "m" => return number.parse::<u32>().ok().map(|minutes| SignedDuration::from_mins(minutes.into())),
        "h" => 1,
        "d" => 24,
        "w" => 7 * 24,
        _ => return None,
    };
    number.parse::<u32>().ok().map(|count| SignedDuration::from_hours(i64::from(count) * hours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_as_people_say_them() {
        // A Tuesday.
        let now: Timestamp = "2026-03-10T12:00:00Z".parse().unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        for (said, moment) in [
            ("45m", "2026-03-10T11:15:00Z"),
            ("12h", "2026-03-10T00:00:00Z"),
            ("7d", "2026-03-03T12:00:00Z"),
            ("2w", "2026-02-24T12:00:00Z"),
            ("today", "2026-03-09T22:00:00Z"),
            ("Yesterday", "2026-03-08T22:00:00Z"),
            ("2026-03-01", "2026-02-28T22:00:00Z"),
            ("2026-03-01T09:00Z", "2026-03-01T09:00:00Z"),
            ("last week", "2026-03-01T22:00:00Z"),
            ("3 days ago", "2026-03-06T22:00:00Z"),
            ("a week ago", "2026-03-02T22:00:00Z"),
            ("monday", "2026-03-08T22:00:00Z"),
            ("Tuesday", "2026-03-02T22:00:00Z"),
            ("last Friday", "2026-03-05T22:00:00Z"),
            ("May", "2025-04-30T22:00:00Z"),
            ("May 8", "2025-05-07T22:00:00Z"),
            ("8 May 2024", "2024-05-07T22:00:00Z"),
        ] {
            let since: Since = said.parse().unwrap();
            assert_eq!(since.moment(now, &zone), moment.parse().unwrap(), "{said}");
        }
        for nonsense in ["", "d", "soon", "-3d", "2026-13-01", "7y", "ü", "2026-02-30", "-2026-03-01", "today and more"]
        {
            assert!(nonsense.parse::<Since>().is_err(), "{nonsense}");
        }
    }
}
