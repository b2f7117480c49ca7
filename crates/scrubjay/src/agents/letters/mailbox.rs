//! A mailbox in this process: letters lie in it until their receiver's next request.

use super::Letter;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Done when a letter has become part of the receiver's record.
pub type Receipt = Box<dyn FnOnce() + Send>;

/// A letter that lies in a mailbox.
pub(crate) struct Posted {
    pub(crate) letter: Letter,
    pub(crate) receipt: Option<Receipt>,
}

/// Where letters to one agent lie. Cheap to clone; whoever has it can write to that agent.
#[derive(Clone)]
pub struct Mailbox {
    letters: Arc<Mutex<Vec<Posted>>>,
    news: Arc<watch::Sender<()>>,
}

impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Mailbox").field(&self.lying().len()).finish()
    }
}

impl Default for Mailbox {
    fn default() -> Self {
        Self { letters: Arc::default(), news: Arc::new(watch::channel(()).0) }
    }
}

impl Mailbox {
    fn lying(&self) -> MutexGuard<'_, Vec<Posted>> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Write to its owner, who reads it before the next request.
    pub fn post(&self, letter: Letter) {
        self.put(Posted { letter, receipt: None });
    }

    /// The same, for somebody who must know when it has been read.
    pub fn post_registered(&self, letter: Letter, receipt: Receipt) {
        self.put(Posted { letter, receipt: Some(receipt) });
    }

    pub(crate) fn put(&self, posted: Posted) {
        self.lying().push(posted);
        self.news.send_replace(());
    }

    /// Everything that has come, oldest first.
    pub(crate) fn take(&self) -> Vec<Posted> {
        std::mem::take(&mut *self.lying())
    }

    /// How many letters of this sender wait.
    pub fn waiting_from(&self, sender: &str) -> u64 {
        self.lying().iter().filter(|posted| posted.letter.from == sender).count() as u64
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.lying().is_empty()
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
