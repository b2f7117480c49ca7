//! What a person can do beside asking: slash commands, and shell commands of their own.

use super::keyboard::{Purpose, Typed};
use super::slash::{Slash, help};
use super::{Change, Chat, Next};
use crate::commands::notes;
use crate::failure::Failure;
use crate::health::Health;
use crate::paper::Tone;
use crate::report::{Bill, ago};
use crate::seat::Beginning;
use crate::shelf::Shelf;
use crate::window::{Holder, Window};
use jiff::Timestamp;
use scrubjay::context::session_notes;
use scrubjay::ledger::savings::savings;
use scrubjay::message::{Block, ToolCallId};
use scrubjay::permission::Mode;
use scrubjay::prompts;
use scrubjay::tool::{Bench, Confinement, Occasion, Visible};
use scrubjay::tools::shown;
use serde_json::json;
use tokio_util::sync::CancellationToken;

impl Chat {
    pub(super) async fn obey(&mut self, slash: Slash) -> Result<Next, Failure> {
        let done = match slash {
            Slash::Quit => return Ok(Next::Leave),
            Slash::Help => self.say(&help()),
            Slash::Clear => self.clear().await,
            Slash::Cost => self.cost(),
            Slash::Notes => self.notes(),
            Slash::Context => self.context(),
            Slash::Resume(id) => self.resume(id).await,
            Slash::Model(name) => self.model(name).await,
            Slash::Plan => self.plan(),
            Slash::Tasks(what) => self.tasks(what).await,
            Slash::Agents(what) => self.agents(what),
            Slash::Uncompact(what) => self.uncompact(what),
            Slash::Fold(fold) => self.fold(fold),
            Slash::Snip(snip) => self.snip(snip),
            Slash::Memory(name) => self.memory(name.as_deref()),
            Slash::Remember(text) => self.remember(text.as_deref()),
            Slash::Forget(name) => self.forget(name.as_deref()),
            Slash::Recall(query) => self.recall(query.as_deref()).await,
            Slash::Undo(change) => self.undo(change),
            Slash::Inbox(wish) => self.inbox(&wish).await,
            Slash::Jobs(what) => self.jobs(what),
            Slash::Dream(wish) => match self.dream(wish).await {
                Ok(next) => return Ok(next),
                Err(failure) => Err(failure),
            },
            Slash::Compact(compact) => match self.compact(compact).await {
                Ok(next) => return Ok(next),
                Err(failure) => Err(failure),
            },
        };
        // What a command could not do is said, and the chat goes on.
        match done {
            Err(failure) if !failure.message.is_empty() => self.complain(&failure).map(|()| Next::Stay),
            done => done.map(|()| Next::Stay),
        }
    }

    async fn clear(&mut self) -> Result<(), Failure> {
        self.ran.clear();
        self.begin(Beginning::New, Change::Clear).await?;
        self.aside("a new session; the old one can be resumed")
    }

    fn cost(&mut self) -> Result<(), Failure> {
        let Some(session) = &self.session else { return Ok(()) };
        let bill = Bill::of(session.transcript().view(), |model, usage| self.seat.service.cost(model, usage));
        let health = Health::of(session.ledger(), Timestamp::now(), &self.seat.workplace.limits);
        let mut lines = vec![bill.words(self.paper.ink)];
        if !session.ledger().is_empty() {
            lines.push(format!("{:<16}{}", "net savings", savings(session.ledger()).net()));
        }
        lines.extend(health.lines());
        self.say(&lines.join("\n"))
    }

    fn notes(&mut self) -> Result<(), Failure> {
        let folder = self.session.as_ref().and_then(|session| session.transcript().folder());
        let text = match folder {
            Some(folder) => notes::read(&session_notes::place(&folder))?,
            None => None,
        };
        match text {
            Some(text) => self.say(shown(&text).trim_end()),
            None => self.aside(notes::NONE_YET),
        }
    }

    fn context(&mut self) -> Result<(), Failure> {
        let Some(session) = &self.session else { return Ok(()) };
        let model = &self.seat.service.model;
        let holder = Holder { model: model.name().to_owned(), window: model.window() };
        let window = Window::of(session.transcript(), &holder, &self.seat.workplace, Timestamp::now());
        self.say(&window.words(&self.paper.again()))
    }

    async fn resume(&mut self, id: Option<String>) -> Result<(), Failure> {
        let chosen = match id {
            Some(id) => Some(id),
            None => self.choose_session().await?,
        };
        let Some(id) = chosen else { return Ok(()) };
        let place = Shelf::of(&self.seat.workplace).find(&id)?;
        let here = self.session.as_ref().is_some_and(|session| session.transcript().session().as_str() == place.id);
        if here {
            return self.aside("this is that session");
        }
        self.begin(Beginning::GoOn(place), Change::Resume).await?;
        self.banner()
    }

