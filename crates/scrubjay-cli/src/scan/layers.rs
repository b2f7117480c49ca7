//! What the layers would have done in a recorded session, by the engine's own rules and prices, in tokens as they were
//! billed there. It is a model: what the agent would have said with less in its window nobody knows.
//!
//! Both arms are played by the same rules: a request reads from the cache what it shares with the one before, unless that is
//! too long ago, and writes the rest. Without layers the conversation grows and is compacted where the agent compacted it.

use super::session::{Piece, Scale, Session, Step, Tool, What};
use jiff::{SignedDuration, Timestamp};
use scrubjay::context::session_notes::last_notes_from;
use scrubjay::context::{budget_of, microcompaction, tool_results};
use scrubjay::foreign::Agent;
use scrubjay::limits::Limits;
use scrubjay::message::Usage;
use scrubjay::prompt_cache::planner::{self, Decision, Edit, Situation, Warmth};
use scrubjay::prompt_cache::prices::Prices;
use scrubjay::settings::{ContextPolicy, Settings};
use scrubjay::tokens::{Budget, ContextWindow};
use scrubjay::transcript::{CLEARED, Ttl};
use scrubjay_providers::Catalogue;
use std::collections::HashMap;

/// Of every compaction: the summary, and the files that are brought back after it.
const SUMMARY: u64 = 3_500;
const RESTORED: u64 = 10_000;
/// What stands around the preview of a stored result, in tokens.
const FRAME: u64 = 40;
/// Text that is needed again and not shown any more costs one more call that reads at most so much of it.
const READ_AGAIN: u64 = 6_000;
const CALL: u64 = 120;

/// What holds for one session.
pub(super) struct Terms<'a> {
    limits: &'a Limits,
    settings: &'a Settings,
    pub(super) scale: Scale,
    /// What the planner is told.
    prices: Option<Prices>,
    /// The same where one plain token of input costs one.
    weights: Prices,
    lifetime: Ttl,
    /// Whether writing to the cache is billed.
    writes: bool,
    /// Thinking is bound to the bytes before it: nothing is cleared.
    bound: bool,
    budget: Budget,
}

impl<'a> Terms<'a> {
    pub(super) fn of(session: &Session, catalogue: &Catalogue, settings: &'a Settings, limits: &'a Limits) -> Self {
        let model = session.steps.last().map_or("", |step| &*step.model);
        let known = catalogue.find(model);
        let provider = if session.agent == Agent::Codex { "openai" } else { "anthropic" };
        let usual = catalogue.default_of(provider).model.and_then(|name| catalogue.find(&name).cloned());
        let prices = known.and_then(|known| known.prices.known());
        let largest = session.steps.iter().map(|step| step.usage.total_input()).max().unwrap_or(0);
        let guess = if largest > limits.default_window { limits.long_window } else { limits.default_window };
        let size = session.window.unwrap_or(guess);
        let max_output = known.and_then(|known| known.max_output).unwrap_or(limits.max_output).min(size);
        Self {
            limits,
            settings,
            scale: session.scale(limits),
            prices,
            weights: weights(prices.or(usual.and_then(|usual| usual.prices.known()))),
            lifetime: session.lifetime(),
            writes: session.agent == Agent::ClaudeCode,
            bound: session.thinks && known.is_some_and(|known| known.binds_thinking),
            budget: budget_of(ContextWindow { size, max_output }, 0, settings, limits),
        }
    }

    fn is_faithful(&self) -> bool {
        self.settings.context_policy() == ContextPolicy::Faithful
    }

    /// In plain tokens of input.
    fn cost(&self, usage: &Usage) -> f64 {
        self.weights.cost(usage).unwrap_or(usage.total_input() as f64 / 1e6) * 1e6
    }

    /// What the record was billed, weighed the same way.
    pub(super) fn billed(&self, usage: &Usage) -> f64 {
        self.cost(&Usage { output: 0, ..*usage })
    }

    fn usage(&self, read: u64, rest: u64) -> Usage {
        let usage = Usage { cache_read: read, ..Usage::default() };
        match self.lifetime {
            _ if !self.writes => Usage { input: rest, ..usage },
            Ttl::FiveMinutes => Usage { cache_write_5m: rest, ..usage },
            Ttl::OneHour => Usage { cache_write_1h: rest, ..usage },
        }
    }
}

