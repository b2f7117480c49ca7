//! What survives a compaction without a model, at the points where a real product compacted and in as many characters as
//! its own summary took: four probes by string evidence, beside that summary and a simple note of the same size.
//!
//! `cargo bench -p scrubjay --bench fidelity -- [--data PATH] [--show]`; transcripts are looked for in PATH, PATH/transcripts/claude-code, or the same
//! below `SCRUBJAY_BENCH_DATA` or `../shared/bench`. With `--findings FILE [--misses]` it scores what a model found out instead,
//! for the summary without a model, the model's own, and that completed in at most 15 % more length.

mod findings;
#[allow(unreachable_pub)]
mod probes;

use probes::{Failure, Point, Probes, Reading, files, flat, human, load, text, truthy};
use scrubjay::context::compaction::constraints;
use scrubjay::context::compaction::extract::summarise;
use scrubjay::context::compaction::fidelity::complete;
use scrubjay::context::compaction::quotes::unquote;
use scrubjay::context::compaction::sections::{Section, parse};
use scrubjay::limits::Limits;
use scrubjay::message::{Block, Message, Origin, Role};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(dir) = data(&arguments) else {
        println!("no transcripts found: pass --data PATH or set SCRUBJAY_BENCH_DATA; nothing was measured");
        return Ok(());
    };
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    let show = flag("--show");
    if flag("--findings") {
        let file = value_of(&arguments, "--findings").ok_or("--findings takes the file with the findings")?;
        return findings::measure(Path::new(file), &dir, show, flag("--misses"));
    }
    let (mut real, mut halves) = (Board::new()?, Board::new()?);
    for path in sessions(&dir)? {
        let records = load(&path)?;
        for point in points_of(&records) {
            let ours = real.measure(&point)?;
            if show {
                println!("=== {} ({} bytes)\n{ours}", path.display(), point.room());
            }
        }
        if let Some(point) = half(&records) {
            let ours = halves.measure(&point)?;
            if show {
                println!("=== half of {} ({} bytes)\n{ours}", path.display(), point.room());
            }
        }
    }
    println!("At the real compaction points, in as many characters as the product's own summary took:\n");
    real.print();
    println!("\nAt the middle of every session, in {HALF_ROOM} characters:\n");
    halves.print();
    Ok(())
}

/// The room at points where no product compacted: about what summaries take at the others.
const HALF_ROOM: usize = 12_000;

/// A session as if it had been compacted in the middle.
fn half(records: &[Value]) -> Option<Point<'_>> {
    let (before, after) = records.split_at(records.len() / 2);
    let asked = after.iter().any(|record| human(record).is_some());
    (before.len() >= 20 && asked).then(|| Point { before, after, theirs: String::new() })
}

/// Scores of several texts over many points.
struct Board {
    probes: Probes,
    scores: BTreeMap<&'static str, [Vec<f64>; 4]>,
    points: usize,
    pinned: [usize; 2],
    torn: usize,
    slowest: Duration,
}

impl Board {
    fn new() -> Result<Self, Failure> {
        let (scores, slowest) = (BTreeMap::new(), Duration::ZERO);
        Ok(Self { probes: Probes::new()?, scores, points: 0, pinned: [0, 0], torn: 0, slowest })
    }

    fn measure(&mut self, point: &Point<'_>) -> Result<String, Failure> {
        let messages = converted(point.before);
        let start = Instant::now();
        let ours = summarise(&messages, point.room(), &|_| None, &Limits::default())?.text;
        self.slowest = self.slowest.max(start.elapsed());
        self.points += 1;
        self.torn += torn_quotations(&ours, &messages);
        let pins = constraints::pinned(&messages, &Limits::default());
        self.pinned[0] += pins.len();
        self.pinned[1] += pins.iter().filter(|pin| ours.contains(&pin.text)).count();
        let note = simple_note(point.before, point.room());
        let completed = match point.theirs.is_empty() {
            true => String::new(),
            false => {
                let room = share_more(point.room());
                complete(&parse(&point.theirs), &messages, room, &|_| None, &Limits::default())?.text
            }
        };
        let texts = [
            ("1 ours, no model", &ours),
            ("2 the product's own summary", &point.theirs),
            ("3 that summary, completed by ours in 15 % more", &completed),
            ("4 simple note", &note),
        ];
        for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            let columns = self.scores.entry(name).or_default();
            for (column, score) in columns.iter_mut().zip(self.probes.score(point, text)) {
                column.extend(score);
            }
        }
        Ok(ours)
    }

    fn print(&self) {
        println!(
            "| {} points | files_future | files_edited | user_msgs | user_future | mean |\n|---|---|---|---|---|---|",
            self.points
        );
        for (name, columns) in &self.scores {
            let means = columns
                .each_ref()
                .map(|column| column.iter().fold(0.0, |sum, score| sum + score) / column.len().max(1) as f64);
            let cells: Vec<String> =
                means.iter().zip(columns).map(|(mean, column)| format!("{mean:.3} (n={})", column.len())).collect();
            println!("| {} | {} | {:.3} |", &name[2..], cells.join(" | "), means.iter().sum::<f64>() / 4.0);
        }
        println!(
            "\nconstraints pinned {}, kept {}; quotations that are not contiguous: {}; slowest summary {:.1?}",
            self.pinned[0], self.pinned[1], self.torn, self.slowest
        );
    }
}

/// The size of a summary with at most 15 % more.
fn share_more(room: usize) -> usize {
    room * 115 / 100
}

fn value_of<'a>(arguments: &'a [String], name: &str) -> Option<&'a String> {
    arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1))
}

