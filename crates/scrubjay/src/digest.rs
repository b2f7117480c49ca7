//! Digests of bytes, and the files a model has seen by theirs.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Files a model has seen, by absolute path, with the digest of the bytes it saw.
pub type FilesSeen = BTreeMap<PathBuf, Digest>;

/// A digest of a file's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::{Digest as _, Sha256};
        let hash = Sha256::digest(bytes);
        Self(hash[..16].iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// As hexadecimal text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
