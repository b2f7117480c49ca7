//! Real processes: eight that want to dream at once, one that is stopped for an hour, many that are killed on the way.

use crate::bench::{Bench, files, open, project, text};
use jiff::SignedDuration;
use rustix::process::{Pid, Signal, kill_process};
use scrubjay::gate::{Gate, Verdict};
use scrubjay::limits::Limits;
use scrubjay::memory::dreaming::{Dream, DreamError, Dreams, Judgement};
use scrubjay_providers::Offline;
use scrubjay_testkit::{FixedClock, Setting, Story};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// The helper process itself; as a test it does nothing.
#[test]
fn child() {
    let (Ok(data), Ok(job)) = (std::env::var("DREAM_DATA"), std::env::var("DREAM_JOB")) else { return };
    let data = PathBuf::from(data);
    let (_story, dreams) = dreamer(&data);
    println!("ready");
    match job.as_str() {
        "contend" => contend(&data, &dreams),
        "land" => {
            let dream = dreams.plan(dreams.news("none").unwrap(), CancellationToken::new()).unwrap();
            land(dream, Judgement::Nobody);
        }
        "distil" => {
            let dream = dreams.plan(dreams.news("none").unwrap(), CancellationToken::new()).unwrap();
            distil(&dream);
            land(dream, Judgement::Finished);
        }
        other => panic!("there is no job {other}"),
    }
}

/// Say that everything is planned, and land when told to.
fn land(dream: Dream, judgement: Judgement) {
    println!("planned");
    let mut go = String::new();
    std::io::stdin().read_line(&mut go).unwrap();
    match dream.land(judgement) {
        Ok(landed) => println!("landed {}", landed.is_news()),
        Err(error) => println!("refused {error}"),
    }
}

const LOGGED: &str = "the nest camera drops every fourth frame";

/// What a model would leave in the copy: the line of the log, as a memory.
fn distil(dream: &Dream) {
    let errand = dream.errand(Gate::new(|_, _| Verdict::Allow)).unwrap();
    let copy = errand.directive.split("copy of it in ").nth(1).unwrap().split(';').next().unwrap();
    let memory = text("nest_camera.md", LOGGED, LOGGED).replacen("type:", &format!("cites: [\"{LOGGED}\"]\ntype:"), 1);
    std::fs::write(Path::new(copy).join("nest_camera.md"), memory).unwrap();
}

fn dreamer(data: &Path) -> (Story, Dreams) {
    let clock = FixedClock::default();
    let memory = open(data, &clock);
    let mut setting = Setting::new(Arc::new(Offline::new(&Limits::default())));
    setting.clock = clock;
    let story = setting.begin().unwrap();
    let dreams = Dreams::over(memory, data, &story.home.project(), story.session.desk());
    (story, dreams)
}

/// Dream until this process has landed often enough, writing down when it held the right to.
fn contend(data: &Path, dreams: &Dreams) {
    let mut log = std::fs::File::options().append(true).create(true).open(data.join("held.log")).unwrap();
    let mut landed = 0;
    while landed < 6 {
        match dreams.plan(dreams.news("none").unwrap(), CancellationToken::new()) {
            Err(DreamError::Busy(_)) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
            Ok(dream) => {
                writeln!(log, "in {}", std::process::id()).unwrap();
                dream.beat().unwrap();
                writeln!(log, "out {}", std::process::id()).unwrap();
                dream.land(Judgement::Nobody).unwrap();
                landed += 1;
            }
        }
    }
    println!("done");
}

struct Helper {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Helper {
    fn start(data: &Path, job: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["processes::child", "--exact", "--nocapture"])
            .env("DREAM_DATA", data)
            .env("DREAM_JOB", job)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next line that says this, or nothing when the process ended without it.
    fn hears(&mut self, word: &str) -> Option<String> {
        self.lines.by_ref().map_while(Result::ok).find(|line| line.contains(word))
    }

