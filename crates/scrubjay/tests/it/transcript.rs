//! The record on disk: whole after a kill at any byte, readable around any damage.

use jiff::Timestamp;
use proptest::prelude::*;
use scrubjay::limits::Limits;
use scrubjay::message::{Block, Message, Origin, Role, SessionId, StopReason, Usage};
use scrubjay::transcript::{
    Began, Call, Entry, FORMAT, Log, Opening, Options, Record, Transcript, TranscriptError, View, read,
};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

fn now() -> Timestamp {
    "2026-03-03T12:00:00Z".parse().unwrap()
}

fn limits() -> Arc<Limits> {
    Arc::new(Limits::default())
}

fn began() -> Began {
    Began { format: FORMAT, session: "s".into(), dir: "/p".into(), version: "test".into(), forked_from: None }
}

fn session() -> SessionId {
    SessionId::new("s")
}

fn filled(path: &Path, questions: usize) -> Transcript {
    let mut transcript = Transcript::create(path, began(), now(), limits()).unwrap();
    for n in 0..questions {
        transcript.say(Role::User, Origin::Person, vec![Block::text(format!("question {n}"))], now()).unwrap();
        transcript.say(Role::Assistant, Origin::Model, vec![Block::text(format!("answer {n}"))], now()).unwrap();
    }
    transcript
}

fn texts(transcript: &Transcript) -> Vec<String> {
    transcript.view().history.iter().map(|message| message.text()).collect()
}

// spec: Q4
#[test]
fn a_session_goes_on_where_it_stopped() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("s.jsonl");
    let before = filled(&path, 3);
    let (seen, ids) = (before.view().clone(), before.view().history.last().unwrap().id.clone());
    drop(before);
    let (mut after, damage) = Transcript::resume(&path, session(), now(), limits()).unwrap();
    assert_eq!(damage, []);
    assert_eq!(after.view(), &seen);
    let said = after.say(Role::User, Origin::Person, vec![Block::text("more")], now()).unwrap();
    assert_ne!(said.id, ids, "a resumed session goes on numbering");
}

// spec: Q4
#[test]
fn what_was_taken_back_stays_taken_back_in_a_copy_of_a_damaged_session() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("s.jsonl");
    let mut whole = filled(&path, 3);
    let taken_back = whole
        .records()
        .iter()
        .find(|record| matches!(&record.entry, Entry::Said(message) if message.text() == "answer 1"));
    let entry = taken_back.unwrap().id;
    whole.append(Entry::Reverted { entry }, now()).unwrap();
    drop(whole);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("question 0", "qu?stion 0", 1)).unwrap();
    let (damaged, damage) = Transcript::peek(&path, session(), limits()).unwrap();
    assert_eq!(damage.len(), 1);
    assert_eq!(texts(&damaged), ["answer 0", "question 1", "question 2", "answer 2"]);
    let copy = damaged.fork(&home.path().join("t.jsonl"), Began { session: "t".into(), ..began() }, now()).unwrap();
    assert_eq!(texts(&copy), texts(&damaged));
}

// spec: X8
#[test]
fn nobody_else_can_read_a_session() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("projects/p/s.jsonl");
    let mut transcript = filled(&path, 1);
    transcript.say(Role::User, Origin::Person, vec![Block::text("x".repeat(200_000))], now()).unwrap();
    let mut pending = vec![home.path().join("projects")];
    while let Some(at) = pending.pop() {
        let mode = at.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if at.is_dir() { 0o700 } else { 0o600 }, "{}", at.display());
        if at.is_dir() {
            pending.extend(at.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        }
    }
}

#[test]
fn two_processes_never_write_one_session() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("s.jsonl");
    let held = filled(&path, 1);
    let refused = Transcript::resume(&path, session(), now(), limits()).unwrap_err();
    assert!(matches!(refused, TranscriptError::InUse { .. }), "{refused}");
    assert!(refused.to_string().contains("--fork-session"));
    let (peeked, _) = Transcript::peek(&path, session(), limits()).unwrap();
    assert_eq!(peeked.view(), held.view(), "looking is always possible");
    let fork = held.fork(&home.path().join("t.jsonl"), Began { session: "t".into(), ..began() }, now()).unwrap();
    assert_eq!(texts(&fork), texts(&held));
}

