//! Finding without a model: an index over the memories of a project, and one over everything its sessions left, each kept
//! in a file of its own and brought up to date by reading only what changed.
//!
//! The files are the truth. An index that is missing, torn or of another version is built again.

use super::provenance::{Speaker, Trust};
use super::recall::{Document, Hit, Index, Query, Turn, Voice, number};
use super::{Entry, Kind, Memory, Topic};
use crate::digest::Digest;
use crate::limits::Limits;
use crate::message::{Message, Origin};
use crate::paths::{self, ProjectLayout};
use crate::tools::beginning;
use crate::transcript;
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A collection that can be searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shelf {
    /// Long-term memories.
    Memory,
    /// Notes that sessions kept.
    Notes,
    /// Tool results that were stored.
    Results,
    /// What was said in sessions.
    Sessions,
}

impl Shelf {
    /// Every collection.
    pub const ALL: [Shelf; 4] = [Shelf::Memory, Shelf::Notes, Shelf::Results, Shelf::Sessions];

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Shelf::Memory => "memory",
            Shelf::Notes => "notes",
            Shelf::Results => "results",
            Shelf::Sessions => "sessions",
        }
    }

    /// What its documents are filed under.
    fn kinds(self) -> Vec<&'static str> {
        match self {
            Shelf::Memory => Kind::NAMED.into_iter().chain([Kind::Untyped]).map(Kind::as_str).collect(),
            other => vec![other.word()],
        }
    }
}

/// What bringing an index up to date took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caught {
    /// Files that were read, because they are new or changed.
    pub read: usize,
    /// Files that could not be read and are left out, with why.
    pub skipped: Vec<String>,
    /// Why the index could not be kept for the next start; it serves this one.
    pub unkept: Option<String>,
}

/// A memory that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<'m> {
    /// The memory.
    pub entry: &'m Entry,
    /// Where it stands and why.
    pub hit: Hit,
}

/// Finds memories.
#[derive(Debug)]
pub struct Finder {
    pub(super) kept: Kept,
    pub(super) limits: Limits,
}

impl Finder {
    /// With the index that an earlier run kept, if there is one.
    pub fn open(project: &ProjectLayout, limits: &Limits) -> Self {
        Self { kept: Kept::open(project.recall().join("memory"), limits), limits: limits.clone() }
    }

    /// Follow the memory as its last look found it. Only changed files are read.
    pub fn catch_up(&mut self, memory: &Memory) -> Caught {
        self.kept.follow(memories(memory, &self.limits))
    }

    /// The memories that answer a question, best first; at most so many, none of those that `without` names, and few of
    /// those that rest on one source nobody vouches for.
    pub fn find<'m>(&self, memory: &'m Memory, query: &Query<'_>, without: impl Fn(&Entry) -> bool) -> Vec<Found<'m>> {
        let found = |hit: Hit| {
            let entry = memory.scan().get(hit.id.strip_prefix(Shelf::Memory.word())?.strip_prefix('/')?)?;
            Some(Found { entry, hit })
        };
        self.kept.best(query, |hits| {
            let mut sources = Sources::new(&self.limits);
            let wanted = hits.into_iter().filter_map(found).filter(|found| !without(found.entry));
            wanted.filter(|found| sources.admit(memory, found.entry)).collect()
        })
    }
}

/// Keeps one tainted source from filling every place.
pub(super) struct Sources {
    most: u64,
    seen: HashMap<String, u64>,
}

impl Sources {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { most: limits.recall_tainted_places, seen: HashMap::new() }
    }

    /// Whether there is still a place for what this memory rests on.
    pub(super) fn admit(&mut self, memory: &Memory, entry: &Entry) -> bool {
        let Some(basis) = memory.rests_on(&entry.path).filter(|basis| basis.trust == Trust::Tainted) else {
            return true;
        };
        let mut names: Vec<String> = basis.sources.iter().map(|source| named(&source.speaker)).collect();
        if names.is_empty() {
            names.push(String::new());
        }
        names.sort();
        names.dedup();
        let free = names.iter().all(|name| self.seen.get(name).is_none_or(|taken| *taken < self.most));
        if free {
            names.into_iter().for_each(|name| *self.seen.entry(name).or_default() += 1);
        }
        free
    }
}

