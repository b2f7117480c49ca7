//! Landing: what passed its gates becomes one change in the journal, what did not becomes a proposal, and both happen only
//! while the lease is still ours.

use super::copy;
use super::proposal::{Proposal, Standing};
use super::seen::Seen;
use super::tidy::{self, Report};
use super::trial::{self, By, Refusal};
use super::world::{Step, World};
use super::{Dream, DreamError, Dreams, Judgement, Mode};
use crate::memory::provenance::{Basis, Source, Speaker, Trust};
use crate::memory::store::{Act, Age, Change, Edit, Receipt};
use crate::memory::{Cause, Memory, MemoryError, diff};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What a dream did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    /// What tidying found and did.
    pub report: Report,
    /// The change; `None` where nothing was to be changed.
    pub receipt: Option<Receipt>,
    /// What waits for the person.
    pub proposal: Option<Proposal>,
}

impl Landed {
    /// The memories it touched.
    pub fn touched(&self) -> Vec<String> {
        let outcomes = self.receipt.iter().flat_map(|receipt| &receipt.outcomes);
        outcomes.map(|outcome| outcome.path.clone()).collect()
    }

    /// Whether anybody needs to hear of it.
    pub fn is_news(&self) -> bool {
        self.receipt.is_some() || self.proposal.is_some()
    }
}

impl fmt::Display for Landed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.receipt {
            Some(receipt) => write!(f, "Dreamed: {receipt}")?,
            None => write!(f, "Dreamed: nothing was changed")?,
        }
        match &self.proposal {
            Some(proposal) => {
                write!(f, "; {} waits, because {}", proposal.id, proposal.reasons.join("; "))?;
                write!(f, " (`scrubjay dream --apply {}` or `--reject {}`)", proposal.id, proposal.id)
            }
            None => Ok(()),
        }
    }
}

/// What lands, what waits, and why.
#[derive(Default)]
struct Sorted {
    lands: Vec<Step>,
    waits: Vec<Step>,
    reasons: Vec<String>,
    /// Whether a model came to its end and what it made of the logs passed.
    distilled: bool,
}

impl Sorted {
    fn wait(&mut self, steps: Vec<Step>, reasons: impl IntoIterator<Item = String>) {
        if !steps.is_empty() {
            self.waits.extend(steps);
            self.reasons.extend(reasons);
        }
    }
}

impl Dream {
    /// Land it: what passed in one change, the rest as a proposal. If anything fails, nothing happened. Blocks.
    pub fn land(mut self, judgement: Judgement) -> Result<Landed, DreamError> {
        if self.stop.is_cancelled() {
            return Err(DreamError::Killed);
        }
        let sorted = self.sorted(judgement)?;
        let seen = self.seen_now(judgement);
        let read = if sorted.distilled { std::mem::take(&mut self.news.logs) } else { Vec::new() };
        let dreams = self.dreams.clone();
        let (report, at) = (self.report.clone(), dreams.clock.now());
        let mut proposal = Proposal::new(at, sorted.waits, sorted.reasons);
        let proposes = !proposal.steps.is_empty();
        if proposes {
            proposal.tried = self.tried(&proposal.steps);
        }
        let lands = sorted.lands;
        self.lease.commit(|| {
            let kept = proposes && proposal.keep(&dreams.place.dreams).map_err(keeping)?;
            let otherwise = if proposes { "proposed, changed nothing" } else { "found nothing to change" };
            let (receipt, at) = dreams.memory.with(|memory| commit(memory, &lands, otherwise))?;
            if dreams.mode != Mode::Propose {
                dreams.memory.with(|memory| memory.rank_index())?;
            }
            // Best effort: a dream that forgets what it has seen looks once more.
            seen.write(&dreams.place.dreams).unwrap_or_default();
            dreams.memory.with(|memory| memory.mark_logs_read(&read)).unwrap_or_default();
            Ok((Landed { report, receipt, proposal: kept.then_some(proposal) }, at))
        })
    }

    /// Sort steps by whether they may land by themselves.
    fn sorted(&mut self, judgement: Judgement) -> Result<Sorted, DreamError> {
        let mut sorted = Sorted::default();
        let tidied = std::mem::take(&mut self.tidied);
        if self.refused.is_empty() {
            sorted.lands = tidied;
        } else {
            sorted.wait(tidied, self.refused.iter().map(Refusal::to_string));
        }
        if judgement != Judgement::Nobody {
            let (judged, refusals) = self.judged(judgement)?;
            sorted.distilled = refusals.is_empty();
            if refusals.is_empty() {
                sorted.lands = combined(std::mem::take(&mut sorted.lands), judged, &self.world);
            } else {
                sorted.wait(judged, refusals.iter().map(Refusal::to_string));
            }
        }
        sorted.lands.retain(|step| !step.is_removal() || !self.world.is_declined(step));
        match self.dreams.mode {
            Mode::Auto => {}
            Mode::Additive => {
                let removals: Vec<Step> = sorted.lands.extract_if(.., |step| step.is_removal()).collect();
                sorted.wait(removals, ["memories are removed only by the person".to_owned()]);
            }
            Mode::Propose => {
                let tidied = std::mem::take(&mut sorted.lands);
                // What a model did further to a memory that code tidied is one step.
                let all = combined(tidied, std::mem::take(&mut sorted.waits), &self.world);
                sorted.wait(all, ["dreams propose here, and change nothing by themselves".to_owned()]);
            }
        }
        Ok(sorted)
    }

