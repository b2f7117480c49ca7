//! The phrases of `phrases.txt`: what they mean, and which of them begins at a place.

use super::calendar::Unit;
use super::words::Word;
use super::{month_day, names, tense};
use jiff::civil::Weekday;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What a phrase means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// No date at all.
    Never,
    /// Reckoned from the day it was said, but people differ how.
    Open,
    /// So many days from now.
    Day(i64),
    /// A whole week, month or year.
    Whole(i64, Unit),
    /// The last day of a month or year.
    End(i64, Unit),
    /// "next Friday".
    Next,
    /// "last Friday".
    Last,
    /// "this Friday".
    This,
    /// The soonest such weekday.
    Coming,
    /// Something lasts until that weekday, or starts with it.
    Until,
    /// Something has been so since that weekday.
    Since,
    /// A weekday of the week so far away.
    InWeek(i64),
    /// So many units from now.
    In,
    /// The same, or how long something took.
    InOrTook,
    /// So many units ago.
    Ago,
    /// A day and its month.
    Date,
    /// A day without its month.
    OfMonth,
}

/// One phrase.
#[derive(Debug)]
pub(super) struct Phrase {
    language: &'static str,
    meaning: Meaning,
    /// Only in a text that is surely in this language.
    gated: bool,
    tokens: Vec<&'static str>,
    /// How many of the tokens stand before the date.
    context: usize,
}

/// What a phrase holds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Values {
    pub(super) weekday: Option<Weekday>,
    pub(super) number: Option<i64>,
    pub(super) unit: Option<Unit>,
    pub(super) day: Option<i8>,
    pub(super) month: Option<i8>,
    pub(super) year: Option<i16>,
}

/// A phrase at a place.
pub(super) struct Match {
    pub(super) language: &'static str,
    pub(super) meaning: Meaning,
    pub(super) values: Values,
    /// Words of it that are not part of the date.
    pub(super) context: usize,
    /// All its words.
    pub(super) length: usize,
}

#[derive(Default)]
struct Table {
    /// Phrases by their first token.
    phrases: HashMap<&'static str, Vec<Phrase>>,
    units: HashMap<(&'static str, &'static str), Unit>,
    /// Which languages have a word.
    languages: HashMap<&'static str, Vec<&'static str>>,
    ahead: Vec<&'static str>,
    behind: Vec<&'static str>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::default();
    for line in include_str!("phrases.txt").lines().filter(|line| !line.starts_with('#')) {
        if let Some((language, rest)) = line.split_once(' ')
            && let Some((meaning, words)) = rest.split_once(' ')
        {
            table.add(language, meaning, words);
        }
    }
    table
});

impl Table {
    fn add(&mut self, language: &'static str, meaning: &'static str, words: &'static str) {
        if let Some(unit) = unit(meaning) {
            return self.units.extend(words.split(' ').map(|word| ((language, word), unit)));
        }
        match meaning {
            "words" => words.split(' ').for_each(|word| self.languages.entry(word).or_default().push(language)),
            "ahead" => self.ahead.extend(words.split(' ')),
            "behind" => self.behind.extend(words.split(' ')),
            _ => {
                let gated = meaning.ends_with('!');
                let Some(meaning) = read_meaning(meaning.trim_end_matches('!')) else { return };
                for phrase in words.split('|') {
                    let all: Vec<&'static str> = phrase.split_whitespace().collect();
                    let context = all.iter().position(|token| *token == "_").unwrap_or(0);
                    let tokens: Vec<&'static str> = all.into_iter().filter(|token| *token != "_").collect();
                    let Some(first) = tokens.first() else { continue };
                    self.phrases.entry(first).or_default().push(Phrase { language, meaning, gated, tokens, context });
                }
            }
        }
    }
}

fn unit(name: &str) -> Option<Unit> {
    Some(match name {
        "day" => Unit::Day,
        "week" => Unit::Week,
        "month" => Unit::Month,
        "year" => Unit::Year,
        _ => return None,
    })
}

fn read_meaning(text: &str) -> Option<Meaning> {
    if let Some((kind, count)) = text.split_once(':') {
        let count = count.parse().ok()?;
        return match kind {
            "day" => Some(Meaning::Day(count)),
            "in-week" => Some(Meaning::InWeek(count)),
            _ => match kind.strip_suffix("-end") {
                Some(kind) => unit(kind).map(|unit| Meaning::End(count, unit)),
                None => unit(kind).map(|unit| Meaning::Whole(count, unit)),
            },
        };
    }
    Some(match text {
        "no" => Meaning::Never,
        "open" => Meaning::Open,
        "next" => Meaning::Next,
        "last" => Meaning::Last,
        "this" => Meaning::This,
        "coming" => Meaning::Coming,
        "until" => Meaning::Until,
        "since" => Meaning::Since,
        "in" => Meaning::In,
        "in?" => Meaning::InOrTook,
        "ago" => Meaning::Ago,
        "date" => Meaning::Date,
        "of-month" => Meaning::OfMonth,
        _ => return None,
    })
}

