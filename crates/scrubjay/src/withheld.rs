//! Variables that child processes do not get. The host says which: the engine knows no environment.

use std::sync::Arc;
use tokio::process::Command;

/// Names of variables, most of which hold keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Withheld(Arc<[String]>);

impl Withheld {
    /// These names.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self(names.into_iter().collect())
    }

    /// All of them.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Take them out of what a process will be given.
    pub(crate) fn keep_from(&self, command: &mut Command) {
        for name in self.0.iter() {
            command.env_remove(name);
        }
    }
}
