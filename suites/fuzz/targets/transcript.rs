//! A session file: whatever stands in it, what is whole comes back and the rest is named.
#![no_main]

mod seal;

use libfuzzer_sys::fuzz_target;
use scrubjay::limits::Limits;
use scrubjay::message::SessionId;
use scrubjay::transcript::{Transcript, read};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

struct Room {
    file: PathBuf,
    limits: Arc<Limits>,
    _held: tempfile::TempDir,
}

static ROOM: LazyLock<Room> = LazyLock::new(|| {
    let held = tempfile::tempdir().unwrap();
    Room { file: held.path().join("session.jsonl"), limits: Arc::new(Limits::default()), _held: held }
});

fuzz_target!(|bytes: &[u8]| {
    let lines = seal::lines(bytes);
    std::fs::write(&ROOM.file, &lines).unwrap();
    let reading = read(&ROOM.file, &ROOM.limits).unwrap();
    for damage in &reading.damage {
        assert!(damage.offset + damage.bytes <= lines.len() as u64, "damage lies within the file");
    }
    drop(Transcript::peek(&ROOM.file, SessionId::new("s"), ROOM.limits.clone()));
});