pub(super) fn named(speaker: &Speaker) -> String {
    match speaker {
        Speaker::Person => "person".to_owned(),
        Speaker::Assistant => "assistant".to_owned(),
        Speaker::Tool(name) => format!("tool {name}"),
        Speaker::Web => "web".to_owned(),
        Speaker::File => "file".to_owned(),
        Speaker::Team(name) => format!("team {name}").trim_end().to_owned(),
        Speaker::Memory(path) => format!("memory {path}"),
    }
}

/// Something that was found among all that a project's sessions left.
#[derive(Debug, Clone, PartialEq)]
pub struct Sighting {
    /// In which collection.
    pub shelf: Shelf,
    /// The file that holds it.
    pub file: PathBuf,
    /// The session it belongs to; empty for a memory.
    pub session: String,
    /// The message, where it was said in a conversation.
    pub message: Option<String>,
    /// Where it stands and why.
    pub hit: Hit,
}

/// Finds memories, notes, stored results and what was said in past sessions, in one order.
#[derive(Debug)]
pub struct Archive {
    pub(super) kept: Kept,
    project: ProjectLayout,
    pub(super) limits: Limits,
}

impl Archive {
    /// With the index that an earlier run kept, if there is one.
    pub fn open(project: &ProjectLayout, limits: &Limits) -> Self {
        let kept = Kept::open(project.recall().join("everything"), limits);
        Self { kept, project: project.clone(), limits: limits.clone() }
    }

    /// Follow what is on disk now. Only changed files are read; a session that went on is read again as a whole.
    pub fn catch_up(&mut self, memory: Option<&Memory>) -> io::Result<Caught> {
        let parts = everything(memory, &self.project, &self.limits)?;
        Ok(self.kept.follow(parts))
    }

    /// What it follows.
    pub(super) fn parts<'a>(&'a self, memory: Option<&'a Memory>) -> io::Result<Vec<Part<'a>>> {
        everything(memory, &self.project, &self.limits)
    }

    /// What answers a question in these collections, best first.
    pub fn find(&self, memory: Option<&Memory>, query: &Query<'_>, shelves: &[Shelf]) -> Vec<Sighting> {
        let kinds: Vec<&str> = shelves.iter().flat_map(|shelf| shelf.kinds()).collect();
        let query = Query { kinds: &kinds, ..query.clone() };
        self.kept.best(&query, |hits| hits.into_iter().filter_map(|hit| self.sighting(memory, hit)).collect())
    }

    fn sighting(&self, memory: Option<&Memory>, hit: Hit) -> Option<Sighting> {
        let (shelf, rest) = hit.id.split_once('/')?;
        let shelf = Shelf::ALL.into_iter().find(|one| one.word() == shelf)?;
        let (file, session, message) = match shelf {
            Shelf::Memory => (memory?.place().memory.join(rest), "", None),
            Shelf::Notes => (self.project.notes(rest), rest, None),
            Shelf::Results => {
                let (session, file) = rest.split_once('/')?;
                (self.project.tool_results(session).join(file), session, None)
            }
            Shelf::Sessions => {
                let (session, message) = rest.split_once(TURN)?;
                (self.project.transcript(session), session, Some(message.to_owned()))
            }
        };
        Some(Sighting { shelf, file, session: session.to_owned(), message, hit })
    }

    /// The text of something that was found: a whole file, or what one message said.
    pub fn text(&self, sighting: &Sighting) -> Option<String> {
        match &sighting.message {
            None => text_of(&sighting.file, self.limits.searched_result_bytes).ok(),
            Some(wanted) => {
                let said = said_in(&sighting.file, &self.limits).ok()?;
                said.iter().find(|message| message.id.as_str() == wanted).map(|message| message.text())
            }
        }
    }
}

/// Separates a session from a message in an id; no path holds it.
const TURN: char = '\t';

