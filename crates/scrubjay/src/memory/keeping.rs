//! What the model writes into the memory folder is a note like any other: the learner reads what the user typed, and what it does not
//! say itself waits for the user. Every change goes through the store, so that it is journalled and can be taken back.

use super::extraction::{Kept as Taken, NoteWriter, keep, keep_removal};
use super::logs;
use super::shared::SharedMemory;
use super::{Memory, MemoryError, name};
use crate::digest::Digest;
use crate::event::MemoryEvent;
use crate::model::Pending;
use crate::prompts;
use crate::tool::{MemoryNote, MemoryWriter, NoteKind, Occasion};
use crate::tools::{Keeper, Kept, Replacement};
use std::path::Path;

impl Keeper for SharedMemory {
    fn keeps(&self, path: &Path) -> bool {
        path.starts_with(self.dir())
    }

    fn replace<'a>(
        &'a self,
        change: Replacement,
        writer: Option<&'a dyn MemoryWriter>,
    ) -> Pending<'a, Result<Kept, String>> {
        Box::pin(async move {
            let inside = change.path.strip_prefix(self.dir()).ok().and_then(Path::to_str).map(str::to_owned);
            let Some(inside) = inside else { return Err(prompts::MEMORY_ODD_NAME.trim_end().to_owned()) };
            if logs::is_among(Path::new(&inside)) {
                let memory = self.clone();
                let appending =
                    tokio::task::spawn_blocking(move || memory.with(|memory| append(memory, &inside, &change)));
                let appended =
                    appending.await.unwrap_or_else(|_| Err("Writing stopped before it was done.".to_owned()));
                let mut kept = appended?;
                // The log keeps the note; what the user typed is read at once, as after any other.
                if let Some(writer) = writer {
                    let note = MemoryNote { kind: NoteKind::Logged, text: String::new() };
                    kept.told.extend(Some(writer.write(note).await?).filter(|told| !told.is_empty()));
                }
                return Ok(kept);
            }
            if inside.rsplit('/').next().is_some_and(name::is_index) {
                return Err(prompts::MEMORY_INDEX_REFUSED.trim_end().to_owned());
            }
            let text = String::from_utf8(change.bytes).map_err(|_| prompts::MEMORY_NOT_TEXT.trim_end().to_owned())?;
            // An emptied file is a memory that is to go.
            let note = match text.trim().is_empty() && change.before.is_some() {
                true => MemoryNote { kind: NoteKind::Forget, text: inside },
                false => MemoryNote { kind: NoteKind::File(inside), text },
            };
            self.note(note, &change.occasion, writer).await
        })
    }

    fn note<'a>(
        &'a self,
        note: MemoryNote,
        occasion: &'a Occasion,
        writer: Option<&'a dyn MemoryWriter>,
    ) -> Pending<'a, Result<Kept, String>> {
        Box::pin(async move {
            if let Some(writer) = writer {
                let words = writer.write(note).await?;
                return Ok(Kept { words: Some(words), ..Kept::default() });
            }
            let (memory, by) = (self.clone(), NoteWriter::of(occasion, self));
            let keeping = tokio::task::spawn_blocking(move || match note.kind {
                NoteKind::Forget => keep_removal(&memory, &note.text, &by),
                _ => keep(&memory, &note, &by),
            });
            let kept = keeping.await.unwrap_or_else(|_| Err("Writing stopped before it was done.".to_owned()))?;
            Ok(Kept {
                words: Some(in_words(&kept)),
                notices: event(&kept).iter().map(ToString::to_string).collect(),
                ..Kept::default()
            })
        })
    }
}

/// What the model is told about a note that was kept.
pub(crate) fn in_words(kept: &Taken) -> String {
    match kept {
        Taken::Waiting(_) => prompts::MEMORY_UNCONFIRMED.trim_end().to_owned(),
        Taken::Known(path) => format!("{path} says this already; nothing was written."),
        Taken::Removed(path, _) => format!("{path} was not confirmed by anybody and was removed."),
    }
}

/// What the user is told about it.
pub(crate) fn event(kept: &Taken) -> Option<MemoryEvent> {
    match kept {
        Taken::Waiting(question) => Some(MemoryEvent::Question(question.clone())),
        Taken::Known(_) => None,
        Taken::Removed(path, change) => {
            Some(MemoryEvent::Forgotten { title: path.clone(), path: path.clone(), change: Some(*change) })
        }
    }
}

/// What is added to a log, and nothing else.
fn append(memory: &Memory, inside: &str, change: &Replacement) -> Result<Kept, String> {
    let date = logs::date_of(inside).ok_or(prompts::MEMORY_LOG_NAME.trim_end())?;
    let added = change.bytes.strip_prefix(change.before.as_deref().unwrap_or_default());
    let added = added.filter(|added| !added.is_empty()).ok_or(prompts::MEMORY_LOG_APPENDS.trim_end())?;
    let text = std::str::from_utf8(added).map_err(|_| prompts::MEMORY_NOT_TEXT.trim_end())?;
    let said = |error: MemoryError| error.to_string();
    memory.append_log(date, text.trim_start_matches('\n')).map_err(said)?;
    let now = memory.log_bytes(date).map_err(said)?.unwrap_or_default();
    Ok(Kept { digest: Some(Digest::of(&now)), ..Kept::default() })
}
