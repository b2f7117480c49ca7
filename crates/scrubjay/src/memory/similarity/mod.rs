//! Is this known already, and does it contradict something? One answer, with one set of thresholds, for `remember`, extraction,
//! dreams and the pollution figure. Words are compared, never meanings.
//!
//! `statements` (what one text says, sentence by sentence) · `relation` (how two memories relate, and which pairs to compare).

mod relation;
mod statements;

pub(super) use relation::{Analysis, Relation, common, merged, pairs, relation};
pub(super) use statements::{Kinship, Saying, is_said, sayings};

use super::recall::content_words;
use super::topic::Topic;
use super::{Entry, Memory, MemoryError};
use relation::{is_contrary, is_same, says};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// How many memories are read for one question.
const COMPARED: usize = 20;

/// A saved memory that says the same as a new one, or the contrary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DuplicateMatch {
    /// It says the same, or one of the two says all of the other.
    Same(String),
    /// It says the contrary: the same but for a denial, a number or a day.
    Contrary(String),
}

/// The path of a confirmed memory that already says what this one states. Reasons and applications ("**Why:**", "**How to
/// apply:**") do not count. Blocks.
pub(crate) fn known(memory: &Memory, topic: &Topic) -> Option<String> {
    first(memory, topic, memory.list(), says)
}

/// The same among all memories, unconfirmed ones included. Blocks.
pub(crate) fn known_or_unconfirmed(memory: &Memory, topic: &Topic) -> Option<String> {
    first(memory, topic, memory.scan.entries.iter(), says)
}

/// The path of a confirmed memory that says the contrary of this one and nothing else. Blocks.
pub(crate) fn contradicted(memory: &Memory, topic: &Topic) -> Option<String> {
    first(memory, topic, memory.list(), |old, new| is_contrary(new, old))
}

/// Whether a text says all that another one states.
pub(crate) fn covers(text: &Topic, other: &Topic) -> bool {
    says(&Analysis::of("", text), &Analysis::of("", other))
}

impl Memory {
    /// The confirmed memories that say what a new one says, or its contrary. A memory equal to the new one is left out. Blocks.
    pub fn duplicates(&self, topic: &Topic) -> Result<Vec<DuplicateMatch>, MemoryError> {
        let (new, mut found) = (Analysis::of("", topic), Vec::new());
        for path in near(&new, self.list()) {
            let Some((entry, text)) = self.text(path)? else { continue };
            let old = Topic::read(&text, &self.limits);
            if old == *topic {
                continue;
            }
            let old = Analysis::of(path, &old);
            if is_contrary(&new, &old) {
                found.push(DuplicateMatch::Contrary(entry.path));
            } else if is_same(&new, &old) {
                found.push(DuplicateMatch::Same(entry.path));
            }
        }
        Ok(found)
    }
}

/// The first of the near memories for which this holds: of the old one and the new one.
fn first<'a>(
    memory: &Memory,
    topic: &Topic,
    entries: impl Iterator<Item = &'a Entry>,
    holds: impl Fn(&Analysis, &Analysis) -> bool,
) -> Option<String> {
    let new = Analysis::of("", topic);
    let is_it = |path: &&str| {
        let text = memory.text(path).ok().flatten();
        text.is_some_and(|(_, text)| holds(&Analysis::of(path, &Topic::read(&text, &memory.limits)), &new))
    };
    near(&new, entries).into_iter().find(is_it).map(str::to_owned)
}

