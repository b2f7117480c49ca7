//! Our own policy, made of the engine's own decisions: what is stored at first sight, what is cleared when, when notes
//! replace the conversation, and how long the opening is asked to live.

use crate::policies::{MiddleMark, Moment, Policy, THRESHOLD};
use crate::sessions::{Kind, Piece};
use crate::window::{Form, MARK, OUTPUT, READ, RESTORED, SUMMARY, Segment, WRITE_5M, What, Window};
use jiff::{SignedDuration, Timestamp};
use scrubjay::ledger::savings::Account;
use scrubjay::ledger::{Called, Certainty, Layer, Removed, Row, Sent, Share};
use scrubjay::limits::Limits;
use scrubjay::message::{StopReason, Usage};
use scrubjay::prompt_cache::planner::{self, Decision, Edit, Pauses, Situation, Stretch, Warmth};
use scrubjay::prompt_cache::prices::Prices;
use scrubjay::transcript::{Call, Ttl};
use std::collections::BTreeSet;
use std::time::Duration;

/// The only tools whose results are ever cleared.
const CLEARABLE: &[&str] = &["Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write"];

/// What is decided outside the planner.
#[derive(Debug, Clone, Copy)]
pub struct Knobs {
    /// Characters from which a tool's result is stored.
    pub shell: usize,
    pub search: usize,
    pub read: usize,
    pub other: usize,
    /// Newest results that are never cleared, when the cache is cold and when it is warm.
    pub keep_cold: usize,
    pub keep_warm: usize,
    /// Kept of the conversation by a compaction, at least.
    pub tail: u64,
    pub notes: Notes,
    pub lifetime: Lifetime,
}

/// Who keeps the notes that compaction uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notes {
    /// Code does: no call is made.
    ByCode,
    /// As dear as if each compaction needed a summariser's call of its own.
    Charged,
    /// A fork does, every 5,000 tokens: it reads the window from the cache, is told what to do and edits some sections.
    ByModel,
}

/// How the opening's lifetime is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    ByPrice,
    FiveMinutes,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            shell: 16_000,
            search: 16_000,
            read: 50_000,
            other: 50_000,
            keep_cold: 5,
            keep_warm: 10,
            tail: 10_000,
            notes: Notes::ByCode,
            lifetime: Lifetime::ByPrice,
        }
    }
}

impl Knobs {
    /// Change one by name; `None` if there is no such knob.
    pub fn set(&mut self, name: &str, value: u64) -> Option<()> {
        let size = usize::try_from(value).ok()?;
        match name {
            "shell" => self.shell = size,
            "search" => self.search = size,
            "read" => self.read = size,
            "other" => self.other = size,
            "keep_cold" => self.keep_cold = size,
            "keep_warm" => self.keep_warm = size,
            "tail" => self.tail = value,
            _ => return None,
        }
        Some(())
    }

    fn stores(&self, tool: &str, chars: usize) -> bool {
        chars
            > match tool {
                "Bash" => self.shell,
                "Grep" | "Glob" => self.search,
                "Read" => self.read,
                _ => self.other,
            }
    }
}

/// The benchmark's prices: dollars are units of a million plain input tokens.
pub fn prices() -> Prices {
    Prices { input: Some(1.0), write_5m: Some(1.25), write_1h: Some(2.0), read: Some(0.1), output: Some(5.0) }
}

pub struct Ours {
    window: Window,
    knobs: Knobs,
    limits: Limits,
    account: Account,
    pauses: Pauses,
    turns: u64,
    spent: f64,
    noted: u64,
    calls_since_note: u64,
}

/// What one update of the notes reads anew and writes.
const NOTE_ASKED: f64 = 500.0;
const NOTE_WRITTEN: f64 = 800.0;

impl Ours {
    pub fn new(base: u64, ratio: f64, knobs: Knobs, limits: Limits) -> Self {
        let (account, pauses) = (Account::default(), Pauses::default());
        Self {
            window: Window::new(base, ratio),
            knobs,
            limits,
            account,
            pauses,
            turns: 0,
            spent: 0.0,
            noted: 0,
            calls_since_note: 0,
        }
    }

    fn situation(&self, moment: &Moment) -> Situation {
        Situation {
            prices: Some(prices()),
            ttl: Some(Ttl::FiveMinutes),
            since_last: moment.gap.map(|gap| SignedDuration::from_millis((gap * 1e3) as i64)),
            turns: self.turns,
            threshold: THRESHOLD,
        }
    }

    fn book(&mut self, layer: Layer, tokens: u64, sent: Sent) {
        let at = Timestamp::UNIX_EPOCH;
        let certainty = Certainty::Estimated;
        self.account.apply(&Row::Removed(Removed { at, layer, tokens, sent, certainty, forecast: None }));
    }

    /// The cadence of session notes: 10,000 tokens first, then 5,000 and three tool calls.
    fn take_notes(&mut self) {
        let grown = self.window.total() - self.window.base();
        let due =
            if self.noted == 0 { grown >= 10_000 } else { grown >= self.noted + 5_000 && self.calls_since_note >= 3 };
        if due && self.knobs.notes == Notes::ByModel {
            (self.noted, self.calls_since_note) = (grown, 0);
            self.window.extra += READ * self.window.total() as f64 + WRITE_5M * NOTE_ASKED + OUTPUT * NOTE_WRITTEN;
        }
    }

    /// Where the kept end of the conversation begins: enough of it, and never in the middle of a round.
    fn tail_start(&self) -> usize {
        let segments = &self.window.segments;
        let (mut start, mut kept) = (segments.len(), 0);
        while start > 1 && kept < self.knobs.tail && kept + segments[start - 1].tokens <= 40_000 {
            start -= 1;
            kept += segments[start].tokens;
        }
        let starts_round = |at: usize| !segments[at].is_tool();
        while start > 1 && start < segments.len() && !starts_round(start) && kept + segments[start - 1].tokens <= 40_000
        {
            start -= 1;
            kept += segments[start].tokens;
        }
        start
    }

