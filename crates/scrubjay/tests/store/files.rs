//! Saving, reading, and two who change one memory.

use crate::bench::{Bench, entry, forget, in_order, memory_text, paths, save};
use scrubjay::digest::Digest;
use scrubjay::memory::{Act, Cause, Change, Edit, Fault, Index, Kind, Memory, MemoryError, What};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

fn mode(path: &std::path::Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

// spec: D6
// spec: D10
// spec: X8
#[test]
fn a_saved_memory_is_a_private_file_with_a_line_in_the_index() {
    let bench = Bench::new();
    let mut memory = bench.open();
    let text = memory_text("Dashboard", "where latency is watched", "grafana/d/api");
    let receipt = save(&mut memory, "reference_dashboard.md", &text);
    assert_eq!(
        receipt.to_string(),
        "reference_dashboard.md: new, 6 lines · take it back with `scrubjay memory undo 1`"
    );
    assert_eq!(bench.file("reference_dashboard.md").unwrap(), text);
    assert_eq!(bench.file("MEMORY.md").unwrap(), "- [Dashboard](reference_dashboard.md) — where latency is watched\n");
    assert_eq!(bench.files(), ["MEMORY.md", "reference_dashboard.md"], "and nothing else");
    for path in ["reference_dashboard.md", "MEMORY.md"] {
        assert_eq!(mode(&bench.path(path)), 0o600);
    }
    for dir in [&bench.place.memory, &bench.place.journal] {
        assert_eq!(mode(dir), 0o700);
    }
    for file in std::fs::read_dir(&bench.place.journal).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path) & 0o077, 0, "{path:?}");
    }
    let (found, topic) = memory.read("reference_dashboard.md").unwrap();
    assert_eq!((found.kind, topic.body.as_str()), (Kind::Reference, "grafana/d/api\n"));
    in_order(&mut bench.open());
}

#[test]
fn what_is_said_twice_is_saved_once() {
    let bench = Bench::new();
    let mut memory = bench.open();
    save(&mut memory, "a.md", "one\n");
    let again = save(&mut memory, "a.md", "one\n");
    assert_eq!((again.outcomes[0].what.clone(), again.changed()), (What::Unchanged, false));
    assert_eq!(memory.log().unwrap().len(), 1);
}

// spec: N2
#[test]
fn two_changes_of_different_lines_are_merged() {
    let bench = Bench::new();
    let (mut ours, mut theirs) = (bench.open(), bench.open());
    save(&mut ours, "a.md", "one\ntwo\nthree\nfour\n");
    let base = entry(&theirs, "a.md");
    save(&mut theirs, "a.md", "one\ntwo\nthree\nFOUR\n");
    let edit = Edit::update(&base, "ONE\ntwo\nthree\nfour\n");
    let receipt = ours.commit(Change { cause: Cause::Dream, edits: vec![edit] }).unwrap();
    assert_eq!(receipt.outcomes[0].what, What::Merged);
    assert_eq!(bench.file("a.md").unwrap(), "ONE\ntwo\nthree\nFOUR\n");
    in_order(&mut ours);
}

// spec: N2
// safety: F-15
#[test]
fn two_changes_of_one_line_are_both_kept() {
    let bench = Bench::new();
    let (mut ours, mut theirs) = (bench.open(), bench.open());
    save(&mut ours, "a.md", "one\n");
    let base = entry(&ours, "a.md");
    save(&mut theirs, "a.md", "theirs\n");
    let receipt = ours.commit(Change { cause: Cause::Dream, edits: vec![Edit::update(&base, "ours\n")] }).unwrap();
    let What::Conflict(copy) = receipt.outcomes[0].what.clone() else { panic!("{receipt}") };
    let short = Digest::of(b"ours\n").as_str()[..8].to_owned();
    assert_eq!(copy, format!("a.conflict-{short}.md"));
    assert_eq!((bench.file("a.md").unwrap(), bench.file(&copy).unwrap()), ("theirs\n".into(), "ours\n".into()));
    assert_eq!(paths(&ours), [copy.clone(), "a.md".into()], "both can be seen");
    in_order(&mut ours);
    let findings = ours.check().unwrap();
    assert!(findings.iter().any(|finding| finding.path == copy && finding.fault == Fault::ConflictCopy));

    let new = ours.commit(Change { cause: Cause::Dream, edits: vec![Edit::create("a.md", "mine\n")] }).unwrap();
    assert!(matches!(new.outcomes[0].what, What::Conflict(_)), "a new memory replaces none that is there");
    assert_eq!(bench.file("a.md").unwrap(), "theirs\n");
}

