//! What is new since the last dream, and where words that a dream quotes were said.
//!
//! Evidence is what a person (their own words, and apart from them what they pasted) or the model said in a conversation, and the daily logs. What was recalled, what instruction
//! files say, summaries and the memory itself are not: a memory never proves itself.

use crate::limits::Limits;
use crate::memory::logs::{LogDay, file_of};
use crate::memory::provenance::{Source, Speaker};
use crate::memory::recall::content_words;
use crate::memory::typed::Conversation;
use crate::message::Origin;
use crate::transcript::{self, Entry};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Something that was said since the last dream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) session: String,
    pub(super) message: String,
    pub(super) day: Date,
    pub(super) speaker: Speaker,
    pub(super) text: String,
}

/// Everything that was said since the last dream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    pub(super) said: Vec<Said>,
    /// What was logged and never read.
    pub(super) logs: Vec<LogDay>,
}

/// Transcripts that went on since the last dream, the newest first, without the one that is being written.
pub(super) fn sessions_since(folder: &Path, last: Option<Timestamp>, current: &str) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        let is_session = path.extension().is_some_and(|extension| extension == "jsonl");
        let is_current = path.file_stem().is_some_and(|stem| stem == current);
        let Ok(meta) = entry.metadata() else { continue };
        let modified = meta.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
        if let Some(modified) = modified.filter(|_| is_session && !is_current && meta.is_file())
            && last.is_none_or(|last| modified > last)
        {
            found.push((modified, path));
        }
    }
    found.sort_by(|a, b| b.cmp(a));
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

impl Evidence {
    /// Read what was said in these transcripts since the last dream, within limits; what cannot be read proves nothing.
    pub(super) fn read(news: &super::gates::News, zone: &TimeZone, limits: &Limits) -> Self {
        let mut room = limits.dream_transcript_bytes;
        let mut evidence = Self { said: Vec::new(), logs: news.logs.clone() };
        for path in &news.sessions {
            let bytes = fs::metadata(path).map_or(u64::MAX, |meta| meta.len());
            if bytes > room {
                continue;
            }
            room -= bytes;
            evidence.said.extend(said_in(path, news.last, zone, limits));
        }
        evidence
    }

    /// Whether anybody said anything.
    pub(super) fn is_empty(&self) -> bool {
        self.logs.is_empty() && !self.said.iter().any(|said| said.speaker == Speaker::Person)
    }

    /// Where these exact words were said: by the user if they stand in a message the user typed, otherwise by whoever said them.
    /// The model wrote the daily log, so what only the log has is the model's word.
    pub(super) fn source_of(&self, quote: &str) -> Option<Citation> {
        const LEAST_WORDS: usize = 2;
        let quote = one_line(quote);
        if content_words(&quote).len() < LEAST_WORDS {
            return None;
        }
        let holds = |said: &&Said| one_line(&said.text).contains(&quote);
        let typed = self.said.iter().filter(|said| said.speaker == Speaker::Person).find(holds);
        if let Some(said) = typed.or_else(|| self.said.iter().find(holds)) {
            return Some(said.cited(&quote));
        }
        let log = self.logs.iter().find(|log| one_line(&log.text).contains(&quote))?;
        let (session, message) = (String::new(), file_of(log.date));
        let source = Source { speaker: Speaker::Assistant, session, message, quote };
        Some(Citation { source, text: log.text.clone(), day: log.date })
    }
}

/// Words that were cited: who said them, in which text, on which day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Citation {
    pub(super) source: Source,
    pub(super) text: String,
    pub(super) day: Date,
}

impl Said {
    fn cited(&self, quote: &str) -> Citation {
        let source = Source {
            speaker: self.speaker.clone(),
            session: self.session.clone(),
            message: self.message.clone(),
            quote: quote.to_owned(),
        };
        Citation { source, text: self.text.clone(), day: self.day }
    }
}

fn said_in(path: &Path, last: Option<Timestamp>, zone: &TimeZone, limits: &Limits) -> Vec<Said> {
    let session = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let records = transcript::read(path, limits).map(|reading| reading.records).unwrap_or_default();
    let typed = Conversation::read(&records, None, &HashSet::new(), limits).pending.into_iter();
    let typed = typed.map(|message| (message.at, message.id.to_string(), Speaker::Person, message.typed()));
    let answers = records.iter().filter_map(|record| match &record.entry {
        Entry::Said(message) if message.origin == Origin::Model => {
            Some((message.at, message.id.to_string(), Speaker::Assistant, message.text()))
        }
        _ => None,
    });
    let mut all: Vec<_> = typed.chain(answers).filter(|(_, _, _, text)| !text.trim().is_empty()).collect();
    all.retain(|(at, ..)| last.is_none_or(|last| *at > last));
    all.sort_by_key(|(at, ..)| *at);
    let said = all.into_iter().map(|(at, message, speaker, text)| {
        let day = at.to_zoned(zone.clone()).date();
        Said { session: session.clone(), message, day, speaker, text }
    });
    said.collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
