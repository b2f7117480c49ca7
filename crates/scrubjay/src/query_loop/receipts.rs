//! Receipts in the loop: every call and every saving is booked where it happens, every break of ours is announced before
//! the request that shows it, and a cache that gave less than it had promised is named by its cause.

use super::Session;
use crate::desk::Desk;
use crate::ledger::book::Book;
use crate::ledger::brake::{Brake, State};
use crate::ledger::budget::{Budget, DayBook, midnight};
use crate::ledger::{Called, Certainty, Forecast, Layer, Removed, Row, Sent, Share};
use crate::limits::Limits;
use crate::message::{Origin, StopReason, Usage};
use crate::prompt::Prompt;
use crate::prompt_cache::fingerprint::{Break, Fingerprint, Interval, Promise, promise, surprise};
use crate::prompt_cache::planner::{Edit, Situation, Warmth};
use crate::prompt_cache::prices::Prices;
use crate::prompt_cache::rules::lifetime;
use crate::transcript::{Author, Call, Cause, Compaction, Entry, Record, Spilled, Transcript, Ttl, Way};
use jiff::Timestamp;
use std::time::Duration;

/// The session's ledger, what it says about the engine, and what the last request left in the provider's cache.
pub(super) struct Receipts {
    book: Book,
    brake: Brake,
    last: Option<Last>,
    /// How much of the record was there when the last request was answered.
    seen: usize,
    /// The break that was announced for the request that is being made.
    announced: Option<Cause>,
    /// Whether the person was told that the day's budget is used up.
    told_of_budget: bool,
}

/// A request that was answered: its parts, what it was billed, and when it was sent.
struct Last {
    print: Fingerprint,
    usage: Usage,
    at: Timestamp,
}

impl Last {
    /// The last request of a session that goes on, unless something was changed since.
    fn of(transcript: &Transcript, limits: &Limits) -> Option<Self> {
        let (before, since) = transcript.records().split_at(answered(transcript));
        let Some(Record { entry: Entry::Replied(call), at, .. }) = before.last() else { return None };
        if since.iter().any(|record| record.entry.cause().is_some()) {
            return None;
        }
        let mut prompt = Prompt::of(transcript.view());
        prompt.history.truncate(prompt.history.iter().rposition(|message| message.origin == Origin::Model)?);
        Some(Self { print: Fingerprint::of(&prompt, &call.model, None, limits), usage: call.usage, at: *at })
    }
}

/// How much of the record was there when the last request was answered.
fn answered(transcript: &Transcript) -> usize {
    let is_main = |record: &Record| matches!(&record.entry, Entry::Replied(call) if call.source == Call::MAIN);
    transcript.records().iter().rposition(is_main).map_or(0, |at| at + 1)
}

impl Receipts {
    /// Beside the transcript. A ledger that cannot be opened is kept in memory: it never costs the session.
    pub(super) fn open(transcript: &Transcript, desk: &Desk) -> Self {
        let opened = transcript.path().map(|path| Book::open(&Book::path_of(path), &desk.limits));
        let book = match opened {
            Some(Ok(book)) => book,
            Some(Err(error)) => {
                desk.events.notice(format!("receipts are kept in memory alone: the ledger cannot be opened ({error})"));
                Book::in_memory()
            }
            None => Book::in_memory(),
        };
        let mut brake = Brake::new((*desk.limits).clone());
        book.rows().iter().for_each(|row| brake.apply(row));
        let last = Last::of(transcript, &desk.limits);
        Self { book, brake, last, seen: answered(transcript), announced: None, told_of_budget: false }
    }

    fn book(&mut self, row: Row, desk: &Desk) {
        let was_braked = self.is_braked();
        self.brake.apply(&row);
        match self.brake.state() {
            State::Tripped { reason, .. } if !was_braked => desk.events.notice(format!(
                "the brake is on: {reason}; until that changes nothing is cleared, compacted early or noted, and only a \
                 full window is compacted"
            )),
            State::Released if was_braked => desk.events.notice("the brake is off: the layers work again"),
            _ => {}
        }
        if let Err(error) = self.book.book(row) {
            desk.events.notice(format!("a receipt waits in memory: the ledger could not be written ({error})"));
        }
    }

