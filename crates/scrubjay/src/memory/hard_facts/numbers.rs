//! Numbers by value, in digits: `1,150`, `1.150`, `1'150`, `1 150`, `1,5`, `v1.2.3`, `20:00`, `3/4`, `10s`, `1.5k`, `10万`.

use super::Side;
use super::claims::{Claim, Reading};
use super::number_words;
use super::tokens::{Shape, Tokens};
use crate::dates::names;

const TEN: u64 = 10;

/// Letters between the digits of a duration or a size: `1h30m`, `2x4`.
const INNER: [&str; 9] = ["d", "h", "hr", "m", "min", "s", "w", "x", "e"];

/// A version has no more parts than this; more are a list.
const LONGEST_VERSION: usize = 5;

/// Groups of digits in one phone or order number.
const MOST_GROUPS: usize = 6;
/// Fewer digits in several groups are several numbers.
const LEAST_DIGITS: usize = 7;

/// The number that begins at a token, in digits or words.
pub(super) fn at(tokens: &Tokens<'_>, at: usize, side: Side) -> Option<Reading> {
    match tokens.shape(at)? {
        Shape::Digits | Shape::Mixed => phone(tokens, at)
            .or_else(|| number_words::han(tokens, at, side))
            .or_else(|| fraction(tokens, at))
            .or_else(|| Numeral::at(tokens, at).map(|numeral| numeral.reading(tokens, at, side)))
            .or_else(|| duration(tokens.word(at))),
        Shape::Han => number_words::han(tokens, at, side),
        Shape::Word => number_words::worded(tokens, at, side),
        Shape::Mark(_) => None,
    }
}

/// A number as it is written. The digits 0 and 1 are no facts.
pub(super) fn claims(values: impl IntoIterator<Item = String>) -> Vec<Claim> {
    values.into_iter().filter(|value| !matches!(value.as_str(), "0" | "1")).map(Claim::Number).collect()
}

/// Whole part and fraction as a value: no leading and no trailing zeros.
pub(super) fn value(whole: &str, fraction: &str) -> String {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let (whole, fraction) = (digits(whole), digits(fraction));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

/// A value with so many zeros more.
fn scaled(number: &str, zeros: usize) -> String {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let moved: String = fraction.chars().chain(std::iter::repeat('0')).take(zeros).collect();
    value(&format!("{whole}{moved}"), fraction.get(zeros..).unwrap_or_default())
}

/// Groups of digits with marks between them, and letters behind.
struct Numeral<'t> {
    groups: Vec<&'t str>,
    marks: Vec<char>,
    /// Letters that touch the last group, such as a unit.
    suffix: &'t str,
    /// Whether only spaces stand between the groups.
    spaced: bool,
    tokens: usize,
}

impl<'t> Numeral<'t> {
    fn at(tokens: &Tokens<'t>, at: usize) -> Option<Self> {
        let first = tokens.word(at);
        let (digits, suffix) = group(first.strip_prefix(['v', 'V']).unwrap_or(first))?;
        let mut numeral = Self { groups: vec![digits], marks: Vec::new(), suffix, spaced: true, tokens: 1 };
        while numeral.suffix.is_empty() && numeral.grow(tokens, at + numeral.tokens) {}
        Some(numeral)
    }

    /// Takes one more group, if there is one.
    fn grow(&mut self, tokens: &Tokens<'t>, next: usize) -> bool {
        if let Some(Shape::Mark(mark @ ('.' | ',' | '\'' | '’' | ':'))) = tokens.shape(next) {
            let touches = tokens.touches(next) && tokens.touches(next + 1);
            let Some((digits, suffix)) = group(tokens.word(next + 1)).filter(|_| touches) else { return false };
            self.groups.push(digits);
            self.marks.push(mark);
            self.spaced = false;
            self.suffix = suffix;
            self.tokens += 2;
            return true;
        }
        let thousands = tokens.digits(next).filter(|digits| digits.len() == 3 && self.takes_thousands());
        let one_space = tokens.slice(next.saturating_sub(1), next).matches(char::is_whitespace).count() == 1;
        let Some(digits) = thousands.filter(|_| one_space) else { return false };
        self.groups.push(digits);
        self.marks.push(' ');
        self.tokens += 1;
        true
    }

    fn takes_thousands(&self) -> bool {
        let first = self.groups.first().copied().unwrap_or_default();
        first.len() < 4 && !first.starts_with('0') && self.spaced
    }

