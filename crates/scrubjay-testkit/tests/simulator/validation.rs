//! Everything the Messages API refuses, in its words.

use crate::client::*;
use scrubjay_testkit::simulator::{ModelRow, Script, Simulator, text, tool_use};
use serde_json::{Value, json};

fn marks(count: usize) -> Value {
    user((0..count).map(|_| marked(words("m", 1), "5m")).collect::<Vec<_>>())
}

fn call(id: &str) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "n", "input": {} })
}

fn result(id: &str) -> Value {
    json!({ "type": "tool_result", "tool_use_id": id, "content": "r" })
}

fn with(mut body: Value, field: &str, value: Value) -> Value {
    body[field] = value;
    body
}

fn said(messages: &[Value]) -> Value {
    ask("claude-opus-5-5", messages)
}

const SYSTEM: &str = "{\"role\":\"system\",\"content\":\"s\"}";

fn system() -> Value {
    serde_json::from_str(SYSTEM).unwrap()
}

fn wrong_blocks() -> Vec<(Value, &'static str)> {
    vec![
        (said(&[marks(5)]), "A maximum of 4 blocks with cache_control may be provided. Found 5."),
        (
            said(&[user([marked(words("a", 1), "5m"), marked(words("b", 1), "1h")])]),
            "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.",
        ),
        (
            said(&[user([words("a", 1), marked(words("", 0), "5m")])]),
            "messages.0.content.1.text: cache_control cannot be set for empty text blocks",
        ),
        (
            said(&[user("a"), assistant([marked(json!({ "type": "thinking", "thinking": "" }), "5m")]), user("b")]),
            "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
        ),
        (
            said(&[user("a"), assistant([call("t1")]), user("b")]),
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        ),
        (
            said(&[user("a"), assistant("b"), user([result("t9")])]),
            "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t9. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
        ),
    ]
}

fn misplaced_words() -> Vec<(Value, &'static str)> {
    vec![
        (
            said(&[user("a"), system(), user("b")]),
            "messages.1: role 'system' must precede an 'assistant' message or end the array",
        ),
        (said(&[system(), user("b")]), "messages.0: role 'system' must directly follow a 'user' message"),
        (ask("claude-opus-4-6", &[user("a"), system()]), "messages.1: role 'system' is not supported on this model"),
        (
            said(&[user("a"), with(system(), "clear_at", json!("next_user_message"))]),
            "messages.1.clear_at: Extra inputs are not permitted",
        ),
        (
            said(&[user("a"), assistant("b")]),
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        ),
    ]
}