    /// Whether the engine has got out of the way: what is not needed to fit is left alone.
    pub(super) fn is_braked(&self) -> bool {
        *self.brake.state() != State::Released
    }
}

impl Session {
    /// Before a request: what we changed since the last one is announced, so that nobody takes it for a surprise.
    pub(super) fn announce(&mut self) {
        let cause = self.announced().filter(|_| self.receipts.announced.is_none());
        if let Some(cause) = cause {
            self.receipts.announced = Some(cause);
            self.receipts.book(Row::Announced { at: self.desk.clock.now(), cause }, &self.desk);
        }
    }

    /// The break that an entry since the last request declared.
    pub(super) fn announced(&self) -> Option<Cause> {
        self.breaks().first().and_then(|record| record.entry.cause())
    }

    /// Entries since the last request that declare a break. What was taken back before a request carried it has broken
    /// nothing.
    pub(super) fn breaks(&self) -> Vec<&Record> {
        let records = self.transcript.records();
        let mut breaks: Vec<&Record> = Vec::new();
        for record in &records[self.receipts.seen.min(records.len())..] {
            match record.entry {
                Entry::Reverted { entry } if breaks.iter().any(|one| one.id == entry) => {
                    breaks.retain(|one| one.id != entry);
                }
                _ => breaks.extend(record.entry.cause().map(|_| record)),
            }
        }
        breaks
    }

    /// How many tokens the last request had: what a fork finds in the cache.
    pub(super) fn last_input(&self) -> Option<u64> {
        self.receipts.last.as_ref().map(|last| last.usage.total_input())
    }

    /// A request of the conversation was answered.
    pub(super) fn receipt(&mut self, prompt: &Prompt, asked: Timestamp, call: &Call) {
        let then = self.situation(asked);
        let previous = self.receipts.last.take();
        let print = Fingerprint::of(prompt, &call.model, previous.as_ref().map(|last| &last.print), &self.desk.limits);
        let interval =
            previous.as_ref().map(|last| Interval { since_last: asked.duration_since(last.at), ttl: then.ttl });
        let promised = previous.map(|last| promise(&last.print, &last.usage, &print));
        let cleared = self.receipt_of_server(call, promised.as_ref(), &then);
        let announced = self.receipts.announced.take().or(cleared);
        // What has run out promises nothing any more.
        let shared = promised.as_ref().filter(|_| interval.is_some_and(|interval| !interval.is_over()));
        let called = Called { promised: shared.map(|shared| shared.shared), ..self.called(call, asked, &then) };
        let at = called.at;
        self.receipts.book(Row::Called(called), &self.desk);
        let lost = promised
            .zip(interval)
            .and_then(|(promised, interval)| surprise(&promised, &call.usage, interval, announced, &self.desk.limits));
        if let Some(lost) = lost {
            self.tell_of_break(lost, at);
        }
        self.receipts.last = Some(Last { print, usage: call.usage, at: asked });
        self.receipts.seen = self.transcript.records().len();
    }

    fn called(&self, call: &Call, asked: Timestamp, then: &Situation) -> Called {
        let now = self.desk.clock.now();
        let took = Duration::try_from(now.duration_since(asked)).unwrap_or_default();
        let lifetimes = self.lifetimes();
        let called = Called::of(now, call, self.desk.model.prices(), lifetimes.messages(), took);
        // What the longer lifetime kept would have been lost without it.
        let long = lifetimes.opening() == Ttl::OneHour
            && then.since_last.is_some_and(|since| since >= lifetime(Ttl::FiveMinutes));
        let outlived = if long { call.usage.cache_read } else { 0 };
        let opening = self.transcript.view().count.opening();
        Called { warmth: Some(then.warmth()), threshold: Some(then.threshold), opening, outlived, ..called }
    }

