//! `scrubjay status`, and `scrubjay` alone: where things stand. It never fails and never asks for a key.

use super::memory::{pollution_in_words, pollution_json};
use crate::background;
use crate::failure::Failure;
use crate::health::Health;
use crate::memories;
use crate::paper::{Form, Paper, Tone, dollars, grouped};
use crate::report::ago;
use crate::service::Service;
use crate::shelf::{Glance, Shelf};
use crate::workplace::Workplace;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use scrubjay::agents::jobs::Card;
use scrubjay::ledger::breaker::Rest;
use scrubjay::ledger::budget::{Budget, DayBook};
use scrubjay::memory::Pollution;
use scrubjay::tools::{shown, shown_path};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// What was found. What could not be found is said, not fatal.
struct Standing {
    model: String,
    connected: bool,
    sessions: usize,
    last: Option<Glance>,
    /// How the newest session does.
    health: Option<Health>,
    /// What is remembered across sessions.
    memory: Option<Remembered>,
    /// What background work took today.
    background: Option<Budget>,
    /// What runs beside the sessions of this project.
    running: Vec<Card>,
    /// What rests.
    rests: Vec<Rest>,
    /// Whether the newest session has given up compacting by itself.
    compaction_rests: bool,
    troubles: Vec<String>,
}

/// How much is remembered.
struct Remembered {
    memories: usize,
    unconfirmed: usize,
    last_change: Option<Timestamp>,
    pollution: Pollution,
    /// Why sessions do not use it, if they do not.
    off: Option<&'static str>,
}

impl Remembered {
    fn find(workplace: &Workplace) -> Result<Self, Failure> {
        let off = workplace.settings.memory_off_because();
        let Some((memory, _)) = memories::peek(workplace)? else {
            return Ok(Self { memories: 0, unconfirmed: 0, last_change: None, pollution: Pollution::default(), off });
        };
        let last_change = memory.log()?.last().map(|change| change.at);
        let (memories, unconfirmed) = (memory.scan().entries.len(), memory.unconfirmed().count());
        let pollution = memory.pollution(&workplace.root, &CancellationToken::new())?;
        Ok(Self { memories, unconfirmed, last_change, pollution, off })
    }

    fn words(&self, now: Timestamp) -> String {
        let mut said = match self.memories {
            0 => "nothing remembered yet".to_owned(),
            count => memories::how_many(count),
        };
        if self.unconfirmed > 0 {
            said.push_str(&format!(", {} not confirmed", self.unconfirmed));
        }
        said.extend(self.last_change.map(|at| format!(", last change {}", ago(at, now))));
        said.extend(self.off.map(|why| format!(" (off: {why})")));
        said
    }
}

pub(super) fn run(workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let standing = Standing::find(workplace);
    match paper.form {
        Form::Json => paper.json("status", standing.json(workplace)),
        Form::Words => paper.line(&standing.words(workplace, paper)),
    }
}

impl Standing {
    fn find(workplace: &Workplace) -> Self {
        let mut troubles = Vec::new();
        let mut note = |failure: Failure| troubles.push(failure.to_string());
        let service = Service::known(workplace).map_err(&mut note).ok();
        let shelf = Shelf::of(workplace);
        let sessions = shelf.places().map_err(&mut note).map_or(0, |places| places.len());
        let last = shelf.glances(1).ok().and_then(|mut glances| glances.pop());
        if let Err(failure) = workplace.places.prepare() {
            note(failure);
        }
        let memory = Remembered::find(workplace).map_err(&mut note).ok();
        Self {
            memory,
            model: service.as_ref().map_or_else(|| "none".to_owned(), |service| service.described(workplace)),
            connected: service.as_ref().is_some_and(|service| !service.is_offline()),
            sessions,
            health: last
                .is_some()
                .then(|| shelf.newest().ok())
                .flatten()
                .map(|place| Health::beside(&place.path, Timestamp::now(), &workplace.limits)),
            background: DayBook::at(&workplace.places.background())
                .today(Timestamp::now(), &TimeZone::system(), &workplace.limits)
                .ok(),
            running: background::running(workplace),
            rests: background::rests(workplace),
            compaction_rests: last.as_ref().is_some_and(|last| last.compaction_rests),
            last,
            troubles,
        }
    }

