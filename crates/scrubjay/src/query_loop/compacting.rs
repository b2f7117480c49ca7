//! Layer 4 in the loop: when a conversation is compacted, what is said about it, and how it is taken back.

use super::{Error, Session};
use crate::context::compaction::boundary::{self, NotCompacted, Part, Planned, Wish};
use crate::context::{self, Full};
use crate::hooks::{HookEvent, Moment};
use crate::settings::key;
use crate::transcript::{Compaction, Entry, Record, Trigger, View};
use tokio_util::sync::CancellationToken;

/// What a compaction did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted {
    /// Tokens before.
    pub before: u64,
    /// Tokens after.
    pub after: u64,
}

impl Session {
    /// Compact now. Success is told only after every check.
    pub async fn compact(&mut self, wish: Wish) -> Result<Compacted, Error> {
        let cancel = self.interrupt.arm();
        self.compact_with(wish, &cancel).await
    }

    /// What a compaction would do. Nothing is changed but the receipt of the call it took.
    pub async fn preview(&mut self, wish: Wish) -> Result<Planned, Error> {
        let cancel = self.interrupt.arm();
        let planned = self.plan(wish, &cancel).await?;
        self.book_all(&planned)?;
        Ok(planned)
    }

    /// Take the last compaction back, as long as what it replaced still fits.
    pub fn uncompact(&mut self) -> Result<Compacted, Error> {
        let view = self.transcript.view();
        let Some((id, compaction)) = view.compactions.last().cloned() else {
            return Err(Error::NotCompacted(NotCompacted::Nothing));
        };
        let before = view.count.total();
        let mut records = self.transcript.records().to_vec();
        let parent = records.last().map(|record| record.id);
        let entry = Entry::Reverted { entry: id };
        records.push(Record { id: parent.map_or(0, |id| id + 1), parent, at: self.desk.clock.now(), entry });
        let after = View::of(&records, &self.desk.limits).whole().count.total();
        let refusal = context::budget(&self.transcript, &self.desk).refusal;
        if after > refusal {
            return Err(Error::Full(Full { used: after, refusal }));
        }
        self.transcript.append(Entry::Reverted { entry: id }, self.desk.clock.now())?;
        self.receipt_of_undoing(&compaction, after.saturating_sub(before));
        Ok(Compacted { before, after })
    }

    /// Before a request: compact if the window is nearly full. A failure is recorded and the turn goes on; a few in a row
    /// and it rests.
    pub(super) async fn compact_if_due(&mut self, cancel: &CancellationToken) -> Result<(), Error> {
        let budget = context::budget(&self.transcript, &self.desk);
        if budget.used <= budget.compaction || !context::compacts_by_itself(&self.desk) {
            return Ok(());
        }
        // One break before a request at most: what still fits can wait for the next one.
        if self.is_broken() && budget.used <= budget.refusal {
            return Ok(());
        }
        if self.compact_from_notes(cancel).await? || self.resting() {
            return Ok(());
        }
        self.try_to_compact(cancel).await.map(drop)
    }

    /// Layer 3 pays off: no call at all.
    async fn compact_from_notes(&mut self, cancel: &CancellationToken) -> Result<bool, Error> {
        let Some((compaction, after)) = self.notes_as_summary().await? else { return Ok(false) };
        self.land(compaction, after, cancel).await?;
        Ok(true)
    }

    /// The service says the prompt is too long: compact or fold at once, whatever our own count says.
    pub(super) async fn shrink(&mut self, cancel: &CancellationToken) -> Result<bool, Error> {
        if self.desk.settings.flag(&key::COLLAPSE) {
            return self.fold_down(self.transcript.view().count.total());
        }
        if !context::compacts_by_itself(&self.desk) || self.resting() {
            return Ok(false);
        }
        self.try_to_compact(cancel).await
    }

    async fn try_to_compact(&mut self, cancel: &CancellationToken) -> Result<bool, Error> {
        let wish = Wish { trigger: Trigger::Auto, instructions: None, part: Part::All };
        match self.compact_with(wish, cancel).await {
            Ok(_) => Ok(true),
            Err(Error::NotCompacted(NotCompacted::Interrupted)) => Err(Error::Interrupted),
            Err(Error::NotCompacted(NotCompacted::OpenRound)) => Ok(false),
            Err(Error::NotCompacted(reason)) => {
                self.strike(&reason)?;
                Ok(false)
            }
            Err(other) => Err(other),
        }
    }

    fn resting(&self) -> bool {
        let strikes = self.transcript.view().strikes.get(Compaction::LAYER).copied().unwrap_or_default();
        strikes >= self.desk.limits.compaction_strikes
    }

    fn strike(&mut self, reason: &NotCompacted) -> Result<(), Error> {
        let entry = Entry::Failed { layer: Compaction::LAYER.to_owned(), because: reason.to_string() };
        self.transcript.append(entry, self.desk.clock.now())?;
        self.desk.events.notice(format!("the conversation was not compacted: {reason}"));
        if self.resting() {
            self.desk.events.notice(
                "automatic compaction failed several times in a row and rests for this session; /compact still works",
            );
        }
        Ok(())
    }

    async fn compact_with(&mut self, wish: Wish, cancel: &CancellationToken) -> Result<Compacted, Error> {
        let planned = self.plan(wish, cancel).await?;
        self.book_all(&planned)?;
        let Planned { compaction, after, .. } = planned;
        self.land(compaction, after, cancel).await
    }

    /// The boundary: recorded, told, and heard by hooks.
    async fn land(
        &mut self,
        compaction: Compaction,
        after: u64,
        cancel: &CancellationToken,
    ) -> Result<Compacted, Error> {
        let before = compaction.before;
        self.receipt_of_compaction(compaction.author, before.saturating_sub(after));
        self.transcript.append(Entry::Compacted(compaction.into()), self.desk.clock.now())?;
        self.desk.events.notice(format!("compacted: {before} tokens before, {after} after; /uncompact takes it back"));
        let model = self.desk.model.name().to_owned();
        let heard = self.hear(&Moment::SessionStart { source: "compact", model: &model }, cancel).await?;
        self.add_context(HookEvent::SessionStart, heard.context)?;
        Ok(Compacted { before, after })
    }

    /// Hooks may add to the instructions or forbid it.
    async fn plan(&mut self, mut wish: Wish, cancel: &CancellationToken) -> Result<Planned, Error> {
        let trigger = if wish.trigger == Trigger::Auto { "auto" } else { "manual" };
        let custom_instructions = wish.instructions.clone().unwrap_or_default();
        let moment = Moment::PreCompact { trigger, custom_instructions: &custom_instructions };
        let heard = self.hear(&moment, cancel).await?;
        if let Some(reason) = heard.blocked.or(heard.stop) {
            return Err(Error::Blocked(reason));
        }
        if !heard.context.is_empty() {
            let mut lines = heard.context;
            lines.extend(wish.instructions.take());
            wish.instructions = Some(lines.join("\n"));
        }
        let session = self.transcript.session().clone();
        let planned = boundary::plan(self.transcript.view(), &session, &self.desk, &wish, cancel).await;
        planned.map_err(Error::NotCompacted)
    }

    fn book_all(&mut self, planned: &Planned) -> Result<(), Error> {
        for call in &planned.calls {
            self.receipt_of_errand(call);
            self.transcript.append(Entry::Replied(call.clone()), self.desk.clock.now())?;
        }
        Ok(())
    }
}
