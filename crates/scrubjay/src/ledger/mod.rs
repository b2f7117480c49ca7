//! Receipts: every call, every saving and every cost, booked where it happens and netted out without flattery.
//!
//! A ledger is a list of rows, only ever appended to, beside the transcript. Everything a person is told about money is
//! a fold over rows: what was saved ([`savings`], [`waterfall`]), whether the engine should get out of the way ([`brake`]), how much
//! background work is left for today ([`budget`]), and how healthy the cache is ([`health`]). Beside it stand the breakers of
//! work that gets nowhere ([`breaker`]).

pub mod book;
pub mod brake;
pub mod breaker;
pub mod budget;
pub mod health;
pub mod savings;
pub mod waterfall;

use crate::message::Usage;
use crate::prompt_cache::fingerprint::Break;
use crate::prompt_cache::planner::{Unit, Verdict, Warmth};
use crate::prompt_cache::prices::Prices;
use crate::transcript::{Call, Cause, Ttl};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Who saved or spent something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Layer 1.
    ToolResults,
    /// Layer 2.
    Microcompaction,
    /// Layer 3: the notes, and compaction from them.
    SessionNotes,
    /// Layer 4.
    Compaction,
    /// Layer 4: folds.
    Collapse,
    /// Layer 4: snips.
    Snip,
    /// Layer 5.
    Extraction,
    /// Layer 6.
    Dreaming,
    /// Layer 7.
    Agents,
    /// Choosing what to recall.
    Recall,
    /// Choosing how long the cache is asked to live.
    Lifetime,
    /// Anything a newer version books.
    #[serde(other)]
    Other,
}

impl Layer {
    /// The layer in a person's words.
    pub fn word(self) -> &'static str {
        match self {
            Layer::ToolResults => "tool results",
            Layer::Microcompaction => "microcompaction",
            Layer::SessionNotes => "session notes",
            Layer::Compaction => "compaction",
            Layer::Collapse => "collapse",
            Layer::Snip => "snip",
            Layer::Extraction => "extraction",
            Layer::Dreaming => "dreaming",
            Layer::Agents => "agents",
            Layer::Recall => "recall",
            Layer::Lifetime => "cache lifetime",
            Layer::Other => "other",
        }
    }

    /// Whose call it was, by its query source.
    pub fn of_source(source: &str) -> Self {
        match source {
            "session_notes" => Layer::SessionNotes,
            "compact" => Layer::Compaction,
            "extract" => Layer::Extraction,
            "dream" => Layer::Dreaming,
            "select" => Layer::Recall,
            source if source.starts_with("agent") => Layer::Agents,
            _ => Layer::Other,
        }
    }
}

/// How sure a figure is, surest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// We counted it.
    #[default]
    Counted,
    /// The provider reported it.
    Reported,
    /// It is an estimate.
    Estimated,
}

impl Certainty {
    /// The certainty in one word.
    pub fn word(self) -> &'static str {
        match self {
            Certainty::Counted => "counted",
            Certainty::Reported => "reported",
            Certainty::Estimated => "estimated",
        }
    }
}

/// Dollars per million tokens of context, for a token that is sent or spared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// When the cache has it.
    pub read: f64,
    /// When it does not.
    pub write: f64,
    /// What an hour in the cache costs more than five minutes.
    #[serde(default)]
    pub premium: Option<f64>,
}

/// One answered model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Called {
    /// When it was answered.
    pub at: Timestamp,
    /// Who asked.
    pub source: String,
    /// Which model answered.
    pub model: String,
    /// What the provider counted.
    pub usage: Usage,
    /// What it cost, where every price is known.
    #[serde(default)]
    pub money: Option<f64>,
    /// What a token more or less would have cost.
    #[serde(default)]
    pub rates: Option<Rates>,
    /// How long it took.
    #[serde(default)]
    pub duration_ms: u64,
    /// How many tokens the fingerprints promised to be read from the cache.
    #[serde(default)]
    pub promised: Option<u64>,
    /// Whether the cache could still hold anything.
    #[serde(default)]
    pub warmth: Option<Warmth>,
    /// Where the window would have been compacted, in tokens: nothing beyond it was ever saved.
    #[serde(default)]
    pub threshold: Option<u64>,
    /// How many tokens the system prompt and the tools were of it, which no compaction makes fewer.
    #[serde(default)]
    pub opening: u64,
    /// Tokens read from the cache that only the hour-long lifetime had kept.
    #[serde(default)]
    pub outlived: u64,
    /// Which agent asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl Called {
    /// A receipt at the model's prices.
    pub fn of(at: Timestamp, call: &Call, prices: Option<Prices>, ttl: Ttl, took: Duration) -> Self {
        let rates = prices.and_then(|prices| {
            let premium = prices.write_1h.zip(prices.write_5m).map(|(long, short)| long - short);
            Some(Rates { read: prices.read?, write: prices.write(ttl)?, premium })
        });
        Self {
            at,
            source: call.source.clone(),
            model: call.model.clone(),
            usage: call.usage,
            money: prices.and_then(|prices| prices.cost(&call.usage)),
            rates,
            duration_ms: took.as_millis().try_into().unwrap_or(u64::MAX),
            promised: None,
            warmth: None,
            threshold: None,
            opening: 0,
            outlived: 0,
            agent: None,
        }
    }

    /// The person's own conversation.
    pub fn is_main(&self) -> bool {
        self.source == Call::MAIN
    }

    /// How much of the promised prefix was read from the cache, in percent.
    pub fn prefix_percent(&self) -> Option<u64> {
        let promised = self.promised.filter(|promised| *promised > 0)?;
        Some(100 * self.usage.cache_read.min(promised) / promised)
    }

    /// A call nobody but the engine wanted. What sub-agents do is the person's work.
    pub fn is_ours(&self) -> bool {
        !self.is_main() && !self.source.starts_with("agent:")
    }
}

