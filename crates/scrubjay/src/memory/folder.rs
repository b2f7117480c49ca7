//! The memory directory through a handle: every step is taken below it, one name at a time, and no link is followed.
//!
//! What a path was checked for therefore holds for the file that is opened: there is no moment between the two in which
//! somebody could swap a folder for a link.

use super::MemoryError;
use crate::digest::Digest;
use crate::paths;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Which file, and which state of it, as far as one can tell without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    /// The device.
    pub dev: u64,
    /// The file on it.
    pub ino: u64,
    /// Its length in bytes.
    pub size: u64,
    /// When its content changed, in nanoseconds since 1970.
    pub modified: i64,
    /// When anything about it changed; nobody can set this one.
    pub changed: i64,
}

impl Stamp {
    pub(super) fn of(stat: &Stat) -> Self {
        let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(NANOS).saturating_add(nanos);
        Self {
            dev: stat.st_dev,
            ino: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: nanos(stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
            changed: nanos(stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
        }
    }
}

const NANOS: i64 = Duration::from_secs(1).as_nanos() as i64;

/// A file's bytes and the state they were read in.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) bytes: Vec<u8>,
    pub(super) stamp: Stamp,
    pub(super) links: u64,
}

impl Loaded {
    pub(super) fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }
}

/// The right to change a memory directory, held while this lives.
#[derive(Debug)]
pub(super) struct Lock(#[allow(dead_code, reason = "held, not read")] OwnedFd);

/// An open directory.
#[derive(Debug)]
pub(super) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Open a directory by its path, which whoever configured it may spell as they like.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { fd: rustix::fs::open(path, flags, Mode::empty())?, path: path.to_owned() })
    }

    /// Who owns it and who may write to it.
    pub(super) fn stat(&self) -> io::Result<Stat> {
        Ok(rustix::fs::fstat(&self.fd)?)
    }

    /// Wait for the right to change it. The directory itself is locked, so nothing needs to lie in it.
    pub(super) fn lock(&self, longest: Duration) -> Result<Lock, MemoryError> {
        let own = self.reopened()?;
        match paths::lock_within(&own, longest)? {
            true => Ok(Lock(own)),
            false => Err(MemoryError::Busy(self.path.clone())),
        }
    }

    fn reopened(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.fd, ".", flags, Mode::empty())?)
    }

    /// A folder right below; a link is refused.
    pub(super) fn step(&self, name: &str) -> io::Result<Folder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { fd: rustix::fs::openat(&self.fd, name, flags, Mode::empty())?, path: self.path.join(name) })
    }

    /// The same, made if it is missing, for its owner's eyes only.
    pub(super) fn step_or_make(&self, name: &str) -> io::Result<Folder> {
        match rustix::fs::mkdirat(&self.fd, name, Mode::RWXU) {
            Ok(()) => {
                let made = self.step(name)?;
                rustix::fs::fchmod(&made.fd, Mode::RWXU)?;
                self.sync()?;
                Ok(made)
            }
            Err(Errno::EXIST) => self.step(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Its entries: names and what they are, as far as the directory says.
    pub(super) fn entries(&self) -> io::Result<rustix::fs::Dir> {
        Ok(rustix::fs::Dir::new(self.reopened()?)?)
    }

    /// What stands under a name, without following it.
    pub(super) fn look(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Read a regular file. `None` means that there is none; everything else that goes wrong is an error.
    pub(super) fn read(&self, name: &str, most: u64) -> io::Result<Option<Loaded>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(io::Error::other(LINK)),
            Err(Errno::NXIO) => return Err(io::Error::other(NOT_A_FILE)),
            opened => opened?,
        };
        let stat = rustix::fs::fstat(&opened)?;
        let stamp = Stamp::of(&stat);
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::other(NOT_A_FILE));
        }
        if stamp.size > most {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, TOO_LARGE));
        }
        let bytes = read_whole(opened, stamp.size, most)?;
        if bytes.len() as u64 > most {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, TOO_LARGE));
        }
        Ok(Some(Loaded { bytes, stamp, links: u64::from(stat.st_nlink as u32) }))
    }

    /// Write a new file; whether it reaches the disk is left to the system.
    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.create(name)?.write_all(bytes)
    }

    /// Write a new file and bring it to the disk; nothing that stands there is touched. Returns the state it is in then.
    pub(super) fn stage(&self, name: &str, bytes: &[u8], modified: Option<i64>) -> io::Result<Stamp> {
        let mut file = self.create(name)?;
        let written = write_whole(&mut file, bytes, modified);
        if written.is_err() {
            // What could not be written whole is of no use to anybody.
            self.remove(name).unwrap_or_default();
        }
        written
    }

    /// Add bytes to a file in one move, after whatever anybody else adds, on a line of their own. The file is made if it is
    /// missing, for its owner's eyes only.
    pub(super) fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let flags =
            OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        loop {
            let opened = rustix::fs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR);
            let mut file = File::from(opened.map_err(|error| match error {
                Errno::LOOP => io::Error::other(LINK),
                error => error.into(),
            })?);
            file.lock()?;
            let stat = rustix::fs::fstat(&file)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                return Err(io::Error::other(NOT_A_FILE));
            }
            // An editor may have put another file in its place before we had the lock.
            if self.look(OsStr::new(name))?.is_none_or(|now| (now.st_dev, now.st_ino) != (stat.st_dev, stat.st_ino)) {
                continue;
            }
            let mut whole = Vec::with_capacity(bytes.len() + 1);
            if ends_within_a_line(&mut file, stat.st_size)? {
                whole.push(b'\n');
            }
            whole.extend_from_slice(bytes);
            file.write_all(&whole)?;
            file.sync_data()?;
            return self.sync();
        }
    }

    fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = File::from(rustix::fs::openat(&self.fd, name, flags, mode)?);
        rustix::fs::fchmod(&file, mode)?;
        Ok(file)
    }

    /// Give a file a name that is free. `false`: somebody has taken it.
    pub(super) fn place(&self, staged: &str, name: &str) -> io::Result<bool> {
        match rustix::fs::renameat_with(&self.fd, staged, &self.fd, name, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(error) if unsupported(error) => self.place_by_link(staged, name),
            Err(error) => Err(error.into()),
        }
    }

    fn place_by_link(&self, staged: &str, name: &str) -> io::Result<bool> {
        match rustix::fs::linkat(&self.fd, staged, &self.fd, name, AtFlags::empty()) {
            Ok(()) => self.remove(staged).map(|()| true),
            Err(Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Let two names change their files in one moment, so that what is replaced can still be looked at.
    pub(super) fn exchange(&self, staged: &str, name: &str) -> io::Result<()> {
        match rustix::fs::renameat_with(&self.fd, staged, &self.fd, name, RenameFlags::EXCHANGE) {
            Err(error) if unsupported(error) => self.exchange_by_link(staged, name),
            done => Ok(done?),
        }
    }

    /// Where the system cannot exchange: hold on to the old file first, then replace it.
    fn exchange_by_link(&self, staged: &str, name: &str) -> io::Result<()> {
        let held = format!("{staged}-old");
        rustix::fs::linkat(&self.fd, name, &self.fd, &held, AtFlags::empty())?;
        rustix::fs::renameat(&self.fd, staged, &self.fd, name)?;
        Ok(rustix::fs::renameat(&self.fd, &held, &self.fd, staged)?)
    }

    /// Move a file to another directory, or, where that is another disk, leave it to the caller.
    pub(super) fn move_to(&self, name: &str, other: &Folder, as_name: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.fd, name, &other.fd, as_name)?)
    }

    /// Rename within the directory.
    pub(super) fn rename(&self, name: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.fd, name, &self.fd, to)?)
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Make a file readable by its owner alone.
    pub(super) fn restrict(&self, name: &str) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.fd, name, flags, Mode::empty())?;
        Ok(rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR)?)
    }

    /// Bring names to the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.fd)?)
    }
}