    fn reading(&self, tokens: &Tokens<'_>, at: usize, side: Side) -> Reading {
        let next = at + self.tokens;
        let after = if self.suffix.is_empty() { tokens.word(next) } else { self.suffix };
        let mut values = self.values(side);
        if is_afternoon(after) {
            values.extend(self.afternoon());
        } else if is_clock(after) && self.groups.len() == 2 {
            values.push(self.groups.iter().map(|group| value(group, "")).collect());
        }
        let mut taken = self.tokens;
        if let Some((zeros, sure)) = multiplier(after, self.suffix.is_empty()) {
            let times = |values: &Vec<String>| -> Vec<String> { values.iter().map(|v| scaled(v, zeros)).collect() };
            let scaled: Vec<Vec<String>> = values.iter().map(times).collect();
            values = if sure && side == Side::Draft { scaled } else { [values, scaled].concat() };
            taken += usize::from(self.suffix.is_empty() && tokens.shape(next) == Some(Shape::Han));
            taken += usize::from(self.suffix.is_empty() && tokens.shape(next) == Some(Shape::Word));
        }
        Reading { tokens: taken, readings: values.into_iter().map(claims).collect(), certain: true }
    }

    /// Every way to read the digits: as one value, or as several that stand together.
    fn values(&self, side: Side) -> Vec<Vec<String>> {
        let apart: Vec<String> = self.groups.iter().map(|group| value(group, "")).collect();
        let Some((last, rest)) = self.groups.split_last().filter(|_| !self.marks.is_empty()) else {
            return vec![apart];
        };
        let first = self.marks.first().copied().unwrap_or_default();
        let end = self.marks.last().copied().unwrap_or_default();
        let same = self.marks.iter().all(|mark| *mark == first);
        let in_thousands = |groups: &[&str]| groups.iter().skip(1).all(|group| group.len() == 3);
        let joined = || vec![value(&self.groups.concat(), "")];
        let decimal = || vec![value(&rest.concat(), last)];
        let mut all = Vec::new();
        match (first, same, rest.len()) {
            (':', true, _) => return vec![apart, vec![self.groups.join(":")]],
            ('.' | ',', true, 1) => all.push(decimal()),
            ('.', true, _) => all.push(vec![dotted(&self.groups)]),
            (_, false, _) if matches!(end, '.' | ',') && in_thousands(rest) => all.push(decimal()),
            _ => {}
        }
        if same && in_thousands(&self.groups) && self.groups.first().is_some_and(|group| group.len() < 4) {
            all.push(joined());
        }
        let list =
            (first != '.' || !same) && (side == Side::Shown || apart.iter().all(|value| value != "0" && value != "1"));
        if side == Side::Shown && first == '.' && rest.len() == 1 && last.len() == 2 {
            // `7.45` may be a time.
            all.push(vec![format!("{}:{last}", rest.concat())]);
        }
        if side == Side::Shown && first == '.' && same {
            // `3.12.4` is a 3.12, and a 3.
            all.extend(
                (1..self.groups.len().min(LONGEST_VERSION))
                    .map(|end| vec![dotted(self.groups.get(..end).unwrap_or_default())]),
            );
        }
        if list && !in_thousands(&self.groups) || all.is_empty() || first == ' ' {
            all.push(apart);
        }
        all
    }

    /// `8 pm` is also 20.
    fn afternoon(&self) -> Option<Vec<String>> {
        let hour: u8 = self.groups.first()?.parse().ok().filter(|hour| *hour < 12)?;
        let minutes = self.groups.iter().skip(1).map(|group| value(group, ""));
        Some(std::iter::once((hour + 12).to_string()).chain(minutes).collect())
    }
}

/// A decimal number, or a version as it is written.
fn dotted(groups: &[&str]) -> String {
    match groups {
        [whole] => value(whole, ""),
        [whole, fraction] => value(whole, fraction),
        _ => groups.join("."),
    }
}

/// The digits that a word begins with, and the letters behind them.
fn group(word: &str) -> Option<(&str, &str)> {
    let digits = word.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(word.len());
    let (digits, suffix) = word.split_at(digits);
    let fits = digits.starts_with(|c: char| c.is_ascii_digit()) && !suffix.contains(|c: char| c.is_ascii_digit());
    (fits && !suffix.contains('_') && !digits.ends_with('_')).then_some((digits, suffix))
}

