//! What can happen in a session.

use super::{Hiding, Marks, Opening, Report};
use crate::digest::Digest;
use crate::message::{Message, MessageId, SpanLabel, StopReason, ToolCallId, Usage};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::path::PathBuf;
use std::sync::Arc;

/// Names one entry: its place in the transcript, from 0.
pub type EntryId = u64;

/// Why a cached prefix ended. One closed list, used wherever a cache miss is explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Another model was chosen.
    Model,
    /// The system prompt changed.
    System,
    /// The tools changed.
    Tools,
    /// Earlier messages changed.
    History,
    /// It was too long ago.
    Ttl,
    /// The provider dropped it.
    Server,
    /// We changed it.
    Us,
}

impl Cause {
    /// The cause in one word.
    pub fn word(self) -> &'static str {
        match self {
            Cause::Model => "model",
            Cause::System => "system",
            Cause::Tools => "tools",
            Cause::History => "history",
            Cause::Ttl => "ttl",
            Cause::Server => "server",
            Cause::Us => "us",
        }
    }
}

/// Something that happened. Appended, never changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// The file begins.
    Began(Began),
    /// What every later request begins with.
    Opened {
        /// Tools, system prompt, instructions.
        opening: Arc<Opening>,
        /// Why it replaces an earlier one; the first has no reason.
        because: Option<Cause>,
    },
    /// Parts of the user's next message were not typed.
    Labelled(SpanLabels),
    /// Somebody said something.
    Said(Arc<Message>),
    /// Layer 1: a tool result was too large; the whole is in a file and the message that follows holds a preview.
    Spilled(Spilled),
    /// Layer 2: the content of old tool results is replaced by a marker.
    Cleared {
        /// Which results.
        results: Vec<ToolCallId>,
        /// Why now.
        because: Cause,
    },
    /// Layer 3: the notes cover the conversation up to a message.
    Noted(Noted),
    /// Layer 4: a stretch of the conversation is replaced by a summary.
    Compacted(Arc<Compaction>),
    /// Messages that a compaction replaced stand again, behind its summary.
    GivenBack {
        /// Which compaction.
        compaction: EntryId,
        /// Which messages.
        messages: Vec<MessageId>,
    },
    /// Stretches of the conversation are hidden behind one line each, or shown again.
    Hid(Arc<Hiding>),
    /// An earlier entry no longer counts. Nothing was lost, so taking it back is one more line.
    Reverted {
        /// Which one.
        entry: EntryId,
    },
    /// A layer failed; a few in a row and it rests. An entry, so that it survives a restart.
    Failed {
        /// Which layer.
        layer: String,
        /// Why.
        because: String,
    },
    /// The model has seen these bytes of a file.
    Saw {
        /// Which file.
        path: PathBuf,
        /// Which bytes.
        digest: Digest,
    },
    /// A message shows these memories.
    Recalled(Recalled),
    /// Layer 5: the conversation was looked through for memories up to a message.
    Extracted(Extracted),
    /// A model call was answered.
    Replied(Call),
    /// This is the record of an agent: who started it, for what.
    Summoned(Summoned),
    /// The agent's work is over; without this entry it was cut off.
    Returned(Returned),
    /// Records before this one were lost to damage; what the model sees may have changed.
    Mended {
        /// How many records could not be read.
        lost: u64,
    },
    /// Written by a newer version: kept in the file, skipped here.
    Unknown(String),
}

/// Where the whole of a tool result is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spilled {
    /// Which call it answers.
    pub call: ToolCallId,
    /// Which tool it came from.
    pub tool: String,
    /// The file that holds it.
    pub file: PathBuf,
    /// How large it is.
    pub bytes: u64,
    /// How much the model sees instead.
    pub shown: u64,
}

