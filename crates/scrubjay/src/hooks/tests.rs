//! Hooks as real processes: what they are told, what they may answer, and how they fail.

use super::*;
use crate::settings::{SettingsFile, Sources};
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use tokio::sync::oneshot::{Receiver, channel};

struct Place {
    held: tempfile::TempDir,
    transcript: PathBuf,
    limits: Limits,
}

impl Place {
    fn new() -> Self {
        let held = tempfile::tempdir().unwrap();
        let transcript = held.path().join("session.jsonl");
        Self { held, transcript, limits: Limits::default() }
    }

    fn scene(&self) -> Scene<'_> {
        Scene {
            session_id: "s-1",
            transcript_path: &self.transcript,
            cwd: self.held.path(),
            permission_mode: "default",
        }
    }

    /// One shell hook for every event.
    async fn run(&self, command: &str, moment: Moment<'_>) -> HookOutcome {
        self.run_all(&[json!({ "type": "command", "command": command })], moment).await
    }

    async fn run_all(&self, hooks: &[Value], moment: Moment<'_>) -> HookOutcome {
        let settings = json!({ "hooks": { moment.event().name(): [{ "hooks": hooks }] } });
        let (hooks, warnings) = Hooks::from_json(&settings, &self.limits);
        assert!(warnings.is_empty(), "{warnings:?}");
        hooks.run(&self.scene(), &moment, &self.limits).await
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.held.path().join(name)).unwrap()
    }

    /// A named pipe whose end is seen when every process that holds it is gone.
    fn fifo(&self, name: &str) -> PathBuf {
        let path = self.held.path().join(name);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        path
    }
}

fn pre_tool<'a>(tool_name: &'a str, tool_input: &'a Value) -> Moment<'a> {
    Moment::PreToolUse { tool_name, tool_input, tool_use_id: "toolu_1" }
}

const PROMPT: Moment<'static> = Moment::UserPromptSubmit { prompt: "hello" };
const STOP: Moment<'static> = Moment::Stop { stop_hook_active: false, last_assistant_message: "done" };

// spec: Q5
#[tokio::test]
async fn each_event_is_told_its_own_fields() {
    let place = Place::new();
    let input = json!({ "command": "ls" });
    let output = json!({ "stdout": "a\n" });
    let agent = place.held.path().join("agent.jsonl");
    let moments = [
        (Moment::SessionStart { source: "resume", model: "m" }, json!({ "source": "resume", "model": "m" })),
        (PROMPT, json!({ "prompt": "hello" })),
        (pre_tool("Bash", &input), json!({ "tool_name": "Bash", "tool_input": input, "tool_use_id": "toolu_1" })),
        (
            Moment::PostToolUse { tool_name: "Bash", tool_input: &input, tool_use_id: "t", tool_response: &output },
            json!({ "tool_name": "Bash", "tool_input": input, "tool_use_id": "t", "tool_response": output }),
        ),
        (
            Moment::PreCompact { trigger: "auto", custom_instructions: "keep names" },
            json!({ "trigger": "auto", "custom_instructions": "keep names" }),
        ),
        (STOP, json!({ "stop_hook_active": false, "last_assistant_message": "done" })),
        (
            Moment::SubagentStop {
                agent_id: "a",
                agent_type: "reviewer",
                agent_transcript_path: &agent,
                stop_hook_active: true,
                last_assistant_message: "fine",
            },
            json!({ "agent_id": "a", "agent_type": "reviewer", "agent_transcript_path": agent,
                    "stop_hook_active": true, "last_assistant_message": "fine" }),
        ),
        (Moment::SessionEnd { reason: "clear" }, json!({ "reason": "clear" })),
    ];
    assert_eq!(moments.len(), HookEvent::ALL.len());
    for (moment, fields) in moments {
        let outcome = place.run("cat > told.json; pwd > where; echo \"$CLAUDE_PROJECT_DIR\" > project", moment).await;
        assert_eq!(outcome, HookOutcome::default());
        let mut wanted = json!({
            "session_id": "s-1", "transcript_path": place.transcript, "cwd": place.held.path(),
            "hook_event_name": moment.event().name(), "permission_mode": "default",
        });
        wanted.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        assert_eq!(serde_json::from_str::<Value>(&place.file("told.json")).unwrap(), wanted);
        let here = fs::canonicalize(place.held.path()).unwrap();
        assert_eq!(fs::canonicalize(place.file("where").trim()).unwrap(), here);
        assert_eq!(Path::new(place.file("project").trim()), place.held.path());
    }
}

