//! The store: open it, list and read what it holds, and change it, one whole change at a time.

use super::commit::Planned;
use super::folder::Folder;
use super::index::{LoadedIndex, load_index, without};
use super::journal::{Cause, ChangeId, Journal, Rests};
use super::provenance::{Basis, Provenance, Trust};
use super::scan::{Entry, Scan, Team, is_shared};
use super::sharing::placed;
use super::{MemoryError, Repairs, Topic, While as _, diff, headers, name};
use crate::clock::Clock;
use crate::digest::Digest;
use crate::limits::Limits;
use crate::paths::{self, ProjectLayout};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Whether an index is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Index {
    /// One line for each memory.
    Kept,
    /// Files only; recall finds them by scanning.
    Skipped,
}

/// Where a memory lies, and what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The directory of the memories.
    pub memory: PathBuf,
    /// Its history.
    pub journal: PathBuf,
    /// What each memory rests on.
    pub provenance: PathBuf,
    /// What was removed.
    pub trash: PathBuf,
    /// What dreams propose, and what the last one has seen.
    pub dreams: PathBuf,
    /// Whether an index is kept.
    pub index: Index,
    /// Whether the shared folder belongs to it.
    pub team: Team,
}

impl Place {
    /// The memory of a project, where nothing says otherwise.
    pub fn of(project: &ProjectLayout) -> Self {
        Self {
            memory: project.memory(),
            journal: project.journal(),
            provenance: project.provenance(),
            trash: project.trash(),
            dreams: project.dreams(),
            index: Index::Kept,
            team: Team::Off,
        }
    }

    /// The same with its memories elsewhere, such as a folder another agent uses already.
    pub fn with_memory_at(self, memory: impl Into<PathBuf>) -> Self {
        Self { memory: memory.into(), ..self }
    }

    /// The same with or without an index.
    pub fn with_index(self, index: Index) -> Self {
        Self { index, ..self }
    }

    /// The same with or without the shared folder.
    pub fn with_team(self, team: Team) -> Self {
        Self { team, ..self }
    }
}

/// What is to happen to a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// It says this from now on.
    Save(String),
    /// It says this again, and rests on what it rested on then: on nothing where nobody knew.
    Return(String),
    /// It goes to the trash.
    Remove,
    /// The person vouches for what it says.
    Confirm,
}

/// A change of one memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Which.
    pub path: String,
    /// The text it was decided upon, by its digest; `None`: there was none.
    pub base: Option<Digest>,
    /// What is to happen.
    pub act: Act,
    /// What it rests on, where somebody knows.
    pub rests_on: Option<Basis>,
    /// How old it is afterwards.
    pub age: Age,
}

/// Since when a memory means what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Age {
    /// Since now.
    #[default]
    New,
    /// Since it last changed: the text is another, the meaning is not.
    Kept,
    /// Since this moment, in nanoseconds since 1970: an old text comes back, or comes in.
    Since(i64),
}

impl Edit {
    /// A memory that is not there yet.
    pub fn create(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), base: None, act: Act::Save(text.into()), rests_on: None, age: Age::New }
    }

    /// Another text for a memory that was read.
    pub fn update(entry: &Entry, text: impl Into<String>) -> Self {
        Self { base: Some(entry.digest.clone()), ..Self::create(entry.path.as_str(), text) }
    }

    /// Away with a memory that was read.
    pub fn remove(entry: &Entry) -> Self {
        Self { act: Act::Remove, ..Self::update(entry, "") }
    }

    /// The person vouches for a memory that was read.
    pub fn confirm(entry: &Entry) -> Self {
        Self { act: Act::Confirm, ..Self::update(entry, "") }
    }

    /// The same, resting on this.
    pub fn resting_on(self, basis: Basis) -> Self {
        Self { rests_on: Some(basis), ..self }
    }

    /// The same, as old as it was: a mechanical rewrite.
    pub fn keeping_age(self) -> Self {
        Self { age: Age::Kept, ..self }
    }
}

/// Edits that belong together, and why. They land together and are undone together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Why.
    pub cause: Cause,
    /// What.
    pub edits: Vec<Edit>,
}

/// What became of one edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Saved as asked.
    Saved,
    /// It said that already.
    Unchanged,
    /// Somebody else had changed it too, in other lines; both changes are in.
    Merged,
    /// Somebody else had changed it too; both versions are kept, the other one in this file.
    Conflict(String),
    /// Gone to the trash.
    Removed,
    /// Not removed, because somebody changed it after the decision.
    Stays,
    /// The person vouches for it now.
    Confirmed,
}

