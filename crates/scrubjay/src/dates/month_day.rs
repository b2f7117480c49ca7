//! Days by the name of their month: "October 2", "2nd of Oct. 2026", "Thu, Nov 19", "March 2026".

use super::tense::{self, Tense};
use super::words::Word;
use super::{Granularity, Reading, calendar, english};
use jiff::civil::{Date, Weekday};

const MONTHS: &[(&str, &str)] = &[
    ("january", "jan"),
    ("february", "feb"),
    ("march", "mar"),
    ("april", "apr"),
    ("may", "may"),
    ("june", "jun"),
    ("july", "jul"),
    ("august", "aug"),
    ("september", "sep"),
    ("october", "oct"),
    ("november", "nov"),
    ("december", "dec"),
];

/// Days: closer than this, a date without a year means that one unless its sentence looks away.
const NEAR: i64 = 31;

/// The month a word names. Words that also mean something else need their capital letter.
pub(super) fn month(word: &Word<'_>) -> Option<i8> {
    let month = month_named(&word.lower)?;
    let ordinary = matches!(word.lower.as_str(), "may" | "march" | "mar" | "jan" | "dec" | "sep");
    (!ordinary || word.is_capitalised()).then_some(month)
}

/// The month of this English name, long or short.
pub(super) fn month_named(name: &str) -> Option<i8> {
    let at = MONTHS
        .iter()
        .position(|(long, short)| name == *long || name == *short || (name == "sept" && *short == "sep"))?;
    i8::try_from(at + 1).ok()
}

/// A year in digits, or reckoned from this one.
enum Year {
    Written(i16),
    Turned(i16),
}

/// Reads words one after the other.
struct Cursor<'w, 'a> {
    words: &'w [Word<'a>],
    at: usize,
}

impl<'w, 'a> Cursor<'w, 'a> {
    fn peek(&self) -> Option<&'w Word<'a>> {
        self.words.get(self.at)
    }

    fn take<T>(&mut self, read: impl Fn(&Word<'a>) -> Option<T>) -> Option<T> {
        let found = read(self.peek()?)?;
        self.at += 1;
        Some(found)
    }

    fn skip(&mut self, mark: &str) {
        if self.peek().is_some_and(|word| word.lower == mark) {
            self.at += 1;
        }
    }

    fn month(&mut self) -> Option<i8> {
        let abbreviated = self.peek()?.raw.len() <= 4;
        let month = self.take(month)?;
        if abbreviated {
            self.skip(".");
        }
        Some(month)
    }

    /// A year of four digits, with what may stand before it.
    fn year(&mut self) -> Option<Year> {
        let start = self.at;
        for lead in [",", "of", "in"] {
            self.skip(lead);
        }
        let year = self.take(|word| word.raw.parse().ok().filter(|_| word.raw.len() == 4));
        if year.is_none() {
            self.at = start;
        }
        year.map(Year::Written)
    }

    /// "next year" after a day.
    fn turned_year(&mut self, said: Date) -> Option<Year> {
        let start = self.at;
        for lead in [",", "of", "in"] {
            self.skip(lead);
        }
        let count = self.take(|word| english::turn(&word.lower));
        let year = self.take(|word| (word.lower == "year").then_some(()));
        match (count, year) {
            (Some(count), Some(())) => Some(Year::Turned(said.year() + i16::try_from(count).ok()?)),
            _ => {
                self.at = start;
                None
            }
        }
    }
}

/// "2", "2nd", "22nd".
pub(super) fn day_of_month(word: &Word<'_>) -> Option<i8> {
    ordinal(&word.lower)
}

/// A number of at most two digits, with or without the ending of an ordinal.
pub(super) fn ordinal(word: &str) -> Option<i8> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let ordinal = matches!(&word[digits.len()..], "" | "st" | "nd" | "rd" | "th");
    (ordinal && (1..=2).contains(&digits.len())).then(|| digits.parse().ok())?
}

