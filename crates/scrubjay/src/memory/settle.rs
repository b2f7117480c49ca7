//! Putting a memory in order, under its lock: finish what was interrupted, clear away what was left over, notice what others
//! did, and make the index say what the files say.

use super::folder::{Folder, Stamp};
use super::journal::{Cause, ChangeId, Recorded, Tail, Trace};
use super::landing::{self, Folders, Landing};
use super::scan::{Entry, Overlay, Scan, Team, scan};
use super::store::{Index, Memory};
use super::{MemoryError, While as _, headers, trash};
use crate::digest::Digest;
use std::io;
use std::sync::Arc;

const DISPLACED: &str = "displaced";
const RESTS: &str = "reading what the memories rest on";

/// What was put in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repairs {
    /// A change that was interrupted and is finished now.
    pub finished: Option<ChangeId>,
    /// Memories that somebody changed, added or removed without the engine.
    pub outside: Vec<String>,
    /// Files that an earlier change left over.
    pub cleared: usize,
    /// Versions that were found where they would have been lost, and where they are now.
    pub rescued: Vec<String>,
    /// Whether the index was made anew.
    pub reindexed: bool,
    /// What a person should know.
    pub notices: Vec<String>,
    /// Why nothing could be put in order; the memory can be read.
    pub refused: Option<String>,
}

impl Memory {
    /// See what is there without changing anything.
    pub(super) fn look_only(&mut self) -> Result<(), MemoryError> {
        self.provenance.catch_up().during(RESTS)?;
        self.scan = self.look(&self.scan)?;
        Ok(())
    }

    /// Everything, in order. The lock is held. If it fails, what is known stays what it was.
    pub(super) fn settle(&mut self) -> Result<Repairs, MemoryError> {
        let (mut before, read, last) = (std::mem::take(&mut self.scan), self.read, self.last);
        let settled = self.settle_since(&mut before);
        if settled.is_err() {
            (self.scan, self.read, self.last) = (before, read, last);
        }
        settled
    }

    fn settle_since(&mut self, before: &mut Scan) -> Result<Repairs, MemoryError> {
        let mut repairs = Repairs::default();
        self.journal.prepare().during("making the journal's folder")?;
        let tail = self.catch_up(before)?;
        self.provenance.catch_up().during(RESTS)?;
        for change in tail.changes.iter().filter(|change| change.cause == Cause::Outside) {
            self.provenance.record(change).during(RESTS)?;
        }
        if let Some(change) = &tail.unfinished {
            self.finish(change)?;
            repairs.finished = Some(change.id);
        }
        self.scan = self.look(before)?;
        if self.clear_left_over(&mut repairs).during("clearing away what was left over")? {
            self.scan = self.look(before)?;
        }
        self.note_outside(before, &mut repairs)?;
        let quiet = repairs == Repairs::default();
        if self.place.index == Index::Kept && !(quiet && self.is_in_step()) {
            self.look_through_shared();
            self.set_in_step(None).during("keeping what was seen")?;
            self.note_prose()?;
            if !self.carry_over_index_edits(before, &mut repairs)? {
                repairs.reindexed = self.reindex(before, &mut repairs.notices)?;
            }
            self.set_in_step(Some(&self.state_of_indexes())).during("keeping what was seen")?;
        }
        trash::sweep(&self.place.trash, self.clock.now(), &self.limits).during("emptying the trash")?;
        self.remember_headers(before).during("keeping what was seen")?;
        Ok(repairs)
    }

    fn look(&self, before: &Scan) -> Result<Scan, MemoryError> {
        scan(&self.folder, before, self.place.team, &self.limits).during("looking at the memories")
    }

