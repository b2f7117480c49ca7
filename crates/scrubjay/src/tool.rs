//! The seam to the world: what a tool is, what a call of it would do, and what comes back.

use crate::digest::{Digest, FilesSeen};
use crate::limits::Limits;
use crate::message::{Block, Message, SessionId, ToolCallId};
use crate::model::Pending;
use crate::transcript::{Hiding, ToolSpec, View};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What a call would do to the world, said before it does it. Permission is decided on this alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Nothing outside the session: a task list, a plan.
    Nothing,
    /// Looks at these paths.
    Reads(Vec<PathBuf>),
    /// Changes this path.
    Writes(PathBuf),
    /// Runs a command line. `reads_only` was decided by parsing it, not by its first word.
    Runs {
        /// The command line.
        command: String,
        /// Whether every command in it is known to only read.
        reads_only: bool,
    },
    /// Talks to a host.
    Reaches(String),
    /// Starts another agent.
    Summons,
    /// Asks the person to approve a plan.
    Proposes,
}

impl Effect {
    /// Calls that may run beside each other: each agent has its own conversation.
    pub fn runs_beside_others(&self) -> bool {
        self.is_read_only() || *self == Effect::Summons
    }

    /// Calls that change nothing.
    pub fn is_read_only(&self) -> bool {
        matches!(self, Effect::Reads(_) | Effect::Nothing | Effect::Reaches(_) | Effect::Runs { reads_only: true, .. })
    }
}

/// What led to a call: who may be cited for what it writes down.
#[derive(Debug, Clone)]
pub struct Occasion {
    /// In which session.
    pub session: SessionId,
    /// What was said there until now.
    pub history: Arc<[Arc<Message>]>,
    /// The errand of a fork; none where the conversation itself calls.
    pub errand: Option<String>,
}

impl Default for Occasion {
    /// Nothing was said.
    fn default() -> Self {
        Self { session: SessionId::new(""), history: Arc::from([]), errand: None }
    }
}

/// What a command that a call runs is confined to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Confinement {
    /// The read-only sandbox; without one nothing runs.
    ReadOnly,
    /// Whatever the session's commands are confined to.
    #[default]
    Usual,
    /// Nothing: the user approved that it leaves the sandbox.
    Outside,
}

/// What a tool call works with.
pub struct Bench<'a> {
    /// The working directory; relative paths start here.
    pub dir: &'a Path,
    /// What the model has seen so far.
    pub seen: &'a FilesSeen,
    /// Every number.
    pub limits: &'a Limits,
    /// This call's name.
    pub call: &'a ToolCallId,
    /// What was permitted: a file tool uses this path and does not look it up again, because a link may have been swapped.
    pub approved: &'a Effect,
    /// What a command is confined to.
    pub confinement: Confinement,
    /// What led to it.
    pub occasion: &'a Occasion,
    /// Set when the person interrupts.
    pub cancel: &'a CancellationToken,
    /// The conversation the call is part of, where it may be looked at and changed: not in a fork.
    pub view: Option<&'a View>,
    /// Whoever starts agents here; a fork has nobody.
    pub summon: Option<&'a dyn Summon>,
    /// Whoever takes down notes for the memory; without one they wait for the user.
    pub memory: Option<&'a dyn MemoryWriter>,
    /// Which of the files that it comes across it may show.
    pub visible: &'a Visible,
}

/// Which files a search may show. Being allowed to search a folder is not being allowed to read everything in it.
#[derive(Clone)]
pub struct Visible(Arc<dyn Fn(&Path) -> bool + Send + Sync>);

impl Visible {
    /// Decided so.
    pub fn new(decide: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide))
    }

    /// May this file be shown?
    pub fn shows(&self, path: &Path) -> bool {
        (self.0)(path)
    }
}

impl Default for Visible {
    /// All of them.
    fn default() -> Self {
        Self::new(|_| true)
    }
}

impl std::fmt::Debug for Visible {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Visible")
    }
}

impl Bench<'_> {
    /// The one path that was permitted, if it was one.
    pub fn approved_path(&self) -> Option<&Path> {
        match self.approved {
            Effect::Writes(path) => Some(path),
            Effect::Reads(paths) if paths.len() == 1 => paths.first().map(PathBuf::as_path),
            _ => None,
        }
    }
}

/// What a tool call brings back.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    /// What the model gets to see.
    pub parts: Vec<Block>,
    /// Whether the call failed.
    pub is_error: bool,
    /// Files whose current bytes the model now knows.
    pub saw: Vec<(PathBuf, Digest)>,
    /// What the conversation is to hide or show again, once the round is over.
    pub hiding: Option<Box<Hiding>>,
    /// What the person should know about it.
    pub notices: Vec<String>,
}

