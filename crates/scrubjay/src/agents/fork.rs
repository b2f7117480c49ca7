//! A fork: a background agent whose request begins with its parent's exact bytes, so that it reads the parent's cache.
//!
//! It keeps the parent's tool list and is restrained when it calls. It uses `turn`, never the query loop: it cannot
//! compact, dream or fork, and it never writes to the parent's state.

use super::jobs::Job;
use crate::context::tool_results;
use crate::desk::Desk;
use crate::digest::FilesSeen;
use crate::errand::{Ending, EndsWhen, Errand, Outcome};
use crate::gate::{Gate, Verdict};
use crate::hooks::Scene;
use crate::message::{Block, Kind, Message, MessageId, Origin, Role, SessionId, ToolResult, ToolUse};
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
    /// Where large tool results are stored.
    pub results: Option<PathBuf>,
    /// On whose behalf it works.
    pub standing: Standing,
}

/// On whose behalf a fork works.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Standing {
    /// A layer's: nobody is asked, and its gate is all that holds.
    #[default]
    Errand,
    /// The conversation's own, in which everything that holds there holds: hooks run, and the person can be asked.
    Agent {
        /// Its record, which hooks are told.
        transcript: PathBuf,
    },
}

/// Something that happened in a fork.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// This was said.
    Said(&'a Arc<Message>),
    /// This was paid for.
    Called(&'a Call),
}

/// Run an errand to its end. Cancelling the parent's token stops it; the reverse does not hold.
pub async fn run(origins: Origins, errand: &Errand, desk: &Desk, cancel: &CancellationToken) -> Outcome {
    go(origins, errand, desk, Watch { cancel, job: None, tell: &mut |_| {} }).await
}

/// The same, and tell what happens while it does.
pub async fn run_telling(
    origins: Origins,
    errand: &Errand,
    desk: &Desk,
    cancel: &CancellationToken,
    tell: &mut (dyn FnMut(Step<'_>) + Send),
) -> Outcome {
    go(origins, errand, desk, Watch { cancel, job: None, tell }).await
}

/// Run an errand as a job: its card follows every turn, and it stops when it is asked to.
pub async fn run_as(job: &Job, origins: Origins, errand: &Errand, desk: &Desk) -> Outcome {
    go(origins, errand, desk, Watch { cancel: job.cancel(), job: Some(job), tell: &mut |_| {} }).await
}

/// Who can stop a fork, and who is told how far it is.
struct Watch<'a> {
    cancel: &'a CancellationToken,
    job: Option<&'a Job>,
    tell: &'a mut (dyn FnMut(Step<'_>) + Send),
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
    standing: Standing,
    outcome: Outcome,
}

impl Fork {
    fn new(origins: Origins, errand: &Errand, desk: &Desk) -> Self {
        let Origins { session, mut prompt, seen, results, standing } = origins;
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
        let gate = without_forks(errand.gate.clone(), &standing);
        Self { session, prompt, seen, results, gate, standing, outcome }
    }

    async fn work(&mut self, errand: &Errand, desk: &Desk, watch: Watch<'_>) -> Ending {
        let Watch { cancel, job, tell } = watch;
        let (session, standing) = (self.session.clone(), self.standing.clone());
        let stage = standing.stage(session.as_str(), desk, job);
        self.tell_last(tell);
        for turn in 1..=errand.turns {
            job.into_iter().for_each(Watcher::glance);
            let reply = match turn::sample(desk, &self.prompt, stage, cancel).await {
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
            self.outcome.calls.last().into_iter().for_each(|call| tell(Step::Called(call)));
            let calls = self.hear(&reply, desk, turn);
            self.tell_last(tell);
            if let Some(job) = job {
                job.turned(&self.said(), calls.len() as u64, reply.usage);
            }
            if calls.is_empty() {
                return Ending::Done;
            }
            let history = self.prompt.history.clone().into();
            let occasion = &Occasion { session: session.clone(), history, errand: Some(errand.name.clone()) };
            let (gate, seen) = (&self.gate, &self.seen);
            let hand = Hand { gate, seen, occasion, cancel, stage, view: None, summon: None, memory: None };
            let round = turn::run_tools(desk, &calls, &hand).await;
            self.seen.extend(round.saw);
            if let Some(job) = job {
                job.wrote(&round.wrote);
                job.denied(round.denials);
            }
            self.outcome.wrote.extend(round.wrote);
            self.outcome.denials += round.denials;
            let has_written = !self.outcome.wrote.is_empty() && !round.results.iter().any(is_error);
            let admitted = tool_results::admit(round.results, &calls, self.results.as_deref(), desk);
            self.prompt.history.push(spoken(Role::User, Origin::Tool, admitted.results, desk, turn));
            self.tell_last(tell);
            if round.interrupted {
                return Ending::Cancelled;
            }
            if has_written && errand.ends == EndsWhen::EditsSucceed {
                return Ending::Done;
            }
        }
        Ending::OutOfTurns
    }

    fn tell_last(&self, tell: &mut (dyn FnMut(Step<'_>) + Send)) {
        self.prompt.history.last().into_iter().for_each(|message| tell(Step::Said(message)));
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

fn is_error(block: &Block) -> bool {
    matches!(block.kind(), Kind::ToolResult(result) if result.is_error)
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

impl Standing {
    fn stage<'a>(&'a self, session_id: &'a str, desk: &'a Desk, job: Option<&'a Job>) -> Stage<'a> {
        match self {
            Standing::Errand => job.map_or(Stage::Back, |job| Stage::Watched(job)),
            Standing::Agent { transcript } => Stage::Front(Scene {
                session_id,
                transcript_path: transcript,
                cwd: &desk.dir,
                permission_mode: desk.gate.name(),
            }),
        }
    }
}

fn without_forks(gate: Gate, standing: &Standing) -> Gate {
    let alone = *standing == Standing::Errand;
    Gate::new(move |tool, effect| match effect {
        Effect::Summons => Verdict::Deny(prompts::FORK_CANNOT_FORK.trim().to_owned()),
        // Nobody is there to be asked.
        effect => match gate.decide(tool, effect) {
            Verdict::Ask if alone => Verdict::Deny("a background errand cannot ask the person".to_owned()),
            verdict => verdict,
        },
    })
}

fn spoken(role: Role, origin: Origin, blocks: Vec<Block>, desk: &Desk, turn: u64) -> Arc<Message> {
    let id = MessageId::new(format!("fork-{turn}-{role:?}").to_lowercase());
    Arc::new(Message { id, role, origin, at: desk.clock.now(), blocks })
}
