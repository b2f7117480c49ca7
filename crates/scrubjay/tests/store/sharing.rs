//! What leaves the person's own scope: scanned on every way there, refused with what and where, and nothing half-written.

use crate::bench::{Bench, entry, forget, in_order, memory_text, paths, save, try_save};
use scrubjay::memory::{
    Basis, Cause, Change, Edit, Fault, Finding, Memory, MemoryError, MemoryTool, SharedMemory, Source, Speaker, Team,
    Trust,
};
use scrubjay::message::{Block, Message, MessageId, Origin, Role, SessionId};
use scrubjay::paths::Layout;
use scrubjay::tool::Occasion;
use scrubjay::tools::{Keeper as _, Replacement};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

fn team() -> Bench {
    let mut bench = Bench::new();
    bench.place = bench.place.clone().with_team(Team::On);
    bench
}

fn token() -> String {
    ["ghp", "16C7e42F292c6912E7710c838347Ae178B4a"].join("_")
}

fn leaking() -> String {
    memory_text("Deploys", "how to deploy", &format!("Deploys use\n{} for now.", token()))
}

fn refused(result: Result<impl std::fmt::Debug, MemoryError>) {
    match result {
        Err(MemoryError::Credential { rule, line, .. }) => {
            assert!(rule.contains("github") && line == 7, "{rule} in line {line}");
        }
        other => panic!("{other:?}"),
    }
}

/// No file below the data directory holds the token, history and leftovers included.
fn nowhere(bench: &Bench) {
    let mut pending = vec![bench.held.path().to_owned()];
    while let Some(at) = pending.pop() {
        if at.is_dir() {
            pending.extend(std::fs::read_dir(at).unwrap().map(|found| found.unwrap().path()));
        } else {
            let text = String::from_utf8_lossy(&std::fs::read(&at).unwrap()).into_owned();
            assert!(!text.contains(&token()), "{}", at.display());
        }
    }
}

// spec: G2
// safety: SG23
#[test]
fn a_credential_enters_the_team_through_no_door_of_the_store() {
    let bench = team();
    let mut memory = bench.open();
    refused(try_save(&mut memory, "team/deploys.md", &leaking()));
    let together =
        vec![Edit::create("fine.md", memory_text("F", "d", "x")), Edit::create("team/deploys.md", leaking())];
    let import = Cause::Import { from: "/elsewhere".into() };
    refused(memory.commit(Change { cause: import, edits: together }));
    assert_eq!(
        (bench.files(), paths(&memory)),
        (Vec::<String>::new(), Vec::<String>::new()),
        "not even the other half"
    );
    nowhere(&bench);

    save(&mut memory, "team/deploys.md", &memory_text("Deploys", "how to deploy", "Deploys use a token."));
    refused(try_save(&mut memory, "team/deploys.md", &leaking()));
    assert!(bench.file("team/deploys.md").unwrap().contains("a token."), "what was there stays");
    in_order(&mut memory);
    nowhere(&bench);
}

// spec: G2
// spec: D12
#[test]
fn neither_undo_nor_restore_brings_a_credential_to_the_team() {
    let bench = team();
    let mut memory = bench.open();
    bench.write("team/deploys.md", leaking());
    memory.refresh().unwrap();
    let cleaned = save(&mut memory, "team/deploys.md", &memory_text("Deploys", "how to deploy", "By hand."));
    refused(memory.undo(cleaned.change));
    bench.write("team/deploys.md", leaking());
    memory.refresh().unwrap();
    forget(&mut memory, "team/deploys.md");
    refused(memory.restore("team/deploys.md"));
    assert_eq!(bench.file("team/deploys.md"), None);
}

// spec: G2
#[test]
fn what_a_person_writes_is_warned_about_and_what_an_agent_writes_is_refused_in_private_memory_too() {
    let bench = team();
    let mut memory = bench.open();
    save(&mut memory, "deploys.md", &leaking());
    let warned = |finding: &Finding| matches!(&finding.fault, Fault::Credential(found) if found.line == 7);
    let findings = memory.check().unwrap();
    let warning = findings.iter().find(|finding| warned(finding)).unwrap();
    assert!(!warning.is_leak() && !warning.to_string().contains(&token()), "{warning}");
    for cause in [
        Cause::Dream,
        Cause::Extraction { session: "s".into(), upto: None },
        Cause::Session { session: "s".into() },
        Cause::Message { session: "s".into(), message: "m".into() },
        Cause::Tool { name: "memory".into() },
    ] {
        let edits = vec![Edit::create("other.md", leaking())];
        refused(memory.commit(Change { cause: cause.clone(), edits }));
        let old = entry(&memory, "deploys.md");
        let edits = vec![Edit::update(&old, leaking().replace("for now", "since March"))];
        memory.commit(Change { cause, edits }).unwrap();
        save(&mut memory, "deploys.md", &leaking());
    }
    assert_eq!(bench.file("other.md"), None);
}

