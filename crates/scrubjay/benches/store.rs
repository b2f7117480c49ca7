//! What it costs to open a memory of many files, cold and warm, and to save one memory into it; beside a plain read of the
//! same files and beside ripgrep reading them, where it is installed. The system has the files in its cache; cold means that
//! we have nothing in ours.
//!
//! `cargo bench -p scrubjay --bench store -- [files] [folder] [path of rg]`

use jiff::Timestamp;
use scrubjay::clock::Clock;
use scrubjay::limits::Limits;
use scrubjay::memory::{Cause, Change, Edit, Memory, Place};
use scrubjay::paths::Layout;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    let files: usize = words.next().map_or(Ok(100_000), |count| count.parse())?;
    let held = words.next().map_or_else(tempfile::tempdir, tempfile::tempdir_in)?;
    let rg = words.next().unwrap_or_else(|| "rg".to_owned());
    let limits = Limits::default();
    let place = Place::of(&Layout::at(held.path()).project(Path::new("/bench"), &limits));
    std::fs::create_dir_all(&place.memory)?;
    for n in 0..files {
        std::fs::write(place.memory.join(format!("project_{n:06}.md")), text(n))?;
    }
    let open = || Memory::open(&place, Arc::new(Noon), &limits);
    let (plain, bytes) = timed(|| read_all(&place.memory))?;
    println!("{files} files, {bytes} bytes");
    println!("plain read of all of them   {plain}");
    let searched = timed(|| search_all(&rg, &place.memory)).map(|(took, ())| took);
    match &searched {
        Ok(took) => println!("ripgrep through all of them {took}"),
        Err(error) => println!("ripgrep through all of them cannot be tried: {error}"),
    }
    let (first, _) = timed(open)?;
    println!("first open (index made)     {first}");
    std::fs::remove_file(place.journal.join("headers"))?;
    let (cold, _) = timed(open)?;
    println!("cold open (nothing cached)  {cold}");
    if let Ok(searched) = searched {
        let ratio = cold.wall.as_secs_f64() / searched.wall.as_secs_f64();
        println!("cold open against ripgrep   {ratio:>9.2} times");
    }
    for round in 1..=3 {
        let (warm, (memory, _)) = timed(open)?;
        println!("warm open {round}                 {warm}  ({} files read)", memory.scan().read);
    }
    let (mut memory, _) = open()?;
    let mut saves = Vec::new();
    for n in 0..20 {
        let edits = vec![Edit::create(format!("bench_{n}.md"), text(n))];
        saves.push(timed(|| memory.commit(Change { cause: Cause::Person, edits }))?.0);
    }
    saves.sort();
    println!("one durable save, median    {}", saves[saves.len() / 2]);
    println!("largest resident size       {:>7} MB", peak_kilobytes()? / 1024);
    Ok(())
}

fn text(n: usize) -> String {
    format!(
        "---\nname: Decision {n}\ndescription: what was decided about part {n} of the work, and until when it holds\n\
         type: project\n---\nPart {n} is built before part {}.\n\n**Why:** it is needed first.\n\n\
         **How to apply:** when planning, look at part {n} before anything that depends on it.\n",
        n + 1
    )
}

fn read_all(dir: &Path) -> std::io::Result<usize> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        bytes += std::fs::read(entry?.path())?.len();
    }
    Ok(bytes)
}

/// A search that finds nothing reads everything.
fn search_all(rg: &str, dir: &Path) -> std::io::Result<()> {
    const NOTHING_FOUND: i32 = 1;
    let status = std::process::Command::new(rg).args(["-uuu", "no such words anywhere"]).arg(dir).status()?;
    if status.code() == Some(NOTHING_FOUND) { Ok(()) } else { Err(std::io::Error::other(status.to_string())) }
}

/// Wall clock and processor time; the second is what counts on a machine that others use too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Took {
    wall: Duration,
    processor: Duration,
}

impl std::fmt::Display for Took {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:>10.2?} wall {:>8.2?} processor", self.wall, self.processor)
    }
}

fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(Took, T), E> {
    let (start, before) = (Instant::now(), processor());
    let done = work()?;
    Ok((Took { wall: start.elapsed(), processor: processor().saturating_sub(before) }, done))
}

/// User and system time of this process and those it waited for, in the system's ticks of ten milliseconds.
fn processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

fn peak_kilobytes() -> Result<u64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
