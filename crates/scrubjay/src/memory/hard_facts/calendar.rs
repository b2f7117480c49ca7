//! Dates in any spelling: `2026-11-20`, `20.11.2026`, `20 November`, `November 20th, 2026`, `August 2026`, `Q1 2027`, `11月20日`.

use super::claims::{Claim, Reading};
use super::number_words::ideographs;
use super::tokens::{Shape, Tokens};
use crate::dates::names;
use jiff::civil::Date;

/// Months that are also ordinary words: without a capital they need a day or a year, and may be none even then.
const AMBIGUOUS: [&str; 8] = ["may", "march", "mar", "mars", "sept", "dec", "jan", "mai"];

const YEAR_MARKS: [&str; 2] = ["年", "년"];
const MONTH_MARKS: [&str; 2] = ["月", "월"];
const DAY_MARKS: [&str; 4] = ["日", "号", "號", "일"];
const RANGE_WORDS: [&str; 11] = ["to", "bis", "au", "al", "a", "and", "und", "et", "y", "until", "till"];
const OF: [&str; 6] = ["of", "de", "del", "d", "di", "do"];

/// The date that begins at a token.
pub(super) fn at(tokens: &Tokens<'_>, at: usize) -> Option<Reading> {
    match tokens.shape(at)? {
        Shape::Digits => han(tokens, at)
            .or_else(|| year_first(tokens, at))
            .or_else(|| day_first(tokens, at))
            .or_else(|| day_and_month(tokens, at))
            .or_else(|| quarter(tokens, at))
            .or_else(|| day_of_month_name(tokens, at))
            .or_else(|| year_alone(tokens, at)),
        Shape::Mixed => quarter(tokens, at).or_else(|| day_of_month_name(tokens, at)),
        Shape::Han => han(tokens, at).or_else(|| quarter(tokens, at)),
        Shape::Word => month_name(tokens, at).or_else(|| quarter(tokens, at)),
        Shape::Mark(_) => None,
    }
}

/// A year in four digits.
pub(super) fn year(tokens: &Tokens<'_>, at: usize) -> Option<i16> {
    let digits = tokens.digits(at).filter(|digits| digits.len() == 4)?;
    digits.parse().ok().filter(|_| digits.starts_with("19") || digits.starts_with("20"))
}

/// One or two digits up to `most`.
fn small(digits: Option<&str>, most: i8) -> Option<i8> {
    let digits = digits.filter(|digits| digits.len() < 3)?;
    digits.parse().ok().filter(|value| (1..=most).contains(value))
}

/// A day in digits, with an ordinal ending or without: `27`, `27th`, `1er`.
fn day(tokens: &Tokens<'_>, at: usize) -> Option<i8> {
    let word = tokens.word(at);
    let stem = word.trim_end_matches(char::is_alphabetic);
    let ending = &word[stem.len()..];
    let ordinal =
        ["", "st", "nd", "rd", "th", "er", "e", "o", "º", "ª", "ten"].contains(&ending.to_lowercase().as_str());
    small(Some(stem).filter(|_| ordinal), 31)
}

fn joined(tokens: &Tokens<'_>, at: usize, marks: usize) -> bool {
    (1..=marks).all(|step| tokens.touches(at + step))
}

/// `2026-11-20`, `2026/11/20`, `2026-11`, `2026-11-20T09:30`.
fn year_first(tokens: &Tokens<'_>, at: usize) -> Option<Reading> {
    let marks = ['-', '/', '.'];
    let year = year(tokens, at)?;
    let month = small(tokens.digits(at + 2), 12)?;
    if !tokens.is_mark(at + 1, &marks) || !joined(tokens, at, 2) {
        return None;
    }
    let same = tokens.word(at + 3) == tokens.word(at + 1) && joined(tokens, at + 2, 2);
    let word = tokens.word(at + 4);
    let stem = word.split(['T', 't']).next().unwrap_or_default();
    let date = small(Some(stem).filter(|_| same), 31).and_then(|day| Date::new(year, month, day).ok());
    if let Some(date) = date {
        return Some(Reading::certain(5, vec![Claim::Day(date)]));
    }
    let certain = tokens.is_mark(at + 1, &['-']) && tokens.word(at + 2).len() == 2;
    Some(Reading { tokens: 3, readings: vec![vec![Claim::Month(year, month)]], certain })
}

/// `20.11.2026`, `11/20/2026`, `20-11-26`.
fn day_first(tokens: &Tokens<'_>, at: usize) -> Option<Reading> {
    let (one, other) = (small(tokens.digits(at), 31)?, small(tokens.digits(at + 2), 31)?);
    let mark = tokens.word(at + 1);
    let dotted = mark == ".";
    let full = year(tokens, at + 4);
    let spaced = dotted && full.is_some();
    if !["-", "/", "."].contains(&mark) || tokens.word(at + 3) != mark || !(spaced || joined(tokens, at, 4)) {
        return None;
    }
    let short = || tokens.digits(at + 4).filter(|digits| digits.len() == 2)?.parse::<i16>().ok();
    let year = full.or_else(|| short().map(|year| 20 * 100 + year))?;
    let orders = [(other, one), (one, other)];
    let readings: Vec<Vec<Claim>> = orders
        .into_iter()
        .take(if dotted { 1 } else { 2 })
        .filter_map(|(month, day)| Date::new(year, month, day).ok())
        .map(|date| vec![Claim::Day(date)])
        .collect();
    (!readings.is_empty()).then_some(Reading { tokens: 5, readings, certain: full.is_some() })
}

