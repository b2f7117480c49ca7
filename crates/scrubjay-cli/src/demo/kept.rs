//! What a compaction kept and a plain summary of the same length would have lost: found by the engine's own fidelity check,
//! applied to both.

use super::plain;
use super::receipt::said;
use scrubjay::context::compaction::extract::{room, summarise};
use scrubjay::context::compaction::fidelity::{Finding, Report, What, check};
use scrubjay::limits::Limits;
use scrubjay::message::{Message, MessageId};
use scrubjay::transcript::{Compaction, Entry, Transcript};
use std::path::Path;
use std::sync::Arc;

/// How many are shown.
const SHOWN: usize = 5;
/// How many of one kind, as long as there are others.
const ALIKE: usize = 2;

/// Both summaries, compared.
pub(super) struct Kept {
    /// Which compactions were looked at; none: what one would do now.
    pub(super) compactions: usize,
    /// How much of what mattered each kept, weighed, from 0 to 1.
    pub(super) ours: f64,
    pub(super) plain: f64,
    pub(super) things: Vec<Finding>,
    /// What paths below the project begin with.
    pub(super) root: String,
}

impl Kept {
    pub(super) fn of(transcript: &Transcript, root: &Path, limits: &Limits) -> Self {
        let records = transcript.records();
        let compactions: Vec<&Arc<Compaction>> = records
            .iter()
            .filter_map(|record| match &record.entry {
                Entry::Compacted(compaction) => Some(compaction),
                _ => None,
            })
            .collect();
        let all = said(records);
        let mut pairs: Vec<(Report, Report)> = Vec::new();
        let (mut from, mut before) = (0, None);
        for compaction in &compactions {
            let place = |id: &MessageId| all.iter().position(|message| message.id == *id);
            let end = place(&compaction.last).map_or(all.len(), |at| at + 1).max(from);
            // What an earlier one left in its place is replaced with the rest.
            let replaced: Vec<Arc<Message>> = before.take().into_iter().chain(all[from..end].iter().cloned()).collect();
            pairs.push(both(&replaced, &compaction.summary.text(), limits));
            (from, before) = (end, Some(compaction.summary.clone()));
        }
        if pairs.is_empty() {
            let ours = summarise(&all, room(limits), &|_| None, limits).map(|made| made.text).unwrap_or_default();
            pairs.push(both(&all, &ours, limits));
        }
        let mean = |score: &dyn Fn(&(Report, Report)) -> f64| pairs.iter().map(score).sum::<f64>() / pairs.len() as f64;
        Self {
            root: format!("{}/", root.display()),
            compactions: compactions.len(),
            ours: mean(&|(ours, _)| ours.score),
            plain: mean(&|(_, plain)| plain.score),
            things: chosen(pairs.iter().rev().flat_map(|(ours, plain)| {
                ours.kept
                    .iter()
                    .filter(|kept| plain.dropped.iter().any(|lost| (lost.what, &lost.text) == (kept.what, &kept.text)))
            })),
        }
    }
}

/// What ours kept, and what a plain summary in as many bytes did.
fn both(replaced: &[Arc<Message>], ours: &str, limits: &Limits) -> (Report, Report) {
    let plain = plain::summary(replaced, ours.len());
    (check(replaced, ours, limits), check(replaced, &plain, limits))
}

/// The weightiest, not too many of a kind, none twice.
fn chosen<'a>(candidates: impl Iterator<Item = &'a Finding>) -> Vec<Finding> {
    let mut all: Vec<&Finding> = candidates.collect();
    all.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    let mut things: Vec<Finding> = Vec::new();
    for most in [ALIKE, SHOWN] {
        for finding in &all {
            let alike = things.iter().filter(|known| known.what == finding.what).count();
            let known =
                things.iter().any(|known| known.text.contains(&finding.text) || finding.text.contains(&known.text));
            if things.len() < SHOWN && alike < most && !known {
                things.push((*finding).clone());
            }
        }
    }
    things
}

/// What kind of thing it is, to a person.
pub(super) fn in_words(what: What) -> &'static str {
    match what {
        What::Constraint => "your rule",
        What::UserMessage => "your words",
        What::Task => "open task",
        What::Commit => "commit",
        What::Measure => "value found",
        What::Finding => "finding",
        What::Anchor => "exact name",
    }
}
