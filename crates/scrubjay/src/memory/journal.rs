//! The history of a memory directory: every change, who caused it, and the texts it takes to go back.
//!
//! Sealed JSON lines, only ever appended to, outside the directory itself. A change is written down before it is made and
//! marked as done afterwards, so that a change of several files that was interrupted is finished at the next opening.

use super::provenance::Basis;
use crate::digest::Digest;
use crate::limits::Limits;
use crate::paths;
use crate::transcript::{Log, read_from};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A change, by its place in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChangeId(pub u64);

impl fmt::Display for ChangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a memory changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Cause {
    /// A person, by a command or by hand in the program.
    Person,
    /// The agent, in a session.
    Session {
        /// Which.
        session: String,
    },
    /// The agent, because of one message.
    Message {
        /// In which session.
        session: String,
        /// Which message.
        message: String,
    },
    /// Layer 5.
    Extraction {
        /// From which session.
        session: String,
        /// The last message that was looked at, so that a kill before the transcript says so repeats nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        upto: Option<String>,
    },
    /// Layer 6.
    Dream,
    /// What layer 6 proposed, and a person applied.
    Proposal {
        /// Which.
        id: String,
    },
    /// Another agent's memory, or a folder of notes.
    Import {
        /// Where it came from.
        from: String,
    },
    /// A program that uses the memory as a tool.
    Tool {
        /// Which.
        name: String,
    },
    /// Taking another change back.
    Undo {
        /// Which.
        of: ChangeId,
    },
    /// Taking a memory out of the trash.
    Restore,
    /// A line of the index that somebody edited, carried over to its memory.
    Index,
    /// An editor, another agent or the system, without the engine.
    Outside,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Person => write!(f, "person"),
            Cause::Session { session } => write!(f, "session {session}"),
            Cause::Message { session, message } => write!(f, "message {message} of session {session}"),
            Cause::Extraction { session, .. } => write!(f, "extraction from session {session}"),
            Cause::Dream => write!(f, "dream"),
            Cause::Proposal { id } => write!(f, "dream {id}, applied by a person"),
            Cause::Import { from } => write!(f, "import from {from}"),
            Cause::Tool { name } => write!(f, "tool {name}"),
            Cause::Undo { of } => write!(f, "undo of change {of}"),
            Cause::Restore => write!(f, "restore"),
            Cause::Index => write!(f, "edit of the index"),
            Cause::Outside => write!(f, "outside"),
        }
    }
}

/// What happened to one file in a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The file.
    pub path: String,
    /// What it held before; `None`: it was not there.
    pub before: Option<Digest>,
    /// What it holds since; `None`: it is gone.
    pub after: Option<Digest>,
    /// Its text since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// Its text before, where no earlier line has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) prior: Option<String>,
    /// The time the file keeps, where its meaning did not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) modified: Option<i64>,
    /// The time the file had before: since when that text had meant what it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) aged: Option<i64>,
    /// What it rests on since, and before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rests: Option<Rests>,
}

/// A change of what a memory rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rests {
    pub(super) before: Option<Basis>,
    pub(super) after: Option<Basis>,
}

/// A change as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its place.
    pub id: ChangeId,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub cause: Cause,
    /// What happened to each file.
    pub edits: Vec<Trace>,
    /// What else a person should know: lines of the index that were taken out or put back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Change(Recorded),
    Done(ChangeId),
}

/// What the journal says from some place on.
#[derive(Debug, Default)]
pub(super) struct Tail {
    pub(super) changes: Vec<Recorded>,
    /// The last change, if it was written down and never finished.
    pub(super) unfinished: Option<Recorded>,
    /// How long the journal is.
    pub(super) end: u64,
}

/// The journal of one memory.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    limits: Limits,
}

impl Journal {
    pub(super) fn at(dir: &Path, limits: &Limits) -> Self {
        Self { path: dir.join("changes.jsonl"), limits: limits.clone() }
    }

    pub(super) fn length(&self) -> io::Result<u64> {
        match std::fs::metadata(&self.path) {
            Ok(found) => Ok(found.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Everything from an offset on. Only a journal that is not there is empty.
    pub(super) fn tail(&self, start: u64) -> io::Result<Tail> {
        let end = self.length()?;
        if end == start {
            return Ok(Tail { end, ..Tail::default() });
        }
        let reading = read_from(&self.path, start, &self.limits, |json| serde_json::from_str::<Line>(json).ok())?;
        let (mut changes, mut done) = (Vec::new(), BTreeSet::new());
        for line in reading.records {
            match line {
                Line::Change(change) => changes.push(change),
                Line::Done(id) => drop(done.insert(id)),
            }
        }
        let open = |change: &&Recorded| change.cause != Cause::Outside && !done.contains(&change.id);
        let unfinished = changes.last().filter(open).cloned();
        Ok(Tail { changes, unfinished, end })
    }

    /// Write a change down, on the disk. If that fails the journal is as it was.
    pub(super) fn append(&self, change: Recorded) -> io::Result<Recorded> {
        let before = self.length()?;
        let line = Line::Change(change);
        let json = serde_json::to_string(&line).map_err(io::Error::other)?;
        let written = Log::open(&self.path, &self.limits).and_then(|mut log| {
            log.append_json(&json)?;
            log.sync()
        });
        match (written, line) {
            (Ok(()), Line::Change(change)) => Ok(change),
            (written, _) => {
                self.withdraw(before)?;
                written?;
                Err(io::ErrorKind::InvalidData.into())
            }
        }
    }

    /// Take back the last line: what it says was not done. The caller holds the lock, so it is the last one.
    pub(super) fn withdraw(&self, length: u64) -> io::Result<()> {
        let file = std::fs::File::options().write(true).open(&self.path)?;
        file.set_len(length)?;
        file.sync_all()
    }

    /// Mark a change as made. Not forced to the disk: a mark that is lost makes us look once more, and find it made.
    pub(super) fn done(&self, id: ChangeId) -> io::Result<()> {
        let json = serde_json::to_string(&Line::Done(id)).map_err(io::Error::other)?;
        Log::open(&self.path, &self.limits)?.append_json(&json)
    }

    /// The texts with these digests, as far as a line has them.
    pub(super) fn texts(&self, wanted: &HashSet<Digest>) -> io::Result<HashMap<Digest, String>> {
        let mut found = HashMap::new();
        let edits = self.tail(0)?.changes.into_iter().flat_map(|change| change.edits);
        for Trace { before, after, text, prior, .. } in edits {
            let known = [after.zip(text), before.zip(prior)];
            found.extend(known.into_iter().flatten().filter(|(digest, _)| wanted.contains(digest)));
        }
        Ok(found)
    }

    /// Make the folder, readable by its owner alone.
    pub(super) fn prepare(&self) -> io::Result<()> {
        self.path.parent().map_or(Ok(()), paths::create_dir_private)
    }
}
