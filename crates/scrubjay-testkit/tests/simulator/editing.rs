//! Context management on the server, reminders that clear themselves, and cache edits.

use crate::client::*;
use scrubjay_testkit::simulator::{CLEARED_RESULT, Script, Simulator, text, thinking, tokens};
use serde_json::{Value, json};

const CLEARING: &str = "context-management-2025-06-27";

async fn echoing() -> Simulator {
    Simulator::builder().script(Script::echo()).model(plain()).start().await.unwrap()
}

/// Rounds of one tool call each, with results of 100 tokens.
fn rounds(count: usize) -> Vec<Value> {
    let mut messages = vec![user("go")];
    for round in 0..count {
        let id = format!("t{round}");
        let name = if round == 0 { "memory" } else { "Read" };
        messages.push(assistant([
            json!({ "type": "tool_use", "id": id, "name": name, "input": { "path": "some/file/of/the/project.rs" } }),
        ]));
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": "r".repeat(400) });
        messages.push(user([result]));
    }
    messages
}

fn clearing(messages: &[Value], edit: Value) -> Value {
    let mut body = ask(PLAIN, messages);
    let mut edit = edit;
    edit["type"] = json!("clear_tool_uses_20250919");
    body["context_management"] = json!({ "edits": [edit] });
    body
}

// spec: H5
#[tokio::test]
async fn old_results_are_cleared_past_the_trigger() {
    let simulator = echoing().await;
    let client = Client::of(&simulator).with("anthropic-beta", CLEARING);
    let freed = 100 - tokens::of_text(CLEARED_RESULT, 100);
    let low = json!({ "type": "input_tokens", "value": 300 });
    let kept = json!({ "type": "tool_uses", "value": 2 });
    for (edit, cleared, tokens) in [
        (json!({}), 0, 0),
        (json!({ "trigger": low }), 2, 2 * freed),
        (json!({ "trigger": low, "keep": kept }), 3, 3 * freed),
        (json!({ "trigger": { "type": "tool_uses", "value": 4 }, "keep": kept }), 3, 3 * freed),
        (json!({ "trigger": { "type": "tool_uses", "value": 5 }, "keep": kept }), 0, 0),
        (json!({ "trigger": low, "keep": kept, "exclude_tools": ["memory"] }), 2, 2 * freed),
        (json!({ "trigger": low, "keep": kept, "clear_at_least": { "type": "input_tokens", "value": 10_000 } }), 0, 0),
    ] {
        let body = clearing(&rounds(5), edit.clone());
        let reply = client.say(&body).await;
        let applied = &reply["context_management"]["applied_edits"];
        if cleared == 0 {
            assert_eq!(applied, &json!([]), "{edit}");
            continue;
        }
        let expected = json!([{ "type": "clear_tool_uses_20250919", "cleared_tool_uses": cleared, "cleared_input_tokens": tokens }]);
        assert_eq!(applied, &expected, "{edit}");
        let (_, counted) = client.post("/v1/messages/count_tokens", &body).await;
        let before = counted["context_management"]["original_input_tokens"].as_u64().unwrap();
        assert_eq!(counted["input_tokens"], before - tokens);
        assert_eq!(reply["usage"]["input_tokens"], counted["input_tokens"]);
    }
    let inputs = json!({ "trigger": low, "clear_tool_inputs": true });
    let reply = client.say(&clearing(&rounds(5), inputs)).await;
    assert!(reply["context_management"]["applied_edits"][0]["cleared_input_tokens"].as_u64().unwrap() > 2 * freed);
}

// spec: H5
#[tokio::test]
async fn clearing_restarts_the_cache_at_the_first_cleared_block() {
    let simulator = echoing().await;
    let client = Client::of(&simulator).with("anthropic-beta", CLEARING);
    let edit = json!({ "trigger": { "type": "tool_uses", "value": 3 }, "keep": { "type": "tool_uses", "value": 1 } });
    let with_system = |count: usize| {
        let mut body = clearing(&rounds(count), edit.clone());
        body["system"] = json!([marked(words("s", 50), "5m")]);
        body["cache_control"] = json!({ "type": "ephemeral" });
        body
    };
    client.say(&with_system(3)).await;
    let cleared = client.say(&with_system(4)).await;
    assert_eq!(counts(&cleared).0, 50, "only the system prompt is left of the cached prefix");
    let total: u64 = counts(&cleared).0 + counts(&cleared).2 + counts(&cleared).3;
    assert_eq!(counts(&client.say(&with_system(4)).await).0, total, "the shorter prefix is cached in its turn");
    let mut stream = with_system(4);
    stream["stream"] = json!(true);
    let events = client.stream("/v1/messages", &stream).await;
    assert_eq!(events[events.len() - 2]["context_management"]["applied_edits"][0]["cleared_tool_uses"], 3);
}

