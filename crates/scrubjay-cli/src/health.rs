//! How well the engine does, as the receipts of a session say it: cache hits, compactions, breaks, the brake.

use crate::paper::grouped;
use jiff::Timestamp;
use scrubjay::ledger::book::{self, Book};
use scrubjay::ledger::brake::{self, State};
use scrubjay::ledger::{Row, health};
use scrubjay::limits::Limits;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// The figures that are always at hand.
pub(crate) struct Health {
    hits: Option<f64>,
    compactions: Option<f64>,
    brake: State,
    /// How often the cache gave less than it promised, and how many tokens that took, by cause.
    breaks: BTreeMap<&'static str, (u64, u64)>,
}

impl Health {
    pub(crate) fn of(rows: &[Row], now: Timestamp, limits: &Limits) -> Self {
        let mut breaks: BTreeMap<&'static str, (u64, u64)> = BTreeMap::new();
        for row in rows {
            if let Row::Broke { lost, .. } = row {
                let (times, tokens) = breaks.entry(lost.cause.word()).or_default();
                (*times, *tokens) = (*times + 1, *tokens + lost.lost_tokens);
            }
        }
        Self {
            hits: health::cache_hit_rate(rows),
            compactions: health::compactions_per_hour(rows, now),
            brake: brake::state(rows, limits),
            breaks,
        }
    }

    /// By the receipts beside a transcript. Receipts that cannot be read say nothing.
    pub(crate) fn beside(transcript: &Path, now: Timestamp, limits: &Limits) -> Self {
        let rows = book::read(&Book::path_of(transcript), limits).map(|reading| reading.records).unwrap_or_default();
        Self::of(&rows, now, limits)
    }

    /// The two figures in one line.
    pub(crate) fn line(&self) -> String {
        let hits = self.hits.map_or("n/a".to_owned(), |rate| format!("{:.0} %", rate * 100.0));
        let compactions = self.compactions.map_or("n/a".to_owned(), |rate| format!("{rate:.1}"));
        format!("cache hit rate {hits} (reported) · compactions an hour {compactions} (counted)")
    }

    /// The figures, and what a person should know besides.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.line()];
        lines.extend(self.breaks.iter().map(|(cause, (times, tokens))| {
            let tokens = grouped(*tokens);
            format!("the cache gave less than promised {times} times, {tokens} tokens (cause: {cause}; reported)")
        }));
        if let State::Tripped { at, reason } = &self.brake {
            lines.push(format!("the brake is on since {at:.0}: {reason}"));
        }
        lines
    }

    pub(crate) fn json(&self) -> Value {
        let breaks: serde_json::Map<String, Value> = self
            .breaks
            .iter()
            .map(|(cause, (times, tokens))| ((*cause).to_owned(), json!({ "times": times, "tokens": tokens })))
            .collect();
        let brake = match &self.brake {
            State::Released => Value::Null,
            State::Tripped { at, reason } => json!({ "since": at, "reason": reason.to_string() }),
        };
        json!({
            "cache_hit_rate": self.hits,
            "compactions_per_hour": self.compactions,
            "breaks": breaks,
            "brake": brake,
        })
    }
}
