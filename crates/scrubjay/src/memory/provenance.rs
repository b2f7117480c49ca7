//! What each memory rests on, kept where no model writes: who said it, and whether it may be trusted yet.
//!
//! A memory that rests only on what a tool, a page, a file or another agent said is tainted. It is kept, and listed apart:
//! until the person confirms it, it is never in the index, never about the person, and never shared.

use super::journal::{ChangeId, Recorded};
use crate::digest::Digest;
use crate::limits::Limits;
use crate::transcript::{Log, read_from};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

/// Who said what a memory rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The person.
    Person,
    /// The model.
    Assistant,
    /// A tool, by its name.
    Tool(String),
    /// A page of the web.
    Web,
    /// A file of the project.
    File,
    /// Somebody else who shares this memory.
    Team(String),
    /// Another memory, by its path.
    Memory(String),
}

/// One message that a memory rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Who said it.
    pub speaker: Speaker,
    /// In which session.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// In which message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The words themselves; of a tool's answer, what it was asked for: an address, a file, a command.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quote: String,
}

/// Whether a memory may be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The person said so.
    Clean,
    /// Only somebody or something else did.
    Tainted,
    /// Somebody else did, and the person confirmed it.
    Confirmed,
    /// Somebody of the team did, in the shared folder: it is shown as theirs, and what is made from it is tainted.
    Shared,
}

impl Trust {
    /// How far a memory made from these may be trusted: as far as the least of them. What the team shares is somebody else's word.
    pub(super) fn least(trusts: impl IntoIterator<Item = Trust>) -> Trust {
        trusts.into_iter().fold(Trust::Clean, |least, trust| match (least, trust) {
            (Trust::Tainted | Trust::Shared, _) | (_, Trust::Tainted | Trust::Shared) => Trust::Tainted,
            (Trust::Confirmed, _) | (_, Trust::Confirmed) => Trust::Confirmed,
            (Trust::Clean, Trust::Clean) => Trust::Clean,
        })
    }
}

/// What a memory rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    /// What it was made from.
    pub sources: Vec<Source>,
    /// Whether it may be trusted.
    pub trust: Trust,
    /// Why it waits for the user, where somebody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

impl Basis {
    /// What these sources are worth together: clean if the person said one of them, otherwise tainted.
    pub fn of(sources: Vec<Source>) -> Self {
        let said = sources.iter().any(|source| source.speaker == Speaker::Person);
        Self { sources, trust: if said { Trust::Clean } else { Trust::Tainted }, doubt: None }
    }

    /// The user vouches for it.
    pub fn confirm(&mut self) {
        if self.trust != Trust::Clean {
            (self.trust, self.doubt) = (Trust::Confirmed, None);
        }
    }

    /// Resting on these, and waiting for the user because of this.
    pub fn doubted(sources: Vec<Source>, doubt: impl Into<String>) -> Self {
        Self { sources, trust: Trust::Tainted, doubt: Some(doubt.into()) }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    change: ChangeId,
    path: String,
    digest: Option<Digest>,
    rests_on: Option<Basis>,
}

/// What every memory rests on.
#[derive(Debug)]
pub(super) struct Provenance {
    path: PathBuf,
    limits: Limits,
    read: u64,
    last: ChangeId,
    by_path: HashMap<String, Basis>,
    /// A tainted text that is found under another name is still tainted.
    tainted: HashMap<Digest, Basis>,
}

impl Provenance {
    pub(super) fn at(dir: &Path, limits: &Limits) -> Self {
        let path = dir.join("rests_on.jsonl");
        let (by_path, tainted) = (HashMap::new(), HashMap::new());
        Self { path, limits: limits.clone(), read: 0, last: ChangeId::default(), by_path, tainted }
    }

