//! Where this program keeps things: one folder if `SCRUBJAY_HOME` says so, the usual four otherwise.

use crate::environment::Environment;
use crate::failure::Failure;
use etcetera::base_strategy::{BaseStrategy as _, Xdg};
use scrubjay::foreign::Agent;
use scrubjay::paths::create_dir_private;
use std::path::{Path, PathBuf};

/// The variable that puts everything into one folder.
pub(crate) const HOME_VARIABLE: &str = "SCRUBJAY_HOME";

/// The four folders, and the person's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    /// Settings and keys; may be read-only.
    pub(crate) config: PathBuf,
    /// Sessions and memory.
    pub(crate) data: PathBuf,
    /// Logs and the history of what was typed.
    pub(crate) state: PathBuf,
    /// What can be made again.
    pub(crate) cache: PathBuf,
    /// What `~` means.
    pub(crate) home: PathBuf,
    /// Where sockets live, if the system has a place for them.
    runtime: Option<PathBuf>,
}

impl Places {
    /// Find them; nothing is made or looked at yet.
    pub(crate) fn find(environment: &Environment) -> Result<Self, Failure> {
        let usual = Xdg::new();
        if let Some(one) = environment.get(HOME_VARIABLE).filter(|one| !one.is_empty()) {
            let one = std::path::absolute(one)
                .map_err(|error| Failure::usage(format!("{HOME_VARIABLE} is not a path ({error})")))?;
            let home = usual.map_or_else(|_| one.clone(), |usual| usual.home_dir().to_path_buf());
            let [config, data, state, cache] = ["config", "data", "state", "cache"].map(|name| one.join(name));
            return Ok(Self { config, data, state, cache, home, runtime: None });
        }
        let usual = usual.map_err(|_| {
            Failure::failed("there is no home directory to keep sessions in")
                .fix(format!("set HOME, or {HOME_VARIABLE} to a folder for everything"))
        })?;
        let state = usual.state_dir().unwrap_or_else(|| usual.data_dir());
        Ok(Self {
            config: usual.config_dir().join("scrubjay"),
            data: usual.data_dir().join("scrubjay"),
            state: state.join("scrubjay"),
            cache: usual.cache_dir().join("scrubjay"),
            home: usual.home_dir().to_path_buf(),
            runtime: usual.runtime_dir().map(|dir| dir.join("scrubjay")),
        })
    }

    /// Make the folders that sessions are written to, for their owner alone.
    pub(crate) fn prepare(&self) -> Result<(), Failure> {
        for dir in [&self.data, &self.state] {
            create_dir_private(dir).map_err(|error| unusable(dir, &error))?;
        }
        Ok(())
    }

    /// What background work of all sessions took, day by day.
    pub(crate) fn background(&self) -> PathBuf {
        self.data.join("background")
    }

    /// The person's own settings.
    pub(crate) fn settings(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// Keys, as `NAME=value` lines.
    pub(crate) fn keys(&self) -> PathBuf {
        self.config.join("keys")
    }

    /// Models the person added.
    pub(crate) fn models(&self) -> PathBuf {
        self.config.join("models.toml")
    }

    /// What was typed.
    pub(crate) fn history(&self) -> PathBuf {
        self.state.join("history")
    }

    /// What happened, without what was said.
    pub(crate) fn log(&self) -> PathBuf {
        self.state.join("log").join("scrubjay.log")
    }

    /// Where another agent keeps its things.
    pub(crate) fn of_agent(&self, agent: Agent, environment: &Environment) -> PathBuf {
        let (variable, usual) = match agent {
            Agent::ClaudeCode => ("CLAUDE_CONFIG_DIR", ".claude"),
            Agent::Codex => ("CODEX_HOME", ".codex"),
        };
        environment.get(variable).filter(|set| !set.is_empty()).map_or_else(|| self.home.join(usual), PathBuf::from)
    }

    /// What Claude Code remembers of a project.
    pub(crate) fn claude_memory(&self, environment: &Environment, root: &Path) -> PathBuf {
        let slug: String =
            root.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        self.of_agent(Agent::ClaudeCode, environment).join("projects").join(slug).join("memory")
    }

    /// Sockets of sessions that run.
    pub(crate) fn sockets(&self) -> PathBuf {
        self.runtime.clone().unwrap_or_else(|| self.state.join("sockets"))
    }

    /// Each folder with what it is for.
    pub(crate) fn named(&self) -> [(&'static str, &Path); 4] {
        [("config", &self.config), ("data", &self.data), ("state", &self.state), ("cache", &self.cache)]
    }
}

fn unusable(dir: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("{} cannot be used as a folder for sessions: {error}", dir.display()))
        .fix(format!("make it writable for you, or set {HOME_VARIABLE} to another folder"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_folder_over_all() {
        let places = Places::find(&Environment::of(&[(HOME_VARIABLE, "/one/folder")])).unwrap();
        assert!(places.named().iter().all(|(_, dir)| dir.starts_with("/one/folder")));
        assert_eq!(places.keys(), Path::new("/one/folder/config/keys"));
    }
}
