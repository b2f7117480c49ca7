//! Rules that hold for a while only ("don't fix it yet"), and the words that end them ("go ahead", "fix it now"). What holds
//! without a limit is not ended by assent: that takes words that take it back.

use super::constraints::{clauses, plain, softened, words};
use crate::prose::{Voice, is_verb, sentences};

/// Whether a rule says itself that it holds for a while only.
pub(super) fn is_provisional(rule: &str) -> bool {
    let plain = plain(rule);
    let all: Vec<&str> = words(&plain).collect();
    all.iter().any(|word| matches!(*word, "yet" | "until" | "till"))
        || all.windows(2).any(|pair| pair == ["for", "now"])
        || ["先不要", "先别", "暂时", "先不用"].iter().any(|phrase| plain.contains(phrase))
}

/// What a message lets the model do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Assent {
    /// It says to go on, and not with what.
    any: bool,
    /// What it orders or allows: the words of those clauses.
    named: Vec<String>,
}

impl Assent {
    /// In the user's own words of a message.
    pub(super) fn of(text: &str) -> Self {
        let mut assent = Self::default();
        for sentence in sentences(text).into_iter().filter(|sentence| sentence.voice == Voice::Said) {
            let plain = plain(sentence.text);
            if plain.trim_end().ends_with(['?', '？', '吗']) {
                continue;
            }
            assent.any |= ["开始吧", "动手吧", "可以了", "继续吧"].iter().any(|phrase| plain.contains(phrase));
            for clause in clauses(&plain) {
                let clause: Vec<&str> = words(clause).collect();
                assent.hear(softened(&clause));
            }
        }
        assent
    }

    fn hear(&mut self, clause: &[&str]) {
        let rest = match clause {
            ["yes" | "yep" | "yeah" | "great" | "good" | "fine" | "alright" | "sure" | "now", rest @ ..] => rest,
            all => all,
        };
        match rest {
            ["go", "ahead", "with", object @ ..] => self.name(object),
            ["go", "ahead", ..] | ["proceed"] | ["proceed", "now" | "please", ..] | ["do", "it", ..] => self.any = true,
            ["ship", "it", ..] => self.any = true,
            ["you" | "we", "can" | "may", "now", object @ ..] | ["you" | "we", "can" | "may", object @ ..] => {
                self.name(object);
            }
            [verb, ..] if is_verb(verb) || is_done_to_it(rest) => self.name(rest),
            _ => {}
        }
    }

    fn name(&mut self, words: &[&str]) {
        self.named.extend(words.iter().filter(|word| word.len() > 2).map(|word| stem(word).to_owned()));
    }

    /// Whether it ends a rule that holds for a while.
    pub(super) fn ends(&self, rule: &str) -> bool {
        self.any || forbidden(&plain(rule)).iter().any(|word| self.named.iter().any(|it| it == word))
    }
}

/// `implement it`: whatever the verb, what is to be done to what was spoken of.
fn is_done_to_it(clause: &[&str]) -> bool {
    matches!(clause, [_, "it" | "them" | "that" | "this"] | [_, "it" | "them" | "that" | "this", "now" | "please"])
}

/// What a rule forbids: the words right behind "don't", "no", "off", "with".
fn forbidden(plain: &str) -> Vec<String> {
    let all: Vec<&str> = words(plain).collect();
    let behind = |pair: &&[&str]| matches!(pair[0], "don't" | "dont" | "no" | "any" | "off" | "on" | "with" | "the");
    all.windows(2).filter(behind).map(|pair| stem(pair[1]).to_owned()).collect()
}

/// A word without the endings that a verb takes.
fn stem(word: &str) -> &str {
    let bare = ["ting", "ing", "ted", "ed", "es", "s"].iter().find_map(|ending| word.strip_suffix(ending));
    bare.filter(|bare| bare.len() > 2).unwrap_or(word)
}
