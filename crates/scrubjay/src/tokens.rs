//! Counting, estimating, the context window.
//!
//! The canonical count is what the provider last reported plus an estimate of everything said since. Sums are kept as
//! messages arrive, so that a count costs what is new and never walks the conversation.

use crate::limits::Limits;
use crate::message::{Block, Kind, Message, Origin, Role, ToolResult, Usage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How much a model holds and how much it writes at once, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextWindow {
    /// Input and output together.
    pub size: u64,
    /// The most it writes in one reply.
    pub max_output: u64,
}

/// Which part of the engine put something into the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// The system prompt.
    System,
    /// The tool list.
    Tools,
    /// Instruction files.
    Instructions,
    /// Recalled memories.
    Memory,
    /// Summaries of what was compacted away.
    Summary,
    /// What the person and the model said.
    Conversation,
    /// What tools answered.
    ToolResults,
    /// Reminders, hooks, letters from other agents.
    Notices,
}

impl Share {
    /// Every one, in the order in which a request holds them.
    pub const ALL: [Share; 8] = [
        Share::System,
        Share::Tools,
        Share::Instructions,
        Share::Memory,
        Share::Summary,
        Share::Conversation,
        Share::ToolResults,
        Share::Notices,
    ];
}

/// What kind of block it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Prose.
    Text,
    /// Reasoning.
    Thinking,
    /// Calls of tools.
    ToolUse,
    /// Answers of tools.
    ToolResult,
    /// Pictures and documents.
    Media,
    /// Anything else.
    Other,
}

/// How sure a figure is. Every figure a person sees says which it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// The provider counted it.
    Reported,
    /// The provider counted most of it; what was said since is estimated.
    ReportedThenEstimated,
    /// Nothing was reported yet.
    Estimated,
}

/// The running count of a conversation (T1, T2).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Count {
    parts: BTreeMap<(Share, Form), u64>,
    estimate: u64,
    reported: Option<Reported>,
    fit: Option<Fit>,
}

/// What a provider said the conversation measured, and what our own estimate was at that moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reported {
    total: u64,
    estimate: u64,
    /// What the service left out on its side: results of tools.
    cleared: u64,
}

/// The provider's tokens for one of ours, as a fraction, so that equal histories give equal counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fit {
    reported: u64,
    estimate: u64,
}

impl Count {
    /// Add an estimate for something outside the messages: the system prompt, the tools.
    pub fn add(&mut self, share: Share, form: Form, tokens: u64) {
        *self.parts.entry((share, form)).or_default() += tokens;
        self.estimate += tokens;
    }

    /// Add one message.
    pub fn add_message(&mut self, message: &Message, limits: &Limits) {
        for block in &message.blocks {
            self.add(share(message, block), form(block), estimate(block, limits));
        }
    }

    /// Take one message out again.
    pub fn remove_message(&mut self, message: &Message, limits: &Limits) {
        for block in &message.blocks {
            let tokens = estimate(block, limits);
            if let Some(part) = self.parts.get_mut(&(share(message, block), form(block))) {
                *part = part.saturating_sub(tokens);
            }
            self.estimate = self.estimate.saturating_sub(tokens);
        }
    }

    /// The same scale, nothing counted yet.
    pub fn emptied(&self) -> Self {
        Self { fit: self.fit, ..Self::default() }
    }

    /// What was reported no longer describes the conversation; the fitted scale still holds.
    pub fn forget_report(&mut self) {
        self.reported = None;
    }

    /// Something that was measured is not here any more, so that the scale does not hold either.
    pub fn forget_measures(&mut self) {
        (self.reported, self.fit) = (None, None);
    }

    /// A reply came: `before` is what our estimate was for the request it answers, `cleared` what the service left out of
    /// it on its side. A service that counts nothing reports nothing, and the estimate goes on.
    pub fn report(&mut self, usage: &Usage, before: u64, cleared: u64) {
        if usage.total_input() == 0 {
            return;
        }
        self.reported = Some(Reported { total: usage.total_input() + usage.output, estimate: self.estimate, cleared });
        if before > 0 {
            self.fit = Some(Fit { reported: usage.total_input() + cleared, estimate: before });
        }
    }

    /// What we estimate in all, before any fitting.
    pub fn raw_estimate(&self) -> u64 {
        self.estimate
    }

    /// The canonical count.
    pub fn total(&self) -> u64 {
        match self.reported {
            Some(reported) if self.estimate < reported.estimate => {
                reported.total.saturating_sub(self.fitted(reported.estimate - self.estimate))
            }
            Some(reported) => reported.total + self.fitted(self.estimate - reported.estimate),
            None => self.fitted(self.estimate),
        }
    }

