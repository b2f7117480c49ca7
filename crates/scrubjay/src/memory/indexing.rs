//! The index in the store: kept in step with the files, with a person's words in it, whoever edits it when.

use super::commit::Planned;
use super::folder::{Folder, Stamp};
use super::index::{self, Rebuilt};
use super::journal::Cause;
use super::landing::{Landed, Landing};
use super::scan::{Entry, Overlay, Scan, Team, is_shared};
use super::store::{Index, Memory};
use super::topic::Topic;
use super::{MemoryError, Repairs, While as _, headers, name};
use crate::digest::Digest;
use std::io;
use std::sync::Arc;

/// A change of more memories than this makes the whole index anew instead of their lines alone.
const FEW: usize = 16;

/// How often an index that somebody else edits in that very moment is made again.
const TRIES: usize = 4;

/// An index that has to be written.
pub(super) struct Reindexing {
    scope: &'static str,
    folder: Arc<Folder>,
    path: String,
    old: Option<Vec<u8>>,
    pub(super) new: Vec<u8>,
}

impl Memory {
    /// A line of the index that somebody edited says something about its memory: the memory is made to say it too, or, where
    /// that cannot be, the line is put back. Whether every index says what the files say already.
    pub(super) fn carry_over_index_edits(&mut self, before: &Scan, repairs: &mut Repairs) -> Result<bool, MemoryError> {
        let (mut planned, mut in_step) = (Vec::new(), true);
        for scope in self.scopes() {
            let Some(old) = self.read_index(scope)? else {
                in_step = false;
                continue;
            };
            let edited = self.edited_lines(scope, &old);
            in_step &= edited.is_none();
            for (pointer, text) in edited.unwrap_or_default() {
                let path = format!("{scope}{}", pointer.path);
                let Some(entry) = self.scan.get(&path) else { continue };
                // A line that says what the memory said once was simply not brought up to date.
                if before.every(&path).any(|was| text == index::line(was, &pointer.path, &self.limits)) {
                    continue;
                }
                let file_unchanged = before.get(&path).is_some_and(|was| was.digest == entry.digest);
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
        if !planned.is_empty() {
            self.land(Cause::Index, planned)?;
        }
        Ok(in_step)
    }

    /// Words between the lines of an index are the user's. A change of them by hand is kept, and the journal says so.
    pub(super) fn note_prose(&mut self) -> Result<(), MemoryError> {
        let (mut notices, mut news) = (Vec::new(), Vec::new());
        let journal = Folder::open(&self.place.journal).during("keeping what was seen")?;
        for scope in self.scopes() {
            let seen = format!("prose{}", scope.trim_end_matches('/'));
            let known = journal.read(&seen, self.limits.index_file_bytes).during("keeping what was seen")?;
            let known = known.map(|loaded| String::from_utf8_lossy(&loaded.bytes).into_owned());
            let now = self.read_index(scope)?.map(|bytes| index::prose(&bytes)).unwrap_or_default();
            if known.as_ref() == Some(&now) {
                continue;
            }
            // The first look has nothing to compare with.
            notices.extend(known.into_iter().flat_map(|known| index::edited_prose(scope, &known, &now)));
            news.push((seen, now));
        }
        // Written down first: whoever is stopped in between says it twice rather than never.
        if !notices.is_empty() {
            self.write_down(Cause::Outside, Vec::new(), notices)?;
        }
        let keep =
            |(seen, now): &(String, String)| journal.remove(seen).and_then(|()| journal.put(seen, now.as_bytes()));
        news.iter().try_for_each(keep).during("keeping what was seen")
    }

    /// The lines of an index that do not say what their memory says; `None` if the index is just as it should be.
    fn edited_lines(&self, scope: &str, old: &[u8]) -> Option<Vec<(index::Pointer, String)>> {
        let entries = &self.scan.entries;
        let (mut edited, mut seen, mut in_step) = (Vec::new(), vec![false; entries.len()], true);
        for (line, fenced) in index::lines(old) {
            let Some(pointer) = index::pointer(line).filter(|_| !fenced) else { continue };
            let place = self.scan.place(&format!("{scope}{}", pointer.path)).ok();
            let Some(at) = place.filter(|at| !std::mem::replace(&mut seen[*at], true)) else {
                in_step = false;
                continue;
            };
            let wanted = index::line(&entries[at], &pointer.path, &self.limits);
            let said = &line[..line.len() - index::ending(line).len()];
            in_step &= said == wanted.as_bytes();
            if said.trim_ascii_end() != wanted.as_bytes() {
                let text = String::from_utf8_lossy(line).trim_end().to_owned();
                edited.push((pointer, text));
            }
        }
        let has_line =
            |(entry, seen): (&Entry, &bool)| *seen == (self.belongs(scope, &entry.path) && !self.is_withheld(entry));
        (!in_step || !entries.iter().zip(&seen).all(has_line)).then_some(edited)
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
        for stamp in self.index_stamps() {
            state.push_str(&format!(" {stamp:?}"));
        }
        state
    }

    /// Each index as it lies there now.
    pub(super) fn index_stamps(&self) -> Vec<Option<Stamp>> {
        let look = |scope: &str| {
            let path = format!("{scope}{}", name::INDEX);
            let stat = self.folder_of(&path).and_then(|folder| folder.look(name::INDEX.as_ref())).ok().flatten();
            stat.map(|stat| Stamp::of(&stat))
        };
        self.scopes().into_iter().map(look).collect()
    }

    /// Whether the index was in step when it was last looked at, and is as it was then.
    pub(super) fn is_in_step(&self) -> bool {
        let written = Folder::open(&self.place.journal).ok().and_then(|folder| headers::in_step(&folder));
        written.is_some_and(|written| written == self.state_of_indexes())
    }

    pub(super) fn set_in_step(&self, state: Option<&str>) -> io::Result<()> {
        headers::set_in_step(&Folder::open(&self.place.journal)?, state)
    }

    /// After a change that nobody disturbed there is nothing to look at next time: each index was made anew, or was in step
    /// before (`untouched`) and lies there as it did. A state that cannot be written down only costs that look.
    pub(super) fn stays_in_step(&self, work: &[Reindexing], staged: &[Stamp], untouched: Option<&[Option<Stamp>]>) {
        let now = self.index_stamps();
        let is_in_step = |(at, scope): (usize, &str)| match work.iter().zip(staged).find(|(one, _)| one.scope == scope)
        {
            Some((_, staged)) => now[at]
                .is_some_and(|now| (now.ino, now.size, now.modified) == (staged.ino, staged.size, staged.modified)),
            None => untouched.is_some_and(|before| before.get(at) == Some(&now[at])),
        };
        if self.scopes().into_iter().enumerate().all(is_in_step) {
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
        let lines = standing.chain(coming).filter(|entry| self.belongs(scope, &entry.path)).map(|entry| {
            let path = entry.path.strip_prefix(scope).unwrap_or(&entry.path);
            (path.to_owned(), index::line(entry, path, &self.limits))
        });
        let mut lines: Vec<_> = lines.collect();
        if !overlay.is_empty() {
            lines.sort_unstable();
        }
        lines
    }

    /// Whether a memory's line stands in this index.
    fn belongs(&self, scope: &str, path: &str) -> bool {
        self.place.team == Team::Off || is_shared(path) == (scope == "team/")
    }

    /// The index after a change of few memories, if all others are in step with it.
    fn patched(&self, scope: &str, overlay: &Overlay, old: Option<&[u8]>) -> Option<Vec<u8>> {
        // Looked at after the index was read: whoever changes it from here on is met when it is exchanged.
        let old = old.filter(|_| (1..=FEW).contains(&overlay.len()) && self.is_in_step())?;
        let changed = overlay.iter().filter(|(path, _)| self.belongs(scope, path)).map(|(path, entry)| {
            let path = path.strip_prefix(scope).unwrap_or(path);
            (path, entry.as_ref().map(|entry| index::line(entry, path, &self.limits)))
        });
        Some(index::patched(old, &changed.collect()))
    }

    /// The indexes that have to be written, with what was taken out of them.
    pub(super) fn reindexings(
        &self,
        overlay: &Overlay,
        known: &Scan,
    ) -> Result<(Vec<Reindexing>, Vec<String>), MemoryError> {
        let (mut work, mut notices) = (Vec::new(), Vec::new());
        for scope in self.scopes().into_iter().filter(|_| self.place.index == Index::Kept) {
            let old = self.read_index(scope)?;
            let Rebuilt { bytes: new, dropped } = match self.patched(scope, overlay, old.as_deref()) {
                Some(bytes) => Rebuilt { bytes, dropped: Vec::new() },
                None => index::rebuilt(old.as_deref().unwrap_or_default(), &self.wanted(scope, overlay)),
            };
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
            let folder = Arc::new(self.folder_of(&path).during("writing the index")?);
            work.push(Reindexing { scope, folder, path, old, new });
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
            let landing = one.landing();
            landing.stage(&one.new, None).during("writing the index")?;
            self.land_index(one, landing, &Overlay::new()).during("writing the index")?;
        }
        Ok(!work.is_empty())
    }

    /// Where an index is longer than what is loaded of it, what earns its place least comes last.
    pub(super) fn rank_index(&self) -> Result<(), MemoryError> {
        let ranking = "putting the index in order";
        let _lock = self.folder.lock(self.patience())?;
        let uses = self.uses()?;
        let (mut work, mut staged) = (Vec::new(), Vec::new());
        let untouched = self.is_in_step().then(|| self.index_stamps());
        for scope in self.scopes().into_iter().filter(|_| self.place.index == Index::Kept) {
            let Some(old) = self.read_index(scope)? else { continue };
            if index::load_index(&String::from_utf8_lossy(&old), name::INDEX, &self.limits).warning.is_none() {
                continue;
            }
            let Some(new) = index::ranked(&old, |path| uses.of(&format!("{scope}{path}")).worth()) else { continue };
            let path = format!("{scope}{}", name::INDEX);
            let folder = Arc::new(self.folder_of(&path).during(ranking)?);
            let one = Reindexing { scope, folder, path, old: Some(old), new };
            let landing = one.landing();
            staged.push(landing.stage(&one.new, None).during(ranking)?);
            self.land_index(&one, landing, &Overlay::new()).during(ranking)?;
            work.push(one);
        }
        if untouched.is_some() {
            self.stays_in_step(&work, &staged, untouched.as_deref());
        }
        Ok(())
    }

    /// Exchange an index; if somebody edited it in that very moment, their words are taken in and it is made again.
    pub(super) fn land_index(&self, work: &Reindexing, mut landing: Landing, overlay: &Overlay) -> io::Result<()> {
        let displaced = self.displaced();
        for _ in 0..TRIES {
            let Landed::Beside(copy) = landing.land(displaced.as_ref(), self.limits.index_file_bytes)? else { break };
            let copy = copy.rsplit('/').next().unwrap_or_default().to_owned();
            let Some(theirs) = work.folder.read(&copy, self.limits.index_file_bytes)? else { break };
            let now = work.folder.read(name::INDEX, self.limits.index_file_bytes)?;
            let new = index::rebuilt(&theirs.bytes, &self.wanted(work.scope, overlay)).bytes;
            let path = work.path.clone();
            let (before, after) = (now.map(|loaded| loaded.digest()), Some(Digest::of(&new)));
            landing = Landing { folder: work.folder.clone(), path, before, after };
            landing.stage(&new, None)?;
            work.folder.remove(&copy)?;
        }
        work.folder.sync()
    }
}

impl Reindexing {
    pub(super) fn landing(&self) -> Landing {
        let before = self.old.as_deref().map(Digest::of);
        let (folder, path, after) = (self.folder.clone(), self.path.clone(), Some(Digest::of(&self.new)));
        Landing { folder, path, before, after }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::memory::{Change, Edit, Place};
    use crate::paths::Layout;

    struct Noon;

    impl crate::clock::Clock for Noon {
        fn now(&self) -> jiff::Timestamp {
            jiff::Timestamp::UNIX_EPOCH
        }
    }

    // safety: F-15
    // spec: D10
    #[test]
    fn words_that_a_person_writes_into_the_index_in_that_very_moment_stay() {
        let (held, limits) = (tempfile::tempdir().unwrap(), Limits::default());
        let place = Place::of(&Layout::at(held.path()).project(std::path::Path::new("/home/ada/birds"), &limits));
        let (mut memory, _) = Memory::open(&place, Arc::new(Noon), &limits).unwrap();
        let edits = vec![Edit::create("a.md", "---\nname: A\ndescription: a\n---\none\n")];
        memory.commit(Change { cause: Cause::Person, edits }).unwrap();
        let index = place.memory.join(name::INDEX);
        std::fs::write(&index, "").unwrap();
        let (work, _) = memory.reindexings(&Overlay::new(), &memory.scan).unwrap();
        let landing = work[0].landing();
        landing.stage(&work[0].new, None).unwrap();
        std::fs::write(&index, "Words of a person.\n").unwrap();
        memory.land_index(&work[0], landing, &Overlay::new()).unwrap();
        assert_eq!(std::fs::read_to_string(index).unwrap(), "Words of a person.\n- [A](a.md) — a\n");
        assert_eq!(std::fs::read_dir(&place.memory).unwrap().count(), 2, "and nothing lies beside it");
    }
}
