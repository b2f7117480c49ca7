//! Forks that work beside the conversation: the one place where they are sent. Each is a job that can be watched and
//! stopped.

use super::Session;
use crate::agents::background::{Background, Offered};
use crate::agents::fork::Origins;
use crate::desk::Desk;
use crate::errand::{Errand, Outcome};

/// A fork about to leave: where it starts, what it is to do and with what, and who hears of it.
pub(super) struct Trip {
    pub(super) origins: Origins,
    pub(super) errand: Errand,
    pub(super) desk: Desk,
    pub(super) home: Box<dyn FnOnce(Outcome) + Send>,
}

impl Session {
    /// Send a fork to work beside the conversation, as soon as the bench is free; the newest that waits wins. What it is to
    /// do is decided when it leaves; by then there may be nothing left to do.
    pub(super) fn send_beside<P, F>(&self, bench: &Background, prepare: P) -> Offered
    where
        P: FnOnce() -> F + Send + 'static,
        F: Future<Output = Option<Trip>> + Send + 'static,
    {
        let jobs = self.jobs();
        bench.offer(move |cancel| async move {
            let Some(Trip { origins, errand, desk, home }) = prepare().await else { return };
            home(jobs.run(origins, &errand, &desk, &cancel).await);
        })
    }
}
