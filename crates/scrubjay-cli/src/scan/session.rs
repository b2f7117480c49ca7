//! One session of another agent, read once: its requests in a few numbers each, and no word of it.

use super::find::File;
use super::kept::{Checked, Kept};
use super::lines::{Lines, Next};
use jiff::Timestamp;
use scrubjay::foreign::{self, Agent, Event, Part, Record, Speaker, Unread};
use scrubjay::limits::Limits;
use scrubjay::message::Usage;
use scrubjay::transcript::Ttl;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// What stands around every part of a message, in characters.
const AROUND: u64 = 20;

/// A session as far as anything is made of it.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) path: PathBuf,
    pub(super) agent: Agent,
    /// Where the work happened.
    pub(super) dir: Option<String>,
    pub(super) steps: Vec<Step>,
    /// What agents of its own were billed, by reply.
    pub(super) asides: HashMap<u64, Usage>,
    pub(super) compactions: Vec<Compaction>,
    /// The largest answers of tools.
    pub(super) largest: Vec<Answer>,
    /// What the person said outright and for good, each by its words.
    pub(super) outright: Vec<u64>,
    pub(super) thinks: bool,
    /// What the model holds, where the record says so.
    pub(super) window: Option<u64>,
    pub(super) damage: Damage,
}

/// Lines that are no record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Damage {
    pub(super) torn: u64,
    pub(super) unknown: u64,
    pub(super) too_long: u64,
    /// The file goes on behind what is read of one.
    pub(super) cut: u64,
}

/// One request: what came before it and what it was billed.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// Names the reply, also in a copy of the session.
    pub(super) id: u64,
    pub(super) at: Option<Timestamp>,
    pub(super) model: Arc<str>,
    pub(super) usage: Usage,
    /// What was added since the request before, its reply included.
    pub(super) added: Vec<Piece>,
    pub(super) since: Since,
    /// The agent compacted just before it.
    pub(super) compacted: bool,
    /// Another version of the agent made the request before.
    pub(super) updated: bool,
}

/// What happened since the request before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Since {
    /// Messages of the person's.
    pub(super) questions: u64,
    /// Files that were read again in the same way, and what that answered.
    pub(super) again: u64,
    pub(super) again_chars: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) chars: u64,
    pub(super) what: What,
}

impl Piece {
    /// Its characters, and those around it.
    pub(super) fn around(&self) -> u64 {
        self.chars + AROUND
    }
}

/// What a piece of a conversation is to the layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Words,
    /// A reply's last words: no tool is called.
    Rest,
    /// A call that needs what it saw of a file.
    Edit(u64),
    Call,
    /// What a tool answered, and about which file.
    Answer(Tool, u64),
}

/// The engine's tools whose answers it treats alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    Read,
    Bash,
    Grep,
    Glob,
    WebSearch,
    WebFetch,
    Edit,
    Write,
    Other,
}

impl Tool {
    const ALL: [Tool; 9] = [
        Tool::Read,
        Tool::Bash,
        Tool::Grep,
        Tool::Glob,
        Tool::WebSearch,
        Tool::WebFetch,
        Tool::Edit,
        Tool::Write,
        Tool::Other,
    ];

    fn called(name: &str) -> Self {
        let own = foreign::own_tool(name);
        Self::ALL.into_iter().find(|tool| tool.name() == own).unwrap_or(Tool::Other)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Tool::Read => "Read",
            Tool::Bash => "Bash",
            Tool::Grep => "Grep",
            Tool::Glob => "Glob",
            Tool::WebSearch => "WebSearch",
            Tool::WebFetch => "WebFetch",
            Tool::Edit => "Edit",
            Tool::Write => "Write",
            Tool::Other => "",
        }
    }
}

/// A large answer of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) chars: u64,
    pub(super) tool: String,
    /// What it was asked, in few words.
    pub(super) about: String,
    /// With which request it was first sent.
    pub(super) step: usize,
}

