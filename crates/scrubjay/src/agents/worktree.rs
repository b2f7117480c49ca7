//! A git worktree for one agent: made from the last commit, removed when nothing in it has changed, kept otherwise.
//!
//! Git is started directly, without a shell, without hooks and without what the environment says about repositories.

use crate::limits::Limits;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// A worktree that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// Where it lies.
    pub dir: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The working tree that it was made from.
    pub top: PathBuf,
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
    /// Make one in `dir`, of the repository that `from` lies in.
    pub async fn create(from: &Path, dir: &Path, branch: &str, limits: &Limits) -> Result<Self, String> {
        let patience = Duration::from_millis(limits.agent_git_ms);
        let top = run(from, &["rev-parse", "--show-toplevel"], patience)
            .await
            .map_err(|why| format!("a worktree needs a git repository, and {} is in none ({why})", from.display()))?;
        let base = run(from, &["rev-parse", "--verify", "HEAD"], patience).await.map_err(|why| {
            format!("a worktree is made from the last commit, and this repository has none yet ({why})")
        })?;
        if let Some(parent) = dir.parent() {
            crate::paths::create_dir_private(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
        }
        let place = dir.to_string_lossy();
        let add = ["worktree", "add", "--quiet", "-b", branch, "--", &place, &base];
        let made = run(from, &add, patience).await;
        made.map_err(|why| format!("git could not make a worktree: {why}"))?;
        let (dir, branch, top) = (dir.to_owned(), branch.to_owned(), PathBuf::from(top));
        Ok(Self { dir, branch, top, base, patience })
    }

    /// Where in it somebody works who worked in `dir` before.
    pub fn place_of(&self, dir: &Path) -> PathBuf {
        dir.strip_prefix(&self.top).map_or_else(|_| self.dir.clone(), |inside| self.dir.join(inside))
    }

    /// Where a path in it would lie in the tree it was made from.
    pub fn original(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(&self.dir).ok().map(|inside| self.top.join(inside))
    }

    async fn git(&self, dir: &Path, args: &[&str]) -> Result<String, String> {
        run(dir, args, self.patience).await
    }

    /// Remove it if nothing has changed. Where that is not certain, it stays.
    pub async fn settle(&self) -> Settled {
        let changes = self.git(&self.dir, &["status", "--porcelain", "--untracked-files=all"]).await;
        let head = self.git(&self.dir, &["rev-parse", "HEAD"]).await;
        match (changes, head) {
            (Ok(changes), Ok(head)) if changes.is_empty() && head == self.base => self.remove().await,
            (Ok(changes), Ok(head)) => {
                let files = match changes.lines().count() {
                    0 => String::new(),
                    1 => "1 file changed".to_owned(),
                    many => format!("{many} files changed"),
                };
                let commits = (head != self.base).then(|| "new commits".to_owned());
                let what: Vec<String> = commits.into_iter().chain((!files.is_empty()).then_some(files)).collect();
                Settled::Kept(what.join(", "))
            }
            (Err(why), _) | (_, Err(why)) => Settled::Kept(format!("git cannot say whether it has changed: {why}")),
        }
    }

    async fn remove(&self) -> Settled {
        let dir = self.dir.to_string_lossy();
        let removed = self.git(&self.top, &["worktree", "remove", "--force", "--", &dir]).await;
        let forgotten = match &removed {
            // The branch still points to where it began.
            Ok(_) => self.git(&self.top, &["branch", "--quiet", "-D", "--", &self.branch]).await,
            Err(why) => Err(why.clone()),
        };
        match forgotten {
            Ok(_) => Settled::Removed,
            Err(why) => Settled::Kept(format!("it is unchanged, but git could not remove it: {why}")),
        }
    }
}

/// What git prints, or what it complains about.
async fn run(dir: &Path, args: &[&str], patience: Duration) -> Result<String, String> {
    let mut git = Command::new("git");
    git.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "advice.detachedHead=false"]);
    git.args(args).current_dir(dir).stdin(Stdio::null()).kill_on_drop(true);
    git.env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"] {
        git.env_remove(name);
    }
    let output = match tokio::time::timeout(patience, git.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(format!("git could not be started: {error}")),
        Err(_) => return Err("git did not finish in time".to_owned()),
    };
    let said = if output.status.success() { output.stdout } else { output.stderr };
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    if output.status.success() { Ok(said) } else { Err(said.lines().last().unwrap_or("it failed").to_owned()) }
}
