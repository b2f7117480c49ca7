//! From when on something counts, as people say it: `7d`, `yesterday`, a date, a moment.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::str::FromStr;

/// A beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// So long ago.
    Ago(SignedDuration),
    /// The beginning of the day so many days ago.
    DaysBack(i8),
    /// The beginning of a day.
    Day(Date),
    /// A moment.
    At(Timestamp),
}

impl Since {
    /// The moment, for somebody whose clock and zone these are.
    pub(crate) fn moment(self, now: Timestamp, zone: &TimeZone) -> Timestamp {
        let midnight = |day: Date| day.to_zoned(zone.clone()).map(|start| start.timestamp());
        match self {
            Since::Ago(length) => now.checked_sub(length).unwrap_or(Timestamp::MIN),
            Since::DaysBack(days) => {
                let today = now.to_zoned(zone.clone()).date();
                let day = today.checked_sub(SignedDuration::from_hours(i64::from(days) * 24)).unwrap_or(today);
                midnight(day).unwrap_or(now)
            }
            Since::Day(day) => midnight(day).unwrap_or(now),
            Since::At(moment) => moment,
        }
    }
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let word = text.trim();
        match word.to_lowercase().as_str() {
            "today" => return Ok(Since::DaysBack(0)),
            "yesterday" => return Ok(Since::DaysBack(1)),
            _ => {}
        }
        let length = ago(word).map(Since::Ago);
        let day = || word.parse().ok().map(Since::Day).filter(|_| !word.contains(['T', ' ']));
        let moment = || word.parse().ok().map(Since::At);
        length.or_else(moment).or_else(day).ok_or_else(|| {
            "say how long ago (45m, 12h, 7d, 2w), `today`, `yesterday`, a day (2026-11-01) or a moment (2026-11-01T09:00Z)"
                .to_owned()
        })
    }
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
        ] {
            let since: Since = said.parse().unwrap();
            assert_eq!(since.moment(now, &zone), moment.parse().unwrap(), "{said}");
        }
        for nonsense in ["", "d", "soon", "-3d", "2026-13-01", "7y", "ü"] {
            assert!(nonsense.parse::<Since>().is_err(), "{nonsense}");
        }
    }
}
