//! Stories of `scrubjay scan`: other agents' folders in a home of our own, whole and damaged, read and never touched.

use crate::stage::{PATIENCE, Ran, Stage, files, finished, program};
use flate2::Compression;
use flate2::write::GzEncoder;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

const MODEL: &str = "claude-opus-4-5-20251101";

fn minute(minute: i64) -> String {
    format!("2026-03-02T09:{minute:02}:00.000Z")
}

fn token() -> String {
    ["ghp", "16C7e42F292c6912E7710c838347Ae178B4a"].join("_")
}

/// A session as Claude Code keeps it, line by line.
#[derive(Default)]
struct Sitting {
    lines: Vec<String>,
    replies: usize,
    /// What its replies are called.
    prefix: &'static str,
}

impl Sitting {
    fn add(mut self, mut line: Value, at: i64) -> Self {
        let common = json!({ "timestamp": minute(at), "cwd": "/p", "sessionId": "s", "version": "2.1.37", "uuid": format!("u{}", self.lines.len()) });
        for (name, value) in common.as_object().unwrap() {
            line.as_object_mut().unwrap().entry(name).or_insert(value.clone());
        }
        self.lines.push(line.to_string());
        self
    }

    fn said(self, at: i64, content: Value) -> Self {
        self.add(json!({ "type": "user", "message": { "role": "user", "content": content } }), at)
    }

    /// A reply that calls a tool, what it was billed, and the tool's answer.
    fn called(self, at: i64, (tool, input): (&str, Value), billed: (u64, u64), answer: &str) -> Self {
        let id = format!("t{}", self.lines.len());
        let call = json!({ "type": "tool_use", "id": id, "name": tool, "input": input });
        let result = json!([{ "type": "tool_result", "tool_use_id": id, "content": answer }]);
        self.replied(at, call, billed).said(at, result)
    }

    fn replied(mut self, at: i64, block: Value, (read, written): (u64, u64)) -> Self {
        self.replies += 1;
        let usage = json!({ "input_tokens": 3, "cache_read_input_tokens": read, "cache_creation_input_tokens": written, "output_tokens": 10 });
        let id = format!("{}msg_{}", self.prefix, self.replies);
        let message = |block: Value| json!({ "type": "assistant", "message": { "id": id, "model": MODEL, "role": "assistant", "content": [block], "usage": usage } });
        // A reply stands in as many records as it has blocks, and each repeats what it was billed.
        let thinking = message(json!({ "type": "thinking", "thinking": "hm" }));
        let rest = message(block);
        self.add(thinking, at).add(rest, at)
    }

    fn compacted(self, at: i64, summary: &str) -> Self {
        let boundary = json!({ "type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "uuid": "b1" });
        let summary =
            json!({ "type": "user", "isCompactSummary": true, "message": { "role": "user", "content": summary } });
        self.add(boundary, at).add(summary, at)
    }

    fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// Five requests: a large answer, a pause, a compaction that forgets.
fn sitting() -> Sitting {
    let curl = format!("curl -H 'Authorization: token {}' https://host.example/issues", token());
    Sitting::default()
        .add(json!({ "type": "file-history-snapshot", "messageId": "m" }), 0)
        .said(0, json!("Never push to main.\nRemember that the staging host is called heron. Fix the header parser."))
        .called(0, ("Bash", json!({ "command": curl })), (0, 20_000), &"secret body\n".repeat(1_000))
        .called(1, ("Read", json!({ "file_path": "/p/src/head.rs" })), (20_000, 5_000), &"fn parse() {}\n".repeat(200))
        .called(
            2,
            ("Edit", json!({ "file_path": "/p/src/head.rs", "old_string": "a", "new_string": "b" })),
            (25_000, 1_500),
            "ok",
        )
        .replied(30, json!({ "type": "text", "text": "It is done." }), (0, 27_000))
        .compacted(30, "This session is being continued. We worked on a parser.")
        .said(31, json!("go on"))
        .replied(31, json!({ "type": "text", "text": "It goes on." }), (15_000, 2_000))
}

/// A session as Codex keeps it: two requests, the first of them counted twice.
fn rollout() -> String {
    let usage = |input: u64, cached: u64| json!({ "input_tokens": input, "cached_input_tokens": cached, "output_tokens": 20, "total_tokens": input + 20 });
    let counted = |so_far: Value, last: Value| json!({ "type": "event_msg", "payload": { "type": "token_count", "info": { "total_token_usage": so_far, "last_token_usage": last, "model_context_window": 258_400 } } });
    let item = |payload: Value| json!({ "type": "response_item", "payload": payload });
    let lines = [
        json!({ "type": "session_meta", "payload": { "id": "c", "cwd": "/q", "cli_version": "0.99.0" } }),
        json!({ "type": "turn_context", "payload": { "cwd": "/q", "model": "gpt-5.6" } }),
        item(
            json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "list the files" }] }),
        ),
        item(
            json!({ "type": "function_call", "name": "exec_command", "arguments": "{\"cmd\":\"ls\"}", "call_id": "c1" }),
        ),
        item(json!({ "type": "function_call_output", "call_id": "c1", "output": "main.rs\n" })),
        counted(usage(9_000, 0), usage(9_000, 0)),
        counted(usage(9_000, 0), usage(9_000, 0)),
        item(
            json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "One file." }] }),
        ),
        counted(usage(18_100, 8_960), usage(9_100, 8_960)),
    ];
    let timed = lines.map(|mut line| {
        line["timestamp"] = json!(minute(3));
        format!("{line}\n")
    });
    timed.concat()
}

