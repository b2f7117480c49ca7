//! What learning costs: an afternoon of work in 19 turns, at the catalogue's prices, billed by what each request holds.

use jiff::SignedDuration;
use scrubjay::clock::Clock as _;
use scrubjay::ledger::{Called, Row};
use scrubjay::limits::Limits;
use scrubjay::memory::extraction::{Attendance, TOOL};
use scrubjay::memory::{Place, SharedMemory};
use scrubjay::message::{Block, Origin, Question, Usage};
use scrubjay::model::{Model, Pending};
use scrubjay::paths::Layout;
use scrubjay::prompt::Prompt;
use scrubjay::prompt_cache::bill::{Biller, Part};
use scrubjay::tool::{Bench, Effect, Tool, ToolOutcome};
use scrubjay::transcript::ToolSpec;
use scrubjay::{Learns, Remembering};
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_providers::{Catalogue, Choice, Keys, cheapest};
use scrubjay_testkit::{FixedClock, Home, Setting, Story};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Calls of tools in a turn, and below what each prints: as in the recorded sessions, where the median of calls to a typed message is
/// seven, the last one the answer, and a tool prints 2,300 characters in the mean. With fewer calls learning weighs more.
const CALLS: usize = 6;
/// An answer of the learner's is charged at least this much.
const LEAST_OUTPUT: u64 = 300;
const BYTES_PER_TOKEN: usize = 4;

/// What is typed; and what should be learned of it: type, name, description, statement, why, how to apply, cited words.
type Lesson = [&'static str; 7];
const TURNS: &[(&str, Option<Lesson>)] = &[
    (
        "have a look at the ingest worker, it drops the last batch when the queue is closed while it is still reading. find out where that happens before you change anything",
        None,
    ),
    (
        "ok that makes sense. fix it in the reader and not in the queue, the queue belongs to the platform group and every change there takes them two weeks to review",
        Some([
            "project",
            "The queue belongs to the platform group",
            "Changes to the queue are reviewed by the platform group and take two weeks",
            "The queue belongs to the platform group; a change there takes two weeks of review.",
            "The user wanted the lost batch fixed in the reader, because every change of the queue waits for another group.",
            "Look for a fix on our own side first when a bug touches the queue, and say so where there is none.",
            "the queue belongs to the platform group and every change there takes them two weeks to review",
        ]),
    ),
    (
        "write a test for it first, one that fails now. I always want to see the failing test before the fix, otherwise I do not believe that it tests anything",
        Some([
            "feedback",
            "Failing test before the fix",
            "The user wants to see a test fail before the fix is written",
            "Write a test that fails and show it failing before writing the fix.",
            "The user does not believe that a test tests anything if nobody has seen it fail.",
            "Every bug fix with a test; run it once before the change and quote its failure.",
            "I always want to see the failing test before the fix",
        ]),
    ),
    ("good. now the fix", None),
    ("run the whole suite please and tell me how long it takes", None),
    (
        "please stop explaining every line you changed, I read the diff myself. two sentences about what and why are enough",
        Some([
            "feedback",
            "Short reports of changes",
            "Two sentences about what changed and why; no walk through the diff",
            "Report a change in two sentences, what and why, without going through its lines.",
            "The user reads the diff and finds an explanation of every line a waste of time.",
            "After every change of code; longer only when the user asks about a part of it.",
            "stop explaining every line you changed, I read the diff myself",
        ]),
    ),
    ("what else reads from that queue? list the callers with the file names", None),
    (
        "the export job has the same bug then. same fix there, but keep it in a commit of its own, I revert by commit when something goes wrong in production",
        Some([
            "feedback",
            "One fix to a commit",
            "Fixes of different places go into commits of their own, so that each can be reverted",
            "Put the fix of each place into a commit of its own.",
            "The user reverts by commit when something goes wrong in production.",
            "Whenever a change touches more than one job or service; offer to split before committing.",
            "keep it in a commit of its own, I revert by commit when something goes wrong in production",
        ]),
    ),
    ("rerun the export tests", None),
    (
        "they are flaky, yes. the failures of the nightly run are collected on the board called Night Watch, look there before you start to dig, Priya triages them every morning",
        Some([
            "reference",
            "Failures of the nightly run",
            "Failures of the nightly run are collected on the board Night Watch, triaged by Priya every morning",
            "Failures of the nightly run are on the board Night Watch; Priya triages them every morning.",
            "",
            "Look there before looking into a flaky test.",
            "the failures of the nightly run are collected on the board called Night Watch",
        ]),
    ),
    (
        "next thing. the retry helper waits with a fixed delay, make that exponential with some jitter and a cap, and keep the signature as it is",
        None,
    ),
    (
        "no new dependency for this! we had an audit in spring and every crate that we add has to be argued for, so a few lines of our own are better than a crate with a tree behind it",
        Some([
            "feedback",
            "No new crates for small things",
            "A few lines of our own rather than a new dependency; each one has to be argued for since an audit",
            "Do not add a dependency for what a few lines of our own can do.",
            "Since an audit in spring every crate that is added has to be argued for.",
            "Before any new entry among the dependencies; name the crate and its tree and ask.",
            "every crate that we add has to be argued for, so a few lines of our own are better than a crate",
        ]),
    ),
    ("better. show me the numbers for ten retries", None),
    (
        "I come from ops by the way and have never written a macro in this language, so explain the one in the metrics file to me as if I knew nothing about it",
        Some([
            "user",
            "From operations, new to macros",
            "The user comes from operations and has never written a macro",
            "The user comes from operations and has never written a macro in this language.",
            "",
            "Explain macros from the ground up; operations and production need no explanation.",
            "I come from ops by the way and have never written a macro in this language",
        ]),
    ),
    ("thanks, clear now. can the label be taken out of the macro without touching the forty places that use it?", None),
    (
        "do it then. and we decided yesterday with Jonas that the old metric names stay until the dashboards are moved, so write both for now",
        Some([
            "project",
            "Old and new metric names side by side",
            "Old metric names stay until the dashboards are moved, decided with Jonas",
            "Metrics are written under the old and the new names until the dashboards are moved.",
            "It was decided with Jonas, because the dashboards still read the old names.",
            "Any change of metrics; do not remove an old name before the dashboards are moved.",
            "we decided yesterday with Jonas that the old metric names stay until the dashboards are moved",
        ]),
    ),
    (
        "check that nothing else parses those names, the billing report for instance. it has broken twice because of a renamed metric and finance only noticed at the end of the month",
        Some([
            "project",
            "The billing report parses metric names",
            "The billing report broke twice because of a renamed metric, noticed only at the end of the month",
            "The billing report depends on metric names and has broken twice because of a renamed one.",
            "Finance noticed only at the end of the month.",
            "Check the billing report whenever a metric is renamed or removed.",
            "it has broken twice because of a renamed metric and finance only noticed at the end of the month",
        ]),
    ),
    (
        "fine, commit all of it. imperative subjects, no prefixes like feat or fix, the changelog script stumbles over them",
        Some([
            "feedback",
            "Commit subjects without prefixes",
            "Imperative subjects, no feat or fix prefixes: the changelog script stumbles over them",
            "Write imperative commit subjects without prefixes such as feat or fix.",
            "The changelog script stumbles over prefixes.",
            "Every commit in this repository.",
            "imperative subjects, no prefixes like feat or fix, the changelog script stumbles over them",
        ]),
    ),
    ("and summarise the afternoon for the stand-up in five lines", None),
];

/// Prints one to four kilobytes.
struct Shell {
    spec: ToolSpec,
    calls: AtomicUsize,
}

impl Tool for Shell {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, _input: &Value, _dir: &Path) -> Effect {
        Effect::Nothing
    }

    fn call<'a>(&'a self, _input: &'a Value, _bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let line = move |at: usize| {
            format!("src/part_{:02}/file_{at:03}.rs:{}: let item_{at} = reader.take();\n", number % 90, at * 7)
        };
        let lines = 20 + 20 * (number % 3);
        Box::pin(async move { ToolOutcome::ok((0..lines).map(line).collect::<String>()) })
    }
}

