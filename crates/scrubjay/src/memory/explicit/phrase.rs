//! What a sentence says outright: the first phrase of a table that one of its clauses begins with.

use super::words::{self, Tongue};
use super::{chinese, doubt, english, european};
use crate::memory::topic::Kind;
use regex::Regex;
use std::sync::LazyLock;

/// What kind of thing was said outright.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    /// "Remember that …"
    Remember,
    /// "Keep in mind that …": asked for, unless it goes with a task.
    Mind,
    /// "…. Remember this."
    RememberThis,
    /// "Always …", "from now on …"
    Rule,
    /// "Don't …": a rule only where it says why, or for what.
    Ban,
    /// "I prefer …"
    Liking,
    /// "I am a …"
    About,
    /// "We decided …"
    Decision,
    /// "The freeze is on Thursday."
    Deadline,
    /// "Bugs are tracked in …"
    Whereabouts,
    /// "Keep doing that."
    Confirmation,
    /// "Forget that …"
    Forget,
}

impl Sense {
    /// The kind of memory it makes, where that is certain.
    pub(super) fn kind(self) -> Option<Kind> {
        match self {
            Sense::Rule | Sense::Ban | Sense::Liking | Sense::Confirmation => Some(Kind::Feedback),
            Sense::About => Some(Kind::User),
            Sense::Decision | Sense::Deadline => Some(Kind::Project),
            Sense::Whereabouts => Some(Kind::Reference),
            Sense::Remember | Sense::Mind | Sense::RememberThis | Sense::Forget => None,
        }
    }

    /// Whether the person spoke of remembering itself.
    pub(super) fn is_asked_for(self) -> bool {
        matches!(self, Sense::Remember | Sense::Mind | Sense::RememberThis | Sense::Forget)
    }

    /// Whether the next sentence, of that sense, says more of the same.
    pub(super) fn goes_on_as(self, next: Sense) -> bool {
        (self.must_last() && next.must_last())
            || (self == Sense::About && next == Sense::About)
            || (self == Sense::Decision && matches!(next, Sense::Deadline | Sense::Rule))
    }

    /// Whether it holds only if it is meant for more than this moment.
    fn must_last(self) -> bool {
        matches!(self, Sense::Rule | Sense::Ban | Sense::Liking)
    }
}

/// A phrase in a sentence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Phrase<'a> {
    pub(super) sense: Sense,
    /// What is to be kept or forgotten, in the person's words.
    pub(super) what: &'a str,
}

/// One row of a language's table. The pattern is tried where a clause begins; its group `what` is what is said, and without one
/// the whole sentence is. A group `verb`, or `doing`, must be something that one tells an agent to do; a group `first` must
/// open the sentence, since behind another clause somebody else may be meant, or something said in passing.
pub(super) type Row = (Sense, &'static str);

/// The phrases of a language.
pub(super) struct Table {
    rows: Vec<(Sense, Regex)>,
    lead: Option<Regex>,
    joints: Option<Regex>,
    before: Option<Regex>,
}

impl Table {
    fn of(language: &Language) -> Self {
        let compiled = |(sense, pattern): &Row| Some((*sense, Regex::new(&format!("(?i)^(?:{pattern})")).ok()?));
        Self {
            rows: language.rows.iter().copied().flatten().filter_map(compiled).collect(),
            lead: Regex::new(&format!("(?i)^(?:(?:{})[\\s,:.!，：！。]*)+", language.lead)).ok(),
            joints: Regex::new(&format!("(?i)(?:{})", language.joints)).ok(),
            before: Regex::new(&format!("(?i)^(?:{})$", language.before)).ok(),
        }
    }

    /// The part of `text` behind words that only open a sentence.
    fn behind_lead<'t>(&self, text: &'t str) -> &'t str {
        let end = self.lead.as_ref().and_then(|lead| lead.find(text)).map_or(0, |lead| lead.end());
        &text[end..]
    }

    /// Where the clauses of a sentence begin.
    fn starts(&self, masked: &str) -> impl Iterator<Item = usize> {
        let joints = self.joints.as_ref().map(|joints| joints.find_iter(masked).map(|joint| joint.end()));
        std::iter::once(0).chain(joints.into_iter().flatten())
    }

    /// Whether what stands before a clause leaves it what it says. "At school, never …" and "Bob: never …" do not.
    fn leaves_alone(&self, before: &str) -> bool {
        let told = self.behind_lead(before.trim_start());
        told.is_empty() || self.before.as_ref().is_some_and(|known| known.is_match(told))
    }

    fn find<'a>(&self, sentence: &'a str, masked: &str) -> Option<Phrase<'a>> {
        for start in self.starts(masked).filter(|start| self.leaves_alone(&masked[..*start])) {
            let clause = self.behind_lead(masked[start..].trim_start());
            let at = masked.len() - clause.len();
            let hit = self.rows.iter().find_map(|(sense, pattern)| {
                let caught = pattern.captures(clause)?;
                (start == 0 || caught.name("first").is_none()).then_some(())?;
                caught.name("verb").is_none_or(|verb| words::is_order(verb.as_str())).then_some(())?;
                caught.name("doing").is_none_or(|doing| words::is_ordered(doing.as_str())).then_some(())?;
                let what = match caught.name("what") {
                    Some(what) => &sentence[at + what.start()..at + what.end()],
                    None => &sentence[masked.len() - self.behind_lead(masked.trim_start()).len()..],
                };
                doubt::fits(*sense, what, clause).then_some(Phrase { sense: *sense, what })
            });
            if hit.is_some() {
                return hit;
            }
        }
        None
    }
}