    fn go(&mut self) {
        writeln!(self.child.stdin.as_mut().unwrap(), "go").unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.child.kill().unwrap_or_default();
        self.child.wait().unwrap();
    }
}

// spec: Z2
// safety: F-01
// safety: F-08
#[test]
fn of_eight_processes_that_dream_at_once_only_one_ever_does() {
    let bench = Bench::offline();
    bench.save("a.md", "a thing", "A thing that is remembered.");
    let data = bench.story.home.data();
    let mut helpers: Vec<Helper> = (0..8).map(|_| Helper::start(&data, "contend")).collect();
    helpers.iter_mut().for_each(|helper| assert!(helper.hears("done").is_some()));
    let log = std::fs::read_to_string(data.join("held.log")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 8 * 6 * 2);
    for pair in lines.chunks(2) {
        assert_eq!(pair[0].strip_prefix("in "), pair[1].strip_prefix("out "), "two held it at once");
    }
}

fn duplicates(bench: &Bench) {
    for n in 0..6 {
        let says = format!("Service number {n} listens on port 54{n}3 behind the proxy of team {n}.");
        bench.save(&format!("service_{n}.md"), &format!("service {n}"), &says);
        bench.save(&format!("service_{n}_again.md"), &format!("service {n}"), &format!("{says} It sleeps at night."));
    }
}

// spec: Z2
// safety: F-04
#[test]
fn a_dreamer_that_is_stopped_for_an_hour_wakes_up_and_is_refused() {
    let bench = Bench::offline();
    duplicates(&bench);
    let mut stopped = Helper::start(&bench.story.home.data(), "land");
    stopped.hears("planned").unwrap();
    stopped.signal(Signal::STOP);
    let dreams = bench.dreams();
    let plan = || dreams.plan(dreams.news("story").unwrap(), CancellationToken::new());
    assert!(matches!(plan(), Err(DreamError::Busy(_))), "it only stands still");
    bench.clock.advance(SignedDuration::from_mins(60));
    let landed = plan().unwrap().land(Judgement::Nobody).unwrap();
    assert!(landed.receipt.is_some());
    let after = bench.files();
    stopped.signal(Signal::CONT);
    stopped.go();
    let said = stopped.hears("refused").unwrap();
    assert!(said.contains("took over"), "{said}");
    assert_eq!(bench.files(), after, "not a byte of it landed");
    assert_eq!(dreams.last().unwrap(), Some(bench.now()));
}

// spec: Z3
// safety: F-02
// safety: F-18
#[test]
fn a_dream_that_is_killed_anywhere_leaves_exactly_the_old_memory_or_exactly_the_new_one() {
    let (old, new, long) = run_to_the_end("land", duplicates);
    assert_eq!((old.len(), new.len()), (13, 7));
    let (mut olds, mut news, mut wait) = (0, 0, long / 2);
    for round in 0..20 {
        let bench = Bench::offline();
        duplicates(&bench);
        let data = bench.story.home.data();
        let mut helper = Helper::start(&data, "land");
        helper.hears("planned").unwrap();
        helper.go();
        std::thread::sleep(wait);
        helper.signal(Signal::KILL);
        helper.child.wait().unwrap();
        // Whatever was begun is finished or never was, as soon as somebody looks.
        let memory = open(&data, &FixedClock::default());
        let found = files(&project(&data).memory());
        let last = memory.with(|memory| memory.last_dream()).unwrap();
        // The kills close in on the moment in which the one becomes the other.
        match (found == old, found == new) {
            (true, false) => {
                assert_eq!(last, None, "round {round}");
                (olds, wait) = (olds + 1, wait * 5 / 4);
            }
            (false, true) => {
                assert!(last.is_some(), "round {round}");
                (news, wait) = (news + 1, wait * 3 / 4);
            }
            _ => panic!("round {round}: neither old nor new: {:?}", found.keys()),
        }
        // The next one begins at once.
        let (_story, dreams) = dreamer(&data);
        let plan = dreams.plan(dreams.news("none").unwrap(), CancellationToken::new()).unwrap();
        plan.land(Judgement::Nobody).unwrap();
        assert_eq!(files(&project(&data).memory()), new, "round {round}");
    }
    assert!(olds > 0 && news > 0, "{olds} old, {news} new: the kills did not hit the dream");
}

/// A day that is over, with one line in its log.
fn logged(bench: &Bench) {
    let yesterday = bench.now().to_zoned(jiff::tz::TimeZone::UTC).date().yesterday().unwrap();
    bench.memory.with(|memory| memory.append_log(yesterday, &format!("- 09:10 {LOGGED}"))).unwrap();
}

/// What a killed process left: the memories, how many logs are unread, and whether a dream has landed.
fn left(data: &Path) -> (Files, usize, bool) {
    let memory = open(data, &FixedClock::default());
    let (unread, last) = memory.with(|memory| (memory.unread_logs().unwrap().len(), memory.last_dream().unwrap()));
    (files(&project(data).memory()), unread, last.is_some())
}

/// The next dream reads what is unread, and changes nothing that is known.
fn dreams_again(data: &Path) {
    let (_story, dreams) = dreamer(data);
    let dream = dreams.plan(dreams.news("none").unwrap(), CancellationToken::new()).unwrap();
    assert!(dream.needs_judgement(), "the log is there to be read");
    distil(&dream);
    dream.land(Judgement::Finished).unwrap();
}

// spec: K1
// spec: Z3
#[test]
fn a_dream_that_is_killed_between_what_it_made_of_a_log_and_the_mark_on_the_log_loses_and_doubles_nothing() {
    let bench = Bench::offline();
    logged(&bench);
    let data = bench.story.home.data();
    let mut helper = Helper::start(&data, "distil");
    helper.hears("planned").unwrap();
    // Who marks a log reads the marks first, and waits here for somebody who writes them.
    let marks = project(&data).provenance().join("logs_read.json");
    std::fs::create_dir_all(marks.parent().unwrap()).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &marks, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    helper.go();
    let _waited_for = std::fs::File::options().write(true).open(&marks).unwrap();
    helper.signal(Signal::KILL);
    helper.child.wait().unwrap();
    std::fs::remove_file(&marks).unwrap();
    let (found, unread, landed) = left(&data);
    assert!(found["nest_camera.md"].contains(LOGGED) && landed, "what was made of it stands");
    assert_eq!(unread, 1, "and nobody has marked it");
    dreams_again(&data);
    assert_eq!(left(&data), (found, 0, true), "read once more, it says nothing new");
}

// spec: K1
// spec: Z3
#[test]
fn a_dream_over_a_log_that_is_killed_anywhere_never_takes_it_for_read_before_it_has_landed() {
    let (_, _, long) = run_to_the_end("distil", logged);
    let (mut wait, mut olds, mut news) = (long / 2, 0, 0);
    for round in 0..12 {
        let bench = Bench::offline();
        logged(&bench);
        let data = bench.story.home.data();
        let mut helper = Helper::start(&data, "distil");
        helper.hears("planned").unwrap();
        helper.go();
        std::thread::sleep(wait);
        helper.signal(Signal::KILL);
        helper.child.wait().unwrap();
        let (found, unread, landed) = left(&data);
        let is_new = found.contains_key("nest_camera.md");
        assert_eq!(is_new, landed, "round {round}");
        assert!(is_new || unread == 1, "round {round}: the log is taken for read and nothing was made of it");
        (olds, news) = (olds + usize::from(!is_new), news + usize::from(is_new));
        wait = if is_new { wait * 3 / 4 } else { wait * 5 / 4 };
        if unread == 1 {
            dreams_again(&data);
        }
        let (after, unread, _) = left(&data);
        assert!(after["nest_camera.md"].contains(LOGGED) && unread == 0, "round {round}");
    }
    assert!(olds > 0 && news > 0, "{olds} old, {news} new: the kills did not hit the dream");
}

type Files = BTreeMap<String, String>;

/// The memory before and after a dream nobody disturbs, and how long landing takes.
fn run_to_the_end(job: &str, prepare: fn(&Bench)) -> (Files, Files, Duration) {
    let bench = Bench::offline();
    prepare(&bench);
    let old = bench.files();
    let mut helper = Helper::start(&bench.story.home.data(), job);
    helper.hears("planned").unwrap();
    let began = Instant::now();
    helper.go();
    assert_eq!(helper.hears("landed").as_deref(), Some("landed true"));
    (old, bench.files(), began.elapsed())
}
