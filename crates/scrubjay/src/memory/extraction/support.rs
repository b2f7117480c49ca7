//! Whether a memory says what its quotations say. Code compares words: a true quotation must not carry an invented fact.

use super::super::Topic;
use super::super::footing::{MOST, SOME, shared};
use super::super::recall::content_words;
use super::evidence::{Statement, plain, sentences};
use super::faithful::{Spoken, is_value};
use crate::dates::{self, When};
use crate::prompts;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// What was cited: the statements, and in them the sentences that hold the quotations.
#[derive(Debug)]
pub(super) struct Cited<'a> {
    statements: Vec<&'a Statement>,
    /// Words of the sentences in which a quotation stands.
    quoted: BTreeSet<String>,
    /// Words of all that was said there.
    said: BTreeSet<String>,
    /// What the memory said before: it need not be said again.
    before: String,
    /// The days that were spoken of.
    days: Vec<(Date, Date)>,
    /// The sentences in which a quotation stands.
    spoken: Spoken,
}

/// Words that a memory is built with and that say nothing by themselves.
static FRAMING: LazyLock<BTreeSet<String>> = LazyLock::new(|| content_words(include_str!("words/framing.txt")));

/// What has to be exact: addresses, paths, numbers, names in code.
static EXACT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let parts = [
        r"[a-z][a-z0-9+.-]*://[^\s)>\]]+",
        r"`[^`\n]+`",
        r"[\w@~.-]*/[\w@~./-]+",
        r"\b\w+[._@]\w[\w.@-]*",
        r"#?\d[\d.,:%]*",
        r"\b[a-z]+[A-Z]\w*",
    ];
    Regex::new(&parts.join("|")).ok()
});

impl<'a> Cited<'a> {
    /// What these quotations stand in.
    pub(super) fn of(found: &[(&str, &'a Statement)], zone: &TimeZone) -> Self {
        let mut statements: Vec<&Statement> = Vec::new();
        let (mut quoted, mut said, mut days) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        let mut spoken = Spoken::default();
        for (quote, statement) in found {
            quoted.extend(content_words(quote));
            let quote = plain(quote);
            let holds = |sentence: &str| {
                let sentence = plain(sentence);
                sentence.contains(&quote) || quote.contains(&sentence)
            };
            for sentence in sentences(&statement.text).filter(|one| holds(one)) {
                quoted.extend(content_words(sentence));
                spoken.hear(sentence);
            }
            if statements.iter().any(|known| std::ptr::eq(*known, *statement)) {
                continue;
            }
            said.extend(content_words(&statement.text));
            let day = statement.at.to_zoned(zone.clone()).date();
            days.push((day, day));
            days.extend(dates::find(&statement.text, day).into_iter().filter_map(|found| match found.when {
                When::Days { first, last } => Some((first, last)),
                When::Unclear => None,
            }));
            statements.push(statement);
        }
        Self { statements, quoted, said, before: String::new(), days, spoken }
    }

    /// The same, with what the memory said before.
    pub(super) fn beside(mut self, before: Option<&str>) -> Self {
        let before = before.unwrap_or_default();
        let words = content_words(before);
        self.quoted.extend(words.iter().cloned());
        self.said.extend(words);
        self.before = plain(before);
        self.spoken.beside(before);
        self
    }

    /// The first thing this memory says that was not said there, if there is one.
    pub(super) fn lacks(&self, topic: &Topic, said: Date) -> Option<String> {
        let whole = [topic.name.as_str(), &topic.description, &topic.body].join("\n");
        self.inexact(&whole, said).or_else(|| {
            let mut carried = self.quoted.clone();
            let mut part = Part::Statement;
            // Days that are written out were compared already.
            for sentence in sentences(&undated(&without_ours(&topic.body), said)) {
                part = part.of(sentence);
                let words = bearing(sentence);
                let faithful = match part {
                    Part::Statement => self.carries(&words) && !self.spoken.is_turned_in(sentence),
                    Part::Reason => shared(&words, &self.said) >= SOME && !self.spoken.is_denied_in(sentence),
                };
                if !words.is_empty() && !faithful {
                    return Some(sentence.to_owned());
                }
                carried.extend(words);
            }
            let title = format!("{} {}", topic.name, topic.description);
            let words = bearing(&title);
            let turned = self.spoken.is_denied_in(&topic.description);
            (turned || !words.is_empty() && shared(&words, &carried) < MOST).then_some(title)
        })
    }

    /// Whether the cited sentences have these words: all but one, of many all but one in five. Scripts that are read in pairs of signs
    /// make a new pair wherever a word is left out.
    fn carries(&self, words: &BTreeSet<String>) -> bool {
        const ONE_IN: usize = 5;
        let foreign = words.difference(&self.quoted).count();
        let few = foreign <= 1.max(words.len() / ONE_IN) || words.iter().all(|word| !word.is_ascii());
        few && foreign * 3 <= words.len()
    }

    /// A number, a path, an address or a name that nobody said there.
    fn inexact(&self, text: &str, said: Date) -> Option<String> {
        let dates = dates::find(text, said);
        for found in dates.iter().filter(|found| found.kind == dates::Kind::Absolute) {
            let When::Days { first, last } = found.when else { continue };
            let known = self.before.contains(&plain(&text[found.span.clone()]));
            if !known && !self.days.iter().any(|days| *days == (first, last) || (days.0 <= first && last <= days.1)) {
                return Some(text[found.span.clone()].to_owned());
            }
        }
        let in_a_date = |at: usize| dates.iter().any(|found| found.span.contains(&at));
        // The number of a list's item says nothing.
        let is_item = |found: &regex::Match<'_>| {
            let before = text[..found.start()].rsplit('\n').next().unwrap_or_default();
            before.trim().is_empty() && found.as_str().ends_with('.') && text[found.end()..].starts_with(' ')
        };
        let exact = EXACT.as_ref()?.find_iter(text).filter(|found| !in_a_date(found.start()) && !is_item(found));
        let names = names(text);
        let words = exact.map(|found| found.as_str()).chain(names);
        let mut words = words.map(|word| plain(word.trim_matches(|c: char| "`.,:;'\"()*".contains(c))));
        let inexact = words.find(|word| !word.is_empty() && !self.has(word));
        // Numbers in figures were compared above.
        let is_word = |word: &String| is_value(word) && !word.contains(|c: char| c.is_ascii_digit());
        let mut values = bearing(&undated(text, said)).into_iter().filter(is_word);
        inexact.or_else(|| values.find(|word| !self.said.contains(word)))
    }

    fn has(&self, word: &str) -> bool {
        let stem: String = word.strip_suffix("'s").unwrap_or(word).to_owned();
        stands_in(&self.before, &stem)
            || self.statements.iter().any(|statement| stands_in(&statement.plain, &stem))
            || content_words(&stem).is_subset(&self.said)
                && !stem.contains(|c: char| c.is_ascii_digit() || "/._".contains(c))
    }
}

/// A text without the days that are written out in it.
fn undated(text: &str, said: Date) -> String {
    let (mut out, mut from) = (String::new(), 0);
    for found in dates::find(text, said).iter().filter(|found| found.kind == dates::Kind::Absolute) {
        out.push_str(text.get(from..found.span.start).unwrap_or_default());
        from = found.span.end;
    }
    out + &text[from..]
}

/// Whether a text has this by itself: 5 does not stand in 15, nor in 5.4.
fn stands_in(text: &str, what: &str) -> bool {
    let goes_on = |mut beside: Box<dyn Iterator<Item = char> + '_>| match beside.next() {
        Some('.' | ',' | ':') => beside.next().is_some_and(|c| c.is_ascii_digit()),
        Some(c) => c.is_ascii_digit(),
        None => false,
    };
    let is_number = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    text.match_indices(what).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + what.len()..]);
        let begun = is_number(what.chars().next()) && goes_on(Box::new(before.chars().rev()));
        let ends_later = is_number(what.chars().next_back()) && goes_on(Box::new(after.chars()));
        !begun && !ends_later
    })
}

