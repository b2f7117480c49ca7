//! The gate: whether a tool call may happen. It looks at a call's effect, never at the tool list: a fork keeps its
//! parent's tools, because they are part of the cached prefix, and is restrained here, when it calls.

use crate::tool::Effect;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// What the gate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Go ahead.
    Allow,
    /// Ask the person first.
    Ask,
    /// No, and why; the model reads this.
    Deny(String),
}

/// Whether a call that goes ahead was approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// It was free.
    NotNeeded,
    /// The user or one of their hooks said yes to this call.
    Given,
}

/// A decision over effects. Cheap to clone.
#[derive(Clone)]
pub struct Gate {
    name: Arc<str>,
    decide: Arc<Decision>,
    confines: Arc<Confines>,
}

type Decision = dyn Fn(&str, &Effect) -> Verdict + Send + Sync;
type Confines = dyn Fn(&str, &Effect, Approval) -> bool + Send + Sync;

impl Gate {
    /// A gate of one's own: tool name and effect in, verdict out.
    pub fn new(decide: impl Fn(&str, &Effect) -> Verdict + Send + Sync + 'static) -> Self {
        Self { name: Arc::from("custom"), decide: Arc::new(decide), confines: Arc::new(|_, _, _| false) }
    }

    /// The same gate, which also says which calls must run in the read-only sandbox.
    pub fn confining(mut self, confines: impl Fn(&str, &Effect, Approval) -> bool + Send + Sync + 'static) -> Self {
        self.confines = Arc::new(confines);
        self
    }

    /// The same gate under a name that hooks are told.
    pub fn named(mut self, name: &str) -> Self {
        self.name = Arc::from(name);
        self
    }

    /// What the gate is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// May this tool do this?
    pub fn decide(&self, tool: &str, effect: &Effect) -> Verdict {
        (self.decide)(tool, effect)
    }

    /// Must this run in the read-only sandbox?
    pub fn confines(&self, tool: &str, effect: &Effect, approval: Approval) -> bool {
        (self.confines)(tool, effect, approval)
    }

    /// Everything may happen.
    pub fn open() -> Self {
        Self::new(|_, _| Verdict::Allow)
    }

    /// Nothing may happen.
    pub fn nothing(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::new(move |_, _| Verdict::Deny(reason.clone()))
    }

    /// Only this one file may be read and changed.
    pub fn only_file(path: PathBuf) -> Self {
        Self::new(move |_, effect| match effect {
            Effect::Writes(target) if *target == path => Verdict::Allow,
            Effect::Reads(targets) if targets.iter().all(|target| *target == path) => Verdict::Allow,
            _ => Verdict::Deny(format!("this errand may only read and edit {}", path.display())),
        })
    }

    /// Reads below `readable`, writes below `writable`, nothing else.
    pub fn scoped(readable: Vec<PathBuf>, writable: Option<PathBuf>) -> Self {
        Self::new(move |_, effect| match effect {
            Effect::Nothing => Verdict::Allow,
            Effect::Reads(targets) if targets.iter().all(|path| readable.iter().any(|dir| is_below(path, dir))) => {
                Verdict::Allow
            }
            Effect::Writes(target) if writable.as_deref().is_some_and(|dir| is_below(target, dir)) => Verdict::Allow,
            Effect::Reads(_) => Verdict::Deny("this errand may only read inside its own scope".to_owned()),
            Effect::Writes(_) => Verdict::Deny("this errand may only write inside its own directory".to_owned()),
            _ => Verdict::Deny("this errand may only read and write files".to_owned()),
        })
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Gate")
    }
}

/// Lexical containment, for paths that were already resolved; the write itself goes through a directory handle.
fn is_below(path: &Path, dir: &Path) -> bool {
    path.starts_with(dir) && !path.components().any(|part| part == Component::ParentDir)
}
