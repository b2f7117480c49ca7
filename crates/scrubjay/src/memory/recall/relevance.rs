//! How likely a document is wanted for a question, between 0 and 1: the same number means the same for every question and
//! every store.
//!
//! The order of documents compares them with each other; whether the best of them is any good it cannot say. So what speaks
//! for a document is measured here without looking at the others: how much the shared words tell in general, how much of
//! the question they are, how near the two texts are in meaning. The weights were fitted on prompts that should and should not
//! bring a memory, by folds ([docs/recall.md], `cargo bench --bench recall -- --push`).

use super::index::Index;
use super::question::{Concept, Question};

/// What speaks for one document.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Signs {
    /// How much the words that it shares with the question tell in any text, less for those that many documents here hold.
    pub told: f32,
    /// The share of all that the question's words tell.
    pub cover: f32,
    /// How near its name and description are in meaning.
    pub near_head: f32,
    /// How near all of it is.
    pub near: f32,
    /// How well its day fits the days that the question names.
    pub day: f32,
    /// The logarithm of how many documents there are, to the base of ten: among more of them, more are near by chance.
    pub among: f32,
}

/// How much each sign counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// Where nothing speaks for a document.
    pub base: f32,
    /// For each of [`Signs::values`].
    pub weights: [f32; SIGNS],
}

/// How many signs there are.
pub const SIGNS: usize = 6;

/// Fitted with the table of words.
pub const BY_WORDS: Fit = Fit { base: -4.3, weights: [4.15, 1.39, 3.37, 4.22, 4.0, -0.8] };
/// Fitted with the vectors of a sentence model.
pub const BY_MODEL: Fit = Fit { base: -4.6, weights: [2.92, 1.21, 5.4, 5.4, 4.0, -0.8] };

/// So that the sum of what words tell is about as large as the other signs.
const TOLD_UNIT: f32 = 10.0;

impl Signs {
    /// Their names, in order.
    pub const NAMES: [&'static str; SIGNS] = ["told", "cover", "near (head)", "near", "day", "among"];

    /// Each as a number, in order.
    pub fn values(&self) -> [f32; SIGNS] {
        [self.told, self.cover, self.near_head, self.near, self.day, self.among]
    }

    /// How likely the document is wanted.
    pub fn relevance(&self, fit: &Fit) -> f32 {
        let sum: f32 = self.values().iter().zip(fit.weights).map(|(value, weight)| value * weight).sum();
        1.0 / (1.0 + (-(fit.base + sum)).exp())
    }
}

/// What the words of a question say for whoever holds them.
pub(super) struct Sayings {
    /// For each word how much it tells, and how much of that counts here.
    words: Vec<[f32; 2]>,
    all: f32,
    among: f32,
}

impl Sayings {
    pub(super) fn of(question: &Question, index: &Index) -> Self {
        let most = (index.len() as f32 + 1.0).ln();
        let word = |concept: &Concept| {
            let tells = concept.tells * concept.sure();
            [tells, tells / TOLD_UNIT * (concept.weight / most).min(1.0)]
        };
        Self {
            words: question.concepts.iter().map(word).collect(),
            all: question.concepts.iter().map(|concept| concept.tells).sum::<f32>().max(f32::MIN_POSITIVE),
            among: (index.len().max(1) as f32).log10(),
        }
    }

    /// For a document that holds these of them, one bit each.
    pub(super) fn signs(&self, mut held: u32) -> Signs {
        let mut signs = Signs { among: self.among, ..Signs::default() };
        while held != 0 {
            let [tells, told] = self.words[held.trailing_zeros() as usize];
            signs.told += told;
            signs.cover += tells / self.all;
            held &= held - 1;
        }
        signs
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Document, Index, Query};
    use jiff::Timestamp;
    use jiff::tz::TimeZone;

    fn note(id: &str, name: &str, body: &str) -> Document {
        Document { id: id.to_owned(), name: name.to_owned(), body: body.to_owned(), ..Document::default() }
    }

    fn relevance(index: &Index, asked: &str, id: &str) -> f32 {
        let mut query = Query::new(asked, Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC), 10_000);
        query.floor = 0.0;
        let hits = index.recall(&query);
        hits.iter().find(|hit| hit.id == id).map(|hit| hit.relevance).unwrap()
    }

    fn store(others: usize) -> Index {
        let mut index = Index::default();
        let wanted = note("freeze", "Code freeze", "The code freeze begins on Friday and ends with the audit.");
        let other = |number: usize| {
            let body = format!("Row {number} of the table is about gardens, soup number {number} and long walks.");
            note(&format!("other {number}"), &format!("Garden {number}"), &body)
        };
        index.update((0..others).map(other).chain([wanted]), []);
        index
    }

    // spec: L8
    #[test]
    fn one_question_means_the_same_in_a_small_store_and_in_a_large_one() {
        let sizes = [4, 40, 4_000].map(|others| relevance(&store(others), "when does the code freeze begin", "freeze"));
        assert!(sizes.iter().all(|relevance| *relevance > 0.3), "{sizes:?}");
        assert!((sizes[0] - sizes[2]).abs() < 0.35, "{sizes:?}");
    }

    // spec: L8
    #[test]
    fn a_common_word_is_no_reason_even_where_no_other_memory_holds_it() {
        let index = store(4);
        let by_common = relevance(&index, "sort the lines of this file and write it to the end of the list", "freeze");
        let by_rare = relevance(&index, "is there a freeze before the audit", "freeze");
        assert!(by_common < 0.1 && by_rare > 3.0 * by_common, "{by_common} {by_rare}");
    }
}
