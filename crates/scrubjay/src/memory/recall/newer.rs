//! Of two statements about the same thing the later one comes first. Neither is hidden.
//!
//! A later text of the same speaker overtakes an earlier one that stands before it
//! - when it *says the same of something else*: the sentences that fit the question share one frame (beginning and end),
//!   differ in a single span between, and the later holds every word of the question that the earlier holds. "The
//!   capital of X is A", "The capital of X is B";
//! - or when the question asks for the present value of something, both hold much of the same of it, and the later is
//!   among the best itself and *speaks of a change*: right beside words of the question stand a word of change and a number.

use super::index::{BREAK, Entry, Index};
use super::question::Question;
use super::{Voice, words};

/// How many of the best are compared.
pub(super) const COMPARED: usize = 50;
/// The share of the shorter sentence that two sentences of one frame have in common.
const FRAME: f32 = 0.5;
/// The least words of a frame.
const FRAME_WORDS: usize = 2;
/// The share of the earlier text's words of the question that the later one holds too.
const SUBJECT: f32 = 0.35;
/// A text of change that fits so much worse is about something else.
const CONTEST: f32 = 0.4;
/// A text of change has to be among so many of the best.
const CONTENDERS: usize = 10;
/// Words further apart are not about each other.
const BESIDE: usize = 3;
/// Just above the one that is overtaken.
const STEP: f32 = 0.001;

struct Statement<'a> {
    rank: usize,
    score: f32,
    entry: &'a Entry,
    /// The sentence that fits best.
    sentence: &'a [u32],
    /// The question's words in the sentence, and in the whole text.
    said: u32,
    held: u32,
    is_change: bool,
}

/// A later statement that goes before earlier ones.
pub(super) struct Lift {
    /// Its rank, and by how much it rises.
    pub(super) rank: usize,
    pub(super) by: f32,
    /// The ranks of those it overtakes.
    pub(super) over: Vec<usize>,
}

/// Which of `ranked` (entries with scores, best first) to lift.
pub(super) fn lifts(index: &Index, question: &Question, ranked: &[(u32, f32)], held: &[u32]) -> Vec<Lift> {
    let compared = ranked.iter().take(COMPARED).enumerate();
    let mut statements: Vec<Statement<'_>> = compared
        .filter(|(_, (entry, _))| held[*entry as usize] != 0)
        .map(|(rank, (entry, score))| Statement::of(index, question, (rank, *score), (*entry, held[*entry as usize])))
        .collect();
    statements.sort_by(|a, b| a.moment().cmp(&b.moment()).then(b.rank.cmp(&a.rank)));
    let mut lifts = Vec::new();
    for later in 1..statements.len() {
        let (earlier, rest) = statements.split_at_mut(later);
        let later = &mut rest[0];
        let overtaken: Vec<&Statement<'_>> = earlier
            .iter()
            .filter(|earlier| earlier.score >= later.score && later.overtakes(earlier, question))
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
    fn of(index: &'a Index, question: &Question, (rank, score): (usize, f32), (entry, held): (u32, u32)) -> Self {
        let entry = &index.entries[entry as usize];
        let said = |sentence: &[u32]| {
            sentence
                .iter()
                .flat_map(|term| question.concepts_of(*term))
                .fold(0u32, |said, (number, _)| said | 1 << number)
        };
        let sentences = entry.terms.split(|term| *term == BREAK).map(|sentence| (sentence, said(sentence)));
        let (sentence, said) = sentences.fold((&[] as &[u32], 0), |best, next| {
            if weight(question, next.1) > weight(question, best.1) { next } else { best }
        });
        let is_change = rank < CONTENDERS && speaks_of_change(index, question, entry);
        Self { rank, score, entry, sentence, said, held, is_change }
    }

    fn moment(&self) -> (Option<i64>, u32) {
        (self.entry.time, self.entry.turn.as_ref().map_or(0, |turn| turn.position))
    }

    fn speaker(&self) -> Option<(Voice, &str)> {
        self.entry.turn.as_ref().map(|turn| (turn.voice, turn.speaker.as_str()))
    }

    fn overtakes(&self, earlier: &Self, question: &Question) -> bool {
        if earlier.moment() >= self.moment() || earlier.speaker() != self.speaker() {
            return false;
        }
        let says_again = self.said & earlier.said == earlier.said && same_frame(self.sentence, earlier.sentence);
        says_again || self.updates(earlier, question)
    }

    fn updates(&self, earlier: &Self, question: &Question) -> bool {
        let common = weight(question, self.held & earlier.held);
        question.is_about_now
            && question.wants_value
            && self.score >= CONTEST * earlier.score
            && common >= SUBJECT * weight(question, earlier.held)
            && self.is_change
    }
}

/// Whether words of the question have a word of change beside them, and a number.
fn speaks_of_change(index: &Index, question: &Question, entry: &Entry) -> bool {
    let is_asked = |term: &u32| question.concepts_of(*term).next().is_some();
    let word = |term: &u32| index.lexicon.words.get(*term as usize).map_or("", |word| &**word);
    let said = &entry.terms[..entry.fields[2] as usize];
    let beside = |is_it: &dyn Fn(&u32) -> bool| {
        said.split(|term| *term == BREAK).any(|sentence| {
            let mut asked = sentence.iter().enumerate().filter(|(_, term)| is_asked(term));
            asked.any(|(at, _)| {
                let (from, to) = (at.saturating_sub(BESIDE), (at + BESIDE + 1).min(sentence.len()));
                sentence[from..to].iter().any(is_it)
            })
        })
    };
    beside(&|term| words::is_change(word(term)) && !is_asked(term))
        && beside(&|term| word(term).starts_with(|c: char| c.is_ascii_digit()))
}

fn weight(question: &Question, held: u32) -> f32 {
    let concepts = question.concepts.iter().enumerate().filter(|(number, _)| held & (1 << number) != 0);
    concepts.map(|(_, concept)| concept.weight).sum()
}

/// Whether two sentences begin and end alike, for at least half of the shorter one.
fn same_frame(a: &[u32], b: &[u32]) -> bool {
    let shorter = a.len().min(b.len());
    let begin = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let end = a.iter().rev().zip(b.iter().rev()).take(shorter - begin).take_while(|(x, y)| x == y).count();
    begin + end >= FRAME_WORDS && (begin + end) as f32 >= FRAME * shorter as f32
}