    /// Let the person choose among past sessions.
    pub(super) async fn choose_session(&mut self) -> Result<Option<String>, Failure> {
        let most = usize::try_from(self.seat.workplace.limits.listed_sessions).unwrap_or(usize::MAX);
        let glances = Shelf::of(&self.seat.workplace).glances(most)?;
        if glances.is_empty() {
            return Err(Failure::nothing_found("there is no session in this project yet"));
        }
        let now = Timestamp::now();
        for (at, glance) in glances.iter().enumerate() {
            let line = format!("{:>3}  {:<12} {}", at + 1, ago(glance.last, now), glance.title);
            self.say(&line)?;
        }
        let typed = self.keyboard.read("  number or id, nothing to stay › ", Purpose::Answer).await;
        let Typed::Line(line) = typed else { return Ok(None) };
        let line = line.trim();
        let numbered = line.parse::<usize>().ok().and_then(|number| glances.get(number.checked_sub(1)?));
        Ok(match numbered {
            Some(glance) => Some(glance.id.clone()),
            None if line.is_empty() => None,
            None => Some(line.to_owned()),
        })
    }

    async fn model(&mut self, name: Option<String>) -> Result<(), Failure> {
        let Some(name) = name else {
            let now = self.seat.service.described(&self.seat.workplace);
            return self.say(&format!("{now}\n  /model NAME changes it; the cache of what was said begins anew"));
        };
        let near = self.seat.service.near(&name).join(", ");
        let seat = self.seat.with_model(&name, &self.paper).await?;
        if let Some(mut session) = self.session.take() {
            let opening = seat.opening(session.transcript());
            let reopened = session.reopen(seat.desk(self.person.clone(), self.events.clone()), opening);
            self.session = Some(seat.with_small_work(session, &self.paper));
            reopened?;
        }
        self.seat = seat;
        let known = if near.is_empty() || near.split(", ").any(|one| one == name) {
            String::new()
        } else {
            format!(" (similar: {near})")
        };
        let now = self.seat.service.described(&self.seat.workplace);
        self.aside(&format!("from now on: {now}{known}"))
    }

    fn plan(&mut self) -> Result<(), Failure> {
        if self.seat.permit.mode() == Mode::Plan {
            self.seat.permit.end_plan();
            self.follow_mode()?;
            return self.aside(&format!("planning is over; permission: {}", self.seat.permit.mode().name()));
        }
        self.seat.permit.begin_plan();
        self.follow_mode()?;
        self.aside("planning: nothing is changed until you approve a plan; /plan again to switch it off")
    }

    /// A command of the person's own: shown now, and told to the model with the next question.
    pub(super) async fn run_command(&mut self, command: &str) -> Result<Next, Failure> {
        if command.is_empty() {
            return self.aside("what should be run? for example: !git status").map(|()| Next::Stay);
        }
        let output = self.shell(command).await;
        let text = shown(&output).into_owned();
        self.say(&text)?;
        self.ran.push(Block::text(prompts::ran_by_person(command, &output)));
        self.screen
            .aside(Tone::Faint, "the model sees this with your next question")
            .map_err(crate::paper::unwritten)?;
        Ok(Next::Stay)
    }

    async fn shell(&mut self, command: &str) -> String {
        let Some(session) = &self.session else { return String::new() };
        let desk = session.desk();
        let Some(bash) = desk.tools.iter().find(|tool| tool.spec().name == "Bash") else { return String::new() };
        let (call, cancel) = (ToolCallId::new("person"), CancellationToken::new());
        let seen = session.transcript().view().files.clone();
        let input = json!({ "command": command });
        // The person typed it, so nobody has to be asked.
        let approved = bash.effect(&input, &desk.dir);
        let (dir, limits) = (&desk.dir, &desk.limits);
        let (approved, occasion, cancel) = (&approved, &Occasion::default(), &cancel);
        let bench = Bench {
            dir,
            seen: &seen,
            limits,
            call: &call,
            approved,
            confinement: Confinement::Outside,
            occasion,
            cancel,
            view: None,
            summon: None,
            memory: None,
            visible: &Visible::default(),
        };
        let running = bash.call(&input, &bench);
        tokio::pin!(running);
        let outcome = loop {
            tokio::select! {
                outcome = &mut running => break outcome,
                _ = self.ctrl_c.recv() => cancel.cancel(),
            }
        };
        outcome.parts.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n")
    }
}