fn shell() -> Arc<dyn Tool> {
    let schema =
        json!({ "type": "object", "properties": { "command": { "type": "string" } }, "required": ["command"] });
    Arc::new(Shell {
        spec: ToolSpec::new("Shell", "Run a command and read what it prints.", &schema),
        calls: AtomicUsize::new(0),
    })
}

/// A service that bills what it is sent, by the published rules.
struct Service {
    biller: Mutex<Biller>,
    clock: FixedClock,
}

impl Service {
    fn new(min_cacheable: Option<u64>, clock: &FixedClock) -> Self {
        let scale = |part: Part<'_>| part.chars().div_ceil(BYTES_PER_TOKEN) as u64;
        let biller = Biller::new(min_cacheable.unwrap_or(1_024), Box::new(scale));
        Self { biller: Mutex::new(biller), clock: clock.clone() }
    }

    fn bill(&self, prompt: &Prompt, says: &Block, least: u64) -> Usage {
        let mut biller = self.biller.lock().unwrap();
        let output = biller.weigh(says).max(least);
        Usage { output, ..biller.bill(prompt, self.clock.now()).usage }
    }
}

fn working(name: &str, catalogue: &Catalogue, clock: &FixedClock) -> Scripted {
    let facts = catalogue.find(name).unwrap();
    let service = Service::new(facts.min_cacheable, clock);
    let answer = move |prompt: &Prompt| {
        let rounds = prompt.history.iter().rev().take_while(|message| message.origin != Origin::Person);
        let rounds = rounds.filter(|message| message.origin == Origin::Tool).count();
        if rounds < CALLS {
            let command = format!("rg --line-number 'reader.take' src/part_{rounds:02} | sort | head -n 80");
            let says = Block::tool_use("x".into(), "Shell", json!({ "command": command }));
            let usage = service.bill(prompt, &says, 0);
            return Ok(Turn::text("Next I look at where this is read.")
                .and_call("Shell", json!({ "command": command }))
                .counting(usage));
        }
        let words = 100 + 75 * (prompt.history.len() % 5);
        let text = "the batch is read to its end before the worker stops and "
            .split(' ')
            .cycle()
            .take(words)
            .collect::<Vec<_>>()
            .join(" ");
        let usage = service.bill(prompt, &Block::text(text.as_str()), 0);
        Ok(Turn::text(text).counting(usage))
    };
    Scripted::new().named(name).priced(facts.prices.known().unwrap()).afterwards(answer)
}

