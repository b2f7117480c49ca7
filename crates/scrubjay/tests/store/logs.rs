//! The daily log: appended to, never rewritten, by however many at once; no memory, and read once.

use crate::bench::{Bench, in_order, memory_text, paths, save};
use jiff::civil::{Date, date};
use scrubjay::memory::{Memory, MemoryError, SharedMemory, logs};
use scrubjay::message::SessionId;
use scrubjay::paths::Layout;
use scrubjay::tool::Occasion;
use scrubjay::tools::{Keeper as _, Replacement};
use std::path::Path;
use std::sync::Arc;

const DAY: &str = "logs/2026/03/2026-03-05.md";

fn day() -> Date {
    date(2026, 3, 5)
}

fn shared(bench: &Bench) -> SharedMemory {
    let project = Layout::at(bench.held.path().join("data")).project(Path::new("/home/ada/birds"), &bench.limits);
    SharedMemory::open(&bench.place, &project, Arc::new(bench.clock.clone()), &bench.limits).unwrap().0
}

/// What the file tools do: new bytes in place of what was read.
fn write(memory: &SharedMemory, file: &str, before: Option<&str>, text: &str) -> Result<(), String> {
    let occasion = Occasion { session: SessionId::new("s"), history: Vec::new().into(), errand: None };
    let (path, before) = (memory.dir().join(file), before.map(|text| text.as_bytes().to_vec()));
    assert!(memory.keeps(&path));
    let change = Replacement { path, before, bytes: text.as_bytes().to_vec(), occasion };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(memory.replace(change, None)).map(drop)
}

// spec: K1
#[test]
fn an_agent_can_only_append_to_a_log() {
    let bench = Bench::new();
    let memory = shared(&bench);
    write(&memory, DAY, None, "09:00 began").unwrap();
    assert_eq!(bench.file(DAY).unwrap(), "09:00 began\n");
    write(&memory, DAY, Some("09:00 began\n"), "09:00 began\n10:00 the freeze is on 2026-03-12\n").unwrap();
    let log = "09:00 began\n10:00 the freeze is on 2026-03-12\n";
    assert_eq!(bench.file(DAY).unwrap(), log);
    for (before, text) in [
        (Some(log), "09:00 tidied\n10:00 the freeze is on 2026-03-12\n"),
        (Some(log), "10:00 the freeze is on 2026-03-12\n"),
        (Some(log), ""),
        (Some(log), log),
    ] {
        let why = write(&memory, DAY, before, text).unwrap_err();
        assert!(why.contains("only ever appended to"), "{why}");
        assert_eq!(bench.file(DAY).unwrap(), log);
    }
    // Somebody added a line after the agent had read the log: both lines are there.
    memory.with(|memory| memory.append_log(day(), "10:30 from another session")).unwrap();
    write(&memory, DAY, Some(log), &format!("{log}11:00 mine\n")).unwrap();
    assert_eq!(bench.file(DAY).unwrap(), format!("{log}10:30 from another session\n11:00 mine\n"));
    for odd in
        ["logs/notes.md", "logs/2026/03/2026-04-05.md", "logs/2026/3/2026-03-05.md", "logs/2026/02/2026-02-30.md"]
    {
        assert!(write(&memory, odd, None, "x").unwrap_err().contains("YYYY-MM-DD"), "{odd}");
        assert_eq!(bench.file(odd), None);
    }
}

// spec: G2
#[test]
fn a_log_takes_no_credential() {
    let bench = Bench::new();
    let memory = bench.open();
    let token = ["ghp", "16C7e42F292c6912E7710c838347Ae178B4a"].join("_");
    let refused = memory.append_log(day(), &format!("the token is {token}"));
    assert!(matches!(refused, Err(MemoryError::Credential { line: 1, .. })), "{refused:?}");
    assert_eq!(bench.file(DAY), None);
}

// spec: K1
#[test]
fn eight_who_log_at_once_lose_no_line() {
    let bench = Bench::new();
    let opened: Vec<Memory> = (0..8).map(|_| bench.open()).collect();
    std::thread::scope(|scope| {
        for (who, memory) in opened.iter().enumerate() {
            scope.spawn(move || {
                (0..25).for_each(|line| memory.append_log(day(), &format!("{who} says {line}")).unwrap());
            });
        }
    });
    let log = bench.file(DAY).unwrap();
    let lines: std::collections::BTreeSet<&str> = log.lines().collect();
    assert_eq!((log.lines().count(), lines.len()), (200, 200));
}

// spec: K1
#[test]
fn a_log_that_ends_within_a_line_is_closed_first_and_a_link_is_refused() {
    let bench = Bench::new();
    let memory = bench.open();
    bench.write(DAY, "by hand, without an end");
    memory.append_log(day(), "next\n\n").unwrap();
    assert_eq!(bench.file(DAY).unwrap(), "by hand, without an end\nnext\n");
    let outside = bench.held.path().join("outside.md");
    std::fs::write(&outside, "theirs").unwrap();
    std::os::unix::fs::symlink(&outside, bench.path("logs/2026/03/2026-03-06.md")).unwrap();
    assert!(memory.append_log(date(2026, 3, 6), "x").is_err());
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "theirs");
}

// spec: K1
#[test]
fn logs_and_indexes_at_any_depth_are_no_memories() {
    let bench = Bench::new();
    let mut memory = bench.open();
    save(&mut memory, "a.md", &memory_text("A", "d", "x"));
    memory.append_log(day(), "something about A").unwrap();
    bench.write("deep/er/MEMORY.md", "- [X](x.md) — nothing\n");
    bench.write("logs/loose.md", "no memory");
    memory.refresh().unwrap();
    assert_eq!(paths(&memory), ["a.md"]);
    assert_eq!(memory.index().unwrap().text, "- [A](a.md) — d\n");
    assert!(memory.check().unwrap().iter().all(|finding| finding.path == "a.md"), "{:?}", memory.check());
    in_order(&mut memory);
}

// spec: K1
#[test]
fn what_a_dream_has_read_is_not_news() {
    let bench = Bench::new();
    let memory = bench.open();
    assert_eq!(memory.unread_logs().unwrap(), []);
    memory.append_log(date(2026, 3, 6), "the day after").unwrap();
    memory.append_log(day(), "first").unwrap();
    let unread = memory.unread_logs().unwrap();
    let said: Vec<(Date, &str)> = unread.iter().map(|log| (log.date, log.text.as_str())).collect();
    assert_eq!(said, [(day(), "first\n"), (date(2026, 3, 6), "the day after\n")]);
    assert_eq!(unread[0].path, bench.path(&logs::file_of(day())));
    memory.append_log(day(), "while it dreamt").unwrap();
    memory.mark_logs_read(&unread).unwrap();
    let unread = bench.open().unread_logs().unwrap();
    assert_eq!(
        (unread.len(), unread[0].text.as_str()),
        (1, "while it dreamt\n"),
        "nothing is lost, nothing comes twice"
    );
    memory.mark_logs_read(&unread).unwrap();
    assert_eq!(memory.unread_logs().unwrap(), []);
    bench.write(DAY, "new");
    assert_eq!(memory.unread_logs().unwrap()[0].text, "new", "a log that was replaced is another one");
}
