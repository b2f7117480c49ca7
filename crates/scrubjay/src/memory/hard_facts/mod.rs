//! Hard facts: what a text states that can be looked up in what its writer was shown.
//!
//! A draft may paraphrase; a number, an address, a date or an identifier it may only take over. Each of them is read in a form in
//! which equal facts are equal (`1,150` and `1150`, `forty` and `40`, `20 November 2026` and a Friday that was named four days
//! before), then looked up in the passages. Names of people and products, acronyms and ordinary words are not hard.
//!
//! Drafts are read strictly and passages generously: where a spelling can be read in two ways, one of them is enough. A few words
//! are left out in drafts because they are ordinary words in another language, such as the Spanish `once`.

mod calendar;
mod claims;
mod identifiers;
mod locators;
mod number_words;
mod numbers;
mod plain;
mod relative;
mod shown;
#[cfg(test)]
mod tests;
mod tokens;

use claims::{Candidate, Claim};
use rustc_hash::FxHashSet;
use std::fmt;
use tokens::{Shape, Tokens};

/// A text that the writer of a memory was shown.
#[derive(Debug, Clone, Copy)]
pub struct Passage<'a> {
    /// Its words.
    pub text: &'a str,
    /// The day a message was typed on: "Friday" is counted from it. Files and replies have none.
    pub day: Option<jiff::civil::Date>,
}

/// What a hard fact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FactKind {
    /// A URL, host, IP address, mail address, path, file, scoped package, flag or channel.
    Locator,
    /// A number, a time of day or a version.
    Number,
    /// A day, a month, a quarter.
    Date,
    /// A name such as `a_b`, `A::b`, `camelCase` or `RFC7231`.
    Identifier,
}

/// A fact that must have been shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HardFact {
    /// What it is.
    pub kind: FactKind,
    /// As the draft has it, after NFKC.
    pub text: String,
}

impl fmt::Display for HardFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = match self.kind {
            FactKind::Locator => locators::noun(&self.text),
            FactKind::Number => "the number",
            FactKind::Date => "the date",
            FactKind::Identifier => "the identifier",
        };
        write!(f, "{noun} {}", self.text)
    }
}

/// Whether a text is judged, or what it is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Draft,
    Shown,
}

/// The hard facts of `text` that no passage supports, each once, in order.
///
/// ```
/// use scrubjay::memory::hard_facts::{Passage, unsupported};
/// let typed = jiff::civil::date(2026, 11, 17);
/// let shown = [Passage { text: "keep it below forty lines, freeze starts friday", day: Some(typed) }];
/// assert!(unsupported("At most 40 lines. Freeze from 2026-11-20.", &shown).is_empty());
/// let facts = unsupported("At most 50 lines, see evil.example.", &shown);
/// assert_eq!(facts.iter().map(ToString::to_string).collect::<Vec<_>>(), ["the number 50", "the address evil.example"]);
/// ```
pub fn unsupported(text: &str, shown: &[Passage<'_>]) -> Vec<HardFact> {
    let text = plain::plain(text);
    let tokens = Tokens::of(&text);
    let candidates = candidates(&tokens, Side::Draft);
    if candidates.is_empty() {
        return Vec::new();
    }
    let shown = shown::Shown::of(shown);
    let mut seen = FxHashSet::default();
    candidates
        .into_iter()
        .filter(|found| !found.readings.iter().any(|claims| claims.iter().all(|claim| shown.supports(claim))))
        .map(|found| HardFact { kind: found.kind, text: text[found.span].to_owned() })
        .filter(|fact| seen.insert((fact.kind, fact.text.to_lowercase())))
        .collect()
}

/// Everything in a text that may be a hard fact, in order and apart from each other.
fn candidates(tokens: &Tokens<'_>, side: Side) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut locators = locators::find(tokens.text, side).into_iter().peekable();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if let Some(locator) = locators.next_if(|locator| locator.span.start <= token.span.start) {
            while tokens.get(at).is_some_and(|token| token.span.start < locator.span.end) {
                at += 1;
            }
            let readings = vec![vec![Claim::Locator(locator.key)]];
            found.push(Candidate { kind: FactKind::Locator, span: locator.span, readings });
            continue;
        }
        match candidate(tokens, at, side) {
            Some((length, candidate)) => {
                at += length.max(1);
                found.push(candidate);
            }
            None => at += if is_list_marker(tokens, at) { 2 } else { 1 },
        }
    }
    found
}

/// The fact that begins at a token, and how many tokens it takes.
fn candidate(tokens: &Tokens<'_>, at: usize, side: Side) -> Option<(usize, Candidate)> {
    let date = calendar::at(tokens, at);
    let certain = date.as_ref().is_some_and(|date| date.certain);
    if !certain && is_list_marker(tokens, at) {
        return None;
    }
    let number = if certain { None } else { numbers::at(tokens, at, side) };
    let (kind, found) = match (date, number) {
        (Some(date), None) => (FactKind::Date, date),
        (None, Some(number)) => (FactKind::Number, number),
        (Some(mut date), Some(number)) => {
            date.tokens = date.tokens.max(number.tokens);
            date.readings.extend(number.readings);
            (FactKind::Number, date)
        }
        (None, None) => (FactKind::Identifier, identifiers::at(tokens, at)?),
    };
    let (first, last) = (tokens.get(at)?, tokens.get(at + found.tokens.max(1) - 1)?);
    let span = first.span.start..last.span.end;
    Some((found.tokens, Candidate { kind, span, readings: found.readings }))
}

/// `3.` or `3)` at the start of a line numbers a list.
fn is_list_marker(tokens: &Tokens<'_>, at: usize) -> bool {
    let short = tokens.shape(at) == Some(Shape::Digits) && tokens.word(at).len() < 3;
    let marked = tokens.is_mark(at + 1, &['.', ')']) && tokens.touches(at + 1) && !tokens.touches(at + 2);
    short && marked && tokens.starts_line(at)
}