// spec: G2
#[test]
fn an_editor_that_saves_a_credential_into_the_team_is_noticed() {
    let bench = team();
    let mut memory = bench.open();
    save(&mut memory, "team/wiki.md", &memory_text("Wiki", "where it is", "wiki.example"));
    bench.write("team/deploys.md", leaking());
    let about = "---\nname: Ada\ndescription: who\ntype: user\n---\nx\n";
    bench.write("team/user_ada.md", about);
    for memory in [&mut memory, &mut bench.open()] {
        memory.refresh().unwrap();
        assert_eq!(memory.team_index().unwrap().text, "- [Wiki](wiki.md) — where it is\n");
        let findings = memory.check().unwrap();
        let leaks: Vec<&Finding> = findings.iter().filter(|finding| finding.is_leak()).collect();
        assert!(matches!(leaks[0].fault, Fault::Credential(_)) && leaks[0].to_string().contains("line 7"), "{leaks:?}");
        assert_eq!((leaks.len(), &leaks[1].fault), (2, &Fault::Personal));
        in_order(memory);
    }
    // Another change makes the index anew and still leaves it out, also in a process that has not looked yet.
    save(&mut bench.open(), "team/more.md", &memory_text("More", "d", "x"));
    assert!(!bench.file("team/MEMORY.md").unwrap().contains("deploys.md"));
    bench.write("team/deploys.md", memory_text("Deploys", "how to deploy", "By hand."));
    memory.refresh().unwrap();
    assert!(memory.team_index().unwrap().text.contains("(deploys.md)"), "cleaned, so it is back");
}

// spec: G2
#[test]
fn a_line_of_the_team_index_cannot_carry_a_credential_over() {
    let bench = team();
    let mut memory = bench.open();
    save(&mut memory, "team/wiki.md", &memory_text("Wiki", "where it is", "wiki.example"));
    bench.write("team/MEMORY.md", format!("- [Wiki](wiki.md) — with {}\n", token()));
    let repairs = memory.refresh().unwrap();
    assert!(repairs.notices.iter().any(|notice| notice.contains("put back")), "{:?}", repairs.notices);
    assert!(repairs.notices.iter().all(|notice| !notice.contains(&token())));
    assert_eq!(bench.file("team/MEMORY.md").unwrap(), "- [Wiki](wiki.md) — where it is\n");
}

// spec: G2
#[test]
fn neither_file_tools_nor_the_memory_tool_share_a_credential() {
    let bench = team();
    let project = Layout::at(bench.held.path().join("data")).project(Path::new("/home/ada/birds"), &bench.limits);
    let (shared, _) = SharedMemory::open(&bench.place, &project, Arc::new(bench.clock.clone()), &bench.limits).unwrap();
    let asked = Message {
        id: MessageId::new("m"),
        role: Role::User,
        origin: Origin::Person,
        at: jiff::Timestamp::UNIX_EPOCH,
        blocks: vec![Block::text("Remember how we deploy.")],
    };
    let occasion = Occasion { session: SessionId::new("s"), history: vec![Arc::new(asked)].into(), errand: None };
    let (path, text) = (shared.dir().join("team/deploys.md"), leaking());
    let change = Replacement { path, before: None, bytes: text.as_bytes().to_vec(), occasion: occasion.clone() };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let written = runtime.block_on(shared.replace(change, None)).unwrap_err();
    assert!(written.contains("holds a credential") && !written.contains(&token()), "{written}");
    shared.with(|memory| save(memory, "deploys.md", &leaking()));
    let tool = MemoryTool::new(shared.clone(), &bench.limits);
    let create = json!({ "command": "create", "path": "/memories/team/d.md", "file_text": text });
    let rename = json!({ "command": "rename", "old_path": "/memories/deploys.md", "new_path": "/memories/team/d.md" });
    for (command, why) in [(create, "holds a credential"), (rename, "looks like a credential")] {
        let said = tool.answer(&command, &occasion).unwrap_err();
        assert!(said.contains(why) && !said.contains(&token()), "{said}");
    }
    assert_eq!(bench.files(), ["MEMORY.md", "deploys.md"]);
}

// spec: G1
#[test]
fn what_is_about_the_person_is_never_shared() {
    let bench = team();
    let mut memory = bench.open();
    let about = "---\nname: Ada\ndescription: who\ntype: user\n---\nx\n";
    assert!(matches!(try_save(&mut memory, "team/user_ada.md", about), Err(MemoryError::Personal { .. })));
    assert_eq!(bench.files(), Vec::<String>::new());
    save(&mut memory, "user_ada.md", about);
}