/// A compaction of the agent's own.
#[derive(Debug)]
pub(super) struct Compaction {
    pub(super) id: u64,
    /// With which request it was first felt.
    pub(super) step: usize,
    /// What became of what had been said; `None` where that was too long to keep, or no summary follows.
    pub(super) checked: Option<Checked>,
}

/// What is kept of a call's words: a credential in what is shown of them is whole in this, so that it is found.
const ABOUT: usize = 2_000;

/// How many large answers are kept of each session.
pub(super) const LARGEST: usize = 5;

struct Call {
    tool: String,
    kind: Tool,
    file: u64,
    about: String,
    again: bool,
}

struct Reader<'a> {
    limits: &'a Limits,
    session: Session,
    by_id: HashMap<u64, usize>,
    pending: Vec<Piece>,
    since: Since,
    calls: HashMap<String, Call>,
    asked: HashSet<u64>,
    model: Arc<str>,
    version: Option<String>,
    updated: bool,
    compacted: bool,
    /// The last reply still goes on.
    open: bool,
    billed_so_far: u64,
    known: bool,
    kept: Kept,
}

/// Read a file. `None`: no line of it is a record of an agent.
pub(super) fn read(file: &File, limits: &Limits) -> io::Result<Option<Session>> {
    let mut lines = Lines::open(&file.path, limits.record_line_bytes, limits.scan_file_bytes)?;
    let mut reader = Reader::new(file.path.clone(), limits);
    loop {
        match lines.next()? {
            Next::End => break,
            Next::TooLong => reader.session.damage.too_long += 1,
            Next::Line([]) => {}
            Next::Line(line) => match foreign::read(line) {
                Ok(record) => reader.record(record),
                Err(Unread::Torn) => reader.session.damage.torn += 1,
                Err(Unread::Unknown) => reader.session.damage.unknown += 1,
            },
        }
    }
    reader.session.damage.cut = u64::from(lines.is_cut());
    Ok(reader.finish())
}

impl<'a> Reader<'a> {
    fn new(path: PathBuf, limits: &'a Limits) -> Self {
        let session = Session::new(path);
        Self {
            limits,
            session,
            by_id: HashMap::new(),
            pending: Vec::new(),
            since: Since::default(),
            calls: HashMap::new(),
            asked: HashSet::new(),
            model: Arc::from(""),
            version: None,
            updated: false,
            compacted: false,
            open: false,
            billed_so_far: 0,
            known: false,
            kept: Kept::default(),
        }
    }

    fn record(&mut self, record: Record) {
        self.known = true;
        self.session.agent = record.agent;
        if record.aside {
            return self.aside(record.event);
        }
        if self.session.dir.is_none() {
            self.session.dir = record.dir;
        }
        if record.version.is_some() && record.version != self.version {
            self.updated |= self.version.is_some();
            self.version = record.version;
        }
        match record.event {
            Event::Replied { id, model, usage, parts } => {
                if let Some(model) = model.filter(|model| **model != *self.model) {
                    self.model = Arc::from(model);
                }
                self.reply(id.as_deref(), usage, record.at);
                self.said(&parts);
                self.kept.replied(parts, record.at, self.limits);
            }
            Event::Heard { by, parts } => {
                self.heard(by, &parts);
                self.kept.heard(by, parts, record.at, self.limits);
            }
            Event::Counted { usage, so_far, window } => self.counted(usage, so_far, window),
            Event::Chose(model) => self.model = Arc::from(model),
            Event::Compacted { id, summary } => self.compacted(id.as_deref(), record.at, summary),
            Event::Summarised(summary) => self.summarised(&summary),
            Event::Other => {}
        }
    }

    fn aside(&mut self, event: Event) {
        if let Event::Replied { id: Some(id), usage: Some(usage), .. } = event {
            let known = self.session.asides.entry(hash(&id)).or_default();
            *known = Usage { output: known.output.max(usage.output), ..usage };
        }
    }

