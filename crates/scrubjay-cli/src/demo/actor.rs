//! The model of the demo: it says what the script says, to whoever asks, and each of its calls is billed by the published
//! caching rules. What no script can know beforehand, notes and summaries, is written by the code that writes them
//! without a model.

use super::clock::Hands;
use super::plain;
use super::script::{Call, Note, Reply as Line};
use crate::failure::Failure;
use jiff::SignedDuration;
use scrubjay::clock::Clock as _;
use scrubjay::context::compaction::extract::{room, summarise};
use scrubjay::context::notes::{keeper, template};
use scrubjay::limits::Limits;
use scrubjay::memory::extraction::{Draft, TOOL};
use scrubjay::message::{Block, Message, Origin, StopReason, ToolCallId, Usage};
use scrubjay::model::{Ability, Delta, Model, ModelError, Pending, Reply};
use scrubjay::prompt::Prompt;
use scrubjay::prompt_cache::bill::{Biller, Part};
use scrubjay::prompt_cache::prices::Prices;
use scrubjay::tokens::{Budget, ContextWindow};
use scrubjay_providers::{Catalogue, Entry as Facts};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whose window and prices it has. The name in front says that nobody of that name was asked.
pub(super) const BILLED_AS: &str = "claude-sonnet-4-5";

/// What real coding sessions measure.
const CHARS_PER_TOKEN: f64 = 2.7;
/// What a picture or a document counts, whatever its size.
const PICTURE: u64 = 2_000;
/// How long the model thinks before it answers.
const THINKS: SignedDuration = SignedDuration::from_secs(7);

/// Who writes summaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Summaries {
    /// The engine's own code for it.
    Careful,
    /// Something that keeps a bit of everything.
    Plain,
}

/// The model.
pub(super) struct Actor {
    name: String,
    facts: Facts,
    window: ContextWindow,
    clock: Arc<Hands>,
    limits: Arc<Limits>,
    /// Where the session's notes lie.
    notes: PathBuf,
    summaries: Summaries,
    state: Mutex<State>,
}

struct State {
    biller: Biller,
    /// What it is to say next in the conversation.
    lines: VecDeque<Line>,
    /// What each agent says, by its task.
    agents: BTreeMap<String, Vec<Line>>,
    /// What it learns from the person's words, once it is shown them.
    learns: Vec<Note>,
    /// What it makes of the memory at night.
    dreams: Vec<Note>,
    calls: u64,
}

/// Who asks.
enum Asker<'a> {
    /// The conversation.
    Main,
    /// An agent with this task, for the n-th time.
    Agent(String, usize),
    /// The learner, with the words it is shown.
    Learner(String),
    /// A fork: what it is to do, for the n-th time.
    Errand { directive: &'a Message, turn: usize },
}

