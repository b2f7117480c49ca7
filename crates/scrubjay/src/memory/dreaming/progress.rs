//! What a dream is doing, for whoever watches, and the way to stop it.

use crate::limits::Limits;
use crate::message::Message;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// It looks around.
    #[default]
    Starting,
    /// It has written something.
    Updating,
}

/// How it stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Status {
    /// It is at work.
    #[default]
    Running,
    /// It came to its end.
    Completed,
    /// It could not.
    Failed(String),
    /// Somebody stopped it.
    Killed,
}

/// One turn of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnSeen {
    /// What it said.
    pub text: String,
    /// How many tools it called.
    pub tools: usize,
}

/// A dream as it can be watched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Watched {
    /// How far it is.
    pub phase: Phase,
    /// How it stands.
    pub status: Status,
    /// Its last turns.
    pub turns: VecDeque<TurnSeen>,
    /// Memories it touched.
    pub touched: BTreeSet<String>,
    /// Tool calls that were refused.
    pub denials: u64,
}

/// A handle on a dream that runs. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    state: Arc<Mutex<Watched>>,
    stop: CancellationToken,
}

impl Progress {
    /// One that also stops when this token is cancelled.
    pub fn below(parent: &CancellationToken) -> Self {
        Self { state: Arc::default(), stop: parent.child_token() }
    }

    /// As it is at this moment.
    pub fn now(&self) -> Watched {
        self.lock().clone()
    }

    /// Stop it. The memory stays as it was.
    pub fn kill(&self) {
        self.stop.cancel();
    }

    /// Cancelled when it is to stop.
    pub fn token(&self) -> &CancellationToken {
        &self.stop
    }

    /// The model said something.
    pub fn heard(&self, message: &Message, limits: &Limits) {
        let tools = message.tool_uses();
        let writes = |name: &str| name == "Write" || name == "Edit";
        let (mut count, mut wrote) = (0, false);
        for call in tools {
            count += 1;
            wrote |= writes(&call.name);
        }
        let mut state = self.lock();
        if wrote {
            state.phase = Phase::Updating;
        }
        state.turns.push_back(TurnSeen { text: message.text(), tools: count });
        while state.turns.len() as u64 > limits.dream_shown_turns {
            state.turns.pop_front();
        }
    }

    /// It ended.
    pub fn ended(&self, status: Status, touched: impl IntoIterator<Item = String>, denials: u64) {
        let mut state = self.lock();
        state.status = status;
        state.touched.extend(touched);
        state.denials = denials;
    }

    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
