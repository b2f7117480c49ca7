//! The English part of the grammar.

mod around;
mod reckoned;

use super::calendar::{self, Unit};
use super::tense::{self, Tense};
use super::words::{self, Word};
use super::{Found, Granularity, Reading, month_day, numeric};
use around::{Around, TENS, is_habit, is_period, is_weekday};
use jiff::civil::{Date, Weekday};
use std::ops::Range;

/// The dates among `words`. Some are reckoned from a date before them, which may be one of the `others` that were found already.
pub(super) fn find(text: &str, words: &[Word<'_>], said: Date, others: &[Found]) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let read = in_digits(text, words, at, said).or_else(|| {
            let start = words[at].span.start;
            let before = || others.iter().chain(&found).filter(|date| date.span.end <= start);
            let anchor =
                (words[at].lower == "the").then(before).and_then(|dates| dates.max_by_key(|date| date.span.end));
            let (length, reading) = read(&Here { words, at, said, anchor })?;
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
    let here = Here { words, at, said, anchor: None };
    matches!(here.surroundings(length, &reading), Around::Free).then_some((span, reading))
}

/// What the words that begin here say, and how many they are.
fn read(here: &Here<'_, '_>) -> Option<(usize, Reading)> {
    let (length, reading) = month_day::read(here.words, here.at, here.said)
        .or_else(|| here.counted())
        .or_else(|| here.weeks_from_weekday())
        .or_else(|| here.after_another())
        .or_else(|| here.named_day())
        .or_else(|| here.day_in_week())
        .or_else(|| here.day_in_month())
        .or_else(|| here.weekday_with_day())
        .or_else(|| here.day_alone())
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
    weekday_named(&word.lower)
}

/// The weekday of this English name.
pub(super) fn weekday_named(name: &str) -> Option<Weekday> {
    const NAMES: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let place = NAMES.iter().position(|known| *known == name)?;
    Weekday::from_monday_zero_offset(i8::try_from(place).ok()?).ok()
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

pub(super) fn unit(word: &str) -> Option<Unit> {
    Some(match word {
        "day" | "days" => Unit::Day,
        "week" | "weeks" => Unit::Week,
        "month" | "months" => Unit::Month,
        "year" | "years" => Unit::Year,
        _ => return None,
    })
}

/// "in two weeks" is when, not what: a date in its place needs a preposition.
pub(super) fn needs_preposition(words: &str) -> bool {
    let lower = words.to_lowercase();
    lower.starts_with("in ") && lower.rsplit(' ').next().is_some_and(|last| unit(last).is_some())
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

type Read = Option<(usize, Reading)>;

/// A place among the words.
struct Here<'w, 'a> {
    words: &'w [Word<'a>],
    at: usize,
    said: Date,
    /// The date before this place in the same text.
    anchor: Option<&'w Found>,
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

    /// "today", "the day after tomorrow", "this morning", "last night".
    fn named_day(&self) -> Read {
        let the = usize::from(self.word(0) == "the");
        let skip = isize::try_from(the).ok()?;
        let (length, days) = match (self.word(skip), self.word(skip + 1), self.word(skip + 2)) {
            ("day", "after", "tomorrow") => (3 + the, 2),
            ("day", "before", "yesterday") => (3 + the, -2),
            _ if the == 1 => return None,
            ("today" | "tonight", ..) => (1, 0),
            ("tomorrow", "week", "" | "." | "," | "!" | "?" | ";" | ")" | "¶") => (2, 8),
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
        let expected = matches!(self.word(-1), "on" | "by" | "until" | "till" | "before" | "after");
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
}

/// Whether a time of day begins here: "8:30", "8 pm", "8am".
pub(super) fn is_clock(words: &[Word<'_>]) -> bool {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let glued = lower(0).trim_start_matches(|c: char| c.is_ascii_digit());
    matches!(glued, "am" | "pm" | "a" | "p") || matches!(lower(1), ":" | "am" | "pm" | "a" | "p")
}
