//! Hooks in the loop: the person's own commands, at their moments, with real processes.

use scrubjay::desk::Person;
use scrubjay::event::Event;
use scrubjay::gate::{Gate, Verdict};
use scrubjay::hooks::Hooks;
use scrubjay::limits::Limits;
use scrubjay::message::Origin;
use scrubjay::{Error, tools};
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_testkit::{Setting, Story};
use serde_json::{Value, json};
use std::sync::Arc;

fn hooked(model: Scripted, hooks: Value) -> Story {
    hooked_and_gated(model, hooks, Gate::open())
}

fn hooked_and_gated(model: Scripted, hooks: Value, gate: Gate) -> Story {
    let limits = Limits::default();
    let (hooks, wrong) = Hooks::from_json(&hooks, &limits);
    assert_eq!(wrong, Vec::<String>::new());
    let mut setting = Setting::new(Arc::new(model)).tools(tools::standard(&[], &limits));
    setting.hooks = Arc::new(hooks);
    setting.gate = gate;
    setting.person = Person::absent("nobody is there");
    setting.begin().unwrap()
}

fn on(event: &str, matcher: &str, command: &str) -> Value {
    json!({ event: [{ "matcher": matcher, "hooks": [{ "type": "command", "command": command }] }] })
}

fn said(story: &Story, origin: Origin) -> Vec<String> {
    let history = &story.session.transcript().view().history;
    history.iter().filter(|message| message.origin == origin).map(|message| message.text()).collect()
}

// spec: Q5
#[tokio::test]
async fn hooks_add_context_at_the_start_and_to_a_question() {
    let mut hooks = on("SessionStart", "startup", "echo the build is red");
    hooks["UserPromptSubmit"] =
        on("UserPromptSubmit", "", r#"grep -q '"prompt":"Hello"' && echo it was a greeting"#)["UserPromptSubmit"]
            .clone();
    let mut story = hooked(Scripted::saying(["Hi."]), hooks);
    story.session.started("startup").await.unwrap();
    story.ask("Hello").await.unwrap();
    let added = said(&story, Origin::Hook);
    assert!(added[0].contains("SessionStart hook") && added[0].contains("the build is red"), "{added:?}");
    assert!(added[1].contains("it was a greeting"), "{added:?}");
    insta::assert_snapshot!(story.storyboard());
}

// spec: Q5
#[tokio::test]
async fn a_question_that_a_hook_refuses_was_never_asked() {
    let mut story = hooked(
        Scripted::saying(["Hi."]),
        on("UserPromptSubmit", "", "grep -q secret && { echo 'no secrets here' >&2; exit 2; }; exit 0"),
    );
    let refused = story.ask("the secret is 123").await.unwrap_err();
    assert!(matches!(&refused, Error::Blocked(reason) if reason.contains("no secrets here")), "{refused}");
    assert!(said(&story, Origin::Person).is_empty());
    story.ask("Hello").await.unwrap();
}

// spec: Q5
#[tokio::test]
async fn hooks_refuse_change_and_allow_tool_calls() {
    let model = Scripted::new()
        .then(
            Turn::call("Bash", json!({ "command": "touch refused" }))
                .and_call("Write", json!({ "file_path": "asked.txt", "content": "as written" }))
                .and_call("Glob", json!({ "pattern": "*.rs" })),
        )
        .then(Turn::text("ok"));
    let changed = json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "permissionDecision": "allow",
        "updatedInput": { "file_path": "asked.txt", "content": "as the hook wants" } } });
    let replaced = json!({ "hookSpecificOutput": { "hookEventName": "PostToolUse", "updatedToolOutput": "nothing to see",
        "additionalContext": "searching is slow today" } });
    let hooks = json!({
        "PreToolUse": [
            { "matcher": "Bash", "hooks": [{ "type": "command", "command": "echo 'no shell' >&2; exit 2" }] },
            { "matcher": "Write", "hooks": [{ "type": "command", "command": format!("echo '{changed}'") }] },
        ],
        "PostToolUse": [{ "matcher": "Glob", "hooks": [{ "type": "command", "command": format!("echo '{replaced}'") }] }],
    });
    let gate = Gate::new(|_, effect| if effect.is_read_only() { Verdict::Allow } else { Verdict::Ask });
    let mut story = hooked_and_gated(model, hooks, gate);
    story.ask("Go").await.unwrap();
    let history = &story.session.transcript().view().history;
    let results: Vec<String> =
        history.iter().flat_map(|m| m.tool_results().map(|r| r.text()).collect::<Vec<_>>()).collect();
    assert!(results[0].contains("no shell"), "{results:?}");
    assert_eq!(results[2], "nothing to see");
    assert_eq!(std::fs::read_to_string(story.home.project().join("asked.txt")).unwrap(), "as the hook wants");
    assert!(!story.home.project().join("refused").exists());
    assert!(said(&story, Origin::Hook)[0].contains("searching is slow today"));
}

// spec: Q5
#[tokio::test]
async fn a_stop_hook_makes_the_model_go_on_but_not_for_ever() {
    let words: Vec<String> = (0..20).map(|n| format!("done {n}")).collect();
    let mut story = hooked(Scripted::saying(words), on("Stop", "", "echo 'the tests fail' >&2; exit 2"));
    let answer = story.ask("Fix it").await.unwrap();
    assert_eq!(answer.rounds, 1 + Limits::default().stop_hook_objections);
    assert!(said(&story, Origin::Hook).iter().all(|text| text.contains("the tests fail")));
}

// spec: W2
#[tokio::test]
async fn a_broken_hook_never_fails_the_turn() {
    let mut story = hooked(Scripted::saying(["Hi."]), on("UserPromptSubmit", "", "/no/such/command"));
    assert_eq!(story.ask("Hello").await.unwrap().text, "Hi.");
    assert!(story.events().iter().any(|event| matches!(event, Event::Notice(_))), "{:?}", story.events());
}