/// What an agent was started for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summoned {
    /// What it is called.
    pub name: String,
    /// Its kind: the name of a definition, or `fork`.
    pub kind: String,
    /// Its task in a few words.
    pub task: String,
    /// Whether whoever started it went on meanwhile.
    #[serde(default)]
    pub background: bool,
    /// Its own git worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<PathBuf>,
}

/// How an agent's work ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Returned {
    /// In a word: `done`, `stopped`, `failed`, `lost`.
    pub how: String,
    /// Why, where it is not done.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The worktree that was kept, because something in it was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<PathBuf>,
}

/// Memories that were brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recalled {
    /// The message that shows them.
    pub message: MessageId,
    /// Their files.
    pub files: Vec<PathBuf>,
    /// Whether one of them is not the user's own, and nobody confirmed it. Where older files do not say, it may be.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub unconfirmed: bool,
}

/// Which parts of a message were not typed. It stands before its message, so that no kill leaves one without the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanLabels {
    /// The message.
    pub message: MessageId,
    /// The parts.
    pub labels: Vec<SpanLabel>,
}

/// How far the conversation was looked through for memories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extracted {
    /// The last message that was looked at, or passed over.
    pub upto: MessageId,
    /// How many messages those were.
    pub messages: u64,
    /// Who looked.
    pub by: Learner,
    /// The memories that were saved, by their files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub saved: Vec<String>,
    /// Memories that were kept unconfirmed, by their files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unconfirmed: Vec<String>,
    /// How many memories were refused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused: u64,
    /// How many calls the gate refused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub denied: u64,
}

impl Extracted {
    /// The name under which failures are counted.
    pub const LAYER: &'static str = "extract";
}

/// Who looks for memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Learner {
    /// A model: one request of its own, or a fork of the conversation.
    Model,
    /// Code, for what is explicit.
    Code,
    /// Nobody: an agent of an older version had saved what was said.
    Agent,
}

/// How far the notes reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// The last message they cover.
    pub upto: MessageId,
    /// What the conversation measured then.
    pub tokens: u64,
    /// Who brought them there.
    #[serde(default)]
    pub by: Writer,
}

/// Who writes notes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writer {
    /// A fork of the conversation.
    #[default]
    Model,
    /// Code, from the record.
    Code,
}

/// What started a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The window was nearly full.
    Auto,
    /// The person asked.
    Manual,
}

/// Who wrote a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The session's own notes.
    Notes,
    /// A model.
    Model,
    /// Code, from the record alone.
    Extract,
}

/// A boundary: what it replaces, and by what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    /// What started it.
    pub trigger: Trigger,
    /// Who wrote the summary.
    pub author: Author,
    /// The first message that is replaced.
    pub first: MessageId,
    /// The last message that is replaced.
    pub last: MessageId,
    /// What stands in their place.
    pub summary: Arc<Message>,
    /// What is brought back after everything that was kept: files, tasks.
    #[serde(default)]
    pub restored: Vec<Arc<Message>>,
    /// What the conversation measured before.
    pub before: u64,
    /// Thinking in the messages that were kept is left out, because it was bound to what is gone.
    #[serde(default)]
    pub without_thinking: bool,
    /// Pictures and documents in the messages that were kept are named and no longer shown.
    #[serde(default)]
    pub without_pictures: bool,
    /// What else is known of this place.
    #[serde(default)]
    pub marks: Marks,
    /// What survived and what did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
}

/// The first entry of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    /// The format of the file.
    pub format: u32,
    /// The session.
    pub session: String,
    /// The working directory.
    pub dir: PathBuf,
    /// The program that wrote it.
    pub version: String,
    /// The session this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
}

/// One answered model call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Who asked: `main`, or the name of an errand.
    pub source: String,
    /// Which model answered.
    pub model: String,
    /// What it counted.
    pub usage: Usage,
    /// Why it stopped.
    pub stop: StopReason,
    /// Tokens the provider cleared on its side.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cleared: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn yes() -> bool {
    true
}

fn is_true(flag: &bool) -> bool {
    *flag
}

