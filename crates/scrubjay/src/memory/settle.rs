//! Putting a memory in order, under its lock: finish what was interrupted, clear away what was left over, notice what others
//! did, and make the index say what the files say.

use super::folder::Folder;
use super::index::{self, Rebuilt};
use super::journal::{Cause, ChangeId, Recorded, Rests, Tail, Trace};
use super::landing::{self, Landed, Landing};
use super::provenance::Trust;
use super::scan::{Entry, Scan, Team, scan};
use super::store::{Index, Memory, What};
use super::topic::Topic;
use super::{MemoryError, While as _, headers, name, trash};
use crate::digest::Digest;
use std::collections::BTreeMap;
use std::io;

/// How often an index that somebody else edits in that very moment is made again.
const TRIES: usize = 4;
const DISPLACED: &str = "displaced";

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

/// A file as a change will leave it.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) path: String,
    pub(super) was: Option<(Entry, String)>,
    /// `None`: it goes away.
    pub(super) text: Option<String>,
    /// The time it keeps.
    pub(super) modified: Option<i64>,
    pub(super) rests: Option<Rests>,
}

/// What became of a file that somebody else touched in the same moment.
type Beside = Vec<(String, What)>;

/// Entries that differ from the last look; `None`: gone.
type Overlay = BTreeMap<String, Option<Entry>>;

/// An index that has to be written.
struct Reindexing {
    folder: Folder,
    path: String,
    old: Option<Vec<u8>>,
    new: Vec<u8>,
    wanted: Vec<(String, String)>,
}

