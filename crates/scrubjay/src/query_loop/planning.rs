//! The planner in the loop: before a request, is there something worth changing about what was already sent?

use super::{Error, Session};
use crate::context;
use crate::context::compaction::rounds;
use crate::context::microcompaction::{self, Clearing, Step};
use crate::ledger::savings::Account;
use crate::ledger::{Layer, Row};
use crate::message::{Message, MessageId, Origin, Role, Usage};
use crate::model::Ability;
use crate::prompt_cache::planner::{self, Decision, Edit, Pauses, Situation, Stretch, Warmth};
use crate::prompt_cache::rules::lifetime;
use crate::settings::{ContextPolicy, key};
use crate::transcript::{Author, Call, Compaction, Entry, Lifetimes, Record, Ttl};
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

impl Session {
    /// The moment as the planner sees it.
    pub(super) fn situation(&self, at: Timestamp) -> Situation {
        let view = self.transcript.view();
        let main = |source: &str| source == Call::MAIN;
        Situation {
            prices: self.desk.model.prices(),
            ttl: Some(self.lifetimes().messages()),
            since_last: self.last_answer().map(|last| at.duration_since(last)),
            turns: view.spent.iter().filter(|((source, _), _)| main(source)).map(|(_, spent)| spent.calls).sum(),
            threshold: context::budget(&self.transcript, &self.desk).compaction,
        }
    }

    /// How long the provider keeps what it read. A cache that nobody can ask anything of is gone after an hour.
    pub(super) fn lifetimes(&self) -> Lifetimes {
        let opening = self.transcript.view().opening.as_ref();
        let marked = opening.filter(|_| self.desk.model.can(Ability::CacheMarkers));
        marked.map_or(Ttl::OneHour.into(), |opening| opening.options.cache_ttl)
    }

    /// When the last request was answered that begins as ours do: a fork keeps its parent's cache warm.
    fn last_answer(&self) -> Option<Timestamp> {
        self.last_answer_to(Call::begins_alike)
    }

    /// Whether a change finds anything in the cache that only it spoils. What a summariser has just written there for its
    /// own use is in its own receipt.
    pub(super) fn spoils(&self, at: Timestamp) -> bool {
        let asked = self.last_answer_to(|source| Call::begins_alike(source) && source != "compact");
        let since_last = asked.map(|asked| at.duration_since(asked));
        Situation { since_last, ..self.situation(at) }.warmth() == Warmth::Warm
    }

    fn last_answer_to(&self, counts: impl Fn(&str) -> bool) -> Option<Timestamp> {
        let counts = |record: &&Record| matches!(&record.entry, Entry::Replied(call) if counts(&call.source));
        self.transcript.records().iter().rev().find(counts).map(|record| record.at)
    }

    /// On turns on which no compaction is due. While the cache is warm, nothing that was sent changes; a cold one has to be
    /// written anew anyway, so what it lets go is free. With `economy` whatever pays is done. One break at most.
    pub(super) async fn plan_ahead(&mut self, cancel: &CancellationToken) -> Result<(), Error> {
        let now = self.situation(self.desk.clock.now());
        if self.receipts.is_braked() {
            return Ok(());
        }
        self.choose_lifetimes(&now)?;
        if now.since_last.is_none() || self.announced().is_some() {
            return Ok(());
        }
        match (self.desk.settings.context_policy(), now.warmth()) {
            (ContextPolicy::Economy, _) => self.save_where_it_pays(&now, cancel).await,
            (ContextPolicy::Faithful, Warmth::Cold) => self.use_cold_cache(&now, cancel).await,
            (ContextPolicy::Faithful, Warmth::Warm) => self.microcompact(None),
        }
    }

