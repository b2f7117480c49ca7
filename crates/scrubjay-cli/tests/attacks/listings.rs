//! Everything that lists takes time in step with what there is to list. Side by side: ten times the memories in about ten
//! times the time, the best of several runs, because the machine may be busy.

use crate::stage::Stage;
use crate::tally::Tally;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The smaller memory; the larger one has ten times as many. `LISTINGS` asks for more, as `suites/attacks/run.sh` does.
const FEW: usize = 200;
const TIMES: usize = 10;
/// What lies beyond in-step growth: sorting, a fuller cache, a busy machine.
const SLACK: u32 = 2;
const RUNS: usize = 3;

const LISTINGS: &[&[&str]] = &[
    &["memory", "ls"],
    &["memory", "ls", "--json"],
    &["memory", "ls", "--by", "use"],
    &["memory", "log"],
    &["memory", "log", "--json"],
    &["memory", "check"],
    &["inbox"],
    &["inbox", "--json"],
    &["recall", "when does the ferry of the harbour leave"],
    &["recall", "--json", "ferry 7"],
    &["status"],
    &["doctor"],
    &["jobs"],
    &["agents"],
    &["sessions"],
    &["export", "-"],
];

fn few() -> usize {
    std::env::var("LISTINGS").ok().and_then(|few| few.parse().ok()).unwrap_or(FEW)
}

/// The folder of memories of a stage.
fn folder(stage: &Stage) -> PathBuf {
    stage.run(&["remember", "--type", "project", "The yard is closed on 2026-11-19."]).ended_with(0);
    let projects =
        fs::read_dir(stage.home().join("projects")).or_else(|_| fs::read_dir(stage.home().join("data/projects")));
    projects.unwrap().next().unwrap().unwrap().path().join("memory")
}

/// Half of them from a vault of notes, which wait for the user, half put there by hand.
fn filled(count: usize) -> Stage {
    let stage = Stage::offline();
    let (memory, vault) = (folder(&stage), stage.project().join("vault"));
    fs::create_dir_all(&vault).unwrap();
    for number in 0..count {
        let text = format!(
            "---\nname: ferry {number}\ndescription: when ferry {number} leaves\ntype: project\n---\nFerry {number} leaves the harbour at pier {}.\n",
            number * 7
        );
        let into: &Path = if number % 2 == 0 { &memory } else { &vault };
        fs::write(into.join(format!("project_ferry_{number}.md")), text).unwrap();
    }
    stage.run(&["import", "vault"]);
    stage.run(&["memory", "ls"]).ended_with(0);
    stage
}

fn best(mut work: impl FnMut()) -> Duration {
    let one = |work: &mut dyn FnMut()| {
        let started = Instant::now();
        work();
        started.elapsed()
    };
    (0..RUNS).map(|_| one(&mut work)).min().unwrap()
}

/// Whether ten times as much took far more than ten times as long.
fn exploded(small: Duration, large: Duration) -> bool {
    large > small * u32::try_from(TIMES).unwrap() * SLACK
}

#[tokio::test(flavor = "multi_thread")]
async fn listings_grow_in_step_with_the_memories() {
    let mut tally = Tally::of("listings");
    let (small, large) = (filled(few()), filled(few() * TIMES));
    for listing in LISTINGS {
        let time = |stage: &Stage| best(|| assert!(matches!(stage.run(listing).code, Some(0 | 1 | 3)), "{listing:?}"));
        let (small, large) = (time(&small), time(&large));
        let factor = large.as_secs_f64() / small.as_secs_f64();
        println!("{listing:?}: {small:?} and {large:?}, {factor:.1} times");
        tally.tried(format!("{listing:?}: {factor:.1} times as long"), exploded(small, large));
    }
    // Every pair of them looked at: the same yardstick sees it.
    let pairs = |count: usize| {
        let names: Vec<String> = (0..count).map(|number| format!("ferry {number}")).collect();
        let same = names.iter().map(|name| names.iter().filter(|other| *other == name).count());
        assert_eq!(same.sum::<usize>(), count);
    };
    tally.control(exploded(best(|| pairs(FEW)), best(|| pairs(FEW * TIMES))));
    tally.finish();
}
