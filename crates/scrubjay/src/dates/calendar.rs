//! Days reckoned from a day: the soonest, the latest, weeks that begin on Monday, months and years.

use super::tense::Tense;
use super::{Granularity, Reading};
use jiff::Span;
use jiff::civil::{Date, Weekday};

/// What is counted in "three weeks ago".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Day,
    Week,
    Month,
    Year,
}

impl From<Unit> for Granularity {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::Day => Self::Day,
            Unit::Week => Self::Week,
            Unit::Month => Self::Month,
            Unit::Year => Self::Year,
        }
    }
}

/// The day `count` units later; the 31st becomes the last day of a shorter month.
pub(super) fn shift(date: Date, count: i64, unit: Unit) -> Option<Date> {
    let span = match unit {
        Unit::Day => Span::new().try_days(count),
        Unit::Week => Span::new().try_weeks(count),
        Unit::Month => Span::new().try_months(count),
        Unit::Year => Span::new().try_years(count),
    };
    date.checked_add(span.ok()?).ok()
}

/// The soonest such day after `date`.
pub(super) fn coming(date: Date, weekday: Weekday) -> Option<Date> {
    shift(date, i64::from(weekday.since(date.weekday())), Unit::Day)
        .and_then(|day| if day == date { shift(day, 1, Unit::Week) } else { Some(day) })
}

/// The latest such day before `date`.
pub(super) fn recent(date: Date, weekday: Weekday) -> Option<Date> {
    coming(date, weekday)
        .and_then(|day| shift(day, -1, Unit::Week))
        .and_then(|day| if day == date { shift(day, -1, Unit::Week) } else { Some(day) })
}

/// The day of that name in the week `weeks` after this one.
pub(super) fn in_week(date: Date, weeks: i64, weekday: Weekday) -> Option<Date> {
    let days = i64::from(weekday.to_monday_zero_offset()) - i64::from(date.weekday().to_monday_zero_offset());
    shift(shift(date, days, Unit::Day)?, weeks, Unit::Week)
}

/// First and last day of the week, month or year `count` after this one.
pub(super) fn whole(date: Date, count: i64, unit: Unit) -> Option<(Date, Date)> {
    let there = shift(date, count, unit)?;
    match unit {
        Unit::Day => Some((there, there)),
        Unit::Week => Some((in_week(there, 0, Weekday::Monday)?, in_week(there, 0, Weekday::Sunday)?)),
        Unit::Month => Some((there.first_of_month(), there.last_of_month())),
        Unit::Year => Some((there.first_of_year(), there.last_of_year())),
    }
}

/// A day without a year: the occurrence before or on `date`, and the one after it.
pub(super) fn around(date: Date, month: i8, day: i8) -> Option<(Date, Date)> {
    let year = date.year();
    let mut found = (year - 8..=year + 8).filter_map(|year| Date::new(year, month, day).ok());
    let mut before = found.next()?;
    for next in found {
        if next > date {
            return Some((before, next));
        }
        before = next;
    }
    None
}

/// A day of a month that is not named: of this month if it is still to come, of the last or next one if the sentence looks there.
pub(super) fn day_alone(said: Date, day: i8, tense: Option<Tense>) -> Option<Reading> {
    let months = match tense {
        _ if day == said.day() => return Some(Reading::unclear()),
        Some(Tense::Past) => -i64::from(day > said.day()),
        Some(Tense::Future) => i64::from(day < said.day()),
        None if day > said.day() => 0,
        None => return Some(Reading::unclear()),
    };
    let month = shift(said.first_of_month(), months, Unit::Month)?;
    Some(Date::new(month.year(), month.month(), day).map_or(Reading::unclear(), Reading::day))
}

/// Days from one day to another.
pub(super) fn days_between(from: Date, to: Date) -> i64 {
    from.until(to).map_or(i64::MAX, |span| i64::from(span.get_days()))
}
