//! Removed memories lie here for a while, as plain files that anybody can find.

use super::folder::Folder;
use super::journal::ChangeId;
use crate::clock::age_in_days;
use crate::digest::Digest;
use crate::limits::Limits;
use crate::paths;
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Keep copies of files that are about to be removed: their paths and texts.
pub(super) fn keep(dir: &Path, files: &[(&str, &str)], moment: (Timestamp, ChangeId)) -> io::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    paths::create_dir_private(dir)?;
    let (folder, (at, change)) = (Folder::open(dir)?, moment);
    for (path, text) in files {
        let file = path.rsplit('/').next().unwrap_or_default();
        let name = format!("{}-{change}-{file}", at.as_second());
        let staged = format!(".{name}");
        folder.remove(&staged)?;
        folder.stage(&staged, text.as_bytes(), None)?;
        folder.rename(&staged, &name)?;
    }
    folder.sync()
}

/// Throw away what has lain there long enough. How long is told by the name, because copies and backups move file times.
pub(super) fn sweep(dir: &Path, now: Timestamp, limits: &Limits) -> io::Result<usize> {
    let mut swept = 0;
    for_each(dir, |folder, name| {
        let since = name.split('-').next().and_then(|seconds| Timestamp::from_second(seconds.parse().ok()?).ok());
        if since.is_some_and(|since| age_in_days(since, now) >= limits.trash_days.max(1)) {
            folder.remove(name)?;
            swept += 1;
        }
        Ok(())
    })?;
    Ok(swept)
}

/// The texts with these digests, as far as they are still there.
pub(super) fn texts(dir: &Path, wanted: &HashSet<Digest>, limits: &Limits) -> io::Result<HashMap<Digest, String>> {
    let mut found = HashMap::new();
    for_each(dir, |folder, name| {
        let loaded = folder.read(name, limits.memory_file_bytes).ok().flatten();
        let known = loaded.map(|loaded| (loaded.digest(), loaded.bytes)).filter(|(digest, _)| wanted.contains(digest));
        found.extend(known.and_then(|(digest, bytes)| Some((digest, String::from_utf8(bytes).ok()?))));
        Ok(())
    })?;
    Ok(found)
}

fn for_each(dir: &Path, mut visit: impl FnMut(&Folder, &str) -> io::Result<()>) -> io::Result<()> {
    let folder = match Folder::open(dir) {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in folder.entries()? {
        let entry = entry?;
        let name = std::ffi::OsStr::from_bytes(entry.file_name().to_bytes());
        if let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) {
            visit(&folder, name)?;
        }
    }
    Ok(())
}
