//! The query loop: one question in, one answer out, and everything that keeps the conversation small on the way.
//! Read this file top to bottom and you have read the engine.

mod beside;
mod compacting;
mod dreaming;
mod hiding;
mod instructing;
mod learning;
mod moments;
mod notebook;
mod noting;
mod planning;
mod reading_back;
mod recalling;
mod receipts;
mod starting;
mod summoning;

pub use compacting::Compacted;
pub use instructing::Instructed;
pub use learning::Learns;
pub use recalling::Remembering;

use dreaming::Dreaming;
use instructing::Rereading;
use learning::Learning;
use noting::Noting;
use recalling::Recalling;
use receipts::Receipts;
use summoning::Agents;

use crate::agents::fork::{self, Origins, Standing};
use crate::agents::jobs::Jobs;
use crate::context::compaction::boundary::NotCompacted;
use crate::context::spans::NotHidden;
use crate::context::{self, Full, tool_results};
use crate::desk::Desk;
use crate::errand::{Errand, Outcome};
use crate::event::Event;
use crate::hooks::HookEvent;
use crate::instructions::Rule;
use crate::ledger::breaker::Breakers;
use crate::limits::Limits;
use crate::message::{Block, Kind, Origin, Question, Role, StopReason, ToolUse, Usage};
use crate::model::{ModelError, Reply};
use crate::prompt::Prompt;
use crate::prompts;
use crate::settings::key;
use crate::tool::{MemoryWriter, Occasion, Summon};
use crate::transcript::{Call, Cause, Entry, Opening, Transcript, TranscriptError};
use crate::turn::{self, Halt, Hand, Round, Stage};
use jiff::Timestamp;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A conversation: what happened, and the desk it happens at.
pub struct Session {
    transcript: Transcript,
    desk: Desk,
    interrupt: Interrupt,
    noting: Noting,
    learning: Learning,
    recalling: Recalling,
    dreaming: Dreaming,
    receipts: Receipts,
    breakers: Breakers,
    jobs: Jobs,
    agents: Agents,
    /// Whether the person was told that the window is nearly full.
    warned: bool,
    /// How large the conversation was when the planner last weighed all of it.
    weighed: u64,
    /// Rules for some files, told when one of them is touched.
    rules: Vec<Rule>,
    /// Reads the instruction files again.
    reread: Option<Rereading>,
    /// Whatever was started here ends when the session does.
    _life: DropGuard,
}

/// Stops the question that is being answered. Cheap to clone, and safe to use at any time.
#[derive(Clone, Default)]
pub struct Interrupt {
    question: Arc<Mutex<CancellationToken>>,
    /// Of the whole session.
    life: CancellationToken,
    /// Nobody wants to wait for it any more.
    leaving: CancellationToken,
}

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What the model said last.
    pub text: String,
    /// What the whole question took.
    pub usage: Usage,
    /// How many times the model was asked.
    pub rounds: u64,
    /// Why it stopped.
    pub stop: StopReason,
}

