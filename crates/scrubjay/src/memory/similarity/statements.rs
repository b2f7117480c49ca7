//! What a memory says, one saying at a time: a sentence, an item of a list, a heading, a block of code. Two sayings are
//! compared by their words, never by their meaning, so that code decides only what needs no judgement.

use crate::memory::recall::{content_sequence, content_words, words};
use std::collections::BTreeSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::LazyLock;

/// Words that turn a saying round. They carry no topic, and a saying without them is another one.
const TURNS: &[&str] = &[
    "not", "no", "never", "none", "without", "cannot", "neither", "nor", "always", "only", "except", "unless", "until",
    "before", "after", "avoid", "stop", "instead", "longer", "must", "should", "optional", "off", "more", "less",
    "most", "least", "all", "any", "some", "nicht", "kein", "nie", "immer", "ne", "pas", "jamais", "不", "没", "別",
    "别",
];
/// Those of them that deny.
const DENIALS: &[&str] = &[
    "not", "no", "never", "none", "without", "cannot", "neither", "nor", "avoid", "stop", "off", "nicht", "kein",
    "nie", "pas", "jamais", "不", "没", "別", "别",
];
/// Those of them that say when or for whom it holds.
const LIMITS: &[&str] = &[
    "only", "except", "unless", "until", "before", "after", "instead", "longer", "optional", "more", "less", "most",
    "least",
];

/// Marks of a memory's parts, which only go with what it states.
const LABELS: [&str; 2] = ["**Why:**", "**How to apply:**"];
/// Words that tell when, as a number does.
static DAYS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    content_words(
        "monday tuesday wednesday thursday friday saturday sunday daily weekly monthly january february march april \
         june july august september october november december",
    )
});
/// Of all words of two texts, in percent, that they share when they say the same.
pub(super) const DUPLICATE: usize = 70;
/// Of all words of two sayings but their numbers and days, in percent, that they share when one is the contrary of the other.
const CONTRARY: usize = 80;

/// Something that a memory says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::memory) struct Saying {
    /// As it is written, without the mark of its list.
    pub(in crate::memory) text: String,
    /// The words that tell it from others.
    pub(in crate::memory) words: BTreeSet<String>,
    /// The same in their order: who reports to whom is a matter of order alone.
    order: Vec<String>,
    /// The words once more, for a quick look.
    prints: Prints,
    /// The words in it that turn it round.
    turns: BTreeSet<&'static str>,
    /// Whether it is an item of a list.
    pub(in crate::memory) is_item: bool,
}

/// Words as numbers, in order. Two words may have the same number, so that what is counted in common is at least what is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::memory) struct Prints(Box<[u64]>);

impl Prints {
    /// Of words that are all different.
    pub(in crate::memory) fn of<'a>(words: impl Iterator<Item = &'a String>) -> Self {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let mut prints: Box<[u64]> = words.map(|word| hasher.hash_one(word)).collect();
        prints.sort_unstable();
        Self(prints)
    }

    /// No fewer than the words that two have in common.
    pub(in crate::memory) fn shared(&self, other: &Self) -> usize {
        let (Self(ours), Self(theirs)) = (self, other);
        let (mut one, mut two, mut shared) = (0, 0, 0);
        while let (Some(a), Some(b)) = (ours.get(one), theirs.get(two)) {
            shared += usize::from(a == b);
            one += usize::from(a <= b);
            two += usize::from(b <= a);
        }
        shared
    }
}

/// How two sayings stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) enum Kinship {
    /// They say the same, or the first says what the second does and more.
    Covers,
    /// They speak of the same thing and differ in a detail or a denial: one of them may be wrong.
    Disputes,
    /// They have nothing to do with each other.
    Apart,
}

impl Saying {
    pub(in crate::memory) fn of(text: &str) -> Self {
        let text = text.trim();
        let plain = without_targets(text).replace("n't", " not").replace("n’t", " not").to_lowercase();
        let all: Vec<String> = words(&plain).collect();
        let has = |turn: &&&str| all.iter().any(|word| word == **turn) || (!turn.is_ascii() && plain.contains(**turn));
        let turns = TURNS.iter().filter(has).copied().collect();
        let topical = all.iter().filter(|word| !TURNS.contains(&word.as_str()));
        let order: Vec<String> = topical.flat_map(|word| content_sequence(word)).collect();
        let words: BTreeSet<String> = order.iter().cloned().collect();
        Self { text: text.to_owned(), prints: Prints::of(words.iter()), words, order, turns, is_item: false }
    }

