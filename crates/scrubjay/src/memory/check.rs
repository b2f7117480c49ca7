//! Looking over a memory: what is not as it should be, and what of it code alone can put right.

use super::folder::Folder;
use super::index::{load_index, pointer, pointers};
use super::name;
use super::scan::{Entry, Team, is_shared};
use super::sharing::{Credential, credential};
use super::store::{Index, Memory};
use super::topic::{Header, Kind, Topic};
use super::{MemoryError, Repairs, While as _};
use std::collections::HashMap;
use std::fmt;
use std::io;

/// What can be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A line of the index points to nothing.
    LineWithoutFile,
    /// A memory has no line in the index.
    FileWithoutLine,
    /// An index has two lines for one memory.
    TwoLines,
    /// A line of the index shows a memory that nobody confirmed.
    UnconfirmedInIndex,
    /// A line of the index is too long, or would be if its memory were described in full.
    LongLine,
    /// An index is longer than what sessions begin with: how much of it they do not see.
    LongIndex(String),
    /// Another memory has the same text, or a name that is the same on some systems.
    Duplicate(String),
    /// Its type is none of the four.
    UnknownType(String),
    /// It lacks a part that memories of its kind have.
    MissingPart(&'static str),
    /// It is there and is not loaded.
    NotLoaded(String),
    /// Others may read or write it.
    OpenToOthers,
    /// It keeps the other version of a memory that two changed at once.
    ConflictCopy,
    /// It rests only on what somebody else said, and nobody confirmed it.
    Unconfirmed,
    /// It holds a credential.
    Credential(Credential),
    /// It is about the person and lies where it is shared.
    Personal,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where.
    pub path: String,
    /// What.
    pub fault: Fault,
}

impl Finding {
    /// Whether something is shared that must not be.
    pub fn is_leak(&self) -> bool {
        is_shared(&self.path) && matches!(self.fault, Fault::Credential(_) | Fault::Personal)
    }

    /// Whether [`Memory::fix`] puts it right.
    pub fn is_fixable(&self) -> bool {
        use Fault::{FileWithoutLine, LineWithoutFile, OpenToOthers, TwoLines, UnconfirmedInIndex};
        matches!(self.fault, LineWithoutFile | FileWithoutLine | TwoLines | UnconfirmedInIndex | OpenToOthers)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.fault {
            Fault::LineWithoutFile => {
                write!(f, "{path}: the index has a line for it and there is no such file; fixing takes it out")
            }
            Fault::FileWithoutLine => write!(f, "{path}: the index has no line for it; fixing adds one"),
            Fault::TwoLines => write!(f, "{path}: it has two lines for one memory; fixing keeps the first"),
            Fault::UnconfirmedInIndex => {
                write!(f, "{path}: nobody confirmed it and the index shows it; fixing takes it out")
            }
            Fault::LongLine => write!(f, "{path}: its line in the index is too long; shorten its description"),
            Fault::LongIndex(why) => write!(
                f,
                "{path}: {why}; recall finds the rest. Forget or merge what nobody uses (`scrubjay memory ls --by use`), or shorten descriptions"
            ),
            Fault::Duplicate(other) => write!(f, "{path}: {other} says or is called the same; merge the two"),
            Fault::UnknownType(kind) => {
                write!(f, "{path}: `{kind}` is no type; use user, feedback, project or reference")
            }
            Fault::MissingPart(part) => {
                write!(f, "{path}: it has no {part}; add it, so that it can be found and judged later")
            }
            Fault::NotLoaded(why) => write!(f, "{path}: it is not loaded, because {why}"),
            Fault::OpenToOthers => write!(f, "{path}: others on this machine may read it; fixing closes it"),
            Fault::ConflictCopy => {
                write!(f, "{path}: it keeps the other version of a memory; merge the two and remove it")
            }
            Fault::Unconfirmed => write!(f, "{path}: it rests on what somebody else said; confirm it or remove it"),
            Fault::Credential(Credential { rule, line }) => {
                let shared = if is_shared(path) { ", and it is shared, so the index leaves it out" } else { "" };
                write!(f, "{path}: line {line} looks like a credential ({rule}){shared}; take it out and change it")
            }
            Fault::Personal => {
                write!(f, "{path}: it is about you and lies where it is shared, so the index leaves it out; move it")
            }
        }
    }
}

impl Memory {
    /// Everything that is not as it should be, as it stands on the disk now.
    pub fn check(&mut self) -> Result<Vec<Finding>, MemoryError> {
        self.look_only()?;
        self.look_through_shared();
        let mut findings = Vec::new();
        if self.place().index == Index::Kept {
            self.check_index("", &mut findings)?;
            if self.place().team == Team::On {
                self.check_index("team/", &mut findings)?;
            }
        }
        self.check_files(&mut findings)?;
        self.check_duplicates(&mut findings);
        for left in &self.scan().left_out {
            findings.push(Finding { path: left.path.clone(), fault: Fault::NotLoaded(left.why.clone()) });
        }
        Ok(findings)
    }

