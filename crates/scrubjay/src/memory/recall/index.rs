//! What is kept of the documents: their words in order, and, derived from those, who holds which word.
//!
//! The words of each document are the truth. Everything else is counted from them, in order of session and place; of memories
//! only for what changed. An index that grew answers like one built at once, and a document that did not change is not read
//! again.

use super::table::{self, Meaning, Row, Sum};
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

/// When fewer than one in so many documents change, the others are not counted again.
const FEW: usize = 20;

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
    /// What its name and description mean, and all of it.
    pub(super) meanings: [Meaning; 2],
    /// By which its words were cut to stems.
    pub(super) language: Language,
    /// Short forms that the text explains: the short word, and the long ones.
    pub(super) shorts: Vec<(u32, Vec<u32>)>,
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

    /// Each word it holds, once, with how much of it.
    fn weights(&self) -> FxHashMap<u32, f32> {
        let mut weights = FxHashMap::default();
        for (at, term) in self.terms.iter().enumerate().filter(|(_, term)| **term != BREAK) {
            *weights.entry(*term).or_default() += self.weight(at);
        }
        weights
    }

    fn length(&self) -> f32 {
        self.terms.iter().enumerate().filter(|(_, term)| **term != BREAK).map(|(at, _)| self.weight(at)).sum()
    }

    /// How much of it counts for the turns around it, and for its session.
    pub(super) fn carries(&self) -> f32 {
        if self.is_echo() { ECHO } else { 1.0 }
    }

    /// Whether an assistant wrote it.
    fn is_echo(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.voice == Voice::Assistant)
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
    /// For each word the entries that hold it, in order.
    postings: Vec<Vec<Posting>>,
    pub(super) lengths: Lengths,
    pub(super) near: Lengths,
    pub(super) sessions: Lengths,
    /// The session of each entry, by number.
    pub(super) session_of: Vec<u32>,
    pub(super) shorts: FxHashMap<u32, BTreeSet<u32>>,
    /// What assistants wrote.
    pub(super) echoes: Echoes,
    /// The languages that occur.
    pub(super) languages: BTreeSet<Language>,
}

/// Which entries an assistant wrote.
#[derive(Debug, Clone, Default)]
pub(super) struct Echoes {
    pub(super) is_echo: Vec<bool>,
    pub(super) count: usize,
}

impl Echoes {
    fn of(entries: &[Entry]) -> Self {
        let is_echo: Vec<bool> = entries.iter().map(Entry::is_echo).collect();
        let count = is_echo.iter().filter(|is_echo| **is_echo).count();
        Self { is_echo, count }
    }
}

/// Lengths in words, and what each is to the mean: of users' texts to that of users, of assistants' to that of assistants.
#[derive(Debug, Clone, Default)]
pub(super) struct Lengths {
    pub(super) each: Vec<f32>,
    pub(super) to_mean: Vec<f32>,
}

impl Lengths {
    fn of(each: Vec<f32>, is_echo: impl Fn(usize) -> bool) -> Self {
        let (mut sums, mut counts) = ([0.0; 2], [0.0; 2]);
        for (at, length) in each.iter().enumerate() {
            sums[usize::from(is_echo(at))] += length;
            counts[usize::from(is_echo(at))] += 1.0f32;
        }
        let mean = |at: usize| {
            let voice = usize::from(is_echo(at));
            (sums[voice] / counts[voice]).max(1.0)
        };
        Self { to_mean: each.iter().enumerate().map(|(at, length)| length / mean(at)).collect(), each }
    }
}

impl Counts {
    /// Who holds a word.
    pub(super) fn postings(&self, term: u32) -> &[Posting] {
        self.postings.get(term as usize).map_or(&[], Vec::as_slice)
    }

    fn of(entries: &[Entry], vocabulary: usize) -> Self {
        let postings = inverted(entries, vocabulary);
        let echoes = Echoes::of(entries);
        let is_echo = |at: usize| echoes.is_echo[at];
        let lengths = Lengths::of(entries.iter().map(Entry::length).collect(), is_echo);
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
        let (near, sessions) = (Lengths::of(near, is_echo), Lengths::of(sessions, |_| false));
        let (shorts, languages) = (short_forms(entries), entries.iter().map(|entry| entry.language).collect());
        Self { postings, lengths, near, sessions, session_of, shorts, echoes, languages }
    }

    /// Count one entry less; the last takes its place.
    fn remove(&mut self, entries: &[Entry], at: usize) {
        let last = entries.len() - 1;
        for (term, _) in entries[at].weights() {
            self.postings[term as usize].retain(|posting| posting.entry as usize != at);
        }
        for (term, _) in entries[last].weights().into_iter().filter(|_| last != at) {
            let holders = &mut self.postings[term as usize];
            if let Some(moved) = holders.pop_if(|posting| posting.entry as usize == last) {
                let place = holders.partition_point(|posting| (posting.entry as usize) < at);
                holders.insert(place, Posting { entry: at as u32, ..moved });
            }
        }
        self.lengths.each.swap_remove(at);
        self.near.each.swap_remove(at);
        self.session_of.swap_remove(at);
    }

    /// Count one entry more, at the end.
    fn add(&mut self, entry: &Entry, at: usize, vocabulary: usize) {
        self.postings.resize_with(vocabulary, Vec::new);
        for (term, weight) in entry.weights() {
            self.postings[term as usize].push(Posting { entry: at as u32, weight });
        }
        self.lengths.each.push(entry.length());
        self.near.each.push(0.0);
        self.session_of.push(NONE);
    }

