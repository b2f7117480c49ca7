//! The receipt: what the session took with the layers and without them, what the ledger nets out, what broke the cache, and
//! whether everything that left the window is still there.

use super::play::Played;
use scrubjay::ledger::Row;
use scrubjay::ledger::savings::{Account, Savings};
use scrubjay::message::{MessageId, ToolCallId, Usage};
use scrubjay::model::Model as _;
use scrubjay::transcript::{Entry, Record};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// What a session was billed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct Bill {
    pub(super) calls: u64,
    /// All that was sent, however it was billed.
    pub(super) sent: u64,
    /// Of it, read from the cache.
    pub(super) read: u64,
    /// What the model wrote.
    pub(super) written: u64,
    pub(super) usd: f64,
    /// Of it, calls that nobody but scrubjay wanted.
    pub(super) own_usd: f64,
    pub(super) compactions: u64,
}

impl Bill {
    /// What the record says was billed.
    pub(super) fn of(played: &Played) -> Self {
        let prices = played.stage.actor.prices().unwrap_or_default();
        let transcript = played.stage.session.transcript();
        let mut bill = Self::default();
        for ((source, _), spent) in &transcript.view().spent {
            let Usage { cache_read, output, .. } = spent.usage;
            let usd = prices.cost(&spent.usage).unwrap_or_default();
            bill.calls += spent.calls;
            bill.sent += spent.usage.total_input();
            bill.read += cache_read;
            bill.written += output;
            bill.usd += usd;
            if source != "main" && !source.starts_with("agent:") {
                bill.own_usd += usd;
            }
        }
        let is_compaction = |record: &&Record| matches!(record.entry, Entry::Compacted(_));
        bill.compactions = transcript.records().iter().filter(is_compaction).count() as u64;
        bill
    }
}

/// What ended cached prefixes: how often, by cause; and how often that was not announced before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Breaks {
    pub(super) announced: BTreeMap<&'static str, u64>,
    pub(super) unexplained: u64,
    /// Gaps in which the provider's cache ran out by itself.
    pub(super) expired: u64,
}

impl Breaks {
    fn of(rows: &[Row]) -> Self {
        let mut breaks = Self::default();
        for row in rows {
            match row {
                Row::Announced { cause, .. } => *breaks.announced.entry(cause.word()).or_default() += 1,
                Row::Broke { lost, .. } if lost.cause == scrubjay::transcript::Cause::Ttl => breaks.expired += 1,
                Row::Broke { .. } => breaks.unexplained += 1,
                _ => {}
            }
        }
        breaks
    }
}

/// What left the window, looked up again where it lies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Recoverable {
    /// Stored results whose file holds as many bytes as were stored.
    pub(super) stored: u64,
    pub(super) stored_bytes: u64,
    /// Cleared results that the record holds whole.
    pub(super) cleared: u64,
    /// Compacted messages that the record holds.
    pub(super) compacted: u64,
    /// Anything that is not there.
    pub(super) lost: u64,
}

impl Recoverable {
    fn of(records: &[Record]) -> Self {
        let (mut found, mut said, mut answered) =
            (Self::default(), BTreeMap::<&MessageId, usize>::new(), BTreeSet::new());
        for record in records {
            match &record.entry {
                Entry::Said(message) => {
                    said.insert(&message.id, said.len());
                    answered.extend(message.tool_results().map(|result| result.call.clone()));
                }
                Entry::Spilled(spilled) => found.count_stored(&spilled.file, spilled.bytes),
                Entry::Cleared { results, .. } => found.count_cleared(results, &answered),
                // What stands before its end was replaced by it or by an earlier one.
                Entry::Compacted(compaction) => match said.get(&compaction.last) {
                    Some(end) => found.compacted = found.compacted.max(*end as u64 + 1),
                    None => found.lost += 1,
                },
                _ => {}
            }
        }
        found
    }

    fn count_stored(&mut self, file: &Path, bytes: u64) {
        if std::fs::metadata(file).is_ok_and(|file| file.len() == bytes) {
            (self.stored, self.stored_bytes) = (self.stored + 1, self.stored_bytes + bytes);
        } else {
            self.lost += 1;
        }
    }

    fn count_cleared(&mut self, results: &[ToolCallId], answered: &BTreeSet<ToolCallId>) {
        let there = results.iter().filter(|call| answered.contains(*call)).count() as u64;
        self.cleared += there;
        self.lost += results.len() as u64 - there;
    }
}

/// All of it.
pub(super) struct Receipt {
    pub(super) with: Bill,
    /// Played a second time with the layers off.
    pub(super) without: Bill,
    pub(super) savings: Savings,
    pub(super) breaks: Breaks,
    pub(super) recoverable: Recoverable,
}

impl Receipt {
    pub(super) fn of(played: &Played, without: Bill) -> Self {
        let session = &played.stage.session;
        Self {
            with: Bill::of(played),
            without,
            savings: Account::of(session.ledger()).savings().clone(),
            breaks: Breaks::of(session.ledger()),
            recoverable: Recoverable::of(session.transcript().records()),
        }
    }
}

/// The messages that a record holds, in order.
pub(super) fn said(records: &[Record]) -> Vec<Arc<scrubjay::message::Message>> {
    let said = records.iter().filter_map(|record| match &record.entry {
        Entry::Said(message) => Some(message.clone()),
        _ => None,
    });
    said.collect()
}
