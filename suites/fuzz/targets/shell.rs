//! A line for the shell: what is taken for harmless has no way to be anything else.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scrubjay::tools::shell::reading::{plain_commands, read_only_commands};

fuzz_target!(|line: &str| {
    let harmless = read_only_commands(line);
    let plain = plain_commands(line);
    if let Some(commands) = &harmless {
        assert_eq!(plain.as_ref(), Some(commands), "what only reads is plain: {line:?}");
    }
    for command in plain.iter().flatten() {
        assert!(!command.is_empty(), "{line:?}");
    }
    if plain.is_some() {
        assert!(!line.contains("$(") || line.contains('\'') || line.contains('\\') || line.contains('#'), "{line:?}");
    }
});
