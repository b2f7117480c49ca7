//! The policies of `cache_sim.py`, to be measured against.

use crate::sessions::Piece;
use crate::window::{OUTPUT, READ, RESTORED, SUMMARY, Segment, What, Window};

/// 200,000 less room for a summary less a margin: the engine's own arithmetic for that window.
pub const THRESHOLD: u64 = 167_000;

/// What one call looked like before it was made.
pub struct Moment {
    /// Seconds since the call before; `None` for the first.
    pub gap: Option<f64>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Plan {
    pub store_over: Option<usize>,
    pub idle_clear: Option<f64>,
    pub eager_keep: Option<usize>,
    pub clear_over: Option<u64>,
    pub slide: Option<u64>,
    pub slack: f64,
    pub keep_tail: u64,
    pub wipes: bool,
}

const KEEP: usize = 5;

/// Name and plan, the first being what all others are measured against.
pub fn known() -> Vec<(&'static str, Plan)> {
    let plan = Plan::default();
    vec![
        ("append-only, summarise at 167k", plan),
        ("append-only, wipe at 167k (no summary)", Plan { wipes: true, ..plan }),
        ("sliding window 100k, drop 1 message at a time", Plan { slide: Some(100_000), ..plan }),
        ("sliding window 100k, drop 30% at once", Plan { slide: Some(100_000), slack: 0.3, ..plan }),
        ("clear old tool results every call (keep 5)", Plan { eager_keep: Some(5), ..plan }),
        ("clear old tool results every call (keep 1)", Plan { eager_keep: Some(1), ..plan }),
        ("clear tool results once >100k (keep 5)", Plan { clear_over: Some(100_000), ..plan }),
        ("idle >5 min: clear old tool results (keep 5)", Plan { idle_clear: Some(300.0), ..plan }),
        ("idle >60 min: clear old tool results (keep 5)", Plan { idle_clear: Some(3_600.0), ..plan }),
        ("offload >25k chars at ingest", Plan { store_over: Some(25_000), ..plan }),
        ("offload >8k chars at ingest", Plan { store_over: Some(8_000), ..plan }),
        ("offload >8k + idle>5min clear", Plan { store_over: Some(8_000), idle_clear: Some(300.0), ..plan }),
        (
            "offload >8k + idle>5min clear + 20k tail",
            Plan { store_over: Some(8_000), idle_clear: Some(300.0), keep_tail: 20_000, ..plan },
        ),
        ("offload >4k chars at ingest", Plan { store_over: Some(4_000), ..plan }),
    ]
}

pub struct Planned {
    pub window: Window,
    plan: Plan,
}

impl Planned {
    pub fn new(base: u64, ratio: f64, plan: Plan) -> Self {
        Self { window: Window::new(base, ratio), plan }
    }

    fn clear(&mut self, keep: usize) {
        let places = self.window.clearable(keep);
        self.window.clear(&places);
    }

    fn slide(&mut self, most: u64) {
        let goal = (most as f64 * (1.0 - self.plan.slack)) as u64;
        let mut total = self.window.total();
        self.window.compactions += 1;
        let mut end = 1;
        while total > goal && end + 2 < self.window.segments.len() {
            total -= self.window.segments[end].tokens;
            end += 1;
        }
        let dropped: Vec<Segment> = self.window.segments.drain(1..end).collect();
        dropped.iter().for_each(|segment| self.window.hide_segment(segment));
    }

    fn compact(&mut self) {
        let before = self.window.total();
        let window = &mut self.window;
        window.compactions += 1;
        let mut segments = std::mem::take(&mut window.segments);
        segments.iter().for_each(|segment| window.hide_segment(segment));
        let (mut tail, mut kept) = (Vec::new(), 0);
        while segments.len() > 1 && segments.last().is_some_and(|last| kept + last.tokens <= self.plan.keep_tail) {
            tail.extend(segments.pop().inspect(|last| kept += last.tokens));
        }
        segments.truncate(1);
        if !self.plan.wipes {
            window.extra += READ * before as f64 + OUTPUT * SUMMARY as f64;
            let restored = if self.plan.keep_tail == 0 { RESTORED } else { 0 };
            segments.push(window.fresh(SUMMARY + restored, What::Words));
        }
        segments.extend(tail.into_iter().rev());
        window.segments = segments;
    }
}

impl Planned {
    pub fn add(&mut self, piece: &Piece) {
        let limit = self.plan.store_over.unwrap_or(usize::MAX);
        self.window.add(piece, limit);
    }

    pub fn before_call(&mut self, moment: &Moment) {
        let plan = self.plan;
        if plan.idle_clear.is_some_and(|idle| moment.gap.is_none_or(|gap| gap > idle)) {
            self.clear(KEEP);
        }
        if let Some(keep) = plan.eager_keep {
            self.clear(keep);
        }
        if plan.clear_over.is_some_and(|most| self.window.total() > most) {
            self.clear(KEEP);
        }
        match plan.slide {
            Some(most) if self.window.total() > most => self.slide(most),
            None if self.window.total() > THRESHOLD => self.compact(),
            _ => {}
        }
    }
}
