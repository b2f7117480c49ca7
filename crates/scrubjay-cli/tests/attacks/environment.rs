//! Keys of the model service, looked for in the environment of everything that is started.

use crate::stage::{Stage, finished};
use crate::tally::Tally;
use scrubjay_testkit::simulator::{RecordedRequest, Script, Simulator, text, tool_use};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeSet;

#[derive(Deserialize)]
struct Suite {
    lines: Vec<String>,
    parents: Vec<String>,
}

/// Variables with keys, each with a word of its own.
const KEYS: &[(&str, &str)] = &[
    ("ANTHROPIC_API_KEY", "canary-anthropic-1"),
    ("ANTHROPIC_AUTH_TOKEN", "canary-token-2"),
    ("OPENAI_API_KEY", "canary-openai-3"),
    ("SCRUBJAY_EMBEDDINGS_KEY", "canary-embeddings-4"),
    // The same key under another name, and in another value.
    ("MY_COPY", "canary-anthropic-1"),
    ("HEADERS", "x-api-key: canary-openai-3"),
    // The command that prints the key names it.
    ("VAULT", "canary-vault-5"),
];

/// What is passed in the control.
const PASSED: &str =
    "ANTHROPIC_API_KEY,ANTHROPIC_AUTH_TOKEN,OPENAI_API_KEY,SCRUBJAY_EMBEDDINGS_KEY,MY_COPY,HEADERS,VAULT";

fn is_agent(request: &RecordedRequest) -> bool {
    request.system_text().contains("Another agent started you")
}

/// Everything that children showed when a session and an agent of it ran these lines and a hook ran, and how the
/// repository tried to have the keys passed.
async fn shown(lines: &[String], more: &[&str]) -> Vec<String> {
    let calls = |lines: &[String]| {
        let mut lines = lines.iter().map(|line| tool_use("Bash", json!({ "command": line })));
        let first = lines.next().unwrap();
        lines.fold(first, |turn, call| turn.and(call))
    };
    let script = Script::new()
        .when(|request| is_agent(request) && request.tool_results().is_empty(), calls(lines))
        .when(is_agent, text("done"))
        .reply(calls(lines))
        .reply(tool_use("Agent", json!({ "prompt": "Look.", "description": "look", "agent": "general" })))
        .reply(text("That was all."));
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    let seen = stage.project().join("seen");
    std::fs::create_dir(&seen).unwrap();
    stage.write(".scrubjay.toml", "env.pass = [\"ANTHROPIC_API_KEY\", \"OPENAI_API_KEY\"]\n");
    let hook = format!("env > {0}/hook; cat /proc/self/environ > {0}/hook-itself; true", seen.display());
    let settings = format!(
        "api_key_command = \"printf %s $VAULT\"\n[[hooks.PreToolUse]]\nmatcher = \"*\"\nhooks = [{{ type = \"command\", command = {hook:?} }}]\n"
    );
    stage.write("user.toml", &settings);
    let config = stage.project().join("user.toml");
    let mut arguments = vec!["-p", "go", "--permission-mode", "allow-all", "--config", config.to_str().unwrap()];
    arguments.extend(more);
    let mut command = stage.command(&arguments);
    command.envs(KEYS.iter().copied());
    finished(command).ended_with(0);
    let results = simulator.requests().into_iter().flat_map(|request| request.tool_results());
    let mut all: Vec<String> = results.map(|(_, shown)| shown).collect();
    for name in ["hook", "hook-itself"] {
        all.push(String::from_utf8_lossy(&std::fs::read(seen.join(name)).unwrap()).into_owned());
    }
    all
}

/// Which canaries stand in a text.
fn canaries(shown: &[String]) -> BTreeSet<&'static str> {
    let values = KEYS.iter().map(|(_, value)| value.rsplit(' ').next().unwrap());
    values.filter(|value| shown.iter().any(|shown| shown.contains(value))).collect()
}

// spec: X2
#[tokio::test(flavor = "multi_thread")]
async fn no_child_gets_a_key() {
    let mut tally = Tally::of("environment");
    let suite: Suite = toml::from_str(include_str!("../../../../suites/attacks/environment.toml")).unwrap();
    let mut lines = suite.lines.clone();
    if rustix::process::geteuid().is_root() {
        println!("skipped: to the system's administrator every process is open");
    } else {
        lines.extend(suite.parents);
    }
    let held = shown(&lines, &[]).await;
    assert!(held.len() >= 2 * lines.len() + 2, "the session, the agent and the hook: {}", held.len());
    for one in &held {
        assert!(!one.is_empty());
        tally.tried(one, !canaries(std::slice::from_ref(one)).is_empty());
    }
    let passed = shown(&suite.lines, &["--set", &format!("env.pass={PASSED}")]).await;
    let seen = canaries(&passed);
    assert_eq!(seen.len(), 5, "what the user passes is there: {seen:?}");
    for one in &passed {
        tally.control(!canaries(std::slice::from_ref(one)).is_empty());
    }
    let one = shown(&suite.lines[..1], &["--set", "env.pass=OPENAI_API_KEY"]).await;
    assert_eq!(canaries(&one), BTreeSet::from(["canary-openai-3"]), "and nothing else");
    tally.finish();
}
