//! What the session left in the memory, and what the dream made of it.

use super::play::Played;
use crate::failure::Failure;
use crate::memories::dreams;
use scrubjay::memory::{FileDiff, SharedMemory};
use serde::Serialize;

/// A memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Remembered {
    pub(super) path: String,
    pub(super) description: String,
    /// It rests on what the person said, or they have agreed to it.
    pub(super) is_confirmed: bool,
}

pub(super) fn remembered(memory: &SharedMemory) -> Vec<Remembered> {
    memory.with(|memory| {
        let one = |entry: &scrubjay::memory::Entry, is_confirmed| Remembered {
            path: entry.path.clone(),
            description: entry.description.clone(),
            is_confirmed,
        };
        let known = memory.list().map(|entry| one(entry, true));
        known.chain(memory.unconfirmed().map(|entry| one(entry, false))).collect()
    })
}

/// What a dream did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Dreamt {
    /// What landed.
    pub(super) changed: Vec<Changed>,
    /// What waits for the person.
    pub(super) proposed: Vec<Changed>,
    /// Why it waits.
    pub(super) reasons: Vec<String>,
    /// What it left for the person to judge.
    pub(super) findings: Vec<String>,
    pub(super) usd: f64,
}

/// What became of a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Changed {
    pub(super) path: String,
    /// As `diff -u` shows it.
    pub(super) diff: String,
    /// Whether it is gone.
    pub(super) is_gone: bool,
}

impl Changed {
    fn of(diff: &FileDiff) -> Self {
        Self { path: diff.path.clone(), diff: diff.to_string(), is_gone: diff.after.is_none() }
    }
}

pub(super) fn dreamt(played: &Played) -> Result<Option<Dreamt>, Failure> {
    let (Some(night), Some(memory)) = (&played.night, &played.stage.memory) else { return Ok(None) };
    let landed = &night.landed;
    let diffs = match &landed.receipt {
        Some(receipt) => memory.with(|memory| memory.diff(receipt.change))?,
        None => Vec::new(),
    };
    let proposal = landed.proposal.iter();
    let mut changed: Vec<Changed> = diffs.iter().map(Changed::of).collect();
    let steps = proposal.clone().flat_map(|proposal| dreams::diffs(&proposal.steps));
    let mut proposed: Vec<Changed> = steps.map(|diff| Changed::of(&diff)).collect();
    changed.sort_by_key(|one| one.is_gone);
    proposed.sort_by_key(|one| one.is_gone);
    // What the dream has settled is no question any more.
    let is_open = |finding: &String| !changed.iter().any(|one: &Changed| finding.contains(&one.path));
    let findings = landed.report.findings.iter().map(ToString::to_string).filter(is_open).collect();
    Ok(Some(Dreamt {
        changed,
        proposed,
        reasons: proposal.flat_map(|proposal| proposal.reasons.clone()).collect(),
        findings,
        usd: night.usd,
    }))
}