    /// Which request a record's words answer.
    fn reply(&mut self, id: Option<&str>, usage: Option<Usage>, at: Option<Timestamp>) {
        let known = match id {
            Some(id) => self.by_id.get(&hash(id)).copied(),
            None => self.session.steps.len().checked_sub(1).filter(|_| self.open),
        };
        if let Some(step) = known.and_then(|known| self.session.steps.get_mut(known)) {
            step.usage.output = step.usage.output.max(usage.unwrap_or_default().output);
            return;
        }
        let number = self.session.steps.len();
        let id = id.map_or_else(|| self.id_at(at, number), hash);
        self.by_id.insert(id, number);
        self.open = true;
        self.session.steps.push(Step {
            id,
            at,
            model: self.model.clone(),
            usage: usage.unwrap_or_default(),
            added: std::mem::take(&mut self.pending),
            since: std::mem::take(&mut self.since),
            compacted: std::mem::take(&mut self.compacted),
            updated: std::mem::take(&mut self.updated),
        });
    }

    /// A name for what has none: by its moment, which a copy has too.
    fn id_at(&self, at: Option<Timestamp>, number: usize) -> u64 {
        at.map_or_else(|| hash(&(&self.session.path, number)), |at| hash(&(at, number)))
    }

    /// A reply's price comes behind it, and may be said twice.
    fn counted(&mut self, usage: Usage, so_far: u64, window: Option<u64>) {
        self.session.window = window.or(self.session.window);
        if so_far != 0 && so_far == self.billed_so_far {
            return;
        }
        self.billed_so_far = so_far;
        self.open = false;
        match self.session.steps.last_mut().filter(|last| last.usage == Usage::default()) {
            Some(last) => last.usage = usage,
            // Nothing that was said was the answer: the agent asked for a purpose of its own.
            None => drop(self.session.asides.insert(hash(&(so_far, usage.total_input())), usage)),
        }
    }

    fn said(&mut self, parts: &[Part]) {
        for part in parts {
            let (chars, what) = match part {
                Part::Call { id, tool, input } => self.call(id, tool, input),
                Part::Thinking(text) => {
                    self.session.thinks = true;
                    (count(text), What::Words)
                }
                Part::Text(text) => (count(text), What::Rest),
                Part::Answer { text, .. } => (count(text), What::Words),
                Part::Media => (0, What::Words),
            };
            self.pending.push(Piece { chars, what });
        }
    }

    fn call(&mut self, id: &str, tool: &str, input: &str) -> (u64, What) {
        let kind = Tool::called(tool);
        let asked: Value = serde_json::from_str(input).unwrap_or_default();
        let file = asked["file_path"].as_str().or(asked["path"].as_str()).map_or(0, hash);
        let again = !self.asked.insert(hash(&(tool, input)));
        let about =
            about(&asked).map(|about| &about[..about.floor_char_boundary(ABOUT)]).unwrap_or_default().to_owned();
        self.calls.insert(id.to_owned(), Call { tool: tool.to_owned(), kind, file, about, again });
        let what = if matches!(kind, Tool::Edit | Tool::Write) && file != 0 { What::Edit(file) } else { What::Call };
        (count(input), what)
    }

    fn heard(&mut self, by: Speaker, parts: &[Part]) {
        self.since.questions += u64::from(by == Speaker::Person);
        for part in parts {
            let (chars, what) = match part {
                Part::Answer { id, text, .. } => self.answer(id, count(text)),
                Part::Text(text) | Part::Thinking(text) => (count(text), What::Words),
                Part::Call { input, .. } => (count(input), What::Words),
                Part::Media => (0, What::Words),
            };
            self.pending.push(Piece { chars, what });
        }
        // Codex says what a reply cost only after its tools have answered.
        self.open = false;
    }