#[test]
fn a_file_of_a_newer_version_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("s.jsonl");
    drop(Transcript::create(&path, Began { format: FORMAT + 1, ..began() }, now(), limits()).unwrap());
    let bytes = std::fs::read(&path).unwrap();
    let refused = Transcript::resume(&path, session(), now(), limits()).unwrap_err();
    assert!(matches!(refused, TranscriptError::Newer { .. }), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

// safety: F-31
#[test]
fn large_records_lie_beside_the_file_and_come_back() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("s.jsonl");
    let mut transcript = filled(&path, 1);
    let big = "0123456789".repeat(200_000);
    transcript.say(Role::User, Origin::Tool, vec![Block::text(big.clone())], now()).unwrap();
    let seen = transcript.view().clone();
    drop(transcript);
    assert!(std::fs::metadata(&path).unwrap().len() < 10_000, "the line only names the blob");
    let (after, _) = Transcript::peek(&path, session(), limits()).unwrap();
    assert_eq!(after.view(), &seen);
    for blob in std::fs::read_dir(home.path().join("s/blobs")).unwrap() {
        std::fs::remove_file(blob.unwrap().path()).unwrap();
    }
    let (without, damage) = Transcript::peek(&path, session(), limits()).unwrap();
    assert_eq!(damage[0].what, "its blob is missing");
    assert_eq!(texts(&without), ["question 0", "answer 0"]);
}

// safety: F-32
#[test]
fn damage_at_head_middle_and_tail_is_skipped_and_reported() {
    let home = tempfile::tempdir().unwrap();
    for (at, lost) in [(0, 0), (3, 1), (6, 1)] {
        let path = home.path().join(format!("{at}.jsonl"));
        drop(filled(&path, 3));
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines[at] = lines[at].replace("at", "AT");
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        let damaged = std::fs::read(&path).unwrap();

        let (after, damage) = Transcript::resume(&path, session(), now(), limits()).unwrap();
        assert_eq!(damage.len(), 1);
        assert_eq!(damage[0].what, "checksum does not match");
        assert_eq!(damage[0].offset as usize, lines[..at].iter().map(|line| line.len() + 1).sum::<usize>());
        assert_eq!(after.view().history.len(), 6 - lost);
        let on_disk = std::fs::read(&path).unwrap();
        assert!(on_disk.starts_with(&damaged), "reading never rewrites");
        assert_eq!(after.records().last().unwrap().entry, Entry::Mended { lost: 1 }, "the loss is on record");
    }
}

// safety: F-30
#[test]
fn a_kill_at_any_byte_loses_only_the_record_being_written() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("s.jsonl");
    drop(filled(&path, 2));
    let whole = std::fs::read(&path).unwrap();
    let cut_from = whole.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
    for cut in cut_from..whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let (mut after, damage) = Transcript::resume(&path, session(), now(), limits()).unwrap();
        let lost_newline_only = cut == whole.len() - 1;
        let kept = if lost_newline_only { 4 } else { 3 };
        assert_eq!(after.view().history.len(), kept, "cut at {cut}");
        assert_eq!(damage.is_empty(), cut == cut_from || lost_newline_only, "cut at {cut}: {damage:?}");
        assert!(!matches!(after.records().last().unwrap().entry, Entry::Mended { .. }), "a torn tail is no loss");
        after.say(Role::User, Origin::Person, vec![Block::text("next")], now()).unwrap();
        drop(after);
        let (again, _) = Transcript::peek(&path, session(), limits()).unwrap();
        assert_eq!(texts(&again).last().unwrap(), "next", "cut at {cut}: the torn line did not swallow its neighbour");
        let bytes = std::fs::read(&path).unwrap();
        let last = bytes.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap();
        assert!(
            last.starts_with(b"{\"crc\"") && last.ends_with(b"}"),
            "cut at {cut}: the next record has its own line"
        );
    }
}

