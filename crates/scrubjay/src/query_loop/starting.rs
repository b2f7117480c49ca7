//! Whether background work may start, what came of it, and where it can be watched: the one place for all kinds of it.

use super::Session;
use crate::agents::jobs::Jobs;
use crate::ledger::breaker::{Progress, Rest};

impl Session {
    /// Whether background work of this kind may start now: the engine is not braked, the day's budget is not used up and the
    /// kind does not rest. Who is told yes says later what came of it, with [`Session::progressed`].
    pub fn may_start(&mut self, kind: &str) -> bool {
        self.may_work_in_background() && self.breakers.start(kind, self.desk.clock.now(), &self.desk.limits)
    }

    /// What came of background work. A kind that gets nowhere rests for a while, and that is said once.
    pub fn progressed(&mut self, kind: &str, progress: &Progress) {
        let rest = self.breakers.ended(kind, progress, self.desk.clock.now(), &self.desk.limits);
        if let Some(rest) = rest {
            self.desk.events.notice(rest.words(self.desk.clock.now(), &self.desk.zone));
        }
    }

    /// Whether this kind rests.
    pub(super) fn rests(&self, kind: &str) -> bool {
        self.resting_work().iter().any(|rest| rest.kind == kind)
    }

    /// Every kind of background work that rests, on this machine.
    pub fn resting_work(&self) -> Vec<Rest> {
        self.breakers.resting(self.desk.clock.now(), &self.desk.limits)
    }

    /// Background work: what runs and what ran.
    pub fn jobs(&self) -> Jobs {
        self.jobs.clone()
    }
}
