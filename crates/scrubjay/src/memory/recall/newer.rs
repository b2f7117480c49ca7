//! Of two statements about the same thing the later one comes first. Neither is hidden.
//!
//! A later text of the same voice and type overtakes an earlier one that stands before it when it gives *the same attribute of
//! the same subject another value*. Told by
//! - how the sentences that fit the question line up: much of the shorter one is in both, in the same order, and where they
//!   differ they differ in one place. Two places are a subject and its value: two servers, two offices, and both hold;
//! - or, of memories that use other words, by their nearness in meaning.
//!
//! A word of change in the later one is a hint: less has to be alike, and among the turns of a conversation there has to be one. A word that adds ("also", "second") says that both hold.
//! A question about how things were, or about a day, is answered in order of the first only.

use super::index::{BREAK, Entry, Index};
use super::question::Question;
use super::{Voice, words};

/// How many of the best are compared.
pub(super) const COMPARED: usize = 50;
/// The least words that two sentences have in common when they say the same of something.
const FRAME_WORDS: usize = 2;
/// The share of the shorter sentence that is in both.
const FRAME: f32 = 0.5;
/// A word of change so near to what is asked speaks of that.
const BESIDE: usize = 3;
/// Texts in other words that are as near as this are about the same.
const ABOUT: f32 = 0.62;
/// The same where the later one speaks of a change.
const ABOUT_CHANGED: f32 = 0.4;
/// A later text that is so much less likely wanted is about something else.
const CONTEST: f32 = 0.25;
/// A word that tells so much names what is asked about: a text without it is about something else.
const NAMES: f32 = 3.0;
/// Longer sentences are compared by their beginning.
const LONGEST: usize = 48;
/// Just above the one that is overtaken.
const STEP: f32 = 0.001;

struct Statement<'a> {
    rank: usize,
    score: f32,
    relevance: f32,
    entry: &'a Entry,
    /// The sentence that fits best.
    sentence: &'a [u32],
    /// The question's words in the sentence, and those of them that name what is asked about.
    said: u32,
    named: u32,
    hint: Hint,
}

/// What a statement says of those before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hint {
    Changes,
    Adds,
    None,
}

/// A later statement that goes before earlier ones.
pub(super) struct Lift {
    /// Its rank, and by how much it rises.
    pub(super) rank: usize,
    pub(super) by: f32,
    /// The ranks of those it overtakes.
    pub(super) over: Vec<usize>,
}

/// A document that may be overtaken or overtake: its place in the index, its score, how likely it is wanted.
pub(super) type Ranked = (u32, f32, f32);

/// Which of `ranked` (best first) to lift.
pub(super) fn lifts(index: &Index, question: &Question, ranked: &[Ranked]) -> Vec<Lift> {
    let is_about_now = question.is_about_now && question.days.is_empty();
    let compared = ranked.iter().take(COMPARED).enumerate();
    let mut statements: Vec<Statement<'_>> =
        compared.map(|(rank, ranked)| Statement::of(index, question, rank, *ranked)).collect();
    statements.sort_by(|a, b| a.moment().cmp(&b.moment()).then(b.rank.cmp(&a.rank)));
    let mut lifts = Vec::new();
    for later in 1..statements.len() {
        let (earlier, rest) = statements.split_at_mut(later);
        let later = &mut rest[0];
        let overtaken: Vec<&Statement<'_>> = earlier
            .iter()
            .filter(|earlier| earlier.score >= later.score && later.replaces(earlier, is_about_now))
            .collect();
        let most = overtaken.iter().map(|earlier| earlier.score).fold(f32::NEG_INFINITY, f32::max);
        if most > f32::NEG_INFINITY {
            let by = most + STEP - later.score;
            later.score += by;
            lifts.push(Lift { rank: later.rank, by, over: overtaken.iter().map(|earlier| earlier.rank).collect() });
        }
    }
    lifts
}

impl<'a> Statement<'a> {
    fn of(index: &'a Index, question: &Question, rank: usize, (entry, score, relevance): Ranked) -> Self {
        let entry = &index.entries[entry as usize];
        let said = |sentence: &[u32]| {
            sentence
                .iter()
                .flat_map(|term| question.concepts_of(*term))
                .fold(0u32, |said, (number, _)| said | 1 << number)
        };
        // Of sentences that fit as well, the last: a name and a description come before the text.
        let sentences = entry.terms.split(|term| *term == BREAK).filter(|sentence| !sentence.is_empty());
        let fitting = sentences.map(|sentence| (sentence, said(sentence)));
        let (sentence, said) = fitting.fold((&[] as &[u32], 0), |best, next| {
            if weight(question, next.1) >= weight(question, best.1) { next } else { best }
        });
        let names = question.concepts.iter().enumerate().filter(|(_, concept)| concept.tells >= NAMES);
        let named = said & names.fold(0u32, |names, (number, _)| names | 1 << number);
        let word = |term: &u32| index.lexicon.words.get(*term as usize).map_or("", |word| &**word);
        let is_asked = |term: &u32| question.concepts_of(*term).next().is_some();
        let adds = sentence.iter().any(|term| words::is_addition(word(term)));
        let changes = sentence.iter().enumerate().any(|(at, term)| {
            let beside = &sentence[at.saturating_sub(BESIDE)..(at + BESIDE + 1).min(sentence.len())];
            words::is_change(word(term)) && (said == 0 || beside.iter().any(is_asked))
        });
        let hint = match (adds, changes) {
            (true, _) => Hint::Adds,
            (false, true) => Hint::Changes,
            (false, false) => Hint::None,
        };
        Self { rank, score, relevance, entry, sentence: &sentence[..sentence.len().min(LONGEST)], said, named, hint }
    }

