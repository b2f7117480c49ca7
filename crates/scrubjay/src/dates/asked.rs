//! The days a question speaks of: "on 8 May 2023", "2023-05", "last week", "three days ago", "in May".
//!
//! A question looks back and may be wide: "last Friday" is the latest one, "a month ago" some weeks, "in May" the May of any year. What is
//! not known here is left to the search for words.

use super::calendar::{self, Unit};
use super::{When, english, month_day};
use jiff::civil::Date;

/// Days that a question asks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Days {
    /// From one day to another, both included.
    Between(Date, Date),
    /// A month, or a day of it, in any year.
    EachYear {
        /// 1 to 12.
        month: i8,
        /// The day of the month, when one is named.
        day: Option<i8>,
    },
}

/// The days found in a question, and which words named them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AskedDays {
    /// The days.
    pub days: Vec<Days>,
    /// One mark for each word of the question.
    pub used: Vec<bool>,
}

/// The days that a question names, seen from `today`. `words` are those of `text`, in lower case and without accents or marks.
///
/// ```
/// use scrubjay::dates::{Days, asked};
/// let today = jiff::civil::date(2026, 11, 16);
/// let friday = jiff::civil::date(2026, 11, 13);
/// let words = ["what", "broke", "last", "friday"].map(str::to_owned);
/// assert_eq!(asked("What broke last Friday?", &words, today).days, [Days::Between(friday, friday)]);
/// ```
pub fn asked(text: &str, words: &[String], today: Date) -> AskedDays {
    let mut found = AskedDays { days: Vec::new(), used: vec![false; words.len()] };
    let mut at = 0;
    while at < words.len() {
        let reader = Reader { words: &words[at..], before: at.checked_sub(1).map(|at| words[at].as_str()), today };
        match reader.read() {
            Some((days, count)) => {
                found.days.push(days);
                found.used[at..at + count].fill(true);
                at += count;
            }
            None => at += 1,
        }
    }
    if found.days.is_empty() {
        found.days = in_other_languages(text, today);
    }
    found.days = joined(found.days, words);
    found
}

/// The days that everybody reads in one way, in a question that is not in English.
fn in_other_languages(text: &str, today: Date) -> Vec<Days> {
    let sure = |when| match when {
        When::Days { first, last } => Some(Days::Between(first, last)),
        When::Unclear => None,
    };
    super::find_outside_english(text, today).into_iter().filter_map(|found| sure(found.when)).collect()
}

/// The first of the days that `words` name from beginning to end, as exactly as they do.
pub(super) fn first_day(words: &[String], today: Date) -> Option<Date> {
    let reader = Reader { words, before: Some("since"), today };
    if let [name] = words
        && let Some(weekday) = english::weekday_named(name)
    {
        return calendar::recent(today, weekday);
    }
    let (first, length) = match reader.ago() {
        Some((date, _, length)) => (date, length),
        None => match reader.read()? {
            (Days::Between(first, _), length) => (first, length),
            (Days::EachYear { month, day }, length) => (calendar::around(today, month, day.unwrap_or(1))?.0, length),
        },
    };
    (length == words.len()).then_some(first)
}

/// "Between the 1st and the 5th" names all days of a span by its ends.
fn joined(days: Vec<Days>, words: &[String]) -> Vec<Days> {
    let says = |word: &str| words.iter().any(|known| known == word);
    match days.as_slice() {
        [Days::Between(from, _), Days::Between(_, to)] if from <= to && (says("between") || says("from")) => {
            vec![Days::Between(*from, *to)]
        }
        _ => days,
    }
}

/// First and last day of a month, or the one day of it that is named.
pub(crate) fn month_days(year: i16, month: i8, day: Option<i8>) -> Option<(Date, Date)> {
    let first = Date::new(year, month, day.unwrap_or(1)).ok()?;
    Some((first, if day.is_some() { first } else { first.last_of_month() }))
}

fn year(word: &str) -> Option<i16> {
    let is_year = word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    if is_year { word.parse().ok() } else { None }
}

fn day(word: &str) -> Option<i8> {
    month_day::ordinal(word).filter(|day| (1..=31).contains(day))
}

fn count(word: &str) -> Option<i64> {
    english::number(word).filter(|count| (1..=366).contains(count))
}

struct Reader<'a> {
    words: &'a [String],
    before: Option<&'a str>,
    today: Date,
}

type Read = Option<(Days, usize)>;

