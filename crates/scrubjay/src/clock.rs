//! Now, and ages in words. The engine never looks at the wall clock itself: it is handed one.

use jiff::Timestamp;

/// Where "now" comes from.
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// A function that says what time it is.
impl<F: Fn() -> Timestamp + Send + Sync> Clock for F {
    fn now(&self) -> Timestamp {
        self()
    }
}

/// How long ago something happened, in whole 24-hour periods and the words people use.
///
/// A clock that went backwards says `today`.
///
/// ```
/// use jiff::Timestamp;
/// let saved: Timestamp = "2026-03-01T12:00:00Z".parse()?;
/// let now: Timestamp = "2026-03-03T11:59:59Z".parse()?;
/// assert_eq!(scrubjay::clock::age_in_words(saved, now), "yesterday");
/// # Ok::<(), jiff::Error>(())
/// ```
pub fn age_in_words(then: Timestamp, now: Timestamp) -> String {
    match age_in_days(then, now) {
        0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        days => format!("{days} days ago"),
    }
}

/// Whole 24-hour periods between two moments, never negative.
pub fn age_in_days(then: Timestamp, now: Timestamp) -> u64 {
    const DAY: i64 = 24 * 60 * 60;
    u64::try_from((now.as_second() - then.as_second()) / DAY).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages() {
        let at = |s: &str| s.parse::<Timestamp>().unwrap();
        let now = at("2026-03-10T12:00:00Z");
        for (then, words) in [
            ("2026-03-10T11:59:59Z", "today"),
            ("2026-03-09T12:00:01Z", "today"),
            ("2026-03-09T12:00:00Z", "yesterday"),
            ("2026-03-08T12:00:00Z", "2 days ago"),
            ("2026-01-22T12:00:00Z", "47 days ago"),
            ("2027-01-01T00:00:00Z", "today"),
        ] {
            assert_eq!(age_in_words(at(then), now), words, "{then}");
        }
    }
}
