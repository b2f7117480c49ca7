//! Agents that work beside the conversation: forks that share its cached prefix, and the bench they wait on.

pub mod background;
pub mod fork;
