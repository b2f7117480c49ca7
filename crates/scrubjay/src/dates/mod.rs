//! Dates inside prose, reckoned from the day the words were said: what "by Thursday" meant is lost tomorrow.
//!
//! One component for three questions: which dates a text holds ([`find`], [`resolve`]), which days a question asks about ([`asked`]), and
//! from when on something counts ([`Since`]).
//!
//! A closed grammar: English and Chinese in full, the usual phrases of eight more languages (`phrases.txt`, `japanese`). It answers where
//! it is certain; a wrong date in long-term memory is worse than none. Where people differ it gives a date only if all readings agree,
//! and otherwise notes the day the words were said:
//!
//! - "next Friday" is the soonest Friday, or Friday of next week. Said on a Saturday both are the same day; said on a Wednesday it is
//!   left as it stands. "last" and "this" likewise, and month names. In Chinese 下周五 is always the Friday of next week.
//! - "Friday" alone looks ahead or back as its sentence does (`tense`). Said on a Friday it is left as it stands.
//! - "October 2" is the one its sentence looks to, or one that is less than a month away. "The 27th" is that of this month if it is still
//!   to come; otherwise its sentence must look ahead or back.
//! - "The Monday after" is reckoned from the date before it in the text.
//! - `05/06/2026` could be two days and is none. A week begins on Monday. "Monday to Friday" and "every Friday" are no dates, and a quarter
//!   may be a fiscal one.
//! - Words that have their date already ("Friday 2026-11-20") are not touched (`done`).

mod asked;
mod calendar;
mod chinese;
mod done;
mod english;
mod european;
mod japanese;
mod month_day;
pub mod names;
mod numeric;
mod phrases;
mod since;
mod tense;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use asked::month_days;
pub use asked::{AskedDays, Days, asked};
pub use since::Since;

use done::Done;
use jiff::civil::Date;
use std::ops::Range;

/// How exact a date is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granularity {
    /// One day.
    Day,
    /// A few days, or a week.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

/// What the words mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// From the first of these days to the last; one day is both.
    Days {
        /// First day.
        first: Date,
        /// Last day, itself included.
        last: Date,
    },
    /// Reckoned from the day they were said, but people would differ how.
    Unclear,
}

/// Whether the words name the day by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The same day whenever they are read.
    Absolute,
    /// Another day when they are read tomorrow.
    Relative,
}

/// Words in a text that mean a date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The bytes they take.
    pub span: Range<usize>,
    /// What they mean.
    pub when: When,
    /// How exactly.
    pub granularity: Granularity,
    /// Whether they need the day they were said.
    pub kind: Kind,
}

/// What a grammar made of some words.
#[derive(Debug, Clone, Copy)]
struct Reading {
    when: When,
    granularity: Granularity,
    kind: Kind,
}

impl Reading {
    fn absolute(first: Date, last: Date, granularity: Granularity) -> Self {
        Self { when: When::Days { first, last }, granularity, kind: Kind::Absolute }
    }

    fn relative(first: Date, last: Date, granularity: Granularity) -> Self {
        Self { when: When::Days { first, last }, granularity, kind: Kind::Relative }
    }

    fn day(date: Date) -> Self {
        Self::relative(date, date, Granularity::Day)
    }

    fn is_relative(&self) -> bool {
        self.kind == Kind::Relative
    }

    fn unclear() -> Self {
        Self { when: When::Unclear, granularity: Granularity::Day, kind: Kind::Relative }
    }

    /// The day, if the readings people give agree on one.
    fn agreed(one: Option<Date>, other: Option<Date>) -> Option<Self> {
        let (one, other) = (one?, other?);
        Some(if one == other { Self::day(one) } else { Self::unclear() })
    }
}

/// The dates in `text`, in order and apart from each other, with `said` as the day on which it was said.
///
/// ```
/// use scrubjay::dates::{When, find};
/// let said = jiff::civil::date(2026, 11, 16);
/// let found = find("The freeze starts Thursday.", said);
/// let thursday = jiff::civil::date(2026, 11, 19);
/// assert_eq!(found[0].when, When::Days { first: thursday, last: thursday });
/// ```
pub fn find(text: &str, said: Date) -> Vec<Found> {
    let words = words::split(text);
    let mut all = outside_english(text, &words, said);
    all.extend(english::find(text, &words, said, &all));
    settled(text, said, all)
}

/// The same without what only the English grammar knows.
fn find_outside_english(text: &str, said: Date) -> Vec<Found> {
    settled(text, said, outside_english(text, &words::split(text), said))
}

