//! A folder that somebody keeps: what is written there goes through them instead of straight to the disk.

use super::write::put;
use crate::digest::Digest;
use crate::model::Pending;
use crate::tool::{MemoryNote, MemoryWriter, Occasion, ToolOutcome};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Somebody who keeps a folder.
pub trait Keeper: Send + Sync {
    /// Whether a resolved path lies in it.
    fn keeps(&self, path: &Path) -> bool;

    /// Make a change there, or say why not; then everything is as it was.
    fn replace<'a>(
        &'a self,
        change: Replacement,
        writer: Option<&'a dyn MemoryWriter>,
    ) -> Pending<'a, Result<Kept, String>>;

    /// Take down a note, or say why not.
    fn note<'a>(
        &'a self,
        note: MemoryNote,
        occasion: &'a Occasion,
        writer: Option<&'a dyn MemoryWriter>,
    ) -> Pending<'a, Result<Kept, String>>;
}

/// A file's bytes in place of others.
#[derive(Debug, Clone)]
pub struct Replacement {
    /// The resolved path.
    pub path: PathBuf,
    /// What is there; `None`: nothing.
    pub before: Option<Vec<u8>>,
    /// What is to be there.
    pub bytes: Vec<u8>,
    /// What led to it.
    pub occasion: Occasion,
}

/// A change that was made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// What is there now, where the model knows it.
    pub digest: Option<Digest>,
    /// What was done, where it is something else than was asked for.
    pub words: Option<String>,
    /// What the model should know besides.
    pub told: Vec<String>,
    /// What the user should know.
    pub notices: Vec<String>,
}

/// Make a change wherever it belongs.
pub(super) async fn replace(
    keeper: Option<&Arc<dyn Keeper>>,
    change: Replacement,
    writer: Option<&dyn MemoryWriter>,
    most: u64,
) -> Result<Kept, String> {
    if let Some(keeper) = keeper.filter(|keeper| keeper.keeps(&change.path)) {
        return keeper.replace(change, writer).await;
    }
    let writing = tokio::task::spawn_blocking(move || {
        put(&change.path, change.before.as_deref(), &change.bytes, most).map(Kept::plainly)
    });
    writing.await.unwrap_or_else(|_| Err("Writing stopped before it was done.".to_owned()))
}

impl Kept {
    fn plainly(digest: Digest) -> Self {
        Self { digest: Some(digest), ..Self::default() }
    }

    /// The outcome of a call that changed a file.
    pub(super) fn outcome(self, path: PathBuf, done: String) -> ToolOutcome {
        let outcome = ToolOutcome::ok(self.in_words(done));
        let outcome = match self.digest {
            Some(digest) => outcome.saw(path, digest),
            None => outcome,
        };
        outcome.telling(self.notices)
    }

    /// What was done, in these words unless it was something else, and what the model should know besides.
    pub(super) fn in_words(&self, done: String) -> String {
        [&[self.words.clone().unwrap_or(done)], self.told.as_slice()].concat().join("\n")
    }
}
