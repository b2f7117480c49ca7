//! Background work of one kind: one running, the newest waiting, all of it drained on the way out.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

type Job = Box<dyn FnOnce(CancellationToken) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// One kind of background work. Cheap to clone.
#[derive(Clone, Default)]
pub struct Background {
    state: Arc<Mutex<State>>,
    tasks: TaskTracker,
    cancel: CancellationToken,
    finished: Arc<watch::Sender<()>>,
}

#[derive(Default)]
struct State {
    running: bool,
    waiting: Option<Job>,
}

/// What became of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// It runs now.
    Started,
    /// One is running; this one follows it.
    Waiting,
    /// It follows the running one in place of an older offer, which is dropped.
    ReplacedOlder,
    /// The program is leaving.
    TooLate,
}

/// How a drain ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Everything finished.
    Finished,
    /// Time ran out and the rest was cancelled.
    Abandoned,
}

impl Background {
    /// Run this now; or, if one is running, let it wait in place of whatever waited before. The newest wins.
    pub fn offer<F, Fut>(&self, job: F) -> Offered
    where
        F: FnOnce(CancellationToken) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        if self.tasks.is_closed() {
            return Offered::TooLate;
        }
        let job: Job = Box::new(move |cancel| Box::pin(job(cancel)));
        let mut state = self.state();
        if state.running {
            return match state.waiting.replace(job) {
                Some(_) => Offered::ReplacedOlder,
                None => Offered::Waiting,
            };
        }
        state.running = true;
        drop(state);
        let this = self.clone();
        self.tasks.spawn(async move { this.run(job).await });
        Offered::Started
    }

    async fn run(self, first: Job) {
        let mut next = Some(first);
        while let Some(job) = next {
            // A job that panics must not keep the ones after it from running.
            if let Err(panicked) = tokio::spawn(job(self.cancel.child_token())).await {
                debug_assert!(panicked.is_panic() || panicked.is_cancelled());
            }
            let mut state = self.state();
            next = state.waiting.take();
            state.running = next.is_some();
            drop(state);
            self.finished.send_replace(());
        }
    }

    /// Wait until nothing runs, at most this long. Whether nothing runs.
    pub async fn idle(&self, limit: Duration) -> bool {
        let mut finished = self.finished.subscribe();
        let idle = async {
            while self.is_busy() {
                if finished.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::time::timeout(limit, idle).await.is_ok()
    }

    /// Whether something runs or waits.
    pub fn is_busy(&self) -> bool {
        self.state().running
    }

    /// Take no more work and give what runs and waits this long; then cancel it.
    pub async fn drain(&self, limit: Duration) -> Drained {
        self.tasks.close();
        let finished = tokio::time::timeout(limit, self.tasks.wait()).await;
        if finished.is_ok() {
            return Drained::Finished;
        }
        self.abandon();
        Drained::Abandoned
    }

    /// Take no more work and stop what runs.
    pub fn abandon(&self) {
        self.tasks.close();
        self.state().waiting = None;
        self.cancel.cancel();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
