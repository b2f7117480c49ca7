//! One agent at work: prepared while its caller waits, then on a task of its own until its report is delivered.

use super::{Home, Summoner, Wish};
use crate::agents::fork::Origins;
use crate::agents::letters::{Letter, MAIN};
use crate::agents::reach::Reach;
use crate::agents::roster::{Agent, State};
use crate::agents::watched::Watched;
use crate::agents::words::Teller;
use crate::agents::worktree::{Settled, Worktree};
use crate::desk::Desk;
use crate::event::{Event, Events};
use crate::gate::Verdict;
use crate::ledger::Called;
use crate::message::{Message, Origin};
use crate::model::Model;
use crate::prompts;
use crate::settings::key;
use crate::tool::{Bench, Effect, ToolOutcome};
use crate::transcript::{Call, Entry, Returned, Transcript};
use jiff::Timestamp;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// An agent, and everything it needs.
pub(super) struct Post {
    pub(super) by: Summoner,
    pub(super) wish: Wish,
    pub(super) agent: Arc<Agent>,
    /// What it thinks with.
    pub(super) model: Arc<dyn Model>,
    pub(super) worktree: Option<Worktree>,
    /// Where it works.
    pub(super) dir: PathBuf,
    /// What the person had said before.
    pub(super) before: Vec<Arc<Message>>,
    /// Where a fork starts.
    pub(super) origins: Option<Origins>,
    pub(super) began: Timestamp,
}

/// How it ended: what it reports, and its record.
pub(super) struct Ended {
    pub(super) state: State,
    pub(super) text: String,
    pub(super) record: Option<Transcript>,
}

impl Ended {
    pub(super) fn failed(why: impl Into<String>, record: Option<Transcript>) -> Self {
        Self { state: State::Failed, text: why.into(), record }
    }
}

impl Post {
    /// Everything that can fail before the agent begins.
    pub(super) async fn prepare(
        by: &Summoner,
        wish: &Wish,
        (agent, model): (&Arc<Agent>, Arc<dyn Model>),
        bench: &Bench<'_>,
    ) -> Result<Self, String> {
        let origins = match &wish.kind {
            Some(_) => None,
            None => Some(by.origins(bench).ok_or("A fork cannot be made here: the conversation cannot be seen.")?),
        };
        let worktree = by.worktree(wish, agent).await?;
        let dir = worktree.as_ref().map_or_else(|| by.desk.dir.clone(), |tree| tree.place_of(&by.desk.dir));
        let before =
            bench.occasion.history.iter().filter(|message| message.origin == Origin::Person).cloned().collect();
        let (by, wish, agent, began) = (by.clone(), wish.clone(), agent.clone(), by.desk.clock.now());
        Ok(Self { by, wish, agent, model, worktree, dir, before, origins, began })
    }

    /// Work, settle, report.
    pub(super) async fn live(self, report: oneshot::Sender<ToolOutcome>) {
        self.announce(self.agent.doing());
        let ended = tokio::select! {
            ended = self.work() => ended,
            () = self.tell() => Ended::failed("it was lost", None),
        };
        let kept = self.settle().await;
        let Ended { state, mut text, record } = ended;
        self.close(record, state, &text, kept.as_ref().map(|_| self.dir_of_tree()));
        let paid = self.receipts();
        // A session that has ended in the meantime has no use for the news.
        self.by.shared.sender.send(Home { calls: paid }).unwrap_or_default();
        self.agent.end(state, &text);
        text = self.whole_report(state, &text, kept);
        self.announce(state.word().to_owned());
        if self.agent.summoned.background {
            let to = self.by.me.as_deref().unwrap_or(MAIN);
            self.by.mailbox.post(Letter::new(self.agent.name(), to, text, self.by.desk.clock.now()));
        } else {
            let outcome = if state == State::Done { ToolOutcome::ok(text) } else { ToolOutcome::error(text) };
            // Nobody waits any more where the question was interrupted.
            report.send(outcome).unwrap_or_default();
        }
    }

    async fn work(&self) -> Ended {
        match &self.origins {
            Some(origins) => self.fork(origins.clone()).await,
            None => self.carry_out().await,
        }
    }

    /// Say every now and then what an agent in the background is doing.
    async fn tell(&self) {
        if !self.agent.summoned.background || !self.by.desk.settings.flag(&key::AGENT_SUMMARY) {
            return std::future::pending().await;
        }
        let teller = Teller {
            agent: self.agent.clone(),
            model: self.model.clone(),
            small: self.by.shared.staff.as_ref().and_then(|staff| staff.small.clone()),
            desk: self.by.desk.clone(),
            one_at_a_time: self.by.shared.telling.clone(),
        };
        let told = |words, paid: Option<(Called, Call)>| {
            self.announce(words);
            self.by.shared.sender.send(Home { calls: paid.into_iter().collect() }).unwrap_or_default();
        };
        teller.keep_telling(told).await;
    }

    fn announce(&self, words: String) {
        let (name, kind) = (self.agent.name().to_owned(), self.agent.summoned.kind.clone());
        self.by.desk.events.emit(Event::Agent { name, kind, state: self.agent.state().word(), words });
    }

