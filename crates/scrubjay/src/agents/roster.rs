//! The roster: every agent of a session, what it is doing and what it has taken, for whoever lists, stops or writes to it.

use super::jobs::Job;
use super::letters::Mailbox;
use crate::ledger::breaker;
use crate::message::{Block, Kind, Usage};
use crate::model::Reply;
use crate::prompt::Prompt;
use crate::prompt_cache::prices::Prices;
use crate::transcript::{Call, Summoned};
use crate::turn::Watcher;
use jiff::Timestamp;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// Where an agent stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    /// It works.
    #[default]
    Running,
    /// It has reported.
    Done,
    /// Somebody stopped it.
    Stopped,
    /// It could not go on.
    Failed,
}

impl State {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Done => "done",
            State::Stopped => "stopped",
            State::Failed => "failed",
        }
    }
}

/// An agent at a glance.
#[derive(Debug, Clone, PartialEq)]
pub struct Glance {
    /// Names it among all agents the session ever had.
    pub id: String,
    /// What it was started for.
    pub summoned: Summoned,
    /// When.
    pub since: Timestamp,
    /// Where it stands.
    pub state: State,
    /// What it is doing, in a few words.
    pub words: String,
    /// How often its model was asked.
    pub calls: u64,
    /// What that took.
    pub usage: Usage,
    /// What that cost, where prices are known.
    pub money: Option<f64>,
    /// Its own record, which can be read while it works.
    pub transcript: Option<PathBuf>,
}

/// An agent that was started.
#[derive(Debug)]
pub struct Agent {
    /// Names it among all agents the session ever had.
    pub id: String,
    /// What it was started for.
    pub summoned: Summoned,
    /// When.
    pub since: Timestamp,
    /// Its own record.
    pub transcript: Option<PathBuf>,
    /// Stops it.
    pub stop: CancellationToken,
    /// Where letters to it lie.
    pub mailbox: Mailbox,
    progress: Mutex<Progress>,
    /// Its card among all background work of the project, until its end.
    job: Mutex<Option<Job>>,
}

#[derive(Debug, Default)]
struct Progress {
    state: State,
    /// What somebody said it is doing.
    words: Option<String>,
    /// What its last call was about.
    doing: String,
    usage: Usage,
    money: Option<f64>,
    calls: Vec<Call>,
    /// What it was asked last, and what it said to that.
    last: Option<(Prompt, Vec<Block>)>,
}

impl Agent {
    /// It begins, as this job.
    pub fn new(id: String, summoned: Summoned, transcript: Option<PathBuf>, job: Job) -> Self {
        let (since, stop) = (job.card().started, job.cancel().clone());
        let (mailbox, progress, job) = (Mailbox::default(), Mutex::default(), Mutex::new(Some(job)));
        Self { id, summoned, since, transcript, stop, mailbox, progress, job }
    }

    fn with_job(&self, act: impl FnMut(&Job)) {
        self.job.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(act);
    }

    /// Somebody elsewhere may have asked it to stop.
    pub(super) fn listen(&self) {
        self.with_job(Watcher::glance);
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.summoned.name
    }

