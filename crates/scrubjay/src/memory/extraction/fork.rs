//! The full-context reader: a fork of the conversation that writes memories as files. Everything it writes is unconfirmed,
//! because it saw more than the user's words.

use super::super::provenance::Speaker;
use super::super::shown::manifest_line;
use super::super::{SharedMemory, Team, heard, name, scope};
use super::answer::{Draft, LearnerAnswer};
use super::request::{Passage, Reader, Shown};
use super::{ERRAND, Grounds, Learned, apply};
use crate::digest::Digest;
use crate::errand::{EndsWhen, Errand};
use crate::fence::shown_path;
use crate::gate::Gate;
use crate::limits::Limits;
use crate::message::{Message, Origin, ToolCallId, ToolUse};
use crate::model::Pending;
use crate::prompts;
use crate::tool::{MemoryNote, MemoryWriter, Occasion, Tool};
use crate::tools::edit::Edit;
use crate::tools::looking::Past;
use crate::tools::write::Write;
use crate::tools::{Keeper, Kept, Replacement};
use crate::transcript::{Entry, Transcript, Way};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keeps the memory while a fork writes: every write passes the checks.
#[derive(Clone)]
pub struct Scribe {
    memory: SharedMemory,
    grounds: Grounds,
    shown: Arc<Shown>,
    done: Arc<Mutex<Learned>>,
}

impl Scribe {
    /// Write down what rests on these messages.
    pub fn new(memory: SharedMemory, grounds: Grounds, fresh: &[Arc<Message>]) -> Self {
        let shown = Arc::new(shown(fresh, &memory, &grounds));
        Self { memory, grounds, shown, done: Arc::default() }
    }

    /// What came of it so far.
    pub fn done(&self) -> Learned {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Learned> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Save a memory, or say why not. Blocks.
    fn save(&self, file: &str, text: &str, exists: bool) -> Result<Kept, String> {
        let most = usize::try_from(self.grounds.limits.extraction_saves).unwrap_or(usize::MAX);
        if self.lock().unconfirmed.len() >= most {
            return Err(prompts::EXTRACTION_ENOUGH.trim_end().to_owned());
        }
        if name::is_index(file.rsplit('/').next().unwrap_or_default()) {
            return Err(prompts::MEMORY_INDEX_REFUSED.trim_end().to_owned());
        }
        if file.split('/').next() == Some(name::LOGS) {
            return Err(prompts::MEMORY_LOG_NAME.trim_end().to_owned());
        }
        let mut shown = (*self.shown).clone();
        if let Some((entry, before)) =
            self.memory.with(|memory| memory.text(file)).map_err(|error| error.to_string())?
        {
            shown.memories.insert(entry.path.clone(), (entry.digest, before));
        }
        let draft = Draft::from_file(file, text, exists, &self.grounds.limits);
        if draft.cites.is_empty() {
            return Err("not saved: it lacks cites: the exact words of the new messages it rests on".to_owned());
        }
        let answer = LearnerAnswer { drafts: vec![draft], look_back: Vec::new() };
        let learned = apply(&answer, &shown, &self.grounds, &self.memory).map_err(|error| error.to_string())?;
        let refused = learned.refused.first().map(|(_, why)| format!("not saved: {why}"));
        let known = learned.known.first().map(|(_, path)| format!("{path} says this already; nothing was written"));
        self.lock().and(learned);
        match refused {
            Some(why) => Err(why),
            None => {
                let told = known.unwrap_or_else(|| prompts::MEMORY_UNCONFIRMED.trim_end().to_owned());
                Ok(Kept {
                    digest: Some(Digest::of(text.as_bytes())),
                    told: vec![told],
                    notices: Vec::new(),
                    words: None,
                })
            }
        }
    }
}

impl Keeper for Scribe {
    /// Everything below the folder: nothing is written there past the checks.
    fn keeps(&self, path: &Path) -> bool {
        path.starts_with(self.memory.dir())
    }

    fn replace<'a>(
        &'a self,
        change: Replacement,
        _: Option<&'a dyn MemoryWriter>,
    ) -> Pending<'a, Result<Kept, String>> {
        let scribe = self.clone();
        Box::pin(async move {
            let saving = tokio::task::spawn_blocking(move || {
                let inside = change.path.strip_prefix(scribe.memory.dir()).ok().and_then(Path::to_str);
                let Some(inside) = inside else { return Err(prompts::MEMORY_ODD_NAME.trim_end().to_owned()) };
                let text =
                    std::str::from_utf8(&change.bytes).map_err(|_| prompts::MEMORY_NOT_TEXT.trim_end().to_owned())?;
                scribe.save(inside, text, change.before.is_some())
            });
            saving.await.unwrap_or_else(|_| Err("Writing stopped before it was done.".to_owned()))
        })
    }

    fn note<'a>(
        &'a self,
        _: MemoryNote,
        _: &'a Occasion,
        _: Option<&'a dyn MemoryWriter>,
    ) -> Pending<'a, Result<Kept, String>> {
        Box::pin(async { Err(prompts::EXTRACTION_OTHER_TOOL.trim_end().to_owned()) })
    }
}

