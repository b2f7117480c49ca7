//! All sessions together: what they took, what the layers would have done, what went wrong in them.

use super::kept::Kinds;
use super::layers::{Layers, Outcome, Terms, play};
use super::session::{Answer, Damage, LARGEST, Session, Step, What as Seen};
use jiff::{SignedDuration, Timestamp};
use scrubjay::context::compaction::fidelity::What;
use scrubjay::foreign::Agent;
use scrubjay::limits::Limits;
use scrubjay::message::Usage;
use scrubjay::prompt_cache::fingerprint::{Break, Interval, Part, Promise, surprise};
use scrubjay::settings::Settings;
use scrubjay::transcript::Cause;
use scrubjay_providers::Catalogue;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

/// Every cause there is, in the order in which they are told.
pub(super) const CAUSES: [Cause; 7] =
    [Cause::Model, Cause::System, Cause::Tools, Cause::History, Cause::Ttl, Cause::Server, Cause::Us];

#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) sessions: BTreeMap<Agent, u64>,
    pub(super) projects: BTreeSet<String>,
    pub(super) first: Option<Timestamp>,
    pub(super) last: Option<Timestamp>,
    pub(super) requests: u64,
    pub(super) usage: Usage,
    /// What the requests cost whose price is known, and how many those are.
    pub(super) money: f64,
    pub(super) priced: u64,
    pub(super) unpriced: BTreeSet<String>,
    /// Requests that stand in more than one file.
    pub(super) copies: u64,
    pub(super) asides: u64,
    pub(super) aside_usage: Usage,
    /// What was billed, in plain tokens of input.
    pub(super) billed: f64,
    pub(super) without: Outcome,
    pub(super) with: Outcome,
    pub(super) answers: u64,
    pub(super) answer_chars: u64,
    pub(super) largest: Vec<(Answer, PathBuf)>,
    pub(super) again: u64,
    pub(super) again_tokens: u64,
    pub(super) questions: u64,
    pub(super) outright: u64,
    pub(super) dreams: u64,
    /// By cause: how often, and how many tokens had to be processed again.
    pub(super) misses: BTreeMap<&'static str, (u64, u64)>,
    pub(super) compactions: Compactions,
    pub(super) damage: Damage,
    /// Files with such lines.
    pub(super) damaged: u64,
}

/// The agents' own compactions.
#[derive(Debug, Default)]
pub(super) struct Compactions {
    pub(super) count: u64,
    /// Those whose summary could be compared with what it replaced.
    pub(super) checked: u64,
    pub(super) scores: f64,
    pub(super) kept: Kinds,
    pub(super) dropped: Kinds,
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) examples: Vec<(What, String)>,
}

impl Compactions {
    /// The mean share that survived.
    pub(super) fn score(&self) -> Option<f64> {
        (self.checked > 0).then(|| self.scores / self.checked as f64)
    }
}

/// What everything is weighed by.
pub(super) struct Measures<'a> {
    pub(super) catalogue: &'a Catalogue,
    pub(super) settings: &'a Settings,
    pub(super) limits: &'a Limits,
}

/// Of all compactions together.
const EXAMPLES: usize = 5;

impl Tally {
    /// Add up sessions in the order in which they began, so that a copy comes after its original.
    pub(super) fn of(mut sessions: Vec<Session>, measures: &Measures<'_>) -> Self {
        sessions.sort_by(|a, b| began(a).cmp(&began(b)).then_with(|| a.path.cmp(&b.path)));
        let mut tally = Self::default();
        let mut seen = HashSet::new();
        for session in &sessions {
            tally.add(session, &mut seen, measures);
        }
        tally.dreams = dreams(&sessions, measures.limits);
        tally
    }

    fn add(&mut self, session: &Session, seen: &mut HashSet<u64>, measures: &Measures<'_>) {
        let fresh: HashSet<u64> = session.steps.iter().map(|step| step.id).filter(|id| seen.insert(*id)).collect();
        let counts = |step: &Step| fresh.contains(&step.id);
        self.copies += (session.steps.len() - fresh.len()) as u64;
        self.damaged += u64::from(session.damage != Damage::default());
        self.add_damage(session.damage);
        for (id, usage) in &session.asides {
            if seen.insert(*id) {
                self.asides += 1;
                self.aside_usage += *usage;
                self.price(measures.catalogue, session.steps.last().map_or("", |step| &step.model), usage);
            }
        }
        if fresh.is_empty() {
            return;
        }
        *self.sessions.entry(session.agent).or_default() += 1;
        self.projects.extend(session.dir.clone());
        let terms = Terms::of(session, measures.catalogue, measures.settings, measures.limits);
        for step in session.steps.iter().filter(|step| counts(step)) {
            self.requests += 1;
            self.usage += step.usage;
            self.billed += terms.billed(&step.usage);
            self.price(measures.catalogue, &step.model, &step.usage);
            self.first = self.first.into_iter().chain(step.at).min();
            self.last = self.last.max(step.at);
            self.add_since(step, &terms);
        }
        self.without.add(&play(session, &terms, Layers::Off, counts));
        self.with.add(&play(session, &terms, Layers::On, counts));
        self.outright += session.outright.iter().filter(|said| seen.insert(**said)).count() as u64;
        self.add_largest(session);
        self.add_misses(session, counts, measures.limits);
        self.add_compactions(session, seen);
    }

