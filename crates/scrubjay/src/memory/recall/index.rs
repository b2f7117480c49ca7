//! What is kept of the documents: their words in order, and, derived from those, who holds which word.
//!
//! The words of each document are the truth. Everything else is counted from them after each change, in order of session
//! and place, so an index that grew is the same as one built at once, and a document that did not change is not read again.

use super::text::{self, Piece};
use super::words::{self, Language};
use super::{Document, Turn, Vectors, Voice};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Stands between sentences and fields in the words of an entry.
pub(super) const BREAK: u32 = u32::MAX;
/// No session.
pub(super) const NONE: u32 = u32::MAX;

/// A word in the name says more about a document than one in its text.
const NAME: f32 = 3.0;
const DESCRIPTION: f32 = 2.0;
const BODY: f32 = 1.0;
/// Code that somebody pasted into a conversation is what they speak of, not what they say.
const PASTED: f32 = 0.2;

/// What an assistant writes is mostly made from what the user said: so much it counts for the turns around it and for its session.
const ECHO: f32 = 0.2;

/// How much a turn's neighbours count, by distance.
pub(super) const NEAR: [f32; 3] = [1.0, 1.0 / 2.0, 1.0 / 3.0];

/// Documents, ready to be asked.
#[derive(Debug, Clone, Default)]
pub struct Index {
    pub(super) lexicon: Lexicon,
    pub(super) entries: Vec<Entry>,
    pub(super) counts: Counts,
    /// What the documents mean, as far as a model was asked.
    pub vectors: Vectors,
}

/// Every word that ever occurred, by number.
#[derive(Debug, Clone, Default)]
pub(super) struct Lexicon {
    ids: FxHashMap<Box<str>, u32>,
    pub(super) words: Vec<Box<str>>,
}

impl Lexicon {
    pub(super) fn find(&self, word: &str) -> Option<u32> {
        self.ids.get(word).copied()
    }

    pub(super) fn add(&mut self, word: &str) -> u32 {
        if let Some(id) = self.find(word) {
            return id;
        }
        let id = self.words.len() as u32;
        self.words.push(word.into());
        self.ids.insert(word.into(), id);
        id
    }
}

/// What is kept of one document.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) stamp: u64,
    /// Of the text that a model for meanings is given.
    pub(super) fingerprint: u64,
    /// Seconds since 1970.
    pub(super) time: Option<i64>,
    pub(super) turn: Option<Turn>,
    /// Name, description and body, sentence by sentence.
    pub(super) terms: Vec<u32>,
    /// Where the description begins, the body, and what is pasted.
    pub(super) fields: [u32; 3],
    /// By which its words were cut to stems.
    pub(super) language: Language,
    /// Short forms that the text explains: the short word, and the long ones.
    pub(super) shorts: Vec<(u32, Vec<u32>)>,
    /// How much it asks instead of telling, in hundredths.
    pub(super) asks: u8,
    /// Whether it speaks of time.
    pub(super) has_time: bool,
    /// Whether it holds a number.
    pub(super) has_number: bool,
}

impl Entry {
    pub(super) fn weight(&self, place: usize) -> f32 {
        match self.fields {
            [description, ..] if place < description as usize => NAME,
            [_, body, _] if place < body as usize => DESCRIPTION,
            [.., pasted] if place < pasted as usize => BODY,
            _ => PASTED,
        }
    }

    /// How much of it counts for the turns around it, and for its session.
    pub(super) fn carries(&self) -> f32 {
        match &self.turn {
            Some(turn) if turn.voice == Voice::Assistant => ECHO,
            _ => 1.0,
        }
    }
}

/// That a document holds a word, and how much of it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Posting {
    pub(super) entry: u32,
    pub(super) weight: f32,
}

/// What is counted from the entries.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    starts: Vec<u32>,
    postings: Vec<Posting>,
    pub(super) lengths: Lengths,
    pub(super) near: Lengths,
    pub(super) sessions: Lengths,
    /// The session of each entry, by number.
    pub(super) session_of: Vec<u32>,
    pub(super) speakers: BTreeSet<String>,
    pub(super) shorts: FxHashMap<u32, BTreeSet<u32>>,
    /// The languages that occur.
    pub(super) languages: BTreeSet<Language>,
}

/// Lengths in words, and their mean.
#[derive(Debug, Clone, Default)]
pub(super) struct Lengths {
    pub(super) each: Vec<f32>,
    pub(super) mean: f32,
}

impl Lengths {
    fn of(each: Vec<f32>) -> Self {
        let mean = each.iter().sum::<f32>() / each.len().max(1) as f32;
        Self { each, mean: mean.max(1.0) }
    }
}

