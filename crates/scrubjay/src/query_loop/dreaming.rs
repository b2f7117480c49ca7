//! Layer 6 in the loop: after an answer, when it is time, the memory is put in order beside the conversation.

use super::{Error, Remembering, Session};
use crate::agents::background::Background;
use crate::agents::fork::{self, Origins};
use crate::desk::Desk;
use crate::memory::dreaming::{
    self, Dream, DreamError, Dreams, Gates, Judgement, Landed, News, Progress, Status, Switch,
};
use crate::settings::key;
use crate::transcript::{Call, Entry};
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// Where dreams are dreamt, and where word of them arrives.
pub(super) struct Dreaming {
    background: Background,
    gates: Arc<Mutex<Gates>>,
    progress: Arc<Mutex<Option<Progress>>>,
    sender: mpsc::UnboundedSender<Home>,
    receiver: mpsc::UnboundedReceiver<Home>,
}

/// A dream that ended: what became of it, and what it cost.
struct Home {
    landed: Result<Landed, DreamError>,
    calls: Vec<Call>,
    took: Duration,
    at: Timestamp,
}

impl Default for Dreaming {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        let (background, gates, progress) = (Background::default(), Arc::default(), Arc::default());
        Self { background, gates, progress, sender, receiver }
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

    /// A dream that runs beside this session, or the last one that did.
    pub fn dreaming(&self) -> Option<Progress> {
        self.dreaming.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// After an answer: dream if every gate is open. Never in the way of the turn.
    pub(super) fn dream_if_due(&mut self) -> Result<(), Error> {
        self.hear_of_dreams()?;
        let strikes = self.transcript.view().strikes.get(LAYER).copied().unwrap_or_default();
        let tired = strikes >= self.desk.limits.compaction_strikes;
        if tired || self.dreaming.background.is_busy() || !self.desk.settings.flag(&key::DREAMING) {
            return Ok(());
        }
        let (now, gates) = (self.desk.clock.now(), self.dreaming.gates.lock().unwrap_or_else(PoisonError::into_inner));
        let closed = gates.are_known_closed(now, &self.desk.limits);
        drop(gates);
        let Some(bedroom) = self.bedroom().filter(|_| !closed) else { return Ok(()) };
        let sleeper = self.sleeper();
        let (gates, sender) = (self.dreaming.gates.clone(), self.dreaming.sender.clone());
        let shown = self.dreaming.progress.clone();
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
            let progress = Progress::below(&cancel);
            *shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress.clone());
            let home = sleeper.sleep(dreams, news, progress).await;
            // Whoever dreams already does it for us; a session that has ended has no use for the news.
            if !matches!(home.landed, Err(DreamError::Busy(_))) {
                sender.send(home).unwrap_or_default();
            }
        });
        Ok(())
    }

    /// Dream now, whatever the gates say, and wait for it. `progress` shows it, and stops it.
    pub async fn dream(&mut self, dreams: Dreams, progress: Progress) -> Result<Landed, DreamError> {
        let failed = |error: Error| DreamError::Failed(error.to_string());
        let sleeper = self.sleeper();
        let (asked, current) = (dreams.clone(), sleeper.origins.session.to_string());
        let news = beside(move || asked.news(&current)).await?;
        let Home { landed, calls, took, at } = sleeper.sleep(dreams, news, progress).await;
        self.book_dream(calls, took, at).map_err(failed)?;
        landed
    }

    fn sleeper(&mut self) -> Sleeper {
        let mind = self.desk.model.is_a_mind() && self.may_work_in_background();
        let mind = if mind { Switch::On } else { Switch::Off };
        Sleeper { origins: self.origins(), desk: self.desk.clone(), mind }
    }

    /// Record what came home, and say so in one line.
    pub(super) fn hear_of_dreams(&mut self) -> Result<(), Error> {
        while let Ok(Home { landed, calls, took, at }) = self.dreaming.receiver.try_recv() {
            self.book_dream(calls, took, at)?;
            match landed {
                Ok(landed) if landed.is_news() => self.desk.events.notice(landed.to_string()),
                Ok(_) | Err(DreamError::Killed) => {}
                Err(error) => {
                    let because = error.to_string();
                    self.desk.events.notice(format!("no dream: {because}"));
                    self.transcript.append(Entry::Failed { layer: LAYER.to_owned(), because }, at)?;
                }
            }
        }
        Ok(())
    }

    fn book_dream(&mut self, calls: Vec<Call>, took: Duration, at: Timestamp) -> Result<(), Error> {
        self.receipts_of_errand(&calls, at, took);
        for call in calls {
            self.transcript.append(Entry::Replied(call), at)?;
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
        self.dreaming().into_iter().for_each(|progress| progress.kill());
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
    /// Whether a model may be asked.
    mind: Switch,
}

impl Sleeper {
    async fn sleep(self, dreams: Dreams, news: News, progress: Progress) -> Home {
        let (clock, left) = (self.desk.clock.clone(), self.desk.clock.now());
        let (mut calls, mut denials, watched) = (Vec::new(), 0, progress.clone());
        let landed = match beside(move || dreams.plan(news, watched)).await {
            Ok(dream) => self.dream(dream, &mut calls, &mut denials).await,
            Err(error) => Err(error),
        };
        let (status, touched) = match &landed {
            Ok(landed) => (Status::Completed, landed.touched()),
            Err(DreamError::Killed) => (Status::Killed, Vec::new()),
            Err(error) => (Status::Failed(error.to_string()), Vec::new()),
        };
        progress.ended(status, touched, denials);
        let at = clock.now();
        Home { landed, calls, took: Duration::try_from(at.duration_since(left)).unwrap_or_default(), at }
    }

    async fn dream(self, dream: Dream, calls: &mut Vec<Call>, denials: &mut u64) -> Result<Landed, DreamError> {
        let progress = dream.progress().clone();
        let judgement = match self.mind == Switch::On && dream.needs_judgement() {
            false => Judgement::Nobody,
            true => {
                let errand = dream.errand(self.desk.gate.clone())?;
                let stop = progress.token();
                let watch = |said: &crate::message::Message| progress.heard(said, &self.desk.limits);
                let fork = fork::run_watched(self.origins, &errand, &self.desk, stop, &watch);
                tokio::pin!(fork);
                let (outcome, lost) = tokio::select! {
                    outcome = &mut fork => (outcome, None),
                    error = lost(&dream) => {
                        stop.cancel();
                        (fork.await, Some(error))
                    }
                };
                let judgement = lost.map_or_else(|| Judgement::of(&outcome), Err);
                (*calls, *denials) = (outcome.calls, outcome.denials);
                judgement?
            }
        };
        beside(move || dream.land(judgement)).await
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
