//! What the model itself wants kept or gone. The learner reads the user's words without the note; whatever it does not say itself waits
//! for the user, as a project or reference memory, or as a proposal where a clean memory would change.

use super::super::journal::Cause;
use super::super::provenance::{Basis, Source, Trust};
use super::super::store::{Change, Edit};
use super::super::{Kind, Memory, MemoryError, SharedMemory, Topic, draft, dreaming, heard, name, similarity};
use super::apply::free;
use crate::digest::Digest;
use crate::event::{MemoryQuestion, QuestionId};
use crate::limits::Limits;
use crate::secrets;
use crate::tool::{MemoryNote, NoteKind, Occasion};
use std::collections::BTreeSet;

/// Why a note waits.
const DOUBT: &str = "the model's own note; what you typed does not say it";

/// Who writes a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteWriter {
    cause: Cause,
    /// Everything the writer was shown.
    sources: Vec<Source>,
}

impl NoteWriter {
    /// The model of a session.
    pub fn of(occasion: &Occasion, memory: &SharedMemory) -> Self {
        let cause = Cause::Session { session: occasion.session.to_string() };
        Self { cause, sources: heard::sources(occasion, memory.dir()) }
    }

    /// The same by a tool of its own.
    pub fn with_tool(self, name: &str) -> Self {
        Self { cause: Cause::Tool { name: name.to_owned() }, ..self }
    }
}

/// What became of a note.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// It is kept, and waits for the user.
    Waiting(MemoryQuestion),
    /// It is there already, unconfirmed or clean, in this file.
    Known(String),
    /// It was removed at once, because nobody had confirmed it: the file and the change.
    Removed(String, u64),
}

/// What a note says, as a memory.
pub fn topic_of_note(note: &MemoryNote, limits: &Limits) -> Topic {
    match &note.kind {
        NoteKind::File(_) => Topic::read(&note.text, limits),
        NoteKind::Words | NoteKind::Forget | NoteKind::Logged => topic_of(&note.text),
    }
}

/// A memory of plain words: a fact, or a place where something is found.
fn topic_of(words: &str) -> Topic {
    let kind = match draft::kind_of(words).0 {
        Kind::Reference => Kind::Reference,
        _ => Kind::Project,
    };
    let (name, description) = (draft::title(words), draft::description(words));
    Topic { name, description, kind, body: format!("{}\n", words.trim_end()) }
}

/// Keep a note unconfirmed; a change of a clean memory becomes a proposal. Blocks.
pub fn keep(memory: &SharedMemory, note: &MemoryNote, by: &NoteWriter) -> Result<Kept, String> {
    if note.text.trim().is_empty() {
        return Err("the note is empty; say in one or two sentences what should be kept".to_owned());
    }
    if let Some(found) = secrets::scan(&note.text).into_iter().next() {
        return Err(format!("the note holds a credential ({}), and those are never kept; leave it out", found.rule));
    }
    memory.with(|memory| {
        memory.refresh().map_err(said)?;
        match &note.kind {
            NoteKind::Words => {
                let topic = topic_of(&note.text);
                keep_new(memory, &topic.file_name(), &topic.text(), by)
            }
            NoteKind::File(path) => keep_file(memory, path, &note.text, by),
            NoteKind::Forget | NoteKind::Logged => Err("this note keeps nothing".to_owned()),
        }
    })
}

fn said(error: MemoryError) -> String {
    error.to_string()
}

/// Only facts and places: what is about the user or how to work comes from the user.
fn restrained(text: &str, limits: &Limits) -> String {
    let topic = Topic::read(text, limits);
    match topic.kind {
        Kind::User | Kind::Feedback => Topic { kind: Kind::Project, ..topic }.text_over(text, limits),
        _ => text.to_owned(),
    }
}

