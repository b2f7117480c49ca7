//! Thinking that belongs to the words before it.

use crate::client::*;
use scrubjay_testkit::simulator::{Script, Simulator, text, thinking};
use serde_json::{Value, json};

const BOUND: &str = "claude-opus-5-5";
const BINDING: &str = "thinking-binding-controls-2026-08-01";

fn thoughtful() -> Script {
    Script::new().otherwise_with(|request| {
        thinking(format!("thought {}", request.messages().len()))
            .and(text(format!("answer {}", request.messages().len())))
    })
}

/// A conversation of some rounds, each with its own thinking.
async fn talk(client: &Client, model: &str, rounds: usize) -> Vec<Value> {
    let mut messages = Vec::new();
    for round in 0..rounds {
        messages.push(user(format!("question {round}")));
        let reply = client.say(&ask(model, &messages)).await;
        messages.push(assistant(reply["content"].clone()));
    }
    messages.push(user("one more"));
    messages
}

fn drop_block(body: &Value) -> Value {
    let mut body = body.clone();
    body["thinking"] = json!({ "type": "adaptive", "block_binding": { "prefix_mismatch_behavior": "drop_block" } });
    body
}

// spec: H5
#[tokio::test]
async fn unchanged_history_keeps_its_thinking() {
    let simulator = Simulator::start(thoughtful()).await.unwrap();
    let client = Client::of(&simulator);
    let messages = talk(&client, BOUND, 3).await;
    client.say(&ask(BOUND, &messages)).await;
    let mut fewer = messages.clone();
    fewer[1]["content"].as_array_mut().unwrap().remove(0);
    client.say(&ask(BOUND, &fewer)).await;
    let mut marks = messages.clone();
    marks[0]["content"] = json!([marked(json!({ "type": "text", "text": "question 0" }), "5m")]);
    client.say(&ask(BOUND, &marks)).await;
    let mut settings = ask(BOUND, &messages);
    settings["output_config"] = json!({ "effort": "low" });
    settings["tool_choice"] = json!({ "type": "none" });
    settings["tools"] = json!([{ "name": "later", "defer_loading": true, "input_schema": {} }]);
    client.say(&settings).await;
}

// spec: H5
#[tokio::test]
async fn edited_history_is_refused_then_dropped_on_request() {
    let simulator = Simulator::start(thoughtful()).await.unwrap();
    let client = Client::of(&simulator).with("anthropic-beta", BINDING);
    let messages = talk(&client, BOUND, 3).await;
    let mut edited = messages.clone();
    edited[2] = user("question 1, reworded");
    let body = ask(BOUND, &edited);
    let refusal = client.refused(&body).await;
    assert_eq!(
        refusal,
        "messages.3.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
    );
    let (status, counted) = client.post("/v1/messages/count_tokens", &body).await;
    assert_eq!(status, 400, "{counted}");

    let reply = client.say(&drop_block(&body)).await;
    let gone = |path: &str| json!({ "type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch" });
    assert_eq!(reply["input_transformations"], json!([gone("messages.3.content.0"), gone("messages.5.content.0")]));

    edited.extend([assistant(reply["content"].clone()), user("and on")]);
    let next = client.say(&drop_block(&ask(BOUND, &edited))).await;
    assert_eq!(
        next["input_transformations"].as_array().unwrap().len(),
        2,
        "new thinking is valid where it was written"
    );
}

// spec: H5
#[tokio::test]
async fn every_kind_of_edit_is_noticed() {
    let simulator = Simulator::start(thoughtful()).await.unwrap();
    let client = Client::of(&simulator);
    let messages = talk(&client, BOUND, 3).await;
    let mut middle = messages.clone();
    middle[3]["content"].as_array_mut().unwrap().remove(0);
    let mut shorter = messages.clone();
    shorter.drain(0..2);
    let mut longer = messages.clone();
    longer[0] = user([json!({ "type": "text", "text": "question 0" }), words("i", 2)]);
    let mut system = ask(BOUND, &messages);
    system["system"] = json!("new");
    let mut tools = ask(BOUND, &messages);
    tools["tools"] = json!([{ "name": "new", "input_schema": {} }]);
    for body in [ask(BOUND, &middle), ask(BOUND, &shorter), ask(BOUND, &longer), system, tools] {
        let refusal = client.refused(&body).await;
        assert!(refusal.contains("bound to a different conversation"), "{refusal}");
    }
}

