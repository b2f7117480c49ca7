//! Counting, estimating, the context window.

use serde::{Deserialize, Serialize};

/// How much a model holds and how much it writes at once, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextWindow {
    /// Input and output together.
    pub size: u64,
    /// The most it writes in one reply.
    pub max_output: u64,
}
