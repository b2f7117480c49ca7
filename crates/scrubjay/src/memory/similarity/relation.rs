//! Which memories say the same, and which contradict each other: found by rare words they have in common, decided saying by
//! saying. Only those that need no judgement are merged, and everything both say is still said.

use super::statements::{DUPLICATE, Kinship, Prints, Saying, is_said, is_value, sayings, without_targets};
use crate::limits::Limits;
use crate::memory::recall::content_words;
use crate::memory::topic::Topic;
use std::collections::{BTreeMap, BTreeSet};

/// Of all words of two memories, in percent, that they share when a model should look at them.
const ALIKE: usize = 50;
/// Two memories that share a word which more have than this are not worth comparing for it.
const RARE: usize = 32;
/// A word that no more memories have than this names a thing.
const SPECIFIC: usize = 3;

/// A memory, taken apart.
#[derive(Debug, Clone)]
pub(in crate::memory) struct Analysis {
    pub(in crate::memory) path: String,
    pub(in crate::memory) topic: Topic,
    pub(in crate::memory) words: BTreeSet<String>,
    /// Those of its name and its description.
    titles: BTreeSet<String>,
    pub(in crate::memory) sayings: Vec<Saying>,
    /// What its description says.
    described: Saying,
    /// All words, for a quick look, and how many of them the sayings have.
    prints: Prints,
    said: usize,
}

impl Analysis {
    pub(in crate::memory) fn of(path: &str, topic: &Topic) -> Self {
        let titles = content_words(&format!("{}\n{}", topic.name, topic.description));
        let words: BTreeSet<String> = titles.union(&content_words(&without_targets(&topic.body))).cloned().collect();
        let (path, described) = (path.to_owned(), Saying::of(&topic.description));
        let sayings = sayings(&topic.body);
        let said: BTreeSet<&String> = sayings.iter().flat_map(|saying| &saying.words).collect();
        let (prints, said) =
            (Prints::of(said.iter().copied().chain(words.iter().filter(|word| !said.contains(word)))), said.len());
        Self { path, topic: topic.clone(), words, titles, sayings, described, prints, said }
    }

    /// How many of these words it has, and how many its title has.
    pub(super) fn shared_with(&self, words: &BTreeSet<String>) -> (usize, usize) {
        (self.words.intersection(words).count(), self.titles.intersection(words).count())
    }

    pub(super) fn title_words(&self) -> usize {
        self.titles.len()
    }

    /// What it states, without why and how to apply it.
    fn stated(&self) -> impl Iterator<Item = &Saying> {
        let is_label = |saying: &&Saying| !saying.is_label();
        self.sayings.iter().take_while(is_label).filter(|saying| saying.says_something())
    }

    /// Of all words of two, in percent, those they have in common.
    fn shares(&self, other: &Analysis) -> usize {
        self.share(other, self.words.intersection(&other.words).count())
    }

    fn share(&self, other: &Analysis, shared: usize) -> usize {
        100 * shared / (self.words.len() + other.words.len()).saturating_sub(shared).max(1)
    }

    /// Whether it says all that another says, its description included.
    fn says_all_of(&self, other: &Analysis) -> bool {
        let described = other.described.words.is_subset(&self.words);
        described && !other.sayings.is_empty() && other.sayings.iter().all(|saying| is_said(saying, &self.sayings))
    }
}

/// How two memories stand to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::memory) enum Relation {
    /// They say the same, as far as code can tell.
    Same,
    /// They speak of one thing and do not agree: a saying of the first, a saying of the second.
    Disputed(String, String),
    /// They are much alike; somebody should look.
    Alike,
}

/// Words that so many memories have that two which share them need not speak of the same thing.
pub(in crate::memory) fn common<'a>(taken: impl Iterator<Item = &'a Analysis>) -> BTreeSet<String> {
    let (mut counts, mut all): (BTreeMap<&String, usize>, usize) = (BTreeMap::new(), 0);
    for one in taken {
        all += 1;
        one.words.iter().for_each(|word| *counts.entry(word).or_default() += 1);
    }
    let most = SPECIFIC.max(all / 100);
    counts.into_iter().filter(|(_, count)| *count > most).map(|(word, _)| word.clone()).collect()
}

