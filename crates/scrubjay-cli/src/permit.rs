//! What the model may do in this run. The mode can change while a session runs: a plan is approved, or asked for.

use crate::arguments::{PermissionFlags, PermissionMode};
use crate::failure::Failure;
use crate::workplace::Workplace;
use scrubjay::gate::Gate;
use scrubjay::permission::{Mode, Permissions, Rule};
use scrubjay::settings::key;
use std::path::PathBuf;
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
        let settled = workplace.settings.list(&key::PERMISSIONS_ALLOW);
        let rules = flags.allow.iter().map(String::as_str).chain(settled);
        let allow = rules.map(|rule| rule.parse::<Rule>().map_err(usage)).collect::<Result<Vec<_>, _>>()?;
        let places = &workplace.places;
        let own = [&places.config, &places.data, &places.state, &workplace.root.join(".scrubjay.local.toml")];
        let rules = Permissions {
            mode: now,
            allow,
            dir: workplace.dir.clone(),
            extra: skills.to_vec(),
            own: own.into_iter().map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())).collect(),
        };
        let after_plan = if now == Mode::Plan { Mode::Ask } else { now };
        Ok(Self { rules, mode: Arc::new(Mutex::new(Modes { now, after_plan })) })
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

    /// The name of the mode in force.
    pub(crate) fn mode_name(&self) -> &'static str {
        let now = self.mode();
        Mode::NAMES.iter().find(|(_, mode)| *mode == now).map_or("ask", |(name, _)| name)
    }
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
