//! While the model answers: show what happens, ask what must be asked, and listen for Ctrl-C.

use super::agents::at_work;
use super::listening::LOOK;
use super::{Change, Chat, Next};
use crate::failure::Failure;
use crate::happening::Happening;
use crate::paper::{Tone, unwritten};
use crate::report::footer;
use crate::seat::Beginning;
use crate::shelf::Shelf;
use scrubjay::agents::Roster;
use scrubjay::message::Question;
use scrubjay::{Answer, Error, Interrupt, Session};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

impl Chat {
    /// Ask, and stay with it until there is an answer or none.
    pub(super) async fn answer(&mut self, question: Question) -> Result<Next, Failure> {
        let (answer, next) = self
            .stay_with(async move |mut session| {
                let answer = session.ask(question).await;
                (session, answer)
            })
            .await?;
        if let Some(answer) = answer {
            self.conclude(answer)?;
            self.follow_mode()?;
        }
        Ok(next)
    }

    /// Let the session work, and stay with it: show what happens, listen for Ctrl-C. A session that broke is opened again
    /// from what was saved, and there is no outcome.
    pub(super) async fn stay_with<T, W, F>(&mut self, work: W) -> Result<(Option<T>, Next), Failure>
    where
        W: FnOnce(Session) -> F,
        F: Future<Output = (Session, T)> + Send + 'static,
        T: Send + 'static,
    {
        let Some(session) = self.session.take() else { return Ok((None, Next::Leave)) };
        let (interrupt, agents) = (session.interrupt(), session.agents());
        let id = session.transcript().session().to_string();
        let (done, next) = self.watch(tokio::spawn(work(session)), &interrupt, &agents).await?;
        while let Ok(happening) = self.happenings.try_recv() {
            self.meet(happening, &interrupt).await?;
        }
        self.screen.end_line().map_err(unwritten)?;
        match done {
            Ok((session, outcome)) => {
                self.session = Some(session);
                Ok((Some(outcome), next))
            }
            Err(error) => {
                tracing::error!(%error, "the session broke");
                self.complain(&Failure::failed("the session broke inside; it is opened again from what was saved"))?;
                let place = Shelf::of(&self.seat.workplace).find(&id)?;
                self.begin(Beginning::GoOn(place), Change::Resume).await?;
                Ok((None, next))
            }
        }
    }

    async fn watch<T>(
        &mut self,
        mut work: JoinHandle<T>,
        interrupt: &Interrupt,
        agents: &Roster,
    ) -> Result<(Finished<T>, Next), Failure> {
        let mut look = tokio::time::interval(LOOK);
        let mut next = Next::Stay;
        let mut presses = 0;
        loop {
            tokio::select! {
                Some(happening) = self.happenings.recv() => self.meet(happening, interrupt).await?,
                _ = look.tick() => if let Some(columns) = self.keyboard.columns() {
                    self.screen.stand_on(&at_work(agents, columns), columns).map_err(unwritten)?;
                },
                done = &mut work => return Ok((done, next)),
                _ = self.ctrl_c.recv() => {
                    presses += 1;
                    interrupt.now();
                    self.interrupted = Some(Instant::now());
                    if presses > 1 {
                        next = Next::Leave;
                    }
                }
            }
        }
    }

    /// Before the prompt: show what happened beside the conversation. What code learns takes a moment, and its receipt
    /// belongs under the answer; nobody waits for a model.
    pub(super) async fn hear_beside(&mut self) -> Result<(), Failure> {
        const MOMENT: Duration = Duration::from_secs(2);
        let Some(session) = &self.session else { return Ok(()) };
        let (interrupt, extractions) = (session.interrupt(), session.extractions());
        if self.seat.service.is_offline() && extractions.is_busy() {
            extractions.idle(MOMENT).await;
        }
        while let Ok(happening) = self.happenings.try_recv() {
            self.meet(happening, &interrupt).await?;
        }
        self.screen.end_line().map_err(unwritten)
    }

    async fn meet(&mut self, happening: Happening, interrupt: &Interrupt) -> Result<(), Failure> {
        match happening {
            Happening::Event(event) => self.show(&event),
            Happening::Question(request, reply) => {
                let consent = self.consent(&request, interrupt).await?;
                // Whoever asked may have been interrupted meanwhile.
                reply.send(consent).unwrap_or_default();
                Ok(())
            }
        }
    }

    fn conclude(&mut self, answer: Result<Answer, Error>) -> Result<(), Failure> {
        tracing::info!(answered = answer.is_ok(), "a question is done");
        match answer {
            Ok(answer) => {
                let Some(session) = &self.session else { return Ok(()) };
                let line = footer(session.transcript(), &answer.usage, &self.seat.service, &self.seat.workplace);
                self.aside(&line)
            }
            Err(Error::Interrupted) => {
                self.screen.aside(Tone::Warning, "interrupted; what was said is kept").map_err(unwritten)
            }
            Err(error) => self.complain(&Failure::from(error)),
        }
    }
}

type Finished<T> = Result<T, tokio::task::JoinError>;
