//! A memory whose journal, standing, table, index and files hold anything: it opens, loses no word of a file and comes to rest.
#![no_main]

mod seal;

use libfuzzer_sys::fuzz_target;
use scrubjay::clock::Clock;
use scrubjay::limits::Limits;
use scrubjay::memory::{Memory, Place, Repairs};
use scrubjay::paths::Layout;
use std::path::Path;
use std::sync::Arc;

struct Noon;

impl Clock for Noon {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }
}

fuzz_target!(|input: (&[u8], &[u8], &str, &str, &str)| {
    let (journal, rests, table, index, text) = input;
    let (held, limits) = (tempfile::tempdir().unwrap(), Limits::default());
    let place = Place::of(&Layout::at(held.path().join("data")).project(Path::new("/p"), &limits));
    for folder in [&place.memory, &place.journal, &place.provenance] {
        std::fs::create_dir_all(folder).unwrap();
    }
    let sum = seal::crc32c(table.as_bytes());
    std::fs::write(place.journal.join("changes.jsonl"), seal::lines(journal)).unwrap();
    std::fs::write(place.journal.join("headers"), format!("{table}\n{sum:08x}\n")).unwrap();
    std::fs::write(place.provenance.join("rests_on.jsonl"), seal::lines(rests)).unwrap();
    std::fs::write(place.memory.join("MEMORY.md"), index).unwrap();
    std::fs::write(place.memory.join("a.md"), text).unwrap();

    let open = || Memory::open(&place, Arc::new(Noon), &limits);
    // A change that cannot be finished is said, each time it is tried.
    let Ok((memory, _)) = open() else { return };
    assert_eq!(std::fs::read_to_string(place.memory.join("a.md")).unwrap(), text, "nobody's words are touched");
    drop((memory.log().unwrap(), memory.index().unwrap(), memory.unconfirmed().count()));
    let (mut memory, repairs) = open().unwrap();
    assert_eq!(repairs, Repairs::default(), "the second time there is nothing left to do");
    let last = memory.log().unwrap().last().map(|change| change.id);
    if let Some(last) = last {
        drop((memory.diff(last), memory.undo(last)));
    }
    assert_eq!(std::fs::read_dir(held.path()).unwrap().count(), 1, "nothing beside the data");
});
