//! Running the tools a reply called: hooks, gate, person, tool, hooks. Every call gets an answer, whatever happens.

use super::Stage;
use crate::desk::{Consent, Desk, Request};
use crate::digest::{Digest, FilesSeen};
use crate::event::Event;
use crate::gate::{Approval, Gate, Verdict};
use crate::hooks::{HookOutcome, Moment, Permission};
use crate::message::{Block, ToolResult, ToolUse};
use crate::model::Pending;
use crate::permission::OUTSIDE;
use crate::prompts;
use crate::tool::{Bench, Confinement, Effect, MemoryWriter, Occasion, Summon, Tool, ToolOutcome, Visible};
use crate::transcript::{Hiding, View};
use futures::FutureExt as _;
use futures::StreamExt as _;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

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
    /// What hooks add for the model.
    pub context: Vec<String>,
    /// A hook wants the session to stop after this round, and why.
    pub stop: Option<String>,
    /// What the conversation is to hide or show again.
    pub hiding: Option<Box<Hiding>>,
}

/// Run the tools a reply called: read-only ones and agents beside each other, writers alone and in order. Every call gets an answer,
/// whatever happens.
pub async fn run_tools(desk: &Desk, calls: &[ToolUse], hand: &Hand<'_>) -> Round {
    let mut round = Round::default();
    let mut seen = hand.seen.clone();
    let mut rest = calls;
    while !rest.is_empty() {
        let together = rest.iter().take_while(|call| effect_of(desk, call).runs_beside_others()).count().max(1);
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
#[derive(Clone, Copy)]
pub struct Hand<'a> {
    /// What the tools may do.
    pub gate: &'a Gate,
    /// What the model has seen.
    pub seen: &'a FilesSeen,
    /// What led to the calls.
    pub occasion: &'a Occasion,
    /// Set when the person interrupts.
    pub cancel: &'a CancellationToken,
    /// Whether a person watches.
    pub stage: Stage<'a>,
    /// The conversation, where tools may look at it and change how it is seen.
    pub view: Option<&'a View>,
    /// Whoever starts agents.
    pub summon: Option<&'a dyn Summon>,
    /// Whoever takes down notes for the memory.
    pub memory: Option<&'a dyn MemoryWriter>,
}

struct Finished {
    call: ToolUse,
    outcome: ToolOutcome,
    wrote: Option<PathBuf>,
    fate: Fate,
    hooked: Hooked,
}

/// What hooks leave behind besides their verdict.
#[derive(Default)]
struct Hooked {
    context: Vec<String>,
    stop: Option<String>,
}

impl Hooked {
    /// Tell the person what hooks say to them, keep what they say to the model.
    fn take(&mut self, desk: &Desk, heard: &mut HookOutcome) {
        for text in heard.messages.drain(..).chain(heard.notices.drain(..)) {
            desk.events.notice(text);
        }
        self.context.append(&mut heard.context);
        self.stop = heard.stop.take().or(self.stop.take());
    }
}

#[derive(PartialEq, Eq)]
enum Fate {
    Ran,
    Denied,
    Interrupted,
}

impl Round {
    fn take(&mut self, done: Finished) {
        let ToolOutcome { parts, is_error, saw, hiding, notices: _ } = done.outcome;
        if !is_error {
            self.wrote.extend(done.wrote);
        }
        self.denials += u64::from(done.fate == Fate::Denied);
        self.interrupted |= done.fate == Fate::Interrupted;
        self.saw.extend(saw);
        self.hiding = hiding.or(self.hiding.take());
        self.context.extend(done.hooked.context);
        self.stop = done.hooked.stop.or(self.stop.take());
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
    let mut hooked = Hooked::default();
    let mut call = call.clone();
    let effect = effect_of(desk, &call);
    let summary = summary(&call, &effect);
    let started = Event::ToolStarted { call: call.id.clone(), tool: call.name.clone(), summary };
    hand.stage.emit(desk, started);
    let worked = async {
        let permit = match permitted(desk, &mut call, hand, seen, &mut hooked).await {
            Err(Obstacle::Refused(reason)) => return (ToolOutcome::error(reason), Fate::Denied, Effect::Nothing),
            Err(Obstacle::Foreseen(outcome)) => return (*outcome, Fate::Ran, Effect::Nothing),
            Ok(permit) => permit,
        };
        let outcome = perform(desk, (&call, &permit), hand, seen).await;
        (heard_afterwards(desk, &call, outcome, hand, &mut hooked).await, Fate::Ran, permit.effect)
    };
    let (outcome, fate, effect) = tokio::select! {
        biased;
        () = hand.cancel.cancelled() => (ToolOutcome::error(prompts::INTERRUPTED.trim()), Fate::Interrupted, Effect::Nothing),
        done = worked => done,
    };
    let text = outcome.parts.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n");
    outcome.notices.iter().for_each(|notice| hand.stage.emit(desk, Event::Notice(notice.clone())));
    if fate == Fate::Denied {
        let (call, tool, input) = (call.id.clone(), call.name.clone(), call.input.clone());
        hand.stage.emit(desk, Event::ToolRefused { call, tool, input, reason: text.clone() });
    }
    let (id, tool, is_error) = (call.id.clone(), call.name.clone(), outcome.is_error);
    hand.stage.emit(desk, Event::ToolFinished { call: id, tool, is_error, text });
    let wrote = match effect {
        Effect::Writes(path) => Some(path),
        _ => None,
    };
    Finished { call, outcome, wrote, fate, hooked }
}

/// What a call may do, and what the commands it runs are confined to.
struct Permit {
    effect: Effect,
    confinement: Confinement,
}

/// Why a call does not happen.
enum Obstacle {
    Refused(String),
    /// It would fail, so nobody is asked about it.
    Foreseen(Box<ToolOutcome>),
}

/// Hooks first, then the gate, then the person. A hook may change the input, so the effect is that of what it left.
async fn permitted(
    desk: &Desk,
    call: &mut ToolUse,
    hand: &Hand<'_>,
    seen: &FilesSeen,
    hooked: &mut Hooked,
) -> Result<Permit, Obstacle> {
    let mut heard = heard_before(desk, call, hand).await;
    hooked.take(desk, &mut heard);
    if let Some(reason) = heard.blocked {
        return Err(Obstacle::Refused(reason));
    }
    if let Some(input) = heard.updated_input {
        call.input = input;
    }
    let effect = effect_of(desk, call);
    let leaves = find(desk, call).is_some_and(|tool| tool.leaves_sandbox(&call.input));
    let said = heard.permission.map(|asked| (asked.permission, asked.reason));
    let (verdict, approval) = match (hand.gate.decide(&call.name, &effect), said) {
        (_, Some((Permission::Deny, reason))) => (Verdict::Deny(reason), Approval::NotNeeded),
        (Verdict::Ask, Some((Permission::Allow, _))) if !leaves => (Verdict::Allow, Approval::Given),
        (Verdict::Allow, Some((Permission::Ask, _))) => (Verdict::Ask, Approval::NotNeeded),
        (Verdict::Allow, _) if leaves => (Verdict::Ask, Approval::NotNeeded),
        (verdict, _) => (verdict, Approval::NotNeeded),
    };
    let approval = match verdict {
        Verdict::Allow => approval,
        Verdict::Deny(reason) => return Err(Obstacle::Refused(reason)),
        Verdict::Ask => {
            if let Some(outcome) = foreseen(desk, (call, &effect), hand, seen).await {
                return Err(Obstacle::Foreseen(Box::new(outcome)));
            }
            match desk.person.ask(request(call, &effect, hand, leaves)).await {
                Consent::Granted => Approval::Given,
                Consent::Declined(reason) => return Err(Obstacle::Refused(reason)),
            }
        }
    };
    let confinement = match hand.gate.confines(&call.name, &effect, approval) {
        true => Confinement::ReadOnly,
        false if leaves => Confinement::Outside,
        false => Confinement::Usual,
    };
    Ok(Permit { effect, confinement })
}

/// Leaving the sandbox has a name of its own, so that no answer that was given for the tool covers it.
fn request(call: &ToolUse, effect: &Effect, hand: &Hand<'_>, leaves: bool) -> Request {
    let tool = if leaves { format!("{}{OUTSIDE}", call.name) } else { call.name.clone() };
    Request { tool, input: call.input.clone(), effect: effect.clone(), by: hand.occasion.errand.clone() }
}

/// Whether the call would fail anyway. Files are looked at only where the model may read them, or has.
async fn foreseen(
    desk: &Desk,
    (call, effect): (&ToolUse, &Effect),
    hand: &Hand<'_>,
    seen: &FilesSeen,
) -> Option<ToolOutcome> {
    let (tool, Effect::Writes(path)) = (find(desk, call)?, effect) else { return None };
    let reads = Effect::Reads(vec![path.clone()]);
    let may_look = seen.contains_key(path) || hand.gate.decide("Read", &reads) == Verdict::Allow;
    let visible = Visible::default();
    let bench = bench(desk, (call, effect), hand, seen, &visible);
    tool.foresee(&call.input, &bench, may_look).await
}

fn bench<'a>(
    desk: &'a Desk,
    (call, approved): (&'a ToolUse, &'a Effect),
    hand: &Hand<'a>,
    seen: &'a FilesSeen,
    visible: &'a Visible,
) -> Bench<'a> {
    let (dir, limits, Hand { occasion, cancel, view, summon, memory, .. }) = (&desk.dir, &desk.limits, *hand);
    let (call, confinement) = (&call.id, Confinement::default());
    Bench { dir, seen, limits, call, approved, confinement, occasion, cancel, view, summon, memory, visible }
}

