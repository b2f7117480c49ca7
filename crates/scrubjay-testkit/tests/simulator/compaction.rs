//! Compaction on demand.

use crate::client::*;
use scrubjay_testkit::simulator::{Script, Simulator, text, thinking};
use serde_json::{Value, json};

const MODEL: &str = "claude-opus-5-5";

async fn summarising() -> (Simulator, Client) {
    let script = Script::new()
        .when(|request| !request.json["compaction"].is_null(), text("What happened so far."))
        .otherwise_with(|_| thinking("hm").and(text("ok")));
    let simulator = Simulator::start(script).await.unwrap();
    let client = Client::of(&simulator).with("anthropic-beta", "compact-2026-09-04");
    (simulator, client)
}

fn compact(messages: &[Value]) -> Value {
    let mut body = ask(MODEL, messages);
    body["compaction"] = json!({ "type": "summarize", "instructions": "short" });
    body
}

// spec: H5
#[tokio::test]
async fn a_summary_stands_for_what_it_summarises_and_keeps_later_thinking_valid() {
    let (_simulator, client) = summarising().await;
    let mut messages = vec![user("one")];
    for question in ["two", "three"] {
        let reply = client.say(&ask(MODEL, &messages)).await;
        messages.extend([assistant(reply["content"].clone()), user(question)]);
    }
    let last = client.say(&ask(MODEL, &messages)).await;
    let summary = client.say(&compact(&messages)).await;
    assert_eq!((&summary["stop_reason"], &summary["content"][0]["type"]), (&json!("compaction"), &json!("compaction")));
    assert_eq!(summary["content"][0]["content"], "What happened so far.");
    assert_eq!(summary["usage"]["iterations"][0]["type"], "compaction");

    let tail = [assistant(summary["content"].clone()), assistant(last["content"].clone()), user("and now")];
    let next = client.say(&ask(MODEL, &tail)).await;
    assert_eq!(next["content"][1]["text"], "ok", "the kept turn's thinking was accepted");

    let mut streamed = compact(&messages);
    streamed["stream"] = json!(true);
    let events = client.stream("/v1/messages", &streamed).await;
    let delta = events.iter().find(|event| event["delta"]["type"] == "compaction_delta").unwrap();
    assert_eq!(delta["delta"]["content"], "What happened so far.");
}

// spec: H5
#[tokio::test]
async fn compaction_reads_the_warm_cache() {
    let (_simulator, client) = summarising().await;
    let long = json!({ "type": "text", "text": "w".repeat(8000) });
    let messages = [user([marked(long, "5m")])];
    let first = client.say(&ask(MODEL, &messages)).await;
    assert_eq!(counts(&client.say(&compact(&messages)).await).0, counts(&first).2);
}

// spec: H5
#[tokio::test]
async fn every_misuse_has_its_code() {
    let (_simulator, client) = summarising().await;
    let summary = client.say(&compact(&[user("one")])).await["content"][0].clone();
    let with = |field: &str, value: &str| {
        let mut block = summary.clone();
        block[field] = json!(value);
        block
    };
    let call = json!({ "type": "tool_use", "id": "t", "name": "n", "input": {} });
    for (body, code) in [
        (ask(MODEL, &[user("x"), assistant([summary.clone()]), user("y")]), "compaction_block_misplaced"),
        (ask(MODEL, &[assistant([summary.clone(), summary.clone()]), user("y")]), "compaction_block_ambiguous"),
        (ask(MODEL, &[assistant([with("content", "other")]), user("y")]), "compaction_content_mismatch"),
        (ask(MODEL, &[assistant([with("signature", "other")]), user("y")]), "compaction_signature_invalid"),
        (compact(&[assistant([summary.clone()])]), "compaction_nothing_to_summarize"),
        (compact(&[user("x"), assistant([call])]), "compaction_incomplete_turn"),
    ] {
        let (status, reply) = client.post("/v1/messages", &body).await;
        assert_eq!((status, &reply["error"]["details"]["error_code"]), (400, &json!(code)), "{reply}");
    }
    let bare = client.without("anthropic-beta");
    assert_eq!(bare.refused(&compact(&[user("x")])).await, "compaction: Extra inputs are not permitted");
}

// spec: H5
#[tokio::test]
async fn past_a_threshold_the_reply_begins_with_a_summary() {
    let (simulator, client) = summarising().await;
    let client = client.with("anthropic-beta", "compact-2026-01-12");
    let with_edit = |messages: &[Value], more: Value| {
        let mut body = ask(MODEL, messages);
        let mut edit = json!({ "type": "compact_20260112", "trigger": { "type": "input_tokens", "value": 50_000 } });
        edit.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body["context_management"] = json!({ "edits": [edit] });
        body
    };
    let long = user("w".repeat(200_000));
    let small = client.say(&with_edit(&[user("short")], json!({}))).await;
    assert_eq!(small["content"][0]["type"], "thinking");

    let reply = client.say(&with_edit(std::slice::from_ref(&long), json!({}))).await;
    let kinds: Vec<&str> =
        reply["content"].as_array().unwrap().iter().filter_map(|block| block["type"].as_str()).collect();
    assert_eq!(kinds, ["compaction", "thinking", "text"]);
    assert_eq!(reply["context_management"]["applied_edits"], json!([]));
    let iterations = &reply["usage"]["iterations"];
    assert_eq!((&iterations[0]["type"], &iterations[0]["input_tokens"]), (&json!("compaction"), &json!(65_000)));
    assert_eq!(iterations[1]["input_tokens"], reply["usage"]["input_tokens"]);
    assert_eq!(reply["usage"]["input_tokens"], 8, "what is read after the summary is the summary");

    let next = [long.clone(), assistant(reply["content"].clone()), user("on")];
    let went_on = client.say(&with_edit(&next, json!({}))).await;
    assert_eq!(went_on["usage"]["iterations"], Value::Null, "what came before the summary is not read again");
    client.say(&with_edit(&next[1..], json!({}))).await;

    let paused = client.say(&with_edit(&[long], json!({ "pause_after_compaction": true }))).await;
    assert_eq!((&paused["stop_reason"], paused["content"].as_array().unwrap().len()), (&json!("compaction"), 1));
    assert_eq!((&paused["usage"]["input_tokens"], &paused["usage"]["output_tokens"]), (&json!(0), &json!(0)));
    let low = json!({ "trigger": { "type": "input_tokens", "value": 10 } });
    assert!(client.refused(&with_edit(&[user("x")], low)).await.contains("at least 50000"));
    assert_eq!(simulator.requests().len(), 6);
}
