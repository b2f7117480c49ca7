//! Commands of the memory tool, one after the other: whatever a model asks for, everything stays below its folder and in order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scrubjay::clock::Clock;
use scrubjay::limits::Limits;
use scrubjay::memory::{MemoryTool, Place, SharedMemory};
use scrubjay::paths::Layout;
use scrubjay::tool::Occasion;
use std::path::Path;
use std::sync::Arc;

struct Noon;

impl Clock for Noon {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }
}

fuzz_target!(|text: &str| {
    let (held, limits) = (tempfile::tempdir().unwrap(), Limits::default());
    let project = Layout::at(held.path().join("data")).project(Path::new("/p"), &limits);
    let place = Place::of(&project);
    let (memory, _) = SharedMemory::open(&place, &project, Arc::new(Noon), &limits).unwrap();
    let tool = MemoryTool::new(memory.clone(), &limits);
    let mut changed = false;
    for line in text.lines() {
        let Ok(input) = serde_json::from_str(line) else { continue };
        let before = memory.with(|memory| memory.log().unwrap().len());
        let said = tool.answer(&input, &Occasion::default());
        let after = memory.with(|memory| memory.log().unwrap().len());
        assert!(said.is_ok() || before == after, "a refusal changes nothing: {said:?}");
        changed |= after > before;
    }
    assert_eq!(names(held.path()), ["data"], "nothing beside the data");
    for entry in std::fs::read_dir(&place.memory).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        assert!(name.ends_with(".md") || entry.path().is_dir(), "{name}");
    }
    if changed {
        let last = memory.with(|memory| memory.log().unwrap().last().unwrap().id);
        let texts = |memory: &SharedMemory| {
            memory.with(|memory| {
                let paths: Vec<String> = memory.scan().entries.iter().map(|entry| entry.path.clone()).collect();
                paths.into_iter().map(|path| (memory.text(&path).unwrap().unwrap().1, path)).collect::<Vec<_>>()
            })
        };
        let now = texts(&memory);
        let undone = memory.with(|memory| memory.undo(last)).unwrap();
        memory.with(|memory| memory.undo(undone.change)).unwrap();
        assert_eq!(texts(&memory), now, "taken back twice it is as it was");
    }
    assert!(memory.with(|memory| memory.refresh()).unwrap().outside.is_empty());
});

fn names(dir: &Path) -> Vec<String> {
    std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
