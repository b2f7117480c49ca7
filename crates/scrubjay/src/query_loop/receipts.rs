//! Receipts in the loop: every call and every saving is booked where it happens, and a cache that gave less than it had
//! promised is named by its cause.

use super::Session;
use crate::desk::Desk;
use crate::ledger::book::Book;
use crate::ledger::{Called, Certainty, Layer, Removed, Row, Sent, Share};
use crate::message::Usage;
use crate::prompt::Prompt;
use crate::prompt_cache::fingerprint::{Break, Fingerprint, Interval, promise, surprise};
use crate::transcript::{Author, Call, Cause, Compaction, Spilled, Transcript, Way};
use jiff::Timestamp;
use std::time::Duration;

/// The session's ledger, and what the last request left in the provider's cache.
pub(super) struct Receipts {
    book: Book,
    last: Option<Last>,
    /// How much of the record was there when the last request was answered.
    seen: usize,
}

struct Last {
    print: Fingerprint,
    usage: Usage,
    at: Timestamp,
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
        Self { book, last: None, seen: transcript.records().len() }
    }

    fn book(&mut self, row: Row, desk: &Desk) {
        if let Err(error) = self.book.book(row) {
            desk.events.notice(format!("a receipt waits in memory: the ledger could not be written ({error})"));
        }
    }
}

impl Session {
    /// A request of the conversation was answered.
    pub(super) fn receipt(&mut self, prompt: &Prompt, asked: Timestamp, call: &Call) {
        let now = self.desk.clock.now();
        let took = Duration::try_from(now.duration_since(asked)).unwrap_or_default();
        let ttl = prompt.options.cache_ttl;
        let mut called = Called::of(now, call, self.desk.model.prices(), ttl, took);
        let announced = self.announced();
        let previous = self.receipts.last.take();
        let print = Fingerprint::of(prompt, &call.model, previous.as_ref().map(|last| &last.print), &self.desk.limits);
        let mut lost = None;
        if let Some(last) = &previous {
            let promised = promise(&last.print, &last.usage, &print);
            called.promised = Some(promised.shared);
            let interval = Interval { since_last: asked.duration_since(last.at), ttl: Some(ttl) };
            lost = surprise(&promised, &call.usage, interval, announced, &self.desk.limits);
        }
        self.receipts.book(Row::Called(called), &self.desk);
        if let Some(cause) = announced {
            self.receipts.book(Row::Announced { at: now, cause }, &self.desk);
        }
        if let Some(lost) = lost {
            self.tell_of_break(lost, now);
        }
        self.receipts.last = Some(Last { print, usage: call.usage, at: asked });
        self.receipts.seen = self.transcript.records().len();
    }

    /// The break that an entry since the last request declared.
    fn announced(&self) -> Option<Cause> {
        self.transcript.records()[self.receipts.seen.min(self.transcript.records().len())..]
            .iter()
            .find_map(|record| record.entry.cause())
    }

    /// Time passes by itself; everything else that costs the cache is worth a word.
    fn tell_of_break(&mut self, lost: Break, at: Timestamp) {
        if lost.cause != Cause::Ttl {
            let (tokens, cause) = (lost.lost_tokens, lost.cause.word());
            self.desk.events.notice(format!("{tokens} tokens had to be read anew by the service (cause: {cause})"));
        }
        let source = Call::MAIN.to_owned();
        self.receipts.book(Row::Broke { at, source, lost }, &self.desk);
    }

    /// A call of an errand or of a summariser.
    pub(super) fn receipt_of_errand(&mut self, call: &Call) {
        let ttl = self.transcript.view().opening.as_ref().map(|opening| opening.options.cache_ttl).unwrap_or_default();
        let called = Called::of(self.desk.clock.now(), call, self.desk.model.prices(), ttl, Duration::ZERO);
        self.receipts.book(Row::Called(called), &self.desk);
    }

    /// Layer 1 kept a result out of the window.
    pub(super) fn receipt_of_spill(&mut self, spilled: &Spilled) {
        let tokens = spilled.bytes.saturating_sub(spilled.shown) / self.desk.limits.text_bytes_per_token;
        self.removed(Layer::ToolResults, tokens, Sent::Never);
    }

    /// Layer 2 cleared results that had been sent.
    pub(super) fn receipt_of_clearing(&mut self, tokens: u64) {
        self.removed(Layer::Microcompaction, tokens, Sent::Before);
    }

    /// Layer 3 or 4 replaced a stretch.
    pub(super) fn receipt_of_compaction(&mut self, author: Author, tokens: u64) {
        self.removed(layer_of(author), tokens, Sent::Before);
    }

    /// A compaction was taken back.
    pub(super) fn receipt_of_undoing(&mut self, compaction: &Compaction, tokens: u64) {
        let share = Share { at: self.desk.clock.now(), layer: layer_of(compaction.author), tokens };
        self.receipts.book(Row::Restored(share), &self.desk);
    }

    /// Spans were hidden or shown.
    pub(super) fn receipt_of_hiding(&mut self, way: Way, before: u64, after: u64) {
        let layer = if way == Way::Fold { Layer::Collapse } else { Layer::Snip };
        match before.checked_sub(after) {
            Some(tokens) => self.removed(layer, tokens, Sent::Before),
            None => {
                let share = Share { at: self.desk.clock.now(), layer, tokens: after - before };
                self.receipts.book(Row::Restored(share), &self.desk);
            }
        }
    }

    fn removed(&mut self, layer: Layer, tokens: u64, sent: Sent) {
        let (at, certainty) = (self.desk.clock.now(), Certainty::Estimated);
        self.receipts.book(Row::Removed(Removed { at, layer, tokens, sent, certainty, forecast: None }), &self.desk);
    }

    /// Everything booked so far.
    pub fn ledger(&self) -> &[Row] {
        self.receipts.book.rows()
    }
}

fn layer_of(author: Author) -> Layer {
    match author {
        Author::Notes => Layer::SessionNotes,
        Author::Model | Author::Extract => Layer::Compaction,
    }
}
