//! Records of other agents, line by line, as `scan` and `import` meet them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scrubjay::foreign::{Event, Part, Speaker, read};

fuzz_target!(|bytes: &[u8]| {
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(record) = read(line) else { continue };
        if let Event::Heard { by: Speaker::Person, parts } = record.event {
            let answers = |part: &Part| matches!(part, Part::Answer { .. });
            assert!(!parts.iter().all(answers), "no tool speaks as the person");
            let reminder =
                |part: &Part| matches!(part, Part::Text(text) if text.trim_start().starts_with("<system-reminder>"));
            assert!(!parts.iter().any(reminder), "{parts:?}");
        }
    }
});
