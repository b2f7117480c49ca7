//! The hands of an extraction: the parent's tools by name, of which the shell starts nothing and writing passes the filter.

use super::super::journal::{Cause, ChangeId};
use super::super::provenance::Trust;
use super::super::store::Change;
use super::super::{SharedMemory, scope};
use super::Grounds;
use super::draft::Draft;
use super::judge::{Accepted, judge};
use crate::digest::Digest;
use crate::prompts;
use crate::tool::Tool;
use crate::tools::edit::Edit;
use crate::tools::looking::Past;
use crate::tools::write::Write;
use crate::tools::{Keeper, Kept, Replacement};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keeps the memory while an extraction writes: every write passes the filter.
pub struct Scribe {
    pub(super) memory: SharedMemory,
    pub(super) grounds: Grounds,
    done: Mutex<Saved>,
}

/// What came of an extraction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Saved {
    /// Files that were written and stand.
    pub files: Vec<String>,
    /// Those of them that wait for the person's word.
    pub apart: Vec<String>,
    /// The changes that wrote them.
    pub changes: Vec<ChangeId>,
    /// Files that were removed because the person wanted them forgotten, each with its change.
    pub removed: Vec<(String, ChangeId)>,
    /// Why writes were refused.
    pub refused: Vec<String>,
    /// Why something is not kept that the person wanted remembered.
    pub unkept: Vec<String>,
}

impl Saved {
    /// What the person is told; nothing when nothing was saved.
    pub fn announcements(&self) -> Vec<String> {
        let clean: Vec<&str> =
            self.files.iter().filter(|file| !self.apart.contains(file)).map(String::as_str).collect();
        let mut told = Vec::new();
        if !clean.is_empty() {
            told.push(format!("Memory saved: {}", clean.join(", ")));
        }
        if !self.apart.is_empty() {
            let apart = self.apart.join(", ");
            told.push(format!("Memory kept apart until you confirm it: {apart} · `scrubjay inbox` shows it"));
        }
        let changes: Vec<String> =
            self.changes.iter().map(|change| format!("`scrubjay memory undo {change}`")).collect();
        if !changes.is_empty() {
            told.push(format!("take it back with {}", changes.join(", ")));
        }
        let gone = |(file, change): &(String, ChangeId)| {
            format!("Memory forgotten: {file} · bring it back with `scrubjay memory undo {change}`")
        };
        told.extend(self.removed.iter().map(gone));
        told.extend(self.unkept.iter().map(|why| format!("Not remembered: {}", why.trim_start_matches("not saved: "))));
        told
    }
}

impl Scribe {
    /// Write down what rests on these grounds.
    pub fn new(memory: SharedMemory, grounds: Grounds) -> Self {
        Self { memory, grounds, done: Mutex::default() }
    }

    /// What came of it so far.
    pub fn done(&self) -> Saved {
        self.lock().clone()
    }

    /// Save a memory, or say why not. Blocks.
    pub fn save(&self, draft: &Draft) -> Result<Kept, String> {
        let most = usize::try_from(self.grounds.limits.extraction_saves).unwrap_or(usize::MAX);
        if self.lock().files.len() >= most {
            return Err(prompts::EXTRACTION_ENOUGH.trim_end().to_owned());
        }
        let saved = self.memory.with(|memory| {
            // What others wrote since counts too.
            memory.refresh().map_err(|error| error.to_string())?;
            let Accepted { edit, basis, notes } =
                judge(draft, &self.grounds, memory).map_err(|refusal| refusal.to_string())?;
            let cause = Cause::Extraction { session: self.grounds.session.to_string() };
            let receipt = memory.commit(Change { cause, edits: vec![edit] }).map_err(|error| error.to_string())?;
            let now = memory.text(&draft.path).map_err(|error| error.to_string())?;
            let digest = now.map_or_else(|| Digest::of(b""), |(entry, _)| entry.digest);
            let apart = memory.rests_on(&draft.path).is_some_and(|basis| basis.trust == Trust::Tainted);
            Ok((digest, notes, receipt, apart || basis.trust == Trust::Tainted))
        });
        let (digest, mut told, receipt, apart) =
            saved.inspect_err(|why: &String| self.lock().refused.push(why.clone()))?;
        let mut done = self.lock();
        done.changes.extend(receipt.changed().then_some(receipt.change));
        if !done.files.contains(&draft.path) {
            done.files.push(draft.path.clone());
        }
        if apart && !done.apart.contains(&draft.path) {
            done.apart.push(draft.path.clone());
        }
        if apart {
            told.push(prompts::MEMORY_UNCONFIRMED.trim_end().to_owned());
        }
        Ok(Kept { digest, told, notices: vec![format!("memory: {receipt}")] })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Saved> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeper for Scribe {
    /// Everything below the folder: nothing is written there past the filter.
    fn keeps(&self, path: &Path) -> bool {
        path.starts_with(self.memory.dir())
    }

    fn replace(&self, change: &Replacement<'_>) -> Result<Kept, String> {
        let inside = change.path.strip_prefix(self.memory.dir()).ok().and_then(Path::to_str);
        let Some(inside) = inside else { return Err(prompts::MEMORY_ODD_NAME.trim_end().to_owned()) };
        let not_text = |_| prompts::MEMORY_NOT_TEXT.trim_end().to_owned();
        let text = std::str::from_utf8(change.bytes).map_err(not_text)?;
        let before = change.before.map(std::str::from_utf8).transpose().map_err(not_text)?;
        self.save(&Draft::read(inside, text, before, &self.grounds.limits))
    }
}

/// The parent's tools as an extraction has them: under the same names, because the list is part of the cached prefix.
pub fn hands(tools: &[Arc<dyn Tool>], scribe: &Arc<Scribe>) -> Arc<[Arc<dyn Tool>]> {
    let keeper: Arc<dyn Keeper> = scribe.clone();
    let grounds = &scribe.grounds;
    let past = Past {
        folder: grounds.transcripts.clone(),
        except: vec![scribe.memory.dir().to_owned()],
        lines: grounds.limits.past_lines,
    };
    let hand = |tool: &Arc<dyn Tool>| -> Arc<dyn Tool> {
        match tool.spec().name.as_str() {
            "Write" => Arc::new(Write::kept_by(Some(keeper.clone()))),
            "Edit" => Arc::new(Edit::kept_by(Some(keeper.clone()))),
            _ => scope::restrained(tool, &past),
        }
    };
    tools.iter().map(hand).collect()
}