/// A file is shown unless reading it would be refused.
fn visible(call: &ToolUse, gate: &Gate) -> Visible {
    let (tool, gate) = (call.name.clone(), gate.clone());
    Visible::new(move |path| !matches!(gate.decide(&tool, &Effect::Reads(vec![path.to_owned()])), Verdict::Deny(_)))
}

async fn heard_before(desk: &Desk, call: &ToolUse, hand: &Hand<'_>) -> HookOutcome {
    let Stage::Front(scene) = hand.stage else { return HookOutcome::default() };
    let (tool_name, tool_input, tool_use_id) = (call.name.as_str(), &call.input, call.id.as_str());
    desk.hooks.run(&scene, &Moment::PreToolUse { tool_name, tool_input, tool_use_id }, &desk.limits).await
}

/// After the call: hooks may add to what the model sees of it, or replace it.
async fn heard_afterwards(
    desk: &Desk,
    call: &ToolUse,
    mut outcome: ToolOutcome,
    hand: &Hand<'_>,
    hooked: &mut Hooked,
) -> ToolOutcome {
    let Stage::Front(scene) = hand.stage else { return outcome };
    let tool_response = Value::from(outcome.parts.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n"));
    let (tool_name, tool_input, tool_use_id) = (call.name.as_str(), &call.input, call.id.as_str());
    let moment = Moment::PostToolUse { tool_name, tool_input, tool_use_id, tool_response: &tool_response };
    let mut heard = desk.hooks.run(&scene, &moment, &desk.limits).await;
    hooked.take(desk, &mut heard);
    match heard.updated_output {
        Some(Value::String(text)) => outcome.parts = vec![Block::text(text)],
        Some(other) => outcome.parts = vec![Block::text(other.to_string())],
        None => {}
    }
    outcome.parts.extend(heard.blocked.map(Block::text));
    outcome
}

/// A tool that panics has failed; the session has not.
async fn perform(desk: &Desk, (call, permit): (&ToolUse, &Permit), hand: &Hand<'_>, seen: &FilesSeen) -> ToolOutcome {
    let Some(tool) = find(desk, call) else {
        let known: Vec<&str> = desk.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        return ToolOutcome::error(format!(
            "There is no tool called {}. The tools are: {}.",
            call.name,
            known.join(", ")
        ));
    };
    let visible = visible(call, hand.gate);
    let Permit { effect: approved, confinement } = permit;
    let bench = Bench { confinement: *confinement, ..bench(desk, (call, approved), hand, seen, &visible) };
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
        Effect::Summons => call.input.get("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
        Effect::Nothing | Effect::Proposes => String::new(),
    }
}
