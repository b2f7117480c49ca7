//! What the stories stand on.

use scrubjay::limits::Limits;
use scrubjay::memory::{Cause, Change, Edit, Entry, Fault, Finding, Memory, MemoryError, Place, Receipt, Repairs};
use scrubjay::paths::Layout;
use scrubjay_testkit::FixedClock;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A memory in a folder that is gone when the test is.
pub(crate) struct Bench {
    pub(crate) held: tempfile::TempDir,
    pub(crate) place: Place,
    pub(crate) clock: FixedClock,
    pub(crate) limits: Limits,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let held = tempfile::Builder::new().prefix("scrubjay-store-").tempdir().unwrap();
        let limits = Limits::default();
        let place = Place::of(&Layout::at(held.path().join("data")).project(Path::new("/home/ada/birds"), &limits));
        Self { held, place, clock: FixedClock::default(), limits }
    }

    pub(crate) fn try_open(&self) -> Result<(Memory, Repairs), MemoryError> {
        Memory::open(&self.place, Arc::new(self.clock.clone()), &self.limits)
    }

    pub(crate) fn open(&self) -> Memory {
        self.try_open().unwrap().0
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.memory.join(name)
    }

    /// What somebody does without the engine.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path(name)).ok()
    }

    /// Everything below the memory directory, hidden files included, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut pending = vec![self.place.memory.clone()];
        while let Some(dir) = pending.pop() {
            for entry in std::fs::read_dir(dir).unwrap() {
                let entry = entry.unwrap();
                match entry.file_type().unwrap().is_dir() {
                    true => pending.push(entry.path()),
                    false => found.push(entry.path().strip_prefix(&self.place.memory).unwrap().display().to_string()),
                }
            }
        }
        found.sort();
        found
    }
}

pub(crate) fn memory_text(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\ntype: reference\n---\n{body}\n")
}

pub(crate) fn save(memory: &mut Memory, path: &str, text: &str) -> Receipt {
    try_save(memory, path, text).unwrap()
}

/// Save a text over whatever is there now.
pub(crate) fn try_save(memory: &mut Memory, path: &str, text: &str) -> Result<Receipt, MemoryError> {
    let edit = match memory.text(path)? {
        Some((entry, _)) => Edit::update(&entry, text),
        None => Edit::create(path, text),
    };
    memory.commit(Change { cause: Cause::Person, edits: vec![edit] })
}

pub(crate) fn entry(memory: &Memory, path: &str) -> Entry {
    memory.read(path).unwrap().0
}

pub(crate) fn forget(memory: &mut Memory, path: &str) -> Receipt {
    let edit = Edit::remove(&entry(memory, path));
    memory.commit(Change { cause: Cause::Person, edits: vec![edit] }).unwrap()
}

pub(crate) fn paths(memory: &Memory) -> Vec<String> {
    memory.list().map(|entry| entry.path.clone()).collect()
}

/// Nothing is wrong that opening should have put right.
pub(crate) fn in_order(memory: &mut Memory) {
    let findings = memory.check().unwrap();
    // What others wrote may be as open as they like, in a folder that is closed.
    let is_wrong = |finding: &&Finding| finding.is_fixable() && finding.fault != Fault::OpenToOthers;
    let wrong: Vec<_> = findings.iter().filter(is_wrong).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}
