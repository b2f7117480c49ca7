//! What a session tells whoever is watching.

use crate::digest::Digest;
use crate::message::{ToolCallId, Usage};
use crate::model::Delta;
use serde_json::Value;
use std::sync::Arc;

/// Something happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A piece of a reply arrived.
    Delta(Delta),
    /// A tool call starts.
    ToolStarted {
        /// Its name.
        call: ToolCallId,
        /// Which tool.
        tool: String,
        /// One line about what it does.
        summary: String,
    },
    /// A tool call ended.
    ToolFinished {
        /// Its name.
        call: ToolCallId,
        /// Which tool.
        tool: String,
        /// Whether it failed.
        is_error: bool,
        /// What the model will see.
        text: String,
    },
    /// A tool call was refused: by a rule, by a hook, by the user, or because nobody could be asked.
    ToolRefused {
        /// Its name.
        call: ToolCallId,
        /// Which tool.
        tool: String,
        /// With what.
        input: Value,
        /// Why.
        reason: String,
    },
    /// A model call was answered.
    Replied {
        /// Who asked.
        source: String,
        /// What it took.
        usage: Usage,
    },
    /// An agent began, does something else now, or is done.
    Agent {
        /// What it is called.
        name: String,
        /// Its kind.
        kind: String,
        /// In a word: running, done, stopped, failed.
        state: &'static str,
        /// What it is doing, in a few words.
        words: String,
    },
    /// Something a person should know; the turn goes on.
    Notice(String),
    /// Something became of the memory.
    Memory(MemoryEvent),
}

/// What became of the memory, for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryEvent {
    /// A memory was saved.
    Remembered {
        /// What it is called.
        title: String,
        /// Its file.
        path: String,
        /// The change that saved it.
        change: Option<u64>,
    },
    /// A memory was moved to the trash.
    Forgotten {
        /// What it was called.
        title: String,
        /// Its file.
        path: String,
        /// The change that removed it.
        change: Option<u64>,
    },
    /// A memory was not saved.
    Refused {
        /// What it was called.
        title: String,
        /// Why.
        why: String,
    },
    /// The user decides.
    Question(MemoryQuestion),
    /// Something to know about it.
    Note(String),
}

/// What waits for the user's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryQuestion {
    /// What is asked about.
    pub id: QuestionId,
    /// What it is called.
    pub title: String,
    /// Exactly what a yes covers: the text of a memory, or a change of one.
    pub text: String,
    /// Why it is asked.
    pub doubt: String,
}

/// Names what waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionId {
    /// An unconfirmed memory.
    Memory {
        /// Its file.
        path: String,
        /// What it says.
        digest: Digest,
    },
    /// A change or a removal that was proposed.
    Proposal {
        /// Its name.
        id: String,
    },
}

impl std::fmt::Display for MemoryEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let undo = |change: &Option<u64>| change.map(|id| format!(" · /undo {id}")).unwrap_or_default();
        match self {
            MemoryEvent::Remembered { title, change, .. } => write!(f, "✓ remembered: {title}{}", undo(change)),
            MemoryEvent::Forgotten { title, change, .. } => write!(f, "✓ forgotten: {title}{}", undo(change)),
            MemoryEvent::Refused { title, why } => write!(f, "✗ not remembered: {title}: {why}"),
            MemoryEvent::Question(question) => write!(f, "{question}"),
            MemoryEvent::Note(text) => f.write_str(text),
        }
    }
}

impl std::fmt::Display for MemoryQuestion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.id {
            QuestionId::Memory { .. } => "unconfirmed",
            QuestionId::Proposal { .. } => "proposed",
        };
        write!(f, "? {what}: {}", self.title)?;
        if self.doubt.is_empty() { Ok(()) } else { write!(f, " ({})", self.doubt) }
    }
}

/// Where events go. Cheap to clone; the default drops them.
#[derive(Clone)]
pub struct Events(Arc<dyn Fn(Event) + Send + Sync>);

impl Events {
    /// Tell this listener.
    pub fn to(listener: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }

    /// Something happened.
    pub fn emit(&self, event: Event) {
        (self.0)(event);
    }

    /// Tell what became of the memory.
    pub fn memory(&self, event: MemoryEvent) {
        self.emit(Event::Memory(event));
    }

    /// Tell a person something while the turn goes on.
    pub fn notice(&self, text: impl Into<String>) {
        self.emit(Event::Notice(text.into()));
    }
}

impl Default for Events {
    fn default() -> Self {
        Self::to(|_| {})
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Events")
    }
}