    /// How sure `total` is.
    pub fn certainty(&self) -> Certainty {
        match self.reported {
            None => Certainty::Estimated,
            Some(reported) if reported.estimate == self.estimate => Certainty::Reported,
            Some(_) => Certainty::ReportedThenEstimated,
        }
    }

    /// The system prompt and the tools: what every request begins with, and no compaction makes smaller.
    pub fn opening(&self) -> u64 {
        let parts = self.by_share();
        [Share::System, Share::Tools].iter().filter_map(|share| parts.get(share)).sum()
    }

    /// Everything else: what can be compacted.
    pub fn said(&self) -> u64 {
        self.total().saturating_sub(self.opening())
    }

    /// One of our estimates in the provider's tokens.
    pub fn fitted(&self, estimate: u64) -> u64 {
        let Some(fit) = self.fit else { return estimate };
        let scaled = u128::from(estimate) * u128::from(fit.reported) / u128::from(fit.estimate);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }

    /// Limits that are said in the provider's tokens, in our own estimates: for what is measured before it is sent.
    pub fn in_estimates(&self, limits: &Limits) -> Limits {
        let Some(fit) = self.fit.filter(|fit| fit.reported > 0) else { return limits.clone() };
        let estimate = |tokens: u64| {
            let scaled = u128::from(tokens) * u128::from(fit.estimate) / u128::from(fit.reported);
            u64::try_from(scaled).unwrap_or(u64::MAX)
        };
        Limits {
            notes_every_tokens: estimate(limits.notes_every_tokens),
            notes_section_tokens: estimate(limits.notes_section_tokens),
            notes_tokens: estimate(limits.notes_tokens),
            kept_least_tokens: estimate(limits.kept_least_tokens),
            kept_most_tokens: estimate(limits.kept_most_tokens),
            summary_tokens: estimate(limits.summary_tokens),
            restored_file_tokens: estimate(limits.restored_file_tokens),
            restored_files_tokens: estimate(limits.restored_files_tokens),
            ..limits.clone()
        }
    }

    /// The count by who put it there. The parts add up to `total`.
    pub fn by_share(&self) -> BTreeMap<Share, u64> {
        self.scaled_by(|(share, _)| share)
    }

    /// The count by kind of block. The parts add up to `total`.
    pub fn by_form(&self) -> BTreeMap<Form, u64> {
        self.scaled_by(|(_, form)| form)
    }

    /// Parts in proportion to their estimates, what a service cleared taken from the results of tools; rounding goes to the
    /// largest so that they sum exactly.
    fn scaled_by<K: Ord + Copy>(&self, key: impl Fn((Share, Form)) -> K) -> BTreeMap<K, u64> {
        let cleared = self.reported.map_or(0, |reported| reported.cleared);
        let whole = self.total().saturating_add(cleared);
        let scaled = |tokens: u64| part_of(tokens, whole, self.estimate.max(1));
        let is_result = |part: &(Share, Form)| part.0 == Share::ToolResults;
        let results = self.parts.iter().filter(|(part, _)| is_result(part)).map(|(_, tokens)| scaled(*tokens)).sum();
        let mut grouped: BTreeMap<K, u64> = BTreeMap::new();
        for (part, tokens) in &self.parts {
            let tokens = scaled(*tokens);
            let gone = if is_result(part) { part_of(tokens, cleared.min(results), results.max(1)) } else { 0 };
            *grouped.entry(key(*part)).or_default() += tokens - gone;
        }
        let given: u64 = grouped.values().sum();
        let largest = grouped.iter().max_by_key(|(_, tokens)| **tokens).map(|(key, _)| *key);
        if let Some(tokens) = largest.and_then(|key| grouped.get_mut(&key)) {
            *tokens = (*tokens + self.total()).saturating_sub(given);
        }
        grouped
    }
}

/// `whole` in the proportion of `tokens` to `of`.
fn part_of(tokens: u64, whole: u64, of: u64) -> u64 {
    u64::try_from(u128::from(tokens) * u128::from(whole) / u128::from(of)).unwrap_or(u64::MAX)
}

fn share(message: &Message, block: &Block) -> Share {
    match (message.origin, block.kind()) {
        (_, Kind::ToolResult(_)) => Share::ToolResults,
        (Origin::Instructions, _) => Share::Instructions,
        (Origin::Memory, _) => Share::Memory,
        (Origin::Summary, _) => Share::Summary,
        (Origin::Hook | Origin::Letter | Origin::Reminder, _) => Share::Notices,
        (Origin::Person | Origin::Task | Origin::Model | Origin::Tool, _) => Share::Conversation,
    }
}