fn keep_new(memory: &mut Memory, wished: &str, text: &str, by: &NoteWriter) -> Result<Kept, String> {
    let text = restrained(text, &memory.limits);
    let topic = Topic::read(&text, &memory.limits);
    if let Some(path) = similarity::known_or_unconfirmed(memory, &topic) {
        return Ok(Kept::Known(path));
    }
    // A shared folder takes nothing that waits.
    let private = wished.strip_prefix(name::TEAM).and_then(|rest| rest.strip_prefix('/')).unwrap_or(wished);
    let path = free(memory, private, &BTreeSet::new());
    let edit = Edit::create(path.as_str(), text.as_str()).resting_on(Basis::doubted(by.sources.clone(), DOUBT));
    memory.commit(Change { cause: by.cause.clone(), edits: vec![edit] }).map_err(said)?;
    Ok(waiting(path, topic.name, text))
}

fn waiting(path: String, name: String, text: String) -> Kept {
    let title = if name.trim().is_empty() { path.clone() } else { name };
    let id = QuestionId::Memory { path, digest: Digest::of(text.as_bytes()) };
    Kept::Waiting(MemoryQuestion { id, title, text, doubt: DOUBT.to_owned() })
}

fn keep_file(memory: &mut Memory, path: &str, text: &str, by: &NoteWriter) -> Result<Kept, String> {
    name::parts(path).map_err(|why| MemoryError::Name { path: path.to_owned(), why }.to_string())?;
    let Some((entry, before)) = memory.text(path).map_err(said)? else {
        return keep_new(memory, path, text, by);
    };
    if before == text {
        return Ok(Kept::Known(entry.path));
    }
    let basis = Basis::doubted(by.sources.clone(), DOUBT);
    let unconfirmed = memory.rests_on(path).is_some_and(|basis| basis.trust == Trust::Tainted);
    if !unconfirmed {
        return proposed(memory, (path, &entry.digest), Some(text.to_owned()), basis);
    }
    let text = restrained(text, &memory.limits);
    let edit = Edit::update(&entry, text.as_str()).resting_on(basis);
    memory.commit(Change { cause: by.cause.clone(), edits: vec![edit] }).map_err(said)?;
    let name = Topic::read(&text, &memory.limits).name;
    Ok(waiting(entry.path, name, text))
}

/// Remove a memory that the model wants gone: one that waits at once, a clean one as a proposal. Blocks.
pub fn keep_removal(memory: &SharedMemory, wanted: &str, by: &NoteWriter) -> Result<Kept, String> {
    memory.with(|memory| {
        memory.refresh().map_err(said)?;
        let entry = memory.named(wanted).ok_or_else(|| {
            format!("there is no memory called `{wanted}`; name its file, as the index or a recalled memory shows it")
        })?;
        let unconfirmed = memory.rests_on(&entry.path).is_some_and(|basis| basis.trust == Trust::Tainted);
        if unconfirmed {
            let receipt =
                memory.commit(Change { cause: by.cause.clone(), edits: vec![Edit::remove(&entry)] }).map_err(said)?;
            return Ok(Kept::Removed(entry.path, receipt.change.0));
        }
        proposed(memory, (&entry.path, &entry.digest), None, Basis::doubted(by.sources.clone(), DOUBT))
    })
}

fn proposed(
    memory: &mut Memory,
    (path, digest): (&str, &Digest),
    after: Option<String>,
    basis: Basis,
) -> Result<Kept, String> {
    let doubt = basis.doubt.clone().unwrap_or_default();
    match dreaming::propose(memory, (path, digest), after, basis).map_err(said)? {
        Some((id, title, text)) => Ok(Kept::Waiting(MemoryQuestion { id, title, text, doubt })),
        None => Err(format!("the user has decided about this change of {path} before; leave it as it is")),
    }
}

impl Memory {
    /// The memory that is called so: its file, with or without `.md`, or its name.
    pub fn named(&self, wanted: &str) -> Option<super::super::Entry> {
        let fold = name::fold(wanted.trim().trim_start_matches("./"));
        let stem = |path: &str| name::fold(path.trim_end_matches(".md"));
        let entries = || self.scan().entries.iter();
        let by_file = entries().find(|entry| name::fold(&entry.path) == fold || stem(&entry.path) == fold);
        by_file.or_else(|| entries().find(|entry| name::fold(&entry.name) == fold)).cloned()
    }
}
