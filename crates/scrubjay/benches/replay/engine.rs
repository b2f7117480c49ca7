//! The engine itself, run over a recorded session: its own loop, layers, limits, settings and planner.

use crate::bill::Outcome;
use crate::learner;
use crate::sessions::Session as Recorded;
use crate::tape::{Carried, LONG, Tape};
use jiff::tz::TimeZone;
use scrubjay::context::{microcompaction, session_notes};
use scrubjay::desk::{Consent, Desk, Person};
use scrubjay::event::Events;
use scrubjay::gate::Gate;
use scrubjay::limits::Limits;
use scrubjay::model::{Ability, Delta, Model, ModelError, Pending, Reply};
use scrubjay::prompt::Prompt;
use scrubjay::prompt_cache::prices::Prices;
use scrubjay::settings::{Settings, Sources};
use scrubjay::tokens::ContextWindow;
use scrubjay::tool::{Bench, Effect, Tool, ToolOutcome};
use scrubjay::tools::edit::Edit;
use scrubjay::transcript::{Began, Entry, FORMAT, Opening, Options, ToolSpec, Transcript, Writer};
use scrubjay::{Error, Session};
use scrubjay_providers::{Catalogue, Entry as Facts};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub type Failure = Box<dyn std::error::Error>;

/// What the engine is given: limits and settings other than its own are for trying things out.
#[derive(Clone)]
pub struct Setup {
    pub limits: Limits,
    pub switches: Vec<(String, String)>,
    /// Whether sessions have a memory and learn, and how many memories there are before.
    pub learner: bool,
    pub memories: usize,
}

/// What a run left behind.
pub struct Ran {
    pub path: PathBuf,
    pub outcome: Outcome,
    /// At which record each compaction happened, and what the next request carried.
    pub carried: Vec<(usize, Carried)>,
    pub stored: usize,
    pub cleared: usize,
    pub noted: usize,
    /// Of these, by a model.
    pub written: usize,
    /// Memories that were kept, and of these unconfirmed.
    pub kept: usize,
    pub unconfirmed: usize,
}

/// The window that the policies have, too.
const WINDOW: ContextWindow = ContextWindow { size: 200_000, max_output: 64_000 };

/// Background work gets this many chances to run before time moves on.
const CHANCES: usize = 64;

/// Play a session to the engine.
pub fn run(recorded: Recorded, setup: &Setup) -> Result<Ran, Failure> {
    let folder = tempfile::Builder::new().prefix("r").tempdir()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(play(recorded, setup, folder.path()))
}

async fn play(recorded: Recorded, setup: &Setup, folder: &Path) -> Result<Ran, Failure> {
    let path = folder.join("s.jsonl");
    let notes = session_notes::place(&path.with_extension(""));
    let limits = Arc::new(setup.limits.clone());
    let tape = Arc::new(Tape::new(recorded, folder.join("f"), notes, setup.limits.clone()));
    let mut session = begin(&tape, &path, setup, limits)?;
    if setup.learner {
        session = learner::taught(session, &tape, folder, setup.memories)?;
    }
    tape.watch(session.interrupt(), session.searches());
    while tape.next() < tape.session.steps.len() {
        let before = tape.next();
        match session.ask(tape.question()).await {
            Ok(_) | Err(Error::Interrupted | Error::TooManyRounds(_)) => {}
            Err(error) => return Err(format!("{} at call {before}: {error}", tape.session.name).into()),
        }
        breathe().await;
        session.extractions().idle(LONG).await;
        if tape.next() == before {
            return Err(format!("{} stands still at call {before}", tape.session.name).into());
        }
    }
    session.drain(std::time::Duration::from_secs(5)).await?;
    Ok(told(&session, &tape))
}

/// Let what runs beside the conversation run.
async fn breathe() {
    for _ in 0..CHANCES {
        tokio::task::yield_now().await;
    }
}

fn begin(tape: &Arc<Tape>, path: &Path, setup: &Setup, limits: Arc<Limits>) -> Result<Session, Failure> {
    let catalogue = Catalogue::built_in()?;
    let facts = catalogue.find(&tape.session.model).cloned().unwrap_or_else(|| catalogue.default_of("anthropic"));
    let model = Player { name: tape.session.model.clone(), tape: tape.clone(), facts };
    let settings = Settings::resolve(&Sources { command_line: setup.switches.clone(), ..Sources::default() });
    let tools = tools(tape);
    let context_management = microcompaction::server_clearing(&model, &tools, &settings, &limits);
    let opening = Opening {
        model: model.name().to_owned(),
        tools: tools.iter().map(|tool| tool.spec().clone()).collect(),
        system: Arc::from(filler(&tape.session)),
        instructions: Vec::new(),
        nonce: String::new(),
        options: Options { context_management, ..Options::default() },
    };
    let began = Began {
        format: FORMAT,
        session: "s".to_owned(),
        dir: PathBuf::from("/"),
        version: "bench".to_owned(),
        forked_from: None,
    };
    let desk = Desk {
        model: Arc::new(model),
        tools: tools.into(),
        gate: Gate::open(),
        person: Person::new(|_| Box::pin(async { Consent::Granted })),
        hooks: Arc::default(),
        events: Events::to(|_| {}),
        clock: tape.clone(),
        zone: TimeZone::UTC,
        settings: Arc::new(settings),
        limits: limits.clone(),
        own_words: Arc::default(),
        day_book: None,
        dir: PathBuf::from("/"),
    };
    let transcript = Transcript::create(path, began, desk.clock.now(), limits)?;
    Ok(Session::new(transcript, desk, opening)?)
}

