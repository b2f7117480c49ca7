//! What the layers have done for a session so far: results on disk, results cleared, compactions.

use crate::compaction::change;
use crate::paper::{counted, grouped, size};
use scrubjay::context::compaction::rounds;
use scrubjay::limits::Limits;
use scrubjay::message::{Kind, ToolCallId};
use scrubjay::tokens;
use scrubjay::transcript::{CLEARED, Entry, EntryId, Transcript, View, Way};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What was done, in numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Remedies {
    compactions: u64,
    /// What the last one in force made of the conversation.
    last: Option<(u64, u64)>,
    stored: u64,
    stored_bytes: u64,
    shown_bytes: u64,
    cleared: u64,
    cleared_tokens: u64,
    /// What the service left out of the last request on its side.
    server_cleared: u64,
    /// Spans that are folded and what they hide, in tokens; then the same of snips.
    hidden: [(u64, u64); 2],
}

impl Remedies {
    pub(crate) fn of(transcript: &Transcript, limits: &Limits) -> Self {
        let view = transcript.view();
        let last = view.compactions.last().map(|(id, compaction)| (compaction.before, after(transcript, *id, limits)));
        // From the record: a compaction makes the view forget what was decided about results it replaced.
        let entries = || transcript.records().iter().map(|record| &record.entry);
        let stored = || entries().filter_map(|entry| if let Entry::Spilled(one) = entry { Some(one) } else { None });
        let cleared: BTreeSet<&ToolCallId> = entries()
            .filter_map(|entry| if let Entry::Cleared { results, .. } = entry { Some(results) } else { None })
            .flatten()
            .collect();
        Self {
            compactions: view.compactions.len() as u64,
            last,
            stored: stored().count() as u64,
            stored_bytes: stored().map(|spilled| spilled.bytes).sum(),
            shown_bytes: stored().map(|spilled| spilled.shown).sum(),
            cleared: cleared.len() as u64,
            cleared_tokens: cleared_tokens(transcript, &cleared, limits),
            server_cleared: view.server_cleared,
            hidden: [Way::Fold, Way::Snip].map(|way| hidden(view, way, limits)),
        }
    }

    /// One line for each layer that did something.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.stored > 0 {
            lines.push(format!(
                "{} on disk: {}, of which the model sees {}",
                counted(self.stored, "result"),
                size(self.stored_bytes),
                size(self.shown_bytes)
            ));
        }
        if self.cleared > 0 {
            let tokens = grouped(self.cleared_tokens);
            lines.push(format!("{} cleared: about {tokens} tokens", counted(self.cleared, "old result")));
        }
        if self.server_cleared > 0 {
            let tokens = grouped(self.server_cleared);
            lines.push(format!("{tokens} tokens of old results left out by the service (reported)"));
        }
        for ((spans, tokens), word) in self.hidden.iter().zip(["folded", "taken out"]) {
            if *spans > 0 {
                lines.push(format!("{} {word}: about {} tokens", counted(*spans, "span"), grouped(*tokens)));
            }
        }
        if let Some((before, after)) = self.last {
            let last = change(before, after);
            lines.push(format!("{}, the last one {last} tokens", counted(self.compactions, "compaction")));
        }
        lines
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "compactions": self.compactions,
            "last_compaction": self.last.map(|(before, after)| json!({ "before": before, "after": after })),
            "stored": { "results": self.stored, "bytes": self.stored_bytes, "shown_bytes": self.shown_bytes },
            "cleared_by_service": { "reported_tokens": self.server_cleared },
            "cleared": { "results": self.cleared, "estimated_tokens": self.cleared_tokens },
            "folded": { "spans": self.hidden[0].0, "estimated_tokens": self.hidden[0].1 },
            "snipped": { "spans": self.hidden[1].0, "estimated_tokens": self.hidden[1].1 },
        })
    }
}

/// How many spans are hidden in one way, and what stands behind their lines.
fn hidden(view: &View, way: Way, limits: &Limits) -> (u64, u64) {
    let spans = view.hidden.iter().filter(|hidden| hidden.span.way == way);
    spans.fold((0, 0), |(count, tokens), hidden| (count + 1, tokens + rounds::weight(&hidden.messages, limits)))
}