fn form(block: &Block) -> Form {
    match block.kind() {
        Kind::Text(_) | Kind::Summary(_) => Form::Text,
        Kind::Thinking(_) => Form::Thinking,
        Kind::ToolUse(_) => Form::ToolUse,
        Kind::ToolResult(_) => Form::ToolResult,
        Kind::Image | Kind::Document => Form::Media,
        Kind::Other(_) => Form::Other,
    }
}

/// What one block costs, before fitting (T2).
pub fn estimate(block: &Block, limits: &Limits) -> u64 {
    match block.kind() {
        Kind::Text(text) | Kind::Summary(text) => of_text(text, limits),
        Kind::Image | Kind::Document => limits.image_tokens,
        Kind::ToolResult(result) => of_result(result, limits),
        Kind::Thinking(_) => of_text(block.json(), limits),
        Kind::ToolUse(_) | Kind::Other(_) => of_json(block.json(), limits),
    }
}

/// Prose.
pub fn of_text(text: &str, limits: &Limits) -> u64 {
    (text.len() as u64).div_ceil(limits.text_bytes_per_token)
}

/// JSON.
pub fn of_json(json: &str, limits: &Limits) -> u64 {
    (json.len() as u64).div_ceil(limits.json_bytes_per_token)
}

fn of_result(result: &ToolResult, limits: &Limits) -> u64 {
    let parts = result.parts.iter().map(|part| match part.as_text() {
        Some(text) if is_json(text) => of_json(text, limits),
        _ => estimate(part, limits),
    });
    parts.sum::<u64>() + of_json(result.call.as_str(), limits)
}

/// Whether a text is a JSON object or list.
pub(crate) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Where a conversation stands in its window (T4, T6). Each margin is also a share of the window, so that a model with a
/// small one can still be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// The model's window.
    pub window: u64,
    /// The window less room for a summary.
    pub effective: u64,
    /// Used by the conversation.
    pub used: u64,
    /// A person is warned from here.
    pub warning: u64,
    /// Automatic compaction starts here.
    pub compaction: u64,
    /// Requests are refused locally from here when compaction is off.
    pub refusal: u64,
}

impl Budget {
    /// The lines for a window, and where `used` stands.
    pub fn new(window: ContextWindow, used: u64, limits: &Limits) -> Self {
        let room = limits.summary_room.min(window.max_output).min(window.size / 5);
        let effective = window.size.saturating_sub(room);
        let compaction = effective.saturating_sub(limits.compaction_margin.min(window.size / 10));
        let warning = compaction.saturating_sub(limits.warning_margin.min(window.size / 10));
        let refusal = effective.saturating_sub(limits.refusal_margin.min(window.size / 50));
        Self { window: window.size, effective, used, warning, compaction, refusal }
    }

    /// The same with compaction at another line: never later than this window allows, never before `least`.
    pub fn compacting_at(self, line: u64, least: u64, limits: &Limits) -> Self {
        let compaction = line.max(least).min(self.compaction);
        let warning = compaction.saturating_sub(limits.warning_margin.min(compaction / 10));
        Self { compaction, warning: warning.min(self.warning), ..self }
    }

    /// Tokens left until the warning, automatic compaction and refusal.
    pub fn left(&self) -> [u64; 3] {
        [self.warning, self.compaction, self.refusal].map(|line| line.saturating_sub(self.used))
    }
}

