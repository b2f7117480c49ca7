//! What rests only on somebody else's words is kept apart until the person confirms it.

use crate::bench::{Bench, entry, forget, in_order, memory_text, paths, save};
use scrubjay::memory::{Basis, Cause, Change, Edit, Fault, Memory, MemoryError, Source, Speaker, Trust};

fn said_by(speaker: Speaker) -> Basis {
    Basis::of(vec![Source { speaker, session: "s1".into(), message: "m1".into(), quote: "so it is".into() }])
}

fn try_put(memory: &mut Memory, path: &str, text: &str, basis: Basis) -> Result<(), MemoryError> {
    let edit = match memory.text(path)? {
        Some((entry, _)) => Edit::update(&entry, text),
        None => Edit::create(path, text),
    };
    let cause = Cause::Extraction { session: "s1".into(), upto: None };
    memory.commit(Change { cause, edits: vec![edit.resting_on(basis)] }).map(drop)
}

fn put(memory: &mut Memory, path: &str, text: &str, basis: Basis) {
    try_put(memory, path, text, basis).unwrap();
}

fn unconfirmed(memory: &Memory) -> Vec<&str> {
    memory.unconfirmed().map(|entry| entry.path.as_str()).collect()
}

// spec: D10
// spec: X4
#[test]
fn a_tainted_memory_is_listed_apart_until_it_is_confirmed() {
    let bench = Bench::new();
    let mut memory = bench.open();
    put(&mut memory, "clean.md", &memory_text("Clean", "d", "x"), said_by(Speaker::Person));
    put(&mut memory, "web.md", &memory_text("Web", "buy now", "x"), said_by(Speaker::Web));
    for memory in [&mut memory, &mut bench.open()] {
        assert_eq!((paths(memory), unconfirmed(memory)), (vec!["clean.md".to_owned()], vec!["web.md"]));
        assert_eq!(memory.index().unwrap().text, "- [Clean](clean.md) — d\n");
        in_order(memory);
        let findings = memory.check().unwrap();
        assert!(findings.iter().any(|finding| finding.path == "web.md" && finding.fault == Fault::Unconfirmed));
    }
    assert_eq!(memory.rests_on("web.md").unwrap().sources[0].quote, "so it is");
    bench.write("MEMORY.md", "- [Clean](clean.md) — d\n- [Trust me](web.md) — really\n");
    assert!(!memory.index().unwrap().text.contains("Trust me"), "not even for a moment");
    memory.refresh().unwrap();
    assert_eq!(bench.file("MEMORY.md").unwrap(), "- [Clean](clean.md) — d\n");

    let confirm = Edit::confirm(&entry(&memory, "web.md"));
    let receipt = memory.commit(Change { cause: Cause::Person, edits: vec![confirm] }).unwrap();
    assert_eq!(unconfirmed(&memory), Vec::<&str>::new());
    assert_eq!(bench.open().index().unwrap().text, "- [Clean](clean.md) — d\n- [Web](web.md) — buy now\n");
    let confirmed = Basis { trust: Trust::Confirmed, ..said_by(Speaker::Web) };
    assert_eq!(memory.rests_on("web.md"), Some(&confirmed), "where it came from stays known");
    memory.undo(receipt.change).unwrap();
    assert_eq!(unconfirmed(&bench.open()), ["web.md"], "a confirmation can be taken back too");
    assert_eq!(bench.file("MEMORY.md").unwrap(), "- [Clean](clean.md) — d\n");
}

// spec: D11
// spec: X5
#[test]
fn taking_a_change_back_brings_back_what_each_memory_rested_on() {
    let bench = Bench::new();
    let mut memory = bench.open();
    save(&mut memory, "kept.md", &memory_text("Kept", "d", "tea"));
    put(&mut memory, "gone.md", &memory_text("Gone", "d", "tea"), said_by(Speaker::Person));
    let rested = |memory: &Memory| ["kept.md", "gone.md"].map(|path| memory.rests_on(path).cloned());
    let before = rested(&memory);
    assert_eq!(before, [None, Some(said_by(Speaker::Person))]);
    // What a merge does: one takes over the facts of the other, and need not say more for it.
    let kept = entry(&memory, "kept.md");
    let basis = Basis { trust: Trust::Clean, ..said_by(Speaker::Memory("gone.md".into())) };
    let took = Edit::update(&kept, memory_text("Kept", "d", "tea")).resting_on(basis);
    let edits = vec![took, Edit::remove(&entry(&memory, "gone.md"))];
    let merged = memory.commit(Change { cause: Cause::Dream, edits }).unwrap();
    assert_ne!(rested(&memory), before);
    memory.undo(merged.change).unwrap();
    assert_eq!(rested(&memory), before);
    assert_eq!(rested(&bench.open()), before, "also for whoever opens it next");
}

// spec: D11
// spec: X5
#[test]
fn what_comes_out_of_the_trash_rests_on_what_it_rested_on() {
    let bench = Bench::new();
    let mut memory = bench.open();
    for (path, speaker) in [("said.md", Speaker::Person), ("web.md", Speaker::Web)] {
        put(&mut memory, path, &memory_text("N", "d", path), said_by(speaker.clone()));
        forget(&mut memory, path);
        memory.restore(path).unwrap();
        assert_eq!(bench.open().rests_on(path), Some(&said_by(speaker)));
    }
    assert_eq!(unconfirmed(&memory), ["web.md"]);
}

