//! Stories of a person who looks: at a window, at a bill, at what is wrong; on a terminal and off it.

use crate::stage::{Ran, Stage, block, files, finished};
use crate::terminal::Terminal;
use scrubjay_testkit::simulator::{RecordedRequest, Script, Simulator, text, tool_use};
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

fn wants_summary(request: &RecordedRequest) -> bool {
    request.last_user_text().contains("will be replaced by a summary")
}

/// A large result that is stored, smaller ones that stay, and talk at length.
async fn talked() -> (Simulator, Stage) {
    let long = || text("An answer of some length about jays and where they hide their seeds. ".repeat(150));
    let answer = move |request: &RecordedRequest| match request.last_user_text() {
        _ if wants_summary(request) => text("<summary>\n## 1. Primary Request and Intent\nCount seeds.\n</summary>"),
        asked if asked.contains("count far") => tool_use("Bash", json!({ "command": "seq 1 30000" })),
        asked if asked.contains("count often") => (0..7)
            .map(|n| tool_use("Bash", json!({ "command": format!("seq {n} 1200") })))
            .reduce(|all, one| all.and(one))
            .unwrap(),
        asked if asked.contains("count less") => tool_use("Bash", json!({ "command": "seq 1 3000" })),
        _ => long(),
    };
    let simulator = Simulator::start(Script::new().otherwise_with(answer)).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.run(&["-p", "count far", "--allow", "Bash"]).ended_with(0);
    for question in ["count less far", "what do jays do?", "and in winter?"] {
        stage.run(&["-c", "-p", question, "--allow", "Bash"]).ended_with(0);
    }
    (simulator, stage)
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or_default()
}

fn with(stage: &Stage, arguments: &[&str], environment: &[(&str, &str)]) -> Ran {
    let mut command = stage.command(arguments);
    command.envs(environment.iter().copied());
    finished(command)
}

fn sum(parts: &Value) -> u64 {
    parts.as_object().unwrap().values().map(|tokens| tokens.as_u64().unwrap()).sum()
}

