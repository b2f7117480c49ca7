//! Who may dream: one at a time. An OS lock is held for moments, to change the lease and to commit; the lease says who dreams
//! between those moments.
//!
//! `.consolidate-lock` is never written: its time is when the last dream landed. A dreamer keeps `.consolidate-lease` open
//! and locked, so that the system itself notices when it is gone; one that is merely stopped loses the lease by silence, and
//! what it wakes up with is refused by its token.

use super::DreamError;
use crate::clock::Clock;
use crate::limits::Limits;
use crate::paths;
use jiff::{SignedDuration, Timestamp};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const LOCK: &str = ".consolidate-lock";
const LEASE: &str = ".consolidate-lease";
const FRESH: &str = ".consolidate-lease.new";
/// A lease is written in one piece of this size, so that no reader meets half of one.
const WIDTH: usize = 512;

/// Whoever dreams at this moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process; for people to read, never to decide by.
    pub pid: u32,
    /// Its machine.
    pub host: String,
    /// What tells this dream from every other.
    pub token: String,
    /// Its last sign of life.
    pub beat: Timestamp,
}

/// The right to dream, until it is given back, lost to silence, or the process is gone.
pub(super) struct Lease {
    dir: PathBuf,
    /// Locked for as long as the dream lives.
    file: File,
    holder: Holder,
    clock: Arc<dyn Clock>,
    patience: Duration,
}

/// When the last dream landed, by one look at one file; `None` if none did.
pub(super) fn last(dir: &Path) -> io::Result<Option<Timestamp>> {
    let stat = match rustix::fs::statat(rustix::fs::CWD, dir.join(LOCK), AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(None),
        stat => stat?,
    };
    let nanos = i32::try_from(stat.st_mtime_nsec).unwrap_or(0);
    let at = Timestamp::new(stat.st_mtime, nanos).unwrap_or(Timestamp::UNIX_EPOCH);
    Ok((at != Timestamp::UNIX_EPOCH).then_some(at))
}

impl Lease {
    /// Take it, unless somebody has it who shows signs of life.
    pub(super) fn take(dir: &Path, clock: &Arc<dyn Clock>, limits: &Limits) -> Result<Self, DreamError> {
        let patience = Duration::from_millis(limits.memory_lock_ms);
        let taking = || -> io::Result<Result<Self, Holder>> {
            let _moment = Moment::of(dir, patience)?;
            let now = clock.now();
            if let Some(holder) = holder_in_force(dir, now, limits)? {
                return Ok(Err(holder));
            }
            let file = fresh(dir)?;
            let (pid, host) = (std::process::id(), host());
            // While the file is open, no other file of the disk has its number.
            let token = format!("{pid}-{}-{}", now.as_nanosecond(), file.metadata()?.ino());
            let holder = Holder { pid, host, token, beat: now };
            write(&file, &holder)?;
            file.sync_all()?;
            std::fs::rename(dir.join(FRESH), dir.join(LEASE))?;
            let (dir, clock) = (dir.to_owned(), clock.clone());
            Ok(Ok(Self { dir, file, holder, clock, patience }))
        };
        taking().map_err(|error| DreamError::io("taking the lease of the dream", error))?.map_err(DreamError::Busy)
    }

    /// What tells this dream from every other.
    pub(super) fn token(&self) -> &str {
        &self.holder.token
    }

    /// Show a sign of life.
    pub(super) fn beat(&self) -> Result<(), DreamError> {
        let beat = self.clock.now();
        self.within(|| write(&self.file, &Holder { beat, ..self.holder.clone() }))?
            .map_err(|error| DreamError::io("showing a sign of life", error))
    }

    /// Do something that only the holder may do, and say at which moment it was done: that is when the last dream landed.
    /// Refused when somebody else holds the lease by now. Afterwards the lease is free, whatever happened.
    pub(super) fn commit<T>(self, act: impl FnOnce() -> Result<(T, Timestamp), DreamError>) -> Result<T, DreamError> {
        self.within(|| {
            let (done, at) = act()?;
            let time = Timespec { tv_sec: at.as_second(), tv_nsec: at.subsec_nanosecond().into() };
            // What landed has landed: the journal has its time, and says so if this could not be set.
            stamp(&self.dir, time).unwrap_or_default();
            std::fs::remove_file(self.dir.join(LEASE)).unwrap_or_default();
            Ok(done)
        })?
    }