/// The memories worth reading: those whose title and description share half of their words with the new one, or with its title.
/// The headers suffice for it; those that share most come first.
fn near<'a>(new: &Analysis, entries: impl Iterator<Item = &'a Entry>) -> Vec<&'a str> {
    let mut near: Vec<(usize, &str)> = Vec::new();
    for entry in entries {
        let theirs: BTreeSet<String> = content_words(&format!("{}\n{}", entry.name, entry.description));
        let (shared, in_title) = new.shared_with(&theirs);
        let half_of_theirs = shared > 0 && 2 * shared >= theirs.len();
        let half_of_title = in_title > 0 && 2 * in_title >= new.title_words();
        near.extend((half_of_theirs || half_of_title).then_some((shared, entry.path.as_str())));
    }
    near.sort_by_key(|(shared, path)| (Reverse(*shared), *path));
    near.into_iter().take(COMPARED).map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::memory::{Basis, Cause, Change, Edit, Kind, Place};
    use crate::paths::Layout;
    use jiff::Timestamp;
    use std::path::Path;
    use std::sync::Arc;

    fn topic(body: &str) -> Topic {
        Topic {
            name: "One".to_owned(),
            description: "one thing".to_owned(),
            kind: Kind::Project,
            body: body.to_owned(),
        }
    }

    // spec: V4
    #[test]
    fn a_text_covers_what_it_states_in_other_words_and_no_new_fact() {
        let staging = "The staging database listens on port 5433. Ask Ada for access.";
        for (text, other, covered) in [
            (staging, staging, true),
            (staging, "Staging database listens on port 5433.", true),
            (staging, "Staging database listens on port 5433: ask Ada for access!", true),
            (staging, "Ask Ada for access.\n\n**Why:** she keeps the vault.", true),
            (staging, "The staging database listens on port 5434. Ask Ada for access.", false),
            (staging, "The production database listens on port 5433. Ask Ada for access.", false),
            (staging, "The staging database listens on port 5433. Ask Ada for access. Grace is away.", false),
            ("Never mock the database in tests.", "Mock the database in tests.", false),
            ("Never mock the database in tests.", "Do not ever mock the database in tests!", true),
            ("Only Ada approves releases.", "Ada approves releases.", false),
            ("Deploy to production before noon.", "Deploy to production after noon.", false),
            ("Alan reports to Grace.", "Grace reports to Alan.", false),
            (staging, "", false),
        ] {
            assert_eq!(covers(&topic(text), &topic(other)), covered, "{text} / {other}");
        }
    }

    /// A memory of many files about other things, and these: path, title, body.
    fn store(held: &Path, saved: &[(&str, &str, &str)]) -> Memory {
        let limits = Limits::default();
        let place = Place::of(&Layout::at(held).project(Path::new("/birds"), &limits));
        std::fs::create_dir_all(&place.memory).unwrap();
        let write = |path: &str, title: &str, body: &str| {
            let text = format!("---\nname: {title}\ndescription: {title}\ntype: project\n---\n{body}\n");
            std::fs::write(place.memory.join(path), text).unwrap();
        };
        for n in 0..300 {
            write(
                &format!("aviary_{n}.md"),
                &format!("the birds of aviary {n}"),
                &format!("Aviary {n} keeps finches."),
            );
        }
        saved.iter().for_each(|(path, title, body)| write(path, title, body));
        Memory::open(&place, Arc::new(|| Timestamp::UNIX_EPOCH), &limits).unwrap().0
    }

    // spec: V4
    #[test]
    fn known_and_contradicted_name_the_memory_that_says_it() {
        let held = tempfile::tempdir().unwrap();
        let mut memory = store(
            held.path(),
            &[
                ("staging.md", "staging access", "The staging database listens on port 5433. Ask Ada for access."),
                ("release.md", "release day", "Releases leave the yard on Tuesday."),
            ],
        );
        let edit = Edit::create("page.md", topic("Packages come from the crooked mirror.").text());
        let change = Change { cause: Cause::Person, edits: vec![edit.resting_on(Basis::of(Vec::new()))] };
        memory.commit(change).unwrap();
        for (body, is_known, is_contradicted) in [
            ("Staging database listens on port 5433: ask Ada for access!", Some("staging.md"), None),
            ("The staging database listens on port 5433. Grace is on leave until May.", None, None),
            ("Releases leave the yard on Tuesday.", Some("release.md"), None),
            ("Releases leave the yard on Thursday.", None, Some("release.md")),
            ("Aviary 17 keeps finches.", Some("aviary_17.md"), None),
            ("Packages come from the crooked mirror.", None, None),
            ("Coffee is in the kitchen.", None, None),
        ] {
            let topic = topic(body);
            assert_eq!(known(&memory, &topic).as_deref(), is_known, "{body}");
            assert_eq!(contradicted(&memory, &topic).as_deref(), is_contradicted, "{body}");
        }
        let poison = topic("Packages come from the crooked mirror.");
        assert_eq!(known_or_unconfirmed(&memory, &poison).as_deref(), Some("page.md"));
    }
}
