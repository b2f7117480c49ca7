//! Forgetting a source: every memory that rests on it, by way of however many other memories, whatever was done to them
//! since.

use super::find::sessions;
use super::journal::{Cause, Recorded};
use super::provenance::{Basis, Source, Speaker};
use super::store::Memory;
use super::{MemoryError, While as _};
use crate::limits::Limits;
use crate::paths::ProjectLayout;
use crate::transcript;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Fewer letters of a session's name may mean several.
const SESSION_LETTERS: usize = 8;

/// What is to be forgotten: a session, a message, an address, a file, a tool, `web`, `file`, `assistant`, `team` or the path of a
/// memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins {
    named: String,
    /// Messages that brought it, by session.
    messages: BTreeSet<(String, String)>,
}

impl Origins {
    /// A source by its name.
    pub fn named(name: &str) -> Self {
        Self { named: name.trim().to_owned(), messages: BTreeSet::new() }
    }

    /// With the messages of the project's sessions in which a tool was called with that name and in which it answered.
    pub fn with_messages(mut self, project: &ProjectLayout, limits: &Limits) -> io::Result<Self> {
        if !self.is_place() {
            return Ok(self);
        }
        for session in sessions(project)? {
            let records = transcript::read(&project.transcript(&session), limits)?.records;
            let said = records.into_iter().filter_map(|record| match record.entry {
                transcript::Entry::Said(message) => Some(message),
                _ => None,
            });
            let mut calls = BTreeSet::new();
            for message in said {
                let called = message.tool_uses().filter(|call| call.input.to_string().contains(&self.named));
                let before = calls.len();
                calls.extend(called.map(|call| call.id.clone()));
                let answers = message.tool_results().any(|result| calls.contains(&result.call));
                if answers || calls.len() > before {
                    self.messages.insert((session.clone(), message.id.to_string()));
                }
            }
        }
        Ok(self)
    }

    /// Whether it names where something is, not who speaks.
    fn is_place(&self) -> bool {
        self.named.contains(['/', '.']) && self.named.len() > 3
    }

    fn is_session(&self, session: &str) -> bool {
        session == self.named || (self.named.len() >= SESSION_LETTERS && session.starts_with(&self.named))
    }

    fn holds(&self, source: &Source) -> bool {
        let named = self.named.as_str();
        let spoken = match &source.speaker {
            Speaker::Person => false,
            Speaker::Assistant => named == "assistant",
            Speaker::Tool(tool) => named.eq_ignore_ascii_case(tool),
            Speaker::Web => named == "web",
            Speaker::File => named == "file",
            Speaker::Team(who) => named == "team" || (!who.is_empty() && named == who),
            Speaker::Memory(path) => named == path,
        };
        spoken
            || (!source.message.is_empty() && source.message == named)
            || (!source.session.is_empty() && self.is_session(&source.session))
            || (self.is_place() && source.quote.contains(named))
            || self.messages.contains(&(source.session.clone(), source.message.clone()))
    }

    /// Whether a memory was made by that session or message, or came from that place.
    fn caused(&self, cause: &Cause) -> bool {
        match cause {
            Cause::Session { session } | Cause::Extraction { session, .. } => self.is_session(session),
            Cause::Message { session, message } => self.is_session(session) || *message == self.named,
            Cause::Import { from } => *from == self.named,
            Cause::Tool { name } => *name == self.named,
            _ => false,
        }
    }
}

/// A memory that rests on a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derived {
    /// Its path.
    pub path: String,
    /// Whether it rests on the person's words, too.
    pub said_by_person: bool,
}

impl Memory {
    /// Every memory that rests on a source, also by way of other memories.
    pub fn derived_from(&self, origins: &Origins) -> Result<Vec<Derived>, MemoryError> {
        let mut bases: BTreeMap<String, Vec<Basis>> =
            self.provenance.lives().during("reading what the memories rest on")?;
        for entry in &self.scan.entries {
            bases.entry(entry.path.clone()).or_default().extend(self.basis_of(entry).cloned());
        }
        let sources = |path: &String| bases.get(path).into_iter().flatten().flat_map(|basis| &basis.sources);
        let mut derived = self.made_by(origins)?;
        derived.extend(bases.keys().filter(|path| sources(path).any(|source| origins.holds(source))).cloned());
        loop {
            let from_derived = |path: &&String| {
                sources(path).any(|source| matches!(&source.speaker, Speaker::Memory(from) if derived.contains(from)))
            };
            let more: Vec<String> =
                bases.keys().filter(|path| !derived.contains(*path)).filter(from_derived).cloned().collect();
            if more.is_empty() {
                break;
            }
            derived.extend(more);
        }
        let there = derived.into_iter().filter(|path| self.scan.get(path).is_some());
        Ok(there
            .map(|path| {
                let said_by_person = sources(&path).any(|source| source.speaker == Speaker::Person);
                Derived { path, said_by_person }
            })
            .collect())
    }

    /// Memories that are there because of a session, a message or an import, and were not made anew since.
    fn made_by(&self, origins: &Origins) -> Result<BTreeSet<String>, MemoryError> {
        let mut made = BTreeSet::new();
        for Recorded { cause, edits, .. } in self.log()? {
            for edit in edits.iter().filter(|edit| edit.before.is_none()) {
                match &cause {
                    // What comes back is what it was.
                    Cause::Undo { .. } | Cause::Restore => {}
                    cause if origins.caused(cause) => drop(made.insert(edit.path.clone())),
                    _ => drop(made.remove(&edit.path)),
                }
            }
        }
        Ok(made)
    }
}
