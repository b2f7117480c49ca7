//! Chat Completions, Responses, and the list of models in both dialects.

use crate::client::*;
use scrubjay_testkit::simulator::{ModelRow, Script, Simulator, text, thinking, tool_use_as};
use serde_json::{Value, json};

fn chat(messages: Value) -> Value {
    json!({ "model": "gpt-5.6", "messages": messages })
}

fn script() -> Script {
    Script::new().reply(text("Let me look. ").and(tool_use_as("call_1", "Read", json!({ "path": "a" })))).reply("Done.")
}

// spec: H5
#[tokio::test]
async fn chat_completes_with_tools_and_cached_tokens() {
    let simulator = Simulator::start(script()).await.unwrap();
    let client = Client::openai(&simulator);
    let long = "w".repeat(8000);
    let mut messages = json!([{ "role": "user", "content": long }]);
    let (status, first) = client.post("/v1/chat/completions", &chat(messages.clone())).await;
    assert_eq!(status, 200, "{first}");
    let choice = &first["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["tool_calls"][0]["function"]["arguments"], r#"{"path":"a"}"#);
    assert_eq!(first["usage"]["prompt_tokens"], 2000);
    assert_eq!(first["usage"]["prompt_tokens_details"], json!({ "cached_tokens": 0, "cache_write_tokens": 2000 }));

    let list = messages.as_array_mut().unwrap();
    list.push(choice["message"].clone());
    let (status, open) = client.post("/v1/chat/completions", &chat(json!(list))).await;
    assert_eq!(status, 400, "{open}");
    list.push(json!({ "role": "tool", "tool_call_id": "call_1", "content": "text" }));
    let (_, second) = client.post("/v1/chat/completions", &chat(messages)).await;
    assert_eq!(second["usage"]["prompt_tokens_details"]["cached_tokens"], 2000);
    assert_eq!(second["choices"][0]["message"]["content"], "Done.");
    assert_eq!(simulator.requests()[2].tool_results(), [("call_1".to_owned(), "text".to_owned())]);
}

// spec: H5
#[tokio::test]
async fn chat_streams_the_same() {
    let simulator = Simulator::start(script()).await.unwrap();
    let client = Client::openai(&simulator);
    let mut body = chat(json!([{ "role": "user", "content": "go" }]));
    body["stream"] = json!(true);
    body["stream_options"] = json!({ "include_usage": true });
    let events = client.stream("/v1/chat/completions", &body).await;
    let deltas = || events.iter().map(|event| &event["choices"][0]["delta"]);
    assert_eq!(deltas().filter_map(|delta| delta["content"].as_str()).collect::<String>(), "Let me look. ");
    let arguments = deltas().filter_map(|delta| delta["tool_calls"][0]["function"]["arguments"].as_str());
    assert_eq!(arguments.collect::<String>(), r#"{"path":"a"}"#);
    assert_eq!(events.last().unwrap(), "[DONE]");
    let usage = &events[events.len() - 2];
    assert_eq!((&usage["choices"], &usage["usage"]["prompt_tokens"]), (&json!([]), &json!(1)));
    body["stream_options"] = Value::Null;
    let events = client.stream("/v1/chat/completions", &body).await;
    assert!(events.iter().all(|event| event["usage"].is_null()));
}

// spec: H5
#[tokio::test]
async fn responses_call_functions_and_remember() {
    let simulator = Simulator::start(script()).await.unwrap();
    let client = Client::openai(&simulator);
    let body = json!({ "model": "gpt-5.6", "instructions": "i".repeat(8000), "input": "go" });
    let (status, first) = client.post("/v1/responses", &body).await;
    assert_eq!(status, 200, "{first}");
    let kinds: Vec<&str> =
        first["output"].as_array().unwrap().iter().filter_map(|item| item["type"].as_str()).collect();
    assert_eq!(kinds, ["message", "function_call"]);
    let answer = json!({ "type": "function_call_output", "call_id": "call_1", "output": "text" });
    let mut next = body.clone();
    next["previous_response_id"] = first["id"].clone();
    next["input"] = json!([answer]);
    let (_, second) = client.post("/v1/responses", &next).await;
    assert_eq!(second["output"][0]["content"][0]["text"], "Done.");
    assert_eq!(second["usage"]["input_tokens_details"]["cached_tokens"], 2001);
    next["previous_response_id"] = Value::Null;
    let (status, lost) = client.post("/v1/responses", &next).await;
    let words = "No tool call found for function call output with call_id call_1.";
    assert_eq!((status, &lost["error"]["message"]), (400, &json!(words)));
    let (_, counted) = client.post("/v1/responses/input_tokens", &body).await;
    assert_eq!(counted["input_tokens"], 2001);
}

// spec: H5
#[tokio::test]
async fn responses_stream_in_numbered_events() {
    let simulator = Simulator::start(Script::new().reply(thinking("hm").and(script_reply()))).await.unwrap();
    let client = Client::openai(&simulator);
    let body = json!({ "model": "gpt-5.6", "input": "go", "stream": true, "reasoning": { "summary": "auto" } });
    let events = client.stream("/v1/responses", &body).await;
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let joined = |kind: &str| {
        let deltas = events.iter().filter(|event| event["type"] == kind);
        deltas.filter_map(|event| event["delta"].as_str()).collect::<String>()
    };
    assert_eq!(joined("response.output_text.delta"), "Let me look. ");
    assert_eq!(joined("response.function_call_arguments.delta"), r#"{"path":"a"}"#);
    assert_eq!(joined("response.reasoning_summary_text.delta"), "hm");
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["usage"]["output_tokens_details"]["reasoning_tokens"], 1);
}

fn script_reply() -> scrubjay_testkit::simulator::Reply {
    text("Let me look. ").and(tool_use_as("call_1", "Read", json!({ "path": "a" })))
}

// spec: H5
#[tokio::test]
async fn overflow_and_limits() {
    let small = ModelRow::new("small").window(100);
    let simulator = Simulator::builder().script(Script::echo()).model(small).start().await.unwrap();
    let client = Client::openai(&simulator);
    let long = "w".repeat(404);
    let body = json!({ "model": "small", "messages": [{ "role": "user", "content": long }] });
    let (status, reply) = client.post("/v1/chat/completions", &body).await;
    assert_eq!((status, &reply["error"]["code"]), (400, &json!("context_length_exceeded")));
    let words = reply["error"]["message"].as_str().unwrap();
    assert!(words.starts_with("This model's maximum context length is 100 tokens. However, "), "{words}");
    let (status, reply) = client.post("/v1/responses", &json!({ "model": "small", "input": long })).await;
    assert_eq!((status, &reply["error"]["code"]), (400, &json!("context_length_exceeded")));
    let body = json!({ "model": "small", "max_completion_tokens": 2, "messages": [{ "role": "user", "content": "123456789" }] });
    let (_, reply) = client.post("/v1/chat/completions", &body).await;
    assert_eq!(
        (&reply["choices"][0]["finish_reason"], &reply["usage"]["completion_tokens"]),
        (&json!("length"), &json!(2))
    );
    let (status, reply) = client.post("/v1/chat/completions", &json!({ "model": "none", "messages": [] })).await;
    assert_eq!((status, &reply["error"]["code"]), (404, &json!("model_not_found")));
}

#[tokio::test]
async fn models_are_listed_in_both_dialects() {
    let simulator = Simulator::start(Script::new()).await.unwrap();
    let (_, theirs) = Client::openai(&simulator).get("/v1/models").await;
    assert_eq!((&theirs["object"], &theirs["data"][0]["object"]), (&json!("list"), &json!("model")));
    let (_, ours) = Client::of(&simulator).get("/v1/models?limit=1000").await;
    assert_eq!((&ours["has_more"], &ours["data"][0]["type"]), (&json!(false), &json!("model")));
    let (_, one) = Client::of(&simulator).get("/v1/models/claude-opus-5-5").await;
    assert_eq!((&one["max_input_tokens"], &one["max_tokens"]), (&json!(1_000_000), &json!(128_000)));
    assert_eq!(one["capabilities"]["context_management"]["clear_tool_uses_20250919"]["supported"], true);
    let (status, _) = Client::of(&simulator).get("/v1/models/none").await;
    assert_eq!(status, 404);
}
