//! Dates in digits. A year of four digits makes them certain; two numbers that could both be a month do not count.

use super::{Granularity, Reading};
use jiff::civil::Date;
use std::ops::Range;

/// The date in digits that begins at `start`, if one does: `2026-11-19`, `2026/11/19`, `22/04/2016`, `4/22/2016`.
pub(super) fn read(text: &str, start: usize) -> Option<(Range<usize>, Reading)> {
    let rest = &text[start..];
    let (first, after) = number(rest)?;
    let mark = after.chars().next().filter(|c| matches!(c, '-' | '/'))?;
    let (second, after) = number(after.strip_prefix(mark)?)?;
    let (third, after) = number(after.strip_prefix(mark)?)?;
    let date = match (first.len(), second.len(), third.len(), mark) {
        (4, 1..=2, 1..=2, _) => date(first, second, third),
        (1..=2, 1..=2, 4, '/') => one_of(date(third, second, first), date(third, first, second)),
        _ => None,
    }?;
    let end = text.len() - after.len();
    Some((start..end + time(after), Reading::absolute(date, date, Granularity::Day)))
}

/// A time that is written onto the date belongs to it.
fn time(after: &str) -> usize {
    let Some(clock) = after.strip_prefix('T').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) else {
        return 0;
    };
    let end =
        clock.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.' | 'Z' | '+' | '-'))).unwrap_or(clock.len());
    1 + clock[..end].trim_end_matches(['.', ':', '-', '+']).len()
}

fn number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (1..=4).contains(&end).then(|| text.split_at(end))
}

fn date(year: &str, month: &str, day: &str) -> Option<Date> {
    Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()
}

/// The only reading there is, or both when they agree.
fn one_of(a: Option<Date>, b: Option<Date>) -> Option<Date> {
    match (a, b) {
        (Some(a), Some(b)) => (a == b).then_some(a),
        (a, b) => a.or(b),
    }
}
