//! What lies in a memory directory: one look at every file, and a read of those that changed since the last look.

use super::folder::{Folder, LINK, NOT_A_FILE, Stamp};
use super::landing;
use super::name;
use super::topic::{Header, Kind};
use crate::digest::Digest;
use crate::limits::Limits;
use jiff::Timestamp;
use rustix::fs::FileType;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Folders deeper than this are not looked into.
const DEEPEST: usize = 8;

/// A memory as the scan sees it: everything but its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it lies below the directory, with `/` between folders.
    pub path: String,
    /// Of which kind it is.
    pub kind: Kind,
    /// What it is called; its file's name if the header does not say.
    pub name: String,
    /// What it is about; empty if the header does not say.
    pub description: String,
    /// The hash of its bytes: what an edit of it is based on.
    pub digest: Digest,
    /// Which state of which file this was read from.
    pub stamp: Stamp,
    /// Whether the journal holds these bytes.
    pub(super) kept: bool,
}

impl Entry {
    /// What a file's text makes of it.
    pub(super) fn of(path: String, text: &str, stamp: Stamp, limits: &Limits) -> Self {
        let digest = Digest::of(text.as_bytes());
        Self { stamp, ..Self::known_as(digest, path, text, limits) }
    }

    /// The same for a text whose digest is known.
    pub(super) fn known_as(digest: Digest, path: String, text: &str, limits: &Limits) -> Self {
        let header = Header::read(text, limits);
        let file = path.rsplit('/').next().unwrap_or_default();
        let name = if header.name.is_empty() { file[..file.len() - ".md".len()].to_owned() } else { header.name };
        let (kind, description) = (Kind::of(&header.kind), header.description);
        Self { path, kind, name, description, digest, stamp: Stamp::default(), kept: false }
    }

    /// When it last changed.
    pub fn modified(&self) -> Timestamp {
        Timestamp::from_nanosecond(i128::from(self.stamp.modified)).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Whether it lies in the folder that is shared.
    pub fn is_shared(&self) -> bool {
        is_shared(&self.path)
    }
}

pub(super) fn is_shared(path: &str) -> bool {
    path.split_once('/').is_some_and(|(first, _)| first == name::TEAM)
}

/// A file that is there and is not loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path, made harmless.
    pub path: String,
    /// Why.
    pub why: String,
}

/// Every memory of a directory, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scan {
    /// The memories.
    pub entries: Vec<Entry>,
    /// What else looks like one.
    pub left_out: Vec<LeftOut>,
    /// How many files had to be read.
    pub read: usize,
    /// The texts of those, as far as they are worth keeping.
    pub(super) texts: HashMap<String, String>,
    /// What memories were before the journal's newest changes, as far as they differ.
    pub(super) former: HashMap<String, Vec<Entry>>,
    /// Files of our own that a change left behind.
    pub(super) left_over: Vec<String>,
}

impl Scan {
    /// The memory at a path.
    pub fn get(&self, path: &str) -> Option<&Entry> {
        self.place(path).ok().map(|at| &self.entries[at])
    }

    pub(super) fn place(&self, path: &str) -> Result<usize, usize> {
        self.entries.binary_search_by(|entry| entry.path.as_str().cmp(path))
    }

    /// A memory as it was at any time we know of.
    pub(super) fn every<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.get(path).into_iter().chain(self.former.get(path).into_iter().flatten())
    }

    /// Memories are no longer what they were; `None`: gone. All at once: one by one, each would move those behind it.
    pub(super) fn apply(&mut self, mut changes: Overlay) {
        if changes.is_empty() {
            return;
        }
        self.entries.retain_mut(|entry| match changes.remove(&entry.path) {
            Some(Some(new)) => {
                *entry = new;
                true
            }
            Some(None) => false,
            None => true,
        });
        let known = self.entries.len();
        self.entries.extend(changes.into_values().flatten());
        if known < self.entries.len() {
            // Two parts that are in order each, which this sort makes use of.
            self.entries.sort_by(|a, b| a.path.cmp(&b.path));
        }
    }
}

