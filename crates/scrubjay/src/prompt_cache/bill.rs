//! What a request would be billed by a provider that keeps to the published caching rules. It answers nothing: whoever
//! plays a session back asks here what each of its requests takes.

use super::breakpoints::{Breakpoint, breakpoints};
use super::rules::{CacheBlock, CacheRequest, CacheState, Level, Salts, Shelf};
use crate::message::{Block, Kind, Message, ToolCallId, Usage};
use crate::prompt::Prompt;
use crate::transcript::{CLEARED, ToolSpec};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A part of a request that is counted as one.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// A tool's definition.
    Tool(&'a ToolSpec),
    /// The system prompt.
    System(&'a str),
    /// A block of a message.
    Block(&'a Block),
}

impl Part<'_> {
    /// How many characters a model reads of it: prose as it is, calls and definitions as JSON. What is no text has none.
    pub fn chars(&self) -> usize {
        match self {
            Part::Tool(tool) => serde_json::to_string(tool).unwrap_or_default().chars().count(),
            Part::System(text) => text.chars().count(),
            Part::Block(block) => match block.kind() {
                Kind::Text(text) | Kind::Summary(text) | Kind::Thinking(text) => text.chars().count(),
                Kind::ToolUse(_) | Kind::Other(_) => block.json().chars().count(),
                Kind::ToolResult(result) => result.parts.iter().map(|part| Part::Block(part).chars()).sum(),
                Kind::Image | Kind::Document => 0,
            },
        }
    }
}

/// Counts the tokens of a part.
pub type Scale = Box<dyn Fn(Part<'_>) -> u64 + Send + Sync>;

/// What a request was billed, and what was cleared before it was read because the request asked for that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Billed {
    /// Read, written and fresh tokens; nobody has answered yet.
    pub usage: Usage,
    /// Tokens that were cleared.
    pub cleared: u64,
}

/// A request as the cache sees it.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    /// Everything in prefix order: tools, system, messages.
    pub blocks: Vec<CacheBlock>,
    /// Where each message begins.
    places: Vec<usize>,
}

impl Layout {
    /// The blocks of a message, counted over instructions and then history.
    pub fn message(&mut self, index: usize) -> &mut [CacheBlock] {
        let start = self.places.get(index).copied().unwrap_or(self.blocks.len());
        let end = self.places.get(index + 1).copied().unwrap_or(self.blocks.len());
        &mut self.blocks[start..end]
    }
}

/// Bills the requests to one model, and remembers what its cache holds.
pub struct Biller {
    cache: CacheState,
    shelf: Shelf,
    min_tokens: u64,
    scale: Scale,
    /// Messages that were seen before, so that a request costs what is new in it.
    known: HashMap<usize, (Arc<Message>, Vec<CacheBlock>)>,
}

impl Biller {
    /// For a model whose shortest cacheable prefix is this, with tokens counted on this scale.
    pub fn new(min_tokens: u64, scale: Scale) -> Self {
        let shelf = Shelf { workspace: String::new(), model: String::new() };
        Self { cache: CacheState::default(), shelf, min_tokens, scale, known: HashMap::new() }
    }

    /// How many tokens a block counts.
    pub fn weigh(&self, block: &Block) -> u64 {
        (self.scale)(Part::Block(block))
    }

    /// Bill a request that is made now.
    pub fn bill(&mut self, prompt: &Prompt, now: Timestamp) -> Billed {
        let layout = self.lay_out(prompt);
        self.charge(prompt, layout, now)
    }

    /// The request as the cache sees it, not marked yet.
    pub fn lay_out(&mut self, prompt: &Prompt) -> Layout {
        let tool = |tool: &ToolSpec| {
            let json = serde_json::to_string(tool).unwrap_or_default();
            CacheBlock::new(Level::Tools, json.as_bytes(), (self.scale)(Part::Tool(tool)))
        };
        let mut blocks: Vec<CacheBlock> = prompt.tools.iter().map(tool).collect();
        let system = (self.scale)(Part::System(&prompt.system));
        blocks.push(CacheBlock::new(Level::System, prompt.system.as_bytes(), system));
        let mut places = Vec::new();
        for message in prompt.messages() {
            places.push(blocks.len());
            blocks.extend_from_slice(self.message(message));
        }
        Layout { blocks, places }
    }

