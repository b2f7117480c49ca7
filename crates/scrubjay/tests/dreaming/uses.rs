//! What earns its place stays in sight: dreams rank by what was shown and used.

use crate::bench::{Bench, text};
use scrubjay::memory::dreaming::{Finding, Fix};
use scrubjay::memory::{Cause, Change, Edit, load_index};

/// So many turns in which these were shown; the last word says whether each was used.
fn turns(bench: &Bench, count: usize, shown: &[(&str, bool)]) {
    let turn: Vec<(String, bool)> = shown.iter().map(|(path, used)| ((*path).to_owned(), *used)).collect();
    (0..count).for_each(|_| bench.memory.with(|memory| memory.count_uses(&turn)).unwrap());
}

const STAGING: &str = "The staging database listens on port 5433. Ask Ada for the password.";

fn merged(shown: &[(&str, bool)]) -> (Bench, Fix) {
    let bench = Bench::offline();
    bench.save("staging.md", "the staging database", STAGING);
    bench.save("staging_again.md", "the staging database", &format!("{STAGING} It sleeps at night."));
    turns(&bench, 3, shown);
    let fix = bench.dream().report.fixes.remove(0);
    (bench, fix)
}

// spec: V5
#[test]
fn of_two_that_say_the_same_the_one_that_is_used_stays_and_says_it_all() {
    let (_, longer) = merged(&[]);
    assert_eq!(longer, Fix::Merged { kept: "staging_again.md".into(), gone: "staging.md".into() });
    let (bench, used) = merged(&[("staging.md", true), ("staging_again.md", false)]);
    assert_eq!(used, Fix::Merged { kept: "staging.md".into(), gone: "staging_again.md".into() });
    assert!(bench.files()["staging.md"].contains("It sleeps at night."), "{:?}", bench.files());
}

// spec: V5
// spec: D11
#[test]
fn what_takes_over_others_takes_over_their_counts_and_gives_them_back() {
    let (bench, _) = merged(&[("staging.md", true), ("staging_again.md", false)]);
    let counts = |path: &str| bench.memory.with(|memory| memory.usefulness(path)).map(|use_| (use_.shown, use_.used));
    assert_eq!(counts("staging.md").unwrap(), (6, 3), "both were shown three times, one was used");
    assert_eq!(counts("staging_again.md").unwrap(), (0, 0));
    turns(&bench, 2, &[("staging.md", true)]);
    // Once more, into a third: nothing is counted twice, and nothing is lost on the way.
    bench.save(
        "staging_third.md",
        "the staging database",
        &format!("{STAGING} It sleeps at night. Restart it with care."),
    );
    turns(&bench, 1, &[("staging_third.md", true)]);
    bench.hours_pass(25);
    let landed = bench.dream();
    let [Fix::Merged { kept, gone }] = &landed.report.fixes[..] else { panic!("{:?}", landed.report) };
    assert_eq!((counts(kept).unwrap(), counts(gone).unwrap()), ((9, 6), (0, 0)));
    let undo = |landed: &scrubjay::memory::dreaming::Landed| {
        let change = landed.receipt.as_ref().unwrap().change;
        bench.memory.with(|memory| memory.undo(change)).unwrap();
    };
    undo(&landed);
    assert_eq!((counts("staging.md").unwrap(), counts("staging_third.md").unwrap()), ((8, 5), (1, 1)));
    let log = bench.memory.with(|memory| memory.log()).unwrap();
    let first = log.iter().find(|change| change.cause == Cause::Dream).unwrap().id;
    bench.memory.with(|memory| memory.undo(first)).unwrap();
    assert_eq!(counts("staging.md").unwrap(), (5, 5), "what it was used for since stays with it");
    assert_eq!(counts("staging_again.md").unwrap(), (3, 0));
}

// spec: V5
#[test]
fn what_is_about_memories_in_use_is_judged_first() {
    let bench = Bench::offline();
    for (file, what, says) in [
        ("deploys_friday.md", "deploys", "Deploys happen on Friday evening."),
        ("deploys_tuesday.md", "deploys", "Deploys happen on Tuesday evening."),
        ("eggs_five.md", "eggs", "Grace counts 5 eggs in the aviary."),
        ("eggs_six.md", "eggs", "Grace counts 6 eggs in the aviary."),
    ] {
        bench.save(file, what, says);
    }
    let first = |bench: &Bench| match &bench.dream().report.findings[0] {
        Finding::Contradiction { older, .. } => older.clone(),
        other => panic!("{other:?}"),
    };
    let before = first(&bench);
    let other = if before == "deploys_friday.md" { "eggs_five.md" } else { "deploys_friday.md" };
    turns(&bench, 3, &[(before.as_str(), false), (other, true)]);
    assert_eq!(first(&bench), other);
}

// spec: V5
#[test]
fn of_an_index_that_is_too_long_the_least_used_is_named_and_comes_last() {
    let bench = Bench::offline();
    let file = |n: usize| format!("bird_{n:03}.md");
    let says = |n: usize| text(&file(n), &format!("kestrel{n} perch{n}"), &format!("Roost{n} moult{n} fledge{n}."));
    let edits = (0..210).map(|n| Edit::create(file(n), says(n))).collect();
    bench.memory.with(|memory| memory.commit(Change { cause: Cause::Person, edits })).unwrap();
    let loaded = |bench: &Bench| load_index(&bench.files()["MEMORY.md"], "MEMORY.md", &Default::default()).text;
    turns(&bench, 3, &[("bird_000.md", false), ("bird_209.md", true)]);
    let before = loaded(&bench);
    assert!(before.contains("bird_000.md") && !before.contains("bird_209.md"), "{before}");
    let landed = bench.dream();
    let least = landed.report.findings.iter().find_map(|finding| match finding {
        Finding::IndexTooLong { least, .. } => Some(least.clone()),
        _ => None,
    });
    assert_eq!(least.unwrap().len(), 10);
    assert!(landed.report.findings[0].to_string().contains("least used are bird_000.md, "));
    let after = loaded(&bench);
    assert!(!after.contains("bird_000.md") && after.starts_with("- [bird 209](bird_209.md)"), "{after}");
    assert_eq!(bench.files()["MEMORY.md"].lines().count(), 210, "it is in the index all the same");
    let ranked = bench.files();
    bench.hours_pass(25);
    bench.dream();
    assert_eq!(bench.files(), ranked, "once in order it stays so");
    let found = bench.memory.with(|memory| memory.check()).unwrap();
    assert!(found.iter().all(|finding| !finding.to_string().contains("bird_000")), "{found:?}");
}
