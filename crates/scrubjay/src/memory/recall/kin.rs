//! What is akin to the documents found: it holds no word of the question, but much of what they speak of.

use super::evidence::saturated;
use super::index::{BREAK, Index};
use rustc_hash::{FxHashMap, FxHashSet};

/// How many of the best say what they speak of.
const TELLING: usize = 10;
/// How many of their words are looked for.
const WORDS: usize = 15;
/// What holds less of it, measured by the one that holds most, has nothing to do with them.
const LEAST: f32 = 0.15;

/// A document that is akin to others.
pub(super) struct Akin {
    pub(super) at: u32,
    /// How much, measured by the one that is most.
    pub(super) share: f32,
    /// The one of the best with which it has most in common.
    pub(super) to: u32,
}

/// Documents that are akin to the best (entries with scores, in order) without being among them, most akin first.
/// Turns have their session and their neighbours for that.
pub(super) fn akin(index: &Index, best: &[(u32, f32)]) -> Vec<Akin> {
    let told = told(index, best);
    let counts = &index.counts;
    let mut held: FxHashMap<u32, f32> = FxHashMap::default();
    for (term, weight) in &told {
        for posting in
            counts.postings(*term).iter().filter(|posting| index.entries[posting.entry as usize].turn.is_none())
        {
            let at = posting.entry as usize;
            let share = saturated(posting.weight, counts.lengths.each[at], counts.lengths.mean);
            *held.entry(posting.entry).or_default() += weight * index.rarity(*term) * share;
        }
    }
    let most = held.values().copied().fold(f32::MIN_POSITIVE, f32::max);
    let known: FxHashSet<u32> = best.iter().map(|(at, _)| *at).collect();
    let kin = held.iter().filter(|(at, held)| !known.contains(at) && **held >= LEAST * most);
    let mut akin: Vec<Akin> =
        kin.map(|(at, held)| Akin { at: *at, share: held / most, to: nearest(index, *at, &told, best) }).collect();
    let id = |akin: &Akin| &index.entries[akin.at as usize].id;
    akin.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| id(a).cmp(id(b))));
    akin
}

/// The words that the best speak of, by how rare they are and how much each of the best says of them.
fn told(index: &Index, best: &[(u32, f32)]) -> Vec<(u32, f32)> {
    let mut told: FxHashMap<u32, f32> = FxHashMap::default();
    for (at, score) in best.iter().take(TELLING) {
        let (entry, length) = (&index.entries[*at as usize], index.counts.lengths.each[*at as usize]);
        for (place, term) in entry.terms.iter().enumerate().filter(|(_, term)| **term != BREAK) {
            *told.entry(*term).or_default() += score.max(0.0) * entry.weight(place) * index.rarity(*term) / length;
        }
    }
    let mut told: Vec<(u32, f32)> = told.into_iter().collect();
    // By the words themselves: their numbers tell only in which order documents were read.
    let word = |term: u32| index.lexicon.words.get(term as usize);
    told.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| word(a.0).cmp(&word(b.0))));
    told.truncate(WORDS);
    told
}

/// The one of the best that has most of these words in common with an entry; of equals the better.
fn nearest(index: &Index, at: u32, told: &[(u32, f32)], best: &[(u32, f32)]) -> u32 {
    let holds =
        |at: u32, term: u32| index.counts.postings(term).binary_search_by_key(&at, |posting| posting.entry).is_ok();
    let common = |other: u32| -> f32 {
        told.iter().filter(|(term, _)| holds(at, *term) && holds(other, *term)).map(|(_, weight)| weight).sum()
    };
    let telling = best.iter().take(TELLING).rev().map(|(other, _)| (*other, common(*other)));
    telling.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(at, |(other, _)| other)
}
