//! Real sessions replayed through the engine itself, and under other policies: what each costs.
//!
//! `cargo bench -p scrubjay --bench replay -- [--data PATH] [--part 1/2] [--rules engine|prefix] [--each]
//! [--ours] [--without-learner] [--memories N] [--limit NAME=VALUE]... [--set KEY=VALUE]...`
//!
//! `--part` takes every n-th session, `--ours` leaves the other policies out, `--each` prints our figures by session;
//! `--limit` and `--set` try another limit or setting than the engine's own. Every session has a memory and learns:
//! `--memories` puts so many into it before, `--without-learner` leaves it away. The learner is the cheapest model of the
//! same provider in the catalogue; each request is charged what it holds, and each answer at least 300 tokens.
//!
//! PATH is a folder of transcripts, or a benchmark folder that has them under `transcripts/claude-code`; the default is
//! `SCRUBJAY_BENCH_DATA`, then `../shared/bench` beside the workspace. A session is played to the engine by a model that
//! says what was said, tools that answer what they answered and a clock that stands where the record stood; everything
//! else is the product's own. Costs are in millions of plain input tokens: a cache read is 0.1, a write 1.25 for five
//! minutes and 2 for an hour, and for calls that only the engine wanted an output token 5. Each compaction puts at least
//! 3,500 tokens of summary and 10,000 of restored files into the window. An edit whose text was hidden is charged one
//! more call that reads it back. `--rules prefix` applies the simpler cache of `cache_sim.py` to the other policies, whose
//! figures then equal its own.

// The modules of a benchmark are its own.
#![allow(missing_docs, unreachable_pub, clippy::print_stdout)]

mod bill;
mod count;
mod engine;
mod learner;
mod policies;
#[path = "../fidelity/probes.rs"]
#[allow(dead_code)]
mod probes;
mod service;
mod sessions;
mod tape;
mod window;

use bill::{Outcome, RuleKind, Rules, replay};
use engine::{Ran, Setup};
use policies::{Planned, known};
use scrubjay::limits::Limits;
use scrubjay::transcript::Ttl;
use sessions::Session;
use std::path::{Path, PathBuf};
use window::OUTPUT;

struct Asked {
    data: PathBuf,
    part: Option<(usize, usize)>,
    kind: RuleKind,
    each: bool,
    only_ours: bool,
    setup: Setup,
}

fn asked() -> Asked {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bench");
    let mut asked = Asked {
        data: std::env::var_os("SCRUBJAY_BENCH_DATA").map_or_else(beside, PathBuf::from),
        part: None,
        kind: RuleKind::Engine,
        each: false,
        only_ours: false,
        setup: Setup { limits: Limits::default(), switches: Vec::new(), learner: true, memories: 0 },
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--data" => asked.data = args.next().map_or(asked.data, PathBuf::from),
            "--part" => asked.part = args.next().and_then(|text| part(&text)),
            "--rules" if args.next().as_deref() == Some("prefix") => asked.kind = RuleKind::Prefix,
            "--each" => asked.each = true,
            "--ours" => asked.only_ours = true,
            "--without-learner" => asked.setup.learner = false,
            "--memories" => asked.setup.memories = args.next().and_then(|text| text.parse().ok()).unwrap_or(0),
            "--limit" => args.next().iter().for_each(|text| asked.limit(text)),
            "--set" => asked.setup.switches.extend(args.next().as_deref().and_then(pair)),
            _ => {}
        }
    }
    asked
}

fn pair(text: &str) -> Option<(String, String)> {
    text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
}

fn part(text: &str) -> Option<(usize, usize)> {
    let (which, of) = text.split_once('/')?;
    Some((which.parse::<usize>().ok()?.checked_sub(1)?, of.parse().ok()?))
}

impl Asked {
    fn limit(&mut self, text: &str) {
        let Some((name, value)) = pair(text) else { return println!("--limit {text}: NAME=VALUE is wanted") };
        let Ok(value) = value.parse() else { return println!("--limit {text}: a number is wanted") };
        if let Err(error) = self.setup.limits.set(&name, value) {
            println!("--limit {text}: {error}");
        }
    }
}

