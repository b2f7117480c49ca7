//! Dates in German, French, Spanish, Italian, Portuguese, Dutch and Russian, by the phrases of `phrases.txt`.
//!
//! As in English, "nächsten Freitag" is given a date only where its readings agree, and a weekday alone looks where its sentence does.

use super::calendar::{self, Unit};
use super::phrases::{self, Match, Meaning};
use super::tense::{self, Tense};
use super::words::{self, Word};
use super::{Found, Granularity, Reading, month_day};
use jiff::civil::{Date, Weekday};

/// The dates among `words`.
pub(super) fn find(text: &str, words: &[Word<'_>], said: Date) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let here = Here { words, at, said };
        let Some((context, length, reading)) = here.read() else {
            at += 1;
            continue;
        };
        let span = words[at + context].span.start..words[at + length - 1].span.end;
        if let Some(Reading { when, granularity, kind }) = reading
            && !words::is_joined(text, &span)
        {
            found.push(Found { span, when, granularity, kind });
        }
        at += length;
    }
    found
}

/// Words that make a week or a month a part of it: the beginning, the middle, the end.
const PARTS: &[&str] = &[
    "anfang",
    "mitte",
    "ende",
    "début",
    "fin",
    "milieu",
    "principios",
    "inicio",
    "mediados",
    "finales",
    "inizio",
    "fine",
    "metà",
    "início",
    "fim",
    "meados",
    "begin",
    "eind",
    "midden",
    "начале",
    "конце",
    "середине",
];

/// What is done within a time, not after it.
const TAKES: &[&str] =
    &["geschafft", "erledigt", "fertig", "gebaut", "lernt", "lernen", "hecho", "hicimos", "terminado", "listo"];

/// A place among the words.
struct Here<'w, 'a> {
    words: &'w [Word<'a>],
    at: usize,
    said: Date,
}

