//! Layers 1 to 4: what keeps a conversation within its window, cheapest remedy first.

pub mod collapse;
pub mod compaction;
pub mod microcompaction;
pub mod tool_results;
pub mod notes;
pub mod questions;
pub mod session_notes;
pub mod snip;
pub mod spans;

use crate::desk::Desk;
use crate::limits::Limits;
use crate::settings::{Amount, Settings, key};
use crate::tokens::{Budget, ContextWindow};
use crate::tool::Tool;
use crate::transcript::Transcript;
use std::sync::Arc;

/// The conversation does not fit and nothing that is switched on can make it fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the conversation is {used} tokens and the window takes {refusal}: the request was not sent. \
     Shorten it with /compact, /fold or /snip, start afresh with /clear, or take a larger window with /model"
)]
pub struct Full {
    /// What the conversation measures.
    pub used: u64,
    /// What still would be sent.
    pub refusal: u64,
}

/// Where a conversation stands in the window of the model at the desk.
pub fn budget(transcript: &Transcript, desk: &Desk) -> Budget {
    budget_of(desk.model.window(), transcript.view().count.total(), &desk.settings, &desk.limits)
}

/// Where `used` tokens stand in a window, as far as settings let it be used and before it is compacted.
pub fn budget_of(window: ContextWindow, used: u64, settings: &Settings, limits: &Limits) -> Budget {
    let wanted = settings.number(&key::CONTEXT_WINDOW);
    let size = if wanted == 0 { window.size } else { window.size.min(wanted) };
    let budget = Budget::new(ContextWindow { size, ..window }, used, limits);
    let line = match settings.amount(&key::CONTEXT_COMPACT_AT) {
        None => return budget,
        Some(Amount::Tokens(tokens)) => tokens,
        Some(Amount::Percent(share)) => budget.effective.saturating_mul(share) / 100,
    };
    budget.compacting_at(line, limits.compact_at_least, limits)
}

/// Whether the next request would still be sent.
pub fn fits(transcript: &Transcript, desk: &Desk) -> Result<(), Full> {
    let Budget { used, refusal, .. } = budget(transcript, desk);
    if used > refusal { Err(Full { used, refusal }) } else { Ok(()) }
}

/// Whether a full window is compacted without being asked: collapse, which folds instead, excludes it.
pub fn compacts_by_itself(settings: &Settings) -> bool {
    settings.flag(&key::COMPACTION) && !settings.flag(&key::COLLAPSE)
}

/// The tools of the layers that are switched on. They are part of the cached prefix, so they are listed from a session's
/// start or not at all.
pub fn tools(settings: &Settings) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if settings.flag(&key::COLLAPSE) {
        tools.push(Arc::new(collapse::Unfold::new()));
    }
    if settings.flag(&key::SNIP) {
        tools.push(Arc::new(snip::Snip::new()));
    }
    tools
}
