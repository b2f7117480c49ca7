//! Layer 7 in the loop: agents are started for the tool that asks for them, and what they bring home enters the record
//! between two requests. An agent of a kind is a session of its own; a fork stands on `turn` alone.

mod carrying;
mod child;
mod errands;
mod post;

use super::{Answer, Error, Session};
use crate::agents::jobs::{Job, Jobs};
use crate::agents::letters::mailbox::Posted;
use crate::agents::letters::{Letter, LetterKind, MAIN, Mailbox, is_name};
use crate::agents::roster::{Agent, Roster, State};
use crate::agents::staff::{Mail, Staff};
use crate::agents::{Definition, watched};
use crate::desk::Desk;
use crate::ledger::Called;
use crate::message::{Block, Message, Origin, Role, SessionId};
use crate::model::{Model, Pending};
use crate::prompts;
use crate::tool::{Bench, Dispatch, Summon, Task, ToolOutcome};
use crate::transcript::{Call, Entry, Opening, Record, Returned, Summoned, Transcript, derived_id};
use post::Post;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The agents of a session.
pub(super) struct Agents {
    shared: Shared,
    receiver: Option<mpsc::UnboundedReceiver<Home>>,
    /// Letters to this session.
    mailbox: Mailbox,
    /// Letters to the conversation at the top, where this session is an agent below it.
    main: Option<Mailbox>,
    /// What it takes to write to agents outside of this process.
    mail: Option<Mail>,
    /// Where this session is an agent itself.
    me: Option<Me>,
}

/// What all agents below one conversation share.
#[derive(Clone)]
struct Shared {
    staff: Option<Arc<Staff>>,
    roster: Roster,
    jobs: Jobs,
    tasks: TaskTracker,
    sender: mpsc::UnboundedSender<Home>,
    /// Held while somebody puts into words what an agent is doing.
    telling: Arc<Mutex<()>>,
}

/// A session that is an agent.
struct Me {
    agent: Arc<Agent>,
    /// What the person said before the agent was started: whatever it writes down may rest on that.
    before: Vec<Arc<Message>>,
    /// How many agents started each other until this one.
    depth: u64,
}

/// What came home: calls that were paid for.
struct Home {
    calls: Vec<(Called, Call)>,
}

impl Default for Agents {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        let (roster, tasks, telling) = (Roster::default(), TaskTracker::new(), Arc::default());
        let jobs = Jobs::default();
        let shared = Shared { staff: None, roster, jobs, tasks, sender, telling };
        Self { shared, receiver: Some(receiver), mailbox: Mailbox::default(), main: None, mail: None, me: None }
    }
}

impl Agents {
    fn depth(&self) -> u64 {
        self.me.as_ref().map_or(0, |me| me.depth)
    }
}

impl Session {
    /// With the same agents, and another model for the few words about what they are doing.
    pub fn summarising_with(mut self, small: Option<Arc<dyn Model>>) -> Self {
        if let Some(staff) = &mut self.agents.shared.staff {
            Arc::make_mut(staff).small = small;
        }
        self
    }

    /// With agents to start. Those that were cut off when the session last ended are reported.
    pub fn staffed(mut self, staff: Arc<Staff>) -> Self {
        self.agents.shared.staff = Some(staff);
        self.agents.shared.jobs = self.jobs.clone();
        for lost in self.lost_agents() {
            let (Summoned { name, task, worktree, .. }, record) = &lost;
            let kept = worktree.as_ref().filter(|dir| dir.exists());
            let kept = kept.map(|dir| format!("; its worktree {} is still there", dir.display())).unwrap_or_default();
            let notice = format!("the agent {name} was cut off when the program ended ({task}){kept}");
            self.desk.events.notice(notice);
            let text = prompts::agent_lost(task, &record.display().to_string()) + &kept;
            let letter = Letter::new(name, MAIN, text, self.desk.clock.now());
            self.agents.mailbox.post(letter);
        }
        self
    }

