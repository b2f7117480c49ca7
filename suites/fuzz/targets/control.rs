//! Broken on purpose: it cuts a text at a byte. If nothing is found here, nothing that is said of the others means anything.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    std::hint::black_box(&text[..text.len().min(9)]);
});