    /// The blocks of a message, which are counted once.
    pub fn message(&mut self, message: &Arc<Message>) -> &[CacheBlock] {
        let scale = &self.scale;
        let counted = || {
            let block =
                |block: &Block| CacheBlock::new(Level::Messages, block.json().as_bytes(), scale(Part::Block(block)));
            (message.clone(), message.blocks.iter().map(block).collect())
        };
        // It keeps its place in memory as long as it is known here.
        &self.known.entry(Arc::as_ptr(message) as usize).or_insert_with(counted).1
    }

    /// Bill a request that was laid out, now.
    pub fn charge(&mut self, prompt: &Prompt, mut layout: Layout, now: Timestamp) -> Billed {
        let cleared = self.clear(prompt, &mut layout);
        mark(prompt, &mut layout);
        let (salts, blocks) = (Salts::default(), &layout.blocks);
        let request = CacheRequest { shelf: &self.shelf, salts: &salts, blocks, min_tokens: self.min_tokens };
        let Ok(outcome) = self.cache.request(&request, now) else { return Billed { cleared, ..Billed::default() } };
        self.cache.begin_response(&outcome, now);
        Billed { usage: outcome.usage(0), cleared }
    }

    /// What `context_management` asks for: past its trigger, old results are cleared if they are enough.
    fn clear(&self, prompt: &Prompt, Layout { blocks, places }: &mut Layout) -> u64 {
        let asked = prompt.options.context_management.as_ref().and_then(|asked| asked["edits"].as_array());
        let clears = |edit: &&Value| edit["type"] == "clear_tool_uses_20250919";
        let Some(edit) = asked.and_then(|edits| edits.iter().find(clears)) else { return 0 };
        let (Some(trigger), Some(keep)) = (edit["trigger"]["value"].as_u64(), edit["keep"]["value"].as_u64()) else {
            return 0;
        };
        let total: u64 = blocks.iter().map(|block| block.tokens).sum();
        let kept = edit["exclude_tools"].as_array().map_or(&[][..], Vec::as_slice);
        let calls = prompt.messages().flat_map(|message| message.tool_uses());
        let stays: HashSet<&ToolCallId> =
            calls.filter(|call| kept.iter().any(|name| *name == *call.name)).map(|call| &call.id).collect();
        let goes = |block: &Block| matches!(block.kind(), Kind::ToolResult(result) if !stays.contains(&result.call));
        let results = prompt.messages().zip(&*places).flat_map(|(message, start)| {
            (*start..).zip(&message.blocks).filter(|(_, block)| goes(block)).map(|(at, _)| at)
        });
        let mut results: Vec<usize> = results.collect();
        results.truncate(results.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX)));
        let mark = self.weigh(&Block::text(CLEARED));
        let freed: u64 = results.iter().map(|at| blocks[*at].tokens.saturating_sub(mark)).sum();
        if total <= trigger || freed < edit["clear_at_least"]["value"].as_u64().unwrap_or(0) {
            return 0;
        }
        for at in results {
            blocks[at] = CacheBlock::new(Level::Messages, format!("cleared {at}").as_bytes(), mark);
        }
        freed
    }
}

