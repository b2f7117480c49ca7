//! Which sandbox the commands of this run are in.

use crate::arguments::PermissionFlags;
use crate::failure::Failure;
use crate::workplace::Workplace;
use clap::ValueEnum;
use scrubjay::settings::key;
use scrubjay::tools::shell::sandbox::Confined;
use scrubjay_sandbox::{detect, policy};
use std::path::PathBuf;

/// What commands are confined to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxMode {
    // Commands that only read run in a sandbox; others as you approve them
    ReadOnly,
    // Every command runs in a sandbox: it can change the project, and has no network
    WorkspaceWrite,
    // No sandbox; commands that only read are asked about, too
    Off,
}

/// The sandbox of this run, or why there is none.
pub(crate) type Found = Result<Confined, String>;

/// Find it. Whoever asks for one that the system does not have gets an error, not less.
pub(crate) fn find(flags: &PermissionFlags, workplace: &Workplace, readable: &[PathBuf]) -> Result<Found, Failure> {
    let mode = mode(flags, workplace)?;
    if mode == SandboxMode::Off {
        return Ok(Err("it is switched off (sandbox.mode)".to_owned()));
    }
    let sandbox = match detect() {
        Ok(sandbox) => sandbox,
        Err(why) if mode == SandboxMode::WorkspaceWrite => {
            return Err(Failure::failed(format!("commands cannot be confined here: {why}"))
                .fix("leave out --sandbox workspace-write, or run scrubjay on a system that has a sandbox"));
        }
        Err(why) => return Ok(Err(why)),
    };
    let places = places(workplace, readable);
    let same = places.clone();
    let confined = Confined::new(sandbox, move || policy::reading(&same), std::env::temp_dir());
    Ok(Ok(match mode {
        SandboxMode::WorkspaceWrite => confined.working(move || policy::working(&places)),
        _ => confined,
    }))
}

/// What `doctor` says about it.
pub(crate) fn in_force(workplace: &Workplace) -> Result<String, String> {
    match workplace.settings.text(&key::SANDBOX_MODE) {
        "off" => Err("it is switched off (sandbox.mode)".to_owned()),
        mode => detect().map(|sandbox| format!("{}, {mode}", sandbox.name())),
    }
}

fn mode(flags: &PermissionFlags, workplace: &Workplace) -> Result<SandboxMode, Failure> {
    let setting = || SandboxMode::from_str(workplace.settings.text(&key::SANDBOX_MODE), false).map_err(Failure::usage);
    flags.sandbox.map_or_else(setting, Ok)
}

fn places(workplace: &Workplace, readable: &[PathBuf]) -> policy::Places {
    let own = &workplace.places;
    policy::Places {
        project: workplace.dir.clone(),
        readable: readable.to_vec(),
        writable: workplace.settings.list(&key::SANDBOX_WRITE).into_iter().map(|path| under(path, &own.home)).collect(),
        home: Some(own.home.clone()),
        own: [&own.config, &own.data, &own.state, &own.cache].map(PathBuf::clone).to_vec(),
    }
}

/// A path of the settings, in which `~` is the home directory.
fn under(path: &str, home: &std::path::Path) -> PathBuf {
    path.strip_prefix("~/").map_or_else(|| home.join(path), |rest| home.join(rest))
}