// spec: H5
#[tokio::test]
async fn changed_or_foreign_thinking_is_refused() {
    let simulator = Simulator::start(thoughtful()).await.unwrap();
    let client = Client::of(&simulator);
    let mut messages = talk(&client, BOUND, 2).await;
    assert_eq!(messages[3]["content"][0]["thinking"], "", "not shown unless asked for");
    messages[3]["content"][0]["thinking"] = json!("made up");
    assert_eq!(
        client.refused(&ask(BOUND, &messages)).await,
        "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."
    );
    messages[3]["content"][0] = json!({ "type": "thinking", "thinking": "", "signature": "EosFoo==" });
    let refusal = client.refused(&ask(BOUND, &messages)).await;
    assert_eq!(refusal, "messages.3.content.0: Invalid `signature` in `thinking` block");
}

// spec: H5
#[tokio::test]
async fn another_models_thinking_is_dropped_and_not_billed() {
    let simulator = Simulator::start(thoughtful()).await.unwrap();
    let client = Client::of(&simulator).with("anthropic-beta", BINDING);
    let messages = talk(&client, "claude-sonnet-5-5", 1).await;
    let reply = client.say(&ask(BOUND, &messages)).await;
    let gone =
        json!({ "type": "thinking_dropped", "path": "messages.1.content.0", "reason": "model_binding_mismatch" });
    assert_eq!(reply["input_transformations"], json!([gone]));
    let mut stripped = messages.clone();
    stripped[1]["content"].as_array_mut().unwrap().remove(0);
    let plain = client.say(&ask(BOUND, &stripped)).await;
    assert_eq!(plain["usage"]["input_tokens"], reply["usage"]["input_tokens"]);
}

#[tokio::test]
async fn old_accounts_and_free_models_may_edit() {
    let simulator = Simulator::builder().script(thoughtful()).old_account().start().await.unwrap();
    let client = Client::of(&simulator).with("anthropic-beta", BINDING);
    let mut messages = talk(&client, BOUND, 1).await;
    messages[0] = user("reworded");
    let reply = client.say(&ask(BOUND, &messages)).await;
    assert_eq!(reply["input_transformations"][0]["type"], "thinking_mismatch_allowed");
    let reply = client.say(&drop_block(&ask(BOUND, &messages))).await;
    assert_eq!(reply["input_transformations"][0]["type"], "thinking_dropped", "asking for it turns the check on");
    let simulator = Simulator::start(thoughtful()).await.unwrap();
    let client = Client::of(&simulator);
    let mut messages = talk(&client, "claude-opus-5", 1).await;
    messages[0] = user("reworded");
    client.say(&ask("claude-opus-5", &messages)).await;
}

// spec: H5
#[tokio::test]
async fn small_models_read_only_the_turn_in_progress() {
    let simulator = Simulator::start(thoughtful()).await.unwrap();
    let client = Client::of(&simulator);
    let messages = talk(&client, "claude-haiku-4-5", 2).await;
    let mut stripped = messages.clone();
    for at in [1, 3] {
        stripped[at]["content"].as_array_mut().unwrap().remove(0);
    }
    let with = client.say(&ask("claude-haiku-4-5", &messages)).await;
    let without = client.say(&ask("claude-haiku-4-5", &stripped)).await;
    assert_eq!(with["usage"]["input_tokens"], without["usage"]["input_tokens"]);
    assert_eq!(with["content"][0]["thinking"], "thought 5", "older models show their thinking");
}
