//! Four days of a developer's work, played to the engine itself: real tools on real files, a scripted model behind the
//! simulated service, a clock that both share. What it leaves on disk is a session like any other.

use crate::stage::Stage;
use jiff::{SignedDuration, Timestamp};
use scrubjay::limits::Limits;
use scrubjay::memory::dreaming::{Judgement, Mode};
use scrubjay::memory::extraction::{Attendance, TOOL};
use scrubjay::memory::{Cause, Change, Edit, Place, SharedMemory};
use scrubjay::message::Block;
use scrubjay::paths::{Layout, ProjectLayout};
use scrubjay::tools::{self, Keeper};
use scrubjay::{Learns, Remembering};
use scrubjay_providers::{Catalogue, Choice, Keys, Provider, connect};
use scrubjay_testkit::simulator::{ModelRow, RecordedRequest, Reply, Script, Simulator, text, tool_use};
use scrubjay_testkit::{FixedClock, Home, Setting, Story};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

pub(crate) const MODEL: &str = "claude-sonnet-5-5";
const WINDOW: u64 = 27_000;

/// The person's own catalogue: the model's prices, in a small window.
pub(crate) fn catalogue() -> String {
    format!("[models.\"{MODEL}\"]\nwindow = {WINDOW}\n")
}

/// A step of the model: a tool and what it is called with.
#[derive(Clone, Copy)]
enum Do {
    /// Some lines of a file, from a line on.
    Read(&'static str, u64, u64),
    Grep(&'static str),
    /// A command that prints much or little.
    Run(&'static str),
    Write(&'static str, &'static str),
}

/// What the person says, after how many minutes, what the model does about it, and what it answers.
struct Turn {
    minutes: u64,
    says: &'static str,
    steps: &'static [Do],
    answer: &'static str,
}

use Do::{Grep, Read, Run, Write};

const fn turn(minutes: u64, says: &'static str, steps: &'static [Do], answer: &'static str) -> Turn {
    Turn { minutes, says, steps, answer }
}

const DAY: u64 = 22 * 60;

#[rustfmt::skip]
const TURNS: &[Turn] = &[
    turn(0, "The seed catalogue loses rows on import. Find out where. Never touch the production database.", &[Grep("import"), Read("src/import.rs", 1, 120), Read("src/store.rs", 1, 100)], "Rows with an empty origin are dropped in `import_row` before validation runs."),
    turn(2, "Show me the failing test.", &[Run("seq 1 4000 | sed 's/^/test import::case_/; s/$/ ... ok/'"), Read("src/import.rs", 60, 80)], "`import::case_1207` fails: it expects 412 rows and gets 409."),
    turn(3, "Why three rows and not one?", &[Read("data/seeds.csv", 1, 260), Grep("origin")], "Three rows have an origin of blanks only; `trim` makes them empty."),
    turn(4, "Fix it, but keep empty origins as unknown, do not invent a value.", &[Read("src/import.rs", 1, 60), Write("src/fix.rs", "pub const UNKNOWN: &str = \"unknown\";\n"), Run("seq 1 900 | sed 's/^/running case /'")], "Empty origins are kept as `unknown`; 412 rows now."),
    turn(22, "From now on always run the import tests before you say that something works.", &[], "Understood: import tests first, then a claim."),
    turn(3, "Next: the search is slow for Latin names. Profile it.", &[Run("seq 1 6000 | sed 's/^/sample /; s/$/ collate::compare 0.8%/'"), Read("src/search.rs", 1, 140), Grep("collate")], "62 % of the time is spent in `collate::compare`, called for every row."),
    turn(5, "Could we sort once and search in that?", &[Read("src/search.rs", 80, 120), Read("src/store.rs", 40, 120)], "Yes: names change only on import, so one sorted index is enough."),
    turn(6, "Do that.", &[Write("src/index.rs", "pub struct Index;\n"), Read("src/index.rs", 1, 20), Run("seq 1 700 | sed 's/^/bench row /'")], "The index is built on import; a search takes 0.4 ms instead of 31 ms."),
    turn(4, "What about names with accents?", &[Grep("accent"), Read("src/search.rs", 1, 90)], "They are compared by their plain letters, as before."),
    turn(DAY, "Good morning. Where were we?", &[Read("src/index.rs", 1, 40)], "Import keeps empty origins, search uses a sorted index; the accents are settled."),
    turn(3, "We decided with Mira that version 3 ships on Friday, 6 March 2026. Plan for that.", &[Read("docs/plan.md", 1, 60)], "Then the migration must be ready on Thursday."),
    turn(4, "Write the migration. It has to be able to go back.", &[Read("src/store.rs", 1, 240), Grep("schema"), Write("src/migrate.rs", "pub fn up() {}\npub fn down() {}\n")], "`migrate::up` and `migrate::down` are there, both in one transaction."),
    turn(8, "Try it on the copy of last year's catalogue.", &[Run("seq 1 5000 | sed 's/^/migrated row /'"), Read("data/seeds.csv", 100, 150)], "5,000 rows there and back; nothing differs."),
    turn(3, "What does the log say about duplicates?", &[Run("seq 1 2500 | sed 's/^/duplicate key seed_/'"), Grep("duplicate")], "2,500 lines name the same 14 keys."),
    turn(18, "That was the wrong file, sorry. The duplicates are in the nursery import.", &[Grep("nursery"), Read("src/nursery.rs", 1, 150)], "The nursery import numbers from 1 again for each supplier."),
    turn(5, "Give each supplier its own range.", &[Read("src/nursery.rs", 40, 120), Write("src/range.rs", "pub struct Range;\n"), Run("seq 1 1200 | sed 's/^/nursery case /'")], "Ranges of 100,000 for each supplier; no duplicates are left."),
    turn(6, "Are there other places that count like that?", &[Grep("next_id"), Read("src/orders.rs", 1, 160), Read("src/labels.rs", 1, 120)], "Orders and labels count globally, so they are fine."),
    turn(4, "Label printing cuts long names. Look at it.", &[Read("src/labels.rs", 1, 160), Read("src/labels.rs", 120, 80)], "Names are cut at 24 bytes, in the middle of a letter."),
    turn(3, "Cut at a letter and add a dot.", &[Read("src/labels.rs", 30, 60), Run("seq 1 500 | sed 's/^/label case /'")], "Names are cut at a whole letter and end in a dot."),
    turn(DAY, "Day three. The migration first: what is still open?", &[Read("src/migrate.rs", 1, 60), Read("docs/plan.md", 1, 60)], "Only the check of foreign keys."),
    turn(4, "Add that check.", &[Read("src/store.rs", 60, 140), Grep("foreign"), Run("seq 1 3000 | sed 's/^/checked key /'")], "The check runs before the commit and names each key that is missing."),
    turn(7, "Why does it take four seconds?", &[Run("seq 1 6500 | sed 's/^/sample /; s/$/ sqlite::step 0.1%/'"), Read("src/migrate.rs", 1, 90)], "There is no index on `supplier_id`; with one it takes 90 ms."),
    turn(2, "Add it in the same migration.", &[Read("src/migrate.rs", 20, 40), Run("seq 1 300 | sed 's/^/import case /'")], "It is there, and the import tests pass."),
    turn(3, "Now the report for growers. One page each, metric units only.", &[Read("src/orders.rs", 80, 140), Read("src/labels.rs", 1, 60), Write("src/report.rs", "pub fn page() {}\n")], "`report::page` writes one page for a grower."),
    turn(9, "The table is too wide for A5.", &[Read("src/report.rs", 1, 80), Grep("width")], "Two columns are merged; it fits A5 now."),
    turn(4, "Sum the weights, too.", &[Read("src/report.rs", 1, 80), Run("seq 1 450 | sed 's/^/report case /'")], "Weights are summed for each species."),
    turn(DAY, "Last day before the release. Run everything.", &[Run("seq 1 7000 | sed 's/^/test all::case_/; s/$/ ... ok/'"), Read("docs/plan.md", 1, 60)], "7,000 cases, all of them pass."),
    turn(5, "What could still go wrong tomorrow?", &[Read("src/migrate.rs", 1, 90), Read("src/import.rs", 1, 90), Grep("unwrap")], "Two calls in the import can still panic on a broken line."),
    turn(3, "Make them errors that name the line.", &[Read("src/import.rs", 30, 90), Run("seq 1 600 | sed 's/^/import case /'")], "Both are errors now; the tests of the import pass."),
    turn(6, "Write the notes for the release.", &[Read("docs/plan.md", 1, 60), Read("src/report.rs", 1, 60), Write("docs/release.md", "# Version 3\n")], "They are in `docs/release.md`."),
];

const SUMMARY: &str = "<summary>\n## 1. Primary Request and Intent\nThe seed catalogue: no row lost on import, a fast search, a migration \
    that can go back. Never touch the production database.\n## 3. Files and Code\nsrc/import.rs, src/search.rs, src/migrate.rs\n\
    ## 8. Current Work\nThe migration.\n</summary>";

/// What the model does next: which turn, and how many steps of it are done.
type Cue = Arc<Mutex<(usize, usize)>>;

fn answer(request: &RecordedRequest, place: &Cue) -> Reply {
    let asked = request.last_user_text();
    let all = request.all_text();
    if asked.contains("will be replaced by a summary") {
        return text(SUMMARY);
    }
    if all.contains("<scrubjay-errand name=\"session_notes\"") || asked.contains("name=\"session_notes\"") {
        return note(&all, request);
    }
    if is_learner(request) {
        return learn(&all);
    }
    if all.contains("<scrubjay-errand ") {
        return text("done");
    }
    let mut place = place.lock().unwrap();
    let (turn, step) = *place;
    place.1 += 1;
    match TURNS[turn].steps.get(step) {
        Some(step) => call(*step),
        None => text(TURNS[turn].answer),
    }
}

fn call(step: Do) -> Reply {
    match step {
        Read(file, offset, limit) => tool_use("Read", json!({ "file_path": file, "offset": offset, "limit": limit })),
        Grep(pattern) => tool_use("Grep", json!({ "pattern": pattern, "output_mode": "content" })),
        Run(command) => tool_use("Bash", json!({ "command": command })),
        Write(file, content) => tool_use("Write", json!({ "file_path": file, "content": content })),
    }
}

/// Writes a line below a heading of the notes, once.
fn note(all: &str, request: &RecordedRequest) -> Reply {
    let old = "_What is being done at this moment, what is unfinished, what comes next_";
    let last = request.messages().last().map(ToString::to_string).unwrap_or_default();
    if last.contains("tool_result") {
        return text("noted");
    }
    let file = all.rsplit("The notes are in ").next().and_then(|rest| rest.split(" and read now").next());
    let new = format!("{old}\nThe catalogue's import, search and migration; version 3 ships on Friday, 6 March 2026.");
    tool_use("Edit", json!({ "file_path": file, "old_string": old, "new_string": new }))
}

/// What is worth keeping, in the words it was said in: type, name, description, words.
#[rustfmt::skip]
const LEARNED: &[(&str, &str, &str, &str)] = &[
    ("feedback", "import tests", "import tests run before a claim", "From now on always run the import tests before you say that something works."),
    ("project", "version 3", "when version 3 ships", "We decided with Mira that version 3 ships on Friday, 6 March 2026."),
    ("project", "growers report", "the report for growers", "Now the report for growers. One page each, metric units only."),
];

/// Whether the learner asks.
pub(crate) fn is_learner(request: &RecordedRequest) -> bool {
    request.tool_names() == [TOOL]
}

/// What the learner answers: memories in full, as JSON.
pub(crate) fn learned(memories: &Value) -> Reply {
    tool_use(TOOL, json!({ "memories": memories, "look_back": [] }))
}

/// What was said in the words that are shown.
fn learn(all: &str) -> Reply {
    let memories: Vec<Value> = LEARNED
        .iter()
        .filter(|(.., words)| all.contains(words))
        .map(|(kind, name, description, words)| {
            json!({ "action": "create", "type": kind, "name": name, "description": description, "statement": words,
                "why": "", "how_to_apply": "", "cites": [words] })
        })
        .collect();
    learned(&memories.into())
}

/// Every limit in proportion to the window.
fn limits() -> Limits {
    Limits {
        shell_result_chars: 8_000,
        preview_bytes: 700,
        notes_first_tokens: 9_000,
        notes_every_tokens: 9_000,
        notes_wait_ms: 60_000,
        kept_least_tokens: 2_000,
        kept_least_messages: 2,
        kept_most_tokens: 9_000,
        restored_files: 2,
        restored_file_tokens: 800,
        ..Limits::default()
    }
}

fn layout(stage: &Stage) -> ProjectLayout {
    let root = stage.project().canonicalize().unwrap();
    Layout::at(stage.home().join("data")).project(&root, &Limits::default())
}

fn files(home: &Home) {
    let code = |word: &str| -> String {
        (0..320)
            .map(|n| format!("pub fn {word}_{n}(origin: &str) -> usize {{ origin.len() + {n} }} // {word}, row {n}\n"))
            .collect()
    };
    for word in ["import", "store", "search", "nursery", "orders", "labels", "collate"] {
        home.write(&format!("src/{word}.rs"), code(word)).unwrap();
    }
    let rows: String =
        (0..400).map(|n| format!("{n},Quercus robur var. {n},origin {},accent é,duplicate nursery\n", n % 7)).collect();
    home.write("data/seeds.csv", rows).unwrap();
    home.write("docs/plan.md", "# Version 3\n\n- import\n- search\n- migration, foreign keys, schema\n".repeat(8))
        .unwrap();
    for name in ["index", "migrate", "report"] {
        home.write(
            &format!("src/{name}.rs"),
            format!("pub struct Schema; // {name}: next_id, width, unwrap, foreign\n").repeat(60),
        )
        .unwrap();
    }
}

/// Play the first so many turns, and leave the session where the program looks for it, under the id `story`.
pub(crate) async fn play(stage: &Stage, turns: usize) {
    let place: Cue = Arc::default();
    let here = place.clone();
    let script = Script::new().otherwise_with(move |request| answer(request, &here));
    let simulator =
        Simulator::builder().script(script).model(ModelRow::new(MODEL).window(WINDOW)).start().await.unwrap();
    let (clock, began) =
        (FixedClock::at("2026-03-02T09:12:00Z".parse::<Timestamp>().unwrap()), simulator.clock().clone());
    began.set("2026-03-02T09:12:00Z".parse().unwrap());
    let project = layout(stage);
    let (memory, _) =
        SharedMemory::open(&Place::of(&project), &project, Arc::new(clock.clone()), &Limits::default()).unwrap();
    let mut story = begin(&simulator, &clock, &memory, &project);
    for (number, turn) in TURNS.iter().take(turns).enumerate() {
        let minutes = SignedDuration::from_mins(turn.minutes.try_into().unwrap());
        clock.advance(minutes);
        simulator.clock().advance(Duration::from_secs(60 * turn.minutes));
        *place.lock().unwrap() = (number, 0);
        story.session.ask(vec![Block::text(turn.says)]).await.unwrap();
        assert!(story.session.wait_for_background(Duration::from_secs(60)).await.unwrap());
    }
    story.check();
    dream(&story, &memory);
    settle(story, project.dir());
}

/// The person writes something down twice, and a dream makes one memory of it.
fn dream(story: &Story, memory: &SharedMemory) {
    let text = |more: &str| {
        let header = "---\nname: suppliers\ndescription: where suppliers send their lists\ntype: project\n---";
        format!("{header}\n\nSuppliers send their lists on Monday. Mira checks them before noon.{more}\n")
    };
    let edits = vec![
        Edit::create("project_suppliers.md", text("")),
        Edit::create("project_suppliers_again.md", text(" The lists are long.")),
    ];
    memory.with(|memory| memory.commit(Change { cause: Cause::Person, edits })).unwrap();
    let dreams = story.session.dreams().unwrap().in_mode(Mode::Auto);
    let dream = dreams.plan(dreams.news("story").unwrap(), CancellationToken::new()).unwrap();
    assert!(dream.land(Judgement::Nobody).unwrap().receipt.is_some());
}

fn begin(simulator: &Simulator, clock: &FixedClock, memory: &SharedMemory, project: &ProjectLayout) -> Story {
    let keys = Keys::from_values(&BTreeMap::from([("ANTHROPIC_API_KEY".to_owned(), "k".to_owned())]));
    let choice = Choice {
        model: MODEL.to_owned(),
        base_url: Some(simulator.url()),
        provider: Some(Provider::Anthropic),
        ..Choice::default()
    };
    let limits = limits();
    let model = connect(&choice, &keys, &Catalogue::with(Some(&catalogue())).unwrap(), &limits).unwrap();
    let keeper: Arc<dyn Keeper> = Arc::new(memory.clone());
    let mut setting = Setting::new(model).tools(tools::kept_by(Some(keeper), &[], &limits));
    (setting.limits, setting.clock) = (limits, clock.clone());
    let home = Home::new().unwrap();
    files(&home);
    let mut story = setting.begin_in(home).unwrap();
    let from = Remembering { memory: memory.clone(), chooser: None, root: story.home.project() };
    let learns = Learns { transcripts: project.dir().to_owned(), attendance: Attendance::Person, model: None };
    story.session = story.session.remembering(from).learning(learns);
    story
}

/// Put the session where the program looks for it.
fn settle(story: Story, dir: &Path) {
    let Story { session, home, .. } = story;
    drop(session);
    fs::create_dir_all(dir.join("story")).unwrap();
    fs::copy(home.data().join("story.jsonl"), dir.join("story.jsonl")).unwrap();
    fs::copy(home.data().join("story/ledger.jsonl"), dir.join("story/ledger.jsonl")).unwrap();
}