impl Call {
    /// The person's own conversation asked.
    pub const MAIN: &'static str = "main";

    /// Whether a request of this source begins as the conversation does, and so keeps its cache warm. Of agents, only forks
    /// do.
    pub fn begins_alike(source: &str) -> bool {
        !source.starts_with("agent") || source == "agent:fork"
    }

    /// A call whose reply was cut off: what had been counted by then is paid for all the same.
    pub fn cut(source: &str, model: &str, usage: Usage) -> Self {
        let stop = StopReason::Other("cut".to_owned());
        Self { source: source.to_owned(), model: model.to_owned(), usage, stop, cleared: 0 }
    }
}

impl Entry {
    /// Whether requests after this entry may differ from those before it, and why.
    pub fn breaks_cache(&self) -> Option<&'static str> {
        self.cause().map(Cause::word)
    }

    /// The same as a cause.
    pub fn cause(&self) -> Option<Cause> {
        match self {
            Entry::Opened { because, .. } => *because,
            Entry::Mended { .. } => Some(Cause::History),
            Entry::Cleared { because, .. } => Some(*because),
            Entry::Compacted(_) | Entry::GivenBack { .. } | Entry::Hid(_) | Entry::Reverted { .. } => Some(Cause::Us),
            _ => None,
        }
    }
}

/// An entry with its place in the record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its place.
    pub id: EntryId,
    /// The entry it follows.
    pub parent: Option<EntryId>,
    /// When it was appended.
    pub at: Timestamp,
    /// What happened.
    pub entry: Entry,
}

#[derive(Serialize)]
struct Outgoing<'a, T> {
    id: EntryId,
    parent: Option<EntryId>,
    at: Timestamp,
    kind: &'a str,
    data: &'a T,
}

#[derive(Deserialize)]
struct Incoming<'a> {
    id: EntryId,
    #[serde(default)]
    parent: Option<EntryId>,
    at: Timestamp,
    kind: &'a str,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Serialize, Deserialize)]
struct OpenedData {
    opening: Arc<Opening>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    because: Option<Cause>,
}

#[derive(Serialize, Deserialize)]
struct SawData {
    path: PathBuf,
    digest: Digest,
}

#[derive(Serialize, Deserialize)]
struct MendedData {
    lost: u64,
}

#[derive(Serialize, Deserialize)]
struct ClearedData {
    results: Vec<ToolCallId>,
    because: Cause,
}

#[derive(Serialize, Deserialize)]
struct GivenBackData {
    compaction: EntryId,
    messages: Vec<MessageId>,
}

#[derive(Serialize, Deserialize)]
struct RevertedData {
    entry: EntryId,
}

#[derive(Serialize, Deserialize)]
struct FailedData {
    layer: String,
    because: String,
}

impl Record {
    /// The record as one line of JSON.
    pub fn to_json(&self) -> serde_json::Result<String> {
        match &self.entry {
            Entry::Began(data) => self.outgoing("began", data),
            Entry::Opened { opening, because } => {
                self.outgoing("opened", &OpenedData { opening: opening.clone(), because: *because })
            }
            Entry::Labelled(data) => self.outgoing("labelled", data),
            Entry::Said(message) => self.outgoing("said", message),
            Entry::Spilled(data) => self.outgoing("spilled", data),
            Entry::Cleared { results, because } => {
                self.outgoing("cleared", &ClearedData { results: results.clone(), because: *because })
            }
            Entry::Noted(data) => self.outgoing("noted", data),
            Entry::Compacted(data) => self.outgoing("compacted", data),
            Entry::GivenBack { compaction, messages } => {
                self.outgoing("given_back", &GivenBackData { compaction: *compaction, messages: messages.clone() })
            }
            Entry::Hid(data) => self.outgoing("hid", data),
            Entry::Reverted { entry } => self.outgoing("reverted", &RevertedData { entry: *entry }),
            Entry::Failed { layer, because } => {
                self.outgoing("failed", &FailedData { layer: layer.clone(), because: because.clone() })
            }
            Entry::Saw { path, digest } => {
                self.outgoing("saw", &SawData { path: path.clone(), digest: digest.clone() })
            }
            Entry::Recalled(data) => self.outgoing("recalled", data),
            Entry::Extracted(data) => self.outgoing("extracted", data),
            Entry::Replied(data) => self.outgoing("replied", data),
            Entry::Summoned(data) => self.outgoing("summoned", data),
            Entry::Returned(data) => self.outgoing("returned", data),
            Entry::Mended { lost } => self.outgoing("mended", &MendedData { lost: *lost }),
            Entry::Unknown(kind) => self.outgoing(kind, &()),
        }
    }