/// Whether a message is something the person or the model said in words.
pub fn is_spoken(message: &Message) -> bool {
    matches!(message.role, Role::User | Role::Assistant) && message.blocks.iter().any(|block| block.as_text().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(role: Role, origin: Origin, blocks: Vec<Block>) -> Message {
        Message { id: "m".into(), role, origin, at: jiff::Timestamp::UNIX_EPOCH, blocks }
    }

    fn result(text: &str) -> Block {
        Block::tool_result(ToolResult { call: "abcd".into(), parts: vec![Block::text(text)], is_error: false })
    }

    // spec: T2
    #[test]
    fn each_kind_has_its_ratio() {
        let limits = Limits::default();
        for (block, tokens) in [
            (Block::text("a".repeat(400)), 100),
            (Block::image("image/png", &"A".repeat(100_000)), 2_000),
            (result(&"x".repeat(400)), 100 + 2),
            (result(&json!({ "a": "x".repeat(192) }).to_string()), 100 + 2),
            (Block::tool_use("t".into(), "Read", json!({ "p": 1 })), 29),
        ] {
            assert_eq!(estimate(&block, &limits), tokens, "{block:?}");
        }
    }

    // spec: T1
    #[test]
    fn the_count_is_what_was_reported_plus_what_came_since() {
        let limits = Limits::default();
        let mut count = Count::default();
        count.add_message(&said(Role::User, Origin::Person, vec![Block::text("q".repeat(4_000))]), &limits);
        assert_eq!((count.total(), count.certainty()), (1_000, Certainty::Estimated));

        let before = count.raw_estimate();
        count.add_message(&said(Role::Assistant, Origin::Model, vec![Block::text("a".repeat(400))]), &limits);
        count.report(
            &Usage { input: 100, cache_read: 900, cache_write_5m: 500, output: 130, ..Usage::default() },
            before,
            0,
        );
        assert_eq!((count.total(), count.certainty()), (1_630, Certainty::Reported));

        count.add_message(&said(Role::User, Origin::Person, vec![Block::text("q".repeat(400))]), &limits);
        assert_eq!(count.total(), 1_630 + 150, "the estimate is scaled by the 1.5 that was measured");
        assert_eq!(count.certainty(), Certainty::ReportedThenEstimated);
        count.report(&Usage::default(), count.raw_estimate(), 0);
        assert_eq!(count.total(), 1_630 + 150, "a service that counts nothing changes nothing");
    }

    // spec: M4
    #[test]
    fn what_the_service_cleared_does_not_spoil_the_scale() {
        let limits = Limits::default();
        let mut count = Count::default();
        let said = |size: usize| said(Role::User, Origin::Person, vec![Block::text("q".repeat(size))]);
        count.add_message(&said(40_000), &limits);
        count.report(&Usage { input: 3_000, ..Usage::default() }, count.raw_estimate(), 7_000);
        assert_eq!(count.total(), 3_000, "the window holds what the service read");
        count.add_message(&said(4_000), &limits);
        assert_eq!(count.total(), 4_000, "and what comes after it is not taken for less than it is");
    }

    // spec: M4
    // spec: T6
    #[test]
    fn what_the_service_cleared_is_taken_from_the_results_of_tools_alone() {
        let limits = Limits::default();
        let mut count = Count::default();
        count.add_message(&said(Role::User, Origin::Person, vec![Block::text("q".repeat(40_000))]), &limits);
        count.add_message(&said(Role::User, Origin::Tool, vec![result(&"r".repeat(40_000))]), &limits);
        count.report(&Usage { input: 12_000, ..Usage::default() }, count.raw_estimate(), 8_002);
        let parts = count.by_share();
        assert_eq!((parts[&Share::Conversation], parts[&Share::ToolResults]), (10_000, 2_000));
        assert_eq!(parts.values().sum::<u64>(), count.total());
    }

    // spec: T2
    #[test]
    fn limits_are_said_in_the_providers_tokens() {
        let limits = Limits::default();
        let mut count = Count::default();
        assert_eq!(count.in_estimates(&limits), limits, "nothing is known yet");
        count.add(Share::System, Form::Text, 1_000);
        count.report(&Usage { input: 2_000, ..Usage::default() }, 1_000, 0);
        let own = count.in_estimates(&limits);
        assert_eq!(own.restored_file_tokens * 2, limits.restored_file_tokens);
        assert_eq!(count.fitted(own.kept_most_tokens), limits.kept_most_tokens);
        assert_eq!(own.read_lines, limits.read_lines);
    }

    // spec: T6
    #[test]
    fn parts_always_sum_to_the_total() {
        let limits = Limits::default();
        let mut count = Count::default();
        count.add(Share::System, Form::Text, 333);
        count.add(Share::Tools, Form::Other, 77);
        count.add_message(&said(Role::User, Origin::Tool, vec![result("some text"), Block::text("so")]), &limits);
        count.report(&Usage { input: 1_001, ..Usage::default() }, count.raw_estimate(), 0);
        count.add_message(&said(Role::User, Origin::Memory, vec![Block::text("remembered")]), &limits);
        assert_eq!(count.by_share().values().sum::<u64>(), count.total());
        assert_eq!(count.by_form().values().sum::<u64>(), count.total());
        assert!(count.by_share()[&Share::Memory] > 0);
        assert_eq!(count.opening(), count.by_share()[&Share::System] + count.by_share()[&Share::Tools]);
        assert_eq!(count.opening() + count.said(), count.total());
    }

    // spec: T4
    #[test]
    fn lines_of_the_window() {
        let limits = Limits::default();
        let big = Budget::new(ContextWindow { size: 200_000, max_output: 64_000 }, 150_000, &limits);
        assert_eq!((big.effective, big.compaction, big.warning, big.refusal), (180_000, 167_000, 147_000, 177_000));
        assert_eq!(big.left(), [0, 17_000, 27_000]);
        let terse = Budget::new(ContextWindow { size: 200_000, max_output: 8_192 }, 0, &limits);
        assert_eq!(terse.effective, 200_000 - 8_192);
        let small = Budget::new(ContextWindow { size: 8_192, max_output: 8_192 }, 0, &limits);
        assert!(small.warning > 4_000 && small.warning < small.compaction && small.compaction < small.refusal);
    }
}
