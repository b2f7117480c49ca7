//! A git worktree for one agent: made from the last commit, removed when nothing in it has changed, kept otherwise.
//!
//! What git keeps about a worktree is four small files, written here, because `git worktree` reads the repository's
//! configuration. Everything else is done by `git.rs`, which reads none.

use crate::git::Git;
use crate::limits::Limits;
use crate::paths::{Repository, create_dir_private};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A worktree that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// Where it lies.
    pub dir: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The working tree that it was made from.
    pub top: PathBuf,
    /// What git keeps about it.
    repository: Repository,
    base: String,
    patience: Duration,
}

/// What became of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// Nothing had changed, and nothing of it is left.
    Removed,
    /// It stays, for this reason.
    Kept(String),
}

impl Worktree {
    /// Make one in `dir`, of the repository that `from` lies in. Files come as they were committed: no filter of the
    /// repository or of the user changes them.
    pub async fn create(from: &Path, dir: &Path, branch: &str, limits: &Limits) -> Result<Self, String> {
        let patience = Duration::from_millis(limits.agent_git_ms);
        let original = Repository::of(from).map_err(|why| format!("a worktree needs a git repository: {why}"))?;
        if let Some(parent) = dir.parent() {
            create_dir_private(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
        }
        let git = Git::open(&original, dir, patience).map_err(not_made)?;
        let base = git.run(&["rev-parse", "--verify", "HEAD^{commit}"]).await.map_err(|why| {
            format!("a worktree is made from the last commit, and this repository has none yet ({why})")
        })?;
        fs::create_dir(dir).map_err(|error| not_made(format!("{}: {error}", dir.display())))?;
        let git_dir = register(&original.common, dir, branch).map_err(|error| {
            fs::remove_dir_all(dir).unwrap_or_default();
            not_made(error.to_string())
        })?;
        let repository = Repository { top: dir.to_owned(), git_dir, common: original.common };
        let (dir, branch, top) = (dir.to_owned(), branch.to_owned(), original.top);
        let made = Self { dir, branch, top, repository, base, patience };
        match made.fill(&git).await {
            Ok(()) => Ok(made),
            Err(why) => {
                made.clear().unwrap_or_default();
                Err(not_made(why))
            }
        }
    }

    /// The branch and the files of the last commit.
    async fn fill(&self, git: &Git) -> Result<(), String> {
        let name = format!("refs/heads/{}", self.branch);
        git.run(&["update-ref", "-m", "worktree of an agent", &name, &self.base, ""]).await?;
        let inside = self.git()?;
        let filled = inside.run(&["read-tree", "--reset", "-u", "--no-recurse-submodules", &self.base]).await;
        match filled {
            Ok(_) => fs::remove_file(self.repository.git_dir.join(LOCKED)).map_err(|error| error.to_string()),
            Err(why) => {
                git.run(&["update-ref", "-d", &name, &self.base]).await?;
                Err(why)
            }
        }
    }

    fn git(&self) -> Result<Git, String> {
        Git::open(&self.repository, &self.dir, self.patience)
    }

    /// Where in it somebody works who worked in `dir` before.
    pub fn place_of(&self, dir: &Path) -> PathBuf {
        dir.strip_prefix(&self.top).map_or_else(|_| self.dir.clone(), |inside| self.dir.join(inside))
    }

    /// Where a path in it would lie in the tree it was made from.
    pub fn original(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(&self.dir).ok().map(|inside| self.top.join(inside))
    }

    /// Remove it if nothing has changed. Where that is not certain, it stays.
    pub async fn settle(&self) -> Settled {
        match self.changes().await {
            Ok(changes) if changes.is_empty() => self.remove().await,
            Ok(changes) => Settled::Kept(changes.join(", ")),
            Err(why) => Settled::Kept(format!("git cannot say whether it has changed: {why}")),
        }
    }

    /// What has changed, in words.
    async fn changes(&self) -> Result<Vec<String>, String> {
        let git = self.git()?;
        let head = git.run(&["rev-parse", "--verify", "HEAD^{commit}"]).await?;
        let changed = git.run(&["status", "--porcelain", "--untracked-files=all", "--ignore-submodules=all"]).await?;
        let mut what = Vec::new();
        if head != self.base {
            what.push("new commits".to_owned());
        }
        match changed.lines().count() {
            0 => {}
            1 => what.push("1 file changed".to_owned()),
            many => what.push(format!("{many} files changed")),
        }
        if self.has_submodule_files(&git.run(&["ls-files", "--stage", "-z"]).await?) {
            what.push("a submodule has files".to_owned());
        }
        Ok(what)
    }

    /// Whether something lies in a submodule's folder. Git is not asked about it: a submodule is a repository with a
    /// configuration of its own.
    fn has_submodule_files(&self, index: &str) -> bool {
        let folders = index.split('\0').filter(|row| row.starts_with("160000 ")).filter_map(|row| row.split_once('\t'));
        let mut entries = folders.map(|(_, folder)| fs::read_dir(self.dir.join(folder)));
        entries.any(|entries| match entries {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        })
    }

    async fn remove(&self) -> Settled {
        let name = format!("refs/heads/{}", self.branch);
        let removed = match self.git() {
            // The branch still points to where it began, or it stays.
            Ok(git) => match self.clear() {
                Ok(()) => git.run(&["update-ref", "-d", &name, &self.base]).await.map(drop),
                Err(error) => Err(error.to_string()),
            },
            Err(why) => Err(why),
        };
        match removed {
            Ok(()) => Settled::Removed,
            Err(why) => Settled::Kept(format!("it is unchanged, but could not be removed: {why}")),
        }
    }

    /// Take away the files, and what git keeps about them.
    fn clear(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.dir)?;
        fs::remove_dir_all(&self.repository.git_dir)
    }
}

/// While a worktree is made, git leaves what it keeps about it alone.
const LOCKED: &str = "locked";

fn not_made(why: String) -> String {
    format!("git could not make a worktree: {why}")
}

/// Tell the repository of a worktree; where git keeps what is its own.
fn register(common: &Path, dir: &Path, branch: &str) -> io::Result<PathBuf> {
    const TRIES: usize = 100;
    let dir = fs::canonicalize(dir)?;
    let all = common.join("worktrees");
    fs::create_dir_all(&all)?;
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for number in 0..TRIES {
        let own = all.join(if number == 0 { name.clone() } else { format!("{name}{number}") });
        match fs::create_dir(&own) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => made?,
        }
        fs::write(own.join(LOCKED), "initializing\n")?;
        fs::write(own.join("commondir"), "../..\n")?;
        fs::write(own.join("HEAD"), format!("ref: refs/heads/{branch}\n"))?;
        let pointer = |path: &Path| [path.as_os_str().as_encoded_bytes(), b"\n"].concat();
        fs::write(own.join("gitdir"), pointer(&dir.join(".git")))?;
        fs::write(dir.join(".git"), [&b"gitdir: "[..], &pointer(&own)].concat())?;
        return Ok(own);
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
