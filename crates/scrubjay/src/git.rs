//! Git without the programs of a repository. Every git process of scrubjay is started here.
//!
//! A repository's configuration can name programs in more ways than anyone can list: filters, hooks, a monitor of the
//! file system, helpers, included files. So it is never read. Git is pointed at a folder of our own as its repository,
//! with a configuration of our own; the objects and references in it are those of the real one, and nothing else is. The
//! user's and the system's configuration are not read either, because attributes of a repository choose among their
//! filters. Submodules are not entered, nothing is fetched, and what the environment says to git does not count.

use crate::paths::Repository;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// The whole configuration. Programs are shut out by name too, in case a default ever changes.
const CONFIG: &str = "[core]
\tbare = false
\thooksPath = /dev/null
\tfsmonitor = false
\tattributesFile = /dev/null
\tuntrackedCache = false
\tlogAllRefUpdates = true
[submodule]
\trecurse = false
[protocol]
\tallow = never
[gc]
\tauto = 0
[maintenance]
\tauto = false
";

/// What changes where git looks, what it starts or where it writes. What is set below is not among them.
const STEERING: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ASKPASS",
    "GIT_ATTR_SOURCE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_SYSTEM",
    "GIT_DEFAULT_HASH",
    "GIT_DEFAULT_REF_FORMAT",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_PROTOCOL_FROM_USER",
    "GIT_PROXY_COMMAND",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SHALLOW_FILE",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "GIT_TEST_FSMONITOR",
    "GIT_TRACE",
    "GIT_TRACE2",
    "GIT_TRACE2_EVENT",
    "GIT_TRACE2_PERF",
    "GIT_TRACE_CURL",
    "GIT_TRACE_FSMONITOR",
    "GIT_TRACE_PACKET",
    "GIT_TRACE_PACKFILE",
    "GIT_TRACE_PACK_ACCESS",
    "GIT_TRACE_PERFORMANCE",
    "GIT_TRACE_REFS",
    "GIT_TRACE_SETUP",
    "GIT_TRACE_SHALLOW",
    "SSH_ASKPASS",
];

/// Git, at work on one working tree of one repository.
pub(crate) struct Git {
    /// Our own folder, which git takes for the repository.
    place: PathBuf,
    tree: PathBuf,
    index: PathBuf,
    objects: PathBuf,
    patience: Duration,
}

impl Git {
    /// Make the folder beside `beside`, for the working tree of `repository`. It is gone when this is dropped.
    pub(crate) fn open(repository: &Repository, beside: &Path, patience: Duration) -> Result<Self, String> {
        let Repository { top, git_dir, common } = repository;
        if common.join("reftable").exists() {
            return Err("its references are kept as a reftable, which is not supported here".to_owned());
        }
        for folder in ["objects", "refs", "logs", "worktrees"] {
            if common.join(folder).is_symlink() {
                return Err(format!("its folder `{folder}` is a link, which could lead anywhere"));
            }
        }
        let git = Self {
            place: own_folder(beside).map_err(|error| format!("{}: {error}", beside.display()))?,
            tree: top.clone(),
            index: git_dir.join("index"),
            objects: common.join("objects"),
            patience,
        };
        git.furnish(repository).map_err(|error| format!("{}: {error}", git.place.display()))?;
        Ok(git)
    }

    fn furnish(&self, repository: &Repository) -> io::Result<()> {
        let Repository { git_dir, common, .. } = repository;
        let head = fs::read_to_string(git_dir.join("HEAD"))?;
        fs::write(self.place.join("HEAD"), head.lines().next().unwrap_or_default().to_owned() + "\n")?;
        let mut config = CONFIG.to_owned();
        if cfg!(target_os = "macos") {
            config.push_str("[core]\n\tignoreCase = true\n\tprecomposeUnicode = true\n");
        }
        if repository.has_sha256() {
            config.push_str("[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = sha256\n");
        }
        fs::write(self.place.join("config"), config)?;
        symlink(common.join("refs"), self.place.join("refs"))?;
        if !common.join("packed-refs").is_symlink() {
            symlink(common.join("packed-refs"), self.place.join("packed-refs"))?;
        }
        if common.join("logs").is_dir() {
            symlink(common.join("logs"), self.place.join("logs"))?;
        }
        // Which files do not count is words, not programs.
        fs::create_dir(self.place.join("info"))?;
        if let Some(words) = repository.excluded() {
            fs::write(self.place.join("info/exclude"), words)?;
        }
        Ok(())
    }

    /// What git prints, or the last thing it complains about.
    pub(crate) async fn run(&self, args: &[impl AsRef<OsStr>]) -> Result<String, String> {
        let output = match tokio::time::timeout(self.patience, self.command(args).output()).await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => return Err(format!("git could not be started: {error}")),
            Err(_) => return Err("git did not finish in time".to_owned()),
        };
        let said = if output.status.success() { output.stdout } else { output.stderr };
        let said = String::from_utf8_lossy(&said).trim_end().to_owned();
        if output.status.success() { Ok(said) } else { Err(said.lines().last().unwrap_or("it failed").to_owned()) }
    }

    fn command(&self, args: &[impl AsRef<OsStr>]) -> Command {
        let mut git = Command::new("git");
        // In our own folder: a `PATH` with `.` in it would find a program called git in the tree.
        git.args(args).current_dir(&self.place).stdin(Stdio::null()).kill_on_drop(true);
        for name in STEERING {
            git.env_remove(name);
        }
        git.env("GIT_DIR", &self.place).env("GIT_WORK_TREE", &self.tree).env("GIT_INDEX_FILE", &self.index);
        git.env("GIT_OBJECT_DIRECTORY", &self.objects).env("HOME", &self.place).env("XDG_CONFIG_HOME", &self.place);
        for (name, value) in [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_COUNT", "0"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_ALLOW_PROTOCOL", "none"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_PAGER", "cat"),
            ("GIT_COMMITTER_NAME", "scrubjay"),
            ("GIT_COMMITTER_EMAIL", "scrubjay@localhost"),
            ("LC_ALL", "C"),
        ] {
            git.env(name, value);
        }
        git
    }
}

impl Drop for Git {
    fn drop(&mut self) {
        // What stays behind holds nothing but links and our own words.
        fs::remove_dir_all(&self.place).unwrap_or_default();
    }
}

/// A new folder that nobody else can look into, named after its neighbour.
fn own_folder(beside: &Path) -> io::Result<PathBuf> {
    const TRIES: usize = 100;
    let name = beside.file_name().unwrap_or_default().to_string_lossy();
    for number in 0..TRIES {
        let place = beside.with_file_name(format!("{name}.git-{number}"));
        match fs::DirBuilder::new().mode(0o700).create(&place) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.and_then(|()| fs::canonicalize(place)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
