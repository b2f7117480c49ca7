//! Folds and snips in the loop: when they happen, what is said about them, and how they are taken back.

use super::{Compacted, Error, Session};
use crate::context::questions::Questions;
use crate::context::snip::Cut;
use crate::context::spans::NotHidden;
use crate::context::{self, collapse, snip};
use crate::model::Ability;
use crate::settings::{Setting, key};
use crate::transcript::{Entry, EntryId, Hiding, Span, Way};

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
    pub(super) fn heed(&mut self, hiding: Option<Box<Hiding>>) -> Result<(), Error> {
        let Some(hiding) = hiding else { return Ok(()) };
        let numbers: Vec<u64> = hiding.hide.iter().map(|span| span.number).collect();
        let Compacted { before, after } = self.rearrange(*hiding)?;
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
        let (before, way, now) = (self.transcript.view().count.total(), self.way_of(&hiding), self.desk.clock.now());
        let old = self.transcript.view().history.clone();
        hiding.without_thinking = self.desk.model.can(Ability::BoundThinking);
        if let Some((entry, unsent)) = self.unsent() {
            hiding = unsent.then(hiding);
            self.transcript.append(Entry::Reverted { entry }, now)?;
        }
        let sent = self.transcript.view().history.clone();
        if !hiding.is_empty() {
            self.transcript.append(Entry::Hid(hiding.into()), now)?;
        }
        let (new, after) = (&self.transcript.view().history, self.transcript.view().count.total());
        let edit = self.edit_between(&old, new);
        let (already, all) = (self.edit_between(&sent, &old), self.edit_between(&sent, new));
        self.receipt_of_hiding(way, &edit, (&already, &all));
        Ok(Compacted { before, after })
    }

    fn way_of(&self, hiding: &Hiding) -> Way {
        let shown = |number: &u64| self.transcript.view().hidden.iter().find(|hidden| hidden.span.number == *number);
        let shown = hiding.show.first().and_then(shown).map(|hidden| &hidden.span);
        let span: Option<&Span> = hiding.hide.first().or(shown);
        span.map_or(Way::Fold, |span| span.way)
    }

    /// The last change of what is hidden, if no request has carried it yet.
    pub(super) fn unsent(&self) -> Option<(EntryId, Hiding)> {
        let record = self.breaks().pop()?;
        match &record.entry {
            Entry::Hid(hiding) => Some((record.id, (**hiding).clone())),
            _ => None,
        }
    }
}
