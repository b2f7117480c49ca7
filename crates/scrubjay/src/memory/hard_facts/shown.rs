//! What the writer was shown, as sets in which a claim is looked up.

use super::claims::Claim;
use super::identifiers::folded;
use super::tokens::{Shape, Tokens};
use super::{Passage, Side, candidates, locators, number_words, numbers, plain, relative};
use crate::dates::names;
use jiff::civil::Date;
use rustc_hash::FxHashSet;

/// Where a shown locator may be cut off.
const BOUNDARIES: [char; 5] = ['/', ':', '?', '#', '='];

/// How many tokens may stand between a number and a word such as "half" or "afternoon".
const CLOCK_REACH: usize = 4;

/// Every fact that was shown.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// Sorted, so that prefixes are found.
    locators: Vec<String>,
    numbers: FxHashSet<String>,
    /// Every word, folded; identifiers are words.
    words: FxHashSet<String>,
    dates: FxHashSet<Date>,
    /// Days of no named year.
    month_days: FxHashSet<(i8, i8)>,
    /// The same for the days in `dates`.
    dated_days: FxHashSet<(i8, i8)>,
    months: FxHashSet<(i16, i8)>,
    bare_months: FxHashSet<i8>,
    years: FxHashSet<i16>,
    quarters: FxHashSet<i8>,
}

