//! Layer 4 in the loop: when a conversation is compacted, what is said about it, and how it is taken back.

use super::receipts::layer_of;
use super::{Error, Session};
use crate::context::compaction::boundary::{self, NotCompacted, Part, Planned, Wish};
use crate::context::{self, Full};
use crate::hooks::{HookEvent, Moment};
use crate::prompt_cache::planner::Verdict;
use crate::settings::key;
use crate::transcript::{Compaction, Entry, Record, Trigger, View};
use jiff::Timestamp;
use std::time::Duration;
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
        let asked = self.desk.clock.now();
        let planned = self.plan(wish, &cancel).await?;
        self.book_all(&planned, asked)?;
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

    /// Before a request: compact if the window is nearly full, and say whether it was. A failure is recorded and the turn goes on; a few in a row
    /// and it rests.
    pub(super) async fn compact_if_due(&mut self, cancel: &CancellationToken) -> Result<bool, Error> {
        let budget = context::budget(&self.transcript, &self.desk);
        if budget.used <= budget.compaction || !self.desk.settings.flag(&key::COMPACTION) {
            return Ok(budget.used > budget.compaction);
        }
        if self.compact_from_notes(cancel).await? || self.resting() {
            return Ok(true);
        }
        self.try_to_compact(cancel).await.map(|_| true)
    }

    /// Layer 3 pays off: no call at all.
    async fn compact_from_notes(&mut self, cancel: &CancellationToken) -> Result<bool, Error> {
        let Some((compaction, after)) = self.notes_as_summary().await? else { return Ok(false) };
        self.land(compaction, after, None, cancel).await?;
        Ok(true)
    }

    /// The service says the prompt is too long: compact at once, whatever our own count says.
    pub(super) async fn shrink(&mut self, cancel: &CancellationToken) -> Result<bool, Error> {
        if !self.desk.settings.flag(&key::COMPACTION) || self.resting() {
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
        let asked = self.desk.clock.now();
        let planned = self.plan(wish, cancel).await?;
        self.book_all(&planned, asked)?;
        let Planned { compaction, after, .. } = planned;
        self.land(compaction, after, None, cancel).await
    }

    /// The boundary: recorded, told, and heard by hooks.
    pub(super) async fn land(
        &mut self,
        compaction: Compaction,
        after: u64,
        verdict: Option<Verdict>,
        cancel: &CancellationToken,
    ) -> Result<Compacted, Error> {
        let before = compaction.before;
        self.receipt_of_change(layer_of(compaction.author), &self.edit_of(&compaction), verdict.map(Into::into));
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

    fn book_all(&mut self, planned: &Planned, asked: Timestamp) -> Result<(), Error> {
        let now = self.desk.clock.now();
        let took = Duration::try_from(now.duration_since(asked)).unwrap_or_default();
        self.receipts_of_errand(&planned.calls, now, took);
        for call in &planned.calls {
            self.transcript.append(Entry::Replied(call.clone()), now)?;
        }
        Ok(())
    }
}
