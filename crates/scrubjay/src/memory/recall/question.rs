//! What a question asks: its words with the forms they may take in a document, the days and people it names, and what
//! kind of answer it wants.

use super::index::Index;
use super::rank::Weights;
use super::table::{self, Meaning};
use super::text::{self, Piece};
use super::{Query, spelling, words};
use crate::dates::{self, Days};
use std::collections::HashSet;

/// A question of more words than this is a text; its rarest words say what it is about.
const MOST_CONCEPTS: usize = 32;

/// A question, understood.
#[derive(Debug, Default)]
pub(super) struct Question {
    pub(super) concepts: Vec<Concept>,
    /// Every word of the index that stands for one of the concepts, sorted: the word, the concept, how surely.
    forms: Vec<(u32, usize, f32)>,
    pub(super) days: Vec<Days>,
    /// What it means.
    pub(super) meaning: Meaning,
    /// It wants a time.
    pub(super) wants_time: bool,
    /// It wants a number.
    pub(super) wants_number: bool,
    /// It asks how things stand, not how they were.
    pub(super) is_about_now: bool,
}

/// A word of the question.
#[derive(Debug)]
pub(super) struct Concept {
    pub(super) word: String,
    pub(super) forms: Vec<Form>,
    /// How rare it is, times its share.
    pub(super) weight: f32,
    /// How much it tells in any text, times its share.
    pub(super) tells: f32,
    /// Less than 1 when the word was understood in another way already.
    pub(super) share: f32,
}

/// A word of the index that may stand for a word of the question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Form {
    pub(super) term: u32,
    pub(super) weight: f32,
}

/// A word that named a day counts less as a word.
const DATE_WORD: f32 = 0.3;

impl Question {
    pub(super) fn of(query: &Query<'_>, index: &Index) -> Self {
        let asked = Asked::read(query.text);
        let all: Vec<String> = asked.iter().map(|asked| asked.word.clone()).collect();
        let dates = dates::asked(query.text, &all, query.now.date());
        let mut concepts: Vec<Concept> = Vec::new();
        let mut seen = HashSet::new();
        for (at, asked) in asked.iter().enumerate() {
            for stems in asked.normals(index).into_iter().filter(|stems| seen.insert(stems[0].clone())) {
                let mut concept = Concept::of(stems, index, &query.weights);
                concept.tells = table::tells(if asked.parts.is_empty() { &asked.word } else { &concept.word });
                concept.share = if dates.used[at] { DATE_WORD } else { 1.0 };
                concept.weight *= concept.share;
                concept.tells *= concept.share;
                concepts.push(concept);
            }
        }
        keep_rarest(&mut concepts);
        let text = all.join(" ");
        let (wants_time, wants_number) = (says(&text, TIMES), says(&text, COUNTS));
        Self {
            forms: forms(&concepts),
            concepts,
            days: dates.days,
            meaning: Meaning::of(query.text),
            wants_time,
            wants_number,
            is_about_now: !says(&text, PAST),
        }
    }

    /// The concepts a word of the index stands for, and how surely.
    pub(super) fn concepts_of(&self, term: u32) -> impl Iterator<Item = (usize, f32)> {
        let from = self.forms.partition_point(|(known, _, _)| *known < term);
        self.forms[from..]
            .iter()
            .take_while(move |(known, _, _)| *known == term)
            .map(|(_, concept, sure)| (*concept, *sure))
    }
}

const TIMES: &[&str] = &[
    "when",
    "how long",
    "what date",
    "what day",
    "what month",
    "what year",
    "what time",
    "which date",
    "which day",
    "which month",
    "which year",
];
const COUNTS: &[&str] = &["how many", "how much", "how old", "how long", "how often"];
const PAST: &[&str] = &[
    "did",
    "was",
    "were",
    "had",
    "originally",
    "initially",
    "at first",
    "previously",
    "before",
    "used to",
    "at the start",
    "earlier",
];

fn forms(concepts: &[Concept]) -> Vec<(u32, usize, f32)> {
    let each = concepts
        .iter()
        .enumerate()
        .flat_map(|(number, concept)| concept.forms.iter().map(move |form| (form.term, number, form.weight)));
    let mut forms: Vec<(u32, usize, f32)> = each.collect();
    forms.sort_by_key(|(term, number, _)| (*term, *number));
    forms
}

fn says(text: &str, phrases: &[&str]) -> bool {
    let text = format!(" {text} ");
    phrases.iter().any(|phrase| text.contains(&format!(" {phrase} ")))
}

fn keep_rarest(concepts: &mut Vec<Concept>) {
    if concepts.len() > MOST_CONCEPTS {
        let mut weights: Vec<f32> = concepts.iter().map(|concept| concept.weight).collect();
        weights.sort_by(|a, b| b.total_cmp(a));
        let least = weights[MOST_CONCEPTS - 1];
        concepts.retain(|concept| concept.weight >= least);
        concepts.truncate(MOST_CONCEPTS);
    }
}

