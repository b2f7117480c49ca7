//! The days a question speaks of: "on 8 May 2023", "2023-05-08", "last week", "three days ago", "in May".
//!
//! A closed grammar over words in lower case. What it does not know it leaves to the search for words.

use jiff::civil::{Date, Weekday};
use jiff::{Span as Length, ToSpan};

/// Days that a question asks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Days {
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

/// The days found, and which words named them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Dates {
    /// The days.
    pub(super) days: Vec<Days>,
    /// One mark for each word of the question.
    pub(super) used: Vec<bool>,
}

/// People write about a day soon after it: for so many days the mention still counts, less each day.
const ECHO_DAYS: i32 = 7;
const ECHO: f32 = 0.7;

impl Days {
    /// How well a text written on `date` fits, between 0 and 1.
    pub(super) fn fit(self, date: Date) -> f32 {
        let (from, to) = match self {
            Self::Between(from, to) => (from, to),
            Self::EachYear { month, day } => match month_days(date.year(), month, day) {
                Some(days) => days,
                None => return 0.0,
            },
        };
        if date < from {
            return 0.0;
        }
        let late = (date - to).get_days();
        if late <= 0 { 1.0 } else { ECHO * (1.0 - late as f32 / (ECHO_DAYS + 1) as f32).max(0.0) }
    }
}

/// The days that `words` name, seen from `today`.
pub(super) fn dates(words: &[String], today: Date) -> Dates {
    let mut found = Dates { days: Vec::new(), used: vec![false; words.len()] };
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
    found.days = joined(found.days, words);
    found
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

fn month_days(year: i16, month: i8, day: Option<i8>) -> Option<(Date, Date)> {
    let first = Date::new(year, month, day.unwrap_or(1)).ok()?;
    Some((first, if day.is_some() { first } else { first.last_of_month() }))
}

fn month(word: &str) -> Option<i8> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let place = MONTHS.iter().position(|name| *name == word || (word.len() == 3 && name.starts_with(word)))?;
    i8::try_from(place + 1).ok()
}

fn weekday(word: &str) -> Option<Weekday> {
    const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let place = DAYS.iter().position(|name| *name == word)?;
    Weekday::from_monday_zero_offset(i8::try_from(place).ok()?).ok()
}

fn year(word: &str) -> Option<i16> {
    let is_year = word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    if is_year { word.parse().ok() } else { None }
}

fn day(word: &str) -> Option<i8> {
    let digits = word.trim_end_matches("st").trim_end_matches("nd").trim_end_matches("rd").trim_end_matches("th");
    digits.parse().ok().filter(|day| (1..=31).contains(day))
}

fn count(word: &str) -> Option<i64> {
    const WORDS: [&str; 13] =
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    let named = WORDS.iter().position(|name| *name == word).and_then(|place| i64::try_from(place).ok());
    let few = ["a", "an"].contains(&word).then_some(1);
    named.or(few).or_else(|| word.parse().ok().filter(|count| (1..=366).contains(count)))
}

fn length(count: i64, unit: &str) -> Option<Length> {
    match unit.strip_suffix('s').unwrap_or(unit) {
        "day" => Some(count.days()),
        "week" => Some(count.weeks()),
        "month" => Some(count.months()),
        "year" => Some(count.years()),
        _ => None,
    }
}

struct Reader<'a> {
    words: &'a [String],
    before: Option<&'a str>,
    today: Date,
}

type Found = Option<(Days, usize)>;

