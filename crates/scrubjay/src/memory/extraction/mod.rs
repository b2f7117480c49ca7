//! Layer 5: memory extraction.
//!
//! What:   what the user typed that a later session could not find out becomes a memory, citing their words.
//! When:   after a final answer of the main agent, for what was typed since the last time; at once when the model calls `remember`.
//! Cost:   one small request to a cheap model; nothing without a model, and nothing where little was typed.
//! Spares: the user saying things twice, session after session.
//! Leaves: tool output, files, pages and everything else that the user did not type: the learner never sees it.
//!
//! `typed` (what was typed) · `request` (what the learner sees) · `answer` (what it says) · `check` (what code checks) · `apply`
//! (one change) · `note` (what the model itself wants kept) · `fork` (the published design, behind a setting) · `offline` (without a
//! model).

mod answer;
mod apply;
mod check;
mod fork;
mod note;
mod offline;
mod request;

pub use answer::{Action, Draft, LearnerAnswer};
pub use apply::{Learned, Saved, apply};
pub use check::{Checked, check};
pub use fork::{Scribe, errand, fresh, hands};
pub use note::{Kept, NoteWriter, keep, keep_removal, topic_of_note};
pub use offline::offline;
pub use request::{LearnerRequest, Passage, Reader, Shown, TOOL, again, exchanges, typed_words};

use super::typed::{Conversation, UserMessage};
use super::{Cause, Memory, MemoryError, Recorded};
use crate::limits::Limits;
use crate::message::{MessageId, SessionId};
use crate::settings::{Settings, key};
use crate::tools::resolve;
use crate::transcript::Extracted;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name under which calls and failures are booked.
pub const ERRAND: &str = Extracted::LAYER;

/// Whether a person is there to see what is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attendance {
    /// A conversation.
    Person,
    /// Print mode.
    Nobody,
}

/// What a memory is checked against besides what its writer was shown.
#[derive(Debug, Clone)]
pub struct Grounds {
    /// The session.
    pub session: SessionId,
    /// The texts of the instruction files.
    pub instructions: Vec<String>,
    /// The last message that is looked at.
    pub upto: Option<MessageId>,
    /// The project.
    pub root: PathBuf,
    /// The folder of past sessions.
    pub transcripts: PathBuf,
    /// Where days begin.
    pub zone: TimeZone,
    /// Every number.
    pub limits: Arc<Limits>,
}

impl Grounds {
    /// Without instruction files and past sessions.
    pub fn new(session: SessionId, root: &Path, zone: TimeZone, limits: Arc<Limits>) -> Self {
        let (instructions, transcripts, root) = (Vec::new(), PathBuf::new(), resolve(root, ""));
        Self { session, instructions, upto: None, root, transcripts, zone, limits }
    }

    /// The same, with instruction files that are read anyway.
    pub fn instructed(self, instructions: Vec<String>) -> Self {
        Self { instructions, ..self }
    }

    /// The same, with a folder of past sessions.
    pub fn after(self, transcripts: &Path) -> Self {
        Self { transcripts: resolve(transcripts, ""), ..self }
    }
}

/// Whether memories are looked for after answers.
pub fn is_on(settings: &Settings, attendance: Attendance) -> bool {
    let headless = attendance == Attendance::Person || settings.flag(&key::EXTRACTION_HEADLESS);
    settings.memory_off_because().is_none()
        && settings.flag(&key::EXTRACTION)
        && !settings.flag(&key::REMOTE)
        && headless
}

/// Whether a fork reads the whole conversation, as the published design has it.
pub fn by_fork(settings: &Settings) -> bool {
    settings.text(&key::EXTRACTION_READER) == "fork"
}

/// Whether it is time to look: enough messages came, and enough was typed in them. What is not looked at now is looked at with what
/// comes next.
pub fn due(conversation: &Conversation, settings: &Settings) -> bool {
    let limits = settings.limits();
    let typed: Vec<String> = conversation.pending.iter().map(UserMessage::typed).collect();
    let turns = typed.iter().filter(|text| !text.trim().is_empty()).count() as u64;
    let width = |text: &String| -> u64 {
        text.chars().filter(|c| !c.is_whitespace()).map(|c| 1 + u64::from(c >= '\u{2e80}')).sum()
    };
    let enough = typed.iter().map(width).sum::<u64>() >= limits.learner_least_chars;
    let waited = turns >= limits.extraction_wait_turns;
    turns >= settings.number(&key::EXTRACTION_EVERY_TURNS) && turns > 0 && (enough || waited)
}

impl Memory {
    /// The last message of a session that was looked at, as the journal has it, and when that was written down.
    pub fn learned_upto(&self, session: &SessionId) -> Result<Option<(MessageId, Timestamp)>, MemoryError> {
        let of = |change: &Recorded| match &change.cause {
            Cause::Extraction { session: from, upto: Some(upto) } if from == session.as_str() => {
                Some((MessageId::new(upto.as_str()), change.at))
            }
            _ => None,
        };
        Ok(self.log()?.iter().rev().find_map(of))
    }
}

#[cfg(test)]
mod tests;
