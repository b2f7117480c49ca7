//! Numbers by value, in words: `forty-two`, `fünfundvierzig`, `quatre-vingt-dix`, `三百五十`.

use super::Side;
use super::claims::Reading;
use super::numbers::claims;
use super::plain::is_han;
use super::tokens::{Shape, Tokens};
use crate::dates::names;

/// Number words of one language that are ordinary words or names in another. A draft is not doubted for them.
const AMBIGUOUS: [&str; 18] = [
    "acht", "cent", "cents", "doce", "due", "elf", "mil", "mille", "neuf", "once", "otto", "quince", "sei", "seis",
    "seize", "sept", "sieben", "venti",
];

/// "Millions of rows" is no number.
const VAGUE: [&str; 7] = ["millions", "billions", "milliards", "millionen", "milliarden", "millones", "milioni"];

/// What German and Dutch numbers begin with when they are written as one word.
const COMPOUND: [&str; 15] = [
    "ein", "zwei", "zwo", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf", "hundert",
    "tausend",
];

/// What is counted: a single ideograph is a number only before one of these.
const COUNTERS: [&str; 2] = [
    "天年月日个個次条條人名分秒周週小时時点點件台行步页頁章节節元块塊倍岁歲层層种種度米公克斤吨噸位家份项項轮輪级級",
    "円本枚回歳階割つ様か箇ヶヵ개명번시",
];

/// May stand between a number and what is counted: 十来年, 十几个.
const ABOUT: &str = "来來几幾多数數余餘";

/// Before a number these make an ordinal, a weekday or something vague of it: 第三, 周三, 几十, 上百.
const NOT_BEFORE: [&str; 11] = ["第", "周", "週", "期", "拜", "几", "幾", "数", "數", "上", "成"];

/// Ideographs of numbers that together mean something else.
const IDIOMS: [&str; 4] = ["千万", "千萬", "万一", "萬一"];

pub(super) fn is_ambiguous(lower: &str) -> bool {
    AMBIGUOUS.contains(&lower)
}

/// A number in words with spaces or hyphens between them. One and two are no facts.
pub(super) fn worded(tokens: &Tokens<'_>, at: usize, side: Side) -> Option<Reading> {
    let first = number(tokens.word(at))?;
    let mut sum = Sum::default();
    sum.add(first, tokens.word(at));
    let (mut taken, mut values) = (1, vec![first]);
    while let Some((step, value, word)) = following(tokens, at + taken, &sum) {
        if !sum.add(value, word) {
            break;
        }
        values.push(value);
        taken += step;
    }
    let alone = values.len() == 1;
    let lower = tokens.word(at).to_lowercase();
    let soft = first < 3 || is_ambiguous(&lower) || VAGUE.contains(&lower.as_str());
    if alone && side == Side::Draft && soft {
        return None;
    }
    let mut readings = vec![claims([sum.total().to_string()])];
    if !alone && side == Side::Shown {
        readings.push(claims(values.iter().map(u64::to_string)));
    }
    Some(Reading { tokens: taken, readings, certain: true })
}

/// The next word of the same number: how many tokens on, and its value.
fn following<'t>(tokens: &Tokens<'t>, at: usize, sum: &Sum) -> Option<(usize, u64, &'t str)> {
    let word = tokens.word(at);
    let hyphen = tokens.is_mark(at, &['-']) && tokens.touches(at) && tokens.touches(at + 1);
    let joins = match word.to_lowercase().as_str() {
        "and" => sum.part.is_multiple_of(100),
        "et" | "y" | "e" | "und" => sum.part.is_multiple_of(10),
        _ => hyphen,
    };
    let step = if joins { 2 } else { 1 };
    let word = tokens.word(at + step - 1);
    (tokens.shape(at + step - 1) == Some(Shape::Word)).then_some(())?;
    Some((step, number(word)?, word))
}

/// A number that grows word by word.
#[derive(Debug, Default)]
struct Sum {
    /// Thousands and more.
    done: u64,
    /// Below a thousand.
    part: u64,
}

impl Sum {
    /// Whether the value fits behind what was said so far.
    fn add(&mut self, value: u64, word: &str) -> bool {
        let tens = self.part % 100;
        let large = value > 999;
        let fits = match value {
            _ if large || value == 100 => self.part > 0 || self.done == 0,
            20 if word.to_lowercase().starts_with("vingt") && tens == 4 => {
                self.part = self.part - 4 + 60;
                true
            }
            0 => self.part == 0 && self.done == 0,
            1..=9 => tens == 0 || tens.is_multiple_of(10) && tens > 19,
            10..=19 => tens == 0 || tens == 60 || tens == 80,
            _ => tens == 0,
        };
        if fits && large {
            self.done = self.done.saturating_add(self.part.max(1).saturating_mul(value));
            self.part = 0;
        } else if fits && value == 100 {
            self.part = self.part.max(1).saturating_mul(100);
        } else if fits {
            self.part = self.part.saturating_add(value);
        }
        fits
    }

    fn total(&self) -> u64 {
        self.done.saturating_add(self.part)
    }
}

