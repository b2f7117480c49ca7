//! The Responses API.

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

/// `POST /v1/responses`.
pub(in crate::simulator) fn create(shared: &Arc<Shared>, request: &RecordedRequest) -> Answered {
    let row = row_of(shared, request)?;
    let items = items_of(shared, &request.json)?;
    let blocks = blocks_of(&request.json, items.iter(), row.scale_percent);
    if total(&blocks) > row.window {
        let message = "Your input exceeds the context window of this model. Please adjust your input and try again.";
        return Err(ApiError::invalid(message).coded("context_length_exceeded").about("input"));
    }
    let reply = shared.reply_to(request)?;
    let pieces = match pieces_or_fault(shared, request, &reply) {
        Ok(pieces) => pieces,
        Err(fault) => return Ok(fault),
    };
    let most = request.json["max_output_tokens"].as_u64();
    let spoken = speak(shared, &reply, pieces, (row.scale_percent, most));
    let usage = Usage { output: spoken.output_tokens, ..ask_cache(shared, request, &blocks) };
    let response = response(shared, &request.json, &spoken, &usage);
    let output = response["output"].as_array().cloned().unwrap_or_default();
    let id = response["id"].as_str().unwrap_or_default().to_owned();
    shared.memory().responses.insert(id, items.into_iter().chain(output.clone()).collect());
    shared.update(request.index, |answer| {
        answer.usage = Some(usage);
        answer.content = Value::Array(output);
    });
    let parcel = if request.is_stream() {
        Parcel::events(events(&response, reply.stream_error.as_ref()))
    } else {
        Parcel::json(200, &response)
    };
    Ok(Turn::Send(parcel.travelling_like(&reply)))
}

/// `POST /v1/responses/input_tokens`.
pub(in crate::simulator) fn input_tokens(shared: &Arc<Shared>, request: &RecordedRequest) -> Answered {
    let row = row_of(shared, request)?;
    let items = items_of(shared, &request.json)?;
    let tokens = total(&blocks_of(&request.json, items.iter(), row.scale_percent));
    Ok(Turn::Send(Parcel::json(200, &json!({ "object": "response.input_tokens", "input_tokens": tokens }))))
}

/// The whole conversation: what an earlier response knew, and what is new.
fn items_of(shared: &Shared, json: &Value) -> Result<Vec<Value>, ApiError> {
    let mut items = Vec::new();
    if let Some(previous) = json["previous_response_id"].as_str() {
        let memory = shared.memory();
        let known = memory.responses.get(previous).ok_or_else(|| {
            let message = format!("Previous response with id '{previous}' not found.");
            ApiError::invalid(message).coded("previous_response_not_found").about("previous_response_id")
        })?;
        items.extend(known.iter().cloned());
    }
    match &json["input"] {
        Value::String(text) => items.push(json!({ "type": "message", "role": "user", "content": text })),
        Value::Array(new) => items.extend(new.iter().cloned()),
        _ => return Err(ApiError::invalid("Missing required parameter: 'input'.").about("input")),
    }
    check(&items)?;
    Ok(items)
}

fn check(items: &[Value]) -> Result<(), ApiError> {
    let ids = |kind: &'static str| {
        let found = items.iter().filter(move |item| item["type"] == kind);
        found.filter_map(|item| item["call_id"].as_str()).collect::<Vec<_>>()
    };
    let (calls, outputs) = (ids("function_call"), ids("function_call_output"));
    if let Some(lost) = outputs.iter().find(|id| !calls.contains(*id)) {
        let message = format!("No tool call found for function call output with call_id {lost}.");
        return Err(ApiError::invalid(message).about("input"));
    }
    if let Some(open) = calls.iter().find(|id| !outputs.contains(*id)) {
        let message = format!("No tool output found for function call {open}.");
        return Err(ApiError::invalid(message).about("input"));
    }
    Ok(())
}