/// Prices in units of the price of plain input.
fn weights(prices: Option<Prices>) -> Prices {
    let plain =
        Prices { input: Some(1.0), write_5m: Some(1.25), write_1h: Some(2.0), read: Some(0.1), output: Some(5.0) };
    let Some((prices, one)) = prices.and_then(|prices| Some((prices, prices.input.filter(|one| *one > 0.0)?))) else {
        return plain;
    };
    let part = |price: Option<f64>| price.map(|price| price / one);
    Prices {
        input: Some(1.0),
        write_5m: part(prices.write_5m).or(Some(1.0)),
        write_1h: part(prices.write_1h).or(Some(1.0)),
        read: part(prices.read).or(plain.read),
        output: part(prices.output).or(plain.output),
    }
}

/// Which arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layers {
    On,
    Off,
}

/// What came of a session. Costs are in plain tokens of input.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Outcome {
    /// What the requests cost.
    pub(super) cost: f64,
    /// What calls cost that only summaries and notes wanted.
    pub(super) own: f64,
    /// What reading hidden text again costs.
    pub(super) reread: f64,
    pub(super) total: u64,
    pub(super) read: u64,
    pub(super) stored: u64,
    pub(super) stored_tokens: u64,
    pub(super) cleared: u64,
    pub(super) cleared_tokens: u64,
    pub(super) notes: u64,
    pub(super) from_notes: u64,
    pub(super) summarised: u64,
    pub(super) edits: u64,
    pub(super) edits_hidden: u64,
}

impl Outcome {
    pub(super) fn all(&self) -> f64 {
        self.cost + self.own + self.reread
    }

    pub(super) fn add(&mut self, more: &Self) {
        self.cost += more.cost;
        self.own += more.own;
        self.reread += more.reread;
        self.total += more.total;
        self.read += more.read;
        self.stored += more.stored;
        self.stored_tokens += more.stored_tokens;
        self.cleared += more.cleared;
        self.cleared_tokens += more.cleared_tokens;
        self.notes += more.notes;
        self.from_notes += more.from_notes;
        self.summarised += more.summarised;
        self.edits += more.edits;
        self.edits_hidden += more.edits_hidden;
    }
}

struct Segment {
    tokens: u64,
    what: Seen,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Words,
    /// An answer that may be cleared.
    Answer,
    /// One that is not looked at again: stored, cleared, or of a tool that cannot be asked again.
    Fixed,
}

struct Window<'a> {
    terms: &'a Terms<'a>,
    layers: Layers,
    /// Behind the opening.
    segments: Vec<Segment>,
    total: u64,
    /// How much of it the last request left in the cache.
    shared: u64,
    /// Where each file was last seen, and how much of it.
    files: HashMap<u64, Sight>,
    notes: Notes,
    weighed: u64,
    turns: u64,
    last: Option<Timestamp>,
    outcome: Outcome,
}

#[derive(Clone, Copy)]
struct Sight {
    segment: usize,
    tokens: u64,
    form: Form,
}

/// Whether the window still shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Shown,
    Hidden,
}

#[derive(Default)]
struct Notes {
    since: u64,
    calls: u64,
    resting: bool,
    are_there: bool,
    by_model: bool,
    cost: f64,
}

/// Play a session. Only requests that count add to what came of it: a copy of another session's is played, not counted.
pub(super) fn play(session: &Session, terms: &Terms<'_>, layers: Layers, counts: impl Fn(&Step) -> bool) -> Outcome {
    let mut window = Window {
        terms,
        layers,
        segments: Vec::new(),
        total: terms.scale.base,
        shared: 0,
        files: HashMap::new(),
        notes: Notes::default(),
        weighed: 0,
        turns: 0,
        last: None,
        outcome: Outcome::default(),
    };
    for step in &session.steps {
        let before = window.outcome.clone();
        window.step(step);
        if !counts(step) {
            window.outcome = before;
        }
    }
    window.outcome
}