fn learning(name: &str, catalogue: &Catalogue, clock: &FixedClock) -> Scripted {
    let facts = catalogue.find(name).unwrap();
    let service = Service::new(facts.min_cacheable, clock);
    let answer = move |prompt: &Prompt| {
        let request = crate::extraction::asked(prompt);
        let fresh = request.split("What the user typed:").nth(1).unwrap_or_default();
        let lessons = TURNS.iter().filter_map(|(_, lesson)| lesson.as_ref()).filter(|lesson| fresh.contains(lesson[6]));
        let memories: Vec<Value> = lessons.map(memory).collect();
        let input = json!({ "memories": memories, "look_back": [] });
        let usage = service.bill(prompt, &Block::tool_use("x".into(), TOOL, input.clone()), LEAST_OUTPUT);
        Ok(Turn::call(TOOL, input).counting(usage))
    };
    Scripted::new().named(name).priced(facts.prices.known().unwrap()).afterwards(answer)
}

fn memory([kind, name, description, statement, why, how, cite]: &Lesson) -> Value {
    json!({ "action": "create", "type": kind, "name": name, "description": description, "statement": statement,
            "why": why, "how_to_apply": how, "cites": [cite] })
}

fn money<'a>(calls: impl Iterator<Item = &'a Called>) -> f64 {
    calls.map(|called| called.money.unwrap()).sum()
}

#[tokio::test]
async fn learning_costs_less_than_a_tenth_of_an_afternoon() {
    let catalogue = Catalogue::built_in().unwrap();
    let main = catalogue.default_of("anthropic").model.unwrap();
    let choice = Choice { model: main.clone(), ..Choice::default() };
    let small = cheapest(&choice, &Keys::default(), &catalogue).unwrap();
    let (home, clock, limits) = (Home::new().unwrap(), FixedClock::default(), Limits::default());
    let project = Layout::at(home.data()).project(Path::new("/home/ada/birds"), &limits);
    let memory = SharedMemory::open(&Place::of(&project), &project, Arc::new(clock.clone()), &limits).unwrap().0;

    let mut setting = Setting::new(Arc::new(working(&main, &catalogue, &clock))).tools([shell()]);
    setting.clock = clock.clone();
    let setting = setting.switch("layers.recall", "false").switch("layers.session_notes", "false");
    let mut story: Story = setting.begin_in(home).unwrap();
    let learner: Arc<dyn Model> = Arc::new(learning(&small, &catalogue, &clock));
    let learns = Learns { transcripts: project.dir().to_owned(), attendance: Attendance::Person, model: Some(learner) };
    let from = Remembering { memory: memory.clone(), chooser: None, root: story.home.project() };
    story.session = story.session.remembering(from).learning(learns);
    for (question, _) in TURNS {
        story.session.ask(Question::typed(*question)).await.unwrap();
        assert!(story.session.wait_for_background(Duration::from_secs(60)).await.unwrap());
        clock.advance(SignedDuration::from_mins(3));
    }

    let rows = story.session.ledger().iter();
    let called: Vec<&Called> =
        rows.filter_map(|row| if let Row::Called(called) = row { Some(called) } else { None }).collect();
    let learned = || called.iter().copied().filter(|called| called.source == "extract");
    assert!((15..=TURNS.len()).contains(&learned().count()), "{} calls", learned().count());
    let prices = catalogue.find(&small).unwrap();
    for call in learned() {
        assert!(call.usage.output >= LEAST_OUTPUT && call.model == small, "{call:?}");
        assert_eq!(call.money, prices.cost(&call.usage), "charged at the prices of the model that learns");
    }
    let kept = memory.with(|memory| memory.list().count());
    assert_eq!(kept, TURNS.iter().filter(|(_, lesson)| lesson.is_some()).count());
    let (small, own) = (money(learned()), money(called.iter().copied().filter(|called| called.is_main())));
    assert!(small < 0.1 * own, "learning took {small:.4} dollars of {own:.4}");
}
