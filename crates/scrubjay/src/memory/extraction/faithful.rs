//! Whether a memory says what was said, and not its contrary out of the same words. Code knows no grammar: it compares clause by clause
//! what is denied, which of two opposites is named, what stands behind "to", "from" and their like, who does what to whom, and
//! which number goes with what. It would rather refuse; whoever wrote it can say it in the words it was said in.

use super::super::recall::{content_sequence, words};
use super::support::is_framing;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

static DENIALS: LazyLock<BTreeSet<&str>> =
    LazyLock::new(|| include_str!("words/denials.txt").split_whitespace().collect());
static OPPOSITES: LazyLock<Vec<(&str, &str)>> =
    LazyLock::new(|| include_str!("words/opposites.txt").lines().filter_map(|line| line.split_once(' ')).collect());
/// Scripts without spaces deny with a sign.
const DENYING_SIGNS: [char; 5] = ['不', '没', '別', '别', '勿'];
/// Words that tell what part the next one plays.
const ROLES: &[&str] = &[
    "to", "from", "over", "than", "before", "after", "by", "on", "into", "for", "von", "nach", "vor", "de", "à", "para",
];
/// How far behind such a word its object may stand.
const REACH: usize = 4;
/// Words that stand for a number or a day.
static VALUES: LazyLock<BTreeSet<String>> =
    LazyLock::new(|| content_sequence(include_str!("words/values.txt")).into_iter().collect());

/// A stretch of a sentence that affirms or denies one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Clause {
    /// Every word, as it is.
    spoken: Vec<String>,
    /// The telling ones in their order.
    order: Vec<String>,
    telling: BTreeSet<String>,
    denied: bool,
}

impl Clause {
    fn of(spoken: Vec<String>, signs: usize) -> Self {
        let only = |at: usize| spoken.get(at + 1).is_some_and(|next| next == "only");
        let denies = |(at, word): &(usize, &String)| DENIALS.contains(word.as_str()) && !only(*at);
        let denials = spoken.iter().enumerate().filter(denies).count() + signs;
        let order: Vec<String> = spoken.iter().filter_map(|word| told(word)).collect();
        Self { telling: order.iter().cloned().collect(), order, denied: denials % 2 == 1, spoken }
    }

    /// Behind each word that gives a part, who may have it.
    fn roles(&self) -> impl Iterator<Item = (&str, Vec<String>)> {
        let starts = self.spoken.iter().enumerate().filter(|(_, word)| ROLES.contains(&word.as_str()));
        starts.map(|(at, role)| {
            let behind = self.spoken[at + 1..].iter().take_while(|word| !ROLES.contains(&word.as_str()));
            (role.as_str(), behind.filter_map(|word| told(word)).take(REACH).collect())
        })
    }
}

/// A word in the form under which it is compared, if it tells anything.
fn told(word: &str) -> Option<String> {
    let denies = DENIALS.contains(word) || ROLES.contains(&word);
    content_sequence(word).into_iter().next().filter(|word| !denies && !is_framing(word))
}

/// Whether a word is a number or names a day.
pub(super) fn is_value(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit()) || VALUES.contains(word)
}

/// A sentence in its clauses. "And" begins one where what follows is denied by itself.
fn clauses(sentence: &str) -> Vec<Clause> {
    let plain = sentence.to_lowercase().replace('\u{2019}', "'").replace("n't", " not").replace("cannot", "can not");
    let plain =
        ["instead of", "rather than", "in place of"].iter().fold(plain, |text, words| text.replace(words, "; not"));
    // "I prefer this over that" is not "that over this".
    let plain = if plain.contains("prefer") { plain.replace(" over ", "; not ") } else { plain };
    let stops = |c: char| matches!(c, ';' | ':' | '—' | '–' | '(' | ')' | '，' | '；' | '：' | '、' | '\n');
    let commas = plain.split(stops).flat_map(|part| part.split(", ")).flat_map(|part| part.split(" but "));
    let mut found = Vec::new();
    for part in commas {
        let mut rest = part.to_owned();
        while let Some((left, right)) =
            rest.rsplit_once(" and ").map(|(left, right)| (left.to_owned(), right.to_owned()))
        {
            let whole = Clause::of(words(&right).collect(), 0);
            if !whole.denied && !is_parallel(&left, &right) {
                break;
            }
            found.push(clause(&right));
            rest = left;
        }
        found.push(clause(&rest));
    }
    found.retain(|clause| !clause.telling.is_empty() || clause.denied);
    found
}