/// Entries that differ from the last look; `None`: gone.
pub(super) type Overlay = BTreeMap<String, Option<Entry>>;

/// Whether the shared folder belongs to this memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Team {
    /// Its memories are loaded and written.
    On,
    /// It is not looked at.
    Off,
}

/// Look at everything. What is as it was is taken over from the last look.
pub(super) fn scan(folder: &Folder, before: &Scan, team: Team, limits: &Limits) -> io::Result<Scan> {
    let before = &before.entries;
    let known = before.iter().enumerate().map(|(at, entry)| (entry.path.as_str(), at)).collect();
    let looks = Looks { before, known, limits, room: AtomicU64::new(limits.journal_found_bytes) };
    let mut walk = Walk { looks: &looks, team, found: Found::default() };
    walk.folder(folder, "", 0)?;
    Ok(walk.found.in_order(before))
}

/// What a look found: places of what is as it was, and everything else.
#[derive(Default)]
struct Found {
    as_before: Vec<usize>,
    scan: Scan,
}

impl Found {
    /// What another look at other files found.
    fn take_in(&mut self, other: Found) {
        self.as_before.extend(other.as_before);
        self.scan.entries.extend(other.scan.entries);
        self.scan.left_out.extend(other.scan.left_out);
        self.scan.texts.extend(other.scan.texts);
        self.scan.read += other.scan.read;
    }

    /// Everything by path, each once. What is as it was stands in order already, so only what is new is sorted.
    fn in_order(self, before: &[Entry]) -> Scan {
        let Found { as_before, mut scan } = self;
        let mut stays = vec![false; before.len()];
        as_before.iter().for_each(|at| stays[*at] = true);
        let mut new = std::mem::take(&mut scan.entries);
        new.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        new.dedup_by(|a, b| a.path == b.path);
        scan.entries.reserve(as_before.len() + new.len());
        let mut new = new.into_iter().peekable();
        for (entry, _) in before.iter().zip(stays).filter(|(_, stays)| *stays) {
            while let Some(other) = new.next_if(|other| other.path < entry.path) {
                scan.entries.push(other);
            }
            // A file that changed while the folder was read may have been seen twice.
            let again = new.next_if(|other| other.path == entry.path);
            scan.entries.push(again.unwrap_or_else(|| entry.clone()));
        }
        scan.entries.extend(new);
        scan
    }
}

/// Goes through the folders.
struct Walk<'a> {
    looks: &'a Looks<'a>,
    team: Team,
    found: Found,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Folder, under: &str, depth: usize) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in folder.entries()? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let kind = match entry.file_type() {
                FileType::Unknown => match folder.look(name)? {
                    Some(stat) => FileType::from_raw_mode(stat.st_mode),
                    None => continue,
                },
                kind => kind,
            };
            if landing::is_mark(name.as_bytes()) {
                self.found.scan.left_over.push(format!("{under}{}", name.to_string_lossy()));
            } else if kind == FileType::Directory {
                self.below(folder, under, name, depth);
            } else if name::is_markdown(name) {
                files.extend(self.file(under, name, kind));
            }
        }
        self.looks.at_all(folder, under, &files, &mut self.found);
        Ok(())
    }

    fn below(&mut self, folder: &Folder, under: &str, name: &OsStr, depth: usize) {
        let hidden = name.as_bytes().starts_with(b".");
        let other = depth == 0 && (name == name::LOGS || (name == name::TEAM && self.team == Team::Off));
        if hidden || other {
            return;
        }
        let looked = match name::loadable(name) {
            Err(why) => return self.found.scan.leave_out(under, name, why),
            Ok(_) if depth + 1 >= DEEPEST => return self.found.scan.leave_out(under, name, "it lies too deep"),
            Ok(text) => folder.step(text).and_then(|inner| self.folder(&inner, &format!("{under}{text}/"), depth + 1)),
        };
        match looked {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.found.scan.leave_out(under, name, &error.to_string())
            }
            _ => {}
        }
    }

    /// The name of a file that is worth a look.
    fn file(&mut self, under: &str, name: &OsStr, kind: FileType) -> Option<String> {
        let why = match (kind, name::loadable(name)) {
            (FileType::RegularFile, Ok(text)) => return (!name::is_index(text)).then(|| text.to_owned()),
            (FileType::Symlink, _) => LINK,
            (FileType::RegularFile, Err(why)) => why,
            _ => NOT_A_FILE,
        };
        self.found.scan.leave_out(under, name, why);
        None
    }
}