/// One line of a receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The memory.
    pub path: String,
    /// What became of it.
    pub what: What,
    /// The change in one line.
    pub diff: String,
}

/// What a change did, and how to take it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Its place in the journal.
    pub change: ChangeId,
    /// What became of each edit.
    pub outcomes: Vec<Outcome>,
}

impl Receipt {
    /// Whether anything changed.
    pub fn changed(&self) -> bool {
        self.outcomes.iter().any(|outcome| !matches!(outcome.what, What::Unchanged | What::Stays))
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, outcome) in self.outcomes.iter().enumerate() {
            let comma = if at > 0 { "; " } else { "" };
            let Outcome { path, diff, .. } = outcome;
            match &outcome.what {
                What::Saved | What::Removed => write!(f, "{comma}{path}: {diff}")?,
                What::Unchanged => write!(f, "{comma}{path}: said that already")?,
                What::Merged => write!(f, "{comma}{path}: {diff}, merged with a change somebody else made")?,
                What::Conflict(copy) => {
                    write!(f, "{comma}{path}: somebody else changed it too; both are kept, see {copy}")?
                }
                What::Stays => write!(f, "{comma}{path}: stays, because somebody changed it meanwhile")?,
                What::Confirmed => write!(f, "{comma}{path}: confirmed")?,
            }
        }
        if self.changed() { write!(f, " · take it back with `scrubjay memory undo {}`", self.change) } else { Ok(()) }
    }
}

/// One project's long-term memory.
pub struct Memory {
    pub(super) place: Place,
    pub(super) folder: Folder,
    pub(super) journal: Journal,
    pub(super) provenance: Provenance,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) limits: Limits,
    pub(super) scan: Scan,
    /// How far the journal was read, and the last change in it.
    pub(super) read: u64,
    pub(super) last: ChangeId,
    /// Whether a shared text holds a credential, as far as it was looked through.
    pub(super) leaks: HashMap<Digest, bool>,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("place", &self.place).field("memories", &self.scan.entries.len()).finish()
    }
}

impl Memory {
    /// Open a memory, make it if it is not there, and put in order whatever a crash or an editor left behind.
    ///
    /// A memory that may only be read is opened too; [`Repairs::refused`] says why nothing was put in order.
    pub fn open(place: &Place, clock: Arc<dyn Clock>, limits: &Limits) -> Result<(Self, Repairs), MemoryError> {
        let made = paths::create_dir_private(&place.memory);
        let folder = match Folder::open(&place.memory) {
            Ok(folder) => folder,
            Err(error) => return made.and(Err(error)).during("opening the memory directory"),
        };
        let owner = rustix::fs::Uid::from_raw(folder.stat().during("opening the memory directory")?.st_uid);
        let us = rustix::process::geteuid();
        if owner != us && !us.is_root() {
            return Err(MemoryError::Foreign(place.memory.clone()));
        }
        let journal = Journal::at(&place.journal, limits);
        let known =
            Folder::open(&place.journal).map(|folder| headers::read(&folder, place.team, limits.headers_file_bytes));
        let known = known.unwrap_or_default();
        let provenance = Provenance::at(&place.provenance, limits);
        let (read, last) = (known.journal, ChangeId(known.last));
        let (place, limits, scan) = (place.clone(), limits.clone(), known.scan);
        let leaks = HashMap::new();
        let mut memory = Self { place, folder, journal, provenance, clock, limits, scan, read, last, leaks };
        let repairs = match made.during("making the memory directory private").and_then(|()| memory.refresh()) {
            Ok(repairs) => repairs,
            Err(MemoryError::Io { what, error }) if takes_no_writes(&error) => {
                memory.look_only()?;
                Repairs { refused: Some(format!("{what}: {error}")), ..Repairs::default() }
            }
            Err(error) => return Err(error),
        };
        Ok((memory, repairs))
    }

    /// Notice what others did since the last look, and put the index in step with it.
    pub fn refresh(&mut self) -> Result<Repairs, MemoryError> {
        let _lock = self.folder.lock(self.patience())?;
        self.settle()
    }

    pub(super) fn patience(&self) -> Duration {
        Duration::from_millis(self.limits.memory_lock_ms)
    }

    /// Where it lies.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What time it is.
    pub(super) fn now(&self) -> jiff::Timestamp {
        self.clock.now()
    }