fn main() -> Result<(), engine::Failure> {
    let asked = asked();
    let inner = asked.data.join("transcripts/claude-code");
    let folder = if inner.is_dir() { inner } else { asked.data.clone() };
    let Ok((mut sessions, skipped)) = sessions::load(&folder) else {
        println!("no transcripts in {}: nothing was measured. Name a folder with --data PATH.", folder.display());
        return Ok(());
    };
    if let Some((which, of)) = asked.part {
        let mut at = 0..;
        sessions.retain(|_| at.next().is_some_and(|at: usize| at % of.max(1) == which));
    }
    let calls: usize = sessions.iter().map(|session| session.steps.len()).sum();
    println!("{} sessions, {calls} calls ({skipped} files could not be replayed)\n", sessions.len());
    if sessions.is_empty() {
        return Ok(());
    }
    report(sessions, &asked)
}

fn report(sessions: Vec<Session>, asked: &Asked) -> Result<(), engine::Failure> {
    println!(
        "| policy | cost | incl. re-reads | vs append | worst session | hit rate | peak window | compactions | edits hidden |\n|---|---|---|---|---|---|---|---|---|"
    );
    let five = Rules { kind: asked.kind, ttl: Ttl::FiveMinutes };
    let hour = Rules { ttl: Ttl::OneHour, ..five };
    let planned = |plan, rules| -> Vec<Outcome> {
        sessions.iter().map(|it| replay(it, &mut Planned::new(it.base, it.ratio, plan), rules)).collect()
    };
    let append = planned(policies::Plan::default(), five);
    for (name, plan) in known().into_iter().filter(|_| !asked.only_ours) {
        line(name, &planned(plan, five), &append);
        line(&format!("{name}, 1 h"), &planned(plan, hour), &append);
    }
    let counted = count::errors(&sessions)?;
    let shapes: Vec<(String, usize, u64)> =
        sessions.iter().map(|session| (session.name.clone(), session.steps.len(), session.base)).collect();
    let ran: Vec<Ran> =
        sessions.into_iter().map(|session| engine::run(session, &asked.setup)).collect::<Result<_, _>>()?;
    let ours: Vec<Outcome> = ran.iter().map(|ran| ran.outcome.clone()).collect();
    line("**scrubjay**", &ours, &append);
    let odd = |list: &[Outcome], rest: usize| -> Vec<Outcome> {
        list.iter().enumerate().filter(|(at, _)| at % 2 == rest).map(|(_, one)| one.clone()).collect()
    };
    for rest in [0, 1] {
        line(&format!("scrubjay, half {} of the sessions", rest + 1), &odd(&ours, rest), &odd(&append, rest));
    }
    tell(&ran, &counted);
    tell_learner(&ran);
    fidelity(&ran)?;
    if asked.each {
        tell_each(&shapes, &ran, &append);
    }
    Ok(())
}

fn tell(ran: &[Ran], counted: &[f64]) {
    let ours: Vec<Outcome> = ran.iter().map(|ran| ran.outcome.clone()).collect();
    let all = sum(&ours);
    println!(
        "\nscrubjay's own calls: {} for {:.2}; stored {}, cleared {}, noted {} ({} by the model); calls that wrote for an hour {}",
        all.own_calls,
        all.own / 1e6,
        ran.iter().map(|ran| ran.stored).sum::<usize>(),
        ran.iter().map(|ran| ran.cleared).sum::<usize>(),
        ran.iter().map(|ran| ran.noted).sum::<usize>(),
        ran.iter().map(|ran| ran.written).sum::<usize>(),
        all.hours
    );
    let quantile = |share: f64| counted.get((share * counted.len() as f64) as usize).copied().unwrap_or_default();
    println!(
        "its count of the recorded requests, before each call after the first answer: off by {:.2} % in the mean, 95 % of {} \
         within {:.1} %",
        100.0 * counted.iter().sum::<f64>() / counted.len().max(1) as f64,
        counted.len(),
        100.0 * quantile(0.95)
    );
}

/// A part of what a session cost.
type Base = fn(&Outcome) -> f64;

