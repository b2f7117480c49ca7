//! A fork: a background agent whose request begins with its parent's exact bytes, so that it reads the parent's cache.
//!
//! It keeps the parent's tool list and is restrained when it calls. It uses `turn`, never the query loop: it cannot
//! compact, dream or fork, and it never writes to the parent's state.

use super::jobs::Job;
use crate::context::tool_results;
use crate::desk::Desk;
use crate::digest::FilesSeen;
use crate::errand::{Ending, Errand, Outcome};
use crate::gate::{Gate, Verdict};
use crate::message::{Block, Message, MessageId, Origin, Role, SessionId, ToolResult, ToolUse};
use crate::model::{ModelError, Reply};
use crate::prompt::Prompt;
use crate::prompts;
use crate::tool::{Effect, Occasion};
use crate::transcript::Call;
use crate::turn::{self, Halt, Hand, Stage, Watcher};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Where a fork starts: the parent's last prompt, with what the model said to it, and what the parent has seen.
#[derive(Debug, Clone)]
pub struct Origins {
    /// The parent.
    pub session: SessionId,
    /// The parent's prompt, byte for byte.
    pub prompt: Prompt,
    /// The parent's files, cloned: what the fork reads does not count for the parent.
    pub seen: FilesSeen,
    /// Where the parent's large tool results are stored; the fork's go there too.
    pub results: Option<PathBuf>,
}

/// Run an errand to its end. Cancelling the parent's token stops it; the reverse does not hold.
pub async fn run(origins: Origins, errand: &Errand, desk: &Desk, cancel: &CancellationToken) -> Outcome {
    go(origins, errand, desk, Watch { cancel, job: None }).await
}

/// Run an errand as a job: its card follows every turn, and it stops when it is asked to.
pub async fn run_as(job: &Job, origins: Origins, errand: &Errand, desk: &Desk) -> Outcome {
    go(origins, errand, desk, Watch { cancel: job.cancel(), job: Some(job) }).await
}

/// Who can stop a fork, and who is told how far it is.
#[derive(Clone, Copy)]
struct Watch<'a> {
    cancel: &'a CancellationToken,
    job: Option<&'a Job>,
}

impl<'a> Watch<'a> {
    fn stage(self) -> Stage<'a> {
        self.job.map_or(Stage::Back, |job| Stage::Watched(job))
    }
}

async fn go(origins: Origins, errand: &Errand, desk: &Desk, watch: Watch<'_>) -> Outcome {
    let (shared, left) = (origins.prompt.history.len(), desk.clock.now());
    let mut fork = Fork::new(origins, errand, desk);
    let ending = fork.work(errand, desk, watch).await;
    let Fork { prompt, mut outcome, .. } = fork;
    outcome.messages = prompt.history[shared..].to_vec();
    outcome.ending = ending;
    outcome.took = Duration::try_from(desk.clock.now().duration_since(left)).unwrap_or_default();
    outcome
}

/// Whether this conversation is itself a fork. The tag is in its history, so it holds however the history came about.
pub fn is_fork(prompt: &Prompt) -> bool {
    prompt
        .history
        .iter()
        .any(|message| message.origin == Origin::Reminder && message.text().contains("<scrubjay-errand "))
}

struct Fork {
    session: SessionId,
    prompt: Prompt,
    seen: FilesSeen,
    results: Option<PathBuf>,
    gate: Gate,
    outcome: Outcome,
}

impl Fork {
    fn new(origins: Origins, errand: &Errand, desk: &Desk) -> Self {
        let Origins { session, mut prompt, seen, results } = origins;
        let directive = directive(&prompt, errand);
        let outcome = Outcome {
            ending: Ending::Done,
            messages: Vec::new(),
            calls: Vec::new(),
            took: Duration::ZERO,
            wrote: Vec::new(),
            denials: 0,
        };
        prompt.history.push(spoken(Role::User, Origin::Reminder, directive, desk, 0));
        Self { session, prompt, seen, results, gate: without_forks(errand.gate.clone()), outcome }
    }