/// Where the engine marks a request, for as long as it asks.
fn mark(prompt: &Prompt, layout: &mut Layout) {
    let lifetimes = prompt.options.cache_ttl;
    for mark in breakpoints(prompt) {
        let (at, ttl) = match mark {
            Breakpoint::Tools => (prompt.tools.len() - 1, lifetimes.opening()),
            Breakpoint::System => (prompt.tools.len(), lifetimes.opening()),
            Breakpoint::Message { index, block } => (layout.places[index] + block, lifetimes.messages()),
        };
        layout.blocks[at].breakpoint = Some(ttl);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{MessageId, Origin, Role, ToolResult};
    use crate::transcript::Options;
    use jiff::ToSpan as _;
    use serde_json::json;

    fn said(role: Role, blocks: Vec<Block>) -> Arc<Message> {
        let id = MessageId::new("m");
        Arc::new(Message { id, role, origin: Origin::Person, at: Timestamp::UNIX_EPOCH, blocks })
    }

    fn result(call: &str, text: &str) -> Arc<Message> {
        let parts = vec![Block::text(text)];
        said(Role::User, vec![Block::tool_result(ToolResult { call: call.into(), parts, is_error: false })])
    }

    fn prompt(history: Vec<Arc<Message>>) -> Prompt {
        let tools = Arc::from([ToolSpec::new("Read", "reads", &json!({ "type": "object" }))]);
        let (system, options) = (Arc::from("s".repeat(50)), Options::default());
        Prompt { tools, system, instructions: Vec::new(), history, options }
    }

    /// A character is a token.
    fn biller() -> Biller {
        Biller::new(10, Box::new(|part| part.chars() as u64))
    }

    // spec: H5
    #[test]
    fn what_was_sent_before_is_read_as_long_as_it_lives_and_a_change_costs_what_stands_behind_it() {
        let mut biller = biller();
        let start = Timestamp::UNIX_EPOCH;
        let mut history = vec![said(Role::User, vec![Block::text("q".repeat(100))])];
        let first = biller.bill(&prompt(history.clone()), start).usage;
        let opening = first.total_input() - 100;
        assert_eq!((first.cache_read, first.cache_write_5m, first.input), (0, opening + 100, 0));

        history.extend([said(Role::Assistant, vec![Block::text("a".repeat(30))]), result("c", &"r".repeat(40))]);
        let second = biller.bill(&prompt(history.clone()), start + 4.minutes()).usage;
        assert_eq!((second.cache_read, second.cache_write_5m), (opening + 100, 70));

        history[0] = said(Role::User, vec![Block::text("z".repeat(100))]);
        let changed = biller.bill(&prompt(history.clone()), start + 5.minutes()).usage;
        assert_eq!((changed.cache_read, changed.cache_write_5m), (opening, 170), "tools and system stand before it");

        let late = biller.bill(&prompt(history), start + 11.minutes()).usage;
        assert_eq!((late.cache_read, late.cache_write_5m), (0, opening + 170));
    }

    // spec: H5
    // spec: M4
    #[test]
    fn old_results_are_cleared_past_the_trigger_if_they_are_enough() {
        let history = vec![
            said(Role::User, vec![Block::text("q")]),
            said(Role::Assistant, vec![Block::tool_use("a".into(), "Read", json!({}))]),
            result("a", &"r".repeat(500)),
            said(Role::Assistant, vec![Block::tool_use("b".into(), "Read", json!({}))]),
            result("b", &"r".repeat(700)),
        ];
        let asked = |trigger: u64, at_least: u64| {
            let edit = json!({ "type": "clear_tool_uses_20250919", "trigger": { "value": trigger }, "keep": { "value": 1 }, "clear_at_least": { "value": at_least } });
            let mut prompt = prompt(history.clone());
            prompt.options.context_management = Some(json!({ "edits": [edit] }));
            biller().bill(&prompt, Timestamp::UNIX_EPOCH)
        };
        let whole = asked(u64::MAX, 0);
        let freed = 500 - CLEARED.chars().count() as u64;
        assert_eq!(whole.cleared, 0);
        assert_eq!(asked(900, 0).cleared, freed, "the newest stays");
        assert_eq!(asked(900, 0).usage.total_input(), whole.usage.total_input() - freed);
        assert_eq!(asked(900, freed + 1), whole, "too little to be worth it");
    }
}
