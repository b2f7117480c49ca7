//! The demo: played by the real program, and every number looked up again in what it wrote.

use crate::stage::{Ran, Stage, block, files, finished};
use crate::terminal::Terminal;
use scrubjay::limits::Limits;
use scrubjay::message::{Origin, SessionId};
use scrubjay::transcript::{Entry, Transcript, View};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Where the demo writes when nobody asks for more: a folder of ours, so that it can be seen that nothing is left.
fn temporary(stage: &Stage) -> std::path::PathBuf {
    let folder = stage.project().join("tmp");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The program with these words; however busy the machine is, to its end.
fn run(stage: &Stage, words: &[&str]) -> Ran {
    let mut command = stage.command(words);
    Ran::from(block(|| command.env("TMPDIR", temporary(stage)).output().unwrap()))
}

// spec: U1
#[tokio::test(flavor = "multi_thread")]
async fn in_four_days_every_layer_fires_and_everything_is_accounted_for() {
    let stage = Stage::offline();
    let played = run(&stage, &["demo", "--fast"]).ended_with(0);
    for part in [
        "turn 120 of 120",
        "└ Thursday",
        "The receipt",
        "0 unexplained",
        "looked up, and all there",
        "Five things it kept",
        "What it will know next time",
        "What it dreamt at night",
        "scrubjay demo --without microcompaction",
    ] {
        assert!(played.out.contains(part), "`{part}` in {}", played.out);
    }
    for (layer, deed) in [
        ("1 tool results", " stored"),
        ("2 microcompaction", "old result"),
        ("3 session notes", "notes brought up to date"),
        ("4 compaction", "tokens compacted"),
        ("5 extraction", "remembered"),
        ("6 dreaming", "dreamt; "),
        ("7 agents", "scout searched"),
    ] {
        let fired = played.out.lines().any(|line| line.contains(&format!("{layer}: ")) && line.contains(deed));
        assert!(fired, "{layer}: {deed} in {}", played.out);
    }
    assert!(widest(&played.out) <= 80 && !played.out.contains('\u{1b}'), "colours only on a terminal: {}", played.out);
    let left = files(&temporary(&stage));
    assert!(left.len() == 1 && left[0].ends_with("report.html"), "nothing is left but the page: {left:?}");
    assert!(std::fs::read_to_string(&left[0]).unwrap().contains("four-days"));
    assert!(!stage.home().exists(), "nothing of the person's is touched");
}

/// Columns that are needed; where the page lies is said whole, however long that is.
fn widest(text: &str) -> usize {
    let lines = text.lines().filter(|line| !line.contains("scrubjay-demo-"));
    lines.map(|line| line.chars().count()).max().unwrap_or_default()
}

// spec: U1
#[tokio::test(flavor = "multi_thread")]
async fn alone_it_plays_the_demo_the_first_time_and_shows_status_afterwards() {
    let stage = Stage::offline();
    let folder = temporary(&stage).display().to_string();
    let mut terminal = Terminal::start_with(&stage, &[], &[("TMPDIR", folder.as_str())]);
    terminal.wait_for("turn 3 of 120");
    terminal.press("\u{3}");
    assert_eq!(terminal.wait_for_end().exit_code(), 130);
    assert!(stage.transcripts().is_empty() && files(Path::new(&folder)).is_empty());
    let second = stage.run(&[]).ended_with(0);
    assert!(second.out.contains("welcome") && !second.out.contains("scrubjay demo\n"), "{second:#?}");
    let fresh = Stage::offline();
    assert_eq!(
        fresh.run(&["--json"]).ended_with(0).json()["schema"],
        "scrubjay.status/1",
        "a script is not shown a play"
    );
}

// spec: U1
// spec: V1
#[tokio::test(flavor = "multi_thread")]
async fn its_numbers_are_those_of_the_session_it_wrote_and_change_with_every_layer() {
    let stage = Stage::offline();
    let kept = stage.project().join("kept");
    let place = kept.display().to_string();
    let played = run(&stage, &["demo", "--fast", "--turns", "30", "--json", "--keep", &place]).ended_with(0).json();
    let look = |words: &[&str]| {
        let mut command = stage.command(&[words, &["--session", "four-days", "--json"]].concat());
        command.env("SCRUBJAY_HOME", kept.join("home")).current_dir(kept.join("project"));
        finished(command).ended_with(0).json()
    };
    let receipt = &played["receipt"];
    let savings = look(&["savings"]);
    for part in ["saved", "cache_damage", "read_again", "longer_lifetime", "own_calls", "net"] {
        assert_eq!(receipt["savings"][part], savings[part], "{part}");
    }
    let close = |one: &Value, other: &Value| (one.as_f64().unwrap() - other.as_f64().unwrap()).abs() < 1e-9;
    assert!(close(&receipt["with"]["usd"], &look(&["cost"])["cost_usd"]));
    let last = played["turns"].as_array().unwrap().last().unwrap();
    assert_eq!(last["by_share"], look(&["context"])["by_share"]);
    assert_eq!(
        (receipt["recoverable"]["lost"].as_u64(), receipt["prefix_breaks"]["unexplained"].as_u64()),
        (Some(0), Some(0))
    );
    assert!(same_in_the_record(&kept, played["turns"].as_array().unwrap()) > 15);

    let without = run(&stage, &["demo", "--fast", "--turns", "30", "--json", "--without", "1"]).ended_with(0).json();
    let fired = |played: &Value| {
        let all =
            played["turns"].as_array().unwrap().iter().flat_map(|turn| turn["layers"].as_array().unwrap().clone());
        all.filter(|firing| firing["layer"] == 1).count()
    };
    assert!(fired(&played) > 0 && fired(&without) == 0);
    assert!(without["receipt"]["with"]["sent"].as_u64() > receipt["with"]["sent"].as_u64(), "more is sent without it");
    assert_eq!(without["without_layers"], json!(["tool results"]));
}

/// How many turns can be folded out of the record by itself, and measure the same.
fn same_in_the_record(kept: &Path, turns: &[Value]) -> usize {
    let path = files(kept).into_iter().find(|path| path.ends_with("four-days.jsonl")).unwrap();
    let limits = Arc::new(Limits::default());
    let (transcript, damage) = Transcript::peek(&path, SessionId::new("four-days"), limits.clone()).unwrap();
    assert!(damage.is_empty());
    let records = transcript.records();
    let is_question = |entry: &Entry| matches!(entry, Entry::Said(message) if message.origin == Origin::Person);
    let questions: Vec<usize> = (0..records.len()).filter(|at| is_question(&records[*at].entry)).collect();
    assert_eq!(questions.len(), turns.len());
    let mut same = 0;
    for (turn, next) in turns.iter().zip(&questions[1..]) {
        // What was found since, and the date of a new day, stand before a question.
        let between = records[..*next].iter().rev().take_while(|record| match &record.entry {
            Entry::Said(message) => matches!(message.origin, Origin::Reminder | Origin::Memory),
            Entry::Recalled(_) => true,
            _ => false,
        });
        if between.count() == 0 {
            let total = View::of(&records[..*next], &limits).count.total();
            assert_eq!(turn["tokens"].as_u64(), Some(total), "turn {}", turn["turn"]);
            same += 1;
        }
    }
    same
}

// spec: U1
#[tokio::test(flavor = "multi_thread")]
async fn in_a_terminal_one_picture_changes_and_ctrl_c_leaves_nothing_behind() {
    let stage = Stage::offline();
    let folder = temporary(&stage).display().to_string();
    let plain = [("TMPDIR", folder.as_str()), ("NO_COLOR", "1"), ("COLUMNS", "80")];
    let mut terminal = Terminal::start_with(&stage, &["demo", "--turns", "9", "--fast"], &plain);
    let screen = terminal.wait_for("scrubjay demo --without microcompaction");
    assert!(terminal.wait_for_end().success());
    assert!(screen.contains("The receipt") && widest(&screen) <= 80, "{screen}");

    let before = files(Path::new(&folder));
    let mut terminal = Terminal::start_with(&stage, &["demo"], &plain);
    let screen = terminal.wait_for("turn 3 of 120");
    let drawn = screen.lines().filter(|line| line.contains("└ Monday")).count();
    assert!(drawn == 1 && screen.contains(" 167k") && !screen.contains('█'), "drawn over, with letters: {screen}");
    terminal.press("\u{3}");
    assert_eq!(terminal.wait_for_end().exit_code(), 130);
    assert_eq!(files(Path::new(&folder)), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_there_is_not_written_over_and_nonsense_is_told() {
    let stage = Stage::offline();
    stage.write("mine.txt", "mine");
    let place = stage.project().display().to_string();
    run(&stage, &["demo", "--keep", &place]).ended_with(2).complained_about(&["is not empty"]);
    run(&stage, &["demo", "--turns", "0"]).ended_with(2);
    run(&stage, &["demo", "--without", "luck"]).ended_with(2).complained_about(&["tool-results"]);
    assert_eq!(files(&stage.project()), [stage.project().join("mine.txt")]);
}

/// Half a session is cheaper than a whole one, and that is no saving.
// spec: U1
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_ends_early_is_not_compared() {
    let stage = Stage::offline();
    let off = ["1", "2", "3", "4"].into_iter().flat_map(|layer| ["--without", layer]);
    let words: Vec<&str> = ["demo", "--fast", "--turns", "44"].into_iter().chain(off).collect();
    let told = run(&stage, &words).ended_with(0).out;
    assert!(told.contains("the two cannot be") && told.contains("turn 43 of"), "{told}");
    let receipt = told.split("The receipt").nth(1).unwrap().split("The ledger").next().unwrap();
    assert!(!receipt.contains('−') && !receipt.contains('+'), "{receipt}");
}
