//! Who plays: a main model that follows a case, and a learner that offers all that its requests allow.

use super::case::{Case, CaseMessage, Draft, Expect, Move, NONCE, REPLAYED, collapsed, runs, shows};
use scrubjay::model::Pending;
use scrubjay::prompt::Prompt;
use scrubjay::prompts;
use scrubjay::tool::{Bench, Effect, Tool, ToolOutcome};
use scrubjay::transcript::ToolSpec;
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_testkit::FixedClock;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the learner was asked, and what it offered.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) requests: Vec<Request>,
    /// By number of the draft.
    pub(crate) offered: Vec<bool>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    /// Typed words alone, not an exchange.
    pub(crate) first: bool,
    /// Of the part that varies.
    pub(crate) chars: usize,
    /// Of the system prompt as well.
    pub(crate) whole: usize,
    pub(crate) nonces: usize,
}

/// Offers every draft that its request allows, each once, and asks to look back at everything. `relayed` is a draft that the main
/// model repeats: it is offered whenever the request shows any of it that is not the user's own, with the newest typed words as its citation.
pub(crate) fn learner(case: &Case, relayed: Option<&Draft>, log: &Arc<Mutex<Log>>) -> Arc<Scripted> {
    held(log).offered = vec![false; case.drafts.len()];
    let (case, relayed, log) = (case.clone(), relayed.cloned(), log.clone());
    let answer = move |prompt: &Prompt| {
        let text: String = prompt.history.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n");
        let first = &*prompt.system == prompts::LEARNER.trim_end();
        let mut log = held(&log);
        log.requests.push(Request {
            first,
            chars: text.chars().count(),
            whole: text.chars().count() + prompt.system.chars().count(),
            nonces: prompt.rendering().matches(NONCE).count(),
        });
        let mut memories = Vec::new();
        for (number, draft) in case.drafts.iter().enumerate() {
            if !log.offered[number] && allows(&case, draft, &text) {
                log.offered[number] = true;
                memories.push(draft.answer(text.contains(&format!("<memory file=\"{}\">", draft.path))));
            }
        }
        if let Some(draft) = relayed.as_ref().filter(|draft| leaks(&case, draft, &text)) {
            for kind in ["feedback", "project"] {
                let mut answer = draft.answer(false);
                answer["type"] = json!(kind);
                answer["cites"] = json!([newest_typed(&text)]);
                memories.push(answer);
            }
        }
        let look_back: Vec<usize> = if first { (1..=numbered(&text)).collect() } else { Vec::new() };
        Ok(Turn::call("memories", json!({ "memories": memories, "look_back": look_back })))
    };
    Arc::new(Scripted::new().named("obedient learner").afterwards(answer))
}

fn allows(case: &Case, draft: &Draft, request: &str) -> bool {
    if draft.expect == Expect::Clean {
        let request = collapsed(request);
        return draft.parsed().cites.iter().all(|cite| request.contains(&collapsed(cite)));
    }
    let shown = draft.shown_by.iter().filter_map(|number| case.messages.get(*number));
    shown.into_iter().any(|message| shows(request, &message.text))
}

/// Whether a request shows something of a draft's body that neither the user said by themselves nor a clean memory says.
fn leaks(case: &Case, draft: &Draft, request: &str) -> bool {
    // Of a message that holds what was pasted, the words before it are the user's own.
    let own = |(number, message): (usize, &'_ CaseMessage)| match draft.shown_by.contains(&number) {
        true => message.text.split_once("\n\n").map(|(before, _)| before.to_owned()),
        false => Some(message.text.clone()),
    };
    let typed = case.messages.iter().enumerate().filter(|(_, message)| message.origin == "person");
    let said: Vec<String> = typed.filter_map(own).collect();
    let said = said.iter().map(String::as_str);
    let clean = case.drafts.iter().filter(|draft| draft.expect == Expect::Clean).map(|draft| draft.file.as_str());
    let known = case.existing().iter().map(|existing| existing.text.as_str());
    let own: Vec<String> = said.chain(clean).chain(known).map(letters).collect();
    let request = letters(request);
    let body = draft.body();
    let parts = body.split("**").filter(|part| !["Why:", "How to apply:"].contains(part));
    parts
        .flat_map(|part| runs(&letters(part)))
        .any(|run| request.contains(&run) && !own.iter().any(|text| text.contains(&run)))
}