    /// What the last look found: the memories of every kind and standing, and what was left out.
    pub fn scan(&self) -> &Scan {
        &self.scan
    }

    /// The memories, by path. Those that nobody confirmed are not among them.
    pub fn list(&self) -> impl Iterator<Item = &Entry> {
        self.scan.entries.iter().filter(|entry| !self.is_unconfirmed(entry))
    }

    /// Memories that rest only on what somebody else said, and that the person has not confirmed.
    pub fn unconfirmed(&self) -> impl Iterator<Item = &Entry> {
        self.scan.entries.iter().filter(|entry| self.is_unconfirmed(entry))
    }

    /// Whether it is one of those.
    pub fn is_unconfirmed(&self, entry: &Entry) -> bool {
        self.provenance.is_unconfirmed(&entry.path, &entry.digest)
    }

    /// What a memory rests on, as far as anybody said.
    pub fn rests_on(&self, path: &str) -> Option<&Basis> {
        self.basis_of(self.scan.get(path)?)
    }

    /// The same for a memory that was just looked at: whoever goes through all of them looks none up.
    pub fn basis_of(&self, entry: &Entry) -> Option<&Basis> {
        self.provenance.basis(&entry.path, &entry.digest)
    }

    /// A memory as it is now, with the header an edit of it is based on.
    pub fn read(&self, path: &str) -> Result<(Entry, Topic), MemoryError> {
        let (entry, text) = self.text(path)?.ok_or_else(|| MemoryError::Missing(path.to_owned()))?;
        let topic = Topic::read(&text, &self.limits);
        Ok((entry, topic))
    }

    /// A memory's whole text as it is now; `None` if there is no such memory.
    pub fn text(&self, path: &str) -> Result<Option<(Entry, String)>, MemoryError> {
        name::parts(path).map_err(|why| MemoryError::Name { path: path.to_owned(), why })?;
        let during = format!("reading {path}");
        let folder = match self.folder_of(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            folder => folder.during(&during)?,
        };
        let file = path.rsplit('/').next().unwrap_or_default();
        let Some(loaded) = folder.read(file, self.limits.memory_file_bytes).during(&during)? else { return Ok(None) };
        let stamp = loaded.stamp;
        let Ok(text) = String::from_utf8(loaded.bytes) else {
            return Err(MemoryError::NotPlain { path: path.to_owned(), why: "it is not UTF-8 text" });
        };
        let mut entry = Entry::of(path.to_owned(), &text, stamp, &self.limits);
        entry.kept = self.scan.get(path).is_some_and(|known| known.kept && known.digest == entry.digest);
        Ok(Some((entry, text)))
    }

    /// The folder a memory lies in.
    pub(super) fn folder_of(&self, path: &str) -> std::io::Result<Folder> {
        let mut folder = self.folder.step(".")?;
        let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
        for step in folders.split('/').filter(|step| !step.is_empty()) {
            folder = folder.step(step)?;
        }
        Ok(folder)
    }

    /// The index as a session begins with it.
    pub fn index(&self) -> Result<LoadedIndex, MemoryError> {
        self.load("")
    }

    /// The index of the shared folder.
    pub fn team_index(&self) -> Result<LoadedIndex, MemoryError> {
        if self.place.team == Team::Off { Ok(LoadedIndex::default()) } else { self.load("team/") }
    }

    /// The index, however long it is.
    pub fn whole_index(&self) -> Result<String, MemoryError> {
        self.whole("")
    }

    fn load(&self, scope: &str) -> Result<LoadedIndex, MemoryError> {
        let file = self.place.memory.join(format!("{scope}{}", name::INDEX));
        Ok(load_index(&self.whole(scope)?, &file.display().to_string(), &self.limits))
    }

    fn whole(&self, scope: &str) -> Result<String, MemoryError> {
        if self.place.index == Index::Skipped {
            return Ok(String::new());
        }
        let path = format!("{scope}{}", name::INDEX);
        let folder = match self.folder_of(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(String::new()),
            folder => folder.during("reading the index")?,
        };
        let loaded = folder.read(name::INDEX, self.limits.index_file_bytes).during("reading the index")?;
        let bytes = loaded.map(|loaded| loaded.bytes).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let withheld = self.scan.entries.iter().filter(|entry| self.is_withheld(entry));
        let hidden: HashSet<&str> = withheld.filter_map(|entry| entry.path.strip_prefix(scope)).collect();
        Ok(without(&text, &hidden).into_owned())
    }

