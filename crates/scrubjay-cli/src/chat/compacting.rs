//! `/compact` and `/uncompact`: room in the window, looked at first and taken back later.

use super::slash::{Compact, Uncompact};
use super::{Chat, Next};
use crate::compaction::{LastReport, Order, Preview, Questions, bring_back, nothing_to_take_back};
use crate::failure::Failure;
use crate::paper::{Tone, unwritten};
use scrubjay::Error;
use scrubjay::context::compaction::boundary::{NotCompacted, Planned};

impl Chat {
    pub(super) async fn compact(&mut self, compact: Compact) -> Result<Next, Failure> {
        match compact {
            Compact::List => self.list_questions().map(|()| Next::Stay),
            Compact::Report => self.report().map(|()| Next::Stay),
            Compact::Preview(order) => self.preview(order).await,
            Compact::Now(order) => self.compact_now(order).await,
        }
    }

    fn list_questions(&mut self) -> Result<(), Failure> {
        let Some(session) = &self.session else { return Ok(()) };
        let listed = Questions::of(session.transcript().view()).words()?;
        self.say(&listed)
    }

    async fn preview(&mut self, order: Order) -> Result<Next, Failure> {
        let Some(session) = &self.session else { return Ok(Next::Leave) };
        let view = session.transcript().view().clone();
        let wish = order.wish(&view)?;
        self.aside("looking at what a compaction would do; Ctrl-C stops it")?;
        let (planned, next) = self
            .stay_with(async move |mut session| {
                let planned = session.preview(wish).await;
                (session, planned)
            })
            .await?;
        let Some(planned) = self.succeeded::<Planned>(planned)? else { return Ok(next) };
        let words = Preview::of(&view, planned, order.stretch, &self.seat.service).words(self.paper.ink);
        let words = scrubjay::secrets::veiled(&words);
        self.say(&words)?;
        Ok(next)
    }

    /// Success is told by the session itself, after every check.
    async fn compact_now(&mut self, order: Order) -> Result<Next, Failure> {
        let Some(session) = &self.session else { return Ok(Next::Leave) };
        let wish = order.wish(session.transcript().view())?;
        self.aside(&format!("compacting: {}; Ctrl-C stops it", order.cache_break()))?;
        let (done, next) = self
            .stay_with(async move |mut session| {
                let done = session.compact(wish).await;
                (session, done)
            })
            .await?;
        self.succeeded(done)?;
        Ok(next)
    }

    /// What came of it. An interruption is no failure, and a session that broke has been told about.
    fn succeeded<T>(&mut self, done: Option<Result<T, Error>>) -> Result<Option<T>, Failure> {
        match done {
            None => Ok(None),
            Some(Ok(done)) => Ok(Some(done)),
            Some(Err(error @ Error::NotCompacted(NotCompacted::Interrupted))) => {
                self.screen.aside(Tone::Warning, &error.to_string()).map_err(unwritten)?;
                Ok(None)
            }
            Some(Err(error)) => Err(error.into()),
        }
    }

    fn report(&mut self) -> Result<(), Failure> {
        let Some(session) = &self.session else { return Ok(()) };
        let words = LastReport::of(session.transcript().view())?.words(self.paper.ink);
        self.say(&words)
    }

    pub(super) fn uncompact(&mut self, uncompact: Uncompact) -> Result<(), Failure> {
        let Some(session) = &mut self.session else { return Ok(()) };
        let these = match uncompact {
            Uncompact::List => {
                let view = session.transcript().before_compaction().ok_or_else(nothing_to_take_back)?;
                let listed = Questions::of(&view).words()?;
                return self.say(&listed);
            }
            Uncompact::All => None,
            Uncompact::These(these) => Some(these),
        };
        let (_, words) = bring_back(session, these)?;
        self.aside(&words)
    }
}
