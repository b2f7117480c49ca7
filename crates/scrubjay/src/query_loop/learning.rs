//! Layer 5 in the loop: after an answer a learner reads what the user typed, and saves what should outlive the session. Never in the way
//! of the turn, unless the model calls `remember`: then it waits a moment for the learner.

use super::beside::Trip;
use super::notebook::Notebook;
use super::{Error, Remembering, Session};
use crate::agents::background::{Background, Drained, Offered};
use crate::agents::fork::Origins;
use crate::agents::jobs::Jobs;
use crate::desk::Desk;
use crate::errand::{Ending, Outcome};
use crate::event::{Events, MemoryEvent};
use crate::ledger::breaker::{Breakers, Progress};
use crate::memory::SharedMemory;
use crate::memory::extraction::{self, Attendance, Grounds, Learned, LearnerAnswer, LearnerRequest, Scribe};
use crate::memory::typed::{Conversation, UserMessage};
use crate::message::{Message, MessageId, ToolUse};
use crate::model::{Ability, Model, ModelError, Reply};
use crate::prompt::Prompt;
use crate::prompt_cache::prices::Prices;
use crate::tool::{Effect, MemoryWriter};
use crate::tools::remember::{Forget, Remember};
use crate::transcript::{Call, Entry, Extracted, Learner, Record, Way};
use crate::turn::{self, Halt, Stage};
use jiff::Timestamp;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

/// How a session learns.
#[derive(Clone)]
pub struct Learns {
    /// The folder of past sessions.
    pub transcripts: PathBuf,
    /// Whether a person is there.
    pub attendance: Attendance,
    /// The model that learns; without one the session's own.
    pub model: Option<Arc<dyn Model>>,
}

/// Where memories are looked for, and where word of it arrives.
pub(super) struct Learning {
    how: Option<Learns>,
    background: Background,
    sender: mpsc::UnboundedSender<Home>,
    receiver: mpsc::UnboundedReceiver<Home>,
    cursor: Arc<Mutex<Cursor>>,
}

/// How far the learner has come that the record has not heard of yet. Whoever holds it learns alone.
#[derive(Default)]
pub(super) struct Cursor {
    /// The last message that was looked at.
    pub(super) reached: Option<MessageId>,
    /// The last message in which the learner found nothing, while the model waited for it.
    pub(super) empty: Option<MessageId>,
    /// The cheap model may not be used.
    refused: bool,
}

/// A look at the conversation that came home.
struct Home {
    calls: Calls,
    took: Duration,
    /// What became of it; nothing where nothing was due.
    extracted: Option<Result<Extracted, String>>,
    progress: Option<Progress>,
    at: Timestamp,
}

impl Default for Learning {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { how: None, background: Background::default(), sender, receiver, cursor: Arc::default() }
    }
}

impl Session {
    /// The main agent of a project, which learns from its user. It needs a memory to save to.
    pub fn learning(mut self, how: Learns) -> Self {
        self.learning.how = Some(how);
        self
    }

    /// Extractions that run or wait; a caller can wait for them.
    pub fn extractions(&self) -> Background {
        self.learning.background.clone()
    }

    /// Whether a person sees what is remembered; without a word about it, one does.
    pub(super) fn is_attended(&self) -> bool {
        self.learning.how.as_ref().is_none_or(|how| how.attendance == Attendance::Person)
    }

    /// After a final answer: look for memories in what was typed since the last time.
    pub(super) fn learn_if_due(&mut self) -> Result<(), Error> {
        self.hear_of_learning()?;
        let attendance = self.learning.how.as_ref().map(|how| how.attendance);
        let on = attendance.is_some_and(|attendance| extraction::is_on(&self.desk.settings, attendance));
        let Some(lesson) = self.lesson().filter(|_| on) else { return Ok(()) };
        if extraction::by_fork(&self.desk.settings) && self.desk.model.is_a_mind() {
            return self.fork_to_learn(lesson);
        }
        if self.desk.model.is_a_mind() && !self.may_work_in_background() {
            return Ok(());
        }
        self.learning.background.offer(move |cancel| async move { lesson.after_answer(&cancel).await });
        Ok(())
    }

