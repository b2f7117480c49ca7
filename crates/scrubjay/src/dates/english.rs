//! The English part of the grammar.

use super::calendar::{self, Unit};
use super::tense::{self, Tense};
use super::words::{self, Word};
use super::{Found, Granularity, Reading, month_day, numeric};
use jiff::civil::{Date, Weekday};
use std::ops::Range;

/// The dates among `words`.
pub(super) fn find(text: &str, words: &[Word<'_>], said: Date) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let read = in_digits(text, words, at, said).or_else(|| {
            let (length, reading) = read(words, at, said)?;
            Some((words[at].span.start..words[at + length - 1].span.end, reading))
        });
        let Some((span, Reading { when, granularity, kind })) = read else {
            at += 1;
            continue;
        };
        while words.get(at).is_some_and(|word| word.span.start < span.end) {
            at += 1;
        }
        if !words::is_joined(text, &span) {
            found.push(Found { span, when, granularity, kind });
        }
    }
    found
}

/// A date in digits is one wherever it stands, unless something is reckoned from it.
fn in_digits(text: &str, words: &[Word<'_>], at: usize, said: Date) -> Option<(Range<usize>, Reading)> {
    let (span, reading) = numeric::read(text, words[at].span.start)?;
    let length = words[at..].iter().take_while(|word| word.span.start < span.end).count();
    let here = Here { words, at, said };
    matches!(here.surroundings(length, &reading), Around::Free).then_some((span, reading))
}

/// What the words that begin at `at` say, and how many they are.
fn read(words: &[Word<'_>], at: usize, said: Date) -> Option<(usize, Reading)> {
    let here = Here { words, at, said };
    let (length, reading) = month_day::read(words, at, said)
        .or_else(|| here.counted())
        .or_else(|| here.named_day())
        .or_else(|| here.day_in_week())
        .or_else(|| here.day_in_month())
        .or_else(|| here.end_of())
        .or_else(|| here.turned())
        .or_else(|| here.weekday_alone())?;
    match here.surroundings(length, &reading) {
        Around::Free => Some((length, reading)),
        Around::Compound if reading.is_relative() => Some((length, Reading::unclear())),
        Around::Compound | Around::Recurring => None,
    }
}

/// The weekday a full name means.
pub(super) fn weekday(word: &Word<'_>) -> Option<Weekday> {
    Some(match word.lower.as_str() {
        "monday" => Weekday::Monday,
        "tuesday" => Weekday::Tuesday,
        "wednesday" => Weekday::Wednesday,
        "thursday" => Weekday::Thursday,
        "friday" => Weekday::Friday,
        "saturday" => Weekday::Saturday,
        "sunday" => Weekday::Sunday,
        _ => return None,
    })
}

/// The weekday a short name means. Only with a capital letter, and only where a weekday is expected: most are words.
pub(super) fn abbreviated(word: &Word<'_>) -> Option<Weekday> {
    Some(match word.raw {
        "Mon" => Weekday::Monday,
        "Tue" | "Tues" => Weekday::Tuesday,
        "Wed" => Weekday::Wednesday,
        "Thu" | "Thur" | "Thurs" => Weekday::Thursday,
        "Fri" => Weekday::Friday,
        "Sat" => Weekday::Saturday,
        "Sun" => Weekday::Sunday,
        _ => return None,
    })
}

pub(super) fn number(word: &str) -> Option<i64> {
    const WORDS: &[&str] =
        &["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    match word {
        "a" | "an" => Some(1),
        _ if (1..=3).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit()) => word.parse().ok(),
        _ => i64::try_from(WORDS.iter().position(|known| *known == word)? + 1).ok(),
    }
}

fn unit(word: &str) -> Option<Unit> {
    Some(match word {
        "day" | "days" => Unit::Day,
        "week" | "weeks" => Unit::Week,
        "month" | "months" => Unit::Month,
        "year" | "years" => Unit::Year,
        _ => return None,
    })
}

/// "last", "this", "next": how far away.
pub(super) fn turn(word: &str) -> Option<i64> {
    Some(match word {
        "last" | "previous" => -1,
        "this" => 0,
        "next" => 1,
        _ => return None,
    })
}

/// What stands beside the words that were read.
enum Around {
    /// Nothing that changes them.
    Free,
    /// They are part of something that is reckoned from them.
    Compound,
    /// They name no particular day.
    Recurring,
}

type Read = Option<(usize, Reading)>;

/// A place among the words.
struct Here<'w, 'a> {
    words: &'w [Word<'a>],
    at: usize,
    said: Date,
}