/// Why there is no answer. The transcript is valid all the same, and the next question can be asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The model failed.
    #[error("{0}")]
    Model(ModelError),
    /// The conversation does not fit.
    #[error(transparent)]
    Full(#[from] Full),
    /// The disk failed.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
    /// The person interrupted.
    #[error("interrupted")]
    Interrupted,
    /// There was no compaction.
    #[error(transparent)]
    NotCompacted(NotCompacted),
    /// Nothing was hidden or shown.
    #[error(transparent)]
    NotHidden(#[from] NotHidden),
    /// A hook said no.
    #[error("a hook stopped this: {0}")]
    Blocked(String),
    /// It went on for too long.
    #[error("stopped after {0} rounds without an answer; ask again to go on, or raise the limit `rounds_per_question`")]
    TooManyRounds(u64),
}

impl Session {
    /// Begin, or go on with what a transcript holds. The opening is what every request starts with: sent unchanged from
    /// here on, and recorded again only when it differs from what was last sent.
    pub fn new(transcript: Transcript, desk: Desk, opening: Opening) -> Result<Self, Error> {
        let receipts = Receipts::open(&transcript, &desk);
        let interrupt = Interrupt::default();
        let breakers = Breakers::at(desk.day_book.as_deref());
        let jobs = Jobs::at(transcript.path().and_then(|path| Some(path.parent()?.join("jobs"))));
        let mut session = Self {
            _life: interrupt.life.clone().drop_guard(),
            transcript,
            desk,
            interrupt,
            noting: Noting::default(),
            learning: Learning::default(),
            recalling: Recalling::default(),
            dreaming: Dreaming::default(),
            receipts,
            breakers,
            jobs,
            agents: Agents::default(),
            warned: false,
            weighed: 0,
            rules: Vec::new(),
            reread: None,
        };
        session.open(opening)?;
        session.close_open_calls()?;
        Ok(session)
    }

    /// Ask, and get an answer. Blocks alone count as typed; a [`Question`] says which parts are not.
    pub async fn ask(&mut self, question: impl Into<Question>) -> Result<Answer, Error> {
        let cancel = self.interrupt.arm();
        self.take_in(question.into(), &cancel).await?;
        self.answer(&cancel).await
    }

    /// Ask and run tools until there is an answer to what was said.
    async fn answer(&mut self, cancel: &CancellationToken) -> Result<Answer, Error> {
        let mut answering = Answering::new(&self.desk.limits);
        for _ in 0..self.desk.limits.rounds_per_question {
            let prompt = self.ready(cancel).await?;
            let asked = self.desk.clock.now();
            let reply = match turn::sample(&self.desk, &prompt, Stage::Front(self.scene()), cancel).await {
                Ok(reply) => reply,
                Err(halt) => {
                    self.recover(halt, &mut answering, cancel).await?;
                    continue;
                }
            };
            self.record((&prompt, asked), &reply, &mut answering)?;
            self.note_if_due()?;
            let go_on = match reply.is_final() {
                true => self.may_stop(&reply, &mut answering, cancel).await?,
                false => self.run_tools(&reply, cancel).await?,
            };
            if go_on == GoOn::No {
                self.count_uses();
                self.learn_if_due()?;
                self.dream_if_due()?;
                return Ok(answering.finish(&reply));
            }
        }
        Err(Error::TooManyRounds(self.desk.limits.rounds_per_question))
    }

    /// Everything before a request: fit the window, change what pays, announce it, make it safe on disk, render.
    async fn ready(&mut self, cancel: &CancellationToken) -> Result<Prompt, Error> {
        self.hear_of_notes()?;
        self.hear_of_learning()?;
        self.hear_of_dreams()?;
        if !self.make_room_if_due(cancel).await? {
            self.plan_ahead(cancel).await?;
        }
        self.begin_anew()?;
        self.bring_back(cancel).await?;
        self.hear_of_agents()?;
        self.warn_if_nearly_full();
        context::fits(&self.transcript, &self.desk)?;
        self.announce();
        self.transcript.settle()?;
        Ok(Prompt::of(self.transcript.view()))
    }

    /// Once each time the conversation comes near its line.
    fn warn_if_nearly_full(&mut self) {
        let budget = context::budget(&self.transcript, &self.desk);
        let near = budget.used > budget.warning;
        if near && !self.warned {
            let [_, left, _] = budget.left();
            let next = match self.desk.settings.flag(&key::COLLAPSE) {
                true => "old rounds are folded; /fold N does it now, /compact makes the most room",
                false => "it is compacted; /compact does it now",
            };
            let (used, window) = (budget.used, budget.window);
            self.desk
                .events
                .notice(format!("the window is nearly full: {used} of {window} tokens, {left} left before {next}"));
        }
        self.warned = near;
    }

    /// A reply is part of the record before anything is done about it.
    fn record(
        &mut self,
        (prompt, asked): (&Prompt, Timestamp),
        reply: &Reply,
        answering: &mut Answering,
    ) -> Result<(), Error> {
        if !reply.blocks.is_empty() {
            self.say(Role::Assistant, Origin::Model, reply.blocks.clone())?;
        }
        let call = Call {
            source: Call::MAIN.to_owned(),
            model: reply.model.clone(),
            usage: reply.usage,
            stop: reply.stop.clone(),
            cleared: reply.cleared,
        };
        self.receipt(prompt, asked, &call);
        self.book(call)?;
        answering.usage += reply.usage;
        answering.rounds += 1;
        Ok(())
    }

    /// Run the tools a reply called; their results enter the record together, each call with its answer.
    async fn run_tools(&mut self, reply: &Reply, cancel: &CancellationToken) -> Result<GoOn, Error> {
        let calls: Vec<_> = reply
            .blocks
            .iter()
            .filter_map(|block| match block.kind() {
                Kind::ToolUse(call) => Some(call.clone()),
                _ => None,
            })
            .collect();
        let seen = self.transcript.view().files.clone();
        let (occasion, view) = (&self.occasion(), Some(self.transcript.view()));
        let (gate, stage) = (&self.desk.gate, Stage::Front(self.scene()));
        let summoner = self.summoner();
        let summon = summoner.as_ref().map(|summoner| summoner as &dyn Summon);
        let writer = if calls.iter().any(|call| self.takes_note(call)) { self.memory_writer() } else { None };
        let memory = writer.as_ref().map(|writer| writer as &dyn MemoryWriter);
        let hand = Hand { gate, seen: &seen, occasion, cancel, stage, view, summon, memory };
        let round = turn::run_tools(&self.desk, &calls, &hand).await;
        let (interrupted, stop) = (round.interrupted, round.stop.clone());
        self.admit(round, &calls)?;
        match (interrupted, stop) {
            (true, _) => Err(Error::Interrupted),
            (false, Some(reason)) => Err(Error::Blocked(reason)),
            (false, None) => Ok(GoOn::Yes),
        }
    }

    /// Results pass layer 1 on their way into the record; what enters there is what every later request carries.
    fn admit(&mut self, round: Round, calls: &[ToolUse]) -> Result<(), Error> {
        let now = self.desk.clock.now();
        let admitted = tool_results::admit(round.results, calls, self.results_folder().as_deref(), &self.desk);
        self.book_read_backs(calls, &admitted.results);
        for (path, digest) in round.saw {
            self.transcript.append(Entry::Saw { path, digest }, now)?;
        }
        for spilled in admitted.spilled {
            self.receipt_of_spill(&spilled);
            self.transcript.append(Entry::Spilled(spilled), now)?;
        }
        self.say(Role::User, Origin::Tool, admitted.results)?;
        self.heed(round.hiding)?;
        self.add_context(HookEvent::PostToolUse, round.context)?;
        self.tell_rules()
    }

    /// What led to the calls that are run now.
    fn occasion(&self) -> Occasion {
        let history = self.said_before().iter().chain(&self.transcript.view().history).cloned().collect();
        let errand = self.agent().map(|agent| agent.name().to_owned());
        Occasion { session: self.transcript.session().clone(), history, errand }
    }

    fn results_folder(&self) -> Option<PathBuf> {
        self.transcript.folder().map(|folder| folder.join("tool-results"))
    }

    /// What to do when there is no reply: keep what was shown, and go on where that makes sense.
    async fn recover(
        &mut self,
        halt: Halt,
        answering: &mut Answering,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        match halt {
            Halt::Model(ModelError::PromptTooLong { over_by }) => {
                let again = answering.shrinks > 0 && self.shrink(cancel).await?;
                answering.shrinks = answering.shrinks.saturating_sub(1);
                if again { Ok(()) } else { Err(Error::Model(ModelError::PromptTooLong { over_by })) }
            }
            Halt::Interrupted { shown } => {
                if !shown.is_empty() {
                    self.say(Role::Assistant, Origin::Model, vec![Block::text(shown)])?;
                }
                Err(Error::Interrupted)
            }
            Halt::Model(ModelError::Cut { partial, usage, because }) if answering.resumes > 0 => {
                answering.resumes -= 1;
                self.desk.events.notice(format!("the reply was cut off ({because}); asking for the rest"));
                self.keep_partial(partial, usage)?;
                self.say(Role::User, Origin::Reminder, vec![Block::text(prompts::CONTINUE.trim())])
            }
            Halt::Model(ModelError::Cut { partial, usage, because }) => {
                self.keep_partial(partial, usage)?;
                Err(Error::Model(ModelError::Cut { partial: Vec::new(), usage, because }))
            }
            Halt::Model(error) => Err(Error::Model(error)),
        }
    }

    /// What arrived of a cut reply was shown, so it is part of the conversation.
    fn keep_partial(&mut self, partial: Vec<Block>, usage: Usage) -> Result<(), Error> {
        let kept: Vec<Block> = partial.into_iter().filter(|block| block.as_text().is_some()).collect();
        if !kept.is_empty() {
            self.say(Role::Assistant, Origin::Model, kept)?;
        }
        self.book(Call::cut(Call::MAIN, self.desk.model.name(), usage))
    }

    /// Send an errand: a fork with this session's exact prefix. Its cost and its receipt are recorded when it is home.
    pub async fn send(&mut self, errand: Errand) -> Result<Outcome, Error> {
        let cancel = self.interrupt.arm();
        let outcome = fork::run(self.origins(), &errand, &self.desk, &cancel).await;
        self.welcome(errand, &outcome)?;
        Ok(outcome)
    }

    /// What a fork starts from in the middle of a round: calls that are still open stay open, and the fork answers them
    /// with a placeholder.
    fn origins_as_said(&self) -> Origins {
        let mut origins = self.origins();
        origins.prompt.history.truncate(self.transcript.view().history.len());
        origins
    }

    /// What a fork of this session starts from.
    pub fn origins(&self) -> Origins {
        let view = self.transcript.view();
        let session = self.transcript.session().clone();
        let (seen, results) = (view.files.clone(), self.results_folder());
        Origins { session, prompt: Prompt::of(view), seen, results, standing: Standing::Errand }
    }

    /// Record what an errand took and what it left.
    pub fn welcome(&mut self, errand: Errand, outcome: &Outcome) -> Result<(), Error> {
        let now = self.desk.clock.now();
        self.receipts_of_errand(&outcome.calls, now, outcome.took);
        for call in &outcome.calls {
            self.transcript.append(Entry::Replied(call.clone()), now)?;
        }
        if let Some(entry) = (errand.receipt)(outcome) {
            self.transcript.append(entry, now)?;
        }
        Ok(())
    }

    /// Use another desk from here on: another model, other tools. A change in what requests begin with is a declared
    /// break.
    pub fn reopen(&mut self, desk: Desk, opening: Opening) -> Result<(), Error> {
        self.desk = desk;
        self.open(opening)
    }

    fn open(&mut self, opening: Opening) -> Result<(), Error> {
        let because = match &self.transcript.view().opening {
            None => None,
            Some(last) if **last == opening => return Ok(()),
            Some(last) => Some(difference(last, &opening)),
        };
        let entry = Entry::Opened { opening: Arc::new(opening), because };
        Ok(self.transcript.append(entry, self.desk.clock.now())?)
    }

    /// A session that was killed in the middle of a tool round goes on with every call answered.
    fn close_open_calls(&mut self) -> Result<(), Error> {
        let lost = match self.transcript.view().history.last() {
            Some(last) if last.tool_uses().next().is_some() => Prompt::of(self.transcript.view()).history.pop(),
            _ => None,
        };
        match lost {
            Some(answers) => self.say(Role::User, Origin::Tool, answers.blocks.clone()),
            None => Ok(()),
        }
    }

    /// The date is told when it is not that of the last message, so that midnight changes nothing that was sent.
    fn tell_the_date(&mut self) -> Result<(), Error> {
        let day = |at: jiff::Timestamp| at.to_zoned(self.desk.zone.clone()).date();
        let today = day(self.desk.clock.now());
        let last = self.transcript.view().history.last().map(|message| day(message.at));
        if last == Some(today) {
            return Ok(());
        }
        let words = self.desk.todays_date();
        self.say(Role::User, Origin::Reminder, vec![Block::text(words)])
    }

    fn say(&mut self, role: Role, origin: Origin, blocks: Vec<Block>) -> Result<(), Error> {
        self.transcript.say(role, origin, blocks, self.desk.clock.now())?;
        Ok(())
    }

    fn book(&mut self, call: Call) -> Result<(), Error> {
        self.desk.events.emit(Event::Replied { source: call.source.clone(), usage: call.usage });
        Ok(self.transcript.append(Entry::Replied(call), self.desk.clock.now())?)
    }

    /// Everything that happened.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Leave, and keep the record.
    pub fn into_transcript(self) -> Transcript {
        self.transcript
    }

    /// What the session works with.
    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Stopped by this token too: whoever holds it is responsible for the session.
    fn living_under(mut self, token: &CancellationToken) -> Self {
        self.interrupt = Interrupt { life: token.child_token(), ..Interrupt::default() };
        self._life = self.interrupt.life.clone().drop_guard();
        self
    }

    /// A handle that stops the question being answered.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }
}

impl Interrupt {
    /// Stop.
    pub fn now(&self) {
        self.question.lock().unwrap_or_else(PoisonError::into_inner).cancel();
    }

    /// On the way out: wait for nothing any more.
    pub fn abandon(&self) {
        self.leaving.cancel();
    }

    async fn abandoned(&self) {
        self.leaving.cancelled().await;
    }

    fn arm(&self) -> CancellationToken {
        let fresh = self.life.child_token();
        *self.question.lock().unwrap_or_else(PoisonError::into_inner) = fresh.clone();
        fresh
    }
}

/// Whether the loop goes round once more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GoOn {
    Yes,
    No,
}

/// What is counted while a question is being answered.
struct Answering {
    usage: Usage,
    rounds: u64,
    /// How often a cut reply may still be continued.
    resumes: u64,
    /// How often hooks may still keep the model from stopping.
    objections: u64,
    /// How often a prompt that is too long may still be compacted and sent again.
    shrinks: u64,
}

impl Answering {
    fn new(limits: &Limits) -> Self {
        let (resumes, objections) = (limits.cut_stream_resumes, limits.stop_hook_objections);
        Self { usage: Usage::default(), rounds: 0, resumes, objections, shrinks: 1 }
    }

    fn finish(self, reply: &Reply) -> Answer {
        let text = reply.blocks.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n");
        Answer { text, usage: self.usage, rounds: self.rounds, stop: reply.stop.clone() }
    }
}

/// The first part, in cache order, in which two openings differ.
fn difference(last: &Opening, next: &Opening) -> Cause {
    if last.model != next.model {
        Cause::Model
    } else if last.tools != next.tools {
        Cause::Tools
    } else if last.system != next.system {
        Cause::System
    } else {
        Cause::History
    }
}
