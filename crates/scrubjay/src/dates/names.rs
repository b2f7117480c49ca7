//! Weekdays, months and small numbers by their names, in the languages that `names.txt` lists.

use jiff::civil::Weekday;
use std::collections::HashMap;
use std::sync::LazyLock;

/// One value for each kind and word.
static NAMES: LazyLock<HashMap<(&str, &str), u64>> = LazyLock::new(|| {
    let mut names = HashMap::new();
    for line in include_str!("names.txt").lines() {
        let mut parts = line.split_whitespace();
        if let (Some(kind), Some(value)) = (parts.next(), parts.next().and_then(|value| value.parse().ok())) {
            names.extend(parts.map(|word| ((kind, word), value)));
        }
    }
    names
});

fn named(kind: &str, word: &str) -> Option<u64> {
    let lower = word.to_lowercase();
    let word = lower.trim_end_matches('.');
    NAMES.get(&(kind, word)).copied()
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

/// Whether a word is a name for Saturday and Sunday together.
pub fn is_weekend(word: &str) -> bool {
    named("weekend", word).is_some()
}

/// Whether a word names the day after tomorrow or the day before yesterday.
pub fn is_days_away(word: &str) -> bool {
    named("days-away", word).is_some()
}

/// Whether a word names the end of something, such as a month.
pub fn is_month_end(word: &str) -> bool {
    named("month-end", word).is_some()
}

/// Whether a word names the beginning of something, such as a month.
pub fn is_month_start(word: &str) -> bool {
    named("month-start", word).is_some()
}

/// Whether a word means a quarter of a year.
pub fn is_quarter(word: &str) -> bool {
    named("quarter", word).is_some()
}

/// Whether a word means a half.
pub fn is_half(word: &str) -> bool {
    named("half", word).is_some()
}

/// The hour that a word names: noon or midnight.
pub fn hour(word: &str) -> Option<u64> {
    named("noon", word)
}

/// Whether a word puts an hour after noon.
pub fn is_afternoon(word: &str) -> bool {
    named("afternoon", word).is_some()
}

/// Whether a word names Christmas.
pub fn is_christmas(word: &str) -> bool {
    named("holiday", word).is_some()
}

/// Whether a word stands before the number of a week.
pub fn is_week_number(word: &str) -> bool {
    named("week-number", word).is_some() || unit(word) == Some(7)
}

/// Every name of a kind (`weekday`, `month`, `number`) with its value: scripts without spaces are searched for them.
pub fn all(kind: &str) -> impl Iterator<Item = (&'static str, u64)> {
    NAMES.iter().filter(move |((known, _), _)| *known == kind).map(|((_, word), value)| (*word, *value))
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
