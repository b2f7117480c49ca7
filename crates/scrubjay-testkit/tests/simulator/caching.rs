//! Hit rates over real HTTP: what is read, written and paid in full.

use crate::client::*;
use scrubjay_testkit::simulator::{Pacer, Script, Simulator, text};
use serde_json::{Value, json};
use std::time::Duration;

async fn echoing() -> Simulator {
    Simulator::builder().script(Script::echo()).model(plain()).start().await.unwrap()
}

// spec: H5
#[tokio::test]
async fn turns_read_what_earlier_turns_wrote() {
    let simulator = echoing().await;
    let client = Client::of(&simulator);
    let mut first = ask(PLAIN, &[user([marked(words("q", 20), "5m")])]);
    first["system"] = json!([marked(words("s", 30), "5m")]);
    let reply = client.say(&first).await;
    assert_eq!(counts(&reply), (0, 0, 50, 0));

    let again = [user([words("q", 20)]), assistant(reply["content"].clone()), user([marked(words("r", 5), "5m")])];
    let mut second = ask(PLAIN, &again);
    second["system"] = first["system"].clone();
    assert_eq!(counts(&client.say(&second).await), (50, 0, 25, 0), "the echo and the new question are written");

    second["system"] = json!([marked(words("t", 30), "5m")]);
    assert_eq!(counts(&client.say(&second).await), (0, 0, 75, 0), "another system prompt, another prefix");

    let records = simulator.requests();
    assert_eq!(records[1].answer.cache.as_ref().unwrap().hit_block, Some(1));
    assert_eq!(records[1].answer.usage.unwrap().total_input(), 75);
    assert_eq!(records[1].cache_markers(), 2);
}

// spec: H5
#[tokio::test]
async fn hour_entries_outlive_five_minute_ones() {
    let simulator = echoing().await;
    let client = Client::of(&simulator);
    let mut body = ask(PLAIN, &[user([marked(words("q", 20), "5m"), words("z", 3)])]);
    body["system"] = json!([marked(words("s", 30), "1h")]);
    assert_eq!(counts(&client.say(&body).await), (0, 30, 20, 3));
    simulator.clock().advance(Duration::from_secs(299));
    assert_eq!(counts(&client.say(&body).await), (50, 0, 0, 3));
    simulator.clock().advance(Duration::from_secs(299));
    assert_eq!(counts(&client.say(&body).await), (50, 0, 0, 3), "a read renews");
    simulator.clock().advance(Duration::from_secs(300));
    assert_eq!(counts(&client.say(&body).await), (30, 0, 20, 3));
    simulator.clock().advance(Duration::from_secs(3600));
    assert_eq!(counts(&client.say(&body).await), (0, 30, 20, 3));
}

// spec: H5
#[tokio::test]
async fn parallel_twins_both_miss() {
    let pacer = Pacer::new();
    let script = Script::new().reply(text("a").paced(&pacer)).reply(text("b")).reply(text("c"));
    let simulator = Simulator::builder().script(script).model(plain()).start().await.unwrap();
    let client = Client::of(&simulator);
    let body = ask(PLAIN, &[user([marked(words("q", 20), "5m")])]);
    let held = tokio::spawn(client.request("/v1/messages", &body).send());
    simulator.wait_until(|records| records.first().is_some_and(|first| first.answer.usage.is_some())).await;
    assert_eq!(counts(&client.say(&body).await).0, 0, "the first has not begun to answer");
    pacer.open();
    let first: Value = held.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!(counts(&first), (0, 0, 20, 0));
    assert_eq!(counts(&client.say(&body).await), (20, 0, 0, 0));
}

