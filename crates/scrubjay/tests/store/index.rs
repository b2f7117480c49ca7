//! The index follows the files, and a person's words in it stay.

use crate::bench::{Bench, in_order, memory_text, save};
use scrubjay::memory::{Cause, Fault};

// spec: D10
#[test]
fn words_of_a_person_stay_in_the_index() {
    let bench = Bench::new();
    let mut memory = bench.open();
    save(&mut memory, "a.md", &memory_text("A", "about a", "x"));
    bench.write("MEMORY.md", "# Ours\n\nMy own words.\n\n- [A](a.md) — about a\n\nThe end.\n");
    save(&mut memory, "b.md", &memory_text("B", "about b", "x"));
    save(&mut memory, "a.md", &memory_text("A", "about another", "x"));
    let index = "# Ours\n\nMy own words.\n\n- [A](a.md) — about another\n- [B](b.md) — about b\n\nThe end.\n";
    assert_eq!(bench.file("MEMORY.md").unwrap(), index);
    bench.write("MEMORY.md", b"\xff not text\n- [A](a.md) - x\n");
    memory.refresh().unwrap();
    assert!(std::fs::read(bench.path("MEMORY.md")).unwrap().starts_with(b"\xff not text\n- [A](a.md)"));
}

// spec: D10
// spec: D11
#[test]
fn words_that_a_user_edits_in_the_index_are_kept_and_in_the_journal() {
    let bench = Bench::new();
    let mut memory = bench.open();
    save(&mut memory, "a.md", &memory_text("A", "about a", "x"));
    let lines = |memory: &mut scrubjay::memory::Memory| {
        memory.refresh().unwrap();
        let log = memory.log().unwrap();
        log.into_iter()
            .filter(|change| change.cause == Cause::Outside)
            .flat_map(|change| change.notices)
            .collect::<Vec<_>>()
    };
    assert_eq!(lines(&mut memory), Vec::<String>::new(), "the engine's own lines are no news");
    bench.write("MEMORY.md", "- [A](a.md) — about a\n\nAsk Ada about birds.\n");
    assert_eq!(lines(&mut memory), ["MEMORY.md was edited by hand, added: Ask Ada about birds."]);
    save(&mut memory, "b.md", &memory_text("B", "about b", "x"));
    assert_eq!(lines(&mut bench.open()).len(), 1, "once");
    assert!(bench.file("MEMORY.md").unwrap().contains("Ask Ada about birds."));
    bench.write("MEMORY.md", "- [A](a.md) — about a\n- [B](b.md) — about b\n");
    let told = lines(&mut memory);
    assert_eq!(told[1..], ["MEMORY.md was edited by hand, taken out: Ask Ada about birds."]);
}

// spec: D10
// spec: X6
#[test]
fn an_edited_line_is_carried_over_to_its_memory() {
    let bench = Bench::new();
    let mut memory = bench.open();
    let first = "---\nname: A\ndescription: about a\ntype: user\nmood: calm\n---\nbody\n";
    save(&mut memory, "a.md", first);
    bench.write("MEMORY.md", "- [Ada](a.md) — who she is\n");
    let repairs = memory.refresh().unwrap();
    assert_eq!(
        repairs.notices,
        ["a.md now says what its line in the index was changed to: - [Ada](a.md) — who she is"]
    );
    let file = bench.file("a.md").unwrap();
    assert_eq!(file, "---\nname: \"Ada\"\ndescription: \"who she is\"\ntype: user\nmood: calm\n---\nbody\n");
    assert_eq!(bench.file("MEMORY.md").unwrap(), "- [Ada](a.md) — who she is\n");
    let log = memory.log().unwrap();
    let carried = log.iter().find(|change| change.cause == Cause::Index && change.edits[0].path == "a.md").unwrap();
    assert_eq!(memory.refresh().unwrap().notices, Vec::<String>::new());
    memory.undo(carried.id).unwrap();
    assert_eq!(bench.file("a.md").unwrap(), first, "what nobody here understands comes back with the rest");
}

// spec: D9
// spec: D10
#[test]
fn what_was_cut_for_its_line_stays_whole_in_the_memory_whatever_is_done_to_the_line() {
    let bench = Bench::new();
    let mut memory = bench.open();
    let (name, description) = ("long names ".repeat(9).trim_end().to_owned(), "what it is about ".repeat(20));
    for (file, name) in [("a.md", "Short"), ("b.md", name.as_str())] {
        save(&mut memory, file, &memory_text(name, description.trim_end(), "x"));
    }
    let index = bench.file("MEMORY.md").unwrap();
    assert_eq!(index.matches('…').count(), 3, "{index}");
    bench.write("MEMORY.md", index.replace("[Short]", "[Brief]").replace("](b.md)", "](b.md) "));
    memory.refresh().unwrap();
    let topics = ["a.md", "b.md"].map(|file| memory.read(file).unwrap().1);
    assert_eq!(topics.clone().map(|topic| topic.name), ["Brief".to_owned(), name]);
    assert!(topics.iter().all(|topic| topic.description == description.trim_end()), "{topics:?}");
}

