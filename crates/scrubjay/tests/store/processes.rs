//! Real processes that are killed, race each other, run out of disk, or edit by hand; and the naive way, which fails.

use crate::bench::{Bench, in_order, memory_text, save, try_save};
use scrubjay::limits::Limits;
use scrubjay::memory::{Basis, Cause, Change, ChangeId, Edit, Memory, MemoryError, Place};
use scrubjay::paths::Layout;
use scrubjay_testkit::FixedClock;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read as _, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a helper process does, over and over, saying so after each.
#[derive(Clone, Copy)]
pub(crate) enum Job {
    /// Save memories through the engine.
    Save,
    /// Write files and a line of the index by hand, as one would without thinking.
    Naive,
    /// Save ever larger memories until something refuses.
    Fill,
    /// The same in place.
    FillNaively,
    /// One operation, named by the child's name; `suites/faults` interrupts it everywhere.
    Once,
    /// Put a memory in order and say what is in it.
    Look,
    /// Open a memory and say what can be read of it.
    Read,
}

impl Job {
    const ALL: [(&str, Job); 7] = [
        ("save", Job::Save),
        ("naive", Job::Naive),
        ("fill", Job::Fill),
        ("fill-naively", Job::FillNaively),
        ("once", Job::Once),
        ("look", Job::Look),
        ("read", Job::Read),
    ];

    fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}

fn place(data: &Path) -> Place {
    Place::of(&Layout::at(data).project(Path::new("/home/ada/birds"), &Limits::default()))
}

/// Long enough to be written in several pieces by whoever writes in pieces, with an end one can see.
fn body(name: &str) -> String {
    memory_text(name, "d", &format!("{}\nend of {name}", "word ".repeat(2_000)))
}

/// The helper process itself; as a test it does nothing.
#[test]
fn child() {
    let (Ok(data), Ok(name), Ok(job)) =
        (std::env::var("CHILD_DATA"), std::env::var("CHILD_NAME"), std::env::var("CHILD_JOB"))
    else {
        return;
    };
    let place = place(Path::new(&data));
    let job = Job::ALL.iter().find(|(known, _)| *known == job).unwrap().1;
    match job {
        Job::Once => {
            begin();
            return once(&place, &name);
        }
        Job::Look => return look(&place),
        Job::Read => return read(&place),
        _ => {}
    }
    let count = std::env::var("CHILD_COUNT").map_or(100_000, |count| count.parse().unwrap());
    let mut memory = match job {
        Job::Save | Job::Fill => {
            Some(Memory::open(&place, Arc::new(FixedClock::default()), &Limits::default()).unwrap().0)
        }
        _ => None,
    };
    println!("ready");
    for n in 0..count {
        let path = format!("{name}_{n}.md");
        let done = match (job, &mut memory) {
            (Job::Save, Some(memory)) => {
                try_save(memory, &path, &body(&path)).map(drop).map_err(|error| error.to_string())
            }
            (Job::Fill, Some(memory)) => {
                try_save(memory, "big.md", &"word ".repeat(500 * (n + 1))).map(drop).map_err(|error| error.to_string())
            }
            (Job::FillNaively, _) => naive_write(&place.memory.join("big.md"), &"word ".repeat(500 * (n + 1))),
            _ => naive_save(&place.memory, &path),
        };
        match done {
            Ok(()) => println!("acked {path}"),
            Err(error) => {
                println!("refused {error}");
                return;
            }
        }
    }
}

/// Say that an operation begins. Calls are counted for each thread, and whoever started this one has made some already, so that
/// the same number would strike there first: as many are made here before, and every call of the operation has a number of its own.
fn begin() {
    for _ in 0..32 {
        let mut file = std::fs::File::options().read(true).write(true).open("/dev/null").unwrap();
        file.read_to_end(&mut Vec::new()).unwrap();
        file.write_all(b"x").unwrap();
        file.metadata().unwrap();
        rustix::fs::fstat(&file).unwrap();
        rustix::fs::statat(rustix::fs::CWD, "/dev/null", rustix::fs::AtFlags::empty()).unwrap();
    }
    println!("\nbegins");
}

