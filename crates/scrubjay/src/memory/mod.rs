//! What is kept across sessions.

pub mod recall;
