//! The memories a dream works on, and the steps it would take. What nobody confirmed and what is shared with others is not
//! among them: a dream neither reads it to a model nor changes it.

use super::proposal::{Proposal, Standing};
use crate::digest::Digest;
use crate::limits::Limits;
use crate::memory::provenance::Source;
use crate::memory::{Cause, Entry, Memory, MemoryError, Recorded, Topic, Trust, Use};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

/// A memory as a dream sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) entry: Entry,
    pub(super) text: String,
    pub(super) topic: Topic,
    /// How far it may be trusted; `None`: nobody ever said.
    pub(super) trust: Option<Trust>,
    pub(super) sources: Vec<Source>,
    /// Whether it earns its place.
    pub(super) used: Use,
}

impl Known {
    /// The file with another topic in it. A header that says the same keeps its bytes.
    pub(super) fn saying(&self, topic: &Topic, limits: &Limits) -> String {
        let same_header = Topic { body: self.topic.body.clone(), ..topic.clone() } == self.topic;
        match self.text.strip_suffix(&self.topic.body).filter(|_| same_header) {
            Some(header) => format!("{header}{}", topic.body),
            None => topic.text_over(&self.text, limits),
        }
    }
}

/// A memory, what it said, and what it says then.
type Turn = (String, Option<Digest>, Option<Digest>);
/// Memories as they were before they were put together.
type Apart = HashSet<(String, Digest)>;

/// All of them, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct World {
    pub(super) memories: BTreeMap<String, Known>,
    /// What dreams had put together and the person took apart again, or would have and the person rejected: the memories of each, as
    /// they were before.
    parted: Vec<Apart>,
    /// What dreams did and the person took back, or would have done and the person rejected: the memory, what it said, and what it
    /// was to say.
    declined: HashSet<Turn>,
}

/// What a dream would do to one memory, and what that rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The memory.
    pub path: String,
    /// What it said when this was decided, by its digest; `None`: it is new.
    pub base: Option<Digest>,
    /// What it says now.
    pub before: Option<String>,
    /// What it is to say; `None`: it goes away.
    pub after: Option<String>,
    /// Memories whose facts it takes over.
    #[serde(default)]
    pub merged: Vec<String>,
    /// The memory that takes over its facts.
    #[serde(default)]
    pub into: Option<String>,
    /// Words that were said, which it rests on.
    #[serde(default)]
    pub sources: Vec<Source>,
    /// The messages those words are in, with their days.
    #[serde(skip)]
    pub(super) cited: Vec<(String, Date)>,
    /// Whether its meaning, and so its age, stays.
    #[serde(default)]
    pub keeps_age: bool,
    /// Why, in a few words.
    pub because: String,
}

impl Step {
    /// Whether a memory is lost by it: it goes away and nobody takes over what it said.
    pub fn is_removal(&self) -> bool {
        self.after.is_none() && self.into.is_none()
    }

    fn turn(&self) -> Turn {
        (self.path.clone(), self.base.clone(), self.after.as_ref().map(|text| Digest::of(text.as_bytes())))
    }
}

impl World {
    /// Read what may be worked on. A memory that cannot be read is left alone.
    pub(super) fn read(memory: &Memory, limits: &Limits) -> Result<Self, MemoryError> {
        let mut memories = BTreeMap::new();
        // Without counts every memory is worth the same.
        let uses = memory.uses().unwrap_or_default();
        for entry in memory.list().filter(|entry| !entry.is_shared()) {
            let Ok(Some((entry, text))) = memory.text(&entry.path) else { continue };
            let basis = memory.rests_on(&entry.path).cloned();
            let (trust, sources) = basis.map_or((None, Vec::new()), |basis| (Some(basis.trust), basis.sources));
            let topic = Topic::read(&text, limits);
            let used = uses.of(&entry.path);
            memories.insert(entry.path.clone(), Known { entry, text, topic, trust, sources, used });
        }
        let (mut parted, mut declined) = taken_back(memory)?;
        for Proposal { steps, .. } in Proposal::standing(&memory.place().dreams, &[Standing::Rejected]) {
            parted.extend(unjoined(&steps));
            declined.extend(steps.iter().map(Step::turn));
        }
        Ok(Self { memories, parted, declined })
    }

