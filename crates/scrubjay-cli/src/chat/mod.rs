//! The chat: a person types, the model answers, tools run, and Ctrl-C always works.

mod agents;
mod answering;
mod asides;
mod compacting;
mod consent;
mod dreaming;
mod hiding;
mod includes;
mod jobs;
mod keyboard;
mod listening;
mod pastes;
mod questions;
mod remembering;
mod screen;
mod slash;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::happening::{Happening, Wire, wire};
use crate::letters::{Owner, Slot, name_of};
use crate::paper::{Paper, Tone, counted, unwritten};
use crate::seat::{Beginning, Seat};
use crate::shelf::{Shelf, asked};
use crate::teammates::recruiter;
use consent::Standing;
use keyboard::{Keyboard, Purpose, Typed};
use questions::Questions;
use screen::Screen;
use scrubjay::Session;
use scrubjay::agents::letters::Trust;
use scrubjay::agents::staff::Mail;
use scrubjay::desk::{Consent, Person, Request};
use scrubjay::event::Events;
use scrubjay::message::{Block, Question, SpanOrigin};
use scrubjay::tools::{shown, shown_path};
use slash::Slash;
use std::io::{IsTerminal as _, Stdout};
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot::Sender;

/// Whether the chat goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Stay,
    Leave,
}

/// Why another conversation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// The chat begins.
    Start,
    /// The person wants a fresh one.
    Clear,
    /// The person goes on with another one.
    Resume,
}

/// A chat that is going on.
struct Chat {
    seat: Seat,
    paper: Paper,
    keyboard: Keyboard,
    screen: Screen<Stdout>,
    happenings: UnboundedReceiver<Happening>,
    person: Person,
    events: Events,
    /// Away only while a question is being answered.
    session: Option<Session>,
    /// Where others write to it.
    slot: Option<Slot>,
    /// What was allowed for the rest of the session.
    standing: Standing,
    /// Questions that came while the person was typing.
    waiting: Vec<(Request, Sender<Consent>)>,
    /// Commands the person ran, for the next question.
    ran: Vec<Block>,
    /// What the program asks about the memory.
    questions: Questions,
    ctrl_c: Signal,
    /// When the last Ctrl-C was pressed that nothing followed.
    interrupted: Option<Instant>,
}

/// Talk until the person leaves.
pub(crate) async fn run(arguments: &Arguments, seat: Seat, paper: &Paper) -> Result<(), Failure> {
    let keyboard = Keyboard::start(&seat.workplace.places.history(), paper.ink, &seat.workplace.limits)?;
    let ctrl_c = signal(SignalKind::interrupt())
        .map_err(|error| Failure::failed(format!("Ctrl-C cannot be listened for: {error}")))?;
    let Wire { events, person, happenings } = wire();
    let screen = Screen::new(std::io::stdout(), paper.ink, &seat.workplace.dir);
    let mut chat = Chat {
        seat,
        paper: *paper,
        keyboard,
        screen,
        happenings,
        person,
        events,
        session: None,
        slot: None,
        standing: Standing::default(),
        waiting: Vec::new(),
        ran: Vec::new(),
        questions: Questions::default(),
        ctrl_c,
        interrupted: None,
    };
    let beginning = chat.choose_beginning(arguments).await?;
    let Some(beginning) = beginning else { return Ok(()) };
    chat.begin(beginning, Change::Start).await?;
    chat.banner()?;
    let left = chat.talk().await;
    chat.put_away("prompt_input_exit").await;
    left
}

/// What a Ctrl-C is answered that stops nothing.
const AGAIN: &str = "Ctrl-C again leaves";

/// Whether this Ctrl-C comes soon after another one; otherwise it is the first.
fn is_second(interrupted: &mut Option<Instant>, moment: Duration) -> bool {
    interrupted.replace(Instant::now()).is_some_and(|when| when.elapsed() < moment)
}

impl Chat {
    async fn choose_beginning(&mut self, arguments: &Arguments) -> Result<Option<Beginning>, Failure> {
        if arguments.session.resume.as_deref() != Some("") {
            return self.seat.beginning(&arguments.session).map(Some);
        }
        let Some(id) = self.choose_session().await? else { return Ok(None) };
        let place = Shelf::of(&self.seat.workplace).find(&id)?;
        Ok(Some(if arguments.session.fork_session { Beginning::Copy(place) } else { Beginning::GoOn(place) }))
    }

