//! A real session in a temporary home, in which a case is played.

use super::actors::{Log, Play, Replay, held, learner, main_model};
use super::case::{Ask, Case, Draft, Failure};
use super::doors::{self, Door};
use jiff::Timestamp;
use scrubjay::agents::Letter;
use scrubjay::agents::letters::MAIN;
use scrubjay::event::{Event, MemoryEvent};
use scrubjay::hooks::Hooks;
use scrubjay::instructions::{self, File, Kind};
use scrubjay::limits::Limits;
use scrubjay::memory::extraction::Attendance;
use scrubjay::memory::prompt::{Extras, Index, Mode, behaviour_and_index};
use scrubjay::memory::{Cause, Change, Edit, MemoryTool, Place, SharedMemory};
use scrubjay::message::{Message, SessionId};
use scrubjay::paths::{Layout, ProjectLayout};
use scrubjay::tool::Tool;
use scrubjay::tools::{self, Keeper};
use scrubjay::{Learns, Remembering};
use scrubjay_testkit::{FixedClock, Home, Setting, Story};
use serde_json::json;
use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Longer than any background work takes here.
const LONG: Duration = Duration::from_secs(120);
/// What a story's session quotes with.
const QUOTES: &str = "0a1b2c3d";

pub(crate) struct Stage {
    pub(crate) story: Story,
    pub(crate) memory: SharedMemory,
    pub(crate) clock: FixedClock,
    pub(crate) queue: Arc<Mutex<VecDeque<Play>>>,
    pub(crate) log: Arc<Mutex<Log>>,
    /// Calls of the learner, and of all models, before each receipt.
    pub(crate) before_receipts: Vec<(usize, usize)>,
}

/// Where memories of a home are, opened anew.
pub(crate) fn open(home: &Home, clock: &FixedClock) -> Result<(SharedMemory, ProjectLayout), Failure> {
    let limits = Limits::default();
    let project = Layout::at(home.data()).project(Path::new("/home/ada/birds"), &limits);
    let place = Place::of(&project);
    let (memory, _) = SharedMemory::open(&place, &project, Arc::new(clock.clone()), &limits)?;
    Ok((memory, project))
}

/// What the index of a memory looks like at the beginning of a session.
pub(crate) fn index(memory: &SharedMemory) -> Result<Vec<Index>, Failure> {
    let text = memory.with(|memory| {
        memory.refresh()?;
        memory.index().map(|index| index.text)
    })?;
    let extras = Extras { searching: None, guidelines: "" };
    Ok(behaviour_and_index(memory.dir(), Mode::Normal, &extras, &[&text]).indexes)
}

/// The message that a session begins with.
pub(crate) fn beginning(files: &[File], indexes: &[Index], at: Timestamp) -> Vec<Arc<Message>> {
    let text = instructions::context(files, indexes, QUOTES);
    text.map(|text| instructions::message(&SessionId::new("story"), text, at)).into_iter().collect()
}

impl Stage {
    /// Before the first message. With a door, the main model will write `relayed` through it.
    pub(crate) fn set(case: &Case, relayed: Option<(&Draft, Door)>) -> Result<Self, Failure> {
        let (home, limits) = (Home::new()?, Limits::default());
        let first = case.asks()?.first().and_then(|ask| ask.at).unwrap_or_default();
        let clock = FixedClock::at(first);
        let (memory, project) = open(&home, &clock)?;
        for existing in case.existing() {
            save(&memory, &existing.path, &existing.text)?;
        }
        if relayed.is_some() {
            save(&memory, doors::NEUTRAL, doors::NEUTRAL_TEXT)?;
        }
        let (queue, log) = (Arc::default(), Arc::new(Mutex::new(Log::default())));
        let writes = relayed.map(|(draft, _)| doors::agents_writes(draft, &home)).unwrap_or_default();
        let mut setting = Setting::new(main_model(&queue, &clock, writes)).tools(hands(case, &memory, &limits));
        setting.clock = clock.clone();
        setting.instructions = beginning(&instruction_files(case, &home)?, &index(&memory)?, first);
        if case.messages.iter().any(|message| message.origin == "hook") {
            setting.hooks = Arc::new(hooks(&home, &limits));
        }
        match relayed.map(|(_, door)| door) {
            Some(Door::MemoryTool) => setting.tools.push(Arc::new(MemoryTool::new(memory.clone(), &limits))),
            Some(Door::AgentMemory) => setting = setting.staff(doors::staff(&home, &limits)?),
            Some(Door::DailyLog) => setting = setting.switch("layers.daily_log", "true"),
            _ => {}
        }
        let mut story = setting.begin_in(home)?;
        let root = story.home.project();
        let teacher = learner(case, relayed.map(|(draft, _)| draft), &log);
        let learns =
            Learns { transcripts: project.dir().to_owned(), attendance: Attendance::Person, model: Some(teacher) };
        story.session =
            story.session.remembering(Remembering { memory: memory.clone(), chooser: None, root }).learning(learns);
        Ok(Self { story, memory, clock, queue, log, before_receipts: Vec::new() })
    }