    /// What the provider cleared on its side is known from its reply alone. It was our wish, so the break is ours.
    fn receipt_of_server(&mut self, call: &Call, promised: Option<&Promise>, then: &Situation) -> Option<Cause> {
        let tokens = call.cleared.saturating_sub(self.transcript.view().server_cleared);
        if tokens == 0 {
            return None;
        }
        let (at, layer, cause) = (self.desk.clock.now(), Layer::Microcompaction, Cause::Us);
        let (sent, certainty) = (Sent::Before, Certainty::Reported);
        self.receipts.book(Row::Removed(Removed { at, layer, tokens, sent, certainty, forecast: None }), &self.desk);
        let lost = promised.map_or(0, |promised| promised.cached.saturating_sub(call.usage.cache_read));
        let rewritten = lost.saturating_sub(tokens);
        if rewritten > 0 && then.warmth() == Warmth::Warm {
            self.receipts.book(Row::Rewrote(Share { at, layer, tokens: rewritten }), &self.desk);
        }
        self.receipts.book(Row::Announced { at, cause }, &self.desk);
        Some(cause)
    }

    /// Time passes by itself; everything else that costs the cache is worth a word, the first time it happens.
    fn tell_of_break(&mut self, lost: Break, at: Timestamp) {
        let known = |row: &Row| matches!(row, Row::Broke { lost: known, .. } if known.cause == lost.cause);
        if lost.cause != Cause::Ttl && !self.ledger().iter().any(known) {
            let (tokens, cause) = (lost.lost_tokens, lost.cause.word());
            let part = lost.part.as_ref().map(|part| format!("; {part} changed")).unwrap_or_default();
            self.desk
                .events
                .notice(format!("{tokens} tokens had to be read anew by the service (cause: {cause}{part})"));
        }
        let source = Call::MAIN.to_owned();
        self.receipts.book(Row::Broke { at, source, lost }, &self.desk);
    }

    /// The calls of an errand or of a summariser that came home at this time. They are timed together, in equal parts.
    pub(super) fn receipts_of_errand(&mut self, calls: &[Call], at: Timestamp, took: Duration) {
        let prices = self.desk.model.prices();
        let calls: Vec<(&Call, Option<Prices>)> = calls.iter().map(|call| (call, prices)).collect();
        self.receipts_at(&calls, at, took);
    }

    /// Each at the prices of the model that was asked.
    pub(super) fn receipts_at(&mut self, calls: &[(&Call, Option<Prices>)], at: Timestamp, took: Duration) {
        let each = took / u32::try_from(calls.len().max(1)).unwrap_or(u32::MAX);
        let ttl = self.lifetimes().messages();
        for (call, prices) in calls {
            self.receipt_of_errand(Called::of(at, call, *prices, ttl, each));
        }
    }

    pub(super) fn receipt_of_errand(&mut self, called: Called) {
        if let Some(folder) = self.desk.day_book.as_deref().filter(|_| called.is_ours())
            && let Err(error) = DayBook::at(folder).book(&called, &self.desk.limits)
        {
            self.desk.events.notice(format!("today's background work cannot be written down ({error})"));
        }
        self.receipts.book(Row::Called(called), &self.desk);
    }

    /// Whether background work may start: the engine is not braked, and the day's budget is not used up. Told once.
    pub(super) fn may_work_in_background(&mut self) -> bool {
        if self.receipts.is_braked() {
            return false;
        }
        let refusal = self.allowance().refusal();
        let news = refusal.as_ref().filter(|_| !self.receipts.told_of_budget);
        news.into_iter().for_each(|refusal| self.desk.events.notice(refusal));
        self.receipts.told_of_budget = refusal.is_some();
        refusal.is_none()
    }

    /// What background work took today. A book of the day that cannot be read leaves what this session knows.
    pub fn allowance(&self) -> Budget {
        let Desk { clock, zone, limits, day_book, .. } = &self.desk;
        let now = clock.now();
        let shared = day_book.as_deref().and_then(|folder| DayBook::at(folder).today(now, zone, limits).ok());
        shared.unwrap_or_else(|| Budget::of(self.ledger(), midnight(now, zone), limits))
    }