// spec: U7
// spec: T6
#[tokio::test(flavor = "multi_thread")]
async fn a_window_is_drawn_by_layer_and_its_parts_add_up() {
    let (_simulator, stage) = talked().await;
    let json = stage.run(&["context", "--json"]).ended_with(0).json();
    let used = json["budget"]["used"].as_u64().unwrap();
    assert_eq!((sum(&json["by_share"]), sum(&json["by_form"])), (used, used), "{json}");
    assert_eq!(json["free"].as_u64().unwrap() + used, json["budget"]["window"].as_u64().unwrap());
    let parts = json["parts"].as_array().unwrap();
    assert_eq!(parts.iter().map(|part| part["tokens"].as_u64().unwrap()).sum::<u64>(), used);
    let course = json["course"].as_array().unwrap();
    assert_eq!((course.len(), &course[5]["filling"]["total"]), (6, &json!(used)), "six requests, and the last is now");
    assert_eq!(
        (&json["questions"], &json["requests"], &json["cache"]["state"]),
        (&4.into(), &6.into(), &"warm".into())
    );

    let shown = stage.run(&["context"]).ended_with(0).out;
    for words in [
        "claude-opus-5 · ",
        "compacts at 967.0k",
        "cache warm until ",
        "question 4 · request 6",
        "request 6 · reported\n",
    ] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    for words in ["  STICRN·", "R tool results ", "over time  ▃", "2 results on disk", "try  scrubjay results get "]
    {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    assert!(widest(&shown) <= 80 && !shown.contains('\u{1b}'), "{shown}");
    let call = shown.split("scrubjay results get ").nth(1).unwrap().split_whitespace().next().unwrap();
    assert!(stage.run(&["results", "get", call]).ended_with(0).out.contains("30000"), "what is suggested works");
    assert!(stage.run(&["context", "-v"]).out.contains("[estimated]") && !shown.contains("[estimated]"));

    let plain = stage.run(&["context", "--ascii"]).ended_with(0).out;
    assert!(plain.contains("  STICRN......"), "{plain}");
    for command in ["context", "status", "savings", "cost", "doctor", "flags", "sessions"] {
        let plain = stage.run(&[command, "--ascii"]).ended_with(0).out;
        assert!(plain.is_ascii(), "{command}: {plain}");
    }
    let wide = with(&stage, &["context", "--color", "always"], &[("COLUMNS", "120")]).out;
    assert!(wide.contains("\u{1b}[") && wide.contains('S'), "the letter stands in the colour: {wide}");
    let bar = |text: &str| text.lines().find(|line| line.contains("····")).unwrap().matches('·').count();
    assert!(bar(&wide) > bar(&shown), "more room, more bar");
}

// spec: U7
// spec: M5
#[tokio::test(flavor = "multi_thread")]
async fn what_would_help_is_said_and_no_more_than_two_things() {
    let (_simulator, stage) = talked().await;
    stage.run(&["-c", "-p", "count often", "--allow", "Bash"]).ended_with(0);
    let full = ["--set", "model=own-model", "--set", "limits.default_window=40000"];
    let shown = stage.run(&["context"]).ended_with(0).out;
    assert!(
        shown.contains("note 2 old results, ") && shown.contains("go for free once the cache is cold: "),
        "{shown}"
    );
    let shown = stage.run(&[&["context"][..], &full].concat()).ended_with(0).out;
    assert!(shown.contains("try  scrubjay compact --preview") && shown.contains("note 2 old results"), "{shown}");
    assert!(!shown.contains("scrubjay results get"), "two are enough: {shown}");
    let json = stage.run(&["context", "--json"]).ended_with(0).json();
    assert_eq!(json["suggestions"].as_array().unwrap().len(), 2, "{json}");
    let off = stage.run(&["context", "--set", "layers.compaction=false"]).ended_with(0).out;
    assert!(off.contains("never compacts by itself, refuses at 977.0k") && !off.contains("compaction 9"), "{off}");
}

// spec: U7
#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_is_seen_over_time_and_every_session_has_a_line() {
    let (_simulator, stage) = talked().await;
    stage.run(&["compact"]).ended_with(0);
    stage.run(&["-c", "-p", "and then?"]).ended_with(0);
    let shown = stage.run(&["context"]).ended_with(0).out;
    assert!(shown.contains("▴  compacted after request 6") && shown.contains("1 compaction, the last one"), "{shown}");
    let (line, below) =
        (shown.lines().find(|line| line.contains("over time")), shown.lines().find(|line| line.contains('▴')));
    let place = below.unwrap().chars().position(|letter| letter == '▴').unwrap();
    let heights: Vec<char> = line.unwrap().chars().collect();
    assert!(heights[place - 1] > heights[place], "the mark stands below the fall: {shown}");
    let last = stage.run(&["context", "--json"]).ended_with(0).json();
    let moments: Vec<&Value> = last["course"].as_array().unwrap().iter().map(|point| &point["moment"]).collect();
    assert_eq!(moments.iter().filter(|moment| **moment == "compacted").count(), 1, "{moments:?}");

    stage.run(&["-p", "another session"]).ended_with(0);
    let lines = stage.run(&["context", "--all"]).ended_with(0).out;
    assert!(lines.lines().count() == 2 && lines.lines().next().unwrap().ends_with("another session"), "{lines}");
    assert!(widest(&lines) <= 80, "{lines}");
    let all = stage.run(&["context", "--all", "--json"]).ended_with(0).json();
    assert_eq!(
        (all["sessions"][1]["session_id"] == last["session_id"], &all["sessions"][1]["used"]),
        (true, &last["budget"]["used"])
    );
}

// spec: U7
#[tokio::test(flavor = "multi_thread")]
async fn a_window_is_watched_as_it_fills() {
    let (_simulator, stage) = talked().await;
    let mut watching = stage.command(&["context", "--watch", "--json"]);
    let mut child = watching.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&block(|| lines.next().unwrap().unwrap())).unwrap() };
    assert_eq!(next()["requests"], 6);
    stage.run(&["-c", "-p", "and in spring?"]).ended_with(0);
    // The record grows line by line; each change is told.
    while next()["requests"] != 7 {}
    let stop = ["-TERM", &child.id().to_string()];
    assert!(std::process::Command::new("kill").args(stop).status().unwrap().success());
    assert!(block(|| child.wait().unwrap()).success(), "leaving is no failure");

    block(|| {
        let mut terminal = Terminal::start(&stage, &["context", "--watch"]);
        terminal.wait_for("question 5 · request 7");
        stage.run(&["-c", "-p", "and in autumn?"]).ended_with(0);
        terminal.wait_for("question 6 · request 8");
        terminal.press("q");
        assert_eq!(terminal.wait_for_end().exit_code(), 0);
        let mut terminal = Terminal::start(&stage, &["context", "--watch"]);
        terminal.wait_for("q leaves");
        terminal.press("\u{3}");
        assert_eq!(terminal.wait_for_end().exit_code(), 0);
    });
}