    /// Records of agents that have no end. Each gets one, so that it is reported once.
    fn lost_agents(&self) -> Vec<(Summoned, PathBuf)> {
        let folder = self.transcript.folder().map(|folder| folder.join("agents"));
        let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_record(path)).collect();
        files.sort();
        files.into_iter().filter_map(|path| Some((self.closed(&path)?, path))).collect()
    }

    fn closed(&self, path: &Path) -> Option<Summoned> {
        let session = SessionId::new(path.file_stem()?.to_str()?);
        let (record, _) = Transcript::peek(path, session.clone(), self.desk.limits.clone()).ok()?;
        let ended = record.records().iter().any(|record| matches!(record.entry, Entry::Returned(_)));
        let summoned = record.records().iter().find_map(|record| match &record.entry {
            Entry::Summoned(summoned) => Some(summoned.clone()),
            _ => None,
        });
        let summoned = summoned.filter(|_| !ended)?;
        let now = self.desk.clock.now();
        // Somebody else may hold the pen: then the agent is not lost.
        let (mut record, _) = Transcript::resume(path, session, now, self.desk.limits.clone()).ok()?;
        let returned = Returned { how: "lost".to_owned(), why: "the program ended".to_owned(), kept: None };
        record.append(Entry::Returned(returned), now).ok()?;
        Some(summoned)
    }

    /// Every agent that this session started: who it is, what it is doing, what it took, and how to stop it.
    pub fn agents(&self) -> Roster {
        self.agents.shared.roster.clone()
    }

    /// Where letters to this session lie until its next request.
    pub fn mailbox(&self) -> Mailbox {
        self.agents.mailbox.clone()
    }

    /// Before a request: what agents took is booked, and what they wrote is read.
    pub(super) fn hear_of_agents(&mut self) -> Result<(), Error> {
        self.book_agents()?;
        let posted = self.agents.mailbox.take();
        if posted.is_empty() {
            return Ok(());
        }
        let mut receipts = Vec::new();
        for Posted { letter, receipt } in posted {
            self.read_letter(&letter)?;
            receipts.extend(receipt);
        }
        // Whoever keeps a letter until it was read may forget it only when it is safe here.
        self.transcript.settle()?;
        receipts.into_iter().for_each(|receipt| receipt());
        Ok(())
    }

    /// A letter becomes part of the record once, however often it comes: its name is that of the message.
    fn read_letter(&mut self, letter: &Letter) -> Result<(), Error> {
        let id = derived_id(self.transcript.session(), &format!("letter {}", letter.id));
        let is_it = |record: &Record| matches!(&record.entry, Entry::Said(message) if message.id == id);
        if self.transcript.records().iter().rev().any(is_it) {
            return Ok(());
        }
        if !letter.summary.is_empty() {
            self.desk.events.notice(format!("{} wrote: {}", letter.from, one_line(&letter.summary)));
        }
        let (at, blocks) = (
            self.desk.clock.now(),
            vec![Block::text(prompts::letter(&letter.from, purpose(letter).as_deref(), &letter.message))],
        );
        let message = Message { id, role: Role::User, origin: Origin::Letter, at, blocks };
        Ok(self.transcript.append(Entry::Said(Arc::new(message)), at)?)
    }

    /// From now on letters to this session lie here, together with those that have come already.
    pub fn read_from(&mut self, mailbox: Mailbox) {
        self.agents.mailbox.take().into_iter().for_each(|posted| mailbox.put(posted));
        self.agents.mailbox = mailbox;
    }

    /// From now on it can write to agents outside of this process. Who hears from there puts it into the mailbox.
    pub fn write_by(&mut self, mail: Mail) {
        self.agents.mail = Some(mail);
    }

    fn book_agents(&mut self) -> Result<(), Error> {
        let Some(mut receiver) = self.agents.receiver.take() else { return Ok(()) };
        while let Ok(Home { calls }) = receiver.try_recv() {
            for (called, call) in calls {
                let at = called.at;
                self.receipt_of_errand(called);
                self.transcript.append(Entry::Replied(call), at)?;
            }
        }
        self.agents.receiver = Some(receiver);
        Ok(())
    }

    /// Whether agents work in the background or something that they wrote was not read yet.
    pub fn awaits_agents(&self) -> bool {
        !self.agents.mailbox.is_empty()
            || self.agents.shared.roster.running().iter().any(|agent| agent.summoned.background)
    }

    /// Wait for the next report of an agent in the background and go on with it; nothing if there is none to wait for.
    pub async fn attend(&mut self) -> Result<Option<Answer>, Error> {
        if !self.awaits_agents() {
            return Ok(None);
        }
        let cancel = self.interrupt.arm();
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Error::Interrupted),
            () = self.agents.mailbox.filled() => {}
        }
        self.answer(&cancel).await.map(Some)
    }

    /// The session ends: agents end with it, and are given a while to write down how far they came.
    pub(super) async fn dismiss_agents(&mut self) -> Result<(), Error> {
        let Shared { roster, tasks, .. } = &self.agents.shared;
        for agent in roster.running() {
            self.desk.events.notice(format!("the agent {} was stopped: the session ends", agent.name()));
            agent.stop.cancel();
        }
        tasks.close();
        let limit = Duration::from_millis(self.desk.limits.notes_exit_ms);
        // What does not stop by then dies with the program, and is reported by the next one.
        tokio::time::timeout(limit, tasks.wait()).await.unwrap_or_default();
        self.book_agents()
    }

    /// What led to the calls of this session, also what the person had said before it was started.
    pub(super) fn said_before(&self) -> &[Arc<Message>] {
        self.agents.me.as_ref().map_or(&[], |me| &me.before)
    }

    /// What this session is called, where it is an agent.
    pub(super) fn agent(&self) -> Option<&Arc<Agent>> {
        self.agents.me.as_ref().map(|me| &me.agent)
    }

    /// Whoever starts agents for the tools of this round.
    pub(super) fn summoner(&self) -> Option<Summoner> {
        self.agents.shared.staff.as_ref()?;
        Some(Summoner {
            shared: self.agents.shared.clone(),
            desk: self.desk.clone(),
            mailbox: self.agents.mailbox.clone(),
            main: self.agents.main.clone().unwrap_or_else(|| self.agents.mailbox.clone()),
            mail: self.agents.mail.clone(),
            me: self.agent().map(|agent| agent.name().to_owned()),
            depth: self.agents.depth(),
            session: self.transcript.session().clone(),
            folder: self.transcript.folder(),
            opening: self.transcript.view().opening.clone(),
            prefix: self.last_input(),
        })
    }
}