// spec: N2
#[test]
fn a_memory_that_changed_after_the_decision_is_not_removed() {
    let bench = Bench::new();
    let (mut ours, mut theirs) = (bench.open(), bench.open());
    save(&mut ours, "a.md", "one\n");
    save(&mut ours, "b.md", "two\n");
    let edits = vec![Edit::remove(&entry(&ours, "a.md")), Edit::remove(&entry(&ours, "b.md"))];
    save(&mut theirs, "a.md", "newer\n");
    let receipt = ours.commit(Change { cause: Cause::Dream, edits }).unwrap();
    let whats: Vec<_> = receipt.outcomes.iter().map(|outcome| outcome.what.clone()).collect();
    assert_eq!(whats, [What::Stays, What::Removed]);
    assert_eq!((bench.file("a.md"), bench.file("b.md")), (Some("newer\n".into()), None));
}

// spec: D10
#[test]
fn several_files_are_one_change() {
    let bench = Bench::new();
    let mut memory = bench.open();
    save(&mut memory, "a.md", "a\n");
    save(&mut memory, "b.md", "b\n");
    let edits = vec![
        Edit::update(&entry(&memory, "a.md"), "a and b\n"),
        Edit::remove(&entry(&memory, "b.md")),
        Edit::create("c.md", "c\n"),
    ];
    let receipt = memory.commit(Change { cause: Cause::Dream, edits }).unwrap();
    assert_eq!(paths(&memory), ["a.md", "c.md"]);
    assert_eq!(bench.file("MEMORY.md").unwrap(), "- [a](a.md)\n- [c](c.md)\n");
    memory.undo(receipt.change).unwrap();
    assert_eq!(paths(&memory), ["a.md", "b.md"]);
    assert_eq!((bench.file("a.md"), bench.file("b.md")), (Some("a\n".into()), Some("b\n".into())));
    assert_eq!(bench.file("MEMORY.md").unwrap(), "- [a](a.md)\n- [b](b.md)\n");
}

// spec: D10
#[test]
fn without_an_index_there_are_files_only() {
    let mut bench = Bench::new();
    bench.place = bench.place.clone().with_index(Index::Skipped);
    let mut memory = bench.open();
    save(&mut memory, "a.md", "a\n");
    assert_eq!(bench.files(), ["a.md"]);
    assert_eq!(memory.index().unwrap().text, "");
    assert_eq!(memory.check().unwrap().iter().filter(|finding| finding.is_fixable()).count(), 0);
    bench.place = bench.place.clone().with_index(Index::Kept);
    assert_eq!(bench.open().index().unwrap().text, "- [a](a.md)\n", "switched on again it is made");
}

#[test]
fn a_mechanical_rewrite_keeps_the_age() {
    let bench = Bench::new();
    let mut memory = bench.open();
    save(&mut memory, "a.md", "on Thursday\n");
    let old = std::fs::File::options().write(true).open(bench.path("a.md")).unwrap();
    old.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(86_400)).unwrap();
    memory.refresh().unwrap();
    let before = entry(&memory, "a.md");
    let edit = Edit::update(&before, "on 2026-03-05\n").keeping_age();
    memory.commit(Change { cause: Cause::Dream, edits: vec![edit] }).unwrap();
    let after = entry(&memory, "a.md");
    assert_eq!((after.modified(), after.modified().as_second()), (before.modified(), 86_400));
    assert_ne!(after.digest, before.digest);
    save(&mut memory, "a.md", "another meaning\n");
    assert!(std::fs::metadata(bench.path("a.md")).unwrap().mtime() > 86_400);
}

