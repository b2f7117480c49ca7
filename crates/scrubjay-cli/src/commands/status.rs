//! `scrubjay status`, and `scrubjay` alone: where things stand. It never fails and never asks for a key.

use super::context::holder;
use super::memory::{not_loaded, pollution_in_words, pollution_json};
use super::period::receipts;
use crate::background;
use crate::failure::Failure;
use crate::health::Health;
use crate::memories;
use crate::memories::dreams::{self, Outlook};
use crate::memories::inbox::Inbox;
use crate::paper::{Form, Paper, Tone, counted, dollars, grouped, short, wrapped};
use crate::report::ago;
use crate::service::Service;
use crate::shelf::{Glance, Shelf};
use crate::window::Window;
use crate::workplace::Workplace;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use scrubjay::agents::jobs::Card;
use scrubjay::ledger::breaker::Rest;
use scrubjay::ledger::budget::{Budget, DayBook};
use scrubjay::ledger::waterfall::Waterfall;
use scrubjay::memory::Pollution;
use scrubjay::tokens::of_text;
use scrubjay::tools::{shown, shown_path};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// What was found. What could not be found is said, not fatal.
struct Standing {
    model: String,
    /// The model that learns.
    learns_with: Option<String>,
    connected: bool,
    sessions: usize,
    newest: Option<Newest>,
    /// What is remembered across sessions.
    memory: Option<Remembered>,
    /// What background work took today.
    background: Option<Budget>,
    /// What runs beside the sessions of this project.
    running: Vec<Card>,
    /// What rests.
    rests: Vec<Rest>,
    troubles: Vec<String>,
}

/// The newest session: what it is about, its window, its receipts.
struct Newest {
    glance: Glance,
    window: Window,
    health: Health,
    money: Waterfall,
}

impl Newest {
    fn find(workplace: &Workplace, shelf: &Shelf) -> Result<Option<Self>, Failure> {
        let Some((place, glance, transcript)) = shelf.newest_at_a_glance()? else { return Ok(None) };
        let now = Timestamp::now();
        let rows = receipts(&place, &workplace.limits).map(|reading| reading.records).unwrap_or_default();
        Ok(Some(Self {
            glance,
            window: Window::of(&transcript, &holder(workplace, &transcript)?, workplace, now),
            health: Health::of(&rows, now, &workplace.limits),
            money: Waterfall::of(&rows, None),
        }))
    }

    /// What was saved and lost in it, one as plainly as the other.
    fn saved(&self) -> Option<String> {
        let net = self.money.savings.net();
        let share = self.money.saved_share().map(|share| format!(", {:.1} % of the bill without", share * 100.0));
        let figure = match net.money {
            Some(money) if money < 0.0 => format!("-{}", dollars(-money)),
            Some(money) => dollars(money),
            None => {
                let sign = if net.tokens < 0 { "-" } else { "" };
                format!("n/a in money, {sign}{} tokens", grouped(net.tokens.unsigned_abs()))
            }
        };
        let certainty = net.certainty.word();
        (self.money.calls > 0)
            .then(|| format!("{figure} net in this session{} ({certainty})", share.unwrap_or_default()))
    }
}

/// How much is remembered.
struct Remembered {
    memories: usize,
    /// What all of them measure, and the index alone.
    tokens: u64,
    index_tokens: u64,
    unconfirmed: usize,
    /// What lies there and is no memory.
    not_loaded: Option<String>,
    /// What waits for the person.
    waiting: usize,
    last_change: Option<Timestamp>,
    pollution: Pollution,
    /// How dreams stand.
    dreams: Option<Outlook>,
    /// Why sessions do not use it, if they do not.
    off: Option<&'static str>,
}

impl Remembered {
    fn find(workplace: &Workplace) -> Result<Self, Failure> {
        let off = workplace.settings.memory_off_because();
        let mut found = Self {
            memories: 0,
            tokens: 0,
            index_tokens: 0,
            unconfirmed: 0,
            not_loaded: None,
            waiting: 0,
            last_change: None,
            pollution: Pollution::default(),
            dreams: None,
            off,
        };
        let Some((memory, _)) = memories::peek(workplace)? else { return Ok(found) };
        let sizes =
            memory.scan().entries.iter().map(|entry| entry.stamp.size.div_ceil(workplace.limits.text_bytes_per_token));
        found.tokens = sizes.sum();
        found.index_tokens = of_text(&memory.index()?.text, &workplace.limits);
        found.last_change = memory.log()?.last().map(|change| change.at);
        (found.memories, found.unconfirmed) = (memory.scan().entries.len(), memory.unconfirmed().count());
        found.pollution = memory.pollution(&workplace.root, &CancellationToken::new())?;
        found.not_loaded = not_loaded(&memory);
        found.waiting = found.unconfirmed;
        if off.is_none() {
            let dreams = dreams::open_quietly(workplace)?.0;
            found.waiting = Inbox::of(&memory, &dreams).0.len();
            found.dreams = Some(Outlook::of(&dreams, &workplace.settings)?);
        }
        Ok(found)
    }

