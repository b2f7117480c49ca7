//! Going back: what happened, what it changed, and how to take it back.

use super::journal::{Cause, ChangeId, Recorded, Trace};
use super::store::{Act, Change, Edit, Memory, Receipt};
use super::{MemoryError, While as _, diff, trash};
use crate::digest::Digest;
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
        self.recorded(change)?.edits.into_iter().map(|edit| self.file_diff(edit)).collect()
    }

    fn file_diff(&self, edit: Trace) -> Result<FileDiff, MemoryError> {
        let text = |digest: Option<Digest>| match digest {
            None => Ok(None),
            Some(digest) => self.former_text(&digest)?.map(Some).ok_or_else(|| MemoryError::NoText(edit.path.clone())),
        };
        Ok(FileDiff { before: text(edit.before.clone())?, after: text(edit.after.clone())?, path: edit.path.clone() })
    }

    /// Take a change back, as one more change. What somebody changed since stays as it is, beside the old text.
    pub fn undo(&mut self, change: ChangeId) -> Result<Receipt, MemoryError> {
        let recorded = self.recorded(change)?;
        let mut edits = Vec::new();
        for trace in recorded.edits.into_iter().rev() {
            let act = match &trace.before {
                None => Act::Remove,
                Some(before) => Act::Return(self.needed_text(before, &trace.path)?),
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
            edits.push(Edit { path: trace.path, base: trace.after, act, rests_on, keeps_age: false });
        }
        self.make(Change { cause: Cause::Undo { of: change }, edits })
    }

    /// Bring back a memory that was removed, as it was then.
    pub fn restore(&mut self, path: &str) -> Result<Receipt, MemoryError> {
        let removed = |change: Recorded| {
            change.edits.into_iter().find(|edit| edit.path == path && edit.after.is_none()).and_then(|edit| edit.before)
        };
        let digest = self.log()?.into_iter().rev().find_map(removed);
        let digest = digest.ok_or_else(|| MemoryError::Missing(path.to_owned()))?;
        let edit = Edit::create(path, self.needed_text(&digest, path)?);
        // It comes back with whatever standing it had.
        let rests_on = self.provenance.basis(path, &digest).cloned();
        self.make(Change { cause: Cause::Restore, edits: vec![Edit { rests_on, ..edit }] })
    }

    fn recorded(&self, change: ChangeId) -> Result<Recorded, MemoryError> {
        self.log()?.into_iter().find(|recorded| recorded.id == change).ok_or(MemoryError::NoChange(change))
    }

    fn needed_text(&self, digest: &Digest, path: &str) -> Result<String, MemoryError> {
        self.former_text(digest)?.ok_or_else(|| MemoryError::NoText(path.to_owned()))
    }

    /// A text by its digest, if the journal or the trash has it.
    pub(super) fn former_text(&self, digest: &Digest) -> Result<Option<String>, MemoryError> {
        let known = self.journal.text(digest).during("reading the journal")?;
        match known {
            Some(text) => Ok(Some(text)),
            None => trash::text(&self.place.trash, digest, &self.limits).during("reading the trash"),
        }
    }
}
