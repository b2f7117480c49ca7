//! Every change is written down and can be taken back.

use crate::bench::{Bench, entry, forget, in_order, memory_text, paths, save};
use jiff::SignedDuration;
use scrubjay::memory::{Cause, Change, ChangeId, Edit, MemoryError, What};

fn by(cause: Cause, edits: Vec<Edit>) -> Change {
    Change { cause, edits }
}

// spec: D11
#[test]
fn every_change_is_written_down_with_its_cause() {
    let bench = Bench::new();
    let mut memory = bench.open();
    let session = "s1".to_owned();
    let causes = [
        Cause::Person,
        Cause::Session { session: session.clone() },
        Cause::Message { session: session.clone(), message: "m7".into() },
        Cause::Extraction { session, upto: None },
        Cause::Dream,
        Cause::Import { from: "vault".into() },
        Cause::Tool { name: "memory".into() },
    ];
    for (n, cause) in causes.iter().enumerate() {
        memory.commit(by(cause.clone(), vec![Edit::create(format!("m{n}.md"), "x\n")])).unwrap();
        bench.clock.advance(SignedDuration::from_mins(1));
    }
    let log = bench.open().log().unwrap();
    assert_eq!(log.iter().map(|change| change.cause.clone()).collect::<Vec<_>>(), causes);
    assert!(log.windows(2).all(|pair| pair[0].at < pair[1].at && pair[0].id < pair[1].id));
    assert_eq!(log[3].cause.to_string(), "extraction from session s1");
}

// spec: D11
#[test]
fn a_change_can_be_seen_and_taken_back_and_taken_back_again() {
    let bench = Bench::new();
    let mut memory = bench.open();
    save(&mut memory, "a.md", "one\ntwo\n");
    let change = save(&mut memory, "a.md", "one\nTWO\n");
    assert_eq!(change.outcomes[0].diff, "“two” → “TWO”");
    let diff = memory.diff(change.change).unwrap();
    assert_eq!(diff[0].to_string(), "--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n");
    let undone = memory.undo(change.change).unwrap();
    assert_eq!(bench.file("a.md").unwrap(), "one\ntwo\n");
    memory.undo(undone.change).unwrap();
    assert_eq!(bench.file("a.md").unwrap(), "one\nTWO\n");
    assert!(matches!(memory.undo(ChangeId(99)), Err(MemoryError::NoChange(_))));
    in_order(&mut memory);
}

// spec: D11
#[test]
fn an_undo_does_not_undo_what_came_after() {
    let bench = Bench::new();
    let mut memory = bench.open();
    save(&mut memory, "a.md", "one\ntwo\nthree\n");
    let change = save(&mut memory, "a.md", "ONE\ntwo\nthree\n");
    save(&mut memory, "a.md", "ONE\ntwo\nTHREE\n");
    let undone = memory.undo(change.change).unwrap();
    assert_eq!(undone.outcomes[0].what, What::Merged);
    assert_eq!(bench.file("a.md").unwrap(), "one\ntwo\nTHREE\n");

    let new = save(&mut memory, "b.md", "b\n");
    save(&mut memory, "b.md", "better\n");
    assert_eq!(memory.undo(new.change).unwrap().outcomes[0].what, What::Stays, "it was made better since");
    assert_eq!(bench.file("b.md").unwrap(), "better\n");
}

// spec: D11
#[test]
fn a_removed_memory_lies_in_the_trash_and_comes_back() {
    let bench = Bench::new();
    let mut memory = bench.open();
    let text = memory_text("A", "about a", "body");
    save(&mut memory, "a.md", &text);
    let receipt = forget(&mut memory, "a.md");
    assert_eq!(receipt.outcomes[0].what, What::Removed);
    assert_eq!((paths(&memory), bench.file("MEMORY.md").unwrap()), (vec![], String::new()));
    let trash =
        || std::fs::read_dir(&bench.place.trash).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    assert_eq!(trash().len(), 1);
    assert_eq!(std::fs::read_to_string(&trash()[0]).unwrap(), text);
    memory.restore("a.md").unwrap();
    assert_eq!(bench.file("a.md").unwrap(), text);
    assert_eq!(memory.index().unwrap().text, "- [A](a.md) — about a\n");
    assert!(matches!(memory.restore("never.md"), Err(MemoryError::Missing(_))));

    forget(&mut memory, "a.md");
    bench.clock.advance(SignedDuration::from_hours(24 * 29));
    memory.refresh().unwrap();
    assert_eq!(trash().len(), 1 + usize::from(trash().len() > 1), "{:?}", trash());
    bench.clock.advance(SignedDuration::from_hours(24));
    memory.refresh().unwrap();
    assert_eq!(trash(), Vec::<std::path::PathBuf>::new());
    memory.undo(receipt.change).unwrap();
    assert_eq!(bench.file("a.md").unwrap(), text, "the journal keeps what the trash does not");
}

