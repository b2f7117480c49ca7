//! scrubjay: seven layers of memory for language-model agents.
//!
//! A session is a transcript: a list of things that happened, only ever appended to. What the model sees is a fold over
//! that list. Modules are listed in reading order; each uses only what stands above it.

// words
pub mod limits;
pub mod clock;
pub mod dates;
pub mod digest;
pub mod fence;
pub mod frontmatter;
pub mod secrets;
pub mod paths;
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