/// The longest phrase that begins at `at`.
pub(super) fn at(words: &[Word<'_>], at: usize) -> Option<Match> {
    let word = words.get(at)?;
    let literal = TABLE.phrases.get(word.lower.as_str());
    let begins = [("W", weekday(words, at).is_some()), ("N", number(word).is_some()), ("D", day(word).is_some())];
    let open = begins.into_iter().filter(|(_, begins)| *begins).filter_map(|(first, _)| TABLE.phrases.get(first));
    let fits = literal.into_iter().chain(open).flatten().filter_map(|phrase| phrase.fit(words, at));
    fits.fold(None, |best: Option<Match>, next| match best {
        Some(best) if best.length >= next.length => Some(best),
        _ => Some(next),
    })
}

/// The language that most words of the sentence around `from..to` show, if one has more than any other.
pub(super) fn language(words: &[Word<'_>], from: usize, to: usize) -> Option<&'static str> {
    let (before, after) = tense::clause(words, from, to);
    let mut counts: HashMap<&'static str, usize> = HashMap::new();
    for word in before.iter().chain(&words[from..to]).chain(after) {
        for language in TABLE.languages.get(word.lower.as_str()).into_iter().flatten() {
            *counts.entry(language).or_default() += 1;
        }
    }
    let most = counts.values().max().copied()?;
    let mut leading = counts.into_iter().filter(|(_, count)| *count == most).map(|(language, _)| language);
    leading.next().filter(|_| leading.next().is_none())
}

/// Whether a word belongs to the frame of a language: articles, pronouns, prepositions.
pub(super) fn is_small_word(language: &str, word: &str) -> bool {
    TABLE.languages.get(word).is_some_and(|known| known.contains(&language))
}

/// Whether a verb looks ahead.
pub(super) fn is_ahead(word: &str) -> bool {
    TABLE.ahead.contains(&word)
}

/// Whether a verb looks back.
pub(super) fn is_behind(word: &str) -> bool {
    TABLE.behind.contains(&word)
}

/// The weekday whose name stands here, in another language than English, and how many words it has.
pub(super) fn weekday(words: &[Word<'_>], at: usize) -> Option<(Weekday, usize)> {
    const SHORTEST: usize = 5;
    let word = words.get(at)?;
    let long = word.lower.chars().nth(SHORTEST - 1).is_some();
    // "segunda-feira" is read as three words.
    if let [first, dash, last, ..] = &words[at..]
        && dash.raw == "-"
        && last.lower == "feira"
    {
        return names::weekday(&format!("{}-feira", first.lower)).map(|day| (day, 3));
    }
    let english = || super::english::weekday(word).is_some();
    let named = if long { names::weekday(&word.lower) } else { None };
    named.filter(|_| !english()).map(|day| (day, 1))
}

fn number(word: &Word<'_>) -> Option<i64> {
    let digits = (1..=3).contains(&word.raw.len()) && word.raw.bytes().all(|byte| byte.is_ascii_digit());
    let named = || names::number(&word.lower).and_then(|number| i64::try_from(number).ok());
    let number = if digits { word.raw.parse().ok() } else { named() };
    number.filter(|number| (1..=366).contains(number))
}

fn day(word: &Word<'_>) -> Option<i8> {
    let digits = word.raw.bytes().all(|byte| byte.is_ascii_digit());
    month_day::day_of_month(word).filter(|day| digits && (1..=31).contains(day))
}

impl Phrase {
    /// What it holds, if it stands at `at`.
    fn fit(&self, words: &[Word<'_>], at: usize) -> Option<Match> {
        let mut values = Values::default();
        let (mut length, mut context) = (0, 0);
        for (place, token) in self.tokens.iter().enumerate() {
            if place == self.context {
                context = length;
            }
            let word = words.get(at + length)?;
            length += match *token {
                "W" => {
                    let (weekday, count) = weekday(words, at + length)?;
                    values.weekday = Some(weekday);
                    count
                }
                token => self.take(token, word, &mut values)?,
            };
        }
        let surely = !self.gated || language(words, at, at + length) == Some(self.language);
        surely.then_some(Match { language: self.language, meaning: self.meaning, values, context, length })
    }

    fn take(&self, token: &str, word: &Word<'_>, values: &mut Values) -> Option<usize> {
        match token {
            "N" => values.number = Some(number(word)?),
            "U" => values.unit = Some(*TABLE.units.get(&(self.language, word.lower.as_str()))?),
            "D" => values.day = Some(day(word)?),
            "1er" if word.lower == token => values.day = Some(1),
            // What is a month in English too is read there.
            "M" => values.month = names::month(&word.lower).filter(|_| month_day::month_named(&word.lower).is_none()),
            "Y" => values.year = Some(word.raw.parse().ok().filter(|_| word.raw.len() == 4)?),
            _ if word.lower == token => {}
            _ => return None,
        }
        (token != "M" || values.month.is_some()).then_some(1)
    }
}
