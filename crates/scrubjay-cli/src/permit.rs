//! What the model may do in this run. The mode can change while a session runs: a plan is approved, or asked for.

use crate::arguments::{PermissionFlags, PermissionMode};
use crate::failure::Failure;
use crate::workplace::Workplace;
use scrubjay::gate::Gate;
use scrubjay::permission::{Mode, Permissions, Rule};
use scrubjay::settings::key;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Rules, and the mode that is in force.
#[derive(Debug, Clone)]
pub(crate) struct Permit {
    rules: Permissions,
    mode: Arc<Mutex<Modes>>,
}

#[derive(Debug, Clone, Copy)]
struct Modes {
    now: Mode,
    /// Where an approved plan leads.
    after_plan: Mode,
}

impl Permit {
    pub(crate) fn new(flags: &PermissionFlags, workplace: &Workplace, skills: &[PathBuf]) -> Result<Self, Failure> {
        let usage = |reason: String| Failure::usage(reason);
        let now = match flags.permission_mode {
            Some(mode) => of_flag(mode),
            None => workplace.settings.text(&key::PERMISSION_MODE).parse().map_err(usage)?,
        };
        let settings = &workplace.settings;
        let mut allow = rules(flags.allow.iter().map(String::as_str))?;
        allow.extend(rules(settings.list(&key::PERMISSIONS_ALLOW))?);
        let places = &workplace.places;
        let own = [&places.config, &places.data, &places.state, &workplace.root.join(".scrubjay.local.toml")];
        let rules = Permissions {
            mode: now,
            allow,
            ask: rules(settings.list(&key::PERMISSIONS_ASK))?,
            deny: rules(settings.list(&key::PERMISSIONS_DENY))?,
            dir: workplace.dir.clone(),
            // Stored results are pointed at, so they can be read like what they were cut from.
            extra: skills.iter().cloned().chain([resolved(workplace.project().dir())]).collect(),
            memory: None,
            own: own.into_iter().map(|path| resolved(path)).collect(),
        };
        let after_plan = if now == Mode::Plan { Mode::Ask } else { now };
        Ok(Self { rules, mode: Arc::new(Mutex::new(Modes { now, after_plan })) })
    }

    /// The same with a memory directory, where reading and writing is free.
    pub(crate) fn remembering(mut self, memory: Option<PathBuf>) -> Self {
        self.rules.memory = memory;
        self
    }

    /// The gate of a session: it always asks for the mode of the moment.
    pub(crate) fn gate(&self) -> Gate {
        let permit = self.clone();
        Gate::new(move |tool, effect| Permissions { mode: permit.mode(), ..permit.rules.clone() }.decide(tool, effect))
    }

    /// The mode in force.
    pub(crate) fn mode(&self) -> Mode {
        self.mode.lock().unwrap_or_else(PoisonError::into_inner).now
    }

    /// Plan first.
    pub(crate) fn begin_plan(&self) {
        self.mode.lock().unwrap_or_else(PoisonError::into_inner).now = Mode::Plan;
    }

    /// The plan was approved, or is not wanted any more.
    pub(crate) fn end_plan(&self) {
        let mut modes = self.mode.lock().unwrap_or_else(PoisonError::into_inner);
        if modes.now == Mode::Plan {
            modes.now = modes.after_plan;
        }
    }
}

/// A rule that cannot be read must not be dropped: it may be the one that refuses.
fn rules<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Vec<Rule>, Failure> {
    texts.into_iter().map(|text| text.parse().map_err(|reason: String| Failure::usage(reason))).collect()
}

fn of_flag(flag: PermissionMode) -> Mode {
    match flag {
        PermissionMode::Ask => Mode::Ask,
        PermissionMode::AcceptEdits => Mode::AcceptEdits,
        PermissionMode::ReadOnly => Mode::ReadOnly,
        PermissionMode::AllowAll => Mode::AllowAll,
        PermissionMode::Plan => Mode::Plan,
    }
}

/// The path as the system sees it, as far as it exists yet.
fn resolved(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(found), _, _) => found,
        (Err(_), Some(parent), Some(name)) => resolved(parent).join(name),
        _ => path.to_owned(),
    }
}