    /// Everything a learner needs, taken along at this moment; nothing where nothing can be learned.
    fn lesson(&self) -> Option<Lesson> {
        let how = self.learning.how.clone()?;
        let Remembering { memory, root, .. } = self.remembered()?.clone();
        let view = self.transcript.view();
        let upto = view.history.last().map(|message| message.id.clone())?;
        let gone = view.hidden.iter().filter(|hidden| hidden.span.way == Way::Snip);
        let gone = gone.flat_map(|hidden| hidden.messages.iter().map(|message| message.id.clone())).collect();
        let instructions = view.instructions().iter().map(|message| message.text()).collect();
        let (session, desk) = (self.transcript.session().clone(), self.desk.clone());
        let grounds = Grounds::new(session, &root, desk.zone.clone(), desk.limits.clone());
        Some(Lesson {
            records: self.transcript.records().into(),
            extracted: view.extracted.as_ref().map(|last| last.upto.clone()),
            grounds: grounds.instructed(instructions).after(&how.transcripts),
            model: how.model,
            cursor: self.learning.cursor.clone(),
            sender: self.learning.sender.clone(),
            breakers: self.breakers.clone(),
            jobs: self.jobs(),
            gone,
            upto,
            memory,
            desk,
        })
    }

    /// Whether a call may want something remembered or forgotten. What such a call needs is gathered for it alone: it holds the
    /// whole record.
    pub(super) fn takes_note(&self, call: &ToolUse) -> bool {
        let Some(from) = self.remembered() else { return false };
        let tool = self.desk.tools.iter().find(|tool| tool.spec().name == call.name);
        let effect = tool.map_or(Effect::Nothing, |tool| tool.effect(&call.input, &self.desk.dir));
        let writes = matches!(effect, Effect::Writes(path) if path.starts_with(from.memory.dir()));
        writes || [Remember::NAME, Forget::NAME].contains(&call.name.as_str())
    }

    /// Whoever takes down what the model wants remembered: the main agent's alone.
    pub(super) fn memory_writer(&self) -> Option<impl MemoryWriter + use<>> {
        let lesson = self.lesson().filter(|_| self.agent().is_none())?;
        Some(Notebook::new(lesson, self.occasion(), self.interrupt.life.child_token()))
    }

    /// The published design: a fork reads the whole conversation, and what it writes waits for the user.
    fn fork_to_learn(&mut self, lesson: Lesson) -> Result<(), Error> {
        let fresh = extraction::fresh(&self.transcript);
        let conversation = lesson.conversation(lesson.extracted.as_ref());
        if fresh.is_empty()
            || !extraction::due(&conversation, &self.desk.settings)
            || !self.may_start(extraction::ERRAND)
        {
            return Ok(());
        }
        let (bench, origins) = (self.learning.background.clone(), self.origins());
        let offered = self.send_beside(&bench, move || async move {
            tokio::task::spawn_blocking(move || Some(lesson.trip(fresh, origins))).await.ok().flatten()
        });
        // One that was dropped for a newer one, or came too late, has not run.
        if matches!(offered, Offered::ReplacedOlder | Offered::TooLate) {
            self.progressed(extraction::ERRAND, &Progress::Stopped);
        }
        Ok(())
    }