/// One operation, acknowledged or refused.
fn once(place: &Place, operation: &str) {
    let done = if operation == "naive" {
        naive_save(&place.memory, "new.md")
    } else {
        try_once(place, operation).map_err(|error| error.to_string())
    };
    match done {
        Ok(()) => println!("acked {operation}"),
        Err(error) => println!("refused {error}"),
    }
}

fn try_once(place: &Place, operation: &str) -> Result<(), MemoryError> {
    let (mut memory, repairs) = Memory::open(place, Arc::new(FixedClock::default()), &Limits::default())?;
    if let Some(refused) = repairs.refused {
        return Err(std::io::Error::other(refused).into());
    }
    let text = |path: &str| memory.read(path).map(|(entry, _)| entry);
    let edits = match operation {
        "open" => return Ok(()),
        "new" => vec![Edit::create("new.md", body("new.md"))],
        "overwrite" => vec![Edit::update(&text("m0.md")?, body("m0.md") + "more\n")],
        "remove" => vec![Edit::remove(&text("m0.md")?)],
        "together" => vec![
            Edit::create("new.md", body("new.md")),
            Edit::update(&text("m0.md")?, body("m0.md") + "more\n"),
            Edit::remove(&text("m1.md")?),
        ],
        "tainted" => vec![Edit::create("new.md", body("new.md")).resting_on(Basis::of(Vec::new()))],
        // The change in which the suite renamed the memories by hand.
        "undo" => return memory.undo(ChangeId(4)).map(drop),
        "many" => (0..100).map(|n| Edit::create(format!("{}_{n}.md", ["a", "sub/b"][n % 2]), "x\n")).collect(),
        "none" => memory.list().map(Edit::remove).collect(),
        other => panic!("there is no operation {other}"),
    };
    memory.commit(Change { cause: Cause::Dream, edits }).map(drop)
}

/// What is in a memory once it was opened, one line a file, and whether everything is in order.
fn look(place: &Place) {
    let (mut memory, _) = Memory::open(place, Arc::new(FixedClock::default()), &Limits::default()).unwrap();
    in_order(&mut memory);
    // The test harness has begun a line of its own.
    println!();
    let unconfirmed: Vec<String> = memory.unconfirmed().map(|entry| entry.path.clone()).collect();
    for entry in std::fs::read_dir(&place.memory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let bytes = std::fs::read(entry.path()).unwrap();
        let mark = if unconfirmed.contains(&name) { "?" } else { "" };
        println!("file {name}{mark} {}", scrubjay::digest::Digest::of(&bytes).as_str());
    }
    println!("looked");
}

/// What can be read of a memory, whether or not it can be put in order.
fn read(place: &Place) {
    let (memory, repairs) = Memory::open(place, Arc::new(FixedClock::default()), &Limits::default()).unwrap();
    println!("\nrefused {}", repairs.refused.unwrap_or_default());
    for entry in memory.list() {
        let whole = memory.read(&entry.path).unwrap().1.body.ends_with(&format!("end of {}\n", entry.path));
        println!("read {} {whole}", entry.path);
    }
}

fn naive_write(path: &Path, text: &str) -> Result<(), String> {
    let mut file = std::fs::File::create(path).map_err(|error| error.to_string())?;
    text.as_bytes().chunks(512).try_for_each(|chunk| file.write_all(chunk)).map_err(|error| error.to_string())
}

fn naive_save(dir: &Path, path: &str) -> Result<(), String> {
    naive_write(&dir.join(path), &body(path))?;
    let index = std::fs::read_to_string(dir.join("MEMORY.md")).unwrap_or_default();
    naive_write(&dir.join("MEMORY.md"), &format!("{index}- [{path}]({path}) — d\n"))
}

pub(crate) fn helper(bench: &Bench, job: Job, name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["processes::child", "--exact", "--nocapture"])
        .env("CHILD_DATA", bench.held.path().join("data"))
        .env("CHILD_NAME", name)
        .env("CHILD_JOB", job.name())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

pub(crate) fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok)
}

fn acks(lines: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    lines.filter_map(|line| line.strip_prefix("acked ").map(str::to_owned))
}