impl Memory {
    /// See what is there without changing anything.
    pub(super) fn look_only(&mut self) -> Result<(), MemoryError> {
        self.provenance.catch_up().during("reading what the memories rest on")?;
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
        self.provenance.catch_up().during("reading what the memories rest on")?;
        if let Some(change) = &tail.unfinished {
            self.finish(change)?;
            repairs.finished = Some(change.id);
        }
        self.scan = self.look(before)?;
        if self.clear_left_over(&mut repairs).during("clearing away what was left over")? {
            self.scan = self.look(before)?;
        }
        self.note_outside(before, &mut repairs)?;
        if self.place.index == Index::Kept {
            self.carry_over_index_edits(before, &mut repairs)?;
            repairs.reindexed = self.reindex(before, &mut repairs.notices)?;
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
        for edit in tail.changes.iter().flat_map(|change| &change.edits) {
            let Some(after) = &edit.after else {
                before.remove(&edit.path);
                continue;
            };
            let kept = edit.text.is_some();
            if before.get(&edit.path).is_some_and(|entry| entry.digest == *after && entry.kept >= kept) {
                continue;
            }
            let text = edit.text.as_deref().unwrap_or_default();
            let entry = Entry::of(edit.path.clone(), text, super::Stamp::default(), &self.limits);
            before.insert(Entry { digest: after.clone(), kept, ..entry });
        }
        Ok(tail)
    }

    /// Make a change that was written down and not finished: each file that is still as it was gets what it was to get.
    fn finish(&mut self, change: &Recorded) -> Result<(), MemoryError> {
        let interrupted = |error| MemoryError::Interrupted { change: change.id, error };
        self.provenance.record(change).map_err(interrupted)?;
        let displaced = self.displaced();
        for edit in &change.edits {
            let now = self.text(&edit.path)?.map(|(entry, _)| entry.digest);
            if now == edit.after || now != edit.before {
                continue;
            }
            let landing = self.landing(&edit.path, edit.before.clone(), edit.after.clone()).map_err(interrupted)?;
            if let Some(text) = &edit.text {
                landing.stage(text.as_bytes(), edit.modified).map_err(interrupted)?;
            }
            landing.land(displaced.as_ref(), self.limits.memory_file_bytes).map_err(interrupted)?;
            landing.folder.sync().map_err(interrupted)?;
        }
        self.journal.done(change.id).map_err(interrupted)?;
        self.read = self.journal.length().map_err(interrupted)?;
        Ok(())
    }

    /// Whether anything was rescued, so that a second look is needed.
    fn clear_left_over(&mut self, repairs: &mut Repairs) -> io::Result<bool> {
        let most = self.limits.index_file_bytes;
        for path in std::mem::take(&mut self.scan.left_over) {
            let file = path.rsplit('/').next().unwrap_or_default();
            repairs.rescued.extend(landing::clear(&self.folder_of(&path)?, file, &self.folder, most)?);
            repairs.cleared += 1;
        }
        let Some(displaced) = self.displaced() else { return Ok(!repairs.rescued.is_empty()) };
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
    fn displaced(&self) -> Option<Folder> {
        Folder::open(&self.place.journal).and_then(|journal| journal.step_or_make(DISPLACED)).ok()
    }

    /// Write down what somebody did without the engine.
    fn note_outside(&mut self, before: &Scan, repairs: &mut Repairs) -> Result<(), MemoryError> {
        let trace = |path: &str, before: Option<&Entry>, after: Option<&Entry>, text| {
            let digest = |entry: Option<&Entry>| entry.map(|entry| entry.digest.clone());
            let (path, before, after) = (path.to_owned(), digest(before), digest(after));
            Trace { path, before, after, text, prior: None, modified: None, rests: None }
        };
        let mut texts = std::mem::take(&mut self.scan.texts);
        let mut edits = Vec::new();
        for entry in &mut self.scan.entries {
            let was = before.get(&entry.path);
            if let Some(was) = was.filter(|was| was.digest == entry.digest) {
                entry.kept |= was.kept;
                continue;
            }
            let text = texts.remove(&entry.path);
            entry.kept = text.is_some();
            edits.push(trace(&entry.path, was, Some(entry), text));
        }
        let gone = before.entries.iter().filter(|was| self.scan.get(&was.path).is_none());
        edits.extend(gone.map(|was| trace(&was.path, Some(was), None, None)));
        if edits.is_empty() {
            return Ok(());
        }
        repairs.outside = edits.iter().map(|edit| edit.path.clone()).collect();
        self.write_down(Cause::Outside, edits, Vec::new()).map(drop)
    }

    /// No number is given twice, not even one of a change that was taken back before it began.
    fn next(&self) -> ChangeId {
        ChangeId(self.last.max(self.provenance.last()).0 + 1)
    }

    fn write_down(&mut self, cause: Cause, edits: Vec<Trace>, notices: Vec<String>) -> Result<Recorded, MemoryError> {
        let change = Recorded { id: self.next(), at: self.clock.now(), cause, edits, notices };
        let change = self.journal.append(change).during("writing the journal")?;
        self.last = change.id;
        self.read = self.journal.length().during("writing the journal")?;
        Ok(change)
    }

    /// A line of the index that somebody edited says something about its memory: the memory is made to say it too, or, where
    /// that cannot be, the line is put back.
    fn carry_over_index_edits(&mut self, before: &Scan, repairs: &mut Repairs) -> Result<(), MemoryError> {
        let mut planned = Vec::new();
        for scope in self.scopes() {
            let Some(old) = self.read_index(scope)? else { continue };
            for (rest, (pointer, text)) in index::pointers(&old) {
                let path = format!("{scope}{rest}");
                let Some(entry) = self.scan.get(&path) else { continue };
                let line = |entry: &Entry| index::line(entry, &rest, &self.limits);
                let was = before.get(&path);
                if text == line(entry) || was.is_some_and(|was| text == line(was)) {
                    continue;
                }
                let file_unchanged = was.is_some_and(|was| was.digest == entry.digest);
                // A memory that says nothing about itself gains by what its line says.
                let only_line = entry.description.is_empty() && !pointer.hook.is_empty();
                if (file_unchanged || only_line) && !self.is_unconfirmed(entry) {
                    planned.extend(self.carried_over(&path, &pointer)?);
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
            self.scan.entries.iter().filter(|entry| !overlay.contains_key(&entry.path) && !self.is_unconfirmed(entry));
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
    fn reindexings(&self, overlay: &Overlay, known: &Scan) -> Result<(Vec<Reindexing>, Vec<String>), MemoryError> {
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
                    let entry = known.get(&format!("{scope}{}", pointer.path));
                    entry.is_some_and(|entry| *line == index::line(entry, &pointer.path, &self.limits))
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
    fn reindex(&mut self, before: &Scan, notices: &mut Vec<String>) -> Result<bool, MemoryError> {
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
    fn land_index(&self, work: &Reindexing, mut landing: Landing) -> io::Result<()> {
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

    fn landing(&self, path: &str, before: Option<Digest>, after: Option<Digest>) -> io::Result<Landing> {
        let mut folder = self.folder.step(".")?;
        let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
        for step in folders.split('/').filter(|step| !step.is_empty()) {
            folder = folder.step_or_make(step)?;
        }
        Ok(Landing { folder, path: path.to_owned(), before, after })
    }

    /// The one commit path: everything is on the disk beside its place, then written down, then exchanged, then
    /// acknowledged. The lock is held.
    pub(super) fn land(&mut self, cause: Cause, planned: Vec<Planned>) -> Result<(Recorded, Beside), MemoryError> {
        let saving = "saving the change";
        let overlay = self.overlay(&planned);
        let mut landings = Vec::new();
        for plan in &planned {
            let before = plan.was.as_ref().map(|(entry, _)| entry.digest.clone());
            let after = plan.text.as_ref().map(|text| Digest::of(text.as_bytes()));
            self.check_plain(&plan.path)?;
            landings.push(self.landing(&plan.path, before, after).during(saving)?);
        }
        let (work, notices) = self.reindexings(&overlay, &self.scan)?;
        let indexes = work.iter().map(Reindexing::landing).collect::<io::Result<Vec<_>>>().during(saving)?;
        let abandon = |error| {
            // Best effort: what stays is cleared away at the next look.
            landings.iter().chain(&indexes).for_each(|landing| landing.abandon().unwrap_or_default());
            error
        };
        self.stage(&planned, &landings).during(saving).map_err(abandon)?;
        for (one, landing) in work.iter().zip(&indexes) {
            landing.stage(&one.new, None).during(saving).map_err(abandon)?;
        }
        let (length, last) = (self.journal.length().during(saving)?, self.last);
        let traces = planned.iter().zip(&landings).map(|(plan, landing)| plan.trace(landing)).collect();
        let change = self.write_down(cause, traces, notices).map_err(abandon)?;
        let beside = match self.exchange(&change, &landings) {
            Ok(beside) => beside,
            Err((0, error)) => {
                // Nothing has happened yet, so it never will.
                self.last = last;
                self.journal.withdraw(length).during(saving)?;
                self.read = length;
                return Err(error).during(saving).map_err(abandon);
            }
            Err((_, error)) => return Err(MemoryError::Interrupted { change: change.id, error }),
        };
        let interrupted = |error| MemoryError::Interrupted { change: change.id, error };
        for (one, landing) in work.iter().zip(indexes) {
            self.land_index(one, landing).map_err(interrupted)?;
        }
        for landing in &landings {
            landing.folder.sync().map_err(interrupted)?;
        }
        self.journal.done(change.id).map_err(interrupted)?;
        self.read = self.journal.length().map_err(interrupted)?;
        self.take_over(&planned, &landings, overlay);
        Ok((change, beside))
    }

    /// Only a plain file of its own is replaced.
    fn check_plain(&self, path: &str) -> Result<(), MemoryError> {
        let Ok(folder) = self.folder_of(path) else { return Ok(()) };
        let file = path.rsplit('/').next().unwrap_or_default();
        match folder.look(file.as_ref()).during("saving the change")? {
            Some(stat) if stat.st_nlink > 1 => {
                Err(MemoryError::NotPlain { path: path.to_owned(), why: "it has a second name elsewhere" })
            }
            _ => Ok(()),
        }
    }

    fn stage(&self, planned: &[Planned], landings: &[Landing]) -> io::Result<()> {
        let moment = (self.clock.now(), self.next());
        for (plan, landing) in planned.iter().zip(landings) {
            match (&plan.text, &plan.was) {
                (Some(text), _) => landing.stage(text.as_bytes(), plan.modified)?,
                (None, Some((_, old))) => trash::keep(&self.place.trash, &plan.path, old.as_bytes(), moment)?,
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// The moments themselves. On failure, how many of them had passed.
    fn exchange(&mut self, change: &Recorded, landings: &[Landing]) -> Result<Beside, (usize, io::Error)> {
        self.provenance.record(change).map_err(|error| (0, error))?;
        let displaced = self.displaced();
        let mut beside = Vec::new();
        for (at, landing) in landings.iter().enumerate() {
            match landing.land(displaced.as_ref(), self.limits.memory_file_bytes).map_err(|error| (at, error))? {
                Landed::Well => {}
                Landed::Beside(copy) => beside.push((landing.path.clone(), What::Conflict(copy))),
                Landed::Stays => beside.push((landing.path.clone(), What::Stays)),
            }
        }
        Ok(beside)
    }

    /// What the memories will look like; those that may not be trusted yet are not among what the index is made from.
    fn overlay(&self, planned: &[Planned]) -> Overlay {
        let entry = |plan: &Planned| {
            let entry = Entry::of(plan.path.clone(), plan.text.as_deref()?, super::Stamp::default(), &self.limits);
            let hidden = match &plan.rests {
                Some(rests) => rests.after.as_ref().is_some_and(|basis| basis.trust == Trust::Tainted),
                None => self.is_unconfirmed(&entry),
            };
            (!hidden).then_some(entry)
        };
        planned.iter().map(|plan| (plan.path.clone(), entry(plan))).collect()
    }

    /// Know what was just written, without reading it again at the next look unless somebody changed it.
    fn take_over(&mut self, planned: &[Planned], landings: &[Landing], overlay: Overlay) {
        for (plan, landing) in planned.iter().zip(landings) {
            let Some(text) = &plan.text else {
                self.scan.remove(&plan.path);
                continue;
            };
            let ready = overlay.get(&plan.path).cloned().flatten();
            let mut entry =
                ready.unwrap_or_else(|| Entry::of(plan.path.clone(), text, super::Stamp::default(), &self.limits));
            entry.kept = true;
            let read = landing.folder.read(landing.file(), self.limits.memory_file_bytes).ok().flatten();
            if let Some(loaded) = read.filter(|loaded| loaded.digest() == entry.digest) {
                entry.stamp = loaded.stamp;
            }
            self.scan.insert(entry);
        }
    }

    /// Keep what was seen for the next opening, if enough of it is new to be worth the write.
    fn remember_headers(&mut self, before: &Scan) -> io::Result<()> {
        const WORTH: usize = 64;
        let news = self.scan.read + self.scan.entries.len().abs_diff(before.entries.len());
        if news == 0 || news < self.scan.entries.len() / WORTH {
            return Ok(());
        }
        let scan = std::mem::take(&mut self.scan);
        let table = headers::Headers { scan, journal: self.read, last: self.last.0 };
        let written = Folder::open(&self.place.journal).and_then(|folder| headers::write(&folder, &table));
        self.scan = table.scan;
        written
    }
}

impl Reindexing {
    fn landing(&self) -> io::Result<Landing> {
        let before = self.old.as_deref().map(Digest::of);
        let (folder, path, after) = (self.folder.step(".")?, self.path.clone(), Some(Digest::of(&self.new)));
        Ok(Landing { folder, path, before, after })
    }
}

impl Planned {
    fn trace(&self, landing: &Landing) -> Trace {
        let prior = self.was.as_ref().filter(|(entry, _)| !entry.kept).map(|(_, text)| text.clone());
        Trace {
            path: self.path.clone(),
            before: landing.before.clone(),
            after: landing.after.clone(),
            text: self.text.clone(),
            prior,
            modified: self.modified,
            rests: self.rests.clone(),
        }
    }
}
