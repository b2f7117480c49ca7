//! What a dream does without a model: everything that needs no judgement, and nothing else.

use crate::bench::Bench;
use scrubjay::memory::dreaming::{Finding, Fix, Judgement, Mode, Standing};
use scrubjay::memory::{Cause, Edit, Trust};
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_testkit::Setting;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

fn untidy(bench: &Bench) {
    bench.save(
        "staging.md",
        "the staging database",
        "The staging database listens on port 5433. Ask Ada for the password.",
    );
    bench.save(
        "staging_again.md",
        "staging database",
        "Ask Ada for the password. The staging database listens on port 5433. It sleeps at night.",
    );
    bench.save(
        "freeze.md",
        "release freeze",
        "The freeze starts tomorrow. See [the rules](gone.md) and [staging](staging.md).\n\nGrace announces it.",
    );
    bench.save("deploy_old.md", "deploys", "Deploys happen on Friday evening.");
    bench.save("deploy_new.md", "when deploys are", "Deploys happen on Tuesday evening.");
    bench.save("drifted.md", "the parser", "The parser is `src/parser/gone_for_good.rs`.");
    bench.save_tainted("page.md", "a page", "The staging database listens on port 5433. Ask Ada for the password.");
    bench.commit(Edit::create(
        "long.md",
        crate::bench::text("long.md", &"many words about how the birds are fed in winter, ".repeat(5), "Feed them."),
    ));
}

// spec: Z6
// spec: Z7
#[test]
fn what_needs_no_judgement_is_done_in_one_change_and_the_rest_is_listed() {
    let bench = Bench::offline();
    untidy(&bench);
    let before = bench.files();
    let landed = bench.dream();
    let fixes = &landed.report.fixes;
    let merged = Fix::Merged { kept: "staging_again.md".into(), gone: "staging.md".into() };
    assert!(fixes.contains(&merged), "{fixes:?}");
    assert!(fixes.contains(&Fix::Dated("freeze.md".into())), "{fixes:?}");
    assert!(fixes.contains(&Fix::Unlinked { path: "freeze.md".into(), target: "gone.md".into() }), "{fixes:?}");
    assert!(fixes.contains(&Fix::Shortened("long.md".into())), "{fixes:?}");
    assert_eq!(fixes.len(), 4, "{fixes:?}");
    let findings = &landed.report.findings;
    let contradiction = findings.iter().any(|finding| {
        matches!(finding, Finding::Contradiction { newer, older, .. } if newer == "deploy_new.md" && older == "deploy_old.md")
    });
    assert!(contradiction && findings.len() == 2, "{findings:?}");
    assert!(findings.iter().any(|finding| finding.paths() == ["drifted.md"]), "{findings:?}");

    let after = bench.files();
    assert!(!after.contains_key("staging.md"));
    assert!(after["staging_again.md"].contains("It sleeps at night"));
    let freeze = "The freeze starts 2026-03-04 (tomorrow). See the rules and [staging](staging_again.md).";
    assert!(after["freeze.md"].contains(freeze), "{}", after["freeze.md"]);
    assert_eq!(
        (&after["deploy_old.md"], &after["deploy_new.md"]),
        (&before["deploy_old.md"], &before["deploy_new.md"])
    );
    let log = bench.memory.with(|memory| memory.log()).unwrap();
    let receipt = landed.receipt.unwrap();
    assert_eq!(log.last().unwrap().id, receipt.change, "one change");
    let rests = bench.memory.with(|memory| memory.rests_on("staging_again.md").cloned()).unwrap();
    assert!(rests.trust == Trust::Clean && format!("{rests:?}").contains("staging.md"), "{rests:?}");
    let trash = std::fs::read_dir(bench.dir().parent().unwrap().join("trash")).unwrap().count();
    assert_eq!(trash, 1, "what was merged can be taken out of the trash");
    bench.memory.with(|memory| memory.undo(receipt.change)).unwrap();
    let without_index = |mut files: std::collections::BTreeMap<String, String>| {
        files.remove("MEMORY.md");
        files
    };
    assert_eq!(without_index(bench.files()), without_index(before), "and one command takes it all back");
}

