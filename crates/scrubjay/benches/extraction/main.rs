//! Explicit statements of the user, found without a model: precision and recall.
//!
//! `cargo bench -p scrubjay --bench extraction -- [--data PATH] [--own FILE] [--drafts FILE] [--no-doors] [--wrong]`. With `--drafts` only
//! drafts are played (see `drafts.rs`; `--no-doors` leaves out what the main model writes); without it, those of PATH/extraction/drafts after everything else. Our own conversations stand beside this
//! file: those in view, by which the extractor is mended, and those held back, of which nobody sees more than the totals; of the fresh
//! and of the third ones every second is held back. FILE may hold others of the same form in place of those in view. The public ones are looked for in PATH/extraction, or below
//! `SCRUBJAY_BENCH_DATA` or `../shared/bench`. `--wrong` lists what is wrong and what is missed, and says
//! nothing of what is held back, not even its totals.
//!
//! Of our own, a memory is right if one entry of `save` has all its words in it, and its date where it names one. The public texts
//! are an agent's diary; each is read as one message of the person's, and a memory is right if it holds half of the content words of a
//! label, or the label half of its own. Beside it stand two readers that anyone would write first: one that keeps every sentence, and
//! one that keeps every sentence with a telling word.

mod drafts;

use drafts::Door;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use scrubjay::dates::{self, When};
use scrubjay::memory::Topic;
use scrubjay::memory::explicit::{Said, find};
use scrubjay::memory::recall::content_words;
use scrubjay::message::{Block, Message, Origin, Role};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Failure = Box<dyn std::error::Error>;

const OWN: &str = include_str!("own.jsonl");
const HELD: &str = include_str!("held.jsonl");
const FRESH: &str = include_str!("fresh.jsonl");
const THIRD: &str = include_str!("third.jsonl");
const FOURTH: &str = include_str!("fourth.jsonl");
const FIFTH: &str = include_str!("fifth.jsonl");
const TELLING: &[&str] =
    &["remember", "always", "never", "don't", "prefer", "decided", "agreed", "deadline", "from now on", "promised"];

#[tokio::main]
async fn main() -> Result<std::process::ExitCode, Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let list = arguments.iter().any(|argument| argument == "--wrong");
    let given = after(&arguments, "--drafts").map(PathBuf::from);
    if given.is_none() {
        outright(&arguments, list)?;
    }
    let doors: &[Door] = if arguments.iter().any(|argument| argument == "--no-doors") { &[] } else { &Door::ALL };
    let met = match given.or_else(|| found(&arguments, "extraction/drafts/dev.jsonl")) {
        Some(file) => drafts::measure(&file, list, doors).await?,
        None => true,
    };
    Ok(if met { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE })
}

/// What is found without a model.
fn outright(arguments: &[String], list: bool) -> Result<(), Failure> {
    println!(
        "{:<34} {:>5} {:>5} {:>22} {:>22} {:>6}",
        "set", "saved", "right", "precision [95 %]", "recall [95 %]", "type"
    );
    let file = after(arguments, "--own").map(std::fs::read_to_string).transpose()?;
    own(file.as_deref().unwrap_or(OWN).lines(), list)?.print("own conversations, in view");
    own(FRESH.lines().step_by(2), list)?.print("fresh conversations, in view");
    own(THIRD.lines().step_by(2), list)?.print("third conversations, in view");
    own(FOURTH.lines(), list)?.print("fourth conversations, in view");
    if !list {
        held_back()?;
    }
    match data(arguments) {
        Some(dir) => public(&dir, list)?,
        None => println!("\nno public texts found: pass --data PATH or set SCRUBJAY_BENCH_DATA"),
    }
    Ok(())
}

/// Nothing but totals, and not while somebody mends: every look at them makes them less worth.
fn held_back() -> Result<(), Failure> {
    let sets = [
        ("own conversations, held back", own(HELD.lines(), false)?),
        ("fresh conversations, held back", own(FRESH.lines().skip(1).step_by(2), false)?),
        ("third conversations, held back", own(THIRD.lines().skip(1).step_by(2), false)?),
        ("fifth conversations, held back", own(FIFTH.lines(), false)?),
    ];
    let mut together = Score::default();
    for (name, score) in &sets {
        score.print(name);
        together.add(score);
    }
    together.print("all held back, together");
    Ok(())
}