    async fn work(&mut self, errand: &Errand, desk: &Desk, watch: Watch<'_>) -> Ending {
        let Watch { cancel, job } = watch;
        for turn in 1..=errand.turns {
            job.into_iter().for_each(Watcher::glance);
            let reply = match turn::sample(desk, &self.prompt, watch.stage(), cancel).await {
                Ok(reply) => reply,
                Err(Halt::Interrupted { .. }) => return Ending::Cancelled,
                Err(Halt::Model(error)) => return self.fail(error, errand, desk),
            };
            self.outcome.calls.push(Call {
                source: errand.name.clone(),
                model: reply.model.clone(),
                usage: reply.usage,
                stop: reply.stop.clone(),
                cleared: reply.cleared,
            });
            let calls = self.hear(&reply, desk, turn);
            if let Some(job) = job {
                job.turned(&self.said(), calls.len() as u64, reply.usage);
            }
            if calls.is_empty() {
                return Ending::Done;
            }
            let history = self.prompt.history.clone().into();
            let (session, name) = (self.session.clone(), Some(errand.name.clone()));
            let occasion = &Occasion { session, history, errand: name };
            let hand = Hand { gate: &self.gate, seen: &self.seen, occasion, cancel, stage: Stage::Back, view: None };
            let round = turn::run_tools(desk, &calls, &hand).await;
            self.seen.extend(round.saw);
            if let Some(job) = job {
                job.wrote(&round.wrote);
                job.denied(round.denials);
            }
            self.outcome.wrote.extend(round.wrote);
            self.outcome.denials += round.denials;
            let admitted = tool_results::admit(round.results, &calls, self.results.as_deref(), desk);
            self.prompt.history.push(spoken(Role::User, Origin::Tool, admitted.results, desk, turn));
            if round.interrupted {
                return Ending::Cancelled;
            }
        }
        Ending::OutOfTurns
    }

    /// What a cut reply took is paid for too.
    fn fail(&mut self, error: ModelError, errand: &Errand, desk: &Desk) -> Ending {
        if let ModelError::Cut { usage, .. } = &error {
            self.outcome.calls.push(Call::cut(&errand.name, desk.model.name(), *usage));
        }
        Ending::Failed(error.to_string())
    }

    fn said(&self) -> String {
        self.prompt.history.last().map(|message| message.text()).unwrap_or_default()
    }

    fn hear(&mut self, reply: &Reply, desk: &Desk, turn: u64) -> Vec<ToolUse> {
        let message = spoken(Role::Assistant, Origin::Model, reply.blocks.clone(), desk, turn);
        let calls = message.tool_uses().cloned().collect();
        self.prompt.history.push(message);
        calls
    }
}

/// The one new message. Calls that are still open get the same answer in every fork, so that siblings differ in their
/// last block alone.
fn directive(prompt: &Prompt, errand: &Errand) -> Vec<Block> {
    let open = prompt.history.last().into_iter().flat_map(|last| last.tool_uses());
    let mut blocks: Vec<Block> = open
        .map(|call| {
            let parts = vec![Block::text(prompts::FORK_PLACEHOLDER.trim())];
            Block::tool_result(ToolResult { call: call.id.clone(), parts, is_error: false })
        })
        .collect();
    blocks.push(Block::text(prompts::errand(&errand.name, &errand.directive)));
    blocks
}

fn without_forks(gate: Gate) -> Gate {
    Gate::new(move |tool, effect| match effect {
        Effect::Summons => Verdict::Deny(prompts::FORK_CANNOT_FORK.trim().to_owned()),
        // Nobody is there to be asked.
        effect => match gate.decide(tool, effect) {
            Verdict::Ask => Verdict::Deny("a background errand cannot ask the person".to_owned()),
            verdict => verdict,
        },
    })
}

fn spoken(role: Role, origin: Origin, blocks: Vec<Block>, desk: &Desk, turn: u64) -> Arc<Message> {
    let id = MessageId::new(format!("fork-{turn}-{role:?}").to_lowercase());
    Arc::new(Message { id, role, origin, at: desk.clock.now(), blocks })
}
