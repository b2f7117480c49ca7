//! Where transcripts of other agents lie, and which files there are. Nothing is opened yet.

use crate::environment::Environment;
use crate::places::Places;
use scrubjay::foreign::Agent;
use scrubjay::tools::shown_path;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Folders below folders are looked into this deep: agents use five at most.
const DEEPEST: usize = 16;

/// A file that may be a transcript.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

/// What there is.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Largest first, so that nobody waits for the last one.
    pub(super) files: Vec<File>,
    /// Where it was looked.
    pub(super) looked: Vec<PathBuf>,
    /// What could not be looked at, and why.
    pub(super) unread: Vec<(PathBuf, String)>,
}

/// Which files of a folder count.
#[derive(Clone, Copy)]
enum Wanted {
    /// Every transcript by its ending.
    Any,
    /// Those that Codex names its sessions.
    Rollouts,
}

impl Wanted {
    fn is(self, name: &OsStr) -> bool {
        let name = name.to_string_lossy();
        let is_record = name.ends_with(".jsonl") || name.ends_with(".jsonl.gz");
        is_record && (matches!(self, Wanted::Any) || name.starts_with("rollout-"))
    }
}

impl Found {
    /// Everything in the agents' own folders.
    pub(super) fn at_home(places: &Places, environment: &Environment) -> Self {
        let mut found = Self::default();
        for agent in Agent::ALL {
            let (below, wanted) = match agent {
                Agent::ClaudeCode => ("projects", Wanted::Any),
                Agent::Codex => ("sessions", Wanted::Rollouts),
            };
            let folder = places.of_agent(agent, environment).join(below);
            // A folder of the person's own may be a link; what lies in it is not followed out of it.
            if folder.is_dir() {
                found.folder(&folder, wanted, 0);
            }
            found.looked.push(folder);
        }
        found.sorted()
    }

    /// Everything at these places.
    pub(super) fn at(paths: &[PathBuf], dir: &Path) -> Self {
        let mut found = Self::default();
        for path in paths {
            let path = dir.join(path);
            match path.metadata() {
                Ok(meta) if meta.is_dir() => found.folder(&path, Wanted::Any, 0),
                Ok(meta) if meta.is_file() => found.files.push(File { path: path.clone(), bytes: meta.len() }),
                Ok(_) => found.unread.push((path.clone(), "it is neither a file nor a folder".to_owned())),
                Err(error) => found.unread.push((path.clone(), error.to_string())),
            }
            found.looked.push(path);
        }
        found.sorted()
    }

    fn sorted(mut self) -> Self {
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        self.files.dedup();
        self.files.sort_by_key(|file| std::cmp::Reverse(file.bytes));
        self
    }

    /// Links and devices are passed over: a link may lead in a circle, and a pipe never ends.
    fn folder(&mut self, folder: &Path, wanted: Wanted, depth: usize) {
        let listed = match std::fs::read_dir(folder) {
            Ok(listed) => listed,
            Err(error) => return self.unread.push((folder.to_owned(), error.to_string())),
        };
        for entry in listed.flatten() {
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            if kind.is_dir() && depth < DEEPEST {
                self.folder(&path, wanted, depth + 1);
            } else if kind.is_file() && wanted.is(&entry.file_name()) {
                let bytes = entry.metadata().map_or(0, |meta| meta.len());
                self.files.push(File { path, bytes });
            }
        }
    }

    /// The places, for a sentence.
    pub(super) fn places(&self) -> String {
        self.looked.iter().map(|path| shown_path(path)).collect::<Vec<_>>().join(" and ")
    }
}
