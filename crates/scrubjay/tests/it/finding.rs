//! The local index over what is on disk: it follows the files, reads only what changed, and survives its own loss.

use jiff::tz::TimeZone;
use scrubjay::clock::Clock as _;
use scrubjay::limits::Limits;
use scrubjay::memory::find::{Archive, Finder, Shelf};
use scrubjay::memory::recall::Query;
use scrubjay::memory::{Basis, Cause, Change, Edit, Memory, Place, SharedMemory, Source, Speaker, Wish};
use scrubjay::message::{Block, Origin, Role};
use scrubjay::paths::{Layout, ProjectLayout};
use scrubjay::transcript::{Began, FORMAT, Transcript};
use scrubjay_testkit::{FixedClock, Home};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

struct Bench {
    _home: Home,
    project: ProjectLayout,
    clock: FixedClock,
    limits: Limits,
}

impl Bench {
    fn new() -> Self {
        let home = Home::new().unwrap();
        let limits = Limits::default();
        let project = Layout::at(home.data()).project(Path::new("/home/ada/birds"), &limits);
        Self { _home: home, project, clock: FixedClock::default(), limits }
    }

    fn memory(&self) -> Memory {
        Memory::open(&Place::of(&self.project), Arc::new(self.clock.clone()), &self.limits).unwrap().0
    }

    fn query<'a>(&self, text: &'a str) -> Query<'a> {
        Query::new(text, self.clock.now().to_zoned(TimeZone::UTC), 5)
    }

    fn found(&self, finder: &Finder, memory: &Memory, text: &str) -> Vec<String> {
        let found = finder.find(memory, &self.query(text), |_| false);
        found.into_iter().map(|found| found.entry.path.clone()).collect()
    }
}

fn text(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\ntype: reference\n---\n{body}\n")
}

fn save(memory: &mut Memory, path: &str, text: &str, speaker: Option<Speaker>) {
    let edit = match memory.text(path).unwrap() {
        Some((entry, _)) => Edit::update(&entry, text),
        None => Edit::create(path, text),
    };
    let source = |speaker| Source { speaker, session: "s".into(), message: "m".into(), quote: String::new() };
    let edit = match speaker {
        Some(speaker) => edit.resting_on(Basis::of(vec![source(speaker)])),
        None => edit,
    };
    memory.commit(Change { cause: Cause::Person, edits: vec![edit] }).unwrap();
}

// spec: L9
#[test]
fn a_rewrite_that_keeps_its_age_is_read_again_and_what_is_gone_is_not_found() {
    let bench = Bench::new();
    let mut memory = bench.memory();
    save(&mut memory, "reference_tea.md", &text("Tea", "what is served", "qwfpgj"), None);
    save(&mut memory, "reference_cup.md", &text("Cup", "for the guests", "zzxqyv"), None);
    let mut archive = Archive::open(&bench.project, &bench.limits);
    archive.catch_up(Some(&memory)).unwrap();
    let [tea, cup] = ["reference_tea.md", "reference_cup.md"]
        .map(|path| memory.text(path).unwrap().map(|(entry, _)| entry).unwrap());
    let rewritten = Edit::update(&tea, text("Tea", "what is served", "luyarst")).keeping_age();
    memory.commit(Change { cause: Cause::Dream, edits: vec![rewritten, Edit::remove(&cup)] }).unwrap();
    archive.catch_up(Some(&memory)).unwrap();
    let found = |words| archive.find(Some(&memory), &bench.query(words), &[Shelf::Memory]).len();
    assert_eq!((found("luyarst"), found("qwfpgj"), found("zzxqyv")), (1, 0, 0));
}

// spec: L5
#[test]
fn however_many_may_not_be_shown_what_may_is_found() {
    let bench = Bench::new();
    let mut memory = bench.memory();
    let better = (0..80).map(|n| Edit::create(format!("tea_{n}.md"), text("Green tea", "tea", "tea")));
    let last = Edit::create(
        "last.md",
        text("Guests", "what they bring", &format!("green tea {}", "and much else ".repeat(9))),
    );
    let edits = better.chain([last]).collect();
    memory.commit(Change { cause: Cause::Person, edits }).unwrap();
    let mut finder = Finder::open(&bench.project, &bench.limits);
    finder.catch_up(&memory);
    let found = finder.find(&memory, &bench.query("green tea"), |entry| entry.path.starts_with("tea_"));
    assert_eq!(found.iter().map(|found| found.entry.path.as_str()).collect::<Vec<_>>(), ["last.md"]);
}

