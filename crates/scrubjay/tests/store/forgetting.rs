//! Forgetting a source takes everything with it that rests on it, and nothing else.

use crate::bench::{Bench, entry, forget, memory_text, save};
use scrubjay::memory::{Basis, Cause, Change, Edit, Memory, Origins, Source, Speaker};

fn on(speaker: Speaker, session: &str, message: &str, quote: &str) -> Source {
    Source { speaker, session: session.into(), message: message.into(), quote: quote.into() }
}

fn put(memory: &mut Memory, path: &str, body: &str, sources: Vec<Source>) {
    let text = memory_text(path, "d", body);
    let edit = match memory.text(path).unwrap() {
        Some((entry, _)) => Edit::update(&entry, text),
        None => Edit::create(path, text),
    };
    let change = Change { cause: Cause::Dream, edits: vec![edit.resting_on(Basis::of(sources))] };
    memory.commit(change).unwrap();
}

fn derived(memory: &Memory, name: &str) -> Vec<String> {
    memory.derived_from(&Origins::named(name)).unwrap().into_iter().map(|one| one.path).collect()
}

const PAGE: &str = "https://evil.example/install";

/// A page, what was made from it, what was made from that, and memories that have nothing to do with it.
fn poisoned(memory: &mut Memory) {
    let of = |path: &str| on(Speaker::Memory(path.into()), "s2", "m9", "");
    put(memory, "page.md", "x", vec![on(Speaker::Web, "session-one", "m1", PAGE)]);
    put(memory, "second.md", "x", vec![of("page.md")]);
    put(memory, "third.md", "x", vec![of("second.md"), on(Speaker::Person, "s3", "m4", "so it is")]);
    put(memory, "log.md", "x", vec![on(Speaker::File, "session-one", "m2", "/work/log.txt")]);
    put(memory, "said.md", "x", vec![on(Speaker::Person, "s4", "m5", "so it is")]);
    save(memory, "mine.md", &memory_text("Mine", "d", "x"));
}

// spec: X5
#[test]
fn everything_that_rests_on_a_source_is_found_and_nothing_else() {
    let bench = Bench::new();
    let mut memory = bench.open();
    poisoned(&mut memory);
    for (name, expected) in [
        (PAGE, vec!["page.md", "second.md", "third.md"]),
        ("evil.example", vec!["page.md", "second.md", "third.md"]),
        ("m1", vec!["page.md", "second.md", "third.md"]),
        ("web", vec!["page.md", "second.md", "third.md"]),
        ("session-one", vec!["log.md", "page.md", "second.md", "third.md"]),
        ("session-", vec!["log.md", "page.md", "second.md", "third.md"]),
        ("/work/log.txt", vec!["log.md"]),
        ("second.md", vec!["third.md"]),
        ("s4", vec!["said.md"]),
        ("mine", vec![]),
        ("x", vec![]),
    ] {
        assert_eq!(derived(&memory, name), expected, "{name}");
    }
    let all = memory.derived_from(&Origins::named(PAGE)).unwrap();
    let also_said: Vec<&str> = all.iter().filter(|one| one.said_by_person).map(|one| one.path.as_str()).collect();
    assert_eq!(also_said, ["third.md"]);

    let edits = all.iter().map(|one| Edit::remove(&entry(&memory, &one.path))).collect();
    let receipt = memory.commit(Change { cause: Cause::Person, edits }).unwrap();
    assert_eq!(
        memory.scan().entries.iter().map(|e| e.path.as_str()).collect::<Vec<_>>(),
        ["log.md", "mine.md", "said.md"]
    );
    assert_eq!(derived(&memory, PAGE), Vec::<String>::new());
    memory.undo(receipt.change).unwrap();
    assert_eq!(derived(&memory, PAGE).len(), 3, "one change, taken back as one");
}

// spec: X5
#[test]
fn no_later_edit_hides_where_a_memory_came_from() {
    let bench = Bench::new();
    let mut memory = bench.open();
    poisoned(&mut memory);
    // Rewritten on the person's words, confirmed, renamed, edited from outside: it still came from the page.
    put(&mut memory, "page.md", "rewritten", vec![on(Speaker::Person, "s5", "m6", "fine")]);
    let confirm = Edit::confirm(&entry(&memory, "page.md"));
    memory.commit(Change { cause: Cause::Person, edits: vec![confirm] }).unwrap();
    bench.write("second.md", memory_text("second.md", "d", "by hand"));
    memory.refresh().unwrap();
    assert_eq!(derived(&memory, PAGE), ["page.md", "second.md", "third.md"]);
    // What it was made from is gone; what was made from it is not.
    forget(&mut memory, "page.md");
    assert_eq!(derived(&memory, PAGE), ["second.md", "third.md"]);
    // A memory that begins anew under the same name has nothing to do with it.
    forget(&mut memory, "second.md");
    save(&mut memory, "second.md", "other words\n");
    assert!(!derived(&memory, PAGE).contains(&"second.md".to_owned()));
}

// spec: X5
#[test]
fn an_edit_that_was_taken_back_leaves_no_trace_of_its_source() {
    let bench = Bench::new();
    let mut memory = bench.open();
    put(&mut memory, "a.md", "mine", vec![on(Speaker::Person, "s1", "m1", "mine")]);
    put(&mut memory, "a.md", "theirs", vec![on(Speaker::Web, "s1", "m2", PAGE)]);
    assert_eq!(derived(&memory, PAGE), ["a.md"]);
    let last = memory.log().unwrap().last().unwrap().id;
    memory.undo(last).unwrap();
    assert_eq!((derived(&memory, PAGE), memory.scan().entries.len()), (Vec::new(), 1));
}

// spec: X5
#[test]
fn what_a_session_made_or_an_import_brought_goes_with_it() {
    let bench = Bench::new();
    let mut memory = bench.open();
    let make = |memory: &mut Memory, path: &str, cause: Cause| {
        let edits = vec![Edit::create(path, memory_text(path, "d", "x"))];
        memory.commit(Change { cause, edits }).unwrap();
    };
    make(&mut memory, "a.md", Cause::Extraction { session: "session-nine".into(), upto: None });
    make(&mut memory, "b.md", Cause::Import { from: "/vault".into() });
    make(&mut memory, "c.md", Cause::Message { session: "session-nine".into(), message: "m7".into() });
    make(&mut memory, "d.md", Cause::Person);
    assert_eq!(derived(&memory, "session-nine"), ["a.md", "c.md"]);
    assert_eq!(
        (derived(&memory, "/vault"), derived(&memory, "m7")),
        (vec!["b.md".to_owned()], vec!["c.md".to_owned()])
    );
    let gone = forget(&mut memory, "a.md").change;
    memory.undo(gone).unwrap();
    forget(&mut memory, "c.md");
    memory.restore("c.md").unwrap();
    assert_eq!(derived(&memory, "session-nine"), ["a.md", "c.md"], "what comes back is what it was");
    forget(&mut memory, "a.md");
    make(&mut memory, "a.md", Cause::Person);
    assert_eq!(derived(&memory, "session-nine"), ["c.md"], "what is made anew is not");
}
