//! What a session tells whoever is watching.

use crate::message::{ToolCallId, Usage};
use crate::model::Delta;
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
