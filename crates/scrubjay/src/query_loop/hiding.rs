//! Folds and snips in the loop: when they happen, what is said about them, and how they are taken back.

use super::{Compacted, Error, Session};
use crate::context::questions::Questions;
use crate::context::snip::Cut;
use crate::context::spans::NotHidden;
use crate::context::{self, collapse, snip};
use crate::model::Ability;
use crate::settings::{Setting, key};
use crate::transcript::{Call, Entry, EntryId, Hiding, Record, Span, Way};

impl Session {
    /// Fold old rounds up to the end of a question, as far as they are not among the newest.
    pub fn fold(&mut self, upto: u64) -> Result<Compacted, Error> {
        self.demand(&key::COLLAPSE)?;
        let view = self.transcript.view();
        let questions = Questions::of(view);
        let most = questions.count();
        let end = questions.stretch(upto).ok_or(NotHidden::NoSuchQuestion { number: upto, most })?.end;
        let mut stretches = collapse::foldable(&view.history, &self.desk.limits);
        stretches.retain(|stretch| stretch.end <= end);
        let hiding = collapse::fold(view, &stretches, &self.desk.limits);
        if hiding.is_empty() {
            return Err(NotHidden::NothingToFold.into());
        }
        self.rearrange(hiding)
    }

    /// Take questions out of the conversation.
    pub fn snip(&mut self, cut: &Cut) -> Result<Compacted, Error> {
        self.demand(&key::SNIP)?;
        let hiding = snip::snip(self.transcript.view(), cut, &self.desk.limits)?;
        self.rearrange(hiding)
    }

    /// Bring a span back; without a number, the last one that was hidden in this way. Possible with the switch off, too:
    /// what was hidden before must never be stuck.
    pub fn show(&mut self, way: Way, number: Option<u64>) -> Result<Compacted, Error> {
        let view = self.transcript.view();
        let mut numbers = view.hidden.iter().filter(|hidden| hidden.span.way == way).map(|hidden| hidden.span.number);
        let found = match number {
            Some(number) => numbers.find(|one| *one == number).ok_or(NotHidden::NoSuchSpan { way, number })?,
            None => numbers.next_back().ok_or(NotHidden::NothingHidden(way))?,
        };
        let hiding = Hiding { show: vec![found], ..Hiding::default() };
        let used = view.hiding(&hiding, &self.desk.limits).count.total();
        let room = self.room();
        if used > room {
            return Err(NotHidden::NoRoom { used, room }.into());
        }
        self.rearrange(hiding)
    }

    /// What may come back without being taken away again before the next request.
    fn room(&self) -> u64 {
        let budget = context::budget(&self.transcript, &self.desk);
        let settings = &self.desk.settings;
        let shrinks_by_itself = settings.flag(&key::COLLAPSE) || settings.flag(&key::COMPACTION);
        if shrinks_by_itself { budget.compaction } else { budget.refusal }
    }

    fn demand(&self, switch: &'static Setting) -> Result<(), NotHidden> {
        if self.desk.settings.flag(switch) { Ok(()) } else { Err(NotHidden::Off(switch.key)) }
    }

    /// Before a request: fold what is old if the window is nearly full. Never a second break before one request.
    pub(super) fn fold_if_due(&mut self) -> Result<(), Error> {
        let budget = context::budget(&self.transcript, &self.desk);
        if budget.used <= budget.compaction || !self.desk.settings.flag(&key::COLLAPSE) {
            return Ok(());
        }
        if self.is_broken() && self.unsent().is_none() && budget.used <= budget.refusal {
            return Ok(());
        }
        self.fold_down(budget.compaction).map(drop)
    }

    /// Fold the oldest rounds until a share of `line` is left; whether anything was folded.
    pub(super) fn fold_down(&mut self, line: u64) -> Result<bool, Error> {
        let target = line.saturating_mul(self.desk.limits.fold_to_percent) / 100;
        let hiding = collapse::fold_to(self.transcript.view(), target, &self.desk.limits);
        let folded = hiding.hide.len();
        if folded == 0 {
            return Ok(false);
        }
        let Compacted { before, after } = self.rearrange(hiding)?;
        self.desk.events.notice(format!(
            "old rounds were folded into {folded} lines: {before} tokens before, {after} after; /fold lists them, \
             /fold open N brings one back"
        ));
        Ok(true)
    }

    /// The model took something out.
    pub(super) fn heed(&mut self, hiding: Option<Hiding>) -> Result<(), Error> {
        let Some(hiding) = hiding else { return Ok(()) };
        let numbers: Vec<u64> = hiding.hide.iter().map(|span| span.number).collect();
        let Compacted { before, after } = self.rearrange(hiding)?;
        for number in numbers {
            self.desk.events.notice(format!(
                "the model took a part of the conversation out: {before} tokens before, {after} after; /snip shows it, \
                 /snip undo {number} brings it back"
            ));
        }
        Ok(())
    }

    /// Record a change of what is hidden. One that no request has carried yet is taken back and joined with this one, so
    /// that there is one break before the next request.
    fn rearrange(&mut self, mut hiding: Hiding) -> Result<Compacted, Error> {
        let (before, layer) = (self.transcript.view().count.total(), self.way_of(&hiding));
        hiding.without_thinking = self.desk.model.can(Ability::BoundThinking);
        let now = self.desk.clock.now();
        if let Some((entry, unsent)) = self.unsent() {
            hiding = unsent.then(hiding);
            self.transcript.append(Entry::Reverted { entry }, now)?;
        }
        if !hiding.is_empty() {
            self.transcript.append(Entry::Hid(hiding.into()), now)?;
        }
        let after = self.transcript.view().count.total();
        self.receipt_of_hiding(layer, before, after);
        Ok(Compacted { before, after })
    }

    fn way_of(&self, hiding: &Hiding) -> Way {
        let shown = |number: &u64| self.transcript.view().hidden.iter().find(|hidden| hidden.span.number == *number);
        let shown = hiding.show.first().and_then(shown).map(|hidden| &hidden.span);
        let span: Option<&Span> = hiding.hide.first().or(shown);
        span.map_or(Way::Fold, |span| span.way)
    }

    /// The last change of what is hidden, if no request has carried it yet.
    fn unsent(&self) -> Option<(EntryId, Hiding)> {
        let pending = self.pending_breaks();
        let record = self.transcript.records()[self.sent..].iter().rfind(|record| pending.contains(&record.id))?;
        match &record.entry {
            Entry::Hid(hiding) => Some((record.id, (**hiding).clone())),
            _ => None,
        }
    }

    /// Whether the next request is known to differ from the last one already: another break would be one too many.
    pub(super) fn is_broken(&self) -> bool {
        !self.pending_breaks().is_empty()
    }

    /// Entries since the last request that declare a break. What was taken back before it was sent has broken nothing.
    fn pending_breaks(&self) -> Vec<EntryId> {
        let mut pending: Vec<EntryId> = Vec::new();
        for record in &self.transcript.records()[self.sent..] {
            match record.entry {
                Entry::Reverted { entry } if pending.contains(&entry) => pending.retain(|id| *id != entry),
                _ => pending.extend(record.entry.cause().map(|_| record.id)),
            }
        }
        pending
    }
}

/// How much of a record the last request carried.
pub(super) fn sent(records: &[Record]) -> usize {
    let is_main = |record: &Record| matches!(&record.entry, Entry::Replied(call) if call.source == Call::MAIN);
    records.iter().rposition(is_main).map_or(0, |at| at + 1)
}
