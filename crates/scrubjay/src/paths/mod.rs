//! Where things lie, what a project is called on disk, and which directories may be named at all.

mod locking;
mod private;
mod project;

pub use locking::lock_within;
pub use private::{create_dir_private, write_private, write_private_in};
pub use project::{Repository, project_root};

use crate::digest::Digest;
use crate::limits::Limits;
use std::path::{Component, Path, PathBuf};

/// Why a directory is not accepted as a place to write memories to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It depends on where the program was started.
    #[error(
        "`{0}` is a relative path, which would mean another place in every folder; give the whole path, or begin it with `~/`"
    )]
    Relative(String),
    /// It is the root, or one step below it.
    #[error(
        "`{0}` is the root of the file system or lies directly below it; choose a directory at least two levels deep"
    )]
    TooShallow(String),
    /// It is a whole Windows drive.
    #[error("`{0}` is a whole drive; choose a directory on it")]
    DriveRoot(String),
    /// It is on another machine.
    #[error("`{0}` is a network path, where locks and atomic writes cannot be trusted; choose a local directory")]
    Network(String),
    /// It holds a NUL byte.
    #[error("`{0}` holds a NUL byte, so the system would read a shorter path than we checked; remove it")]
    Nul(String),
}

/// Accept a directory that somebody named, or say why not.
///
/// ```
/// use std::path::Path;
/// assert!(scrubjay::paths::reject(Path::new("/home/ada/memory")).is_ok());
/// assert!(scrubjay::paths::reject(Path::new("/")).is_err());
/// ```
pub fn reject(candidate: &Path) -> Result<PathBuf, PathError> {
    let shown = || candidate.to_string_lossy().replace('\0', "\\0");
    let bytes = candidate.as_os_str().as_encoded_bytes();
    match bytes {
        _ if bytes.contains(&0) => return Err(PathError::Nul(shown())),
        [b'/' | b'\\', b'/' | b'\\', ..] => return Err(PathError::Network(shown())),
        [drive, b':'] | [drive, b':', b'/' | b'\\'] if drive.is_ascii_alphabetic() => {
            return Err(PathError::DriveRoot(shown()));
        }
        _ if !candidate.is_absolute() => return Err(PathError::Relative(shown())),
        _ => {}
    }
    // Counted after `..`, so that `/home/ada/../..` is seen as what it is.
    let mut depth = 0_usize;
    for part in candidate.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::ParentDir => depth = depth.saturating_sub(1),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    if depth < 2 { Err(PathError::TooShallow(shown())) } else { Ok(candidate.to_path_buf()) }
}

/// `~/x` below this home; every other text as it is.
pub fn expand_home(text: &str, home: &Path) -> PathBuf {
    match text.strip_prefix('~') {
        Some("") => home.to_path_buf(),
        Some(rest) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(text),
    }
}

/// A project's folder name: readable for people, and never shared by two paths.
pub fn slug(canonical_root: &Path, limits: &Limits) -> String {
    let readable = canonical_root.to_string_lossy();
    let most = usize::try_from(limits.slug_chars).unwrap_or(usize::MAX);
    let mut slug: String =
        readable.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(most).collect();
    slug.push('-');
    slug.push_str(Digest::of(canonical_root.as_os_str().as_encoded_bytes()).as_str());
    slug
}

/// A file name for an id that a model or a server made up: it can neither climb nor collide.
pub fn file_name_for(id: &str) -> String {
    Digest::of(id.as_bytes()).as_str().to_owned()
}

/// Everything under one data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// The data directory.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The data directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder that holds one folder a project.
    pub fn projects(&self) -> PathBuf {
        self.root.join("projects")
    }

    /// The places of one project, by its canonical root.
    pub fn project(&self, canonical_root: &Path, limits: &Limits) -> ProjectLayout {
        ProjectLayout { dir: self.projects().join(slug(canonical_root, limits)) }
    }

    /// What is kept for the memory that a kind of agents has in all projects.
    pub fn agent(&self, name: &str) -> ProjectLayout {
        ProjectLayout { dir: self.root.join("agents").join(name) }
    }
}

/// The places of one project, or of one kind of agents, whose memory is kept the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectLayout {
    dir: PathBuf,
}

impl ProjectLayout {
    /// The project's own folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What is kept for the memory that a kind of agents has in this project.
    pub fn agent(&self, name: &str) -> ProjectLayout {
        ProjectLayout { dir: self.dir.join("agents").join(name) }
    }