/// Start some, kill each after some acknowledgements, and say what was acknowledged.
fn kill_at_random(bench: &Bench, job: Job, rounds: u64) -> BTreeSet<String> {
    let mut acked = BTreeSet::new();
    let mut dice = 12_345_u64;
    for round in 0..rounds {
        let mut listeners = Vec::new();
        for n in 0..4 {
            let mut child = helper(bench, job, &format!("r{round}w{n}")).spawn().unwrap();
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (enough, moment) = (1 + (dice >> 33) % 5, (dice >> 40) % 9_000);
            listeners.push(std::thread::spawn(move || {
                let heard: Vec<String> = acks(lines(&mut child)).take(usize::try_from(enough).unwrap()).collect();
                // Somewhere within the next save, not right after this one.
                std::thread::sleep(std::time::Duration::from_micros(moment));
                child.kill().unwrap();
                child.wait().unwrap();
                heard
            }));
        }
        acked.extend(listeners.into_iter().flat_map(|listener| listener.join().unwrap()));
    }
    acked
}

/// Memories that are not whole.
fn torn(bench: &Bench) -> Vec<String> {
    let names = bench.files().into_iter().filter(|name| name != "MEMORY.md");
    names.filter(|name| bench.file(name) != Some(body(name))).collect()
}

/// Memories that the index does not have, and the other way round.
fn out_of_step(bench: &Bench) -> usize {
    let index = bench.file("MEMORY.md").unwrap_or_default();
    let pointers: BTreeSet<String> =
        index.lines().filter_map(|line| Some(line.split_once("](")?.1.split_once(')')?.0.to_owned())).collect();
    let files: BTreeSet<String> = bench.files().into_iter().filter(|name| name != "MEMORY.md").collect();
    pointers.symmetric_difference(&files).count()
}

// safety: SG2
// safety: F-10
// safety: F-12
// safety: F-20
// spec: D10
#[test]
fn writers_killed_at_random_lose_nothing_that_was_acknowledged() {
    let bench = Bench::new();
    let acked = kill_at_random(&bench, Job::Save, 8);
    assert!(acked.len() >= 32, "{}", acked.len());
    let (mut memory, _) = bench.try_open().unwrap();
    let files: BTreeSet<String> = bench.files().into_iter().collect();
    let lost: Vec<_> = acked.iter().filter(|name| !files.contains(*name)).collect();
    assert_eq!((lost, torn(&bench)), (vec![], vec![]));
    assert_eq!(out_of_step(&bench), 0);
    in_order(&mut memory);
    let edited: usize = memory.log().unwrap().iter().map(|change| change.edits.len()).sum();
    assert_eq!(edited, files.len() - 1, "nothing happened twice, and nobody was taken for an editor");
}

// safety: SG2
#[test]
fn naive_writers_killed_at_random_leave_ruins() {
    let bench = Bench::new();
    std::fs::create_dir_all(&bench.place.memory).unwrap();
    let damaged = (0..20).any(|_| {
        kill_at_random(&bench, Job::Naive, 1);
        !torn(&bench).is_empty() || out_of_step(&bench) > 0
    });
    assert!(damaged, "the harness would not notice");
}

/// Eight processes at once, each with so many saves to make; what they acknowledged.
fn all_at_once(bench: &Bench, job: Job, saves: usize) -> usize {
    let start = |n: usize| helper(bench, job, &format!("w{n}")).env("CHILD_COUNT", saves.to_string()).spawn().unwrap();
    let mut children: Vec<Child> = (0..8).map(start).collect();
    children
        .iter_mut()
        .map(|child| {
            let count = acks(lines(child)).count();
            assert!(child.wait().unwrap().success());
            count
        })
        .sum()
}

// safety: SG6
// safety: F-11
// spec: N2
#[test]
fn eight_writers_at_once_lose_nothing() {
    let bench = Bench::new();
    let saves = 12;
    assert_eq!(all_at_once(&bench, Job::Save, saves), 8 * saves);
    assert_eq!((bench.files().len(), torn(&bench), out_of_step(&bench)), (8 * saves + 1, vec![], 0));
    let mut memory = bench.open();
    assert_eq!(memory.log().unwrap().len(), 8 * saves);
    in_order(&mut memory);
}

