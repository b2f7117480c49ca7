//! What the model itself wants kept or gone. The learner reads the user's words without the note; whatever it does not say itself waits
//! for the user, as a project or reference memory, or as a proposal where a clean memory would change.

use super::super::journal::Cause;
use super::super::provenance::{Basis, Trust};
use super::super::store::{Change, Edit};
use super::super::{Kind, Memory, MemoryError, SharedMemory, Topic, draft, dreaming, heard, name};
use super::apply::free;
use crate::digest::Digest;
use crate::event::{MemoryQuestion, QuestionId};
use crate::limits::Limits;
use crate::secrets;
use crate::tool::{MemoryNote, NoteKind, Occasion};
use std::collections::BTreeSet;

/// Why a note waits.
const DOUBT: &str = "the model's own note; what you typed does not say it";

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
        NoteKind::Words | NoteKind::Forget => topic_of(&note.text),
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
pub fn keep(memory: &SharedMemory, note: &MemoryNote, occasion: &Occasion) -> Result<Kept, String> {
    if note.text.trim().is_empty() {
        return Err("the note is empty; say in one or two sentences what should be kept".to_owned());
    }
    if let Some(found) = secrets::scan(&note.text).into_iter().next() {
        return Err(format!("the note holds a credential ({}), and those are never kept; leave it out", found.rule));
    }
    memory.with(|memory| {
        memory.refresh().map_err(said)?;
        match &note.kind {
            NoteKind::Words => keep_new(memory, topic_of(&note.text), None, occasion),
            NoteKind::File(path) => keep_file(memory, path, &note.text, occasion),
            NoteKind::Forget => Err("a memory that is to go is not kept".to_owned()),
        }
    })
}

fn said(error: MemoryError) -> String {
    error.to_string()
}

fn doubted(memory: &Memory, occasion: &Occasion) -> Basis {
    Basis::doubted(heard::sources(occasion, &memory.place().memory), DOUBT)
}

/// Only facts and places: what is about the user or how to work comes from the user.
fn restrained(topic: Topic) -> Topic {
    let kind = if topic.kind == Kind::Reference { Kind::Reference } else { Kind::Project };
    let name = if topic.name.trim().is_empty() { draft::title(&topic.body) } else { topic.name };
    let description =
        if topic.description.trim().is_empty() { draft::description(&topic.body) } else { topic.description };
    Topic { name, description, kind, body: topic.body }
}

fn keep_new(memory: &mut Memory, topic: Topic, file: Option<&str>, occasion: &Occasion) -> Result<Kept, String> {
    let topic = restrained(topic);
    if let Some(path) = memory.same(&topic).map_err(said)? {
        return Ok(Kept::Known(path));
    }
    // A shared folder takes nothing that waits; the file keeps the rest of its name.
    let wished =
        file.map(|file| file.rsplit('/').next().unwrap_or(file).to_owned()).unwrap_or_else(|| topic.file_name());
    let path = free(memory, &wished, &BTreeSet::new());
    let text = topic.text();
    let edit = Edit::create(path.as_str(), text.as_str()).resting_on(doubted(memory, occasion));
    memory
        .commit(Change { cause: Cause::Session { session: occasion.session.to_string() }, edits: vec![edit] })
        .map_err(said)?;
    let digest = Digest::of(text.as_bytes());
    let id = QuestionId::Memory { path, digest };
    Ok(Kept::Waiting(MemoryQuestion { id, title: topic.name, text, doubt: DOUBT.to_owned() }))
}

fn keep_file(memory: &mut Memory, path: &str, text: &str, occasion: &Occasion) -> Result<Kept, String> {
    name::parts(path).map_err(|why| MemoryError::Name { path: path.to_owned(), why }.to_string())?;
    let topic = Topic::read(text, &memory.limits);
    let Some((entry, before)) = memory.text(path).map_err(said)? else {
        return keep_new(memory, topic, Some(path), occasion);
    };
    if before == text {
        return Ok(Kept::Known(entry.path));
    }
    let basis = doubted(memory, occasion);
    let unconfirmed = memory.rests_on(path).is_some_and(|basis| basis.trust == Trust::Tainted);
    if unconfirmed {
        let topic = restrained(topic);
        let text = topic.text_over(text, &memory.limits);
        let edit = Edit::update(&entry, text.as_str()).resting_on(basis);
        memory
            .commit(Change { cause: Cause::Session { session: occasion.session.to_string() }, edits: vec![edit] })
            .map_err(said)?;
        let id = QuestionId::Memory { path: entry.path, digest: Digest::of(text.as_bytes()) };
        return Ok(Kept::Waiting(MemoryQuestion { id, title: topic.name, text, doubt: DOUBT.to_owned() }));
    }
    proposed(memory, (path, &entry.digest), Some(text.to_owned()), basis)
}

/// Remove a memory that the model wants gone: one that waits at once, a clean one as a proposal. Blocks.
pub fn keep_removal(memory: &SharedMemory, wanted: &str, occasion: &Occasion) -> Result<Kept, String> {
    memory.with(|memory| {
        memory.refresh().map_err(said)?;
        let entry = memory.named(wanted).ok_or_else(|| {
            format!("there is no memory called `{wanted}`; name its file, as the index or a recalled memory shows it")
        })?;
        let unconfirmed = memory.rests_on(&entry.path).is_some_and(|basis| basis.trust == Trust::Tainted);
        if unconfirmed {
            let cause = Cause::Session { session: occasion.session.to_string() };
            let receipt = memory.commit(Change { cause, edits: vec![Edit::remove(&entry)] }).map_err(said)?;
            return Ok(Kept::Removed(entry.path, receipt.change.0));
        }
        let basis = doubted(memory, occasion);
        proposed(memory, (&entry.path, &entry.digest), None, basis)
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

    /// The memory that says the same, whether or not it is confirmed.
    pub(in crate::memory) fn same(&self, topic: &Topic) -> Result<Option<String>, MemoryError> {
        let same = self.twins(topic)?.into_iter().find_map(|twin| match twin {
            super::super::Twin::Same(path) => Some(path),
            super::super::Twin::Contrary(_) => None,
        });
        Ok(same)
    }
}