/// How two memories stand to each other, if they have anything to do with each other. `common` words tell no thing from
/// another.
pub(in crate::memory) fn relation(one: &Analysis, other: &Analysis, common: &BTreeSet<String>) -> Option<Relation> {
    let share = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.intersection(b).any(|word| !common.contains(word));
    let most = one.prints.shared(&other.prints);
    let mut disputes = disputes(one, other, most).peekable();
    if disputes.peek().is_some() {
        // The same words about two things: neither a contradiction nor a duplicate.
        let same_title = share(&one.titles, &other.titles);
        let about_one_thing = |(a, b): &(&Saying, &Saying)| same_title || share(&a.words, &b.words);
        let found = disputes.find(about_one_thing);
        return found.map(|(a, b)| Relation::Disputed(a.text.clone(), b.text.clone()));
    }
    // Nearly all pairs end here: neither has half of the words of both, nor says one all that the other says.
    if most < one.said.min(other.said) && one.share(other, most) < ALIKE {
        return None;
    }
    let shared = one.shares(other);
    let same_kind = one.topic.kind == other.topic.kind;
    match same_kind && (shared >= DUPLICATE || one.says_all_of(other) || other.says_all_of(one)) {
        true => Some(Relation::Same),
        false => (shared >= ALIKE && share(&one.words, &other.words)).then_some(Relation::Alike),
    }
}

/// The statements in which two memories do not agree; `most`: no fewer than the words they share. What the other memory says as
/// well is no dispute with what it says besides.
fn disputes<'a>(one: &'a Analysis, other: &'a Analysis, most: usize) -> impl Iterator<Item = (&'a Saying, &'a Saying)> {
    let pairs = one.sayings.iter().flat_map(|a| other.sayings.iter().map(move |b| (a, b)));
    let open = move |(a, b): &(&Saying, &Saying)| {
        a.may_dispute(b, most)
            && a.kinship(b) == Kinship::Disputes
            && !is_said(a, &other.sayings)
            && !is_said(b, &one.sayings)
    };
    pairs.filter(open)
}

/// Whether two memories say the same, whatever their kind.
pub(super) fn is_same(one: &Analysis, other: &Analysis) -> bool {
    let one = Analysis { topic: Topic { kind: other.topic.kind, ..one.topic.clone() }, ..one.clone() };
    relation(&one, other, &BTreeSet::new()) == Some(Relation::Same)
}

/// Whether a memory says all that another states: sentence by sentence, or in nearly the same words without a number, a denial
/// or a sentence of its own.
pub(super) fn says(old: &Analysis, new: &Analysis) -> bool {
    let stated: Vec<&Saying> = new.stated().collect();
    if stated.is_empty() {
        return false;
    }
    if stated.iter().all(|saying| is_said(saying, &old.sayings)) {
        return true;
    }
    let held: BTreeSet<&String> = old.sayings.iter().flat_map(|saying| &saying.words).collect();
    let words: BTreeSet<&String> = stated.iter().flat_map(|saying| &saying.words).collect();
    let lacks = |word: &&&String| !held.contains(**word);
    let is_new = |saying: &Saying| {
        let new = saying.words.iter().filter(|word| !held.contains(word));
        100 * new.count() > (100 - ALIKE) * saying.words.len()
    };
    let turns = |sayings: &mut dyn Iterator<Item = &Saying>| -> (bool, BTreeSet<&'static str>) {
        sayings.fold((false, BTreeSet::new()), |(denies, mut turns), saying| {
            turns.extend(saying.limits());
            (denies || saying.denies(), turns)
        })
    };
    let turned = turns(&mut old.stated()) != turns(&mut stated.iter().copied());
    let reordered = |saying: &&Saying| old.sayings.iter().any(|other| other.reorders(saying));
    let most = old.prints.shared(&new.prints);
    let all = held.union(&words).count();
    100 * words.intersection(&held).count() >= DUPLICATE * all
        && !words.iter().filter(lacks).any(|word| is_value(word))
        && !turned
        && !stated.iter().any(reordered)
        && !stated.into_iter().any(is_new)
        && disputes(old, new, most).next().is_none()
}