impl Reader<'_> {
    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    fn read(&self) -> Found {
        self.digits()
            .or_else(|| self.day_first())
            .or_else(|| self.month_first())
            .or_else(|| self.year_alone())
            .or_else(|| self.named_day())
            .or_else(|| self.ago())
            .or_else(|| self.relative())
    }

    /// 2023-05-08 and 2023-05.
    fn digits(&self) -> Found {
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
    fn day_first(&self) -> Found {
        let day = day(self.word(0))?;
        let skip = usize::from(self.word(1) == "of");
        let month = month(self.word(1 + skip))?;
        self.in_year(month, Some(day), 2 + skip)
    }

    /// May 8, May 8th 2023, May 2023, and May where it cannot be anything else.
    fn month_first(&self) -> Found {
        let month = month(self.word(0))?;
        if let Some(day) = day(self.word(1)) {
            return self.in_year(month, Some(day), 2);
        }
        if year(self.word(1)).is_some() {
            return self.in_year(month, None, 1);
        }
        let before = self.before.unwrap_or_default();
        let is_sure = !["may", "march", "mar", "jan", "sun", "dec"].contains(&self.word(0)) && self.word(0).len() > 3;
        let is_led = ["in", "during", "since", "of", "this", "early", "late", "mid", "until", "by"].contains(&before);
        (is_sure || is_led).then_some((Days::EachYear { month, day: None }, 1))
    }

    fn in_year(&self, month: i8, day: Option<i8>, used: usize) -> Found {
        let Some(year) = year(self.word(used)) else { return Some((Days::EachYear { month, day }, used)) };
        month_days(year, month, day).map(|(from, to)| (Days::Between(from, to), used + 1))
    }

    /// 2022, when it is said as a time.
    fn year_alone(&self) -> Found {
        let year = year(self.word(0))?;
        let is_led = ["in", "during", "of", "since", "from", "year", "until", "by", "before", "after"];
        let ends = Date::new(year, 1, 1).ok().zip(Date::new(year, 12, 31).ok());
        let (from, to) = ends.filter(|_| self.before.is_some_and(|before| is_led.contains(&before)))?;
        Some((Days::Between(from, to), 1))
    }

    fn named_day(&self) -> Found {
        let day = match self.word(0) {
            "today" | "tonight" => Some(self.today),
            "yesterday" => self.today.checked_sub(1.day()).ok(),
            "tomorrow" => self.today.checked_add(1.day()).ok(),
            _ => None,
        }?;
        Some((Days::Between(day, day), 1))
    }

    /// Three days ago, a month ago. The longer ago, the less exactly it is meant.
    fn ago(&self) -> Found {
        let count = count(self.word(0)).filter(|_| self.word(2) == "ago")?;
        let unit = self.word(1);
        let middle = self.today.checked_sub(length(count, unit)?).ok()?;
        let slack = match unit.strip_suffix('s').unwrap_or(unit) {
            "day" => 0.days(),
            "week" => 3.days(),
            "month" => 15.days(),
            _ => 6.months(),
        };
        let days = Days::Between(middle.checked_sub(slack).ok()?, middle.checked_add(slack).ok()?);
        Some((days, 3))
    }

    /// Last week, this month, last Friday, last May, the past ten days.
    fn relative(&self) -> Found {
        let lead = self.word(0);
        if !["last", "past", "previous", "this"].contains(&lead) {
            return None;
        }
        if let Some(days) = count(self.word(1)).and_then(|count| length(count, self.word(2))) {
            return Some((Days::Between(self.today.checked_sub(days).ok()?, self.today), 3));
        }
        let unit = self.word(1);
        if let Some(month) = month(unit).filter(|_| unit != "mar" && unit != "sun") {
            let year =
                if month < self.today.month() || lead == "this" { self.today.year() } else { self.today.year() - 1 };
            return month_days(year, month, None).map(|(from, to)| (Days::Between(from, to), 2));
        }
        if let Some(weekday) = weekday(unit) {
            let day = self.today.nth_weekday(-1, weekday).ok()?;
            return Some((Days::Between(day, day), 2));
        }
        self.period(lead == "this", unit).map(|(from, to)| (Days::Between(from, to), 2))
    }

    fn period(&self, current: bool, unit: &str) -> Option<(Date, Date)> {
        let back = if current { 0 } else { 1 };
        match unit {
            "week" => {
                let into = i64::from(self.today.weekday().to_monday_zero_offset());
                let monday = self.today.checked_sub((into + 7 * back).days()).ok()?;
                Some((monday, monday.checked_add(6.days()).ok()?))
            }
            "weekend" => {
                let into = i64::from(self.today.weekday().to_monday_zero_offset());
                let monday = self.today.checked_sub((into + 7 * back).days()).ok()?;
                Some((monday.checked_add(5.days()).ok()?, monday.checked_add(6.days()).ok()?))
            }
            "month" => {
                let date = self.today.first_of_month().checked_sub(back.months()).ok()?;
                Some((date, date.last_of_month()))
            }
            "year" => {
                let date = self.today.first_of_year().checked_sub(back.years()).ok()?;
                Some((date, date.last_of_year()))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::recall::text;
    use proptest::prelude::*;

    fn found(text: &str) -> Vec<String> {
        let today = Date::constant(2024, 3, 13);
        let show = |days: &Days| match days {
            Days::Between(from, to) if from == to => from.to_string(),
            Days::Between(from, to) => format!("{from}..{to}"),
            Days::EachYear { month, day } => format!("--{month}-{}", day.unwrap_or(0)),
        };
        dates(&text::words(text), today).days.iter().map(show).collect()
    }

    #[test]
    fn phrases_and_their_days() {
        for (text, expected) in [
            ("What happened on 8 May 2023?", vec!["2023-05-08"]),
            ("on May 8th, 2023", vec!["2023-05-08"]),
            ("on the 8th of May", vec!["--5-8"]),
            ("2023-05-08 and 2023-06", vec!["2023-05-08", "2023-06-01..2023-06-30"]),
            ("in May 2023", vec!["2023-05-01..2023-05-31"]),
            ("camping in June", vec!["--6-0"]),
            ("last May", vec!["2023-05-01..2023-05-31"]),
            ("last February", vec!["2024-02-01..2024-02-29"]),
            ("in 2022", vec!["2022-01-01..2022-12-31"]),
            ("yesterday", vec!["2024-03-12"]),
            ("three days ago", vec!["2024-03-10"]),
            ("a week ago", vec!["2024-03-03..2024-03-09"]),
            ("last week", vec!["2024-03-04..2024-03-10"]),
            ("this month", vec!["2024-03-01..2024-03-31"]),
            ("last Friday", vec!["2024-03-08"]),
            ("the past 10 days", vec!["2024-03-03..2024-03-13"]),
            ("between 1 May 2023 and 5 May 2023", vec!["2023-05-01..2023-05-05"]),
            ("You may go; they march on. 2023 apples, 2 cats", vec![]),
            ("the 31st of February 2023", vec!["2023-02-01..2023-02-28"]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn a_day_is_spoken_of_on_it_and_soon_after() {
        let day = |day: i8| Date::constant(2023, 5, day);
        let asked = Days::Between(day(8), day(8));
        assert_eq!(asked.fit(day(7)), 0.0);
        assert_eq!(asked.fit(day(8)), 1.0);
        assert!(asked.fit(day(9)) > asked.fit(day(12)) && asked.fit(day(12)) > 0.0);
        assert_eq!(asked.fit(day(16)), 0.0);
        assert_eq!(Days::EachYear { month: 5, day: None }.fit(day(31)), 1.0);
        assert_eq!(Days::EachYear { month: 2, day: Some(30) }.fit(day(31)), 0.0);
    }

    proptest! {
        #[test]
        fn any_words_are_read(words in proptest::collection::vec("(last|this|may|8|31st|of|2023|05|ago|a|week|years|366|in|[a-z]{0,4})", 0..12)) {
            let found = dates(&words, Date::MAX);
            prop_assert_eq!(found.used.len(), words.len());
        }
    }
}