    fn words(&self, now: Timestamp) -> String {
        let mut said = match self.memories {
            0 => "nothing remembered yet".to_owned(),
            count => {
                let (tokens, index) = (short(self.tokens), short(self.index_tokens));
                format!("{}, {tokens} tokens, {index} of them in every session (estimated)", memories::how_many(count))
            }
        };
        if self.unconfirmed > 0 {
            said.push_str(&format!(", {} not confirmed (`scrubjay inbox`)", self.unconfirmed));
        }
        said.extend(self.not_loaded.iter().map(|left_out| format!(", {left_out}")));
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
        let newest = Newest::find(workplace, &shelf).map_err(&mut note).ok().flatten();
        if let Err(failure) = workplace.places.prepare() {
            note(failure);
        }
        let memory = Remembered::find(workplace).map_err(&mut note).ok();
        Self {
            memory,
            model: service.as_ref().map_or_else(|| "none".to_owned(), |service| service.described(workplace)),
            learns_with: service.as_ref().and_then(|service| service.learns_with(workplace)),
            connected: service.as_ref().is_some_and(|service| !service.is_offline()),
            sessions,
            newest,
            background: DayBook::at(&workplace.places.background())
                .today(Timestamp::now(), &TimeZone::system(), &workplace.limits)
                .ok(),
            running: background::running(workplace),
            rests: background::rests(workplace),
            troubles,
        }
    }

    fn words(&self, workplace: &Workplace, paper: &Paper) -> String {
        let (ink, now) = (paper.ink, Timestamp::now());
        let mut lines = vec![format!("{} {}", ink.paint(Tone::Strong, "scrubjay"), env!("CARGO_PKG_VERSION"))];
        if self.newest.is_none() {
            lines[0].push_str(" · welcome! Nothing has to be set up to try it.");
        }
        let row = |name: &str, value: &str| {
            // What is drawn in colour has the width it should have.
            let drawn = value.contains('\u{1b}');
            let value = if drawn { value.to_owned() } else { wrapped(value, paper.width.saturating_sub(13)) };
            format!("  {name:<11}{}", value.replace('\n', "\n             "))
        };
        let mut add = |name: &str, value: &str| lines.push(row(name, value));
        add("model", &shown(&self.model));
        self.learns_with.iter().for_each(|name| add("", &format!("learns with: {}", shown(name))));
        add("project", &shown_path(&workplace.root));
        match &self.newest {
            Some(newest) => self.tell_newest(newest, paper, &mut add),
            None => add("sessions", "none yet"),
        }
        if let Some(memory) = &self.memory {
            add("memory", &memory.words(now));
            if memory.memories > 0 {
                add("", &pollution_in_words(&memory.pollution));
                memory.dreams.iter().for_each(|dreams| add("dreams", &shown(&dreams.words(now, &workplace.limits))));
            }
            if memory.waiting > 0 {
                add("inbox", &format!("{} for you: `scrubjay inbox`", waits(memory.waiting)));
            }
        }
        self.beside().iter().for_each(|line| add("background", line));
        add("data", &shown_path(&workplace.places.data));
        lines.extend(self.troubles.iter().map(|trouble| format!("  {} {trouble}", ink.paint(Tone::Warning, "note:"))));
        lines.push(String::new());
        lines.extend(
            self.next_steps().iter().map(|(command, why)| format!("  {command:<32}{}", ink.paint(Tone::Faint, why))),
        );
        lines.join("\n")
    }

    fn tell_newest(&self, newest: &Newest, paper: &Paper, add: &mut impl FnMut(&str, &str)) {
        let Newest { glance, window, health, .. } = newest;
        let now = Timestamp::now();
        add("sessions", &format!("{}, newest {}: {}", self.sessions, ago(glance.last, now), glance.title));
        add("window", &window.brief(paper));
        add("cache", &window.cache().words());
        health.lines().iter().for_each(|line| add("", line));
        newest.saved().iter().for_each(|saved| add("saved", saved));
    }

