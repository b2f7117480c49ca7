//! Four days in a few seconds: a clock whose hands are moved.

use jiff::{SignedDuration, Timestamp};
use scrubjay::clock::Clock;
use std::sync::{Mutex, PoisonError};

/// The hands.
pub(super) struct Hands(Mutex<Timestamp>);

impl Hands {
    pub(super) fn at(moment: Timestamp) -> Self {
        Self(Mutex::new(moment))
    }

    /// It is this moment now, unless it is later already.
    pub(super) fn reach(&self, moment: Timestamp) {
        self.moved(|now| now.max(moment));
    }

    /// Some time passes.
    pub(super) fn pass(&self, time: SignedDuration) {
        self.moved(|now| now.checked_add(time).unwrap_or(now));
    }

    fn moved(&self, to: impl FnOnce(Timestamp) -> Timestamp) -> Timestamp {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *now = to(*now);
        *now
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        self.moved(|now| now)
    }
}
