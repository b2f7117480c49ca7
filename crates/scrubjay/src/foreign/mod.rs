//! Records of other agents' sessions, one line at a time, in words that all of them share.
//!
//! Claude Code and Codex keep each session as a file of JSON lines. Nothing about these files is promised by anybody, so
//! nothing in them is relied on: what is not known is [`Event::Other`], and what cannot be read is an [`Unread`].

mod claude_code;
mod codex;
mod line;

use crate::message::Usage;
use jiff::Timestamp;
use line::Line;

pub use claude_code::said_by_person;

/// Whose records they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// Anthropic's.
    ClaudeCode,
    /// OpenAI's.
    Codex,
}

impl Agent {
    /// All that are known.
    pub const ALL: [Agent; 2] = [Agent::ClaudeCode, Agent::Codex];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "Claude Code",
            Agent::Codex => "Codex",
        }
    }

    /// What scripts call it.
    pub fn word(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "claude_code",
            Agent::Codex => "codex",
        }
    }
}

/// One record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Whose it is.
    pub agent: Agent,
    /// When it was written.
    pub at: Option<Timestamp>,
    /// Whether it belongs to an agent that the session started, and not to the session itself.
    pub aside: bool,
    /// Where the work happened.
    pub dir: Option<String>,
    /// Which version of the agent wrote it.
    pub version: Option<String>,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A model's reply, or a part of one: parts of one reply have the same id, or none and stand together.
    Replied {
        /// The provider's name for the reply.
        id: Option<String>,
        /// Who replied.
        model: Option<String>,
        /// What it was billed, where the record says so.
        usage: Option<Usage>,
        /// What was said.
        parts: Vec<Part>,
    },
    /// Something was said to the model.
    Heard {
        /// By whom.
        by: Speaker,
        /// What was said.
        parts: Vec<Part>,
    },
    /// What the last reply was billed, where a record of its own says so. It may be said more than once.
    Counted {
        /// By the provider.
        usage: Usage,
        /// All that was ever billed in the session, to know a repetition.
        so_far: u64,
        /// How much the model holds.
        window: Option<u64>,
    },
    /// From here on this model replies.
    Chose(String),
    /// The agent put a summary in the place of what was said.
    Compacted {
        /// The record's own name.
        id: Option<String>,
        /// The summary, where it stands in the same record.
        summary: Option<String>,
    },
    /// The summary of the compaction just before.
    Summarised(String),
    /// Something that is no part of the conversation.
    Other,
}

/// Who says something to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The person.
    Person,
    /// Tools, or the agent itself.
    Agent,
}

/// A part of what was said.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Prose.
    Text(String),
    /// Reasoning, as far as it can be read.
    Thinking(String),
    /// A call of a tool.
    Call {
        /// The name its answer carries.
        id: String,
        /// Which tool, as the agent calls it.
        tool: String,
        /// With what: JSON.
        input: String,
    },
    /// The answer of a tool.
    Answer {
        /// Which call it answers.
        id: String,
        /// What it says.
        text: String,
        /// Whether the tool failed.
        is_error: bool,
    },
    /// A picture, a document.
    Media,
}

/// Why a line is no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// It is not JSON, or not whole.
    Torn,
    /// It is JSON in a shape that no agent writes.
    Unknown,
}

/// Read one line.
///
/// ```
/// use scrubjay::foreign::{Agent, Event, read};
/// let line = br#"{"type":"user","timestamp":"2026-02-09T11:06:05Z","message":{"content":"fix the parser"}}"#;
/// let record = read(line).unwrap();
/// assert_eq!(record.agent, Agent::ClaudeCode);
/// assert!(matches!(record.event, Event::Heard { .. }));
/// assert!(read(br#"{"type":"user","mess"#).is_err());
/// ```
pub fn read(line: &[u8]) -> Result<Record, Unread> {
    let mut line: Line<'_> =
        serde_json::from_slice(line).map_err(|error| if error.is_data() { Unread::Unknown } else { Unread::Torn })?;
    let at = line.timestamp.as_deref().and_then(|at| at.parse().ok());
    let aside = line.is_sidechain == Some(true);
    if let Some(mut payload) = line.payload.take() {
        let (dir, version) = (payload.cwd.take(), payload.cli_version.take());
        let event = codex::event(&line.kind, payload).ok_or(Unread::Unknown)?;
        return Ok(Record { agent: Agent::Codex, at, aside, dir, version, event });
    }
    let (dir, version) = (line.cwd.take(), line.version.take());
    let event = claude_code::event(line).ok_or(Unread::Unknown)?;
    Ok(Record { agent: Agent::ClaudeCode, at, aside, dir, version, event })
}

/// The name that the engine's own tool for the same thing has.
pub fn own_tool(name: &str) -> &str {
    match name {
        "shell" | "exec_command" | "local_shell" | "container.exec" | "write_stdin" => "Bash",
        "apply_patch" => "Edit",
        "read_file" => "Read",
        "grep_files" => "Grep",
        "list_dir" => "Glob",
        "web_search" => "WebSearch",
        "MultiEdit" | "NotebookEdit" => "Edit",
        "BashOutput" => "Bash",
        other => other,
    }
}

#[cfg(test)]
mod tests;
