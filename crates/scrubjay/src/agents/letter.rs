//! Letters: what one agent writes to another. They lie in the receiver's mailbox until its next request.

use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// What another agent wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// Who.
    pub from: String,
    /// What.
    pub text: String,
}

/// Where letters to one agent lie. Cheap to clone; whoever has it can write to that agent.
#[derive(Debug, Clone)]
pub struct Mailbox {
    letters: Arc<Mutex<Vec<Letter>>>,
    news: Arc<watch::Sender<()>>,
}

impl Default for Mailbox {
    fn default() -> Self {
        Self { letters: Arc::default(), news: Arc::new(watch::channel(()).0) }
    }
}

impl Mailbox {
    /// Write to its owner, who reads it before the next request.
    pub fn post(&self, letter: Letter) {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner).push(letter);
        self.news.send_replace(());
    }

    /// Everything that has come, oldest first.
    pub(crate) fn take(&self) -> Vec<Letter> {
        std::mem::take(&mut *self.letters.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Wait until something has come.
    pub async fn filled(&self) {
        let mut news = self.news.subscribe();
        while self.is_empty() {
            if news.changed().await.is_err() {
                return;
            }
        }
    }
}
