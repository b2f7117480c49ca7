//! While the model answers: show what happens, ask what must be asked, and listen for Ctrl-C.

use super::{Change, Chat, Next};
use crate::failure::Failure;
use crate::happening::Happening;
use crate::paper::{Tone, unwritten};
use crate::report::footer;
use crate::seat::Beginning;
use crate::shelf::Shelf;
use scrubjay::message::Block;
use scrubjay::{Answer, Error, Interrupt, Session};
use std::time::Instant;
use tokio::task::JoinHandle;

type Answering = JoinHandle<(Session, Result<Answer, Error>)>;

impl Chat {
    /// Ask, and stay with it until there is an answer or none.
    pub(super) async fn answer(&mut self, question: Vec<Block>) -> Result<Next, Failure> {
        let Some(mut session) = self.session.take() else { return Ok(Next::Leave) };
        let interrupt = session.interrupt();
        let id = session.transcript().session().to_string();
        let work: Answering = tokio::spawn(async move {
            let answer = session.ask(question).await;
            (session, answer)
        });
        let (done, next) = self.watch(work, &interrupt).await?;
        while let Ok(happening) = self.happenings.try_recv() {
            self.meet(happening, &interrupt).await?;
        }
        self.screen.end_line().map_err(unwritten)?;
        match done {
            Ok((session, answer)) => {
                self.conclude(&session, answer)?;
                self.session = Some(session);
                self.follow_mode()?;
                Ok(next)
            }
            Err(error) => {
                tracing::error!(%error, "the session broke");
                self.complain(&Failure::failed("the session broke inside; it is opened again from what was saved"))?;
                let place = Shelf::of(&self.seat.workplace).find(&id)?;
                self.begin(Beginning::GoOn(place), Change::Resume).await?;
                Ok(next)
            }
        }
    }

    async fn watch(&mut self, mut work: Answering, interrupt: &Interrupt) -> Result<(Finished, Next), Failure> {
        let mut next = Next::Stay;
        let mut presses = 0;
        loop {
            tokio::select! {
                Some(happening) = self.happenings.recv() => self.meet(happening, interrupt).await?,
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

    async fn meet(&mut self, happening: Happening, interrupt: &Interrupt) -> Result<(), Failure> {
        match happening {
            Happening::Event(event) => self.screen.show(&event).map_err(unwritten),
            Happening::Question(request, reply) => {
                let consent = self.consent(&request, interrupt).await?;
                // Whoever asked may have been interrupted meanwhile.
                reply.send(consent).unwrap_or_default();
                Ok(())
            }
        }
    }

    fn conclude(&mut self, session: &Session, answer: Result<Answer, Error>) -> Result<(), Failure> {
        tracing::info!(answered = answer.is_ok(), "a question is done");
        match answer {
            Ok(answer) => {
                let line = footer(session.transcript(), &answer.usage, &self.seat.service, &self.seat.workplace.limits);
                self.aside(&line)
            }
            Err(Error::Interrupted) => {
                self.screen.aside(Tone::Warning, "interrupted; what was said is kept").map_err(unwritten)
            }
            Err(error) => self.complain(&Failure::from(error)),
        }
    }
}

type Finished = Result<(Session, Result<Answer, Error>), tokio::task::JoinError>;
