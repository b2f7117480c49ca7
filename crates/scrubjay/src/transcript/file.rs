//! The record on disk: JSON lines with length and checksum, appended one locked write at a time.
//!
//! A line is `{"crc":"…","len":N,"entry":{…}}`. Large entries lie in a blob file of their own and the line names it:
//! `{"crc":"…","len":N,"blob":"…"}`. A process may be killed at any byte: the next append closes a torn line first, and a
//! reader skips what is damaged, keeps the rest and says what it skipped.

use super::Record;
use crate::digest::Digest;
use crate::limits::Limits;
use crate::paths;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The newest format this version reads and the one it writes.
pub const FORMAT: u32 = 1;

/// Something in the file could not be read. The rest could.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Where it starts, in bytes.
    pub offset: u64,
    /// How much was skipped.
    pub bytes: u64,
    /// What is wrong with it.
    pub what: &'static str,
}

/// What a read brought back.
#[derive(Debug)]
pub struct Reading<T = Record> {
    /// Every record that could be read.
    pub records: Vec<T>,
    /// Everything that could not.
    pub damage: Vec<Damage>,
    /// Whether the damage is only a torn last line, as a kill in the middle of a write leaves it.
    pub torn_tail_only: bool,
}

/// An append-only file of records.
#[derive(Debug)]
pub struct Log {
    file: File,
    blobs: PathBuf,
    inline: u64,
    longest: u64,
    waiting: Vec<u8>,
}

impl Log {
    /// Open for appending; the file and its folder are made, readable by their owner alone.
    pub fn open(path: &Path, limits: &Limits) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            paths::create_dir_private(folder)?;
        }
        let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        let (inline, longest) = (limits.record_inline_bytes, limits.record_line_bytes);
        Ok(Self { file, blobs: blobs_of(path), inline, longest, waiting: Vec::new() })
    }

    /// Append one record. If the disk refuses, the record waits in memory and goes out with the next append.
    pub fn append(&mut self, record: &Record) -> io::Result<()> {
        self.append_json(&record.to_json().map_err(io::Error::other)?)
    }

    /// Append one JSON value of any kind, on one line.
    pub fn append_json(&mut self, json: &str) -> io::Result<()> {
        let line = self.line(json)?;
        self.waiting.extend_from_slice(line.as_bytes());
        self.flush()
    }

    /// Write what is waiting.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.file.lock()?;
        let written = self.write_locked();
        self.file.unlock()?;
        written?;
        self.waiting.clear();
        Ok(())
    }

    /// Make sure that what was appended survives a power cut.
    pub fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_data()
    }

    /// Bytes that the disk has not taken yet.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn write_locked(&mut self) -> io::Result<()> {
        let end = self.file.seek(SeekFrom::End(0))?;
        let mut buffer = Vec::with_capacity(self.waiting.len() + 1);
        if end > 0 && self.last_byte(end)? != b'\n' {
            buffer.push(b'\n');
        }
        buffer.extend_from_slice(&self.waiting);
        self.file.write_all(&buffer).inspect_err(|_| {
            // Half a record helps nobody; where even this fails the reader skips the torn line.
            self.file.set_len(end).unwrap_or_default();
        })
    }

    fn last_byte(&mut self, end: u64) -> io::Result<u8> {
        let mut last = [0];
        self.file.seek(SeekFrom::Start(end - 1))?;
        self.file.read_exact(&mut last)?;
        Ok(last[0])
    }

    fn line(&self, json: &str) -> io::Result<String> {
        let crc = crc32c::crc32c(json.as_bytes());
        let len = json.len();
        let blob = if (len as u64) > self.inline { self.write_blob(json.as_bytes()).map(Some) } else { Ok(None) };
        let name = match blob {
            Ok(name) => name,
            // Where the blob cannot be written the line carries the entry itself: long, but whole.
            Err(_) if (len as u64).saturating_add(FRAME_MOST) <= self.longest => None,
            // A line that no reader would accept is no record.
            Err(error) => return Err(error),
        };
        Ok(match name {
            Some(name) => format!("{{\"crc\":\"{crc:08x}\",\"len\":{len},\"blob\":\"{}\"}}\n", name.as_str()),
            None => format!("{{\"crc\":\"{crc:08x}\",\"len\":{len},\"entry\":{json}}}\n"),
        })
    }

    fn write_blob(&self, bytes: &[u8]) -> io::Result<Digest> {
        paths::create_dir_private(&self.blobs)?;
        let name = Digest::of(bytes);
        paths::write_private(&self.blobs.join(name.as_str()), bytes)?;
        Ok(name)
    }
}

