//! Layer 5 in the loop: after an answer, a fork looks for what should outlive the session. Never in the way of the turn.

use super::beside::Trip;
use super::{Error, Remembering, Session};
use crate::agents::background::{Background, Drained, Offered};
use crate::agents::fork::Origins;
use crate::desk::Desk;
use crate::errand::{Ending, Outcome};
use crate::event::Events;
use crate::ledger::breaker::Progress;
use crate::memory::SharedMemory;
use crate::memory::extraction::{self, Attendance, Grounds, Scribe};
use crate::message::{Message, MessageId, Origin};
use crate::transcript::{Entry, Extracted, Learner};
use jiff::Timestamp;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// How a session learns.
#[derive(Debug, Clone)]
pub struct Learns {
    /// The folder of past sessions.
    pub transcripts: PathBuf,
    /// Whether a person is there.
    pub attendance: Attendance,
}

/// Where memories are looked for, and where word of it arrives.
pub(super) struct Learning {
    how: Option<Learns>,
    background: Background,
    sender: mpsc::UnboundedSender<Home>,
    receiver: mpsc::UnboundedReceiver<Home>,
    /// How far extractions have come that the record has not heard of yet.
    reached: Reached,
}

type Reached = Arc<Mutex<Option<MessageId>>>;

/// An extraction that came home.
enum Home {
    /// A fork: what it cost, how far it came, and when it was done.
    Fork { outcome: Box<Outcome>, extracted: Result<Extracted, String>, at: Timestamp },
    /// Code, which costs nothing and always comes to its end.
    Code { extracted: Extracted, at: Timestamp },
    /// There was nothing left to look at, and no fork has left.
    Nothing,
}

impl Default for Learning {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { how: None, background: Background::default(), sender, receiver, reached: Reached::default() }
    }
}

impl Session {
    /// Whether a user is there, as far as anybody said: not in a print run, nor with a teammate.
    pub(super) fn is_attended(&self) -> bool {
        self.learning.how.as_ref().is_none_or(|how| how.attendance == Attendance::Person)
    }

    /// The main agent of a project, which learns from its answers. It needs a memory to save to.
    pub fn learning(mut self, how: Learns) -> Self {
        self.learning.how = Some(how);
        self
    }

    /// Extractions that run or wait; a caller can wait for them.
    pub fn extractions(&self) -> Background {
        self.learning.background.clone()
    }

    /// After a final answer: look for memories in what was said since the last time.
    pub(super) fn learn_if_due(&mut self) -> Result<(), Error> {
        self.hear_of_learning()?;
        let Some((how, memory, root)) = self.learner() else { return Ok(()) };
        let mut fresh = extraction::fresh(&self.transcript);
        if let Some(at) = extraction::own_write(&fresh, memory.dir(), &self.desk.dir) {
            self.pass_over(fresh.drain(..=at).collect())?;
        }
        let by = if self.desk.model.is_a_mind() { Learner::Model } else { Learner::Code };
        let Desk { settings, zone, .. } = &self.desk;
        let due = extraction::due(&fresh, settings)
            && (by == Learner::Code || extraction::worth_asking(&fresh, settings, zone));
        if !due || (by == Learner::Model && !self.may_start(extraction::ERRAND)) {
            return Ok(());
        }
        let instructions = self.transcript.view().instructions().iter().map(|message| message.text()).collect();
        let (session, desk) = (self.transcript.session().clone(), self.desk.clone());
        let grounds = Grounds::new(session, &root, desk.zone.clone(), desk.limits.clone());
        let lesson = Lesson {
            said: extraction::said(&self.transcript),
            fresh,
            memory,
            grounds: grounds.instructed(instructions).after(&how.transcripts),
            origins: self.origins(),
            desk,
            reached: self.learning.reached.clone(),
            sender: self.learning.sender.clone(),
        };
        match by {
            Learner::Model => self.send_to_learn(lesson),
            Learner::Code | Learner::Agent => {
                self.learning.background.offer(move |_| async move {
                    tokio::task::spawn_blocking(move || lesson.outright()).await.unwrap_or_default();
                });
            }
        }
        Ok(())
    }

    fn send_to_learn(&mut self, lesson: Lesson) {
        let (bench, sender) = (self.learning.background.clone(), self.learning.sender.clone());
        let offered = self.send_beside(&bench, move || async move {
            let trip = tokio::task::spawn_blocking(move || lesson.trip()).await.ok().flatten();
            if trip.is_none() {
                sender.send(Home::Nothing).unwrap_or_default();
            }
            trip
        });
        // One that was dropped for a newer one, or came too late, has not run.
        if matches!(offered, Offered::ReplacedOlder | Offered::TooLate) {
            self.progressed(extraction::ERRAND, &Progress::Stopped);
        }
    }

    fn learner(&self) -> Option<(Learns, SharedMemory, PathBuf)> {
        let how = self.learning.how.clone()?;
        let Remembering { memory, root, .. } = self.remembered()?.clone();
        extraction::is_on(&self.desk.settings, how.attendance).then_some((how, memory, root))
    }

    /// The agent has saved by itself what was said up to here: nobody looks again.
    fn pass_over(&mut self, passed: Vec<Arc<Message>>) -> Result<(), Error> {
        let Some(upto) = passed.last().map(|message| message.id.clone()) else { return Ok(()) };
        reach(&self.learning.reached, &upto);
        let (messages, by, saved) = (passed.len() as u64, Learner::Agent, Vec::new());
        let entry = Entry::Extracted(Extracted { upto, messages, by, saved, refused: 0, denied: 0 });
        Ok(self.transcript.append(entry, self.desk.clock.now())?)
    }