// spec: H5
#[tokio::test]
async fn each_change_spoils_what_the_docs_say_it_spoils() {
    let tool =
        json!({ "name": "Read", "description": "reads a file of the project", "input_schema": { "type": "object" } });
    let base = || {
        let mut body = ask(PLAIN, &[user([marked(words("q", 20), "5m")])]);
        body["tools"] = json!([marked(tool.clone(), "5m")]);
        body["system"] = json!([marked(words("s", 30), "5m")]);
        body
    };
    let tools = {
        let simulator = echoing().await;
        counts(&Client::of(&simulator).say(&base()).await).2 - 50
    };
    let picture = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA==" } });
    let changes: Vec<(&str, Value, u64)> = vec![
        ("max_tokens", json!(7), tools + 50),
        ("metadata", json!({ "user_id": "u" }), tools + 50),
        ("stop_sequences", json!(["x"]), tools + 50),
        ("output_config", json!({ "effort": "high" }), tools + 50),
        ("output_config", json!({ "effort": "low" }), tools + 30),
        ("output_config", json!({ "format": { "type": "json_schema", "schema": {} } }), tools + 30),
        ("tool_choice", json!({ "type": "any" }), tools + 30),
        ("thinking", json!({ "type": "adaptive" }), tools + 30),
        ("messages", json!([user([marked(words("q", 20), "5m"), picture])]), tools + 30),
        ("speed", json!("fast"), tools),
        ("system", json!([marked(words("x", 30), "5m")]), tools),
        ("tools", json!([marked(json!({ "name": "Write", "input_schema": {} }), "5m")]), 0),
    ];
    for (field, value, read) in changes {
        let simulator = echoing().await;
        let client = Client::of(&simulator);
        client.say(&base()).await;
        let mut body = base();
        body[field] = value;
        assert_eq!(counts(&client.say(&body).await).0, read, "{field}: {}", body[field]);
    }
}

// spec: H5
#[tokio::test]
async fn another_key_beta_or_model_shares_nothing() {
    let simulator = echoing().await;
    let body = ask(PLAIN, &[user([marked(words("q", 20), "5m")])]);
    Client::of(&simulator).say(&body).await;
    assert_eq!(counts(&Client::of(&simulator).with("x-api-key", "other").say(&body).await).0, 0);
    let beta = Client::of(&simulator).with("anthropic-beta", "context-1m-2025-08-07");
    assert_eq!(counts(&beta.say(&body).await).0, 0);
    let bearer = Client::of(&simulator).without("x-api-key").with("authorization", "Bearer k");
    let newer = bearer.with("anthropic-version", "2026-10-21");
    assert_eq!(counts(&newer.say(&body).await).0, 20, "the same key in the other header, under the other version");
}

