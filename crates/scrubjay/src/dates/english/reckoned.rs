//! English days that are reckoned from another day, or named by their number alone.

use super::around::is_habit;
use super::{Here, Read, abbreviated, number, unit, weekday};
use crate::dates::calendar::{self, Unit};
use crate::dates::tense::Tense;
use crate::dates::{Granularity, Reading, When, month_day};

/// Whether a sentence or a part of it may end with the word before this one.
fn is_end(word: &str) -> bool {
    matches!(word, "" | "." | "," | ";" | ":" | "!" | "?" | ")" | "¶" | "—" | "–")
}

/// What "in three days" stands behind when something lies ahead: "the freeze in three days".
const EVENTS: &[&str] = &[
    "freeze",
    "launch",
    "release",
    "meeting",
    "demo",
    "audit",
    "review",
    "cutover",
    "migration",
    "call",
    "exam",
    "interview",
    "flight",
    "appointment",
    "back",
    "due",
    "expiring",
    "starting",
    "ending",
    "rollout",
    "maintenance",
    "handover",
    "kickoff",
    "party",
    "wedding",
    "vacation",
    "holiday",
];

/// What has its day in every month.
const MONTHLY: &[&str] =
    &["payday", "rent", "salary", "salaries", "payroll", "billing", "invoices", "month", "months", "cron"];

/// Verbs that look the same when they are over.
const SAME_IN_THE_PAST: &[&str] =
    &["hit", "cut", "put", "set", "quit", "shut", "cost", "hurt", "read", "split", "spread", "beat", "upset", "bid"];

impl Here<'_, '_> {
    /// "three weeks ago", "two days from now", "2 weeks after tomorrow", "in ten days".
    pub(super) fn counted(&self) -> Read {
        let lead = usize::from(self.word(0) == "in");
        let skip = isize::try_from(lead).ok()?;
        let count = number(self.word(skip))?;
        let unit = unit(self.word(skip + 1))?;
        let day = |base: i64, sign: i64| {
            let date = calendar::shift(calendar::shift(self.said, base, Unit::Day)?, sign * count, unit)?;
            Some(Reading::relative(date, date, unit.into()))
        };
        if lead == 1 {
            return self.in_future(day(0, 1)?);
        }
        let base = || match self.word(3) {
            "today" | "now" => Some(0),
            "tomorrow" => Some(1),
            "yesterday" => Some(-1),
            _ => None,
        };
        match self.word(2) {
            "ago" => Some((3, day(0, -1)?)),
            "from" | "after" => Some((4, day(base()?, 1)?)),
            "before" => Some((4, day(base()?, -1)?)),
            _ => None,
        }
    }

    /// "in three days" is a date if something lies ahead, and else how long it took.
    fn in_future(&self, reading: Reading) -> Read {
        let takes = [
            "done",
            "finished",
            "completed",
            "finish",
            "complete",
            "built",
            "learn",
            "learned",
            "times",
            "once",
            "twice",
        ];
        let goes_on = ["of", "or", "to", "after", "before", "from", "since", "and", "on", "'s", "'"];
        let ahead = match self.tense(3) {
            Some(tense) => tense == Tense::Future,
            None => EVENTS.contains(&self.word(-1)) || (is_end(self.word(-1)) && is_end(self.word(3))),
        };
        let plain = !takes.contains(&self.word(-1)) && (!goes_on.contains(&self.word(3)) || self.word(4) == "time");
        (ahead && plain).then_some((3, reading))
    }

    /// "a week from Friday": a weekday from which is counted lies ahead.
    pub(super) fn weeks_from_weekday(&self) -> Read {
        let count = number(self.word(0))?;
        let unit = unit(self.word(1)).filter(|unit| *unit == Unit::Week && self.word(2) == "from")?;
        let weekday = self.weekday(3).filter(|_| !self.is_dated(4))?;
        let date = calendar::shift(calendar::coming(self.said, weekday)?, count, unit)?;
        let known = weekday != self.said.weekday() && self.tense(4) != Some(Tense::Past);
        Some((4, if known { Reading::day(date) } else { Reading::unclear() }))
    }

