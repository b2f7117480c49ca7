//! What a policy's requests cost: by the engine's own caching rules, or by the plain prefix rule of `cache_sim.py`.

use crate::policies::{Moment, Planned};
use crate::sessions::Session;
use crate::window::{READ, Segment, WRITE_1H, WRITE_5M, Window};
use jiff::Timestamp;
use scrubjay::message::Usage;
use scrubjay::prompt_cache::rules::{CacheBlock, CacheRequest, CacheState, Level, Salts, Shelf};
use scrubjay::transcript::Ttl;

/// Which rules are applied, and for how long requests ask to be kept.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    pub kind: RuleKind,
    pub ttl: Ttl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    /// Breakpoints, lookback, minimum, mixed lifetimes.
    Engine,
    /// The longest common prefix with the previous request.
    Prefix,
}

#[derive(Debug, Clone, Default)]
pub struct Outcome {
    pub cost: f64,
    pub reread: f64,
    pub read: u64,
    pub total: u64,
    pub peak: u64,
    pub compactions: u64,
    pub edits: u64,
    pub edits_hidden: u64,
    /// Calls that asked for an hour.
    pub hours: u64,
    /// What the engine's own calls cost, and how many they were.
    pub own: f64,
    pub own_calls: u64,
    /// What the learner cost, how often it was asked, and what it read.
    pub learner: f64,
    pub learner_calls: u64,
    pub learner_input: u64,
    /// Tokens that the model of the record wrote.
    pub written: u64,
}

impl Outcome {
    pub fn all(&self) -> f64 {
        self.cost + self.own + self.learner + self.reread
    }

    pub fn add(&mut self, other: &Self) {
        self.cost += other.cost;
        self.reread += other.reread;
        self.read += other.read;
        self.total += other.total;
        self.peak = self.peak.max(other.peak);
        self.compactions += other.compactions;
        self.edits += other.edits;
        self.edits_hidden += other.edits_hidden;
        self.hours += other.hours;
        self.own += other.own;
        self.own_calls += other.own_calls;
        self.learner += other.learner;
        self.learner_calls += other.learner_calls;
        self.learner_input += other.learner_input;
        self.written += other.written;
    }
}

struct Provider {
    rules: Rules,
    cache: CacheState,
    shelf: Shelf,
    previous: Vec<Segment>,
}

/// Replay a session under a policy.
pub fn replay(session: &Session, policy: &mut Planned, rules: Rules) -> Outcome {
    let shelf = Shelf { workspace: "w".into(), model: "m".into() };
    let mut provider = Provider { rules, cache: CacheState::default(), shelf, previous: Vec::new() };
    let mut outcome = Outcome::default();
    let mut last = None;
    for step in &session.steps {
        step.added.iter().for_each(|piece| policy.add(piece));
        let moment = Moment { gap: last.map(|last| step.at - last) };
        policy.before_call(&moment);
        let usage = provider.ask(&policy.window, &moment, step.at);
        last = Some(step.at);
        outcome.cost += cost(&usage);
        outcome.read += usage.cache_read;
        outcome.total += usage.total_input();
        outcome.peak = outcome.peak.max(usage.total_input());
    }
    let window = &policy.window;
    outcome.own = window.extra;
    outcome.reread = window.reread;
    outcome.compactions = window.compactions;
    (outcome.edits, outcome.edits_hidden) = (window.edits, window.edits_hidden);
    outcome
}

/// In units of one plain input token, without what the model wrote.
pub fn cost(usage: &Usage) -> f64 {
    usage.input as f64
        + READ * usage.cache_read as f64
        + WRITE_5M * usage.cache_write_5m as f64
        + WRITE_1H * usage.cache_write_1h as f64
}

impl Provider {
    fn ask(&mut self, window: &Window, moment: &Moment, at: f64) -> Usage {
        let usage = match self.rules.kind {
            RuleKind::Prefix => self.by_prefix(window, moment),
            RuleKind::Engine => self.by_rules(window, at),
        };
        self.previous.clone_from(&window.segments);
        usage
    }

    /// How many segments the request shares with the one before.
    fn shared(&self, segments: &[Segment]) -> usize {
        self.previous.iter().zip(segments).take_while(|(a, b)| a.bytes() == b.bytes()).count()
    }

    fn by_prefix(&self, window: &Window, moment: &Moment) -> Usage {
        let seconds = match self.rules.ttl {
            Ttl::FiveMinutes => 300.0,
            Ttl::OneHour => 3_600.0,
        };
        let warm = moment.gap.is_some_and(|gap| gap <= seconds);
        let shared = if warm { self.shared(&window.segments) } else { 0 };
        let cache_read = window.segments[..shared].iter().map(|segment| segment.tokens).sum();
        let written = window.total() - cache_read;
        match self.rules.ttl {
            Ttl::FiveMinutes => Usage { cache_read, cache_write_5m: written, ..Usage::default() },
            Ttl::OneHour => Usage { cache_read, cache_write_1h: written, ..Usage::default() },
        }
    }

    fn by_rules(&mut self, window: &Window, at: f64) -> Usage {
        let now = Timestamp::from_microsecond((at * 1e6) as i64).unwrap_or_default();
        let salts = Salts::default();
        let blocks = self.blocks(window);
        let request = CacheRequest { shelf: &self.shelf, salts: &salts, blocks: &blocks, min_tokens: 1_024 };
        let Ok(outcome) = self.cache.request(&request, now) else { return Usage::default() };
        self.cache.begin_response(&outcome, now);
        outcome.usage(0)
    }

    /// Marked are the opening, the last block of all, and between them the last one that the request before also had: the
    /// best place for a policy that rewrites.
    fn blocks(&self, window: &Window) -> Vec<CacheBlock> {
        let segments = &window.segments;
        let (middle, last) = (self.shared(segments), segments.len() - 1);
        let block = |(at, segment): (usize, &Segment)| {
            let level = if at == 0 { Level::System } else { Level::Messages };
            let block = CacheBlock::new(level, &segment.bytes(), segment.tokens);
            if at == 0 || at == last || at + 1 == middle { block.marked(self.rules.ttl) } else { block }
        };
        segments.iter().enumerate().map(block).collect()
    }
}