    /// What is counted from all entries at once.
    fn sum_up(&mut self, entries: &[Entry]) {
        self.echoes = Echoes::of(entries);
        let is_echo = |at: usize| self.echoes.is_echo[at];
        self.lengths = Lengths::of(std::mem::take(&mut self.lengths.each), is_echo);
        self.near = Lengths::of(std::mem::take(&mut self.near.each), is_echo);
        (self.shorts, self.languages) = (short_forms(entries), entries.iter().map(|entry| entry.language).collect());
    }
}

/// Short forms that some entry explains, both ways.
fn short_forms(entries: &[Entry]) -> FxHashMap<u32, BTreeSet<u32>> {
    let mut shorts: FxHashMap<u32, BTreeSet<u32>> = FxHashMap::default();
    for (short, long) in entries.iter().flat_map(|entry| &entry.shorts) {
        shorts.entry(*short).or_default().extend(long);
        for word in long {
            shorts.entry(*word).or_default().insert(*short);
        }
    }
    shorts
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

/// For each word the entries that hold it.
fn inverted(entries: &[Entry], vocabulary: usize) -> Vec<Vec<Posting>> {
    let mut counts = vec![0u32; vocabulary];
    let mut seen = vec![u32::MAX; vocabulary];
    for (number, entry) in entries.iter().enumerate() {
        for term in entry.terms.iter().filter(|term| **term != BREAK) {
            if seen[*term as usize] != number as u32 {
                seen[*term as usize] = number as u32;
                counts[*term as usize] += 1;
            }
        }
    }
    let mut postings: Vec<Vec<Posting>> = counts.iter().map(|count| Vec::with_capacity(*count as usize)).collect();
    for (number, entry) in entries.iter().enumerate() {
        for (at, term) in entry.terms.iter().enumerate().filter(|(_, term)| **term != BREAK) {
            let (entry_number, weight, holders) = (number as u32, entry.weight(at), &mut postings[*term as usize]);
            match holders.last_mut() {
                Some(last) if last.entry == entry_number => last.weight += weight,
                _ => holders.push(Posting { entry: entry_number, weight }),
            }
        }
    }
    postings
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
        let is_gone = |entry: &Entry| removed.contains(entry.id.as_str()) || fresh.contains_key(&entry.id);
        let few = (fresh.len() + removed.len()).saturating_mul(FEW) < self.entries.len();
        let is_plain = |entry: &Entry| entry.turn.is_none();
        if few && fresh.values().all(is_plain) && self.entries.last().is_none_or(is_plain) {
            let gone: Vec<usize> = (0..self.entries.len()).filter(|at| is_gone(&self.entries[*at])).collect();
            return self.change(&gone, fresh);
        }
        self.entries.retain(|entry| !is_gone(entry));
        self.entries.extend(fresh.into_values());
        self.settle();
    }

    /// Where little changes and nothing is part of a conversation, only that is counted again.
    fn change(&mut self, gone: &[usize], fresh: FxHashMap<String, Entry>) {
        for at in gone.iter().rev() {
            self.counts.remove(&self.entries, *at);
            self.entries.swap_remove(*at);
        }
        let mut fresh: Vec<Entry> = fresh.into_values().collect();
        fresh.sort_by(|a, b| a.id.cmp(&b.id));
        for entry in fresh {
            self.counts.add(&entry, self.entries.len(), self.lexicon.words.len());
            self.entries.push(entry);
        }
        self.counts.sum_up(&self.entries);
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
    row: Option<Row>,
    is_time: bool,
    is_number: bool,
}

/// Reads documents into entries. A word as written is looked up in `known` first: most words occur often.
struct Reading<'a> {
    lexicon: &'a mut Lexicon,
    known: &'a mut FxHashMap<Language, FxHashMap<String, Known>>,
    language: Language,
    sum: Sum,
    has_time: bool,
    has_number: bool,
}

impl<'a> Reading<'a> {
    fn of(lexicon: &'a mut Lexicon, known: &'a mut FxHashMap<Language, FxHashMap<String, Known>>) -> Self {
        Self { lexicon, known, language: Language::ENGLISH, sum: Sum::default(), has_time: false, has_number: false }
    }

    fn entry(mut self, document: Document) -> Entry {
        let fingerprint = document.fingerprint();
        let whole = document.said();
        self.language = Language::of(&whole);
        let mut terms = Vec::new();
        let mut fields = [0; 3];
        self.read(&document.name, &mut terms);
        fields[0] = terms.len() as u32;
        self.read(&document.description, &mut terms);
        fields[1] = terms.len() as u32;
        let head = self.sum.meaning();
        let (said, pasted) = match document.turn {
            Some(_) => text::fenced(&document.body),
            None => (Cow::Borrowed(document.body.as_str()), String::new()),
        };
        self.read(&said, &mut terms);
        fields[2] = terms.len() as u32;
        let said = self.sum.meaning();
        self.read(&pasted, &mut terms);
        // Where nothing else is said, the code is what is said.
        let whole = if said.0.is_empty() { self.sum.meaning() } else { said };
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
            meanings: [head, whole],
            language: self.language,
            shorts,
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
                    row: table::row(word),
                    is_time: words::is_time(word),
                    is_number: word.starts_with(|c: char| c.is_ascii_digit()),
                };
                words.insert(word.to_owned(), known);
                known
            }
        };
        known.row.into_iter().for_each(|row| self.sum.add(row));
        self.has_number |= known.is_number;
        self.has_time |= known.is_time;
        known.term
    }
}