/// What the conversation measured right after a compaction.
fn after(transcript: &Transcript, id: EntryId, limits: &Limits) -> u64 {
    let records = transcript.records();
    let end = records.iter().position(|record| record.id == id).map_or(records.len(), |at| at + 1);
    View::of(&records[..end], limits).count.total()
}

/// The record still holds what the view no longer shows.
fn cleared_tokens(transcript: &Transcript, cleared: &BTreeSet<&ToolCallId>, limits: &Limits) -> u64 {
    if cleared.is_empty() {
        return 0;
    }
    let marker = tokens::of_text(CLEARED, limits);
    let said = transcript.records().iter().filter_map(|record| match &record.entry {
        Entry::Said(message) => Some(&message.blocks),
        _ => None,
    });
    let gone = said
        .flatten()
        .filter(|block| matches!(block.kind(), Kind::ToolResult(result) if cleared.contains(&result.call)));
    gone.map(|block| tokens::estimate(block, limits).saturating_sub(marker)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use scrubjay::message::{Block, Message, Origin, Role, SessionId, ToolResult};
    use scrubjay::transcript::{Author, Cause, Compaction, Marks, Spilled, Trigger};
    use std::sync::Arc;

    fn said(transcript: &mut Transcript, role: Role, origin: Origin, block: Block) -> Arc<Message> {
        transcript.say(role, origin, vec![block], Timestamp::UNIX_EPOCH).unwrap()
    }

    fn add(transcript: &mut Transcript, entry: Entry) {
        transcript.append(entry, Timestamp::UNIX_EPOCH).unwrap();
    }

    // spec: T6
    #[test]
    fn each_layer_says_what_it_did() {
        let limits = Arc::new(Limits::default());
        let mut transcript = Transcript::in_memory(SessionId::new("s"), limits.clone());
        assert!(Remedies::of(&transcript, &limits).words().is_empty());

        let question = said(&mut transcript, Role::User, Origin::Person, Block::text("long words ".repeat(500)));
        let parts = vec![Block::text("x".repeat(4_000))];
        let result = Block::tool_result(ToolResult { call: "a".into(), parts, is_error: false });
        said(&mut transcript, Role::User, Origin::Tool, result);
        let answer = said(&mut transcript, Role::Assistant, Origin::Model, Block::text("Done."));
        let (call, tool, file) = ("b".into(), "Bash".to_owned(), "/f".into());
        add(&mut transcript, Entry::Spilled(Spilled { call, tool, file, bytes: 90_000, shown: 2_100 }));
        add(&mut transcript, Entry::Cleared { results: vec!["a".into()], because: Cause::Ttl });
        let before = transcript.view().count.total();
        let (id, at) = ("sum".into(), Timestamp::UNIX_EPOCH);
        let blocks = vec![Block::text("short")];
        let summary = Arc::new(Message { id, role: Role::User, origin: Origin::Summary, at, blocks });
        let compaction = Compaction {
            trigger: Trigger::Manual,
            author: Author::Model,
            first: question.id.clone(),
            last: answer.id.clone(),
            summary,
            restored: Vec::new(),
            before,
            without_thinking: false,
            without_pictures: false,
            marks: Marks::default(),
            report: None,
        };
        add(&mut transcript, Entry::Compacted(compaction.into()));
        let after = transcript.view().count.total();
        said(&mut transcript, Role::User, Origin::Person, Block::text("more words ".repeat(500)));

        let remedies = Remedies::of(&transcript, &limits);
        assert_eq!(remedies.last, Some((before, after)), "what came since does not count");
        assert!(after < before && remedies.cleared_tokens > 500, "{remedies:?}");
        let words = remedies.words().join("\n");
        for part in
            ["1 result on disk: 90.0 kB, of which the model sees 2.1 kB", "1 old result cleared", "1 compaction, "]
        {
            assert!(words.contains(part), "{part} in {words}");
        }
        assert_eq!(remedies.json()["last_compaction"]["after"], after);
    }
}
