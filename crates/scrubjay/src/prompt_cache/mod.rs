//! What providers keep of a prompt between two requests: how a request asks for it, and what it can expect.

pub mod bill;
pub mod breakpoints;
pub mod fingerprint;
pub mod planner;
pub mod prices;
pub mod rules;