    /// Make a change: all of it, on the disk, or nothing.
    pub fn commit(&mut self, change: Change) -> Result<Receipt, MemoryError> {
        for edit in &change.edits {
            let why = |why| MemoryError::Name { path: edit.path.clone(), why };
            let parts = name::parts(&edit.path).map_err(why)?;
            let file = parts.last().copied().unwrap_or_default();
            if edit.base.is_none() && !name::is_slug(file) {
                return Err(why("a new name is made of a-z, 0-9, `_` and `-`, at most 64 of them, and `.md`"));
            }
            if is_shared(&edit.path) && self.place.team == Team::Off {
                return Err(why("memories are not shared with a team here"));
            }
        }
        self.make(change)
    }

    /// The same with any name that can be loaded: what was there once may come back.
    pub(super) fn make(&mut self, change: Change) -> Result<Receipt, MemoryError> {
        let _lock = self.folder.lock(self.patience())?;
        self.settle()?;
        let (mut planned, mut outcomes) = (Vec::new(), Vec::new());
        let names = TakenNames::default();
        for edit in change.edits {
            let (plan, outcome) = self.plan(edit, &names)?;
            planned.extend(plan);
            outcomes.push(outcome);
        }
        if planned.is_empty() {
            return Ok(Receipt { change: self.last, outcomes });
        }
        let (recorded, beside) = self.land(change.cause, planned)?;
        let beside: HashMap<String, What> = beside.into_iter().collect();
        for outcome in &mut outcomes {
            if let Some(what) = beside.get(&outcome.path) {
                outcome.what = what.clone();
            }
        }
        Ok(Receipt { change: recorded.id, outcomes })
    }

    /// What an edit comes to, seen against the file as it is now.
    fn plan(&self, edit: Edit, names: &TakenNames) -> Result<(Option<Planned>, Outcome), MemoryError> {
        let now = self.text(&edit.path)?;
        let outcome = |what, diff| Outcome { path: edit.path.clone(), what, diff };
        let same_base = now.as_ref().map(|(entry, _)| &entry.digest) == edit.base.as_ref();
        let rests = self.rests(&edit, now.as_ref().map(|(entry, _)| entry))?;
        let text = match (&edit.act, now.as_ref()) {
            (Act::Save(text) | Act::Return(text), _) => text.clone(),
            (_, None) => return Err(MemoryError::Missing(edit.path)),
            (Act::Remove, Some((_, text))) if same_base => {
                let diff = diff::in_one_line(Some(text), None);
                let (path, outcome) = (edit.path.clone(), outcome(What::Removed, diff));
                return Ok((Some(Planned { path, was: now, text: None, modified: None, rests: None }), outcome));
            }
            (Act::Remove, Some(_)) => return Ok((None, outcome(What::Stays, String::new()))),
            // The yes covers the text that was shown, and no other.
            (Act::Confirm, Some(_)) if !same_base => return Ok((None, outcome(What::Stays, String::new()))),
            (Act::Confirm, Some((entry, text))) => {
                let modified = Some(entry.stamp.modified);
                let (path, outcome, text) =
                    (edit.path.clone(), outcome(What::Confirmed, String::new()), Some(text.clone()));
                return Ok((Some(Planned { path, was: now, text, modified, rests }), outcome));
            }
        };
        self.check_size(&edit.path, &text)?;
        let (path, text, what) = self.reconciled(&edit, text, now.as_ref(), names)?;
        // A version that lies beside it already is not put beside itself.
        let was = if path == edit.path { now } else { self.text(&path)?.filter(|(_, beside)| *beside == text) };
        let old = was.as_ref().map(|(_, text)| text.as_str());
        if old == Some(text.as_str()) && rests.is_none() {
            let what = if path == edit.path { What::Unchanged } else { what };
            return Ok((None, outcome(what, String::new())));
        }
        let outcome = outcome(what, diff::in_one_line(old, Some(&text)));
        let as_asked = matches!(&edit.act, Act::Save(asked) | Act::Return(asked) if *asked == text);
        let modified = match edit.age {
            Age::New => None,
            Age::Kept => was.as_ref().map(|(entry, _)| entry.stamp.modified),
            Age::Since(moment) => Some(moment).filter(|_| as_asked),
        };
        Ok((Some(Planned { path, was, text: Some(text), modified, rests }), outcome))
    }

