//! What the model may do in this run. The mode can change while a session runs: a plan is approved, or asked for.

use crate::arguments::{PermissionFlags, PermissionMode};
use crate::failure::Failure;
use crate::sandbox;
use crate::workplace::Workplace;
use scrubjay::gate::Gate;
use scrubjay::permission::{Always, Mode, Permissions, Rule};
use scrubjay::settings::key;
use scrubjay::tool::Effect;
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
        let places = &workplace.places;
        let rules = |texts: &mut dyn Iterator<Item = &str>| rules(texts, &places.home);
        let mut allow = rules(&mut flags.allow.iter().map(String::as_str))?;
        allow.extend(rules(&mut settings.list(&key::PERMISSIONS_ALLOW).into_iter())?);
        let own = [&places.config, &places.data, &places.state, &workplace.root.join(".scrubjay.local.toml")];
        let rules = Permissions {
            mode: now,
            allow,
            ask: rules(&mut settings.list(&key::PERMISSIONS_ASK).into_iter())?,
            deny: rules(&mut settings.list(&key::PERMISSIONS_DENY).into_iter())?,
            dir: workplace.dir.clone(),
            // Stored results are pointed at, so they can be read like what they were cut from.
            extra: skills.iter().cloned().chain([resolved(workplace.project().dir())]).collect(),
            memory: None,
            sandboxed: false,
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

    /// The same where there is a sandbox for commands that only read.
    pub(crate) fn sandboxed(mut self, sandbox: &sandbox::Found) -> Self {
        self.rules.sandboxed = sandbox.is_ok();
        self
    }

    /// Looks up what no command may read.
    pub(crate) fn denied(&self) -> impl Fn() -> Vec<PathBuf> + Send + Sync + 'static {
        let rules = self.rules.clone();
        move || rules.denied_files()
    }

    /// Where reading is free besides the project.
    pub(crate) fn readable(&self) -> Vec<PathBuf> {
        self.rules.extra.iter().chain(&self.rules.memory).cloned().collect()
    }

    /// The gate of a session: it always asks for the mode of the moment.
    pub(crate) fn gate(&self) -> Gate {
        let (permit, same) = (self.clone(), self.clone());
        Gate::new(move |tool, effect| permit.rules.decide_in(permit.mode(), tool, effect))
            .confining(move |tool, effect, approval| same.rules.confines_in(same.mode(), tool, effect, approval))
    }

    /// What "always" would cover for a call.
    pub(crate) fn always(&self, tool: &str, effect: &Effect) -> Option<Always> {
        self.rules.always(tool, effect)
    }

    /// Whether what was allowed for the session covers a call.
    pub(crate) fn is_covered(&self, granted: &[Always], tool: &str, effect: &Effect) -> bool {
        self.rules.is_covered(granted, tool, effect)
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

/// A rule that cannot be read must not be dropped: it may be the one that refuses. `~/` is the home directory.
fn rules(texts: &mut dyn Iterator<Item = &str>, home: &Path) -> Result<Vec<Rule>, Failure> {
    let at_home = |text: &str| text.replacen("(~/", &format!("({}/", home.display()), 1);
    texts.map(|text| at_home(text).parse().map_err(|reason: String| Failure::usage(reason))).collect()
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