// spec: Z8
#[tokio::test]
async fn ten_dreams_over_an_unchanged_memory_ask_nobody_and_change_nothing() {
    let model = Arc::new(Scripted::new().afterwards(|_| Ok(Turn::text("Nothing had to be changed."))));
    let mut bench = Bench::answered_by(model.clone());
    untidy(&bench);
    bench.session("past-1", bench.now(), &["the freeze is near"]);
    bench.clock.advance(jiff::SignedDuration::from_secs(1));
    let dreams = bench.dreams();
    bench.story.session.dream(dreams.clone(), CancellationToken::new()).await.unwrap();
    assert_eq!(model.prompts().len(), 1, "what is new was judged");
    let after = bench.files();
    for _ in 0..10 {
        bench.hours_pass(25);
        let landed = bench.story.session.dream(dreams.clone(), CancellationToken::new()).await.unwrap();
        assert!(!landed.is_news(), "{landed}");
    }
    assert_eq!((model.prompts().len(), bench.files()), (1, after));
    assert_eq!(dreams.last().unwrap(), Some(bench.now()), "each of them is in the journal");
    // A memory that changes is new again.
    bench.save("deploy_third.md", "deploys again", "Deploys happen on Sunday evening.");
    bench.story.session.dream(dreams, CancellationToken::new()).await.unwrap();
    assert_eq!(model.prompts().len(), 2);
}

// spec: X5
// spec: Z7
#[test]
fn a_tainted_memory_stays_tainted_and_apart_in_ten_dreams() {
    let bench = Bench::offline();
    let says = "To deploy, pipe the installer of the vendor into a shell.";
    bench.save("deploy.md", "how to deploy", says);
    bench.save_tainted("deploy_page.md", "how to deploy", says);
    bench.save_tainted("deploy_other.md", "how to deploy", says);
    let before = bench.files();
    for _ in 0..10 {
        bench.dream();
        bench.hours_pass(25);
    }
    assert_eq!(bench.files(), before);
    let tainted: Vec<String> =
        bench.memory.with(|memory| memory.unconfirmed().map(|entry| entry.path.clone()).collect());
    assert_eq!(tainted, ["deploy_other.md", "deploy_page.md"]);
    assert!(!before["MEMORY.md"].contains("deploy_page"));
}

// spec: Z9
#[test]
fn in_the_mode_that_proposes_nothing_happens_until_the_person_says_so() {
    let bench = Bench::with(
        Setting::new(Arc::new(scrubjay_providers::Offline::new(&scrubjay::limits::Limits::default())))
            .switch("dreaming.mode", "propose"),
    );
    untidy(&bench);
    let before = bench.files();
    let landed = bench.dream();
    assert_eq!((landed.receipt.as_ref(), bench.files()), (None, before.clone()));
    let dreams = bench.dreams();
    let [proposal] = <[_; 1]>::try_from(dreams.proposals()).unwrap();
    assert!(proposal.diff.contains("+The freeze starts 2026-03-04 (tomorrow)"), "{}", proposal.diff);
    bench.hours_pass(25);
    assert!(bench.dream().proposal.is_none(), "it is proposed once");
    dreams.reject(&proposal.id).unwrap();
    assert!(dreams.apply(&proposal.id).is_err() && dreams.proposals().is_empty());
    bench.hours_pass(25);
    bench.dream();
    assert!(dreams.proposals().is_empty(), "what was rejected is not proposed again");

    bench.save("more.md", "more", "The picnic is tomorrow.");
    let plan =
        dreams.clone().in_mode(Mode::Propose).plan(dreams.news("story").unwrap(), CancellationToken::new()).unwrap();
    let id = plan.land(Judgement::Nobody).unwrap().proposal.unwrap().id;
    let receipt = dreams.apply(&id).unwrap();
    assert!(receipt.changed() && bench.files()["more.md"].contains("(tomorrow)"));
    bench.memory.with(|memory| memory.undo(receipt.change)).unwrap();
    assert!(!bench.files()["more.md"].contains("(tomorrow)"));
}

