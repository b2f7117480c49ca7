//! The simulator's clock: it stands still until a test moves it.

use jiff::{SignedDuration, Timestamp};
use scrubjay::clock::Clock;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A clock that a test moves by hand. Clones show the same time.
#[derive(Debug, Clone)]
pub struct SimClock(Arc<Mutex<Timestamp>>);

/// Where every simulated clock starts: 2026-11-15T12:00:00Z.
const START_SECOND: i64 = 1_794_744_000;

impl Default for SimClock {
    fn default() -> Self {
        Self::at(Timestamp::from_second(START_SECOND).unwrap_or_default())
    }
}

impl SimClock {
    /// A clock that shows this moment.
    pub fn at(now: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(now)))
    }

    /// Let this much time pass.
    pub fn advance(&self, by: Duration) {
        let mut now = self.lock();
        let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
        *now = now.checked_add(by).unwrap_or(Timestamp::MAX);
    }

    /// Show this moment, earlier or later.
    pub fn set(&self, now: Timestamp) {
        *self.lock() = now;
    }

    fn lock(&self) -> MutexGuard<'_, Timestamp> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        *self.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_moves_only_by_hand_and_clones_agree() {
        let clock = SimClock::default();
        let other = clock.clone();
        assert_eq!(clock.now().to_string(), "2026-11-15T12:00:00Z");
        clock.advance(Duration::from_secs(61));
        assert_eq!(other.now().to_string(), "2026-11-15T12:01:01Z");
    }
}
