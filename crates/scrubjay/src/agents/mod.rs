//! Agents that work beside the conversation: forks that share its cached prefix, the bench they wait on, and the
//! cards by which they are watched.

pub mod background;
pub mod fork;
pub mod jobs;