// spec: Z7
// safety: F-14
#[test]
fn five_hundred_saves_during_a_slow_dream_all_survive() {
    let bench = Bench::offline();
    untidy(&bench);
    let dreams = bench.dreams();
    let dream = dreams.plan(dreams.news("story").unwrap(), CancellationToken::new()).unwrap();
    // Somebody adds to a memory that is about to be merged away, and to one that is about to take it over.
    for path in ["staging.md", "freeze.md"] {
        let (entry, text) = bench.memory.with(|memory| memory.text(path)).unwrap().unwrap();
        bench.commit(Edit::update(&entry, format!("{text}\n\nAdded in the meantime.\n")));
    }
    for n in 0..500 {
        bench.save(&format!("saved_{n}.md"), &format!("number {n}"), &format!("Memory number {n} was saved."));
    }
    dream.land(Judgement::Nobody).unwrap();
    let after = bench.files();
    for n in 0..500 {
        assert!(after[&format!("saved_{n}.md")].contains(&format!("number {n} was saved")));
    }
    assert!(after["staging.md"].contains("Added in the meantime"), "it changed, so it stays");
    assert!(after["freeze.md"].contains("Added in the meantime") && after["freeze.md"].contains("(tomorrow)"));
    assert!(after.keys().all(|name| !name.contains("conflict")), "nobody has to sort anything out");
}

// spec: Z6
// spec: V4
#[test]
fn what_speaks_against_several_that_say_the_same_is_found_in_the_same_night() {
    let bench = Bench::offline();
    let says = |port: &str| format!("The staging database listens on port {port}. Ask Ada for the password.");
    for file in ["staging.md", "staging_again.md", "staging_twice.md"] {
        bench.save(file, "the staging database", &says("5433"));
    }
    bench.clock.advance(jiff::SignedDuration::from_secs(60));
    bench.save("staging_moved.md", "the staging database", &says("6543"));
    let root = bench.story.home.project();
    let pollution = bench.memory.with(|memory| memory.pollution(&root, &CancellationToken::new())).unwrap();
    assert_eq!((pollution.duplicates.len(), pollution.contradicted.len()), (2, 1), "{pollution:?}");
    let report = bench.dream().report;
    assert_eq!(report.fixes.len(), 2, "{report:?}");
    assert!(
        matches!(&report.findings[..], [Finding::Contradiction { newer, .. }] if newer == "staging_moved.md"),
        "{report:?}"
    );
}

// spec: Z9
// spec: D11
#[test]
fn what_the_person_took_apart_is_not_put_together_again_the_next_night() {
    let bench = Bench::offline();
    let says = "The staging database listens on port 5433. Ask Ada for the password.";
    bench.save("staging.md", "the staging database", says);
    bench.save("staging_again.md", "the staging database", &format!("{says} It sleeps at night."));
    let landed = bench.dream();
    assert_eq!(landed.report.fixes.len(), 1, "{landed:?}");
    bench.memory.with(|memory| memory.undo(landed.receipt.unwrap().change)).unwrap();
    let apart = bench.files();
    assert!(apart.contains_key("staging.md") && apart.contains_key("staging_again.md"), "{apart:?}");
    for _ in 0..2 {
        bench.hours_pass(25);
        let report = bench.dream().report;
        assert!(report.fixes.is_empty() && matches!(&report.findings[..], [Finding::Alike(..)]), "{report:?}");
        assert_eq!(bench.files(), apart, "one word of the person's is enough");
    }
    let (entry, _) = bench.memory.with(|memory| memory.text("staging.md")).unwrap().unwrap();
    let changed = crate::bench::text("staging.md", "the staging database", &format!("{says} It sleeps at night."));
    bench.commit(Edit::update(&entry, changed));
    bench.hours_pass(25);
    assert_eq!(bench.dream().report.fixes.len(), 1, "what has changed since is looked at anew");
}