/// A body without the sentences that code itself puts into a memory: they say how to use it, and nobody has to have said them.
fn without_ours(body: &str) -> String {
    prompts::EXPLICIT.iter().fold(body.to_owned(), |body, ours| body.replace(ours.trim_end(), ""))
}

/// Which part of a memory a sentence belongs to.
#[derive(Clone, Copy)]
enum Part {
    /// What it states.
    Statement,
    /// Why, and how to apply it: said in other words more often.
    Reason,
}

impl Part {
    fn of(self, sentence: &str) -> Self {
        let head = sentence.trim_start_matches(['*', '-', ' ', '#']).to_lowercase();
        if ["why", "how to apply", "为什么", "如何"].iter().any(|label| head.starts_with(label)) {
            Part::Reason
        } else {
            self
        }
    }
}

/// The words of a sentence that carry its meaning.
pub(super) fn bearing(sentence: &str) -> BTreeSet<String> {
    content_words(sentence).difference(&FRAMING).cloned().collect()
}

/// Whether a word says nothing by itself in a memory.
pub(super) fn is_framing(word: &str) -> bool {
    FRAMING.contains(word)
}

/// Words with a capital letter in the middle of a sentence, unless everything has one.
fn names(text: &str) -> impl Iterator<Item = &str> {
    sentences(text).flat_map(|sentence| {
        let words: Vec<&str> = sentence.split_whitespace().collect();
        let is_name = |word: &&&str| {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric());
            word.len() > 1 && word.starts_with(|c: char| c.is_ascii_uppercase()) && !is_label(word)
        };
        let starts = |at: usize| at == 0 || words[at - 1].ends_with([':', '.', '*', '"', '(', '-']);
        let inner: Vec<usize> = (0..words.len()).filter(|at| !starts(*at)).collect();
        let found: Vec<&str> = inner.iter().map(|at| &words[*at]).filter(is_name).copied().collect();
        if found.len() * 2 > inner.len() { Vec::new() } else { found }
    })
}

fn is_label(word: &str) -> bool {
    ["Why", "How", "Applies", "The", "When"].contains(&word)
}
