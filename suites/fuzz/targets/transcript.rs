//! A session file: whatever stands in it, what is whole comes back and the rest is named.
#![no_main]

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
    // Lines that begin with `!` get the seal that the engine would write, so that what lies behind it is reached too.
    let mut lines = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_prefix(b"!") {
            Some(entry) => lines.extend(sealed(entry.strip_suffix(b"\n").unwrap_or(entry))),
            None => lines.extend_from_slice(line),
        }
    }
    std::fs::write(&ROOM.file, &lines).unwrap();
    let reading = read(&ROOM.file, &ROOM.limits).unwrap();
    for damage in &reading.damage {
        assert!(damage.offset + damage.bytes <= lines.len() as u64, "damage lies within the file");
    }
    drop(Transcript::peek(&ROOM.file, SessionId::new("s"), ROOM.limits.clone()));
});

fn sealed(entry: &[u8]) -> Vec<u8> {
    let frame = format!("{{\"crc\":\"{:08x}\",\"len\":{},\"entry\":", crc32c(entry), entry.len());
    [frame.as_bytes(), entry, b"}\n"].concat()
}

/// The checksum of the format, the slow and short way.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}
