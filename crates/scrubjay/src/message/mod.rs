//! Messages and their blocks: the words of a conversation, kept exactly as they were said.

mod block;
mod raw;

pub use block::{Block, Kind, ToolResult, ToolUse};
pub use raw::compact;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wrap an id that somebody else made.
            pub fn new(id: impl Into<String>) -> Self { Self(id.into()) }
            /// The id as text.
            pub fn as_str(&self) -> &str { &self.0 }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(&self.0) }
        }
        impl From<&str> for $name {
            fn from(id: &str) -> Self { Self(id.to_owned()) }
        }
    };
}

id!(
    /// Names one message of a session.
    MessageId
);
id!(
    /// Names one call of a tool; the model chose it and its result answers to it.
    ToolCallId
);
id!(
    /// Names one session.
    SessionId
);

/// Who a message is from, as the provider sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, tools, and everything the engine adds.
    User,
    /// The model.
    Assistant,
    /// The operator, in the middle of a conversation.
    System,
}

/// Why a message is here. It replaces every "is this one real?" flag, and is where taint starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The person wrote it.
    Person,
    /// The agent that started this one set its task.
    Task,
    /// The model said it.
    Model,
    /// Tools answered.
    Tool,
    /// An instruction file.
    Instructions,
    /// A recalled memory.
    Memory,
    /// A summary of what was compacted away.
    Summary,
    /// A hook added it.
    Hook,
    /// Another agent wrote it.
    Letter,
    /// The engine reminds the model of something.
    Reminder,
}

impl Origin {
    /// Whether it is what the conversation is about: the person's word, or an agent's task.
    pub fn asks(self) -> bool {
        matches!(self, Origin::Person | Origin::Task)
    }

    /// Meta messages are seen by the model and hidden from the person.
    pub fn is_meta(self) -> bool {
        !matches!(self, Origin::Person | Origin::Task | Origin::Model | Origin::Tool)
    }
}

/// Where a part of a user's message comes from that was not typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanOrigin {
    /// Pasted from somewhere.
    Pasted,
    /// Piped into the program.
    Piped,
    /// A file that was attached.
    File,
    /// A selection in an editor.
    Selection,
    /// The body of a command or a skill.
    Command,
    /// What a command printed that the user ran.
    Output,
}

/// A part of a user's message that was not typed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanLabel {
    /// The block, by its place.
    pub block: usize,
    /// The bytes of its text; `None`: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(usize, usize)>,
    /// Where it comes from.
    pub origin: SpanOrigin,
}

/// What a user asks: what was typed, and what came along with it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Question {
    /// All of it, as the model sees it.
    pub blocks: Vec<Block>,
    /// The parts that were not typed.
    pub labels: Vec<SpanLabel>,
}

impl Question {
    /// Words that were typed.
    pub fn typed(text: impl Into<String>) -> Self {
        vec![Block::text(text)].into()
    }

    /// The same with a block that was not typed.
    pub fn with(mut self, block: Block, origin: SpanOrigin) -> Self {
        self.labels.push(SpanLabel { block: self.blocks.len(), range: None, origin });
        self.blocks.push(block);
        self
    }

    /// The same with these bytes of a block's text labelled.
    pub fn labelled(mut self, block: usize, range: std::ops::Range<usize>, origin: SpanOrigin) -> Self {
        self.labels.push(SpanLabel { block, range: Some((range.start, range.end)), origin });
        self
    }
}

impl From<Vec<Block>> for Question {
    /// Typed as it is.
    fn from(blocks: Vec<Block>) -> Self {
        Self { blocks, labels: Vec::new() }
    }
}

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its name.
    pub id: MessageId,
    /// Who it is from, as the provider sees it.
    pub role: Role,
    /// Why it is here.
    pub origin: Origin,
    /// When it was said.
    pub at: Timestamp,
    /// What was said, in order.
    #[serde(rename = "content")]
    pub blocks: Vec<Block>,
}

impl Message {
    /// The message's text blocks, joined by line breaks.
    pub fn text(&self) -> String {
        self.blocks.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n")
    }

    /// The tools this message calls, in order.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.blocks.iter().filter_map(|block| match block.kind() {
            Kind::ToolUse(call) => Some(call),
            _ => None,
        })
    }

    /// The tool results this message carries, in order.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.blocks.iter().filter_map(|block| match block.kind() {
            Kind::ToolResult(result) => Some(result),
            _ => None,
        })
    }
}

/// What stands where a picture or a document was.
const IMAGE: &str = include_str!("../../prompts/compaction/image.md");
const DOCUMENT: &str = include_str!("../../prompts/compaction/document.md");

/// A message without its thinking; `None` when nothing is left of it.
pub fn without_thinking(message: &Arc<Message>) -> Option<Arc<Message>> {
    let is_thinking = |block: &Block| matches!(block.kind(), Kind::Thinking(_));
    if !message.blocks.iter().any(is_thinking) {
        return Some(message.clone());
    }
    let blocks: Vec<Block> = message.blocks.iter().filter(|block| !is_thinking(block)).cloned().collect();
    (!blocks.is_empty()).then(|| Arc::new(Message { blocks, ..(**message).clone() }))
}

/// A message in which words stand for pictures and documents, also for those that tools brought.
pub fn without_pictures(message: &Arc<Message>) -> Arc<Message> {
    fn named(block: &Block) -> Block {
        match block.kind() {
            Kind::Image => Block::text(IMAGE.trim_end()),
            Kind::Document => Block::text(DOCUMENT.trim_end()),
            Kind::ToolResult(result) if result.parts.iter().any(is_picture) => {
                Block::tool_result(ToolResult { parts: result.parts.iter().map(named).collect(), ..result.clone() })
            }
            _ => block.clone(),
        }
    }
    let blocks: Vec<Block> = message.blocks.iter().map(named).collect();
    if blocks == message.blocks { message.clone() } else { Arc::new(Message { blocks, ..(**message).clone() }) }
}

fn is_picture(block: &Block) -> bool {
    matches!(block.kind(), Kind::Image | Kind::Document)
}

/// What a provider counted for one call. Every field counts different tokens: they add up, nothing is in two of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Input that was neither read from nor written to the cache.
    pub input: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache for five minutes.
    pub cache_write_5m: u64,
    /// Input written to the cache for an hour.
    pub cache_write_1h: u64,
    /// Output, thinking included.
    pub output: u64,
}

impl Usage {
    /// Everything the model read for this call.
    pub fn total_input(&self) -> u64 {
        self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.input += more.input;
        self.cache_read += more.cache_read;
        self.cache_write_5m += more.cache_write_5m;
        self.cache_write_1h += more.cache_write_1h;
        self.output += more.output;
    }
}

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    EndTurn,
    /// It wants tools to run.
    ToolUse,
    /// It ran into the output limit.
    MaxTokens,
    /// It ran into a stop sequence.
    StopSequence,
    /// The window was full.
    WindowFull,
    /// It declined.
    Refusal,
    /// Anything newer, by the provider's name.
    Other(String),
}
