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

/// What survived a compaction and what did not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What the new text still says, the most important first.
    pub kept: Vec<Finding>,
    /// What it no longer says, the most important first.
    pub dropped: Vec<Finding>,
    /// The share of weight that was kept, from 0 to 1.
    pub score: f64,
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
    /// A string one cannot reconstruct.
    Anchor,
}
