//! What a command can touch, whatever it says. The classifier decides who is asked; the sandbox decides what can happen.
//!
//! The host builds the policies, because they name the home directory and the system's folders, and brings the means to
//! enforce them. Without a sandbox nothing here confines anything, and the permission layer asks instead.

use std::ffi::OsString;
use std::fmt::Debug;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

/// What a command may touch. What is not listed is refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// What the command is for: it decides which system calls there are.
    pub purpose: Purpose,
    /// Files and folders that may be read, each with everything below it.
    pub read: Vec<PathBuf>,
    /// Folders whose file names may be listed, with everything below them.
    pub list: Vec<PathBuf>,
    /// Files and folders that may be read and changed, each with everything below it.
    pub write: Vec<PathBuf>,
    /// Which files may be executed.
    pub programs: Programs,
    /// The shell; where there is none, the one that the search path names.
    pub shell: Option<PathBuf>,
    /// Environment variables that the command gets.
    pub env: Vec<(String, OsString)>,
}

/// What a confined command is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Purpose {
    /// Looking: also what belongs to no path stays as it is, such as modes, times, locks and other processes.
    #[default]
    Reading,
    /// Building and testing: whatever a program does to its own files and processes.
    Working,
}

/// Which files may be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Programs {
    /// These, and nothing else.
    Only(Vec<PathBuf>),
    /// Whatever may be read.
    Any,
}

impl Default for Programs {
    /// None.
    fn default() -> Self {
        Programs::Only(Vec::new())
    }
}

impl Policy {
    /// The folder that a command starts in belongs to what it is for. Where something was taken out of that folder, it stays
    /// out.
    fn grant(&mut self, dir: PathBuf) {
        let roots = self.read.iter().chain(&self.list).chain(&self.write);
        if roots.into_iter().any(|root| dir.starts_with(root)) {
            return;
        }
        if self.purpose == Purpose::Working { self.write.push(dir) } else { self.read.push(dir) }
    }

    /// The same without these files and folders: a folder that holds one is replaced by its other entries. The names in
    /// such a folder can still be listed. What is added to it later is out of reach, too.
    pub fn without(mut self, hidden: &[PathBuf]) -> Self {
        if hidden.is_empty() {
            return self;
        }
        let mut opened = Vec::new();
        self.read = apart(self.read, hidden, &mut opened);
        self.write = apart(self.write, hidden, &mut opened);
        if let Programs::Only(programs) = &mut self.programs {
            programs.retain(|program| !hidden.iter().any(|path| program.starts_with(path)));
        }
        self.list.extend(opened);
        self
    }
}

/// Roots with the hidden paths taken out of them; the folders that had to be opened for it are named.
fn apart(roots: Vec<PathBuf>, hidden: &[PathBuf], opened: &mut Vec<PathBuf>) -> Vec<PathBuf> {
    let mut kept = Vec::new();
    let mut pending = roots;
    while let Some(root) = pending.pop() {
        if hidden.iter().any(|path| root.starts_with(path)) {
            continue;
        }
        if !hidden.iter().any(|path| path.starts_with(&root)) {
            kept.push(root);
            continue;
        }
        // A link is not followed: where it leads may be hidden under its own name.
        let entries = root.read_dir().into_iter().flatten().flatten();
        pending
            .extend(entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink())).map(|e| e.path()));
        opened.push(root);
    }
    kept
}

/// The means to confine what a thread starts. A host implements it for its system.
pub trait Sandbox: Send + Sync + Debug {
    /// Confine this thread and everything it starts from now on, for good. It is called on a thread of its own, and where
    /// it fails nothing is started.
    fn enter(&self, policy: &Policy) -> io::Result<()>;

    /// Words to put before the command, where a program confines what it starts.
    fn launcher(&self, _: &Policy) -> Vec<OsString> {
        Vec::new()
    }

    /// What is in force, in a few words.
    fn name(&self) -> String;
}

/// A policy that is written when the first command needs it: it looks at many files.
type Lazy = Arc<LazyLock<Policy, Box<dyn FnOnce() -> Policy + Send>>>;

