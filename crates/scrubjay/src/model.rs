//! The seam to a language model: one question, one reply, streamed.

use crate::message::{Block, StopReason, Usage};
use crate::prompt::Prompt;
use crate::prompt_cache::prices::Prices;
use crate::tokens::ContextWindow;
use std::pin::Pin;
use std::time::Duration;

/// A future that is sent between threads and borrows what it was given.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What only some models or providers can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ability {
    /// Call tools.
    Tools,
    /// See pictures.
    Images,
    /// Cache a marked prefix.
    CacheMarkers,
    /// Clear old tool results on the server (`context_management`).
    ServerClearing,
    /// Summarise on the server when asked (`compaction`).
    ServerCompaction,
    /// Drop blocks from the cached prefix (`cache_edits`).
    CacheEdits,
    /// Binds thinking to the exact bytes before it.
    BoundThinking,
    /// Count tokens exactly.
    ExactCount,
    /// Pass to a tool only what fits its schema, where the tool asks for that (`strict`).
    StrictTools,
}

/// Something that answers prompts.
pub trait Model: Send + Sync {
    /// The name a request carries.
    fn name(&self) -> &str;

    /// Whether there is a mind behind it that can write a summary. Where there is none, code writes it.
    fn is_a_mind(&self) -> bool {
        true
    }

    /// How much it holds, and how much it writes at once.
    fn window(&self) -> ContextWindow;

    /// Whether it can do something that only some can.
    fn can(&self, ability: Ability) -> bool;

    /// What its tokens cost, as far as that is known.
    fn prices(&self) -> Option<Prices> {
        None
    }

    /// Ask. Deltas are shown as they arrive; the whole reply comes at the end. Dropping the future cancels the request.
    fn reply<'a>(
        &'a self,
        prompt: &'a Prompt,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Pending<'a, Result<Reply, ModelError>>;

    /// Have the service itself summarise a prompt, where it can (`Ability::ServerCompaction`). The summary is a block that
    /// later requests must begin with, unchanged.
    fn summarise<'a>(&'a self, _prompt: &'a Prompt, _instructions: &'a str) -> Pending<'a, Result<Reply, ModelError>> {
        Box::pin(async { Err(ModelError::Refused("this service does not summarise by itself".to_owned())) })
    }

    /// Count a prompt exactly, where that is possible (`None`: it is not).
    fn count<'a>(&'a self, prompt: &'a Prompt) -> Pending<'a, Result<Option<u64>, ModelError>>;
}

/// A piece of a reply, as it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Prose to show.
    Text(String),
    /// Reasoning to show, where the provider shows it.
    Thinking(String),
    /// A tool call has begun.
    ToolUse {
        /// Which tool.
        name: String,
    },
    /// The request is tried again; nothing had been shown yet.
    Retry {
        /// Which attempt comes next, from 2.
        attempt: u64,
        /// After how long.
        after: Duration,
        /// Why.
        because: String,
    },
}

/// A whole reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// What was said, exactly.
    pub blocks: Vec<Block>,
    /// What the provider counted.
    pub usage: Usage,
    /// Why it stopped.
    pub stop: StopReason,
    /// Which model answered.
    pub model: String,
    /// The provider's name for this request, for support.
    pub request_id: Option<String>,
    /// Tokens the provider cleared on its side before it read the request.
    pub cleared: u64,
}

impl Reply {
    /// No tool waits to be called.
    pub fn is_final(&self) -> bool {
        !self.blocks.iter().any(|block| matches!(block.kind(), crate::message::Kind::ToolUse(_)))
    }
}

/// Why there is no reply. Each says what happened, what it means and what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// The prompt does not fit.
    #[error(
        "the conversation is too long for the model{}. Compact a part of it with /compact up_to N, take questions out with \
         /snip, start afresh with /clear, or take a larger window with /model",
        over_by.map(|n| format!(" by {n} tokens")).unwrap_or_default()
    )]
    PromptTooLong {
        /// By how many tokens, where the provider says so.
        over_by: Option<u64>,
    },
    /// The stream ended in the middle. What had arrived is kept.
    #[error("the reply was cut off in the middle ({because})")]
    Cut {
        /// Whole blocks, and the prose that had been shown.
        partial: Vec<Block>,
        /// What the provider had counted by then.
        usage: Usage,
        /// What went wrong.
        because: String,
    },
    /// No key, or a wrong one.
    #[error("{0}")]
    Unauthorised(String),
    /// The model does not exist there.
    #[error("{0}")]
    UnknownModel(String),
    /// Too many requests, or the service is overloaded, and patience ran out.
    #[error("{message}")]
    Busy {
        /// What the service said.
        message: String,
        /// When it wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// Money ran out: retrying would not help.
    #[error("{0}")]
    OutOfBudget(String),
    /// The host cannot be reached.
    #[error("{0}")]
    Unreachable(String),
    /// The service refused the request.
    #[error("{0}")]
    Refused(String),
    /// The service answered something that is not a reply.
    #[error("{0}")]
    Garbled(String),
}
