//! The record of a session: entries, only ever appended, and the fold over them.

mod course;
mod entry;
mod file;
mod hiding;
mod marks;
mod opening;
mod view;

pub use course::{Filling, Moment, Point, course};
pub use entry::{
    Author, Began, Call, Cause, Compaction, Entry, EntryId, Extracted, Learner, Noted, Recalled, Record, Returned,
    SpanLabels, Spilled, Summoned, Trigger, Writer,
};
pub use file::{Damage, FORMAT, Log, Reading, read, read_as, read_from, take_pen};
pub use hiding::{Hidden, Hiding, Span, Way};
pub use marks::{Brought, FileRange, Finding, Marks, Report, Segment, What};
pub use opening::{Lifetimes, Opening, Options, Thinking, ToolSpec, Ttl};
pub use view::{CLEARED, Spent, View};

use crate::limits::Limits;
use crate::message::{Block, Message, MessageId, Origin, Role, SessionId, SpanLabel};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a session's record cannot be opened or written. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// The file cannot be opened.
    #[error("the session file {path} cannot be opened: {error}", path = path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A newer version wrote it.
    #[error(
        "the session file {path} has format {format}, and this version reads up to {FORMAT}; nothing was changed. Update scrubjay to go on with it",
        path = path.display()
    )]
    Newer {
        /// Which file.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// Another process writes it.
    #[error("session {session} is open in another process; close it there, or continue in a copy with --fork-session")]
    InUse {
        /// Which session.
        session: SessionId,
    },
    /// The disk took nothing. What could not be written waits in memory and goes out with the next entry.
    #[error(
        "the session could not be saved ({error}); {waiting} bytes wait in memory and are written as soon as the disk takes them"
    )]
    Unsaved {
        /// Why.
        error: io::Error,
        /// How much waits.
        waiting: usize,
    },
}

/// A session: its records, what they add up to, and the file they are in.
#[derive(Debug)]
pub struct Transcript {
    session: SessionId,
    records: Vec<Record>,
    view: View,
    limits: Arc<Limits>,
    disk: Option<Disk>,
}

#[derive(Debug)]
struct Disk {
    path: PathBuf,
    log: Log,
    /// Held for its lock.
    _pen: File,
}

impl Transcript {
    /// A session that is kept in memory alone.
    pub fn in_memory(session: SessionId, limits: Arc<Limits>) -> Self {
        Self { session, records: Vec::new(), view: View::default(), limits, disk: None }
    }

    /// Start a new session in `path`.
    pub fn create(path: &Path, began: Began, at: Timestamp, limits: Arc<Limits>) -> Result<Self, TranscriptError> {
        let mut transcript = Self::in_memory(SessionId::new(began.session.as_str()), limits);
        transcript.disk = Some(transcript.take_up(path)?);
        transcript.append(Entry::Began(began), at)?;
        Ok(transcript)
    }

    /// Go on with a session. Damage is skipped and reported; the file is not rewritten. Unless only the last line was
    /// torn, the loss is recorded, because what the model sees may have changed.
    pub fn resume(
        path: &Path,
        session: SessionId,
        at: Timestamp,
        limits: Arc<Limits>,
    ) -> Result<(Self, Vec<Damage>), TranscriptError> {
        let mut transcript = Self::in_memory(session, limits);
        // The pen first: nobody may append between our reading and our writing.
        let disk = transcript.take_up(path)?;
        let reading = read(path, &transcript.limits).map_err(|error| unreadable(path, error))?;
        transcript.load(path, reading.records)?;
        transcript.disk = Some(disk);
        if !reading.damage.is_empty() && !reading.torn_tail_only {
            transcript.append(Entry::Mended { lost: reading.damage.len() as u64 }, at)?;
        }
        Ok((transcript, reading.damage))
    }

    /// Look at a session without the right to append to it.
    pub fn peek(path: &Path, session: SessionId, limits: Arc<Limits>) -> Result<(Self, Vec<Damage>), TranscriptError> {
        let mut transcript = Self::in_memory(session, limits);
        let reading = read(path, &transcript.limits).map_err(|error| unreadable(path, error))?;
        transcript.load(path, reading.records)?;
        Ok((transcript, reading.damage))
    }

    /// The same history under a new name: what happens here from now on does not happen there.
    pub fn fork(&self, path: &Path, began: Began, at: Timestamp) -> Result<Self, TranscriptError> {
        let mut copy = Self::create(path, began, at, self.limits.clone())?;
        // Records that damage took or that are not copied leave gaps, so an entry may have another place there.
        let mut places = BTreeMap::new();
        for record in &self.records {
            let entry = match &record.entry {
                Entry::Began(_) | Entry::Unknown(_) => continue,
                Entry::Reverted { entry } => match places.get(entry) {
                    Some(place) => Entry::Reverted { entry: *place },
                    None => continue,
                },
                Entry::GivenBack { compaction, messages } => match places.get(compaction) {
                    Some(place) => Entry::GivenBack { compaction: *place, messages: messages.clone() },
                    None => continue,
                },
                other => other.clone(),
            };
            copy.append(entry, record.at)?;
            places.extend(copy.records.last().map(|copied| (record.id, copied.id)));
        }
        Ok(copy)
    }