// spec: D10
#[test]
fn a_line_that_cannot_be_carried_over_is_put_back_with_a_notice() {
    let bench = Bench::new();
    let mut memory = bench.open();
    save(&mut memory, "a.md", &memory_text("A", "about a", "x"));
    bench.write("a.md", memory_text("A", "the file says this", "x"));
    bench.write("MEMORY.md", "- [A](a.md) — the line says that\n- [Deploy](deploy.md) — use the script in bin/\n");
    let repairs = memory.refresh().unwrap();
    assert_eq!(bench.file("MEMORY.md").unwrap(), "- [A](a.md) — the file says this\n");
    assert_eq!(
        repairs.notices,
        [
            "the line of a.md in the index follows the memory again; it said: - [A](a.md) — the line says that",
            "a line of the index was taken out: - [Deploy](deploy.md) — use the script in bin/",
        ]
    );
    let kept: Vec<String> = memory.log().unwrap().into_iter().flat_map(|change| change.notices).collect();
    assert_eq!(kept, repairs.notices, "what was taken out is written down");
}

// spec: D10
#[test]
fn a_memory_without_a_description_takes_that_of_its_line() {
    let bench = Bench::new();
    bench.write("a.md", "just words\n");
    bench.write("MEMORY.md", "* [A note](a.md): what it is about\n");
    let memory = bench.open();
    assert_eq!(memory.read("a.md").unwrap().1.description, "what it is about");
    assert_eq!(memory.read("a.md").unwrap().1.body, "just words\n");
    assert_eq!(bench.file("MEMORY.md").unwrap(), "- [A note](a.md) — what it is about\n");
}

// spec: D10
#[test]
fn a_check_names_what_is_wrong_and_fixing_puts_it_right() {
    let bench = Bench::new();
    let mut memory = bench.open();
    let why = "**Why:** because.\n\n**How to apply:** always.";
    save(&mut memory, "feedback_a.md", &format!("---\nname: A\ndescription: d\ntype: feedback\n---\nrule\n\n{why}\n"));
    assert_eq!(memory.check().unwrap(), []);
    bench.write("gone.md", memory_text("G", "d", "x"));
    memory.refresh().unwrap();
    std::fs::remove_file(bench.path("gone.md")).unwrap();
    bench.write("Feedback_A.md", "---\nname: A\ndescription: d\ntype: recipe\n---\nx");
    bench.write("bare.md", "---\nname: B\ndescription: d\ntype: project\n---\nx");
    bench.write("same.md", "---\nname: B\ndescription: d\ntype: project\n---\nx");
    let index = bench.file("MEMORY.md").unwrap();
    let long = format!("- [G](bare.md) — {}\n", "long ".repeat(60));
    bench.write("MEMORY.md", format!("{index}{long}- [A](feedback_a.md) — again\n"));
    std::fs::set_permissions(bench.path("bare.md"), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let said = |memory: &mut scrubjay::memory::Memory| -> Vec<String> {
        memory.check().unwrap().iter().map(ToString::to_string).collect()
    };
    insta::assert_snapshot!(said(&mut memory).join("\n"));
    memory.fix().unwrap();
    let left = memory.check().unwrap();
    assert!(left.iter().all(|finding| !finding.is_fixable()), "{left:?}");
    assert!(left.iter().any(|finding| finding.fault == Fault::UnknownType("recipe".into())));
    assert_eq!(left.iter().filter(|finding| finding.fault == Fault::MissingPart("Why")).count(), 2);
}

// spec: D9
// safety: F-41
#[test]
fn a_heavy_index_is_cut_and_says_how_to_mend_it() {
    let bench = Bench::new();
    let prose: String = (0..200).map(|n| format!("{n:03} {}\n", "x".repeat(980))).collect();
    bench.write("MEMORY.md", &prose);
    let mut memory = bench.open();
    let loaded = memory.index().unwrap();
    assert_eq!((loaded.line_cut, loaded.byte_cut), (None, Some(prose.len())));
    assert!(loaded.text.len() < 26_000, "{}", loaded.text.len());
    let naive: String = prose.split_inclusive('\n').take(200).collect();
    assert!(naive.len() > 190_000, "a cut by lines alone lets all of it through");
    let warning = loaded.warning.unwrap();
    assert!(loaded.text.ends_with(&warning) && warning.contains("MEMORY.md") && warning.contains("short"), "{warning}");
    save(&mut memory, "a.md", "x\n");
    assert_eq!(bench.file("MEMORY.md").unwrap(), prose.clone() + "- [a](a.md)\n", "the file itself is not cut");
    let seen = |memory: &mut scrubjay::memory::Memory| {
        let long = memory.check().unwrap().into_iter().filter(|finding| matches!(finding.fault, Fault::LongIndex(_)));
        long.map(|finding| finding.to_string()).collect::<String>()
    };
    assert!(seen(&mut memory).contains("the first 25000 of "), "{}", seen(&mut memory));
    let lines: String = (0..300).map(|_| "short\n").collect();
    bench.write("MEMORY.md", lines);
    let loaded = bench.open().index().unwrap();
    assert_eq!((loaded.line_cut, loaded.byte_cut), (Some(301), None));
    in_order(&mut memory);
}