    /// What the journal says since the last look: from then on it is what we expect to find.
    fn catch_up(&mut self, before: &mut Scan) -> Result<Tail, MemoryError> {
        let reading = "reading the journal";
        if self.journal.length().during(reading)? < self.read {
            // Somebody replaced it: begin anew.
            (self.read, self.last) = (0, ChangeId::default());
            before.entries.iter_mut().for_each(|entry| entry.kept = false);
        }
        let tail = self.journal.tail(self.read).during(reading)?;
        self.read = tail.end;
        self.last = tail.changes.iter().map(|change| change.id).max().unwrap_or(self.last).max(self.last);
        let mut changes = Overlay::new();
        for edit in tail.changes.iter().flat_map(|change| &change.edits) {
            let was = match changes.get(&edit.path) {
                Some(changed) => changed.as_ref(),
                None => before.get(&edit.path),
            };
            let kept = edit.text.is_some();
            if was.is_some_and(|was| edit.after.as_ref() == Some(&was.digest) && was.kept >= kept) {
                continue;
            }
            let was = was.cloned();
            before.former.entry(edit.path.clone()).or_default().extend(was);
            let text = edit.text.as_deref().unwrap_or_default();
            let entry = |after: &Digest| Entry::known_as(after.clone(), edit.path.clone(), text, &self.limits);
            let now = edit.after.as_ref().map(|after| Entry { kept, ..entry(after) });
            changes.insert(edit.path.clone(), now);
        }
        before.apply(changes);
        Ok(tail)
    }

    /// Make a change that was written down and not finished: each file that is still as it was gets what it was to get.
    fn finish(&mut self, change: &Recorded) -> Result<(), MemoryError> {
        let interrupted = |error| MemoryError::Interrupted { change: change.id, error };
        self.provenance.record(change).map_err(interrupted)?;
        let (displaced, mut opened) = (self.displaced(), Folders::new());
        for edit in &change.edits {
            let now = self.text(&edit.path)?.map(|(entry, _)| entry.digest);
            if now == edit.after || now != edit.before {
                continue;
            }
            let folder = self.made_folder_of(&edit.path, &mut opened).map_err(interrupted)?;
            let Trace { path, before, after, .. } = edit.clone();
            let landing = Landing { folder, path, before, after };
            if let Some(text) = &edit.text {
                landing.stage(text.as_bytes(), edit.modified).map_err(interrupted)?;
            }
            landing.land(displaced.as_ref(), self.limits.memory_file_bytes).map_err(interrupted)?;
        }
        opened.values().try_for_each(|folder| folder.sync()).map_err(interrupted)?;
        self.journal.done(change.id).map_err(interrupted)?;
        self.read = self.journal.length().map_err(interrupted)?;
        Ok(())
    }

    /// Whether anything was rescued, so that a second look is needed.
    fn clear_left_over(&mut self, repairs: &mut Repairs) -> io::Result<bool> {
        let (most, displaced) = (self.limits.index_file_bytes, self.displaced());
        for path in std::mem::take(&mut self.scan.left_over) {
            let file = path.rsplit('/').next().unwrap_or_default();
            let folder = self.folder_of(&path)?;
            // Among the memories nothing is left, not even for an editor that is about to write to it.
            let moved = displaced.as_ref().is_some_and(|displaced| folder.move_to(file, displaced, file).is_ok());
            if !moved {
                repairs.rescued.extend(landing::clear(&folder, file, &self.folder, most)?);
            }
            repairs.cleared += 1;
        }
        let Some(displaced) = displaced else { return Ok(!repairs.rescued.is_empty()) };
        let mut names = Vec::new();
        for entry in displaced.entries()? {
            names.extend(
                entry?.file_name().to_str().ok().filter(|name| landing::is_mark(name.as_bytes())).map(str::to_owned),
            );
        }
        for name in names {
            repairs.rescued.extend(landing::clear(&displaced, &name, &self.folder, most)?);
        }
        Ok(!repairs.rescued.is_empty())
    }

    /// Where replaced files wait until the next look.
    pub(super) fn displaced(&self) -> Option<Folder> {
        Folder::open(&self.place.journal).and_then(|journal| journal.step_or_make(DISPLACED)).ok()
    }