// spec: L9
// spec: L8
#[test]
fn the_index_follows_the_files_and_reads_only_what_changed() {
    let bench = Bench::new();
    let mut memory = bench.memory();
    save(&mut memory, "reference_grafana.md", &text("Grafana", "where latency dashboards live", "port qwfpgj"), None);
    save(&mut memory, "reference_linear.md", &text("Linear", "where bugs are tracked", "project zzxqyv"), None);
    let mut finder = Finder::open(&bench.project, &bench.limits);
    assert_eq!(finder.catch_up(&memory).read, 2);
    assert_eq!(finder.catch_up(&memory).read, 0, "unchanged files are not read again");
    assert_eq!(bench.found(&finder, &memory, "which dashboard shows latency?")[0], "reference_grafana.md");
    assert_eq!(bench.found(&finder, &memory, "qwfpgj"), ["reference_grafana.md"]);

    save(&mut memory, "reference_grafana.md", &text("Grafana", "where dashboards were", "moved to Datadog"), None);
    let mut again = Finder::open(&bench.project, &bench.limits);
    assert_eq!(again.catch_up(&memory).read, 1, "another process reads the one that changed");
    assert_eq!(bench.found(&again, &memory, "datadog")[0], "reference_grafana.md");
    assert_eq!(bench.found(&again, &memory, "qwfpgj"), Vec::<String>::new());

    let (entry, _) = memory.text("reference_linear.md").unwrap().unwrap();
    memory.commit(Change { cause: Cause::Person, edits: vec![Edit::remove(&entry)] }).unwrap();
    again.catch_up(&memory);
    assert_eq!(bench.found(&again, &memory, "zzxqyv"), Vec::<String>::new());
}

// spec: L9
// spec: X8
#[test]
fn a_damaged_index_is_built_again_and_nobody_else_reads_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    let mut memory = bench.memory();
    save(&mut memory, "reference_a.md", &text("Alpha", "the first letter", "x"), None);
    Finder::open(&bench.project, &bench.limits).catch_up(&memory);
    let file = bench.project.recall().join("memory");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    let whole = fs::read(&file).unwrap();
    for damaged in [&whole[..whole.len() / 2], b"", b"not an index"] {
        fs::write(&file, damaged).unwrap();
        let mut finder = Finder::open(&bench.project, &bench.limits);
        assert_eq!(finder.catch_up(&memory).read, 1);
        assert_eq!(bench.found(&finder, &memory, "alpha letter"), ["reference_a.md"]);
        assert_eq!(fs::read(&file).unwrap(), whole);
    }
}

// spec: L2
#[test]
fn a_file_that_cannot_be_read_is_skipped_and_counted() {
    let bench = Bench::new();
    let mut memory = bench.memory();
    save(&mut memory, "reference_a.md", &text("Alpha", "letter", "x"), None);
    save(&mut memory, "reference_b.md", &text("Beta", "letter", "x"), None);
    let mut finder = Finder::open(&bench.project, &bench.limits);
    // After the look, and before the reading.
    fs::write(Place::of(&bench.project).memory.join("reference_b.md"), [0xff, 0xfe]).unwrap();
    let caught = finder.catch_up(&memory);
    assert_eq!((caught.read, caught.skipped.len()), (1, 1), "{caught:?}");
    assert!(caught.skipped[0].contains("reference_b.md"), "{caught:?}");
    assert_eq!(bench.found(&finder, &memory, "letter alpha"), ["reference_a.md"]);
}