    /// Read what others have added. Only "not there" means that nothing is known.
    pub(super) fn catch_up(&mut self) -> io::Result<()> {
        let length = match std::fs::metadata(&self.path) {
            Ok(found) => found.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if length < self.read {
            (self.read, self.last) = (0, ChangeId::default());
            self.by_path.clear();
        }
        if length > self.read {
            let reading =
                read_from(&self.path, self.read, &self.limits, |json| serde_json::from_str::<Line>(json).ok())?;
            reading.records.into_iter().for_each(|line| self.take(line));
            self.read = length;
        }
        Ok(())
    }

    fn take(&mut self, line: Line) {
        self.last = line.change;
        match line.rests_on {
            Some(basis) => {
                if let Some(digest) = line.digest {
                    match basis.trust {
                        Trust::Tainted => drop(self.tainted.insert(digest, basis.clone())),
                        Trust::Clean | Trust::Confirmed | Trust::Shared => drop(self.tainted.remove(&digest)),
                    }
                }
                self.by_path.insert(line.path, basis);
            }
            None => drop(self.by_path.remove(&line.path)),
        }
    }

    /// Write down what a change says about this. Doing it twice changes nothing.
    pub(super) fn record(&mut self, change: &Recorded) -> io::Result<()> {
        let said = change.edits.iter().filter_map(|edit| Some((edit, edit.rests.as_ref()?)));
        let lines: Vec<Line> = said
            .map(|(edit, rests)| Line {
                change: change.id,
                path: edit.path.clone(),
                digest: edit.after.clone(),
                rests_on: rests.after.clone(),
            })
            .collect();
        if lines.is_empty() || self.last >= change.id {
            return Ok(());
        }
        let mut log = Log::open(&self.path, &self.limits)?;
        for line in &lines {
            log.append_json(&serde_json::to_string(line).map_err(io::Error::other)?)?;
        }
        log.sync()?;
        self.catch_up()
    }

    /// For every path, all that it ever rested on since it was made: what an edit adds to, and what it left of.
    pub(super) fn lives(&self) -> io::Result<BTreeMap<String, Vec<Basis>>> {
        let parse = |json: &str| serde_json::from_str::<Line>(json).ok();
        let lines = match read_from(&self.path, 0, &self.limits, parse) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read?.records,
        };
        let mut lives: BTreeMap<String, Vec<(Option<Digest>, Basis)>> = BTreeMap::new();
        for line in lines {
            let life = lives.entry(line.path).or_default();
            let Some(basis) = line.rests_on else {
                life.clear();
                continue;
            };
            // A text that comes back rests on what it rested on then.
            if let Some(at) = life.iter().position(|(digest, _)| *digest == line.digest) {
                life.truncate(at);
            }
            life.push((line.digest, basis));
        }
        Ok(lives.into_iter().map(|(path, life)| (path, life.into_iter().map(|(_, basis)| basis).collect())).collect())
    }

    /// How much was read.
    pub(super) fn length(&self) -> u64 {
        self.read
    }

    /// The last change that said anything about this.
    pub(super) fn last(&self) -> ChangeId {
        self.last
    }

    /// What a memory rests on, as far as anybody said.
    pub(super) fn basis(&self, path: &str, digest: &Digest) -> Option<&Basis> {
        self.by_path.get(path).or_else(|| self.tainted.get(digest))
    }

    pub(super) fn is_unconfirmed(&self, path: &str, digest: &Digest) -> bool {
        self.basis(path, digest).is_some_and(|basis| basis.trust == Trust::Tainted)
    }

    /// What a new text at this path rests on: at best what was said about it, and tainted if anything it was made from is.
    pub(super) fn inherited(&self, basis: Basis, was: Option<&Basis>) -> Basis {
        let tainted = |path: &String| self.by_path.get(path).is_some_and(|basis| basis.trust == Trust::Tainted);
        let from_tainted =
            basis.sources.iter().any(|source| matches!(&source.speaker, Speaker::Memory(path) if tainted(path)));
        let was_tainted = was.is_some_and(|was| was.trust == Trust::Tainted);
        let stays = basis.trust == Trust::Clean && (from_tainted || was_tainted);
        Basis { trust: if stays { Trust::Tainted } else { basis.trust }, ..basis }
    }
}