    /// Open a conversation and put the one that was open away.
    async fn begin(&mut self, beginning: Beginning, change: Change) -> Result<(), Failure> {
        let source = if change == Change::Clear { "clear" } else { beginning.source() };
        if beginning == Beginning::New {
            self.ask_about_includes().await?;
        }
        let (transcript, notices) = self.seat.transcript(beginning)?;
        let session = self.seat.session(transcript, self.person.clone(), self.events.clone())?;
        self.put_away(if change == Change::Clear { "clear" } else { "resume" }).await;
        for notice in notices {
            self.screen.aside(Tone::Warning, &notice).map_err(unwritten)?;
        }
        self.standing = Standing::default();
        let session = self.open_slot(session)?;
        Ok(self.session.insert(session).started(source).await?)
    }

    /// Let others write to the session, and it to them.
    fn open_slot(&mut self, mut session: Session) -> Result<Session, Failure> {
        let name = name_of(session.transcript().session().as_str());
        let (mailbox, events, trust) = (session.mailbox(), self.events.clone(), Trust::default());
        match Slot::open(&self.seat.workplace, Owner { name: &name, mailbox, events, trust }) {
            Ok(slot) => {
                let recruit = Some(recruiter(&self.seat, &slot.mail, &self.events));
                session.write_by(Mail { recruit, ..slot.mail.clone() });
                self.slot = Some(slot);
            }
            Err(failure) => self.screen.aside(Tone::Warning, &failure.to_string()).map_err(unwritten)?,
        }
        Ok(session)
    }

    /// End a session. One in which nothing was asked leaves nothing behind.
    async fn put_away(&mut self, reason: &str) {
        // Nobody answers any more.
        self.waiting.clear();
        self.questions = Questions::default();
        let Some(session) = self.session.take() else { return self.close_slot().await };
        let session = self.end(session, reason).await;
        self.close_slot().await;
        Shelf::of(&self.seat.workplace).discard_if_empty(session.into_transcript());
    }

    async fn close_slot(&mut self) {
        if let Some(slot) = self.slot.take() {
            slot.close().await;
        }
    }

    /// Whatever is still being saved is waited for, until Ctrl-C.
    async fn end(&mut self, mut session: Session, reason: &str) -> Session {
        if session.extractions().is_busy() {
            // Nobody is kept from leaving by a line that cannot be written.
            self.aside("a memory is being saved; Ctrl-C leaves without it").unwrap_or_default();
        }
        let interrupt = session.interrupt();
        let ended = {
            let mut ending = std::pin::pin!(session.ended(reason));
            loop {
                tokio::select! {
                    ended = &mut ending => break ended,
                    _ = self.ctrl_c.recv() => interrupt.abandon(),
                }
            }
        };
        if let Err(error) = ended {
            tracing::warn!(%error, "the session did not end well");
        }
        // Nobody is kept from leaving by a line that cannot be written.
        while let Ok(Happening::Event(event)) = self.happenings.try_recv() {
            let line = self.told_at_the_end(&event);
            if !line.is_empty() {
                self.screen.line(&line).unwrap_or_default();
            }
        }
        session
    }

    /// A session is told when the mode of permission has changed.
    fn follow_mode(&mut self) -> Result<(), Failure> {
        let Some(session) = &mut self.session else { return Ok(()) };
        if session.desk().gate.name() == self.seat.permit.mode().name() {
            return Ok(());
        }
        let opening = self.seat.opening(session.transcript());
        Ok(session.reopen(self.seat.desk(self.person.clone(), self.events.clone()), opening)?)
    }

