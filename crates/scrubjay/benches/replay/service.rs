//! The service that answers in a replay: what a request of the engine is billed, by the engine's own caching rules and
//! with tokens counted as they were billed in the recorded session.

use crate::sessions::chars_of;
use crate::window::{RESTORED, SUMMARY};
use jiff::Timestamp;
use scrubjay::message::{Block, Kind, Message, Origin, Usage};
use scrubjay::prompt::Prompt;
use scrubjay::prompt_cache::breakpoints::{Breakpoint, breakpoints};
use scrubjay::prompt_cache::rules::{CacheBlock, CacheRequest, CacheState, Level, Salts, Shelf};
use scrubjay::prompts;
use scrubjay::transcript::{CLEARED, ToolSpec};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

pub struct Service {
    cache: CacheState,
    shelf: Shelf,
    base: u64,
    ratio: f64,
    /// Messages that were seen before, so that a request costs the replay what is new in it.
    known: HashMap<usize, (Arc<Message>, Vec<CacheBlock>)>,
}

/// What a request was billed, and what the service cleared on its side before it read it.
pub struct Billed {
    pub usage: Usage,
    pub cleared: u64,
}

impl Service {
    pub fn new(base: u64, ratio: f64) -> Self {
        let shelf = Shelf { workspace: "w".into(), model: "m".into() };
        Self { cache: CacheState::default(), shelf, base, ratio, known: HashMap::new() }
    }

    pub fn tokens_of(&self, chars: usize) -> u64 {
        ((chars as f64 * self.ratio) as u64).max(1)
    }

    pub fn tokens_of_block(&self, block: &Block) -> u64 {
        let value: Value = serde_json::from_str(block.json()).unwrap_or_default();
        self.tokens_of(chars_of(&value) + 20)
    }

    /// Bill a request that is made at this moment.
    pub fn ask(&mut self, prompt: &Prompt, at: f64) -> Billed {
        let now = Timestamp::from_microsecond((at * 1e6) as i64).unwrap_or_default();
        let (mut blocks, places) = self.blocks(prompt);
        let cleared = self.clear(prompt, &mut blocks, &places);
        mark(prompt, &mut blocks, &places);
        let salts = Salts::default();
        let request = CacheRequest { shelf: &self.shelf, salts: &salts, blocks: &blocks, min_tokens: 1_024 };
        let Ok(outcome) = self.cache.request(&request, now) else { return Billed { usage: Usage::default(), cleared } };
        self.cache.begin_response(&outcome, now);
        Billed { usage: outcome.usage(0), cleared }
    }

    /// The request as the cache sees it, and where each message begins.
    fn blocks(&mut self, prompt: &Prompt) -> (Vec<CacheBlock>, Vec<usize>) {
        let tool = |tool: &ToolSpec| {
            let json = serde_json::to_string(tool).unwrap_or_default();
            CacheBlock::new(Level::Tools, json.as_bytes(), self.tokens_of(json.chars().count()))
        };
        let mut blocks: Vec<CacheBlock> = prompt.tools.iter().map(tool).collect();
        let rest = self.base.saturating_sub(blocks.iter().map(|block| block.tokens).sum());
        blocks.push(CacheBlock::new(Level::System, prompt.system.as_bytes(), rest));
        let mut places = Vec::new();
        let restored: u64 = prompt.history.iter().filter(|message| is_restored(message)).map(|it| self.weigh(it)).sum();
        for message in prompt.messages() {
            places.push(blocks.len());
            self.weigh(message);
            let Some((_, known)) = self.known.get(&address(message)) else { continue };
            blocks.extend(known.iter().cloned());
            // A summary and what is brought back after it are charged what the policies are charged, or more.
            if let (Origin::Summary, Some(last)) = (message.origin, blocks.last_mut()) {
                last.tokens = last.tokens.max(SUMMARY) + RESTORED.saturating_sub(restored);
            }
        }
        (blocks, places)
    }

    fn weigh(&mut self, message: &Arc<Message>) -> u64 {
        if !self.known.contains_key(&address(message)) {
            let block =
                |block: &Block| CacheBlock::new(Level::Messages, block.json().as_bytes(), self.tokens_of_block(block));
            let blocks = message.blocks.iter().map(block).collect();
            self.known.insert(address(message), (message.clone(), blocks));
        }
        self.known.get(&address(message)).map_or(0, |(_, blocks)| blocks.iter().map(|block| block.tokens).sum())
    }

    /// What `context_management` asks for: past its trigger, old results are cleared if they are enough.
    fn clear(&self, prompt: &Prompt, blocks: &mut [CacheBlock], places: &[usize]) -> u64 {
        let edit = prompt.options.context_management.as_ref().map_or(&Value::Null, |asked| &asked["edits"][0]);
        let total: u64 = blocks.iter().map(|block| block.tokens).sum();
        let (Some(trigger), Some(keep)) = (edit["trigger"]["value"].as_u64(), edit["keep"]["value"].as_u64()) else {
            return 0;
        };
        let results = prompt.messages().zip(places).flat_map(|(message, start)| {
            let is_result = |block: &Block| matches!(block.kind(), Kind::ToolResult(_));
            (*start..).zip(&message.blocks).filter(move |(_, block)| is_result(block)).map(|(at, _)| at)
        });
        let mut results: Vec<usize> = results.collect();
        results.truncate(results.len().saturating_sub(keep as usize));
        let mark = self.tokens_of(CLEARED.len() + 20);
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

/// A message keeps its place in memory as long as the service knows it.
fn address(message: &Arc<Message>) -> usize {
    Arc::as_ptr(message) as usize
}

/// Whether a message brings files back after a compaction.
pub fn is_restored(message: &Message) -> bool {
    let words = prompts::restored_file("\0", "");
    let tail = words.split('\0').nth(1).and_then(|rest| rest.lines().next()).unwrap_or("\0");
    message.origin == Origin::Reminder
        && message.blocks.iter().any(|block| block.as_text().is_some_and(|text| text.contains(tail)))
}

/// Where the engine marks a request, for as long as it asks.
fn mark(prompt: &Prompt, blocks: &mut [CacheBlock], places: &[usize]) {
    for mark in breakpoints(prompt) {
        let lifetimes = prompt.options.cache_ttl;
        let (at, ttl) = match mark {
            Breakpoint::Tools => (prompt.tools.len() - 1, lifetimes.opening()),
            Breakpoint::System => (prompt.tools.len(), lifetimes.opening()),
            Breakpoint::Message { index, block } => (places[index] + block, lifetimes.messages()),
        };
        blocks[at].breakpoint = Some(ttl);
    }
}