    /// One message of the user's and all that follows, also in the background.
    pub(crate) async fn play(&mut self, ask: &Ask, plays: Vec<Play>) -> Result<(), Failure> {
        let now = ask.at.unwrap_or_else(|| scrubjay::clock::Clock::now(&self.clock));
        self.clock.set(now);
        for letter in &ask.letters {
            self.story.session.mailbox().post(Letter::new("other-session", MAIN, letter.as_str(), now));
        }
        if !ask.hooks.is_empty() {
            std::fs::write(self.story.home.path().join(HOOK), ask.hooks.join("\n"))?;
        }
        let main = plays.len();
        held(&self.queue).extend(plays);
        let (asked, told) = (held(&self.log).requests.len(), self.receipts());
        self.story.ask(&ask.text).await?;
        self.story.session.wait_for_background(LONG).await?;
        let calls = held(&self.log).requests.len() - asked;
        for _ in told..self.receipts() {
            self.before_receipts.push((calls, calls + main));
        }
        Ok(())
    }

    /// Receipts so far.
    fn receipts(&self) -> usize {
        let is_receipt = |event: &Event| matches!(event, Event::Memory(MemoryEvent::Remembered { .. }));
        self.story.events().iter().filter(|event| is_receipt(event)).count()
    }

    /// What the user was asked, in full.
    pub(crate) fn questions(&self) -> Vec<String> {
        let question = |event: Event| match event {
            Event::Memory(MemoryEvent::Question(question)) => Some(question.text),
            _ => None,
        };
        self.story.events().into_iter().filter_map(question).collect()
    }
}

impl Stage {
    /// Calls that could change a memory: how many were accepted, and how many there were.
    pub(crate) fn writes(&self) -> (usize, usize) {
        let writes = ["Write", "Edit", "remember", "memory", "Agent"];
        let events = self.story.events();
        let ended = events.iter().filter_map(|event| match event {
            Event::ToolFinished { tool, is_error, .. } if writes.contains(&tool.as_str()) => Some(!*is_error),
            _ => None,
        });
        let ended: Vec<bool> = ended.collect();
        (ended.iter().filter(|accepted| **accepted).count(), ended.len())
    }

    /// Everything that the user was told about the memory.
    pub(crate) fn told(&self) -> Vec<String> {
        let told = |event: Event| match event {
            Event::Memory(event) => Some(event.to_string()),
            _ => None,
        };
        self.story.events().into_iter().filter_map(told).collect()
    }
}

fn save(memory: &SharedMemory, path: &str, text: &str) -> Result<(), Failure> {
    let change = Change { cause: Cause::Person, edits: vec![Edit::create(path, text)] };
    Ok(memory.with(|memory| memory.commit(change)).map(drop)?)
}

/// The tools of a session, those that the case names ready to replay its texts.
fn hands(case: &Case, memory: &SharedMemory, limits: &Limits) -> Vec<Arc<dyn Tool>> {
    let mut named: BTreeSet<&str> =
        case.messages.iter().filter_map(|message| message.origin.strip_prefix("tool:")).collect();
    let keeper: Arc<dyn Keeper> = Arc::new(memory.clone());
    let mut hands: Vec<Arc<dyn Tool>> = Vec::new();
    for tool in tools::kept_by(Some(keeper), &[], limits) {
        let replays = named.remove(tool.spec().name.as_str());
        hands.push(if replays { Arc::new(Replay::over(tool)) } else { tool });
    }
    hands.extend(named.into_iter().map(|name| Arc::new(Replay::named(name)) as Arc<dyn Tool>));
    hands
}

fn instruction_files(case: &Case, home: &Home) -> Result<Vec<File>, Failure> {
    let Some(text) = &case.instruction_file else { return Ok(Vec::new()) };
    let text = format!("{text}\n{}\n", case.nonce(usize::MAX));
    let path = home.write("CLAUDE.md", &text)?;
    Ok(vec![File { path, kind: Kind::Project, included_by: None, text }])
}

/// Where a hook finds what it is to say, once.
const HOOK: &str = "hook.txt";

fn hooks(home: &Home, limits: &Limits) -> Hooks {
    let file = home.path().join(HOOK);
    let command = format!("cat '{0}' 2>/dev/null; rm -f '{0}'", file.display());
    let hooks =
        json!({ "UserPromptSubmit": [{ "matcher": "", "hooks": [{ "type": "command", "command": command }] }] });
    Hooks::from_json(&hooks, limits).0
}
