//! When the system refuses, nothing is lost and somebody is told.

use crate::bench::{Bench, in_order, memory_text, paths, save, try_save};
use scrubjay::memory::MemoryError;
use std::os::unix::fs::PermissionsExt;

// spec: D10
// safety: F-13
#[test]
fn an_index_that_cannot_be_read_is_not_taken_for_an_empty_one() {
    type Obstacle = fn(&std::path::Path);
    let obstacles: [(&str, Obstacle); 4] = [
        ("a directory", |path| std::fs::create_dir(path).unwrap()),
        ("a link", |path| std::os::unix::fs::symlink("/etc/hostname", path).unwrap()),
        ("a pipe", |path| assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success())),
        ("a giant", |path| std::fs::File::create(path).unwrap().set_len(1 << 40).unwrap()),
    ];
    for (what, obstacle) in obstacles {
        let bench = Bench::new();
        let mut memory = bench.open();
        save(&mut memory, "a.md", "one\n");
        std::fs::remove_file(bench.path("MEMORY.md")).unwrap();
        obstacle(&bench.path("MEMORY.md"));
        let before = std::fs::symlink_metadata(bench.path("MEMORY.md")).unwrap();
        let refused = try_save(&mut memory, "b.md", "two\n");
        assert!(matches!(refused, Err(MemoryError::Io { .. })), "{what}: {refused:?}");
        assert!(bench.try_open().is_err(), "{what}");
        let after = std::fs::symlink_metadata(bench.path("MEMORY.md")).unwrap();
        assert_eq!((before.file_type(), before.len()), (after.file_type(), after.len()), "{what}");
        assert_eq!((bench.file("a.md"), bench.file("b.md")), (Some("one\n".into()), None), "{what}");
        assert!(!bench.files().iter().any(|name| name.contains("scrubjay")), "{what}");
    }
}

// safety: F-13
#[test]
fn an_index_with_a_second_name_is_left_alone() {
    let bench = Bench::new();
    let mut memory = bench.open();
    save(&mut memory, "a.md", "one\n");
    std::fs::hard_link(bench.path("MEMORY.md"), bench.held.path().join("elsewhere")).unwrap();
    assert!(matches!(try_save(&mut memory, "b.md", "two\n"), Err(MemoryError::NotPlain { .. })));
    assert_eq!(bench.file("b.md"), None);
}

// safety: F-16
#[test]
fn a_memory_that_may_only_be_read_is_read() {
    let bench = Bench::new();
    let mut memory = bench.open();
    save(&mut memory, "a.md", &memory_text("A", "about a", "x"));
    bench.write("late.md", memory_text("Late", "d", "x"));
    // A journal that cannot be written stands for every place that cannot: root may write anywhere else.
    std::fs::remove_dir_all(&bench.place.journal).unwrap();
    std::fs::write(&bench.place.journal, "in the way").unwrap();
    let opened = bench.try_open();
    assert!(matches!(opened, Err(MemoryError::Io { .. })), "{opened:?}");
    assert!(matches!(try_save(&mut memory, "b.md", "x\n"), Err(MemoryError::Io { .. })));
    assert_eq!(bench.file("b.md"), None);
    std::fs::remove_file(&bench.place.journal).unwrap();
    let mut memory = bench.open();
    assert_eq!(paths(&memory), ["a.md", "late.md"]);
    in_order(&mut memory);
}

// safety: F-21
#[test]
fn a_folder_that_was_open_to_others_is_closed() {
    let bench = Bench::new();
    bench.write("a.md", "x\n");
    std::fs::set_permissions(&bench.place.memory, std::fs::Permissions::from_mode(0o777)).unwrap();
    drop(bench.open());
    let mode = std::fs::metadata(&bench.place.memory).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o700);
}
