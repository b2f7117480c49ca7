//! Files as they are: opened without hanging, read within bounds, replaced in one move.

use super::handles::{Handles, PASSING};
use cap_std::fs::{Dir, File as CapFile, Permissions};
use cap_tempfile::TempFile;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The bytes of a regular file, as far as they are read at all.
pub(crate) struct Loaded {
    /// What was read.
    pub(crate) bytes: Vec<u8>,
    /// Whether that is the whole file.
    pub(crate) whole: bool,
}

/// Open a regular file by its resolved path, step by step without following a single link: what was decided about the
/// path holds for the file that is read.
pub(crate) fn open_resolved(path: &Path) -> io::Result<File> {
    open_with(&mut Handles::new(), path)
}

/// The same through handles that are open already.
pub(super) fn open_with(handles: &mut Handles, path: &Path) -> io::Result<File> {
    regular(handles.open(path)?)
}

/// Open a regular file for reading. Pipes, devices and sockets are refused instead of waited for.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    let nonblocking = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default();
    regular(File::options().read(true).custom_flags(nonblocking).open(path)?)
}

fn regular(file: File) -> io::Result<File> {
    let kind = file.metadata()?.file_type();
    match kind {
        kind if kind.is_file() => Ok(file),
        kind if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        kind => Err(io::Error::other(what_it_is(kind))),
    }
}

fn what_it_is(kind: std::fs::FileType) -> &'static str {
    match kind {
        kind if kind.is_fifo() => "this is a pipe, not a file: reading it could wait forever",
        kind if kind.is_socket() => "this is a socket, not a file",
        kind if kind.is_char_device() || kind.is_block_device() => "this is a device, not a file",
        _ => "this is not a regular file",
    }
}

/// Read a regular file by its resolved path, at most `most` bytes of it: no link is followed.
pub(crate) fn load_resolved(path: &Path, most: u64) -> io::Result<Loaded> {
    load_from(&open_resolved(path)?, most)
}

/// The same by a path that may lead over links.
pub(super) fn load(path: &Path, most: u64) -> io::Result<Loaded> {
    load_from(&open_regular(path)?, most)
}

/// The same of a file that is open.
pub(crate) fn load_from(file: &File, most: u64) -> io::Result<Loaded> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let whole = bytes.len() <= most;
    bytes.truncate(most);
    Ok(Loaded { bytes, whole })
}

/// The directory a resolved path lies in, opened step by step without following a single link: what was decided about
/// the resolved path holds for the directory that is written to. Missing directories are made.
pub(super) fn parent_of(path: &Path) -> io::Result<Dir> {
    let parent = path.parent().ok_or(io::ErrorKind::IsADirectory)?;
    let step = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut dir = rustix::fs::open("/", OFlags::DIRECTORY | OFlags::CLOEXEC | PASSING, Mode::empty())?;
    for name in parent.components().skip(1) {
        let name = name.as_os_str();
        let opened = rustix::fs::openat(&dir, name, step | PASSING, Mode::empty());
        dir = match opened {
            Err(rustix::io::Errno::NOENT) => {
                make_dir(&dir, name)?;
                rustix::fs::openat(&dir, name, step | PASSING, Mode::empty())?
            }
            opened => opened?,
        };
    }
    let readable = rustix::fs::openat(&dir, ".", step, Mode::empty())?;
    Ok(Dir::from_std_file(File::from(readable)))
}

/// Somebody else may make it first; that is as good.
fn make_dir(dir: &impl rustix::fd::AsFd, name: &std::ffi::OsStr) -> io::Result<()> {
    match rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Put `bytes` in place of `name` in one move: readers see the old file or the new one, a crash leaves one of them.
/// `check` looks at the file once more, directly before the move. Permission bits of the old file are kept.
pub(super) fn replace(dir: &Dir, name: &Path, bytes: &[u8], check: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let mut fresh = TempFile::new(dir)?;
    fresh.write_all(bytes)?;
    match dir.symlink_metadata(name) {
        Ok(old) if old.is_file() => {
            let mode = cap_std::fs::PermissionsExt::mode(&old.permissions()) & 0o777;
            keep_mode(fresh.as_file(), mode)?;
        }
        Ok(_) => return Err(io::Error::other("what is there is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    fresh.as_file().sync_all()?;
    check()?;
    fresh.replace(name)?;
    Ok(rustix::fs::fsync(dir)?)
}

fn keep_mode(file: &CapFile, mode: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_std(std::fs::Permissions::from_mode(mode)))
}

/// What went wrong, with what to do about it where that helps.
pub(crate) fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it does not exist".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory; use Glob to see what is in it".to_owned(),
        io::ErrorKind::PermissionDenied => "this user may not".to_owned(),
        _ => match rustix::io::Errno::from_io_error(error) {
            Some(rustix::io::Errno::NXIO) => "this is a socket, not a file".to_owned(),
            Some(rustix::io::Errno::LOOP) => "a link is in the way, or its links go round in a circle".to_owned(),
            Some(rustix::io::Errno::NAMETOOLONG) => "its name is too long".to_owned(),
            _ => error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: X1
    #[test]
    fn a_directory_that_became_a_link_after_it_was_resolved_is_not_entered() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        assert!(parent_of(&root.join("link/f")).is_err());
        assert!(parent_of(&root.join("link/deep/f")).is_err());
        assert!(!root.join("real/deep").exists());
        let dir = parent_of(&root.join("real/new/f")).unwrap();
        replace(&dir, Path::new("f"), b"x", || Ok(())).unwrap();
        assert_eq!(std::fs::read(root.join("real/new/f")).unwrap(), b"x");
    }

    #[test]
    fn what_is_not_a_file_is_not_replaced() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/etc/hostname", root.join("link")).unwrap();
        std::fs::create_dir(root.join("dir")).unwrap();
        let dir = parent_of(&root.join("x")).unwrap();
        for name in ["link", "dir"] {
            assert!(replace(&dir, Path::new(name), b"x", || Ok(())).is_err());
        }
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 2);
    }
}
