//! `scrubjay results gc`: files of stored results that no session of the project refers to.
//!
//! Whoever might still need a file keeps it: sessions that are open elsewhere, and sessions whose record is damaged. Links
//! are never followed and never removed.

use super::results::place_of;
use crate::failure::Failure;
use crate::paper::{Form, Paper, counted, size, unwritten};
use crate::shelf::{Place, Shelf};
use crate::workplace::Workplace;
use scrubjay::paths::ProjectLayout;
use scrubjay::tools::{shown, shown_path};
use scrubjay::transcript::{Entry, Transcript, take_pen};
use serde_json::json;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

/// What is to happen with what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resolve {
    Look,
    Ask,
    Remove,
}

/// A file nobody refers to.
struct Orphan {
    path: PathBuf,
    bytes: u64,
}

/// A session's folder of results, and the right to write that session while we look at it.
struct Folder {
    session: String,
    path: PathBuf,
    _pen: File,
}

/// What the sessions of a project need.
#[derive(Default)]
struct Needs {
    /// Files by session and name.
    files: BTreeSet<(OsString, OsString)>,
    /// Sessions of which nothing is removed.
    sessions: BTreeSet<String>,
    /// Nothing at all is removed.
    everything: bool,
    /// Why, for people.
    reasons: Vec<String>,
}

pub(super) fn run(workplace: &Workplace, paper: &Paper, resolve: Resolve) -> Result<(), Failure> {
    let shelf = Shelf::of(workplace);
    let mut needs = Needs::default();
    // The pens first: a session that stores a result between our reading and our removing would lose it.
    let folders = folders(&workplace.project(), &mut needs)?;
    for place in shelf.places()? {
        needs.learn(&shelf, &place);
    }
    let orphans = orphans(&folders, &needs)?;
    let bytes: u64 = orphans.iter().map(|orphan| orphan.bytes).sum();
    needs.reasons.iter().for_each(|reason| paper.warn(reason));
    if paper.form == Form::Words {
        for orphan in &orphans {
            paper.line(&format!("{:>9}  {}", size(orphan.bytes), shown_path(&orphan.path)))?;
        }
    }
    let total = format!("{}, {}", counted(orphans.len() as u64, "file"), size(bytes));
    let remove = resolve != Resolve::Look && !orphans.is_empty() && (resolve == Resolve::Remove || agreed(&total)?);
    if remove {
        remove_all(&orphans)?;
    }
    if paper.form == Form::Json {
        let files: Vec<&Path> = orphans.iter().map(|orphan| orphan.path.as_path()).collect();
        return paper.json(
            "results-gc",
            json!({ "removed": remove, "files": files, "bytes": bytes, "kept_because": needs.reasons }),
        );
    }
    paper.talk(&match (remove, orphans.is_empty()) {
        (_, true) => "nothing to remove: every stored result is referred to, or kept".to_owned(),
        (true, false) => format!("removed: {total}"),
        (false, false) => format!("not removed: {total}"),
    });
    Ok(())
}

impl Needs {
    /// What one session refers to. What cannot be read might refer to anything it could have come by: its own results, and
    /// those of the sessions it was copied from.
    fn learn(&mut self, shelf: &Shelf, place: &Place) {
        let (transcript, damage) = match shelf.peek(place) {
            Ok(read) => read,
            Err(error) => {
                self.everything = true;
                return self.reasons.push(format!("nothing is removed, because a session cannot be read: {error}"));
            }
        };
        for record in transcript.records() {
            if let Entry::Spilled(spilled) = &record.entry
                && let Some((session, name)) = place_of(&spilled.file)
            {
                self.files.insert((session.to_owned(), name.to_owned()));
            }
        }
        if !damage.is_empty() {
            self.spare(place, &transcript, shelf);
        }
    }

