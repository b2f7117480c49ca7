//! Layer 5: memory extraction.
//!
//! What:   what an answer taught that a later session could not find out becomes a memory, citing who said it.
//! When:   after a final answer of the main agent, for what was said since the last time; at once when told to remember.
//! Cost:   one forked errand of at most five turns that reads the conversation from the cache; nothing without a model.
//! Spares: the person saying things twice, session after session.
//! Leaves: what the agent saved by itself, what is written down elsewhere, and everything that nobody said.

mod draft;
mod evidence;
mod faithful;
mod judge;
mod outright;
mod scribe;
mod support;
mod worth;

pub use draft::Draft;
pub use judge::{Accepted, Refusal, judge};
pub use scribe::{Saved, Scribe, hands};

use super::explicit::{self, Found};
use super::footing::says_remember;
use super::prompt::Mode;
use super::recall::words;
use super::shown::manifest_line;
use super::{SharedMemory, scope};
use crate::errand::Errand;
use crate::fence::shown_path;
use crate::gate::Gate;
use crate::limits::Limits;
use crate::message::{Message, Origin, SessionId};
use crate::prompts;
use crate::secrets;
use crate::settings::{Settings, key};
use crate::tools::resolve;
use crate::transcript::{Entry, Extracted, Transcript, Way};
use evidence::Statement;
pub(super) use evidence::{Heard, PASTED};
use jiff::tz::TimeZone;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The errand's name, and the name under which its calls and failures are booked.
pub const ERRAND: &str = Extracted::LAYER;

/// Whether a person is there to see what is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attendance {
    /// A conversation.
    Person,
    /// Print mode.
    Nobody,
}

/// What a judgement is made against: who said what, and where everything else is written down.
#[derive(Debug, Clone)]
pub struct Grounds {
    /// The session.
    pub session: SessionId,
    /// The texts of the instruction files.
    pub instructions: Vec<String>,
    /// The project.
    pub root: PathBuf,
    /// The folder of past sessions.
    pub transcripts: PathBuf,
    /// Where days begin.
    pub zone: TimeZone,
    /// Every number.
    pub limits: Arc<Limits>,
    statements: Vec<Statement>,
    /// What the person said outright.
    found: Vec<Found>,
    /// Why nothing was found that was to be remembered.
    unheard: Vec<&'static str>,
}

impl Grounds {
    /// Grounds on which nothing was said yet.
    pub fn new(session: SessionId, root: &Path, zone: TimeZone, limits: Arc<Limits>) -> Self {
        let (instructions, transcripts, root) = (Vec::new(), PathBuf::new(), resolve(root, ""));
        let (statements, found, unheard) = (Vec::new(), Vec::new(), Vec::new());
        Self { session, instructions, root, transcripts, zone, limits, statements, found, unheard }
    }

    /// The same, with instruction files that are read anyway.
    pub fn instructed(self, instructions: Vec<String>) -> Self {
        Self { instructions, ..self }
    }

    /// The same, with a folder of past sessions.
    pub fn after(self, transcripts: &Path) -> Self {
        Self { transcripts: resolve(transcripts, ""), ..self }
    }

    /// The same, with what was said since the last time; `session` is all that was ever said there. What tools read from
    /// `memory` or from past sessions is no news.
    pub fn hearing(self, session: &[Arc<Message>], fresh: &[Arc<Message>], memory: &Path) -> Self {
        let places = [memory, &self.transcripts].map(|place| place.display().to_string());
        let is_ours = |input: &str| places.iter().any(|place| !place.is_empty() && input.contains(place));
        // A question of the model before the new messages tells an answer from a wish.
        let heard: Vec<Arc<Message>> = answered(session, fresh).into_iter().chain(fresh).cloned().collect();
        let found = explicit::find(&heard, &self.zone);
        let statements = evidence::statements(fresh, is_ours);
        let unheard = unheard(fresh, &found);
        Self { statements, found, unheard, ..self }
    }
}

/// The model's last words before the new messages.
fn answered<'a>(session: &'a [Arc<Message>], fresh: &[Arc<Message>]) -> Option<&'a Arc<Message>> {
    let begins = session.iter().position(|message| fresh.first().is_some_and(|first| first.id == message.id))?;
    let spoke = |message: &&Arc<Message>| matches!(message.origin, Origin::Model | Origin::Person);
    let last = session[..begins].iter().rev().filter(spoke).find(|message| !message.text().trim().is_empty());
    last.filter(|message| message.origin == Origin::Model)
}

/// Whether a sentence is nothing but the wish that something is remembered, and not one among others or of somebody else.
fn begins_with_remember(text: &str) -> bool {
    const WISHES: [&str; 5] = ["remember ", "remember:", "please remember", "记住", "请记住"];
    let lower = text.to_lowercase();
    let mut sentences = lower.split_inclusive(['.', '!', '?', '\n', '。', '！', '？']).map(str::trim);
    sentences.any(|sentence| WISHES.iter().any(|wish| sentence.starts_with(wish)) && !sentence.ends_with(['?', '？']))
}