    fn price(&mut self, catalogue: &Catalogue, model: &str, usage: &Usage) {
        match catalogue.find(model).and_then(|known| known.cost(usage)) {
            Some(money) => {
                self.money += money;
                self.priced += 1;
            }
            None => drop(self.unpriced.insert(model.to_owned())),
        }
    }

    fn add_damage(&mut self, damage: Damage) {
        self.damage.torn += damage.torn;
        self.damage.unknown += damage.unknown;
        self.damage.too_long += damage.too_long;
        self.damage.cut += damage.cut;
    }

    fn add_since(&mut self, step: &Step, terms: &Terms<'_>) {
        let answers = step.added.iter().filter(|piece| matches!(piece.what, Seen::Answer(..)));
        for answer in answers {
            self.answers += 1;
            self.answer_chars += answer.chars;
        }
        self.questions += step.since.questions;
        self.again += step.since.again;
        self.again_tokens += terms.scale.tokens(step.since.again_chars);
    }

    fn add_largest(&mut self, session: &Session) {
        self.largest.extend(session.largest.iter().map(|answer| (answer.clone(), session.path.clone())));
        self.largest.sort_by_key(|(answer, _)| std::cmp::Reverse(answer.chars));
        // A copy of a session holds the same answers.
        let mut known = HashSet::new();
        self.largest.retain(|(answer, _)| known.insert((answer.chars, answer.about.clone())));
        self.largest.truncate(LARGEST);
    }

    fn add_misses(&mut self, session: &Session, counts: impl Fn(&Step) -> bool, limits: &Limits) {
        let base = session.scale(limits).base;
        for pair in session.steps.windows(2).filter(|pair| counts(&pair[1])) {
            if let Some(found) = missed(session, &pair[0], &pair[1], base, limits) {
                let (count, lost) = self.misses.entry(found.cause.word()).or_default();
                *count += 1;
                *lost += found.lost_tokens;
            }
        }
    }

    fn add_compactions(&mut self, session: &Session, seen: &mut HashSet<u64>) {
        for compaction in session.compactions.iter().filter(|compaction| seen.insert(compaction.id)) {
            let all = &mut self.compactions;
            all.count += 1;
            let size = |step: Option<&Step>| step.map_or(0, |step| step.usage.total_input());
            let (before, after) = (compaction.step.checked_sub(1), compaction.step);
            all.before += size(before.and_then(|at| session.steps.get(at)));
            all.after += size(session.steps.get(after));
            let Some(checked) = &compaction.checked else { continue };
            all.checked += 1;
            all.scores += checked.score;
            all.kept.add(checked.kept);
            all.dropped.add(checked.dropped);
            let room = EXAMPLES.saturating_sub(all.examples.len());
            all.examples.extend(checked.examples.iter().take(room.min(2)).cloned());
        }
    }
}

fn began(session: &Session) -> Option<Timestamp> {
    session.steps.iter().find_map(|step| step.at)
}

/// Whether a request read less from the cache than the one before had left there, and why, as far as the record tells.
fn missed(session: &Session, before: &Step, step: &Step, base: u64, limits: &Limits) -> Option<Break> {
    let usage = &before.usage;
    if usage.total_input() == 0 || step.usage.total_input() == 0 {
        return None;
    }
    let cached = match session.agent {
        Agent::ClaudeCode => usage.cache_read + usage.cache_write_5m + usage.cache_write_1h,
        Agent::Codex => usage.total_input(),
    };
    let read = step.usage.cache_read;
    let differs = match () {
        () if before.model != step.model => Some(Part::Model),
        () if step.compacted => Some(Part::Message(0)),
        () if step.updated || (read > 0 && read < base / 2) => Some(Part::System),
        () if read > 0 => Some(Part::Message(0)),
        () => None,
    };
    let since_last = match (before.at, step.at) {
        (Some(before), Some(at)) => at.duration_since(before),
        _ => SignedDuration::ZERO,
    };
    let interval = Interval { since_last, ttl: Some(session.lifetime()) };
    surprise(&Promise { cached, shared: read, differs }, &step.usage, interval, None, limits)
}

/// How often a dream would have been due in all projects together.
fn dreams(sessions: &[Session], limits: &Limits) -> u64 {
    let mut ended: BTreeMap<&str, Vec<Timestamp>> = BTreeMap::new();
    for session in sessions {
        let end = session.steps.iter().rev().find_map(|step| step.at);
        if let (Some(dir), Some(end)) = (&session.dir, end) {
            ended.entry(dir).or_default().push(end);
        }
    }
    let gap = SignedDuration::from_hours(i64::try_from(limits.dream_every_hours).unwrap_or(i64::MAX / 3_600));
    let mut dreams = 0;
    for mut ends in ended.into_values() {
        ends.sort();
        let (mut new, mut last) = (0, None::<Timestamp>);
        for end in ends {
            new += 1;
            if new >= limits.dream_sessions && last.is_none_or(|last| end.duration_since(last) >= gap) {
                (dreams, new, last) = (dreams + 1, 0, Some(end));
            }
        }
    }
    dreams
}
