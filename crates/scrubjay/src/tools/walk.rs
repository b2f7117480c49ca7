//! Walking a directory tree: ignored and hidden files left out, links not followed, nothing that could hang opened.

use super::file::open_with;
use super::handles::Handles;
use ignore::{DirEntry, Walk, WalkBuilder};
use std::io::{self, Read};
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// Whether names that begin with a dot are walked too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// Left out.
    Skipped,
    /// Walked.
    Walked,
}

impl From<Option<bool>> for Hidden {
    fn from(asked: Option<bool>) -> Self {
        if asked == Some(true) { Hidden::Walked } else { Hidden::Skipped }
    }
}

/// Every regular file below `root`, in a stable order. A root that is a file is that file.
///
/// The walk goes by paths, so a link that is swapped in meanwhile can make it name files from elsewhere. Look at each
/// through [`Handles`] before anything of it is shown, its name included.
pub(crate) fn files(root: &Path, hidden: Hidden) -> impl Iterator<Item = DirEntry> {
    walk(root, hidden).flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
}

fn walk(root: &Path, hidden: Hidden) -> Walk {
    let honoured = root.ancestors().all(has_plain_ignore_files);
    let mut builder = WalkBuilder::new(root);
    builder
        .hidden(hidden == Hidden::Skipped)
        .parents(honoured)
        .ignore(honoured)
        .git_ignore(honoured)
        .git_exclude(honoured)
        .git_global(false)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(|one, other| one.cmp(other))
        .filter_entry(|entry| {
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            !is_dir || (entry.file_name() != ".git" && has_plain_ignore_files(entry.path()))
        });
    builder.build()
}

/// The walker opens these by itself, and would wait for a pipe that goes by one of their names.
fn has_plain_ignore_files(dir: &Path) -> bool {
    [".gitignore", ".ignore", ".git/info/exclude"]
        .iter()
        .all(|name| std::fs::metadata(dir.join(name)).map_or(true, |found| found.is_file()))
}

/// A regular file that stops giving bytes when nobody wants them any more.
pub(super) struct Stoppable<'a> {
    file: std::fs::File,
    stop: &'a CancellationToken,
}

impl<'a> Stoppable<'a> {
    /// Open a file to search in, without following a link.
    pub(super) fn open(handles: &mut Handles, path: &Path, stop: &'a CancellationToken) -> io::Result<Self> {
        Ok(Self { file: open_with(handles, path)?, stop })
    }
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() { Ok(0) } else { self.file.read(buffer) }
    }
}

/// Run something long on a thread of its own. It is told to stop when the person interrupts, and when the future is
/// dropped.
pub(super) async fn apart<T: Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce(&CancellationToken) -> T + Send + 'static,
) -> Option<T> {
    let stop = cancel.child_token();
    let _stops_when_dropped = stop.clone().drop_guard();
    let running = tokio::task::spawn_blocking({
        let stop = stop.clone();
        move || work(&stop)
    });
    tokio::select! {
        // Work that was told to stop has only part of an answer.
        done = running => done.ok().filter(|_| !stop.is_cancelled()),
        () = stop.cancelled() => None,
    }
}