fn response(shared: &Shared, json: &Value, spoken: &Spoken, usage: &Usage) -> Value {
    let status = if spoken.cut_short { "incomplete" } else { "completed" };
    let incomplete = if spoken.cut_short { json!({ "reason": "max_output_tokens" }) } else { Value::Null };
    json!({
        "id": shared.new_id("resp"), "object": "response", "created_at": 1_794_744_000, "status": status,
        "model": json["model"], "output": output_items(shared, json, spoken), "error": null,
        "incomplete_details": incomplete, "instructions": json["instructions"], "metadata": {},
        "parallel_tool_calls": true, "previous_response_id": json["previous_response_id"], "temperature": 1.0,
        "top_p": 1.0, "tool_choice": "auto", "tools": json["tools"].as_array().cloned().unwrap_or_default(),
        "store": json["store"].as_bool().unwrap_or(true), "truncation": "disabled",
        "text": { "format": { "type": "text" } }, "reasoning": { "effort": null, "summary": null },
        "usage": {
            "input_tokens": usage.total_input(),
            "input_tokens_details": { "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write_5m },
            "output_tokens": usage.output, "output_tokens_details": { "reasoning_tokens": spoken.reasoning_tokens },
            "total_tokens": usage.total_input() + usage.output
        }
    })
}

fn output_items(shared: &Shared, json: &Value, spoken: &Spoken) -> Vec<Value> {
    let mut items = Vec::new();
    if !spoken.reasoning.is_empty() {
        let mut item = json!({ "type": "reasoning", "id": shared.new_id("rs"), "summary": [] });
        if json["reasoning"]["summary"].is_string() {
            item["summary"] = json!([{ "type": "summary_text", "text": spoken.reasoning }]);
        }
        let included = json["include"].as_array().into_iter().flatten();
        if included.into_iter().any(|wanted| wanted == "reasoning.encrypted_content") {
            item["encrypted_content"] = json!(format!("sealed:{}", spoken.reasoning.len()));
        }
        items.push(item);
    }
    if !spoken.text.is_empty() {
        let part = json!({ "type": "output_text", "text": spoken.text, "annotations": [], "logprobs": [] });
        items.push(json!({ "type": "message", "id": shared.new_id("msg"), "status": "completed", "role": "assistant",
                           "content": [part] }));
    }
    items.extend(spoken.calls.iter().map(|call| {
        json!({ "type": "function_call", "id": shared.new_id("fc"), "call_id": call.id, "name": call.name,
                "arguments": call.arguments, "status": "completed" })
    }));
    items
}

fn events(response: &Value, error: Option<&StreamError>) -> Vec<Bytes> {
    let mut begun = response.clone();
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    begun["incomplete_details"] = Value::Null;
    let mut events = vec![
        json!({ "type": "response.created", "response": begun }),
        json!({ "type": "response.in_progress", "response": begun }),
    ];
    for (index, item) in response["output"].as_array().into_iter().flatten().enumerate() {
        events.extend(item_events(index, item));
    }
    let end = if response["status"] == "incomplete" { "response.incomplete" } else { "response.completed" };
    events.push(json!({ "type": end, "response": response }));
    if let Some(error) = error {
        events.truncate(error.after_events);
        events.push(json!({ "type": "error", "code": error.kind, "message": error.message, "param": null }));
    }
    let numbered = events.into_iter().enumerate().map(|(number, mut event)| {
        event["sequence_number"] = json!(number);
        chunks::named_event(event["type"].as_str().unwrap_or_default(), &event)
    });
    numbered.collect()
}

fn item_events(index: usize, item: &Value) -> Vec<Value> {
    let of_item = |kind: &str, more: Value| {
        let mut event = json!({ "type": kind, "output_index": index, "item_id": item["id"] });
        if let (Some(event), Some(more)) = (event.as_object_mut(), more.as_object()) {
            event.extend(more.clone());
        }
        event
    };
    let (mut begun, inner) = (item.clone(), inner_events(item, &of_item));
    match item["type"].as_str() {
        Some("message") => begun["content"] = json!([]),
        Some("function_call") => begun["arguments"] = json!(""),
        _ => {}
    }
    if begun["status"].is_string() {
        begun["status"] = json!("in_progress");
    }
    let added = json!({ "type": "response.output_item.added", "output_index": index, "item": begun });
    let done = json!({ "type": "response.output_item.done", "output_index": index, "item": item });
    std::iter::once(added).chain(inner).chain([done]).collect()
}

fn inner_events(item: &Value, of_item: &impl Fn(&str, Value) -> Value) -> Vec<Value> {
    match item["type"].as_str() {
        Some("message") => {
            let part = &item["content"][0];
            let text = part["text"].as_str().unwrap_or_default();
            let mut empty = part.clone();
            empty["text"] = json!("");
            let mut events = vec![of_item("response.content_part.added", json!({ "content_index": 0, "part": empty }))];
            events.extend(chunks::split(text).map(|piece| {
                of_item("response.output_text.delta", json!({ "content_index": 0, "delta": piece, "logprobs": [] }))
            }));
            let done = json!({ "content_index": 0, "text": text, "logprobs": [] });
            events.push(of_item("response.output_text.done", done));
            events.push(of_item("response.content_part.done", json!({ "content_index": 0, "part": part })));
            events
        }
        Some("function_call") => {
            let arguments = item["arguments"].as_str().unwrap_or_default();
            let pieces = chunks::split(arguments)
                .map(|piece| of_item("response.function_call_arguments.delta", json!({ "delta": piece })));
            let done = json!({ "arguments": arguments, "name": item["name"] });
            pieces.chain([of_item("response.function_call_arguments.done", done)]).collect()
        }
        Some("reasoning") => {
            let text = item["summary"][0]["text"].as_str().unwrap_or_default();
            let delta =
                |piece| of_item("response.reasoning_summary_text.delta", json!({ "summary_index": 0, "delta": piece }));
            let mut events: Vec<Value> = chunks::split(text).map(delta).collect();
            if !text.is_empty() {
                let done = json!({ "summary_index": 0, "text": text });
                events.push(of_item("response.reasoning_summary_text.done", done));
            }
            events
        }
        _ => Vec::new(),
    }
}
