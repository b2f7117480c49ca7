//! The sessions of a project, as they lie on disk.

use crate::failure::Failure;
use crate::workplace::Workplace;
use jiff::Timestamp;
use scrubjay::limits::Limits;
use scrubjay::message::{Message, Origin, SessionId, Usage};
use scrubjay::paths::ProjectLayout;
use scrubjay::secrets::veiled;
use scrubjay::tools::shown;
use scrubjay::transcript::{Compaction, Damage, Entry, Transcript, TranscriptError};
use std::io::{BufRead as _, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Where the sessions of one project are.
pub(crate) struct Shelf {
    project: ProjectLayout,
    limits: Arc<Limits>,
}

/// A session that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) id: String,
    pub(crate) path: PathBuf,
    pub(crate) touched: SystemTime,
}

/// A session at a glance.
#[derive(Debug, Clone)]
pub(crate) struct Glance {
    pub(crate) id: String,
    pub(crate) last: Timestamp,
    /// The beginning of the first question.
    pub(crate) title: String,
    /// How many questions were asked.
    pub(crate) questions: u64,
    pub(crate) usage: Usage,
    /// How many tokens it takes in the window.
    pub(crate) window: u64,
    /// Whether it has given up compacting by itself.
    pub(crate) compaction_rests: bool,
    pub(crate) damage: Vec<Damage>,
}

impl Shelf {
    pub(crate) fn of(workplace: &Workplace) -> Self {
        Self { project: workplace.project(), limits: workplace.limits.clone() }
    }

    /// Every session, newest first. A folder that is not there holds none.
    pub(crate) fn places(&self) -> Result<Vec<Place>, Failure> {
        places_in(self.project.dir())
    }

    /// The session that was meant: `last`, an id, or the beginning of one.
    pub(crate) fn find(&self, wanted: &str) -> Result<Place, Failure> {
        if wanted == "last" {
            return self.newest();
        }
        let places = self.places()?;
        if let Some(exact) = places.iter().find(|place| place.id == wanted) {
            return Ok(exact.clone());
        }
        let mut near: Vec<Place> = places.into_iter().filter(|place| place.id.starts_with(wanted)).collect();
        match near.len() {
            1 => Ok(near.remove(0)),
            0 => Err(Failure::nothing_found(format!("there is no session `{}` in this project", shown(wanted)))
                .fix("`scrubjay sessions` lists them; sessions belong to the project they were started in (-C DIR)")),
            many => {
                let ids: Vec<&str> = near.iter().take(5).map(|place| place.id.as_str()).collect();
                Err(Failure::usage(format!("{many} sessions begin with `{}`: {}", shown(wanted), ids.join(", ")))
                    .fix("give more of the id"))
            }
        }
    }

    /// The newest session in which something was asked.
    pub(crate) fn newest(&self) -> Result<Place, Failure> {
        for place in self.places()? {
            // One that cannot be read is still the newest: opening it will say what is wrong.
            if self.peek(&place).map_or(true, |(transcript, damage)| asked(&transcript) > 0 || !damage.is_empty()) {
                return Ok(place);
            }
        }
        Err(none_yet())
    }

    /// Read a session without the right to go on with it.
    pub(crate) fn peek(&self, place: &Place) -> Result<(Transcript, Vec<Damage>), TranscriptError> {
        Transcript::peek(&place.path, SessionId::new(place.id.as_str()), self.limits.clone())
    }

    /// The sessions in which something was asked, newest first.
    pub(crate) fn glances(&self, most: usize) -> Result<Vec<Glance>, Failure> {
        let glances = self.places()?.into_iter().filter_map(|place| self.glance(&place));
        Ok(glances.map(|(glance, _)| glance).take(most).collect())
    }

    /// The newest of them, whole.
    pub(crate) fn newest_at_a_glance(&self) -> Result<Option<(Place, Glance, Transcript)>, Failure> {
        let seen = |place: Place| self.glance(&place).map(|(glance, transcript)| (place, glance, transcript));
        Ok(self.places()?.into_iter().find_map(seen))
    }

