//! Before each request: make the transcript fit, cheapest remedy first.

pub mod compaction;
pub mod notes;

use crate::desk::Desk;
use crate::tokens::Budget;
use crate::transcript::Transcript;

/// The conversation does not fit and nothing that is switched on can make it fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the conversation is {used} tokens and the window takes {refusal}: the request was not sent. \
     Start afresh with /clear, or choose a model with a larger window with /model"
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

/// Make the transcript fit, or say that it does not.
pub fn prepare(transcript: &Transcript, desk: &Desk) -> Result<(), Full> {
    let budget = budget(transcript, desk);
    if budget.used > budget.refusal {
        return Err(Full { used: budget.used, refusal: budget.refusal });
    }
    Ok(())
}