    /// Old results go, which costs nothing now. A conversation that fills most of its window, also without them, gives way
    /// to notes that the model wrote.
    async fn use_cold_cache(&mut self, now: &Situation, cancel: &CancellationToken) -> Result<(), Error> {
        let budget = context::budget(&self.transcript, &self.desk);
        let limits = self.desk.limits.clone();
        let is_long = budget.used > budget.compaction.saturating_mul(limits.cold_compaction_percent) / 100;
        let may_compact = is_long && context::compacts_by_itself(&self.desk.settings) && !self.is_noting();
        if may_compact && !microcompaction::suffices(self.transcript.view(), &self.desk) {
            let planned = self.notes_as_summary().await?;
            if let Some(planned) = planned.filter(|planned| planned.compaction.author == Author::Notes) {
                let verdict = planner::pays(now, &self.edit_of(&planned.compaction), &limits);
                if verdict.decision == Decision::Act {
                    return self.land(planned, Some(verdict), cancel).await.map(|_| ());
                }
            }
        }
        self.microcompact(Some(now))
    }

    /// `economy`: compact from notes or clear old results, where it pays.
    async fn save_where_it_pays(&mut self, now: &Situation, cancel: &CancellationToken) -> Result<(), Error> {
        let weigh = self.is_worth_weighing(now);
        // Where nothing is cached, what a compaction kept may be cleared with it: it is one break all the same.
        if weigh && self.compact_early(now, cancel).await? && now.warmth() == Warmth::Warm {
            return Ok(());
        }
        self.microcompact(weigh.then_some(now))
    }

    /// Weighing walks the whole conversation. A cold cache is rare enough for it; a warm one is weighed when it has grown.
    fn is_worth_weighing(&mut self, now: &Situation) -> bool {
        let used = self.transcript.view().count.total();
        let grown = used >= self.weighed.saturating_add(self.desk.limits.weigh_every_tokens) || used < self.weighed;
        let worth = grown || now.warmth() == Warmth::Cold;
        if worth {
            self.weighed = used;
        }
        worth
    }

    /// Notes that are ready replace the conversation before the window is full.
    async fn compact_early(&mut self, now: &Situation, cancel: &CancellationToken) -> Result<bool, Error> {
        let (view, limits) = (self.transcript.view(), self.desk.limits.clone());
        let kept = limits.kept_least_tokens;
        let at_best = Edit { removed: view.count.said().saturating_sub(kept), behind: kept, ..Edit::default() };
        let hopeless = planner::compacts_early(now, &at_best, &limits).decision == Decision::Wait;
        if hopeless || !context::compacts_by_itself(&self.desk.settings) || self.is_noting() {
            return Ok(false);
        }
        let Some(planned) = self.notes_as_summary().await? else { return Ok(false) };
        let verdict = planner::compacts_early(now, &self.edit_of(&planned.compaction), &limits);
        if verdict.decision == Decision::Wait {
            return Ok(false);
        }
        self.land(planned, Some(verdict), cancel).await?;
        Ok(true)
    }

    /// What a compaction changes, in the provider's tokens.
    pub(super) fn edit_of(&self, compaction: &Compaction) -> Edit {
        let (view, limits) = (self.transcript.view(), &self.desk.limits);
        let place = |id: &MessageId| view.history.iter().position(|message| message.id == *id);
        let (Some(first), Some(last)) = (place(&compaction.first), place(&compaction.last)) else {
            return Edit::default();
        };
        let weight = |messages| view.count.fitted(rounds::weight(messages, limits));
        let summary = std::slice::from_ref(&compaction.summary);
        Edit {
            removed: weight(view.history.get(first..=last).unwrap_or_default()),
            added: weight(summary) + weight(&compaction.restored),
            behind: weight(&view.history[last + 1..]),
            making: Usage::default(),
        }
    }

