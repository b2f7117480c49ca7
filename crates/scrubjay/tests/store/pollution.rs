//! The share of memories that are in the way.

use crate::bench::{Bench, memory_text, save};
use jiff::SignedDuration;
use scrubjay::limits::Limits;
use scrubjay::memory::{DuplicateMatch, Pollution, Topic};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

fn set(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

// spec: V4
#[test]
fn each_reason_is_found_and_each_memory_counts_once() {
    let mut bench = Bench::new();
    bench.limits.uses_file_bytes = 4_096;
    let root = bench.held.path().join("project");
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::write(root.join("src/here.rs"), "fn here() {}\n").unwrap();
    let mut memory = bench.open();
    let pollution = |memory: &scrubjay::memory::Memory| memory.pollution(&root, &CancellationToken::new()).unwrap();
    assert_eq!((pollution(&memory), pollution(&memory).share()), (Pollution::default(), None));

    for (path, body) in [
        ("clean.md", "The harbour office opens late; see `src/here.rs`."),
        ("old_tests.md", "Integration tests talk to the real database."),
        ("new_tests.md", "The integration tests talk to the real database."),
        ("old_day.md", "Releases leave the yard on Tuesday."),
        ("new_day.md", "Releases leave the yard on Thursday."),
        ("drifted.md", "The parser lives in `src/gone/parser.rs`."),
        ("long.md", &"A lighthouse keeper wrote this. ".repeat(200)),
        ("x.conflict-01234567.md", "Another version of something entirely."),
    ] {
        let text = memory_text("", "", body);
        if path.contains("conflict") {
            bench.write(path, text)
        } else {
            drop(save(&mut memory, path, &text))
        }
        let file = std::fs::File::options().write(true).open(bench.path(path)).unwrap();
        let age = if path.starts_with("old") { 100 } else { 50 };
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_772_539_200 - age * 86_400)).unwrap();
    }
    memory.refresh().unwrap();
    let found = pollution(&memory);
    assert_eq!((found.memories, &found.duplicates), (8, &set(&["old_tests.md"])));
    assert_eq!(found.contradicted, set(&["old_day.md", "x.conflict-01234567.md"]));
    assert_eq!((&found.drifted, &found.over_long), (&set(&["drifted.md"]), &set(&["long.md"])));
    assert_eq!(found.unrecalled, set(&[]), "nothing is counted yet");
    assert_eq!(found.share(), Some(5.0 / 8.0));

    memory.count_uses(&[("clean.md".into(), true), ("new_day.md".into(), false)]).unwrap();
    assert_eq!(pollution(&memory).unrecalled, set(&[]), "it was not counted for long");
    bench.clock.advance(SignedDuration::from_hours(24 * 31));
    let found = pollution(&memory);
    assert_eq!((found.unrecalled.len(), found.share()), (6, Some(6.0 / 8.0)), "{found:?}");
    assert!(found.unrecalled.contains("new_tests.md") && !found.unrecalled.contains("new_day.md"));
}

#[test]
fn what_says_the_same_or_the_contrary_is_known_before_it_is_written_down() {
    let bench = Bench::new();
    let mut memory = bench.open();
    let of = |name: &str, body: &str| memory_text(name, body, body);
    save(&mut memory, "a.md", &of("Staging", "Staging listens on port 5433, ask Ada for access."));
    save(&mut memory, "b.md", &of("Releases", "Releases leave the yard on Tuesday."));
    save(&mut memory, "c.md", &of("Birds", "A scrub jay hides thousands of seeds."));
    let limits = Limits::default();
    for (name, body, expected) in [
        ("Access", "Staging listens on port 5433: ask Ada for access!", vec![DuplicateMatch::Same("a.md".to_owned())]),
        (
            "Staging",
            "Staging listens on port 5434, ask Ada for access.",
            vec![DuplicateMatch::Contrary("a.md".to_owned())],
        ),
        ("Releases", "Releases leave the yard on Thursday.", vec![DuplicateMatch::Contrary("b.md".to_owned())]),
        ("Releases", "Releases leave the yard on Tuesday.", vec![]),
        ("Releases", "Releases are signed by the harbour office.", vec![]),
        ("Oaks", "An oak stands in the yard.", vec![]),
        ("", "", vec![]),
    ] {
        let topic = Topic::read(&of(name, body), &limits);
        assert_eq!(memory.duplicates(&topic).unwrap(), expected, "{body}");
    }
}