impl Counts {
    /// Who holds a word.
    pub(super) fn postings(&self, term: u32) -> &[Posting] {
        let at = term as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(from), Some(to)) => &self.postings[*from as usize..*to as usize],
            _ => &[],
        }
    }

    fn of(entries: &[Entry], vocabulary: usize) -> Self {
        let (starts, postings) = inverted(entries, vocabulary);
        let length = |entry: &Entry| {
            entry.terms.iter().enumerate().filter(|(_, term)| **term != BREAK).map(|(at, _)| entry.weight(at)).sum()
        };
        let lengths = Lengths::of(entries.iter().map(length).collect());
        let session_of = numbered_sessions(entries);
        let count = session_of.iter().filter(|session| **session != NONE).max().map_or(0, |last| *last as usize + 1);
        let mut sessions = vec![0.0; count];
        let mut near = vec![0.0; entries.len()];
        for (at, session) in session_of.iter().enumerate().filter(|(_, session)| **session != NONE) {
            let length = entries[at].carries() * lengths.each[at];
            sessions[*session as usize] += length;
            for (neighbour, share) in neighbours(&session_of, at) {
                near[neighbour] += share * length;
            }
        }
        let turns = || entries.iter().filter_map(|entry| entry.turn.as_ref());
        let mut shorts: FxHashMap<u32, BTreeSet<u32>> = FxHashMap::default();
        for (short, long) in entries.iter().flat_map(|entry| &entry.shorts) {
            shorts.entry(*short).or_default().extend(long);
            for word in long {
                shorts.entry(*word).or_default().insert(*short);
            }
        }
        let speakers = turns().map(|turn| turn.speaker.clone()).filter(|name| !name.is_empty()).collect();
        let (near, sessions) = (Lengths::of(near), Lengths::of(sessions));
        let languages = entries.iter().map(|entry| entry.language).collect();
        Self { starts, postings, lengths, near, sessions, session_of, speakers, shorts, languages }
    }
}

/// The turns around one, with how much they count.
pub(super) fn neighbours(session_of: &[u32], at: usize) -> impl Iterator<Item = (usize, f32)> {
    let session = session_of[at];
    let sides = NEAR.iter().enumerate().flat_map(move |(step, share)| {
        [at.checked_sub(step + 1), Some(at + step + 1)].into_iter().flatten().map(move |other| (other, *share))
    });
    sides.filter(move |(other, _)| session != NONE && session_of.get(*other) == Some(&session))
}

fn numbered_sessions(entries: &[Entry]) -> Vec<u32> {
    let mut last: Option<&str> = None;
    let mut number = 0;
    let mut numbers = Vec::with_capacity(entries.len());
    for entry in entries {
        let Some(turn) = &entry.turn else {
            numbers.push(NONE);
            continue;
        };
        number += u32::from(last.is_some_and(|last| last != turn.session));
        last = Some(&turn.session);
        numbers.push(number);
    }
    numbers
}