/// A language's own words.
pub(super) struct Language {
    pub(super) rows: &'static [&'static [Row]],
    /// Words that open a sentence and say nothing.
    pub(super) lead: &'static str,
    /// What stands between two clauses.
    pub(super) joints: &'static str,
    /// What may stand before a clause, with the joint, and take nothing from it.
    pub(super) before: &'static str,
}

static OTHER: LazyLock<[Table; 2]> = LazyLock::new(|| [Table::of(&english::ENGLISH), Table::of(&european::EUROPEAN)]);
static HAN: LazyLock<Table> = LazyLock::new(|| Table::of(&chinese::CHINESE));

/// What a sentence says outright, if it is meant.
pub(super) fn of(sentence: &str) -> Option<Phrase<'_>> {
    let phrase = find(sentence)?;
    let (asked, masked) = (phrase.sense.is_asked_for(), words::masked(sentence));
    let doubtful = doubt::is_question(sentence)
        || doubt::is_jest(&masked)
        || (!asked && (doubt::is_supposed(&masked) || doubt::is_reported(&masked) || doubt::is_elsewhere(&masked)))
        || ((phrase.sense.must_last() || phrase.sense == Sense::About) && doubt::is_momentary(&masked))
        || (matches!(phrase.sense, Sense::Decision | Sense::Mind | Sense::Remember) && doubt::is_for_this(&masked))
        || (phrase.sense != Sense::Forget && doubt::is_just_for_now(&masked));
    (!doubtful).then_some(phrase)
}

/// Whether a sentence gives a task: it orders something, or asks for it, and says nothing that lasts.
pub(super) fn is_task(sentence: &str) -> bool {
    find(sentence).is_none() && orders(sentence).any(|orders| orders)
}

/// Whether a ban goes with an order: "don't recurse, write a loop".
pub(super) fn is_beside_order(ban: &str) -> bool {
    orders(ban).skip(1).any(|orders| orders)
}

/// Of every clause of a sentence, whether it is a plain order.
fn orders(sentence: &str) -> impl Iterator<Item = bool> {
    let masked = words::masked(sentence);
    let tongue = Tongue::of(sentence);
    let table = if tongue == Tongue::Han { &*HAN } else { &OTHER[0] };
    let starts: Vec<usize> = table.starts(&masked).collect();
    starts.into_iter().map(move |at| {
        let clause = table.behind_lead(masked[at..].trim_start());
        let first = clause.split(|c: char| !c.is_alphanumeric() && c != '-').next().unwrap_or_default();
        doubt::is_asked_to(clause) || (tongue == Tongue::Other && words::is_order(first))
    })
}

/// The sense of words alone, whether they are meant or not.
pub(super) fn plainly(words: &str) -> Option<Sense> {
    find(words).map(|phrase| phrase.sense)
}

fn find(sentence: &str) -> Option<Phrase<'_>> {
    let masked = words::masked(sentence);
    match Tongue::of(sentence) {
        Tongue::Han => HAN.find(sentence, &masked),
        Tongue::Other => OTHER.iter().find_map(|table| table.find(sentence, &masked)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for language in [&english::ENGLISH, &european::EUROPEAN, &chinese::CHINESE] {
            let rows: usize = language.rows.iter().map(|rows| rows.len()).sum();
            let table = Table::of(language);
            assert_eq!(table.rows.len(), rows);
            assert!(table.lead.is_some() && table.joints.is_some() && table.before.is_some());
        }
    }
}
