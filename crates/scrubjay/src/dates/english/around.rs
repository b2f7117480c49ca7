//! What the words beside a date make of it: one of many, a part of something, or nothing else.

use super::{Here, number, turn, unit};
use crate::dates::{Granularity, Reading, month_day};

/// What stands beside the words that were read.
pub(super) enum Around {
    /// Nothing that changes them.
    Free,
    /// They are part of something that is reckoned from them.
    Compound,
    /// They name no particular day.
    Recurring,
}

impl Here<'_, '_> {
    /// Whether the words beside these change what they mean.
    pub(super) fn surroundings(&self, length: usize, reading: &Reading) -> Around {
        let after = isize::try_from(length).unwrap_or(isize::MAX);
        let (before, further) = (self.word(-1), self.word(-2));
        let next = self.word(after);
        let in_another = next == "in" && self.word(after + 1) != "the";
        let many =
            (RECURRING.contains(&before) || in_another) && (self.weekday(0).is_some() || self.weekday(1).is_some());
        if many
            || matches!(before, "every" | "each")
            || matches!(next, "of" | "mornings" | "afternoons" | "evenings" | "nights")
        {
            return Around::Recurring;
        }
        let reckoned = matches!(before, "after" | "before" | "from" | "following" | "to" | "in") && is_period(further);
        let more = matches!((before, further), ("and", "hundred" | "thousand")) || TENS.contains(&before);
        let either = matches!(before, "or" | "to") && number(further).is_some() && number(self.word(0)).is_some();
        let joined =
            is_period(before) || (matches!(before, "and" | ",") && is_period(further)) || turn(before).is_some();
        let joined = joined || more || either || (is_period(next) && self.weekday(0).is_none()) || next == "end";
        let starts = |word: &str| matches!(word, "starting" | "commencing" | "beginning");
        let beginning = (starts(before) && is_period(further))
            || (before == "on" && (is_period(further) || starts(further) && is_period(self.word(-3))));
        let onward = matches!((next, self.word(after + 1)), ("after", "next") | ("before", "last"));
        let narrowed = reading.granularity != Granularity::Day && reading.is_relative() && self.is_narrowed(length);
        let week_of = (further, before) == ("/", "c");
        let dated =
            week_of || self.is_in_digits(length) || is_weekday(before) || (before == "," && is_weekday(further));
        match VAGUE.contains(&before) || reckoned || joined || beginning || onward || narrowed || dated {
            true => Around::Compound,
            false => Around::Free,
        }
    }

    /// Whether a week, month or year is only the larger part of what is said: "Friday afternoon next week", "Q3 this year".
    fn is_narrowed(&self, length: usize) -> bool {
        let next = self.word(isize::try_from(length).unwrap_or(isize::MAX));
        let before = if self.word(-1) == "," { self.word(-2) } else { self.word(-1) };
        let has_month = |at: Option<usize>| at.and_then(|at| self.words.get(at)).and_then(month_day::month).is_some();
        let month = has_month(self.at.checked_sub(1)) || has_month(Some(self.at + length));
        let part = before.contains(|c: char| c.is_ascii_digit())
            || PARTS_OF_A_YEAR.iter().any(|part| [before, next].contains(part));
        let goes_on =
            matches!(next, "at" | "from" | "between" | "on" | "the") || next.starts_with(|c: char| c.is_ascii_digit());
        month || part || goes_on || self.clause(length).any(is_weekday)
    }
}

const PARTS_OF_A_YEAR: &[&str] = &[
    "spring",
    "summer",
    "autumn",
    "fall",
    "winter",
    "christmas",
    "easter",
    "thanksgiving",
    "halloween",
    "eve",
    "ramadan",
];

/// Words before a day that make it one of many.
const RECURRING: &[&str] = &[
    "every",
    "each",
    "any",
    "most",
    "other",
    "all",
    "daily",
    "weekly",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "cyber",
    "easter",
    "good",
    "black",
    "ash",
    "palm",
    "the",
    "a",
    "an",
    "that",
    "same",
    "following",
    "one",
    "some",
    "both",
];

pub(super) const TENS: &[&str] =
    &["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred"];

/// Words before a date that make it a part of it, or about it.
const VAGUE: &[&str] = &[
    "early",
    "late",
    "mid",
    "later",
    "earlier",
    "of",
    "than",
    "over",
    "about",
    "around",
    "almost",
    "nearly",
    "least",
    "roughly",
    "approximately",
    "under",
    "some",
    "within",
];

pub(super) fn is_period(word: &str) -> bool {
    const OTHER: &[&str] = &[
        "second",
        "seconds",
        "minute",
        "minutes",
        "hour",
        "hours",
        "weekday",
        "weekdays",
        "weekend",
        "quarter",
        "quarters",
        "half",
        "fortnight",
        "decade",
        "decades",
        "century",
        "season",
    ];
    unit(word).is_some() || OTHER.contains(&word)
}

/// Words of a sentence that tells what is always so.
pub(super) fn is_habit(word: &str) -> bool {
    let habits = ["every", "each", "always", "usually", "weekly", "daily", "monthly", "biweekly", "weekends"];
    habits.contains(&word) || word.strip_suffix('s').is_some_and(is_weekday)
}

pub(super) fn is_weekday(word: &str) -> bool {
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "tue", "thur", "thu", "fri"]
        .contains(&word)
}