    /// Whether the person wanted none of just this.
    pub(super) fn is_declined(&self, step: &Step) -> bool {
        self.declined.contains(&step.turn())
    }

    /// Whether the person wanted nothing tidied in a memory that says this.
    pub(super) fn is_left_alone(&self, step: &Step) -> bool {
        let alone = step.merged.is_empty() && step.into.is_none();
        alone && self.declined.iter().any(|(path, base, _)| *path == step.path && *base == step.base)
    }

    /// Whether the person took these two apart, and both are still what they were.
    pub(super) fn are_parted(&self, one: &Known, other: &Known) -> bool {
        let [one, other] = [one, other].map(|known| (known.entry.path.clone(), known.entry.digest.clone()));
        self.parted.iter().any(|parted| parted.contains(&one) && parted.contains(&other))
    }

    /// What a memory is worth by its record.
    pub(super) fn worth(&self, path: &str) -> f64 {
        self.memories.get(path).map(|known| known.used).unwrap_or_default().worth()
    }

    /// The same after these steps.
    pub(super) fn after(&self, steps: &[Step], limits: &Limits) -> Self {
        let mut world = self.clone();
        for step in steps {
            let Some(text) = &step.after else {
                world.memories.remove(&step.path);
                continue;
            };
            let stamp = self.memories.get(&step.path).map(|known| known.entry.stamp).unwrap_or_default();
            let entry = Entry::of(step.path.clone(), text, stamp, limits);
            let was = self.memories.get(&step.path);
            let known = Known {
                entry,
                text: text.clone(),
                topic: Topic::read(text, limits),
                trust: was.and_then(|was| was.trust),
                sources: was.map(|was| was.sources.clone()).unwrap_or_default(),
                used: was.map(|was| was.used).unwrap_or_default(),
            };
            world.memories.insert(step.path.clone(), known);
        }
        world
    }
}

/// What was done by every dream that was taken back, whether it had landed by itself or by the person.
fn taken_back(memory: &Memory) -> Result<(Vec<Apart>, HashSet<Turn>), MemoryError> {
    let log = memory.log()?;
    let dreamt = |change: &Recorded| matches!(change.cause, Cause::Dream | Cause::Proposal { .. });
    let undone = log.iter().filter_map(|change| match change.cause {
        Cause::Undo { of } => log.iter().find(|change| change.id == of && dreamt(change)),
        _ => None,
    });
    let undone: Vec<&Recorded> = undone.collect();
    let before = |change: &&Recorded| {
        change.edits.iter().filter_map(|edit| Some((edit.path.clone(), edit.before.clone()?))).collect()
    };
    let turns = undone.iter().flat_map(|change| &change.edits);
    let turns = turns.map(|edit| (edit.path.clone(), edit.before.clone(), edit.after.clone()));
    Ok((undone.iter().map(before).collect(), turns.collect()))
}

/// Memories that would have been put together.
fn unjoined(steps: &[Step]) -> Vec<Apart> {
    let known = |step: &Step| Some((step.path.clone(), step.base.clone()?));
    let joined = |heir: &Step| {
        let into = |step: &&Step| step.path == heir.path || step.into.as_ref() == Some(&heir.path);
        steps.iter().filter(into).filter_map(known).collect::<Apart>()
    };
    steps.iter().map(joined).filter(|joined| joined.len() > 1).collect()
}

/// Where the facts of each memory went, at the end of the chain.
pub(super) fn successors(steps: &[Step]) -> BTreeMap<&str, &str> {
    let next: BTreeMap<&str, &str> =
        steps.iter().filter_map(|step| Some((step.path.as_str(), step.into.as_deref()?))).collect();
    let end = |from: &str| {
        let mut at = *next.get(from)?;
        for _ in 0..next.len() {
            match next.get(at) {
                Some(further) => at = *further,
                None => break,
            }
        }
        Some(at)
    };
    next.keys().filter_map(|from| Some((*from, end(from)?))).collect()
}