impl Shown {
    pub(super) fn of(passages: &[Passage<'_>]) -> Self {
        let mut shown = Self::default();
        for passage in passages {
            shown.read(&plain::plain(passage.text), passage.day);
        }
        shown.locators.sort_unstable();
        shown.locators.dedup();
        shown
    }

    fn read(&mut self, text: &str, day: Option<Date>) {
        let tokens = Tokens::of(text);
        let mut months = Vec::new();
        for side in [Side::Draft, Side::Shown] {
            for claim in candidates(&tokens, side).into_iter().flat_map(|found| found.readings).flatten() {
                if let Claim::MonthDay(month, _) | Claim::Month(_, month) | Claim::BareMonth(month) = claim {
                    months.push(month);
                }
                self.insert(claim);
            }
        }
        for locator in locators::find(text, Side::Shown) {
            self.locators.extend(locator.key.rsplit('/').next().map(str::to_owned));
            let versioned = locator.key.rsplit_once('@').filter(|(package, _)| package.starts_with('@'));
            self.locators.extend(versioned.map(|(package, _)| package.to_owned()));
            self.locators.push(locator.key);
        }
        (0..tokens.len()).for_each(|at| self.read_word(&tokens, at, &mut months));
        if let Some(day) = day {
            months.sort_unstable();
            months.dedup();
            self.fit(relative::meant(&tokens, day, months));
        }
    }

    /// Reads a token by itself, more generously than a draft is read.
    fn read_word(&mut self, tokens: &Tokens<'_>, at: usize, months: &mut Vec<i8>) {
        let word = tokens.word(at);
        let touches = tokens.touches(at + 1) && tokens.touches(at + 2) && tokens.is_mark(at + 1, &['-']);
        let behind = if touches { at + 2 } else { at + 1 };
        match tokens.shape(at) {
            Some(Shape::Digits) if !is_part(tokens, at) => {
                self.numbers.insert(numbers::value(word, ""));
                self.read_groups(tokens, at);
            }
            Some(Shape::Han) => (1..=2).for_each(|length| self.read_clock(tokens, at, length)),
            Some(Shape::Word) => {
                self.read_clock(tokens, at, 1);
                self.words.insert(folded(word));
                let number = number_words::number(word).or_else(|| names::ordinal(word));
                self.numbers.extend(number.map(|value| value.to_string()));
                let month = names::month(word);
                months.extend(month);
                self.bare_months.extend(month);
                if matches!(tokens.shape(behind), Some(Shape::Digits | Shape::Mixed)) {
                    self.words.insert(folded(tokens.slice(at, behind)));
                }
            }
            Some(Shape::Mixed) => {
                self.words.insert(folded(word));
                // `M8x40` is an M8, and a 40.
                for part in word.split('x').filter(|part| part.ends_with(|c: char| c.is_ascii_digit())) {
                    self.words.insert(folded(part));
                    self.numbers.extend(outer_digits(part));
                }
                self.numbers.extend(outer_digits(word));
            }
            _ => {}
        }
        if touches && tokens.shape(at) != Some(Shape::Han) {
            self.words.insert(folded(tokens.slice(at, behind)));
        }
    }

    /// Groups of digits are one number too, and an identifier with the word before them: `MSKU 123456-7`.
    fn read_groups(&mut self, tokens: &Tokens<'_>, at: usize) {
        let before = at.checked_sub(1).filter(|before| tokens.shape(*before) == Some(Shape::Word));
        for (_, joined) in numbers::runs(tokens, at) {
            self.words.extend(before.map(|before| folded(&format!("{}{joined}", tokens.word(before)))));
            self.numbers.insert(numbers::value(&joined, ""));
        }
    }

    /// Words that say a number without naming it: half past nine, noon, three in the afternoon, an hour and a half.
    fn read_clock(&mut self, tokens: &Tokens<'_>, at: usize, length: usize) {
        let word = tokens.slice(at, at + length - 1);
        let (mut half, mut afternoon) = (false, false);
        for (kind, value) in names::meanings(word) {
            match *kind {
                "half" => half = true,
                "afternoon" => afternoon = true,
                "noon" => drop(self.numbers.insert(value.to_string())),
                _ => {}
            }
        }
        let joined = word.strip_suffix("einhalb").and_then(number_words::number);
        self.numbers.extend(joined.map(|whole| format!("{whole}.5")));
        if half {
            self.numbers.extend(["30", "50", "0.5", "1.5"].map(str::to_owned));
        }
        if !half && !afternoon {
            return;
        }
        for near in at.saturating_sub(CLOCK_REACH)..=at + length - 1 + CLOCK_REACH {
            let stem = tokens.word(near).trim_end_matches(char::is_alphabetic);
            let value = stem.parse().ok().or_else(|| number_words::number(tokens.word(near)));
            let Some(value) = value.filter(|value: &u64| *value < 100) else { continue };
            if half {
                self.numbers.extend([format!("{value}.5"), value.saturating_sub(1).to_string()]);
            } else if value < 12 {
                self.numbers.insert((value + 12).to_string());
            }
        }
    }

    fn insert(&mut self, claim: Claim) {
        match claim {
            Claim::Locator(key) => self.locators.push(key),
            Claim::Number(value) => drop(self.numbers.insert(value)),
            Claim::Identifier(key) => drop(self.words.insert(key)),
            Claim::Day(date) => {
                self.dates.insert(date);
                self.dated_days.insert((date.month(), date.day()));
                self.numbers.insert(date.day().to_string());
                self.insert(Claim::Month(date.year(), date.month()));
            }
            Claim::MonthDay(month, day) => {
                self.month_days.insert((month, day));
                self.numbers.insert(day.to_string());
                self.bare_months.insert(month);
            }
            Claim::Month(year, month) => {
                self.months.insert((year, month));
                self.bare_months.insert(month);
                self.insert(Claim::Year(year));
            }
            Claim::BareMonth(month) => drop(self.bare_months.insert(month)),
            Claim::Year(year) => {
                self.years.insert(year);
                self.numbers.insert(year.to_string());
            }
            Claim::Quarter(year, quarter) => {
                self.quarters.insert(quarter);
                self.years.extend(year);
            }
        }
    }

    /// Takes in what a typed message can mean.
    fn fit(&mut self, meant: relative::Meant) {
        self.dated_days.extend(meant.dates.iter().map(|date| (date.month(), date.day())));
        self.dates.extend(meant.dates);
        self.bare_months.extend(meant.months.iter().map(|(_, month)| *month));
        self.months.extend(meant.months);
        self.years.extend(meant.years);
        self.quarters.extend(meant.quarters);
    }

    pub(super) fn supports(&self, claim: &Claim) -> bool {
        match claim {
            Claim::Locator(key) => self.has_locator(key),
            Claim::Number(value) => self.numbers.contains(value),
            Claim::Identifier(key) => self.words.contains(key),
            Claim::Day(date) => {
                let shown = self.month_days.contains(&(date.month(), date.day())) && self.years.contains(&date.year());
                shown || self.dates.contains(date)
            }
            Claim::MonthDay(month, day) => {
                self.month_days.contains(&(*month, *day)) || self.dated_days.contains(&(*month, *day))
            }
            Claim::Month(year, month) => {
                let named = self.bare_months.contains(month) && self.years.contains(year);
                named || self.months.contains(&(*year, *month))
            }
            Claim::BareMonth(month) => self.bare_months.contains(month),
            Claim::Year(year) => self.years.contains(year),
            Claim::Quarter(year, quarter) => {
                self.quarters.contains(quarter) && year.is_none_or(|year| self.years.contains(&year))
            }
        }
    }

    /// Equal to a shown one, or the beginning of one up to a boundary.
    fn has_locator(&self, key: &str) -> bool {
        let starts = |prefix: &str| {
            let at = self.locators.partition_point(|shown| shown.as_str() < prefix);
            self.locators.get(at).is_some_and(|shown| shown.starts_with(prefix))
        };
        let equal = self.locators.binary_search_by(|shown| shown.as_str().cmp(key)).is_ok();
        equal || BOUNDARIES.iter().any(|boundary| starts(&format!("{key}{boundary}")))
    }
}

/// Whether digits are a part of a longer number, whose value is another.
fn is_part(tokens: &Tokens<'_>, at: usize) -> bool {
    let marks = ['.', ',', '\'', '’'];
    let behind = tokens.is_mark(at + 1, &marks) && tokens.touches(at + 1) && tokens.touches(at + 2);
    let before = at.checked_sub(2).is_some_and(|before| {
        tokens.is_mark(before + 1, &marks)
            && tokens.touches(at)
            && tokens.touches(at - 1)
            && tokens.digits(before).is_some()
    });
    before || behind && tokens.digits(at + 2).is_some()
}

/// The digits of `RFC7231` and `10s`; those of `x8Kq2` are no number.
fn outer_digits(word: &str) -> Option<String> {
    let is_digit = |c: char| c.is_ascii_digit();
    let digits = word.trim_matches(|c| !is_digit(c));
    (digits.chars().all(is_digit) && !word.contains('_')).then(|| numbers::value(digits, ""))
}
