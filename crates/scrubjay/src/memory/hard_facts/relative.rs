//! The days that the words of a typed message can mean, counted from the day it was typed on.

use super::calendar::{counted, quarter_word};
use super::number_words;
use super::tokens::{Shape, Tokens};
use crate::dates::names;
use jiff::Span;
use jiff::civil::{Date, ISOWeekDate, Weekday};

/// A named weekday is at most the one of next week, or of last week.
const WEEKDAY_REACH: i64 = 13;
/// How many tokens may stand between a number and the unit of time it counts: "three working days".
const UNIT_REACH: usize = 3;
/// Numbers of days and weeks beyond this are not dates that people count to.
const LARGEST_COUNT: u64 = 400;
/// Words before a day of the month in languages without an ordinal ending: "le 27", "am 27".
const DAY_WORDS: [&str; 16] =
    ["the", "le", "du", "au", "el", "del", "al", "am", "den", "dem", "vom", "zum", "bis", "il", "dia", "día"];

/// What a message says about time.
#[derive(Debug, Default)]
struct Cues {
    weekdays: Vec<Weekday>,
    /// Days of the month.
    days: Vec<i8>,
    months: Vec<i8>,
    /// Counts with their unit in days: 1, 7, 14, 30, 365.
    counts: Vec<(u64, u64)>,
    /// Numbers of weeks of the year.
    weeks: Vec<i8>,
    week: bool,
    christmas: bool,
    days_away: bool,
    end: bool,
    start: bool,
    quarter: bool,
    year: bool,
}

/// What a message of a day can mean.
#[derive(Debug, Default)]
pub(super) struct Meant {
    pub(super) dates: Vec<Date>,
    pub(super) months: Vec<(i16, i8)>,
    pub(super) years: Vec<i16>,
    pub(super) quarters: Vec<i8>,
}

/// The dates that fit a message typed on `typed`; `months` are those it names.
pub(super) fn meant(tokens: &Tokens<'_>, typed: Date, months: Vec<i8>) -> Meant {
    let mut cues = Cues { months, ..Cues::default() };
    (0..tokens.len()).for_each(|at| cues.read(tokens, at));
    let mut meant = Meant::default();
    meant.dates.extend((-1..=1).filter_map(|step| shifted(typed, Span::new().try_days(step))));
    for step in -WEEKDAY_REACH..=WEEKDAY_REACH {
        let date = shifted(typed, Span::new().try_days(step));
        meant.dates.extend(date.filter(|date| cues.weekdays.contains(&date.weekday())));
    }
    let years = [-1, 0, 1].map(|step| typed.year().saturating_add(step));
    meant.years.extend(years);
    let near: Vec<(i16, i8)> = [-1, 0, 1]
        .into_iter()
        .filter_map(|step| shifted(typed.first_of_month(), Span::new().try_months(step)))
        .map(|date| (date.year(), date.month()))
        .collect();
    let named = cues.months.iter().flat_map(|month| years.map(|year| (year, *month)));
    meant.months = near.into_iter().chain(named).collect();
    meant.edges(&cues, typed);
    meant.weeks(&cues, typed);
    meant.counted(&cues, typed);
    if cues.quarter {
        let quarter = (typed.month() - 1) / 3;
        meant.quarters.extend([3, 0, 1].map(|step| (quarter + step) % 4 + 1));
    }
    meant
}

/// The last day of the month that is so many months on, if a quarter ends with it.
fn quarter_end(typed: Date, months: i64) -> Option<Date> {
    let date = shifted(typed.first_of_month(), Span::new().try_months(months))?;
    (date.month() % 3 == 0).then(|| date.last_of_month())
}

fn shifted(date: Date, span: Result<Span, jiff::Error>) -> Option<Date> {
    date.checked_add(span.ok()?).ok()
}

impl Meant {
    /// Named days of the month, and first and last days.
    fn edges(&mut self, cues: &Cues, typed: Date) {
        for (year, month) in self.months.clone() {
            let Ok(first) = Date::new(year, month, 1) else { continue };
            self.dates.extend(cues.days.iter().filter_map(|day| Date::new(year, month, *day).ok()));
            self.dates.extend(cues.start.then_some(first));
            self.dates.extend(cues.end.then(|| first.last_of_month()));
        }
        if cues.end && cues.quarter {
            self.dates.extend((0..=3).filter_map(|step| quarter_end(typed, step)));
        }
        if cues.year {
            self.dates.extend(cues.end.then(|| typed.last_of_year()));
            self.dates.extend(cues.start.then(|| typed.last_of_year().tomorrow().ok()).flatten());
        }
    }

    /// First and last days of a week that is named, and all days of one that is numbered.
    fn weeks(&mut self, cues: &Cues, typed: Date) {
        let near = (-WEEKDAY_REACH..=WEEKDAY_REACH).filter_map(|step| shifted(typed, Span::new().try_days(step)));
        let edges = [Weekday::Monday, Weekday::Friday, Weekday::Sunday];
        self.dates.extend(near.filter(|date| cues.week && edges.contains(&date.weekday())));
        let years = [-1, 0, 1].map(|step| typed.year().saturating_add(step));
        for (week, year) in cues.weeks.iter().flat_map(|week| years.map(|year| (*week, year))) {
            let monday = ISOWeekDate::new(year, week, Weekday::Monday).map(ISOWeekDate::date);
            let days = (0..7).filter_map(|step| shifted(monday.clone().ok()?, Span::new().try_days(step)));
            self.dates.extend(days);
        }
        if cues.christmas {
            let days = years.into_iter().flat_map(|year| [24, 25, 26].map(|day| Date::new(year, 12, day).ok()));
            self.dates.extend(days.flatten());
        }
    }