    fn moment(&self) -> (Option<i64>, u32) {
        (self.entry.time, self.entry.turn.as_ref().map_or(0, |turn| turn.position))
    }

    fn voice(&self) -> Option<Voice> {
        self.entry.turn.as_ref().map(|turn| turn.voice)
    }

    fn replaces(&self, earlier: &Self, is_about_now: bool) -> bool {
        let is_later = earlier.moment() < self.moment();
        let is_alike = earlier.voice() == self.voice() && earlier.entry.kind == self.entry.kind;
        // Who talks also asks, guesses and repeats; there only what speaks of a change replaces anything.
        let is_told = self.entry.turn.is_none() || self.hint == Hint::Changes;
        if !is_later || !is_alike || !is_told || self.hint == Hint::Adds {
            return false;
        }
        let Alignment { shared, places } = Alignment::of(self.sentence, earlier.sentence);
        let shorter = self.sentence.len().min(earlier.sentence.len());
        if shared >= FRAME_WORDS && shared as f32 >= FRAME * shorter as f32 {
            let most = if self.hint == Hint::Changes && is_about_now { 2 } else { 1 };
            return self.said & earlier.said == earlier.said && places <= most;
        }
        // Turns of one conversation are all near each other, and that says nothing. What has no word of its own says the same.
        let has_own = |one: &Self, other: &Self| one.sentence.iter().any(|term| !other.entry.terms.contains(term));
        let is_of_another = earlier.named & !self.said != 0;
        if is_of_another
            || !is_about_now
            || self.entry.turn.is_some()
            || !has_own(self, earlier)
            || !has_own(earlier, self)
        {
            return false;
        }
        let [_, mine] = &self.entry.meanings;
        let [_, theirs] = &earlier.entry.meanings;
        let about = if self.hint == Hint::Changes { ABOUT_CHANGED } else { ABOUT };
        self.relevance >= CONTEST * earlier.relevance && mine.near(theirs) >= about
    }
}

/// How two sentences line up.
struct Alignment {
    /// Words that are in both, in the same order.
    shared: usize,
    /// Places between those where each has words of its own.
    places: usize,
}

impl Alignment {
    /// By their longest common subsequence.
    fn of(a: &[u32], b: &[u32]) -> Self {
        let mut longest = vec![vec![0usize; b.len() + 1]; a.len() + 1];
        for i in (0..a.len()).rev() {
            for j in (0..b.len()).rev() {
                longest[i][j] =
                    if a[i] == b[j] { longest[i + 1][j + 1] + 1 } else { longest[i + 1][j].max(longest[i][j + 1]) };
            }
        }
        let (mut i, mut j, mut places) = (0, 0, 0);
        let (mut own, mut other) = (false, false);
        while i < a.len() || j < b.len() {
            if i < a.len() && j < b.len() && a[i] == b[j] {
                places += usize::from(own && other);
                (own, other) = (false, false);
                (i, j) = (i + 1, j + 1);
            } else if j == b.len() || i < a.len() && longest[i + 1][j] >= longest[i][j + 1] {
                (own, i) = (true, i + 1);
            } else {
                (other, j) = (true, j + 1);
            }
        }
        Self { shared: longest[0][0], places: places + usize::from(own && other) }
    }
}

fn weight(question: &Question, held: u32) -> f32 {
    let concepts = question.concepts.iter().enumerate().filter(|(number, _)| held & (1 << number) != 0);
    concepts.map(|(_, concept)| concept.weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_line_up_in_places() {
        for (a, b, shared, places) in [
            (&[1, 2, 3][..], &[1, 2, 3][..], 3, 0),
            (&[1, 2, 9], &[1, 2, 3], 2, 1),
            (&[7, 2, 3, 9], &[6, 2, 3, 8], 2, 2),
            (&[1, 2, 3, 4], &[1, 2, 3], 3, 0),
            (&[], &[1], 0, 0),
            (&[5, 6], &[1, 2], 0, 1),
        ] {
            let aligned = Alignment::of(a, b);
            assert_eq!((aligned.shared, aligned.places), (shared, places), "{a:?} {b:?}");
        }
    }
}