fn is_record(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// Starts agents for one conversation.
#[derive(Clone)]
pub(super) struct Summoner {
    shared: Shared,
    desk: Desk,
    /// The conversation's, for reports.
    mailbox: Mailbox,
    /// That of the conversation at the top.
    main: Mailbox,
    /// What it takes to write to agents outside of this process.
    mail: Option<Mail>,
    /// What the conversation is called, where it is an agent.
    me: Option<String>,
    depth: u64,
    session: SessionId,
    /// Where the conversation keeps what belongs to it.
    folder: Option<PathBuf>,
    opening: Option<Arc<Opening>>,
    /// How many tokens the last request of the conversation had: what a fork can read from the cache.
    prefix: Option<u64>,
}

/// What is to be started.
#[derive(Clone)]
struct Wish {
    task: Task,
    /// `None`: a fork.
    kind: Option<Definition>,
    background: bool,
    worktree: bool,
}

impl Wish {
    fn kind_name(&self) -> &str {
        self.kind.as_ref().map_or("fork", |kind| &kind.name)
    }
}

impl Summon for Summoner {
    fn summon<'a>(&'a self, task: Task, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        Box::pin(async move {
            if task.teammate {
                return self
                    .recruit(task)
                    .await
                    .map_or_else(ToolOutcome::error, |name| ToolOutcome::ok(prompts::teammate_started(&name)));
            }
            match self.start(task, bench).await {
                Err(reason) => ToolOutcome::error(reason),
                Ok((agent, _)) if agent.summoned.background => ToolOutcome::ok(prompts::agent_started(agent.name())),
                Ok((agent, report)) => {
                    // Whoever stops waiting stops the agent.
                    let _stop = agent.stop.clone().drop_guard();
                    let broke = || ToolOutcome::error("The agent broke inside; nothing of it is known.");
                    report.await.unwrap_or_else(|_| broke())
                }
            }
        })
    }

    fn send(&self, dispatch: Dispatch) -> Pending<'_, ToolOutcome> {
        Box::pin(async move {
            match self.carry(dispatch).await {
                Ok(said) => ToolOutcome::ok(said),
                Err(why) => ToolOutcome::error(format!("Nothing was sent: {why}.")),
            }
        })
    }
}

type Started = (Arc<Agent>, oneshot::Receiver<ToolOutcome>);

impl Summoner {
    async fn start(&self, task: Task, bench: &Bench<'_>) -> Result<Started, String> {
        let wish = self.wish(task)?;
        let model = self.model_of(&wish).await;
        let agent = self.hire(&wish, &model, bench.cancel)?;
        match Post::prepare(self, &wish, (&agent, model), bench).await {
            Err(why) => {
                agent.end(State::Failed, &why);
                Err(why)
            }
            Ok(post) => {
                let (sender, report) = oneshot::channel();
                self.shared.tasks.spawn(post.live(sender));
                Ok((agent, report))
            }
        }
    }