impl Reader<'_> {
    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    fn read(&self) -> Read {
        self.digits()
            .or_else(|| self.day_first())
            .or_else(|| self.month_first())
            .or_else(|| self.year_alone())
            .or_else(|| self.named_day())
            .or_else(|| self.about())
            .or_else(|| self.relative())
    }

    /// 2023-05-08 and 2023-05.
    fn digits(&self) -> Read {
        let year = year(self.word(0))?;
        let two =
            |at: usize| Some(self.word(at)).filter(|word| word.len() == 2).and_then(|word| word.parse::<i8>().ok());
        let month = two(1)?;
        let exact = two(2).and_then(|day| month_days(year, month, Some(day)));
        match exact {
            Some((from, to)) => Some((Days::Between(from, to), 3)),
            None => month_days(year, month, None).map(|(from, to)| (Days::Between(from, to), 2)),
        }
    }

    /// 8 May, 8th of May 2023.
    fn day_first(&self) -> Read {
        let day = day(self.word(0))?;
        let skip = usize::from(self.word(1) == "of");
        let month = month_day::month_named(self.word(1 + skip))?;
        self.in_year(month, Some(day), 2 + skip)
    }

    /// May 8, May 8th 2023, May 2023, and May where it cannot be anything else.
    fn month_first(&self) -> Read {
        let month = month_day::month_named(self.word(0))?;
        if let Some(day) = day(self.word(1)) {
            return self.in_year(month, Some(day), 2);
        }
        if year(self.word(1)).is_some() {
            return self.in_year(month, None, 1);
        }
        let before = self.before.unwrap_or_default();
        let is_sure = !["may", "march", "sept"].contains(&self.word(0)) && self.word(0).len() > 3;
        let is_led = ["in", "during", "since", "of", "this", "early", "late", "mid", "until", "by"].contains(&before);
        (is_sure || is_led).then_some((Days::EachYear { month, day: None }, 1))
    }

    fn in_year(&self, month: i8, day: Option<i8>, used: usize) -> Read {
        let Some(year) = year(self.word(used)) else { return Some((Days::EachYear { month, day }, used)) };
        month_days(year, month, day).map(|(from, to)| (Days::Between(from, to), used + 1))
    }

    /// 2022, when it is said as a time.
    fn year_alone(&self) -> Read {
        let year = year(self.word(0))?;
        let is_led = ["in", "during", "of", "since", "from", "year", "until", "by", "before", "after"];
        let first =
            Date::new(year, 1, 1).ok().filter(|_| self.before.is_some_and(|before| is_led.contains(&before)))?;
        Some((Days::Between(first, first.last_of_year()), 1))
    }

    fn named_day(&self) -> Read {
        let days = match self.word(0) {
            "today" | "tonight" => 0,
            "yesterday" => -1,
            "tomorrow" => 1,
            _ => return None,
        };
        let day = calendar::shift(self.today, days, Unit::Day)?;
        Some((Days::Between(day, day), 1))
    }

    /// Three days ago, a month ago: the day, what was counted, and how many words.
    fn ago(&self) -> Option<(Date, Unit, usize)> {
        let count = count(self.word(0)).filter(|_| self.word(2) == "ago")?;
        let unit = english::unit(self.word(1))?;
        Some((calendar::shift(self.today, -count, unit)?, unit, 3))
    }

    /// The longer ago, the less exactly it is meant.
    fn about(&self) -> Read {
        let (middle, unit, length) = self.ago()?;
        let (slack, unit) = match unit {
            Unit::Day => (0, Unit::Day),
            Unit::Week => (3, Unit::Day),
            Unit::Month => (15, Unit::Day),
            Unit::Year => (6, Unit::Month),
        };
        let days = Days::Between(calendar::shift(middle, -slack, unit)?, calendar::shift(middle, slack, unit)?);
        Some((days, length))
    }

    /// Last week, this month, last Friday, last May, the past ten days.
    fn relative(&self) -> Read {
        let lead = self.word(0);
        if !["last", "past", "previous", "this"].contains(&lead) {
            return None;
        }
        if let Some((count, unit)) = count(self.word(1)).zip(english::unit(self.word(2))) {
            return Some((Days::Between(calendar::shift(self.today, -count, unit)?, self.today), 3));
        }
        let named = self.word(1);
        if let Some(month) = month_day::month_named(named).filter(|_| named != "mar") {
            let year =
                if month < self.today.month() || lead == "this" { self.today.year() } else { self.today.year() - 1 };
            return month_days(year, month, None).map(|(from, to)| (Days::Between(from, to), 2));
        }
        if let Some(weekday) = english::weekday_named(named) {
            let day = calendar::recent(self.today, weekday)?;
            return Some((Days::Between(day, day), 2));
        }
        let (from, to) = self.period(if lead == "this" { 0 } else { -1 }, named)?;
        Some((Days::Between(from, to), 2))
    }

    fn period(&self, turn: i64, named: &str) -> Option<(Date, Date)> {
        if named == "weekend" {
            let (_, sunday) = calendar::whole(self.today, turn, Unit::Week)?;
            return Some((calendar::shift(sunday, -1, Unit::Day)?, sunday));
        }
        let unit = english::unit(named).filter(|unit| *unit != Unit::Day && !named.ends_with('s'))?;
        calendar::whole(self.today, turn, unit)
    }
}
