//! The agent's own writes: its file tools change the memory through the store, so that every change is journalled, rests
//! on something, and can be taken back.

use super::footing;
use super::journal::Cause;
use super::logs;
use super::shared::SharedMemory;
use super::store::{Act, Change, Edit, What};
use super::{Memory, MemoryError, Topic, name};
use crate::digest::Digest;
use crate::limits::Limits;
use crate::message::Origin;
use crate::prompts;
use crate::tool::Occasion;
use crate::tools::{Keeper, Kept, Replacement, beginning};
use std::path::Path;

impl Keeper for SharedMemory {
    fn keeps(&self, path: &Path) -> bool {
        path.starts_with(self.dir())
    }

    fn replace(&self, change: &Replacement<'_>) -> Result<Kept, String> {
        let inside = change.path.strip_prefix(self.dir()).ok().and_then(Path::to_str);
        let Some(inside) = inside else { return Err(prompts::MEMORY_ODD_NAME.trim_end().to_owned()) };
        if logs::is_among(Path::new(inside)) {
            return self.with(|memory| append(memory, inside, change));
        }
        let text = std::str::from_utf8(change.bytes).map_err(|_| prompts::MEMORY_NOT_TEXT.trim_end().to_owned())?;
        let done = match inside.rsplit('/').next().is_some_and(name::is_index) {
            true => self.with(|memory| edit_index(memory, change)),
            false => {
                let basis = self.basis_of(change, text);
                self.with(|memory| save(memory, inside, text, change, basis))
            }
        };
        done.map_err(|error| error.to_string())
    }
}

impl SharedMemory {
    /// Only what is new has to rest on something; taking words out rests on nothing.
    fn basis_of(&self, change: &Replacement<'_>, text: &str) -> Option<super::Basis> {
        let before = String::from_utf8_lossy(change.before.unwrap_or_default());
        let known: Vec<&str> = before.lines().collect();
        let is_new = |line: &&str| !line.trim().is_empty() && !known.contains(line);
        let added: Vec<&str> = text.lines().filter(is_new).collect();
        let added = if change.before.is_none() { words_of(text) } else { added.join("\n") };
        let path = change.path.to_path_buf();
        let is_memory = |file: &str| {
            let file = Path::new(file);
            let inside = file.strip_prefix(self.dir()).ok().filter(|_| file != path)?;
            inside.to_str().map(str::to_owned)
        };
        (!added.is_empty()).then(|| footing::basis(change.occasion, &added, is_memory))
    }
}

/// What a new memory says, without the keys of its header.
fn words_of(text: &str) -> String {
    let topic = Topic::read(text, &Limits::default());
    [topic.name, topic.description, topic.body].join("\n")
}

fn save(
    memory: &mut Memory,
    path: &str,
    text: &str,
    change: &Replacement<'_>,
    basis: Option<super::Basis>,
) -> Result<Kept, MemoryError> {
    let base = change.before.map(Digest::of);
    let edit = Edit { base, rests_on: basis, act: Act::Save(text.to_owned()), ..Edit::create(path, "") };
    let receipt = memory.commit(Change { cause: cause(change.occasion), edits: vec![edit] })?;
    let now = memory.text(path)?.map(|(entry, _)| entry);
    let unconfirmed = now.as_ref().is_some_and(|entry| memory.is_unconfirmed(entry));
    let mut told = Vec::new();
    let merged = |what: &What| matches!(what, What::Merged | What::Conflict(_));
    if receipt.outcomes.iter().any(|outcome| merged(&outcome.what)) {
        told.push(receipt.to_string());
    }
    if unconfirmed {
        told.push(prompts::MEMORY_UNCONFIRMED.trim_end().to_owned());
    }
    let mut notices = vec![format!("memory: {receipt}")];
    if unconfirmed {
        let file = change.path.display();
        notices.push(format!("{file} rests on something you did not say, so it is kept apart until you confirm it"));
    }
    let digest = now.map_or_else(|| Digest::of(change.bytes), |entry| entry.digest);
    Ok(Kept { digest, told, notices })
}

/// What is added to a log, and nothing else.
fn append(memory: &Memory, inside: &str, change: &Replacement<'_>) -> Result<Kept, String> {
    let date = logs::date_of(inside).ok_or(prompts::MEMORY_LOG_NAME.trim_end())?;
    let added = change.bytes.strip_prefix(change.before.unwrap_or_default());
    let added = added.filter(|added| !added.is_empty()).ok_or(prompts::MEMORY_LOG_APPENDS.trim_end())?;
    let text = std::str::from_utf8(added).map_err(|_| prompts::MEMORY_NOT_TEXT.trim_end())?;
    let said = |error: MemoryError| error.to_string();
    memory.append_log(date, text.trim_start_matches('\n')).map_err(said)?;
    let now = memory.log_bytes(date).map_err(said)?.unwrap_or_default();
    Ok(Kept { digest: Digest::of(&now), told: Vec::new(), notices: Vec::new() })
}

/// A line of the index is carried over to its memory or put back, and both sides are told.
fn edit_index(memory: &mut Memory, change: &Replacement<'_>) -> Result<Kept, MemoryError> {
    memory.refresh()?;
    crate::paths::write_private(change.path, change.bytes)?;
    let repairs = memory.refresh()?;
    let now = beginning(change.path, memory.limits.index_file_bytes)?;
    let mut told = repairs.notices.clone();
    if now != change.bytes {
        told.push(prompts::MEMORY_INDEX_KEPT.trim_end().to_owned());
    }
    Ok(Kept { digest: Digest::of(&now), told, notices: repairs.notices })
}

/// Why a change was made: one message of the person's where the conversation made it.
fn cause(occasion: &Occasion) -> Cause {
    let session = occasion.session.to_string();
    let newest = occasion.history.iter().rev().find(|message| message.origin == Origin::Person);
    match (occasion.errand.as_deref(), newest) {
        (Some("extract"), _) => Cause::Extraction { session },
        (Some("dream"), _) => Cause::Dream,
        (None, Some(message)) => Cause::Message { session, message: message.id.to_string() },
        _ => Cause::Session { session },
    }
}
