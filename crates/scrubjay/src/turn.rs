//! One round: sample the model, then run the tools it called. Forks and the query loop both stand on these two verbs.

use crate::desk::{Consent, Desk, Request};
use crate::digest::{Digest, FilesSeen};
use crate::event::Event;
use crate::gate::{Gate, Verdict};
use crate::message::{Block, ToolResult, ToolUse};
use crate::model::{Delta, ModelError, Pending, Reply};
use crate::prompt::Prompt;
use crate::prompts;
use crate::tool::{Bench, Effect, Tool, ToolOutcome};
use futures::FutureExt as _;
use futures::StreamExt as _;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Why a round has no reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Halt {
    /// The person interrupted; this much had been shown.
    Interrupted {
        /// The prose so far.
        shown: String,
    },
    /// The model failed.
    Model(ModelError),
}

/// Whether a watching person sees the round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The conversation itself.
    Front,
    /// A fork: nothing is shown.
    Back,
}

/// Ask the model once.
pub async fn sample(desk: &Desk, prompt: &Prompt, stage: Stage, cancel: &CancellationToken) -> Result<Reply, Halt> {
    let mut shown = String::new();
    let mut on = |delta: Delta| {
        if let Delta::Text(text) = &delta {
            shown.push_str(text);
        }
        if stage == Stage::Front {
            desk.events.emit(Event::Delta(delta));
        }
    };
    let replied = {
        let reply = desk.model.reply(prompt, &mut on);
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            reply = reply => Some(reply),
        }
    };
    match replied {
        None => Err(Halt::Interrupted { shown }),
        Some(reply) => reply.map_err(Halt::Model),
    }
}

/// What a round of tools brought back.
#[derive(Debug, Default)]
pub struct Round {
    /// One answer for each call, in the order of the calls.
    pub results: Vec<Block>,
    /// Files whose bytes the model now knows.
    pub saw: Vec<(PathBuf, Digest)>,
    /// Files that were changed.
    pub wrote: Vec<PathBuf>,
    /// How many calls were refused.
    pub denials: u64,
    /// Whether the person interrupted.
    pub interrupted: bool,
}

/// Run the tools a reply called: read-only ones beside each other, writers alone and in order. Every call gets an answer,
/// whatever happens.
pub async fn run_tools(desk: &Desk, calls: &[ToolUse], hand: &Hand<'_>) -> Round {
    let mut round = Round::default();
    let mut seen = hand.seen.clone();
    let mut rest = calls;
    while !rest.is_empty() {
        let together = rest.iter().take_while(|call| effect_of(desk, call).is_read_only()).count().max(1);
        let (batch, later) = rest.split_at(together);
        let width = usize::try_from(desk.limits.parallel_tools).unwrap_or(1);
        // Boxed, so that the whole question can be asked on a task of its own.
        let running: Vec<Pending<'_, Finished>> =
            batch.iter().map(|call| -> Pending<'_, Finished> { Box::pin(run_one(desk, call, hand, &seen)) }).collect();
        let finished: Vec<Finished> = futures::stream::iter(running).buffered(width).collect().await;
        for done in finished {
            seen.extend(done.outcome.saw.iter().cloned());
            round.take(done);
        }
        rest = later;
    }
    round
}

/// What run_tools works under: what may be touched, what was seen, and when to stop.
pub struct Hand<'a> {
    /// What the tools may do.
    pub gate: &'a Gate,
    /// What the model has seen.
    pub seen: &'a FilesSeen,
    /// Set when the person interrupts.
    pub cancel: &'a CancellationToken,
    /// Whether a person watches.
    pub stage: Stage,
}

struct Finished {
    call: ToolUse,
    outcome: ToolOutcome,
    wrote: Option<PathBuf>,
    fate: Fate,
}

#[derive(PartialEq, Eq)]
enum Fate {
    Ran,
    Denied,
    Interrupted,
}

impl Round {
    fn take(&mut self, done: Finished) {
        let ToolOutcome { parts, is_error, saw } = done.outcome;
        if !is_error {
            self.wrote.extend(done.wrote);
        }
        self.denials += u64::from(done.fate == Fate::Denied);
        self.interrupted |= done.fate == Fate::Interrupted;
        self.saw.extend(saw);
        self.results.push(Block::tool_result(ToolResult { call: done.call.id, parts, is_error }));
    }
}

