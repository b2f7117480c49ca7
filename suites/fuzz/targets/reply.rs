//! A reply of either dialect, as events and in one piece, however the bytes are cut.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    scrubjay_providers::fuzzing::replies(bytes, usize::from(piece).max(1));
});