    fn banner(&mut self) -> Result<(), Failure> {
        let workplace = &self.seat.workplace;
        let name = self.paper.ink.paint(Tone::Strong, "scrubjay");
        let head = format!("{name} · {} · {}", self.seat.service.described(workplace), shown_path(&workplace.dir));
        let offline = self.seat.service.is_offline();
        let session = self
            .session
            .as_ref()
            .map(|session| (session.transcript().session().to_string(), asked(session.transcript())));
        self.say(&head)?;
        if offline {
            self.aside(
                "Without a model I can look things up and run commands. To connect one, set ANTHROPIC_API_KEY or \
                 OPENAI_API_KEY, or start with --model ollama/NAME.",
            )?;
        }
        let mode = self.seat.permit.mode().name();
        match session {
            Some((id, questions)) if questions > 0 => self.aside(&format!(
                "session {id}, {} so far · permission: {mode} · /help",
                counted(questions, "question")
            )),
            _ => self.aside(&format!("permission: {mode} · /help · Ctrl-D leaves")),
        }
    }

    async fn talk(&mut self) -> Result<(), Failure> {
        loop {
            self.screen.end_line().map_err(unwritten)?;
            self.hear_beside().await?;
            self.tell_what_runs()?;
            self.ask_again()?;
            let next = match self.listen("› ", Purpose::Question, None).await? {
                Typed::End => Next::Leave,
                Typed::Interrupted => self.interrupt_at_rest()?,
                Typed::Line(line) => {
                    self.interrupted = None;
                    self.take(&line).await?
                }
            };
            if next == Next::Leave {
                return Ok(());
            }
        }
    }

    /// Ctrl-C while nothing is going on: soon after another one it leaves.
    fn interrupt_at_rest(&mut self) -> Result<Next, Failure> {
        let moment = Duration::from_millis(self.seat.workplace.limits.second_interrupt_ms);
        if is_second(&mut self.interrupted, moment) {
            return Ok(Next::Leave);
        }
        self.aside(AGAIN)?;
        Ok(Next::Stay)
    }

    /// One line from the person.
    async fn take(&mut self, line: &str) -> Result<Next, Failure> {
        let trimmed = line.trim();
        // Whatever comes through a pipe confirms nothing.
        if std::io::stdin().is_terminal()
            && let Some(verdict) = self.questions.verdict(trimmed)
        {
            return self.settle(verdict).map(|()| Next::Stay);
        }
        match trimmed.as_bytes() {
            [] => Ok(Next::Stay),
            [b'/', ..] if !trimmed.contains('\n') && !looks_like_a_path(trimmed) => match Slash::read(trimmed) {
                Ok(slash) => self.obey(slash).await,
                Err(words) => self.aside(&words).map(|()| Next::Stay),
            },
            [b'#', ..] if !trimmed.contains('\n') => self.remember_line(trimmed).map(|()| Next::Stay),
            [b'!', ..] => self.run_command(trimmed[1..].trim()).await,
            _ => {
                let question = self.question(line);
                self.leave_questions()?;
                self.answer(question).await
            }
        }
    }

    /// What a line asks, with what commands printed before it. Only what was typed counts as typed.
    fn question(&mut self, line: &str) -> Question {
        let (text, pasted) = pastes::asked(line, &self.keyboard.pasted(line));
        let ran = std::mem::take(&mut self.ran).into_iter();
        let before = ran.fold(Question::default(), |question, block| question.with(block, SpanOrigin::Output));
        let at = before.blocks.len();
        if !std::io::stdin().is_terminal() {
            return before.with(Block::text(text), SpanOrigin::Piped);
        }
        let mut question = Question { blocks: [before.blocks, vec![Block::text(text)]].concat(), ..before };
        for range in pasted {
            question = question.labelled(at, range, SpanOrigin::Pasted);
        }
        question
    }

    /// A line of our own.
    fn say(&mut self, text: &str) -> Result<(), Failure> {
        self.screen.line(text).map_err(unwritten)
    }

    /// A line beside the conversation.
    fn aside(&mut self, text: &str) -> Result<(), Failure> {
        self.screen.aside(Tone::Faint, text).map_err(unwritten)
    }

    /// Something went wrong, and the chat goes on.
    fn complain(&mut self, failure: &Failure) -> Result<(), Failure> {
        let word = self.paper.ink.paint(Tone::Bad, "error:");
        let said = shown(&failure.to_string()).into_owned();
        self.say(&format!("{word} {said}"))
    }
}

/// `/etc/hosts is missing` is a sentence, not a command.
fn looks_like_a_path(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    first.matches('/').count() > 1
}