    /// A session's transcript.
    pub fn transcript(&self, session: &str) -> PathBuf {
        self.dir.join(session_name(session) + ".jsonl")
    }

    /// What else a session leaves behind.
    pub fn session(&self, session: &str) -> PathBuf {
        self.dir.join(session_name(session))
    }

    /// Stored tool results of a session.
    pub fn tool_results(&self, session: &str) -> PathBuf {
        self.session(session).join("tool-results")
    }

    /// One stored tool result; `extension` is `txt` or `json`.
    pub fn tool_result(&self, session: &str, tool_use_id: &str, extension: &'static str) -> PathBuf {
        self.tool_results(session).join(format!("{}.{extension}", file_name_for(tool_use_id)))
    }

    /// A session's notes.
    pub fn notes(&self, session: &str) -> PathBuf {
        self.session(session).join("session-memory").join("summary.md")
    }

    /// A session's receipts.
    pub fn ledger(&self, session: &str) -> PathBuf {
        self.session(session).join("ledger.jsonl")
    }

    /// What the person said about files outside of the project that its instruction files include.
    pub fn includes(&self) -> PathBuf {
        self.dir.join("includes.json")
    }

    /// Long-term memory, unless settings put it elsewhere.
    pub fn memory(&self) -> PathBuf {
        self.dir.join("memory")
    }

    /// History of the memory.
    pub fn journal(&self) -> PathBuf {
        self.dir.join("journal")
    }

    /// What each memory rests on, kept where no model writes.
    pub fn provenance(&self) -> PathBuf {
        self.dir.join("provenance")
    }

    /// What is kept to find things quickly; it can be made again from the rest.
    pub fn recall(&self) -> PathBuf {
        self.dir.join("recall")
    }

    /// What background work of this project runs, and what ran lately.
    pub fn jobs(&self) -> PathBuf {
        self.dir.join("jobs")
    }

    /// Mailboxes of the agents that work on this project in processes of their own.
    pub fn mail(&self) -> PathBuf {
        self.dir.join("mail")
    }

    /// What dreams propose, and what the last one has seen.
    pub fn dreams(&self) -> PathBuf {
        self.dir.join("dreams")
    }

    /// Removed memories.
    pub fn trash(&self) -> PathBuf {
        self.dir.join("trash")
    }
}