// spec: D10
#[test]
fn names_that_are_not_names_are_refused() {
    let bench = Bench::new();
    let mut memory = bench.open();
    for bad in [
        "../x.md",
        "/etc/x.md",
        "MEMORY.md",
        "memory.md",
        "x.txt",
        "Upper.md",
        "a b.md",
        "logs/x.md",
        "team/x.md",
        "con.md",
        ".hidden.md",
        "a/../b.md",
        "\u{202e}.md",
        "x\n.md",
        "",
    ] {
        let refused = memory.commit(Change { cause: Cause::Person, edits: vec![Edit::create(bad, "x")] });
        assert!(matches!(refused, Err(MemoryError::Name { .. })), "{bad:?}: {refused:?}");
    }
    assert_eq!((bench.files(), memory.log().unwrap().len()), (Vec::<String>::new(), 0));
    bench.write("Größe.md", "x");
    bench.write("User_Role.md", "x");
    memory.refresh().unwrap();
    let taken = memory.commit(Change { cause: Cause::Person, edits: vec![Edit::create("user_role.md", "y")] });
    assert!(matches!(&taken, Err(MemoryError::Taken { existing, .. }) if existing == "User_Role.md"), "{taken:?}");
    let edit = Edit::update(&entry(&memory, "Größe.md"), "what is there may be changed");
    memory.commit(Change { cause: Cause::Person, edits: vec![edit] }).unwrap();
    let large = Edit::create("large.md", "x".repeat(1_048_577));
    let refused = memory.commit(Change { cause: Cause::Person, edits: vec![large] });
    assert!(matches!(refused, Err(MemoryError::TooLarge { .. })));
}

// spec: D12
#[test]
fn the_shared_folder_has_an_index_of_its_own() {
    let mut bench = Bench::new();
    bench.write("team/reference_wiki.md", memory_text("Wiki", "where it is", "wiki.example"));
    let mut memory = bench.open();
    assert_eq!(paths(&memory), Vec::<String>::new(), "nobody asked for a team");
    assert_eq!(bench.files(), ["team/reference_wiki.md"]);

    bench.place = bench.place.clone().with_team(scrubjay::memory::Team::On);
    let mut both = bench.open();
    save(&mut both, "user_role.md", &memory_text("Role", "who", "x"));
    save(&mut both, "team/project_freeze.md", &memory_text("Freeze", "until when", "x"));
    assert_eq!(both.index().unwrap().text, "- [Role](user_role.md) — who\n");
    assert_eq!(
        both.team_index().unwrap().text,
        "- [Wiki](reference_wiki.md) — where it is\n- [Freeze](project_freeze.md) — until when\n"
    );
    assert_eq!(paths(&both), ["team/project_freeze.md", "team/reference_wiki.md", "user_role.md"]);
    in_order(&mut both);
    forget(&mut both, "team/reference_wiki.md");
    assert_eq!(bench.file("team/MEMORY.md").unwrap(), "- [Freeze](project_freeze.md) — until when\n");
    memory.refresh().unwrap();
    assert_eq!(paths(&memory), ["user_role.md"]);
}

// spec: D10
#[test]
fn logs_are_not_memories() {
    let bench = Bench::new();
    bench.write("logs/2026/03/2026-03-03.md", "what happened");
    bench.write("topics/MEMORY.md", "an index of another depth");
    bench.write("topics/one.md", "a memory in a folder");
    let mut memory = bench.open();
    assert_eq!(paths(&memory), ["topics/one.md"]);
    assert_eq!(bench.file("MEMORY.md").unwrap(), "- [one](topics/one.md)\n");
    in_order(&mut memory);
    assert_eq!(bench.file("topics/MEMORY.md").unwrap(), "an index of another depth");
}

