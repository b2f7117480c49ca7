//! The fold: what the entries add up to. A pure function of them, kept up to date one entry at a time.

use super::{Entry, Opening, Record, Spilled};
use crate::digest::FilesSeen;
use crate::limits::Limits;
use crate::message::{Message, Origin, ToolCallId, Usage};
use crate::tokens::{self, Count, Form, Share};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a session's entries add up to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct View {
    /// What every request begins with.
    pub opening: Option<Arc<Opening>>,
    /// What was said, as the model sees it.
    pub history: Vec<Arc<Message>>,
    /// Files whose bytes the model knows.
    pub files: FilesSeen,
    /// Tool results whose whole lies on disk.
    pub spilled: BTreeMap<ToolCallId, Spilled>,
    /// How much of the window is used.
    pub count: Count,
    /// What was spent, by who asked and which model answered.
    pub spent: BTreeMap<(String, String), Spent>,
    /// What our estimate was when the last request was made.
    asked_at: u64,
}

/// Calls and tokens of one source on one model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// How many calls were answered.
    pub calls: u64,
    /// What they took together.
    pub usage: Usage,
}

impl View {
    /// Fold a list of records.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>, limits: &Limits) -> Self {
        let mut view = Self::default();
        for record in records {
            view.apply(&record.entry, limits);
        }
        view
    }

    /// One more entry. Costs what the entry holds, not what came before.
    pub fn apply(&mut self, entry: &Entry, limits: &Limits) {
        match entry {
            Entry::Opened { opening, .. } => self.open(opening, limits),
            Entry::Said(message) => self.say(message, limits),
            Entry::Saw { path, digest } => {
                self.files.insert(path.clone(), digest.clone());
            }
            Entry::Replied(call) => {
                if call.source == super::Call::MAIN {
                    self.count.report(&call.usage, self.asked_at);
                }
                let spent = self.spent.entry((call.source.clone(), call.model.clone())).or_default();
                spent.calls += 1;
                spent.usage += call.usage;
            }
            Entry::Spilled(spilled) => {
                self.spilled.insert(spilled.call.clone(), spilled.clone());
            }
            Entry::Began(_) | Entry::Mended { .. } | Entry::Unknown(_) => {}
        }
    }

    fn say(&mut self, message: &Arc<Message>, limits: &Limits) {
        if message.origin == Origin::Model {
            self.asked_at = self.count.raw_estimate();
        }
        self.count.add_message(message, limits);
        self.history.push(message.clone());
    }

    /// A new opening changes the first bytes of every request, so nothing reported before still holds.
    fn open(&mut self, opening: &Arc<Opening>, limits: &Limits) {
        let mut count = Count::default();
        count.add(Share::System, Form::Text, tokens::of_text(&opening.system, limits));
        for tool in opening.tools.iter() {
            let text = tokens::of_text(&tool.name, limits) + tokens::of_text(&tool.description, limits);
            count.add(Share::Tools, Form::Other, text + tokens::of_json(tool.input_schema.get(), limits));
        }
        for message in opening.instructions.iter().chain(&self.history) {
            count.add_message(message, limits);
        }
        self.count = count;
        self.opening = Some(opening.clone());
    }
}