    /// What is to be said about background work.
    fn beside(&self) -> Vec<String> {
        let now = Timestamp::now();
        let taken = self.background.iter().filter(|budget| budget.tokens > 0 || budget.refusal().is_some());
        let mut lines: Vec<String> = taken.map(today).collect();
        lines.extend(self.running.iter().map(|card| background::brief(card, now)));
        lines.extend(self.rests.iter().map(|rest| background::resting(rest, now)));
        if self.newest.as_ref().is_some_and(|newest| newest.glance.compaction_rests) {
            lines.push(background::COMPACTION_RESTS.to_owned());
        }
        lines
    }

    /// What makes sense next, most of all first.
    fn next_steps(&self) -> Vec<(&'static str, &'static str)> {
        let mut steps = Vec::new();
        if self.memory.as_ref().is_some_and(|memory| memory.waiting > 0) {
            steps.push(("scrubjay inbox", "decide on what waits for you"));
        }
        if self.newest.as_ref().is_some_and(|newest| newest.window.is_nearly_full()) {
            steps.push(("scrubjay compact --preview", "the window is nearly full: look at what would go"));
        }
        match &self.newest {
            Some(_) => steps.extend([
                ("scrubjay -c", "go on where you stopped"),
                ("scrubjay context", "what is in the window now"),
            ]),
            None => steps.extend([
                ("scrubjay demo", "all seven layers at work, in a folder of their own"),
                ("scrubjay scan", "what they would have done in your sessions so far"),
                ("scrubjay chat", "talk; works on the files of this folder"),
            ]),
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

    fn json(&self, workplace: &Workplace) -> Value {
        let newest = self.newest.as_ref();
        json!({
            "model": self.model,
            "learns_with": self.learns_with,
            "connected": self.connected,
            "project": workplace.root,
            "sessions": self.sessions,
            "newest_session": newest.map(|Newest { glance, window, money, .. }| json!({
                "id": glance.id, "title": glance.title, "last": glance.last,
                "window": window.brief_json(), "cache": window.cache().json(),
                "net": { "usd": money.savings.net().money, "tokens": money.savings.net().tokens,
                    "certainty": money.savings.net().certainty.word(), "calls": money.calls },
            })),
            "memory": self.memory.as_ref().map(|memory| json!({
                "memories": memory.memories, "unconfirmed": memory.unconfirmed, "waiting": memory.waiting,
                "tokens": memory.tokens, "index_tokens": memory.index_tokens, "certainty": "estimated",
                "last_change": memory.last_change, "off": memory.off,
                "pollution": pollution_json(&memory.pollution),
                "last_dream": memory.dreams.as_ref().and_then(|dreams| dreams.last),
                "proposals": memory.dreams.as_ref().map(|dreams| dreams.waiting),
                "next_dream": memory.dreams.as_ref().map(|dreams| dreams.words(Timestamp::now(), &workplace.limits)),
            })),
            "health": newest.map(|newest| newest.health.json()),
            "background_today": self.background.as_ref().map(|budget| json!({
                "tokens": budget.tokens, "most_tokens": budget.most_tokens,
                "usd": budget.money, "most_usd": budget.most_money, "stopped": budget.refusal(),
            })),
            "jobs_running": self.running,
            "resting": self.rests,
            "compaction_rests": newest.is_some_and(|newest| newest.glance.compaction_rests),
            "data": workplace.places.data,
            "notes": self.troubles,
            "next": self.next_steps().first().map(|(command, _)| command),
        })
    }
}

/// `1 waits`, `2 wait`.
fn waits(count: usize) -> String {
    format!("{} {}", counted(count as u64, "thing"), if count == 1 { "waits" } else { "wait" })
}

/// What background work took today, and what it may take.
fn today(budget: &Budget) -> String {
    let Budget { tokens, most_tokens, money, most_money } = *budget;
    let (taken, most) = (grouped(tokens), grouped(most_tokens));
    let stopped = budget.refusal().map(|refusal| format!("; {refusal}")).unwrap_or_default();
    format!("{taken} of {most} tokens (reported), {} of {} today{stopped}", dollars(money), dollars(most_money))
}
