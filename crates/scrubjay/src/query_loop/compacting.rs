//! Layer 4 in the loop: when a conversation is compacted, what is said about it, and how it is taken back.

use super::receipts::layer_of;
use super::{Error, Session};
use crate::context::compaction::boundary::{self, NotCompacted, Part, Planned, Subject, Wish};
use crate::context::microcompaction::{self, Clearing};
use crate::context::{self, Full};
use crate::desk::Desk;
use crate::hooks::{HookEvent, Moment};
use crate::ledger::{Layer, Row};
use crate::message::MessageId;
use crate::model::ModelError;
use crate::prompt_cache::planner::Verdict;
use crate::settings::{ContextPolicy, key};
use crate::tokens::Budget;
use crate::transcript::{Author, Call, Compaction, Entry, EntryId, Record, Trigger, View};
use jiff::Timestamp;
use std::path::Path;
use std::sync::Arc;
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
        self.plan(wish, &cancel).await
    }

    /// Take the last compaction back, as long as what it replaced still fits.
    pub fn uncompact(&mut self) -> Result<Compacted, Error> {
        let (id, compaction) = self.last_compaction()?;
        self.undo(Entry::Reverted { entry: id }, &compaction)
    }

    /// Give some messages of the last compaction back, behind its summary, as long as they fit.
    pub fn give_back(&mut self, mut messages: Vec<MessageId>) -> Result<Compacted, Error> {
        let (id, compaction) = self.last_compaction()?;
        let view = self.transcript.view();
        messages.retain(|id| !view.hides(id) && !view.history.iter().any(|message| message.id == *id));
        if messages.is_empty() {
            return Err(Error::NotCompacted(NotCompacted::AllThere));
        }
        self.undo(Entry::GivenBack { compaction: id, messages }, &compaction)
    }

    fn last_compaction(&self) -> Result<(EntryId, Arc<Compaction>), Error> {
        let last = self.transcript.view().compactions.last().cloned();
        last.ok_or(Error::NotCompacted(NotCompacted::Nothing))
    }

    /// Append what takes something back, if the conversation still fits then.
    fn undo(&mut self, entry: Entry, compaction: &Compaction) -> Result<Compacted, Error> {
        let before = self.transcript.view().count.total();
        let mut records = self.transcript.records().to_vec();
        let parent = records.last().map(|record| record.id);
        let (id, at) = (parent.map_or(0, |id| id + 1), self.desk.clock.now());
        records.push(Record { id, parent, at, entry: entry.clone() });
        let after = View::of(&records, &self.desk.limits).whole().count.total();
        let refusal = context::budget(&self.transcript, &self.desk).refusal;
        if after > refusal {
            return Err(Error::Full(Full { used: after, refusal }));
        }
        self.transcript.append(entry, at)?;
        self.receipt_of_undoing(compaction, after.saturating_sub(before));
        Ok(Compacted { before, after })
    }

    /// Before a request: make room if the window is nearly full, and say whether it was. Decided before anything is changed,
    /// cheapest layer first. A failure is recorded and the turn goes on.
    pub(super) async fn make_room_if_due(&mut self, cancel: &CancellationToken) -> Result<bool, Error> {
        let budget = context::budget(&self.transcript, &self.desk);
        if budget.used <= budget.compaction && !self.clearing_is_dear(&budget) {
            return Ok(false);
        }
        // One break before a request at most: what still fits can wait for the next one. Folds join one that is not sent.
        let waits = self.announced().is_some() && budget.used <= budget.refusal;
        if self.desk.settings.flag(&key::COLLAPSE) {
            if !waits || self.unsent().is_some() {
                self.fold_down(budget.compaction)?;
            }
        } else if !waits {
            match self.clearing_instead(&budget) {
                Some(clearing) => self.clear(clearing, self.desk.clock.now())?,
                None if context::compacts_by_itself(&self.desk.settings) => self.compact_now(cancel).await?,
                None => {}
            }
        }
        Ok(true)
    }

    /// Whether the provider's clearing has made us write so much again that a compaction is cheaper. It clears anew at every
    /// request, and large results that leave the newest one by one are a rewrite each.
    fn clearing_is_dear(&self, budget: &Budget) -> bool {
        if self.transcript.view().server_cleared == 0 {
            return false;
        }
        let is_compaction = |row: &&Row| matches!(row, Row::Removed(removed) if matches!(removed.layer, Layer::Compaction | Layer::SessionNotes));
        let since = self.ledger().iter().rev().take_while(|row| !is_compaction(row));
        let rewritten: u64 = since
            .filter_map(|row| match row {
                Row::Rewrote(share) if share.layer == Layer::Microcompaction => Some(share.tokens),
                _ => None,
            })
            .sum();
        rewritten > budget.compaction.saturating_mul(self.desk.limits.server_rewrite_percent) / 100
    }

    /// Layer 2 in the place of a compaction: where clearing old results alone makes room enough, or nothing else may.
    fn clearing_instead(&self, budget: &Budget) -> Option<Clearing> {
        let Desk { settings, limits, .. } = &self.desk;
        if settings.context_policy() == ContextPolicy::Economy {
            return None;
        }
        let warmth = self.situation(self.desk.clock.now()).warmth();
        let clearing = microcompaction::room(self.transcript.view(), &self.desk, warmth)?;
        let helps = !context::compacts_by_itself(settings) && clearing.edit.removed >= limits.warm_clear_tokens;
        (helps || clearing.is_enough(budget, limits)).then_some(clearing)
    }

    async fn compact_now(&mut self, cancel: &CancellationToken) -> Result<(), Error> {
        if !self.compact_from_notes(cancel).await? {
            self.try_to_compact(cancel).await?;
        }
        Ok(())
    }

    /// Layer 3 pays off: no call at all.
    async fn compact_from_notes(&mut self, cancel: &CancellationToken) -> Result<bool, Error> {
        let Some(planned) = self.notes_as_summary().await? else { return Ok(false) };
        self.land(planned, None, cancel).await?;
        Ok(true)
    }

    /// The service says the prompt is too long: compact or fold at once, whatever our own count says.
    pub(super) async fn shrink(&mut self, cancel: &CancellationToken) -> Result<bool, Error> {
        if self.desk.settings.flag(&key::COLLAPSE) {
            return self.fold_down(self.transcript.view().count.total());
        }
        if !context::compacts_by_itself(&self.desk.settings) {
            return Ok(false);
        }
        self.try_to_compact(cancel).await
    }

    /// Layer 4, by the model; by code when the model has failed several times in a row, or when nothing fits without it.
    async fn try_to_compact(&mut self, cancel: &CancellationToken) -> Result<bool, Error> {
        let wish = Wish { trigger: Trigger::Auto, instructions: None, part: Part::All };
        let wish = match self.heard_before(wish, cancel).await {
            Ok(wish) => wish,
            // A hook that forbids it stands in the way of the compaction and not of the question.
            Err(Error::Blocked(reason)) => {
                return self.strike(&format!("a hook stopped it: {reason}"), 1).map(|()| false);
            }
            Err(other) => return Err(other),
        };
        let mut planned = None;
        if !self.resting() {
            match self.plan_by_model(&wish, cancel).await {
                Ok(made) => planned = Some(made),
                Err(Error::NotCompacted(NotCompacted::Interrupted)) => return Err(Error::Interrupted),
                Err(Error::NotCompacted(NotCompacted::OpenRound)) => return Ok(false),
                // It was shortened as often as may be, so another try would end like this one.
                Err(Error::NotCompacted(reason @ NotCompacted::Model(ModelError::PromptTooLong { .. }))) => {
                    self.strike(&reason.to_string(), self.desk.limits.compaction_strikes)?;
                }
                Err(Error::NotCompacted(reason)) => self.strike(&reason.to_string(), 1)?,
                Err(other) => return Err(other),
            }
        }
        let must = self.resting() || context::fits(&self.transcript, &self.desk).is_err();
        if planned.is_none() && must && self.desk.model.is_a_mind() {
            planned = self.plan_by_code(&wish).await.ok();
        }
        match planned {
            Some(planned) => self.land(planned, None, cancel).await.map(|_| true),
            None => Ok(false),
        }
    }

    fn resting(&self) -> bool {
        let strikes = self.transcript.view().strikes.get(Compaction::LAYER).copied().unwrap_or_default();
        strikes >= self.desk.limits.compaction_strikes
    }

    fn strike(&mut self, reason: &str, times: u64) -> Result<(), Error> {
        for _ in 0..times {
            let entry = Entry::Failed { layer: Compaction::LAYER.to_owned(), because: reason.to_owned() };
            self.transcript.append(entry, self.desk.clock.now())?;
        }
        self.desk.events.notice(format!("the conversation was not compacted: {reason}"));
        let made = &self.transcript.view().compactions;
        let is_known = made.iter().any(|(_, compaction)| compaction.author == Author::Extract);
        if self.resting() && self.desk.model.is_a_mind() && !is_known {
            self.desk.events.notice(format!(
                "the model failed {} times in a row to summarise; the next summary is made without it",
                self.desk.limits.compaction_strikes
            ));
        }
        Ok(())
    }

    async fn compact_with(&mut self, wish: Wish, cancel: &CancellationToken) -> Result<Compacted, Error> {
        let planned = self.plan(wish, cancel).await?;
        self.land(planned, None, cancel).await
    }

    /// The boundary: recorded, told, and heard by hooks.
    pub(super) async fn land(
        &mut self,
        planned: Planned,
        verdict: Option<Verdict>,
        cancel: &CancellationToken,
    ) -> Result<Compacted, Error> {
        let Planned { compaction, after, .. } = planned;
        let (before, author) = (compaction.before, compaction.author);
        self.receipt_of_change(layer_of(compaction.author), &self.edit_of(&compaction), verdict.map(Into::into));
        self.transcript.append(Entry::Compacted(compaction.into()), self.desk.clock.now())?;
        self.renew()?;
        let how = in_words(author);
        self.desk
            .events
            .notice(format!("compacted {how}: {before} tokens before, {after} after; /uncompact takes it back"));
        let model = self.desk.model.name().to_owned();
        let heard = self.hear(&Moment::SessionStart { source: "compact", model: &model }, cancel).await?;
        self.add_context(HookEvent::SessionStart, heard.context)?;
        Ok(Compacted { before, after })
    }

    /// A compaction that somebody asked for. Where the model cannot write it, code does, and says so.
    async fn plan(&mut self, wish: Wish, cancel: &CancellationToken) -> Result<Planned, Error> {
        let wish = self.heard_before(wish, cancel).await?;
        match self.plan_by_model(&wish, cancel).await {
            Err(Error::NotCompacted(reason @ (NotCompacted::Model(_) | NotCompacted::Empty))) => {
                self.desk.events.notice(format!("{reason}; the summary is made without the model"));
                self.plan_by_code(&wish).await.map_err(Error::NotCompacted)
            }
            planned => planned,
        }
    }

    /// Hooks may add to the instructions or forbid it.
    async fn heard_before(&mut self, mut wish: Wish, cancel: &CancellationToken) -> Result<Wish, Error> {
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
        Ok(wish)
    }

    async fn plan_by_model(&mut self, wish: &Wish, cancel: &CancellationToken) -> Result<Planned, Error> {
        let folder = self.transcript.folder();
        let asked = self.desk.clock.now();
        let mut calls = Vec::new();
        let planned = boundary::plan(&self.subject(folder.as_deref()), wish, &mut calls, cancel).await;
        self.book_all(&calls, asked)?;
        planned.map_err(Error::NotCompacted)
    }

    async fn plan_by_code(&self, wish: &Wish) -> Result<Planned, NotCompacted> {
        let folder = self.transcript.folder();
        boundary::plan_by_code(&self.subject(folder.as_deref()), wish).await
    }

    /// This session, as something that is compacted.
    pub(super) fn subject<'a>(&'a self, folder: Option<&'a Path>) -> Subject<'a> {
        let (view, session) = (self.transcript.view(), self.transcript.session());
        Subject { view, session, folder, desk: &self.desk }
    }

    /// What was asked of a model is paid for, whatever came of it.
    fn book_all(&mut self, calls: &[Call], asked: Timestamp) -> Result<(), Error> {
        let now = self.desk.clock.now();
        let took = Duration::try_from(now.duration_since(asked)).unwrap_or_default();
        self.announce_summaries(calls);
        self.receipts_of_errand(calls, now, took);
        for call in calls {
            self.transcript.append(Entry::Replied(call.clone()), now)?;
        }
        Ok(())
    }
}

/// Who wrote a summary, for the user.
fn in_words(author: Author) -> &'static str {
    match author {
        Author::Notes => "from the session notes the model wrote",
        Author::Model => "by the model",
        Author::Extract => "without a model",
    }
}
