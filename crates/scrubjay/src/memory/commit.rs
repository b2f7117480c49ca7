//! The one commit path: beside, written down, exchanged, acknowledged.

use super::indexing::Reindexing;
use super::journal::{Cause, Recorded, Rests, Trace};
use super::landing::{Folders, Landed, Landing};
use super::provenance::Trust;
use super::scan::{Entry, Overlay};
use super::store::{Index, Memory, What};
use super::{MemoryError, While as _, trash};
use crate::digest::Digest;
use std::io;

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

impl Memory {
    /// The one commit path: everything is on the disk beside its place, then written down, then exchanged, then
    /// acknowledged. The lock is held.
    pub(super) fn land(&mut self, cause: Cause, planned: Vec<Planned>) -> Result<(Recorded, Beside), MemoryError> {
        let saving = "saving the change";
        self.check_leaving(&cause, &planned)?;
        self.look_through_shared();
        let overlay = self.overlay(&planned);
        let (mut landings, mut opened) = (Vec::new(), Folders::new());
        for plan in &planned {
            let before = plan.was.as_ref().map(|(entry, _)| entry.digest.clone());
            let after = plan.text.as_ref().map(|text| Digest::of(text.as_bytes()));
            self.check_plain(&plan.path)?;
            let folder = self.made_folder_of(&plan.path, &mut opened).during(saving)?;
            landings.push(Landing { folder, path: plan.path.clone(), before, after });
        }
        let (work, notices) = self.reindexings(&overlay, &self.scan)?;
        let indexes: Vec<Landing> = work.iter().map(Reindexing::landing).collect();
        let abandon = |error| {
            // Best effort: what stays is cleared away at the next look.
            landings.iter().chain(&indexes).for_each(|landing| landing.abandon().unwrap_or_default());
            error
        };
        let untouched = (self.place.index == Index::Kept && self.is_in_step()).then(|| self.index_stamps());
        self.set_in_step(None).during(saving)?;
        self.stage(&planned, &landings).during(saving).map_err(abandon)?;
        let staged = work.iter().zip(&indexes).map(|(one, landing)| landing.stage(&one.new, None));
        let staged = staged.collect::<io::Result<Vec<_>>>().during(saving).map_err(abandon)?;
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
            self.land_index(one, landing, &overlay).map_err(interrupted)?;
        }
        opened.values().try_for_each(|folder| folder.sync()).map_err(interrupted)?;
        self.journal.done(change.id).map_err(interrupted)?;
        self.read = self.journal.length().map_err(interrupted)?;
        self.take_over(&planned, &landings, overlay);
        if beside.is_empty() {
            self.stays_in_step(&work, &staged, untouched.as_deref());
        }
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
        let mut removed = Vec::new();
        for (plan, landing) in planned.iter().zip(landings) {
            match (&plan.text, &plan.was) {
                (Some(text), _) => drop(landing.stage(text.as_bytes(), plan.modified)?),
                (None, Some((_, old))) => removed.push((plan.path.as_str(), old.as_str())),
                (None, None) => {}
            }
        }
        trash::keep(&self.place.trash, &removed, (self.clock.now(), self.next()))
    }

    /// The moments themselves. On failure, how many of them had passed.
    fn exchange(&mut self, change: &Recorded, landings: &[Landing]) -> Result<Beside, (usize, io::Error)> {
        self.provenance.record(change).map_err(|error| (0, error))?;
        let displaced = self.displaced();
        let mut beside = Vec::new();
        for (at, landing) in landings.iter().enumerate() {
            let landed = landing.land(displaced.as_ref(), self.limits.memory_file_bytes);
            match landed.map_err(|error| (at + usize::from(self.has_changed(landing)), error))? {
                Landed::Well => {}
                Landed::Beside(copy) => beside.push((landing.path.clone(), What::Conflict(copy))),
                Landed::Stays => beside.push((landing.path.clone(), What::Stays)),
            }
        }
        Ok(beside)
    }

    /// Whether a landing that failed had begun. If in doubt, it had: then it is finished at the next look.
    fn has_changed(&self, landing: &Landing) -> bool {
        let now = self.text(&landing.path).map(|found| found.map(|(entry, _)| entry.digest));
        now.ok().as_ref() != Some(&landing.before)
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
        let mut changes = Overlay::new();
        for (plan, landing) in planned.iter().zip(landings) {
            let Some(text) = &plan.text else {
                changes.insert(plan.path.clone(), None);
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
            changes.insert(plan.path.clone(), Some(entry));
        }
        self.scan.apply(changes);
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
            aged: self.was.as_ref().map(|(entry, _)| entry.stamp.modified),
            rests: self.rests.clone(),
        }
    }
}
