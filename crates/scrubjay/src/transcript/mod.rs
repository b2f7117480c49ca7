//! The record of a session: entries, only ever appended, and the fold over them.

mod opening;

pub use opening::{Opening, Options, Thinking, ToolSpec, Ttl};