// spec: X4
// spec: D12
#[test]
fn what_somebody_else_shared_is_theirs_and_no_more() {
    let bench = team();
    let mut memory = bench.open();
    bench.write("team/theirs.md", memory_text("Theirs", "from the team", "x"));
    memory.refresh().unwrap();
    let basis = memory.rests_on("team/theirs.md").unwrap().clone();
    assert_eq!((basis.trust, &basis.sources[0].speaker), (Trust::Shared, &Speaker::Team(String::new())));
    assert!(memory.team_index().unwrap().text.contains("theirs.md"), "it is shared, so it is seen");
    assert_eq!(bench.open().rests_on("team/theirs.md").unwrap().trust, Trust::Shared);

    let source = Source {
        speaker: Speaker::Memory("team/theirs.md".into()),
        session: "s".into(),
        message: "m".into(),
        quote: String::new(),
    };
    let made = Edit::create("mine.md", memory_text("Mine", "d", "x")).resting_on(Basis::of(vec![source]));
    memory.commit(Change { cause: Cause::Dream, edits: vec![made] }).unwrap();
    let moved = Edit::create("moved.md", memory_text("Theirs", "from the team", "y")).resting_on(basis);
    memory.commit(Change { cause: Cause::Dream, edits: vec![moved] }).unwrap();
    let waiting: Vec<&str> = memory.unconfirmed().map(|entry| entry.path.as_str()).collect();
    assert_eq!(waiting, ["mine.md", "moved.md"], "what is made from it is not trusted for that");

    save(&mut memory, "team/ours.md", &memory_text("Ours", "d", "x"));
    assert_eq!(memory.rests_on("team/ours.md"), None, "what the person writes rests on the person");
}

// spec: G2
#[test]
fn a_team_that_is_off_is_neither_read_nor_written() {
    let bench = Bench::new();
    bench.write("team/deploys.md", leaking());
    let mut memory = bench.open();
    assert_eq!(memory.check().unwrap().iter().filter(|finding| finding.is_leak()).count(), 0);
    assert!(matches!(try_save(&mut memory, "team/x.md", "x"), Err(MemoryError::Name { .. })));
}

// spec: X5
#[test]
fn one_tainted_source_takes_two_of_five_places() {
    let bench = Bench::new();
    let project = Layout::at(bench.held.path().join("data")).project(Path::new("/home/ada/birds"), &bench.limits);
    let clock = Arc::new(bench.clock.clone());
    let (shared, _) = SharedMemory::open(&bench.place, &project, clock, &bench.limits).unwrap();
    let page = |speaker: Speaker| {
        Basis::of(vec![Source { speaker, session: "s".into(), message: "m".into(), quote: String::new() }])
    };
    let put = |memory: &mut Memory, path: String, basis: Option<Basis>| {
        let text = memory_text(&format!("Parrot {path}"), "parrots of the harbour", "Parrots live at the harbour.");
        let edit = Edit { rests_on: basis, ..Edit::create(path, text) };
        memory.commit(Change { cause: Cause::Person, edits: vec![edit] }).unwrap();
    };
    shared.with(|memory| {
        (0..10).for_each(|number| put(memory, format!("web_{number}.md"), Some(page(Speaker::Web))));
        (0..3).for_each(|number| put(memory, format!("said_{number}.md"), None));
    });
    let now = jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
    let wish = scrubjay::memory::Wish::new("where do the parrots of the harbour live", &now);
    let found = shared.candidates(&wish);
    let stop = tokio_util::sync::CancellationToken::new();
    let read = shared.recollections(&["web_0.md".into(), "said_0.md".into()], bench.held.path(), &stop);
    assert_eq!((read[0].from.as_deref(), read[1].from.as_deref()), (Some("web"), None), "its source is named");
    let of_web = |paths: &mut dyn Iterator<Item = &String>| paths.filter(|path| path.starts_with("web_")).count();
    assert_eq!((found.best.len(), of_web(&mut found.best.iter())), (5, 2), "{:?}", found.best);
    assert_eq!(of_web(&mut found.manifest.iter().map(|(path, _)| path)), 2, "nor does a model see more of them");
}

// spec: D11
// spec: G1
#[test]
fn who_does_not_look_at_what_is_shared_neither_misses_it_nor_forgets_who_said_it() {
    let (mut bench, text) = (team(), memory_text("Yard", "the yard", "The yard opens at seven."));
    let said = Source {
        speaker: Speaker::Person,
        session: "s".into(),
        message: "m".into(),
        quote: "the yard opens at seven".into(),
    };
    let edit = Edit::create("team/project_yard.md", text).resting_on(Basis::of(vec![said]));
    bench.open().commit(Change { cause: Cause::Person, edits: vec![edit] }).unwrap();
    save(&mut bench.open(), "team/project_gate.md", &memory_text("Gate", "the gate", "The gate is green."));
    for turn in 0..3 {
        bench.place = bench.place.clone().with_team(Team::Off);
        let mut alone = bench.open();
        save(&mut alone, &format!("project_{turn}.md"), &memory_text("Own", "own", &format!("Own thing {turn}.")));
        assert!(alone.scan().entries.iter().all(|entry| !entry.is_shared()));
        if turn == 1 {
            std::fs::remove_file(bench.path("team/project_gate.md")).unwrap();
        }
        drop(alone);
        bench.place = bench.place.clone().with_team(Team::On);
        let memory = bench.open();
        assert_eq!(memory.rests_on("team/project_yard.md").map(|basis| basis.trust), Some(Trust::Clean));
        let outside: Vec<_> =
            memory.log().unwrap().into_iter().filter(|change| change.cause == Cause::Outside).collect();
        assert_eq!(outside.len(), usize::from(turn > 0), "{outside:?}");
        assert!(outside.iter().all(|change| change.edits.len() == 1 && change.edits[0].path == "team/project_gate.md"));
    }
}
