//! The environment of the process, read once. Nothing else in the workspace looks at it.

use std::collections::BTreeMap;

/// Names and values, as they were when the program began.
#[derive(Clone, Default)]
pub(crate) struct Environment(BTreeMap<String, String>);

impl Environment {
    /// What this process was given; values that are not text are left out.
    pub(crate) fn of_process() -> Self {
        let text =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self(text.collect())
    }

    /// Keep the keys in this process from its own children, who could read `/proc/PID/environ` or its memory. A process
    /// without keys stays open to debuggers.
    pub(crate) fn close(&self) {
        #[cfg(target_os = "linux")]
        if scrubjay_providers::SECRET_NAMES.iter().any(|name| self.is_set(name)) {
            use rustix::process::{DumpableBehavior, set_dumpable_behavior};
            // Where the system refuses, the rest still holds.
            set_dumpable_behavior(DumpableBehavior::NotDumpable).unwrap_or_default();
        }
    }

    /// These values, and nothing of the process.
    pub(crate) fn of(values: &[(&str, &str)]) -> Self {
        Self(values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// There, and not empty.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !value.is_empty())
    }

    pub(crate) fn values(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        self.0.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

/// Values may be keys, so only names are ever shown.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}
