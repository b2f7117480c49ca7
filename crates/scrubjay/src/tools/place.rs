//! Where a path really leads: relative to the working directory, `..` taken out, symlinks of the existing part followed.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Symlinks followed for one path before it counts as a loop.
const MOST_LINKS: usize = 40;

/// The real target of a path that a model wrote. Permission is decided on this, and the work is done on it too.
///
/// A path that does not exist yet is resolved as far as it exists. A loop resolves to itself: opening it then fails.
/// `~` is an ordinary character, because the engine knows no home.
pub fn resolve(dir: &Path, path: impl AsRef<Path>) -> PathBuf {
    follow(&normal(&dir.join(path)))
}

/// Where the system goes with the same words: there `..` leads up from where a link leads, not from where it lies.
pub(crate) fn resolve_as_system(dir: &Path, path: impl AsRef<Path>) -> PathBuf {
    follow(&dir.join(path))
}

fn follow(start: &Path) -> PathBuf {
    let mut waiting: Vec<OsString> = parts(start);
    waiting.reverse();
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = waiting.pop() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        match std::fs::read_link(&next) {
            Ok(target) if links < MOST_LINKS => {
                links += 1;
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                waiting.extend(parts(&target).into_iter().rev());
            }
            Ok(_) => return normal(start),
            Err(_) => real = next,
        }
    }
    real
}

/// The path without `.` and `..`, decided by its letters alone.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    out
}

/// Names and `..`, in order. A link's own `..` leads up from where the link leads, so it is kept.
fn parts(path: &Path) -> Vec<OsString> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_os_string()),
            Component::ParentDir => Some(OsString::from("..")),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    // spec: X1
    // safety: F-43
    #[test]
    fn paths_lead_where_they_really_lead() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let (work, other) = (root.join("work"), root.join("other"));
        std::fs::create_dir_all(work.join("src")).unwrap();
        std::fs::create_dir_all(other.join("deep")).unwrap();
        symlink(&other, work.join("out")).unwrap();
        symlink("../other/deep", work.join("rel")).unwrap();
        symlink("loop_b", work.join("loop_a")).unwrap();
        symlink("loop_a", work.join("loop_b")).unwrap();
        symlink("/nowhere/at/all", work.join("dangling")).unwrap();
        for (path, real) in [
            ("a", work.join("a")),
            ("./src/../b", work.join("b")),
            ("src//c/", work.join("src/c")),
            ("../../../../../../../../../etc/passwd", PathBuf::from("/etc/passwd")),
            ("out/new.txt", other.join("new.txt")),
            ("out/../x", work.join("x")),
            ("rel/new.txt", other.join("deep/new.txt")),
            ("dangling", PathBuf::from("/nowhere/at/all")),
            ("loop_a", work.join("loop_a")),
            ("loop_a/x", work.join("loop_a/x")),
            ("~/x", work.join("~/x")),
            ("/..", PathBuf::from("/")),
            ("", work.clone()),
        ] {
            assert_eq!(resolve(&work, path), real, "{path}");
        }
        assert_eq!(resolve_as_system(&work, "out/../x"), root.join("x"));
        assert_eq!(resolve_as_system(&work, "rel/../x"), other.join("x"));
    }
}
