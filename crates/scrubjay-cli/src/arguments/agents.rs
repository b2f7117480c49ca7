//! What can be typed about kinds of agents.

use clap::{Args, Subcommand};

/// About kinds of agents.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// Every kind and where it comes from
    Ls,
    /// One kind: what it may do, and what it is told about itself
    Show {
        /// Which
        name: String,
    },
    /// Define a new kind in your editor, or from standard input
    Create(CreateFlags),
    /// Change a kind in your editor, or to what standard input says
    Edit {
        /// Which
        name: String,
    },
}

/// What a new kind is.
#[derive(Debug, Args)]
pub(crate) struct CreateFlags {
    /// What it is called: letters, digits, `-`, `_` and `:`
    pub(crate) name: String,
    /// When to use it; the model chooses by this
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub(crate) description: String,
    /// For this project, where it is committed and shared; without this it is yours in all projects
    #[arg(long)]
    pub(crate) project: bool,
}