/// What learning cost against the rest: what was read and written, and the part of it that was read.
fn tell_learner(ran: &[Ran]) {
    let ours: Vec<Outcome> = ran.iter().map(|ran| ran.outcome.clone()).collect();
    let all = sum(&ours);
    if all.learner_calls == 0 {
        return println!("learner: never asked");
    }
    let read = |one: &Outcome| one.cost;
    let whole = |one: &Outcome| one.cost + OUTPUT * one.written as f64;
    println!(
        "learner: {} calls for {:.3}, {} tokens of input in the mean; {} memories kept, {} of them unconfirmed",
        all.learner_calls,
        all.learner / 1e6,
        all.learner_input / all.learner_calls,
        ran.iter().map(|ran| ran.kept).sum::<usize>(),
        ran.iter().map(|ran| ran.unconfirmed).sum::<usize>(),
    );
    let bases: [(&str, Base); 2] =
        [("the conversation's input and output", whole), ("its input alone, as in the table", read)];
    for (name, base) in bases {
        let shares: Vec<f64> = ours.iter().map(|one| 100.0 * one.learner / base(one)).collect();
        println!(
            "  of {name}: {:.2} % in total, {:.2} % in the mean over sessions, {:.2} % at worst",
            100.0 * all.learner / base(&all),
            shares.iter().sum::<f64>() / shares.len().max(1) as f64,
            shares.iter().copied().fold(0.0, f64::max)
        );
    }
}

fn tell_each(shapes: &[(String, usize, u64)], ran: &[Ran], append: &[Outcome]) {
    println!();
    for (((name, calls, base), ran), append) in shapes.iter().zip(ran).zip(append) {
        let ours = &ran.outcome;
        println!(
            "{name:<46} calls {calls:>4} base {base:>6} append {:.2} ratio {:.3} own {:.3} learner {:.4} ({}) compactions {} hidden {}/{} cleared {} stored {} noted {}",
            append.all() / 1e6,
            ours.all() / append.all(),
            ours.own / append.all(),
            ours.learner / append.all(),
            ours.learner_calls,
            ours.compactions,
            ours.edits_hidden,
            ours.edits,
            ran.cleared,
            ran.stored,
            ran.noted,
        );
    }
}

/// What survived the compactions of this run: in the summaries alone, and in what the next requests carried.
fn fidelity(ran: &[Ran]) -> Result<(), engine::Failure> {
    let probes = probes::Probes::new()?;
    let mut boards: [[Vec<f64>; 4]; 2] = Default::default();
    let (mut count, mut chars) = (0, 0);
    for ran in ran.iter().filter(|ran| !ran.carried.is_empty()) {
        let records = probes::load(&ran.path)?;
        for (at, (cut, carried)) in ran.carried.iter().enumerate() {
            let start = if at == 0 { 0 } else { ran.carried[at - 1].0 };
            let end = ran.carried.get(at + 1).map_or(records.len(), |next| next.0);
            let (before, after) = (&records[start..*cut], &records[*cut..end]);
            let point = probes::Point { before, after, theirs: String::new() };
            for (board, text) in boards.iter_mut().zip([&carried.summary, &carried.all]) {
                board.iter_mut().zip(probes.score(&point, text)).for_each(|(column, score)| column.extend(score));
            }
            count += 1;
            chars += carried.summary.chars().count();
        }
    }
    println!("fidelity at its {count} compactions, whose summaries have {} characters:", chars / count.max(1));
    for (name, board) in ["the summary alone", "what the next request carries"].iter().zip(boards) {
        if board.iter().all(Vec::is_empty) {
            println!("  {name}: these records have nothing to probe");
            continue;
        }
        let means = board.each_ref().map(|column| column.iter().sum::<f64>() / column.len().max(1) as f64);
        let names = ["files_future", "files_edited", "user_msgs", "user_future"];
        let cells: Vec<String> = names.iter().zip(means).map(|(name, mean)| format!("{name} {mean:.3}")).collect();
        println!("  {name}: {}, mean fidelity {:.3}", cells.join(", "), means.iter().sum::<f64>() / 4.0);
    }
    Ok(())
}

fn sum(list: &[Outcome]) -> Outcome {
    let mut all = Outcome::default();
    list.iter().for_each(|outcome| all.add(outcome));
    all
}

fn line(name: &str, outcomes: &[Outcome], append: &[Outcome]) {
    let (all, reference) = (sum(outcomes), sum(append));
    let worst = outcomes.iter().zip(append).map(|(one, other)| one.all() / other.all()).fold(0.0, f64::max);
    println!(
        "| {name} | {:.1} | {:.1} | {:.3}x | {worst:.3}x | {:.4} | {} | {} | {}/{} ({:.1} %) |",
        (all.cost + all.own + all.learner) / 1e6,
        all.all() / 1e6,
        all.all() / reference.all(),
        all.read as f64 / all.total as f64,
        all.peak,
        all.compactions,
        all.edits_hidden,
        all.edits,
        100.0 * all.edits_hidden as f64 / all.edits.max(1) as f64,
    );
}