fn impossible_wishes() -> Vec<(Value, &'static str)> {
    let hi = || said(&[user("hi")]);
    let prewarm = || with(hi(), "max_tokens", json!(0));
    vec![
        (
            with(hi(), "thinking", json!({ "type": "enabled", "budget_tokens": 2000 })),
            "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
        ),
        (
            with(ask("claude-haiku-4-5", &[user("a")]), "thinking", json!({ "type": "adaptive" })),
            "adaptive thinking is not supported on this model",
        ),
        (
            with(hi(), "thinking", json!({ "type": "adaptive", "block_binding": {} })),
            "thinking.block_binding: Extra inputs are not permitted. That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header.",
        ),
        (
            with(hi(), "context_management", json!({ "edits": [] })),
            "context_management: Extra inputs are not permitted",
        ),
        (
            with(hi(), "diagnostics", json!({ "previous_message_id": null })),
            "diagnostics: Extra inputs are not permitted",
        ),
        (with(hi(), "max_tokens", Value::Null), "max_tokens: Field required"),
        (with(hi(), "messages", json!([])), "messages: at least one message is required"),
        (with(prewarm(), "stream", json!(true)), "max_tokens: 0 cannot be combined with stream"),
        (with(prewarm(), "tool_choice", json!({ "type": "any" })), "max_tokens: 0 cannot be combined with tool_choice"),
        (
            with(prewarm(), "output_config", json!({ "format": {} })),
            "max_tokens: 0 cannot be combined with output_config.format",
        ),
        (
            with(said(&[marks(4), assistant("x"), user("y")]), "cache_control", json!({ "type": "ephemeral" })),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        (
            with(said(&[user([marked(words("a", 1), "1h")])]), "cache_control", json!({ "type": "ephemeral" })),
            "automatic caching asks for another ttl than the last block's own cache_control",
        ),
    ]
}

// spec: H5
#[tokio::test]
async fn refusals_have_the_words_of_the_api() {
    let simulator = Simulator::start(Script::echo()).await.unwrap();
    let client = Client::of(&simulator);
    for (body, words) in [wrong_blocks(), misplaced_words(), impossible_wishes()].concat() {
        assert_eq!(client.refused(&body).await, words, "{body}");
    }
    let records = simulator.requests();
    assert!(records.iter().all(|record| record.answer.status == 400 && record.answer.cache.is_none()));
}

// spec: H5
#[tokio::test]
async fn what_is_right_is_accepted() {
    let simulator = Simulator::start(Script::echo()).await.unwrap();
    let client = Client::of(&simulator);
    for body in [
        said(&[marks(4)]),
        said(&[user([marked(words("a", 1), "1h"), marked(words("b", 1), "5m")])]),
        said(&[user("a"), assistant([call("t1"), call("t2")]), user([result("t1")]), user([result("t2")])]),
        said(&[user("a"), system(), assistant("b"), user("c"), system(), system()]),
        ask("claude-haiku-4-5", &[user("a"), assistant("prefilled")]),
    ] {
        client.say(&body).await;
    }
}

// spec: H5
#[tokio::test]
async fn the_new_version_drops_sampling_parameters() {
    let simulator = Simulator::start(Script::echo()).await.unwrap();
    for (field, value) in [("temperature", json!(1.0)), ("top_p", json!(0.9)), ("top_k", json!(5))] {
        let body = with(said(&[user("hi")]), field, value);
        Client::of(&simulator).say(&body).await;
        let newer = Client::of(&simulator).with("anthropic-version", "2026-10-21");
        let refusal = newer.refused(&body).await;
        assert_eq!(refusal, format!("{field}: not supported in anthropic-version 2026-10-21"));
    }
}

// spec: H5
#[tokio::test]
async fn the_new_version_drops_two_placements() {
    let simulator = Simulator::start(Script::echo()).await.unwrap();
    let document = json!({ "type": "document", "source": { "type": "text", "data": "d" } });
    let cited = json!({ "type": "text", "text": "t", "citations": [{ "type": "char_location" }] });
    for (body, words) in [
        (
            said(&[user("a"), assistant([document]), user("b")]),
            "messages.1.content.0: `document` blocks are not permitted in assistant messages",
        ),
        (said(&[user([cited])]), "messages.0.content.0.citations: not permitted in user messages"),
    ] {
        Client::of(&simulator).say(&body).await;
        let newer = Client::of(&simulator).with("anthropic-version", "2026-10-21");
        assert_eq!(newer.refused(&body).await, words);
    }
}

// spec: H5
#[tokio::test]
async fn headers_are_checked() {
    let simulator = Simulator::builder().script(Script::echo()).key("right").start().await.unwrap();
    let body = said(&[user("hi")]);
    let client = || Client::of(&simulator).with("x-api-key", "right");
    let (status, reply) = Client::of(&simulator).post("/v1/messages", &body).await;
    assert_eq!((status, &reply["error"]["type"]), (401, &json!("authentication_error")));
    let (status, _) = client().without("x-api-key").post("/v1/messages", &body).await;
    assert_eq!(status, 401);
    client().say(&body).await;
    client().without("x-api-key").with("authorization", "Bearer right").say(&body).await;
    assert_eq!(client().without("anthropic-version").refused(&body).await, "anthropic-version: header is required");
    let refusal = client().with("anthropic-beta", "no-such-beta,context-1m-2025-08-07").refused(&body).await;
    assert!(refusal.starts_with("Unexpected value(s) `no-such-beta` for the `anthropic-beta` header"), "{refusal}");
    let (status, reply) = client().post("/v1/messages", &ask("no-such-model", &[user("hi")])).await;
    assert_eq!((status, &reply["error"]["message"]), (404, &json!("model: no-such-model")));
    assert!(reply["request_id"].as_str().unwrap().starts_with("req_"));
}

// spec: H5
#[tokio::test]
async fn the_window_is_a_wall_for_input_and_an_end_for_output() {
    let small = ModelRow::new("small").window(100);
    let simulator = Simulator::builder().script(Script::echo()).model(small).start().await.unwrap();
    let client = Client::of(&simulator);
    let refusal = client.refused(&ask("small", &[user([words("q", 101)])])).await;
    assert_eq!(refusal, "prompt is too long: 101 tokens > 100 maximum");
    let full = client.say(&ask("small", &[user([words("q", 60)])])).await;
    assert_eq!(
        (&full["stop_reason"], &full["usage"]["output_tokens"]),
        (&json!("model_context_window_exceeded"), &json!(40))
    );
    simulator.push(text("12345678").and(tool_use("Read", json!({ "path": "too long for what is left" }))));
    let cut = client.say(&with(ask("small", &[user("hi")]), "max_tokens", json!(5))).await;
    assert_eq!((&cut["stop_reason"], cut["content"].as_array().unwrap().len()), (&json!("max_tokens"), 1));
    let cut = client.say(&with(ask("small", &[user([words("q", 20)])]), "max_tokens", json!(5))).await;
    assert_eq!((&cut["stop_reason"], &cut["usage"]["output_tokens"]), (&json!("max_tokens"), &json!(5)));
}