    fn answer(&mut self, id: &str, chars: u64) -> (u64, What) {
        let session = &mut self.session;
        let Some(call) = self.calls.remove(id) else { return (chars, What::Answer(Tool::Other, 0)) };
        if call.again && call.kind == Tool::Read {
            self.since.again += 1;
            self.since.again_chars += chars;
        }
        let least = session.largest.last().map_or(0, |least| least.chars);
        if session.largest.len() < LARGEST || chars > least {
            session.largest.push(Answer { chars, tool: call.tool, about: call.about, step: session.steps.len() });
            session.largest.sort_by_key(|answer| std::cmp::Reverse(answer.chars));
            session.largest.truncate(LARGEST);
        }
        (chars, What::Answer(call.kind, call.file))
    }

    fn compacted(&mut self, id: Option<&str>, at: Option<Timestamp>, summary: Option<String>) {
        let (step, number) = (self.session.steps.len(), self.session.compactions.len());
        let id = id.map_or_else(|| self.id_at(at, number), hash);
        self.compacted = true;
        self.asked.clear();
        self.session.compactions.push(Compaction { id, step, checked: None });
        if let Some(summary) = summary {
            self.summarised(&summary);
        }
    }

    fn summarised(&mut self, summary: &str) {
        self.session.outright.extend(self.kept.outright(self.limits));
        let checked = self.kept.check(summary, self.limits);
        if let Some(compaction) = self.session.compactions.last_mut().filter(|last| last.checked.is_none()) {
            compaction.checked = checked;
        }
        self.kept = Kept::default();
    }

    fn finish(mut self) -> Option<Session> {
        self.session.outright.extend(self.kept.outright(self.limits));
        self.known.then_some(self.session)
    }
}

impl Session {
    /// A session of which nothing is known yet.
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            agent: Agent::ClaudeCode,
            dir: None,
            steps: Vec::new(),
            asides: HashMap::new(),
            compactions: Vec::new(),
            largest: Vec::new(),
            outright: Vec::new(),
            thinks: false,
            window: None,
            damage: Damage::default(),
        }
    }

    /// How long its requests asked to be cached.
    pub(super) fn lifetime(&self) -> Ttl {
        let hour = self.agent == Agent::Codex || self.steps.iter().any(|step| step.usage.cache_write_1h > 0);
        if hour { Ttl::OneHour } else { Ttl::FiveMinutes }
    }

    /// What is billed for a character, as far as the growth of its requests shows, and what every request begins with.
    pub(super) fn scale(&self, limits: &Limits) -> Scale {
        let chars = |step: &Step| step.added.iter().map(Piece::around).sum::<u64>();
        let (mut tokens, mut text) = (0, 0);
        for pair in self.steps.windows(2) {
            let (before, after) = (pair[0].usage.total_input(), pair[1].usage.total_input());
            if after > before && before > 0 && !pair[1].compacted && chars(&pair[1]) > 0 {
                tokens += after - before;
                text += chars(&pair[1]);
            }
        }
        let guess = 1.0 / limits.text_bytes_per_token as f64;
        let per_char = if text == 0 { guess } else { (tokens as f64 / text as f64).clamp(0.15, 0.8) };
        let scale = Scale { per_char, base: 0 };
        let first = self.steps.first();
        let base = first.map_or(0, |step| step.usage.total_input().saturating_sub(scale.tokens(chars(step))));
        Scale { base: base.max(LEAST_OPENING), ..scale }
    }
}

/// No agent begins with less than these tokens of tools and instructions.
const LEAST_OPENING: u64 = 3_000;

/// From characters to tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    pub(super) per_char: f64,
    pub(super) base: u64,
}

impl Scale {
    pub(super) fn tokens(&self, chars: u64) -> u64 {
        (chars as f64 * self.per_char).ceil() as u64
    }
}

fn count(text: &str) -> u64 {
    text.chars().count() as u64
}

/// What a call is about: the one thing a person would name it by.
fn about(input: &Value) -> Option<&str> {
    let named = ["command", "cmd", "file_path", "path", "pattern", "query", "url", "description", "prompt"];
    named.iter().find_map(|name| match &input[*name] {
        Value::String(text) => Some(text.as_str()),
        Value::Array(words) => words.last().and_then(Value::as_str),
        _ => None,
    })
}

pub(super) fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