fn find<'a>(desk: &'a Desk, call: &ToolUse) -> Option<&'a Arc<dyn Tool>> {
    desk.tools.iter().find(|tool| tool.spec().name == call.name)
}

fn effect_of(desk: &Desk, call: &ToolUse) -> Effect {
    find(desk, call).map_or(Effect::Nothing, |tool| tool.effect(&call.input, &desk.dir))
}

async fn run_one(desk: &Desk, call: &ToolUse, hand: &Hand<'_>, seen: &FilesSeen) -> Finished {
    let effect = effect_of(desk, call);
    let wrote = match &effect {
        Effect::Writes(path) => Some(path.clone()),
        _ => None,
    };
    if hand.stage == Stage::Front {
        let summary = summary(call, &effect);
        desk.events.emit(Event::ToolStarted { call: call.id.clone(), tool: call.name.clone(), summary });
    }
    let worked = async {
        match permitted(desk, call, effect, hand.gate).await {
            Err(reason) => (ToolOutcome::error(reason), Fate::Denied),
            Ok(()) => (perform(desk, call, hand, seen).await, Fate::Ran),
        }
    };
    let (outcome, fate) = tokio::select! {
        biased;
        () = hand.cancel.cancelled() => (ToolOutcome::error(prompts::INTERRUPTED.trim()), Fate::Interrupted),
        done = worked => done,
    };
    if hand.stage == Stage::Front {
        let text = outcome.parts.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n");
        let (id, tool) = (call.id.clone(), call.name.clone());
        desk.events.emit(Event::ToolFinished { call: id, tool, is_error: outcome.is_error, text });
    }
    Finished { call: call.clone(), outcome, wrote, fate }
}

async fn permitted(desk: &Desk, call: &ToolUse, effect: Effect, gate: &Gate) -> Result<(), String> {
    match gate.decide(&call.name, &effect) {
        Verdict::Allow => Ok(()),
        Verdict::Deny(reason) => Err(reason),
        Verdict::Ask => {
            let request = Request { tool: call.name.clone(), input: call.input.clone(), effect };
            match desk.person.ask(request).await {
                Consent::Granted => Ok(()),
                Consent::Declined(reason) => Err(reason),
            }
        }
    }
}

/// A tool that panics has failed; the session has not.
async fn perform(desk: &Desk, call: &ToolUse, hand: &Hand<'_>, seen: &FilesSeen) -> ToolOutcome {
    let Some(tool) = find(desk, call) else {
        let known: Vec<&str> = desk.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        return ToolOutcome::error(format!(
            "There is no tool called {}. The tools are: {}.",
            call.name,
            known.join(", ")
        ));
    };
    let bench = Bench { dir: &desk.dir, seen, limits: &desk.limits, call: &call.id, cancel: hand.cancel };
    let called = AssertUnwindSafe(tool.call(&call.input, &bench)).catch_unwind().await;
    let outcome = called.unwrap_or_else(|_| {
        ToolOutcome::error(format!(
            "The tool {} failed inside itself. This is a fault of the tool, not of the call.",
            call.name
        ))
    });
    if outcome.parts.is_empty() { ToolOutcome { parts: vec![Block::text("(no output)")], ..outcome } } else { outcome }
}

/// One line for a person: what the call is about.
fn summary(call: &ToolUse, effect: &Effect) -> String {
    match effect {
        Effect::Runs { command, .. } => command.lines().next().unwrap_or_default().to_owned(),
        Effect::Writes(path) => path.display().to_string(),
        Effect::Reads(paths) => match call.input.get("pattern").and_then(|pattern| pattern.as_str()) {
            Some(pattern) => pattern.to_owned(),
            None => paths.first().map(|path| path.display().to_string()).unwrap_or_default(),
        },
        Effect::Reaches(host) => host.clone(),
        Effect::Nothing | Effect::Summons | Effect::Proposes => String::new(),
    }
}
