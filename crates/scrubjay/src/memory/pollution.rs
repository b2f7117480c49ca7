//! How much of a memory is in the way: the share of memories that are duplicates, contradicted, drifted, over-long or
//! never recalled.

use super::freshness::{self, drift};
use super::similarity::{Analysis, Relation, common, pairs, relation};
use super::store::Memory;
use super::{Entry, MemoryError, Topic};
use crate::clock::age_in_days;
use std::collections::BTreeSet;
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// Which memories are in the way, by why. One may be so for several reasons.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pollution {
    /// How many memories there are.
    pub memories: usize,
    /// A newer one says the same.
    pub duplicates: BTreeSet<String>,
    /// A newer one says the contrary, or two versions of it wait to be merged.
    pub contradicted: BTreeSet<String>,
    /// It names what is gone from the project.
    pub drifted: BTreeSet<String>,
    /// It is longer than what is ever shown of it.
    pub over_long: BTreeSet<String>,
    /// No session was shown it, for as long as that is counted and it is there.
    pub unrecalled: BTreeSet<String>,
}

impl Pollution {
    /// Each reason with the memories it holds for.
    pub fn reasons(&self) -> [(&'static str, &BTreeSet<String>); 5] {
        [
            ("duplicate", &self.duplicates),
            ("contradicted", &self.contradicted),
            ("drifted", &self.drifted),
            ("over-long", &self.over_long),
            ("never recalled", &self.unrecalled),
        ]
    }

    /// The share of memories that are in the way; nothing where there are none.
    pub fn share(&self) -> Option<f64> {
        let polluted: BTreeSet<&String> = self.reasons().into_iter().flat_map(|(_, paths)| paths).collect();
        (self.memories > 0).then(|| polluted.len() as f64 / self.memories as f64)
    }
}

impl Memory {
    /// How much of this memory is in the way. `root` is the project that memories speak of. Blocks.
    pub fn pollution(&self, root: &Path, stop: &CancellationToken) -> Result<Pollution, MemoryError> {
        let mut read: Vec<(Entry, String)> = Vec::new();
        for entry in &self.scan.entries {
            read.extend(self.text(&entry.path)?);
        }
        // The older of two comes first.
        read.sort_by(|(a, _), (b, _)| (a.stamp.modified, &b.path).cmp(&(b.stamp.modified, &a.path)));
        let mut found = Pollution { memories: read.len(), ..Pollution::default() };
        let taken = |(entry, text): &(Entry, String)| Analysis::of(&entry.path, &Topic::read(text, &self.limits));
        let taken: Vec<Analysis> = read.iter().map(taken).collect();
        // Common words only ever make two memories less related, so those that are not without any are left out at once.
        let is_related =
            |(older, newer): &(usize, usize)| relation(&taken[*older], &taken[*newer], &BTreeSet::new()).is_some();
        let pairs: Vec<(usize, usize)> = pairs(&taken, &self.limits).into_iter().filter(is_related).collect();
        let common_words = common(taken.iter());
        for (older, newer) in &pairs {
            if relation(&taken[*older], &taken[*newer], &common_words) == Some(Relation::Same) {
                found.duplicates.insert(taken[*older].path.clone());
            }
        }
        // A word that only duplicates have in common still tells what they are about.
        let once: Vec<bool> = taken.iter().map(|one| !found.duplicates.contains(&one.path)).collect();
        let common_words = common(taken.iter().zip(&once).filter(|(_, once)| **once).map(|(one, _)| one));
        for (older, newer) in pairs.into_iter().filter(|(older, newer)| once[*older] && once[*newer]) {
            if let Some(Relation::Disputed(..)) = relation(&taken[older], &taken[newer], &common_words) {
                found.contradicted.insert(taken[older].path.clone());
            }
        }
        let files: Vec<_> = read.iter().map(|(entry, _)| self.place.memory.join(&entry.path)).collect();
        let texts: Vec<_> = files.iter().zip(&read).map(|(path, (_, text))| freshness::Memory { path, text }).collect();
        let gone = drift(&texts, root, &self.limits, stop);
        let uses = self.uses()?;
        let (now, days) = (self.clock.now(), self.limits.unrecalled_days);
        let counted = uses.since.is_some_and(|since| age_in_days(since, now) >= days);
        for ((entry, text), gone) in read.iter().zip(gone) {
            let path = || entry.path.clone();
            found.contradicted.extend(entry.path.contains(".conflict-").then(path));
            found.drifted.extend((!gone.is_empty()).then(path));
            found.over_long.extend(self.is_over_long(text).then(path));
            let old = age_in_days(entry.modified(), now) >= days;
            found.unrecalled.extend((counted && old && uses.of(&entry.path).shown == 0).then(path));
        }
        Ok(found)
    }

    fn is_over_long(&self, text: &str) -> bool {
        text.len() as u64 > self.limits.shown_memory_bytes
            || text.lines().count() as u64 > self.limits.shown_memory_lines
    }
}
