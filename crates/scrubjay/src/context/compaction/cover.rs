//! Say as much as possible in little room: pick, again and again, the text that adds most that is new for its bytes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

/// A text that could be picked.
pub(crate) struct Candidate<'a> {
    /// What it costs, in bytes.
    pub(crate) cost: usize,
    /// What reading it costs besides: of two that say as much a byte, the one that says more in one go is better.
    pub(crate) effort: usize,
    /// What it is worth whatever else was picked.
    pub(crate) bonus: u64,
    /// What it says, and what each of these is worth the first time.
    pub(crate) says: Vec<(&'a str, u64)>,
}

impl Candidate<'_> {
    fn density(&self, known: &HashSet<&str>) -> u64 {
        let new: u64 = self.says.iter().filter(|(what, _)| !known.contains(what)).map(|(_, worth)| worth).sum();
        (self.bonus + new).saturating_mul(PRECISION) / ((self.cost + self.effort) as u64).max(1)
    }
}

/// So that a whole number can hold worth per byte.
const PRECISION: u64 = 256;

/// The picks within `room`, best first. What is `known` already adds nothing. A candidate that adds nothing is not picked.
pub(crate) fn pick<'a>(candidates: &[Candidate<'a>], known: &mut HashSet<&'a str>, room: usize) -> Vec<usize> {
    let mut left = room;
    let mut picked = Vec::new();
    let mut heap: BinaryHeap<(u64, Reverse<usize>)> =
        candidates.iter().enumerate().map(|(index, candidate)| (candidate.density(known), Reverse(index))).collect();
    while let Some((promised, Reverse(index))) = heap.pop() {
        let candidate = &candidates[index];
        if promised == 0 || candidate.cost > left {
            continue;
        }
        // Worth only ever falls as more is known, so one that still leads after a second look leads indeed.
        let density = candidate.density(known);
        if density < promised {
            heap.push((density, Reverse(index)));
            continue;
        }
        left -= candidate.cost;
        known.extend(candidate.says.iter().map(|(what, _)| what));
        picked.push(index);
    }
    picked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_wins_and_what_does_not_fit_is_left() {
        let candidate = |cost, says: &[&'static str]| Candidate {
            cost,
            effort: 0,
            bonus: 0,
            says: says.iter().map(|w| (*w, 10)).collect(),
        };
        let candidates = [
            candidate(10, &["a", "b"]),
            candidate(10, &["a", "b", "c"]),
            candidate(5, &["d"]),
            candidate(90, &["e"]),
            candidate(1, &["known"]),
        ];
        let mut known = HashSet::from(["known"]);
        assert_eq!(pick(&candidates, &mut known, 30), [1, 2]);
        assert!(known.contains("d") && !known.contains("e"));
    }
}