    fn compaction(&self) -> (usize, Edit) {
        let start = self.tail_start();
        let removed = self.window.segments[1..start].iter().map(|segment| segment.tokens).sum();
        let behind = self.window.segments[start..].iter().map(|segment| segment.tokens).sum();
        (start, Edit { removed, added: SUMMARY + RESTORED, behind, making: Usage::default() })
    }

    fn compact(&mut self, start: usize) {
        let before = self.window.total();
        self.window.compactions += 1;
        if self.knobs.notes == Notes::Charged {
            self.window.extra += READ * before as f64 + OUTPUT * SUMMARY as f64;
        }
        let mut segments = std::mem::take(&mut self.window.segments);
        let tail = segments.split_off(start);
        segments.iter().for_each(|segment| self.window.hide_segment(segment));
        let restored = self.restored(&segments);
        segments.truncate(1);
        segments.push(self.window.fresh(SUMMARY, What::Words));
        let tokens: u64 = restored.iter().map(|segment| segment.tokens).sum();
        segments.extend(restored);
        if tokens < RESTORED {
            segments.push(self.window.fresh(RESTORED - tokens, What::Words));
        }
        segments.extend(tail);
        self.window.segments = segments;
        self.noted = self.noted.min(self.window.total() - self.window.base());
        let freed = before.saturating_sub(self.window.total());
        self.book(Layer::SessionNotes, freed, Sent::Before);
    }

    /// The five most recently read files, five thousand tokens of each.
    fn restored(&mut self, dropped: &[Segment]) -> Vec<Segment> {
        let mut seen = BTreeSet::new();
        let mut files = Vec::new();
        for segment in dropped.iter().rev() {
            let What::Tool { name, path: Some(path), text } = &segment.what else { continue };
            if &**name == "Read" && segment.form == Form::Whole && seen.len() < 5 && seen.insert(path.clone()) {
                let most = (5_000.0 / self.window.ratio) as usize;
                let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
                let tokens = self.window.tokens_of(text[..end].chars().count());
                let what = What::Tool { name: name.clone(), path: Some(path.clone()), text: text[..end].into() };
                files.push(self.window.fresh(tokens, what));
            }
        }
        files
    }

    fn clear(&mut self, now: &Situation) {
        let keep = match now.warmth() {
            Warmth::Cold => self.knobs.keep_cold,
            Warmth::Warm => self.knobs.keep_warm,
        };
        let places = self.window.clearable(keep, |tool| CLEARABLE.contains(&tool));
        let Some(first) = places.first() else { return };
        let removed = places.iter().map(|at| self.window.segments[*at].tokens).sum::<u64>();
        let added = MARK * places.len() as u64;
        let after: u64 = self.window.segments[*first..].iter().map(|segment| segment.tokens).sum();
        let edit = Edit { removed, added, behind: after - removed, making: Usage::default() };
        if planner::pays(now, &edit, &self.limits).decision == Decision::Act {
            self.window.clear(&places);
            self.book(Layer::Microcompaction, removed - added, Sent::Before);
            if now.warmth() == Warmth::Warm {
                let share = Share { at: Timestamp::UNIX_EPOCH, layer: Layer::Microcompaction, tokens: edit.behind };
                self.account.apply(&Row::Rewrote(share));
            }
        }
    }
}

impl Policy for Ours {
    fn window(&self) -> &Window {
        &self.window
    }

    fn add(&mut self, piece: &Piece) {
        let knobs = self.knobs;
        self.calls_since_note += u64::from(matches!(piece.kind, Kind::Tool { .. }));
        let spared = self.window.add(piece, |tool, chars| knobs.stores(tool, chars));
        if spared > 0 {
            self.book(Layer::ToolResults, spared, Sent::Never);
        }
    }

    fn before_call(&mut self, moment: &Moment) {
        let now = self.situation(moment);
        self.turns += 1;
        self.pauses.add(now.since_last.unwrap_or_default());
        let (start, edit) = self.compaction();
        let due = self.window.total() > THRESHOLD;
        if due
            || (now.since_last.is_some()
                && planner::compacts_early(&now, &edit, &self.limits).decision == Decision::Act)
        {
            self.compact(start);
        } else if now.since_last.is_some() {
            self.clear(&now);
        }
    }

    fn middle_mark(&self) -> MiddleMark {
        MiddleMark::PreviousEnd
    }

    fn hour_for_opening(&mut self) -> bool {
        let saved = self.account.savings().net().money.unwrap_or(0.0);
        let purse = planner::purse(saved, self.spent, &self.limits);
        let base = self.window.base();
        let part = Stretch { kept: base, written: base };
        self.knobs.lifetime == Lifetime::ByPrice
            && planner::choose_ttl(part, self.pauses, Some(prices()), purse) == Ttl::OneHour
    }

    fn after_call(&mut self, usage: &Usage, moment: &Moment) {
        let now = self.situation(moment);
        let call =
            Call { source: Call::MAIN.into(), model: "m".into(), usage: *usage, stop: StopReason::EndTurn, cleared: 0 };
        let row = Called::of(Timestamp::UNIX_EPOCH, &call, Some(prices()), Ttl::FiveMinutes, Duration::ZERO);
        self.spent += row.money.unwrap_or(0.0);
        self.take_notes();
        let outlived = if now.warmth() == Warmth::Cold { usage.cache_read } else { 0 };
        let row = Called { warmth: Some(now.warmth()), threshold: Some(THRESHOLD), outlived, ..row };
        self.account.apply(&Row::Called(row));
    }
}
