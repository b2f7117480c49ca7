//! What the layers did in a turn, read off the record.

use crate::paper::{counted, short, size};
use scrubjay::limits::Limits;
use scrubjay::tokens::Count;
use scrubjay::transcript::{Author, Cause, Entry, Record, Writer};
use serde::Serialize;

/// One thing that a layer did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Firing {
    /// Which layer, from 1.
    pub(super) layer: u8,
    /// What it did.
    pub(super) words: String,
    /// Tokens that left the window by it, or never entered it; an estimate.
    pub(super) tokens: u64,
}

/// What these records say.
pub(super) fn firings(records: &[Record], count: &Count, limits: &Limits) -> Vec<Firing> {
    let mut agents = Agents::default();
    records.iter().for_each(|record| agents.hear(&record.entry));
    let deeds = records.iter().filter_map(|record| deed(&record.entry));
    let mut found: Vec<Firing> = deeds.map(|(layer, words)| Firing { layer, words, tokens: 0 }).collect();
    for record in records {
        if let Entry::Spilled(spilled) = &record.entry {
            let hidden = spilled.bytes.saturating_sub(spilled.shown) / limits.text_bytes_per_token;
            let words = format!("{} {} stored, {} shown", size(spilled.bytes), spilled.tool, size(spilled.shown));
            found.push(Firing { layer: 1, words, tokens: count.fitted(hidden) });
        }
    }
    found.extend(agents.fired());
    found
}

/// What an entry says that layers 2 to 5 did.
fn deed(entry: &Entry) -> Option<(u8, String)> {
    match entry {
        Entry::Cleared { results, because } => {
            let old = counted(results.len() as u64, "old result");
            let why = if *because == Cause::Ttl { "the cache had run out anyway" } else { "to make room" };
            Some((2, format!("{old} cleared: {why}")))
        }
        Entry::Noted(noted) => {
            let by = if noted.by == Writer::Code { "code" } else { "a fork" };
            Some((3, format!("notes brought up to date by {by}")))
        }
        Entry::Compacted(compaction) => {
            let (layer, from) = match compaction.author {
                Author::Notes => (3, "from the notes, without a call"),
                Author::Model => (4, "by a checked summary"),
                Author::Extract => (4, "by code"),
            };
            Some((layer, format!("{} tokens compacted {from}", short(compaction.before))))
        }
        Entry::Extracted(extracted) => {
            let saved = (!extracted.saved.is_empty()).then(|| format!("remembered {}", extracted.saved.join(", ")));
            let refused = (extracted.refused > 0).then(|| format!("{} refused", extracted.refused));
            let said: Vec<String> = saved.into_iter().chain(refused).collect();
            (!said.is_empty()).then(|| (5, said.join(", ")))
        }
        Entry::Recalled(recalled) => {
            let names: Vec<_> = recalled.files.iter().filter_map(|file| file.file_name()?.to_str()).collect();
            Some((5, format!("brought back {}", names.join(", "))))
        }
        _ => None,
    }
}

/// Agents of one turn, and what they took.
#[derive(Default)]
struct Agents {
    names: Vec<String>,
    calls: u64,
    tokens: u64,
}

impl Agents {
    fn hear(&mut self, entry: &Entry) {
        match entry {
            Entry::Replied(call) if call.source.starts_with("agent:") => {
                self.calls += 1;
                self.tokens = self.tokens.max(call.usage.total_input());
            }
            Entry::Said(message) => {
                let started = message.tool_uses().filter(|call| call.name == "Agent");
                self.names.extend(started.filter_map(|call| Some(call.input["name"].as_str()?.to_owned())));
            }
            _ => {}
        }
    }

    fn fired(self) -> Option<Firing> {
        let Self { names, calls, tokens } = self;
        let words = format!("{} searched in {}, out of the window", names.join(", "), counted(calls, "call"));
        (!names.is_empty() && calls > 0).then_some(Firing { layer: 7, words, tokens })
    }
}