impl Here<'_, '_> {
    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| word.lower.as_str())
    }

    fn before(&self) -> &str {
        self.at.checked_sub(1).map_or("", |at| self.word(at))
    }

    /// Words before the date, words in all, and what they say; nothing for a phrase that is no date.
    fn read(&self) -> Option<(usize, usize, Option<Reading>)> {
        if let Some(found) = phrases::at(self.words, self.at) {
            let reading = self.reading(&found);
            // "am 3. Dezember": the number begins something else.
            let counts = found.meaning == Meaning::OfMonth && reading.is_none();
            return (!counts).then_some((found.context, found.length, reading));
        }
        let (weekday, length) = phrases::weekday(self.words, self.at)?;
        Some((0, length, self.weekday_alone(weekday, length)))
    }

    fn reading(&self, found: &Match) -> Option<Reading> {
        let (said, values) = (self.said, found.values);
        let counted = |sign: i64| {
            let unit = values.unit?;
            let date = calendar::shift(said, sign * values.number?, unit)?;
            Some(Reading::relative(date, date, unit.into()))
        };
        match found.meaning {
            Meaning::Never => None,
            Meaning::Open => Some(Reading::unclear()),
            Meaning::Day(days) if !self.is_noun() => Some(Reading::day(calendar::shift(said, days, Unit::Day)?)),
            Meaning::Day(_) => None,
            Meaning::Whole(count, unit) => self.whole(count, unit),
            Meaning::End(count, unit) => Some(Reading::day(calendar::whole(said, count, unit)?.1)),
            Meaning::In => counted(1),
            Meaning::InOrTook => counted(1).filter(|_| !self.tells_how_long(found.length)),
            Meaning::Ago => counted(-1),
            Meaning::Date => self.date(found),
            Meaning::OfMonth => self.day_alone(found),
            meaning => self.weekday(meaning, values.weekday?, found.length),
        }
    }

    /// "Morgen" with a capital letter inside a sentence is the morning, and "David Ayer" a name.
    fn is_noun(&self) -> bool {
        let opens = matches!(
            self.before(),
            "" | "." | "!" | "?" | ":" | ";" | "¶" | "-" | "*" | "\"" | "„" | "(" | "¿" | "¡" | "«"
        );
        self.words[self.at].is_capitalised() && !opens
    }

    fn weekday(&self, meaning: Meaning, weekday: Weekday, length: usize) -> Option<Reading> {
        if self.is_dated(self.at + length) {
            return None;
        }
        let in_week = |weeks| calendar::in_week(self.said, weeks, weekday);
        let (coming, recent) = (calendar::coming(self.said, weekday), calendar::recent(self.said, weekday));
        let today = weekday == self.said.weekday();
        match meaning {
            Meaning::Next => Reading::agreed(in_week(1), coming),
            Meaning::Last => Reading::agreed(in_week(-1), recent),
            Meaning::This if today => Some(Reading::day(self.said)),
            Meaning::This => Reading::agreed(in_week(0), coming),
            Meaning::Coming => Some(Reading::day(coming?)),
            Meaning::InWeek(weeks) => Some(Reading::day(in_week(weeks)?)),
            Meaning::Until if !today && self.tense(length) != Some(Tense::Past) => Some(Reading::day(coming?)),
            Meaning::Since if !today => Some(Reading::day(recent?)),
            _ => Some(Reading::unclear()),
        }
    }

    fn weekday_alone(&self, weekday: Weekday, length: usize) -> Option<Reading> {
        let word = &self.words[self.at];
        let named = matches!(word.lower.as_str(), "domingo" | "sabato" | "sábado" | "sabado") && word.is_capitalised();
        let cyrillic = word.lower.starts_with(|c: char| ('\u{400}'..='\u{4ff}').contains(&c));
        // среда is Wednesday and an environment: only "on" makes it a day.
        if named || (cyrillic && !matches!(self.before(), "в" | "во")) || self.is_dated(self.at + length) {
            return None;
        }
        // "Heidi Montag plays the piano": a German name in an English sentence.
        if phrases::language(self.words, self.at, self.at + length) == Some("en") {
            return None;
        }
        let date = match self.tense(length) {
            _ if weekday == self.said.weekday() => None,
            Some(Tense::Future) => calendar::coming(self.said, weekday),
            Some(Tense::Past) => calendar::recent(self.said, weekday),
            None => None,
        };
        Some(date.map_or(Reading::unclear(), Reading::day))
    }

    /// Which way the sentence looks, if its verbs look one way.
    fn tense(&self, length: usize) -> Option<Tense> {
        let (before, after) = tense::clause(self.words, self.at, self.at + length);
        let mut all = before.iter().chain(after);
        let ahead = all.clone().any(|word| phrases::is_ahead(&word.lower));
        match (ahead, all.any(|word| phrases::is_behind(&word.lower))) {
            (true, false) => Some(Tense::Future),
            (false, true) => Some(Tense::Past),
            _ => None,
        }
    }

    /// Whether a day in digits follows a weekday: "Freitag, den 27."
    fn is_dated(&self, mut at: usize) -> bool {
        while matches!(self.word(at), "," | "(" | "den" | "der" | "dem" | "el" | "le" | "dia" | "día" | "il") {
            at += 1;
        }
        self.word(at).starts_with(|c: char| c.is_ascii_digit())
    }

    /// "in drei Tagen gebaut": how long it took.
    fn tells_how_long(&self, length: usize) -> bool {
        let (before, after) = tense::clause(self.words, self.at, self.at + length);
        let over = |word: &Word<'_>| {
            let word = word.lower.as_str();
            let participle = word.len() > 5 && word.starts_with("ge") && (word.ends_with('t') || word.ends_with("en"));
            let preterite = ["ó", "aron", "ieron", "imos"].iter().any(|end| word.ends_with(end));
            phrases::is_behind(word) || participle || preterite || TAKES.contains(&word)
        };
        before.iter().chain(after).any(over)
    }

    fn whole(&self, count: i64, unit: Unit) -> Option<Reading> {
        let (first, last) = calendar::whole(self.said, count, unit)?;
        let before = &self.words[self.at.saturating_sub(3)..self.at];
        let part = before.iter().any(|word| PARTS.contains(&word.lower.as_str()));
        Some(if part { Reading::unclear() } else { Reading::relative(first, last, unit.into()) })
    }

    fn date(&self, found: &Match) -> Option<Reading> {
        let (day, month) = (found.values.day?, found.values.month?);
        match found.values.year {
            Some(year) => {
                let date = Date::new(year, month, day).ok()?;
                Some(Reading::absolute(date, date, Granularity::Day))
            }
            None => month_day::nearest(self.said, (month, day), self.tense(found.length)),
        }
    }

    /// "am 27.", "le 27": a day if nothing follows that it could count.
    fn day_alone(&self, found: &Match) -> Option<Reading> {
        let day = found.values.day?;
        let next = self.words.get(self.at + found.length);
        let word = next.map_or("", |next| next.lower.as_str());
        let ends = matches!(word, "" | "." | "," | ";" | "!" | "?" | ")" | "¶" | "(");
        let small = phrases::is_small_word(found.language, word);
        // A German ordinal above twelve before a verb is a day.
        let verb = found.language == "de" && day > 12 && next.is_some_and(|next| !next.is_capitalised());
        let plain = (ends || small || verb) && !word.starts_with(|c: char| c.is_ascii_digit());
        let until = found.context > 0 && !matches!(self.word(self.at), "am" | "zum" | "op" | "no");
        let ahead = if until { Some(Tense::Future) } else { None };
        calendar::day_alone(self.said, day, self.tense(found.length).or(ahead)).filter(|_| plain)
    }
}
