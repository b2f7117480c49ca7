//! Which files are looked for, lowest first.

use super::{Kind, Places};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A file that may be there.
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    /// A rule may hold for some files only.
    pub(super) is_rule: bool,
    /// The directory its patterns are relative to.
    pub(super) base: PathBuf,
}

impl Candidate {
    fn new(path: PathBuf, kind: Kind, base: &Path) -> Self {
        Self { path, kind, is_rule: false, base: base.to_owned() }
    }
}

/// Managed, user, then the project from the top down, then what the person keeps beside it, also from the top down.
pub(super) fn candidates(places: &Places, top: &Path) -> Vec<Candidate> {
    let named = |paths: &[PathBuf], kind| {
        paths.iter().map(|path| Candidate::new(path.clone(), kind, Path::new("/"))).collect::<Vec<_>>()
    };
    let mut found = named(&places.managed, Kind::Managed);
    found.extend(named(&places.user, Kind::User));
    let mut dirs: Vec<&Path> = places.dir.ancestors().collect();
    dirs.reverse();
    for dir in &dirs {
        let kind = if dir.starts_with(top) { Kind::Project } else { Kind::Above };
        if kind == Kind::Project || is_ours(dir) {
            found.extend(of_project(dir, kind));
        }
    }
    let below = dirs.iter().filter(|dir| dir.starts_with(top));
    found.extend(below.map(|dir| Candidate::new(dir.join("CLAUDE.local.md"), Kind::Local, dir)));
    found
}

fn of_project(dir: &Path, kind: Kind) -> Vec<Candidate> {
    let plain = |name: &str| Candidate::new(dir.join(name), kind, dir);
    let mut found = vec![plain("CLAUDE.md"), plain(".claude/CLAUDE.md")];
    let rules = rules_in(&dir.join(".claude/rules"));
    found.extend(rules.into_iter().map(|path| Candidate { is_rule: true, ..Candidate::new(path, kind, dir) }));
    found.push(plain("AGENTS.md"));
    found
}

fn rules_in(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut rules: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    rules.retain(|path| path.extension().is_some_and(|end| end == "md"));
    rules.sort();
    rules
}

/// Above the project only folders count that not everybody can write to: a file in `/tmp` speaks for nobody.
fn is_ours(dir: &Path) -> bool {
    const OTHERS_WRITE: u32 = 0o002;
    fs::metadata(dir).is_ok_and(|data| data.permissions().mode() & OTHERS_WRITE == 0)
}

/// The topmost folder of the project as it is checked out here. A worktree belongs to a project that lies elsewhere.
pub(super) fn top(places: &Places) -> PathBuf {
    if places.dir.starts_with(&places.root) {
        return places.root.clone();
    }
    let checkout = places.dir.ancestors().find(|dir| dir.join(".git").exists());
    checkout.unwrap_or(&places.dir).to_owned()
}