// spec: H5
#[tokio::test]
async fn thinking_is_cleared_by_turns_and_stays_valid() {
    let script =
        Script::new().otherwise_with(|request| thinking("1234".repeat(request.messages().len())).and(text("ok")));
    let simulator = Simulator::start(script).await.unwrap();
    let client = Client::of(&simulator).with("anthropic-beta", CLEARING);
    let mut messages = Vec::new();
    for _ in 0..4 {
        messages.push(user("q"));
        let mut body = ask("claude-opus-5-5", &messages);
        let keep = json!({ "type": "thinking_turns", "value": 1 });
        body["context_management"] = json!({ "edits": [{ "type": "clear_thinking_20251015", "keep": keep }] });
        let reply = client.say(&body).await;
        messages.push(assistant(reply["content"].clone()));
        if messages.len() == 8 {
            let edit = &reply["context_management"]["applied_edits"][0];
            assert_eq!(
                (&edit["cleared_thinking_turns"], &edit["cleared_input_tokens"]),
                (&json!(2), &json!(6)),
                "the oldest two, of 2 and 4 tokens"
            );
        }
    }
    let mut wrong = ask("claude-opus-5-5", &[user("q")]);
    wrong["context_management"] =
        json!({ "edits": [{ "type": "clear_tool_uses_20250919" }, { "type": "clear_thinking_20251015" }] });
    assert!(client.refused(&wrong).await.contains("must be the first edit"));
}

// spec: H5
#[tokio::test]
async fn a_reminder_counts_until_the_next_user_message() {
    let simulator = Simulator::start(Script::echo()).await.unwrap();
    let client = Client::of(&simulator).with("anthropic-beta", "mid-conversation-system-clear-at-2026-08-21");
    let model = "claude-opus-5-5";
    let reminder = json!({ "role": "system", "content": "r".repeat(400), "clear_at": "next_user_message" });
    let bare = client.say(&ask(model, &[user("hi")])).await;
    let reminded = client.say(&ask(model, &[user("hi"), reminder.clone()])).await;
    assert_eq!(reminded["usage"]["input_tokens"].as_u64(), bare["usage"]["input_tokens"].as_u64().map(|n| n + 130));
    let talk = [user("hi"), reminder, assistant("hi"), user("on")];
    let with = client.say(&ask(model, &talk)).await;
    let without = client.say(&ask(model, &[user("hi"), assistant("hi"), user("on")])).await;
    assert_eq!(with["usage"]["input_tokens"], without["usage"]["input_tokens"]);
}

// spec: H5
#[tokio::test]
async fn cache_edits_delete_without_moving_the_prefix() {
    let edits = json!({ "type": "cache_edits", "edits": [{ "type": "delete", "tool_use_id": "t0" }] });
    let mut last = rounds(2);
    last.extend([assistant("done"), user([edits.clone(), marked(words("q", 10), "5m")])]);
    let refusing = echoing().await;
    assert!(Client::of(&refusing).refused(&ask(PLAIN, &last)).await.contains("Input tag 'cache_edits'"));

    let simulator =
        Simulator::builder().script(Script::echo()).model(plain()).with_cache_edits().start().await.unwrap();
    let client = Client::of(&simulator);
    let mut first = ask(PLAIN, &rounds(2));
    first["cache_control"] = json!({ "type": "ephemeral" });
    let written = counts(&client.say(&first).await).2;
    let reply = client.say(&ask(PLAIN, &last)).await;
    assert_eq!(counts(&reply), (written - 100, 0, 11, 0), "the entry is found, the deleted result is not read");
    last.last_mut().unwrap()["content"][0]["edits"][0]["tool_use_id"] = json!("unknown");
    assert!(client.refused(&ask(PLAIN, &last)).await.contains("no `tool_result` for `unknown`"));
}
