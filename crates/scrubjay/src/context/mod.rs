//! Layers 1 to 4: what keeps a conversation within its window, cheapest remedy first.

pub mod compaction;
pub mod microcompaction;
pub mod tool_results;
pub mod notes;
pub mod session_notes;

use crate::desk::Desk;
use crate::tokens::Budget;
use crate::transcript::Transcript;

/// The conversation does not fit and nothing that is switched on can make it fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the conversation is {used} tokens and the window takes {refusal}: the request was not sent. \
     Shorten it with /compact, start afresh with /clear, or choose a model with a larger window with /model"
)]
pub struct Full {
    /// What the conversation measures.
    pub used: u64,
    /// What still would be sent.
    pub refusal: u64,
}

/// Where a conversation stands in the window of the model at the desk.
pub fn budget(transcript: &Transcript, desk: &Desk) -> Budget {
    Budget::new(desk.model.window(), transcript.view().count.total(), &desk.limits)
}

/// Whether the next request would still be sent.
pub fn fits(transcript: &Transcript, desk: &Desk) -> Result<(), Full> {
    let Budget { used, refusal, .. } = budget(transcript, desk);
    if used > refusal { Err(Full { used, refusal }) } else { Ok(()) }
}