    fn outgoing<T: Serialize>(&self, kind: &str, data: &T) -> serde_json::Result<String> {
        let json = serde_json::to_string(&Outgoing { id: self.id, parent: self.parent, at: self.at, kind, data })?;
        Ok(json.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029"))
    }

    /// Read one line of JSON. Kinds and fields of newer versions are not errors.
    pub fn from_json(json: &str) -> serde_json::Result<Self> {
        let incoming: Incoming<'_> = serde_json::from_str(json)?;
        let data = incoming.data.get();
        let entry = match incoming.kind {
            "began" => Entry::Began(serde_json::from_str(data)?),
            "opened" => {
                let OpenedData { opening, because } = serde_json::from_str(data)?;
                Entry::Opened { opening, because }
            }
            "labelled" => Entry::Labelled(serde_json::from_str(data)?),
            "said" => Entry::Said(Arc::new(serde_json::from_str(data)?)),
            "spilled" => Entry::Spilled(serde_json::from_str(data)?),
            "cleared" => {
                let ClearedData { results, because } = serde_json::from_str(data)?;
                Entry::Cleared { results, because }
            }
            "noted" => Entry::Noted(serde_json::from_str(data)?),
            "compacted" => Entry::Compacted(Arc::new(serde_json::from_str(data)?)),
            "given_back" => {
                let GivenBackData { compaction, messages } = serde_json::from_str(data)?;
                Entry::GivenBack { compaction, messages }
            }
            "hid" => Entry::Hid(Arc::new(serde_json::from_str(data)?)),
            "reverted" => Entry::Reverted { entry: serde_json::from_str::<RevertedData>(data)?.entry },
            "failed" => {
                let FailedData { layer, because } = serde_json::from_str(data)?;
                Entry::Failed { layer, because }
            }
            "saw" => {
                let SawData { path, digest } = serde_json::from_str(data)?;
                Entry::Saw { path, digest }
            }
            "recalled" => Entry::Recalled(serde_json::from_str(data)?),
            "extracted" => Entry::Extracted(serde_json::from_str(data)?),
            "replied" => Entry::Replied(serde_json::from_str(data)?),
            "summoned" => Entry::Summoned(serde_json::from_str(data)?),
            "returned" => Entry::Returned(serde_json::from_str(data)?),
            "mended" => Entry::Mended { lost: serde_json::from_str::<MendedData>(data)?.lost },
            kind => Entry::Unknown(kind.to_owned()),
        };
        Ok(Self { id: incoming.id, parent: incoming.parent, at: incoming.at, entry })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_a_newer_version_is_read_as_far_as_it_is_known() {
        let json = r#"{"id":7,"parent":6,"at":"2026-01-01T00:00:00Z","mood":"new","kind":"collapsed","data":{"x":1}}"#;
        let record = Record::from_json(json).unwrap();
        assert_eq!((record.id, record.entry), (7, Entry::Unknown("collapsed".into())));

        let json = r#"{"id":7,"parent":6,"at":"2026-01-01T00:00:00Z","kind":"mended","data":{"lost":2,"why":"?"}}"#;
        assert_eq!(Record::from_json(json).unwrap().entry, Entry::Mended { lost: 2 });
    }
}
