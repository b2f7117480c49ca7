//! Real sessions replayed: what they would have cost under the engine's policy and under others.
//!
//! `cargo bench -p scrubjay --bench replay -- [--data PATH] [--part 1/2] [--rules engine|prefix] [--each]
//! [--ours] [--with NAME=VALUE]...`
//!
//! `--part` takes every n-th session, `--ours` leaves the other policies out, `--each` prints our figures by session, and
//! `--with` changes a limit of the engine or a knob of the benchmark.
//!
//! PATH is a folder of transcripts, or a benchmark folder that has them under `transcripts/claude-code`; the default is
//! `SCRUBJAY_BENCH_DATA`, then `../shared/bench` beside the workspace. Costs are in millions of plain input tokens: a
//! cache read is 0.1, a write 1.25 for five minutes and 2 for an hour, an output token 5. Each compaction puts 3,500
//! tokens of summary and 10,000 of restored files into the window. An edit whose text the policy had hidden is charged
//! one more call that reads it back. `--rules prefix` applies the simpler cache of `cache_sim.py`, whose figures these
//! then equal.

// The modules of a benchmark are its own.
#![allow(missing_docs, unreachable_pub, clippy::print_stdout)]

mod bill;
mod ours;
mod policies;
mod sessions;
mod window;

use bill::{Outcome, RuleKind, Rules, replay};
use ours::{Knobs, Lifetime, Notes, Ours};
use policies::{Planned, known};
use scrubjay::limits::Limits;
use scrubjay::transcript::Ttl;
use sessions::Session;
use std::path::{Path, PathBuf};

struct Asked {
    data: PathBuf,
    part: Option<(usize, usize)>,
    kind: RuleKind,
    each: bool,
    only_ours: bool,
    limits: Limits,
    knobs: Knobs,
}

fn asked() -> Asked {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bench");
    let mut asked = Asked {
        data: std::env::var_os("SCRUBJAY_BENCH_DATA").map_or_else(beside, PathBuf::from),
        part: None,
        kind: RuleKind::Engine,
        each: false,
        only_ours: false,
        limits: Limits::default(),
        knobs: Knobs::default(),
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--data" => asked.data = args.next().map_or(asked.data, PathBuf::from),
            "--part" => asked.part = args.next().and_then(|text| part(&text)),
            "--rules" if args.next().as_deref() == Some("prefix") => asked.kind = RuleKind::Prefix,
            "--each" => asked.each = true,
            "--ours" => asked.only_ours = true,
            "--with" => args.next().iter().for_each(|text| asked.change(text)),
            _ => {}
        }
    }
    asked
}

fn part(text: &str) -> Option<(usize, usize)> {
    let (which, of) = text.split_once('/')?;
    Some((which.parse::<usize>().ok()?.checked_sub(1)?, of.parse().ok()?))
}

impl Asked {
    fn change(&mut self, text: &str) {
        let Some((name, value)) = text.split_once('=') else { return println!("--with {text}: NAME=VALUE is wanted") };
        let Ok(value) = value.parse() else { return println!("--with {text}: a number is wanted") };
        if self.knobs.set(name, value).is_none()
            && let Err(error) = self.limits.set(name, value)
        {
            println!("--with {text}: {error}");
        }
    }
}

fn main() {
    let asked = asked();
    let inner = asked.data.join("transcripts/claude-code");
    let folder = if inner.is_dir() { inner } else { asked.data.clone() };
    let Ok((mut sessions, skipped)) = sessions::load(&folder) else {
        println!("no transcripts in {}: nothing was measured. Name a folder with --data PATH.", folder.display());
        return;
    };
    if let Some((which, of)) = asked.part {
        let mut at = 0..;
        sessions.retain(|_| at.next().is_some_and(|at: usize| at % of.max(1) == which));
    }
    let calls: usize = sessions.iter().map(|session| session.steps.len()).sum();
    println!("{} sessions, {calls} calls ({skipped} files could not be replayed)\n", sessions.len());
    if sessions.is_empty() {
        return;
    }
    report(&sessions, &asked);
}

fn report(sessions: &[Session], asked: &Asked) {
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
    let ours = |knobs: Knobs| -> Vec<Outcome> {
        let policy = |it: &Session| Ours::new(it.base, it.ratio, knobs, asked.limits.clone());
        sessions.iter().map(|it| replay(it, &mut policy(it), five)).collect()
    };
    let usual = asked.knobs;
    let table = [
        ("**scrubjay**", usual),
        ("scrubjay, every compaction charged a summariser", Knobs { notes: Notes::Charged, ..usual }),
        ("scrubjay, five minutes for all", Knobs { lifetime: Lifetime::FiveMinutes, ..usual }),
        ("scrubjay, notes kept by the same model", Knobs { notes: Notes::ByModel, ..usual }),
        (
            "scrubjay, five minutes for all and every compaction charged",
            Knobs { notes: Notes::Charged, lifetime: Lifetime::FiveMinutes, ..usual },
        ),
    ];
    for (name, knobs) in table {
        line(name, &ours(knobs), &append);
    }
    if asked.each {
        println!();
        for ((session, ours), append) in sessions.iter().zip(ours(usual)).zip(&append) {
            println!(
                "{:<46} calls {:>4} base {:>6} ratio {:.3} compactions {} hidden {}/{} hours {}",
                session.name,
                session.steps.len(),
                session.base,
                ours.all() / append.all(),
                ours.compactions,
                ours.edits_hidden,
                ours.edits,
                ours.hours
            );
        }
    }
}

fn line(name: &str, outcomes: &[Outcome], append: &[Outcome]) {
    let sum = |list: &[Outcome]| {
        let mut all = Outcome::default();
        list.iter().for_each(|outcome| all.add(outcome));
        all
    };
    let (all, reference) = (sum(outcomes), sum(append));
    let worst = outcomes.iter().zip(append).map(|(one, other)| one.all() / other.all()).fold(0.0, f64::max);
    println!(
        "| {name} | {:.1} | {:.1} | {:.3}x | {worst:.3}x | {:.4} | {} | {} | {}/{} ({:.1} %) |",
        all.cost / 1e6,
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