    fn take_up(&self, path: &Path) -> Result<Disk, TranscriptError> {
        let pen = file::take_pen(path).map_err(|error| unreadable(path, error))?;
        let Some(pen) = pen else { return Err(TranscriptError::InUse { session: self.session.clone() }) };
        let log = Log::open(path, &self.limits).map_err(|error| unreadable(path, error))?;
        Ok(Disk { path: path.to_owned(), log, _pen: pen })
    }

    fn load(&mut self, path: &Path, records: Vec<Record>) -> Result<(), TranscriptError> {
        for record in &records {
            if let Entry::Began(began) = &record.entry
                && began.format > FORMAT
            {
                return Err(TranscriptError::Newer { path: path.to_owned(), format: began.format });
            }
        }
        self.view = View::of(&records, &self.limits);
        self.records = records;
        Ok(())
    }

    /// Add one entry. It is in force even if the disk refuses it, and then the error says so.
    pub fn append(&mut self, entry: Entry, at: Timestamp) -> Result<(), TranscriptError> {
        let parent = self.records.last().map(|record| record.id);
        let record = Record { id: parent.map_or(0, |id| id + 1), parent, at, entry };
        let written = match &mut self.disk {
            Some(disk) => disk.log.append(&record).map_err(|error| (error, disk.log.waiting())),
            None => Ok(()),
        };
        self.records.push(record);
        self.view.follow(&self.records, &self.limits);
        written.map_err(|(error, waiting)| TranscriptError::Unsaved { error, waiting })
    }

    /// Add one message and return it.
    pub fn say(
        &mut self,
        role: Role,
        origin: Origin,
        blocks: Vec<Block>,
        at: Timestamp,
    ) -> Result<Arc<Message>, TranscriptError> {
        let message = Arc::new(Message { id: self.next_message_id(), role, origin, at, blocks });
        self.append(Entry::Said(message.clone()), at)?;
        Ok(message)
    }

    /// Add a message of the user's of which some parts were not typed.
    pub fn say_labelled(
        &mut self,
        blocks: Vec<Block>,
        labels: Vec<SpanLabel>,
        at: Timestamp,
    ) -> Result<Arc<Message>, TranscriptError> {
        if labels.is_empty() {
            return self.say(Role::User, Origin::Person, blocks, at);
        }
        // The message follows the label, so its name is that of the place behind it.
        let message = derived_id(&self.session, &self.records.last().map_or(1, |record| record.id + 2).to_string());
        self.append(Entry::Labelled(SpanLabels { message, labels }), at)?;
        self.say(Role::User, Origin::Person, blocks, at)
    }

    /// Make sure that everything so far survives a power cut.
    pub fn settle(&mut self) -> Result<(), TranscriptError> {
        let Some(disk) = &mut self.disk else { return Ok(()) };
        disk.log.sync().map_err(|error| TranscriptError::Unsaved { error, waiting: disk.log.waiting() })
    }

    fn next_message_id(&self) -> MessageId {
        let place = self.records.last().map_or(0, |record| record.id + 1);
        derived_id(&self.session, &place.to_string())
    }

    /// The session's name.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Everything that happened.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// What it adds up to.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The conversation as it was before the last compaction in force: what can be given back.
    pub fn before_compaction(&self) -> Option<View> {
        let (id, _) = self.view.compactions.last()?;
        let end = self.records.iter().position(|record| record.id == *id)?;
        Some(View::of(&self.records[..end], &self.limits))
    }

    /// The folder of everything that belongs to it: stored results, notes.
    pub fn folder(&self) -> Option<PathBuf> {
        self.path().map(|path| path.with_extension(""))
    }

    /// Where it is kept.
    pub fn path(&self) -> Option<&Path> {
        self.disk.as_ref().map(|disk| disk.path.as_path())
    }
}

/// The name of a message, derived from its session and its place, so that equal sessions have equal names and no
/// randomness is needed.
pub fn derived_id(session: &SessionId, place: &str) -> MessageId {
    let hash = Sha256::digest(format!("{session}/{place}"));
    let mut bytes: [u8; 16] = std::array::from_fn(|at| hash[at]);
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    MessageId::new([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

fn unreadable(path: &Path, error: io::Error) -> TranscriptError {
    TranscriptError::Unreadable { path: path.to_owned(), error }
}
