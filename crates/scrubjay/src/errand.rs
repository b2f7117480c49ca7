//! An errand: what a layer wants a fork to do. Layers never run agents; they return one of these, and the loop sends it.

use crate::gate::Gate;
use crate::ledger::breaker::Progress;
use crate::message::{Message, Usage};
use crate::transcript::{Call, Entry};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Work for a fork.
pub struct Errand {
    /// Who asks: the query source in the ledger.
    pub name: String,
    /// What the fork is told.
    pub directive: String,
    /// What its tools may touch.
    pub gate: Gate,
    /// How many rounds it has.
    pub turns: u64,
    /// When it is done.
    pub ends: EndsWhen,
    /// What to append to the parent when it comes home.
    pub receipt: Receipt,
}

/// When an errand is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndsWhen {
    /// When it calls no tool any more.
    Silent,
    /// As soon as every call of a round succeeded and something was written: no closing call is paid for.
    EditsSucceed,
}

/// Turns an outcome into the entry that records it.
pub type Receipt = Box<dyn FnOnce(&Outcome) -> Option<Entry> + Send + Sync>;

/// How an errand ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// It said it was done.
    Done,
    /// Its rounds ran out.
    OutOfTurns,
    /// It was stopped.
    Cancelled,
    /// It failed.
    Failed(String),
}

/// What a fork brings home.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// What it said and was told after the shared prefix.
    pub messages: Vec<Arc<Message>>,
    /// Every model call it made, for the record.
    pub calls: Vec<Call>,
    /// How long it was away.
    pub took: Duration,
    /// Files it changed.
    pub wrote: Vec<PathBuf>,
    /// How many tool calls were refused.
    pub denials: u64,
}

impl Outcome {
    /// What its calls took together.
    pub fn usage(&self) -> Usage {
        self.calls.iter().fold(Usage::default(), |mut sum, call| {
            sum += call.usage;
            sum
        })
    }

    /// Whether it got anywhere, as far as that can be seen from outside: it wrote something, or said that there was nothing
    /// to write.
    pub fn progress(&self) -> Progress {
        let idle = self.wrote.is_empty();
        match &self.ending {
            Ending::Cancelled => Progress::Stopped,
            Ending::Failed(why) => self.without_progress(why),
            Ending::OutOfTurns if idle => self.without_progress("it used up its turns and wrote nothing"),
            Ending::Done if idle && self.text().trim().is_empty() => self.without_progress("it said and wrote nothing"),
            Ending::Done | Ending::OutOfTurns => Progress::Made,
        }
    }

    /// It got nowhere, by somebody's closer look.
    pub fn without_progress(&self, because: impl Into<String>) -> Progress {
        Progress::None { because: because.into(), calls: self.calls.len() as u64 }
    }

    /// The last thing it said.
    pub fn text(&self) -> String {
        let said = self.messages.iter().rev().find(|message| message.origin == crate::message::Origin::Model);
        said.map(|message| message.text()).unwrap_or_default()
    }
}