    /// Put right what needs no judgement: the index, and who may read the files.
    pub fn fix(&mut self) -> Result<Repairs, MemoryError> {
        let repairs = self.refresh()?;
        for finding in self.check()?.iter().filter(|finding| finding.fault == Fault::OpenToOthers) {
            let file = finding.path.rsplit('/').next().unwrap_or_default();
            let closed = self.folder_of(&finding.path).and_then(|folder: Folder| folder.restrict(file));
            closed.during("closing a file to others")?;
        }
        Ok(repairs)
    }

    fn check_index(&self, scope: &str, findings: &mut Vec<Finding>) -> Result<(), MemoryError> {
        let at = format!("{scope}{}", name::INDEX);
        let folder = match self.folder_of(&at) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            folder => folder.during("reading the index")?,
        };
        let loaded = folder.read(name::INDEX, self.limits.index_file_bytes).during("reading the index")?;
        let bytes = loaded.map(|loaded| loaded.bytes).unwrap_or_default();
        let first = pointers(&bytes);
        let most = usize::try_from(self.limits.index_line_chars).unwrap_or(usize::MAX);
        let count = bytes.split(|byte| *byte == b'\n').filter(|line| pointer(line).is_some()).count();
        for (rest, (_, line)) in &first {
            let path = format!("{scope}{rest}");
            let fault = match self.scan().get(&path) {
                None => Some(Fault::LineWithoutFile),
                Some(entry) if self.is_withheld(entry) => Some(Fault::UnconfirmedInIndex),
                Some(entry) if line.chars().count().max(entry.description.chars().count()) > most => {
                    Some(Fault::LongLine)
                }
                Some(_) => None,
            };
            findings.extend(fault.map(|fault| Finding { path, fault }));
        }
        let seen = load_index(&String::from_utf8_lossy(&bytes), name::INDEX, &self.limits).seen(&self.limits);
        findings.extend(seen.map(|seen| Finding { path: at.clone(), fault: Fault::LongIndex(seen) }));
        if count > first.len() {
            findings.push(Finding { path: at, fault: Fault::TwoLines });
        }
        let mine = |entry: &&Entry| self.place().team == Team::Off || entry.is_shared() == (scope == "team/");
        for entry in self.list().filter(|entry| mine(entry) && !self.is_withheld(entry)) {
            if !first.contains_key(entry.path.strip_prefix(scope).unwrap_or_default()) {
                findings.push(Finding { path: entry.path.clone(), fault: Fault::FileWithoutLine });
            }
        }
        Ok(())
    }

    fn check_files(&self, findings: &mut Vec<Finding>) -> Result<(), MemoryError> {
        for entry in &self.scan().entries {
            let Some((_, text)) = self.text(&entry.path)? else { continue };
            let kind = Header::read(&text, &self.limits).kind;
            let mut faults: Vec<Fault> =
                Topic::read(&text, &self.limits).missing_parts().into_iter().map(Fault::MissingPart).collect();
            if Kind::of(&kind) == Kind::Untyped && !kind.is_empty() {
                faults.push(Fault::UnknownType(kind));
            }
            if entry.path.contains(".conflict-") {
                faults.push(Fault::ConflictCopy);
            }
            if self.is_unconfirmed(entry) {
                faults.push(Fault::Unconfirmed);
            }
            faults.extend(credential(&text, "").map(Fault::Credential));
            if entry.is_shared() && entry.kind == Kind::User {
                faults.push(Fault::Personal);
            }
            if self.is_open_to_others(&entry.path).during("looking at the memories")? {
                faults.push(Fault::OpenToOthers);
            }
            findings.extend(faults.into_iter().map(|fault| Finding { path: entry.path.clone(), fault }));
        }
        Ok(())
    }

    fn is_open_to_others(&self, path: &str) -> io::Result<bool> {
        let file = path.rsplit('/').next().unwrap_or_default();
        Ok(self.folder_of(path)?.look(file.as_ref())?.is_some_and(|stat| stat.st_mode & 0o077 != 0))
    }

    fn check_duplicates(&self, findings: &mut Vec<Finding>) {
        let (mut texts, mut names) = (HashMap::new(), HashMap::new());
        for entry in &self.scan().entries {
            let (scope, path) = (is_shared(&entry.path), &entry.path);
            let same = texts.insert(&entry.digest, path).or_else(|| names.insert((scope, name::fold(path)), path));
            findings.extend(same.map(|other| Finding { path: path.clone(), fault: Fault::Duplicate(other.clone()) }));
        }
    }
}