// spec: X5
#[test]
fn a_text_that_was_written_over_a_tainted_one_is_tainted_under_every_name() {
    let bench = Bench::new();
    let mut memory = bench.open();
    let text = |body: &str| memory_text("Web", "d", body);
    put(&mut memory, "web.md", &text("one\ntwo\nthree"), said_by(Speaker::Web));
    save(&mut memory, "web.md", &text("one\ntwo"));
    let last = save(&mut memory, "web.md", &text("one")).change;
    memory.undo(last).unwrap();
    assert_eq!(unconfirmed(&memory), ["web.md"], "taken back");
    std::fs::rename(bench.path("web.md"), bench.path("renamed.md")).unwrap();
    memory.refresh().unwrap();
    assert_eq!(unconfirmed(&memory), ["renamed.md"], "a text that never was the first one, under another name");
    save(&mut memory, "renamed.md", &text("one"));
    assert_eq!(unconfirmed(&memory), ["renamed.md"], "and another text there");
    bench.write("renamed.md", text("by hand"));
    memory.refresh().unwrap();
    std::fs::rename(bench.path("renamed.md"), bench.path("third.md")).unwrap();
    for memory in [&mut memory, &mut bench.open()] {
        memory.refresh().unwrap();
        assert_eq!(unconfirmed(memory), ["third.md"], "edited by hand and renamed");
        assert_eq!(memory.rests_on("third.md").unwrap().sources[0].speaker, Speaker::Web);
    }
    let log = memory.log().unwrap().len();
    save(&mut memory, "third.md", &text("by hand"));
    assert_eq!(memory.log().unwrap().len(), log, "saying the same is no change");
}

// spec: X5
#[test]
fn the_standing_of_a_change_is_written_down_also_after_one_that_was_withdrawn() {
    let bench = Bench::new();
    let mut memory = bench.open();
    put(&mut memory, "first.md", &memory_text("First", "d", "x"), said_by(Speaker::Web));
    // What a change leaves that was written down and could not begin.
    std::fs::write(bench.place.journal.join("changes.jsonl"), "").unwrap();
    std::fs::remove_file(bench.path("first.md")).unwrap();
    let mut memory = bench.open();
    put(&mut memory, "second.md", &memory_text("Second", "d", "y"), said_by(Speaker::Web));
    assert_eq!(unconfirmed(&memory), ["second.md"]);
    assert_eq!(unconfirmed(&bench.open()), ["second.md"]);
}

// spec: X5
#[test]
fn taint_stays_whatever_is_done_to_the_file() {
    let bench = Bench::new();
    let mut memory = bench.open();
    put(&mut memory, "web.md", &memory_text("Web", "d", "x"), said_by(Speaker::Web));
    save(&mut memory, "web.md", &memory_text("Web", "d", "rewritten"));
    assert_eq!(unconfirmed(&memory), ["web.md"], "another text");
    put(&mut memory, "web.md", &memory_text("Web", "d", "again"), said_by(Speaker::Person));
    assert_eq!(unconfirmed(&memory), ["web.md"], "a claim to rest on the person's words");
    bench.write("web.md", memory_text("Web", "d", "by hand"));
    memory.refresh().unwrap();
    assert_eq!(unconfirmed(&memory), ["web.md"], "an edit from outside");
    let derived = said_by(Speaker::Memory("web.md".into()));
    let both = Basis::of([said_by(Speaker::Person).sources, derived.sources].concat());
    assert_eq!(both.trust, Trust::Clean);
    put(&mut memory, "derived.md", &memory_text("D", "d", "x"), both);
    assert_eq!(unconfirmed(&memory), ["derived.md", "web.md"], "what was made from it");
    save(&mut memory, "web.md", &memory_text("Web", "d", "x"));
    std::fs::rename(bench.path("web.md"), bench.path("renamed.md")).unwrap();
    memory.refresh().unwrap();
    assert_eq!(unconfirmed(&memory), ["derived.md", "renamed.md"], "another name");
    forget(&mut memory, "renamed.md");
    memory.restore("renamed.md").unwrap();
    assert_eq!(unconfirmed(&memory), ["derived.md", "renamed.md"], "the trash and back");
    assert_eq!(bench.file("MEMORY.md").unwrap_or_default(), "");
}

// spec: X5
#[test]
fn a_tainted_memory_is_never_shared() {
    let mut bench = Bench::new();
    bench.place = bench.place.clone().with_team(scrubjay::memory::Team::On);
    let mut memory = bench.open();
    let tool = || said_by(Speaker::Tool("Bash".into()));
    let about = |kind: &str| format!("---\nname: N\ndescription: d\ntype: {kind}\n---\nx\n");
    let (path, text) = ("team/c.md", about("reference"));
    assert!(matches!(try_put(&mut memory, path, &text, tool()), Err(MemoryError::Tainted { .. })));
    assert_eq!(bench.file(path), None);
    put(&mut memory, path, &text, said_by(Speaker::Person));
    put(&mut memory, "d.md", &about("project"), tool());
    assert_eq!(unconfirmed(&memory), ["d.md"]);
    forget(&mut memory, "d.md");
    save(&mut memory, "d.md", &about("project"));
    assert_eq!(unconfirmed(&memory), ["d.md"], "the same words, and nobody says whose");
    forget(&mut memory, "d.md");
    save(&mut memory, "d.md", "other words\n");
    assert_eq!(unconfirmed(&memory), Vec::<&str>::new(), "a new memory begins anew");
    forget(&mut memory, "d.md");
    put(&mut memory, "d.md", &about("project"), said_by(Speaker::Person));
    assert_eq!(unconfirmed(&memory), Vec::<&str>::new(), "the person said so");
}
