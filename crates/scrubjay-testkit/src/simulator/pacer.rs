//! A hand on the stream: events go out when a test lets them.

use std::sync::Arc;
use tokio::sync::Semaphore;

/// Lets stream events out one by one. Clones are the same hand.
#[derive(Debug, Clone)]
pub struct Pacer(Arc<Semaphore>);

impl Default for Pacer {
    fn default() -> Self {
        Self::new()
    }
}

impl Pacer {
    /// A pacer that holds everything back.
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    /// Let this many events out.
    pub fn step(&self, events: usize) {
        self.0.add_permits(events);
    }

    /// Let everything out, now and later.
    pub fn open(&self) {
        self.0.close();
    }

    pub(super) async fn wait(&self) {
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }
}

impl PartialEq for Pacer {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