fn figure(text: &str, name: &str) -> f64 {
    let line =
        text.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_else(|| panic!("{name} in {text}"));
    let figure = line.split_whitespace().find(|word| word.contains('$')).unwrap();
    figure.replace(['$', '+'], "").parse().unwrap()
}

// spec: V1
#[tokio::test(flavor = "multi_thread")]
async fn a_bill_goes_down_step_by_step_from_without_to_with() {
    let (_simulator, stage) = talked().await;
    stage.run(&["compact"]).ended_with(0);
    stage.run(&["-c", "-p", "and then?"]).ended_with(0);
    let shown = stage.run(&["savings"]).ended_with(0).out;
    let steps =
        ["without", "layer savings", "cache damage we caused", "our own model calls"].map(|name| figure(&shown, name));
    let (with, net) = (figure(&shown, "with (billed)"), figure(&shown, "net saved"));
    assert!((steps.iter().sum::<f64>() - with).abs() < 0.0003 && (steps[0] - with - net).abs() < 0.0003, "{shown}");
    assert!(net > 0.0 && shown.contains("  1 tool results  ") && shown.contains("  4 compaction  "), "{shown}");
    assert!(
        shown.contains("estimated") && shown.contains("reported") && shown.contains("% of the bill without"),
        "{shown}"
    );
    assert!(widest(&shown) <= 80, "{shown}");
    let json = stage.run(&["savings", "--json"]).ended_with(0).json();
    let cost = stage.run(&["cost", "--json"]).ended_with(0).json();
    assert!((json["billed"]["usd"].as_f64().unwrap() - cost["cost_usd"].as_f64().unwrap()).abs() < 1e-9, "one bill");
    let status = stage.run(&["status", "--json"]).ended_with(0).json();
    assert_eq!(status["newest_session"]["net"]["usd"], json["net"]["usd"], "one net");

    for by in ["layer", "model", "source", "project"] {
        let grouped = stage.run(&["savings", "--by", by, "--json"]).ended_with(0).json();
        let nets = grouped[format!("by_{by}")].as_object().unwrap();
        let all: f64 = nets.values().map(|net| net["usd"].as_f64().unwrap()).sum();
        assert!((all - grouped["net"]["usd"].as_f64().unwrap()).abs() < 1e-9, "{by}: {grouped}");
        let shown = stage.run(&["savings", "--by", by]).ended_with(0).out;
        assert!(shown.contains(&format!("net by {by}")), "{shown}");
    }
    stage.run(&["-p", "another session"]).ended_with(0);
    let recent = stage.run(&["savings", "--since", "1h", "--json"]).ended_with(0).json();
    assert_eq!((recent["sessions"].as_array().unwrap().len(), &recent["calls"]), (2, &9.into()), "{recent}");
    assert_eq!(stage.run(&["savings", "--all", "--json"]).ended_with(0).json()["net"], recent["net"]);
    assert!(stage.run(&["cost", "--since", "today"]).ended_with(0).out.contains("2 sessions of this project since"));
    stage.run(&["savings", "--since", "2099-01-01"]).ended_with(3).complained_about(&["longer period"]);
    stage.run(&["savings", "--since", "soon"]).ended_with(2).complained_about(&["7d", "yesterday"]);
}