    /// Write down what somebody did without the engine.
    fn note_outside(&mut self, before: &Scan, repairs: &mut Repairs) -> Result<(), MemoryError> {
        let trace = |path: &str, before: Option<&Entry>, after: Option<&Entry>, text| {
            let digest = |entry: Option<&Entry>| entry.map(|entry| entry.digest.clone());
            let aged = before.map(|entry| entry.stamp.modified);
            let (path, before, after) = (path.to_owned(), digest(before), digest(after));
            Trace { path, before, after, text, prior: None, modified: None, aged, rests: None }
        };
        let mut texts = std::mem::take(&mut self.scan.texts);
        let mut edits = Vec::new();
        // Who does not look at what is shared does not see it go either.
        let looked_at = |was: &&Entry| self.place.team == Team::On || !was.is_shared();
        let mut known = before.entries.iter().filter(looked_at).peekable();
        for entry in &mut self.scan.entries {
            while let Some(gone) = known.next_if(|was| was.path < entry.path) {
                edits.push(trace(&gone.path, Some(gone), None, None));
            }
            let was = known.next_if(|was| was.path == entry.path);
            if let Some(was) = was.filter(|was| was.digest == entry.digest) {
                entry.kept |= was.kept;
                continue;
            }
            let text = texts.remove(&entry.path);
            entry.kept = text.is_some();
            edits.push(trace(&entry.path, was, Some(entry), text));
        }
        edits.extend(known.map(|gone| trace(&gone.path, Some(gone), None, None)));
        if edits.is_empty() {
            return Ok(());
        }
        repairs.outside = edits.iter().map(|edit| edit.path.clone()).collect();
        for edit in &mut edits {
            edit.rests = self.scan.get(&edit.path).and_then(|entry| self.rests_from_outside(entry));
        }
        // Of more new files than can be kept at one look, the journal has nothing to say.
        edits.retain(|edit| edit.before.is_some() || edit.text.is_some() || edit.rests.is_some());
        if edits.is_empty() {
            return Ok(());
        }
        let change = self.write_down(Cause::Outside, edits, Vec::new())?;
        self.provenance.record(&change).during(RESTS)
    }

    /// No number is given twice, not even one of a change that was taken back before it began.
    pub(super) fn next(&self) -> ChangeId {
        ChangeId(self.last.max(self.provenance.last()).0 + 1)
    }

    pub(super) fn write_down(
        &mut self,
        cause: Cause,
        edits: Vec<Trace>,
        notices: Vec<String>,
    ) -> Result<Recorded, MemoryError> {
        let change = Recorded { id: self.next(), at: self.clock.now(), cause, edits, notices };
        let change = self.journal.append(change).during("writing the journal")?;
        self.last = change.id;
        self.read = self.journal.length().during("writing the journal")?;
        Ok(change)
    }

    /// The folder of a memory, made if it is missing.
    pub(super) fn made_folder_of(&self, path: &str, opened: &mut Folders) -> io::Result<Arc<Folder>> {
        let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
        if let Some(folder) = opened.get(folders) {
            return Ok(folder.clone());
        }
        let mut folder = self.folder.step(".")?;
        for step in folders.split('/').filter(|step| !step.is_empty()) {
            folder = folder.step_or_make(step)?;
        }
        Ok(opened.entry(folders.to_owned()).or_insert(Arc::new(folder)).clone())
    }

    /// Keep what was seen for the next opening, if enough of it is new to be worth the write.
    fn remember_headers(&mut self, before: &Scan) -> io::Result<()> {
        const WORTH: usize = 64;
        let news = self.scan.read + self.scan.entries.len().abs_diff(before.entries.len());
        if news == 0 || (news < self.scan.entries.len() / WORTH && !self.comes_to_rest(before)) {
            return Ok(());
        }
        let scan = std::mem::take(&mut self.scan);
        let table = headers::Headers { scan, journal: self.read, last: self.last.0 };
        let written =
            Folder::open(&self.place.journal).and_then(|folder| headers::write(&folder, self.place.team, &table));
        self.scan = table.scan;
        written
    }

    /// Whether all that was read is what the table could not vouch for, because it had changed just before, and is as it was: a
    /// new table vouches for it, and nothing has to be read next time.
    fn comes_to_rest(&self, before: &Scan) -> bool {
        let doubtful: Vec<_> = before.entries.iter().filter(|was| was.stamp == Stamp::default()).collect();
        let is_as_it_was = |was: &&Entry| self.scan.get(&was.path).is_some_and(|now| now.digest == was.digest);
        self.scan.entries.len() == before.entries.len()
            && doubtful.len() == self.scan.read
            && doubtful.iter().all(is_as_it_was)
    }
}
