//! Layer 3 in the loop: notes are written beside the conversation, and come home between two requests.

use super::{Error, Session};
use crate::agents::background::{Background, Drained};
use crate::agents::fork;
use crate::context::{self, session_notes};
use crate::errand::{Ending, Outcome};
use crate::settings::key;
use crate::transcript::{Compaction, Entry, Noted};
use std::time::Duration;
use tokio::sync::mpsc;

/// Where notes are written, and where word of it arrives.
pub(super) struct Noting {
    background: Background,
    sender: mpsc::UnboundedSender<Home>,
    receiver: mpsc::UnboundedReceiver<Home>,
}

/// A fork that came home: what it cost, and how far the notes reach now.
struct Home {
    outcome: Outcome,
    noted: Result<Noted, String>,
}

impl Default for Noting {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { background: Background::default(), sender, receiver }
    }
}

const LAYER: &str = "session_notes";

impl Session {
    /// After a reply: write the notes if they are due. Never in the way of the turn.
    pub(super) fn note_if_due(&mut self) -> Result<(), Error> {
        self.hear_of_notes()?;
        let view = self.transcript.view();
        let (Some(folder), Some(noted)) = (self.transcript.folder(), session_notes::covering(view)) else {
            return Ok(());
        };
        if self.noting.background.is_busy() || self.tired_of_notes() || !session_notes::due(view, &self.desk) {
            return Ok(());
        }
        if !self.desk.model.is_a_mind() {
            return match session_notes::keep(view, &folder, &self.desk) {
                Ok(()) => Ok(self.transcript.append(Entry::Noted(noted), self.desk.clock.now())?),
                Err(error) => self.note_failed(error.to_string()),
            };
        }
        match session_notes::update(&folder, &self.desk) {
            Ok(update) => self.send_for_notes(update, noted),
            Err(error) => return self.note_failed(error.to_string()),
        }
        Ok(())
    }

    fn send_for_notes(&mut self, update: session_notes::Update, noted: Noted) {
        let mut origins = self.origins_as_said();
        origins.seen.insert(update.file.clone(), update.digest.clone());
        let (desk, sender) = (self.desk.clone(), self.noting.sender.clone());
        self.noting.background.offer(move |cancel| async move {
            let outcome = fork::run(origins, &update.errand, &desk, &cancel).await;
            // However it ended, what it left in the file is checked.
            let accepted = session_notes::accept(&update.file, &update.before, &desk);
            let noted = match (&outcome.ending, accepted) {
                (_, Ok(())) => Ok(noted),
                (Ending::Failed(why), Err(_)) => Err(why.clone()),
                (_, Err(why)) => Err(why),
            };
            // A session that has ended in the meantime has no use for the news.
            sender.send(Home { outcome, noted }).unwrap_or_default();
        });
    }

    /// Record what came home since the last request.
    pub(super) fn hear_of_notes(&mut self) -> Result<(), Error> {
        while let Ok(Home { outcome, noted }) = self.noting.receiver.try_recv() {
            let now = self.desk.clock.now();
            for call in outcome.calls {
                self.receipt_of_errand(&call);
                self.transcript.append(Entry::Replied(call), now)?;
            }
            match noted {
                Ok(noted) => self.transcript.append(Entry::Noted(noted), now)?,
                Err(why) => self.note_failed(why)?,
            }
        }
        Ok(())
    }

    fn note_failed(&mut self, because: String) -> Result<(), Error> {
        if because != session_notes::UNCHANGED {
            self.desk.events.notice(format!("the session notes were not updated: {because}"));
        }
        Ok(self.transcript.append(Entry::Failed { layer: LAYER.to_owned(), because }, self.desk.clock.now())?)
    }

    fn tired_of_notes(&self) -> bool {
        let strikes = self.transcript.view().strikes.get(LAYER).copied().unwrap_or_default();
        strikes >= self.desk.limits.compaction_strikes
    }

    /// The notes as a compaction, where they can serve and the result fits. An update that is running is waited for.
    pub(super) async fn notes_as_summary(&mut self) -> Result<Option<(Compaction, u64)>, Error> {
        if !self.desk.settings.flag(&key::NOTES_COMPACTION) || !self.desk.settings.flag(&key::SESSION_NOTES) {
            return Ok(None);
        }
        let wait = Duration::from_millis(self.desk.limits.notes_wait_ms);
        if !self.quiet(wait).await? {
            return Ok(None);
        }
        let (view, Some(folder)) = (self.transcript.view(), self.transcript.folder()) else { return Ok(None) };
        let planned = session_notes::compaction(view, self.transcript.session(), &folder, &self.desk);
        let measured = planned.map(|compaction| {
            let after = view.compacted(&compaction, &self.desk.limits).count.total();
            (compaction, after)
        });
        let line = context::budget(&self.transcript, &self.desk).compaction;
        Ok(measured.filter(|(_, after)| *after <= line))
    }

    /// Wait until background work is home, at most this long, and record what it did. Whether all of it is home.
    pub async fn quiet(&mut self, limit: Duration) -> Result<bool, Error> {
        let quiet = self.noting.background.idle(limit).await;
        self.hear_of_notes()?;
        Ok(quiet)
    }

    /// Give background work a while to finish, stop what does not, and record what it did.
    pub async fn drain(&mut self, limit: Duration) -> Result<(), Error> {
        if self.noting.background.drain(limit).await == Drained::Abandoned {
            self.noting.background.idle(limit).await;
        }
        self.hear_of_notes()
    }
}