/// For each word the entries that hold it, one run after another.
fn inverted(entries: &[Entry], vocabulary: usize) -> (Vec<u32>, Vec<Posting>) {
    let mut starts = vec![0u32; vocabulary + 1];
    let mut seen = vec![u32::MAX; vocabulary];
    for (number, entry) in entries.iter().enumerate() {
        for term in entry.terms.iter().filter(|term| **term != BREAK) {
            if seen[*term as usize] != number as u32 {
                seen[*term as usize] = number as u32;
                starts[*term as usize + 1] += 1;
            }
        }
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut next = starts.clone();
    let mut postings = vec![Posting::default(); starts.last().map_or(0, |end| *end as usize)];
    seen.fill(u32::MAX);
    for (number, entry) in entries.iter().enumerate() {
        for (at, term) in entry.terms.iter().enumerate().filter(|(_, term)| **term != BREAK) {
            let term = *term as usize;
            if seen[term] != number as u32 {
                seen[term] = number as u32;
                postings[next[term] as usize].entry = number as u32;
                next[term] += 1;
            }
            postings[next[term] as usize - 1].weight += entry.weight(at);
        }
    }
    (starts, postings)
}

impl Index {
    /// Put new and changed documents in, and take the removed ones out. Others are not looked at.
    pub fn update<'a>(
        &mut self,
        changed: impl IntoIterator<Item = Document>,
        removed: impl IntoIterator<Item = &'a str>,
    ) {
        let mut known: FxHashMap<Language, FxHashMap<String, Known>> = FxHashMap::default();
        let mut fresh: FxHashMap<String, Entry> = FxHashMap::default();
        for document in changed {
            let entry = Reading::of(&mut self.lexicon, &mut known).entry(document);
            fresh.insert(entry.id.clone(), entry);
        }
        let removed: FxHashSet<&str> = removed.into_iter().collect();
        self.entries.retain(|entry| !removed.contains(entry.id.as_str()) && !fresh.contains_key(&entry.id));
        self.entries.extend(fresh.into_values());
        self.settle();
    }

    /// Count again what is derived.
    pub(super) fn settle(&mut self) {
        self.entries.sort_by(|a, b| (&a.turn, &a.id).cmp(&(&b.turn, &b.id)));
        self.counts = Counts::of(&self.entries, self.lexicon.words.len());
    }

    /// The stamp under which a document was read, if it is known.
    pub fn stamps(&self) -> FxHashMap<&str, u64> {
        self.entries.iter().map(|entry| (entry.id.as_str(), entry.stamp)).collect()
    }

    /// Documents whose meaning is not known, newest first, as many as there is room for when so many are kept.
    pub fn without_meaning(&self, most: usize) -> Vec<&str> {
        let mut unknown: Vec<&Entry> =
            self.entries.iter().filter(|entry| !self.vectors.knows(entry.fingerprint)).collect();
        unknown.sort_by_key(|entry| std::cmp::Reverse(entry.time));
        unknown.truncate(most.saturating_sub(self.vectors.len()));
        unknown.into_iter().map(|entry| entry.id.as_str()).collect()
    }

    /// Let go of the meanings of texts that are gone. Whether there were any.
    pub fn forget_meanings(&mut self) -> bool {
        let texts: FxHashSet<u64> = self.entries.iter().map(|entry| entry.fingerprint).collect();
        self.vectors.keep_only(|text| texts.contains(&text))
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is nothing to find.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// What is known of a word as written.
#[derive(Clone, Copy)]
struct Known {
    term: Option<u32>,
    is_time: bool,
    is_number: bool,
}

/// Reads documents into entries. A word as written is looked up in `known` first: most words occur often.
struct Reading<'a> {
    lexicon: &'a mut Lexicon,
    known: &'a mut FxHashMap<Language, FxHashMap<String, Known>>,
    language: Language,
    has_time: bool,
    has_number: bool,
}

impl<'a> Reading<'a> {
    fn of(lexicon: &'a mut Lexicon, known: &'a mut FxHashMap<Language, FxHashMap<String, Known>>) -> Self {
        Self { lexicon, known, language: Language::ENGLISH, has_time: false, has_number: false }
    }

    fn entry(mut self, document: Document) -> Entry {
        let fingerprint = document.fingerprint();
        self.language = Language::of(&document.said());
        let mut terms = Vec::new();
        let mut fields = [0; 3];
        self.read(&document.name, &mut terms);
        fields[0] = terms.len() as u32;
        self.read(&document.description, &mut terms);
        fields[1] = terms.len() as u32;
        let (said, pasted) = match document.turn {
            Some(_) => text::fenced(&document.body),
            None => (Cow::Borrowed(document.body.as_str()), String::new()),
        };
        self.read(&said, &mut terms);
        fields[2] = terms.len() as u32;
        self.read(&pasted, &mut terms);
        let shorts = [&document.description, &document.body].into_iter().flat_map(|text| super::shorts::shorts(text));
        let shorts = shorts
            .map(|(short, long)| (self.lexicon.add(&short), long.iter().map(|word| self.lexicon.add(word)).collect()))
            .collect();
        Entry {
            id: document.id,
            kind: document.kind,
            stamp: document.stamp,
            fingerprint,
            time: document.time.map(|time| time.as_second()),
            turn: document.turn,
            terms,
            fields,
            language: self.language,
            shorts,
            asks: (100.0 * text::asks(&document.body)) as u8,
            has_time: self.has_time,
            has_number: self.has_number,
        }
    }

    fn read(&mut self, text: &str, terms: &mut Vec<u32>) {
        text::pieces(text, &mut |piece| match piece {
            Piece::Break if terms.last().is_some_and(|last| *last != BREAK) => terms.push(BREAK),
            Piece::Break => {}
            Piece::Word(word) | Piece::Part(word) => terms.extend(self.term(word)),
        });
        if terms.last().is_some_and(|last| *last != BREAK) {
            terms.push(BREAK);
        }
    }

    fn term(&mut self, word: &str) -> Option<u32> {
        let words = self.known.entry(self.language).or_default();
        let known = match words.get(word) {
            Some(known) => *known,
            None => {
                let known = Known {
                    term: self.language.normal(word).map(|normal| self.lexicon.add(&normal)),
                    is_time: words::is_time(word),
                    is_number: word.starts_with(|c: char| c.is_ascii_digit()),
                };
                words.insert(word.to_owned(), known);
                known
            }
        };
        self.has_number |= known.is_number;
        self.has_time |= known.is_time;
        known.term
    }
}
