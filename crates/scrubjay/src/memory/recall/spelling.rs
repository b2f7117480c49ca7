//! Words that are nearly another: a slip of the finger in a question should still find the document.

use super::index::Index;

/// Shorter words have too many neighbours to guess.
const SHORTEST: usize = 4;
/// From this length on, two slips are forgiven.
const LONG: usize = 8;
/// As many guesses as are worth trying.
const GUESSES: usize = 3;
/// How sure a guess is that two slips lead to.
const TWO_SLIPS: f32 = 0.6;

/// Words of the index that an unknown one may stand for, with how sure that is: the nearest, and those that it may be the beginning
/// of.
pub(super) fn guesses(index: &Index, word: &str) -> Vec<(u32, f32)> {
    let letters: Vec<char> = word.chars().collect();
    if letters.len() < SHORTEST || word.starts_with(|c: char| c.is_ascii_digit()) {
        return Vec::new();
    }
    let allowed = if letters.len() >= LONG { 2 } else { 1 };
    let mut found: Vec<(Guess, usize, &str, u32)> = Vec::new();
    for (term, other) in index.lexicon.words.iter().enumerate() {
        if other.len() + 4 * allowed < word.len() || word.len() + 4 * allowed < other.len() && !other.starts_with(word)
        {
            continue;
        }
        let holders = index.counts.postings(term as u32).len();
        if holders == 0 {
            continue;
        }
        let slips = || distance(&letters, other, allowed).map(|letters| Guess { letters, how: How::Slipped });
        let guess = beginning(word, other).or_else(slips);
        found.extend(guess.map(|guess| (guess, usize::MAX - holders, &**other, term as u32)));
    }
    found.sort_unstable();
    let nearest = found.first().map_or(0, |(guess, ..)| guess.letters);
    let meant = found.iter().filter(|(guess, ..)| guess.letters == nearest || guess.how == How::Completed);
    meant.take(GUESSES).map(|(guess, _, _, term)| (*term, guess.sure())).collect()
}

/// How another word is come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Guess {
    /// Letters that differ.
    letters: usize,
    how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum How {
    /// By slips.
    Slipped,
    /// It begins with all that was written: `mongo` and `mongodb`.
    Completed,
    /// What was written begins with all of it, and goes on.
    Cut,
}

impl Guess {
    fn sure(self) -> f32 {
        if self.how == How::Slipped && self.letters > 1 { TWO_SLIPS } else { 1.0 }
    }
}

/// Where one word is the beginning of the other and most of it.
fn beginning(word: &str, other: &str) -> Option<Guess> {
    let (short, long, how) =
        if word.len() < other.len() { (word, other, How::Completed) } else { (other, word, How::Cut) };
    let letters = long.len() - short.len();
    let begins = short.len() >= SHORTEST && long.starts_with(short) && letters <= 3;
    begins.then_some(Guess { letters, how })
}

/// Letters to add, drop, change or swap to come from one word to another, if they are at most `allowed`.
fn distance(a: &[char], b: &str, allowed: usize) -> Option<usize> {
    let b: Vec<char> = b.chars().collect();
    if a.len().abs_diff(b.len()) > allowed {
        return None;
    }
    let mut rows = [vec![0; b.len() + 1], (0..=b.len()).collect::<Vec<usize>>(), vec![0; b.len() + 1]];
    for i in 1..=a.len() {
        let [before, last, row] = &mut rows;
        row[0] = i;
        for j in 1..=b.len() {
            let changed = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = changed.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        if row.iter().min().is_some_and(|least| *least > allowed) {
            return None;
        }
        rows.rotate_left(1);
    }
    Some(rows[1][b.len()]).filter(|slips| *slips <= allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        for (a, b, slips) in [
            ("typscript", "typescript", Some(1)),
            ("kuberentes", "kubernetes", Some(1)),
            ("kubrnets", "kubernetes", Some(2)),
            ("postgres", "mongodb", None),
            ("same", "same", Some(0)),
        ] {
            assert_eq!(distance(&a.chars().collect::<Vec<_>>(), b, 2), slips, "{a} {b}");
        }
    }
}
