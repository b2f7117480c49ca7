//! The daily log: `logs/YYYY/MM/YYYY-MM-DD.md`, one file a day, only ever appended to. It is no memory: the recall, the
//! index and the check pass it by, and a dream distils it.

use super::folder::Folder;
use super::landing::Folders;
use super::sharing::{Credential, credential};
use super::store::Memory;
use super::{MemoryError, While as _, name};
use crate::paths;
use jiff::civil::Date;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// What of a day's log was not read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogDay {
    /// The day.
    pub date: Date,
    /// Its file.
    pub path: PathBuf,
    /// What it says since it was last read.
    pub text: String,
    /// How far it is read once this is.
    end: u64,
}

/// The file of a day, below the memory directory.
///
/// ```
/// use scrubjay::memory::logs;
/// let path = logs::file_of(jiff::civil::date(2026, 3, 5));
/// assert_eq!(path, "logs/2026/03/2026-03-05.md");
/// assert_eq!(logs::date_of(&path), Some(jiff::civil::date(2026, 3, 5)));
/// assert_eq!(logs::date_of("logs/2026/04/2026-03-05.md"), None);
/// ```
pub fn file_of(date: Date) -> String {
    format!("{}/{:04}/{:02}/{date}.md", name::LOGS, date.year(), date.month())
}

/// The day of a file, if it is one of a log.
pub fn date_of(path: &str) -> Option<Date> {
    let date: Date = path.rsplit('/').next()?.strip_suffix(".md")?.parse().ok()?;
    (file_of(date) == path).then_some(date)
}

impl Memory {
    /// Add lines to a day's log. Whoever else adds to it at the same moment loses nothing, and neither do we.
    pub fn append_log(&self, date: Date, text: &str) -> Result<(), MemoryError> {
        let path = file_of(date);
        if let Some(Credential { rule, line }) = credential(text, "") {
            return Err(MemoryError::Credential { path, rule, line });
        }
        let folder = self.made_folder_of(&path, &mut Folders::new()).during("making the log's folder")?;
        let mut line = text.trim_end_matches('\n').to_owned();
        line.push('\n');
        folder.append(&format!("{date}.md"), line.as_bytes()).during("writing the log")
    }

    /// A day's log as it is now; `None` if there is none.
    pub fn log_of(&self, date: Date) -> Result<Option<String>, MemoryError> {
        Ok(self.log_bytes(date)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    pub(super) fn log_bytes(&self, date: Date) -> Result<Option<Vec<u8>>, MemoryError> {
        let path = file_of(date);
        let folder = match self.folder_of(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            folder => folder.during("reading the log")?,
        };
        let read = folder.read(&format!("{date}.md"), self.limits.log_file_bytes).during("reading the log")?;
        Ok(read.map(|loaded| loaded.bytes))
    }

    /// The days that have a log, the oldest first.
    pub fn log_days(&self) -> Result<Vec<Date>, MemoryError> {
        let mut days = Vec::new();
        let reading = "looking at the logs";
        let Some(logs) = below(&self.folder, name::LOGS).during(reading)? else { return Ok(days) };
        for year in names(&logs).during(reading)? {
            let Some(year) = below(&logs, &year).during(reading)? else { continue };
            for month in names(&year).during(reading)? {
                let Some(month) = below(&year, &month).during(reading)? else { continue };
                let dates = names(&month).during(reading)?;
                days.extend(dates.iter().filter_map(|file| file.strip_suffix(".md")?.parse::<Date>().ok()));
            }
        }
        // A file in the folder of another month is no day's log.
        days.sort_unstable();
        days.dedup();
        Ok(days)
    }

    /// What the logs say that no dream has read, by day. One that cannot be read (it is a link, or has outgrown its limit)
    /// keeps nobody from the others.
    pub fn unread_logs(&self) -> Result<Vec<LogDay>, MemoryError> {
        let read = self.read_marks();
        let mut unread = Vec::new();
        for date in self.log_days()? {
            let Ok(Some(bytes)) = self.log_bytes(date) else { continue };
            let (file, length) = (file_of(date), bytes.len() as u64);
            // A log that is shorter than what was read of it is another one.
            let from = read.get(&file).copied().filter(|from| *from <= length).unwrap_or(0);
            let news = &bytes[usize::try_from(from).unwrap_or(0)..];
            if news.iter().any(|byte| !byte.is_ascii_whitespace()) {
                let text = String::from_utf8_lossy(news).into_owned();
                unread.push(LogDay { date, path: self.place.memory.join(file), text, end: length });
            }
        }
        Ok(unread)
    }

    /// These were read: what is added to the logs from now on is news.
    pub fn mark_logs_read(&self, days: &[LogDay]) -> Result<(), MemoryError> {
        let _lock = self.folder.lock(self.patience())?;
        let mut read = self.read_marks();
        read.extend(days.iter().map(|day| (file_of(day.date), day.end)));
        let path = self.marks_file();
        let written = serde_json::to_vec(&read).map_err(io::Error::other);
        let folder = path.parent().unwrap_or(&path);
        let put = written.and_then(|bytes| {
            paths::create_dir_private(folder)?;
            paths::write_private(&path, &bytes)
        });
        put.during("marking the logs as read")
    }

    fn marks_file(&self) -> PathBuf {
        self.place.provenance.join("logs_read.json")
    }

    /// How far each log was read. Marks that are lost or damaged make a log be read once more, which harms nobody.
    fn read_marks(&self) -> BTreeMap<String, u64> {
        let read = std::fs::read(self.marks_file()).ok();
        read.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }
}

/// Whether a path below the memory directory lies among the logs.
pub(super) fn is_among(inside: &Path) -> bool {
    inside.starts_with(name::LOGS)
}

/// A folder, if there is one; what else has its name is passed by.
fn below(folder: &Folder, name: &str) -> io::Result<Option<Folder>> {
    match folder.step(name) {
        Ok(inner) => Ok(Some(inner)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

fn names(folder: &Folder) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in folder.entries()? {
        names.extend(entry?.file_name().to_str().ok().filter(|name| !name.starts_with('.')).map(str::to_owned));
    }
    Ok(names)
}
