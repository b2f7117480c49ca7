//! What is remembered already, when a person writes something down: the same in other words, or the contrary.

use super::likeness::{Relation, Taken, is_contrary, relation};
use super::recall::content_words;
use super::topic::Topic;
use super::{Memory, MemoryError};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// How many memories are read for it.
const COMPARED: usize = 20;

/// A memory that is there, and how a new one stands to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Twin {
    /// It says the same, or all of it and more.
    Same(String),
    /// It says the contrary: the same but for a denial, a number or a day.
    Contrary(String),
}

impl Memory {
    /// The memories that say what a new one says, or its contrary. Only those are read whose title and description share half
    /// of their words with it, those that share most first; one that is just this memory is none.
    pub fn twins(&self, topic: &Topic) -> Result<Vec<Twin>, MemoryError> {
        let title = |name: &str, description: &str| content_words(&format!("{name}\n{description}"));
        let ours = title(&topic.name, &topic.description);
        let mut near: Vec<(usize, &str)> = Vec::new();
        for entry in self.scan.entries.iter().filter(|entry| !self.is_unconfirmed(entry)) {
            let theirs = title(&entry.name, &entry.description);
            let shared = ours.intersection(&theirs).count();
            near.extend((shared > 0 && 2 * shared >= ours.len().min(theirs.len())).then_some((shared, &*entry.path)));
        }
        near.sort_by_key(|(shared, path)| (Reverse(*shared), *path));
        let (new, mut twins) = (Taken::of("", topic), Vec::new());
        for (_, path) in near.into_iter().take(COMPARED) {
            let Some((entry, text)) = self.text(path)? else { continue };
            let old = Topic::read(&text, &self.limits);
            if old == *topic {
                continue;
            }
            let taken = Taken::of(path, &old);
            if is_contrary(&new, &taken) {
                twins.push(Twin::Contrary(entry.path));
            } else if relation(&new, &taken, &BTreeSet::new()) == Some(Relation::Same) {
                twins.push(Twin::Same(entry.path));
            }
        }
        Ok(twins)
    }
}

/// Whether one memory says all that another says.
pub(crate) fn covers(one: &Topic, other: &Topic) -> bool {
    let (ours, theirs) = (content_words(&one.text()), content_words(&other.text()));
    2 * theirs.intersection(&ours).count() >= theirs.len()
}