    /// What a model did to the copy, and what speaks against it.
    fn judged(&self, judgement: Judgement) -> Result<(Vec<Step>, Vec<Refusal>), DreamError> {
        let Dreams { limits, clock, zone, .. } = &self.dreams;
        let harvest = copy::harvest(&self.workplace.path(), &self.tidy_world, &self.evidence, limits);
        let (steps, mut refusals) = harvest.map_err(|error| DreamError::io("reading what the model left", error))?;
        let now = clock.now().to_zoned(zone.clone());
        refusals.extend(trial::trial(&self.tidy_world, &steps, By::Model, &now, limits));
        if judgement == Judgement::Unfinished {
            refusals.push(Refusal::Unfinished);
        }
        Ok((steps, refusals))
    }

    /// What the next dream need not look at again. What no model was shown is not judged.
    fn seen_now(&self, judgement: Judgement) -> Seen {
        let mut seen = self.seen.clone();
        if judgement == Judgement::Nobody {
            return seen;
        }
        let key = |finding| tidy::key(finding, &self.tidy_world);
        let current: BTreeSet<String> = self.report.findings.iter().map(key).collect();
        seen.judged.retain(|judged| current.contains(judged));
        let most = usize::try_from(self.dreams.limits.dream_findings).unwrap_or(usize::MAX);
        seen.judged.extend(self.open.iter().take(most).map(key));
        seen
    }
}

fn keeping(error: std::io::Error) -> DreamError {
    DreamError::io("keeping the proposal", error)
}

/// The model's steps began where code's ended; together they begin at what is on disk.
fn combined(tidied: Vec<Step>, judged: Vec<Step>, world: &World) -> Vec<Step> {
    let mut steps: BTreeMap<String, Step> = tidied.into_iter().map(|step| (step.path.clone(), step)).collect();
    for step in judged {
        let was = world.memories.get(&step.path);
        let mut merged = steps.remove(&step.path).map(|step| step.merged).unwrap_or_default();
        merged.extend(step.merged.iter().cloned());
        let (base, before) = (was.map(|known| known.entry.digest.clone()), was.map(|known| known.text.clone()));
        steps.insert(step.path.clone(), Step { base, before, merged, ..step });
    }
    // What code merged into a memory that the model merged further follows it.
    let further: BTreeMap<String, String> =
        steps.values().filter_map(|step| Some((step.path.clone(), step.into.clone()?))).collect();
    for step in steps.values_mut() {
        if let Some(next) = step.into.as_ref().and_then(|into| further.get(into)) {
            step.into = Some(next.clone());
        }
    }
    steps.into_values().collect()
}

/// Make these steps one change, without those that somebody else has overtaken; if nothing changes, the journal says what happened
/// otherwise. Returns when it was.
fn commit(memory: &mut Memory, steps: &[Step], otherwise: &str) -> Result<(Option<Receipt>, Timestamp), DreamError> {
    memory.refresh()?;
    let edits = edits(memory, steps)?;
    let receipt = match edits.is_empty() {
        true => None,
        false => Some(memory.commit(Change { cause: Cause::Dream, edits })?).filter(Receipt::changed),
    };
    if receipt.is_none() {
        memory.slept(otherwise)?;
    }
    let at = memory.last_dream()?.unwrap_or(Timestamp::UNIX_EPOCH);
    Ok((receipt, at))
}

/// The edits of those steps that still make sense.
fn edits(memory: &Memory, steps: &[Step]) -> Result<Vec<Edit>, MemoryError> {
    let mut stands: BTreeSet<&str> = BTreeSet::new();
    for step in steps {
        if still_makes_sense(memory, step)? {
            stands.insert(&step.path);
        }
    }
    // A memory goes away only if whoever takes over what it says does so.
    let heir_stands = |step: &&Step| step.into.as_deref().is_none_or(|heir| stands.contains(heir));
    let steps = steps.iter().filter(|step| stands.contains(step.path.as_str())).filter(heir_stands);
    Ok(steps.map(|step| edit(memory, step)).collect())
}

/// Whether nobody changed the memory since, or in other lines only.
fn still_makes_sense(memory: &Memory, step: &Step) -> Result<bool, MemoryError> {
    let now = memory.text(&step.path)?;
    Ok(match (&step.base, now, &step.after) {
        (None, now, Some(_)) => now.is_none(),
        (Some(base), Some((entry, _)), None) => entry.digest == *base,
        (Some(base), Some((entry, now)), Some(after)) => {
            let before = step.before.as_deref().unwrap_or_default();
            entry.digest == *base || diff::merged(before, after, &now).is_some()
        }
        _ => false,
    })
}