fn is_afternoon(word: &str) -> bool {
    matches!(word.to_lowercase().as_str(), "pm" | "p")
}

fn is_clock(word: &str) -> bool {
    matches!(word.to_lowercase().as_str(), "uhr" | "h" | "am" | "heures" | "horas" | "ore" | "uur")
}

/// How many zeros a word behind a number adds, and whether it can mean nothing else.
fn multiplier(word: &str, apart: bool) -> Option<(usize, bool)> {
    let lower = word.to_lowercase();
    match lower.as_str() {
        "k" if !apart => return Some((3, true)),
        "m" if !apart => return Some((6, false)),
        "cent" | "cents" => return None,
        _ => {}
    }
    let factor = names::number(&lower).filter(|factor| *factor > 99)?;
    let zeros = factor.checked_ilog10().and_then(|zeros| usize::try_from(zeros).ok())?;
    Some((zeros, !number_words::is_ambiguous(&lower)))
}

/// The groups of digits from a token on that may be one long number: how many tokens, and their digits together.
pub(super) fn runs(tokens: &Tokens<'_>, at: usize) -> Vec<(usize, String)> {
    let (mut next, mut joined, mut found) = (at, String::new(), Vec::new());
    for _ in 0..MOST_GROUPS {
        let Some(digits) = tokens.digits(next) else { break };
        joined.push_str(digits);
        if next > at && joined.len() >= LEAST_DIGITS {
            found.push((next + 1 - at, joined.clone()));
        }
        next += 1 + usize::from(tokens.is_mark(next + 1, &['-', '/', ')', '(']));
    }
    found
}

/// `+49 30 5550123` and `030/555 01 23`: one number, or each group by itself.
fn phone(tokens: &Tokens<'_>, at: usize) -> Option<Reading> {
    let before = at.checked_sub(1).is_some_and(|before| tokens.is_mark(before, &['+']) && tokens.touches(at));
    let (taken, joined) = runs(tokens, at).pop().filter(|_| before || tokens.word(at).starts_with('0'))?;
    let groups = (at..at + taken).filter_map(|place| tokens.digits(place)).map(|digits| value(digits, ""));
    Some(Reading { tokens: taken, readings: vec![claims([value(&joined, "")]), claims(groups)], certain: true })
}

/// `3/4`: both numbers, or the value.
fn fraction(tokens: &Tokens<'_>, at: usize) -> Option<Reading> {
    let (above, below) = (tokens.digits(at)?, tokens.digits(at + 2)?);
    let marks = ['/', '\u{2044}'];
    let alone = tokens.is_mark(at + 1, &marks) && !tokens.is_mark(at + 3, &marks) && !tokens.is_mark(at + 3, &['.']);
    let before = at.checked_sub(1).is_some_and(|before| tokens.is_mark(before, &['/', '.', ',']) && tokens.touches(at));
    if !alone || before || !tokens.touches(at + 1) || !tokens.touches(at + 2) {
        return None;
    }
    let mut readings = vec![claims([value(above, ""), value(below, "")])];
    readings.extend(quotient(above, below).map(|value| claims([value])));
    Some(Reading { tokens: 3, readings, certain: true })
}

/// A quotient that has an end, such as 0.75.
fn quotient(above: &str, below: &str) -> Option<String> {
    let (above, below): (u64, u64) = (above.parse().ok()?, below.parse().ok()?);
    let shift = (0..7_u32).find(|shift| {
        let whole = above.checked_mul(TEN.pow(*shift));
        whole.zip(Some(below)).and_then(|(whole, below)| whole.checked_rem(below)) == Some(0)
    })?;
    let whole = above.checked_mul(TEN.pow(shift))?.checked_div(below)?;
    let scale = TEN.pow(shift);
    let width = usize::try_from(shift).ok()?;
    let fraction = if shift == 0 { String::new() } else { format!("{:0width$}", whole % scale) };
    Some(value(&(whole / scale).to_string(), &fraction))
}

/// `1h30m` and `20x30`: each number by itself.
fn duration(word: &str) -> Option<Reading> {
    let is_digit = |c: char| c.is_ascii_digit();
    let fits = word.starts_with(is_digit) && word.split(is_digit).all(|part| part.is_empty() || INNER.contains(&part));
    let parts = word.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    fits.then(|| Reading::certain(1, claims(parts.map(|part| value(part, "")))))
}