/// Whether both sides of an "and" state something with a value of their own.
fn is_parallel(left: &str, right: &str) -> bool {
    let states = |text: &str| {
        let told: Vec<String> = words(text).filter_map(|word| told(&word)).collect();
        told.len() >= 2 && told.iter().any(|word| is_value(word))
    };
    states(left) && states(right)
}

fn clause(text: &str) -> Clause {
    Clause::of(words(text).collect(), text.matches(DENYING_SIGNS).count())
}

/// What was said, clause by clause.
#[derive(Debug, Default)]
pub(super) struct Spoken {
    clauses: Vec<Clause>,
    said: BTreeSet<String>,
    /// What the memory said before.
    known: Vec<Clause>,
}

impl Spoken {
    /// The same, beside what the memory said before: that may stay as it is.
    pub(super) fn beside(&mut self, before: &str) {
        self.known = super::evidence::sentences(before).flat_map(clauses).collect();
    }

    pub(super) fn hear(&mut self, sentence: &str) {
        let clauses = clauses(sentence);
        self.said.extend(clauses.iter().flat_map(|clause| clause.spoken.iter().cloned()));
        if !clauses.iter().all(|clause| self.clauses.contains(clause)) {
            self.clauses.extend(clauses);
        }
    }

    /// Whether a sentence says something else out of the same words.
    pub(super) fn is_turned_in(&self, sentence: &str) -> bool {
        let stays = |clause: &Clause| {
            self.known.iter().any(|one| one.denied == clause.denied && clause.telling.is_subset(&one.telling))
        };
        clauses(sentence).iter().filter(|clause| !stays(clause)).any(|clause| {
            self.denies_otherwise(clause)
                || self.names_the_opposite(clause)
                || self.swaps_parts(clause)
                || self.swaps_ends(clause)
                || self.mixes(clause)
                || self.moves_a_value(clause)
        })
    }

    /// Whether a sentence that restates what was said denies what that affirms, or affirms what it denies.
    pub(super) fn is_denied_in(&self, sentence: &str) -> bool {
        let restates = |clause: &&Clause| {
            let known = clause.telling.iter().filter(|word| self.clauses.iter().any(|one| one.telling.contains(*word)));
            let known: BTreeSet<&String> = known.collect();
            let covers = |one: &Clause| {
                let shared = one.telling.iter().filter(|word| known.contains(word)).count();
                shared >= 3 && shared * 10 >= one.telling.len() * 8
            };
            self.clauses.iter().any(covers)
        };
        clauses(sentence).iter().filter(restates).any(|clause| self.denies_otherwise(clause))
    }

    fn denies_otherwise(&self, clause: &Clause) -> bool {
        let mut polarity: BTreeMap<&String, BTreeSet<bool>> = BTreeMap::new();
        for one in &self.clauses {
            one.telling.iter().for_each(|word| polarity.entry(word).or_default().extend([one.denied]));
        }
        let known: Vec<&BTreeSet<bool>> = clause.telling.iter().filter_map(|word| polarity.get(word)).collect();
        let turned = known.iter().filter(|ways| !ways.contains(&clause.denied)).count();
        turned > 0 && turned * 2 >= known.len()
    }

    fn names_the_opposite(&self, clause: &Clause) -> bool {
        let says = |word: &str| clause.spoken.iter().any(|spoken| spoken == word);
        let said = |word: &str| self.said.contains(word);
        let turned = |(one, other): (&str, &str)| says(one) && !said(one) && said(other) && !says(other);
        OPPOSITES.iter().any(|(one, other)| turned((one, other)) || turned((other, one)))
    }

    /// "To Ada" where "to" somebody else was said, and Ada in another place.
    fn swaps_parts(&self, clause: &Clause) -> bool {
        clause.roles().any(|(role, who)| {
            let Some(who) = who.first() else { return false };
            let mut said = self.clauses.iter().flat_map(Clause::roles).filter(|(other, _)| *other == role).peekable();
            let elsewhere = self.clauses.iter().any(|one| one.telling.contains(who));
            elsewhere && said.peek().is_some() && !said.any(|(_, whom)| whom.contains(who))
        })
    }

