//! scrubjay: seven layers of memory for language-model agents.
//!
//! A session is a transcript: a list of things that happened, only ever appended to. What the model sees is a fold over
//! that list. So resume is reading a file, a fork is the same prefix and one more message, and the bytes of a request never
//! change once they were sent, unless an entry declares why.
//!
//! The engine knows no socket, terminal, environment, home directory or wall clock: a [`desk::Desk`] holds what it is
//! given, and a [`Session`] does the rest. `scrubjay-providers` connects models; the program `scrubjay` is in
//! `scrubjay-cli`.
//!
//! # A complete agent
//!
//! With tools, permissions and a memory that lasts:
//!
#![doc = concat!("```\n", include_str!("../examples/agent.rs"), "```")]
//!
//! # The layers, cheapest first
//!
//! Each can be used alone; `examples/` has one file for each.
//!
//! | | layer | where |
//! | --- | --- | --- |
//! | 1 | large tool results go to disk | [`context::tool_results`] |
//! | 2 | old results are cleared when it pays | [`context::microcompaction`] |
//! | 3 | running notes of the session | [`context::session_notes`] |
//! | 4 | a checked summary takes the place of what was said | [`context::compaction`] |
//! | 5 | what was said becomes a memory that cites it | [`memory::extraction`] |
//! | 6 | the memory is put in order | [`memory::dreaming`] |
//! | 7 | agents that fork, write to each other and remember | [`agents`] |
//!
//! Modules are listed in reading order; each uses only what stands above it.

// words
pub mod limits;
pub mod clock;
pub mod dates;
pub mod digest;
pub mod fence;
pub mod frontmatter;
pub mod secrets;
pub mod paths;
pub(crate) mod git;
pub mod withheld;
pub(crate) mod prose;
pub mod settings;
pub mod message;
pub mod tokens;
// the record
pub mod transcript;
pub mod foreign;
// the request
pub mod prompts;
pub mod prompt;
pub mod prompt_cache;
pub mod ledger;
// the seams
pub mod model;
pub mod tool;
pub mod gate;
pub mod event;
pub mod hooks;
pub mod errand;
pub mod desk;
// hands
pub mod tools;
pub mod permission;
// the layers
pub mod context;
pub mod memory;
pub mod instructions;
// the doing
pub mod turn;
pub mod agents;
pub mod query_loop;

pub use query_loop::{Answer, Compacted, Error, Instructed, Interrupt, Learns, Remembering, Session};
