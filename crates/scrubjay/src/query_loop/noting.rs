//! Layer 3 in the loop: notes are written beside the conversation, and come home between two requests.

use super::beside::Trip;
use super::{Error, Session};
use crate::agents::background::{Background, Drained};
use crate::context::compaction::boundary::Planned;
use crate::context::{self, session_notes};
use crate::errand::{Ending, Outcome};
use crate::ledger::breaker::Progress;
use crate::message::Message;
use crate::settings::key;
use crate::transcript::{Entry, Noted, Writer};
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Where notes are written, and where word of it arrives.
pub(super) struct Noting {
    background: Background,
    sender: mpsc::UnboundedSender<Home>,
    receiver: mpsc::UnboundedReceiver<Home>,
}

/// A fork that came home: what it cost, how far the notes reach now, and when it was done.
struct Home {
    outcome: Outcome,
    noted: Result<Noted, String>,
    at: Timestamp,
}

impl Default for Noting {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { background: Background::default(), sender, receiver }
    }
}

const LAYER: &str = session_notes::ERRAND;

impl Session {
    /// After a reply: write the notes if they are due. Never in the way of the turn.
    pub(super) fn note_if_due(&mut self) -> Result<(), Error> {
        self.hear_of_notes()?;
        if self.is_noting() {
            return Ok(());
        }
        let Some(wanted) = session_notes::due(self.transcript.view(), &self.desk) else { return Ok(()) };
        if self.rests(LAYER) {
            return Ok(());
        }
        // Where nobody may work in the background, code keeps them all the same: it costs nothing.
        let by_model = wanted == Writer::Model && self.may_work_in_background();
        let writer = if by_model { Writer::Model } else { Writer::Code };
        let view = self.transcript.view();
        if writer == Writer::Code && !session_notes::may_keep(view, &self.desk) {
            return Ok(());
        }
        let (Some(folder), Some(noted)) = (self.transcript.folder(), session_notes::covering(view, writer)) else {
            return Ok(());
        };
        if writer == Writer::Code {
            return match session_notes::keep(view, &self.said(), &folder, &self.desk) {
                Ok(()) => Ok(self.transcript.append(Entry::Noted(noted), self.desk.clock.now())?),
                Err(error) => self.stumble(error.to_string()),
            };
        }
        match session_notes::update(&folder, &self.desk) {
            Ok(update) if self.may_start(LAYER) => self.send_for_notes(update, noted),
            Ok(_) => {}
            Err(error) => return self.stumble(error.to_string()),
        }
        Ok(())
    }

    /// Everything that was ever said here, also what a compaction has replaced since.
    fn said(&self) -> Vec<Arc<Message>> {
        let said = self.transcript.records().iter().filter_map(|record| match &record.entry {
            Entry::Said(message) => Some(message.clone()),
            _ => None,
        });
        said.collect()
    }

    fn send_for_notes(&mut self, update: session_notes::Update, noted: Noted) {
        let mut origins = self.origins_as_said();
        origins.seen.insert(update.file.clone(), update.digest.clone());
        let (desk, sender) = (self.desk.clone(), self.noting.sender.clone());
        let session_notes::Update { errand, file, before, .. } = update;
        let checks = desk.clone();
        let home = move |outcome: Outcome| {
            // However it ended, what it left in the file is checked.
            let accepted = session_notes::accept(&file, &before, &checks);
            let noted = match (&outcome.ending, accepted) {
                (_, Ok(())) => Ok(noted),
                (Ending::Failed(why), Err(_)) => Err(why.clone()),
                (_, Err(why)) => Err(why),
            };
            // A session that has ended in the meantime has no use for the news.
            let at = checks.clock.now();
            sender.send(Home { outcome, noted, at }).unwrap_or_default();
        };
        let trip = Trip { origins, errand, desk, home: Box::new(home) };
        self.send_beside(&self.noting.background, move || async move { Some(trip) });
    }

    /// Record what came home since the last request.
    pub(super) fn hear_of_notes(&mut self) -> Result<(), Error> {
        while let Ok(Home { outcome, noted, at }) = self.noting.receiver.try_recv() {
            self.receipts_of_errand(&outcome.calls, at, outcome.took);
            let progress = match (&noted, &outcome.ending) {
                (Ok(_), _) => Progress::Made,
                (Err(_), Ending::Cancelled) => Progress::Stopped,
                (Err(why), _) => outcome.without_progress(why),
            };
            for call in outcome.calls {
                self.transcript.append(Entry::Replied(call), at)?;
            }
            self.progressed(LAYER, &progress);
            match noted {
                Ok(noted) => self.transcript.append(Entry::Noted(noted), at)?,
                Err(why) => self.note_failed(why)?,
            }
        }
        Ok(())
    }

    /// Not even begun: that is no progress either.
    fn stumble(&mut self, because: String) -> Result<(), Error> {
        self.progressed(LAYER, &Progress::None { because: because.clone(), calls: 0 });
        self.note_failed(because)
    }

    fn note_failed(&mut self, because: String) -> Result<(), Error> {
        if because != session_notes::UNCHANGED {
            self.desk.events.notice(format!("the session notes were not updated: {because}"));
        }
        Ok(self.transcript.append(Entry::Failed { layer: LAYER.to_owned(), because }, self.desk.clock.now())?)
    }

    /// Whether notes are being written at this moment.
    pub(super) fn is_noting(&self) -> bool {
        self.noting.background.is_busy()
    }

    /// The notes as a compaction, where they can serve and the result fits. An update that is running is waited for.
    pub(super) async fn notes_as_summary(&mut self) -> Result<Option<Planned>, Error> {
        if !self.desk.settings.flag(&key::NOTES_COMPACTION) || !self.desk.settings.flag(&key::SESSION_NOTES) {
            return Ok(None);
        }
        let wait = Duration::from_millis(self.desk.limits.notes_wait_ms);
        let idle = self.noting.background.idle(wait).await;
        self.hear_of_notes()?;
        if !idle {
            return Ok(None);
        }
        let folder = self.transcript.folder();
        let subject = self.subject(folder.as_deref());
        let planned = session_notes::compaction(&subject).await;
        let line = context::budget(&self.transcript, &self.desk).compaction;
        let opening = self.transcript.view().count.opening();
        let room = line.saturating_sub(opening).saturating_mul(self.desk.limits.notes_room_percent) / 100;
        Ok(planned.filter(|planned| planned.after <= opening.saturating_add(room)))
    }

    /// Wait for background work that is running and record what it did; more may start afterwards. Whether nothing runs.
    pub async fn wait_for_background(&mut self, limit: Duration) -> Result<bool, Error> {
        let idle = self.noting.background.idle(limit).await
            && self.searches().idle(limit).await
            && self.uses_counted(limit).await
            && self.extractions().idle(limit).await;
        self.hear_of_notes()?;
        self.hear_of_learning()?;
        self.hear_of_memories()?;
        Ok(self.dreams_end(limit).await? && idle)
    }

    /// Give background work a while to finish, stop what does not, and record what it did.
    pub async fn drain(&mut self, limit: Duration) -> Result<(), Error> {
        if self.noting.background.drain(limit).await == Drained::Abandoned {
            self.noting.background.idle(limit).await;
        }
        // Counts that come too late are not waited for.
        self.uses_counted(limit).await;
        self.wake(limit).await?;
        self.hear_of_notes()
    }
}