/// Whether what stands in a file does not end with a line.
fn ends_within_a_line(file: &mut File, size: i64) -> io::Result<bool> {
    if size == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(io::SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// A file that is as long as it says is read in one go: what is left of the room shows that it ends there.
fn read_whole(opened: OwnedFd, size: u64, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
    match rustix::io::retry_on_intr(|| rustix::io::read(&opened, rustix::buffer::spare_capacity(&mut bytes)))? {
        read if read as u64 == size => {}
        _ => {
            let rest = most.saturating_add(1).saturating_sub(bytes.len() as u64);
            File::from(opened).take(rest).read_to_end(&mut bytes)?;
        }
    }
    Ok(bytes)
}

fn write_whole(file: &mut File, bytes: &[u8], modified: Option<i64>) -> io::Result<Stamp> {
    file.write_all(bytes)?;
    if let Some(nanos) = modified {
        let (seconds, rest) = (nanos.div_euclid(NANOS), nanos.rem_euclid(NANOS));
        let time = rustix::fs::Timespec { tv_sec: seconds, tv_nsec: rest };
        rustix::fs::futimens(&*file, &rustix::fs::Timestamps { last_access: time, last_modification: time })?;
    }
    file.sync_all()?;
    Ok(Stamp::of(&rustix::fs::fstat(&*file)?))
}

/// Not every file system can do it; the long way does the same in more steps.
fn unsupported(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

pub(super) const LINK: &str = "it is a symbolic link, which could lead anywhere";
pub(super) const NOT_A_FILE: &str = "it is not a regular file";
pub(super) const TOO_LARGE: &str = "it is larger than a memory may be";