impl Here<'_, '_> {
    /// The word `ahead` of this place; nothing beyond the ends.
    fn word(&self, ahead: isize) -> &str {
        self.at.checked_add_signed(ahead).and_then(|at| self.words.get(at)).map_or("", |word| word.lower.as_str())
    }

    fn weekday(&self, ahead: usize) -> Option<Weekday> {
        self.words.get(self.at + ahead).and_then(|word| weekday(word).or_else(|| abbreviated(word)))
    }

    fn month(&self, ahead: usize) -> Option<i8> {
        self.words.get(self.at + ahead).and_then(month_day::month)
    }

    fn tense(&self, length: usize) -> Option<Tense> {
        tense::of(self.words, self.at, self.at + length)
    }

    /// "three weeks ago", "two days from now", "2 weeks after tomorrow", "in ten days".
    fn counted(&self) -> Read {
        let lead = usize::from(self.word(0) == "in");
        let skip = isize::try_from(lead).ok()?;
        let count = number(self.word(skip))?;
        let unit = unit(self.word(skip + 1))?;
        let day = |base: i64, sign: i64| {
            let date = calendar::shift(calendar::shift(self.said, base, Unit::Day)?, sign * count, unit)?;
            Some(Reading::relative(date, date, unit.into()))
        };
        if lead == 1 {
            return self.in_future(day(0, 1)?);
        }
        let base = || match self.word(3) {
            "today" | "now" => Some(0),
            "tomorrow" => Some(1),
            "yesterday" => Some(-1),
            _ => None,
        };
        match self.word(2) {
            "ago" => Some((3, day(0, -1)?)),
            "from" | "after" => Some((4, day(base()?, 1)?)),
            "before" => Some((4, day(base()?, -1)?)),
            _ => None,
        }
    }

    /// "in three days" is a date if something lies ahead, and else how long it took.
    fn in_future(&self, reading: Reading) -> Read {
        let takes = [
            "done",
            "finished",
            "completed",
            "finish",
            "complete",
            "built",
            "learn",
            "learned",
            "times",
            "once",
            "twice",
        ];
        let goes_on = ["of", "or", "to", "after", "before", "from", "since", "and", "on", "'s", "'"];
        let ahead = self.tense(3) == Some(Tense::Future);
        let plain = !takes.contains(&self.word(-1)) && (!goes_on.contains(&self.word(3)) || self.word(4) == "time");
        (ahead && plain).then_some((3, reading))
    }

    /// "today", "the day after tomorrow", "this morning", "last night".
    fn named_day(&self) -> Read {
        let the = usize::from(self.word(0) == "the");
        let skip = isize::try_from(the).ok()?;
        let (length, days) = match (self.word(skip), self.word(skip + 1), self.word(skip + 2)) {
            ("day", "after", "tomorrow") => (3 + the, 2),
            ("day", "before", "yesterday") => (3 + the, -2),
            _ if the == 1 => return None,
            ("today" | "tonight", ..) => (1, 0),
            ("tomorrow", ..) => (1, 1),
            ("yesterday", ..) => (1, -1),
            ("this", "morning" | "afternoon" | "evening", _) => (2, 0),
            ("last", "night", _) => (2, -1),
            _ => return None,
        };
        Some((length, Reading::day(calendar::shift(self.said, days, Unit::Day)?)))
    }

    /// "Tuesday of next week", "next week on Tuesday", "Tuesday this week".
    fn day_in_week(&self) -> Read {
        let (length, weekday, weeks) = match self.weekday(0) {
            Some(weekday) => {
                let of = usize::from(matches!(self.word(1), "of" | "in"));
                let skip = isize::try_from(of).ok()?;
                (3 + of, weekday, turn(self.word(1 + skip)).filter(|_| self.word(2 + skip) == "week")?)
            }
            None => {
                let weeks = turn(self.word(0)).filter(|_| self.word(1) == "week")?;
                let on = usize::from(matches!(self.word(2), "on" | ","));
                (3 + on, self.weekday(2 + on)?, weeks)
            }
        };
        let plain = !self.is_dated(length);
        plain.then_some((length, Reading::day(calendar::in_week(self.said, weeks, weekday)?)))
    }

    /// "the 20th of next month".
    fn day_in_month(&self) -> Read {
        let the = usize::from(self.word(0) == "the");
        let day = self.words.get(self.at + the).and_then(month_day::day_of_month)?;
        let counted = usize::from(self.word(isize::try_from(the).ok()? + 1) == "day");
        let of = isize::try_from(the + counted).ok()? + 1;
        let months = turn(self.word(of + 1)).filter(|_| self.word(of) == "of" && self.word(of + 2) == "month")?;
        let (first, _) = calendar::whole(self.said, months, Unit::Month)?;
        let date = Date::new(first.year(), first.month(), day).ok()?;
        Some((the + counted + 4, Reading::day(date)))
    }

