//! What can be typed: everyday verbs first.

use crate::compaction::Numbers;
use crate::sandbox::SandboxMode;
mod agents;
mod demo;
mod help;
mod memory;

pub(crate) use agents::{AgentsCommand, CreateFlags};
pub(crate) use demo::{DemoFlags, Layer};
pub(crate) use help::command;
pub(crate) use memory::{
    CheckFlags, DreamFlags, ExportFlags, ForgetFlags, ImportFlags, InboxCommand, MemoryCommand, Order, RecallFlags,
    RecallIn, RememberFlags, Trial, UndoFlags,
};

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use scrubjay::dates::Since;
use std::path::PathBuf;

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "scrubjay",
    version,
    about = "Seven layers of memory for language-model agents",
    after_help = "Exit codes: 0 ok, 1 failed, 2 usage, 3 nothing found, 4 refused by policy, 5 model service unreachable.",
    disable_help_subcommand = false
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Answer one question and leave; piped input is part of the question
    #[arg(short, long, value_name = "PROMPT", num_args = 0..=1, default_missing_value = "")]
    pub(crate) print: Option<String>,

    /// The question, when flags stand between it and -p
    #[arg(value_name = "PROMPT", hide = true)]
    pub(crate) words: Option<String>,

    /// What -p writes to standard output
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output_format: OutputFormat,

    #[command(flatten)]
    pub(crate) session: SessionFlags,

    #[command(flatten)]
    pub(crate) model: ModelFlags,

    #[command(flatten)]
    pub(crate) permission: PermissionFlags,

    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

/// Which conversation.
#[derive(Debug, Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct SessionFlags {
    /// Go on with the newest session of this project
    #[arg(short = 'c', long = "continue", global = true, conflicts_with = "resume")]
    pub(crate) newest: bool,

    /// Go on with this session (its id, or the beginning of it); without an id, choose from a list
    #[arg(short, long, global = true, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,

    /// Go on in a copy and leave the original as it is
    #[arg(long, global = true)]
    pub(crate) fork_session: bool,
}

/// Who answers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelFlags {
    /// The model to ask
    #[arg(short, long, global = true, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// The service that has it: anthropic, openai, ollama, offline
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) provider: Option<String>,

    /// Where the service is
    #[arg(long, global = true, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) base_url: Option<String>,
}

/// What the model may do.
#[derive(Debug, Args)]
#[command(next_help_heading = "Permission")]
pub(crate) struct PermissionFlags {
    /// What may happen without being asked about
    #[arg(long, global = true, value_enum, value_name = "MODE")]
    pub(crate) permission_mode: Option<PermissionMode>,

    /// A tool that may be used without asking; can be given several times
    #[arg(long, global = true, value_name = "TOOL")]
    pub(crate) allow: Vec<String>,

    /// What commands are confined to [default: read-only]
    #[arg(long, global = true, value_enum, value_name = "MODE")]
    pub(crate) sandbox: Option<SandboxMode>,

    /// Include what the project's instruction files name outside of the project, now and later
    #[arg(long, global = true)]
    pub(crate) approve_includes: bool,

    /// Only the conversation: no hooks, no background work
    #[arg(long, global = true)]
    pub(crate) bare: bool,
}

/// What every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "General")]
pub(crate) struct GeneralFlags {
    /// Work in this directory
    #[arg(short = 'C', long = "dir", global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,

    /// Answer in JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: ColorWhen,

    /// Draw with plain letters alone
    #[arg(long, global = true)]
    pub(crate) ascii: bool,

    /// Say less
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Say more, on standard error and in the log
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,