    /// What turns one history into another, in the provider's tokens: all from the first difference to the last.
    pub(super) fn edit_between(&self, old: &[Arc<Message>], new: &[Arc<Message>]) -> Edit {
        let same = |(one, other): &(&Arc<Message>, &Arc<Message>)| one == other;
        let start = old.iter().zip(new).take_while(same).count();
        let (old, new) = (&old[start..], &new[start..]);
        let end = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
        let (count, limits) = (&self.transcript.view().count, &self.desk.limits);
        let weight = |messages| count.fitted(rounds::weight(messages, limits));
        Edit {
            removed: weight(&old[..old.len() - end]),
            added: weight(&new[..new.len() - end]),
            behind: weight(&new[new.len() - end..]),
            making: Usage::default(),
        }
    }

    /// Layer 2.
    fn microcompact(&mut self, now: Option<&Situation>) -> Result<(), Error> {
        let at = self.desk.clock.now();
        match microcompaction::step(self.transcript.view(), &self.desk, now) {
            Some(Step::Clear(clearing)) => self.clear(clearing, at),
            Some(Step::Edit { edits, tokens }) => {
                self.receipt_of_dropping(tokens);
                self.transcript.say(Role::User, Origin::Reminder, vec![edits], at)?;
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub(super) fn clear(&mut self, clearing: Clearing, at: Timestamp) -> Result<(), Error> {
        let Clearing { entry, edit, verdict } = clearing;
        if let Entry::Cleared { results, .. } = &entry {
            let (count, freed) = (results.len(), edit.removed.saturating_sub(edit.added));
            self.desk
                .events
                .notice(format!("cleared {count} old tool results, {freed} tokens; they can be read again"));
        }
        self.receipt_of_change(Layer::Microcompaction, &edit, verdict.map(Into::into));
        Ok(self.transcript.append(entry, at)?)
    }

    /// When nothing of the last request can still be cached, all of it is written anew, and that is the moment to choose
    /// how long tools and system should live. Nothing a cache compares changes, so this is no break.
    fn choose_lifetimes(&mut self, now: &Situation) -> Result<(), Error> {
        let open = self.desk.settings.text(&key::CACHE_TTL) == "auto" && self.desk.model.can(Ability::CacheMarkers);
        let Some(opening) = self.transcript.view().opening.clone().filter(|_| open) else { return Ok(()) };
        let lifetimes = opening.options.cache_ttl;
        let gone = now.since_last.is_some_and(|since| since >= lifetime(lifetimes.opening()));
        if !gone {
            return Ok(());
        }
        let chosen =
            Lifetimes::new(self.price_of_an_hour(now, self.transcript.view().count.opening()), lifetimes.messages());
        if chosen == lifetimes {
            return Ok(());
        }
        let opening = Arc::new(opening.living(chosen));
        Ok(self.transcript.append(Entry::Opened { opening, because: None }, self.desk.clock.now())?)
    }

    fn price_of_an_hour(&self, now: &Situation, tokens: u64) -> Ttl {
        let rows = self.ledger();
        let mut pauses = pauses(rows);
        pauses.add(now.since_last.unwrap_or_default());
        let saved = Account::of(rows).savings().net().money.unwrap_or_default();
        let spent = main_calls(rows).filter_map(|called| called.money).sum();
        let purse = planner::purse(saved, spent, &self.desk.limits);
        planner::choose_ttl(Stretch { kept: tokens, written: tokens }, pauses, now.prices, purse)
    }
}

fn main_calls(rows: &[Row]) -> impl Iterator<Item = &crate::ledger::Called> {
    rows.iter().filter_map(|row| match row {
        Row::Called(called) if called.is_main() => Some(called),
        _ => None,
    })
}

/// The pauses between a session's requests so far.
fn pauses(rows: &[Row]) -> Pauses {
    let mut pauses = Pauses::default();
    let mut before: Option<Timestamp> = None;
    for called in main_calls(rows) {
        let took = SignedDuration::from_millis(i64::try_from(called.duration_ms).unwrap_or(i64::MAX));
        if let Some(before) = before {
            pauses.add(called.at.duration_since(before) - took);
        }
        before = Some(called.at);
    }
    pauses
}