// spec: H5
// spec: H1
#[tokio::test]
async fn key_order_counts_and_markers_do_not() {
    let simulator = echoing().await;
    let client = Client::of(&simulator);
    let call = |input: &str| -> Value {
        let input: Value = serde_json::from_str(input).unwrap();
        json!({ "type": "tool_use", "id": "t", "name": "Read", "input": input })
    };
    let result = |ttl: Option<&str>| {
        let block = json!({ "type": "tool_result", "tool_use_id": "t", "content": "0123456789".repeat(8) });
        ttl.map_or(block.clone(), |ttl| marked(block, ttl))
    };
    let talk = |input: &str, ttl: Option<&str>, question: Value| {
        ask(PLAIN, &[user("go"), assistant([call(input)]), user([result(ttl), question])])
    };
    client.say(&talk(r#"{"a":1,"b":2}"#, Some("5m"), words("x", 5))).await;
    let same = client.say(&talk(r#"{"a":1,"b":2}"#, None, marked(words("y", 5), "5m"))).await;
    assert_eq!(counts(&same).0, 26, "the marker moved on, the entry is still found");
    let turned = client.say(&talk(r#"{"b":2,"a":1}"#, None, marked(words("y", 5), "5m"))).await;
    assert_eq!(counts(&turned).0, 0);
}

// spec: H5
#[tokio::test]
async fn automatic_caching_and_prewarming() {
    let simulator = echoing().await;
    let client = Client::of(&simulator);
    let mut body = ask(PLAIN, &[user([words("q", 20)])]);
    body["cache_control"] = json!({ "type": "ephemeral" });
    body["max_tokens"] = json!(0);
    let warm = client.say(&body).await;
    assert_eq!(
        (counts(&warm), &warm["content"], &warm["stop_reason"]),
        ((0, 0, 20, 0), &json!([]), &json!("max_tokens"))
    );
    assert_eq!(warm["usage"]["output_tokens"], 0);
    body["max_tokens"] = json!(100);
    assert_eq!(counts(&client.say(&body).await), (20, 0, 0, 0));
    assert_eq!(simulator.replies_left(), 0);
    let too_short = ask(PLAIN, &[user([marked(words("z", 9), "5m")])]);
    assert_eq!(counts(&client.say(&too_short).await), (0, 0, 0, 9));
}

// spec: H5
#[tokio::test]
async fn the_stream_counts_like_the_body() {
    let simulator = echoing().await;
    let client = Client::of(&simulator);
    let mut body = ask(PLAIN, &[user([marked(words("q", 20), "5m")])]);
    let whole = client.say(&body).await;
    body["stream"] = json!(true);
    let events = client.stream("/v1/messages?beta=true", &body).await;
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(kinds[..3], ["message_start", "ping", "content_block_start"]);
    assert_eq!(kinds[kinds.len() - 3..], ["content_block_stop", "message_delta", "message_stop"]);
    let said: String = events.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    assert_eq!(said, whole["content"][0]["text"].as_str().unwrap());
    let start = &events[0]["message"]["usage"];
    assert_eq!((&start["cache_read_input_tokens"], &start["input_tokens"]), (&json!(20), &json!(0)));
    let end = &events[events.len() - 2];
    assert_eq!(end["usage"]["output_tokens"], whole["usage"]["output_tokens"]);
    assert_eq!(end["usage"]["cache_read_input_tokens"], 20, "cumulative");
}

// spec: H5
#[tokio::test]
async fn diagnostics_name_the_first_difference() {
    let simulator = echoing().await;
    let client = Client::of(&simulator).with("anthropic-beta", "cache-diagnosis-2026-04-07");
    let mut body = ask(PLAIN, &[user([words("q", 20)])]);
    body["system"] = json!("sys");
    body["diagnostics"] = json!({ "previous_message_id": null });
    let first = client.say(&body).await;
    assert_eq!(first["diagnostics"], Value::Null);
    let reason = |reply: &Value| reply["diagnostics"]["cache_miss_reason"].clone();
    body["diagnostics"] = json!({ "previous_message_id": first["id"] });
    let mut longer = body.clone();
    longer["messages"] = json!([body["messages"][0], assistant("a"), user("b")]);
    assert_eq!(client.say(&longer).await["diagnostics"], Value::Null);
    let mut edited = body.clone();
    edited["messages"] = json!([user([words("x", 20)])]);
    let missed = json!({ "type": "messages_changed", "cache_missed_input_tokens": 20 });
    assert_eq!(reason(&client.say(&edited).await), missed);
    for (field, value, kind) in [
        ("system", json!("other"), "system_changed"),
        ("tools", json!([{ "name": "t", "input_schema": {} }]), "tools_changed"),
        ("model", json!("claude-opus-4-6"), "model_changed"),
        ("diagnostics", json!({ "previous_message_id": "msg_unknown" }), "previous_message_not_found"),
    ] {
        let mut changed = body.clone();
        changed[field] = value;
        assert_eq!(reason(&client.say(&changed).await)["type"], kind);
    }
}

#[tokio::test]
async fn tokens_are_counted_as_they_are_billed() {
    let simulator = echoing().await;
    let client = Client::of(&simulator);
    let mut body = ask(PLAIN, &[user([words("q", 20)])]);
    body["system"] = json!([words("s", 7)]);
    let (status, counted) = client.post("/v1/messages/count_tokens", &body).await;
    assert_eq!((status, &counted["input_tokens"]), (200, &json!(27)));
    assert_eq!(counts(&client.say(&body).await).3, 27);
}
