//! What the layers did in a turn, read off the record.

use crate::paper::{counted, short, size};
use scrubjay::message::Kind;
use scrubjay::tokens::Count;
use scrubjay::transcript::{Author, Call, Cause, Entry, Record, Writer};
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
pub(super) fn firings(records: &[Record], count: &Count) -> Vec<Firing> {
    let mut found: Vec<Firing> = Vec::new();
    let mut agents = Agents::default();
    for record in records {
        let fired = match &record.entry {
            Entry::Spilled(spilled) => {
                let tokens = count.fitted(spilled.bytes.saturating_sub(spilled.shown) / 4);
                let words = format!("{} result stored, {} shown", size(spilled.bytes), size(spilled.shown));
                Some((1, format!("{} {words}", spilled.tool), tokens))
            }
            Entry::Cleared { results, because } => {
                let old = counted(results.len() as u64, "old result");
                let why = if *because == Cause::Ttl { "the cache had run out anyway" } else { "it pays" };
                Some((2, format!("{old} cleared: {why}"), 0))
            }
            Entry::Noted(noted) => {
                let by = if noted.by == Writer::Code { "code" } else { "a fork" };
                Some((3, format!("notes brought up to date by {by}"), 0))
            }
            Entry::Compacted(compaction) => {
                let (layer, from) = match compaction.author {
                    Author::Notes => (3, "from the notes, without a call"),
                    Author::Model => (4, "by a checked summary"),
                    Author::Extract => (4, "by code"),
                };
                Some((layer, format!("{} tokens compacted {from}", short(compaction.before)), 0))
            }
            Entry::Extracted(extracted) => {
                let saved = extracted.saved.join(", ");
                let refused = (extracted.refused > 0).then(|| format!("{} refused", extracted.refused));
                let said: Vec<String> =
                    (!saved.is_empty()).then(|| format!("remembered {saved}")).into_iter().chain(refused).collect();
                (!said.is_empty()).then(|| (5, said.join(", "), 0))
            }
            Entry::Recalled(recalled) => {
                let names: Vec<_> = recalled.files.iter().filter_map(|file| file.file_name()?.to_str()).collect();
                Some((5, format!("brought back {}", names.join(", ")), 0))
            }
            Entry::Replied(call) => {
                agents.pay(call);
                None
            }
            Entry::Said(message) => {
                message.blocks.iter().for_each(|block| match block.kind() {
                    Kind::ToolUse(call) if call.name == "Agent" => agents.start(call.input["name"].as_str()),
                    _ => {}
                });
                None
            }
            _ => None,
        };
        found.extend(fired.map(|(layer, words, tokens)| Firing { layer, words, tokens }));
    }
    found.extend(agents.fired());
    found
}

/// Agents of one turn, and what they took.
#[derive(Default)]
struct Agents {
    names: Vec<String>,
    calls: u64,
    tokens: u64,
}

impl Agents {
    fn start(&mut self, name: Option<&str>) {
        self.names.push(name.unwrap_or("an agent").to_owned());
    }

    fn pay(&mut self, call: &Call) {
        if call.source.starts_with("agent:") {
            self.calls += 1;
            self.tokens = self.tokens.max(call.usage.total_input());
        }
    }

    fn fired(self) -> Option<Firing> {
        let Self { names, calls, tokens } = self;
        let words = format!("{} searched in {}, out of the window", names.join(", "), counted(calls, "call"));
        (!names.is_empty() && calls > 0).then_some(Firing { layer: 7, words, tokens })
    }
}