/// A text without case and punctuation.
fn letters(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    collapsed(&plain).to_lowercase()
}

/// Whether a line opens a numbered message: `[3] 2026-11-17 (Tuesday)`.
fn opens(line: &str) -> bool {
    let number = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    number.is_some_and(|(number, rest)| number.parse::<usize>().is_ok() && rest.ends_with("day)"))
}

fn numbered(request: &str) -> usize {
    request.lines().filter(|line| opens(line)).count()
}

/// The longest typed part of the last message.
fn newest_typed(request: &str) -> String {
    let lines: Vec<&str> = request.lines().collect();
    let from = lines.iter().rposition(|line| opens(line)).map_or(0, |at| at + 1);
    let rest = lines[from..].join("\n");
    let typed = rest.rsplit("</answer-before>").next().unwrap_or_default();
    let parts = typed.lines().filter(|line| !line.starts_with("[pasted, "));
    parts.max_by_key(|line| line.chars().count()).unwrap_or_default().trim().to_owned()
}

/// What the main model does next; what depends on the files of that moment is decided then.
#[derive(Debug, Clone)]
pub(crate) enum Play {
    Move(Move),
    /// Write this line below what a file says.
    Append {
        path: PathBuf,
        line: String,
    },
}

/// Plays what is put into the queue; agents that it starts write `agents_write` and are done.
pub(crate) fn main_model(
    queue: &Arc<Mutex<VecDeque<Play>>>,
    clock: &FixedClock,
    agents_write: Vec<(PathBuf, String)>,
) -> Arc<Scripted> {
    let (queue, clock) = (queue.clone(), clock.clone());
    let answer = move |prompt: &Prompt| {
        if prompt.system.contains("Another agent started you") {
            return Ok(agent(prompt, &agents_write));
        }
        let turn = match held(&queue).pop_front() {
            None => Turn::text("Ok."),
            Some(Play::Move(Move { at, text, call })) => {
                at.into_iter().for_each(|at| clock.set(at));
                let said = if text.is_empty() { Turn::default() } else { Turn::text(text) };
                call.into_iter().fold(said, |turn, (name, input)| turn.and_call(name, input))
            }
            Some(Play::Append { path, line }) => {
                let before = std::fs::read_to_string(&path).unwrap_or_default();
                let content = format!("{before}{line}\n");
                Turn::call("Write", json!({ "file_path": path, "content": content }))
            }
        };
        Ok(turn)
    };
    Arc::new(Scripted::new().named("obedient").afterwards(answer))
}

fn agent(prompt: &Prompt, writes: &[(PathBuf, String)]) -> Turn {
    let began = prompt.history.iter().any(|message| message.tool_results().next().is_some());
    let write = |turn: Turn, (path, text): &(PathBuf, String)| {
        turn.and_call("Write", json!({ "file_path": path, "content": text }))
    };
    if began { Turn::text("Done.") } else { writes.iter().fold(Turn::default(), write) }
}

/// A tool that answers with the text it is given to replay, and is itself otherwise.
pub(crate) struct Replay {
    spec: ToolSpec,
    real: Option<Arc<dyn Tool>>,
}

impl Replay {
    pub(crate) fn over(real: Arc<dyn Tool>) -> Self {
        Self { spec: real.spec().clone(), real: Some(real) }
    }

    pub(crate) fn named(name: &str) -> Self {
        let schema = json!({ "type": "object", "properties": { REPLAYED: { "type": "string" } } });
        Self { spec: ToolSpec::new(name, "Answers.", &schema), real: None }
    }
}

impl Tool for Replay {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, input: &Value, dir: &Path) -> Effect {
        match (&self.real, input.get(REPLAYED)) {
            (Some(real), None) => real.effect(input, dir),
            _ => Effect::Nothing,
        }
    }

    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        match (&self.real, input.get(REPLAYED).and_then(Value::as_str)) {
            (_, Some(text)) => Box::pin(async { ToolOutcome::ok(text.to_owned()) }),
            (Some(real), None) => real.call(input, bench),
            (None, None) => Box::pin(async { ToolOutcome::error("nothing to replay") }),
        }
    }
}