fn edit(memory: &Memory, step: &Step) -> Edit {
    let act = step.after.clone().map_or(Act::Remove, Act::Save);
    let rests_on = step.after.as_ref().and_then(|_| basis(memory, step));
    let age = if step.keeps_age { Age::Kept } else { Age::New };
    Edit { path: step.path.clone(), base: step.base.clone(), act, rests_on, age }
}

/// Why what a dream found in conversations waits.
const DOUBT: &str = "a dream found it in a conversation that it read whole";

/// What a memory rests on once it took over others or quotes what was said. It is as trusted as the least trusted of them.
fn basis(memory: &Memory, step: &Step) -> Option<Basis> {
    if step.merged.is_empty() && step.sources.is_empty() {
        return None;
    }
    let mut sources: Vec<Source> = Vec::new();
    let mut trusts = Vec::new();
    for path in std::iter::once(&step.path).chain(&step.merged) {
        if let Some(basis) = memory.rests_on(path) {
            sources.extend(basis.sources.iter().cloned());
            trusts.push(basis.trust);
        }
        if *path != step.path {
            let speaker = Speaker::Memory(path.clone());
            sources.push(Source { speaker, session: String::new(), message: String::new(), quote: String::new() });
        }
    }
    // Whoever dreams reads whole conversations, not only the user's words.
    trusts.extend(step.sources.iter().map(|_| Trust::Tainted));
    sources.extend(step.sources.iter().cloned());
    let trust = Trust::least(trusts);
    let mut seen = Vec::new();
    sources.retain(|source| {
        !seen.contains(source) && {
            seen.push(source.clone());
            true
        }
    });
    let doubt = (!step.sources.is_empty()).then(|| DOUBT.to_owned());
    Some(Basis { sources, trust, doubt })
}

impl Dreams {
    /// Do what a proposal says, as far as nobody changed those memories since. Blocks.
    pub fn apply(&self, id: &str) -> Result<Receipt, DreamError> {
        let mut proposal = self.waiting(id)?;
        let receipt = self.memory.with(|memory| -> Result<Receipt, MemoryError> {
            memory.refresh()?;
            let mut edits = edits(memory, &proposal.steps)?;
            // The user's yes confirms what it rests on.
            edits.iter_mut().filter_map(|edit| edit.rests_on.as_mut()).for_each(Basis::confirm);
            memory.commit(Change { cause: Cause::Proposal { id: proposal.id.clone() }, edits })
        })?;
        self.decide(&mut proposal, Standing::Applied)?;
        Ok(receipt)
    }

    /// Never propose this again, nor do it unasked.
    pub fn reject(&self, id: &str) -> Result<(), DreamError> {
        self.decide(&mut self.waiting(id)?, Standing::Rejected)
    }

    fn decide(&self, proposal: &mut Proposal, standing: Standing) -> Result<(), DreamError> {
        (proposal.standing, proposal.decided) = (standing, Some(self.clock.now()));
        proposal.write(&self.place.dreams).map_err(keeping)
    }

    /// Let one that was decided on wait again.
    pub fn reopen(&self, id: &str) -> Result<(), DreamError> {
        let mut proposal = self.standing(id, &[Standing::Rejected, Standing::Applied])?;
        (proposal.standing, proposal.decided) = (Standing::Waiting, None);
        proposal.write(&self.place.dreams).map_err(keeping)
    }

    fn waiting(&self, id: &str) -> Result<Proposal, DreamError> {
        self.standing(id, &[Standing::Waiting])
    }

    /// The one that is called so, or begins so.
    fn standing(&self, id: &str, wanted: &[Standing]) -> Result<Proposal, DreamError> {
        let mut near = Proposal::standing(&self.place.dreams, wanted);
        near.retain(|proposal| !id.is_empty() && proposal.id.starts_with(id));
        near.pop().filter(|_| near.is_empty()).ok_or_else(|| DreamError::NoProposal(id.to_owned()))
    }
}

impl Memory {
    /// When the last dream landed, as the journal has it.
    pub fn last_dream(&self) -> Result<Option<Timestamp>, MemoryError> {
        Ok(self.log()?.iter().rev().find(|change| change.cause == Cause::Dream).map(|change| change.at))
    }

    /// Write down a dream that changed nothing, and what it did.
    fn slept(&mut self, what: &str) -> Result<(), MemoryError> {
        let _lock = self.folder.lock(self.patience())?;
        self.settle()?;
        let change = self.write_down(Cause::Dream, Vec::new(), vec![what.to_owned()])?;
        self.journal.done(change.id)?;
        self.read = self.journal.length()?;
        Ok(())
    }
}