/// Whether a memory says the contrary of another, which says nothing besides: the same but for a denial, a number or a day.
pub(in crate::memory) fn is_contrary(new: &Analysis, old: &Analysis) -> bool {
    let turned = |saying: &&Saying| new.sayings.iter().any(|other| other.is_contrary(saying));
    let stated: Vec<&Saying> = old.sayings.iter().filter(|saying| saying.is_statement()).collect();
    let (turned, kept): (Vec<&Saying>, Vec<&Saying>) = stated.into_iter().partition(turned);
    !turned.is_empty() && kept.into_iter().all(|saying| is_said(saying, &new.sayings))
}

/// Pairs that have rare words in common, those with the most first. The rarest words are looked at first, and no more pairs than
/// can be counted in a moment: in a large memory a word of the middle has more pairs than all rare ones together.
pub(in crate::memory) fn pairs(taken: &[Analysis], limits: &Limits) -> Vec<(usize, usize)> {
    /// Pairs that are counted for each one that is compared.
    const COUNTED: usize = 20;
    let mut holders: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, one) in taken.iter().enumerate() {
        one.words.iter().for_each(|word| holders.entry(word).or_default().push(at));
    }
    let rare = RARE.max(taken.len() / 20);
    let mut holders: Vec<Vec<usize>> =
        holders.into_values().filter(|holders| (2..=rare).contains(&holders.len())).collect();
    holders.sort_by_key(Vec::len);
    let most = usize::try_from(limits.dream_alike_pairs).unwrap_or(usize::MAX);
    let mut found: Vec<(usize, usize)> = Vec::new();
    for holders in holders {
        if found.len() > most.saturating_mul(COUNTED) {
            break;
        }
        let pairs =
            holders.iter().enumerate().flat_map(|(at, one)| holders[at + 1..].iter().map(|other| (*one, *other)));
        found.extend(pairs);
    }
    found.sort_unstable();
    let mut counted: Vec<(usize, (usize, usize))> =
        found.chunk_by(|a, b| a == b).map(|same| (same.len(), same[0])).collect();
    counted.sort_unstable_by(|(a, one), (b, other)| b.cmp(a).then(one.cmp(other)));
    counted.truncate(most);
    counted.into_iter().map(|(_, pair)| pair).collect()
}

