//! Layer 6 in the loop: after an answer, when it is time, the memory is put in order beside the conversation.

use super::{Error, Remembering, Session};
use crate::agents::background::Background;
use crate::agents::fork::{self, Origins};
use crate::agents::jobs::{Job, Jobs};
use crate::desk::Desk;
use crate::ledger::breaker::{Breakers, Progress};
use crate::memory::dreaming::{self, Dream, DreamError, Dreams, Gates, Judgement, Landed, News, Switch};
use crate::settings::key;
use crate::transcript::{Call, Entry};
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Where dreams are dreamt, and where word of them arrives.
pub(super) struct Dreaming {
    background: Background,
    gates: Arc<Mutex<Gates>>,
    sender: mpsc::UnboundedSender<Home>,
    receiver: mpsc::UnboundedReceiver<Home>,
}

/// A dream that ended: what became of it, and what it cost.
struct Home {
    landed: Result<Landed, DreamError>,
    /// Where a model was asked.
    fork: Option<Fork>,
    took: Duration,
    at: Timestamp,
}

/// What a model took, and whether it got anywhere.
struct Fork {
    calls: Vec<Call>,
    progress: Progress,
}

impl Default for Dreaming {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { background: Background::default(), gates: Arc::default(), sender, receiver }
    }
}

const LAYER: &str = dreaming::ERRAND;

impl Session {
    /// Dreams over this session's memory, where it has one.
    pub fn dreams(&self) -> Option<Dreams> {
        let Bedroom { from, sessions } = self.bedroom()?;
        Some(Dreams::over(from.memory, &sessions, &from.root, &self.desk))
    }

    fn bedroom(&self) -> Option<Bedroom> {
        let from = self.remembered()?.clone();
        Some(Bedroom { from, sessions: self.transcript.path().and_then(Path::parent)?.to_owned() })
    }

    /// After an answer: dream if every gate is open. Never in the way of the turn, and never in a print run, which ends before the
    /// dream could.
    pub(super) fn dream_if_due(&mut self) -> Result<(), Error> {
        self.hear_of_dreams()?;
        if !self.is_attended() {
            return Ok(());
        }
        if self.rests(LAYER) || self.dreaming.background.is_busy() || !self.desk.settings.flag(&key::DREAMING) {
            return Ok(());
        }
        let closed = {
            let gates = self.dreaming.gates.lock().unwrap_or_else(PoisonError::into_inner);
            gates.are_known_closed(&self.desk)
        };
        let Some(bedroom) = self.bedroom().filter(|_| !closed) else { return Ok(()) };
        let sleeper = self.sleeper();
        let (gates, sender) = (self.dreaming.gates.clone(), self.dreaming.sender.clone());
        self.dreaming.background.offer(move |cancel| async move {
            // The memory may be in use at this moment, and nobody waits for that but the dream.
            let (desk, current) = (sleeper.desk.clone(), sleeper.origins.session.to_string());
            let looking = tokio::task::spawn_blocking(move || {
                let Bedroom { from, sessions } = bedroom;
                let dreams = Dreams::over(from.memory, &sessions, &from.root, &desk);
                let news = gates.lock().unwrap_or_else(PoisonError::into_inner).look(&dreams, &current, Switch::On);
                news.map(|news| (dreams, news))
            });
            let Ok(Ok((dreams, news))) = looking.await else { return };
            let home = sleeper.sleep(dreams, news, &cancel).await;
            // Whoever dreams already does it for us; a session that has ended has no use for the news.
            if !matches!(home.landed, Err(DreamError::Busy(_))) {
                sender.send(home).unwrap_or_default();
            }
        });
        Ok(())
    }

    /// Dream now, whatever the gates say, and wait for it. Cancelling `stop` or interrupting the session leaves everything as
    /// it was; its job can be watched.
    pub async fn dream(&mut self, dreams: Dreams, stop: CancellationToken) -> Result<Landed, DreamError> {
        let failed = |error: Error| DreamError::Failed(error.to_string());
        let sleeper = self.sleeper();
        let (asked, current) = (dreams.clone(), sleeper.origins.session.to_string());
        let news = beside(move || asked.news(&current)).await?;
        let (interrupted, stop) = (self.interrupt.arm(), stop.child_token());
        let mut sleeping = std::pin::pin!(sleeper.sleep(dreams, news, &stop));
        let home = tokio::select! {
            home = &mut sleeping => home,
            () = interrupted.cancelled() => {
                stop.cancel();
                sleeping.await
            }
        };
        self.book_dream(&home).map_err(failed)?;
        home.landed
    }

    fn sleeper(&mut self) -> Sleeper {
        let mind = self.desk.model.is_a_mind() && self.may_work_in_background() && !self.rests(LAYER);
        let mind = if mind { Switch::On } else { Switch::Off };
        let breakers = self.breakers.clone();
        Sleeper { origins: self.origins(), desk: self.desk.clone(), jobs: self.jobs(), breakers, mind }
    }

