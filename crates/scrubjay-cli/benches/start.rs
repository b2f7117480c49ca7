//! From the start of the process to the answer, over a memory of so many files; beside ripgrep, which reads them all.
//!
//! `cargo bench -p scrubjay-cli --bench start -- [memories] [path of rg]`

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 41;
const SCRUBJAY: &str = env!("CARGO_BIN_EXE_scrubjay");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    let memories: usize = words.next().map_or(Ok(1_000), |count| count.parse())?;
    let rg = words.next().unwrap_or_else(|| "rg".to_owned());
    let held = tempfile::tempdir()?;
    let (home, project) = (held.path().join("home"), held.path().join("project"));
    std::fs::create_dir_all(&project)?;
    let ours = |words: &[&str]| {
        let mut command = Command::new(SCRUBJAY);
        command.args(words).env("SCRUBJAY_HOME", &home).env("NO_COLOR", "1").current_dir(&project);
        command
    };
    done(&mut ours(&["remember", "Never mock the database"]))?;
    let memory = find_memory(&home)?;
    for n in 0..memories {
        std::fs::write(memory.join(format!("project_{n:06}.md")), text(n))?;
    }
    let first = timed(&mut ours(&["recall", "mock", "database"]))?;
    println!("{memories} memories; medians of {ROUNDS} runs, one after the other in turn\n");
    println!("scrubjay recall, the first time      {first:>9.2?}  (every file read, index built)");
    let theirs = |words: &[&str]| {
        let mut command = Command::new(&rg);
        command.args(words).current_dir(&project);
        command
    };
    let has_rg = theirs(&["--version"]).stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    let folder = memory.display().to_string();
    let mut rows = vec![
        ("scrubjay --version, its own start", ours(&["--version"])),
        ("scrubjay recall", ours(&["recall", "mock", "database"])),
    ];
    if has_rg {
        rows.push(("rg --version, its own start", theirs(&["--version"])));
        rows.push(("rg, the same words in the same files", theirs(&["-i", "mock.*database", &folder])));
    }
    let mut times = vec![Vec::new(); rows.len()];
    for _ in 0..ROUNDS {
        for ((_, command), times) in rows.iter_mut().zip(&mut times) {
            times.push(timed(command)?);
        }
    }
    let medians: Vec<Duration> = times.iter_mut().map(|times| median(times)).collect();
    for ((name, _), median) in rows.iter().zip(&medians) {
        println!("{name:<36} {median:>9.2?}");
    }
    match medians.as_slice() {
        [_, recall, start, search] => {
            let ratio = |other: &Duration| recall.as_secs_f64() / other.as_secs_f64();
            println!("\nrecall is {:.1} times rg's own start and {:.2} times its search", ratio(start), ratio(search));
        }
        _ => println!("\nno rg here to compare with: `cargo install ripgrep`, or name its path"),
    }
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

/// The folder in which the first memory landed.
fn find_memory(home: &Path) -> Result<std::path::PathBuf, Box<dyn std::error::Error>> {
    for project in std::fs::read_dir(home.join("data/projects"))? {
        let memory = project?.path().join("memory");
        if memory.is_dir() {
            return Ok(memory);
        }
    }
    Err("nothing was remembered".into())
}

fn done(command: &mut Command) -> Result<(), Box<dyn std::error::Error>> {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}").into()) }
}

fn timed(command: &mut Command) -> Result<Duration, Box<dyn std::error::Error>> {
    let begun = Instant::now();
    done(command)?;
    Ok(begun.elapsed())
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