    fn staff(&self) -> Result<&Arc<Staff>, String> {
        self.shared.staff.as_ref().ok_or_else(|| "Agents cannot be started here.".to_owned())
    }

    /// What was asked for, with what its kind decides.
    fn wish(&self, task: Task) -> Result<Wish, String> {
        let kind = match (&task.agent, task.fork) {
            (Some(_), true) => {
                return Err("A fork is a copy of you and of no other kind; leave `agent` out.".to_owned());
            }
            (None, true) => None,
            (named, false) => {
                let (name, kinds) = (named.as_deref().unwrap_or("general"), &self.staff()?.kinds);
                let known = || kinds.iter().map(|kind| kind.name.as_str()).collect::<Vec<_>>().join(", ");
                Some(
                    kinds
                        .get(name)
                        .cloned()
                        .ok_or_else(|| format!("There is no agent `{name}`. There are: {}.", known()))?,
                )
            }
        };
        let background = task.background.unwrap_or(kind.as_ref().is_some_and(|kind| kind.background));
        let worktree = task.worktree.unwrap_or(kind.as_ref().is_some_and(|kind| kind.worktree));
        Ok(Wish { task, kind, background, worktree })
    }

    /// Take an agent on, if there is room for one more.
    fn hire(&self, wish: &Wish, model: &Arc<dyn Model>, cancel: &CancellationToken) -> Result<Arc<Agent>, String> {
        let limits = &self.desk.limits;
        if self.depth >= limits.agent_depth {
            return Err("Agents that were started by agents start no more of them. Do the work yourself.".to_owned());
        }
        if let Some(reason) = watched::refusal(&self.shared.roster, limits) {
            return Err(format!("No agent was started: {reason}."));
        }
        let wanted = wish.task.name.as_deref();
        if let Some(name) = wanted.filter(|name| !is_name(name)) {
            return Err(format!("`{name}` cannot be a name: use letters, digits, `-` and `_`, 64 at most."));
        }
        self.shared.roster.hire(|all| {
            let running: Vec<&Arc<Agent>> = all.iter().filter(|agent| agent.state() == State::Running).collect();
            if running.len() as u64 >= limits.agents_at_once {
                return Err(format!(
                    "{} agents work already, and no more may at once. Wait for one of them.",
                    running.len()
                ));
            }
            if all.len() as u64 >= limits.agents_per_session {
                return Err(format!("This session has started {} agents, and no more may be. Go on alone.", all.len()));
            }
            if let Some(name) = wanted.filter(|name| running.iter().any(|agent| agent.name() == *name)) {
                return Err(format!("An agent called `{name}` works already. Choose another name."));
            }
            let desk = Desk { model: model.clone(), ..self.desk.clone() };
            let kind = format!("agent:{}", wish.kind_name());
            Ok(self.agent(wish, all, self.shared.jobs.begin(&kind, self.session.as_str(), &desk, cancel)))
        })
    }

    fn agent(&self, wish: &Wish, all: &[Arc<Agent>], job: Job) -> Agent {
        let kind = wish.kind_name();
        let record = |id: &str| self.folder.as_ref().map(|folder| folder.join("agents").join(format!("{id}.jsonl")));
        let taken =
            |id: &String| all.iter().any(|agent| agent.id == *id) || record(id).is_some_and(|path| path.exists());
        let ids = (1_u64..).map(|number| format!("{}-{number}", kind.replace(':', "-")));
        let id = ids.into_iter().find(|id| !taken(id)).unwrap_or_default();
        let worktree = self.folder.as_ref().filter(|_| wish.worktree).map(|folder| folder.join("worktrees").join(&id));
        let summoned = Summoned {
            name: wish.task.name.clone().unwrap_or_else(|| id.clone()),
            kind: kind.to_owned(),
            task: one_line(&wish.task.description),
            background: wish.background,
            worktree,
        };
        job.enter(&summoned.task);
        Agent::new(id.clone(), summoned, record(&id), job)
    }
}

/// A description that a person reads in a list.
fn one_line(text: &str) -> String {
    const SHOWN: usize = 100;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    crate::tools::shown(&line).chars().take(SHOWN).collect()
}

/// What a letter is for, where it is more than words, and the yes or no in it.
fn purpose(letter: &Letter) -> Option<String> {
    let answer = letter.approve.map(|yes| if yes { ", yes" } else { ", no" }).unwrap_or_default();
    (letter.kind != LetterKind::Message).then(|| format!("{}{answer}", letter.kind.word()))
}