    /// "Grace reviews Ada" where "Ada reviews Grace" was said.
    fn swaps_ends(&self, clause: &Clause) -> bool {
        let has = |clause: &Clause, run: [&String; 3]| clause.order.windows(3).any(|three| three.iter().eq(run));
        clause.order.windows(3).any(|run| {
            let ends_differ = run[0] != run[2];
            let (there, back) = ([&run[0], &run[1], &run[2]], [&run[2], &run[1], &run[0]]);
            let is_turned = |one: &Clause| has(one, back) && !has(one, there);
            ends_differ && self.clauses.iter().any(is_turned) && !self.clauses.iter().any(|one| has(one, there))
        })
    }

    /// What was said of two things that have a word in common, each for itself, put together as if it were said of one.
    fn mixes(&self, clause: &Clause) -> bool {
        if self.clauses.iter().any(|one| clause.telling.is_subset(&one.telling)) {
            return false;
        }
        let own = |one: &Clause, other: &Clause| {
            clause.telling.iter().any(|word| {
                let only = self.clauses.iter().filter(|said| said.telling.contains(word)).count() == 1;
                only && one.telling.contains(word) && !other.telling.contains(word)
            })
        };
        let pairs = self
            .clauses
            .iter()
            .enumerate()
            .flat_map(|(at, one)| self.clauses[at + 1..].iter().map(move |other| (one, other)));
        let mut parallel = pairs
            .filter(|(one, other)| one.telling.intersection(&other.telling).any(|word| clause.telling.contains(word)));
        parallel.any(|(one, other)| own(one, other) && own(other, one))
    }

    /// A number or a day in the company of none of the words it was said with.
    fn moves_a_value(&self, clause: &Clause) -> bool {
        let company = |words: &BTreeSet<String>| -> BTreeSet<String> {
            words.iter().filter(|word| !is_value(word)).cloned().collect()
        };
        let ours = company(&clause.telling);
        let mut values = clause.telling.iter().filter(|word| is_value(word));
        values.any(|value| {
            let said: Vec<&Clause> = self.clauses.iter().filter(|one| one.telling.contains(value)).collect();
            let alone = |one: &&Clause| company(&one.telling).is_disjoint(&ours);
            !said.is_empty() && !ours.is_empty() && said.iter().all(alone)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spoken(sentence: &str) -> Spoken {
        let mut spoken = Spoken::default();
        spoken.hear(sentence);
        spoken
    }

    #[test]
    fn clauses_and_what_they_deny() {
        let parted = |text: &str| -> Vec<(String, bool)> {
            clauses(text).into_iter().map(|clause| (clause.order.join(" "), clause.denied)).collect()
        };
        let is = |words: &str, denied: bool| (words.to_owned(), denied);
        assert_eq!(parted("Use tabs, not spaces"), [is("tab", false), is("space", true)]);
        assert_eq!(parted("Use tabs instead of spaces"), [is("tab", false), is("space", true)]);
        assert_eq!(parted("Don't forget the formatter"), [is("formatt", false)]);
        assert_eq!(parted("not only tabs"), [is("onli tab", false)]);
        assert_eq!(parted("no deploys on Friday and Saturday"), [is("deploy friday saturday", true)]);
    }

    proptest! {
        // spec: X4
        #[test]
        fn whatever_is_said_is_not_turned_round_by_saying_it_again(text in "(?s).{0,120}") {
            let spoken = spoken(&text);
            prop_assert!(!spoken.is_turned_in(&text) && !spoken.is_denied_in(&text), "{text}");
        }

        // spec: X4
        #[test]
        fn prose_said_again_is_the_same(words in prop::collection::vec(
            "(never|not|use|tabs|spaces|to|from|Ada|Grace|and|,|but|before|after|5433|two|Friday|ports|over|prefer|instead of)", 1..14))
        {
            let text = words.join(" ");
            prop_assert!(!spoken(&text).is_turned_in(&text), "{text}");
        }

        // spec: X4
        #[test]
        fn a_denial_that_comes_or_goes_is_seen(
            words in prop::collection::vec("(mock|database|parser|commit|branch|deploy|harbour|crane)", 2..6),
            denial in "(never|do not|don't|avoid|stop)",
        ) {
            let (plain, denied) = (words.join(" "), format!("{denial} {}", words.join(" ")));
            prop_assert!(spoken(&denied).is_turned_in(&plain), "{denied} -> {plain}");
            prop_assert!(spoken(&plain).is_turned_in(&denied), "{plain} -> {denied}");
        }
    }
}