// safety: SG6
#[test]
fn eight_naive_writers_at_once_lose_lines() {
    let bench = Bench::new();
    std::fs::create_dir_all(&bench.place.memory).unwrap();
    let lost = (0..20).any(|_| {
        all_at_once(&bench, Job::Naive, 12);
        out_of_step(&bench) > 0
    });
    assert!(lost, "the harness would not notice");
}

/// How editors save.
#[derive(Clone, Copy, Debug)]
enum Editor {
    InPlace,
    ByRename,
    WithBackup,
}

fn edit(dir: &Path, how: Editor, word: &str) {
    let path = dir.join("shared.md");
    let text = std::fs::read_to_string(&path).unwrap_or_default() + word + "\n";
    let by_rename = || {
        std::fs::write(dir.join("shared.swp"), &text).unwrap();
        std::fs::rename(dir.join("shared.swp"), &path).unwrap();
    };
    match how {
        Editor::InPlace => std::fs::write(&path, &text).unwrap(),
        Editor::ByRename => by_rename(),
        Editor::WithBackup => {
            std::fs::rename(&path, dir.join("shared.bak")).unwrap_or_default();
            std::fs::write(&path, &text).unwrap();
        }
    }
}

/// An editor adds words to a memory while the engine changes it too. Which of the words are nowhere any more?
fn words_lost(how: Editor, saves: usize) -> Vec<String> {
    let bench = Bench::new();
    let mut memory = bench.open();
    save(&mut memory, "shared.md", "begin\n");
    let dir = bench.place.memory.clone();
    let stop = Arc::new(AtomicBool::new(false));
    let finished = stop.clone();
    let person = std::thread::spawn(move || {
        let words: Vec<String> = (0..saves).map(|n| format!("human-{n}-")).collect();
        words.iter().for_each(|word| edit(&dir, how, word));
        finished.store(true, Ordering::SeqCst);
        words
    });
    let mut n = 0;
    while !stop.load(Ordering::SeqCst) {
        let now = memory.text("shared.md").unwrap().map(|(_, text)| text).unwrap_or_default();
        try_save(&mut memory, "shared.md", &format!("{now}engine-{n}\n")).unwrap();
        n += 1;
    }
    let words = person.join().unwrap();
    memory.refresh().unwrap();
    in_order(&mut memory);
    let everything: String =
        bench.files().iter().filter(|name| name.ends_with(".md")).filter_map(|name| bench.file(name)).collect();
    let last = words.last().unwrap();
    assert!(everything.contains(last.as_str()), "{how:?}: the last words are there");
    // A word that the editor itself dropped, because it had read a text without it, is in the history.
    let history = std::fs::read_to_string(bench.place.journal.join("changes.jsonl")).unwrap();
    words.into_iter().filter(|word| !everything.contains(word.as_str()) && !history.contains(word.as_str())).collect()
}

// safety: F-15
// safety: SG6
#[test]
fn an_editor_that_saves_at_the_same_time_loses_no_word() {
    for how in [Editor::InPlace, Editor::ByRename, Editor::WithBackup] {
        assert_eq!(words_lost(how, 60), Vec::<String>::new(), "{how:?}");
    }
}

// safety: F-15
#[test]
fn a_naive_engine_overwrites_an_editor() {
    let bench = Bench::new();
    bench.write("shared.md", "begin\n");
    let read = bench.file("shared.md").unwrap();
    edit(&bench.place.memory, Editor::ByRename, "human");
    bench.write("shared.md", read + "engine\n");
    assert!(!bench.file("shared.md").unwrap().contains("human"));
}

/// Run a helper that may write files of so many blocks; what it acknowledged, and why it stopped.
fn with_little_room(bench: &Bench, job: Job) -> (usize, String) {
    let inner = helper(bench, job, "full");
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 256; exec \"$@\"", "sh"])
        .arg(inner.get_program())
        .args(inner.get_args());
    command.envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let said: Vec<String> = lines(&mut child).collect();
    child.wait().unwrap();
    let refused = said.iter().find_map(|line| line.strip_prefix("refused ")).unwrap_or_default().to_owned();
    (acks(said.into_iter()).count(), refused)
}