    fn words(&self, workplace: &Workplace, paper: &Paper) -> String {
        let ink = paper.ink;
        let mut lines = vec![format!("{} {}", ink.paint(Tone::Strong, "scrubjay"), env!("CARGO_PKG_VERSION"))];
        if self.last.is_none() {
            lines[0].push_str(" · welcome! Nothing has to be set up to try it.");
        }
        let row = |name: &str, value: &str| format!("  {name:<11}{value}");
        lines.push(row("model", &shown(&self.model)));
        lines.push(row("project", &shown_path(&workplace.root)));
        match &self.last {
            Some(last) => {
                let newest = format!("{}, newest {}: {}", self.sessions, ago(last.last, Timestamp::now()), last.title);
                lines.push(row("sessions", &newest));
            }
            None => lines.push(row("sessions", "none yet")),
        }
        lines.extend(self.memory.iter().map(|memory| row("memory", &memory.words(Timestamp::now()))));
        let mut health: Vec<String> = self.health.iter().flat_map(Health::lines).collect();
        let remembered = self.memory.iter().filter(|memory| memory.memories > 0);
        health.extend(remembered.map(|memory| pollution_in_words(&memory.pollution)));
        if !health.is_empty() {
            lines.push(row("health", &health.join("\n             ")));
        }
        lines.extend(self.beside().iter().map(|line| row("background", line)));
        lines.push(row("data", &shown_path(&workplace.places.data)));
        lines.extend(self.troubles.iter().map(|trouble| format!("  {} {trouble}", ink.paint(Tone::Warning, "note:"))));
        lines.push(String::new());
        lines.extend(
            self.next_steps().iter().map(|(command, why)| format!("  {command:<32}{}", ink.paint(Tone::Faint, why))),
        );
        lines.join("\n")
    }

    /// What is to be said about background work.
    fn beside(&self) -> Vec<String> {
        let now = Timestamp::now();
        let taken = self.background.iter().filter(|budget| budget.tokens > 0 || budget.refusal().is_some());
        let mut lines: Vec<String> = taken.map(today).collect();
        lines.extend(self.running.iter().map(|card| background::brief(card, now)));
        lines.extend(self.rests.iter().map(|rest| background::resting(rest, now)));
        if self.compaction_rests {
            lines.push(background::COMPACTION_RESTS.to_owned());
        }
        lines
    }

    fn next_steps(&self) -> Vec<(&'static str, &'static str)> {
        let mut steps = vec![("scrubjay chat", "talk; works on the files of this folder")];
        if self.last.is_some() {
            steps.push(("scrubjay -c", "go on where you stopped"));
        }
        steps.push(("scrubjay -p \"a question\"", "one answer, for scripts"));
        if self.memory.as_ref().is_some_and(|memory| memory.memories > 0) {
            steps.push(("scrubjay recall \"words\"", "find what is remembered"));
        } else {
            steps.push(("scrubjay remember \"…\"", "tell it something for later sessions"));
        }
        if !self.connected {
            steps.push(("export ANTHROPIC_API_KEY=…", "connect a model; or OPENAI_API_KEY"));
            steps.push(("scrubjay chat -m ollama/NAME", "or use one on this machine"));
        }
        steps.push(("scrubjay --help", "everything else"));
        steps
    }

    fn json(&self, workplace: &Workplace) -> serde_json::Value {
        json!({
            "model": self.model,
            "connected": self.connected,
            "project": workplace.root,
            "sessions": self.sessions,
            "newest_session": self.last.as_ref().map(|last| json!({ "id": last.id, "title": last.title, "last": last.last })),
            "memory": self.memory.as_ref().map(|memory| json!({
                "memories": memory.memories, "unconfirmed": memory.unconfirmed,
                "last_change": memory.last_change, "off": memory.off,
                "pollution": pollution_json(&memory.pollution),
            })),
            "health": self.health.as_ref().map(Health::json),
            "background_today": self.background.as_ref().map(|budget| json!({
                "tokens": budget.tokens, "most_tokens": budget.most_tokens,
                "usd": budget.money, "most_usd": budget.most_money, "stopped": budget.refusal(),
            })),
            "jobs_running": self.running,
            "resting": self.rests,
            "compaction_rests": self.compaction_rests,
            "data": workplace.places.data,
            "notes": self.troubles,
        })
    }
}

/// What background work took today, and what it may take.
fn today(budget: &Budget) -> String {
    let Budget { tokens, most_tokens, money, most_money } = *budget;
    let (taken, most) = (grouped(tokens), grouped(most_tokens));
    let stopped = budget.refusal().map(|refusal| format!("; {refusal}")).unwrap_or_default();
    format!("{taken} of {most} tokens (reported), {} of {} today{stopped}", dollars(money), dollars(most_money))
}