// safety: F-30
#[test]
fn a_record_behind_a_torn_one_on_the_same_line_is_still_read() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("s.jsonl");
    drop(filled(&path, 2));
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let half = &lines[1][..lines[1].len() / 2];
    std::fs::write(&path, format!("{}\n{half}{}\n{}\n", lines[0], lines[2], lines[3])).unwrap();
    let (after, damage) = Transcript::peek(&path, session(), limits()).unwrap();
    assert_eq!(texts(&after), ["answer 0", "question 1"]);
    assert_eq!((damage.len(), damage[0].bytes as usize), (1, half.len()));
}

// safety: F-33
#[test]
fn odd_separators_and_absurd_lines_do_no_harm() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("s.jsonl");
    let mut transcript = filled(&path, 0);
    let odd = "a\u{2028}b\u{2029}c\u{85}d\r\ne\u{0}f\u{7f}";
    transcript.say(Role::User, Origin::Person, vec![Block::text(odd)], now()).unwrap();
    let seen = transcript.view().clone();
    drop(transcript);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains('\u{2028}') && !text.contains('\u{2029}'));
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(&vec![b'['; 40 << 20]).unwrap();
    file.write_all(b"\n\xff\xfe not utf8\n\n{}\nnull\n").unwrap();
    let (after, damage) = Transcript::peek(&path, session(), limits()).unwrap();
    assert_eq!(after.view(), &seen);
    assert_eq!(damage[0].what, "line too long");
    assert_eq!(damage.len(), 4);
}

#[test]
fn a_full_disk_loses_nothing_and_says_so() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("s.jsonl");
    // A child with a file-size limit meets a full disk; SIGXFSZ is ignored so that it sees the error.
    let script =
        format!("trap '' XFSZ; ulimit -f 4; exec {} transcript::child_on_a_small_disk --exact --nocapture", exe());
    let out = Command::new("bash").args(["-c", &script]).env("CHILD_DISK", &path).output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(said.contains("refused: the session could not be saved"), "{said}{}", String::from_utf8_lossy(&out.stderr));
    assert!(said.contains("in memory: 10"), "{said}");
    let (after, damage) = Transcript::peek(&path, session(), limits()).unwrap();
    assert_eq!(damage, [], "half a record was taken back");
    assert!(after.view().history.len() < 10);
}

#[test]
fn child_on_a_small_disk() {
    let Ok(path) = std::env::var("CHILD_DISK") else { return };
    let mut transcript = Transcript::create(Path::new(&path), began(), now(), limits()).unwrap();
    for n in 0..10 {
        if let Err(error) =
            transcript.say(Role::User, Origin::Person, vec![Block::text(format!("{n}").repeat(1_000))], now())
        {
            println!("refused: {error}");
        }
    }
    println!("in memory: {}", transcript.view().history.len());
}

fn exe() -> String {
    std::env::current_exe().unwrap().display().to_string()
}

/// Appends numbered records and says so after each, until it is killed.
#[test]
fn child_that_appends() {
    let (Ok(path), Ok(name)) = (std::env::var("CHILD_LOG"), std::env::var("CHILD_NAME")) else { return };
    let mut log = Log::open(Path::new(&path), &limits()).unwrap();
    for n in 0..100_000u64 {
        let text = format!("{name}-{n} {}", "x".repeat(2_000));
        let message = Message {
            id: "m".into(),
            role: Role::User,
            origin: Origin::Person,
            at: now(),
            blocks: vec![Block::text(text)],
        };
        log.append(&Record { id: n, parent: None, at: now(), entry: Entry::Said(Arc::new(message)) }).unwrap();
        println!("acked {name}-{n}");
    }
}