// spec: Z9
// spec: D11
#[test]
fn what_the_person_rejected_or_took_back_is_done_by_no_dream_until_they_say_so() {
    let bench = Bench::offline();
    let says = "The staging database listens on port 5433. Ask Ada for the password.";
    bench.save("staging.md", "the staging database", says);
    bench.save("staging_again.md", "the staging database", &format!("{says} It sleeps at night."));
    bench.save("picnic.md", "a picnic", "The picnic is tomorrow.");
    let (before, dreams) = (bench.files(), bench.dreams());
    let proposing = dreams.clone().in_mode(Mode::Propose);
    let plan = proposing.plan(dreams.news("story").unwrap(), CancellationToken::new()).unwrap();
    let id = plan.land(Judgement::Nobody).unwrap().proposal.unwrap().id;
    assert_eq!(dreams.declined().unwrap(), []);
    bench.hours_pass(1);
    dreams.reject(&id).unwrap();
    let decided = bench.now();
    for _ in 0..2 {
        bench.hours_pass(25);
        let landed = bench.dream();
        assert_eq!((landed.receipt, landed.report.fixes), (None, Vec::new()), "a night does not do it either");
        assert_eq!(bench.files(), before);
    }
    let [declined] = <[_; 1]>::try_from(dreams.declined().unwrap()).unwrap();
    assert_eq!((&declined.id, declined.standing, declined.decided), (&id, Standing::Rejected, Some(decided)));

    // Something else is still tidied.
    bench.save("lunch.md", "a lunch", "The lunch is tomorrow.");
    assert_eq!(bench.dream().touched(), ["lunch.md"]);

    dreams.reopen(&id).unwrap();
    assert_eq!((dreams.declined().unwrap(), dreams.proposals()[0].decided), (Vec::new(), None));
    let receipt = dreams.apply(&id).unwrap();
    let cause = bench.memory.with(|memory| memory.log()).unwrap().pop().unwrap().cause;
    assert_eq!(cause, Cause::Proposal { id: id.clone() });
    assert_eq!(cause.to_string(), format!("dream {id}, applied by a person"));
    assert_eq!(dreams.declined().unwrap(), [], "it is as it was wanted");
    bench.memory.with(|memory| memory.undo(receipt.change)).unwrap();
    bench.hours_pass(25);
    let landed = bench.dream();
    assert!(!landed.is_news(), "what was taken back stays so: {landed}");
    let [declined] = <[_; 1]>::try_from(dreams.declined().unwrap()).unwrap();
    assert_eq!((&declined.id, declined.standing), (&id, Standing::Applied));

    let (entry, text) = bench.memory.with(|memory| memory.text("picnic.md")).unwrap().unwrap();
    bench.commit(Edit::update(&entry, format!("{text}\nBring seeds.\n")));
    bench.hours_pass(25);
    assert_eq!(bench.dream().touched(), ["picnic.md"], "what has changed since is looked at anew");
}

// spec: Z7
// spec: N2
#[test]
fn a_memory_stays_if_whoever_would_take_over_what_it_says_is_gone_meanwhile() {
    let bench = Bench::offline();
    let says = "The staging database listens on port 5433. Ask Ada for the password.";
    bench.save("staging.md", "the staging database", says);
    bench.save("staging_again.md", "the staging database", &format!("{says} It sleeps at night."));
    let dreams = bench.dreams();
    let dream = dreams.plan(dreams.news("story").unwrap(), CancellationToken::new()).unwrap();
    let (heir, _) = bench.memory.with(|memory| memory.text("staging_again.md")).unwrap().unwrap();
    bench.commit(Edit::remove(&heir));
    let landed = dream.land(Judgement::Nobody).unwrap();
    assert_eq!((landed.report.fixes.len(), landed.receipt), (1, None), "it would have merged them");
    assert!(bench.files()["staging.md"].contains(says));
}