    fn spare(&mut self, place: &Place, transcript: &Transcript, shelf: &Shelf) {
        self.sessions.insert(place.id.clone());
        match origin(transcript) {
            None => {
                self.everything = true;
                self.reasons.push(format!(
                    "nothing is removed, because session {} is damaged and does not say where it came from",
                    place.id
                ));
            }
            Some(from) => {
                self.reasons.push(format!("session {} is damaged, so all of its results are kept", place.id));
                self.spare_ancestors(from, shelf);
            }
        }
    }

    fn spare_ancestors(&mut self, mut from: Option<String>, shelf: &Shelf) {
        while let Some(id) = from.filter(|id| self.sessions.insert(id.clone())) {
            let parent = shelf.find(&id).ok().and_then(|place| shelf.peek(&place).ok());
            from = parent.and_then(|(transcript, _)| origin(&transcript)).flatten();
        }
    }

    fn spares(&self, session: &str) -> bool {
        self.everything || self.sessions.contains(session)
    }
}

/// The session it was copied from, if any; nothing where the beginning of the record is lost.
fn origin(transcript: &Transcript) -> Option<Option<String>> {
    transcript.records().iter().find_map(|record| match &record.entry {
        Entry::Began(began) => Some(began.forked_from.clone()),
        _ => None,
    })
}

/// Every folder of results that nobody else is using.
fn folders(project: &ProjectLayout, needs: &mut Needs) -> Result<Vec<Folder>, Failure> {
    let mut free = Vec::new();
    for (name, kind) in entries(project.dir())? {
        let Some(session) = name.to_str().map(str::to_owned) else { continue };
        let path = project.tool_results(&session);
        let is_folder = path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        if !kind.is_dir() || !is_folder || path.parent() != Some(&project.dir().join(&name)) {
            continue;
        }
        let name = shown(&session).into_owned();
        match take_pen(&project.transcript(&session)) {
            Ok(Some(pen)) => free.push(Folder { session, path, _pen: pen }),
            Ok(None) => {
                needs.reasons.push(format!("session {name} is open in another process, so all of its results are kept"))
            }
            Err(error) => {
                needs.reasons.push(format!("session {name} cannot be held ({error}), so its results are kept"))
            }
        }
    }
    Ok(free)
}

fn orphans(folders: &[Folder], needs: &Needs) -> Result<Vec<Orphan>, Failure> {
    let mut found = Vec::new();
    for folder in folders.iter().filter(|folder| !needs.spares(&folder.session)) {
        for (name, kind) in entries(&folder.path)? {
            let path = folder.path.join(&name);
            if kind.is_file() && !needs.files.contains(&(OsString::from(&folder.session), name)) {
                let bytes = path.symlink_metadata().map_or(0, |meta| meta.len());
                found.push(Orphan { path, bytes });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// What lies in a folder and of which kind it is itself; a folder that is not there holds nothing.
fn entries(dir: &Path) -> Result<Vec<(OsString, std::fs::FileType)>, Failure> {
    let unreadable = |error| Failure::failed(format!("{} cannot be read: {error}", dir.display()));
    let listed = match std::fs::read_dir(dir) {
        Ok(listed) => listed,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    listed
        .map(|entry| entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?))).map_err(unreadable))
        .collect()
}

fn agreed(total: &str) -> Result<bool, Failure> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        return Err(Failure::usage(format!("nobody can be asked here, so nothing was removed ({total})"))
            .fix("--yes removes without asking, --dry-run only looks"));
    }
    let mut talk = std::io::stderr().lock();
    write!(talk, "remove {total}? [y/N] ").and_then(|()| talk.flush()).map_err(unwritten)?;
    let mut answer = String::new();
    input.lock().read_line(&mut answer).map_err(|error| Failure::failed(format!("the answer was lost: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn remove_all(orphans: &[Orphan]) -> Result<(), Failure> {
    let mut failed = Vec::new();
    for orphan in orphans {
        match std::fs::remove_file(&orphan.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                failed.push(format!("{}: {error}", shown_path(&orphan.path)));
            }
            _ => {}
        }
    }
    match failed.first() {
        None => Ok(()),
        Some(first) => {
            Err(Failure::failed(format!("{} of {} could not be removed; {first}", failed.len(), orphans.len())))
        }
    }
}
