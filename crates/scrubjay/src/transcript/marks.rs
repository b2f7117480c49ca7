//! What a boundary remembers of the place where it stands: what was kept, what came back, what was lost.

use crate::message::MessageId;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is known of the place of a compaction besides what it replaces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Marks {
    /// The last message before it, replaced or kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<MessageId>,
    /// The messages that were kept, if any were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<Segment>,
    /// Tools that the conversation had made use of. Where tools are loaded on demand, these are loaded again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// What was brought back.
    pub brought: Brought,
}

/// A stretch of messages that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Its first message.
    pub head: MessageId,
    /// The message it stands next to now: the summary.
    pub anchor: MessageId,
    /// Its last message.
    pub tail: MessageId,
}

/// What was brought back after a compaction. The next one goes on from here, because the calls that led to it are gone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Brought {
    /// Files, read last first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathBuf>,
    /// The ranges of them that were read, where it was not all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<FileRange>,
    /// Skills, loaded last first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// The plan that the person approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Tasks that were not done, one line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
}

/// Lines of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRange {
    /// Which file.
    pub path: PathBuf,
    /// The first line, from 1.
    pub first: u64,
    /// How many lines.
    pub lines: u64,
}

/// What survived a compaction and what did not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What the new text still says, the most important first.
    pub kept: Vec<Finding>,
    /// What it no longer says, the most important first.
    pub dropped: Vec<Finding>,
    /// The share of weight that was kept, from 0 to 1. Less than 1 while anything is missing.
    pub score: f64,
    /// What the model stated besides and nobody looked for, because it weighs less than what was looked for.
    #[serde(default)]
    pub unchecked: u64,
}

impl Report {
    /// The score in percent with one decimal, rounded down: never 100 while something is missing.
    pub fn percent(&self) -> f64 {
        let floor = (self.score * 100.0 * 10.0).floor() / 10.0;
        if self.dropped.is_empty() { floor } else { floor.min(99.9) }
    }

    /// What was looked for, by kind: how many were kept, and how many there were.
    pub fn by_kind(&self) -> Vec<(What, usize, usize)> {
        let count = |all: &[Finding], what: What| all.iter().filter(|finding| finding.what == what).count();
        let kinds = What::ALL.into_iter().map(|what| (what, count(&self.kept, what), count(&self.dropped, what)));
        kinds.map(|(what, kept, dropped)| (what, kept, kept + dropped)).filter(|(_, _, all)| *all > 0).collect()
    }
}

/// One thing that should survive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is.
    pub what: What,
    /// Its words.
    pub text: String,
    /// How much it matters.
    pub weight: u64,
}

/// What a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A standing constraint.
    Constraint,
    /// Something the person said.
    UserMessage,
    /// A task that is not done.
    Task,
    /// A commit that was made.
    Commit,
    /// A value that the model measured or an id that it named, in its words.
    Measure,
    /// Anything else that the model found out, in its words.
    Finding,
    /// A string one cannot reconstruct.
    Anchor,
}

impl What {
    /// Every kind, what matters most first.
    pub const ALL: [What; 7] =
        [What::Constraint, What::UserMessage, What::Task, What::Commit, What::Measure, What::Finding, What::Anchor];
}
