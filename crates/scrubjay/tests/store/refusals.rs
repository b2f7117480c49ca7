//! When the system refuses, nothing is lost and somebody is told.

use crate::bench::{Bench, in_order, memory_text, paths, save, try_save};
use crate::processes::{Job, helper, lines};
use scrubjay::memory::MemoryError;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

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

/// Run a helper with everything below the bench mounted read-only; `None` where the system does not let us mount.
fn where_nothing_can_be_written(bench: &Bench, job: Job, name: &str) -> Option<Vec<String>> {
    let inner = helper(bench, job, name);
    let script = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && echo mounted && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(bench.held.path());
    command.arg(inner.get_program()).args(inner.get_args());
    command.envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let said: Vec<String> = lines(&mut child).collect();
    child.wait().unwrap();
    said.iter().any(|line| line == "mounted").then_some(said)
}

// safety: F-16
#[test]
fn a_memory_on_a_disk_that_takes_no_writes_is_read_and_left_alone() {
    let bench = Bench::new();
    assert!(helper(&bench, Job::Save, "m").env("CHILD_COUNT", "3").stdout(Stdio::null()).status().unwrap().success());
    let before = bench.files();
    let Some(said) = where_nothing_can_be_written(&bench, Job::Read, "reader") else {
        eprintln!("this system lets nobody mount anything; nothing was tried");
        return;
    };
    let why = said.iter().find_map(|line| line.strip_prefix("refused ")).unwrap();
    assert!(why.contains("Read-only"), "{said:?}");
    let read: Vec<&str> = said.iter().filter_map(|line| line.strip_prefix("read ")).collect();
    assert_eq!(read, ["m_0.md true", "m_1.md true", "m_2.md true"]);
    let said = where_nothing_can_be_written(&bench, Job::Once, "new").unwrap();
    assert!(said.iter().any(|line| line.starts_with("refused ") && line.contains("Read-only")), "{said:?}");
    // The naive way is refused there as well; whoever does not look at the answer believes that it was saved.
    let said = where_nothing_can_be_written(&bench, Job::Once, "naive").unwrap();
    assert!(said.iter().any(|line| line.starts_with("refused ")), "{said:?}");
    assert_eq!(bench.files(), before);
    in_order(&mut bench.open());
}

// safety: SG4
#[test]
fn a_change_of_many_files_needs_few_handles() {
    let bench = Bench::new();
    let few = |operation| {
        let inner = helper(&bench, Job::Once, operation);
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -n 40; exec \"$@\"", "sh"]).arg(inner.get_program()).args(inner.get_args());
        command.envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))));
        let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert!(said.contains(&format!("acked {operation}")), "{said}");
    };
    few("many");
    assert_eq!(paths(&bench.open()).len(), 100);
    few("none");
    assert_eq!(std::fs::read_dir(&bench.place.trash).unwrap().count(), 100);
    let mut memory = bench.open();
    memory.undo(memory.log().unwrap().last().unwrap().id).unwrap();
    assert_eq!(paths(&memory).len(), 100);
    in_order(&mut memory);
}

/// What one would write without thinking: an index that cannot be read is empty, and an empty one is written anew.
fn naive_line(bench: &Bench, line: &str) {
    let index = std::fs::read_to_string(bench.path("MEMORY.md")).unwrap_or_default();
    std::fs::write(bench.path("MEMORY.md"), index + line).unwrap();
}

// safety: F-13
#[test]
fn a_naive_writer_takes_an_unreadable_index_for_an_empty_one() {
    let lines = "- [A](a.md) \u{2014} one\n".repeat(50);
    let bench = Bench::new();
    bench.write("MEMORY.md", [lines.as_bytes(), b"caf\xe9\n"].concat());
    naive_line(&bench, "- [B](b.md)\n");
    assert_eq!(bench.file("MEMORY.md").unwrap(), "- [B](b.md)\n", "fifty lines are gone");
    let outside = bench.held.path().join("outside");
    std::fs::write(&outside, "somebody's file\n").unwrap();
    std::fs::remove_file(bench.path("MEMORY.md")).unwrap();
    std::os::unix::fs::symlink(&outside, bench.path("MEMORY.md")).unwrap();
    naive_line(&bench, "- [B](b.md)\n");
    assert_ne!(std::fs::read_to_string(&outside).unwrap(), "somebody's file\n", "written through the link");

    let bench = Bench::new();
    bench.write("a.md", "one\n");
    bench.write("MEMORY.md", [lines.as_bytes(), b"caf\xe9\n"].concat());
    let mut memory = bench.open();
    save(&mut memory, "b.md", "two\n");
    let index = std::fs::read(bench.path("MEMORY.md")).unwrap();
    assert!(index.ends_with(b"caf\xe9\n") && !index.starts_with(b"caf"), "ours keeps what it cannot read");
}

// spec: D10
#[test]
fn a_change_that_cannot_be_written_down_is_refused_before_anything_happens() {
    use scrubjay::memory::{Cause, Change, Edit};
    let mut bench = Bench::new();
    bench.limits.set("record_line_bytes", 65_536).unwrap();
    bench.limits.set("record_inline_bytes", 65_536).unwrap();
    let mut memory = bench.open();
    save(&mut memory, "a.md", "one\n");
    let large = || {
        let edit = |n: usize| Edit::create(format!("large_{n}.md"), "word ".repeat(10_000));
        Change { cause: Cause::Person, edits: (0..3).map(edit).collect() }
    };
    // A change too long for a line has a file of its own, which something may be in the way of.
    let apart = bench.place.journal.join("changes");
    std::fs::write(&apart, "in the way").unwrap();
    let before = (bench.files(), std::fs::read(bench.place.journal.join("changes.jsonl")).unwrap());
    let refused = memory.commit(large());
    assert!(matches!(refused, Err(MemoryError::Io { .. })), "{refused:?}");
    assert_eq!((bench.files(), std::fs::read(bench.place.journal.join("changes.jsonl")).unwrap()), before);
    std::fs::remove_file(&apart).unwrap();
    let receipt = memory.commit(large()).unwrap();
    let mut memory = bench.open();
    assert_eq!(paths(&memory).len(), 4);
    memory.undo(receipt.change).unwrap();
    assert_eq!(paths(&memory), ["a.md"]);
    in_order(&mut memory);
}