fn lazy(policy: impl FnOnce() -> Policy + Send + 'static) -> Lazy {
    Arc::new(LazyLock::new(Box::new(policy)))
}

/// How the commands of a session are confined.
#[derive(Clone)]
pub struct Confined {
    sandbox: Arc<dyn Sandbox>,
    reading: Lazy,
    working: Option<Lazy>,
    scratch: PathBuf,
    hidden: Arc<dyn Fn() -> Vec<PathBuf> + Send + Sync>,
}

impl Debug for Confined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Confined").field("sandbox", &self.sandbox.name()).finish_non_exhaustive()
    }
}

impl Confined {
    /// Commands that only read are confined to this policy. Each command has a temporary folder of its own in `scratch`.
    pub fn new(sandbox: Arc<dyn Sandbox>, reading: impl FnOnce() -> Policy + Send + 'static, scratch: PathBuf) -> Self {
        Self { sandbox, reading: lazy(reading), working: None, scratch, hidden: Arc::new(Vec::new) }
    }

    /// And every other command to this one.
    pub fn working(mut self, policy: impl FnOnce() -> Policy + Send + 'static) -> Self {
        self.working = Some(lazy(policy));
        self
    }

    /// And these paths are out of reach; they are looked up when a command starts.
    pub fn hiding(mut self, hidden: impl Fn() -> Vec<PathBuf> + Send + Sync + 'static) -> Self {
        self.hidden = Arc::new(hidden);
        self
    }

    /// Whether every command is confined, not only those that read.
    pub fn confines_work(&self) -> bool {
        self.working.is_some()
    }

    /// A place for a command that only reads.
    pub(super) fn to_read(&self, dir: &Path) -> io::Result<Place> {
        self.place(&self.reading, dir)
    }

    /// A place for any other command; none where those are not confined.
    pub(super) fn to_work(&self, dir: &Path) -> io::Result<Option<Place>> {
        self.working.as_ref().map(|policy| self.place(policy, dir)).transpose()
    }

    fn place(&self, policy: &Policy, dir: &Path) -> io::Result<Place> {
        let scratch = tempfile::Builder::new()
            .prefix("scrubjay-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&self.scratch)?;
        let own = scratch.path().canonicalize()?;
        let mut policy = policy.clone();
        policy.grant(dir.canonicalize()?);
        let mut policy = policy.without(&(self.hidden)());
        policy.env.push(("TMPDIR".to_owned(), own.clone().into()));
        policy.write.push(own);
        Ok(Place { sandbox: self.sandbox.clone(), policy, _scratch: scratch })
    }
}

/// Where one command runs. Its temporary folder is removed with it.
pub(super) struct Place {
    pub(super) sandbox: Arc<dyn Sandbox>,
    pub(super) policy: Policy,
    _scratch: tempfile::TempDir,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_paths_are_taken_out_and_their_neighbours_stay() {
        let held = tempfile::tempdir().unwrap();
        let at = held.path().canonicalize().unwrap();
        for dir in ["src/deep", "secrets"] {
            std::fs::create_dir_all(at.join(dir)).unwrap();
        }
        for file in ["a", "src/b", "src/.env", "src/deep/c", "secrets/d"] {
            std::fs::write(at.join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink(at.join("secrets/d"), at.join("link")).unwrap();
        let policy = Policy { read: vec![at.clone(), "/usr".into()], ..Policy::default() };
        let hidden = [at.join("secrets"), at.join("src/.env")];
        let left = policy.clone().without(&hidden);
        let mut read = left.read.clone();
        read.sort();
        let mut expected = vec![at.join("a"), at.join("src/b"), at.join("src/deep"), "/usr".into()];
        expected.sort();
        assert_eq!(read, expected);
        assert_eq!(left.list, [at.clone(), at.join("src")]);
        assert_eq!(policy.clone().without(&[]), policy);
        assert!(policy.without(&["/".into()]).read.is_empty());
        let mut again = left.clone();
        again.grant(at.clone());
        again.grant(at.join("secrets"));
        assert_eq!(again, left, "what was taken out stays out");
        again.grant("/elsewhere".into());
        assert!(again.read.contains(&PathBuf::from("/elsewhere")));
    }
}