    /// Read the user's settings from this file
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Change one setting for this run; can be given several times
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// The verbs, most used first.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Talk with a model that can work on this project
    Chat,
    /// Where things stand: model, sessions, places
    Status,
    /// Play an embedded session through all seven layers, offline
    Demo(DemoFlags),
    /// What each layer would have done in sessions already on disk
    Scan(ScanFlags),
    /// What is remembered: look at it, change it, take it back
    Memory {
        #[command(subcommand)]
        what: MemoryCommand,
    },
    /// Find something that was remembered, noted, stored or said
    Recall(RecallFlags),
    /// Remember something in later sessions
    Remember(RememberFlags),
    /// Put memories into the trash, or all that rests on a source
    Forget(ForgetFlags),
    /// Put the memory in order: propose first, --apply does it
    Dream(DreamFlags),
    /// What waits for you: proposals, and memories nobody confirmed
    Inbox(InboxFlags),
    /// Take back the last change of the memory, or a numbered one
    Undo(UndoFlags),
    /// Past sessions of this project
    Sessions {
        /// Every one of them
        #[arg(long)]
        all: bool,
    },
    /// What is in the window of a session, and how much room is left
    Context(ContextFlags),
    /// What a session cost
    Cost(CostFlags),
    /// What the layers saved and what they cost, step by step
    Savings(SavingsFlags),
    /// One page about a session, in a file that needs nothing else
    Report(ReportFlags),
    /// The running notes of a session
    Notes {
        #[command(flatten)]
        which: WhichSession,
    },
    /// Give a session room: a summary takes the place of what was said
    Compact(CompactFlags),
    /// Take the last compaction of a session back, or a part of it
    Uncompact(UncompactFlags),
    /// Tool results that were too large for the window and lie on disk
    Results {
        #[command(subcommand)]
        what: ResultsCommand,
    },
    /// Bring memories in: an agent's folder, a vault, a CLAUDE.md
    Import(ImportFlags),
    /// Write all memories to a folder, or to standard output
    Export(ExportFlags),
    /// Check the memory and repair it; the same as `memory check`
    Fsck(CheckFlags),
    /// Every setting and where its value comes from
    Flags,
    /// Every number that can be tuned
    Limits,
    /// Where settings lie and what they say
    Config {
        #[command(subcommand)]
        what: ConfigCommand,
    },
    /// Background work: what runs, what ran lately, what rests
    Jobs {
        #[command(subcommand)]
        what: Option<JobsCommand>,
    },
    /// Kinds of agents: what there is, and new ones
    Agents {
        #[command(subcommand)]
        what: Option<AgentsCommand>,
    },
    /// Write to an agent or a session that runs
    Send(SendFlags),
    /// Work on a task without a terminal, and read letters
    Teammate(TeammateFlags),
    /// Check the installation, and mend it with --fix; safe to paste
    Doctor(DoctorFlags),
    /// Completions for a shell, to standard output
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// The manual for man(1), to standard output or into a folder
    Man {
        /// The folder to write them to
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        out: Option<PathBuf>,
    },
}

/// What the doctor does about what is found.
#[derive(Debug, Args)]
pub(crate) struct DoctorFlags {
    /// Mend what can be mended without losing anything, and say what was done
    #[arg(long)]
    pub(crate) fix: bool,
    /// With --fix: only say what would be done
    #[arg(long, requires = "fix")]
    pub(crate) dry_run: bool,
}

/// Which transcripts.
#[derive(Debug, Args)]
pub(crate) struct ScanFlags {
    /// A transcript or a folder of them, instead of the agents' own folders; can be given several times
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Vec<PathBuf>,
}

/// A session, for commands that look at one.
#[derive(Debug, Args)]
pub(crate) struct WhichSession {
    /// Its id, the beginning of it, or `last`
    #[arg(long, value_name = "ID", default_value = "last")]
    pub(crate) session: String,
}

/// Which sessions are summed up.
#[derive(Debug, Args)]
pub(crate) struct PeriodFlags {
    /// One session: its id, the beginning of it, or `last`, which is meant when nothing is said
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Every session of this project
    #[arg(long, conflicts_with = "session")]
    pub(crate) all: bool,
    /// What happened since then, in every session of this project: 7d, 12h, yesterday, 2026-11-01
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<Since>,
}

