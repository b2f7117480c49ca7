//! The memory of a kind of agents: small, about its trade, apart from the main memory. Its index is always loaded; nothing
//! is recalled or extracted.

use super::definition::Scope;
use crate::clock::Clock;
use crate::fence::fenced_line;
use crate::limits::Limits;
use crate::memory::prompt::{self, Extras, Mode, Told};
use crate::memory::{Entry, Place, SharedMemory};
use crate::paths::{self, Layout, ProjectLayout};
use crate::prompts;
use crate::settings::{Settings, key};
use crate::tools::resolve;
use std::path::PathBuf;
use std::sync::Arc;

/// Where agents keep what they learned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memories {
    /// The person's data folder.
    pub home: PathBuf,
    /// The project, with its links followed.
    pub root: PathBuf,
    /// Where memories are kept that must outlive this machine, if they must.
    pub remote: Option<PathBuf>,
    /// The main memory, which is not the agents'.
    pub main: Option<PathBuf>,
}

impl Memories {
    /// The directory of a kind, or why there is none.
    pub fn dir(&self, kind: &str, scope: Scope, limits: &Limits) -> Result<PathBuf, String> {
        let name = folder_name(kind);
        let dir = match (scope, &self.remote) {
            (Scope::User, _) => self.home.join("agent-memory").join(name),
            (Scope::Project, _) => self.inside(&format!(".claude/agent-memory/{name}"))?,
            (Scope::Local, None) => self.inside(&format!(".claude/agent-memory-local/{name}"))?,
            (Scope::Local, Some(remote)) => {
                Layout::at(remote).project(&self.root, limits).dir().join("agent-memory-local").join(name)
            }
        };
        paths::reject(&dir).map_err(|error| error.to_string())
    }

    /// A folder of the project. A link in the way that leads out of it is not followed.
    fn inside(&self, path: &str) -> Result<PathBuf, String> {
        let dir = resolve(&self.root, path);
        if dir.starts_with(&self.root) {
            return Ok(dir);
        }
        Err(format!("{path} is a link that leads out of the project, to {}", dir.display()))
    }

    /// Where its history lies, what it rests on, and what was removed: with the person, where no model writes.
    fn care(&self, kind: &str, scope: Scope, limits: &Limits) -> ProjectLayout {
        let name = folder_name(kind);
        match scope {
            Scope::User => Layout::at(&self.home).agent(&name),
            Scope::Project | Scope::Local => {
                Layout::at(&self.home).project(&self.root, limits).agent(&format!("{}-{name}", scope.word()))
            }
        }
    }

    /// Open the memory of a kind; its directory exists afterwards.
    pub fn open(
        &self,
        (kind, scope): (&str, Scope),
        clock: Arc<dyn Clock>,
        limits: &Limits,
    ) -> Result<SharedMemory, String> {
        let dir = self.dir(kind, scope, limits)?;
        let care = self.care(kind, scope, limits);
        let place = Place::of(&care).with_memory_at(dir);
        SharedMemory::open(&place, &care, clock, limits).map(|(memory, _)| memory).map_err(|error| error.to_string())
    }
}

/// `:` parts a name that comes with a plugin, and is no letter of a folder.
fn folder_name(kind: &str) -> String {
    kind.replace(':', "-")
}

/// What an agent is told about its memory: the same as everybody, with what belongs into this one, and its index. What
/// nobody has confirmed is quoted under a heading of its own.
pub fn told(memory: &SharedMemory, (kind, scope): (&str, Scope), settings: &Settings) -> Told {
    let hint = prompts::agent_memory_scope(scope.word(), kind);
    let guidelines = [hint.as_str(), settings.text(&key::MEMORY_EXTRA_GUIDELINES)].join("\n\n");
    let extras = Extras { searching: None, guidelines: &guidelines };
    let (index, unconfirmed) = memory.with(|memory| {
        let quoted = |entry: &Entry| format!("> {}: {}", entry.path, fenced_line(&entry.description));
        let names: Vec<String> = memory.unconfirmed().map(quoted).collect();
        (memory.index().map(|index| index.text).unwrap_or_default(), names)
    });
    let mut told = prompt::behaviour_and_index(memory.dir(), Mode::Normal, &extras, &[&index]);
    if let Some(index) = told.indexes.first_mut().filter(|_| !unconfirmed.is_empty()) {
        index.text = [&index.text, prompts::AGENT_MEMORY_UNCONFIRMED.trim_end(), &unconfirmed.join("\n")].join("\n");
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: A5
    #[test]
    fn each_scope_has_its_directory_below_the_canonical_root_and_a_link_out_of_it_is_refused() {
        let held = tempfile::tempdir().unwrap();
        let held = held.path().canonicalize().unwrap();
        let (home, root) = (held.join("home"), held.join("project"));
        std::fs::create_dir_all(&root).unwrap();
        let all = Memories { home: home.clone(), root: root.clone(), remote: None, main: None };
        let limits = Limits::default();
        let dir = |all: &Memories, scope| all.dir("team:reviewer", scope, &limits);
        assert_eq!(dir(&all, Scope::User), Ok(home.join("agent-memory/team-reviewer")));
        assert_eq!(dir(&all, Scope::Project), Ok(root.join(".claude/agent-memory/team-reviewer")));
        assert_eq!(dir(&all, Scope::Local), Ok(root.join(".claude/agent-memory-local/team-reviewer")));
        let far = Memories { remote: Some(held.join("far")), ..all.clone() };
        let local = dir(&far, Scope::Local).unwrap();
        assert!(local.starts_with(held.join("far/projects")) && local.ends_with("agent-memory-local/team-reviewer"));
        assert_eq!(dir(&far, Scope::Project), dir(&all, Scope::Project), "what is committed stays in the project");

        std::fs::create_dir_all(held.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(held.join("elsewhere"), root.join(".claude")).unwrap();
        for scope in [Scope::Project, Scope::Local] {
            assert!(dir(&all, scope).unwrap_err().contains("leads out of the project"));
        }
        let shallow = Memories { home: "/".into(), ..all };
        assert!(shallow.dir("x", Scope::User, &limits).is_ok(), "two levels are deep enough");
    }
}