/// The value of one word.
pub(super) fn number(word: &str) -> Option<u64> {
    names::number(word).or_else(|| {
        let lower = word.to_lowercase();
        if let Some(unit) = lower.strip_prefix("veinti").or_else(|| lower.strip_prefix("veintí")) {
            return names::number(unit).filter(|unit| *unit < 10).map(|unit| 20 + unit);
        }
        COMPOUND.iter().any(|start| lower.starts_with(start)).then(|| compound(&lower)).flatten()
    })
}

/// A German number in one word, longest part first.
fn compound(word: &str) -> Option<u64> {
    if word.chars().count() > 60 {
        return None;
    }
    let (mut rest, mut done, mut part) = (word, 0_u64, 0_u64);
    while !rest.is_empty() {
        rest = rest.strip_prefix("und").unwrap_or(rest);
        let ends = (1..=rest.len().min(12)).rev().filter(|end| rest.is_char_boundary(*end));
        let (end, value) = ends.into_iter().find_map(|end| Some((end, names::number(&rest[..end])?)))?;
        match value {
            100 => part = part.max(1).saturating_mul(100),
            value if value > 999 => {
                done = done.saturating_add(part.max(1).saturating_mul(value));
                part = 0;
            }
            value => part = part.saturating_add(value),
        }
        rest = &rest[end..];
    }
    Some(done.saturating_add(part))
}

/// A number in ideographs, digits among them: 三百五十, 10万, 3千5百, 二〇二六.
pub(super) fn han(tokens: &Tokens<'_>, at: usize, side: Side) -> Option<Reading> {
    let (taken, value, digits) = ideographs(tokens, at)?;
    if side == Side::Draft && !is_counted(tokens, at, taken) {
        return None;
    }
    let mut readings = vec![claims([value.to_string()])];
    if let Some(digits) = digits {
        readings.push(claims(digits));
    }
    if value < 3 {
        readings = vec![Vec::new()];
    }
    if side == Side::Shown {
        readings.push(vec![super::claims::Claim::Number(value.to_string())]);
    }
    Some(Reading { tokens: taken, readings, certain: true })
}

/// Tokens, value, and the single values where only digits follow each other (三四 may be three or four).
pub(super) fn ideographs(tokens: &Tokens<'_>, at: usize) -> Option<(usize, u128, Option<Vec<String>>)> {
    let (mut done, mut part, mut digit) = (0_u128, 0_u128, None::<u128>);
    let (mut taken, mut has_unit, mut singles) = (0, false, Vec::new());
    while taken < 24 {
        let place = at + taken;
        if let Some(digits) = tokens.digits(place) {
            let unit = ideograph(tokens, place + 1).filter(|unit| *unit > 9);
            let Some(value) = digits.parse().ok().filter(|_| unit.is_some() && digit.is_none()) else { break };
            digit = Some(value);
        } else {
            let Some(value) = ideograph(tokens, place) else { break };
            match value {
                0..=9 => {
                    singles.push(value);
                    digit = Some(digit.unwrap_or(0).saturating_mul(10).saturating_add(value));
                }
                value if value.checked_ilog10().is_some_and(|zeros| zeros < 4) => {
                    part = part.saturating_add(digit.take().unwrap_or(1).saturating_mul(value))
                }
                _ => {
                    let below = part.saturating_add(digit.take().unwrap_or(0)).max(u128::from(done == 0));
                    done = done.saturating_add(below.saturating_mul(value));
                    part = 0;
                }
            }
            has_unit |= value > 9;
        }
        taken += 1;
    }
    let value = done.saturating_add(part).saturating_add(digit.unwrap_or(0));
    let hard =
        |values: Vec<u128>| values.into_iter().filter(|value| *value > 2).map(|value| value.to_string()).collect();
    let digits = (!has_unit && singles.len() > 1).then(|| hard(singles));
    (taken > 0).then_some((taken, value, digits))
}

fn ideograph(tokens: &Tokens<'_>, at: usize) -> Option<u128> {
    (tokens.shape(at)? == Shape::Han).then(|| names::number(tokens.word(at)).map(u128::from)).flatten()
}

/// Whether ideographs are a number in a draft, and not part of a word, an ordinal or a weekday.
fn is_counted(tokens: &Tokens<'_>, at: usize, taken: usize) -> bool {
    let before = at.checked_sub(1).map_or("", |before| tokens.word(before));
    let (next, over) = (tokens.word(at + taken), tokens.word(at + taken + 1));
    let whole = tokens.slice(at, at + taken - 1);
    let stands = |word: &str| {
        !word.is_empty() && word.starts_with(is_han) && COUNTERS.iter().any(|counters| counters.contains(word))
    };
    let counted = stands(next) || !next.is_empty() && ABOUT.contains(next) && stands(over);
    let very = whole == "十" && next == "分" && !matches!(over, "钟" | "鐘" | "間" | "间" | "以" | "後" | "前");
    let part_of_a_word = NOT_BEFORE.contains(&before) || very;
    let digits = tokens.digits(at).is_some();
    let idiom = IDIOMS.contains(&whole);
    digits || !part_of_a_word && (counted || taken > 1 && !idiom)
}
