//! A recorded session played back to the engine: a model that says what was said, tools that answer what they answered,
//! and a clock that stands where the record stood.

use crate::bill::{Outcome, cost};
use crate::service::{Service, is_restored};
use crate::sessions::{Session, Word, longest_line, prose};
use crate::window::{OUTPUT, READ, WRITE_5M};
use jiff::Timestamp;
use scrubjay::agents::background::Background;
use scrubjay::clock::Clock;
use scrubjay::context::compaction::extract::summarise;
use scrubjay::context::notes::{keeper, template};
use scrubjay::limits::Limits;
use scrubjay::message::{Block, Kind, Message, MessageId, Origin, Question, SpanOrigin, StopReason, Usage};
use scrubjay::model::Reply;
use scrubjay::prompt::Prompt;
use scrubjay::query_loop::Interrupt;
use serde_json::{Value, json};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A summariser writes at least this much: what the policies are charged for theirs.
const SUMMARY_OUTPUT: u64 = crate::window::SUMMARY;

/// Longer than anything beside a conversation takes here.
pub const LONG: Duration = Duration::from_secs(60);

pub struct Tape {
    pub session: Session,
    /// Where the session's files lie in the replay.
    pub root: PathBuf,
    /// Where its notes lie.
    pub notes: PathBuf,
    pub limits: Limits,
    state: Mutex<State>,
}

/// What stands for a conversation after a compaction.
#[derive(Debug, Clone)]
pub struct Carried {
    /// The summary alone.
    pub summary: String,
    /// All that the request says.
    pub all: String,
}

struct State {
    next: usize,
    /// How many calls of the running round were answered.
    answered: usize,
    now: Timestamp,
    service: Service,
    outcome: Outcome,
    /// What tools have answered so far, whole.
    heard: Vec<String>,
    /// The summary of the last request, and by call what the first request after each compaction carried.
    summary: Option<MessageId>,
    carried: Vec<(usize, Carried)>,
    interrupt: Option<Interrupt>,
    searches: Option<Background>,
}