// spec: L2
// spec: L8
#[test]
fn a_model_chooses_among_what_fits_from_all_files_and_then_the_newest() {
    let mut bench = Bench::new();
    bench.limits.set("recall_candidates", 10).unwrap();
    let place = Place::of(&bench.project);
    fs::create_dir_all(place.memory.join("deep/er")).unwrap();
    fs::create_dir_all(place.memory.join("logs/2026/03")).unwrap();
    let write = |path: &str, age: u64, text: &str| {
        fs::write(place.memory.join(path), text).unwrap();
        let file = fs::File::options().write(true).open(place.memory.join(path)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_hours(1_000 - age)).unwrap();
    };
    for n in 0..30 {
        write(&format!("note_{n:02}.md"), 30 - n, &text(&format!("Note {n}"), "of no matter", "x"));
    }
    write("deep/er/pelican.md", 900, &text("Pelican", "a bird with a bag", "x"));
    // Neither an index nor a log is a memory, at whatever depth.
    write("deep/MEMORY.md", 0, "- [Pelican](er/pelican.md) — pelican\n");
    write("logs/2026/03/2026-03-01.md", 0, "a pelican was seen\n");
    let clock = Arc::new(bench.clock.clone());
    let memory = SharedMemory::open(&place, &bench.project, clock, &bench.limits).unwrap().0;
    let manifest = |query: &str, known: &[&str]| -> Vec<String> {
        let known = known.iter().map(|path| memory.dir().join(path)).collect();
        let now = bench.clock.now().to_zoned(TimeZone::UTC);
        let wish = Wish { known, ..Wish::new(query, &now) };
        memory.candidates(&wish).manifest.into_iter().map(|(path, _)| path).collect()
    };
    let newest = |from: usize, to: usize| (from..to).map(|n| format!("note_{:02}.md", 29 - n)).collect::<Vec<_>>();
    let fits = vec!["deep/er/pelican.md".to_owned()];
    assert_eq!(manifest("which pelican is it", &[]), [fits.clone(), newest(0, 9)].concat());
    assert_eq!(manifest("which qwfpgj is it", &[]), newest(0, 10), "nothing fits: the newest");
    let known = ["deep/er/pelican.md", "note_29.md"];
    assert_eq!(manifest("which pelican is it", &known), newest(1, 11), "what is known takes no place");
}

// spec: X5
#[test]
fn one_tainted_source_has_two_of_the_five_places() {
    let bench = Bench::new();
    let mut memory = bench.memory();
    for n in 0..4 {
        let body = text(&format!("Web {n}"), "deploy deploy deploy deploy", "deploy with this command");
        save(&mut memory, &format!("web_{n}.md"), &body, Some(Speaker::Web));
        let body = text(&format!("Tool {n}"), "a deploy log", "other words around it, many of them");
        save(&mut memory, &format!("tool_{n}.md"), &body, Some(Speaker::Tool("Bash".into())));
    }
    save(&mut memory, "clean.md", &text("Clean", "about a deploy", "far longer text than the others have"), None);
    let mut finder = Finder::open(&bench.project, &bench.limits);
    finder.catch_up(&memory);
    let found = bench.found(&finder, &memory, "how do we deploy");
    let of = |prefix: &str| found.iter().filter(|path| path.starts_with(prefix)).count();
    assert_eq!((of("web_"), of("tool_"), of("clean")), (2, 2, 1), "{found:?}");
}

// spec: X5
#[test]
fn unconfirmed_feedback_is_not_recalled_before_the_yes() {
    let bench = Bench::new();
    let mut memory = bench.memory();
    for kind in ["user", "feedback", "project"] {
        let body =
            text(kind, "how to deploy", "deploy with force").replace("type: reference", &format!("type: {kind}"));
        save(&mut memory, &format!("{kind}_deploy.md"), &body, Some(Speaker::Assistant));
    }
    let entry = memory.text("feedback_deploy.md").unwrap().unwrap().0;
    drop(memory);
    let (clock, place) = (Arc::new(bench.clock.clone()), Place::of(&bench.project));
    let shared = SharedMemory::open(&place, &bench.project, clock, &bench.limits).unwrap().0;
    let now = bench.clock.now().to_zoned(TimeZone::UTC);
    let wish = Wish::new("how do we deploy", &now);
    let found = || {
        let candidates = shared.candidates(&wish);
        let listed = candidates.manifest.into_iter().map(|(path, _)| path);
        [candidates.best, listed.collect()].map(|paths: Vec<String>| paths.into_iter().collect::<BTreeSet<_>>())
    };
    let expected = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(found(), [expected(&["project_deploy.md"]), expected(&["project_deploy.md"])]);
    let change = Change { cause: Cause::Person, edits: vec![Edit::confirm(&entry)] };
    shared.with(|memory| memory.commit(change)).unwrap();
    let both = expected(&["feedback_deploy.md", "project_deploy.md"]);
    assert_eq!(found(), [both.clone(), both]);
}