    /// "the Monday after", "the following Monday", "the day after": reckoned from the date before it in the text.
    pub(super) fn after_another(&self) -> Read {
        let anchor = self.anchor.filter(|_| self.word(0) == "the")?;
        let (length, weekday) = match (self.word(1), self.word(2)) {
            ("following", _) => (3, Some(self.weekday(2)?)),
            ("day", "after") => (3, None),
            (_, "after") => (3, Some(self.weekday(1)?)),
            _ => return None,
        };
        let that = usize::from(self.word(1) != "following" && self.word(3) == "that");
        let next = self.word(isize::try_from(length + that).ok()?);
        if !(is_end(next) || matches!(next, "and" | "or" | "then" | "at") || self.word(1) == "following") {
            return None;
        }
        let base = match anchor.when {
            When::Days { first, last } if first == last && anchor.granularity == Granularity::Day => Some(first),
            _ => None,
        };
        let date = base.and_then(|base| match weekday {
            Some(weekday) => calendar::coming(base, weekday),
            None => calendar::shift(base, 1, Unit::Day),
        });
        Some((length + that, date.map_or(Reading::unclear(), Reading::day)))
    }

    /// "Friday the 27th": the month in which both are true.
    pub(super) fn weekday_with_day(&self) -> Read {
        let word = self.words.get(self.at)?;
        let weekday = weekday(word).or_else(|| abbreviated(word))?;
        let comma = usize::from(self.word(1) == ",");
        let the = isize::try_from(comma).ok()? + 1;
        let day = self.ordinal(comma + 2).filter(|_| self.word(the) == "the" && self.is_day_of_month(comma + 3))?;
        let first = self.said.first_of_month();
        let months = (-1..=1).filter_map(|months| calendar::shift(first, months, Unit::Month));
        let days = months.filter_map(|month| month.with().day(day).build().ok());
        let fits: Vec<_> = days.filter(|date| date.weekday() == weekday).collect();
        match fits.as_slice() {
            [date] => Some((comma + 3, Reading::day(*date))),
            _ => Some((comma + 3, Reading::unclear())),
        }
    }

    /// "the 27th", "on the 3rd": of this month, or of the one its sentence looks to.
    pub(super) fn day_alone(&self) -> Read {
        const LEADS: &[&str] = &[
            "on", "by", "until", "till", "before", "after", "for", "to", "due", "starts", "begins", "ends", "expires",
            "closes", "starting", "since", "from",
        ];
        let day = self.ordinal(1).filter(|_| self.word(0) == "the" && self.is_day_of_month(2))?;
        let before = self.word(-1);
        // "The 3rd is broken" is the third of something.
        let opens = is_end(before) && (day > 12 || (before.is_empty() && self.word(2).is_empty()));
        let led = LEADS.contains(&before) || opens;
        let stated =
            matches!(before, "is" | "'s") && matches!(self.word(-2), "deadline" | "date" | "launch" | "release");
        if !led && !stated {
            return None;
        }
        // "Payday is on the 15th" is so every month.
        if self.clause(2).any(|word| is_habit(word) || MONTHLY.contains(&word)) {
            return None;
        }
        let fixed = before == "on" && matches!(self.word(-2), "is" | "are" | "'s" | "falls" | "lands");
        let tense = self.tense(2).or(fixed.then_some(Tense::Future));
        let doubtful = tense.is_none() && self.clause(2).any(|word| SAME_IN_THE_PAST.contains(&word));
        Some((2, if doubtful { Reading::unclear() } else { calendar::day_alone(self.said, day, tense)? }))
    }

    /// "27th", not "27".
    fn ordinal(&self, ahead: usize) -> Option<i8> {
        let word = self.words.get(self.at + ahead)?;
        let suffixed = word.raw.ends_with(|c: char| c.is_ascii_lowercase());
        month_day::day_of_month(word).filter(|day| suffixed && (1..=31).contains(day))
    }

    /// Whether what follows leaves the number a day: "the 3rd floor" is none.
    fn is_day_of_month(&self, ahead: usize) -> bool {
        const GOES_ON: &[&str] = &[
            "at", "for", "we", "i", "you", "they", "he", "she", "it", "and", "then", "because", "so", "but", "when",
            "with", "if", "the", "our", "is", "as", "unless", "not", "no", "nobody",
        ];
        let next = self.word(isize::try_from(ahead).unwrap_or(isize::MAX));
        is_end(next) || GOES_ON.contains(&next)
    }
}