    /// Record what came home, and say so in one line.
    pub(super) fn hear_of_dreams(&mut self) -> Result<(), Error> {
        while let Ok(home) = self.dreaming.receiver.try_recv() {
            self.book_dream(&home)?;
            match home.landed {
                Ok(landed) if landed.is_news() => self.desk.events.notice(landed.to_string()),
                Ok(_) | Err(DreamError::Killed) => {}
                Err(error) => {
                    let because = error.to_string();
                    self.desk.events.notice(format!("no dream: {because}"));
                    self.transcript.append(Entry::Failed { layer: LAYER.to_owned(), because }, home.at)?;
                }
            }
        }
        Ok(())
    }

    fn book_dream(&mut self, home: &Home) -> Result<(), Error> {
        self.receipts_of_errand(home.calls(), home.at, home.took);
        // What went well without a model says nothing about one.
        if home.fork.is_some() || home.landed.is_err() {
            self.progressed(LAYER, &home.progress());
        }
        for call in home.calls() {
            self.transcript.append(Entry::Replied(call.clone()), home.at)?;
        }
        Ok(())
    }

    /// Wait until no dream runs, at most this long, and record it. Whether none runs.
    pub(super) async fn dreams_end(&mut self, limit: Duration) -> Result<bool, Error> {
        let idle = self.dreaming.background.idle(limit).await;
        self.hear_of_dreams()?;
        Ok(idle)
    }

    /// The session ends: a dream that still runs is stopped, and leaves everything as it was.
    pub(super) async fn wake(&mut self, limit: Duration) -> Result<(), Error> {
        self.dreaming.background.abandon();
        self.dreaming.background.drain(limit).await;
        self.hear_of_dreams()
    }
}

/// What is dreamt over.
struct Bedroom {
    from: Remembering,
    sessions: PathBuf,
}

/// Whoever dreams.
struct Sleeper {
    origins: Origins,
    desk: Desk,
    jobs: Jobs,
    breakers: Breakers,
    /// Whether a model may be asked.
    mind: Switch,
}

impl Sleeper {
    async fn sleep(self, dreams: Dreams, news: News, stop: &CancellationToken) -> Home {
        let (clock, left) = (self.desk.clock.clone(), self.desk.clock.now());
        let job = self.jobs.begin(LAYER, self.origins.session.as_str(), &self.desk, stop);
        let (mut fork, watched) = (None, job.cancel().clone());
        let landed = match beside(move || dreams.plan(news, watched)).await {
            Ok(dream) => self.dream(dream, &job, &mut fork).await,
            Err(error) => Err(error),
        };
        if let Ok(landed) = &landed {
            job.leaves(landed.touched().into_iter().map(PathBuf::from).collect());
        }
        let at = clock.now();
        let took = Duration::try_from(at.duration_since(left)).unwrap_or_default();
        let home = Home { landed, fork, took, at };
        job.end(&home.progress());
        home
    }

    async fn dream(mut self, dream: Dream, job: &Job, left: &mut Option<Fork>) -> Result<Landed, DreamError> {
        let (now, limits) = (self.desk.clock.now(), self.desk.limits.clone());
        // One whose process ends before it is done counts as well.
        let asks = self.mind == Switch::On && dream.needs_judgement() && self.breakers.start(LAYER, now, &limits);
        let judgement = match asks {
            false => Judgement::Nobody,
            true => {
                let errand = dream.errand(self.desk.gate.clone())?;
                let desk = Desk { tools: dream.hands(&self.desk.tools), ..self.desk };
                let fork = fork::run_as(job, self.origins, &errand, &desk);
                tokio::pin!(fork);
                let (outcome, lost) = tokio::select! {
                    outcome = &mut fork => (outcome, None),
                    error = lost(&dream) => {
                        job.cancel().cancel();
                        (fork.await, Some(error))
                    }
                };
                let judgement = lost.map_or_else(|| Judgement::of(&outcome), Err);
                *left = Some(Fork { progress: outcome.progress(), calls: outcome.calls });
                judgement?
            }
        };
        beside(move || dream.land(judgement)).await
    }
}

impl Home {
    fn calls(&self) -> &[Call] {
        self.fork.as_ref().map(|fork| fork.calls.as_slice()).unwrap_or_default()
    }

    /// What came of it, for the breaker and for whoever watches.
    fn progress(&self) -> Progress {
        match &self.landed {
            Ok(_) => self.fork.as_ref().map_or(Progress::Made, |fork| fork.progress.clone()),
            Err(DreamError::Killed | DreamError::Busy(_)) => Progress::Stopped,
            Err(error) => Progress::None { because: error.to_string(), calls: self.calls().len() as u64 },
        }
    }
}

/// Show signs of life until the lease is lost.
async fn lost(dream: &Dream) -> DreamError {
    let mut pulse = tokio::time::interval(dream.pulse());
    loop {
        pulse.tick().await;
        if let Err(error) = dream.beat() {
            return error;
        }
    }
}

/// Work that blocks, beside everything else.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DreamError> + Send + 'static,
) -> Result<T, DreamError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|panicked| Err(DreamError::Failed(panicked.to_string())))
}