    /// Record what came home since the last look.
    pub(super) fn hear_of_learning(&mut self) -> Result<(), Error> {
        while let Ok(home) = self.learning.receiver.try_recv() {
            match home {
                Home::Fork { outcome, extracted, at } => self.hear_of_fork(*outcome, extracted, at)?,
                Home::Code { extracted, at } => self.transcript.append(Entry::Extracted(extracted), at)?,
                Home::Nothing => self.progressed(extraction::ERRAND, &Progress::Stopped),
            }
        }
        Ok(())
    }

    fn hear_of_fork(
        &mut self,
        outcome: Outcome,
        extracted: Result<Extracted, String>,
        at: Timestamp,
    ) -> Result<(), Error> {
        self.receipts_of_errand(&outcome.calls, at, outcome.took);
        let progress = match &extracted {
            Ok(_) => outcome.progress(),
            Err(_) if outcome.ending == Ending::Cancelled => Progress::Stopped,
            Err(why) => outcome.without_progress(why),
        };
        self.progressed(extraction::ERRAND, &progress);
        for call in outcome.calls {
            self.transcript.append(Entry::Replied(call), at)?;
        }
        let entry = match extracted {
            Ok(extracted) => Entry::Extracted(extracted),
            Err(because) => Entry::Failed { layer: Extracted::LAYER.to_owned(), because },
        };
        Ok(self.transcript.append(entry, at)?)
    }

    /// On the way out: give extractions a while, stop what does not finish or what nobody wants to wait for.
    pub(super) async fn finish_learning(&mut self) -> Result<(), Error> {
        let limit = Duration::from_millis(self.desk.limits.extraction_exit_ms);
        let patience = Duration::from_millis(self.desk.limits.notes_exit_ms);
        let bench = self.learning.background.clone();
        let finished = tokio::select! {
            biased;
            () = self.interrupt.abandoned() => false,
            drained = bench.drain(limit) => drained == Drained::Finished,
        };
        if !finished {
            bench.abandon();
            bench.idle(patience).await;
        }
        self.hear_of_learning()
    }
}

/// One extraction: everything it needs, taken along when the answer was given.
struct Lesson {
    /// All that was ever said in the session.
    said: Vec<Arc<Message>>,
    fresh: Vec<Arc<Message>>,
    memory: SharedMemory,
    grounds: Grounds,
    origins: Origins,
    desk: Desk,
    reached: Reached,
    sender: mpsc::UnboundedSender<Home>,
}

impl Lesson {
    /// What an extraction before this one has looked at is not looked at again. The last message that is left, if the person
    /// said something among them.
    fn leave_out_reached(&mut self) -> Option<MessageId> {
        let reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(at) = self.fresh.iter().position(|message| Some(&message.id) == reached.as_ref()) {
            self.fresh.drain(..=at);
        }
        self.fresh.iter().find(|message| message.origin == Origin::Person)?;
        self.fresh.last().map(|message| message.id.clone())
    }

    /// Without a model: what the person said outright.
    fn outright(mut self) {
        let Some(upto) = self.leave_out_reached() else { return };
        let Self { said, fresh, memory, grounds, desk, reached, sender, .. } = self;
        let scribe = Scribe::new(memory.clone(), grounds.hearing(&said, &fresh, memory.dir()));
        scribe.take_down();
        let done = scribe.done();
        done.announcements().into_iter().for_each(|told| desk.events.notice(told));
        reach(&reached, &upto);
        let (messages, refused) = (fresh.len() as u64, done.refused.len() as u64);
        let extracted = Extracted { upto, messages, by: Learner::Code, saved: done.files, refused, denied: 0 };
        sender.send(Home::Code { extracted, at: desk.clock.now() }).unwrap_or_default();
    }

    fn trip(mut self) -> Option<Trip> {
        let upto = self.leave_out_reached()?;
        let Self { said, fresh, memory, grounds, origins, desk, reached, sender } = self;
        let grounds = grounds.hearing(&said, &fresh, memory.dir());
        let errand = extraction::errand(&fresh, &grounds, &memory, &desk.gate);
        let scribe = Arc::new(Scribe::new(memory, grounds));
        scribe.let_go();
        let (events, clock) = (desk.events.clone(), desk.clock.clone());
        let desk = Desk { tools: extraction::hands(&desk.tools, &scribe), ..desk };
        let messages = fresh.len() as u64;
        let home = move |outcome: Outcome| {
            let extracted = concluded(&outcome, &scribe, (upto, messages), &events);
            if let Ok(extracted) = &extracted {
                reach(&reached, &extracted.upto);
            }
            // A session that has ended in the meantime has no use for the news.
            sender.send(Home::Fork { outcome: Box::new(outcome), extracted, at: clock.now() }).unwrap_or_default();
        };
        Some(Trip { origins, errand, desk, home: Box::new(home) })
    }
}

fn reach(reached: &Reached, upto: &MessageId) {
    *reached.lock().unwrap_or_else(PoisonError::into_inner) = Some(upto.clone());
}

/// What became of it. What was saved is told however it ended; only a run that came to its end, or used all its turns,
/// counts as having looked.
fn concluded(
    outcome: &Outcome,
    scribe: &Scribe,
    (upto, messages): (MessageId, u64),
    events: &Events,
) -> Result<Extracted, String> {
    let done = scribe.done();
    done.announcements().into_iter().for_each(|told| events.notice(told));
    let extracted = Extracted {
        upto,
        messages,
        by: Learner::Model,
        saved: done.files,
        refused: done.refused.len() as u64,
        denied: outcome.denials,
    };
    match &outcome.ending {
        Ending::Done | Ending::OutOfTurns => Ok(extracted),
        Ending::Failed(why) => Err(why.clone()),
        Ending::Cancelled => Err("it was stopped".to_owned()),
    }
}
