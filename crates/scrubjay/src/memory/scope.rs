//! What a background agent may do that works on the memory, whether it extracts or dreams: look around in its scope, write in one
//! folder, and start nothing.

use crate::gate::{Gate, Verdict};
use crate::prompts;
use crate::tool::{Effect, Tool};
use crate::tools::grep::Grep;
use crate::tools::looking::{self, Looking, Past};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Tools that are of use here.
const USEFUL: [&str; 6] = ["Read", "Grep", "Glob", "Bash", "Write", "Edit"];

/// Reads in these folders, writes in that one; what the person refuses to have read stays refused.
pub(super) fn gate(readable: Vec<PathBuf>, writable: &Path, parent: Gate) -> Gate {
    let scoped = Gate::scoped(readable, Some(writable.to_owned()));
    Gate::new(move |tool, effect| {
        if !USEFUL.contains(&tool) {
            return Verdict::Deny(prompts::EXTRACTION_OTHER_TOOL.trim_end().to_owned());
        }
        match effect {
            Effect::Runs { command, .. } => Verdict::Deny(looking::refusal(command).unwrap_or_default()),
            Effect::Reads(_) => match parent.decide(tool, effect) {
                denied @ Verdict::Deny(_) => denied,
                _ => scoped.decide(tool, effect),
            },
            effect => scoped.decide(tool, effect),
        }
    })
}

/// A tool as it is there, under its name: command lines are answered without a process, and of past sessions a search shows the last
/// lines alone.
pub(super) fn restrained(tool: &Arc<dyn Tool>, past: &Past) -> Arc<dyn Tool> {
    let past = (!past.folder.as_os_str().is_empty()).then(|| past.clone());
    match (tool.spec().name.as_str(), past) {
        ("Bash", past) => Arc::new(Looking::instead_of(tool.spec().clone(), past)),
        ("Grep", Some(past)) => Arc::new(Grep::new().with_past(past)),
        _ => tool.clone(),
    }
}