/// Why nothing was found in messages that want something remembered. What came before the last one may have been taken back since.
fn unheard(fresh: &[Arc<Message>], found: &[Found]) -> Vec<&'static str> {
    let asked = fresh.iter().filter(|message| message.origin == Origin::Person).rev().enumerate();
    let why = |(at, message): (usize, &Arc<Message>)| {
        let own = Heard::of(&message.text()).own;
        let heard = !begins_with_remember(&own) || found.iter().any(|found| found.message == message.id);
        match at {
            _ if heard => None,
            _ if !secrets::scan(&own).is_empty() => Some("it holds a credential, and those are never kept"),
            0 => Some("what to keep is not clear enough for code alone; `/remember WORDS` keeps them as they are"),
            _ => None,
        }
    };
    asked.filter_map(why).collect()
}

/// Whether memories are looked for at all.
pub fn is_on(settings: &Settings, attendance: Attendance) -> bool {
    let headless = attendance == Attendance::Person || settings.flag(&key::EXTRACTION_HEADLESS);
    // Where the agent logs as it works, a dream distils the log.
    let logs = Mode::of(settings) == Mode::DailyLog;
    settings.memory_off_because().is_none()
        && settings.flag(&key::EXTRACTION)
        && !settings.flag(&key::REMOTE)
        && headless
        && !logs
}

/// All that was ever said in a session.
pub fn said(transcript: &Transcript) -> Vec<Arc<Message>> {
    let said = transcript.records().iter().filter_map(|record| match &record.entry {
        Entry::Said(message) => Some(message.clone()),
        _ => None,
    });
    said.collect()
}

/// What was said since the last time; also what a compaction has replaced since, but not what somebody wanted gone.
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
    said.collect()
}

/// The place of the last message by which the agent has saved a memory itself.
pub fn own_write(messages: &[Arc<Message>], memory: &Path, dir: &Path) -> Option<usize> {
    let calls = messages.iter().flat_map(|message| message.tool_uses());
    let writes = calls.filter(|call| {
        let path = call.input["file_path"].as_str().unwrap_or_default();
        let command = call.input["command"].as_str().unwrap_or_default();
        match call.name.as_str() {
            "Write" | "Edit" => resolve(dir, path).starts_with(memory),
            "memory" => command != "view",
            _ => false,
        }
    });
    let writes: Vec<_> = writes.map(|call| &call.id).collect();
    messages
        .iter()
        .rposition(|message| message.tool_results().any(|result| !result.is_error && writes.contains(&&result.call)))
}

/// Whether it is time to look: enough was asked since the last time, or the person said to remember something.
pub fn due(fresh: &[Arc<Message>], settings: &Settings) -> bool {
    let asked: Vec<_> = fresh.iter().filter(|message| message.origin == Origin::Person).collect();
    let every = settings.number(&key::EXTRACTION_EVERY_TURNS);
    let told = |message: &&Arc<Message>| says_remember(&Heard::of(&message.text()).own);
    !asked.is_empty() && (asked.len() as u64 >= every || asked.iter().any(told))
}

/// Whether these messages are worth asking a model: the person said enough, something outright, or so much waits that it adds up. What
/// is not is looked at with what is said next.
pub fn worth_asking(fresh: &[Arc<Message>], settings: &Settings, zone: &TimeZone) -> bool {
    let least = settings.number(&key::EXTRACTION_LEAST_WORDS);
    let asked = || fresh.iter().filter(|message| message.origin == Origin::Person);
    let own = |message: &Arc<Message>| Heard::of(&message.text()).own;
    let words = asked().map(|message| words(&own(message)).count() as u64).sum::<u64>();
    words >= least
        || asked().count() as u64 >= settings.limits().extraction_wait_turns
        || asked().any(|message| says_remember(&own(message)))
        || !explicit::find(fresh, zone).is_empty()
}

/// What a fork is sent to do: look at these messages, save what they taught, touch nothing else.
pub fn errand(fresh: &[Arc<Message>], grounds: &Grounds, memory: &SharedMemory, parent: &Gate) -> Errand {
    const RECOGNISED: usize = 60;
    let dir = shown_path(memory.dir());
    let team = memory.with(|memory| memory.place().team == super::Team::On);
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
    Errand { name, directive, gate, turns, receipt: Box::new(|_| None) }
}

/// A line for each memory, the newest first.
fn manifest(memory: &SharedMemory, limits: &Limits) -> String {
    let lines: Vec<String> = memory.with(|memory| {
        // A memory that is being changed by somebody else is listed as it was.
        memory.refresh().map(drop).unwrap_or_default();
        let mut entries: Vec<_> = memory.scan().entries.iter().collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.stamp.modified));
        let most = usize::try_from(limits.extraction_manifest).unwrap_or(usize::MAX);
        let line = |entry: &&super::Entry| {
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

#[cfg(test)]
mod tests;
