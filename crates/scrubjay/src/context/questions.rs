//! Questions by number: how people and models name a part of a conversation.

use crate::message::{Message, MessageId, Origin};
use crate::prose::gist;
use crate::transcript::{View, Way};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// The questions that still stand in the person's own message, numbered from 1.
pub struct Questions<'a> {
    history: &'a [Arc<Message>],
    places: Vec<usize>,
    folds: HashSet<&'a MessageId>,
}

impl<'a> Questions<'a> {
    /// Of a conversation as the model sees it.
    pub fn of(view: &'a View) -> Self {
        let history = view.history.as_slice();
        let places = (0..history.len()).filter(|at| history[*at].origin.asks()).collect();
        let folds = view.hidden.iter().filter(|hidden| hidden.span.way == Way::Fold);
        Self { history, places, folds: folds.map(|hidden| &hidden.span.line.id).collect() }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.places.len() as u64
    }

    /// Where a question stands in the history.
    pub fn place(&self, number: u64) -> Option<usize> {
        self.places.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
    }

    /// A question and what answers it. What the engine added after the last answer belongs to the next one.
    pub fn stretch(&self, number: u64) -> Option<Range<usize>> {
        let start = self.place(number)?;
        let next = self.places.iter().copied().find(|at| *at > start).unwrap_or(self.history.len());
        let last = self.history[start..next].iter().rposition(|message| self.answers(message));
        Some(start..start + last.unwrap_or_default() + 1)
    }

    fn answers(&self, message: &Message) -> bool {
        matches!(message.origin, Origin::Model | Origin::Tool) || self.folds.contains(&message.id)
    }

    /// Whether the model is still at it: nothing was answered yet, or tools are running.
    pub fn is_open(&self, number: u64) -> bool {
        let Some(stretch) = self.stretch(number) else { return false };
        let last = &self.history[stretch.end - 1];
        number == self.count() && (!self.answers(last) || last.tool_uses().next().is_some())
    }

    /// Each number with the beginning of its question.
    pub fn titles(&self) -> impl Iterator<Item = (u64, String)> {
        self.places.iter().zip(1..).map(|(at, number)| (number, gist(&self.history[*at].text(), TITLE)))
    }
}

const TITLE: usize = 80;
