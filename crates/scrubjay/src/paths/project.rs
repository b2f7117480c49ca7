//! Which project a directory belongs to: every worktree of a repository is the same one, and nobody joins by claiming to.

use std::fs;
use std::path::{Path, PathBuf};

/// The canonical git root of a directory; without git, the canonical directory itself.
///
/// A `.git` file is only believed when the repository it names points back at it, so that an unpacked archive cannot
/// join another project's memory.
pub fn project_root(dir: &Path) -> PathBuf {
    let dir = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf());
    dir.ancestors().find_map(root_at).unwrap_or(dir)
}

/// A repository and the working tree in it that a directory lies in. Found without git: a configuration that names
/// another working tree, and a bare repository among the files, are not asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The working tree.
    pub top: PathBuf,
    /// What is this working tree's own.
    pub git_dir: PathBuf,
    /// What all working trees share.
    pub common: PathBuf,
}

impl Repository {
    /// The nearest one above `dir`, or why there is none that can be worked with.
    pub fn of(dir: &Path) -> Result<Self, String> {
        let dir = fs::canonicalize(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        for top in dir.ancestors() {
            let dot_git = top.join(".git");
            match fs::symlink_metadata(&dot_git) {
                Ok(found) if found.is_symlink() => {
                    return Err(format!("{} is a link, which could lead anywhere", dot_git.display()));
                }
                Ok(found) if found.is_dir() && is_repository(&dot_git) => {
                    return Ok(Self { top: top.to_owned(), git_dir: dot_git.clone(), common: dot_git });
                }
                Ok(found) if found.is_file() => {
                    return Self::behind(&dot_git, top)
                        .ok_or_else(|| format!("{} names a repository that does not name it back", dot_git.display()));
                }
                _ => {}
            }
        }
        Err(format!("{} is in no git repository", dir.display()))
    }

    /// Behind a `.git` file: that of a worktree, or that of a submodule.
    fn behind(dot_git: &Path, top: &Path) -> Option<Self> {
        let git_dir = pointer(dot_git, top, "gitdir:")?;
        let common = match main_root_of(dot_git) {
            Some(_) => pointer(&git_dir.join("commondir"), &git_dir, "")?,
            None if submodule_checkout(&git_dir)? == top && is_repository(&git_dir) => git_dir.clone(),
            None => return None,
        };
        Some(Self { top: top.to_owned(), git_dir, common })
    }

    /// Whether its objects are named by SHA-256.
    pub(crate) fn has_sha256(&self) -> bool {
        let config = small_file(&self.common.join("config")).unwrap_or_default().to_ascii_lowercase();
        let format =
            |line: &str| Some(line.trim().strip_prefix("objectformat")?.trim().strip_prefix('=')?.trim() == "sha256");
        config.lines().any(|line| format(line) == Some(true))
    }

    /// Which files do not count here, besides what `.gitignore` says.
    pub(crate) fn excluded(&self) -> Option<String> {
        small_file(&self.common.join("info/exclude"))
    }
}

fn root_at(dir: &Path) -> Option<PathBuf> {
    let dot_git = dir.join(".git");
    match fs::metadata(&dot_git) {
        Ok(found) if found.is_file() => Some(main_root_of(&dot_git).unwrap_or_else(|| dir.to_path_buf())),
        Ok(found) if found.is_dir() && is_repository(&dot_git) => Some(dir.to_path_buf()),
        // Inside a repository's own folder, or in a bare one.
        _ if is_repository(dir) => Some(root_of_repository(dir)),
        _ => None,
    }
}

fn is_repository(dir: &Path) -> bool {
    dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir()
}

/// The main checkout behind a `.git` file, if it is a true worktree of it. Submodules have no `commondir` and are
/// projects of their own.
fn main_root_of(dot_git: &Path) -> Option<PathBuf> {
    let checkout = dot_git.parent()?;
    let worktree = pointer(dot_git, checkout, "gitdir:")?;
    let common = pointer(&worktree.join("commondir"), &worktree, "")?;
    let inside = worktree.parent()? == common.join("worktrees");
    // `dot_git` is canonical but for its last step: a symbolic link to somebody's true pointer does not match.
    let points_back = pointer(&worktree.join("gitdir"), &worktree, "")? == dot_git;
    (inside && points_back && is_repository(&common)).then(|| root_of_repository(&common))
}

/// A repository's checkout where it has one, otherwise (bare) its own folder.
fn root_of_repository(common: &Path) -> PathBuf {
    if common.file_name().is_some_and(|name| name == ".git") {
        return common.parent().unwrap_or(common).to_path_buf();
    }
    submodule_checkout(common).unwrap_or_else(|| common.to_path_buf())
}

/// A submodule's repository lies in its parent's; its checkout is named in the configuration and points back.
fn submodule_checkout(common: &Path) -> Option<PathBuf> {
    let config = small_file(&common.join("config"))?;
    let value = config.lines().find_map(|line| line.trim().strip_prefix("worktree")?.trim_start().strip_prefix('='))?;
    let checkout = fs::canonicalize(common.join(value.trim().trim_matches('"'))).ok()?;
    let back = pointer(&checkout.join(".git"), &checkout, "gitdir:")?;
    (back == common).then_some(checkout)
}

/// Where a one-line pointer file leads.
fn pointer(file: &Path, base: &Path, prefix: &str) -> Option<PathBuf> {
    let text = small_file(file)?;
    let target = text.strip_prefix(prefix)?.trim();
    if target.is_empty() {
        return None;
    }
    fs::canonicalize(base.join(target)).ok()
}

/// A file of git's own bookkeeping. Anything that is not a small regular text file is not one.
fn small_file(path: &Path) -> Option<String> {
    const LARGEST: u64 = 64 * 1024;
    let found = fs::metadata(path).ok()?;
    if !found.is_file() || found.len() > LARGEST {
        return None;
    }
    fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(git_dir: &Path) {
        fs::create_dir_all(git_dir.join("objects")).unwrap();
        fs::create_dir_all(git_dir.join("refs")).unwrap();
        fs::write(git_dir.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    /// A worktree as `git worktree add` leaves it.
    fn worktree(common: &Path, name: &str, checkout: &Path) {
        let admin = common.join("worktrees").join(name);
        fs::create_dir_all(&admin).unwrap();
        fs::create_dir_all(checkout).unwrap();
        fs::write(admin.join("HEAD"), "ref: refs/heads/side\n").unwrap();
        fs::write(admin.join("commondir"), "../..\n").unwrap();
        fs::write(admin.join("gitdir"), format!("{}\n", checkout.join(".git").display())).unwrap();
        fs::write(checkout.join(".git"), format!("gitdir: {}\n", admin.display())).unwrap();
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let held = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(held.path()).unwrap();
        (held, path)
    }

    // spec: D2
    #[test]
    fn every_worktree_is_the_same_project() {
        let (_held, at) = place();
        let main = at.join("birds");
        repository(&main.join(".git"));
        worktree(&main.join(".git"), "side", &at.join("side"));
        fs::create_dir_all(main.join("src/deep")).unwrap();
        fs::create_dir_all(at.join("side/src")).unwrap();
        std::os::unix::fs::symlink(&main, at.join("link")).unwrap();
        for dir in
            ["birds", "birds/src/deep", "side", "side/src", "link/src", "birds/.git", "birds/.git/worktrees/side"]
        {
            assert_eq!(project_root(&at.join(dir)), main, "{dir}");
        }
        // Newer git writes relative pointers.
        fs::write(at.join("side/.git"), "gitdir: ../birds/.git/worktrees/side\r\n").unwrap();
        fs::write(main.join(".git/worktrees/side/gitdir"), "../../../../side/.git\n").unwrap();
        assert_eq!(project_root(&at.join("side")), main);
    }

    // spec: D2
    // safety: F-23
    #[test]
    fn a_forged_git_file_joins_nobodys_memory() {
        let (_held, at) = place();
        let victim = at.join("victim");
        repository(&victim.join(".git"));
        worktree(&victim.join(".git"), "side", &at.join("side"));
        let forged = at.join("forged");
        fs::create_dir_all(&forged).unwrap();
        let claims = [
            format!("gitdir: {}", victim.join(".git/worktrees/side").display()),
            format!("gitdir: {}", victim.join(".git").display()),
            "gitdir: ../victim/.git/worktrees/side".to_owned(),
            "gitdir: own".to_owned(),
            "gitdir:".to_owned(),
            "gitdir: /nowhere".to_owned(),
            "nonsense".to_owned(),
            String::new(),
            "x".repeat(100_000),
        ];
        // An admin folder of the forger's own making that names the victim's repository.
        fs::create_dir_all(forged.join("own")).unwrap();
        fs::write(forged.join("own/commondir"), victim.join(".git").to_str().unwrap()).unwrap();
        fs::write(forged.join("own/gitdir"), forged.join(".git").to_str().unwrap()).unwrap();
        for claim in claims {
            fs::write(forged.join(".git"), &claim).unwrap();
            assert_eq!(project_root(&forged), forged, "{claim:.60}");
        }
        fs::write(forged.join(".git"), b"gitdir: \xff\xfe").unwrap();
        assert_eq!(project_root(&forged), forged);
        fs::remove_file(forged.join(".git")).unwrap();
        std::os::unix::fs::symlink(victim.join(".git"), forged.join(".git")).unwrap();
        assert_eq!(project_root(&forged), forged, "a symlink is no worktree");
        fs::remove_file(forged.join(".git")).unwrap();
        std::os::unix::fs::symlink(at.join("side/.git"), forged.join(".git")).unwrap();
        assert_eq!(project_root(&forged), forged, "nor is a link to a true worktree's pointer");
    }

    // spec: D2
    #[test]
    fn submodules_bare_repositories_and_plain_folders() {
        let (_held, at) = place();
        let outer = at.join("outer");
        repository(&outer.join(".git"));
        let module = outer.join(".git/modules/sub");
        repository(&module);
        fs::create_dir_all(outer.join("sub/src")).unwrap();
        fs::write(outer.join("sub/.git"), "gitdir: ../.git/modules/sub\n").unwrap();
        fs::write(module.join("config"), "[core]\n\tbare = false\n\tworktree = ../../../sub\n").unwrap();
        assert_eq!(project_root(&outer.join("sub/src")), outer.join("sub"), "a submodule is its own project");
        worktree(&module, "sub-side", &at.join("sub-side"));
        assert_eq!(project_root(&at.join("sub-side")), outer.join("sub"), "and so are its worktrees");

        repository(&at.join("bare.git"));
        worktree(&at.join("bare.git"), "one", &at.join("one"));
        worktree(&at.join("bare.git"), "two", &at.join("two"));
        for dir in ["one", "two", "bare.git", "bare.git/refs"] {
            assert_eq!(project_root(&at.join(dir)), at.join("bare.git"), "{dir}");
        }

        fs::create_dir_all(at.join("plain/.git")).unwrap();
        fs::create_dir_all(at.join("plain/inner")).unwrap();
        assert_eq!(project_root(&at.join("plain/inner")), at.join("plain/inner"), "an empty `.git` is no repository");
        assert_eq!(project_root(&at.join("not/there")), at.join("not/there"));
    }
}
