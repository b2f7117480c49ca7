//! The service that answers in a replay: what a request of the engine is billed, by the engine's own caching rules and
//! with tokens counted as they were billed in the recorded session.

use crate::sessions::{Session, chars_of};
use crate::window::{RESTORED, SUMMARY};
use jiff::Timestamp;
use scrubjay::message::{Block, Message, Origin};
use scrubjay::prompt::Prompt;
use scrubjay::prompt_cache::bill::{Billed, Biller, Part};
use scrubjay::prompts;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

pub struct Service {
    biller: Biller,
    base: u64,
    ratio: f64,
}

impl Service {
    /// For a session whose files the replay keeps below `root`: a path weighs what it weighed in the record.
    pub fn new(session: &Session, root: &Path) -> Self {
        let (base, ratio, root) = (session.base, session.ratio, root.display().to_string());
        let scale = move |part: Part<'_>| match part {
            Part::Block(block) => {
                let value: Value = serde_json::from_str(&block.json().replace(&root, "")).unwrap_or_default();
                tokens(ratio, chars_of(&value) + 20)
            }
            other => tokens(ratio, other.chars()),
        };
        Self { biller: Biller::new(1_024, Box::new(scale)), base, ratio }
    }

    pub fn tokens_of(&self, chars: usize) -> u64 {
        tokens(self.ratio, chars)
    }

    pub fn tokens_of_block(&self, block: &Block) -> u64 {
        self.biller.weigh(block)
    }

    /// Bill a request that is made at this moment.
    pub fn ask(&mut self, prompt: &Prompt, at: f64) -> Billed {
        let now = Timestamp::from_microsecond((at * 1e6) as i64).unwrap_or_default();
        let mut layout = self.biller.lay_out(prompt);
        let (tools, system) = layout.blocks.split_at_mut(prompt.tools.len());
        // The recorded request began with as much as it was billed.
        system[0].tokens = self.base.saturating_sub(tools.iter().map(|block| block.tokens).sum());
        let restored = prompt.history.iter().filter(|message| is_restored(message));
        let restored: u64 = restored.map(|message| self.weigh(message)).sum();
        for (index, message) in prompt.messages().enumerate() {
            // A summary and what is brought back after it are charged what the policies are charged, or more.
            if let (Origin::Summary, Some(last)) = (message.origin, layout.message(index).last_mut()) {
                last.tokens = last.tokens.max(SUMMARY) + RESTORED.saturating_sub(restored);
            }
        }
        self.biller.charge(prompt, layout, now)
    }

    fn weigh(&mut self, message: &Arc<Message>) -> u64 {
        self.biller.message(message).iter().map(|block| block.tokens).sum()
    }
}

fn tokens(ratio: f64, chars: usize) -> u64 {
    ((chars as f64 * ratio) as u64).max(1)
}

/// Whether a message brings files back after a compaction.
pub fn is_restored(message: &Message) -> bool {
    let words = prompts::restored_file("\0", "");
    let tail = words.split('\0').nth(1).and_then(|rest| rest.lines().next()).unwrap_or("\0");
    message.origin == Origin::Reminder
        && message.blocks.iter().any(|block| block.as_text().is_some_and(|text| text.contains(tail)))
}