    /// "the end of the month". A week's end is Friday to some and Sunday to others.
    fn end_of(&self) -> Read {
        let the = usize::from(self.word(0) == "the");
        let skip = isize::try_from(the).ok()?;
        if (self.word(skip), self.word(skip + 1)) != ("end", "of") {
            return None;
        }
        let (turned, count) = match self.word(skip + 2) {
            "the" => (1, 0),
            word => turn(word).map_or((0, 0), |count| (1, count)),
        };
        let unit = unit(self.word(skip + 2 + turned))?;
        let length = the + 3 + usize::try_from(turned).ok()?;
        match unit {
            Unit::Month | Unit::Year => Some((length, Reading::day(calendar::whole(self.said, count, unit)?.1))),
            Unit::Week => Some((length, Reading::unclear())),
            Unit::Day => None,
        }
    }

    /// "next Friday", "this coming Friday", "last month", "this weekend", "next March", "the week after next".
    fn turned(&self) -> Read {
        if (self.word(0), self.word(1), self.word(2)) == ("week", "after", "next") {
            let (first, last) = calendar::whole(self.said, 2, Unit::Week)?;
            return Some((3, Reading::relative(first, last, Granularity::Week)));
        }
        let this = usize::from(self.word(0) == "this");
        if matches!(self.word(isize::try_from(this).ok()?), "coming" | "upcoming") {
            let weekday = self.weekday(this + 1).filter(|_| !self.is_dated(this + 2))?;
            return Some((this + 2, Reading::day(calendar::coming(self.said, weekday)?)));
        }
        let count = turn(self.word(0))?;
        if let Some(weekday) = self.weekday(1) {
            let reading = self.turned_weekday(count, weekday)?;
            return (!self.is_dated(2)).then_some((2, reading));
        }
        if let Some(month) = self.month(1) {
            return (!self.is_dated(2)).then_some((2, self.turned_month(count, month)?));
        }
        // "the next week" is seven days from now to many.
        let plain = self.word(-1) != "the" || count == 0;
        plain.then_some((2, self.turned_unit(count)?))
    }

    fn turned_weekday(&self, count: i64, weekday: Weekday) -> Option<Reading> {
        let in_week = calendar::in_week(self.said, count, weekday);
        match count {
            1 => Reading::agreed(in_week, calendar::coming(self.said, weekday)),
            0 if weekday == self.said.weekday() => Some(Reading::day(self.said)),
            0 => Reading::agreed(in_week, calendar::coming(self.said, weekday)),
            _ => Reading::agreed(in_week, calendar::recent(self.said, weekday)),
        }
    }

    fn turned_month(&self, count: i64, month: i8) -> Option<Reading> {
        let here = self.said.month();
        // The year of the name and the nearest month of the name must agree.
        let certain = match count {
            1 => month <= here,
            0 => month >= here,
            _ => month >= here,
        };
        let year = self.said.year() + i16::try_from(count).ok()?;
        let first = Date::new(year, month, 1).ok()?;
        Some(match certain {
            true => Reading::relative(first, first.last_of_month(), Granularity::Month),
            false => Reading::unclear(),
        })
    }

    fn turned_unit(&self, count: i64) -> Option<Reading> {
        let (days, granularity) = match self.word(1) {
            "week" => (calendar::whole(self.said, count, Unit::Week)?, Granularity::Week),
            "month" => (calendar::whole(self.said, count, Unit::Month)?, Granularity::Month),
            "year" => (calendar::whole(self.said, count, Unit::Year)?, Granularity::Year),
            "weekend" => return self.weekend(count),
            _ => return None,
        };
        Some(Reading::relative(days.0, days.1, granularity))
    }

    /// The next weekend is this one to some; the last one, said on a weekend, is this one too.
    fn weekend(&self, count: i64) -> Option<Reading> {
        let on_it = matches!(self.said.weekday(), Weekday::Saturday | Weekday::Sunday);
        if count == 1 && !on_it || count == -1 && on_it {
            return Some(Reading::unclear());
        }
        let first = calendar::in_week(self.said, count, Weekday::Saturday)?;
        Some(Reading::relative(first, calendar::shift(first, 1, Unit::Day)?, Granularity::Week))
    }