    /// Whether it says anything that could be true or false.
    pub(in crate::memory) fn says_something(&self) -> bool {
        self.words.len() >= 2
    }

    pub(in crate::memory) fn denies(&self) -> bool {
        self.turns.iter().filter(|turn| DENIALS.contains(turn)).count() % 2 == 1
    }

    /// The words that set a limit to it, which are no denials: only, before, unless.
    pub(super) fn limits(&self) -> impl Iterator<Item = &'static str> {
        self.turns.iter().filter(|turn| LIMITS.contains(turn)).copied()
    }

    /// Whether it has the same words as another in another order, which may say something else: who reports to whom.
    pub(super) fn reorders(&self, other: &Saying) -> bool {
        self.words == other.words && self.turns == other.turns && self.kinship(other) != Kinship::Covers
    }

    /// Whether it says what another says in other words: most of them, every number, and the same denial.
    pub(in crate::memory) fn rewords(&self, other: &Saying) -> bool {
        let shared = other.words.intersection(&self.words).count();
        let is_number = |word: &&String| word.contains(|c: char| c.is_ascii_digit());
        let numbers = other.words.iter().filter(is_number).all(|word| self.words.contains(word));
        numbers && self.denies() == other.denies() && 100 * shared >= DUPLICATE * other.words.len()
    }

    /// Whether it states something, and does not say why or how to apply it.
    pub(in crate::memory) fn is_statement(&self) -> bool {
        self.says_something() && !self.is_label()
    }

    /// Whether it begins to say why, or how to apply something.
    pub(in crate::memory) fn is_label(&self) -> bool {
        LABELS.iter().any(|label| self.text.starts_with(label))
    }

    /// Whether it says the contrary of another: the same but for a denial, a number or a day.
    pub(in crate::memory) fn is_contrary(&self, other: &Saying) -> bool {
        let parted = |saying: &Self| -> (BTreeSet<String>, BTreeSet<String>) {
            saying.words.iter().cloned().partition(|word| is_value(word))
        };
        let ((our_values, ours), (their_values, theirs)) = (parted(self), parted(other));
        let (shared, all) = (ours.intersection(&theirs).count(), ours.union(&theirs).count());
        let differs = self.turns != other.turns || (!our_values.is_empty() && our_values != their_values);
        // Two numbers, or one of what the saying is about, tell two things from each other: sprint 14 is not sprint 15.
        let of_one_thing =
            self.has_in_one_place(&our_values, &their_values) && other.has_in_one_place(&their_values, &our_values);
        shared >= 2 && 100 * shared >= CONTRARY * all && differs && of_one_thing
    }

    /// Whether all of these values but those stand together, and not where a saying says what it is about.
    fn has_in_one_place(&self, values: &BTreeSet<String>, but: &BTreeSet<String>) -> bool {
        const ABOUT: usize = 2;
        let own = |(_, word): &(usize, &String)| values.contains(*word) && !but.contains(*word);
        let places: Vec<usize> = self.order.iter().enumerate().filter(own).map(|(at, _)| at).collect();
        let (Some(first), Some(last)) = (places.first(), places.last()) else { return true };
        *first >= ABOUT && last - first < places.len()
    }

    /// Whether it can be in dispute with another at all, when no more words than `most` are shared: a quick look.
    pub(in crate::memory) fn may_dispute(&self, other: &Saying, most: usize) -> bool {
        let (ours, theirs) = (self.words.len(), other.words.len());
        if most < 2 || ours.max(theirs) > most + DETAIL || ours.abs_diff(theirs) > DETAIL {
            return false;
        }
        let shared = self.prints.shared(&other.prints);
        shared >= 2 && ours.max(theirs) <= shared + DETAIL && shared * 3 >= ours + theirs
    }

    /// How it stands to another.
    pub(in crate::memory) fn kinship(&self, other: &Saying) -> Kinship {
        // Of two lines that nobody would call sentences, only the same one is the same.
        if self.text == other.text {
            return Kinship::Covers;
        }
        if !self.says_something() || !other.says_something() {
            return Kinship::Apart;
        }
        if self.turns == other.turns && follows(&other.order, &self.order) {
            return Kinship::Covers;
        }
        let shared = self.words.intersection(&other.words).count();
        let (ours, theirs) = (self.words.len() - shared, other.words.len() - shared);
        let (all, most) = (shared + ours + theirs, ours.max(theirs));
        let mostly_shared = shared >= 2 && shared * 2 >= all;
        let denied = self.denies() != other.denies();
        // A detail each, or the same thing affirmed and denied; more than a few words apart are two things.
        let differ = most <= DETAIL && ((ours > 0 && theirs > 0) || denied);
        if mostly_shared && differ { Kinship::Disputes } else { Kinship::Apart }
    }
}

