//! What can be typed about long-term memory.

use crate::memories::dreams::Wish;
use crate::memories::inbox;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use scrubjay::memory::{Kind, Scope};
use std::path::PathBuf;

fn kinds() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::NAMED.map(Kind::as_str)).map(|name| Kind::of(&name))
}

fn listed_kinds() -> impl TypedValueParser<Value = Kind> {
    let untyped = [Kind::Untyped.as_str()];
    PossibleValuesParser::new(Kind::NAMED.map(Kind::as_str).into_iter().chain(untyped)).map(|name| Kind::of(&name))
}

/// About memories.
#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// What is remembered
    Ls {
        /// Only memories of this type
        #[arg(long = "type", value_name = "TYPE", value_parser = listed_kinds())]
        kind: Option<Kind>,
        /// In which order
        #[arg(long, value_enum, default_value_t, value_name = "ORDER")]
        by: Order,
    },
    /// One memory: what it says, since when, and what it rests on
    Show {
        /// Its file, its file without `.md`, or its title
        name: String,
    },
    /// Write a memory down
    Add(AddFlags),
    /// Change a memory in your editor, or to what standard input says
    Edit {
        /// Which
        name: String,
        #[command(flatten)]
        trial: Trial,
    },
    /// Put memories into the trash
    Forget(ForgetFlags),
    /// Bring a memory back from the trash
    Restore {
        /// Which
        name: String,
        #[command(flatten)]
        trial: Trial,
    },
    /// What a change changed, line by line
    Diff {
        /// Its number in the log; the last one without it
        change: Option<u64>,
    },
    /// Every change, who made it and why, newest first
    Log {
        /// Only changes of this memory
        name: Option<String>,
    },
    /// Take a change back
    Undo(UndoFlags),
    /// Look for what is not as it should be
    Check(CheckFlags),
    /// What the index and each memory cost in tokens
    Tokens,
    /// Vouch for a memory that rests on what somebody else said
    Confirm {
        /// Which
        name: String,
    },
}

/// What to forget.
#[derive(Debug, Args)]
pub(crate) struct ForgetFlags {
    /// Which
    #[arg(required_unless_present = "source", value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Everything that rests on this, by way of other memories too: a session, a message, an address, a file, a tool,
    /// `web`, `file`, `assistant`, `team`, or a memory
    #[arg(long, value_name = "SOURCE", conflicts_with = "names")]
    pub(crate) source: Option<String>,
    #[command(flatten)]
    pub(crate) trial: Trial,
}

/// What a dream is to do.
#[derive(Debug, Args)]
#[command(
    after_help = "Without a flag it dreams now and changes nothing: what it would do waits as a proposal. A proposal is \
                        named by the beginning of its id; without one the newest is meant."
)]
pub(crate) struct DreamFlags {
    /// Do what a proposal says
    #[arg(long, value_name = "ID", num_args = 0..=1, conflicts_with_all = ["reject", "diff"])]
    apply: Option<Option<String>>,
    /// Never propose it again
    #[arg(long, value_name = "ID", num_args = 0..=1, conflicts_with_all = ["diff", "dry_run"])]
    reject: Option<Option<String>>,
    /// Show line by line what a proposal would change
    #[arg(long, value_name = "ID", num_args = 0..=1, conflicts_with = "dry_run")]
    diff: Option<Option<String>>,
    #[command(flatten)]
    pub(crate) trial: Trial,
}

impl DreamFlags {
    /// What the flags ask for.
    pub(crate) fn wish(&self) -> Wish {
        match (&self.apply, &self.reject, &self.diff) {
            (Some(id), _, _) => Wish::Apply(id.clone()),
            (_, Some(id), _) => Wish::Reject(id.clone()),
            (_, _, Some(id)) => Wish::Diff(id.clone()),
            _ if self.trial.dry_run => Wish::Rehearse,
            _ => Wish::Dream,
        }
    }
}

/// About what waits.
#[derive(Debug, Subcommand)]
pub(crate) enum InboxCommand {
    /// All of one
    Show {
        /// Its number, its name or the beginning of its id
        which: String,
    },
    /// Confirm memories, apply proposals
    #[command(visible_alias = "accept")]
    Keep(WhichFlags),
    /// Move memories to the trash, reject proposals
    #[command(visible_alias = "reject")]
    Drop(WhichFlags),
    /// Reopen a rejected proposal
    Reopen {
        /// Its id
        id: String,
    },
}

/// Which of the things that wait.
#[derive(Debug, Args)]
pub(crate) struct WhichFlags {
    /// Their numbers, names or ids
    #[arg(required_unless_present = "all")]
    which: Vec<String>,
    /// Everything that waits; at a terminal you are asked first
    #[arg(long, conflicts_with = "which")]
    all: bool,
}

impl WhichFlags {
    fn which(&self) -> inbox::Which {
        if self.all { inbox::Which::All } else { inbox::Which::These(self.which.clone()) }
    }
}