/// One memory that says what two say: the text of the first, and what only the second says.
pub(in crate::memory) fn merged(kept: &Analysis, gone: &Analysis) -> Topic {
    let description = &gone.described;
    let mut body = kept.topic.body.trim_end().to_owned();
    let mut known = kept.sayings.clone();
    let mut words = kept.words.clone();
    let mut was_item = kept.sayings.last().is_some_and(|last| last.is_item);
    for saying in gone.sayings.iter() {
        if is_said(saying, &known) {
            continue;
        }
        body.push_str(if was_item && saying.is_item { "\n" } else { "\n\n" });
        body.push_str(if saying.is_item { "- " } else { "" });
        body.push_str(&saying.text);
        was_item = saying.is_item;
        words.extend(saying.words.iter().cloned());
        known.push(saying.clone());
    }
    if description.says_something() && !description.words.is_subset(&words) {
        body.push_str(&format!("\n\n{}", description.text));
    }
    Topic { body: body.trim_start().to_owned() + "\n", ..kept.topic.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Kind;
    use proptest::prelude::*;

    fn taken(path: &str, description: &str, body: &str) -> Analysis {
        let (name, kind) = (description.to_owned(), Kind::Reference);
        Analysis::of(path, &Topic { name, description: description.to_owned(), kind, body: body.to_owned() })
    }

    // spec: Z6
    #[test]
    fn duplicates_are_told_from_contradictions_and_from_neighbours() {
        let staging =
            taken("a.md", "staging database", "The staging database listens on port 5433. Ask Ada for the password.");
        let same = taken(
            "b.md",
            "the staging database",
            "Ask Ada for the password. The staging database listens on port 5433.",
        );
        let more = taken(
            "c.md",
            "staging database",
            "The staging database listens on port 5433. Ask Ada for the password. It sleeps at night.",
        );
        let moved =
            taken("d.md", "staging database", "The staging database listens on port 6543. Ask Ada for the password.");
        let other = taken("e.md", "release notes", "Release notes are written by Grace before each release.");
        let none = BTreeSet::new();
        assert_eq!(relation(&staging, &same, &none), Some(Relation::Same));
        assert_eq!(relation(&staging, &more, &none), Some(Relation::Same));
        let disputed = relation(&moved, &staging, &none);
        assert!(
            matches!(&disputed, Some(Relation::Disputed(a, b)) if a.contains("6543") && b.contains("5433")),
            "{disputed:?}"
        );
        assert_eq!(relation(&staging, &other, &none), None);
        let all = [staging, same, more, moved, other];
        let pairs = pairs(&all, &Limits::default());
        assert!(pairs.contains(&(0, 1)) && !pairs.iter().any(|(_, b)| *b == 4), "{pairs:?}");
    }

    #[test]
    fn what_differs_in_its_subject_is_no_contradiction() {
        let services: Vec<Analysis> = ["amsel", "drossel", "fink", "star", "meise"]
            .iter()
            .map(|bird| taken(&format!("{bird}.md"), bird, &format!("Ask Ada before you clear {bird}.")))
            .collect();
        let common = common(services.iter());
        assert!(common.contains("clear") && !common.contains("fink"), "{common:?}");
        assert_eq!(relation(&services[0], &services[1], &common), None);
        let again = taken("again.md", "fink", "Ask Grace before you clear fink.");
        assert!(matches!(relation(&services[2], &again, &common), Some(Relation::Disputed(..))));
    }

    // spec: V4
    #[test]
    fn only_a_memory_that_says_nothing_besides_is_replaced_by_its_contrary() {
        let new = taken(
            "a.md",
            "releases",
            "Releases leave the yard on Thursday.\n\n**How to apply:** until told otherwise.",
        );
        let old = |body: &str| taken("b.md", "releases", body);
        assert!(is_contrary(&new, &old("Releases leave the yard on Tuesday.\n\n**Why:** the port is empty then.")));
        assert!(!is_contrary(&new, &old("Releases leave the yard on Tuesday. The harbour office signs them.")));
        assert!(!is_contrary(&new, &old("Releases leave the yard on Thursday.")));
    }

    // spec: Z6
    #[test]
    fn a_merged_memory_says_what_both_said() {
        let one = taken("a.md", "tests", "Never mock the database.\n\n- run them twice\n");
        let other = taken(
            "b.md",
            "tests with the real database",
            "Do not ever mock the database!\n- run them twice\n- seed with 7\n",
        );
        let both = merged(&one, &other);
        assert_eq!(
            both.body,
            "Never mock the database.\n\n- run them twice\n\nDo not ever mock the database!\n\n- seed with 7\n\ntests with the real database\n"
        );
    }

    proptest! {
        // spec: V4
        #[test]
        fn a_quick_look_passes_over_nothing_that_is_alike(one in "((not|port|seed|jay|oak|[0-9])[. ] ?){1,9}", other in "((not|port|seed|jay|oak|[0-9])[. ] ?){1,9}") {
            let (one, other) = (taken("a.md", "one thing", &one), taken("b.md", "one thing", &other));
            let most = one.prints.shared(&other.prints);
            prop_assert!(one.share(&other, most) >= one.shares(&other));
            prop_assert!(!one.says_all_of(&other) || most >= other.said);
            let alike = one.shares(&other) >= DUPLICATE || one.says_all_of(&other);
            prop_assert!(!alike || relation(&one, &other, &BTreeSet::new()).is_some());
        }

        // spec: Z6
        #[test]
        fn whatever_is_merged_both_are_still_said(one in "([a-e]{3,4} [f-k]{3,4} ?[0-9]?(\\. |\n- |\n\n)){1,5}", other in "([a-e]{3,4} [f-k]{3,4} ?[0-9]?(\\. |\n- |\n\n)){1,5}") {
            let (one, other) = (taken("a.md", "one thing", &one), taken("b.md", "another thing", &other));
            let both = sayings(&merged(&one, &other).body);
            for saying in one.sayings.iter().chain(&other.sayings) {
                prop_assert!(is_said(saying, &both), "{:?} is lost in {:?}", saying.text, both);
            }
        }
    }
}