/// Our own ids are plain words and stay readable; anything else that was typed or sent becomes a hash.
fn session_name(session: &str) -> String {
    const RESERVED: [&str; 9] =
        ["memory", "journal", "provenance", "trash", "recall", "agents", "jobs", "mail", "dreams"];
    const LONGEST: usize = 64;
    let plain = session.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let starts_well = session.starts_with(|c: char| c.is_ascii_alphanumeric());
    let free = !RESERVED.iter().any(|name| session.eq_ignore_ascii_case(name));
    if plain && starts_well && free && session.len() <= LONGEST { session.to_owned() } else { file_name_for(session) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    // spec: D3
    #[test]
    fn candidates_are_rejected_with_the_reason() {
        for (candidate, reason) in [
            ("memory", "relative"),
            ("./memory/x", "relative"),
            ("../x/y", "relative"),
            ("", "relative"),
            ("~ada/x", "relative"),
            ("C:\\Users\\ada", "relative"),
            ("/", "directly below"),
            ("/tmp", "directly below"),
            ("/tmp/", "directly below"),
            ("/./tmp/.", "directly below"),
            ("/home/ada/../..", "directly below"),
            ("/home/ada/../../../etc", "directly below"),
            ("C:", "whole drive"),
            ("c:\\", "whole drive"),
            ("Z:/", "whole drive"),
            ("\\\\server\\share\\x", "network"),
            ("//server/share/x", "network"),
            ("\\/server/share", "network"),
            ("/home/ada\0/x", "NUL"),
        ] {
            let error = reject(Path::new(candidate)).unwrap_err().to_string();
            assert!(error.contains(reason), "{candidate:?}: {error}");
            assert!(!error.contains('\0'));
        }
        for fine in ["/home/ada", "/home/ada/.memory/", "/a/b/../c", "/home/ada/Ünï cødé"] {
            assert_eq!(reject(Path::new(fine)), Ok(PathBuf::from(fine)));
        }
        let odd = PathBuf::from(OsString::from_vec(b"/home/\xff\xfe".to_vec()));
        assert_eq!(reject(&odd), Ok(odd));
    }

    // spec: D1
    #[test]
    fn a_tilde_means_home_only_at_the_start() {
        let home = Path::new("/home/ada");
        for (text, path) in [
            ("~/notes", "/home/ada/notes"),
            ("~", "/home/ada"),
            ("~//notes", "/home/ada/notes"),
            ("~bob/notes", "~bob/notes"),
            ("/x/~/y", "/x/~/y"),
        ] {
            assert_eq!(expand_home(text, home), Path::new(path), "{text}");
        }
    }

    // spec: D2
    // safety: F-22
    #[test]
    fn slugs_are_readable_and_apart() {
        let limits = Limits::default();
        let slug_of = |path: &str| slug(Path::new(path), &limits);
        assert!(slug_of("/a/b-c").starts_with("-a-b-c-"));
        assert_eq!(slug_of("/a/b-c").len(), "-a-b-c-".len() + 32);
        assert_ne!(slug_of("/a/b-c"), slug_of("/a-b/c"));
        let deep = "/é".repeat(500);
        assert!(slug_of(&deep).chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
        assert_eq!(slug_of(&deep).len(), 200 + 1 + 32, "still a legal file name");
        assert_ne!(slug_of(&deep), slug_of(&(deep.clone() + "x")));
        assert_eq!(slug_of("/home/ada/birds"), "-home-ada-birds-aeab1e7139e01367075fdd871c288901");
    }

    // safety: SG24
    #[test]
    fn a_million_pairs_of_alike_paths_stay_apart() {
        let limits = Limits::default();
        let mut paths = vec![String::new()];
        for _ in 0..5 {
            let longer = paths.iter().flat_map(|path| ["/", "-", "a", ".", "é"].map(|end| format!("{path}{end}")));
            paths = longer.chain(paths.iter().cloned()).collect();
            paths.sort();
            paths.dedup();
        }
        let slugs: std::collections::BTreeSet<String> =
            paths.iter().map(|path| slug(Path::new(path), &limits)).collect();
        assert!(paths.len() * (paths.len() - 1) / 2 >= 1_000_000, "{}", paths.len());
        assert_eq!(slugs.len(), paths.len());
    }

    // spec: R2
    // safety: F-34
    #[test]
    fn everything_lies_below_its_project() {
        let layout = Layout::at("/data");
        let project = layout.project(Path::new("/home/ada/birds"), &Limits::default());
        let hostile =
            ["../../etc/passwd", "/etc/passwd", "..", "", "a/b", "memory", "Trash", "-rf", "x\0y", "\u{202e}x", ".git"];
        let long = "a".repeat(300);
        for id in hostile.into_iter().chain([long.as_str()]) {
            for path in [
                project.transcript(id),
                project.session(id),
                project.tool_result(id, id, "txt"),
                project.notes(id),
                project.ledger(id),
            ] {
                assert!(path.starts_with(project.dir()), "{path:?}");
                assert!(path.components().all(|part| part != Component::ParentDir), "{path:?}");
                assert!(path.components().all(|part| part.as_os_str().len() <= 255), "{path:?}");
            }
            assert!(![project.memory(), project.trash(), project.journal()].contains(&project.session(id)), "{id}");
        }
        let session = "0198c0de-0000-7000-8000-000000000001";
        assert!(project.transcript(session).ends_with(format!("{session}.jsonl")));
        assert!(project.notes(session).ends_with(format!("{session}/session-memory/summary.md")));
        assert!(project.tool_result(session, "toolu_1", "json").ends_with(file_name_for("toolu_1") + ".json"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        // spec: D2
        // safety: F-22
        // safety: F-42
        #[test]
        fn two_paths_never_share_a_slug(
            a in proptest::collection::vec(prop_oneof![Just(b'/'), Just(b'-'), Just(b'a'), 1_u8..=255], 1..12),
            b in proptest::collection::vec(prop_oneof![Just(b'/'), Just(b'-'), Just(b'a'), 1_u8..=255], 1..12),
        ) {
            let limits = Limits::default();
            let slug_of = |bytes: &[u8]| slug(Path::new(&OsString::from_vec(bytes.to_vec())), &limits);
            prop_assert_eq!(a == b, slug_of(&a) == slug_of(&b));
            prop_assert!(slug_of(&a).len() <= 255 && !slug_of(&a).contains('/'));
        }
    }
}