impl InboxCommand {
    /// What was asked for; a list without a word.
    pub(crate) fn wish(typed: Option<&Self>) -> inbox::Wish {
        match typed {
            None => inbox::Wish::List,
            Some(InboxCommand::Show { which }) => inbox::Wish::Show(which.clone()),
            Some(InboxCommand::Keep(flags)) => inbox::Wish::Keep(flags.which()),
            Some(InboxCommand::Drop(flags)) => inbox::Wish::Drop(flags.which()),
            Some(InboxCommand::Reopen { id }) => inbox::Wish::Reopen(id.clone()),
        }
    }
}

/// Whose memory it is to be, where a team is switched on.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Whose {
    /// For you alone
    #[arg(long)]
    private: bool,
    /// For everybody who works on this project
    #[arg(long, conflicts_with = "private")]
    team: bool,
}

impl Whose {
    /// What was said, if anything was.
    pub(crate) fn scope(self) -> Option<Scope> {
        match (self.private, self.team) {
            (true, _) => Some(Scope::Private),
            (_, true) => Some(Scope::Team),
            _ => None,
        }
    }
}

/// Whether it is only tried.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Trial {
    /// Show what would change; nothing is changed
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// A memory to write down.
#[derive(Debug, Args)]
pub(crate) struct AddFlags {
    /// What it is about; without it, a rule of thumb decides and says so
    #[arg(long = "type", value_name = "TYPE", value_parser = kinds())]
    pub(crate) kind: Option<Kind>,
    /// Its title; without it, the first words
    #[arg(long, value_name = "TITLE")]
    pub(crate) name: Option<String>,
    /// What it is about, in one specific line; recall and the index go by it
    #[arg(long, value_name = "LINE")]
    pub(crate) description: Option<String>,
    #[command(flatten)]
    pub(crate) whose: Whose,
    #[command(flatten)]
    pub(crate) trial: Trial,
    /// What to remember; `-` or nothing reads standard input
    #[arg(value_name = "TEXT")]
    pub(crate) text: Vec<String>,
}

/// Something to remember.
#[derive(Debug, Args)]
pub(crate) struct RememberFlags {
    /// What it is about; without it, a rule of thumb decides and says so
    #[arg(long = "type", value_name = "TYPE", value_parser = kinds())]
    pub(crate) kind: Option<Kind>,
    #[command(flatten)]
    pub(crate) whose: Whose,
    #[command(flatten)]
    pub(crate) trial: Trial,
    /// Save a file's text as your own words; `-` reads standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "text")]
    pub(crate) file: Option<PathBuf>,
    /// What to remember; `-` reads standard input
    #[arg(value_name = "TEXT", required_unless_present = "file")]
    pub(crate) text: Vec<String>,
}

/// Something to find.
#[derive(Debug, Args)]
pub(crate) struct RecallFlags {
    /// How many at most
    #[arg(short = 'k', long = "limit", value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) most: u16,
    /// Where to look
    #[arg(long = "in", value_enum, default_value_t, value_name = "WHERE")]
    pub(crate) place: RecallIn,
    /// Show why each was found: every signal and what it added
    #[arg(long)]
    pub(crate) explain: bool,
    /// Find by meaning too: the URL of an embedding service, or a folder with a local model
    #[arg(long, value_name = "URL|PATH")]
    pub(crate) embeddings: Option<String>,
    /// What to look for
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,
}

/// Where to look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecallIn {
    // What is remembered across sessions
    #[default]
    Memory,
    // The running notes of sessions
    Notes,
    // Tool results that were stored
    Results,
    // What was said
    Sessions,
    // All of it
    All,
}

/// A change to take back.
#[derive(Debug, Args)]
pub(crate) struct UndoFlags {
    /// Its number in `scrubjay memory log`; without it, the last change that was not taken back yet
    pub(crate) change: Option<u64>,
    /// The last change, said aloud
    #[arg(long, conflicts_with = "change")]
    pub(crate) last: bool,
    #[command(flatten)]
    pub(crate) trial: Trial,
}

/// How to look the memory over.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct CheckFlags {
    /// Put right what needs no judgement
    #[arg(long)]
    pub(crate) fix: bool,
}

/// What comes in.
#[derive(Debug, Args)]
pub(crate) struct ImportFlags {
    /// A folder of Markdown files (another agent's memory, a vault), a CLAUDE.md or AGENTS.md to refer to, or
    /// `claude` or `codex` for the folders those agents keep
    #[arg(value_name = "FROM", value_hint = ValueHint::AnyPath)]
    pub(crate) from: PathBuf,
    /// Confirm what comes in at once, without looking through it
    #[arg(long)]
    pub(crate) trust: bool,
    #[command(flatten)]
    pub(crate) trial: Trial,
}

/// What goes out.
#[derive(Debug, Args)]
pub(crate) struct ExportFlags {
    /// A folder that is new or empty, or `-` for standard output
    #[arg(value_name = "DIR|-", value_hint = ValueHint::DirPath)]
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) trial: Trial,
}

/// In which order memories are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    // The newest first
    #[default]
    Age,
    // By file name
    Name,
    // What was used most first
    Use,
}