// spec: F1
// spec: D11
#[test]
fn what_comes_back_is_as_old_as_it_was() {
    let bench = Bench::new();
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    let (first, second) = (memory_text("A", "about a", "body\n"), memory_text("A", "about a", "another body\n"));
    let file = bench.place.memory.join("a.md");
    let age = || std::fs::metadata(&file).unwrap().modified().unwrap();
    let mut memory = bench.open();
    save(&mut memory, "a.md", &first);
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
    memory.refresh().unwrap();

    let edited = save(&mut memory, "a.md", &second);
    assert!(age() > old, "another meaning is new");
    memory.undo(edited.change).unwrap();
    assert_eq!((bench.file("a.md").unwrap(), age()), (first.clone(), old));
    forget(&mut memory, "a.md");
    memory.restore("a.md").unwrap();
    assert_eq!(age(), old, "restored");
    let again = forget(&mut memory, "a.md");
    memory.undo(again.change).unwrap();
    assert_eq!(age(), old, "undone");
    std::fs::remove_file(&file).unwrap();
    memory.refresh().unwrap();
    memory.restore("a.md").unwrap();
    assert_eq!(age(), old, "taken away by somebody else");
    // What is put together of two texts is new.
    save(&mut memory, "a.md", &first.replace("about a", "about b"));
    memory.undo(edited.change).unwrap();
    assert!(age() > old);
}

// spec: D11
#[test]
fn what_was_removed_twice_comes_back_as_it_was_last() {
    let bench = Bench::new();
    let mut memory = bench.open();
    for text in ["the first one\n", "the second one\n"] {
        save(&mut memory, "a.md", text);
        forget(&mut memory, "a.md");
    }
    memory.restore("a.md").unwrap();
    assert_eq!(bench.file("a.md").unwrap(), "the second one\n");
}

// spec: D11
#[test]
fn a_change_can_be_taken_back_although_the_journal_before_it_is_lost() {
    let bench = Bench::new();
    let mut memory = bench.open();
    save(&mut memory, "a.md", "one\n");
    std::fs::remove_file(bench.place.journal.join("changes.jsonl")).unwrap();
    let change = save(&mut memory, "a.md", "two\n").change;
    memory.undo(change).unwrap();
    assert_eq!(bench.file("a.md").unwrap(), "one\n");
}

// spec: D11
#[test]
fn a_memory_that_was_there_before_us_can_be_brought_back_too() {
    let mut bench = Bench::new();
    bench.limits.journal_found_bytes = 0;
    bench.write("old.md", "as it was\n");
    let mut memory = bench.open();
    save(&mut memory, "old.md", "changed\n");
    let change = memory.log().unwrap().last().unwrap().id;
    memory.undo(change).unwrap();
    assert_eq!(bench.file("old.md").unwrap(), "as it was\n");
    bench.write("unseen.md", "first\n");
    memory.refresh().unwrap();
    bench.write("unseen.md", "second, from an editor\n");
    memory.refresh().unwrap();
    let change = memory.log().unwrap().last().unwrap().id;
    assert!(matches!(memory.undo(change), Err(MemoryError::NoText(_))), "nobody kept the first text, and it says so");
    assert_eq!(bench.file("unseen.md").unwrap(), "second, from an editor\n");
}

#[test]
fn a_journal_that_is_damaged_keeps_the_rest() {
    let bench = Bench::new();
    let mut memory = bench.open();
    for n in 0..3 {
        save(&mut memory, &format!("m{n}.md"), "x\n");
    }
    let path = bench.place.journal.join("changes.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("m1.md", "m?.md", 1)).unwrap();
    let mut memory = bench.open();
    let names = |change: &scrubjay::memory::Recorded| change.edits[0].path.clone();
    let log = memory.log().unwrap();
    assert_eq!(log.iter().map(names).collect::<Vec<_>>(), ["m0.md", "m2.md", "m1.md"], "the third was found anew");
    assert_eq!(log[2].cause, Cause::Outside);
    save(&mut memory, "m9.md", "x\n");
    assert_eq!(memory.log().unwrap().last().unwrap().id, ChangeId(5));
    std::fs::remove_file(&path).unwrap();
    save(&mut memory, "m8.md", "x\n");
    assert_eq!(paths(&bench.open()).len(), 5, "even without its history a memory is whole");
    assert_eq!(entry(&memory, "m1.md").name, "m1");
    in_order(&mut memory);
}
