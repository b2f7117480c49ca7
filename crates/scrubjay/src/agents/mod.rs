//! What: agents that work beside the conversation: forks that share its cached prefix, and kinds of agents with a prompt,
//!   tools, a model and a memory of their own.
//! When: a layer sends a fork, or the model calls the tool `Agent`.
//! Cost: what the agents ask of models; a fork reads the conversation from the cache.
//! Spares: everything an agent read and tried stays out of the conversation; only its report enters.
//! Leaves: a record of each agent beside the session's, and its calls in the ledger.

pub mod background;
pub mod definition;
pub mod fork;
pub mod jobs;
pub mod letters;
pub mod memory;
pub mod reach;
pub mod roster;
pub mod staff;
pub mod tool;
pub(crate) mod watched;
pub mod words;
pub mod worktree;

pub use definition::{Definition, Definitions, Folders, Scope};
pub use letters::tool::SendMessage as SendMessageTool;
pub use letters::{Letter, Mailbox};
pub use memory::Memories;
pub use roster::{Glance, Roster, State};
pub use staff::Staff;
pub use tool::Agent as AgentTool;