    /// A service that summarises by itself reads the request without `context_management`, and so finds another cache than
    /// the conversation's: that break is announced.
    pub(super) fn announce_summaries(&mut self, calls: &[Call]) {
        let opening = self.transcript.view().opening.as_ref();
        let managed = opening.is_some_and(|opening| opening.options.context_management.is_some());
        let theirs = StopReason::Other("compaction".to_owned());
        for _ in calls.iter().filter(|call| managed && call.stop == theirs) {
            let at = self.desk.clock.now();
            self.receipts.book(Row::Announced { at, cause: Cause::Us }, &self.desk);
        }
    }

    /// Layer 1 kept a result out of the window.
    pub(super) fn receipt_of_spill(&mut self, spilled: &Spilled) {
        let estimate = spilled.bytes.saturating_sub(spilled.shown) / self.desk.limits.text_bytes_per_token;
        let tokens = self.transcript.view().count.fitted(estimate);
        self.removed(Layer::ToolResults, tokens, Sent::Never, None);
    }

    /// Layer 2 had the provider drop results from its cache: nothing is written again.
    pub(super) fn receipt_of_dropping(&mut self, tokens: u64) {
        self.removed(Layer::Microcompaction, tokens, Sent::Before, None);
    }

    /// A layer changes what was sent. While the cache is warm, what stands behind the change is written again.
    pub(super) fn receipt_of_change(&mut self, layer: Layer, edit: &Edit, forecast: Option<Forecast>) {
        self.removed(layer, edit.removed.saturating_sub(edit.added), Sent::Before, forecast);
        self.rewrote(layer, written(edit));
    }

    /// Spans were hidden or shown. What an earlier change that was not sent either has spoiled is not spoiled twice.
    pub(super) fn receipt_of_hiding(&mut self, way: Way, edit: &Edit, (already, now): (&Edit, &Edit)) {
        let (layer, at) = (layer_hiding(way), self.desk.clock.now());
        match edit.removed.checked_sub(edit.added) {
            Some(tokens) => self.removed(layer, tokens, Sent::Before, None),
            None => {
                let share = Share { at, layer, tokens: edit.added - edit.removed };
                self.receipts.book(Row::Restored(share), &self.desk);
            }
        }
        self.rewrote(layer, written(now).saturating_sub(written(already)));
    }

    /// A compaction was taken back: what it had replaced is written again, and all that stands behind it.
    pub(super) fn receipt_of_undoing(&mut self, compaction: &Compaction, tokens: u64) {
        let layer = layer_of(compaction.author);
        let share = Share { at: self.desk.clock.now(), layer, tokens };
        self.receipts.book(Row::Restored(share), &self.desk);
        let edit = self.edit_of(compaction);
        self.rewrote(layer, edit.removed.saturating_add(edit.behind));
    }

    fn rewrote(&mut self, layer: Layer, tokens: u64) {
        let at = self.desk.clock.now();
        if tokens > 0 && self.spoils(at) {
            self.receipts.book(Row::Rewrote(Share { at, layer, tokens }), &self.desk);
        }
    }

    /// The model needed what a layer had hidden.
    pub(super) fn receipt_of_reading_back(&mut self, layer: Layer, tokens: u64) {
        let at = self.desk.clock.now();
        self.receipts.book(Row::ReadBack(Share { at, layer, tokens }), &self.desk);
    }

    fn removed(&mut self, layer: Layer, tokens: u64, sent: Sent, forecast: Option<Forecast>) {
        let (at, certainty) = (self.desk.clock.now(), Certainty::Estimated);
        self.receipts.book(Row::Removed(Removed { at, layer, tokens, sent, certainty, forecast }), &self.desk);
    }

    /// Everything booked so far.
    pub fn ledger(&self) -> &[Row] {
        self.receipts.book.rows()
    }
}

/// What is written to the cache again while it is warm.
fn written(edit: &Edit) -> u64 {
    edit.behind.saturating_add(edit.added)
}

pub(super) fn layer_hiding(way: Way) -> Layer {
    match way {
        Way::Fold => Layer::Collapse,
        Way::Snip => Layer::Snip,
    }
}

pub(super) fn layer_of(author: Author) -> Layer {
    match author {
        Author::Notes => Layer::SessionNotes,
        Author::Model | Author::Extract => Layer::Compaction,
    }
}