/// Whether a word is a number or tells when.
pub(in crate::memory) fn is_value(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit()) || DAYS.contains(word)
}

/// A text without the memories its links lead to: where they lie is not what it says.
pub(in crate::memory) fn without_targets(text: &str) -> String {
    let mut parts = text.split("](");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let target = part.split_once(')').filter(|(target, _)| is_memory(target));
        match target {
            Some((_, rest)) => out.push_str(&format!("] {rest}")),
            None => out.push_str(&format!("]({part}")),
        }
    }
    out
}

fn is_memory(target: &str) -> bool {
    target.trim_end_matches('>').ends_with(".md") && !target.contains(':')
}

/// Whether these words stand in those, in their order.
fn follows(words: &[String], among: &[String]) -> bool {
    let mut rest = among.iter();
    words.iter().all(|word| rest.any(|other| other == word))
}

/// Words in which two sayings about one thing may differ.
const DETAIL: usize = 3;

/// What a text says, in order.
pub(in crate::memory) fn sayings(text: &str) -> Vec<Saying> {
    let mut found = Vec::new();
    let mut paragraph = String::new();
    let mut fence: Option<String> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(mut block) = fence.take() {
            block.push_str(line);
            match trimmed.starts_with("```") {
                true => found.push(Saying::of(&block)),
                false => fence = Some(block + "\n"),
            }
            continue;
        }
        if trimmed.starts_with("```") {
            sentences(&mut paragraph, &mut found);
            fence = Some(format!("{line}\n"));
        } else if trimmed.is_empty() {
            sentences(&mut paragraph, &mut found);
        } else if let Some(item) = item(trimmed) {
            sentences(&mut paragraph, &mut found);
            found.push(Saying { is_item: true, ..Saying::of(item) });
        } else if trimmed.starts_with(['#', '|', '>']) {
            sentences(&mut paragraph, &mut found);
            found.push(Saying::of(trimmed));
        } else {
            paragraph.push_str(trimmed);
            paragraph.push(' ');
        }
    }
    found.extend(fence.as_deref().map(Saying::of));
    sentences(&mut paragraph, &mut found);
    found
}

fn item(line: &str) -> Option<&str> {
    let plain = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).or_else(|| line.strip_prefix("+ "));
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let numbered = || line[digits..].strip_prefix(". ").filter(|_| digits > 0);
    plain.or_else(numbered)
}

/// The sentences of a paragraph, which is empty afterwards.
fn sentences(paragraph: &mut String, found: &mut Vec<Saying>) {
    let text = std::mem::take(paragraph);
    let mut from = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let ends = match c {
            '。' | '！' | '？' => true,
            '!' | '?' => next.is_none_or(char::is_whitespace),
            '.' => next.is_none_or(char::is_whitespace) && !is_short(&text[from..at]),
            _ => false,
        };
        if ends {
            let end = at + c.len_utf8();
            found.extend(some(&text[from..end]));
            from = end;
        }
    }
    found.extend(some(&text[from..]));
}

fn some(text: &str) -> Option<Saying> {
    (!text.trim().is_empty()).then(|| Saying::of(text))
}

/// Whether the word before a full stop is a short form and no end: `e.g.`, `Dr.`, `J.`
fn is_short(before: &str) -> bool {
    const SHORT: &[&str] =
        &["e.g", "i.e", "dr", "mr", "mrs", "ms", "prof", "st", "no", "vs", "etc", "cf", "approx", "ca"];
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default().to_lowercase();
    SHORT.contains(&word.trim_start_matches('('))
        || (word.chars().count() == 1 && word.chars().all(char::is_alphabetic))
}