// spec: V1
#[tokio::test(flavor = "multi_thread")]
async fn a_loss_stands_where_a_gain_would_and_what_is_unknown_says_so() {
    let answer = |request: &RecordedRequest| match wants_summary(request) {
        true => text("<summary>\n## 1. Primary Request and Intent\nTalk.\n</summary>"),
        false => text("An answer of some length about jays and where they hide their seeds. ".repeat(150)),
    };
    let simulator = Simulator::start(Script::new().otherwise_with(answer)).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.run(&["-p", "what do jays do?"]).ended_with(0);
    stage.run(&["-c", "-p", "and in winter?"]).ended_with(0);
    stage.run(&["-c", "-p", "and in spring?"]).ended_with(0);
    stage.run(&["compact"]).ended_with(0);
    stage.run(&["-c", "-p", "and then?"]).ended_with(0);
    let shown = stage.run(&["savings"]).ended_with(0).out;
    let lost = shown.lines().find(|line| line.contains("net saved")).unwrap();
    assert!(lost.starts_with("  net saved  ") && lost.contains(" -$"), "{shown}");
    assert!(figure(&shown, "net saved") < 0.0, "{shown}");
    assert!(stage.run(&["status"]).ended_with(0).out.contains("saved      -$"));

    let unknown = Stage::offline();
    unknown.run(&["-p", "hello"]).ended_with(0);
    let shown = unknown.run(&["savings"]).ended_with(0).out;
    assert!(
        shown.contains("1 without a price") && shown.contains("  without                           n/a"),
        "{shown}"
    );
    assert!(shown.lines().any(|line| line.starts_with("  with (billed)") && line.contains("n/a")), "{shown}");
}