fn user(stage: &Stage) -> PathBuf {
    stage.project().parent().unwrap().join("user")
}

fn put(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// A home in which both agents have worked.
fn lived_in() -> Stage {
    let stage = Stage::offline();
    let home = user(&stage);
    put(&home.join(".claude/projects/-p/0240bd7a.jsonl"), sitting().text());
    put(&home.join(".codex/sessions/2026/03/02/rollout-2026-03-02T09-00-00-c.jsonl"), rollout());
    put(&home.join(".codex/sessions/2026/03/02/notes.jsonl"), "{}");
    stage
}

fn scanned(stage: &Stage, more: &[&str]) -> Value {
    let ran: Ran = stage.run(&[&["scan", "--json"], more].concat()).ended_with(0);
    ran.json()
}

// spec: U3
#[tokio::test(flavor = "multi_thread")]
async fn a_scan_counts_what_was_billed_and_finds_what_went_wrong() {
    let found = scanned(&lived_in(), &[]);
    assert_eq!(found["schema"], "scrubjay.scan/1");
    assert_eq!((&found["sessions"], &found["by_agent"]), (&json!(2), &json!({ "claude_code": 1, "codex": 1 })));
    assert_eq!((&found["requests"], &found["projects"], &found["questions"]), (&json!(7), &json!(2), &json!(3)));
    // Five requests of three fresh tokens, and of Codex those that were not cached.
    let usage = json!({ "input": 15 + 9_000 + 140, "cache_read": 60_000 + 8_960, "cache_write_5m": 55_500, "cache_write_1h": 0, "output": 90 });
    assert_eq!(found["usage"], usage);
    assert_eq!(found["cache_misses"]["ttl"], json!({ "count": 1, "lost_tokens": 26_500 }));
    assert_eq!(found["cache_misses"]["history"], json!({ "count": 1, "lost_tokens": 12_000 }));
    let causes: Vec<&String> = found["cache_misses"].as_object().unwrap().keys().collect();
    assert_eq!(causes, ["model", "system", "tools", "history", "ttl", "server", "us"]);
    let largest = &found["tool_results"]["largest"];
    assert_eq!(
        (&largest[0]["characters"], &largest[0]["tool"], &largest[0]["request"]),
        (&json!(12_000), &json!("Bash"), &json!(2))
    );
    assert_eq!(largest.as_array().unwrap().len(), 4);
}

// spec: U3
#[tokio::test(flavor = "multi_thread")]
async fn a_scan_says_what_each_layer_would_have_done_and_what_compactions_dropped() {
    let stage = lived_in();
    let found = scanned(&stage, &[]);
    let layers = &found["layers"];
    assert_eq!((&layers["tool_results"]["stored"], &layers["tool_results"]["of"]), (&json!(1), &json!(4)));
    assert!(layers["tool_results"]["spared_tokens"].as_u64() > Some(1_000), "{layers}");
    assert_eq!(
        layers["extraction"]["said_outright"], 1,
        "the name of the host; a rule beside a task may be for the task"
    );
    let weighted = &found["weighted_input"];
    let total = |arm: &str| weighted[arm]["total"].as_f64().unwrap();
    assert!(total("with") < total("without"), "{weighted}");
    let off = scanned(&stage, &["--set", "limits.shell_result_chars=50000"]);
    assert_eq!(off["layers"]["tool_results"]["stored"], 0, "the person's own limits count");
    assert!(off["weighted_input"]["with"]["total"].as_f64() > Some(total("with")));
    let compactions = &found["compactions"];
    assert_eq!((&compactions["count"], &compactions["checked"]), (&json!(1), &json!(1)));
    assert_eq!((&compactions["tokens_before"], &compactions["tokens_after"]), (&json!(27_003), &json!(17_003)));
    let dropped = &compactions["dropped"];
    assert_eq!((&dropped["user_messages"], &dropped["constraints"]), (&json!(1), &json!(1)), "{compactions}");
    assert_eq!(compactions["examples"][0], json!({ "what": "constraint", "headline": "Never push to main." }));
}

// spec: U3, G2
#[tokio::test(flavor = "multi_thread")]
async fn people_get_headlines_and_no_more() {
    let stage = lived_in();
    let ran = stage.run(&["scan"]).ended_with(0);
    for words in [
        "2 sessions · Claude Code 1, Codex 1 · 2 projects · 2026-03-02",
        "7 requests",
        "1 of 4 results stored",
        "12,000 characters  Bash  curl -H 'Authorization: token [REDACTED:",
        "ttl           1      26.5k tokens",
        "1 compaction by the agents themselves, from 27.0k to 17.0k tokens",
        "dropped constraint: Never push to main.",
        "nothing was written",
        "scrubjay chat",
    ] {
        assert!(ran.out.contains(words), "`{words}` in {}", ran.out);
    }
    let json = stage.run(&["scan", "--json"]).ended_with(0).out;
    for hidden in [&token()[..], "secret body", "It is done.", "fn parse", "We worked on a parser"] {
        assert!(!ran.out.contains(hidden) && !json.contains(hidden), "{hidden}");
    }
    assert_eq!(ran.err, "", "no bar where nobody looks at it");
    assert!(ran.out.lines().all(|line| line.chars().count() <= 100), "{}", ran.out);
    put(&user(&stage).join(".claude/projects/-x/memory.jsonl"), "");
    let memory = stage.project().canonicalize().unwrap();
    let slug: String =
        memory.display().to_string().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    put(&user(&stage).join(".claude/projects").join(slug).join("memory/MEMORY.md"), "- x");
    assert_eq!(scanned(&stage, &[])["next"]["command"], "scrubjay import claude");
}

/// Names, bytes and times of everything below a folder.
fn state(folder: &Path) -> Vec<(PathBuf, Vec<u8>, SystemTime)> {
    let mut all: Vec<_> = files(folder)
        .into_iter()
        .map(|path| (path.clone(), fs::read(&path).unwrap(), path.metadata().unwrap().modified().unwrap()))
        .collect();
    all.sort();
    all
}

// spec: U3
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_anywhere() {
    let stage = lived_in();
    let everything = stage.project().parent().unwrap().to_owned();
    let before = state(&everything);
    stage.run(&["scan"]).ended_with(0);
    stage.run(&["scan", "--json", "--path", user(&stage).to_str().unwrap()]).ended_with(0);
    assert_eq!(state(&everything), before);
    assert!(!stage.home().exists(), "not even a folder of our own");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_there_is_nothing_it_says_where_it_looked() {
    let stage = Stage::offline();
    let home = user(&stage);
    let (claude, codex) = (home.join(".claude/projects"), home.join(".codex/sessions"));
    let asked = [claude.to_str().unwrap(), codex.to_str().unwrap(), "--path", "CLAUDE_CONFIG_DIR"];
    stage.run(&["scan"]).ended_with(3).complained_about(&asked);
    let mut moved = stage.command(&["scan"]);
    moved.env("CODEX_HOME", "/else/where");
    finished(moved).ended_with(3).complained_about(&["/else/where/sessions"]);
    stage.run(&["scan", "--path", "missing"]).ended_with(3).complained_about(&["missing", "No such file"]);
    stage.write("words.jsonl", "no record\n");
    let odd = stage.run(&["scan", "--path", "words.jsonl"]).ended_with(3);
    odd.complained_about(&["words.jsonl", "no line of it is a record"]);
}

fn packed(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

// spec: U3
#[tokio::test(flavor = "multi_thread")]
async fn damage_costs_the_damaged_lines_and_is_told() {
    let stage = Stage::offline();
    let whole = sitting().text();
    stage.write("whole.jsonl", &whole);
    let good = scanned(&stage, &["--path", "whole.jsonl"]);
    let project = stage.project();
    // A second of everything, under names of its own, with all kinds of damage between the lines.
    let other = Sitting { prefix: "x", ..Sitting::default() };
    let mut other = other.said(0, json!("hello")).replied(0, json!({ "type": "text", "text": "hi" }), (0, 9_000));
    other.lines.insert(1, "{\"type\":\"user\",\"message\":{\"content\":\"cut he".to_owned());
    other.lines.insert(1, "{\"kind\":\"of\",\"another\":\"tool\"}".to_owned());
    other.lines.insert(1, format!("{{\"type\":\"user\",\"message\":{{\"content\":\"{}\"}}}}", "x".repeat(70_000)));
    other.lines.insert(0, String::new());
    let mut bytes = other.text().into_bytes();
    bytes.extend(b"\xff\xfe\x00\n{\"type\":\"user\",\"mess");
    put(&project.join("all/deep/er/damaged.jsonl"), bytes);
    put(&project.join("all/whole.jsonl.gz"), packed(&whole));
    put(&project.join("all/torn.jsonl.gz"), &packed(&whole.replace("msg_", "ymsg_"))[..400]);
    put(&project.join("all/empty.jsonl"), "");
    put(&project.join("all/other.txt"), &whole);
    assert!(Command::new("mkfifo").arg(project.join("all/pipe.jsonl")).status().unwrap().success());
    std::os::unix::fs::symlink(project.join("all"), project.join("all/circle")).unwrap();
    let mut command = stage.command(&["scan", "--json", "--path", "all"]);
    command.env("SCRUBJAY_LIMIT_RECORD_LINE_BYTES", "65536");
    let found = finished(command).ended_with(0).json();
    assert_eq!(found["requests"].as_u64(), good["requests"].as_u64().map(|all| all + 1));
    let damage = json!({ "torn_lines": 3, "unknown_lines": 1, "too_long_lines": 1, "cut_files": 0, "files": 1 });
    assert_eq!(found["damage"], damage);
    let unread: Vec<&str> =
        found["unread"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
    assert_eq!(unread.len(), 2, "{unread:?}");
    assert!(unread[0].ends_with("empty.jsonl") && unread[1].ends_with("torn.jsonl.gz"), "{unread:?}");
    for same in ["layers", "compactions"] {
        let (mut found, mut good) = (found[same].clone(), good[same].clone());
        (found["dreaming"], good["dreaming"]) = (Value::Null, Value::Null);
        assert_eq!(found, good, "a packed file says what a plain one does");
    }
    let words = stage.run(&["scan", "--path", "all"]).ended_with(0).out;
    assert!(words.contains("what could not be read") && words.contains("torn.jsonl.gz"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_and_sub_agents_are_counted_once_and_apart() {
    let stage = lived_in();
    let before = scanned(&stage, &[]);
    let home = user(&stage);
    let further = sitting().said(32, json!("more")).replied(32, json!({ "type": "text", "text": "yes" }), (17_000, 50));
    put(&home.join(".claude/projects/-p/copy.jsonl"), further.text());
    let aside = Sitting { prefix: "agent", ..Sitting::default() }.replied(
        5,
        json!({ "type": "text", "text": "found" }),
        (0, 4_000),
    );
    put(
        &home.join(".claude/projects/-p/s/subagents/agent-1.jsonl"),
        aside.text().replace("\"cwd\"", "\"isSidechain\":true,\"cwd\""),
    );
    put(&home.join(".codex/sessions/2026/03/03/rollout-2026-03-03T09-00-00-copy.jsonl"), rollout());
    let after = scanned(&stage, &[]);
    assert_eq!((&after["requests"], &after["requests_in_copies"]), (&json!(8), &json!(5 + 2)));
    assert_eq!(after["usage"]["cache_read"].as_u64(), before["usage"]["cache_read"].as_u64().map(|read| read + 17_000));
    assert_eq!(after["compactions"]["count"], 1);
    assert_eq!(after["sub_agents"]["requests"], 1);
    assert_eq!(after["sub_agents"]["usage"]["cache_write_5m"], 4_000);
    assert_eq!(after["cache_misses"], before["cache_misses"]);
    let rollouts = home.join(".codex");
    let twice = ["--path", rollouts.to_str().unwrap(), "--path", &format!("{}/../.codex", rollouts.display())];
    assert_eq!(scanned(&stage, &twice)["files"], 3, "one file by two names is one");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a_terminal_a_bar_comes_and_goes() {
    let stage = lived_in();
    let pair = native_pty_system().openpty(PtySize { rows: 50, cols: 100, pixel_width: 0, pixel_height: 0 }).unwrap();
    let mut command = CommandBuilder::new(program());
    command.args(["scan"]);
    command.env_clear();
    stage.environment().into_iter().for_each(|(name, value)| command.env(name, value));
    command.cwd(stage.project());
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut output = pair.master.try_clone_reader().unwrap();
    let (told, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut all = Vec::new();
        // A terminal whose program has left gives an error at its end.
        output.read_to_end(&mut all).unwrap_or_default();
        told.send(String::from_utf8_lossy(&all).into_owned())
    });
    let all = heard.recv_timeout(PATIENCE).unwrap();
    assert!(child.wait().unwrap().success(), "{all}");
    let bar = all.find("reading ▱").unwrap_or_else(|| panic!("no bar in {all:?}"));
    let gone = all.rfind("\r\u{1b}[K").unwrap();
    assert!(bar < gone && all[gone..].contains("sessions"), "{all:?}");
    assert!(all.contains("\u{1b}[1m2 sessions\u{1b}[0m"), "{all:?}");
}