/// `20.11.` and `11/20`, which may also be a version and a fraction.
fn day_and_month(tokens: &Tokens<'_>, at: usize) -> Option<Reading> {
    let (one, other) = (small(tokens.digits(at), 31)?, small(tokens.digits(at + 2), 31)?);
    let ends = !(tokens.touches(at + 4) && tokens.digits(at + 4).is_some());
    let dotted = tokens.word(at + 1) == "." && tokens.word(at + 3) == "." && joined(tokens, at, 3) && ends;
    let slashed = tokens.word(at + 1) == "/" && tokens.word(at + 3) != "/" && joined(tokens, at, 2);
    if !dotted && !slashed {
        return None;
    }
    let orders = [(other, one), (one, other)];
    let fits = orders.into_iter().take(if dotted { 1 } else { 2 }).filter(|(month, _)| *month < 13);
    let readings: Vec<Vec<Claim>> = fits.map(|(month, day)| vec![Claim::MonthDay(month, day)]).collect();
    (!readings.is_empty()).then_some(Reading { tokens: if dotted { 4 } else { 3 }, readings, certain: false })
}

/// `20 November 2026`, `20. November`, `27th of May`, `20 de noviembre de 2026`, `21–23 December`.
fn day_of_month_name(tokens: &Tokens<'_>, at: usize) -> Option<Reading> {
    let first = day(tokens, at)?;
    let mut next = at + 1 + usize::from(tokens.is_mark(at + 1, &['.']));
    let ranged = tokens.is_mark(next, &['-', '–', '/', '&', ',']) || RANGE_WORDS.contains(&tokens.word(next));
    let last = day(tokens, next + 1).filter(|_| ranged);
    if last.is_some() {
        next += 2 + usize::from(tokens.is_mark(next + 2, &['.']));
    }
    next += usize::from(OF.contains(&tokens.word(next)));
    next += usize::from(tokens.is_mark(next, &['\'', '’']));
    let month = month(tokens, next)?;
    let (taken, year) = year_behind(tokens, next + 1);
    let days = std::iter::once(first).chain(last);
    let claims = days.map(|day| dated(year, month, day)).collect::<Option<Vec<Claim>>>()?;
    Some(Reading { tokens: next + 1 + taken - at, readings: vec![claims], certain: is_certain(tokens.word(next)) })
}

/// `November 20th, 2026`, `November 20`, `November 2026`, `November`.
fn month_name(tokens: &Tokens<'_>, at: usize) -> Option<Reading> {
    let month = month(tokens, at)?;
    let certain = is_certain(tokens.word(at));
    let dot = usize::from(tokens.is_mark(at + 1, &['.']) && tokens.word(at).chars().count() < 5);
    let next = at + 1 + dot;
    let clock = tokens.is_mark(next + 1, &[':', '%']) && tokens.touches(next + 1);
    if let Some(first) = day(tokens, next).filter(|_| !clock) {
        let ranged = tokens.is_mark(next + 1, &['-', '–']) && tokens.touches(next + 1) && tokens.touches(next + 2);
        let last = day(tokens, next + 2).filter(|_| ranged);
        let behind = next + if last.is_some() { 3 } else { 1 };
        let (taken, year) = year_behind(tokens, behind);
        let claims: Option<Vec<Claim>> =
            std::iter::once(first).chain(last).map(|day| dated(year, month, day)).collect();
        if let Some(claims) = claims {
            return Some(Reading { tokens: behind + taken - at, readings: vec![claims], certain });
        }
    }
    let (taken, year) = year_behind(tokens, next);
    match year {
        Some(year) => Some(Reading::certain(1 + dot + taken, vec![Claim::Month(year, month)])),
        None => bare(tokens.word(at)).then(|| Reading::certain(1, vec![Claim::BareMonth(month)])),
    }
}

fn month(tokens: &Tokens<'_>, at: usize) -> Option<i8> {
    (tokens.shape(at)? == Shape::Word).then(|| names::month(tokens.word(at))).flatten()
}

fn is_certain(word: &str) -> bool {
    word.starts_with(char::is_uppercase) || !AMBIGUOUS.contains(&word)
}

/// Whether a month that stands alone is surely one.
fn bare(word: &str) -> bool {
    word.chars().count() > 3 && word != "Sept" && is_certain(word)
}