    fn glance(&self, place: &Place) -> Option<(Glance, Transcript)> {
        let (transcript, damage) = self.peek(place).ok()?;
        let questions = asked(&transcript);
        if questions == 0 && damage.is_empty() {
            return None;
        }
        let mut usage = Usage::default();
        for spent in transcript.view().spent.values() {
            usage += spent.usage;
        }
        let glance = Glance {
            id: place.id.clone(),
            last: transcript.records().last().map_or_else(|| moment(place.touched), |record| record.at),
            title: title(&transcript),
            questions,
            usage,
            window: transcript.view().count.total(),
            compaction_rests: transcript.view().strikes.get(Compaction::LAYER).copied().unwrap_or_default()
                >= self.limits.compaction_strikes,
            damage,
        };
        Some((glance, transcript))
    }

    /// A new session's name and file.
    pub(crate) fn new_place(&self) -> Place {
        let id = crate::identifier::fresh().to_string();
        Place { path: self.project.transcript(&id), id, touched: SystemTime::now() }
    }

    /// Take away a session in which nothing was ever asked.
    pub(crate) fn discard_if_empty(&self, transcript: Transcript) {
        let Some(path) = transcript.path().map(PathBuf::from) else { return };
        if asked(&transcript) > 0 || transcript.records().len() > FRESH {
            return;
        }
        drop(transcript);
        let gone = std::fs::remove_file(&path).and_then(|()| std::fs::remove_dir_all(path.with_extension("")));
        if let Err(error) = gone {
            tracing::warn!(%error, "an empty session could not be removed");
        }
    }
}

/// The sessions in a project's folder, newest first.
pub(crate) fn places_in(dir: &Path) -> Result<Vec<Place>, Failure> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Failure::failed(format!("{} cannot be read: {error}", dir.display()))),
    };
    let mut places: Vec<Place> = entries.flatten().filter_map(|entry| place(entry.path())).collect();
    // Ids are made in order of time, so they decide between files of the same moment.
    places.sort_by(|a, b| (b.touched, &b.id).cmp(&(a.touched, &a.id)));
    Ok(places)
}

/// The folder a session was started in, as its first line says.
pub(crate) fn began_in(place: &Place) -> Option<PathBuf> {
    const LONGEST: u64 = 65_536;
    let mut line = String::new();
    let first = std::fs::File::open(&place.path).ok()?.take(LONGEST);
    std::io::BufReader::new(first).read_line(&mut line).ok()?;
    let record: serde_json::Value = serde_json::from_str(&line).ok()?;
    record["entry"]["data"]["dir"].as_str().map(PathBuf::from)
}

/// Where sessions are looked for and none is.
pub(crate) fn none_yet() -> Failure {
    Failure::nothing_found("there is no session in this project yet")
        .fix("start one with `scrubjay chat`; sessions belong to the project they were started in (-C DIR)")
}

/// A session that was only begun holds its beginning and what requests begin with.
const FRESH: usize = 2;

fn place(path: PathBuf) -> Option<Place> {
    let id = path.file_stem()?.to_str()?.to_owned();
    let meta = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
    let is_session = path.extension().is_some_and(|extension| extension == "jsonl");
    is_session.then(|| Place { id, touched: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH), path })
}

fn moment(time: SystemTime) -> Timestamp {
    Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// How many questions a person asked. The record is counted, because a compaction takes questions out of the view.
pub(crate) fn asked(transcript: &Transcript) -> u64 {
    questions(transcript).count() as u64
}

fn questions(transcript: &Transcript) -> impl Iterator<Item = &Message> {
    transcript.records().iter().filter_map(|record| match &record.entry {
        Entry::Said(message) if message.origin == Origin::Person => Some(message.as_ref()),
        _ => None,
    })
}

/// The first question on one line.
pub(crate) fn title(transcript: &Transcript) -> String {
    questions(transcript).next().map(|message| headline(&message.text())).unwrap_or_default()
}

/// The beginning of what somebody said, on one line.
pub(crate) fn headline(words: &str) -> String {
    const LONGEST: usize = 60;
    let line = veiled(&words.split_whitespace().collect::<Vec<_>>().join(" "));
    let line = shown(&line);
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.into_owned(),
    }
}

/// Damage in words, for a person who goes on with the session.
pub(crate) fn damage_in_words(damage: &[Damage]) -> String {
    let bytes: u64 = damage.iter().map(|one| one.bytes).sum();
    let what: Vec<String> = damage.iter().take(3).map(|one| format!("{} at byte {}", one.what, one.offset)).collect();
    let more = if damage.len() > 3 { ", …" } else { "" };
    format!(
        "{} damaged part(s) of the session file were skipped ({bytes} bytes: {}{more}); the rest is intact",
        damage.len(),
        what.join(", ")
    )
}