impl Actor {
    pub(super) fn new(facts: Facts, clock: Arc<Hands>, limits: Arc<Limits>, notes: PathBuf) -> Self {
        let scale = |part: Part<'_>| match part.chars() {
            0 => PICTURE,
            chars => (chars as f64 / CHARS_PER_TOKEN).ceil() as u64,
        };
        let state = State {
            biller: Biller::new(facts.min_cacheable.unwrap_or(0), Box::new(scale)),
            lines: VecDeque::new(),
            agents: BTreeMap::new(),
            learns: Vec::new(),
            dreams: Vec::new(),
            calls: 0,
        };
        let (name, state) = (format!("demo/{BILLED_AS}"), Mutex::new(state));
        let window = window(&facts, &limits);
        Self { name, facts, window, clock, limits, notes, summaries: Summaries::Careful, state }
    }

    /// The window it has, when nothing is in it.
    pub(super) fn budget() -> Result<Budget, Failure> {
        let (facts, limits) = (facts()?, Limits::default());
        Ok(Budget::new(window(&facts, &limits), 0, &limits))
    }

    pub(super) fn summarising(self, summaries: Summaries) -> Self {
        Self { summaries, ..self }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learn what to say to the next question, and what to remember of it.
    pub(super) fn rehearse(&self, lines: &[Line], learns: &[Note]) {
        let mut state = self.state();
        let calls = lines.iter().flat_map(|line| &line.calls).filter(|call| !call.agent.is_empty());
        let agents =
            calls.map(|call| (call.input["prompt"].as_str().unwrap_or_default().to_owned(), call.agent.clone()));
        state.agents.extend(agents);
        state.lines = lines.iter().cloned().collect();
        state.learns.extend_from_slice(learns);
    }

    /// Learn what to dream.
    pub(super) fn sleep_on(&self, notes: &[Note]) {
        self.state().dreams = notes.to_vec();
    }

    fn answer(&self, prompt: &Prompt) -> Reply {
        let mut state = self.state();
        let billed = state.biller.bill(prompt, self.clock.now());
        let asker = asker(prompt);
        if matches!(asker, Asker::Main) {
            self.clock.pass(THINKS);
        }
        let blocks = match asker {
            Asker::Main => state.says(prompt),
            Asker::Learner(words) => state.learned_from(&words, &self.limits),
            Asker::Agent(task, turn) => {
                let line = state.agents.get(&task).and_then(|lines| lines.get(turn)).cloned().unwrap_or_default();
                state.spoken(line)
            }
            Asker::Errand { directive, turn } => self.errand(&mut state, prompt, &directive.text(), turn),
        };
        let output = blocks.iter().map(|block| state.biller.weigh(block)).sum();
        let calls = blocks.iter().any(|block| matches!(block.kind(), scrubjay::message::Kind::ToolUse(_)));
        Reply {
            blocks,
            usage: Usage { output, ..billed.usage },
            stop: if calls { StopReason::ToolUse } else { StopReason::EndTurn },
            model: self.name.clone(),
            request_id: None,
            cleared: billed.cleared,
        }
    }

    fn errand(&self, state: &mut State, prompt: &Prompt, directive: &str, turn: usize) -> Vec<Block> {
        let said = &prompt.history[..prompt.history.len() - 1];
        let name = between(directive, "name=\"", "\"").unwrap_or_default();
        match (name, turn) {
            ("compact", _) => vec![Block::text(format!("<summary>\n{}\n</summary>", self.summary(said)))],
            ("session_notes", 0) => state.calls(&self.note_edits(said)),
            ("dream", _) => state.dreams(between(directive, "copy of it in ", ";").unwrap_or_default(), turn),
            _ => vec![Block::text("Done.")],
        }
    }

    fn summary(&self, said: &[Arc<Message>]) -> String {
        let room = room(&self.limits);
        match self.summaries {
            Summaries::Careful => {
                summarise(said, room, &|_| None, &self.limits).map(|made| made.text).unwrap_or_default()
            }
            Summaries::Plain => plain::summary(said, room),
        }
    }

    /// Bring every section of the notes up to date that has changed.
    fn note_edits(&self, said: &[Arc<Message>]) -> Vec<Call> {
        let old = std::fs::read_to_string(&self.notes).unwrap_or_default();
        let new = keeper::notes(template::TEMPLATE, said, &self.limits);
        let (old, new) = (template::parts(&old), template::parts(&new));
        let changed = old.into_iter().zip(new).filter(|(old, new)| old.body.trim() != new.body.trim());
        let edit = |(old, new): (template::Part<'_>, template::Part<'_>)| {
            let [old_string, new_string] = [old, new].map(|part| format!("{}{}", part.fixed, part.body));
            let input = json!({ "file_path": self.notes, "old_string": old_string, "new_string": new_string });
            Call { tool: "Edit", input, agent: Vec::new() }
        };
        changed.map(edit).collect()
    }
}

/// What the catalogue knows of the model whose prices it has.
pub(super) fn facts() -> Result<Facts, Failure> {
    let catalogue = Catalogue::built_in().map_err(|error| Failure::failed(error.to_string()))?;
    Ok(catalogue.find(BILLED_AS).cloned().unwrap_or_else(|| catalogue.default_of("anthropic")))
}

fn window(facts: &Facts, limits: &Limits) -> ContextWindow {
    let size = facts.window.unwrap_or(limits.default_window);
    ContextWindow { size, max_output: facts.max_output.unwrap_or(limits.max_output) }
}

fn read(folder: &str, file: &str) -> Call {
    Call { tool: "Read", input: json!({ "file_path": Path::new(folder).join(file) }), agent: Vec::new() }
}

impl State {
    /// The next line. Where no agents can be started, it does their work itself.
    fn says(&mut self, prompt: &Prompt) -> Vec<Block> {
        let alone = !prompt.tools.iter().any(|tool| tool.name == "Agent");
        let mut line = self.lines.pop_front().unwrap_or_default();
        while let Some(at) = line.calls.iter().position(|call| alone && !call.agent.is_empty()) {
            let Call { mut agent, .. } = line.calls.remove(at);
            // Its report was for somebody else.
            agent.pop();
            agent.into_iter().rev().for_each(|line| self.lines.push_front(line));
            if line.calls.is_empty() {
                line = self.lines.pop_front().unwrap_or_default();
            }
        }
        self.spoken(line)
    }