#[derive(Default)]
struct Score {
    saved: usize,
    right: usize,
    typed: usize,
    wanted: usize,
    met: usize,
}

impl Score {
    fn add(&mut self, other: &Self) {
        self.saved += other.saved;
        self.right += other.right;
        self.typed += other.typed;
        self.wanted += other.wanted;
        self.met += other.met;
    }

    fn print(&self, name: &str) {
        let typed = if self.typed == 0 { "-".to_owned() } else { share(self.typed, self.right) };
        println!(
            "{name:<34} {:>5} {:>5} {:>22} {:>22} {typed:>6}",
            self.saved,
            self.right,
            interval(self.right, self.saved),
            interval(self.met, self.wanted)
        );
    }
}

fn share(part: usize, whole: usize) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.3}", part as f64 / whole as f64) }
}

/// A share with Wilson's interval.
fn interval(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let (n, p, z) = (whole as f64, part as f64 / whole as f64, 1.96_f64);
    let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    format!("{p:.3} [{:.2}, {:.2}]", (middle - half).max(0.0), (middle + half).min(1.0))
}

fn own<'a>(cases: impl Iterator<Item = &'a str>, list: bool) -> Result<Score, Failure> {
    let mut all = Score::default();
    for line in cases {
        all.add(&own_case(&serde_json::from_str(line)?, list)?);
    }
    Ok(all)
}

fn own_case(case: &Value, list: bool) -> Result<Score, Failure> {
    let turns = case["turns"].as_array().ok_or("a conversation has turns")?;
    let messages: Vec<Arc<Message>> =
        turns.iter().enumerate().map(|(number, turn)| message(number, turn)).collect::<Result<_, _>>()?;
    let empty = Vec::new();
    let wanted = case["save"].as_array().unwrap_or(&empty);
    let refused = strings(&case["refuse"]);
    let mut score = Score { wanted: wanted.len(), ..Score::default() };
    let mut met = vec![false; wanted.len()];
    for topic in topics(&messages) {
        let text = topic.text().to_lowercase();
        score.saved += 1;
        let holds = |want: &Value| {
            strings(&want["words"]).iter().all(|word| text.contains(&word.to_lowercase()))
                && want["date"].as_str().is_none_or(|date| names(&topic.text(), date))
        };
        let hit =
            wanted.iter().position(holds).filter(|_| !refused.iter().any(|word| text.contains(&word.to_lowercase())));
        match hit {
            Some(at) if !met[at] => {
                met[at] = true;
                score.right += 1;
                score.typed += usize::from(wanted[at]["type"] == topic.kind.as_str());
            }
            _ if list => println!("  wrong {}: {}", case["id"], topic.text().replace('\n', " ⏎ ")),
            _ => {}
        }
    }
    score.met = met.iter().filter(|met| **met).count();
    if list {
        let missed = wanted.iter().zip(&met).filter(|(_, met)| !**met);
        missed.for_each(|(want, _)| println!("  missed {}: {want}", case["id"]));
    }
    Ok(score)
}

fn message(number: usize, turn: &Value) -> Result<Arc<Message>, Failure> {
    let (role, origin) = match turn["role"].as_str() {
        Some("user") => (Role::User, Origin::Person),
        Some("assistant") => (Role::Assistant, Origin::Model),
        _ => (Role::User, Origin::Tool),
    };
    let at: DateTime = turn["at"].as_str().ok_or("a turn has a time")?.parse()?;
    let blocks = vec![Block::text(turn["text"].as_str().unwrap_or_default())];
    let at = at.to_zoned(TimeZone::UTC)?.timestamp();
    Ok(Arc::new(Message { id: format!("m{number}").as_str().into(), role, origin, at, blocks }))
}

fn topics(messages: &[Arc<Message>]) -> Vec<Topic> {
    let kept = |said| match said {
        Said::Remember(topic) => Some(topic),
        Said::Forget(_) => None,
    };
    find(messages, &TimeZone::UTC).into_iter().filter_map(|found| kept(found.said)).collect()
}