    /// Under the OS lock, if the lease is still ours.
    fn within<T>(&self, act: impl FnOnce() -> T) -> Result<T, DreamError> {
        let failed = |error| DreamError::io("looking at the lease of the dream", error);
        let _moment = Moment::of(&self.dir, self.patience).map_err(failed)?;
        let ours = read(&self.dir).map_err(failed)?.and_then(|(_, holder)| holder);
        match ours.is_some_and(|holder| holder.token == self.holder.token) {
            true => Ok(act()),
            false => Err(DreamError::Lost),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Best effort: a lease that stays is free all the same, because nobody holds its file.
        let gone = self.within(|| std::fs::remove_file(self.dir.join(LEASE)));
        gone.map(|removed| removed.unwrap_or_default()).unwrap_or_default();
    }
}

/// The OS lock, while this lives.
struct Moment(#[allow(dead_code, reason = "held, not read")] File);

impl Moment {
    fn of(dir: &Path, patience: Duration) -> io::Result<Self> {
        let file = lock_file(dir)?;
        match paths::lock_within(&file, patience)? {
            true => Ok(Self(file)),
            false => Err(Errno::WOULDBLOCK.into()),
        }
    }
}

/// The lock file. A new one says that nobody has dreamt yet.
fn lock_file(dir: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(dir.join(LOCK), flags | OFlags::CREATE | OFlags::EXCL, Mode::RUSR | Mode::WUSR) {
        Ok(made) => {
            let file = File::from(made);
            let never = Timespec { tv_sec: 0, tv_nsec: 0 };
            rustix::fs::futimens(&file, &Timestamps { last_access: never, last_modification: never })?;
            Ok(file)
        }
        Err(Errno::EXIST) => Ok(File::from(rustix::fs::open(dir.join(LOCK), flags, Mode::empty())?)),
        Err(error) => Err(error.into()),
    }
}

fn stamp(dir: &Path, time: Timespec) -> io::Result<()> {
    let file = lock_file(dir)?;
    rustix::fs::futimens(&file, &Timestamps { last_access: time, last_modification: time })?;
    file.sync_all()
}

/// A lease file of our own, locked, beside the one in force.
fn fresh(dir: &Path) -> io::Result<File> {
    match std::fs::remove_file(dir.join(FRESH)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(dir.join(FRESH), flags, Mode::RUSR | Mode::WUSR)?);
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

fn write(file: &File, holder: &Holder) -> io::Result<()> {
    let mut json = serde_json::to_vec(holder).map_err(io::Error::other)?;
    json.resize(json.len().max(WIDTH), b' ');
    file.write_all_at(&json, 0)
}

/// The lease as it stands: its file, and what it says if it can be read.
fn read(dir: &Path) -> io::Result<Option<(File, Option<Holder>)>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = match rustix::fs::open(dir.join(LEASE), flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        opened => File::from(opened?),
    };
    let mut text = String::new();
    // Damage says nothing, and then the lock on the file decides.
    let whole = (&mut file).take(WIDTH as u64 * 2).read_to_string(&mut text);
    let holder = whole.ok().and_then(|_| serde_json::from_str(&text).ok());
    Ok(Some((file, holder)))
}

/// Somebody else who dreams. On this machine the system tells whether they live; on another only their signs of life do.
fn holder_in_force(dir: &Path, now: Timestamp, limits: &Limits) -> io::Result<Option<Holder>> {
    let Some((file, holder)) = read(dir)? else { return Ok(None) };
    let is_free = match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => true,
        Err(Errno::WOULDBLOCK) => false,
        Err(error) => return Err(error.into()),
    };
    let Some(holder) = holder else {
        let unknown = Holder { pid: 0, host: String::new(), token: String::new(), beat: now };
        return Ok((!is_free).then_some(unknown));
    };
    let longest = SignedDuration::from_mins(i64::try_from(limits.dream_lease_minutes).unwrap_or(0));
    // A sign of life from the future is believed as far as clocks differ, not further.
    let silent = now.duration_since(holder.beat).abs() >= longest;
    let gone = is_free && holder.host == host();
    Ok((!silent && !gone).then_some(holder))
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
