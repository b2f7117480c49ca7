//! The index in the store: kept in step with the files, with a person's words in it, whoever edits it when.

use super::commit::{Overlay, Planned};
use super::folder::{Folder, Stamp};
use super::index::{self, Rebuilt};
use super::journal::Cause;
use super::landing::{Landed, Landing};
use super::scan::{Entry, Scan, Team};
use super::store::{Index, Memory};
use super::topic::Topic;
use super::{MemoryError, Repairs, While as _, headers, name};
use crate::digest::Digest;
use std::io;

/// How often an index that somebody else edits in that very moment is made again.
const TRIES: usize = 4;

/// An index that has to be written.
pub(super) struct Reindexing {
    folder: Folder,
    path: String,
    old: Option<Vec<u8>>,
    pub(super) new: Vec<u8>,
    wanted: Vec<(String, String)>,
}

impl Memory {
    /// A line of the index that somebody edited says something about its memory: the memory is made to say it too, or, where
    /// that cannot be, the line is put back.
    pub(super) fn carry_over_index_edits(&mut self, before: &Scan, repairs: &mut Repairs) -> Result<(), MemoryError> {
        let mut planned = Vec::new();
        for scope in self.scopes() {
            let Some(old) = self.read_index(scope)? else { continue };
            for (rest, (pointer, text)) in index::pointers(&old) {
                let path = format!("{scope}{rest}");
                let Some(entry) = self.scan.get(&path) else { continue };
                let line = |entry: &Entry| index::line(entry, &rest, &self.limits);
                let was = before.get(&path);
                // A line that says what the memory said once was simply not brought up to date.
                if text == line(entry) || before.every(&path).any(|was| text == line(was)) {
                    continue;
                }
                let file_unchanged = was.is_some_and(|was| was.digest == entry.digest);
                // A memory that says nothing about itself gains by what its line says.
                let only_line = entry.description.is_empty() && !pointer.hook.is_empty();
                if (file_unchanged || only_line) && !self.is_withheld(entry) {
                    let carried = self.carried_over(&path, &pointer)?;
                    if let Err(error) = self.check_leaving(&Cause::Index, carried.as_slice()) {
                        repairs.notices.push(format!("a line of the index was put back: {error}"));
                        continue;
                    }
                    planned.extend(carried);
                    repairs.notices.push(format!("{path} now says what its line in the index was changed to: {text}"));
                } else {
                    repairs
                        .notices
                        .push(format!("the line of {path} in the index follows the memory again; it said: {text}"));
                }
            }
        }
        if planned.is_empty() {
            return Ok(());
        }
        self.land(Cause::Index, planned).map(drop)
    }

    fn carried_over(&self, path: &str, pointer: &index::Pointer) -> Result<Option<Planned>, MemoryError> {
        let Some((entry, old)) = self.text(path)? else { return Ok(None) };
        let mut topic = Topic::read(&old, &self.limits);
        if !pointer.title.trim().is_empty() && !pointer.title.ends_with('…') {
            topic.name.clone_from(&pointer.title);
        }
        if !pointer.hook.ends_with('…') {
            topic.description.clone_from(&pointer.hook);
        }
        let (text, modified) = (topic.text_over(&old, &self.limits), Some(entry.stamp.modified));
        let path = path.to_owned();
        Ok((text != old).then_some(Planned { path, was: Some((entry, old)), text: Some(text), modified, rests: None }))
    }

    /// What tells whether an index, or what it is made from besides the files, is as it was.
    pub(super) fn state_of_indexes(&self) -> String {
        let mut state = format!("{:?} {} {}", self.place.team, self.limits.index_line_chars, self.provenance.length());
        for scope in self.scopes() {
            let path = format!("{scope}{}", name::INDEX);
            let stat = self.folder_of(&path).and_then(|folder| folder.look(name::INDEX.as_ref())).ok().flatten();
            state.push_str(&format!(" {:?}", stat.map(|stat| Stamp::of(&stat))));
        }
        state
    }

    /// Whether the index was in step when it was last looked at, and is as it was then.
    pub(super) fn is_in_step(&self) -> bool {
        let written = Folder::open(&self.place.journal).ok().and_then(|folder| headers::in_step(&folder));
        written.is_some_and(|written| written == self.state_of_indexes())
    }

    pub(super) fn set_in_step(&self, state: Option<&str>) -> io::Result<()> {
        headers::set_in_step(&Folder::open(&self.place.journal)?, state)
    }

    /// After a change that made every index anew and that nobody disturbed, there is nothing to look at next time. A state
    /// that cannot be written down only costs that look.
    pub(super) fn stays_in_step(&self, work: &[Reindexing], staged: &[Stamp]) {
        let undisturbed = |(one, staged): (&Reindexing, &Stamp)| {
            let now = one.folder.look(name::INDEX.as_ref()).ok().flatten().map(|stat| Stamp::of(&stat));
            now.is_some_and(|now| (now.ino, now.size, now.modified) == (staged.ino, staged.size, staged.modified))
        };
        if work.len() == self.scopes().len() && work.iter().zip(staged).all(undisturbed) {
            self.set_in_step(Some(&self.state_of_indexes())).unwrap_or_default();
        }
    }

