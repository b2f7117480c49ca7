//! What was said since the last compaction, kept only until the next one shows what it made of it.

use super::session::hash;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use scrubjay::context::compaction::fidelity::{self, Finding, What};
use scrubjay::foreign::{Part, Speaker, own_tool};
use scrubjay::limits::Limits;
use scrubjay::memory::explicit::{self, Said};
use scrubjay::message::{Block, Message, Origin, Role, ToolResult};
use std::sync::Arc;

/// The words of a conversation, as long as there is room for them.
#[derive(Default)]
pub(super) struct Kept {
    said: Vec<Words>,
    bytes: u64,
    is_full: bool,
}

struct Words {
    origin: Origin,
    at: Timestamp,
    parts: Vec<Part>,
}

/// What a compaction kept of what must survive one, and what it dropped.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Checked {
    /// The share that survived, by weight.
    pub(super) score: f64,
    pub(super) kept: Kinds,
    pub(super) dropped: Kinds,
    /// Some of what was dropped.
    pub(super) examples: Vec<(What, String)>,
}

/// How many of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Kinds {
    pub(super) messages: u64,
    pub(super) constraints: u64,
    /// Commits, values and other things that the model found.
    pub(super) findings: u64,
    pub(super) anchors: u64,
}

impl Kinds {
    fn of(findings: &[Finding]) -> Self {
        let count = |what: What| findings.iter().filter(|finding| finding.what == what).count() as u64;
        Self {
            messages: count(What::UserMessage),
            constraints: count(What::Constraint),
            findings: count(What::Commit) + count(What::Measure) + count(What::Finding),
            anchors: count(What::Anchor),
        }
    }

    pub(super) fn add(&mut self, more: Self) {
        self.messages += more.messages;
        self.constraints += more.constraints;
        self.findings += more.findings;
        self.anchors += more.anchors;
    }
}

/// Of each compaction.
const EXAMPLES: usize = 3;

impl Kept {
    pub(super) fn replied(&mut self, parts: Vec<Part>, at: Option<Timestamp>, limits: &Limits) {
        self.keep(Origin::Model, parts, at, limits);
    }

    pub(super) fn heard(&mut self, by: Speaker, parts: Vec<Part>, at: Option<Timestamp>, limits: &Limits) {
        let answers = parts.iter().any(|part| matches!(part, Part::Answer { .. }));
        let origin = match by {
            Speaker::Person => Origin::Person,
            Speaker::Agent if answers => Origin::Tool,
            Speaker::Agent => Origin::Reminder,
        };
        self.keep(origin, parts, at, limits);
    }

    fn keep(&mut self, origin: Origin, parts: Vec<Part>, at: Option<Timestamp>, limits: &Limits) {
        self.bytes += parts.iter().map(weight).sum::<u64>();
        self.is_full |= self.bytes > limits.scan_kept_bytes;
        if self.is_full {
            self.said = Vec::new();
        } else {
            self.said.push(Words { origin, at: at.unwrap_or_default(), parts });
        }
    }

    /// What of it the person said outright and for good, each by its words: what layer 5 keeps without a model.
    /// A long message is a document: nothing in it is said outright.
    pub(super) fn outright(&self, limits: &Limits) -> Vec<u64> {
        let longest = limits.quoted_message_tokens.saturating_mul(limits.text_bytes_per_token);
        let prose = |words: &&Words| match words.origin {
            Origin::Person => words.parts.iter().map(weight).sum::<u64>() <= longest,
            origin => origin == Origin::Model,
        };
        let text = |part: &Part| matches!(part, Part::Text(_)).then(|| block(part, usize::MAX));
        let messages: Vec<Arc<Message>> = (1..)
            .zip(self.said.iter().filter(prose))
            .map(|(number, words)| message(number, words, words.parts.iter().filter_map(text).collect()))
            .filter(|message| !message.blocks.is_empty())
            .collect();
        let found = explicit::find(&messages, &TimeZone::UTC);
        found.iter().filter(|found| matches!(found.said, Said::Remember(_))).map(|found| hash(&found.quote)).collect()
    }

    /// What a summary kept of it.
    pub(super) fn check(&self, summary: &str, limits: &Limits) -> Option<Checked> {
        if self.is_full || self.said.is_empty() {
            return None;
        }
        // Of what tools answered, the beginning: whole files are full of names that nobody meant.
        let most = usize::try_from(limits.preview_bytes).unwrap_or(usize::MAX);
        let whole = |words: &Words| words.parts.iter().map(|part| block(part, most)).collect();
        let messages: Vec<Arc<Message>> =
            (1..).zip(&self.said).map(|(number, words)| message(number, words, whole(words))).collect();
        let report = fidelity::check(&messages, summary, limits);
        let mut dropped: Vec<&Finding> = report.dropped.iter().collect();
        dropped.sort_by_key(|finding| rank(finding.what));
        Some(Checked {
            score: report.score,
            kept: Kinds::of(&report.kept),
            dropped: Kinds::of(&report.dropped),
            examples: dropped.iter().take(EXAMPLES).map(|one| (one.what, one.text.clone())).collect(),
        })
    }
}

/// What people miss first.
fn rank(what: What) -> u8 {
    match what {
        What::Constraint => 0,
        What::UserMessage => 1,
        What::Task => 2,
        What::Commit => 3,
        What::Measure => 4,
        What::Finding => 5,
        What::Anchor => 6,
    }
}

fn message(number: usize, words: &Words, blocks: Vec<Block>) -> Arc<Message> {
    let role = if words.origin == Origin::Model { Role::Assistant } else { Role::User };
    let id = number.to_string().as_str().into();
    Arc::new(Message { id, role, origin: words.origin, at: words.at, blocks })
}

fn weight(part: &Part) -> u64 {
    let bytes = match part {
        Part::Text(text) | Part::Thinking(text) | Part::Answer { text, .. } => text.len(),
        Part::Call { input, .. } => input.len(),
        Part::Media => 0,
    };
    bytes as u64
}

fn block(part: &Part, most: usize) -> Block {
    match part {
        Part::Text(text) => Block::text(text.as_str()),
        Part::Thinking(_) | Part::Media => Block::text(""),
        Part::Call { id, tool, input } => {
            let input = serde_json::from_str(input).unwrap_or_else(|_| input.as_str().into());
            Block::tool_use(id.as_str().into(), own_tool(tool), input)
        }
        Part::Answer { id, text, is_error } => {
            let head = &text[..text.floor_char_boundary(most)];
            let (call, parts) = (id.as_str().into(), vec![Block::text(head)]);
            Block::tool_result(ToolResult { call, parts, is_error: *is_error })
        }
    }
}