    /// "Thursday": ahead or behind as its sentence says.
    fn weekday_alone(&self) -> Read {
        let word = self.words.get(self.at)?;
        let expected = matches!(self.word(-1), "on" | "by" | "until" | "till");
        let weekday = weekday(word).or_else(|| {
            abbreviated(word).filter(|day| expected && !matches!(day, Weekday::Saturday | Weekday::Sunday))
        })?;
        if self.is_dated(1) || self.is_in_range() {
            return None;
        }
        if self.clause(1).any(is_habit) {
            return None;
        }
        let date = match self.tense(1) {
            _ if weekday == self.said.weekday() || self.clause(1).any(is_period) || self.follows_another() => None,
            _ if self.word(-1) == "past" => calendar::recent(self.said, weekday),
            Some(Tense::Future) => calendar::coming(self.said, weekday),
            Some(Tense::Past) => calendar::recent(self.said, weekday),
            None => None,
        };
        Some((1, date.map_or(Reading::unclear(), Reading::day)))
    }

    /// "next Monday or Tuesday": the second day is reckoned from the first.
    fn follows_another(&self) -> bool {
        self.clause(1).any(is_weekday) && self.clause(1).any(|word| turn(word).is_some() || word == "following")
    }

    /// The other words of this sentence.
    fn clause(&self, length: usize) -> impl Iterator<Item = &str> {
        let (before, after) = tense::clause(self.words, self.at, self.at + length);
        before.iter().chain(after).map(|word| word.lower.as_str())
    }

    /// Whether a day of a month follows: "Friday the 22nd", "this Friday (June 15)".
    fn is_dated(&self, length: usize) -> bool {
        let mut next = self.at + length;
        while self.words.get(next).is_some_and(|word| matches!(word.lower.as_str(), "," | "(" | "-")) {
            next += 1;
        }
        let Some(word) = self.words.get(next) else { return false };
        let number = word.raw.starts_with(|c: char| c.is_ascii_digit()) && !is_clock(&self.words[next..]);
        let counts = |word: &Word<'_>| {
            let ordinal = ["st", "nd", "rd", "th"].iter().any(|end| word.lower.ends_with(end));
            let spelt = word.lower.ends_with("teen") || self::number(&word.lower).is_some();
            ordinal
                || spelt
                || TENS.contains(&word.lower.as_str())
                || word.raw.starts_with(|c: char| c.is_ascii_digit())
        };
        let the = word.lower == "the" && self.words.get(next + 1).is_none_or(counts);
        month_day::month(word).is_some() || number || the
    }

    /// Whether the date follows in digits: "tomorrow, 13/04/21".
    fn is_in_digits(&self, length: usize) -> bool {
        let comma = usize::from(self.words.get(self.at + length).is_some_and(|word| matches!(word.raw, "," | "(")));
        let at = isize::try_from(length + comma).unwrap_or(isize::MAX);
        self.word(at).starts_with(|c: char| c.is_ascii_digit())
            && matches!(self.word(at.saturating_add(1)), "/" | "-" | ".")
    }

    /// "Monday to Friday" is when a shop is open.
    fn is_in_range(&self) -> bool {
        let to = |word: &str| matches!(word, "to" | "through" | "thru" | "till" | "until" | "-" | "–");
        let day = |at: Option<usize>| {
            at.and_then(|at| self.words.get(at))
                .is_some_and(|word| weekday(word).or_else(|| abbreviated(word)).is_some())
        };
        (to(self.word(1)) && day(Some(self.at + 2))) || (to(self.word(-1)) && day(self.at.checked_sub(2)))
    }

    /// Whether the words beside these change what they mean.
    fn surroundings(&self, length: usize, reading: &Reading) -> Around {
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

/// Whether a time of day begins here: "8:30", "8 pm", "8am".
pub(super) fn is_clock(words: &[Word<'_>]) -> bool {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let glued = lower(0).trim_start_matches(|c: char| c.is_ascii_digit());
    matches!(glued, "am" | "pm" | "a" | "p") || matches!(lower(1), ":" | "am" | "pm" | "a" | "p")
}

const TENS: &[&str] = &["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred"];

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

fn is_period(word: &str) -> bool {
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
fn is_habit(word: &str) -> bool {
    let habits = ["every", "each", "always", "usually", "weekly", "daily", "monthly", "biweekly", "weekends"];
    habits.contains(&word) || word.strip_suffix('s').is_some_and(is_weekday)
}

fn is_weekday(word: &str) -> bool {
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "tue", "thur", "thu", "fri"]
        .contains(&word)
}
