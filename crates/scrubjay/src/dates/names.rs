//! Weekdays, months and small numbers by their names, in the languages that `names.txt` lists.

use jiff::civil::Weekday;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::LazyLock;

/// What each word means: kinds with a value.
static NAMES: LazyLock<FxHashMap<&str, Vec<(&str, u64)>>> = LazyLock::new(|| {
    let mut names = FxHashMap::<&str, Vec<(&str, u64)>>::default();
    for line in include_str!("names.txt").lines() {
        let mut parts = line.split_whitespace();
        if let (Some(kind), Some(value)) = (parts.next(), parts.next().and_then(|value| value.parse().ok())) {
            parts.for_each(|word| names.entry(word).or_default().push((kind, value)));
        }
    }
    names
});

/// Everything that a word means: kinds as `names.txt` has them, each with a value.
pub fn meanings(word: &str) -> &'static [(&'static str, u64)] {
    let is_lower = |c: char| c.is_ascii_lowercase() || !c.is_ascii() && c.is_lowercase();
    let lower = if word.chars().all(is_lower) { Cow::Borrowed(word) } else { Cow::Owned(word.to_lowercase()) };
    NAMES.get(lower.trim_end_matches('.')).map_or(&[], Vec::as_slice)
}

fn named(kind: &str, word: &str) -> Option<u64> {
    meanings(word).iter().find(|(known, _)| *known == kind).map(|(_, value)| *value)
}

/// The weekday that a word names.
pub fn weekday(word: &str) -> Option<Weekday> {
    Weekday::from_monday_one_offset(i8::try_from(named("weekday", word)?).ok()?).ok()
}

/// The month that a word names, from 1.
pub fn month(word: &str) -> Option<i8> {
    i8::try_from(named("month", word)?).ok()
}

/// The number that a single word names.
pub fn number(word: &str) -> Option<u64> {
    named("number", word)
}

/// The number that an ordinal word names, words such as "both" and "dozen" included.
pub fn ordinal(word: &str) -> Option<u64> {
    named("ordinal", word)
}

/// How many days a unit of time has: 1, 7, 14, 30 for a month, 365 for a year.
pub fn unit(word: &str) -> Option<u64> {
    named("unit", word)
}

/// Whether a word means a quarter of a year.
pub fn is_quarter(word: &str) -> bool {
    named("quarter", word).is_some()
}

/// Whether a word stands before the number of a week.
pub fn is_week_number(word: &str) -> bool {
    named("week-number", word).is_some() || unit(word) == Some(7)
}

/// Every name of a kind (`weekday`, `month`, `number`) with its value: scripts without spaces are searched for them.
pub fn all(kind: &str) -> impl Iterator<Item = (&'static str, u64)> {
    let of_kind = move |(known, _): &&(&str, u64)| *known == kind;
    NAMES.iter().flat_map(move |(word, means)| means.iter().filter(of_kind).map(|(_, value)| (*word, *value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_every_listed_language() {
        for word in ["Thursday", "thu.", "Donnerstag", "jeudi", "jueves", "周四", "木曜日"] {
            assert_eq!(weekday(word), Some(Weekday::Thursday), "{word}");
        }
        assert_eq!(
            (month("März"), month("十二月"), number("Forty"), number("万")),
            (Some(3), Some(12), Some(40), Some(10_000))
        );
        assert_eq!((weekday("yesterday"), month("x"), number("")), (None, None, None));
    }
}