fn outside_english(text: &str, words: &[words::Word<'_>], said: Date) -> Vec<Found> {
    let mut all = chinese::find(text, said);
    all.extend(japanese::find(text, said));
    all.extend(european::find(text, words, said));
    all
}

/// What the grammars found, in order and apart, without what stands in code or has its date already.
fn settled(text: &str, said: Date, mut all: Vec<Found>) -> Vec<Found> {
    all.sort_by_key(|found| (found.span.start, std::cmp::Reverse(found.span.end)));
    let code = words::code(text);
    let mut end = 0;
    all.retain(|found| {
        let apart = found.span.start >= end;
        let in_code = code.iter().any(|code| code.start < found.span.end && found.span.start < code.end);
        if apart {
            end = found.span.end;
        }
        apart && !in_code
    });
    let done = Done::of(text, said, &all);
    all.retain(|found| found.kind == Kind::Absolute || !done.has(found));
    all
}

/// A text whose relative dates were made absolute, and what came of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The text.
    pub text: String,
    /// How many dates now stand beside their words.
    pub resolved: usize,
    /// How many kept their words alone and got the day they were said.
    pub left_open: usize,
}

/// `text` with every relative date made absolute, and how many could be.
///
/// ```
/// let said = jiff::civil::date(2026, 11, 16);
/// let done = scrubjay::dates::resolve("We met yesterday and meet again next Friday.", said);
/// assert_eq!((done.resolved, done.left_open), (1, 1));
/// ```
pub fn resolve(text: &str, said: Date) -> Resolved {
    rewritten(text, said, Some)
}

/// The same for a text that is known to look ahead, as a deadline does.
pub fn resolve_ahead(text: &str, said: Date) -> Resolved {
    rewritten(text, said, |found| Some(ahead(&text[found.span.clone()], found, said)))
}

/// `text` with every relative date made absolute, its own words kept beside it: "by 2026-11-19 (Thursday)".
///
/// Words that people would read differently keep their place and get the day they were said. A sentence that was done once is not
/// touched again: what it still leaves open was left open on purpose.
///
/// ```
/// let said = jiff::civil::date(2026, 11, 16);
/// assert_eq!(scrubjay::dates::absolute("Send it by Thursday.", said), "Send it by 2026-11-19 (Thursday).");
/// ```
pub fn absolute(text: &str, said: Date) -> String {
    resolve(text, said).text
}

/// The same for a text that is known to look ahead, as a deadline does: a day that could be two is the coming one.
///
/// ```
/// let said = jiff::civil::date(2026, 11, 16);
/// assert_eq!(scrubjay::dates::absolute_ahead("We go live on Thursday.", said), "We go live on 2026-11-19 (Thursday).");
/// ```
pub fn absolute_ahead(text: &str, said: Date) -> String {
    resolve_ahead(text, said).text
}

/// What the words mean where something is due.
fn ahead(words: &str, found: Found, said: Date) -> Found {
    let due = if words.starts_with(words::is_han) { format!("{words}前") } else { format!("due {words}") };
    let read = find(&due, said).into_iter().next().filter(|_| found.when == When::Unclear);
    read.map_or(found.clone(), |read| Found { span: found.span, ..read })
}

/// The same for words that everybody reads in one way. Others stay as they are: "deploys happen on Friday" may be a rule.
///
/// ```
/// let said = jiff::civil::date(2026, 11, 16);
/// assert_eq!(scrubjay::dates::absolute_where_clear("We met yesterday.", said), "We met 2026-11-15 (yesterday).");
/// assert_eq!(scrubjay::dates::absolute_where_clear("We meet on Friday.", said), "We meet on Friday.");
/// ```
pub fn absolute_where_clear(text: &str, said: Date) -> String {
    rewritten(text, said, |found| (found.when != When::Unclear).then_some(found)).text
}

fn rewritten(text: &str, said: Date, read: impl Fn(Found) -> Option<Found>) -> Resolved {
    let mut out = Resolved { text: String::with_capacity(text.len()), resolved: 0, left_open: 0 };
    let mut from = 0;
    for found in find(text, said).into_iter().filter(|found| found.kind == Kind::Relative).filter_map(read) {
        out.text.push_str(&text[from..found.span.start]);
        out.text.push_str(&explained(&text[found.span.clone()], &found, said));
        from = found.span.end;
        match found.when {
            When::Days { .. } => out.resolved += 1,
            When::Unclear => out.left_open += 1,
        }
    }
    out.text.push_str(&text[from..]);
    out
}

const SAID: &str = " (said on ";
const SAID_HAN: &str = "（说于 ";

fn explained(words: &str, found: &Found, said: Date) -> String {
    let han = words.starts_with(words::is_han);
    let japanese = japanese::is_japanese(words);
    let When::Days { first, last } = found.when else {
        return if han && !japanese { format!("{words}{SAID_HAN}{said}）") } else { format!("{words}{SAID}{said})") };
    };
    let date = match found.granularity {
        Granularity::Month => first.strftime("%Y-%m").to_string(),
        Granularity::Year => first.strftime("%Y").to_string(),
        _ if first == last => first.to_string(),
        _ if japanese => format!("{first}〜{last}"),
        _ if han => format!("{first} 至 {last}"),
        _ => format!("{first} to {last}"),
    };
    match () {
        () if han => format!("{date}（{words}）"),
        // "in two weeks" is when, not what: the date needs its preposition.
        () if english::needs_preposition(words) => format!("on {date} ({words})"),
        () => format!("{date} ({words})"),
    }
}