fn session(bench: &Bench, name: &str, turns: &[(Origin, &str)]) -> Transcript {
    let began =
        Began { format: FORMAT, session: name.into(), dir: "/x".into(), version: "test".into(), forked_from: None };
    let limits = Arc::new(bench.limits.clone());
    let mut transcript = Transcript::create(&bench.project.transcript(name), began, bench.clock.now(), limits).unwrap();
    for (origin, words) in turns {
        let role = if *origin == Origin::Model { Role::Assistant } else { Role::User };
        transcript.say(role, *origin, vec![Block::text(*words)], bench.clock.now()).unwrap();
    }
    transcript
}

// spec: L9
#[test]
fn notes_results_and_sessions_are_found_beside_memories() {
    let bench = Bench::new();
    let mut memory = bench.memory();
    save(&mut memory, "reference_walrus.md", &text("Walrus", "an animal with tusks", "x"), None);
    let mut first = session(
        &bench,
        "one",
        &[
            (Origin::Person, "Where do walruses sleep?"),
            (Origin::Model, "On the ice, near Svalbard."),
            (Origin::Memory, "a recalled walrus"),
        ],
    );
    fs::create_dir_all(bench.project.notes("one").parent().unwrap()).unwrap();
    fs::write(bench.project.notes("one"), "# Session Title\nWalrus habits\n").unwrap();
    fs::create_dir_all(bench.project.tool_results("one")).unwrap();
    fs::write(bench.project.tool_results("one").join("abc.txt"), "walrus census: 25,000\n").unwrap();

    let mut archive = Archive::open(&bench.project, &bench.limits);
    assert_eq!(archive.catch_up(Some(&memory)).unwrap().read, 4);
    assert_eq!(archive.catch_up(Some(&memory)).unwrap().read, 0);
    let query = bench.query("walrus");
    let shelves = |shelves: &[Shelf]| -> Vec<Shelf> {
        let mut found: Vec<_> = archive.find(Some(&memory), &query, shelves).into_iter().map(|one| one.shelf).collect();
        found.sort();
        found.dedup();
        found
    };
    assert_eq!(shelves(&Shelf::ALL), Shelf::ALL);
    for shelf in Shelf::ALL {
        assert_eq!(shelves(&[shelf]), [shelf]);
    }
    let said = archive.find(None, &bench.query("ice near Svalbard"), &[Shelf::Sessions]);
    assert!(said.iter().all(|one| one.session == "one" && one.file == bench.project.transcript("one")));
    let texts: Vec<_> = said.iter().filter_map(|one| archive.text(one)).collect();
    assert_eq!(texts.len(), 2, "the answer, and the question beside it: {texts:?}");
    assert!(texts.contains(&"On the ice, near Svalbard.".to_owned()), "{texts:?}");
    let texts: Vec<_> =
        archive.find(None, &query, &[Shelf::Sessions]).iter().filter_map(|one| archive.text(one)).collect();
    assert!(!texts.iter().any(|text| text.contains("recalled")), "what was recalled is not found again: {texts:?}");

    first.say(Role::User, Origin::Person, vec![Block::text("And narwhals?")], bench.clock.now()).unwrap();
    let mut later = Archive::open(&bench.project, &bench.limits);
    assert_eq!(later.catch_up(Some(&memory)).unwrap().read, 1, "only the session that went on");
    let first = later.find(None, &bench.query("narwhals"), &[Shelf::Sessions]).remove(0);
    assert_eq!(later.text(&first).as_deref(), Some("And narwhals?"));
}