impl Tape {
    pub fn new(session: Session, root: PathBuf, notes: PathBuf, limits: Limits) -> Self {
        let service = Service::new(&session, &root);
        let now = moment(session.steps[0].at);
        let state = State {
            next: 0,
            answered: 0,
            now,
            service,
            outcome: Outcome::default(),
            heard: Vec::new(),
            summary: None,
            carried: Vec::new(),
            interrupt: None,
            searches: None,
        };
        Self { session, root, notes, limits, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which call comes next.
    pub fn next(&self) -> usize {
        self.state().next
    }

    pub fn outcome(&self) -> Outcome {
        self.state().outcome.clone()
    }

    /// By record: what the first request after each compaction carried.
    pub fn carried(&self) -> Vec<(usize, Carried)> {
        let record = |(call, carried): (usize, Carried)| (self.session.steps[call].record, carried);
        self.state().carried.clone().into_iter().map(record).collect()
    }

    pub fn watch(&self, interrupt: Interrupt, searches: Background) {
        let mut state = self.state();
        (state.interrupt, state.searches) = (Some(interrupt), Some(searches));
    }

    /// Memories are found before a tool has answered.
    pub async fn found(&self) {
        let searches = self.state().searches.clone();
        if let Some(searches) = searches {
            searches.idle(LONG).await;
        }
    }

    /// How often the learner was asked.
    pub fn learner_calls(&self) -> u64 {
        self.state().outcome.learner_calls
    }

    /// The learner was asked once more, for this much.
    pub fn learned(&self, cost: f64, usage: &Usage) {
        let outcome = &mut self.state().outcome;
        outcome.learner += cost;
        outcome.learner_calls += 1;
        outcome.learner_input += usage.total_input();
    }

    /// What is said before the next call, and the moment it is said.
    pub fn question(&self) -> Question {
        let mut state = self.state();
        let step = &self.session.steps[state.next];
        state.now = moment(step.at);
        if step.words.is_empty() {
            return Question::default().with(Block::text("Go on."), SpanOrigin::Command);
        }
        let mut question = Question::default();
        for Word { block, origin } in &step.words {
            let block = Block::from_value(block);
            match origin {
                Some(origin) => question = question.with(block, *origin),
                None => question.blocks.push(block),
            }
        }
        question
    }

    /// What the service answers.
    pub fn reply(&self, prompt: &Prompt) -> Reply {
        let mut state = self.state();
        let is_errand = |message: &&Arc<Message>| message.origin == Origin::Reminder && is_errand(message);
        match prompt.history.iter().rev().find(is_errand).map(|message| message.text()) {
            Some(text) if text.contains("name=\"compact\"") => self.summary(&mut state, prompt),
            Some(_) => self.noted(&mut state, prompt),
            None => self.recorded(&mut state, prompt),
        }
    }

    /// The next reply of the record.
    fn recorded(&self, state: &mut State, prompt: &Prompt) -> Reply {
        let Some(step) = self.session.steps.get(state.next) else { return spoken(Vec::new(), Usage::default(), 0) };
        state.next += 1;
        state.answered = 0;
        state.look(prompt);
        let billed = state.service.ask(prompt, step.at);
        let edits = step.reply.iter().filter(|block| block["type"] == "tool_use" && block["name"] == "Edit");
        for edit in edits {
            let key = longest_line(edit["input"]["old_string"].as_str().unwrap_or_default());
            state.edit(&key, prompt, billed.usage.total_input());
        }
        let blocks: Vec<Block> = step.reply.iter().map(|block| Block::from_value(&self.moved(block))).collect();
        let output = blocks.iter().map(|block| state.service.tokens_of_block(block)).sum();
        let usage = Usage { output, ..billed.usage };
        let outcome = &mut state.outcome;
        outcome.cost += cost(&usage);
        outcome.read += usage.cache_read;
        outcome.total += usage.total_input();
        outcome.written += usage.output;
        outcome.peak = outcome.peak.max(usage.total_input());
        outcome.hours += u64::from(usage.cache_write_1h > 0);
        spoken(blocks, usage, billed.cleared)
    }

    /// A block whose file lies where the replay keeps it.
    fn moved(&self, block: &Value) -> Value {
        let mut block = block.clone();
        if let Some(path) = block["input"]["file_path"].as_str().map(|path| self.below(path)) {
            block["input"]["file_path"] = json!(path);
        }
        block
    }

    /// Where the replay keeps a file of the record: always below its own folder, whatever the record calls it.
    fn below(&self, path: &str) -> PathBuf {
        let names = Path::new(path).components().filter(|part| matches!(part, Component::Normal(_)));
        names.fold(self.root.clone(), |folder, name| folder.join(name))
    }

    /// A fork that keeps the notes: it brings every section up to date that has changed, in one reply, and stops.
    fn noted(&self, state: &mut State, prompt: &Prompt) -> Reply {
        let usage = state.service.ask(prompt, seconds(state.now)).usage;
        let is_first = prompt.history.last().is_some_and(|last| is_errand(last));
        let blocks = if is_first { self.edits(prompt) } else { vec![Block::text("Done.")] };
        self.own(state, usage, blocks, 0)
    }

    fn edits(&self, prompt: &Prompt) -> Vec<Block> {
        let old = std::fs::read_to_string(&self.notes).unwrap_or_default();
        let said: &[Arc<Message>] = &prompt.history[..prompt.history.len() - 1];
        let new = keeper::notes(template::TEMPLATE, said, &self.limits);
        let both = template::parts(&old).into_iter().zip(template::parts(&new));
        let changed = both.filter(|(old, new)| old.body.trim() != new.body.trim());
        let edit = |(at, (old, new)): (usize, (template::Part<'_>, template::Part<'_>))| {
            let (old, new) = (format!("{}{}", old.fixed, old.body), format!("{}{}", new.fixed, new.body));
            let (old_string, new_string) = difference(&old, &new);
            let file_path = self.notes.display().to_string();
            let input = json!({ "file_path": file_path, "old_string": old_string, "new_string": new_string });
            Block::tool_use(format!("note-{at}").as_str().into(), "Edit", input)
        };
        changed.enumerate().map(edit).collect()
    }

    fn summary(&self, state: &mut State, prompt: &Prompt) -> Reply {
        let usage = state.service.ask(prompt, seconds(state.now)).usage;
        let said = &prompt.history[..prompt.history.len() - 1];
        let room = (SUMMARY_OUTPUT as f64 / self.session.ratio) as usize;
        let text = summarise(said, room, &|_| None, &self.limits).map(|made| made.text).unwrap_or_default();
        self.own(state, usage, vec![Block::text(format!("<summary>\n{text}\n</summary>"))], SUMMARY_OUTPUT)
    }

    /// A call that nobody but the engine wanted.
    fn own(&self, state: &mut State, usage: Usage, blocks: Vec<Block>, least: u64) -> Reply {
        let output = blocks.iter().map(|block| state.service.tokens_of_block(block)).sum::<u64>().max(least);
        state.outcome.own += cost(&usage) + OUTPUT * output as f64;
        state.outcome.own_calls += 1;
        spoken(blocks, Usage { output, ..usage }, 0)
    }

    /// What a tool answered, if this call is in the record.
    pub fn answer(&self, call: &str) -> Option<(Vec<Block>, bool)> {
        let block = self.session.results.get(call)?;
        let parts = match &block["content"] {
            Value::Array(parts) => parts.iter().map(Block::from_value).collect(),
            content => vec![Block::text(content.as_str().unwrap_or_default())],
        };
        Some((parts, block["is_error"] == true))
    }

    /// A tool has answered. After the last of a round the clock stands where the next call was made, and where a person
    /// spoke first, they interrupt.
    pub fn answered(&self, tool: &str, input: &Value, call: &str) {
        let mut state = self.state();
        let text = self.session.results.get(call).map(|block| prose(&block["content"])).unwrap_or_default();
        if let Some(path) = input["file_path"].as_str().map(Path::new).filter(|path| path.starts_with(&self.root)) {
            keep_file(path, tool, input, &text);
        }
        state.heard.push(text);
        state.answered += 1;
        let current = &self.session.steps[state.next.saturating_sub(1)];
        let calls = current.reply.iter().filter(|block| block["type"] == "tool_use").count();
        if state.answered < calls {
            return;
        }
        let next = self.session.steps.get(state.next);
        if let Some(next) = next {
            state.now = moment(next.at);
        }
        if next.is_none_or(|next| !next.words.is_empty())
            && let Some(interrupt) = &state.interrupt
        {
            interrupt.now();
        }
    }

    pub fn is_recorded(&self, call: &str) -> bool {
        let is_it = |block: &Value| block["type"] == "tool_use" && block["id"] == call;
        let state = self.state();
        self.session.steps[state.next.saturating_sub(1)].reply.iter().any(is_it)
    }
}

impl Clock for Tape {
    fn now(&self) -> Timestamp {
        self.state().now
    }
}

impl State {
    /// Whether this is the first request after a compaction.
    fn look(&mut self, prompt: &Prompt) {
        let summary = prompt.history.iter().find(|message| message.origin == Origin::Summary);
        let Some(summary) = summary.filter(|summary| self.summary.as_ref() != Some(&summary.id)) else { return };
        self.summary = Some(summary.id.clone());
        let blocks = prompt.history.iter().flat_map(|message| &message.blocks);
        let words = blocks.map(|block| match block.kind() {
            Kind::Text(text) => text.clone(),
            Kind::ToolResult(result) => result.text(),
            _ => block.json().to_owned(),
        });
        let all = words.collect::<Vec<String>>().join("\n");
        self.carried.push((self.next - 1, Carried { summary: summary.text(), all }));
    }

    /// An edit whose text tools had shown and the request no longer did costs one more call that reads it back, six
    /// thousand tokens at most.
    fn edit(&mut self, key: &str, prompt: &Prompt, total: u64) {
        self.outcome.edits += 1;
        if key.is_empty() || is_shown(prompt, key) {
            return;
        }
        let longest = self.heard.iter().filter(|text| text.contains(key)).map(|text| text.chars().count()).max();
        let Some(longest) = longest else { return };
        self.outcome.edits_hidden += 1;
        let again = self.service.tokens_of(longest).min(6_000) as f64;
        self.outcome.reread += READ * total as f64 + WRITE_5M * again + OUTPUT * 120.0;
    }
}

/// What an edit has to name: from the heading or the line before the first one that differs to the last that does.
fn difference(old: &str, new: &str) -> (String, String) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(&new).take_while(same).count();
    let most = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(most).take_while(same).count();
    let start = head.saturating_sub(1);
    (old[start..old.len() - tail].concat(), new[start..new.len() - tail].concat())
}

fn is_errand(message: &Message) -> bool {
    message.text().contains("<scrubjay-errand ")
}

/// Whether a request shows this in a tool's answer or in a file that was brought back.
fn is_shown(prompt: &Prompt, key: &str) -> bool {
    prompt.history.iter().any(|message| {
        let restored = is_restored(message);
        message.blocks.iter().any(|block| match block.kind() {
            Kind::ToolResult(result) => {
                result.parts.iter().any(|part| part.as_text().is_some_and(|text| text.contains(key)))
            }
            Kind::Text(text) => restored && text.contains(key),
            _ => false,
        })
    })
}

/// What the record shows of a file is what the disk holds.
fn keep_file(path: &Path, tool: &str, input: &Value, answer: &str) {
    let held = std::fs::read_to_string(path).unwrap_or_default();
    let field = |name: &str| input[name].as_str().unwrap_or_default();
    let now = match tool {
        "Read" => {
            let shown: String = answer.lines().filter_map(numbered).map(|line| format!("{line}\n")).collect();
            if held.contains(&shown) {
                held
            } else if input["offset"].is_null() {
                shown
            } else {
                held + &shown
            }
        }
        "Write" => field("content").to_owned(),
        "Edit" if !field("old_string").is_empty() => held.replacen(field("old_string"), field("new_string"), 1),
        _ => return,
    };
    if let Some(folder) = path.parent() {
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, now));
        written.unwrap_or_default();
    }
}

/// A line of a file as it was shown, without its number.
fn numbered(line: &str) -> Option<&str> {
    let (number, rest) = line.split_once('→')?;
    number.trim().parse::<u64>().ok().map(|_| rest)
}

fn spoken(blocks: Vec<Block>, usage: Usage, cleared: u64) -> Reply {
    let calls = blocks.iter().any(|block| matches!(block.kind(), Kind::ToolUse(_)));
    let stop = if calls { StopReason::ToolUse } else { StopReason::EndTurn };
    Reply { blocks, usage, stop, model: "recorded".to_owned(), request_id: None, cleared }
}

fn moment(at: f64) -> Timestamp {
    Timestamp::from_microsecond((at * 1e6) as i64).unwrap_or_default()
}

fn seconds(at: Timestamp) -> f64 {
    at.as_microsecond() as f64 / 1e6
}