    /// What the agent works with, its own tools and gate aside.
    pub(super) fn desk(&self, reach: Reach) -> Desk {
        let (parent, name) = (self.by.desk.clone(), self.agent.name().to_owned());
        let heard = parent.events.clone();
        // What it says and does is in its record; only what a person should know comes through.
        let events = Events::to(move |event| match event {
            Event::Notice(text) => heard.notice(format!("{name}: {text}")),
            refused @ Event::ToolRefused { .. } => heard.emit(refused),
            _ => {}
        });
        let model = Watched {
            model: self.model.clone(),
            agent: self.agent.clone(),
            roster: self.by.shared.roster.clone(),
            limits: parent.limits.clone(),
        };
        let gate = reach.gate(parent.gate.clone());
        Desk { model: Arc::new(model), gate, events, dir: self.dir.clone(), ..parent }
    }

    /// A worktree in which nothing has changed goes; why it stays otherwise.
    async fn settle(&self) -> Option<String> {
        match self.worktree.as_ref()?.settle().await {
            Settled::Removed => None,
            Settled::Kept(why) => Some(why),
        }
    }

    fn dir_of_tree(&self) -> PathBuf {
        self.worktree.as_ref().map(|tree| tree.dir.clone()).unwrap_or_default()
    }

    fn close(&self, record: Option<Transcript>, state: State, text: &str, kept: Option<PathBuf>) {
        let Some(mut record) = record else { return };
        let why = if state == State::Done { String::new() } else { text.to_owned() };
        let returned = Entry::Returned(Returned { how: state.word().to_owned(), why, kept });
        let closed = record.append(returned, self.by.desk.clock.now()).and_then(|()| record.settle());
        if let Err(error) = closed {
            self.by.desk.events.notice(format!("the record of the agent {} is incomplete: {error}", self.agent.name()));
        }
    }

    /// Its calls at its model's prices; the first of a fork with what it could read of the conversation's cache.
    fn receipts(&self) -> Vec<(Called, Call)> {
        let (now, calls) = (self.by.desk.clock.now(), self.agent.calls());
        let took = Duration::try_from(now.duration_since(self.began)).unwrap_or_default();
        let each = took / u32::try_from(calls.len().max(1)).unwrap_or(u32::MAX);
        let ttl = self.by.opening.as_ref().map(|opening| opening.options.cache_ttl.messages()).unwrap_or_default();
        let mut promised = self.by.prefix.filter(|_| self.origins.is_some());
        let receipt = |call: Call| {
            let called = Called::of(now, &call, self.model.prices(), ttl, each);
            (Called { agent: Some(self.agent.name().to_owned()), promised: promised.take(), ..called }, call)
        };
        calls.into_iter().map(receipt).collect()
    }

    /// What reaches whoever asked.
    fn whole_report(&self, state: State, text: &str, kept: Option<String>) -> String {
        let record = self.agent.transcript.as_ref().map(|path| path.display().to_string());
        let mut report = cut(text, self.by.desk.limits.agent_report_bytes, record.as_deref());
        if state != State::Done {
            let place = record.map(|path| format!(" What it did until then is in {path}.")).unwrap_or_default();
            report = format!("The agent {} {}: {report}.{place}", self.agent.name(), ended_how(state));
        }
        if let (Some(tree), Some(why)) = (&self.worktree, kept) {
            report.push_str(&format!(
                "\n\nIts worktree is kept at {} on branch {} ({why}).",
                tree.dir.display(),
                tree.branch
            ));
        }
        report
    }
}

fn ended_how(state: State) -> &'static str {
    match state {
        State::Stopped => "was stopped",
        _ => "did not finish",
    }
}

fn cut(text: &str, most: u64, record: Option<&str>) -> String {
    let text = if text.trim().is_empty() { "(it reported nothing)" } else { text };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    if text.len() <= most {
        return text.to_owned();
    }
    let whole = record.map(|path| format!("; the whole is in {path}")).unwrap_or_default();
    format!("{}\n[cut after {most} bytes{whole}]", &text[..text.floor_char_boundary(most)])
}

impl Summoner {
    /// The model of a kind that names one, or the caller's.
    pub(super) async fn model_of(&self, wish: &Wish) -> Arc<dyn Model> {
        let named = match (&wish.kind, &self.shared.staff) {
            (Some(kind), Some(staff)) => staff.model(kind).await,
            _ => Ok(None),
        };
        match named {
            Ok(own) => own.unwrap_or_else(|| self.thinking()),
            Err(why) => {
                self.desk.events.notice(format!("agents of the kind {} use your model: {why}", wish.kind_name()));
                self.thinking()
            }
        }
    }

    fn thinking(&self) -> Arc<dyn Model> {
        self.desk.model.clone()
    }

    /// A worktree, where one is wanted and something may be changed at all.
    async fn worktree(&self, wish: &Wish, agent: &Agent) -> Result<Option<Worktree>, String> {
        if !wish.worktree {
            return Ok(None);
        }
        let dir = agent.summoned.worktree.as_ref().ok_or("A worktree needs a session that is kept on disk.")?;
        if let Verdict::Deny(why) = self.desk.gate.decide("Agent", &Effect::Writes(self.desk.dir.join("worktree"))) {
            return Err(format!("A worktree cannot be made now: {why}."));
        }
        let branch = format!("scrubjay/{}-{}", agent.id, short(self.session.as_str()));
        Worktree::create(&self.desk.dir, dir, &branch, &self.desk.limits).await.map(Some)
    }

    /// What a worktree is called in the words of a prompt.
    pub(super) fn place_in_words(tree: &Worktree) -> String {
        prompts::own_worktree(&tree.branch)
    }
}

/// The end of a session's name, which differs most.
fn short(session: &str) -> String {
    const LETTERS: usize = 8;
    let plain: Vec<char> = session.chars().filter(char::is_ascii_alphanumeric).collect();
    plain[plain.len().saturating_sub(LETTERS)..].iter().collect()
}