/// The part that a document comes from.
pub(super) fn part_of(id: &str) -> &str {
    id.split(TURN).next().unwrap_or(id)
}

/// The memories, each a file.
pub(super) fn memories<'a>(memory: &'a Memory, limits: &'a Limits) -> Vec<Part<'a>> {
    memory.scan().entries.iter().map(|entry| Part::of_memory(memory, entry, limits)).collect()
}

/// The memories, and every file that sessions left.
fn everything<'a>(
    memory: Option<&'a Memory>,
    project: &ProjectLayout,
    limits: &'a Limits,
) -> io::Result<Vec<Part<'a>>> {
    let mut parts = memory.map(|memory| memories(memory, limits)).unwrap_or_default();
    for session in sessions(project)? {
        parts.extend(Part::of_file(Shelf::Notes, &session, project.notes(&session), limits));
        for file in listed(&project.tool_results(&session))? {
            parts.extend(Part::of_file(Shelf::Results, &session, file, limits));
        }
        parts.extend(Part::of_session(&session, project.transcript(&session), limits));
    }
    Ok(parts)
}

/// The sessions of a project, by name.
pub(super) fn sessions(project: &ProjectLayout) -> io::Result<Vec<String>> {
    let name = |path: PathBuf| {
        let is_session = path.extension().is_some_and(|extension| extension == "jsonl");
        path.file_stem().filter(|_| is_session)?.to_str().map(str::to_owned)
    };
    Ok(listed(project.dir())?.into_iter().filter_map(name).collect())
}

/// The files of a folder; none where there is no folder.
fn listed(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// A file, and the documents it holds once it is read.
pub(super) struct Part<'a> {
    /// Begins the id of each of its documents.
    pub(super) id: String,
    stamp: u64,
    pub(super) read: Box<dyn FnOnce() -> Result<Vec<Document>, String> + 'a>,
}

impl<'a> Part<'a> {
    fn of_memory(memory: &'a Memory, entry: &'a Entry, limits: &'a Limits) -> Self {
        let id = format!("{}/{}", Shelf::Memory.word(), entry.path);
        // The digest tells the text, the time tells its age.
        let stamp = number(&entry.digest) ^ entry.stamp.modified.cast_unsigned();
        let document = Document { id: id.clone(), stamp, time: Some(entry.modified()), ..Document::default() };
        let read = move || match memory.text(&entry.path) {
            Err(error) => Err(error.to_string()),
            Ok(None) => Ok(Vec::new()),
            Ok(Some((entry, text))) => {
                let topic = Topic::read(&text, limits);
                let kind = entry.kind.as_str().to_owned();
                let (name, description, body) = (entry.name, topic.description, topic.body);
                Ok(vec![Document { name, description, body, kind, ..document }])
            }
        };
        Self { id, stamp, read: Box::new(read) }
    }

    /// One document; nothing where there is no file.
    fn of_file(shelf: Shelf, session: &str, file: PathBuf, limits: &'a Limits) -> Option<Self> {
        let (stamp, time) = stamp_of(&file)?;
        let id = match shelf {
            Shelf::Results => format!("{}/{session}/{}", shelf.word(), file.file_name()?.to_str()?),
            _ => format!("{}/{session}", shelf.word()),
        };
        let kind = shelf.word().to_owned();
        let document = Document { id: id.clone(), kind, stamp, time, ..Document::default() };
        let read = move || {
            let body = text_of(&file, limits.searched_result_bytes).map_err(|error| error.to_string())?;
            Ok(vec![Document { body, ..document }])
        };
        Some(Self { id, stamp, read: Box::new(read) })
    }

    /// One document for each thing that the person or the model said.
    fn of_session(session: &str, file: PathBuf, limits: &'a Limits) -> Option<Self> {
        let (stamp, _) = stamp_of(&file)?;
        let id = format!("{}/{session}", Shelf::Sessions.word());
        let (under, session) = (id.clone(), session.to_owned());
        let read = move || {
            let said = said_in(&file, limits).map_err(|error| error.to_string())?;
            let turn = |(position, message): (usize, Arc<Message>)| Document {
                id: format!("{under}{TURN}{}", message.id),
                body: message.text(),
                kind: Shelf::Sessions.word().to_owned(),
                stamp,
                time: Some(message.at),
                turn: Some(Turn {
                    session: session.clone(),
                    position: u32::try_from(position).unwrap_or(u32::MAX),
                    voice: if message.origin == Origin::Person { Voice::User } else { Voice::Assistant },
                }),
                ..Document::default()
            };
            Ok(said.into_iter().enumerate().map(turn).collect())
        };
        Some(Self { id, stamp, read: Box::new(read) })
    }
}