/// A system prompt of the size that the recorded one was billed.
fn filler(recorded: &Recorded) -> String {
    let words = "Instructions that every request of the recorded session began with. ";
    let chars = (recorded.base as f64 / recorded.ratio) as usize;
    words.chars().cycle().take(chars).collect()
}

fn tools(tape: &Arc<Tape>) -> Vec<Arc<dyn Tool>> {
    let blocks = tape.session.steps.iter().flat_map(|step| &step.reply);
    let calls = blocks.filter(|block| block["type"] == "tool_use");
    let mut names: BTreeSet<String> = calls.filter_map(|call| Some(call["name"].as_str()?.to_owned())).collect();
    names.insert("Edit".to_owned());
    let tool = |name: String| -> Arc<dyn Tool> {
        let spec = ToolSpec::new(name, "", &json!({ "type": "object" }));
        Arc::new(Played { spec, tape: tape.clone(), real: Edit::new() })
    };
    names.into_iter().map(tool).collect()
}

fn told(session: &Session, tape: &Tape) -> Ran {
    let mut outcome = tape.outcome();
    let (mut stored, mut cleared, mut noted, mut written, mut kept, mut unconfirmed) = (0, 0, 0, 0, 0, 0);
    for record in session.transcript().records() {
        match &record.entry {
            Entry::Compacted(_) => outcome.compactions += 1,
            Entry::Spilled(_) => stored += 1,
            Entry::Cleared { results, .. } => cleared += results.len(),
            Entry::Noted(by) => {
                noted += 1;
                written += usize::from(by.by == Writer::Model);
            }
            Entry::Extracted(extracted) => {
                kept += extracted.saved.len() + extracted.unconfirmed.len();
                unconfirmed += extracted.unconfirmed.len();
            }
            _ => {}
        }
    }
    let (path, carried) = (tape.session.path.clone(), tape.carried());
    Ran { path, outcome, carried, stored, cleared, noted, written, kept, unconfirmed }
}

/// The model of the record.
struct Player {
    name: String,
    tape: Arc<Tape>,
    facts: Facts,
}

impl Model for Player {
    fn name(&self) -> &str {
        &self.name
    }

    fn window(&self) -> ContextWindow {
        WINDOW
    }

    fn can(&self, ability: Ability) -> bool {
        self.facts.can(ability)
    }

    fn prices(&self) -> Option<Prices> {
        self.facts.prices.known()
    }

    fn reply<'a>(
        &'a self,
        prompt: &'a Prompt,
        _on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Pending<'a, Result<Reply, ModelError>> {
        Box::pin(async move { Ok(Reply { model: self.name().to_owned(), ..self.tape.reply(prompt) }) })
    }

    fn count<'a>(&'a self, _prompt: &'a Prompt) -> Pending<'a, Result<Option<u64>, ModelError>> {
        Box::pin(async { Ok(None) })
    }
}

/// A tool of the record. What the engine's own forks edit is edited for real.
struct Played {
    spec: ToolSpec,
    tape: Arc<Tape>,
    real: Edit,
}

impl Tool for Played {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, input: &Value, dir: &Path) -> Effect {
        let path = || PathBuf::from(input["file_path"].as_str().unwrap_or_default());
        match self.spec.name.as_str() {
            "Read" => Effect::Reads(vec![path()]),
            "Edit" => self.real.effect(input, dir),
            "Write" => Effect::Writes(path()),
            _ => Effect::Nothing,
        }
    }

    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        Box::pin(async move {
            let call = bench.call.as_str();
            if !self.tape.is_recorded(call) {
                return self.real.call(input, bench).await;
            }
            breathe().await;
            self.tape.found().await;
            let (parts, is_error) = self.tape.answer(call).unwrap_or_default();
            self.tape.answered(&self.spec.name, input, call);
            ToolOutcome { parts, is_error, ..ToolOutcome::ok("") }
        })
    }
}
