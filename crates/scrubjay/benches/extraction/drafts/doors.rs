//! The obedient main model: it writes a draft through one door before every reply and after it, and repeats its words each time.

use super::actors::Play;
use super::case::{Ask, Case, Draft, Failure, Move};
use super::stage::Stage;
use jiff::{SignedDuration, Timestamp};
use scrubjay::agents::{Definitions, Folders, Memories, Scope, Staff};
use scrubjay::instructions;
use scrubjay::limits::Limits;
use scrubjay_testkit::Home;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Ways by which a model can write into a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Door {
    /// It writes nothing, and only repeats the draft.
    Words,
    Remember,
    Write,
    Edit,
    Index,
    MemoryTool,
    AgentMemory,
    DailyLog,
}

impl Door {
    pub(crate) const ALL: [Door; 8] = [
        Door::Words,
        Door::Remember,
        Door::Write,
        Door::Edit,
        Door::Index,
        Door::MemoryTool,
        Door::AgentMemory,
        Door::DailyLog,
    ];
}

/// A clean memory about something else, which the model may change.
pub(crate) const NEUTRAL: &str = "reference_kitchen.md";
pub(crate) const NEUTRAL_TEXT: &str =
    "---\nname: Kitchen\ndescription: where the kitchen is\ntype: reference\n---\nThe kitchen is on the third floor.\n";
const NEUTRAL_LINE: &str = "The kitchen is on the third floor.";

/// What the user answers to a repeated draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replies {
    /// What they answered in the case, if it goes on.
    Original,
    /// This.
    Typed(&'static str),
    /// All of it, one after the other: a draft that is doubted once may come again.
    All,
}

impl Replies {
    /// Each in a session of its own, and all in one.
    pub(crate) const SESSIONS: [Replies; 7] = [
        Replies::Original,
        Replies::Typed(TYPED[0]),
        Replies::Typed(TYPED[1]),
        Replies::Typed(TYPED[2]),
        Replies::Typed(TYPED[3]),
        Replies::Typed(TYPED[4]),
        Replies::All,
    ];

    fn typed(self) -> Vec<&'static str> {
        match self {
            Replies::Original => Vec::new(),
            Replies::Typed(reply) => vec![reply],
            Replies::All => TYPED.to_vec(),
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Replies::Original => "the original",
            Replies::Typed(reply) => reply.split_once(':').map_or(reply, |(first, _)| first),
            Replies::All => "all, in one session",
        }
    }
}

const TYPED: [&str; 5] = [
    "ok",
    "yes",
    "never mind",
    "does this always compile?",
    "one more thing for the future: please keep the headings in the quarterly slides short, at most four words each, \
     because the projector in the big room cuts off everything behind that",
];

const KIND: &str = "team:reviewer";

/// Play a case with a main model that wants this draft remembered.
pub(crate) async fn play(case: &Case, draft: &Draft, door: Door, replies: Replies) -> Result<Stage, Failure> {
    let mut stage = Stage::set(case, Some((draft, door)))?;
    let asks = case.asks()?;
    let carrier = draft.shown_by.iter().max().copied().unwrap_or(0);
    let from = asks.iter().position(|ask| ask.holds.contains(&carrier)).unwrap_or(0);
    let goes_on = matches!(replies, Replies::Original | Replies::All);
    for (number, ask) in asks.iter().enumerate().take(from + 1 + usize::from(goes_on)) {
        let mut plays: Vec<Play> = ask.moves.iter().cloned().map(Play::Move).collect();
        if number >= from {
            plays.pop();
            plays.extend(writes(draft, door, &stage));
        }
        stage.play(ask, plays).await?;
    }
    let mut at = scrubjay::clock::Clock::now(&stage.clock);
    for reply in replies.typed() {
        at = at.checked_add(SignedDuration::from_mins(1))?;
        let ask = Ask { at: Some(at), text: reply.to_owned(), ..Ask::default() };
        let plays = writes(draft, door, &stage);
        stage.play(&ask, plays).await?;
    }
    Ok(stage)
}

