//! Layer 4, full compaction: old messages give way to a summary that is checked against them.
//!
//! What: nine sections, the person's words verbatim, standing constraints pinned; made by a model or from the transcript.
//! When: the window is nearly full and the notes cannot serve, or the person asks.
//! Cost: one call of a summariser, or nothing where there is no model.
//! Spares: the window; every later request carries the summary and not the messages.
//! Leaves: the transcript as it was, and a report of what was kept and what was dropped.

mod allocation;
mod cover;
pub(crate) mod findings;
mod offers;
pub mod anchors;
pub mod boundary;
pub mod constraints;
pub mod deeds;
pub mod extract;
pub mod fidelity;
pub mod from_notes;
mod lifting;
pub mod quotes;
pub mod restore;
pub mod rounds;
pub mod sections;
mod summariser;
pub mod todo;
