//! Digests of bytes, and the files a model has seen by theirs.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Files a model has seen, by absolute path, with the digest of the bytes it saw.
pub type FilesSeen = BTreeMap<PathBuf, Digest>;

/// A digest of a file's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::{Digest as _, Sha256};
        let hash = Sha256::digest(bytes);
        let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or_default();
        Self(hash[..16].iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect())
    }

    /// A digest as it was written down; `None` if this is none.
    pub fn from_hex(text: &str) -> Option<Self> {
        let hex = text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        hex.then(|| Self(text.to_owned()))
    }

    /// As hexadecimal text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
