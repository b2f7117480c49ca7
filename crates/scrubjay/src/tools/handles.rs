//! Looking through directory handles: whatever happens to a tree meanwhile, no link is followed on the way.
//!
//! Paths come resolved, and permission was decided on them. A link that is put in the place of a folder or a file after
//! that leads nowhere: opening fails, as if nothing were there.

use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Directories on the way only need to be passed through, not listed, where the system can tell the difference.
#[cfg(target_os = "linux")]
pub(super) const PASSING: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(super) const PASSING: OFlags = OFlags::empty();

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Files and what is known about them, each through its folder. The last folder stays open, because those who walk a
/// tree ask about one folder at a time.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    last: Option<(PathBuf, OwnedFd)>,
}

impl Handles {
    /// None open yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Open for reading what lies at a resolved path. Pipes and devices are not waited for.
    pub(crate) fn open(&mut self, path: &Path) -> io::Result<File> {
        let read = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let (folder, name) = self.folder_of(path)?;
        Ok(File::from(rustix::fs::openat(folder, name, read, Mode::empty())?))
    }

    /// What lies at a resolved path. A link is itself.
    pub(crate) fn about(&mut self, path: &Path) -> io::Result<About> {
        let (folder, name) = self.folder_of(path)?;
        Ok(About(rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    fn folder_of<'a>(&mut self, path: &'a Path) -> io::Result<(&OwnedFd, &'a OsStr)> {
        let (folder, name) = match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => (folder, name),
            _ => (Path::new("/"), OsStr::new(".")),
        };
        let opened = match self.last.take() {
            Some((last, opened)) if last == folder => opened,
            _ => open_folder(folder, PASSING)?,
        };
        let (_, opened) = self.last.insert((folder.to_owned(), opened));
        Ok((opened, name))
    }
}

/// The names in a folder, by its resolved path.
pub(crate) fn names_in(folder: &Path) -> io::Result<impl Iterator<Item = OsString>> {
    let entries = Dir::new(open_folder(folder, OFlags::RDONLY)?)?;
    let names = entries.flatten().map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
    Ok(names.filter(|name| name != "." && name != ".."))
}

/// Open a folder by its resolved path without following a single link: at once where the system can promise that, step
/// by step elsewhere.
pub(super) fn open_folder(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        let unlinked = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(CWD, path, FOLDER | flags, Mode::empty(), unlinked) {
            // An old kernel, or a sandbox that does not know the call.
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {}
            opened => return Ok(opened?),
        }
    }
    step_by_step(path, flags)
}

fn step_by_step(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let mut folder = rustix::fs::openat(CWD, "/", FOLDER | PASSING, Mode::empty())?;
    for part in path.components().skip(1) {
        folder = rustix::fs::openat(folder.as_fd(), part.as_os_str(), FOLDER | PASSING, Mode::empty())?;
    }
    Ok(rustix::fs::openat(folder.as_fd(), ".", FOLDER | flags, Mode::empty())?)
}

/// Whether an error says that nothing is there, or that what is there is not what it was: not worth a word, and its name
/// may be somebody else's.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    let gone = [Errno::NOENT, Errno::LOOP, Errno::NOTDIR, Errno::XDEV, Errno::MLINK];
    Errno::from_io_error(error).is_some_and(|error| gone.contains(&error))
}

/// What is known about a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About(Stat);

impl About {
    /// What it is.
    pub(crate) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.0.st_mode)
    }

    pub(crate) fn is_dir(&self) -> bool {
        self.kind() == FileType::Directory
    }

    pub(crate) fn is_file(&self) -> bool {
        self.kind() == FileType::RegularFile
    }

    /// Who may do what with it.
    pub(crate) fn rights(&self) -> rustix::fs::RawMode {
        Mode::from_raw_mode(self.0.st_mode).bits()
    }

    /// How many bytes it has.
    pub(crate) fn len(&self) -> u64 {
        u64::try_from(self.0.st_size).unwrap_or_default()
    }

    /// When it was changed: seconds and parts of one.
    pub(crate) fn changed(&self) -> (i64, u32) {
        (self.0.st_mtime, u32::try_from(self.0.st_mtime_nsec).unwrap_or_default())
    }

    /// The same as a moment; before 1970 it is 1970.
    pub(crate) fn changed_at(&self) -> SystemTime {
        let (seconds, parts) = self.changed();
        SystemTime::UNIX_EPOCH + Duration::new(u64::try_from(seconds).unwrap_or_default(), parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: X1
    #[test]
    fn no_link_is_followed_at_once_or_step_by_step() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/deep")).unwrap();
        std::fs::write(root.join("real/deep/f"), "x").unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        std::os::unix::fs::symlink("real/deep/f", root.join("leaf")).unwrap();
        for open in [open_folder, step_by_step] {
            for flags in [PASSING, OFlags::RDONLY] {
                assert!(open(&root.join("real/deep"), flags).is_ok());
                assert!(open(&root.join("link/deep"), flags).is_err());
                assert!(open(&root.join("link"), flags).is_err());
                assert!(open(Path::new("/"), flags).is_ok());
            }
        }
        let mut handles = Handles::new();
        assert!(handles.open(&root.join("real/deep/f")).is_ok());
        for linked in ["link/deep/f", "leaf"] {
            assert!(is_gone(&handles.open(&root.join(linked)).unwrap_err()), "{linked}");
        }
        assert!(handles.about(&root.join("real/deep/f")).unwrap().is_file());
        assert_eq!(handles.about(&root.join("leaf")).unwrap().kind(), FileType::Symlink);
        assert!(handles.about(&root.join("link/deep/f")).is_err());
        assert!(handles.about(Path::new("/")).unwrap().is_dir());
        assert_eq!(names_in(&root.join("real")).unwrap().collect::<Vec<_>>(), ["deep"]);
        assert!(names_in(&root.join("link")).is_err());
    }
}