    /// So many days, weeks, months or years before or after the message.
    fn counted(&mut self, cues: &Cues, typed: Date) {
        let away = cues.days_away.then_some((2, 1));
        for (count, unit) in cues.counts.iter().copied().chain(away).filter(|(count, _)| *count <= LARGEST_COUNT) {
            let Ok(count) = i64::try_from(count) else { continue };
            for count in [count, -count] {
                let date = match unit {
                    30 => shifted(typed, Span::new().try_months(count)),
                    365 => shifted(typed, Span::new().try_years(count)),
                    unit => {
                        i64::try_from(unit).ok().and_then(|unit| shifted(typed, Span::new().try_days(count * unit)))
                    }
                };
                self.months.extend(date.map(|date| (date.year(), date.month())));
                self.years.extend(date.map(|date| date.year()));
                self.dates.extend(date);
            }
        }
    }
}

impl Cues {
    fn read(&mut self, tokens: &Tokens<'_>, at: usize) {
        match tokens.shape(at) {
            Some(Shape::Word) => self.read_word(tokens, at),
            Some(Shape::Han) => self.read_han(tokens, at),
            Some(Shape::Digits | Shape::Mixed) => self.read_day(tokens, at),
            _ => {}
        }
    }

    fn read_word(&mut self, tokens: &Tokens<'_>, at: usize) {
        let hyphened = tokens.is_mark(at + 1, &['-']) && tokens.touches(at + 1) && tokens.touches(at + 2);
        let word = tokens.slice(at, if hyphened { at + 2 } else { at });
        self.read_name(word);
        if hyphened {
            self.read_name(tokens.word(at));
        }
        let next = tokens.word(at + 1);
        let phrase = match tokens.word(at) {
            "after" | "After" => next == "tomorrow",
            "before" | "Before" => next == "yesterday",
            "pasado" | "Pasado" => next == "mañana",
            _ => false,
        };
        self.days_away |= phrase;
        self.read_unit(tokens, at, names::unit(tokens.word(at)));
        if names::is_week_number(tokens.word(at)) {
            let dot = usize::from(tokens.is_mark(at + 1, &['.']));
            self.weeks.extend(counted(tokens, at + 1 + dot, 53).map(|(_, week)| week));
        }
    }

    fn read_name(&mut self, word: &str) {
        let plural = word.strip_suffix(['s', 'S']).filter(|_| names::meanings(word).is_empty()).unwrap_or(word);
        for (kind, value) in names::meanings(plural) {
            match *kind {
                "weekday" => self.weekdays.extend(names::weekday(plural)),
                "weekend" => self.weekdays.extend([Weekday::Saturday, Weekday::Sunday]),
                "ordinal" => self.days.extend(i8::try_from(*value)),
                "days-away" => self.days_away = true,
                "christmas" => self.christmas = true,
                "end" => self.end = true,
                "start" => self.start = true,
                "quarter" => self.quarter = true,
                _ => {}
            }
        }
    }

    fn read_han(&mut self, tokens: &Tokens<'_>, at: usize) {
        for length in 1..=3 {
            self.read_name(tokens.slice(at, at + length - 1));
        }
        self.quarter |= quarter_word(tokens, at).is_some();
        if names::unit(tokens.word(at)) == Some(7) {
            self.weeks.extend(at.checked_sub(1).and_then(|before| counted(tokens, before, 53)).map(|(_, week)| week));
        }
        self.read_unit(tokens, at, names::unit(tokens.word(at)));
        self.read_day(tokens, at);
    }

    /// The number that the unit at `at` counts, if one stands shortly before it.
    fn read_unit(&mut self, tokens: &Tokens<'_>, at: usize, unit: Option<u64>) {
        let Some(unit) = unit else { return };
        self.year |= unit == 365;
        self.week |= unit == 7;
        if unit == 7 || unit == 14 {
            self.counts.push((1, unit));
        }
        for before in at.saturating_sub(UNIT_REACH)..at {
            let counted = counted(tokens, before, i8::MAX).and_then(|(_, value)| u64::try_from(value).ok());
            let digits = tokens.digits(before).and_then(|digits| digits.parse().ok());
            let word = || number_words::number(tokens.word(before));
            self.counts.extend(digits.or(counted).or_else(word).map(|count| (count, unit)));
        }
    }

    /// A day of the month: `27th`, `27.`, `27号`, `le 27`.
    fn read_day(&mut self, tokens: &Tokens<'_>, at: usize) {
        let word = tokens.word(at);
        let stem = word.trim_end_matches(char::is_alphabetic);
        let ordinal = ["st", "nd", "rd", "th", "er"].contains(&word[stem.len()..].to_lowercase().as_str());
        let day = stem.parse::<i8>().ok().filter(|_| tokens.shape(at) != Some(Shape::Han)).map(|day| (1, day));
        let Some((taken, day)) = day.or_else(|| counted(tokens, at, 31)).filter(|(_, day)| (1..=31).contains(day))
        else {
            return;
        };
        let marked = ["日", "号", "號", "일", "."].contains(&tokens.word(at + taken));
        let before = at.checked_sub(1).map(|before| tokens.word(before).to_lowercase()).unwrap_or_default();
        let plain = tokens.digits(at).is_some() && DAY_WORDS.contains(&before.as_str());
        if ordinal || marked || plain {
            self.days.push(day);
        }
    }
}