/// A word as it was asked, with its parts if it is an identifier.
struct Asked {
    word: String,
    parts: Vec<String>,
}

impl Asked {
    fn read(text: &str) -> Vec<Self> {
        let mut all = Vec::new();
        let mut parts = Vec::new();
        text::pieces(text, &mut |piece| match piece {
            Piece::Part(part) => parts.push(part.to_owned()),
            Piece::Word(word) => all.push(Self { word: word.to_owned(), parts: std::mem::take(&mut parts) }),
            Piece::Break => {}
        });
        all
    }

    /// The word in its normal forms, one for each language of the index; its parts instead, when only they are known.
    fn normals(&self, index: &Index) -> Vec<Vec<String>> {
        let whole = normals(index, &self.word);
        let is_known = whole.iter().any(|word| holders(index, word) > 0);
        let words = if is_known || self.parts.is_empty() {
            vec![whole]
        } else {
            self.parts.iter().map(|part| normals(index, part)).collect()
        };
        words.into_iter().filter(|stems| !stems.is_empty()).collect()
    }
}

/// What a word may be filed under: a question is too short to tell its language.
fn normals(index: &Index, word: &str) -> Vec<String> {
    let mut stems: Vec<String> = words::normal(word).into_iter().collect();
    for stem in index.counts.languages.iter().filter_map(|language| language.normal(word)) {
        if !stems.contains(&stem) {
            stems.push(stem);
        }
    }
    stems
}

fn holders(index: &Index, word: &str) -> usize {
    index.lexicon.find(word).map_or(0, |term| index.counts.postings(term).len())
}

impl Concept {
    fn of(stems: Vec<String>, index: &Index, weights: &Weights) -> Self {
        let found = stems.iter().filter_map(|stem| index.lexicon.find(stem));
        let exact: Vec<u32> = found.filter(|term| !index.counts.postings(*term).is_empty()).collect();
        let mut forms: Vec<Form> = exact.iter().map(|term| Form { term: *term, weight: 1.0 }).collect();
        let word = stems.into_iter().next().unwrap_or_default();
        let mut add = |term: u32, weight: f32| {
            let is_new = forms.iter().all(|form| form.term != term) && !index.counts.postings(term).is_empty();
            if is_new && weight > 0.0 {
                forms.push(Form { term, weight });
            }
        };
        for term in index.lexicon.find(&word).and_then(|term| index.counts.shorts.get(&term)).into_iter().flatten() {
            add(*term, weights.forms.short);
        }
        if forms.is_empty() && weights.forms.spelling > 0.0 {
            let near = spelling::guesses(index, &word).into_iter().chain(holding_letter(index, &word));
            forms.extend(near.map(|(term, sure)| Form { term, weight: sure * weights.forms.spelling }));
        }
        let weight = rarity(index, &exact, &forms);
        Self { word, forms, weight, tells: 0.0, share: 1.0 }
    }
}

impl Concept {
    /// How sure it is that what stands for the word is the word.
    pub(super) fn sure(&self) -> f32 {
        self.forms.iter().map(|form| form.weight).fold(0.0, f32::max)
    }
}

/// How much a word tells: that of Robertson and Spärck Jones, never negative.
///
/// By what users said: an assistant says everything again, and many times.
fn rarity(index: &Index, exact: &[u32], forms: &[Form]) -> f32 {
    let echoes = &index.counts.echoes;
    let holders = |term: u32| match echoes.count {
        0 => index.counts.postings(term).len(),
        _ => index.counts.postings(term).iter().filter(|posting| !echoes.is_echo[posting.entry as usize]).count(),
    };
    let count = if exact.is_empty() {
        forms.iter().map(|form| holders(form.term)).max().unwrap_or(0)
    } else {
        exact.iter().map(|term| holders(*term)).sum()
    };
    rarity_of(count as f32, (index.entries.len() - echoes.count) as f32)
}

fn rarity_of(count: f32, all: f32) -> f32 {
    (1.0 + (all - count + 0.5) / (count + 0.5)).ln()
}

/// A single letter of a script without spaces stands in the pairs that hold it.
fn holding_letter(index: &Index, word: &str) -> Vec<(u32, f32)> {
    let mut letters = word.chars();
    let (Some(letter), None) = (letters.next().filter(|c| !c.is_ascii()), letters.next()) else { return Vec::new() };
    let held = index
        .lexicon
        .words
        .iter()
        .enumerate()
        .filter(|(_, other)| other.chars().count() == 2 && other.contains(letter));
    held.map(|(term, _)| (term as u32, 1.0)).filter(|(term, _)| !index.counts.postings(*term).is_empty()).collect()
}
