//! A clock that stands still until it is moved.

use jiff::{SignedDuration, Timestamp};
use scrubjay::clock::Clock;
use std::sync::{Arc, Mutex, PoisonError};

/// A clock that stands still until it is moved. Clones share the time.
#[derive(Debug, Clone)]
pub struct FixedClock(Arc<Mutex<Timestamp>>);

impl FixedClock {
    /// It is this moment.
    pub fn at(now: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(now)))
    }

    /// Time passes.
    pub fn advance(&self, by: SignedDuration) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *now = now.checked_add(by).unwrap_or(*now);
    }

    /// It is this moment from now on.
    pub fn set(&self, now: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }
}

impl Default for FixedClock {
    /// A Tuesday at noon.
    fn default() -> Self {
        Self::at(Timestamp::from_second(1_772_539_200).unwrap_or(Timestamp::UNIX_EPOCH))
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
