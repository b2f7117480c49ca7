//! Long-term memory: a folder of Markdown files that one project's sessions share, safe to write from many places at once.
//!
//! The files are the truth. The index is made from them, the journal says what happened to them, and neither a kill, a full
//! disk, a second writer nor an editor that saves at the same moment loses a word of them.
//!
//! ```
//! use scrubjay::memory::{Cause, Change, Edit, Kind, Memory, Place, Topic};
//! use scrubjay::{clock::Clock, limits::Limits, paths::Layout};
//! # struct Noon;
//! # impl Clock for Noon { fn now(&self) -> jiff::Timestamp { jiff::Timestamp::UNIX_EPOCH } }
//! # let held = tempfile::tempdir()?;
//! # let (data, root) = (held.path(), std::path::Path::new("/home/ada/birds"));
//! let limits = Limits::default();
//! let place = Place::of(&Layout::at(data).project(root, &limits));
//! let (mut memory, _) = Memory::open(&place, std::sync::Arc::new(Noon), &limits)?;
//!
//! let topic = Topic {
//!     name: "Role".into(),
//!     description: "writes Rust, new to this code".into(),
//!     kind: Kind::User,
//!     body: "Ada has written Rust for ten years.\n".into(),
//! };
//! let edit = Edit::create(topic.file_name(), topic.text());
//! let receipt = memory.commit(Change { cause: Cause::Person, edits: vec![edit] })?;
//! assert_eq!(receipt.to_string(), "user_role.md: new, 6 lines · take it back with `scrubjay memory undo 1`");
//! assert_eq!(memory.index()?.text, "- [Role](user_role.md) — writes Rust, new to this code\n");
//! memory.undo(receipt.change)?;
//! assert!(memory.list().next().is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod name;
mod topic;
mod folder;
mod heard;
mod scan;
mod headers;
mod index;
mod provenance;
mod journal;
mod trash;
mod diff;
mod landing;
mod commit;
mod sharing;
mod indexing;
mod settle;
mod store;
mod history;
pub mod logs;
mod check;
// found and shown
pub mod recall;
pub mod find;
pub mod meaning;
pub mod links;
pub mod freshness;
pub mod shown;
pub mod prompt;
pub mod select;
mod shared;
pub mod typed;
pub mod hard_facts;
// what the person said outright
pub mod draft;
pub mod explicit;
// looked over
pub(crate) mod similarity;
mod uses;
mod pollution;
mod forgetting;
// written by agents
mod scope;
mod keeping;
pub mod extraction;
mod tool;
// kept in order
pub mod dreaming;

pub use check::{Fault, Finding};
pub use folder::Stamp;
pub use forgetting::{Derived, Origins};
pub use history::FileDiff;
pub use index::{LoadedIndex, load_index};
pub use journal::{Cause, ChangeId, Recorded, Trace};
pub(crate) use keeping::{event as note_event, in_words as note_in_words};
pub use pollution::Pollution;
pub use provenance::{Basis, Source, Speaker, Trust};
pub use scan::{Entry, LeftOut, Scan, Team};
pub use settle::Repairs;
pub use shared::{Candidates, Recollection, SharedMemory, Wish};
pub use sharing::{Credential, Scope, credential, scope_of};
pub use similarity::DuplicateMatch;
pub(crate) use similarity::covers;
pub use store::{Act, Age, Change, Edit, Index, Memory, Outcome, Place, Receipt, What};
pub use tool::MemoryTool;
pub use topic::{Kind, Topic};
pub use uses::{Turn, Use, Uses};

use std::io;
use std::path::PathBuf;

/// Why a memory could not be read or changed. Nothing was changed unless it says so.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The system refused.
    #[error("{what} failed ({error}); the memory is as it was. Free space or restore access, then try again")]
    Io {
        /// What was being done.
        what: String,
        /// What the system said.
        error: io::Error,
    },
    /// A change stands half-way.
    #[error(
        "change {change} was interrupted ({error}); it is written down and will be finished when the memory is opened next"
    )]
    Interrupted {
        /// Which.
        change: ChangeId,
        /// What the system said.
        error: io::Error,
    },
    /// Somebody else is changing it, and does not come to an end.
    #[error("`{0}` is being changed by another process that does not finish; try again, or end that process")]
    Busy(PathBuf),
    /// The directory belongs to somebody else.
    #[error("`{0}` belongs to another user, who could change what it says; choose a directory of your own")]
    Foreign(PathBuf),
    /// No memory can be called that.
    #[error("`{path}` cannot be the name of a memory: {why}. Choose a name such as `feedback_tests.md`")]
    Name {
        /// What was asked for.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The name exists in another spelling.
    #[error("`{path}` and `{existing}` are one name on some systems; change `{existing}` or choose another name")]
    Taken {
        /// What was asked for.
        path: String,
        /// What is there.
        existing: String,
    },
    /// There is no such memory.
    #[error("there is no memory `{0}`; `scrubjay memory ls` lists them, `scrubjay memory log` shows what was removed")]
    Missing(String),
    /// The file is not one that may be replaced.
    #[error("`{path}` was left alone: {why}. Make it a plain file of its own, then try again")]
    NotPlain {
        /// The file.
        path: String,
        /// What it is.
        why: &'static str,
    },
    /// The text is too long.
    #[error(
        "the text for `{path}` has {bytes} bytes and a memory may have {most}; keep the point and leave out the rest"
    )]
    TooLarge {
        /// The memory.
        path: String,
        /// Its size.
        bytes: usize,
        /// The limit.
        most: u64,
    },
    /// It rests on something the person did not say.
    #[error(
        "`{path}` rests only on what somebody else said, so it can be neither about the person nor shared until the person confirms it"
    )]
    Tainted {
        /// The memory.
        path: String,
    },
    /// It would show a credential.
    #[error(
        "`{path}` was not written: line {line} holds what looks like a credential ({rule}), and it may be read by others or by a model. Leave it out, say where it is kept instead, and change it if it was seen"
    )]
    Credential {
        /// The memory.
        path: String,
        /// The rule that knows it.
        rule: String,
        /// Where.
        line: usize,
    },
    /// Its name would show a credential.
    #[error(
        "the memory was not written: its file name would hold what looks like a credential ({rule}), and names are shown in lists, receipts and logs. Choose a name that says what it is about"
    )]
    CredentialInName {
        /// The rule that knows it.
        rule: String,
    },
    /// It would share what is about the person.
    #[error(
        "`{path}` was not written: a memory of type user is about one person and is never shared. Save it beside the others, without `team/`"
    )]
    Personal {
        /// The memory.
        path: String,
    },
    /// The journal has no such change.
    #[error("the journal has no change {0}; `scrubjay memory log` lists them")]
    NoChange(ChangeId),
    /// The text of a former state is not known.
    #[error("what `{0}` said before was never seen by the engine, so it cannot be brought back")]
    NoText(String),
}

impl From<io::Error> for MemoryError {
    fn from(error: io::Error) -> Self {
        MemoryError::Io { what: "reading the memory".to_owned(), error }
    }
}

/// Says what was being done when the system refused.
trait While<T> {
    fn during(self, what: &str) -> Result<T, MemoryError>;
}

impl<T> While<T> for io::Result<T> {
    fn during(self, what: &str) -> Result<T, MemoryError> {
        self.map_err(|error| MemoryError::Io { what: what.to_owned(), error })
    }
}
