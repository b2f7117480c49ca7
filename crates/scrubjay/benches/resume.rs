//! What it costs to go on with a long session, side by side with a plain read-and-parse of the same bytes; and what one
//! more entry costs at two lengths of history.
//!
//! `cargo bench -p scrubjay --bench resume`

use jiff::Timestamp;
use scrubjay::limits::Limits;
use scrubjay::message::{Block, Origin, Role, SessionId, StopReason, ToolResult, Usage};
use scrubjay::prompt::Prompt;
use scrubjay::transcript::{Began, Call, Entry, FORMAT, Transcript};
use serde_json::{Value, json};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?;
    println!(
        "{:>8} {:>10} {:>12} {:>12} {:>7} {:>14} {:>12}",
        "rounds", "bytes", "plain parse", "resume", "ratio", "one more entry", "prompt"
    );
    for rounds in [500, 5_000] {
        let path = home.path().join(format!("{rounds}.jsonl"));
        let mut session = write(&path, rounds)?;
        let bytes = std::fs::metadata(&path)?.len();
        let (mut plain, mut resume) = (Vec::new(), Vec::new());
        for _ in 0..15 {
            plain.push(timed(|| plain_parse(&path)));
            resume.push(timed(|| {
                Transcript::peek(&path, SessionId::new("s"), Arc::new(Limits::default())).map(drop).is_ok()
            }));
        }
        let more: Vec<_> = (0..50).map(|_| timed(|| session.append(reply(), at()).is_ok())).collect();
        let prompt: Vec<_> = (0..15).map(|_| timed(|| Prompt::of(session.view()))).collect();
        let (plain, resume) = (median(plain), median(resume));
        println!(
            "{rounds:>8} {bytes:>10} {plain:>12.2?} {resume:>12.2?} {:>7.2} {:>14.2?} {:>12.2?}",
            resume.as_secs_f64() / plain.as_secs_f64(),
            median(more),
            median(prompt),
        );
    }
    Ok(())
}

fn at() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

/// A coding session: a question now and then, a tool call and its result each round.
fn write(path: &Path, rounds: usize) -> Result<Transcript, Box<dyn std::error::Error>> {
    let began =
        Began { format: FORMAT, session: "s".into(), dir: "/p".into(), version: "bench".into(), forked_from: None };
    let mut session = Transcript::create(path, began, at(), Arc::new(Limits::default()))?;
    for n in 0..rounds {
        if n % 10 == 0 {
            session.say(Role::User, Origin::Person, vec![Block::text(format!("And what about case {n}?"))], at())?;
        }
        let call = format!("toolu_{n:020}");
        let input = json!({ "file_path": format!("src/module_{n}.rs"), "offset": n, "limit": 100 });
        let said =
            vec![Block::text("I will look at that file first."), Block::tool_use(call.as_str().into(), "Read", input)];
        session.say(Role::Assistant, Origin::Model, said, at())?;
        session.append(reply(), at())?;
        let line = format!("{n:>6}\tlet value = compute(\"{n}\", Some({n}))?; // with a \"quoted\" remark\n");
        let parts = vec![Block::text(line.repeat(20 + n % 40))];
        let result = Block::tool_result(ToolResult { call: call.as_str().into(), parts, is_error: false });
        session.say(Role::User, Origin::Tool, vec![result], at())?;
    }
    Ok(session)
}

fn reply() -> Entry {
    let usage = Usage { input: 12, cache_read: 40_000, cache_write_5m: 900, output: 150, ..Usage::default() };
    Entry::Replied(Call { source: "main".into(), model: "m".into(), usage, stop: StopReason::ToolUse, cleared: 0 })
}

fn plain_parse(path: &Path) -> Option<Vec<Value>> {
    let bytes = std::fs::read(path).ok()?;
    bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).ok())
        .collect()
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
