//! `sandbox-exec`: a program of the system that confines what it starts, by a profile.

use crate::profile;
use scrubjay::tools::shell::sandbox::{Policy, Sandbox};
use std::ffi::OsString;
use std::io;
use std::path::Path;

const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Commands start behind `sandbox-exec`.
#[derive(Debug)]
pub(crate) struct SandboxExec;

impl SandboxExec {
    pub(crate) fn detect() -> Result<Self, String> {
        if Path::new(PROGRAM).is_file() { Ok(Self) } else { Err(format!("there is no {PROGRAM} on this system")) }
    }
}

impl Sandbox for SandboxExec {
    /// The launcher confines; what the profile cannot say must not be run.
    fn enter(&self, policy: &Policy) -> io::Result<()> {
        profile::text(policy).map(drop).ok_or_else(|| io::Error::other("a path of the sandbox is not valid text"))
    }

    fn launcher(&self, policy: &Policy) -> Vec<OsString> {
        // `enter` has refused a policy that has no profile; nothing at all is allowed by an empty one.
        let text = profile::text(policy).unwrap_or_else(|| profile::NOTHING.to_owned());
        [PROGRAM, "-p", &text].map(OsString::from).to_vec()
    }

    fn name(&self) -> String {
        "sandbox-exec".to_owned()
    }
}