/// Whether everything that `saying` says is said by one of these.
pub(in crate::memory) fn is_said(saying: &Saying, by: &[Saying]) -> bool {
    by.iter().any(|other| other.kinship(saying) == Kinship::Covers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(text: &str) -> Vec<String> {
        sayings(text).into_iter().map(|saying| saying.text).collect()
    }

    #[test]
    fn a_text_is_taken_apart_where_a_reader_would() {
        let text = "# Deploying\n\nDeploys run on port\n5433, e.g. at night. Ask Dr. Ada first!\n- one thing\n2. another\n\n```\nlet a = 1.0;\nlet b;\n```\n**Why:** v1.2 broke. 发布在周五。别忘了";
        assert_eq!(
            texts(text),
            [
                "# Deploying",
                "Deploys run on port 5433, e.g. at night.",
                "Ask Dr. Ada first!",
                "one thing",
                "another",
                "```\nlet a = 1.0;\nlet b;\n```",
                "**Why:** v1.2 broke.",
                "发布在周五。",
                "别忘了"
            ]
        );
        assert_eq!(texts("```\nnever closed"), ["```\nnever closed"]);
    }

    #[test]
    fn sayings_cover_dispute_or_have_nothing_to_do_with_each_other() {
        use Kinship::{Apart, Covers, Disputes};
        for (one, other, kinship) in [
            ("The staging database listens on port 5433.", "the staging database listens on port 5433", Covers),
            ("The staging database listens on port 5433 since May.", "Staging database listens on port 5433.", Covers),
            ("Staging database listens on port 5433.", "The staging database listens on port 5434.", Disputes),
            ("Use tabs in Makefiles.", "Never use tabs in Makefiles.", Disputes),
            ("Don't mock the database.", "Do not mock the database.", Covers),
            ("Mock the database.", "Do not mock the database.", Disputes),
            ("Only Ada approves releases.", "Ada approves releases.", Apart),
            ("Deploys happen on Friday.", "Deploys happen on Tuesday.", Disputes),
            ("The API client retries five times.", "Coffee is in the kitchen.", Apart),
            ("Staging runs on port 5433 behind nginx.", "Production runs on port 443 behind haproxy.", Apart),
            ("See [the rules](a.md) first.", "See the rules first.", Covers),
            ("Rules are [here](https://a.example/x).", "Rules are here.", Covers),
            ("Rules are here.", "Rules are [here](https://a.example/x).", Apart),
            ("Alan reports to Grace.", "Grace reports to Alan.", Apart),
            ("yes", "yes", Covers),
            ("yes", "no", Apart),
        ] {
            let (one, other) = (Saying::of(one), Saying::of(other));
            assert_eq!(one.kinship(&other), kinship, "{one:?} {other:?}");
        }
    }

    // spec: V4
    #[test]
    fn the_contrary_differs_in_a_denial_a_number_or_a_day_alone() {
        for (one, other, contrary) in [
            ("Never mock the database in tests.", "Mock the database in tests.", true),
            ("Releases happen on Tuesday.", "Releases happen on Thursday.", true),
            ("The service listens on port 8080.", "The service listens on port 9090.", true),
            ("The service listens on port 8080.", "The service listens on port 8080 now.", false),
            ("The feeding freeze starts on 2026-03-04.", "The feeding freeze starts on 2026-04-05.", true),
            ("Invoice 1001 is due on 2026-05-01.", "Invoice 1002 is due on 2026-06-01.", false),
            ("Sprint 14 ends with a demo.", "Sprint 15 ends with a demo.", false),
            ("Crane number 1 is called acrane1.", "Crane number 2 is called acrane2.", false),
            ("Always run the linter before a commit.", "Always run the tests before a commit.", false),
            ("The parser is slow.", "The database is not slow.", false),
        ] {
            let (one, other) = (Saying::of(one), Saying::of(other));
            assert_eq!((one.is_contrary(&other), other.is_contrary(&one)), (contrary, contrary), "{one:?} {other:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_in_taking_apart(text in "([a-z]{1,5}[.!?]? ?|\n|- |`{3}\n|# |。){0,40}") {
            let words = |text: &str| text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>();
            let apart: Vec<String> = sayings(&text).iter().flat_map(|saying| words(&saying.text)).collect();
            prop_assert_eq!(apart, words(&text));
        }

        // spec: V4
        #[test]
        fn a_quick_look_misses_no_dispute(one in "((not|port|seed|jay|oak|[0-9]) ){1,7}", other in "((not|port|seed|jay|oak|[0-9]) ){1,7}") {
            let (one, other) = (Saying::of(&one), Saying::of(&other));
            let shared = one.words.intersection(&other.words).count();
            prop_assert!(one.prints.shared(&other.prints) >= shared);
            prop_assert!(one.kinship(&other) != Kinship::Disputes || one.may_dispute(&other, shared));
        }

        #[test]
        fn every_saying_covers_itself(text in ".{0,60}") {
            let saying = Saying::of(&text);
            prop_assert_eq!(saying.kinship(&saying), Kinship::Covers);
        }
    }
}