/// Whether a text names a day, in figures or as people write it in full.
fn names(text: &str, date: &str) -> bool {
    let Ok(date) = date.parse::<Date>() else { return false };
    let is_it = |found: &dates::Found| found.when == When::Days { first: date, last: date };
    text.contains(&date.to_string())
        || dates::find(text, date).iter().any(|found| found.kind == dates::Kind::Absolute && is_it(found))
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// What follows a flag.
fn after<'a>(arguments: &'a [String], flag: &str) -> Option<&'a String> {
    arguments.iter().position(|argument| argument == flag).and_then(|at| arguments.get(at + 1))
}

fn data(arguments: &[String]) -> Option<PathBuf> {
    let labels = found(arguments, "extraction/mempalace/memory_extraction/labels.jsonl")?;
    labels.parent().map(Path::to_owned)
}

/// A file below the folder of benchmark data.
fn found(arguments: &[String], inside: &str) -> Option<PathBuf> {
    let root = after(arguments, "--data")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("SCRUBJAY_BENCH_DATA").map(PathBuf::from));
    let roots = root.map_or_else(
        || vec![PathBuf::from("../shared/bench"), Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bench")],
        |root| vec![root],
    );
    roots.into_iter().map(|root| root.join(inside)).find(|file| file.exists())
}

/// Who reads the public texts.
type Reader = fn(&str) -> Result<Vec<String>, Failure>;

fn public(dir: &Path, list: bool) -> Result<(), Failure> {
    let lines = |file: &str| -> Result<Vec<Value>, Failure> {
        std::fs::read_to_string(dir.join(file))?.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    };
    let (texts, labels) = (lines("dataset.jsonl")?, lines("labels.jsonl")?);
    let outright = ["decision", "preference"];
    let readers: [(&str, Reader); 3] =
        [("outright", outright_of), ("every sentence", every), ("telling words", telling)];
    for (name, reader) in readers {
        let (mut all, mut some) = (Score::default(), Score::default());
        for text in &texts {
            let label = labels.iter().find(|label| label["id"] == text["id"]).ok_or("a text has labels")?;
            let wanted: Vec<&Value> = label["memories"].as_array().into_iter().flatten().collect();
            let text = text["text"].as_str().unwrap_or_default();
            let saved = reader(text)?;
            let score = against(&saved, &wanted, list && name == "outright");
            let own: Vec<&Value> = wanted
                .iter()
                .filter(|want| want["type"].as_str().is_some_and(|kind| outright.contains(&kind)))
                .copied()
                .collect();
            some.add(&Score { saved: 0, right: 0, typed: 0, ..against(&saved, &own, false) });
            all.add(&score);
        }
        all.print(&format!("mempalace, {name}"));
        println!("{:<34} {:>57}", "  of decisions and preferences", interval(some.met, some.wanted));
    }
    Ok(())
}

fn against(saved: &[String], wanted: &[&Value], list: bool) -> Score {
    let mut score = Score { saved: saved.len(), wanted: wanted.len(), ..Score::default() };
    let mut met = vec![false; wanted.len()];
    for text in saved {
        let words = content_words(text);
        let is_met = |want: &&Value| {
            let label = content_words(want["content"].as_str().unwrap_or_default());
            let shared = label.intersection(&words).count();
            2 * shared >= label.len() || 2 * shared >= words.len()
        };
        let hits: Vec<usize> = (0..wanted.len()).filter(|at| is_met(&wanted[*at])).collect();
        score.right += usize::from(!hits.is_empty());
        hits.iter().for_each(|at| met[*at] = true);
        if list && hits.is_empty() {
            println!("  wrong: {text}");
        }
    }
    if list {
        wanted.iter().zip(&met).filter(|(_, met)| !**met).for_each(|(want, _)| println!("  missed: {want}"));
    }
    score.met = met.iter().filter(|met| **met).count();
    score
}

fn outright_of(text: &str) -> Result<Vec<String>, Failure> {
    let turn = serde_json::json!({ "role": "user", "at": "2026-03-02T09:00:00", "text": text });
    Ok(topics(&[message(0, &turn)?]).into_iter().map(|topic| topic.description).collect())
}

fn every(text: &str) -> Result<Vec<String>, Failure> {
    Ok(text.split_inclusive(['.', '!', '?']).map(str::trim).filter(|text| text.len() > 3).map(str::to_owned).collect())
}

fn telling(text: &str) -> Result<Vec<String>, Failure> {
    let tells = |text: &String| TELLING.iter().any(|word| text.to_lowercase().contains(word));
    Ok(every(text)?.into_iter().filter(tells).collect())
}