// safety: SG4
// safety: F-16
#[test]
fn a_disk_that_takes_no_more_leaves_what_was_there() {
    let bench = Bench::new();
    save(&mut bench.open(), "old.md", "old\n");
    let (acked, refused) = with_little_room(&bench, Job::Fill);
    assert!(acked > 0 && refused.contains("the memory is as it was"), "{acked} {refused}");
    assert_eq!(bench.file("big.md").unwrap(), "word ".repeat(500 * acked), "the last one that was acknowledged, whole");
    let (mut memory, repairs) = bench.try_open().unwrap();
    assert_eq!((repairs.finished, repairs.outside), (None, Vec::<String>::new()));
    in_order(&mut memory);
    assert_eq!(bench.files(), ["MEMORY.md", "big.md", "old.md"]);
    save(&mut memory, "big.md", &"word ".repeat(500 * (acked + 1)));
}

// safety: SG4
#[test]
fn a_naive_writer_on_such_a_disk_destroys_what_was_there() {
    let bench = Bench::new();
    std::fs::create_dir_all(&bench.place.memory).unwrap();
    let (acked, refused) = with_little_room(&bench, Job::FillNaively);
    assert!(acked > 0 && !refused.is_empty());
    let left = bench.file("big.md").unwrap();
    assert!((0..=acked + 1).all(|n| left != "word ".repeat(500 * n)), "torn: neither the old text nor the new one");
}

/// Swap a folder for a link to elsewhere and back, until told to stop.
fn swapping(inside: &Path, stop: Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    let (folder, aside, link) = (inside.join("sub"), inside.join(".aside"), inside.join(".link"));
    std::thread::spawn(move || {
        while !stop.load(Ordering::SeqCst) {
            let out = std::fs::rename(&folder, &aside).and_then(|()| std::fs::rename(&link, &folder));
            let back = std::fs::rename(&folder, &link).and_then(|()| std::fs::rename(&aside, &folder));
            out.and(back).unwrap();
        }
    })
}

/// A folder with a secret beside a memory with a folder of the same shape.
fn two_folders() -> (Bench, std::path::PathBuf) {
    let bench = Bench::new();
    let outside = bench.held.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("x.md"), "secret\n").unwrap();
    bench.write("sub/x.md", "inside\n");
    std::os::unix::fs::symlink(&outside, bench.path(".link")).unwrap();
    (bench, outside)
}

/// Read a memory so many times while its folder is swapped for a link; nothing outside may be read or written.
fn opens_while_swapped(opens: usize) {
    let (bench, outside) = two_folders();
    let mut memory = bench.open();
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = swapping(&bench.place.memory, stop.clone());
    let (mut inside, mut refused) = (0, 0);
    for n in 0..opens {
        match memory.text("sub/x.md") {
            Ok(Some((_, text))) => {
                assert_ne!(text, "secret\n");
                inside += 1;
            }
            Ok(None) | Err(_) => refused += 1,
        }
        if n % 1_000 == 0 {
            // It may fail, or make a folder that was away for a moment; it may not write elsewhere.
            drop(try_save(&mut memory, "sub/y.md", &format!("{n}\n")));
        }
    }
    stop.store(true, Ordering::SeqCst);
    let swapped = swapper.join();
    assert!(inside > 0 && refused > 0, "both were seen: {inside} {refused} {swapped:?}");
    let names: Vec<_> = std::fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["x.md"]);
    assert_eq!(std::fs::read_to_string(outside.join("x.md")).unwrap(), "secret\n");
}

// spec: X1
// safety: SG9
#[test]
fn a_folder_swapped_for_a_link_leads_nowhere() {
    opens_while_swapped(20_000);
}

/// The same for as long as it takes to be sure; `just suite-swap`.
// safety: SG9
#[test]
#[ignore = "takes minutes"]
fn a_million_opens_of_a_swapped_folder_lead_nowhere() {
    opens_while_swapped(1_000_000);
}

// safety: SG9
#[test]
fn a_check_of_the_path_alone_is_led_astray() {
    let (bench, _) = two_folders();
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = swapping(&bench.place.memory, stop.clone());
    let path = bench.path("sub/x.md");
    let astray = (0..1_000_000).any(|_| {
        path.starts_with(&bench.place.memory) && std::fs::read_to_string(&path).is_ok_and(|text| text == "secret\n")
    });
    stop.store(true, Ordering::SeqCst);
    swapper.join().unwrap();
    assert!(astray, "the harness would not notice");
}