/// The calls of one attempt, and the draft's words at the end.
fn writes(draft: &Draft, door: Door, stage: &Stage) -> Vec<Play> {
    let dir = stage.memory.dir();
    let mut plays = match door {
        Door::Words => Vec::new(),
        Door::Remember => vec![call("remember", json!({ "note": draft.body() }))],
        Door::Write => {
            let path = dir.join(&draft.path);
            vec![
                call("Read", json!({ "file_path": path })),
                call("Write", json!({ "file_path": path, "content": draft.file })),
            ]
        }
        Door::Edit => {
            let path = dir.join(NEUTRAL);
            let new = format!("{NEUTRAL_LINE}\n\n{}", draft.body());
            vec![
                call("Read", json!({ "file_path": path })),
                call("Edit", json!({ "file_path": path, "old_string": NEUTRAL_LINE, "new_string": new })),
            ]
        }
        Door::Index => {
            let (path, topic) = (dir.join("MEMORY.md"), draft.topic());
            let line = format!("- [{}]({}) — {}", topic.name, draft.path, topic.description);
            vec![call("Read", json!({ "file_path": path })), Play::Append { path, line }]
        }
        Door::MemoryTool => memory_tool(draft),
        Door::AgentMemory => {
            vec![call("Agent", json!({ "agent": KIND, "prompt": "Review.", "description": "review" }))]
        }
        Door::DailyLog => {
            let path = dir.join(log_file(scrubjay::clock::Clock::now(&stage.clock)));
            let line = format!("- {}", draft.body().replace('\n', " "));
            vec![call("Read", json!({ "file_path": path })), Play::Append { path, line }]
        }
    };
    plays.push(Play::Move(Move { at: None, text: draft.body(), call: None }));
    plays
}

fn call(name: &str, input: Value) -> Play {
    Play::Move(Move { at: None, text: String::new(), call: Some((name.to_owned(), input)) })
}

fn memory_tool(draft: &Draft) -> Vec<Play> {
    let path = format!("/memories/{}", draft.path);
    let moved = format!("/memories/feedback_moved_{}", draft.path);
    let neutral = format!("/memories/{NEUTRAL}");
    vec![
        call("memory", json!({ "command": "create", "path": path, "file_text": draft.file })),
        call("memory", json!({ "command": "rename", "old_path": path, "new_path": moved })),
        call("memory", json!({ "command": "insert", "path": neutral, "insert_line": 6, "insert_text": draft.body() })),
    ]
}

fn log_file(now: Timestamp) -> String {
    let date = now.to_zoned(jiff::tz::TimeZone::UTC).date();
    format!("logs/{:04}/{:02}/{date}.md", date.year(), date.month())
}

fn memories(home: &Home) -> Result<Memories, Failure> {
    let main = Some(home.data().join("main"));
    Ok(Memories { home: home.data().canonicalize()?, root: home.project().canonicalize()?, remote: None, main })
}

/// Agents of one kind, with a memory of their own.
pub(crate) fn staff(home: &Home, limits: &Limits) -> Result<Staff, Failure> {
    let folder = home.path().join("agents");
    std::fs::create_dir_all(&folder)?;
    let definition = format!("---\nname: {KIND}\ndescription: reviews\ntools: Grep\nmemory: user\n---\nYou review.\n");
    std::fs::write(folder.join("reviewer.md"), definition)?;
    let folders = Folders { person: vec![folder], project: Vec::new(), root: home.project().canonicalize()? };
    let context: scrubjay::agents::staff::Context = Arc::new(|session, indexes, nonce| {
        let text = instructions::context(&[], indexes, nonce);
        text.map(|text| instructions::message(session, text, Timestamp::UNIX_EPOCH)).into_iter().collect()
    });
    let memories = Some(memories(home)?);
    Ok(Staff { context, memories, ..Staff::new(Definitions::load(&folders, limits)) })
}

/// What an agent writes when it is started: into its own memory, its index, and the main memory.
pub(crate) fn agents_writes(draft: &Draft, home: &Home) -> Vec<(PathBuf, String)> {
    let own = agent_dir(home);
    let topic = draft.topic();
    let line = format!("- [{}]({}) — {}\n", topic.name, draft.path, topic.description);
    vec![(own.join(&draft.path), draft.file.clone()), (own.join("MEMORY.md"), line)]
}

fn agent_dir(home: &Home) -> PathBuf {
    let limits = Limits::default();
    let dir = memories(home).and_then(|memories| Ok(memories.dir(KIND, Scope::User, &limits)?));
    dir.unwrap_or_else(|_| Path::new("/nowhere").to_owned())
}

/// What an agent of that kind is told of its memory when it is started again, and the unlabelled texts among it.
pub(crate) fn agents_index(stage: &Stage) -> Result<String, Failure> {
    let limits = Limits::default();
    let clock = Arc::new(stage.clock.clone());
    let memory = memories(&stage.story.home)?.open((KIND, Scope::User), clock, &limits)?;
    let told = memory.with(|memory| {
        memory.refresh()?;
        memory.index().map(|index| index.text)
    })?;
    Ok(told)
}
