//! Stretches of a conversation that are hidden behind one line each, and how they come back. The messages stay in the
//! record and in the view: hiding is a way of looking, not a rewrite.

use super::View;
use crate::limits::Limits;
use crate::message::{self, Message, MessageId};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// Why a stretch is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Its rounds are old; the line says what was done (C14).
    Fold,
    /// Somebody wants it gone; the line says that it was there (C15).
    Snip,
}

/// One stretch and the line that stands for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// What a person calls it by.
    pub number: u64,
    /// Why it is hidden.
    pub way: Way,
    /// Its first message.
    pub first: MessageId,
    /// Its last message.
    pub last: MessageId,
    /// What stands in its place.
    pub line: Arc<Message>,
}

/// One change of what is hidden. However many spans it concerns, it is one entry and one break.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Hiding {
    /// The numbers of spans that come back, before anything is hidden.
    #[serde(default)]
    pub show: Vec<u64>,
    /// The spans that are hidden, in this order.
    #[serde(default)]
    pub hide: Vec<Span>,
    /// Thinking after the first change is left out, because it was bound to what stood before it.
    #[serde(default)]
    pub without_thinking: bool,
}

impl Hiding {
    /// This change and then another, as one.
    pub fn then(&self, next: Hiding) -> Hiding {
        let is_mine = |number: &u64| self.hide.iter().any(|span| span.number == *number);
        let show = self.show.iter().chain(next.show.iter().filter(|number| !is_mine(number))).copied().collect();
        let mut hide: Vec<Span> = self.hide.iter().filter(|span| !next.show.contains(&span.number)).cloned().collect();
        hide.extend(next.hide);
        Hiding { show, hide, without_thinking: self.without_thinking || next.without_thinking }
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.show.is_empty() && self.hide.is_empty()
    }
}

/// A span in force, with what it hides.
#[derive(Debug, Clone, PartialEq)]
pub struct Hidden {
    /// The span.
    pub span: Span,
    /// The messages behind its line, as they were seen.
    pub messages: Vec<Arc<Message>>,
    /// Spans whose lines are among those messages: they come back with them.
    inside: Vec<Hidden>,
}

impl View {
    /// What a change would make of this view.
    pub fn hiding(&self, hiding: &Hiding, limits: &Limits) -> Self {
        let mut view = self.clone();
        view.rearrange(hiding, limits);
        view
    }

    /// The number that the next span gets.
    pub fn next_span(&self) -> u64 {
        self.spans + 1
    }

    /// These messages with folds opened. Snips stay: somebody wanted them gone.
    pub fn unfolded(&self, messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
        let fold = |message: &Arc<Message>| {
            self.hidden.iter().find(|hidden| hidden.span.way == Way::Fold && hidden.span.line.id == message.id)
        };
        let open = |message: &Arc<Message>| fold(message).map_or(vec![message.clone()], |fold| fold.messages.clone());
        messages.iter().flat_map(open).collect()
    }

    /// Whether a message is behind a line.
    pub fn hides(&self, message: &MessageId) -> bool {
        fn has(hidden: &Hidden, message: &MessageId) -> bool {
            hidden.messages.iter().any(|it| it.id == *message) || hidden.inside.iter().any(|it| has(it, message))
        }
        self.hidden.iter().any(|hidden| has(hidden, message))
    }

    /// The last message that one stands for: itself, or the end of what it hides.
    pub(super) fn end_of<'a>(&'a self, message: &'a Message) -> &'a MessageId {
        let hidden = self.hidden.iter().find(|hidden| hidden.span.line.id == message.id);
        hidden.and_then(|hidden| hidden.messages.last()).map_or(&message.id, |last| &last.id)
    }

    pub(super) fn rearrange(&mut self, hiding: &Hiding, limits: &Limits) {
        let shown: Vec<usize> = hiding.show.iter().filter_map(|number| self.show(*number)).collect();
        let hidden: Vec<usize> = hiding.hide.iter().filter_map(|span| self.hide(span)).collect();
        let Some(start) = shown.into_iter().chain(hidden).min() else { return };
        self.hidden.sort_by_key(|hidden| hidden.span.number);
        if hiding.without_thinking {
            let tail = self.history.split_off(start);
            self.history.extend(tail.iter().filter_map(message::without_thinking));
        }
        self.recount(limits);
    }

    /// A stretch that is not there hides nothing: damage may have taken it.
    fn hide(&mut self, span: &Span) -> Option<usize> {
        self.spans = self.spans.max(span.number);
        let (first, last) = self.stretch(&span.first, &span.last)?;
        let messages: Vec<Arc<Message>> = self.history.splice(first..=last, [span.line.clone()]).collect();
        let gone: HashSet<&MessageId> = messages.iter().map(|message| &message.id).collect();
        let (inside, outside) =
            std::mem::take(&mut self.hidden).into_iter().partition(|hidden| gone.contains(&hidden.span.line.id));
        self.hidden = outside;
        self.hidden.push(Hidden { span: span.clone(), messages, inside });
        Some(first)
    }

    fn show(&mut self, number: u64) -> Option<usize> {
        let at = self.hidden.iter().position(|hidden| hidden.span.number == number)?;
        let line = &self.hidden[at].span.line.id;
        let place = self.history.iter().position(|message| message.id == *line)?;
        let hidden = self.hidden.remove(at);
        self.history.splice(place..=place, hidden.messages);
        self.hidden.extend(hidden.inside);
        Some(place)
    }

    /// Spans whose lines were replaced by something else can no longer be shown.
    pub(super) fn forget_lost_spans(&mut self) {
        let there: HashSet<&MessageId> = self.history.iter().map(|message| &message.id).collect();
        let (hidden, lost): (Vec<Hidden>, Vec<Hidden>) =
            std::mem::take(&mut self.hidden).into_iter().partition(|hidden| there.contains(&hidden.span.line.id));
        self.hidden = hidden;
        lost.iter().for_each(|hidden| self.forget_span(hidden));
    }

    fn forget_span(&mut self, hidden: &Hidden) {
        self.forget(&hidden.messages);
        hidden.inside.iter().for_each(|inside| self.forget_span(inside));
    }
}