    /// Record what came home since the last look.
    pub(super) fn hear_of_learning(&mut self) -> Result<(), Error> {
        while let Ok(home) = self.learning.receiver.try_recv() {
            let Home { calls, took, extracted, progress, at } = home;
            let priced: Vec<(&Call, Option<Prices>)> = calls.0.iter().map(|(call, prices)| (call, *prices)).collect();
            self.receipts_at(&priced, at, took);
            progress.iter().for_each(|progress| self.progressed(extraction::ERRAND, progress));
            for (call, _) in calls.0 {
                self.transcript.append(Entry::Replied(call), at)?;
            }
            let entry = match extracted {
                Some(Ok(extracted)) => Entry::Extracted(extracted),
                Some(Err(because)) => Entry::Failed { layer: Extracted::LAYER.to_owned(), because },
                None => continue,
            };
            self.transcript.append(entry, at)?;
        }
        Ok(())
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

/// One look at what was typed, with everything it needs.
#[derive(Clone)]
pub(super) struct Lesson {
    records: Arc<[Record]>,
    /// The last message that the record knows was looked at.
    extracted: Option<MessageId>,
    /// Messages that somebody took out.
    gone: HashSet<MessageId>,
    /// The last message there was.
    pub(super) upto: MessageId,
    pub(super) memory: SharedMemory,
    pub(super) grounds: Grounds,
    pub(super) desk: Desk,
    model: Option<Arc<dyn Model>>,
    pub(super) cursor: Arc<Mutex<Cursor>>,
    sender: mpsc::UnboundedSender<Home>,
    breakers: Breakers,
    jobs: Jobs,
}

/// What a request came to.
struct Asked {
    answer: Result<LearnerAnswer, Halt>,
    /// Why no answer could be read.
    unread: Option<String>,
}

/// What became of one look, for the record.
struct Look {
    learned: Result<Learned, String>,
    calls: Calls,
    left: Timestamp,
    progress: Option<Progress>,
}

/// Calls that were made and the prices of the models that were asked, for the receipts.
#[derive(Default)]
pub(super) struct Calls(Vec<(Call, Option<Prices>)>);

impl Lesson {
    fn conversation(&self, after: Option<&MessageId>) -> Conversation {
        Conversation::read(&self.records, after, &self.gone, &self.desk.limits)
    }

    /// What was typed and not looked at yet.
    pub(super) async fn pending(&self, cursor: &Cursor) -> Conversation {
        let (lesson, reached) = (self.clone(), cursor.reached.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let after = reached.or_else(|| lesson.last_looked());
            lesson.conversation(after.as_ref())
        });
        reading.await.unwrap_or_default()
    }

    /// The last message that was looked at, by the transcript or, where a kill came between, by the memory's journal:
    /// a session of the same name from before may have had a message of that name, but not one said later. Blocks.
    fn last_looked(&self) -> Option<MessageId> {
        let place = |id: &MessageId, by: Timestamp| {
            let is_it = |record: &Record| match &record.entry {
                Entry::Said(message) => message.id == *id && record.at <= by,
                _ => false,
            };
            self.records.iter().rposition(is_it)
        };
        let journal = self.memory.with(|memory| memory.learned_upto(&self.grounds.session)).ok().flatten();
        let journal = journal.and_then(|(id, at)| Some((place(&id, at)?, id)));
        let transcript = self.extracted.as_ref().and_then(|id| place(id, Timestamp::MAX));
        match journal {
            Some((at, id)) if Some(at) > transcript => Some(id),
            _ => self.extracted.clone(),
        }
    }

    /// After an answer, beside the conversation.
    async fn after_answer(mut self, cancel: &CancellationToken) {
        let state = self.cursor.clone();
        let mut cursor = state.lock().await;
        let conversation = self.pending(&cursor).await;
        let Some(last) = conversation.pending.last().map(|message| message.id.clone()) else { return };
        let (left, messages) = (self.desk.clock.now(), conversation.pending.len() as u64);
        // Nothing typed, or nothing found a moment ago: it counts as looked at, and costs nothing.
        if conversation.is_silent() || cursor.empty.as_ref() == Some(&last) {
            let look = Look { learned: Ok(Learned::default()), calls: Calls::default(), left, progress: None };
            self.arrive(&mut cursor, messages, look);
            return;
        }
        if !extraction::due(&conversation, &self.desk.settings) {
            return;
        }
        let mut calls = Calls::default();
        let (learned, progress) = match self.desk.model.is_a_mind() {
            false => (self.offline(&conversation).await, None),
            true => {
                if !self.breakers.start(extraction::ERRAND, left, &self.desk.limits) {
                    return;
                }
                let learned = self.learn(&mut cursor, &conversation, &mut calls, cancel).await;
                let progress = progress(&learned, calls.0.len());
                (learned, Some(progress))
            }
        };
        if cancel.is_cancelled() && learned.is_err() {
            return self.book((calls, left), None, Some(Progress::Stopped));
        }
        self.arrive(&mut cursor, messages, Look { learned, calls, left, progress });
    }

    /// Word of it goes home, the user is told, and nobody looks at these messages again; after a failure somebody will.
    fn arrive(&self, cursor: &mut Cursor, messages: u64, look: Look) {
        let by = if self.desk.model.is_a_mind() { Learner::Model } else { Learner::Code };
        let extracted = look.learned.map(|learned| {
            cursor.reached = Some(self.upto.clone());
            extracted(&learned, self.upto.clone(), messages, by)
        });
        self.book((look.calls, look.left), Some(extracted), look.progress);
    }

    pub(super) fn book(
        &self,
        (calls, left): (Calls, Timestamp),
        extracted: Option<Result<Extracted, String>>,
        progress: Option<Progress>,
    ) {
        let at = self.desk.clock.now();
        let took = Duration::try_from(at.duration_since(left)).unwrap_or_default();
        // A session that has ended in the meantime has no use for the news.
        self.sender.send(Home { calls, took, extracted, progress, at }).unwrap_or_default();
    }

    pub(super) async fn offline(&self, conversation: &Conversation) -> Result<Learned, String> {
        let (lesson, conversation) = (self.clone(), conversation.clone());
        let looking = tokio::task::spawn_blocking(move || {
            let grounds = Grounds { upto: Some(lesson.upto.clone()), ..lesson.grounds };
            extraction::offline(&conversation, &lesson.memory, &grounds).map_err(|error| error.to_string())
        });
        let learned = looking.await.unwrap_or_else(|error| Err(error.to_string()))?;
        tell(&learned, &self.desk.events);
        Ok(learned)
    }

    /// Ask the learner, apply its answer, and look back where it asks for that.
    pub(super) async fn learn(
        &self,
        cursor: &mut Cursor,
        conversation: &Conversation,
        calls: &mut Calls,
        cancel: &CancellationToken,
    ) -> Result<Learned, String> {
        let (memory, limits) = (self.memory.clone(), self.desk.limits.clone());
        let now = self.desk.clock.now().to_zoned(self.desk.zone.clone());
        let (words, at) = (conversation.clone(), now.clone());
        let building = tokio::task::spawn_blocking(move || extraction::typed_words(&words, &memory, &at, &limits));
        let request = building.await.map_err(|error| error.to_string())?;
        let answer = self.ask(cursor, &request, calls, cancel).await?;
        let replies = looked_back(&answer, &request, conversation, &self.desk);
        let mut learned = self.apply(answer, request).await?;
        let exchanges: Vec<&UserMessage> = replies.iter().filter(|reply| reply.answers.is_some()).copied().collect();
        if replies.iter().any(|reply| reply.answers.is_none() && reply.has_paste()) {
            self.desk.events.memory(MemoryEvent::Note(PASTED.to_owned()));
        }
        if !exchanges.is_empty() {
            let request = extraction::exchanges(&exchanges, &now, &self.desk.limits);
            match self.ask(cursor, &request, calls, cancel).await {
                Ok(answer) => learned.and(self.apply(answer, request).await?),
                // What was learned stands; what could not be looked at again is said.
                Err(why) => {
                    let told = format!("an exchange could not be looked at for memories: {why}");
                    self.desk.events.memory(MemoryEvent::Note(told));
                }
            }
        }
        Ok(learned)
    }

    async fn apply(&self, answer: LearnerAnswer, request: LearnerRequest) -> Result<Learned, String> {
        let lesson = self.clone();
        let applying = tokio::task::spawn_blocking(move || {
            let grounds = Grounds { upto: Some(lesson.upto.clone()), ..lesson.grounds };
            extraction::apply(&answer, &request.shown, &grounds, &lesson.memory).map_err(|error| error.to_string())
        });
        let learned = applying.await.unwrap_or_else(|error| Err(error.to_string()))?;
        // At once: a look back may take a while.
        tell(&learned, &self.desk.events);
        Ok(learned)
    }

    /// One request, and one more for an answer that cannot be read.
    async fn ask(
        &self,
        cursor: &mut Cursor,
        request: &LearnerRequest,
        calls: &mut Calls,
        cancel: &CancellationToken,
    ) -> Result<LearnerAnswer, String> {
        let model = self.model.clone().filter(|_| !cursor.refused).unwrap_or_else(|| self.desk.model.clone());
        let desk = Desk { model, ..self.desk.clone() };
        let job = self.jobs.begin(extraction::ERRAND, self.grounds.session.as_str(), &desk, cancel);
        let stop = job.cancel().clone();
        let mut asked = self.sample(&desk, request, calls, &stop).await;
        // A key that may not use the cheap model: the session's own learns from here on.
        let may_not =
            |halt: &Halt| matches!(halt, Halt::Model(ModelError::UnknownModel(_) | ModelError::Unauthorised(_)));
        if self.model.is_some() && !cursor.refused && asked.answer.as_ref().err().is_some_and(may_not) {
            cursor.refused = true;
            let desk = Desk { model: self.desk.model.clone(), ..desk };
            asked = self.sample(&desk, request, calls, &stop).await;
        }
        let answer = match (asked.answer, asked.unread) {
            (Err(Halt::Interrupted { .. }), _) => Err("it was stopped".to_owned()),
            (Err(Halt::Model(error)), _) => Err(error.to_string()),
            (Ok(_), Some(why)) => Err(format!("the learner's answer could not be read: {why}")),
            (Ok(answer), None) => Ok(answer),
        };
        if let Some((call, _)) = calls.0.last() {
            job.turned("", 0, call.usage);
        }
        job.end(&match &answer {
            Ok(_) => Progress::Made,
            Err(_) if stop.is_cancelled() => Progress::Stopped,
            Err(because) => Progress::None { because: because.clone(), calls: calls.0.len() as u64 },
        });
        answer
    }

    async fn sample(
        &self,
        desk: &Desk,
        request: &LearnerRequest,
        calls: &mut Calls,
        cancel: &CancellationToken,
    ) -> Asked {
        let mut prompt = request.prompt.clone();
        if !desk.model.can(Ability::Tools) {
            prompt.tools = Arc::from([]);
        }
        let mut unread = None;
        for _ in 0..2 {
            let reply = match one(desk, &prompt, calls, cancel).await {
                Ok(reply) => reply,
                Err(halt) => return Asked { answer: Err(halt), unread },
            };
            match LearnerAnswer::read(&reply.blocks) {
                Ok(answer) => return Asked { answer: Ok(answer), unread: None },
                Err(why) => {
                    let tools = prompt.tools.clone();
                    prompt = Prompt { tools, ..extraction::again(request, &reply.blocks, &why) };
                    unread = Some(why);
                }
            }
        }
        Asked { answer: Ok(LearnerAnswer::default()), unread }
    }

    fn trip(self, fresh: Vec<Arc<Message>>, origins: Origins) -> Trip {
        let errand = extraction::errand(&fresh, &self.grounds, &self.memory, &self.desk.gate);
        let scribe = Scribe::new(self.memory.clone(), self.grounds.clone(), &fresh);
        let desk = Desk { tools: extraction::hands(&self.desk.tools, &scribe), ..self.desk.clone() };
        let messages = fresh.len() as u64;
        let left = self.desk.clock.now();
        let home = move |outcome: Outcome| {
            let learned = scribe.done();
            tell(&learned, &self.desk.events);
            let mut extracted = extracted(&learned, self.upto.clone(), messages, Learner::Model);
            extracted.denied = outcome.denials;
            let (result, progress) = match &outcome.ending {
                Ending::Done | Ending::OutOfTurns => (Ok(extracted), outcome.progress()),
                Ending::Failed(why) => (Err(why.clone()), outcome.without_progress(why)),
                Ending::Cancelled => (Err("it was stopped".to_owned()), Progress::Stopped),
            };
            let prices = self.desk.model.prices();
            let calls = Calls(outcome.calls.into_iter().map(|call| (call, prices)).collect());
            self.book((calls, left), Some(result), Some(progress));
        };
        Trip { origins, errand, desk, home: Box::new(home) }
    }
}

/// How to keep what was pasted.
const PASTED: &str =
    "what you pasted is not remembered by itself; save it to a file and run `scrubjay remember --file FILE`";

async fn one(desk: &Desk, prompt: &Prompt, calls: &mut Calls, cancel: &CancellationToken) -> Result<Reply, Halt> {
    let replied = turn::sample(desk, prompt, Stage::Back, cancel).await;
    let (source, prices) = (extraction::ERRAND, desk.model.prices());
    match &replied {
        Ok(Reply { model, usage, stop, cleared, .. }) => {
            let (source, model, stop) = (source.to_owned(), model.clone(), stop.clone());
            calls.0.push((Call { source, model, usage: *usage, stop, cleared: *cleared }, prices));
        }
        Err(Halt::Model(ModelError::Cut { usage, .. })) => {
            calls.0.push((Call::cut(source, desk.model.name(), *usage), prices));
        }
        Err(_) => {}
    }
    replied
}

/// The replies that the learner could not understand alone.
fn looked_back<'a>(
    answer: &LearnerAnswer,
    request: &LearnerRequest,
    conversation: &'a Conversation,
    desk: &Desk,
) -> Vec<&'a UserMessage> {
    let most = usize::try_from(desk.limits.learner_look_back).unwrap_or(usize::MAX);
    let mut wanted: Vec<&MessageId> = Vec::new();
    for number in &answer.look_back {
        let id = number.checked_sub(1).and_then(|at| request.shown.numbered.get(at));
        wanted.extend(id.filter(|id| !wanted.contains(id)));
    }
    conversation.pending.iter().filter(|message| wanted.contains(&&message.id)).take(most).collect()
}

fn tell(learned: &Learned, events: &Events) {
    learned.events().into_iter().for_each(|event| events.memory(event));
}

pub(super) fn extracted(learned: &Learned, upto: MessageId, messages: u64, by: Learner) -> Extracted {
    let paths = |saved: &[extraction::Saved]| saved.iter().map(|saved| saved.path.clone()).collect();
    Extracted {
        upto,
        messages,
        by,
        saved: paths(&learned.saved),
        unconfirmed: paths(&learned.unconfirmed),
        refused: learned.refused.len() as u64,
        denied: 0,
    }
}

fn progress(learned: &Result<Learned, String>, calls: usize) -> Progress {
    match learned {
        Ok(_) => Progress::Made,
        Err(because) => Progress::None { because: because.clone(), calls: calls as u64 },
    }
}
