//! Chat Completions.

use super::{Spoken, ask_cache, blocks_of, row_of, speak, total};
use crate::simulator::chunks;
use crate::simulator::error::ApiError;
use crate::simulator::recorded::RecordedRequest;
use crate::simulator::reply::StreamError;
use crate::simulator::server::{Answered, Shared, Turn, pieces_or_fault};
use crate::simulator::wire::Parcel;
use axum::body::Bytes;
use scrubjay::message::Usage;
use serde_json::{Value, json};
use std::sync::Arc;

/// `POST /v1/chat/completions`.
pub(in crate::simulator) fn completions(shared: &Arc<Shared>, request: &RecordedRequest) -> Answered {
    let row = row_of(shared, request)?;
    check(&request.json)?;
    let blocks = blocks_of(&request.json, request.messages().iter(), row.scale_percent);
    if total(&blocks) > row.window {
        let (window, tokens) = (row.window, total(&blocks));
        let message = format!(
            "This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens. Please reduce the length of the messages."
        );
        return Err(ApiError::invalid(message).coded("context_length_exceeded").about("messages"));
    }
    let reply = shared.reply_to(request)?;
    let pieces = match pieces_or_fault(shared, request, &reply) {
        Ok(pieces) => pieces,
        Err(fault) => return Ok(fault),
    };
    let most = request.json["max_completion_tokens"].as_u64().or_else(|| request.json["max_tokens"].as_u64());
    let spoken = speak(shared, &reply, pieces, (row.scale_percent, most));
    let usage = Usage { output: spoken.output_tokens, ..ask_cache(shared, request, &blocks) };
    let completion = completion(shared, &row.id, &spoken, &usage);
    shared.update(request.index, |answer| {
        answer.usage = Some(usage);
        answer.content = completion["choices"][0]["message"].clone();
    });
    let parcel = if request.is_stream() {
        let wants_usage = request.json["stream_options"]["include_usage"] == true;
        let usage = if wants_usage { completion["usage"].clone() } else { Value::Null };
        Parcel::events(events(&completion, usage, reply.stream_error.as_ref()))
    } else {
        Parcel::json(200, &completion)
    };
    Ok(Turn::Send(parcel.travelling_like(&reply)))
}

fn check(json: &Value) -> Result<(), ApiError> {
    let Some(messages) = json["messages"].as_array().filter(|messages| !messages.is_empty()) else {
        return Err(ApiError::invalid("Missing required parameter: 'messages'.").about("messages"));
    };
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let answered = open.iter().position(|id| message["tool_call_id"] == *id);
            let Some(at) = answered else {
                let wrong = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
                return Err(ApiError::invalid(wrong).about("messages"));
            };
            open.remove(at);
        } else {
            refuse_unanswered(&open)?;
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            open = calls.filter_map(|call| call["id"].as_str()).collect();
        }
    }
    refuse_unanswered(&open)
}

fn refuse_unanswered(open: &[&str]) -> Result<(), ApiError> {
    if open.is_empty() {
        return Ok(());
    }
    let message = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    );
    Err(ApiError::invalid(message).about("messages"))
}

fn completion(shared: &Shared, model: &str, spoken: &Spoken, usage: &Usage) -> Value {
    let content = if spoken.text.is_empty() { Value::Null } else { json!(spoken.text) };
    let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
    if !spoken.calls.is_empty() {
        let calls = spoken.calls.iter().map(|call| {
            json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": call.arguments } })
        });
        message["tool_calls"] = Value::Array(calls.collect());
    }
    let finish = match (spoken.cut_short, spoken.calls.is_empty()) {
        (true, _) => "length",
        (false, false) => "tool_calls",
        (false, true) => "stop",
    };
    json!({
        "id": shared.new_id("chatcmpl"), "object": "chat.completion", "created": 1_794_744_000, "model": model,
        "choices": [{ "index": 0, "message": message, "finish_reason": finish, "logprobs": null }],
        "usage": {
            "prompt_tokens": usage.total_input(), "completion_tokens": usage.output,
            "total_tokens": usage.total_input() + usage.output,
            "prompt_tokens_details": { "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write_5m },
            "completion_tokens_details": { "reasoning_tokens": spoken.reasoning_tokens }
        }
    })
}

fn events(completion: &Value, usage: Value, error: Option<&StreamError>) -> Vec<Bytes> {
    let chunk = |choices: Value| {
        json!({
            "id": completion["id"], "object": "chat.completion.chunk", "created": completion["created"],
            "model": completion["model"], "choices": choices
        })
    };
    let delta = |delta: Value| chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]));
    let message = &completion["choices"][0]["message"];
    let mut events = vec![delta(json!({ "role": "assistant", "content": "" }))];
    let text = message["content"].as_str().unwrap_or_default();
    events.extend(chunks::split(text).map(|piece| delta(json!({ "content": piece }))));
    for (index, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
        let start = json!({ "index": index, "id": call["id"], "type": "function",
                            "function": { "name": call["function"]["name"], "arguments": "" } });
        events.push(delta(json!({ "tool_calls": [start] })));
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        events.extend(
            chunks::split(arguments)
                .map(|piece| delta(json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] }))),
        );
    }
    let finish = &completion["choices"][0]["finish_reason"];
    events.push(chunk(json!([{ "index": 0, "delta": {}, "finish_reason": finish }])));
    if !usage.is_null() {
        let mut last = chunk(json!([]));
        last["usage"] = usage;
        events.push(last);
    }
    let mut lines: Vec<String> = events.iter().map(Value::to_string).collect();
    lines.push("[DONE]".to_owned());
    if let Some(error) = error {
        lines.truncate(error.after_events);
        lines.push(json!({ "error": { "message": error.message, "type": error.kind, "code": null } }).to_string());
    }
    lines.iter().map(|line| chunks::event(line)).collect()
}