/// The parent's tools as a fork has them: under the same names, because the list is part of the cached prefix.
pub fn hands(tools: &[Arc<dyn Tool>], scribe: &Scribe) -> Arc<[Arc<dyn Tool>]> {
    let keeper: Arc<dyn Keeper> = Arc::new(scribe.clone());
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

/// What was said since the last time; also what a compaction has replaced since, but not what somebody took out. It starts at a message
/// of the user's.
pub fn fresh(transcript: &Transcript) -> Vec<Arc<Message>> {
    let (records, view) = (transcript.records(), transcript.view());
    let start = view.extracted.as_ref().and_then(|last| {
        let is_it = |entry: &Entry| matches!(entry, Entry::Said(message) if message.id == last.upto);
        let is_mark = |entry: &Entry| matches!(entry, Entry::Extracted(_));
        let place = |is: &dyn Fn(&Entry) -> bool| records.iter().rposition(|record| is(&record.entry));
        place(&is_it).or_else(|| place(&is_mark)).map(|at| at + 1)
    });
    let snipped = |message: &Message| {
        let mut snips = view.hidden.iter().filter(|hidden| hidden.span.way == Way::Snip);
        snips.any(|hidden| hidden.messages.iter().any(|gone| gone.id == message.id))
    };
    let said = records[start.unwrap_or(0)..].iter().filter_map(|record| match &record.entry {
        Entry::Said(message) if !snipped(message) => Some(message.clone()),
        _ => None,
    });
    said.skip_while(|message| message.origin != Origin::Person).collect()
}

/// What a fork is sent to do: look at these messages, save what they taught, touch nothing else.
pub fn errand(fresh: &[Arc<Message>], grounds: &Grounds, memory: &SharedMemory, parent: &Gate) -> Errand {
    const RECOGNISED: usize = 60;
    let dir = shown_path(memory.dir());
    let team = memory.with(|memory| memory.place().team == Team::On);
    let team = team.then(|| shown_path(&memory.dir().join("team")));
    let first = fresh.iter().map(|message| message.text()).find(|text| !text.trim().is_empty()).unwrap_or_default();
    let first: String = first.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(RECOGNISED).collect();
    let directive = prompts::extract(&prompts::Extraction {
        count: fresh.len(),
        first: &first,
        place: &dir,
        team: team.as_deref(),
        manifest: &manifest(memory, &grounds.limits),
    });
    let gate = gate(grounds, memory.dir(), parent.clone());
    let (name, turns) = (ERRAND.to_owned(), grounds.limits.extraction_turns);
    Errand { name, directive, gate, turns, ends: EndsWhen::Silent, receipt: Box::new(|_| None) }
}

/// A line for each memory, the newest first.
fn manifest(memory: &SharedMemory, limits: &Limits) -> String {
    let lines: Vec<String> = memory.with(|memory| {
        // A memory that is being changed by somebody else is listed as it was.
        memory.refresh().map(drop).unwrap_or_default();
        let mut entries: Vec<_> = memory.scan().entries.iter().collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.stamp.modified));
        let most = usize::try_from(limits.extraction_manifest).unwrap_or(usize::MAX);
        let line = |entry: &&super::super::Entry| {
            manifest_line(entry.kind.as_str(), &entry.path, entry.modified(), &entry.description)
        };
        entries.iter().take(most).map(line).collect()
    });
    if lines.is_empty() { prompts::MEMORY_EMPTY_INDEX.trim_end().to_owned() } else { lines.join("\n") }
}

/// Reads in the project, the memory and past sessions; writes in the memory.
fn gate(grounds: &Grounds, memory: &Path, parent: Gate) -> Gate {
    let readable = [&grounds.root, memory, &grounds.transcripts];
    let readable = readable.into_iter().filter(|place| !place.as_os_str().is_empty()).map(Path::to_owned).collect();
    scope::gate(readable, memory, parent)
}

/// Everything in these messages that may be cited. What tools read from the memory or from past sessions is no news.
fn shown(messages: &[Arc<Message>], memory: &SharedMemory, grounds: &Grounds) -> Shown {
    let places = [memory.dir(), &grounds.transcripts].map(|place| place.display().to_string());
    let is_ours = |input: &str| places.iter().any(|place| !place.is_empty() && input.contains(place));
    let calls: BTreeMap<&ToolCallId, &ToolUse> =
        messages.iter().flat_map(|message| message.tool_uses()).map(|call| (&call.id, call)).collect();
    let mut passages = Vec::new();
    for message in messages {
        let day = message.at.to_zoned(grounds.zone.clone()).date();
        let mut add = |speaker: Speaker, text: String| {
            let passage = Passage::new(speaker, &message.id, day, text);
            passages.extend(Some(passage).filter(|passage| !passage.plain.is_empty()));
        };
        match message.origin {
            Origin::Person => add(Speaker::Person, message.text()),
            Origin::Model => add(Speaker::Assistant, message.text()),
            Origin::Letter | Origin::Task => add(Speaker::Tool("letter".to_owned()), message.text()),
            Origin::Tool => {
                for result in message.tool_results().filter(|result| !result.is_error) {
                    match calls.get(&result.call) {
                        Some(call) if is_ours(&call.input.to_string()) => {}
                        Some(call) => add(heard::speaker(&call.name), result.text()),
                        None => add(Speaker::Tool("unknown".to_owned()), result.text()),
                    }
                }
            }
            Origin::Instructions | Origin::Memory | Origin::Summary | Origin::Hook | Origin::Reminder => {}
        }
    }
    Shown::new(Reader::Fork, passages)
}
