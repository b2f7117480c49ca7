//! How alike two memories are: whether they say the same, or the contrary of each other. Code alone decides, so it only
//! says what words can prove.

use super::recall::{content_words, words};
use super::topic::Topic;
use std::collections::{BTreeSet, HashMap};

/// Of all words of two texts, in percent, that both must hold to be about one thing.
const SHARED: usize = 80;
/// Of the words of the shorter text, in percent, that the longer must hold to say it too.
const COVERED: usize = 95;
/// A text of fewer words is covered by any that happens to hold them.
const COVERED_WORDS: usize = 5;
/// A text of fewer words says too little to be compared.
const LEAST_WORDS: usize = 2;
/// Marks of a memory's parts, which say nothing themselves.
const LABELS: [&str; 2] = ["**Why:**", "**How to apply:**"];
/// Words that turn a sentence around, and their parts in other words.
const TURNING: &[&str] = &[
    "no",
    "not",
    "never",
    "none",
    "without",
    "avoid",
    "don't",
    "doesn't",
    "isn't",
    "can't",
    "won't",
    "stop",
    "always",
    "only",
    "off",
    "on",
    "before",
    "after",
    "enable",
    "disable",
    "enabled",
    "disabled",
    "allow",
    "allowed",
    "forbid",
    "forbidden",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "daily",
    "weekly",
    "monthly",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// What a memory says, ready to be compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gist {
    /// The words that carry its meaning, without those that turn it.
    words: BTreeSet<String>,
    /// What decides between the same and the contrary: negations, numbers, days.
    turning: BTreeSet<String>,
}

/// How two memories stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// They say the same, or one of them says all that the other does.
    Same,
    /// They speak of the same and differ in a number, a day or a negation.
    Contrary,
    /// Neither can be proved.
    Apart,
}

impl Gist {
    /// Of a memory. Its type is no word of it.
    pub fn of(topic: &Topic) -> Self {
        Self::of_text(&[topic.name.as_str(), &topic.description, &topic.body].join("\n"))
    }

    /// Of any text.
    pub fn of_text(text: &str) -> Self {
        let text = LABELS.iter().fold(text.to_owned(), |text, label| text.replace(label, ""));
        let is_turning = |word: &String| {
            word.contains(|c: char| c.is_ascii_digit()) || TURNING.contains(&word.replace('’', "'").as_str())
        };
        let turning: BTreeSet<String> = words(&text).filter(is_turning).collect();
        let turned = content_words(&turning.iter().map(String::as_str).collect::<Vec<_>>().join(" "));
        let words = content_words(&text).into_iter().filter(|word| !turned.contains(word)).collect();
        Self { words, turning }
    }

    /// How this memory stands to another.
    pub fn likeness(&self, other: &Self) -> Likeness {
        let (shorter, longer) = if self.words.len() <= other.words.len() { (self, other) } else { (other, self) };
        let common = shorter.words.intersection(&longer.words).count();
        let all = shorter.words.len() + longer.words.len() - common;
        if common < LEAST_WORDS {
            return Likeness::Apart;
        }
        if 100 * common >= SHARED * all {
            return if self.turning == other.turning { Likeness::Same } else { Likeness::Contrary };
        }
        let covered = shorter.words.len() >= COVERED_WORDS && 100 * common >= COVERED * shorter.words.len();
        let says_it = covered && shorter.turning.is_subset(&longer.turning);
        if says_it { Likeness::Same } else { Likeness::Apart }
    }
}

/// Every pair that is not apart, by their places. Only pairs that share a rare word are compared, and no pair is missed.
pub fn pairs(gists: &[Gist]) -> Vec<(usize, usize, Likeness)> {
    let mut holders: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, gist) in gists.iter().enumerate() {
        gist.words.iter().for_each(|word| holders.entry(word).or_default().push(place));
    }
    let mut found = BTreeSet::new();
    for (place, gist) in gists.iter().enumerate() {
        let mut rarest: Vec<&Vec<usize>> = gist.words.iter().map(|word| &holders[word.as_str()]).collect();
        rarest.sort_by_key(|holders| holders.len());
        // Two that share four fifths of their words share one of any so many words of either.
        let needed = (SHARED * gist.words.len()).div_ceil(100);
        let enough = gist.words.len() + 1 - needed.max(1);
        let others: BTreeSet<usize> = rarest.into_iter().take(enough).flatten().copied().collect();
        found.extend(
            others.into_iter().filter(|other| *other != place).map(|other| (place.min(other), place.max(other))),
        );
    }
    let judged = found.into_iter().map(|(a, b)| (a, b, gists[a].likeness(&gists[b])));
    judged.filter(|(_, _, likeness)| *likeness != Likeness::Apart).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gist(text: &str) -> Gist {
        Gist::of_text(text)
    }

    // spec: V4
    #[test]
    fn what_is_the_same_and_what_is_the_contrary() {
        use Likeness::{Apart, Contrary, Same};
        for (a, b, expected) in [
            ("Integration tests use the real database.", "The integration tests are using the real database", Same),
            ("Never mock the database in tests", "Mock the database in tests", Contrary),
            ("Releases happen on Tuesday.", "Releases happen on Thursday.", Contrary),
            ("The service listens on port 8080", "The service listens on port 9090", Contrary),
            ("Deploys need a second reviewer", "Deploys need a second reviewer.\n**Why:**", Same),
            ("The parser is slow", "The database is fast", Apart),
            ("Ada owns the parser and its tests", "Bob owns the release and its notes", Apart),
            ("yes", "yes", Apart),
            (
                "Integration tests talk to the real Postgres database",
                "Integration tests talk to the real Postgres database, because a mock once hid a broken migration that reached customers",
                Same,
            ),
            (
                "Integration tests talk to the real Postgres database on port 5433",
                "Integration tests talk to the real Postgres database, because a mock once hid a broken migration that reached customers",
                Apart,
            ),
        ] {
            assert_eq!(gist(a).likeness(&gist(b)), expected, "{a} | {b}");
            assert_eq!(gist(b).likeness(&gist(a)), expected, "{b} | {a}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// Looking only where a rare word is shared finds what looking everywhere finds.
        // spec: V4
        #[test]
        fn no_pair_is_missed(texts in proptest::collection::vec(
            proptest::collection::vec("(parser|lexer|database|mock|release|tuesday|never|port|8080|9090|review|owner|deploy)", 0..9), 0..12,
        )) {
            let gists: Vec<Gist> = texts.iter().map(|words| gist(&words.join(" "))).collect();
            let mut every = Vec::new();
            for a in 0..gists.len() {
                for b in a + 1..gists.len() {
                    let likeness = gists[a].likeness(&gists[b]);
                    every.extend((likeness != Likeness::Apart).then_some((a, b, likeness)));
                }
            }
            prop_assert_eq!(pairs(&gists), every);
        }
    }
}
