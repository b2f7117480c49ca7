//! A temporary directory and a model's view of it.

use scrubjay::digest::FilesSeen;
use scrubjay::limits::Limits;
use scrubjay::message::ToolCallId;
use scrubjay::tool::{Bench, Confinement, Effect, Occasion, Tool, ToolOutcome, Visible};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Tools on a directory of their own.
pub(crate) struct Workshop {
    _home: tempfile::TempDir,
    pub(crate) dir: PathBuf,
    pub(crate) seen: FilesSeen,
    pub(crate) limits: Limits,
    pub(crate) cancel: CancellationToken,
    pub(crate) confinement: Confinement,
}

impl Workshop {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().canonicalize().unwrap().join("work");
        std::fs::create_dir(&dir).unwrap();
        Self {
            _home: home,
            dir,
            seen: FilesSeen::new(),
            limits: Limits::default(),
            cancel: CancellationToken::new(),
            confinement: Confinement::default(),
        }
    }

    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn tool(name: &str) -> Arc<dyn Tool> {
        let tools = scrubjay::tools::standard(&[], &Limits::default());
        tools.into_iter().find(|tool| tool.spec().name == name).unwrap()
    }

    pub(crate) fn effect(&self, name: &str, input: Value) -> Effect {
        Self::tool(name).effect(&input, &self.dir)
    }

    /// Call a tool and remember what it saw, as the loop does.
    pub(crate) async fn call(&mut self, name: &str, input: Value) -> ToolOutcome {
        let tool = Self::tool(name);
        let outcome = self.call_this(tool.as_ref(), input).await;
        self.seen.extend(outcome.saw.iter().cloned());
        outcome
    }

    pub(crate) async fn call_this(&self, tool: &dyn Tool, input: Value) -> ToolOutcome {
        let approved = tool.effect(&input, &self.dir);
        self.call_approved(tool, input, &approved).await
    }

    /// Call a tool after something else was permitted than it would ask for now.
    pub(crate) async fn call_approved(&self, tool: &dyn Tool, input: Value, approved: &Effect) -> ToolOutcome {
        let call = &ToolCallId::new("t1");
        let Self { dir, seen, limits, cancel, .. } = self;
        let occasion = &Occasion::default();
        let visible = &Visible::default();
        let (view, summon, memory, confinement) = (None, None, None, self.confinement);
        let bench =
            Bench { dir, seen, limits, call, approved, confinement, occasion, cancel, view, summon, memory, visible };
        tool.call(&input, &bench).await
    }
}

pub(crate) fn text(outcome: &ToolOutcome) -> String {
    outcome.parts.iter().filter_map(|part| part.as_text()).collect::<Vec<_>>().join("\n")
}

#[track_caller]
pub(crate) fn good(outcome: &ToolOutcome) -> String {
    assert!(!outcome.is_error, "{}", text(outcome));
    text(outcome)
}

#[track_caller]
pub(crate) fn bad(outcome: &ToolOutcome) -> String {
    assert!(outcome.is_error, "{}", text(outcome));
    text(outcome)
}

/// Whether a process still does anything.
pub(crate) fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}
