//! A very long session is held about once in memory: at most twice the size of its file, beyond what a short one takes.
//! `TRANSCRIPT_MB` asks for a longer one.

use crate::stage::{Stage, program};
use crate::tally::Tally;
use jiff::Timestamp;
use scrubjay::limits::Limits;
use scrubjay::message::{Block, Origin, Role, ToolCallId, ToolResult};
use scrubjay::transcript::{Began, Transcript};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;

const MEGABYTE: u64 = 1 << 20;
const LONG_MB: u64 = 8;
/// Allocators round up.
const SLACK_BYTES: u64 = 8 * MEGABYTE;

const VERBS: &[&[&str]] = &[
    &["sessions"],
    &["report", "--json"],
    &["report", "--force"],
    &["context"],
    &["savings"],
    &["cost"],
    &["notes"],
    &["status"],
    &["doctor"],
    &["compact", "--preview", "--session", "long"],
    &["-c", "-p", "and now?"],
    &["--resume", "long", "-p", "and then?"],
];

/// A stage whose newest session is at least this long.
fn talked(bytes: u64) -> (Stage, PathBuf) {
    let stage = Stage::offline();
    stage.run(&["-p", "Is anybody there?"]).ended_with(0);
    let path = stage.transcripts().remove(0);
    let id = path.file_stem().unwrap().to_string_lossy().into_owned();
    let limits = Arc::new(Limits::default());
    let at = |number: u64| Timestamp::from_second(1_780_000_000 + i64::try_from(number).unwrap()).unwrap();
    let began = Began { format: 1, session: id, dir: stage.project(), version: "0.1.0".to_owned(), forked_from: None };
    let long = path.with_file_name("long.jsonl");
    let mut transcript = Transcript::create(&long, began, at(0), limits).unwrap();
    transcript.say(Role::User, Origin::Person, vec![Block::text("When do the ferries leave?")], at(0)).unwrap();
    for number in 1.. {
        // What a tool said is most of a session.
        let call = ToolCallId::new(format!("call{number}"));
        let asked = Block::tool_use(call.clone(), "Read", json!({ "file_path": format!("ferry{number}.txt") }));
        transcript.say(Role::Assistant, Origin::Model, vec![asked], at(number)).unwrap();
        let words = format!("ferry {number} leaves the harbour at pier {} and comes back.\n", number * 7).repeat(400);
        let said = Block::tool_result(ToolResult { call, parts: vec![Block::text(words)], is_error: false });
        transcript.say(Role::User, Origin::Tool, vec![said], at(number)).unwrap();
        if fs::metadata(&long).unwrap().len() >= bytes {
            break;
        }
    }
    transcript.settle().unwrap();
    drop(transcript);
    // A session of this length was compacted, or it could not go on.
    stage.run(&["compact", "--session", "long"]);
    (stage, long)
}

/// The most memory that a process had at once, as far as it was seen.
fn peak(child: &mut Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
        most = most.max(kilobytes.unwrap_or_default() * 1024);
        std::thread::yield_now();
    }
    most
}

fn needed(stage: &Stage, verb: &[&str]) -> u64 {
    let mut command = std::process::Command::new(program());
    command.args(verb).env_clear().envs(stage.environment()).current_dir(stage.project());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    peak(&mut command.spawn().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_session_is_not_held_more_than_twice() {
    if !PathBuf::from("/proc/self/status").exists() {
        println!("skipped: this system does not say how much memory a process has");
        return;
    }
    let mut tally = Tally::of("transcripts");
    let megabytes = std::env::var("TRANSCRIPT_MB").ok().and_then(|mb| mb.parse().ok()).unwrap_or(LONG_MB);
    let (short, _) = talked(1);
    let (stage, long) = talked(megabytes * MEGABYTE);
    let bytes = fs::metadata(&long).unwrap().len();
    for verb in VERBS {
        let (small, large) = (needed(&short, verb), needed(&stage, verb));
        let times = large.saturating_sub(small) as f64 / bytes as f64;
        println!(
            "{verb:?}: {} MB, {} MB for a short one: {times:.2} times the file",
            large / MEGABYTE,
            small / MEGABYTE
        );
        tally.tried(format!("{verb:?}: {times:.2} times the file"), large > small + 2 * bytes + SLACK_BYTES);
        // Reading a file at all takes memory: the yardstick sees it.
        tally.control(large > small);
    }
    tally.finish();
}
