//! The fold: what the entries add up to. A pure function of them, kept up to date one entry at a time.

use super::{Author, Compaction, Entry, EntryId, Extracted, Hidden, Noted, Opening, Record, Spilled, Writer};
use crate::digest::FilesSeen;
use crate::limits::Limits;
use crate::message::{self, Block, Kind, Message, MessageId, Origin, ToolCallId, ToolResult, Usage};
use crate::tokens::{self, Count, Form, Share};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// What stands where a tool result was cleared.
pub const CLEARED: &str = include_str!("../../prompts/cleared.md");

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
    /// Tool results that were cleared.
    pub cleared: BTreeSet<ToolCallId>,
    /// Files of the memories that messages of this view show, by message.
    pub recalled: BTreeMap<MessageId, Vec<PathBuf>>,
    /// How far the conversation was looked through for memories.
    pub extracted: Option<Extracted>,
    /// How far the notes reach.
    pub noted: Option<Noted>,
    /// How far the part of the notes reaches that a model wrote.
    pub written: Option<MessageId>,
    /// Compactions in force, oldest first.
    pub compactions: Vec<(EntryId, Arc<Compaction>)>,
    /// Stretches that are hidden, by number.
    pub hidden: Vec<Hidden>,
    /// The largest number a span was given.
    pub(super) spans: u64,
    /// Failures in a row, by layer.
    pub strikes: BTreeMap<String, u64>,
    /// How much of the window is used.
    pub count: Count,
    /// What the provider left out of the last request on its side.
    pub server_cleared: u64,
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
    pub fn of(records: &[Record], limits: &Limits) -> Self {
        let reverted: BTreeMap<EntryId, EntryId> = records
            .iter()
            .filter_map(|record| match record.entry {
                Entry::Reverted { entry } => Some((entry, record.id)),
                _ => None,
            })
            .collect();
        let mut view = Self::default();
        for record in records.iter().filter(|record| !reverted.contains_key(&record.id)) {
            let between = reverted.iter().any(|(entry, end)| (entry..end).contains(&&record.id));
            match &record.entry {
                // What the service measured then was another conversation.
                Entry::Replied(call) if between => view.spend(call),
                // Thinking of that time was bound to what was sent then.
                Entry::Said(said) if between => {
                    message::without_thinking(said).iter().for_each(|said| view.say(said, limits));
                }
                _ => view.apply(record, records, limits),
            }
        }
        view
    }

    /// The last of these records is new. Costs what it holds, not what came before, unless it takes something back.
    pub fn follow(&mut self, records: &[Record], limits: &Limits) {
        match records.last() {
            Some(Record { entry: Entry::Reverted { .. }, .. }) => *self = Self::of(records, limits),
            Some(record) => self.apply(record, records, limits),
            None => {}
        }
    }

    /// The same view, counted as if nothing had been reported yet.
    pub fn whole(mut self) -> Self {
        self.count.forget_report();
        self
    }

    /// What a compaction would make of this view.
    pub fn compacted(&self, compaction: &Compaction, limits: &Limits) -> Self {
        let mut view = self.clone();
        view.compact(EntryId::MAX, &Arc::new(compaction.clone()), limits);
        view
    }

    fn apply(&mut self, record: &Record, records: &[Record], limits: &Limits) {
        match &record.entry {
            Entry::Opened { opening, .. } => self.open(opening, limits),
            Entry::Said(message) => self.say(message, limits),
            Entry::Saw { path, digest } => {
                self.files.insert(path.clone(), digest.clone());
            }
            Entry::Spilled(spilled) => {
                self.spilled.insert(spilled.call.clone(), spilled.clone());
            }
            Entry::Cleared { results, .. } => self.clear(results, limits),
            Entry::Recalled(recalled) => {
                self.recalled.insert(recalled.message.clone(), recalled.files.clone());
            }
            Entry::Extracted(extracted) => self.learn(extracted),
            Entry::Noted(noted) => self.note(noted),
            Entry::Compacted(compaction) => self.compact(record.id, compaction, limits),
            Entry::GivenBack { compaction, messages } => self.give_back(*compaction, messages, records, limits),
            Entry::Hid(hiding) => self.rearrange(hiding, limits),
            Entry::Failed { layer, .. } => *self.strikes.entry(layer.clone()).or_default() += 1,
            Entry::Replied(call) => self.reply(call),
            Entry::Reverted { .. } => self.count.forget_report(),
            Entry::Mended { .. } => self.count.forget_measures(),
            Entry::Labelled(_) | Entry::Began(_) | Entry::Summoned(_) | Entry::Returned(_) | Entry::Unknown(_) => {}
        }
    }

    fn say(&mut self, message: &Arc<Message>, limits: &Limits) {
        if message.origin == Origin::Model {
            self.asked_at = self.count.raw_estimate();
        }
        self.count.add_message(message, limits);
        self.history.push(message.clone());
    }

    fn learn(&mut self, extracted: &Extracted) {
        self.strikes.remove(Extracted::LAYER);
        self.extracted = Some(extracted.clone());
    }

    fn note(&mut self, noted: &Noted) {
        if noted.by == Writer::Model {
            self.written = Some(noted.upto.clone());
        }
        self.noted = Some(noted.clone());
    }

    fn reply(&mut self, call: &super::Call) {
        if call.source == super::Call::MAIN {
            // Where damage took what the request began with, its size says nothing about what a token is.
            let asked_at = if self.opening.is_some() { self.asked_at } else { 0 };
            self.count.report(&call.usage, asked_at, call.cleared);
            self.server_cleared = call.cleared;
        }
        self.spend(call);
    }

    fn spend(&mut self, call: &super::Call) {
        let spent = self.spent.entry((call.source.clone(), call.model.clone())).or_default();
        spent.calls += 1;
        spent.usage += call.usage;
    }

    /// A new opening changes the first bytes of every request, so nothing reported before still holds; unless it only asks
    /// for another lifetime in the cache.
    fn open(&mut self, opening: &Arc<Opening>, limits: &Limits) {
        let same = self.opening.as_ref().is_some_and(|last| last.says_the_same(opening));
        self.opening = Some(opening.clone());
        if !same {
            self.recount(limits);
        }
    }

    /// What the conversation begins with. A provider's own summary must come first and stands for these too; they are
    /// brought back after it.
    pub fn instructions(&self) -> &[Arc<Message>] {
        let is_summary = |message: &Arc<Message>| matches!(message.blocks[..], [ref block, ..] if matches!(block.kind(), Kind::Summary(_)));
        match &self.opening {
            Some(opening) if !self.history.first().is_some_and(is_summary) => &opening.instructions,
            _ => &[],
        }
    }

    pub(super) fn recount(&mut self, limits: &Limits) {
        let mut count = self.count.emptied();
        if let Some(opening) = &self.opening {
            count.add(Share::System, Form::Text, tokens::of_text(&opening.system, limits));
            for tool in opening.tools.iter() {
                let text = tokens::of_text(&tool.name, limits) + tokens::of_text(&tool.description, limits);
                count.add(Share::Tools, Form::Other, text + tokens::of_json(tool.input_schema.get(), limits));
            }
        }
        for message in self.instructions() {
            count.add_message(message, limits);
        }
        for message in &self.history {
            count.add_message(message, limits);
        }
        self.count = count;
        self.server_cleared = 0;
    }

    fn clear(&mut self, results: &[ToolCallId], limits: &Limits) {
        for message in &mut self.history {
            if message.tool_results().any(|result| results.contains(&result.call)) {
                let cleared = Arc::new(with_cleared(message, results));
                self.count.remove_message(message, limits);
                self.count.add_message(&cleared, limits);
                *message = cleared;
            }
        }
        self.cleared.extend(results.iter().cloned());
    }

    /// Replace a stretch by its summary; what was kept follows, then what was brought back. A stretch that is not there
    /// changes nothing: damage may have taken it.
    fn compact(&mut self, id: EntryId, compaction: &Arc<Compaction>, limits: &Limits) {
        let Some((first, last)) = self.stretch(&compaction.first, &compaction.last) else { return };
        let mut kept = self.history.split_off(last + 1);
        let gone = self.history.split_off(first);
        self.forget(&gone);
        self.history.push(compaction.summary.clone());
        if compaction.without_thinking {
            kept = kept.iter().filter_map(message::without_thinking).collect();
        }
        if compaction.without_pictures {
            // A question that is not answered yet may be about its pictures.
            let seen = kept.iter().rposition(|message| message.origin == Origin::Model).map_or(0, |at| at + 1);
            kept[..seen].iter_mut().for_each(|message| *message = message::without_pictures(message));
        }
        self.history.append(&mut kept);
        self.history.extend(compaction.restored.iter().cloned());
        // What no message shows any more may be shown again.
        let here: BTreeSet<&MessageId> = self.history.iter().map(|message| &message.id).collect();
        self.recalled.retain(|message, _| here.contains(message));
        self.compactions.push((id, compaction.clone()));
        self.forget_lost_spans();
        self.settle_strikes(compaction.author, limits);
        self.recount(limits);
    }

    /// A summary of the model proves that it can write one. One by code, made because the model could not, gives the model one
    /// more try when the window is full again.
    fn settle_strikes(&mut self, author: Author, limits: &Limits) {
        match self.strikes.get_mut(Compaction::LAYER) {
            Some(strikes) if author == Author::Extract => {
                *strikes = (*strikes).min(limits.compaction_strikes.saturating_sub(1));
            }
            _ => {
                self.strikes.remove(Compaction::LAYER);
            }
        }
    }

    /// Decisions about tool results that are no longer there.
    pub(super) fn forget(&mut self, gone: &[Arc<Message>]) {
        for result in gone.iter().flat_map(|message| message.tool_results()) {
            self.spilled.remove(&result.call);
            self.cleared.remove(&result.call);
        }
    }

    /// The opposite of forgetting.
    fn recall(&mut self, records: &[Record]) {
        let results = self.history.iter().flat_map(|message| message.tool_results());
        let calls: BTreeSet<&ToolCallId> = results.map(|result| &result.call).collect();
        for record in records {
            if let Entry::Spilled(spilled) = &record.entry
                && calls.contains(&spilled.call)
            {
                self.spilled.insert(spilled.call.clone(), spilled.clone());
            }
        }
    }

    /// Put messages behind the summary that replaced them, in their order. What was thought behind it was bound to what
    /// stood there before.
    fn give_back(&mut self, compaction: EntryId, ids: &[MessageId], records: &[Record], limits: &Limits) {
        let summary = self.compactions.iter().find(|(id, _)| *id == compaction).map(|(_, found)| &found.summary.id);
        let Some(at) = summary.and_then(|id| self.history.iter().position(|message| message.id == *id)) else { return };
        let mut behind = self.history.split_off(at + 1);
        let mut older: BTreeSet<&MessageId> = BTreeSet::new();
        for record in records {
            let Entry::Said(message) = &record.entry else { continue };
            let is_there = self.history.iter().chain(&behind).any(|known| known.id == message.id);
            if ids.contains(&message.id) && !is_there && !self.hides(&message.id) {
                let place = behind.iter().take_while(|known| older.contains(self.end_of(known))).count();
                behind.insert(place, message.clone());
            }
            older.insert(&message.id);
        }
        self.history.extend(behind.iter().filter_map(message::without_thinking));
        self.recall(records);
        self.recount(limits);
    }

    pub(super) fn stretch(&self, first: &MessageId, last: &MessageId) -> Option<(usize, usize)> {
        let place = |id: &MessageId| self.history.iter().position(|message| message.id == *id);
        let (first, last) = (place(first)?, place(last)?);
        (first <= last).then_some((first, last))
    }
}

impl Compaction {
    /// The name under which failures are counted.
    pub const LAYER: &'static str = "compaction";

    /// Everything that speaks for what it replaced: the summary, and what code had to add beside one it may not touch.
    pub fn words(&self) -> String {
        let beside = self.restored.iter().filter(|message| message.origin == Origin::Summary);
        std::iter::once(&self.summary).chain(beside).map(|message| message.text()).collect::<Vec<_>>().join("\n")
    }
}

fn with_cleared(message: &Message, results: &[ToolCallId]) -> Message {
    let blocks = message.blocks.iter().map(|block| match block.kind() {
        Kind::ToolResult(result) if results.contains(&result.call) => {
            Block::tool_result(ToolResult { parts: vec![Block::text(CLEARED)], ..result.clone() })
        }
        _ => block.clone(),
    });
    Message { blocks: blocks.collect(), ..message.clone() }
}