// safety: F-40
// safety: SG20
#[test]
fn what_did_not_change_is_not_read_again() {
    let bench = Bench::new();
    for n in 0..300 {
        bench.write(&format!("m{n:03}.md"), memory_text(&format!("M{n}"), "d", "b"));
    }
    assert_eq!(bench.open().scan().read, 300);
    // What changed in the tick in which the table was written is looked at once more.
    assert!((0..1_000).any(|_| bench.open().scan().read == 0), "it comes to rest");
    bench.write("m007.md", memory_text("New", "d", "b"));
    let memory = bench.open();
    assert_eq!(memory.scan().read, 1);
    assert_eq!(entry(&memory, "m007.md").name, "New");
    let first = memory.scan().clone();
    std::fs::remove_file(bench.place.journal.join("headers")).unwrap();
    let again = bench.open();
    assert_eq!(again.scan().read, 300, "the table can be lost");
    assert_eq!(again.scan().entries, first.entries);
    assert_eq!(again.log().unwrap().len(), 2, "and nothing is taken for a change from outside");
}

// safety: F-40
// safety: SG20
#[test]
fn a_folder_of_many_files_is_seen_whole_and_in_order() {
    let bench = Bench::new();
    let name = |n: usize| format!("m{}.md", n * 7919 % 1_500);
    for n in 0..1_500 {
        bench.write(&name(n), memory_text(&format!("Number {n}"), "d", "b"));
    }
    bench.write("sub/inner.md", memory_text("Inner", "d", "b"));
    let mut memory = bench.open();
    let mut expected: Vec<String> = (0..1_500).map(name).chain(["sub/inner.md".to_owned()]).collect();
    expected.sort();
    assert_eq!((paths(&memory), memory.scan().read), (expected.clone(), 1_501));
    let log = memory.log().unwrap();
    assert_eq!(log[0].edits.len(), 1_501, "the text of each is kept");
    bench.write(&name(700), memory_text("Another", "d", "b"));
    std::fs::remove_file(bench.path(&name(900))).unwrap();
    let repairs = memory.refresh().unwrap();
    let mut outside = [name(700), name(900)];
    outside.sort();
    assert_eq!((repairs.outside.as_slice(), memory.scan().read), (outside.as_slice(), 1));
    expected.retain(|path| *path != name(900));
    assert_eq!(paths(&memory), expected);
    save(&mut memory, "new.md", &memory_text("New", "d", "b"));
    in_order(&mut memory);
}

/// Side by side: one change of many new memories takes about as long as many changes of few. If each name were held against all that are
/// there, it would take eight times as long.
#[test]
fn planning_many_new_memories_takes_time_in_step_with_their_number() {
    const FEW: usize = 400;
    const TIMES: usize = 8;
    let set = |count: usize| {
        let bench = Bench::new();
        for n in 0..count {
            bench.write(&format!("Old{n}.md"), memory_text(&format!("Old {n}"), "d", "b"));
        }
        let memory = bench.open();
        (bench, memory)
    };
    let took = |memory: &mut Memory, count: usize, times: usize| {
        let create = |n: usize| Edit::create(format!("new{n}.md"), memory_text(&format!("New {n}"), "d", "b"));
        let missing = Edit { act: Act::Remove, ..Edit::create("nowhere.md", "") };
        let edits: Vec<Edit> = (0..count).map(create).chain([missing]).collect();
        let started = std::time::Instant::now();
        for _ in 0..times {
            // The last edit cannot be: everything is planned, and nothing is written.
            let change = Change { cause: Cause::Person, edits: edits.clone() };
            assert!(matches!(memory.commit(change), Err(MemoryError::Missing(_))));
        }
        started.elapsed()
    };
    let ((_few, mut few), (_many, mut many)) = (set(FEW), set(FEW * TIMES));
    let few = (0..3).map(|_| took(&mut few, FEW, TIMES)).min().unwrap();
    let many = (0..3).map(|_| took(&mut many, FEW * TIMES, 1)).min().unwrap();
    assert!(many < few * 3, "{few:?} and {many:?}");
}