    fn check_size(&self, path: &str, text: &str) -> Result<(), MemoryError> {
        let most = self.limits.memory_file_bytes;
        if text.len() as u64 > most {
            return Err(MemoryError::TooLarge { path: path.to_owned(), bytes: text.len(), most });
        }
        Ok(())
    }

    /// Where a text goes and what it is, if somebody changed the file after the decision.
    fn reconciled(
        &self,
        edit: &Edit,
        ours: String,
        now: Option<&(Entry, String)>,
        names: &TakenNames,
    ) -> Result<(String, String, What), MemoryError> {
        let path = edit.path.clone();
        let Some((entry, theirs)) = now else {
            if edit.base.is_none() {
                self.check_free(&path, names)?;
            }
            return Ok((path, ours, What::Saved));
        };
        if Some(&entry.digest) == edit.base.as_ref() || *theirs == ours {
            return Ok((path, ours, What::Saved));
        }
        let base = self.former_texts(&edit.base)?.into_values().next();
        if let Some(merged) = base.and_then(|base| diff::merged(&base, &ours, theirs)) {
            return Ok((path, merged, What::Merged));
        }
        let copy = name::conflict_name(&path, Digest::of(ours.as_bytes()).as_str());
        Ok((copy.clone(), ours, What::Conflict(copy)))
    }

    /// A name must be free in every spelling.
    fn check_free(&self, path: &str, names: &TakenNames) -> Result<(), MemoryError> {
        let names = names.get_or_init(|| {
            let mut names: HashMap<String, Vec<String>> = HashMap::new();
            for entry in &self.scan.entries {
                names.entry(name::fold(&entry.path)).or_default().push(entry.path.clone());
            }
            names
        });
        match names.get(&name::fold(path)).into_iter().flatten().find(|taken| *taken != path) {
            Some(existing) => Err(MemoryError::Taken { path: path.to_owned(), existing: existing.clone() }),
            None => Ok(()),
        }
    }

    /// What a memory will rest on, if that changes; refused where it may not.
    fn rests(&self, edit: &Edit, now: Option<&Entry>) -> Result<Option<Rests>, MemoryError> {
        let before = now.and_then(|entry| self.provenance.basis(&entry.path, &entry.digest)).cloned();
        let after = match (&edit.act, &edit.rests_on) {
            (Act::Confirm, _) => {
                let sources = before.iter().flat_map(|basis| basis.sources.clone()).collect();
                Some(Basis { sources, trust: Trust::Confirmed, doubt: None })
            }
            (Act::Remove, _) => return Ok(None),
            (Act::Save(_), Some(basis)) => Some(self.provenance.inherited(basis.clone(), before.as_ref())),
            (Act::Return(_), Some(basis)) => Some(self.provenance.inherited(basis.clone(), before.as_ref())),
            (Act::Return(_), None) => before.clone().filter(|basis| basis.trust == Trust::Tainted),
            // A new memory begins anew, whatever lay there once.
            (Act::Save(_), None) if now.is_none() => None,
            (Act::Save(_), None) => before.clone(),
        };
        let after = after.map(|basis| placed(basis, &edit.path));
        if let (Act::Save(_) | Act::Return(_), Some(Trust::Tainted)) =
            (&edit.act, after.as_ref().map(|basis| basis.trust))
        {
            // What is about the user waits for the yes without being recalled; it is never shared.
            if is_shared(&edit.path) {
                return Err(MemoryError::Tainted { path: edit.path.clone() });
            }
        }
        let forgotten = now.is_none() && self.provenance.basis(&edit.path, &Digest::of(b"")).is_some();
        let known =
            before == after && edit.rests_on.is_none() && !forgotten && !self.taints_anew(edit, now, after.as_ref());
        Ok((!known).then_some(Rests { before, after }))
    }

    /// Whether a tainted memory says something else now: that text is tainted wherever it is found.
    fn taints_anew(&self, edit: &Edit, now: Option<&Entry>, after: Option<&Basis>) -> bool {
        let (Act::Save(text) | Act::Return(text)) = &edit.act else { return false };
        let is_new = now.is_none_or(|entry| entry.digest != Digest::of(text.as_bytes()));
        is_new && after.is_some_and(|basis| basis.trust == Trust::Tainted)
    }
}

/// The paths that are there by their fold, looked up once for a change, however many memories it makes.
type TakenNames = OnceCell<HashMap<String, Vec<String>>>;

/// Whether the system merely takes no writes: the memory can still be read.
fn takes_no_writes(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | StorageFull | QuotaExceeded)
}