// spec: Q5
#[tokio::test]
async fn blocking_by_exit_code_and_by_json() {
    let place = Place::new();
    let (input, none) = (json!({}), Value::Null);
    let post = Moment::PostToolUse { tool_name: "Bash", tool_input: &input, tool_use_id: "t", tool_response: &none };
    let compact = Moment::PreCompact { trigger: "auto", custom_instructions: "" };
    for moment in [PROMPT, pre_tool("Bash", &input), post, compact, STOP] {
        for command in
            ["echo ignored; echo 'not today' >&2; exit 2", r#"echo '{"decision":"block","reason":"not today"}'"#]
        {
            let outcome = place.run(command, moment).await;
            assert_eq!(outcome.blocked.as_deref(), Some("not today"), "{moment:?}");
            assert!(outcome.notices.is_empty() && outcome.context.is_empty());
            let denied = outcome.permission.map(|asked| asked.permission);
            assert_eq!(denied, (moment.event() == HookEvent::PreToolUse).then_some(Permission::Deny));
        }
    }
    let outcome = place.run("exit 2", PROMPT).await;
    assert!(outcome.blocked.unwrap().contains("gave no reason"));
    for moment in [Moment::SessionStart { source: "startup", model: "m" }, Moment::SessionEnd { reason: "other" }] {
        let outcome = place.run("echo stop >&2; exit 2", moment).await;
        assert_eq!((outcome.blocked, outcome.notices.len()), (None, 1), "{moment:?} cannot be blocked");
    }
    let outcome = place.run(r#"echo '{"continue":false,"stopReason":"enough","systemMessage":"bye"}'"#, STOP).await;
    assert_eq!((outcome.stop.as_deref(), outcome.messages), (Some("enough"), vec!["bye".to_owned()]));
}

// spec: Q5
// spec: C2
#[tokio::test]
async fn context_reaches_the_model_where_the_event_has_it() {
    let place = Place::new();
    let input = json!({});
    let compact = Moment::PreCompact { trigger: "manual", custom_instructions: "" };
    let start = Moment::SessionStart { source: "compact", model: "m" };
    for (moment, plain, structured) in [
        (start, true, true),
        (PROMPT, true, true),
        (compact, true, true),
        (pre_tool("Read", &input), false, true),
        (STOP, false, true),
        (Moment::SessionEnd { reason: "other" }, false, false),
    ] {
        let said = place.run("echo 'the build is red'", moment).await;
        assert_eq!(said.context.first().map(String::as_str), plain.then_some("the build is red"), "{moment:?}");
        let event = moment.event().name();
        let json = json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": "a fact" } });
        let said = place.run(&format!("echo '{json}'"), moment).await;
        assert_eq!(said.context.first().map(String::as_str), structured.then_some("a fact"), "{moment:?}");
        assert!(said.notices.is_empty());
    }
    let other = r#"echo '{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"x"}}'"#;
    let outcome = place.run(other, PROMPT).await;
    assert_eq!((outcome.context.len(), outcome.notices.len()), (0, 1), "an answer for another event does not count");
    let long = place.run("printf 'é%.0s' $(seq 12000)", PROMPT).await.context.remove(0);
    assert_eq!(long.chars().filter(|c| *c == 'é').count(), 10_000);
    assert!(long.ends_with("[cut: 10000 of 12000 characters are shown]"), "{}", &long[long.len() - 60..]);
}

// spec: Q5
#[tokio::test]
async fn several_hooks_run_together_and_the_strictest_holds() {
    let place = Place::new();
    let input = json!({ "command": "ls" });
    let say = |decision: &str, updated: Value| {
        let answer = json!({ "hookSpecificOutput": { "permissionDecision": decision,
            "permissionDecisionReason": format!("because {decision}"), "updatedInput": updated } });
        json!({ "command": format!("echo '{answer}'") })
    };
    let asked = |permission, reason: &str| Some(PermissionAsked { permission, reason: reason.to_owned() });
    for (decisions, wanted) in [
        (vec!["allow"], asked(Permission::Allow, "because allow")),
        (vec!["allow", "ask"], asked(Permission::Ask, "because ask")),
        (vec!["deny", "allow", "ask"], asked(Permission::Deny, "because deny")),
        (vec!["defer"], None),
        (vec!["whatever"], None),
    ] {
        let hooks: Vec<Value> = decisions.iter().map(|decision| say(decision, Value::Null)).collect();
        assert_eq!(place.run_all(&hooks, pre_tool("Bash", &input)).await.permission, wanted, "{decisions:?}");
    }
    let hooks =
        [say("allow", json!({ "command": "a" })), say("allow", json!({ "command": "b" })), say("ask", json!("no"))];
    let outcome = place.run_all(&hooks, pre_tool("Bash", &input)).await;
    assert_eq!(outcome.updated_input, Some(json!({ "command": "b" })), "the last whole object counts");

    // Each waits for the other: side by side they end, one after the other they never would.
    let (a, b) = (place.fifo("a"), place.fifo("b"));
    let meet = |mine: &Path, other: &Path| {
        let command = format!("echo hi > {} & cat {}", mine.display(), other.display());
        json!({ "command": command })
    };
    let outcome = place.run_all(&[meet(&a, &b), meet(&b, &a)], PROMPT).await;
    assert_eq!(outcome.context, ["hi", "hi"]);

    let blocks = [
        json!({ "command": "echo one >&2; exit 2" }),
        json!({ "command": "true" }),
        json!({ "command": "echo two >&2; exit 2" }),
    ];
    assert_eq!(place.run_all(&blocks, PROMPT).await.blocked.as_deref(), Some("one\ntwo"));
    let none = Value::Null;
    let post = Moment::PostToolUse { tool_name: "X", tool_input: &none, tool_use_id: "t", tool_response: &none };
    let outcome = place.run(r#"echo '{"hookSpecificOutput":{"updatedToolOutput":{"stdout":"short"}}}'"#, post).await;
    assert_eq!(outcome.updated_output, Some(json!({ "stdout": "short" })));
}

// spec: Q5
// spec: W2
#[tokio::test]
async fn a_broken_hook_is_a_notice() {
    let place = Place::new();
    for (hook, said) in [
        (json!({ "command": "exit 1" }), "code 1"),
        (json!({ "command": "echo oh no >&2; exit 7" }), "code 7: oh no"),
        (json!({ "command": "no-such-command-here" }), "code 127"),
        (json!({ "command": "/no/such/program", "args": [] }), "cannot be started"),
        (json!({ "command": "echo '{ broken'" }), "begins like JSON"),
        (json!({ "command": "kill -9 $$" }), "signal"),
        (
            json!({ "command": "printf '{\"a\":\"'; head -c 3000000 /dev/zero | tr '\\0' x; echo '\"}'" }),
            "more than 1048576 bytes",
        ),
    ] {
        let outcome = place.run_all(std::slice::from_ref(&hook), PROMPT).await;
        assert_eq!(outcome.notices.len(), 1, "{hook}: {outcome:?}");
        assert!(outcome.notices[0].contains(said), "{hook}: {:?}", outcome.notices);
        assert_eq!(outcome, HookOutcome { notices: outcome.notices.clone(), ..HookOutcome::default() });
    }
    let outcome = place.run(r#"echo '{"systemMessage":"still heard"}'; exit 3"#, PROMPT).await;
    assert_eq!((outcome.messages.len(), outcome.notices.len()), (1, 0), "JSON counts whatever the code");
    let gone = place.held.path().join("gone");
    let (hooks, _) = Hooks::from_json(&json!({ "Stop": [{ "hooks": [{ "command": "true" }] }] }), &place.limits);
    let scene = Scene { cwd: &gone, ..place.scene() };
    let outcome = hooks.run(&scene, &STOP, &place.limits).await;
    assert!(outcome.notices[0].contains("cannot be started"), "{outcome:?}");
}

// spec: Q5
#[tokio::test]
async fn odd_streams_do_no_harm() {
    let place = Place::new();
    let large = "x".repeat(2_000_000);
    let moment = Moment::UserPromptSubmit { prompt: &large };
    assert_eq!(place.run("echo unread", moment).await.context, ["unread"], "a hook need not read");
    assert_eq!(place.run("exec <&-; echo closed", moment).await.context, ["closed"]);
    assert_eq!(place.run("wc -c | tr -d ' '", moment).await.context.len(), 1, "nor answer before it has read");
    assert_eq!(place.run("printf 'a\\377b'", PROMPT).await.context, ["a\u{fffd}b"]);
    let flood = place.run("head -c 5000000 /dev/zero | tr '\\0' y", PROMPT).await;
    assert!(flood.context[0].starts_with("yyy") && flood.context[0].len() < 20_000);
    let deep = format!("echo '{{\"x\":{}'", "[".repeat(50_000));
    assert_eq!(place.run(&deep, PROMPT).await.notices.len(), 1);
}

// spec: Q5
#[tokio::test]
async fn a_child_left_behind_is_not_waited_for() {
    let place = Place::new();
    let outcome = place.run("while [ ! -e done ]; do sleep 0.05; done & echo started", PROMPT).await;
    assert_eq!(outcome.context, ["started"]);
    assert!(outcome.notices.is_empty());
    fs::write(place.held.path().join("done"), "").unwrap();
}

/// Reads a pipe to its end on a thread of its own and says when nobody is left who could write.
fn watch(mut pipe: fs::File) -> Receiver<()> {
    let (ended, is_ended) = channel();
    std::thread::spawn(move || pipe.read_to_end(&mut Vec::new()).map(|_| ended.send(()).ok()));
    is_ended
}

/// Patience for what happens at once unless something is broken.
async fn soon(event: Receiver<()>) {
    tokio::time::timeout(std::time::Duration::from_secs(30), event).await.expect("a process is left").unwrap();
}

/// Opened without waiting for a writer, so that a hook which never starts does not hang the test.
fn opened(fifo: &Path) -> fs::File {
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK;
    rustix::fs::open(fifo, flags, rustix::fs::Mode::empty()).unwrap().into()
}

fn blocking(pipe: fs::File) -> fs::File {
    rustix::fs::fcntl_setfl(&pipe, rustix::fs::OFlags::RDONLY).unwrap();
    pipe
}

// spec: Q5
#[tokio::test]
async fn a_timeout_ends_the_whole_group() {
    let place = Place::new();
    let alive = opened(&place.fifo("alive"));
    let hook = json!({ "command": "(echo; sleep 60) > alive & sleep 60", "timeout": 1 });
    let outcome = place.run_all(&[hook], PROMPT).await;
    assert!(outcome.notices[0].contains("took longer than 1s"), "{outcome:?}");
    soon(watch(blocking(alive))).await;
}

// spec: Q3
// spec: Q5
#[tokio::test]
async fn a_cancelled_turn_ends_its_hooks() {
    let place = Place::new();
    let fifo = place.fifo("alive");
    let (opens, is_open) = channel();
    std::thread::spawn(move || opens.send(fs::File::open(fifo).unwrap()));
    let pipe = tokio::select! {
        outcome = place.run("(echo; sleep 60) > alive & sleep 60", PROMPT) => panic!("{outcome:?}"),
        pipe = is_open => pipe.unwrap(),
    };
    soon(watch(pipe)).await;
}

// spec: Q5
#[tokio::test]
async fn matchers_choose_and_twins_run_once() {
    let place = Place::new();
    let input = json!({});
    for (matcher, tool, runs) in [
        ("", "Bash", true),
        ("*", "Bash", true),
        ("Bash", "Bash", true),
        ("Bash", "BashOutput", false),
        ("Read|Bash", "Bash", true),
        ("Read, Edit", "Edit", true),
        ("Read|Bash", "Ba", false),
        ("mcp__.*", "mcp__memory__recall", true),
        ("^Ba", "Bash", true),
        ("Notebook.*", "Bash", false),
        ("mcp-server_1", "mcp-server_1", true),
    ] {
        let settings =
            json!({ "PreToolUse": [{ "matcher": matcher, "hooks": [{ "command": "echo no >&2; exit 2" }] }] });
        let (hooks, warnings) = Hooks::from_json(&settings, &place.limits);
        assert!(warnings.is_empty() && hooks.listens_to(HookEvent::PreToolUse) && !hooks.listens_to(HookEvent::Stop));
        let outcome = hooks.run(&place.scene(), &pre_tool(tool, &input), &place.limits).await;
        assert_eq!(outcome.blocked.is_some(), runs, "{matcher} {tool}");
    }
    let same = json!({ "command": "echo once >> count" });
    place.run_all(&[same.clone(), same], STOP).await;
    assert_eq!(place.file("count"), "once\n");
    let exec = json!({ "command": "printf", "args": ["%s", "$HOME; ls"] });
    assert_eq!(place.run_all(&[exec], PROMPT).await.context, ["$HOME; ls"], "arguments meet no shell");
}

// spec: Q5
// spec: W4
#[test]
fn hooks_come_from_settings_unless_switched_off() {
    let table = toml::from_str("[[hooks.Stop]]\nhooks = [{ command = \"true\" }]").unwrap();
    let file = || Some(SettingsFile { table: toml::Table::clone(&table), file: PathBuf::from("s.toml") });
    let listens = |sources: Sources| Hooks::configured(&Settings::resolve(&sources)).0.listens_to(HookEvent::Stop);
    let bare = vec![("SCRUBJAY_SIMPLE".to_owned(), "1".to_owned())];
    assert!(listens(Sources { user: file(), ..Sources::default() }));
    assert!(!listens(Sources { user: file(), environment: bare, ..Sources::default() }), "bare mode has no hooks");
    assert!(!listens(Sources { project: file(), ..Sources::default() }), "a repository brings none");
}

// spec: Q5
#[test]
fn settings_that_are_wrong_are_named_and_the_rest_runs() {
    let toml = r#"
        [[Stop]]
        hooks = [{ type = "command", command = "true", timeout = 5 }]
        [[PreToolUse]]
        matcher = "Bash"
        hooks = [{ command = "engine", args = ["hook"] }]
    "#;
    let limits = Limits::default();
    let (hooks, warnings) = Hooks::from_toml(&toml::from_str(toml).unwrap(), &limits);
    assert!(warnings.is_empty(), "{warnings:?}");
    let timeouts: Vec<u128> = hooks.hooks.iter().map(|hook| hook.timeout.as_millis()).collect();
    assert_eq!(timeouts.iter().sum::<u128>(), 5_000 + 60_000);

    let command = json!({ "command": "true" });
    for (settings, said) in [
        (json!([]), "not a table of events"),
        (json!({ "Stopp": [] }), "no hook event `Stopp`"),
        (json!({ "Stop": {} }), "not a list"),
        (json!({ "Stop": [{}] }), "no list `hooks`"),
        (json!({ "Stop": [{ "matcher": 3, "hooks": [command] }] }), "not text"),
        (json!({ "Stop": [{ "matcher": "(", "hooks": [command] }] }), "no pattern"),
        (json!({ "Stop": [{ "matcher": "(a{1000}){1000}{1000}", "hooks": [command] }] }), "no pattern"),
        (json!({ "Stop": [{ "hooks": [{}] }] }), "no command"),
        (json!({ "Stop": [{ "hooks": [{ "command": " " }] }] }), "no command"),
        (json!({ "Stop": [{ "hooks": [{ "type": "http", "url": "x" }] }] }), "only commands"),
        (json!({ "Stop": [{ "hooks": [{ "command": "x", "args": [1] }] }] }), "list of texts"),
        (json!({ "Stop": [{ "hooks": [{ "command": "x", "if": "Bash(git *)" }] }] }), "`if`"),
    ] {
        let (hooks, warnings) = Hooks::from_json(&settings, &limits);
        assert_eq!((hooks.hooks.len(), warnings.len()), (0, 1), "{settings}");
        assert!(warnings[0].contains(said), "{settings}: {warnings:?}");
    }
    let background = json!({ "Stop": [{ "hooks": [{ "command": "x", "async": true }] }] });
    let (hooks, warnings) = Hooks::from_json(&background, &limits);
    assert_eq!((hooks.hooks.len(), warnings.len()), (1, 1), "it runs, and the difference is said");
    for (timeout, millis) in [
        (json!(-1), 60_000),
        (json!("x"), 60_000),
        (json!(0), 60_000),
        (json!(1e300), 60_000),
        (json!(99_999), 3_600_000),
        (json!(1.5), 1_500),
    ] {
        let settings = json!({ "Stop": [{ "hooks": [{ "command": "x", "timeout": timeout }] }] });
        assert_eq!(Hooks::from_json(&settings, &limits).0.hooks[0].timeout.as_millis(), millis, "{timeout}");
    }
}
