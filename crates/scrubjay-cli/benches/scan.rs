//! A scan of real sessions, from the start of the process to its answer, against parsing the same bytes line by line.
//!
//! `cargo bench -p scrubjay-cli --bench scan -- [--data PATH]`
//!
//! PATH is a benchmark folder with `transcripts/claude-code` and `transcripts/codex`; the default is `SCRUBJAY_BENCH_DATA`, then
//! `../shared/bench` beside the workspace. What is compressed there is unpacked first, as agents keep it. Both read with
//! as many threads as there are processors, in turn.

use flate2::read::MultiGzDecoder;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const ROUNDS: usize = 15;
const SCRUBJAY: &str = env!("CARGO_BIN_EXE_scrubjay");

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut words = std::env::args().skip_while(|word| word != "--data").skip(1);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bench");
    let data = words.next().or_else(|| std::env::var("SCRUBJAY_BENCH_DATA").ok()).map_or_else(beside, PathBuf::from);
    let held = tempfile::tempdir()?;
    let mut files = Vec::new();
    for agent in ["claude-code", "codex"] {
        unpack(&data.join("transcripts").join(agent), &held.path().join(agent), &mut files)?;
    }
    if files.is_empty() {
        println!("no transcripts in {}: nothing was measured. Name a folder with --data PATH.", data.display());
        return Ok(());
    }
    let mut bytes = 0;
    for file in &files {
        bytes += fs::metadata(file)?.len();
    }
    println!("{} files, {:.1} MB; medians and least of {ROUNDS} rounds in turn\n", files.len(), bytes as f64 / 1e6);
    let mut times: [Vec<Duration>; 3] = Default::default();
    for _ in 0..ROUNDS {
        times[0].push(scan(held.path())?);
        times[1].push(parse(&files, |line| drop(serde_json::from_slice::<Value>(line))));
        times[2].push(parse(&files, |line| drop(serde_json::from_slice::<IgnoredAny>(line))));
    }
    let names =
        ["scrubjay scan, the whole process", "serde_json, every line to a value", "serde_json, every line checked"];
    times.iter_mut().for_each(|times| times.sort_unstable());
    for (at, name) in names.iter().enumerate() {
        let (median, least) = (times[at][ROUNDS / 2], times[at][0]);
        println!("{name:<36} {median:>9.2?} {least:>9.2?}");
    }
    let ratio = |place: usize| times[0][place].as_secs_f64() / times[1][place].as_secs_f64();
    println!(
        "\na scan takes {:.2} times as long as parsing to values (least {:.2}); goal: 2",
        ratio(ROUNDS / 2),
        ratio(0)
    );
    Ok(())
}

fn unpack(from: &Path, to: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let Ok(listed) = fs::read_dir(from) else { return Ok(()) };
    fs::create_dir_all(to)?;
    for entry in listed {
        let path = entry?.path();
        let mut text = Vec::new();
        MultiGzDecoder::new(File::open(&path)?).read_to_end(&mut text)?;
        let file = to.join(path.file_stem().unwrap_or_default());
        fs::write(&file, text)?;
        files.push(file);
    }
    Ok(())
}

fn scan(folder: &Path) -> Result<Duration, Failure> {
    let begun = Instant::now();
    let mut command = Command::new(SCRUBJAY);
    command.args(["scan", "--json", "--path"]).arg(folder).env("SCRUBJAY_HOME", folder.join("home"));
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    let taken = begun.elapsed();
    if status.success() { Ok(taken) } else { Err(format!("the scan failed: {status}").into()) }
}

fn parse(files: &[PathBuf], line: impl Fn(&[u8]) + Sync) -> Duration {
    let begun = Instant::now();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let text = fs::read(file).unwrap_or_default();
            text.split(|byte| *byte == b'\n').for_each(&line);
        }
    };
    let hands = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| (0..hands).for_each(|_| drop(scope.spawn(work))));
    begun.elapsed()
}
