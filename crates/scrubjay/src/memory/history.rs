//! Going back: what happened, what it changed, and how to take it back.

use super::journal::{Cause, ChangeId, Recorded, Trace};
use super::store::{Act, Age, Change, Edit, Memory, Receipt};
use super::{MemoryError, While as _, diff, trash};
use crate::digest::Digest;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// What a change did to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The file.
    pub path: String,
    /// Its text before; `None`: it was not there.
    pub before: Option<String>,
    /// Its text since; `None`: it is gone.
    pub after: Option<String>,
}

impl fmt::Display for FileDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        f.write_str(&diff::unified(&self.path, &text(&self.before), &text(&self.after)))
    }
}

impl Memory {
    /// Every change, the oldest first.
    pub fn log(&self) -> Result<Vec<Recorded>, MemoryError> {
        Ok(self.journal.tail(0).during("reading the journal")?.changes)
    }

    /// What a change did.
    pub fn diff(&self, change: ChangeId) -> Result<Vec<FileDiff>, MemoryError> {
        let edits = self.recorded(change)?.edits;
        let texts = self.former_texts(edits.iter().flat_map(|edit| [&edit.before, &edit.after]).flatten())?;
        let diff = |edit: Trace| {
            let text = |digest: &Option<Digest>| digest.as_ref().map(|digest| needed(&texts, digest, &edit.path));
            let (before, after) = (text(&edit.before).transpose()?, text(&edit.after).transpose()?);
            Ok(FileDiff { before, after, path: edit.path })
        };
        edits.into_iter().map(diff).collect()
    }

    /// Take a change back, as one more change. What somebody changed since stays as it is, beside the old text.
    pub fn undo(&mut self, change: ChangeId) -> Result<Receipt, MemoryError> {
        let recorded = self.recorded(change)?;
        let texts = self.former_texts(recorded.edits.iter().filter_map(|trace| trace.before.as_ref()))?;
        let mut edits = Vec::new();
        for trace in recorded.edits.into_iter().rev() {
            let act = match &trace.before {
                None => Act::Remove,
                Some(before) => Act::Return(needed(&texts, before, &trace.path)?),
            };
            if act == Act::Remove && self.text(&trace.path)?.is_none() {
                continue;
            }
            // One that was removed comes back with whatever standing it had.
            let removed = trace.before.as_ref().filter(|_| trace.after.is_none());
            let rests_on = match removed {
                Some(digest) => self.provenance.basis(&trace.path, digest).cloned(),
                None => trace.rests.and_then(|rests| rests.before),
            };
            edits.push(Edit { path: trace.path, base: trace.after, act, rests_on, age: since(trace.aged) });
        }
        self.make(Change { cause: Cause::Undo { of: change }, edits })
    }

    /// Bring back a memory that was removed, as it was then.
    pub fn restore(&mut self, path: &str) -> Result<Receipt, MemoryError> {
        let removed = |change: Recorded| {
            let edit = change.edits.into_iter().find(|edit| edit.path == path && edit.after.is_none())?;
            Some((edit.before?, since(edit.aged)))
        };
        let removed = self.log()?.into_iter().rev().find_map(removed);
        let (digest, age) = removed.ok_or_else(|| MemoryError::Missing(path.to_owned()))?;
        let edit = Edit::create(path, needed(&self.former_texts([&digest])?, &digest, path)?);
        // It comes back with whatever standing it had.
        let rests_on = self.provenance.basis(path, &digest).cloned();
        self.make(Change { cause: Cause::Restore, edits: vec![Edit { rests_on, age, ..edit }] })
    }

    fn recorded(&self, change: ChangeId) -> Result<Recorded, MemoryError> {
        self.log()?.into_iter().find(|recorded| recorded.id == change).ok_or(MemoryError::NoChange(change))
    }

    /// Texts by their digests, as far as the journal or the trash has them. Both are read once, however many are wanted.
    pub(super) fn former_texts<'a>(
        &self,
        wanted: impl IntoIterator<Item = &'a Digest>,
    ) -> Result<HashMap<Digest, String>, MemoryError> {
        let mut wanted: HashSet<Digest> = wanted.into_iter().cloned().collect();
        if wanted.is_empty() {
            return Ok(HashMap::new());
        }
        let mut found = self.journal.texts(&wanted).during("reading the journal")?;
        wanted.retain(|digest| !found.contains_key(digest));
        if !wanted.is_empty() {
            found.extend(trash::texts(&self.place.trash, &wanted, &self.limits).during("reading the trash")?);
        }
        Ok(found)
    }
}

/// A text that comes back is as old as it was, where that is known.
fn since(moment: Option<i64>) -> Age {
    moment.filter(|moment| *moment > 0).map_or(Age::New, Age::Since)
}

fn needed(texts: &HashMap<Digest, String>, digest: &Digest, path: &str) -> Result<String, MemoryError> {
    texts.get(digest).cloned().ok_or_else(|| MemoryError::NoText(path.to_owned()))
}