/// Take the right to append to a session for as long as the returned file lives; `None`: somebody else has it.
pub fn take_pen(path: &Path) -> io::Result<Option<File>> {
    let folder = path.with_extension("");
    paths::create_dir_private(&folder)?;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(folder.join("pen.lock"))?;
    // A process that is being started holds what its parent had for a moment, so one refusal means nothing.
    const PATIENCE: Duration = Duration::from_millis(100);
    Ok(paths::lock_within(&file, PATIENCE)?.then_some(file))
}

fn blobs_of(path: &Path) -> PathBuf {
    path.with_extension("").join("blobs")
}

/// Read a whole file. Only a file that cannot be opened is an error; damage inside it is part of the answer.
pub fn read(path: &Path, limits: &Limits) -> io::Result<Reading> {
    read_as(path, limits, |json| Record::from_json(json).ok())
}

/// The same for a file of anything else.
pub fn read_as<T>(path: &Path, limits: &Limits, parse: impl Fn(&str) -> Option<T>) -> io::Result<Reading<T>> {
    read_from(path, 0, limits, parse)
}

/// The same from an offset on, where a line begins.
pub fn read_from<T>(
    path: &Path,
    start: u64,
    limits: &Limits,
    parse: impl Fn(&str) -> Option<T>,
) -> io::Result<Reading<T>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut reader = BufReader::new(file);
    let mut reading = Reading { records: Vec::new(), damage: Vec::new(), torn_tail_only: false };
    let decode = |line: &[u8]| parse(&decode(line, path, limits)?).ok_or("not an entry");
    // Line by line: a long session is not held twice.
    let (mut line, mut offset, mut is_torn) = (Vec::new(), start, false);
    while reader.read_until(b'\n', &mut line)? > 0 {
        let body = line.strip_suffix(b"\n").unwrap_or(&line);
        is_torn = body.len() == line.len();
        if !body.is_empty() {
            read_line(body, offset, &decode, &mut reading);
        }
        offset += line.len() as u64;
        line.clear();
    }
    reading.torn_tail_only = match reading.damage.as_slice() {
        [only] => only.offset + only.bytes == offset && is_torn,
        _ => false,
    };
    Ok(reading)
}

fn read_line<T>(
    line: &[u8],
    offset: u64,
    decode: &impl Fn(&[u8]) -> Result<T, &'static str>,
    reading: &mut Reading<T>,
) {
    let mut at = 0;
    while at < line.len() {
        let rest = &line[at..];
        let what = match decode(rest) {
            Ok(record) => return reading.records.push(record),
            Err(what) => what,
        };
        // A record that follows a torn one on the same line is still whole: look for where it starts.
        let next = rest.windows(FRAME.len()).skip(1).position(|window| window == FRAME).map(|at| at + 1);
        let skipped = next.unwrap_or(rest.len());
        reading.damage.push(Damage { offset: offset + at as u64, bytes: skipped as u64, what });
        at += skipped;
    }
}

const FRAME: &[u8] = b"{\"crc\":\"";
/// What a line has around its entry, at most.
const FRAME_MOST: u64 = 64;

fn decode(line: &[u8], path: &Path, limits: &Limits) -> Result<String, &'static str> {
    if line.len() as u64 > limits.record_line_bytes {
        return Err("line too long");
    }
    let (crc, rest) = frame(line).ok_or("not a record")?;
    if let Some(entry) = rest.strip_prefix(b"\"entry\":") {
        return checked(crc, entry.strip_suffix(b"}").ok_or("cut short")?);
    }
    let name = rest.strip_prefix(b"\"blob\":\"").and_then(|rest| rest.strip_suffix(b"\"}")).ok_or("not a record")?;
    let name = std::str::from_utf8(name).ok().filter(|name| name.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let blob = std::fs::read(blobs_of(path).join(name.ok_or("not a record")?)).map_err(|_| "its blob is missing")?;
    checked(crc, &blob)
}

struct Seal {
    crc: u32,
    len: usize,
}

fn frame(line: &[u8]) -> Option<(Seal, &[u8])> {
    let rest = line.strip_prefix(FRAME)?;
    let (crc, rest) = rest.split_at_checked(8)?;
    let crc = u32::from_str_radix(std::str::from_utf8(crc).ok()?, 16).ok()?;
    let rest = rest.strip_prefix(b"\",\"len\":")?;
    let comma = rest.iter().position(|byte| *byte == b',')?;
    let len = std::str::from_utf8(&rest[..comma]).ok()?.parse().ok()?;
    Some((Seal { crc, len }, &rest[comma + 1..]))
}

fn checked(seal: Seal, json: &[u8]) -> Result<String, &'static str> {
    if json.len() != seal.len {
        return Err("cut short");
    }
    if crc32c::crc32c(json) != seal.crc {
        return Err("checksum does not match");
    }
    std::str::from_utf8(json).map(str::to_owned).map_err(|_| "not UTF-8")
}
