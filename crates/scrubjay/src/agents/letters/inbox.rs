//! A team mailbox: a folder with the rules of a maildir. Any number of processes write into it, one reads.
//!
//! A letter is written into `tmp`, made durable and renamed into `new`. Its reader moves it to `cur`, and removes it once
//! it is part of the reader's own record; a reader that dies in between finds it there. `seen` holds the names of letters
//! that were read, because a sender that does not know whether its letter arrived sends it again. What is no letter, or
//! may not be what it says it is, goes to `dead` with the reason beside it.

use super::{Letter, LetterError, Trust, is_name};
use crate::agents::jobs::is_held;
use crate::limits::Limits;
use crate::paths::{create_dir_private, lock_within};
use serde::Serialize;
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

const PARTS: [&str; 4] = ["tmp", "new", "cur", "dead"];
const SEEN: &str = "seen";
const READER: &str = "reader";

/// The reader's side of a team mailbox.
#[derive(Debug)]
pub struct Inbox {
    dir: PathBuf,
    name: String,
    /// Letters that were read, the oldest first.
    seen: VecDeque<String>,
    known: HashSet<String>,
    /// Letters that were handed out and are not done yet.
    handed: BTreeSet<String>,
    log: File,
    /// How many lines the log has.
    lines: usize,
    _reader: File,
}

/// What a look into the mailbox brought.
#[derive(Debug, Default)]
pub struct Received {
    /// New letters, oldest first.
    pub letters: Vec<Letter>,
    /// What went to `dead`: the file and why.
    pub dead: Vec<(String, String)>,
}

/// A letter as it lies in a mailbox, for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lying {
    /// `new`, `cur` or `dead`.
    pub place: &'static str,
    /// Its file.
    pub file: String,
    /// The letter, where it is one.
    pub letter: Option<Letter>,
    /// Why it is dead.
    pub why: Option<String>,
}

/// Put a letter into the mailbox of its receiver, below this folder. It is there, whole, when this returns; sending the
/// same letter again changes nothing.
pub fn deliver(mail: &Path, letter: &Letter, limits: &Limits) -> Result<(), LetterError> {
    let bytes = letter.to_bytes(limits)?;
    let dir = mail.join(&letter.to);
    if !dir.join("new").is_dir() {
        let known = in_words(&known(mail));
        return Err(LetterError::Unknown { to: letter.to.clone(), known });
    }
    let (from, to) = (letter.from.clone(), letter.to.clone());
    let waiting: Vec<String> = ["new", "cur"].iter().flat_map(|part| files(&dir.join(part))).collect();
    let theirs = waiting.iter().filter(|file| sender(file) == Some(&from)).count() as u64;
    if theirs >= limits.letters_from_one {
        return Err(LetterError::Quota { from, to, waiting: theirs });
    }
    if waiting.len() as u64 >= limits.letters_waiting {
        return Err(LetterError::Full { to, waiting: waiting.len() as u64 });
    }
    let name = file_name(letter);
    write(&dir, &name, &bytes).map_err(|error| LetterError::Disk { path: dir.join("new").join(name), error })
}

/// Everybody who has a mailbox below this folder.
pub fn known(mail: &Path) -> Vec<String> {
    let entries = fs::read_dir(mail).into_iter().flatten().flatten();
    let boxes = entries.filter(|entry| entry.path().join("new").is_dir());
    let mut names: Vec<String> = boxes.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| is_name(name));
    names.sort();
    names
}

/// Those of them whose reader lives.
pub fn living(mail: &Path) -> Vec<String> {
    let mut names = known(mail);
    names.retain(|name| is_held(&mail.join(name).join(READER)));
    names
}

/// Who there is, for an error.
pub fn in_words(known: &[String]) -> String {
    if known.is_empty() { "nobody has a mailbox here".to_owned() } else { format!("there are: {}", known.join(", ")) }
}

/// What lies in somebody's mailbox. Nothing is changed.
pub fn look(mail: &Path, name: &str, limits: &Limits) -> Vec<Lying> {
    let dir = mail.join(name);
    let mut lying = Vec::new();
    for place in ["dead", "cur", "new"] {
        for file in files(&dir.join(place)) {
            let letter = read(&dir.join(place).join(&file), limits).ok();
            let why = fs::read_to_string(dir.join(place).join(why_name(&file))).ok();
            lying.push(Lying { place, file, letter, why });
        }
    }
    lying
}

