//! What layers 1 and 2 and the count take on an ordinary turn, in instructions, after 20,000 and after 200,000 tokens.
//!
//! `cargo bench -p scrubjay --bench per_turn`. It runs itself under `valgrind --tool=callgrind`, which must be installed;
//! without it only times are printed.

use jiff::{SignedDuration, Timestamp};
use scrubjay::context::{self, microcompaction, tool_results};
use scrubjay::desk::{Consent, Desk, Person};
use scrubjay::event::Events;
use scrubjay::gate::Gate;
use scrubjay::limits::Limits;
use scrubjay::message::{Block, Kind, Origin, Role, SessionId, StopReason, ToolResult, ToolUse, Usage};
use scrubjay::prompt_cache::planner::Situation;
use scrubjay::settings::{Settings, Sources};
use scrubjay::transcript::{Call, Entry, Opening, Options, Transcript, Ttl};
use scrubjay_providers::Scripted;
use scrubjay_testkit::FixedClock;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

const SIZES: [u64; 2] = [20_000, 200_000];
const TURNS: usize = 50;

/// What layer 2 does on a turn.
#[derive(Clone, Copy)]
enum Look {
    /// Nothing has grown enough to be weighed again.
    Passing,
    /// The planner weighs the whole conversation.
    Weighing,
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--run") {
        let number = |n: usize| arguments.get(at + n).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
        let look = if number(3) == 1 { Look::Weighing } else { Look::Passing };
        return run(number(1), usize::try_from(number(2))?, look);
    }
    println!("| | 20,000 tokens | 200,000 tokens | ratio |\n|---|---|---|---|");
    for (name, weighed) in [("an ordinary turn", 0), ("a turn on which the planner weighs all", 1)] {
        let mut counts = [0.0; 2];
        for (count, size) in counts.iter_mut().zip(SIZES) {
            let Some(all) = instructions(size, TURNS, weighed)? else {
                println!("valgrind is not there: no instructions were counted");
                return timed();
            };
            let before = instructions(size, 0, weighed)?.unwrap_or_default();
            *count = all.saturating_sub(before) as f64 / TURNS as f64;
        }
        println!("| {name} | {:.0} | {:.0} | {:.2} |", counts[0], counts[1], counts[1] / counts[0].max(1.0));
    }
    timed()
}

fn timed() -> Result<(), Failure> {
    for size in SIZES {
        let mut turns = Turns::after(size)?;
        let start = Instant::now();
        (0..TURNS).try_for_each(|n| turns.turn(n, Look::Passing))?;
        println!("an ordinary turn after {size} tokens: {:.1?}", start.elapsed() / u32::try_from(TURNS)?);
    }
    Ok(())
}

/// What callgrind counts for this many turns after such a history, that history included.
fn instructions(size: u64, turns: usize, weighed: u8) -> Result<Option<u64>, Failure> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(["--run", &size.to_string(), &turns.to_string(), &weighed.to_string()])
        .output();
    let Ok(output) = run else { return Ok(None) };
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let count = told.lines().find_map(|line| line.split("Collected :").nth(1)?.trim().parse().ok());
    Ok(Some(count.ok_or("callgrind told no count")?))
}

fn run(size: u64, turns: usize, look: Look) -> Result<(), Failure> {
    let mut all = Turns::after(size)?;
    (0..turns).try_for_each(|n| all.turn(n, look))
}

struct Turns {
    transcript: Transcript,
    desk: Desk,
}

impl Turns {
    /// A conversation of so many tokens, in rounds of a call and its answer.
    fn after(size: u64) -> Result<Self, Failure> {
        let limits = Arc::new(Limits::default());
        let desk = Desk {
            model: Arc::new(Scripted::new()),
            tools: Arc::from([]),
            gate: Gate::open(),
            person: Person::new(|_| Box::pin(async { Consent::Granted })),
            hooks: Arc::default(),
            events: Events::to(|_| {}),
            clock: Arc::new(FixedClock::default()),
            zone: jiff::tz::TimeZone::UTC,
            settings: Arc::new(Settings::resolve(&Sources::default())),
            limits: limits.clone(),
            own_words: Arc::default(),
            day_book: None,
            dir: PathBuf::from("/"),
        };
        let mut transcript = Transcript::in_memory(SessionId::new("s"), limits);
        let opening = Opening {
            model: "m".to_owned(),
            tools: Arc::from([]),
            system: Arc::from("be brief"),
            instructions: Vec::new(),
            nonce: String::new(),
            options: Options::default(),
        };
        transcript.append(Entry::Opened { opening: Arc::new(opening), because: None }, Timestamp::UNIX_EPOCH)?;
        let mut turns = Self { transcript, desk };
        let mut round = 0;
        while turns.transcript.view().count.total() < size {
            turns.round(&format!("history-{round}"))?;
            round += 1;
        }
        Ok(turns)
    }

    /// A reply that calls a tool, what it was billed, and the answer on its way through layer 1.
    fn round(&mut self, id: &str) -> Result<(), Failure> {
        let at = Timestamp::UNIX_EPOCH;
        let call = Block::tool_use(id.into(), "Bash", json!({ "command": "cat a.txt" }));
        let calls: Vec<ToolUse> = match call.kind() {
            Kind::ToolUse(call) => vec![call.clone()],
            _ => Vec::new(),
        };
        self.transcript.say(Role::Assistant, Origin::Model, vec![call], at)?;
        let usage = Usage { input: self.transcript.view().count.total(), output: 30, ..Usage::default() };
        let (source, model) = (Call::MAIN.to_owned(), "m".to_owned());
        let reply = Call { source, model, usage, stop: StopReason::ToolUse, cleared: 0 };
        self.transcript.append(Entry::Replied(reply), at)?;
        let parts = vec![Block::text("a line of an answer\n".repeat(100))];
        let answer = Block::tool_result(ToolResult { call: id.into(), parts, is_error: false });
        let admitted = tool_results::admit(vec![answer], &calls, Some(Path::new("/nowhere")), &self.desk);
        self.transcript.say(Role::User, Origin::Tool, admitted.results, at)?;
        Ok(())
    }

    /// A round, the count, and layer 2's look at it.
    fn turn(&mut self, n: usize, look: Look) -> Result<(), Failure> {
        self.round(&format!("turn-{n}"))?;
        let budget = context::budget(&self.transcript, &self.desk);
        let now = Situation {
            prices: None,
            ttl: Some(Ttl::FiveMinutes),
            since_last: Some(SignedDuration::from_secs(10)),
            turns: 50,
            threshold: budget.compaction,
        };
        let step =
            microcompaction::step(self.transcript.view(), &self.desk, matches!(look, Look::Weighing).then_some(&now));
        if step.is_some() { Err("nothing was to be cleared here".into()) } else { Ok(()) }
    }
}
