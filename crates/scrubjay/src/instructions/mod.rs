//! Instruction files: what an organisation, a person and a project ask of everyone who works here.
//!
//! They are read when a session begins, at `/clear`, after a compaction and when a session is resumed. Lowest first: what
//! comes later weighs more. The engine knows neither home nor system: whoever calls says where to look.

mod approvals;
mod changes;
mod discovery;
mod include;
mod reach;
mod rules;

pub use approvals::{Answer, Approvals};
pub use changes::{Changes, changes, reminders};
pub use rules::{Rule, due, rules_text};

use crate::fence::{fenced, fenced_path, quoted, shown_path};
use crate::frontmatter;
use crate::limits::Limits;
use crate::memory::prompt::Index;
use crate::message::{Block, Message, Origin, Role, SessionId};
use crate::prompts;
use crate::tools::{explain, load_from, open_resolved, resolve_as_system};
use crate::transcript::derived_id;
use discovery::Candidate;
use jiff::Timestamp;
use reach::Reach;
use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where to look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The files of whoever runs the machine, lowest first.
    pub managed: Vec<PathBuf>,
    /// The person's own files, lowest first.
    pub user: Vec<PathBuf>,
    /// What `~` means.
    pub home: PathBuf,
    /// The project's root.
    pub root: PathBuf,
    /// The working directory.
    pub dir: PathBuf,
}

/// Whose instructions a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whoever runs the machine.
    Managed,
    /// The person, for all projects.
    User,
    /// A folder above the project.
    Above,
    /// The project; they come with it.
    Project,
    /// The person, for this project alone.
    Local,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Managed => "managed",
            Kind::User => "user",
            Kind::Above => "above",
            Kind::Project => "project",
            Kind::Local => "local",
        }
    }

    /// Whether it comes with a repository, or lies where others might write.
    fn is_foreign(self) -> bool {
        matches!(self, Kind::Above | Kind::Project | Kind::Local)
    }
}

/// An instruction file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Where it was found.
    pub path: PathBuf,
    /// Whose it is.
    pub kind: Kind,
    /// The file that includes it, if one does.
    pub included_by: Option<PathBuf>,
    /// What it says.
    pub text: String,
}

/// A file outside of the project that the person has not spoken about yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The file.
    pub path: PathBuf,
    /// The instruction file that wants it.
    pub by: PathBuf,
}

/// Everything that was found.
#[derive(Debug, Default)]
pub struct Loaded {
    /// What holds for the whole session, lowest first. A file that is included stands before the one that includes it.
    pub files: Vec<File>,
    /// What holds once a matching file is touched.
    pub rules: Vec<Rule>,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// What is left out until the person approves it.
    pub waiting: Vec<Waiting>,
}

/// Read every instruction file.
pub fn load(places: &Places, approvals: &Approvals, limits: &Limits) -> Loaded {
    let mut reader = Reader {
        places,
        top: discovery::top(places),
        approvals,
        limits,
        seen: BTreeSet::new(),
        included: 0,
        bytes: 0,
        out: Loaded::default(),
    };
    for candidate in discovery::candidates(places, &reader.top) {
        reader.take(&candidate);
    }
    reader.out
}

/// The text of the message that a conversation begins with: instruction files, then the memory's index. Nothing when there
/// is neither. `nonce` is the session's own.
pub fn context(files: &[File], indexes: &[Index], nonce: &str) -> Option<String> {
    let index = |index: &Index| {
        let what = prompts::instruction_kind("memory");
        prompts::instruction_file(&fenced_path(&index.path), what, &quoted(index.text.trim_end()), nonce)
    };
    let all: Vec<String> = files.iter().map(|file| told(file, nonce)).chain(indexes.iter().map(index)).collect();
    (!all.is_empty()).then(|| prompts::instructions(&all.join("\n"), nonce))
}

/// A file under what it is.
fn told(file: &File, nonce: &str) -> String {
    let mut what = prompts::instruction_kind(file.kind.name()).to_owned();
    if let Some(by) = &file.included_by {
        what = format!("{what}; {}", prompts::included_instructions(&fenced_path(by)));
    }
    prompts::instruction_file(&fenced_path(&file.path), &what, &fenced(file.text.trim_end()), nonce)
}

/// That text as a message of the opening. Equal texts of a session make equal messages, whenever they are read.
pub fn message(session: &SessionId, text: String, at: Timestamp) -> Arc<Message> {
    let id = derived_id(session, &format!("instructions/{text}"));
    Arc::new(Message { id, role: Role::User, origin: Origin::Instructions, at, blocks: vec![Block::text(text)] })
}

/// A file that is open, and what it is whatever its name.
struct Found {
    file: std::fs::File,
    identity: (u64, u64),
}

struct Reader<'a> {
    places: &'a Places,
    /// The topmost folder of the project, as it is checked out here.
    top: PathBuf,
    approvals: &'a Approvals,
    limits: &'a Limits,
    /// No file is told twice, by whatever name: that also ends circles.
    seen: BTreeSet<(u64, u64)>,
    included: u64,
    bytes: u64,
    out: Loaded,
}