// spec: U1
#[tokio::test(flavor = "multi_thread")]
async fn status_is_one_screen() {
    let (_simulator, stage) = talked().await;
    stage.run(&["remember", "--type", "reference", "Integration tests talk to the real database."]).ended_with(0);
    let shown = stage.run(&[]).ended_with(0).out;
    for words in [
        "window     STICRN····",
        "cache      warm until ",
        "cache hit rate ",
        "saved      $",
        "1 memory, ",
        "memory pollution 0 %",
    ] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    assert!(widest(&shown) <= 80 && shown.lines().count() <= 24, "{shown}");
    let json = stage.run(&["status", "--json"]).ended_with(0).json();
    assert_eq!((&json["next"], &json["memory"]["waiting"]), (&"scrubjay -c".into(), &0.into()), "{json}");
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

// spec: U8
// spec: X8
#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_mends_what_it_can_says_so_first_and_leaves_the_rest_alone() {
    let (_simulator, stage) = talked().await;
    let transcript = stage.transcripts()[0].clone();
    let whole = fs::read(&transcript).unwrap();
    fs::write(&transcript, &whole[..whole.len() - 7]).unwrap();
    fs::set_permissions(&transcript, Permissions::from_mode(0o644)).unwrap();
    let data = stage.home().join("data");
    let left = data.join("0b6f2a52-3c1e-4a8b-9d55-6f1f4f7f0a11");
    let young = data.join("1b6f2a52-3c1e-4a8b-9d55-6f1f4f7f0a11");
    let (foreign, outside) = (data.join("README"), stage.project().join("mine.txt"));
    for path in [&left, &young, &foreign, &outside] {
        fs::write(path, "half").unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    }
    let (letter, keys) = (data.join("projects/p/mail/jay/tmp/letter"), stage.home().join("config/keys"));
    for path in [&letter, &keys] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "OPENAI_API_KEY=canary-two\n").unwrap();
    }
    fs::set_permissions(&keys, Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(&outside, Permissions::from_mode(0o644)).unwrap();
    symlink(&outside, data.join("link")).unwrap();
    let old = SystemTime::now() - Duration::from_secs(7_200);
    for path in [&left, &foreign, &letter] {
        fs::File::open(path).unwrap().set_modified(old).unwrap();
    }
    let sockets = stage.home().join("state/sockets");
    fs::create_dir_all(&sockets).unwrap();
    drop(UnixListener::bind(sockets.join("gone.sock")).unwrap());

    let found = stage.run(&["doctor"]).ended_with(1).out;
    for words in ["[torn-line]", "[exposed]", "[left-behind]", "scrubjay doctor --fix", "[session-damaged]"] {
        assert!(found.contains(words), "{words} in {found}");
    }
    let planned = stage.run(&["doctor", "--fix", "--dry-run"]).ended_with(1).out;
    assert!(planned.matches("would  ").count() >= 4 && left.exists() && mode(&transcript) == 0o644, "{planned}");

    let mended = stage.run(&["doctor", "--fix", "--json"]).ended_with(0).json();
    let mends = mended["mends"].as_array().unwrap();
    assert!(mends.len() >= 4 && mends.iter().all(|mend| mend["done"].is_string()), "{mended}");
    assert_eq!((mode(&transcript), mode(&keys)), (0o600, 0o600));
    assert!(!letter.exists() && !mended.to_string().contains("canary-two"));
    assert!(!left.exists() && !sockets.join("gone.sock").exists() && young.exists() && foreign.exists());
    assert_eq!((mode(&outside), fs::read(&outside).unwrap()), (0o644, b"half".to_vec()), "a link is never followed");
    let now = fs::read(&transcript).unwrap();
    assert!(whole.starts_with(&now) && now.ends_with(b"\n"), "whole lines, and nothing else");
    let kept: Vec<u8> = files(&stage.home())
        .iter()
        .find(|path| path.to_string_lossy().contains("torn-"))
        .map(|path| fs::read(path).unwrap())
        .unwrap();
    assert_eq!([now.as_slice(), &kept].concat(), &whole[..whole.len() - 7], "the torn bytes are kept");
    let again = stage.run(&["doctor", "--fix"]).ended_with(0).out;
    assert!(!again.contains("mended ") && !again.contains("[torn-line]"), "{again}");
    stage.run(&["-c", "-p", "go on"]).ended_with(0);
    stage.run(&["doctor", "--dry-run"]).ended_with(2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_doctor_says_can_be_pasted() {
    let stage = Stage::offline();
    let home = stage.project().parent().unwrap().join("user");
    let mut command = stage.command(&["doctor"]);
    command.env_remove("SCRUBJAY_HOME");
    let out = finished(command).ended_with(0).out;
    assert!(out.contains("~/.local/share/scrubjay") && !out.contains(home.to_str().unwrap()), "{out}");
    assert!(out.contains("[offline]") && out.contains("> set ANTHROPIC_API_KEY"), "{out}");
}

// spec: U8
#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_told_in_the_form_that_was_asked_for() {
    let stage = Stage::offline();
    for arguments in [
        &["--json", "context", "--sesion", "x"][..],
        &["results", "get", "--json"],
        &["savings", "--since", "soon", "--json"],
    ] {
        let ran = stage.run(arguments).ended_with(2);
        let error: Value = serde_json::from_str(&ran.err).unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
        assert_eq!((&error["schema"], &error["exit_code"]), (&"scrubjay.error/1".into(), &2.into()));
        assert!(error["fix"].is_string() && error["tool_version"].is_string() && ran.out.is_empty(), "{error}");
        assert!(!error["error"].as_str().unwrap().contains(['\n', '\u{1b}']), "{error}");
    }
    let missing: Value = serde_json::from_str(&stage.run(&["export", "--json"]).ended_with(2).err).unwrap();
    assert!(missing["error"].as_str().unwrap().contains("<DIR|->"), "what is missing is named: {missing}");
    assert!(stage.run(&["context", "--sesion"]).ended_with(2).err.contains("--session"), "words otherwise");
    let empty = [&["context"][..], &["savings"], &["cost"], &["context", "--all"], &["notes"], &["results", "ls"]];
    for arguments in empty {
        let ran = stage.run(arguments).ended_with(3);
        assert!(ran.err.contains("no session") && ran.err.contains("scrubjay chat"), "{arguments:?}: {ran:#?}");
    }
}

// spec: U8
#[tokio::test(flavor = "multi_thread")]
async fn help_and_the_manual_come_from_one_tree() {
    let stage = Stage::offline();
    let help = stage.run(&["--help"]).ended_with(0).out;
    let first = |words: &str| help.find(words).unwrap_or_else(|| panic!("{words} in {help}"));
    assert!(
        first("Everyday:\n  demo ") < first("Memory:")
            && first("Measure:") < first("Care:")
            && first("Care:") < first("Options:")
    );
    assert!(stage.run(&["context", "--help"]).ended_with(0).out.contains("--watch"));
    assert!(stage.run(&["help", "savings"]).ended_with(0).out.contains("--since"));
    let page = stage.run(&["man"]).ended_with(0).out;
    assert!(page.contains(".TH scrubjay 1") && page.contains("scrubjay\\-context(1)"), "{page}");
    let folder = stage.project().join("man");
    let said = stage.run(&["man", "--out", "man"]).ended_with(0).out;
    let pages = files(&folder);
    assert!(pages.len() > 40 && said.starts_with(&format!("{} pages in ", pages.len())), "{said}");
    let one = fs::read_to_string(folder.join("scrubjay-memory-ls.1")).unwrap();
    assert!(one.contains("scrubjay memory ls") && one.contains(".SH OPTIONS"), "{one}");
    for shell in ["bash", "zsh", "fish"] {
        assert!(stage.run(&["completions", shell]).ended_with(0).out.contains("savings"), "{shell}");
    }
}
