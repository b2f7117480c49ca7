//! What the last dream has seen, so that the next one looks only at what is new.

use crate::paths;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

const FILE: &str = "seen.json";

/// What was judged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// Findings that were shown to a model, by what they say about which texts.
    #[serde(default)]
    pub(super) judged: BTreeSet<String>,
}

impl Seen {
    /// What an earlier dream left. One that cannot be read costs a second look, nothing else.
    pub(super) fn read(dreams: &Path) -> Self {
        std::fs::read(dreams.join(FILE)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    pub(super) fn write(&self, dreams: &Path) -> io::Result<()> {
        paths::create_dir_private(dreams)?;
        paths::write_private(&dreams.join(FILE), &serde_json::to_vec(self).map_err(io::Error::other)?)
    }
}
