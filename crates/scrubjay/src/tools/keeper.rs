//! A folder that somebody keeps: what is written there goes through them instead of straight to the disk.

use super::write::put;
use crate::digest::Digest;
use crate::tool::Occasion;
use std::path::Path;
use std::sync::Arc;

/// Somebody who keeps a folder.
pub trait Keeper: Send + Sync {
    /// Whether a resolved path lies in it.
    fn keeps(&self, path: &Path) -> bool;

    /// Make a change there, or say why not; then everything is as it was. Blocks.
    fn replace(&self, change: &Replacement<'_>) -> Result<Kept, String>;
}

/// A file's bytes in place of others.
#[derive(Debug, Clone, Copy)]
pub struct Replacement<'a> {
    /// The resolved path.
    pub path: &'a Path,
    /// What is there; `None`: nothing.
    pub before: Option<&'a [u8]>,
    /// What is to be there.
    pub bytes: &'a [u8],
    /// What led to it.
    pub occasion: &'a Occasion,
}

/// A change that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What is there now.
    pub digest: Digest,
    /// What the model should know besides.
    pub told: Vec<String>,
    /// What the person should know.
    pub notices: Vec<String>,
}

/// Make a change wherever it belongs.
pub(super) fn replace(keeper: Option<&Arc<dyn Keeper>>, change: &Replacement<'_>, most: u64) -> Result<Kept, String> {
    match keeper.filter(|keeper| keeper.keeps(change.path)) {
        Some(keeper) => keeper.replace(change),
        None => put(change.path, change.before, change.bytes, most).map(Kept::plainly),
    }
}

impl Kept {
    fn plainly(digest: Digest) -> Self {
        Self { digest, told: Vec::new(), notices: Vec::new() }
    }

    /// What was done, in these words, and what else the model should know.
    pub(super) fn in_words(&self, done: String) -> String {
        [&[done], self.told.as_slice()].concat().join("\n")
    }
}
