//! The simulator's own endpoints, for suites that cannot hold it in their hands.

use super::recorded::{RecordedRequest, Sent};
use super::script::Script;
use super::server::Shared;
use axum::body::{Body, Bytes};
use axum::http::{Response, StatusCode};
use scrubjay::clock::Clock as _;
use serde_json::{Value, json};
use std::time::Duration;

/// Where they are.
pub(super) const PREFIX: &str = "/_simulator/";

/// Do what was asked; nothing of it is recorded.
pub(super) fn obey(shared: &Shared, order: &str, body: &Bytes) -> Response<Body> {
    let done = match order {
        "requests" => Ok(shared.memory().records.iter().map(described).collect()),
        "clock" => move_clock(shared, body),
        "script" => replace_script(shared, body),
        _ => Err(format!("there is no `{order}`; there are `requests`, `clock` and `script`")),
    };
    let (status, json) = match done {
        Ok(json) => (StatusCode::OK, json),
        Err(reason) => (StatusCode::BAD_REQUEST, json!({ "error": reason })),
    };
    let mut response = Response::new(Body::from(json.to_string()));
    *response.status_mut() = status;
    response
}

fn move_clock(shared: &Shared, body: &Bytes) -> Result<Value, String> {
    let json: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let seconds = json["advance_seconds"].as_u64().ok_or("`advance_seconds` must be a number of seconds")?;
    shared.clock.advance(Duration::from_secs(seconds));
    Ok(json!({ "now": shared.clock.now().to_string() }))
}

fn replace_script(shared: &Shared, body: &Bytes) -> Result<Value, String> {
    let script = Script::from_json(&String::from_utf8_lossy(body)).map_err(|error| error.to_string())?;
    *shared.script() = script;
    Ok(json!({}))
}

fn described(record: &RecordedRequest) -> Value {
    let answer = &record.answer;
    let sent = match answer.sent {
        Sent::Waiting => "waiting",
        Sent::Whole => "whole",
        Sent::Broken => "broken",
    };
    json!({
        "index": record.index, "at": record.at.to_string(), "method": record.method, "path": record.path,
        "query": record.query, "headers": record.headers, "json": record.json,
        "body": String::from_utf8_lossy(&record.body),
        "answer": { "status": answer.status, "usage": answer.usage, "content": answer.content, "error": answer.error,
                    "hit_block": answer.cache.as_ref().and_then(|cache| cache.hit_block), "sent": sent }
    })
}