fn data(arguments: &[String]) -> Option<PathBuf> {
    let root = value_of(arguments, "--data")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("SCRUBJAY_BENCH_DATA").map(PathBuf::from));
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bench"));
    let dirs = [root.clone(), root.join("transcripts/claude-code")];
    dirs.into_iter().find(|dir| sessions(dir).is_ok_and(|found| !found.is_empty()))
}

fn sessions(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found: Vec<PathBuf> = dir.read_dir()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".jsonl")));
    found.sort();
    Ok(found)
}

impl Point<'_> {
    /// The size of the product's own summary: its characters, taken as bytes, so that ours is never the longer one.
    fn room(&self) -> usize {
        if self.theirs.is_empty() { HALF_ROOM } else { self.theirs.chars().count() }
    }
}

fn points_of(records: &[Value]) -> Vec<Point<'_>> {
    let is_boundary = |record: &Value| record["type"] == "system" && record["subtype"] == "compact_boundary";
    let cuts: Vec<usize> =
        records.iter().enumerate().filter(|(_, record)| is_boundary(record)).map(|(at, _)| at).collect();
    let mut points = Vec::new();
    for (k, cut) in cuts.iter().enumerate() {
        let before = &records[if k == 0 { 0 } else { cuts[k - 1] }..*cut];
        let after = &records[cut + 1..cuts.get(k + 1).copied().unwrap_or(records.len())];
        let summary = after.iter().take(6).find(|record| truthy(&record["isCompactSummary"]));
        let theirs = summary.map(|record| text(&record["message"]["content"])).unwrap_or_default();
        if !theirs.is_empty() && before.len() >= 20 {
            points.push(Point { before, after, theirs });
        }
    }
    points
}

/// The simple note to compare with: files by count, every message clipped, the end of what the model said.
fn simple_note(records: &[Value], room: usize) -> String {
    let said: Vec<String> = records.iter().filter_map(human).collect();
    let mut read: Vec<(&str, usize)> = Vec::new();
    let mut edited: Vec<(&str, usize)> = Vec::new();
    for (tool, path) in records.iter().flat_map(files) {
        let counts = if tool == "Read" { &mut read } else { &mut edited };
        match counts.iter_mut().find(|(known, _)| *known == path) {
            Some((_, count)) => *count += 1,
            None => counts.push((path, 1)),
        }
    }
    let top = |counts: &mut Vec<(&str, usize)>| {
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts.truncate(40);
    };
    let all_edited: BTreeSet<&str> = edited.iter().map(|(path, _)| *path).collect();
    top(&mut read);
    top(&mut edited);
    read.retain(|(path, _)| !all_edited.contains(path));
    let list = |counts: &[(&str, usize)]| {
        counts.iter().map(|(path, count)| format!("{path} x{count}")).collect::<Vec<_>>().join("; ")
    };
    let files = format!("Edited: {}\nRead: {}", list(&edited), list(&read));
    let rest = room - files.chars().count().min(room / 3);
    let files = first(&files, room / 3);
    let clip = 80.max((rest as f64 * 0.6 / said.len().max(1) as f64) as usize);
    let said: Vec<String> = said.iter().map(|said| format!("- {}", first(said, clip))).collect();
    let said = first(&said.join("\n"), (rest as f64 * 0.7) as usize);
    let spoken = flat(records.iter().filter(|record| record["type"] == "assistant"), &Reading::Prose);
    let left = room.saturating_sub(files.chars().count() + said.chars().count() + 4);
    let skip = if left == 0 { 0 } else { spoken.chars().count().saturating_sub(left) };
    let tail: String = spoken.chars().skip(skip).collect();
    first(&format!("{files}\n{said}\n{tail}"), room)
}

fn first(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// A session's records as the engine's own messages.
fn converted(records: &[Value]) -> Vec<Message> {
    let spoken = records.iter().filter(|record| {
        !truthy(&record["isSidechain"]) && (record["type"] == "user" || record["type"] == "assistant")
    });
    spoken.enumerate().map(|(n, record)| message(n, record)).collect()
}

fn message(n: usize, record: &Value) -> Message {
    let blocks = match &record["message"]["content"] {
        Value::Array(blocks) => blocks.iter().map(Block::from_value).collect(),
        content => vec![Block::text(content.as_str().unwrap_or_default())],
    };
    let person = human(record);
    let has_result = record["message"]["content"]
        .as_array()
        .is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "tool_result"));
    let (role, origin) = match record["type"].as_str() {
        Some("assistant") => (Role::Assistant, Origin::Model),
        _ if truthy(&record["isCompactSummary"]) => (Role::User, Origin::Summary),
        _ if has_result => (Role::User, Origin::Tool),
        _ if person.is_some() => (Role::User, Origin::Person),
        _ => (Role::User, Origin::Reminder),
    };
    let blocks = person.map_or(blocks, |said| vec![Block::text(said)]);
    let id = record["uuid"].as_str().map_or_else(|| format!("m-{n}"), str::to_owned);
    Message { id: id.as_str().into(), role, origin, at: jiff::Timestamp::UNIX_EPOCH, blocks }
}

/// Pieces of quoted messages that no message contains.
fn torn_quotations(ours: &str, messages: &[Message]) -> usize {
    let said: Vec<String> = messages
        .iter()
        .filter(|message| matches!(message.origin, Origin::Person | Origin::Summary))
        .map(Message::text)
        .collect();
    let quotes = unquote(parse(ours).body(Section::UserMessages));
    let pieces = quotes.iter().flat_map(|quote| quote.text.split("\n[…]\n"));
    pieces.filter(|piece| !said.iter().any(|said| said.contains(piece.trim()))).count()
}
