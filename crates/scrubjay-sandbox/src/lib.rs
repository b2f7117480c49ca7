//! Confines the commands that scrubjay runs. On Linux a thread gives up its own rights with Landlock and seccomp and
//! then starts the command, which inherits what is left; on macOS `sandbox-exec` starts it. Both follow one [`Policy`],
//! and [`policy`] writes the two that scrubjay uses.
//!
//! [`Policy`]: scrubjay::tools::shell::sandbox::Policy

pub mod policy;
pub mod profile;

#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
pub mod linux;
#[cfg(target_os = "macos")]
mod macos;

use scrubjay::tools::shell::sandbox::Sandbox;
use std::sync::Arc;

/// The sandbox of this system, or why there is none.
pub fn detect() -> Result<Arc<dyn Sandbox>, String> {
    #[cfg(target_os = "linux")]
    return linux::Linux::detect().map(|found| Arc::new(found) as Arc<dyn Sandbox>);
    #[cfg(target_os = "macos")]
    return macos::SandboxExec::detect().map(|found| Arc::new(found) as Arc<dyn Sandbox>);
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    Err("there is no sandbox for this system".to_owned())
}