/// A year behind a month: how many tokens it takes, and which.
fn year_behind(tokens: &Tokens<'_>, at: usize) -> (usize, Option<i16>) {
    let between = tokens.is_mark(at, &[',', '/', '-', '.', '\'', '’']) || OF.contains(&tokens.word(at));
    for skipped in [0, usize::from(between)] {
        if let Some(year) = year(tokens, at + skipped) {
            return (skipped + 1, Some(year));
        }
    }
    (0, None)
}

fn dated(year: Option<i16>, month: i8, day: i8) -> Option<Claim> {
    match year {
        Some(year) => Date::new(year, month, day).ok().map(Claim::Day),
        None => Some(Claim::MonthDay(month, day)),
    }
}

/// `2026年11月20日`, `11月20号`, `2026 年 11 月`, `十一月`, `2026年`.
fn han(tokens: &Tokens<'_>, at: usize) -> Option<Reading> {
    let year = year(tokens, at).filter(|_| YEAR_MARKS.contains(&tokens.word(at + 1)));
    let start = if year.is_some() { at + 2 } else { at };
    let Some((taken, month)) =
        counted(tokens, start, 12).filter(|(taken, _)| MONTH_MARKS.contains(&tokens.word(start + taken)))
    else {
        return year.map(|year| Reading { tokens: 2, readings: vec![vec![Claim::Year(year)]], certain: false });
    };
    let next = start + taken + 1;
    let day = counted(tokens, next, 31).filter(|(taken, _)| DAY_MARKS.contains(&tokens.word(next + taken)));
    let end = day.map_or(next, |(taken, _)| next + taken + 1);
    let claim = match (year, day) {
        (year, Some((_, day))) => dated(year, month, day)?,
        (Some(year), None) => Claim::Month(year, month),
        (None, None) => Claim::BareMonth(month),
    };
    Some(Reading::certain(end - at, vec![claim]))
}

/// A small number in digits or ideographs: tokens and value.
pub(super) fn counted(tokens: &Tokens<'_>, at: usize, most: i8) -> Option<(usize, i8)> {
    if let Some(value) = small(tokens.digits(at), most) {
        return Some((1, value));
    }
    let (taken, value, _) = ideographs(tokens, at).filter(|_| tokens.shape(at) == Some(Shape::Han))?;
    i8::try_from(value).ok().filter(|value| (1..=most).contains(value)).map(|value| (taken, value))
}

/// `Q1 2027`, `2027 Q1`, `1. Quartal 2027`, `third quarter`, `第一季度`.
fn quarter(tokens: &Tokens<'_>, at: usize) -> Option<Reading> {
    let before = year(tokens, at);
    let han_year = usize::from(before.is_some() && YEAR_MARKS.contains(&tokens.word(at + 1)));
    let mark = usize::from(before.is_some() && tokens.is_mark(at + 1, &['-', '/']));
    let start = at + before.map_or(0, |_| 1 + han_year + mark);
    let (taken, quarter) = quarter_name(tokens, start)?;
    let (more, behind) = if before.is_some() { (0, None) } else { year_behind(tokens, start + taken) };
    // `T1` is a trimester in French; without a year it can be anything.
    let french = tokens.word(start).starts_with(['T', 't']) && tokens.shape(start) == Some(Shape::Mixed);
    let year = before.or(behind);
    let fits = !french || year.is_some();
    fits.then(|| Reading::certain(start - at + taken + more, vec![Claim::Quarter(year, quarter)]))
}

fn quarter_name(tokens: &Tokens<'_>, at: usize) -> Option<(usize, i8)> {
    let word = tokens.word(at);
    if tokens.shape(at) == Some(Shape::Mixed) {
        let digit = word.strip_prefix(['q', 'Q', 't', 'T'])?;
        return small(Some(digit), 4).map(|quarter| (1, quarter));
    }
    let prefix = usize::from(word == "第");
    if let Some((taken, quarter)) = counted(tokens, at + prefix, 4) {
        let dot = usize::from(tokens.is_mark(at + prefix + taken, &['.']));
        let end = at + prefix + taken + dot;
        return quarter_word(tokens, end).map(|length| (end - at + length, quarter));
    }
    let quarter = i8::try_from(names::ordinal(word)?).ok().filter(|quarter| (1..5).contains(quarter))?;
    quarter_word(tokens, at + 1).map(|length| (1 + length, quarter))
}

/// How many tokens the word for a quarter takes.
pub(super) fn quarter_word(tokens: &Tokens<'_>, at: usize) -> Option<usize> {
    let longest = if tokens.shape(at)? == Shape::Han { 3 } else { 1 };
    (1..=longest).find(|length| names::is_quarter(tokens.slice(at, at + length - 1)))
}

/// A year by itself, which may also be a number.
fn year_alone(tokens: &Tokens<'_>, at: usize) -> Option<Reading> {
    let year = year(tokens, at)?;
    Some(Reading { tokens: 1, readings: vec![vec![Claim::Year(year)]], certain: false })
}
