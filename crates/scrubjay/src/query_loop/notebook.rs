//! What the model wants remembered or forgotten: the learner reads what the user typed, and the note waits for the user unless that
//! says it.

use super::learning::{Calls, Lesson, extracted};
use crate::memory::extraction::{self, Learned, NoteWriter, topic_of_note};
use crate::memory::{Topic, covers, note_event, note_in_words};
use crate::model::Pending;
use crate::settings::key;
use crate::tool::{MemoryNote, MemoryWriter, NoteKind, Occasion};
use crate::transcript::Learner;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Takes down what the model wants remembered or forgotten.
pub(super) struct Notebook {
    lesson: Lesson,
    /// What the model was shown.
    occasion: Occasion,
    cancel: CancellationToken,
}

impl MemoryWriter for Notebook {
    fn write(&self, note: MemoryNote) -> Pending<'_, Result<String, String>> {
        Box::pin(self.take_down(note))
    }
}

impl Notebook {
    pub(super) fn new(lesson: Lesson, occasion: Occasion, cancel: CancellationToken) -> Self {
        Self { lesson, occasion, cancel }
    }

    async fn take_down(&self, note: MemoryNote) -> Result<String, String> {
        let wanted = match note.kind {
            NoteKind::Forget => self.lesson.memory.with(|memory| {
                memory.refresh().map_err(|error| error.to_string())?;
                Ok::<_, String>(memory.named(&note.text).map(|entry| entry.path))
            })?,
            _ => None,
        };
        let wait = Duration::from_millis(self.lesson.desk.limits.remember_wait_ms);
        let learned = tokio::time::timeout(wait, self.learn_now()).await.ok().flatten().unwrap_or_default();
        let mut told: Vec<String> =
            learned.saved.iter().map(|saved| format!("Remembered: {} ({}).", saved.title, saved.path)).collect();
        told.extend(learned.removed.iter().map(|gone| format!("Forgotten: {} ({}).", gone.title, gone.path)));
        let done = match (&note.kind, &wanted) {
            (NoteKind::Forget, Some(path)) => learned.removed.iter().any(|gone| gone.path == *path),
            (NoteKind::Forget, None) => false,
            (NoteKind::Logged, _) => true,
            _ => learned.saved.iter().any(|saved| self.says(&saved.topic, &note)),
        };
        if !done {
            told.push(self.keep(note).await?);
        }
        Ok(told.join("\n"))
    }

    /// Whether what the learner wrote says what the note says.
    fn says(&self, saved: &Topic, note: &MemoryNote) -> bool {
        covers(saved, &topic_of_note(note, &self.lesson.desk.limits))
    }

    /// What the learner does not say itself waits for the user.
    async fn keep(&self, note: MemoryNote) -> Result<String, String> {
        let (memory, by) = (self.lesson.memory.clone(), NoteWriter::of(&self.occasion, &self.lesson.memory));
        let keeping = tokio::task::spawn_blocking(move || match note.kind {
            NoteKind::Forget => extraction::keep_removal(&memory, &note.text, &by),
            _ => extraction::keep(&memory, &note, &by),
        });
        let kept = keeping.await.unwrap_or_else(|error| Err(error.to_string()))?;
        note_event(&kept).into_iter().for_each(|event| self.lesson.desk.events.memory(event));
        Ok(note_in_words(&kept))
    }

    /// Run the learner on what was typed since the last look, without the note. Where it finds nothing, the cursor stays.
    async fn learn_now(&self) -> Option<Learned> {
        let lesson = &self.lesson;
        if !lesson.desk.settings.flag(&key::EXTRACTION) {
            return None;
        }
        let mut cursor = lesson.cursor.lock().await;
        let conversation = lesson.pending(&cursor).await;
        let last = conversation.pending.last()?.id.clone();
        if conversation.is_silent() || cursor.empty.as_ref() == Some(&last) {
            return None;
        }
        let (mut calls, left) = (Calls::default(), lesson.desk.clock.now());
        let learned = match lesson.desk.model.is_a_mind() {
            true => lesson.learn(&mut cursor, &conversation, &mut calls, &self.cancel).await,
            false => lesson.offline(&conversation).await,
        };
        let by = if lesson.desk.model.is_a_mind() { Learner::Model } else { Learner::Code };
        let messages = conversation.pending.len() as u64;
        match learned {
            Ok(learned) if learned.is_empty() => {
                cursor.empty = Some(last);
                lesson.book((calls, left), None, None);
                Some(learned)
            }
            Ok(learned) => {
                cursor.reached = Some(lesson.upto.clone());
                let extracted = extracted(&learned, lesson.upto.clone(), messages, by);
                lesson.book((calls, left), Some(Ok(extracted)), None);
                Some(learned)
            }
            Err(why) => {
                lesson.book((calls, left), Some(Err(why)), None);
                None
            }
        }
    }
}