/// Whether what was removed had been sent before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sent {
    /// Never: it would have been written to the cache once.
    Never,
    /// It had: only its repetition is spared.
    Before,
}

/// What the planner expected of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// What it was to save.
    pub saving: f64,
    /// What it was to cost.
    pub cost: f64,
    /// In what.
    pub unit: Unit,
}

impl From<Verdict> for Forecast {
    fn from(verdict: Verdict) -> Self {
        Self { saving: verdict.predicted_saving, cost: verdict.rewrite_cost, unit: verdict.unit }
    }
}

/// Tokens left the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Removed {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub layer: Layer,
    /// How many, what came in their place subtracted.
    pub tokens: u64,
    /// Whether they had been sent before.
    pub sent: Sent,
    /// How sure the count is.
    pub certainty: Certainty,
    /// What was expected of it, where the planner decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
}

/// Tokens of one layer, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// When.
    pub at: Timestamp,
    /// Whose doing.
    pub layer: Layer,
    /// How many.
    pub tokens: u64,
}

/// A row of the ledger. Kinds of newer versions are skipped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "row", rename_all = "snake_case")]
pub enum Row {
    /// A model call was answered.
    Called(Called),
    /// Tokens left the window.
    Removed(Removed),
    /// We damaged a warm cache: these tokens had to be written again.
    Rewrote(Share),
    /// The model needed what was hidden and read it again.
    ReadBack(Share),
    /// A removal was undone.
    Restored(Share),
    /// The cache gave less than it promised.
    Broke {
        /// When.
        at: Timestamp,
        /// Whose call.
        source: String,
        /// What happened.
        lost: Break,
    },
    /// A break we announced.
    Announced {
        /// When.
        at: Timestamp,
        /// Why.
        cause: Cause,
    },
    /// From a newer version.
    #[serde(other)]
    Unknown,
}

impl Row {
    /// When it was booked.
    pub fn at(&self) -> Option<Timestamp> {
        match self {
            Row::Called(called) => Some(called.at),
            Row::Removed(removed) => Some(removed.at),
            Row::Rewrote(share) | Row::ReadBack(share) | Row::Restored(share) => Some(share.at),
            Row::Broke { at, .. } | Row::Announced { at, .. } => Some(*at),
            Row::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::StopReason;

    pub(super) fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_790_000_000 + second).unwrap()
    }

    pub(super) fn prices() -> Prices {
        Prices { input: Some(4.0), write_5m: Some(5.0), write_1h: Some(8.0), read: Some(0.5), output: Some(20.0) }
    }

    /// A call at the prices above.
    pub(super) fn called(second: i64, source: &str, usage: Usage) -> Called {
        let call = Call { source: source.into(), model: "opus".into(), usage, stop: StopReason::EndTurn, cleared: 0 };
        Called::of(at(second), &call, Some(prices()), Ttl::FiveMinutes, Duration::from_millis(1_500))
    }

    pub(super) fn removed(second: i64, layer: Layer, tokens: u64, sent: Sent) -> Row {
        Row::Removed(Removed { at: at(second), layer, tokens, sent, certainty: Certainty::Counted, forecast: None })
    }

    pub(super) fn share(second: i64, layer: Layer, tokens: u64) -> Share {
        Share { at: at(second), layer, tokens }
    }

    // spec: H4
    #[test]
    fn a_call_has_its_source_tokens_money_and_duration() {
        let usage = Usage { input: 1_000, cache_read: 100_000, cache_write_5m: 2_000, cache_write_1h: 0, output: 500 };
        let row = called(0, "extract", usage);
        assert_eq!((row.source.as_str(), row.usage, row.duration_ms), ("extract", usage, 1_500));
        assert!((row.money.unwrap() - (0.004 + 0.05 + 0.01 + 0.01)).abs() < 1e-12);
        assert_eq!(row.rates, Some(Rates { read: 0.5, write: 5.0, premium: Some(3.0) }));
        let call = Call { source: "main".into(), model: "own".into(), usage, stop: StopReason::EndTurn, cleared: 0 };
        let unpriced = Called::of(at(0), &call, None, Ttl::FiveMinutes, Duration::ZERO);
        assert_eq!((unpriced.money, unpriced.rates), (None, None));
    }

    #[test]
    fn sources_belong_to_layers_and_to_somebody() {
        let table = [
            ("main", Layer::Other, false),
            ("session_notes", Layer::SessionNotes, true),
            ("compact", Layer::Compaction, true),
            ("extract", Layer::Extraction, true),
            ("dream", Layer::Dreaming, true),
            ("select", Layer::Recall, true),
            ("agent:explore", Layer::Agents, false),
            ("agent_summary", Layer::Agents, true),
        ];
        for (source, layer, ours) in table {
            let call = called(0, source, Usage::default());
            assert_eq!((Layer::of_source(source), call.is_ours()), (layer, ours), "{source}");
        }
    }

    #[test]
    fn rows_of_newer_versions_are_read_as_far_as_they_are_known() {
        let rows = [
            r#"{"row":"teleported","at":"2026-01-01T00:00:00Z"}"#,
            r#"{"row":"rewrote","at":"2026-01-01T00:00:00Z","layer":"telepathy","tokens":7,"mood":"new"}"#,
        ];
        let read: Vec<Row> = rows.iter().map(|row| serde_json::from_str(row).unwrap()).collect();
        assert_eq!(read[0], Row::Unknown);
        assert!(matches!(&read[1], Row::Rewrote(Share { layer: Layer::Other, tokens: 7, .. })));
    }
}
