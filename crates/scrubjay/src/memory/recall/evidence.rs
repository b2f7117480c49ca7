//! What the documents hold of a question's words: each itself, its neighbours in a conversation, and its session.

use super::index::{Index, NONE, neighbours};
use super::question::{Concept, Question};
use super::rank::SURE;

/// How soon more of the same word stops counting, and how much a long text is held against it.
const SATURATION: f32 = 1.2;
const LENGTH: f32 = 0.75;

/// One number for each entry (or session), over all words of the question.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    pub(super) own: Vec<f32>,
    pub(super) near: Vec<f32>,
    pub(super) session: Vec<f32>,
    /// Which words of the question an entry holds, one bit each.
    pub(super) held: Vec<u32>,
    /// The same, with the turns right before and after it.
    pub(super) around: Vec<u32>,
}

/// A word's share of the score, which grows ever slower with how often it occurs.
fn saturated(count: f32, length_to_mean: f32) -> f32 {
    count / (count + SATURATION * (1.0 - LENGTH + LENGTH * length_to_mean))
}

/// Weights that are mostly zero: a full row, and which places are not.
struct Row {
    values: Vec<f32>,
    touched: Vec<u32>,
}

impl Row {
    fn new(length: usize) -> Self {
        Self { values: vec![0.0; length], touched: Vec::new() }
    }

    fn add(&mut self, at: usize, value: f32) {
        if self.values[at] == 0.0 {
            self.touched.push(at as u32);
        }
        self.values[at] += value;
    }

    /// Hand out what is there, and leave nothing.
    fn drain(&mut self, mut each: impl FnMut(usize, f32)) {
        for at in self.touched.drain(..) {
            each(at as usize, std::mem::take(&mut self.values[at as usize]));
        }
    }
}

impl Evidence {
    pub(super) fn of(index: &Index, question: &Question) -> Self {
        let (entries, sessions) = (index.entries.len(), index.counts.sessions.each.len());
        let mut evidence = Self {
            own: vec![0.0; entries],
            near: vec![0.0; entries],
            session: vec![0.0; sessions],
            held: vec![0; entries],
            around: vec![0; entries],
        };
        let mut rows = [Row::new(entries), Row::new(entries), Row::new(sessions)];
        for (number, concept) in question.concepts.iter().enumerate() {
            evidence.add(index, concept, 1 << number, &mut rows);
        }
        evidence
    }

    fn add(&mut self, index: &Index, concept: &Concept, bit: u32, rows: &mut [Row; 3]) {
        let counts = &index.counts;
        let [own, near, session] = rows;
        for form in &concept.forms {
            for posting in counts.postings(form.term) {
                let at = posting.entry as usize;
                own.add(at, form.weight * posting.weight);
                // A session is long: some word like it stands in most of them.
                if form.weight >= SURE && counts.session_of[at] != NONE {
                    let carried = index.entries[at].carries() * form.weight * posting.weight;
                    session.add(counts.session_of[at] as usize, carried);
                }
            }
        }
        own.drain(|at, count| {
            self.own[at] += concept.weight * saturated(count, counts.lengths.to_mean[at]);
            self.held[at] |= bit;
            self.around[at] |= bit;
            if counts.session_of[at] != NONE {
                let carried = index.entries[at].carries() * count;
                for (other, share) in neighbours(&counts.session_of, at) {
                    near.add(other, share * carried);
                    self.around[other] |= if share < 1.0 { 0 } else { bit };
                }
            }
        });
        near.drain(|at, count| {
            self.near[at] += concept.weight * saturated(count, counts.near.to_mean[at]);
        });
        let (all, holding) = (counts.sessions.each.len() as f32, session.touched.len() as f32);
        let rarity = (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln();
        session.drain(|at, count| {
            self.session[at] += concept.share * rarity * saturated(count, counts.sessions.to_mean[at]);
        });
    }
}