    /// Who asks, in the ledger.
    pub fn source(&self) -> String {
        format!("agent:{}", self.summoned.kind)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its model answered.
    pub(super) fn heard(&self, prompt: &Prompt, reply: &Reply, prices: Option<Prices>) {
        let (model, usage, stop) = (reply.model.clone(), reply.usage, reply.stop.clone());
        self.spent(Call { source: self.source(), model, usage, stop, cleared: reply.cleared }, prices);
        let mut progress = self.progress();
        let called = reply.blocks.iter().rev().find_map(|block| match block.kind() {
            Kind::ToolUse(call) => Some(super::words::of_call(call)),
            _ => None,
        });
        progress.doing = called.unwrap_or_else(|| "Writing its report".to_owned());
        progress.last = Some((prompt.clone(), reply.blocks.clone()));
        drop(progress);
        let said: Vec<&str> = reply.blocks.iter().filter_map(Block::as_text).collect();
        let tools = reply.blocks.iter().filter(|block| matches!(block.kind(), Kind::ToolUse(_))).count();
        self.with_job(|job| {
            job.enter(&self.doing());
            job.turned(&said.join(" "), tools as u64, reply.usage);
        });
    }

    /// A call was paid for.
    pub(super) fn spent(&self, call: Call, prices: Option<Prices>) {
        let mut progress = self.progress();
        progress.usage += call.usage;
        if let Some(cost) = prices.and_then(|prices| prices.cost(&call.usage)) {
            *progress.money.get_or_insert_default() += cost;
        }
        progress.calls.push(call);
    }

    /// Everything it took.
    pub fn usage(&self) -> Usage {
        self.progress().usage
    }

    /// Every call of its model.
    pub fn calls(&self) -> Vec<Call> {
        self.progress().calls.clone()
    }

    /// What it was asked last, and what it said to that.
    pub(super) fn last(&self) -> Option<(Prompt, Vec<Block>)> {
        self.progress().last.clone()
    }

    /// What its last call was about; known without asking anybody.
    pub fn doing(&self) -> String {
        let doing = self.progress().doing.clone();
        if doing.is_empty() { "Starting".to_owned() } else { doing }
    }

    /// Somebody has put into words what it is doing.
    pub(super) fn say(&self, words: String) {
        self.with_job(|job| job.enter(&words));
        self.progress().words = Some(words);
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        self.progress().state
    }

    /// Its work is over, and why where it is not done.
    pub fn end(&self, state: State, why: &str) {
        let because = why.to_owned();
        let came = match state {
            State::Done => breaker::Progress::Made,
            State::Stopped => breaker::Progress::Stopped,
            State::Running | State::Failed => breaker::Progress::None { because, calls: self.calls().len() as u64 },
        };
        let job = self.job.lock().unwrap_or_else(PoisonError::into_inner).take();
        job.into_iter().for_each(|job| job.end(&came));
        let mut progress = self.progress();
        progress.state = state;
        // What is kept for its sake can be large.
        progress.last = None;
    }

    /// At a glance.
    pub fn glance(&self) -> Glance {
        let progress = self.progress();
        let words = match (progress.state, &progress.words) {
            (State::Running, Some(words)) => words.clone(),
            (State::Running, None) if progress.doing.is_empty() => "Starting".to_owned(),
            (State::Running, None) => progress.doing.clone(),
            (over, _) => over.word().to_owned(),
        };
        Glance {
            id: self.id.clone(),
            summoned: self.summoned.clone(),
            since: self.since,
            state: progress.state,
            words,
            calls: progress.calls.len() as u64,
            usage: progress.usage,
            money: progress.money,
            transcript: self.transcript.clone(),
        }
    }
}

/// Every agent of a session, also those that agents started. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Roster(Arc<Mutex<Vec<Arc<Agent>>>>);

impl Roster {
    fn all(&self) -> MutexGuard<'_, Vec<Arc<Agent>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Take one on; whether that may be is decided while nobody else is taken on.
    pub(crate) fn hire<E>(&self, hire: impl FnOnce(&[Arc<Agent>]) -> Result<Agent, E>) -> Result<Arc<Agent>, E> {
        let mut all = self.all();
        let agent = Arc::new(hire(&all)?);
        all.push(agent.clone());
        Ok(agent)
    }

    /// All of them, oldest first.
    pub fn list(&self) -> Vec<Glance> {
        self.all().iter().map(|agent| agent.glance()).collect()
    }

    /// Those that work.
    pub fn running(&self) -> Vec<Arc<Agent>> {
        self.all().iter().filter(|agent| agent.state() == State::Running).cloned().collect()
    }

    /// The agent of this name or id; the newest where there were several.
    pub fn find(&self, name: &str) -> Option<Arc<Agent>> {
        self.all().iter().rev().find(|agent| agent.name() == name || agent.id == name).cloned()
    }

    /// Stop one. Whether there was one to stop.
    pub fn stop(&self, name: &str) -> bool {
        let working = self.find(name).filter(|agent| agent.state() == State::Running);
        working.iter().for_each(|agent| agent.stop.cancel());
        working.is_some()
    }

    /// What all of them cost, as far as that is known.
    pub fn money(&self) -> f64 {
        self.all().iter().filter_map(|agent| agent.progress().money).sum()
    }
}
