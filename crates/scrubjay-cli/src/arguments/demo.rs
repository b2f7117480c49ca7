//! What can be typed about the demo.

use clap::{Args, ValueEnum, ValueHint};
use scrubjay::ledger;
use std::path::PathBuf;

/// How the demo is played.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DemoFlags {
    /// As fast as it goes
    #[arg(long)]
    pub(crate) fast: bool,
    /// Only the first N turns
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) turns: Option<u64>,
    /// Switch a layer off, by its name or number; can be given several times
    #[arg(long, value_enum, value_name = "LAYER")]
    pub(crate) without: Vec<Layer>,
    /// Keep the session, its memory and the project in this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) keep: Option<PathBuf>,
}

/// A layer, as people call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Layer {
    #[value(alias = "1")]
    ToolResults,
    #[value(alias = "2", alias = "clearing")]
    Microcompaction,
    #[value(alias = "3", alias = "session-notes")]
    Notes,
    #[value(alias = "4")]
    Compaction,
    #[value(alias = "5", alias = "memory")]
    Extraction,
    #[value(alias = "6", alias = "dreams")]
    Dreaming,
    #[value(alias = "7")]
    Agents,
}

impl Layer {
    /// Its number.
    pub(crate) fn number(self) -> u8 {
        self as u8 + 1
    }

    /// The same in the ledger's words.
    pub(crate) fn booked_as(self) -> ledger::Layer {
        match self {
            Layer::ToolResults => ledger::Layer::ToolResults,
            Layer::Microcompaction => ledger::Layer::Microcompaction,
            Layer::Notes => ledger::Layer::SessionNotes,
            Layer::Compaction => ledger::Layer::Compaction,
            Layer::Extraction => ledger::Layer::Extraction,
            Layer::Dreaming => ledger::Layer::Dreaming,
            Layer::Agents => ledger::Layer::Agents,
        }
    }

    /// The settings that switch it.
    pub(crate) fn settings(self) -> &'static [&'static str] {
        match self {
            Layer::ToolResults => &["layers.tool_results"],
            Layer::Microcompaction => &["layers.microcompaction_time", "layers.microcompaction_api"],
            Layer::Notes => &["layers.session_notes", "layers.notes_compaction"],
            Layer::Compaction => &["layers.compaction"],
            Layer::Extraction => &["layers.extraction", "layers.recall"],
            Layer::Dreaming => &["layers.dreaming"],
            Layer::Agents => &["layers.agents"],
        }
    }
}