    fn spoken(&mut self, line: Line) -> Vec<Block> {
        let text = (!line.text.is_empty()).then(|| Block::text(line.text));
        text.into_iter().chain(self.calls(&line.calls)).collect()
    }

    fn calls(&mut self, calls: &[Call]) -> Vec<Block> {
        let mut block = |call: &Call| {
            self.calls += 1;
            Block::tool_use(ToolCallId::new(format!("call_{}", self.calls)), call.tool, call.input.clone())
        };
        calls.iter().map(&mut block).collect()
    }

    /// What it makes of the words it is shown: it cites them, so it knows nothing else.
    fn learned_from(&mut self, words: &str, limits: &Limits) -> Vec<Block> {
        let read = |note: &Note| Draft::from_file(&note.file, &note.text, false, limits);
        let stands = |note: &Note| read(note).cites.iter().all(|cite| words.contains(cite.as_str()));
        let learned: Vec<Note> = self.learns.extract_if(.., |note| stands(note)).collect();
        let memories: Vec<Value> = learned.iter().map(|note| memory(&read(note))).collect();
        let input = json!({ "memories": memories, "look_back": [] });
        self.calls(&[Call { tool: TOOL, input, agent: Vec::new() }])
    }

    /// Read what it knows how to put in order, then write it, then be done. What is not there yet is left for another night.
    fn dreams(&mut self, folder: &str, turn: usize) -> Vec<Block> {
        let is_there = |file: &str| Path::new(folder).join(file).is_file();
        let merged = |note: &Note| between(&note.text, "merged: [", "]").is_none_or(is_there);
        let notes: Vec<Note> =
            self.dreams.iter().filter(|note| is_there(&note.file) && merged(note)).cloned().collect();
        match turn {
            0 if !notes.is_empty() => {
                let reads: Vec<Call> = notes.iter().map(|note| read(folder, &note.file)).collect();
                self.calls(&reads)
            }
            1 => self.writes(&notes, folder),
            _ => vec![Block::text("What says the same, or is contradicted since, is one memory now.")],
        }
    }

    fn writes(&mut self, notes: &[Note], folder: &str) -> Vec<Block> {
        let write = |note: &Note| {
            let input =
                json!({ "file_path": Path::new(folder).join(&note.file), "content": format!("{}\n", note.text) });
            Call { tool: "Write", input, agent: Vec::new() }
        };
        self.calls(&notes.iter().map(write).collect::<Vec<_>>())
    }
}

/// A memory as a learner hands it in.
fn memory(Draft { topic, cites, .. }: &Draft) -> Value {
    let part = |title: &str| {
        let line = topic.body.lines().find_map(|line| line.strip_prefix(title));
        line.unwrap_or_default().trim().to_owned()
    };
    json!({
        "action": "create", "type": topic.kind.as_str(), "name": topic.name, "description": topic.description,
        "statement": topic.body.split("\n\n**").next().unwrap_or_default().trim(),
        "why": part("**Why:**"), "how_to_apply": part("**How to apply:**"), "cites": cites,
    })
}

fn asker(prompt: &Prompt) -> Asker<'_> {
    if prompt.tools.iter().any(|tool| tool.name == TOOL) {
        return Asker::Learner(prompt.history.iter().map(|one| one.text()).collect());
    }
    let replies = |from: usize| prompt.history[from..].iter().filter(|one| one.origin == Origin::Model).count();
    let is_errand = |one: &Arc<Message>| one.origin == Origin::Reminder && one.text().contains("<scrubjay-errand ");
    if let Some(at) = prompt.history.iter().rposition(is_errand) {
        return Asker::Errand { directive: &prompt.history[at], turn: replies(at) };
    }
    let task = prompt.history.iter().find(|one| one.origin == Origin::Task);
    task.map_or(Asker::Main, |task| Asker::Agent(task.text(), replies(0)))
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.split_once(start)?.1.split_once(end).map(|(found, _)| found)
}

impl Model for Actor {
    fn name(&self) -> &str {
        &self.name
    }

    fn window(&self) -> ContextWindow {
        self.window
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
        _: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Pending<'a, Result<Reply, ModelError>> {
        Box::pin(async { Ok(self.answer(prompt)) })
    }

    fn count<'a>(&'a self, _: &'a Prompt) -> Pending<'a, Result<Option<u64>, ModelError>> {
        Box::pin(async { Ok(None) })
    }
}