impl ToolOutcome {
    /// It worked, and says this.
    pub fn ok(text: impl Into<String>) -> Self {
        Self { parts: vec![Block::text(text)], is_error: false, saw: Vec::new(), hiding: None, notices: Vec::new() }
    }

    /// It failed: what happened, what it means, what to do.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::ok(text) }
    }

    /// And the person is told this.
    pub fn telling(mut self, notices: impl IntoIterator<Item = String>) -> Self {
        self.notices.extend(notices);
        self
    }

    /// And the model has now seen this file.
    pub fn saw(mut self, path: PathBuf, digest: Digest) -> Self {
        self.saw.push((path, digest));
        self
    }

    /// And the conversation is to be seen differently.
    pub fn hiding(mut self, hiding: Hiding) -> Self {
        self.hiding = Some(Box::new(hiding));
        self
    }
}

/// What an agent is asked to do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Everything it needs to know.
    pub prompt: String,
    /// The same in a few words, for the person.
    pub description: String,
    /// Which kind of agent.
    #[serde(default)]
    pub agent: Option<String>,
    /// What to call it.
    #[serde(default)]
    pub name: Option<String>,
    /// Whether the caller goes on meanwhile; where nothing is said, its kind decides.
    #[serde(default)]
    pub background: Option<bool>,
    /// Whether it is a copy of the caller.
    #[serde(default)]
    pub fork: bool,
    /// Whether it works in a git worktree of its own; where nothing is said, its kind decides.
    #[serde(default)]
    pub worktree: Option<bool>,
    /// Whether it is a session of its own in a process of its own.
    #[serde(default)]
    pub teammate: bool,
}

/// What a letter between agents is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LetterKind {
    /// Words.
    #[default]
    Message,
    /// A leader asks a teammate to end.
    ShutdownRequest,
    /// A teammate answers that.
    ShutdownResponse,
    /// A leader says yes or no to a teammate's plan.
    PlanApprovalResponse,
}

impl LetterKind {
    /// All of them.
    pub const ALL: [LetterKind; 4] = [
        LetterKind::Message,
        LetterKind::ShutdownRequest,
        LetterKind::ShutdownResponse,
        LetterKind::PlanApprovalResponse,
    ];

    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            LetterKind::Message => "message",
            LetterKind::ShutdownRequest => "shutdown_request",
            LetterKind::ShutdownResponse => "shutdown_response",
            LetterKind::PlanApprovalResponse => "plan_approval_response",
        }
    }
}

/// What an agent wants to say to another one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dispatch {
    /// To whom.
    pub to: String,
    /// What.
    pub message: String,
    /// The same in a few words.
    pub summary: String,
    /// What for.
    #[serde(default)]
    pub kind: LetterKind,
    /// Yes or no, where it answers something.
    #[serde(default)]
    pub approve: Option<bool>,
}

/// What a note of the model's asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoteKind {
    /// Words to keep.
    Words,
    /// A file to write, below the memory directory.
    File(String),
    /// A memory to remove, by its file or name.
    Forget,
    /// Lines that were added to the daily log, which keeps them.
    Logged,
}

/// A note of the model's: what it wants kept or gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryNote {
    /// What it asks for.
    pub kind: NoteKind,
    /// The words, the file's new text, or the memory's name.
    pub text: String,
}

/// Takes down notes for the memory. The loop implements it: only it can run the learner on what the user typed.
pub trait MemoryWriter: Send + Sync {
    /// Take it down, and say what became of it.
    fn write(&self, note: MemoryNote) -> Pending<'_, Result<String, String>>;
}

/// Starts agents and carries what they write. A tool cannot: an agent needs the loop, and the loop calls tools. So the
/// loop hands this in.
pub trait Summon: Send + Sync {
    /// Start an agent for this call, and answer with its report or, in the background, with its name.
    fn summon<'a>(&'a self, task: Task, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome>;

    /// Carry a letter to whoever it is for.
    fn send(&self, dispatch: Dispatch) -> Pending<'_, ToolOutcome>;
}

/// Something the model can do.
pub trait Tool: Send + Sync {
    /// What the model is told.
    fn spec(&self) -> &ToolSpec;

    /// What a call with this input would do. Bad input has no effect: the call itself explains what is wrong.
    fn effect(&self, input: &Value, dir: &Path) -> Effect;

    /// Why a call would fail, if that is known before the user is asked about it. `may_look` says whether files may be
    /// read to find out.
    fn foresee<'a>(&'a self, _: &'a Value, _: &'a Bench<'a>, _may_look: bool) -> Pending<'a, Option<ToolOutcome>> {
        Box::pin(async { None })
    }

    /// Whether a call with this input asks to leave the sandbox that the session's commands run in. The user is asked,
    /// whatever else is free.
    fn leaves_sandbox(&self, _: &Value) -> bool {
        false
    }

    /// Do it. Dropping the future must leave nothing running.
    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome>;
}