/// What the person and the model said in a session, with words. What was recalled, reminded or summarised is no news.
fn said_in(file: &Path, limits: &Limits) -> io::Result<Vec<Arc<Message>>> {
    let said = |record: transcript::Record| match record.entry {
        transcript::Entry::Said(message) if matches!(message.origin, Origin::Person | Origin::Model) => Some(message),
        _ => None,
    };
    let records = transcript::read(file, limits)?.records;
    Ok(records.into_iter().filter_map(said).filter(|message| !message.text().trim().is_empty()).collect())
}

fn text_of(file: &Path, most: u64) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&beginning(file, most)?).into_owned())
}

/// Changes whenever the file does, as far as one can tell without reading it.
fn stamp_of(file: &Path) -> Option<(u64, Option<Timestamp>)> {
    let found = fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
    let time = found.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
    let nanos = time.map(Timestamp::as_nanosecond).unwrap_or_default();
    Some((number(&Digest::of(format!("{} {nanos}", found.len()).as_bytes())), time))
}

/// An index, and the file it is kept in.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) index: Index,
    pub(super) file: PathBuf,
}

impl Kept {
    fn open(file: PathBuf, limits: &Limits) -> Self {
        let bytes = beginning(&file, limits.recall_cache_bytes).unwrap_or_default();
        Self { index: Index::from_bytes(&bytes).unwrap_or_default(), file }
    }

    /// The best hits that pass, as many as the query wants: more are asked for while too few of them do.
    fn best<T>(&self, query: &Query<'_>, pass: impl Fn(Vec<Hit>) -> Vec<T>) -> Vec<T> {
        let mut limit = query.limit.saturating_mul(2).max(64);
        loop {
            let hits = self.index.recall(&Query { limit, ..query.clone() });
            let exhausted = hits.len() < limit;
            let mut passed = pass(hits);
            if exhausted || passed.len() >= query.limit {
                passed.truncate(query.limit);
                return passed;
            }
            limit = limit.saturating_mul(8);
        }
    }

    /// Make the index say what these parts hold. Those that are known with the same stamp are not read.
    fn follow(&mut self, parts: Vec<Part<'_>>) -> Caught {
        let mut caught = Caught::default();
        let mut known: HashMap<String, (u64, Vec<String>)> = HashMap::new();
        for (id, stamp) in self.index.stamps() {
            known.entry(part_of(id).to_owned()).or_insert_with(|| (stamp, Vec::new())).1.push(id.to_owned());
        }
        let mut removed: HashSet<String> = HashSet::new();
        let mut changed = Vec::new();
        for part in parts {
            let before = known.remove(&part.id);
            if before.as_ref().is_some_and(|(stamp, _)| *stamp == part.stamp) {
                continue;
            }
            removed.extend(before.into_iter().flat_map(|(_, ids)| ids));
            match (part.read)() {
                Ok(documents) => {
                    caught.read += 1;
                    changed.extend(documents);
                }
                Err(why) => caught.skipped.push(format!("{}: {why}", part.id)),
            }
        }
        removed.extend(known.into_values().flat_map(|(_, ids)| ids));
        if !changed.is_empty() || !removed.is_empty() {
            self.index.update(changed, removed.iter().map(String::as_str));
            caught.unkept = self.keep().err().map(|error| error.to_string());
        }
        caught
    }

    fn keep(&self) -> io::Result<()> {
        if let Some(folder) = self.file.parent() {
            paths::create_dir_private(folder)?;
        }
        paths::write_private(&self.file, &self.index.to_bytes())
    }
}