    /// The folders that have an index of their own.
    fn scopes(&self) -> Vec<&'static str> {
        if self.place.team == Team::On { vec!["", "team/"] } else { vec![""] }
    }

    /// An index as it stands. Only "not there" is `None`: everything else that goes wrong is an error.
    fn read_index(&self, scope: &str) -> Result<Option<Vec<u8>>, MemoryError> {
        let folder = match self.folder_of(&format!("{scope}{}", name::INDEX)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            folder => folder.during("reading the index")?,
        };
        let loaded = folder.read(name::INDEX, self.limits.index_file_bytes).during("reading the index")?;
        if loaded.as_ref().is_some_and(|loaded| loaded.links > 1) {
            return Err(MemoryError::NotPlain {
                path: format!("{scope}{}", name::INDEX),
                why: "it has a second name elsewhere",
            });
        }
        Ok(loaded.map(|loaded| loaded.bytes))
    }

    /// The lines an index should have: those of the memories in its folder that may be trusted.
    fn wanted(&self, scope: &str, overlay: &Overlay) -> Vec<(String, String)> {
        let standing =
            self.scan.entries.iter().filter(|entry| !overlay.contains_key(&entry.path) && !self.is_withheld(entry));
        let coming = overlay.values().flatten();
        let in_scope = |entry: &&Entry| self.place.team == Team::Off || entry.is_shared() == (scope == "team/");
        let lines = standing.chain(coming).filter(in_scope).map(|entry| {
            let path = entry.path.strip_prefix(scope).unwrap_or(&entry.path);
            (path.to_owned(), index::line(entry, path, &self.limits))
        });
        let mut lines: Vec<_> = lines.collect();
        if !overlay.is_empty() {
            lines.sort_unstable();
        }
        lines
    }

    /// The indexes that have to be written, with what was taken out of them.
    pub(super) fn reindexings(
        &self,
        overlay: &Overlay,
        known: &Scan,
    ) -> Result<(Vec<Reindexing>, Vec<String>), MemoryError> {
        let (mut work, mut notices) = (Vec::new(), Vec::new());
        for scope in self.scopes().into_iter().filter(|_| self.place.index == Index::Kept) {
            let wanted = self.wanted(scope, overlay);
            let old = self.read_index(scope)?;
            let Rebuilt { bytes: new, dropped } = index::rebuilt(old.as_deref().unwrap_or_default(), &wanted);
            if old.as_deref().unwrap_or_default() == new {
                continue;
            }
            // A line that we wrote says nothing that its memory did not say.
            let ours = |line: &String| {
                index::pointer(line.as_bytes()).is_some_and(|pointer| {
                    let path = format!("{scope}{}", pointer.path);
                    known.every(&path).any(|entry| *line == index::line(entry, &pointer.path, &self.limits))
                })
            };
            let theirs = dropped.into_iter().filter(|line| !ours(line));
            notices.extend(theirs.map(|line| format!("a line of the index was taken out: {line}")));
            let path = format!("{scope}{}", name::INDEX);
            work.push(Reindexing {
                folder: self.folder_of(&path).during("writing the index")?,
                path,
                old,
                new,
                wanted,
            });
        }
        Ok((work, notices))
    }

    /// Make every index say what the files say. Whether one had to be written.
    pub(super) fn reindex(&mut self, before: &Scan, notices: &mut Vec<String>) -> Result<bool, MemoryError> {
        let (work, taken_out) = self.reindexings(&Overlay::new(), before)?;
        notices.extend(taken_out);
        if !notices.is_empty() {
            // What is taken out of an index is written down first, or it would be lost.
            self.write_down(Cause::Outside, Vec::new(), notices.clone())?;
        }
        for one in &work {
            let landing = one.landing().during("writing the index")?;
            landing.stage(&one.new, None).during("writing the index")?;
            self.land_index(one, landing).during("writing the index")?;
        }
        Ok(!work.is_empty())
    }

    /// Exchange an index; if somebody edited it in that very moment, their words are taken in and it is made again.
    pub(super) fn land_index(&self, work: &Reindexing, mut landing: Landing) -> io::Result<()> {
        let displaced = self.displaced();
        for _ in 0..TRIES {
            let Landed::Beside(copy) = landing.land(displaced.as_ref(), self.limits.index_file_bytes)? else { break };
            let copy = copy.rsplit('/').next().unwrap_or_default().to_owned();
            let Some(theirs) = work.folder.read(&copy, self.limits.index_file_bytes)? else { break };
            let now = work.folder.read(name::INDEX, self.limits.index_file_bytes)?;
            let new = index::rebuilt(&theirs.bytes, &work.wanted).bytes;
            let path = work.path.clone();
            let (before, after) = (now.map(|loaded| loaded.digest()), Some(Digest::of(&new)));
            landing = Landing { folder: work.folder.step(".")?, path, before, after };
            landing.stage(&new, None)?;
            work.folder.remove(&copy)?;
        }
        work.folder.sync()
    }
}

impl Reindexing {
    pub(super) fn landing(&self) -> io::Result<Landing> {
        let before = self.old.as_deref().map(Digest::of);
        let (folder, path, after) = (self.folder.step(".")?, self.path.clone(), Some(Digest::of(&self.new)));
        Ok(Landing { folder, path, before, after })
    }
}
