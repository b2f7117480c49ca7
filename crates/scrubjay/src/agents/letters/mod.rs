//! Letters: what one agent writes to another, in this process or in another one. A letter has a name, so that one that
//! arrives twice is read once, and a sender, who is another agent and never the person.

pub mod address;
pub mod inbox;
pub mod mailbox;
pub mod tool;
pub mod trust;

pub use crate::tool::LetterKind;
pub use address::Address;
pub use inbox::Inbox;
pub use mailbox::Mailbox;
pub use trust::{Token, Trust};

use crate::digest::Digest;
use crate::limits::Limits;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the conversation at the top is called by the agents below it.
pub const MAIN: &str = "main";

/// What another agent wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Letter {
    /// Names it among all letters; names sort by the time of writing.
    pub id: String,
    /// Who wrote it.
    pub from: String,
    /// To whom.
    pub to: String,
    /// What it is for.
    #[serde(default)]
    pub kind: LetterKind,
    /// What it says.
    pub message: String,
    /// The same in a few words.
    #[serde(default)]
    pub summary: String,
    /// Yes or no, where it answers something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<bool>,
    /// When it was written.
    pub at: Timestamp,
    /// That its writer knows the secret it shares with the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
}

/// Why a letter did not get through.
#[derive(Debug, thiserror::Error)]
pub enum LetterError {
    /// More than anybody should have to read.
    #[error(
        "the letter has {bytes} bytes and may have {most}; put the whole into a file and write where it is, or raise the limit `letter_bytes`"
    )]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The largest.
        most: u64,
    },
    /// Somebody's name, or the letter's own, is none.
    #[error("`{0}` cannot be a name: use letters, digits, `-` and `_`, 64 at most")]
    NoName(String),
    /// There is nobody of that name.
    #[error("there is nobody called `{to}` to write to; {known}")]
    Unknown {
        /// Who was meant.
        to: String,
        /// Who there is, in words.
        known: String,
    },
    /// The receiver has not read what this sender wrote before.
    #[error("{to} has {waiting} letters of {from} that were not read yet, and no more are taken; wait for an answer")]
    Quota {
        /// The sender.
        from: String,
        /// The receiver.
        to: String,
        /// How many wait.
        waiting: u64,
    },
    /// The mailbox holds as many letters as it may.
    #[error("the mailbox of {to} is full ({waiting} letters wait); wait until some were read")]
    Full {
        /// The receiver.
        to: String,
        /// How many wait.
        waiting: u64,
    },
    /// Somebody else reads this mailbox.
    #[error("another process reads the mailbox {}; two readers would read everything twice", .0.display())]
    InUse(PathBuf),
    /// The disk.
    #[error("the mailbox {} cannot be used: {error}", path.display())]
    Disk {
        /// Which file or folder.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
}

impl Letter {
    /// A letter with words in it.
    pub fn new(from: &str, to: &str, message: impl Into<String>, at: Timestamp) -> Self {
        Self {
            id: new_id(from, at),
            from: from.to_owned(),
            to: to.to_owned(),
            kind: LetterKind::Message,
            message: message.into(),
            summary: String::new(),
            approve: None,
            at,
            proof: None,
        }
    }

    /// With this in a few words.
    pub fn summed_up(mut self, summary: &str) -> Self {
        summary.clone_into(&mut self.summary);
        self
    }

    /// For this purpose, with a yes or no where that belongs to it.
    pub fn of_kind(mut self, kind: LetterKind, approve: Option<bool>) -> Self {
        (self.kind, self.approve) = (kind, approve);
        self
    }

    /// As bytes, if they are few enough and everybody has a name.
    pub fn to_bytes(&self, limits: &Limits) -> Result<Vec<u8>, LetterError> {
        for name in [&self.from, &self.to, &self.id] {
            if !is_name(name) {
                return Err(LetterError::NoName(name.clone()));
            }
        }
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        let (size, most) = (bytes.len() as u64, limits.letter_bytes);
        if size > most { Err(LetterError::TooLarge { bytes: size, most }) } else { Ok(bytes) }
    }

    /// From bytes that anybody may have written; why it is no letter otherwise.
    pub fn from_bytes(bytes: &[u8], limits: &Limits) -> Result<Self, String> {
        let letter: Self = serde_json::from_slice(bytes).map_err(|error| format!("it is no letter: {error}"))?;
        letter.to_bytes(limits).map_err(|error| error.to_string())?;
        Ok(letter)
    }
}

/// Whether something can be a name: plain enough to be a file's.
pub fn is_name(name: &str) -> bool {
    const LONGEST: usize = 64;
    let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
    plain && name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.len() <= LONGEST
}

/// A name that no other letter has, and that sorts behind those this process gave before.
fn new_id(from: &str, at: Timestamp) -> String {
    const LETTERS: usize = 16;
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let seed = format!("{from} {} {number} {}", at.as_nanosecond(), std::process::id());
    let unique = Digest::of(seed.as_bytes());
    format!("{:013}-{number:06}-{}", at.as_millisecond().max(0), &unique.as_str()[..LETTERS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_letters_differ_and_sort_by_the_time_of_writing() {
        let at = Timestamp::from_millisecond(1_700_000_000_000).unwrap();
        let ids: Vec<String> = (0..500).map(|_| Letter::new("a", "b", "x", at).id).collect();
        assert!(ids.is_sorted() && ids.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(ids.iter().all(|id| is_name(id)), "{}", ids[0]);
        let later = Letter::new("a", "b", "x", Timestamp::from_millisecond(1_700_000_000_001).unwrap());
        assert!(later.id > ids[499]);
    }

    // spec: A4
    #[test]
    fn a_letter_that_is_too_large_or_has_no_names_is_refused() {
        let limits = Limits { letter_bytes: 1_024, ..Limits::default() };
        let letter = |from: &str, to: &str, words: &str| Letter::new(from, to, words, Timestamp::UNIX_EPOCH);
        assert!(letter("ada", "bob", "hi").to_bytes(&limits).is_ok());
        let large = letter("ada", "bob", &"x".repeat(1_024)).to_bytes(&limits).unwrap_err().to_string();
        assert!(large.contains("may have 1024") && large.contains("letter_bytes"), "{large}");
        for name in ["", "*", "../x", "a/b", "a.b", "-a", "a b", "é", &"a".repeat(65)] {
            assert!(matches!(letter(name, "bob", "x").to_bytes(&limits), Err(LetterError::NoName(_))), "{name:?}");
            assert!(matches!(letter("ada", name, "x").to_bytes(&limits), Err(LetterError::NoName(_))), "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_a_letter_says_arrives_as_it_was(message in ".*", summary in ".*", approve: Option<bool>) {
            let letter = Letter::new("ada", "bob", message, Timestamp::UNIX_EPOCH).summed_up(&summary);
            let letter = letter.of_kind(LetterKind::ShutdownResponse, approve);
            let bytes = letter.to_bytes(&Limits::default()).unwrap();
            prop_assert_eq!(Letter::from_bytes(&bytes, &Limits::default()), Ok(letter));
        }

        #[test]
        fn any_bytes_are_a_letter_or_not_and_never_a_crash(bytes: Vec<u8>) {
            prop_assert!(Letter::from_bytes(&bytes, &Limits::default()).is_err());
        }
    }
}