/// What is to be told about money spent.
#[derive(Debug, Args)]
pub(crate) struct CostFlags {
    #[command(flatten)]
    pub(crate) period: PeriodFlags,
}

/// What is to be told about money saved.
#[derive(Debug, Args)]
pub(crate) struct SavingsFlags {
    #[command(flatten)]
    pub(crate) period: PeriodFlags,
    /// The net apart: by layer, by model, by who asked, or by project (then of every project)
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) by: Option<Grouping>,
}

/// How a net is taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Grouping {
    // Who saved and spent
    Layer,
    // At whose prices
    Model,
    // In whose calls
    Source,
    // Where
    Project,
}

impl Grouping {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Grouping::Layer => "layer",
            Grouping::Model => "model",
            Grouping::Source => "source",
            Grouping::Project => "project",
        }
    }
}

/// Whose window, and how it is looked at.
#[derive(Debug, Args)]
pub(crate) struct ContextFlags {
    #[command(flatten)]
    pub(crate) which: WhichSession,
    /// Draw it again whenever the session grows; q leaves
    #[arg(long, conflicts_with_all = ["all", "exact"])]
    pub(crate) watch: bool,
    /// Every session of this project, in a line each
    #[arg(long, conflicts_with_all = ["session", "exact"])]
    pub(crate) all: bool,
    /// Ask the service to count, instead of estimating
    #[arg(long)]
    pub(crate) exact: bool,
}

/// A page about a session.
#[derive(Debug, Args)]
pub(crate) struct ReportFlags {
    #[command(flatten)]
    pub(crate) which: WhichSession,
    /// The file it is written to; with --json it is only written where this is said
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    /// Write over a file that is there and is no page of scrubjay
    #[arg(long)]
    pub(crate) force: bool,
}

/// What is to be compacted.
#[derive(Debug, Args)]
pub(crate) struct CompactFlags {
    #[command(flatten)]
    pub(crate) which: WhichSession,
    /// Show what would happen; nothing is changed
    #[arg(long, conflicts_with = "list")]
    pub(crate) preview: bool,
    /// Show what the last compaction kept and what it dropped
    #[arg(long, conflicts_with_all = ["preview", "list", "from", "up_to", "focus"])]
    pub(crate) report: bool,
    /// Show the questions with their numbers
    #[arg(long, conflicts_with_all = ["from", "up_to"])]
    pub(crate) list: bool,
    /// Summarise question N and what follows; what precedes it stays, and stays cached
    #[arg(long, value_name = "N", conflicts_with = "up_to")]
    pub(crate) from: Option<u64>,
    /// Summarise everything up to question N and its answer; what follows stays
    #[arg(long, value_name = "N")]
    pub(crate) up_to: Option<u64>,
    /// What the summary should attend to
    #[arg(value_name = "FOCUS")]
    pub(crate) focus: Vec<String>,
}

/// What is brought back.
#[derive(Debug, Args)]
pub(crate) struct UncompactFlags {
    #[command(flatten)]
    pub(crate) which: WhichSession,
    /// Show the questions it replaced with their numbers
    #[arg(long, conflicts_with = "questions")]
    pub(crate) list: bool,
    /// Only these questions and their answers, such as 3 or 3-5; the summary stays
    #[arg(value_name = "N-M")]
    pub(crate) questions: Option<Numbers>,
}