impl Reader<'_> {
    fn take(&mut self, candidate: &Candidate) {
        let real = resolve_as_system(Path::new("/"), &candidate.path);
        let Some(found) = self.find(&real, &candidate.path) else { return };
        if candidate.kind.is_foreign() && !self.may_use(&real, candidate.kind, &candidate.path) {
            return;
        }
        let Some(text) = self.read(found, &candidate.path, self.limits.instruction_file_bytes) else { return };
        if candidate.is_rule {
            let doc = frontmatter::parse(&text, &["paths"], self.limits);
            if let Some(mut rule) = Rule::of(&doc, candidate, &mut self.out.warnings) {
                rule.included = self.included_by(&rule, candidate.kind);
                self.out.rules.push(rule);
                return;
            }
        }
        let file = File { path: candidate.path.clone(), kind: candidate.kind, included_by: None, text };
        self.place(file, 1);
    }

    /// What a rule for some files brings along. It is told with the rule, so that another file may still include it.
    fn included_by(&mut self, rule: &Rule, kind: Kind) -> Vec<File> {
        let (before, seen) = (self.out.files.len(), self.seen.clone());
        let file = File { path: rule.path.clone(), kind, included_by: None, text: rule.text.clone() };
        for target in include::targets(&file.text) {
            self.include(&target, &file, 1);
        }
        self.seen = seen;
        self.out.files.split_off(before)
    }

    /// What a file includes stands before it: the more special text weighs more.
    fn place(&mut self, file: File, depth: u64) {
        for target in include::targets(&file.text) {
            self.include(&target, &file, depth);
        }
        if !file.text.trim().is_empty() {
            self.out.files.push(file);
        }
    }

    fn include(&mut self, target: &str, by: &File, depth: u64) {
        let path = include::path(target, &by.path, &self.places.home);
        let real = resolve_as_system(Path::new("/"), &path);
        if !std::fs::symlink_metadata(&real).is_ok_and(|found| found.is_file()) {
            // `@ada` is a person and `@types/node` a package: only what is plainly a path is missed.
            if include::is_plainly_a_path(target) {
                self.warn(&by.path, &format!("includes {}, which is not a file here", shown_path(&path)));
            }
            return;
        }
        if depth > self.limits.include_depth {
            return self.warn(&by.path, &format!("includes {} too many files deep; it is left out", shown_path(&path)));
        }
        if !self.may_use(&real, by.kind, &by.path) {
            return;
        }
        let Some(found) = self.find(&real, &by.path) else { return };
        let room = self.limits.include_bytes.saturating_sub(self.bytes);
        if self.included >= self.limits.include_files || found.file.metadata().map_or(0, |data| data.len()) > room {
            let why = "the limits `include_files` and `include_bytes` are reached";
            return self.warn(&by.path, &format!("includes {}, which is left out: {why}", shown_path(&path)));
        }
        let Some(text) = self.read(found, &path, room) else { return };
        self.included += 1;
        self.bytes += text.len() as u64;
        let file = File { path, kind: by.kind, included_by: Some(by.path.clone()), text };
        self.place(file, depth + 1);
    }

    /// Whether a file may be shown. What lies outside of the project waits for the person.
    fn may_use(&mut self, real: &Path, kind: Kind, by: &Path) -> bool {
        match reach::of(real, kind, by, (self.places, &self.top)) {
            Reach::Free => true,
            Reach::Never => {
                let path = shown_path(real);
                self.warn(by, &format!("names {path}, where secrets are kept; it is never included"));
                false
            }
            // An answer is remembered by name, so there must be one.
            Reach::Ask if real.to_str().is_none() => {
                self.warn(by, &format!("names {}, which is not a name in UTF-8; it is left out", shown_path(real)));
                false
            }
            Reach::Ask => match self.approvals.answer(real) {
                Some(Answer::Approved) => true,
                Some(Answer::Declined) => false,
                None => {
                    let waiting = Waiting { path: real.to_owned(), by: by.to_owned() };
                    if !self.out.waiting.iter().any(|known| known.path == waiting.path) {
                        self.out.waiting.push(waiting);
                    }
                    false
                }
            },
        }
    }

    /// Open a file that was not told yet. One that is not there is not missed.
    fn find(&mut self, real: &Path, name: &Path) -> Option<Found> {
        let opened = open_resolved(real).and_then(|file| {
            let data = file.metadata()?;
            Ok(Found { file, identity: (data.dev(), data.ino()) })
        });
        match opened {
            Ok(found) => Some(found).filter(|found| !self.seen.contains(&found.identity)),
            Err(error) if is_absent(&error) => None,
            Err(error) => {
                self.warn(name, &format!("cannot be read: {}", explain(&error)));
                None
            }
        }
    }

    fn read(&mut self, found: Found, name: &Path, most: u64) -> Option<String> {
        self.seen.insert(found.identity);
        let loaded = match load_from(&found.file, most) {
            Ok(loaded) => loaded,
            Err(error) => {
                self.warn(name, &format!("cannot be read: {}", explain(&error)));
                return None;
            }
        };
        let text = match String::from_utf8(loaded.bytes) {
            Ok(text) => text,
            // A cut in the middle of a character is our own.
            Err(error) if !loaded.whole && error.utf8_error().error_len().is_none() => {
                let end = error.utf8_error().valid_up_to();
                String::from_utf8_lossy(&error.as_bytes()[..end]).into_owned()
            }
            Err(_) => String::from('\0'),
        };
        if text.contains('\0') {
            self.warn(name, "is not a text; it is left out");
            return None;
        }
        let chars = text.chars().count() as u64;
        if !loaded.whole {
            self.warn(name, &format!("is larger than {most} bytes; what follows is left out"));
        } else if chars > self.limits.instruction_warn_chars {
            let advice = "a shorter file leaves more room for the work";
            self.warn(name, &format!("has {chars} characters, all of them part of every request; {advice}"));
        }
        Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
    }

    fn warn(&mut self, path: &Path, what: &str) {
        self.out.warnings.push(format!("{} {what}", shown_path(path)));
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests;
