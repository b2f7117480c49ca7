//! One round: sample the model, then run the tools it called. Forks and the query loop both stand on these two verbs.

mod round;

pub use round::{Hand, Round, run_tools};

use crate::desk::Desk;
use crate::event::Event;
use crate::hooks::Scene;
use crate::model::{Delta, ModelError, Reply};
use crate::prompt::Prompt;
use tokio_util::sync::CancellationToken;

/// Why a round has no reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Halt {
    /// The person interrupted; this much had been shown.
    Interrupted {
        /// The prose so far.
        shown: String,
    },
    /// The model failed.
    Model(ModelError),
}

/// Whether a person watches the round.
#[derive(Debug, Clone, Copy)]
pub enum Stage<'a> {
    /// The conversation itself: events are told and hooks run.
    Front(Scene<'a>),
    /// A fork: nothing is shown.
    Back,
    /// A fork that somebody may want to stop.
    Watched(&'a dyn Watcher),
}

/// Looks at something with every piece of a reply.
pub trait Watcher: std::fmt::Debug + Sync {
    /// A piece has arrived.
    fn glance(&self);
}

impl Stage<'_> {
    fn emit(&self, desk: &Desk, event: Event) {
        match self {
            Stage::Front(_) => desk.events.emit(event),
            Stage::Watched(watcher) => watcher.glance(),
            Stage::Back => {}
        }
    }
}

/// Ask the model once.
pub async fn sample(desk: &Desk, prompt: &Prompt, stage: Stage<'_>, cancel: &CancellationToken) -> Result<Reply, Halt> {
    let mut shown = String::new();
    let mut on = |delta: Delta| {
        if let Delta::Text(text) = &delta {
            shown.push_str(text);
        }
        stage.emit(desk, Event::Delta(delta));
    };
    let replied = {
        let reply = desk.model.reply(prompt, &mut on);
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            reply = reply => Some(reply),
        }
    };
    match replied {
        None => Err(Halt::Interrupted { shown }),
        Some(reply) => reply.map_err(Halt::Model),
    }
}
