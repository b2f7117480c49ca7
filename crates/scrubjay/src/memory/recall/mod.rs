//! Recall without a model: which documents answer a question, in milliseconds, and why.
//!
//! A document is a memory, a note, a stored result or a turn of a past session; the ranking knows no file. An [`Index`]
//! is brought up to date with what changed ([`Index::update`]), asked ([`Index::recall`]) and kept
//! for the next start ([`Index::to_bytes`]). Everything that was found is returned in order, up to the number asked for:
//! a document that a newer one overtook stands lower, it is never hidden.
//!
//! The score is a sum of signals, each between 0 and 1 over the documents found (min–max), times its weight. Every hit
//! carries them, so that the order can be explained.
//!
//! `text` (words of any script) · `words` (what is known of languages) · `index`, `cache` (what is kept) · `dates`,
//! `question` (what is asked) · `rank` (signals and their sum) · `newer` (the later of two statements first) · `meaning`
//! (vectors, where the person has a model for them).

mod cache;
mod dates;
mod evidence;
mod index;
mod meaning;
mod newer;
mod question;
mod rank;
mod relevance;
mod shorts;
mod spelling;
mod table;
mod text;
mod words;

pub use index::Index;
pub use meaning::{Embedder, Vectors};
pub use rank::{Forms, Hit, Signal, Talk, Weights};
pub use relevance::{BY_MODEL, BY_WORDS, Fit, SIGNS, Signs};

use crate::digest::Digest;
use jiff::{Timestamp, Zoned};

/// Something that can be found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Unique in its index: a path, or a session and a message.
    pub id: String,
    /// What it is called; a word here counts most.
    pub name: String,
    /// What it is about, in a line.
    pub description: String,
    /// The text itself.
    pub body: String,
    /// Its type: `user`, `feedback`, `project`, `reference`, or the collection it belongs to.
    pub kind: String,
    /// Anything that changes whenever the document does, so that an unchanged one need not be read again.
    pub stamp: u64,
    /// When it was last changed, or said.
    pub time: Option<Timestamp>,
    /// Where it stands, if it is part of a conversation.
    pub turn: Option<Turn>,
}

impl Document {
    /// What a model for meanings is given to read.
    pub fn said(&self) -> String {
        let body = match &self.turn {
            Some(_) => Turn::said(&self.body),
            None => self.body.clone(),
        };
        let parts = [self.name.trim(), self.description.trim(), body.trim()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// Tells texts apart: the same for the same text, wherever it stands.
    pub fn fingerprint(&self) -> u64 {
        number(&Digest::of(self.said().as_bytes()))
    }
}

/// The first sixteen digits of a digest as a number.
pub(crate) fn number(digest: &Digest) -> u64 {
    digest.as_str().get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_default()
}

impl Turn {
    /// Its words. Code that was pasted with them is left out: it would drown them.
    fn said(body: &str) -> String {
        let (said, pasted) = text::fenced(body);
        if said.trim().is_empty() { pasted } else { said.into_owned() }
    }
}

/// A place in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// The conversation's session.
    pub session: String,
    /// Its place there.
    pub position: u32,
    /// In what role.
    pub voice: Voice,
}

/// Who speaks in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Voice {
    /// The user who talks to an assistant.
    User,
    /// The assistant, or a tool it used: much text, most of it made up from what the user said.
    Assistant,
}

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Query<'a> {
    /// The words of the person.
    pub text: &'a str,
    /// The moment it is asked, with the zone in which days begin.
    pub now: Zoned,
    /// How many hits at most.
    pub limit: usize,
    /// What is less likely wanted than this is not found.
    pub floor: f32,
    /// Only documents of these types; all when empty.
    pub kinds: &'a [&'a str],
    /// How much each signal counts.
    pub weights: Weights,
    /// The question's vector, made by the model that made the documents'.
    pub meaning: Option<&'a [f32]>,
}

/// What is less likely wanted is not shown to who searches, unless they set another floor.
const FLOOR: f32 = 0.02;

impl<'a> Query<'a> {
    /// A question with the usual settings.
    pub fn new(text: &'a str, now: Zoned, limit: usize) -> Self {
        Self { text, now, limit, floor: FLOOR, kinds: &[], weights: Weights::default(), meaning: None }
    }

    /// With a floor of so many hundredths.
    pub fn above(self, hundredths: u64) -> Self {
        Self { floor: hundredths as f32 / 100.0, ..self }
    }
}

/// The words of a text, in any script.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> {
    text::words(text).into_iter()
}

/// The words that carry a text's meaning, in the form under which documents are filed.
pub fn content_words(text: &str) -> std::collections::BTreeSet<String> {
    content_sequence(text).into_iter().collect()
}

/// The same words in the order in which they stand, each as often as it does.
pub(crate) fn content_sequence(text: &str) -> Vec<String> {
    text::words(text).iter().filter_map(|word| words::normal(word)).collect()
}

#[cfg(test)]
mod tests;