/// About stored tool results.
#[derive(Debug, Subcommand)]
pub(crate) enum ResultsCommand {
    /// What is stored
    Ls {
        #[command(flatten)]
        which: WhichSession,
        /// Those of every session of this project
        #[arg(long, conflicts_with = "session")]
        all: bool,
    },
    /// The whole text of one, to standard output
    Get {
        /// The call it answers, or the beginning of its id
        call: String,
        #[command(flatten)]
        which: WhichSession,
    },
    /// Remove files that no session of this project refers to
    Gc {
        /// Only say what would be removed
        #[arg(long, conflicts_with = "yes")]
        dry_run: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// A letter.
#[derive(Debug, Args)]
pub(crate) struct SendFlags {
    /// A name, `*` for everybody of this project, or uds:SOCKET
    pub(crate) to: String,
    /// What to say
    #[arg(required = true)]
    pub(crate) message: Vec<String>,
    /// The same in a few words
    #[arg(long, value_name = "WORDS")]
    pub(crate) summary: Option<String>,
    /// Who says it; whoever reads it takes it for the word of another agent
    #[arg(long, value_name = "NAME", default_value = "shell")]
    pub(crate) from: String,
}

/// A session of its own for a task.
#[derive(Debug, Args)]
pub(crate) struct TeammateFlags {
    /// What others call it
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// What to do first
    pub(crate) task: Vec<String>,
    /// Its task, and who started it, come on standard input
    #[arg(long, hide = true, conflicts_with = "task")]
    pub(crate) briefed: bool,
}

/// What waits.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct InboxFlags {
    /// Letters instead: those of this agent or session; without a name, whose there are
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    pub(crate) agent: Option<String>,
    /// The whole of one letter: its id, or the beginning of it
    #[arg(long, value_name = "ID", requires = "agent")]
    pub(crate) letter: Option<String>,
    #[command(subcommand)]
    pub(crate) what: Option<InboxCommand>,
}

/// About background work.
#[derive(Debug, Subcommand)]
pub(crate) enum JobsCommand {
    /// Follow what runs until nothing does
    Watch,
    /// Ask a job to stop, in whatever process it runs
    Kill {
        /// Its id, or the beginning of it
        id: String,
    },
    /// Let a kind of work that rests try again
    Reset {
        /// The kind, such as session_notes
        kind: String,
    },
}

/// About settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// The files that are read
    Path,
    /// The values in force
    Show {
        /// Where each comes from
        #[arg(long)]
        origin: bool,
    },
}

/// What print mode writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    // The answer
    #[default]
    Text,
    // One object with the answer and what it took
    Json,
    // One object a line, as things happen
    StreamJson,
}

/// What may happen without being asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionMode {
    // Reading in the project is free; everything else is asked about
    Ask,
    // Changes to files in the project are free too
    AcceptEdits,
    // Nothing is changed, and nothing is asked
    ReadOnly,
    // Everything is allowed
    AllowAll,
    // Nothing is changed until the plan is approved
    Plan,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    // On a terminal, unless NO_COLOR says otherwise
    #[default]
    Auto,
    // Always
    Always,
    // Never
    Never,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    fn read(words: &[&str]) -> Arguments {
        Arguments::try_parse_from([&["scrubjay"], words].concat()).unwrap()
    }

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_prompt_may_stand_before_or_behind_other_flags() {
        assert_eq!(read(&["-p", "hi", "--model", "m"]).print.as_deref(), Some("hi"));
        let late = read(&["-p", "--model", "m", "hi"]);
        assert_eq!((late.print.as_deref(), late.words.as_deref()), (Some(""), Some("hi")));
        assert_eq!(read(&["-p", "status"]).print.as_deref(), Some("status"), "a prompt may be the name of a command");
        assert_eq!(read(&["-p"]).print.as_deref(), Some(""));
    }

    #[test]
    fn flags_stand_before_or_behind_the_command() {
        for words in [&["--json", "sessions", "-C", "/x"][..], &["-C", "/x", "sessions", "--json"]] {
            let arguments = read(words);
            assert!(arguments.general.json && arguments.general.dir.is_some());
        }
        assert!(read(&["-c"]).session.newest);
        assert_eq!(read(&["chat", "--resume"]).session.resume.as_deref(), Some(""));
        assert_eq!(read(&["chat", "--allow", "Bash", "--allow", "Edit"]).permission.allow, ["Bash", "Edit"]);
    }
}