impl Inbox {
    /// Open the mailbox of this name below this folder, and make it if it is not there. One process at a time.
    pub fn open(mail: &Path, name: &str, limits: &Limits) -> Result<Self, LetterError> {
        if !is_name(name) {
            return Err(LetterError::NoName(name.to_owned()));
        }
        let dir = mail.join(name);
        let opened = Self::open_at(dir.clone(), name, limits);
        opened.map_err(|error| LetterError::Disk { path: dir.clone(), error })?.ok_or(LetterError::InUse(dir))
    }

    fn open_at(dir: PathBuf, name: &str, limits: &Limits) -> io::Result<Option<Self>> {
        for part in PARTS {
            create_dir_private(&dir.join(part))?;
        }
        let reader = private().write(true).create(true).truncate(false).open(dir.join(READER))?;
        if !is_taken(&reader)? {
            return Ok(None);
        }
        sweep(&dir.join("tmp"));
        let (seen, log) = remembered(&dir.join(SEEN), limits)?;
        let (known, lines) = (seen.iter().cloned().collect(), seen.len());
        let (name, handed) = (name.to_owned(), BTreeSet::new());
        Ok(Some(Self { dir, name, seen, known, handed, log, lines, _reader: reader }))
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Every letter that has come and was not handed out yet. Those that were read before are removed, and what is no
    /// letter or may not be what it says is put to the dead ones.
    pub fn receive(&mut self, trust: &Trust, limits: &Limits) -> io::Result<Received> {
        for file in files(&self.dir.join("new")) {
            fs::rename(self.dir.join("new").join(&file), self.dir.join("cur").join(&file))?;
        }
        let mut received = Received::default();
        for file in files(&self.dir.join("cur")) {
            if self.handed.contains(&file) {
                continue;
            }
            let path = self.dir.join("cur").join(&file);
            match self.check(&path, &file, trust, limits) {
                Err(why) => {
                    self.bury(&file, &why, limits)?;
                    received.dead.push((file, why));
                }
                Ok(letter) if self.known.contains(&letter.id) => fs::remove_file(path)?,
                Ok(letter) => {
                    self.handed.insert(file);
                    received.letters.push(letter);
                }
            }
        }
        Ok(received)
    }

    fn check(&self, path: &Path, file: &str, trust: &Trust, limits: &Limits) -> Result<Letter, String> {
        let letter = read(path, limits)?;
        if letter.to != self.name {
            return Err(format!("it is for {}", letter.to));
        }
        if file_name(&letter) != file {
            return Err("its file is called otherwise than the letter and its sender".to_owned());
        }
        trust.allows(&letter).map(|()| letter)
    }

    /// A letter is part of the reader's own record: it is forgotten here, and will not be handed out again.
    pub fn done(&mut self, letter: &Letter, limits: &Limits) -> io::Result<()> {
        if !self.known.contains(&letter.id) {
            self.log.write_all(format!("{}\n", letter.id).as_bytes())?;
            self.log.sync_data()?;
            self.lines += 1;
            self.known.insert(letter.id.clone());
            self.seen.push_back(letter.id.clone());
            self.forget(limits)?;
        }
        let file = file_name(letter);
        self.handed.remove(&file);
        match fs::remove_file(self.dir.join("cur").join(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Only the newest names are kept; the log is written anew when it has grown to twice that.
    fn forget(&mut self, limits: &Limits) -> io::Result<()> {
        let most = usize::try_from(limits.letters_seen).unwrap_or(usize::MAX);
        for old in self.seen.drain(..self.seen.len().saturating_sub(most)) {
            self.known.remove(&old);
        }
        if self.lines > most.saturating_mul(2) {
            let path = self.dir.join(SEEN);
            crate::paths::write_private(&path, lines(&self.seen).as_bytes())?;
            (self.log, self.lines) = (appending(&path)?, self.seen.len());
        }
        Ok(())
    }

    /// To the dead letters, with the reason. Of those only the newest are kept.
    fn bury(&self, file: &str, why: &str, limits: &Limits) -> io::Result<()> {
        let dead = self.dir.join("dead");
        crate::paths::write_private(&dead.join(why_name(file)), why.as_bytes())?;
        fs::rename(self.dir.join("cur").join(file), dead.join(file))?;
        let all = files(&dead);
        let most = usize::try_from(limits.dead_letters).unwrap_or(usize::MAX);
        for old in all.iter().take(all.len().saturating_sub(most)) {
            fs::remove_file(dead.join(old))?;
            // A reason that is not there is not missed.
            fs::remove_file(dead.join(why_name(old))).unwrap_or_default();
        }
        Ok(())
    }

    /// Leave: a mailbox in which nothing waits and nothing is dead goes with its reader.
    pub fn close(self) -> io::Result<()> {
        if PARTS.iter().any(|part| !files(&self.dir.join(part)).is_empty()) {
            return Ok(());
        }
        // From here on nobody finds it; whoever was just writing gets an error and no loss.
        let gone = self.dir.with_file_name(format!(".{}-{}", self.name, std::process::id()));
        fs::rename(&self.dir, &gone)?;
        if files(&gone.join("new")).is_empty() { fs::remove_dir_all(gone) } else { fs::rename(gone, &self.dir) }
    }
}

/// Take the reader's place. Whoever looks whether somebody reads holds it for a moment, so one refusal says nothing.
fn is_taken(reader: &File) -> io::Result<bool> {
    const PATIENCE: Duration = Duration::from_millis(100);
    lock_within(reader, PATIENCE)
}

fn file_name(letter: &Letter) -> String {
    format!("{}.{}.json", letter.id, letter.from)
}

fn why_name(file: &str) -> String {
    format!("{file}.why")
}

fn sender(file: &str) -> Option<&str> {
    file.split('.').nth(1)
}

/// Letters in a folder, oldest first.
fn files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| name.ends_with(".json"));
    names.sort();
    names
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

fn appending(path: &Path) -> io::Result<File> {
    private().append(true).create(true).open(path)
}

/// A reader that just opens the mailbox may sweep a file away before its writer has locked it: then it is written anew.
fn write(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    const TRIES: usize = 5;
    let swept = |written: &io::Result<()>| {
        let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        written.as_ref().err().is_some_and(gone) && dir.join("new").is_dir()
    };
    let mut written = write_once(dir, name, bytes);
    for _ in 0..TRIES {
        if !swept(&written) {
            break;
        }
        written = write_once(dir, name, bytes);
    }
    written
}

fn write_once(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let (tmp, new) = (dir.join("tmp").join(name), dir.join("new"));
    let mut file = private().write(true).create(true).truncate(true).open(&tmp)?;
    // Whoever sweeps can see that somebody is still writing.
    file.lock()?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&tmp, new.join(name))?;
    File::open(new)?.sync_all()
}

/// Remove what writers left that died.
fn sweep(tmp: &Path) {
    for file in files(tmp) {
        let path = tmp.join(file);
        if File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            fs::remove_file(path).unwrap_or_default();
        }
    }
}

/// A letter from a file that anybody may have put there.
fn read(path: &Path, limits: &Limits) -> Result<Letter, String> {
    use rustix::fs::{Mode, OFlags};
    let unread = |error: io::Error| format!("it cannot be read: {error}");
    // Neither a link that leads elsewhere nor a pipe that never ends.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(|error| unread(error.into()))?);
    let meta = file.metadata().map_err(unread)?;
    if !meta.is_file() {
        return Err("it is no file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(limits.letter_bytes + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > limits.letter_bytes {
        return Err(format!("it has {} bytes and may have {}", meta.len(), limits.letter_bytes));
    }
    Letter::from_bytes(&bytes, limits)
}

fn lines(ids: &VecDeque<String>) -> String {
    ids.iter().map(|id| format!("{id}\n")).collect()
}

/// Names of letters that were read, and the log to go on with. A line that was cut off by a kill is no name.
fn remembered(path: &Path, limits: &Limits) -> io::Result<(VecDeque<String>, File)> {
    let text = match fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let mut seen: VecDeque<String> = whole.lines().map(str::to_owned).collect();
    let most = usize::try_from(limits.letters_seen).unwrap_or(usize::MAX);
    seen.drain(..seen.len().saturating_sub(most));
    if whole.len() != text.len() || whole.lines().count() != seen.len() {
        crate::paths::write_private(path, lines(&seen).as_bytes())?;
    }
    Ok((seen, appending(path)?))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