/// What the words that begin at `at` say, and how many they are.
pub(super) fn read(words: &[Word<'_>], at: usize, said: Date) -> Option<(usize, Reading)> {
    let mut cursor = Cursor { words, at };
    let weekday = cursor.take(|word| english::weekday(word).or_else(|| english::abbreviated(word)));
    if weekday.is_some() {
        cursor.skip(".");
        cursor.skip(",");
        cursor.skip("the");
    }
    let (month, day) = match cursor.month() {
        Some(month) => {
            cursor.skip("the");
            (month, cursor.take(day_of_month))
        }
        None => {
            let day = cursor.take(day_of_month)?;
            cursor.skip(".");
            cursor.skip("of");
            (cursor.month()?, Some(day))
        }
    };
    let year = cursor.year().or_else(|| cursor.turned_year(said));
    let reading = match (day, year) {
        (Some(day), Some(Year::Written(year))) => in_full(year, month, day, weekday)?,
        (Some(day), Some(Year::Turned(year))) => Reading::day(Date::new(year, month, day).ok()?),
        (Some(day), None) => without_year(words, at..cursor.at, said, (month, day, weekday))?,
        (None, Some(Year::Written(year))) if weekday.is_none() && is_whole_month(words, at, year) => {
            let first = Date::new(year, month, 1).ok()?;
            Reading::absolute(first, first.last_of_month(), Granularity::Month)
        }
        (None, _) => return None,
    };
    Some((cursor.at - at, reading))
}

fn in_full(year: i16, month: i8, day: i8, weekday: Option<Weekday>) -> Option<Reading> {
    let date = Date::new(year, month, day).ok()?;
    let consistent = weekday.is_none_or(|weekday| weekday == date.weekday());
    consistent.then(|| Reading::absolute(date, date, Granularity::Day))
}

/// Whether a month and a year are not the end of "the fourth of July 1995", and the year is one and no amount.
fn is_whole_month(words: &[Word<'_>], at: usize, year: i16) -> bool {
    let before = at.checked_sub(1).map_or("", |before| words[before].lower.as_str());
    let named =
        matches!(before, "of" | ".") || before.ends_with("th") || before.starts_with(|c: char| c.is_ascii_digit());
    !named && matches!(year / 100, 19 | 20)
}

type Named = (i8, i8, Option<Weekday>);

/// The weekday tells the year; otherwise tense and nearness do.
fn without_year(words: &[Word<'_>], at: std::ops::Range<usize>, said: Date, named: Named) -> Option<Reading> {
    let (month, day, weekday) = named;
    let in_words = ["seventeen", "eighteen", "nineteen", "twenty", "two"];
    let lead = words[at.end..].iter().take_while(|word| matches!(word.lower.as_str(), "," | "of" | "in")).count();
    let rest = &words[at.end + lead..];
    let next = rest.first().map_or("", |word| word.lower.as_str());
    let counted = next.starts_with(|c: char| c.is_ascii_digit()) && !english::is_clock(rest);
    let dated = at
        .start
        .checked_sub(1)
        .is_some_and(|before| words[before].raw.len() == 4 && words[before].raw.parse::<i16>().is_ok());
    if in_words.contains(&next) || counted || dated {
        return None;
    }
    let (before, after) = tense::clause(words, at.start, at.end);
    let names_a_year =
        |word: &Word<'_>| word.lower == "year" || (word.raw.len() == 4 && word.raw.parse::<i16>().is_ok());
    if before.iter().chain(after).any(names_a_year) {
        return Some(Reading::unclear());
    }
    if let Some(weekday) = weekday {
        let (before, after) = calendar::around(said, month, day)?;
        let fits: Vec<Date> = [before, after].into_iter().filter(|date| date.weekday() == weekday).collect();
        return match fits.as_slice() {
            [date] => Some(Reading::day(*date)),
            _ => None,
        };
    }
    nearest(said, (month, day), tense::of(words, at.start, at.end))
}

/// The day of that name that is meant: today, the one its sentence looks to, or one that is near while the other is far.
pub(super) fn nearest(said: Date, (month, day): (i8, i8), tense: Option<Tense>) -> Option<Reading> {
    let (before, after) = calendar::around(said, month, day)?;
    let (past, ahead) = (calendar::days_between(before, said), calendar::days_between(said, after));
    Some(match tense {
        _ if past == 0 => Reading::day(before),
        Some(Tense::Past) | None if past <= NEAR => Reading::day(before),
        Some(Tense::Future) | None if ahead <= NEAR => Reading::day(after),
        Some(Tense::Past) if ahead > NEAR => Reading::day(before),
        Some(Tense::Future) if past > NEAR => Reading::day(after),
        _ => Reading::unclear(),
    })
}