impl Window<'_> {
    fn step(&mut self, step: &Step) {
        match self.layers {
            Layers::Off if step.compacted => self.start_over(step),
            _ => self.add(&step.added),
        }
        let now = self.situation(step.at);
        if self.layers == Layers::On {
            self.note();
            self.act(&now);
        }
        let read = if now.warmth() == Warmth::Warm { self.shared } else { 0 };
        let usage = self.terms.usage(read, self.total.saturating_sub(read));
        self.outcome.cost += self.terms.cost(&usage);
        self.outcome.total += self.total;
        self.outcome.read += read;
        (self.shared, self.last, self.turns) = (self.total, step.at.or(self.last), self.turns + 1);
    }

    fn situation(&self, at: Option<Timestamp>) -> Situation {
        let since = self.last.map(|last| at.unwrap_or(last).duration_since(last).max(SignedDuration::ZERO));
        Situation {
            prices: self.terms.prices,
            ttl: Some(self.terms.lifetime),
            since_last: since,
            turns: self.turns,
            threshold: self.terms.budget.compaction,
        }
    }

    /// Where the agent compacted, the next request is as large as it was billed.
    fn start_over(&mut self, step: &Step) {
        let base = self.terms.scale.base;
        let asked = Usage { output: SUMMARY, ..self.terms.usage(self.total, 0) };
        self.outcome.own += self.terms.cost(&asked);
        let billed = step.usage.total_input();
        let after = if billed > base { billed } else { base + SUMMARY + RESTORED };
        self.segments = vec![Segment { tokens: after - base, what: Seen::Words }];
        (self.total, self.shared) = (after, self.shared.min(base));
    }

    fn add(&mut self, pieces: &[Piece]) {
        let answers: Vec<(&str, u64)> = pieces.iter().filter_map(answer).collect();
        let stored = match self.layers {
            Layers::On => tool_results::stored(&answers, self.terms.settings, self.terms.limits),
            Layers::Off => Vec::new(),
        };
        let mut forms = stored.into_iter().map(|stored| if stored { Form::Hidden } else { Form::Shown });
        for piece in pieces {
            let tokens = self.terms.scale.tokens(piece.around());
            match piece.what {
                What::Words => self.push(tokens, Seen::Words),
                What::Rest => {
                    self.notes.resting = true;
                    self.push(tokens, Seen::Words);
                }
                What::Call => self.call(tokens),
                What::Edit(file) => {
                    self.edit(file);
                    self.call(tokens);
                    self.see(file, tokens, Form::Shown);
                }
                What::Answer(tool, file) => self.answer(tool, file, tokens, forms.next().unwrap_or(Form::Shown)),
            }
        }
    }

    fn push(&mut self, tokens: u64, what: Seen) {
        self.segments.push(Segment { tokens, what });
        self.total += tokens;
        self.notes.since += tokens;
    }

    fn call(&mut self, tokens: u64) {
        self.notes.calls += 1;
        self.notes.resting = false;
        self.push(tokens, Seen::Words);
    }

    /// Layer 1.
    fn answer(&mut self, tool: Tool, file: u64, tokens: u64, form: Form) {
        if form == Form::Hidden {
            let preview = (self.terms.scale.tokens(self.terms.limits.preview_bytes) + FRAME).min(tokens);
            self.outcome.stored += 1;
            self.outcome.stored_tokens += tokens - preview;
            self.push(preview, Seen::Fixed);
        } else {
            let clears = microcompaction::is_clearable(tool.name());
            self.push(tokens, if clears { Seen::Answer } else { Seen::Fixed });
        }
        if tool == Tool::Read {
            self.see(file, tokens, form);
        }
    }

    fn see(&mut self, file: u64, tokens: u64, form: Form) {
        self.files.insert(file, Sight { segment: self.segments.len() - 1, tokens, form });
    }

    /// An edit of a file whose last sight is hidden costs one more call.
    fn edit(&mut self, file: u64) {
        self.outcome.edits += 1;
        let Some(sight) = self.files.get(&file).filter(|sight| sight.form == Form::Hidden) else { return };
        self.outcome.edits_hidden += 1;
        let again = Usage { output: CALL, ..self.terms.usage(self.total, sight.tokens.min(READ_AGAIN)) };
        self.outcome.reread += self.terms.cost(&again);
    }

    /// Layer 3: the model writes notes when a compaction comes near and they cost little; with `economy` whenever enough was
    /// said and they cost next to nothing, and code keeps them otherwise.
    fn note(&mut self) {
        let limits = self.terms.limits;
        let faithful = self.terms.is_faithful();
        let last = last_notes_from(&self.terms.budget, self.terms.scale.base, limits);
        let is_due = if faithful {
            self.total >= last && self.total.saturating_sub(self.notes.since) < last && !self.clearing_suffices()
        } else {
            self.enough_was_said()
        };
        if !is_due {
            return;
        }
        let update = Usage {
            input: limits.notes_update_tokens,
            cache_read: self.total,
            output: limits.notes_update_tokens,
            ..Usage::default()
        };
        let (price, updates) = (self.terms.cost(&update), if faithful { 1.0 } else { 2.0 });
        let percent = if faithful { limits.notes_cost_percent } else { limits.economy_notes_cost_percent };
        let by_model = self.notes.cost + price * updates <= self.outcome.cost * percent as f64 / 100.0;
        if faithful && !by_model {
            return;
        }
        if by_model {
            self.outcome.own += price;
            self.notes.cost += price;
        }
        self.outcome.notes += 1;
        self.notes.by_model |= by_model;
        (self.notes.are_there, self.notes.since, self.notes.calls) = (true, 0, 0);
    }

    fn enough_was_said(&self) -> bool {
        let limits = self.terms.limits;
        let enough = match self.notes.are_there {
            false => self.total - self.terms.scale.base >= limits.notes_first_tokens,
            true => self.notes.since >= limits.notes_every_tokens,
        };
        enough && (self.notes.calls >= limits.notes_every_calls || self.notes.resting)
    }

    /// One break at most, cheapest layer first.
    fn act(&mut self, now: &Situation) {
        let is_full = self.total > self.terms.budget.compaction;
        match (self.terms.is_faithful(), is_full) {
            (true, true) if self.clearing_suffices() => self.clear_all(self.terms.limits.clear_keep),
            (_, true) => self.compact(),
            (true, false) if now.since_last.is_some() && now.warmth() == Warmth::Cold => self.use_cold_cache(now),
            (true, false) => {}
            (false, false) => self.save_where_it_pays(now),
        }
    }

    /// What a cold cache lets go for nothing.
    fn use_cold_cache(&mut self, now: &Situation) {
        let limits = self.terms.limits;
        let is_long = self.total > self.terms.budget.compaction.saturating_mul(limits.cold_compaction_percent) / 100;
        if is_long && !self.clearing_suffices() && self.notes_serve() {
            return self.compact();
        }
        self.clear_where_it_pays(now);
    }

    /// `economy`: a compaction that pays, or old answers that are cleared because it pays.
    fn save_where_it_pays(&mut self, now: &Situation) {
        let limits = self.terms.limits;
        let grown = self.total >= self.weighed + limits.weigh_every_tokens || self.total < self.weighed;
        if now.since_last.is_none() || !(grown || now.warmth() == Warmth::Cold) {
            return;
        }
        self.weighed = self.total;
        let kept = limits.kept_least_tokens;
        let removed = (self.total - self.terms.scale.base).saturating_sub(kept);
        let edit = Edit { removed, added: SUMMARY + RESTORED, behind: kept, making: Usage::default() };
        if self.notes.are_there && planner::compacts_early(now, &edit, limits).decision == Decision::Act {
            self.compact();
            if now.warmth() == Warmth::Warm {
                return;
            }
        }
        self.clear_where_it_pays(now);
    }

    /// Whether notes can stand for the conversation.
    fn notes_serve(&self) -> bool {
        let by_model = self.notes.by_model && self.notes.since <= self.terms.limits.kept_most_tokens;
        let by_code = !self.terms.is_faithful() && !self.notes.by_model;
        self.notes.are_there && (by_model || by_code)
    }

    /// Layers 3 and 4.
    fn compact(&mut self) {
        let limits = self.terms.limits;
        let mut tail = Vec::new();
        if self.notes_serve() {
            let least = limits.kept_least_tokens.max(if self.notes.by_model { self.notes.since } else { 0 });
            let mut kept = 0;
            while let Some(last) =
                self.segments.pop_if(|last| kept < least && kept + last.tokens <= limits.kept_most_tokens)
            {
                kept += last.tokens;
                tail.push(last);
            }
            self.outcome.from_notes += 1;
        } else {
            let asked = Usage { output: SUMMARY, ..self.terms.usage(self.total, 0) };
            self.outcome.own += self.terms.cost(&asked);
            self.outcome.summarised += 1;
        }
        self.forget_files(self.segments.len());
        self.segments = vec![Segment { tokens: SUMMARY + RESTORED, what: Seen::Fixed }];
        self.segments.extend(tail.into_iter().rev());
        let base = self.terms.scale.base;
        self.total = base + self.segments.iter().map(|segment| segment.tokens).sum::<u64>();
        self.shared = self.shared.min(base);
        (self.notes.since, self.weighed) = (0, self.total);
    }

    /// Files seen before `end` are hidden but for the newest few, which are brought back; what is behind it moves up.
    fn forget_files(&mut self, end: usize) {
        let mut seen: Vec<&mut Sight> = self.files.values_mut().collect();
        seen.sort_by_key(|sight| std::cmp::Reverse(sight.segment));
        let back = usize::try_from(self.terms.limits.restored_files).unwrap_or(usize::MAX);
        for (place, sight) in seen.into_iter().enumerate() {
            if sight.segment < end {
                (sight.segment, sight.form) = (0, if place < back { Form::Shown } else { Form::Hidden });
            } else {
                sight.segment = sight.segment - end + 1;
            }
        }
    }

    /// Answers that could be cleared, and what that changes.
    fn clearing(&self, keep: u64) -> Option<(Vec<usize>, Edit)> {
        if self.terms.bound {
            return None;
        }
        let marker = self.terms.scale.tokens(CLEARED.len() as u64);
        let mut old: Vec<usize> =
            (0..self.segments.len()).filter(|at| self.segments[*at].what == Seen::Answer).collect();
        old.truncate(old.len().saturating_sub(usize::try_from(keep.max(1)).unwrap_or(usize::MAX)));
        old.retain(|at| self.segments[*at].tokens > marker);
        let first = *old.first()?;
        let removed: u64 = old.iter().map(|at| self.segments[*at].tokens).sum();
        let after: u64 = self.segments[first..].iter().map(|segment| segment.tokens).sum();
        let added = marker * old.len() as u64;
        Some((old, Edit { removed, added, behind: after - removed, making: Usage::default() }))
    }

    /// Whether clearing alone would make room enough.
    fn clearing_suffices(&self) -> bool {
        let limits = self.terms.limits;
        let goal = self.terms.budget.compaction.saturating_mul(limits.clear_alone_percent) / 100;
        let clearing = self.clearing(limits.clear_keep);
        clearing.is_some_and(|(_, edit)| self.total.saturating_sub(edit.removed.saturating_sub(edit.added)) <= goal)
    }

    /// Layer 2, where it pays.
    fn clear_where_it_pays(&mut self, now: &Situation) {
        let limits = self.terms.limits;
        let keep = if now.warmth() == Warmth::Cold { limits.clear_keep } else { limits.warm_clear_keep };
        let pays = |(_, edit): &(Vec<usize>, Edit)| planner::pays(now, edit, limits).decision == Decision::Act;
        if self.clearing(keep).as_ref().is_some_and(pays) {
            self.clear_all(keep);
        }
    }

    fn clear_all(&mut self, keep: u64) {
        let Some((old, edit)) = self.clearing(keep) else { return };
        let marker = self.terms.scale.tokens(CLEARED.len() as u64);
        for at in &old {
            self.segments[*at] = Segment { tokens: marker, what: Seen::Fixed };
        }
        self.files
            .values_mut()
            .filter(|sight| old.contains(&sight.segment))
            .for_each(|sight| sight.form = Form::Hidden);
        self.shared = self.shared.min(self.total - (edit.behind + edit.removed));
        self.total -= edit.removed - edit.added;
        self.outcome.cleared += old.len() as u64;
        self.outcome.cleared_tokens += edit.removed - edit.added;
        self.weighed = self.total;
    }
}

fn answer(piece: &Piece) -> Option<(&'static str, u64)> {
    match piece.what {
        What::Answer(tool, _) => Some((tool.name(), piece.chars)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