impl Scan {
    fn leave_out(&mut self, under: &str, name: &OsStr, why: &str) {
        let path = format!("{under}{}", name::escaped(name));
        self.left_out.push(LeftOut { path, why: why.to_owned() });
    }
}

/// A folder with more files than this is looked at from several threads.
const MANY: usize = 512;
/// So many files a thread takes at once.
const BATCH: usize = 64;
const MOST_THREADS: usize = 4;

/// Looks at files, from as many threads as there are.
struct Looks<'a> {
    before: &'a [Entry],
    /// Where a path stands there.
    known: HashMap<&'a str, usize>,
    limits: &'a Limits,
    /// How many bytes of text may still be kept.
    room: AtomicU64,
}

impl Looks<'_> {
    fn at_all(&self, folder: &Folder, under: &str, files: &[String], found: &mut Found) {
        let next = AtomicUsize::new(0);
        let look = || {
            let mut found = Found::default();
            while let Some(rest) = files.get(next.fetch_add(BATCH, Ordering::Relaxed)..).filter(|rest| !rest.is_empty())
            {
                rest.iter().take(BATCH).for_each(|file| self.at(folder, under, file, &mut found));
            }
            found
        };
        let threads = || std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let helpers = if files.len() > MANY { threads() - 1 } else { 0 };
        std::thread::scope(|scope| {
            // A thread that cannot be had leaves its share to the others.
            let start = |_| std::thread::Builder::new().spawn_scoped(scope, look).ok();
            let started: Vec<_> = (0..helpers).filter_map(start).collect();
            found.take_in(look());
            for helper in started {
                match helper.join() {
                    Ok(part) => found.take_in(part),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
    }

    fn at(&self, folder: &Folder, under: &str, file: &str, found: &mut Found) {
        let path = format!("{under}{file}");
        let old = self.known.get(path.as_str()).copied();
        match self.entry(folder, (file, path), old.map(|at| &self.before[at]), &mut found.scan) {
            Ok(Some(entry)) => found.scan.entries.push(entry),
            Ok(None) => found.as_before.extend(old),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                found.scan.leave_out(under, OsStr::new(file), &error.to_string());
                // A memory that cannot be read just now is still a memory.
                let passing = error.raw_os_error().is_some();
                found.as_before.extend(old.filter(|_| passing));
            }
        }
    }

    /// The file as it is now, or `None` if it is as it was.
    fn entry(
        &self,
        folder: &Folder,
        (name, path): (&str, String),
        old: Option<&Entry>,
        found: &mut Scan,
    ) -> io::Result<Option<Entry>> {
        if let Some(old) = old
            && let Some(stat) = folder.look(OsStr::new(name))?
            && Stamp::of(&stat) == old.stamp
        {
            return Ok(None);
        }
        let loaded = folder.read(name, self.limits.memory_file_bytes)?.ok_or(io::ErrorKind::NotFound)?;
        found.read += 1;
        let stamp = loaded.stamp;
        let text = String::from_utf8(loaded.bytes).map_err(|_| io::Error::other("it is not UTF-8 text"))?;
        let mut entry = Entry::of(path, &text, stamp, self.limits);
        entry.kept = old.is_some_and(|old| old.kept && old.digest == entry.digest);
        if !entry.kept && self.has_room(stamp.size) {
            found.texts.insert(entry.path.clone(), text);
        }
        Ok(Some(entry))
    }

    fn has_room(&self, size: u64) -> bool {
        self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(size)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Instant;

    fn entry(path: &str, text: &str) -> Entry {
        Entry::of(path.to_owned(), text, Stamp::default(), &Limits::default())
    }

    fn scan_of(entries: &BTreeMap<String, Entry>) -> Scan {
        Scan { entries: entries.values().cloned().collect(), ..Scan::default() }
    }

    proptest! {
        /// One change of many memories is many changes of one.
        #[test]
        fn changes_at_once_are_changes_one_by_one(
            before in proptest::collection::btree_set("[a-f]{1,2}", 0..12),
            changes in proptest::collection::btree_map("[a-f]{1,2}", proptest::option::of("[xyz]"), 0..12),
        ) {
            let path = |name: &String| format!("{name}.md");
            let mut known: BTreeMap<String, Entry> =
                before.iter().map(|name| (path(name), entry(&path(name), "old"))).collect();
            let mut scan = scan_of(&known);
            let changes: Overlay = changes
                .iter()
                .map(|(name, text)| (path(name), text.as_ref().map(|text| entry(&path(name), text))))
                .collect();
            for (path, change) in &changes {
                match change {
                    Some(entry) => drop(known.insert(path.clone(), entry.clone())),
                    None => drop(known.remove(path)),
                }
            }
            scan.apply(changes);
            prop_assert_eq!(scan, scan_of(&known));
        }

        /// What is as it was and what is new stand together by path, each once.
        #[test]
        fn a_look_is_in_order(
            before in proptest::collection::btree_set("[a-f]{1,2}", 0..12),
            stays in proptest::collection::vec(any::<proptest::sample::Index>(), 0..12),
            new in proptest::collection::vec("[a-f]{1,2}", 0..12),
        ) {
            let known: Vec<Entry> = before.iter().map(|name| entry(&format!("{name}.md"), "old")).collect();
            let as_before: Vec<usize> =
                stays.iter().filter(|_| !known.is_empty()).map(|at| at.index(known.len())).collect();
            let mut expected: BTreeMap<String, Entry> =
                as_before.iter().map(|at| (known[*at].path.clone(), known[*at].clone())).collect();
            let new: Vec<Entry> = new.iter().map(|name| entry(&format!("{name}.md"), "new")).collect();
            expected.extend(new.iter().map(|entry| (entry.path.clone(), entry.clone())));
            let found = Found { as_before, scan: Scan { entries: new, ..Scan::default() } };
            prop_assert_eq!(found.in_order(&known), scan_of(&expected));
        }
    }

    /// Side by side: one change of many memories takes about as long as many changes of few. If each moved those behind it, it would
    /// take sixteen times as long.
    #[test]
    fn a_change_of_many_takes_time_in_step_with_their_number() {
        const FEW: usize = 2_000;
        const TIMES: usize = 16;
        let path = |n: usize| format!("m{n:06}.md");
        let took = |count: usize, times: usize| {
            let old: Vec<Entry> = (0..count).map(|n| entry(&path(2 * n), "old")).collect();
            let new: Overlay = (0..count).map(|n| (path(2 * n + 1), Some(entry(&path(2 * n + 1), "new")))).collect();
            let scans = (0..times).map(|_| (Scan { entries: old.clone(), ..Scan::default() }, new.clone()));
            let scans: Vec<(Scan, Overlay)> = scans.collect();
            let started = Instant::now();
            for (mut scan, changes) in scans {
                scan.apply(changes);
                assert_eq!(scan.entries.len(), 2 * count);
            }
            started.elapsed()
        };
        let best = |count: usize, times: usize| (0..5).map(|_| took(count, times)).min().unwrap_or_default();
        let (few, many) = (best(FEW, TIMES), best(FEW * TIMES, 1));
        assert!(many < few * 6, "{few:?} and {many:?}");
    }
}