// safety: F-30
// safety: SG2
#[test]
fn writers_killed_at_random_lose_nothing_that_was_acknowledged() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("log.jsonl");
    let mut acked: Vec<String> = Vec::new();
    let mut dice = 12_345u64;
    for round in 0..15 {
        let children: Vec<_> = (0..4).map(|n| start_writer(&path, &format!("r{round}w{n}"))).collect();
        let listeners: Vec<_> = children
            .into_iter()
            .map(|mut child| {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let acks = 1 + (dice >> 33) % 12;
                std::thread::spawn(move || {
                    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
                    let acks = usize::try_from(acks).unwrap();
                    let mut heard: Vec<String> = lines
                        .map_while(Result::ok)
                        .filter_map(|line| line.strip_prefix("acked ").map(str::to_owned))
                        .take(acks)
                        .collect();
                    child.kill().unwrap();
                    child.wait().unwrap();
                    heard.shrink_to_fit();
                    heard
                })
            })
            .collect();
        acked.extend(listeners.into_iter().flat_map(|listener| listener.join().unwrap()));
    }
    let reading = read(&path, &limits()).unwrap();
    let mut found: Vec<String> = Vec::new();
    for record in &reading.records {
        let Entry::Said(message) = &record.entry else { panic!("only messages were written") };
        found.push(message.text().split(' ').next().unwrap().to_owned());
    }
    let lost: Vec<_> = acked.iter().filter(|name| !found.contains(name)).collect();
    assert_eq!(lost, Vec::<&String>::new(), "{} acknowledged, damage: {:?}", acked.len(), reading.damage);
    let mut unique = found.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), found.len(), "nothing is there twice");
    assert!(acked.len() >= 60);
}

fn start_writer(path: &Path, name: &str) -> std::process::Child {
    Command::new(exe())
        .args(["transcript::child_that_appends", "--exact", "--nocapture"])
        .env("CHILD_LOG", path)
        .env("CHILD_NAME", name)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let message = |origin: Origin, role: Role| {
        any::<String>().prop_map(move |text| {
            let blocks = vec![Block::text(text)];
            Entry::Said(Arc::new(Message { id: "m".into(), role, origin, at: now(), blocks }))
        })
    };
    let opened = any::<u8>().prop_map(|n| Entry::Opened {
        opening: Arc::new(Opening {
            model: format!("model-{n}"),
            tools: Arc::from([]),
            system: Arc::from(format!("system {n}")),
            instructions: Vec::new(),
            options: Options::default(),
            nonce: format!("{n:08x}"),
        }),
        because: None,
    });
    let replied = (0..100_000u64, 0..5_000u64).prop_map(|(input, output)| {
        let usage = Usage { input, output, ..Usage::default() };
        Entry::Replied(Call { source: "main".into(), model: "m".into(), usage, stop: StopReason::EndTurn, cleared: 0 })
    });
    let saw = any::<u8>()
        .prop_map(|n| Entry::Saw { path: PathBuf::from(format!("/f{n}")), digest: scrubjay::digest::Digest::of(&[n]) });
    let entry = prop_oneof![
        4 => message(Origin::Person, Role::User),
        4 => message(Origin::Model, Role::Assistant),
        1 => opened,
        2 => replied,
        1 => saw,
    ];
    prop::collection::vec(entry, 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Invariant A for any session: what the file folds to is what was in memory, and folding one entry at a time is
    /// folding all of them.
    #[test]
    fn the_fold_is_a_pure_function_of_the_entries(entries in entries()) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("s.jsonl");
        let mut live = Transcript::create(&path, began(), now(), limits()).unwrap();
        for entry in entries {
            live.append(entry, now()).unwrap();
        }
        let (resumed, damage) = Transcript::peek(&path, session(), limits()).unwrap();
        prop_assert_eq!(damage, vec![]);
        prop_assert_eq!(resumed.view(), live.view());
        prop_assert_eq!(resumed.records(), live.records());
        prop_assert_eq!(&View::of(live.records(), &limits()), live.view());
    }

    /// Any bytes can be read: nothing hangs, nothing panics, and whole lines survive next to them.
    #[test]
    fn any_bytes_can_be_read(noise in prop::collection::vec(any::<u8>(), 0..400)) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("s.jsonl");
        drop(filled(&path, 1));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend_from_slice(&noise);
        bytes.push(b'\n');
        std::fs::write(&path, bytes).unwrap();
        let (after, _) = Transcript::peek(&path, session(), limits()).unwrap();
        prop_assert_eq!(texts(&after), vec!["question 0", "answer 0"]);
    }
}
