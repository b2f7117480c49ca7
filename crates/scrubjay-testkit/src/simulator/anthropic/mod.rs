//! The Messages API: what a request means, what the cache does with it, and what goes back.

mod betas;
mod compaction;
pub(super) mod diagnostics;
pub(super) mod editing;
mod render;
mod request;
mod response;
pub(super) mod thinking;
mod threshold;
mod validate;

pub(super) use request::canonical;

use super::error::ApiError;
use super::recorded::RecordedRequest;
use super::reply::{Piece, Reply};
use super::server::{Answered, Shared, Turn, pieces_or_fault};
use super::wire::Parcel;
use diagnostics::Fingerprint;
use render::Rendered;
use request::Asked;
use response::{Composed, Room};
use scrubjay::clock::Clock as _;
use scrubjay::prompt_cache::rules::{CacheRequest, Outcome, Shelf};
use serde_json::{Value, json};
use std::sync::Arc;
use thinking::Chain;
use threshold::{Afterwards, Summary};

/// A request that was found good, and what the model reads of it.
struct Prepared {
    rendered: Rendered,
    chain: Chain,
    applied_edits: Vec<Value>,
    transformations: Vec<Value>,
    /// What the prompt counted before the server edited it.
    original_tokens: u64,
}

fn prepare(asked: &Asked<'_>, shared: &Shared) -> Result<Prepared, ApiError> {
    validate::check(asked, &shared.config)?;
    compaction::check(asked)?;
    let checked = thinking::check(asked, &shared.config)?;
    let mut said = checked.said;
    editing::strip_old_thinking(asked, &mut said);
    editing::hide_cleared_reminders(asked, &mut said);
    editing::delete_from_cache(&mut said)?;
    let original_tokens = render::render(asked, &said)?.tokens;
    let opening = render::opening(asked).iter().map(|block| block.tokens).sum();
    let edited = editing::apply(asked, said, opening)?;
    let rendered = render::render(asked, &edited.said)?;
    Ok(Prepared {
        rendered,
        chain: checked.chain,
        applied_edits: edited.applied,
        transformations: checked.transformations,
        original_tokens,
    })
}

/// `POST /v1/messages/count_tokens`.
pub(super) fn count_tokens(shared: &Arc<Shared>, request: &RecordedRequest) -> Answered {
    let mut asked = Asked::read(shared, request)?;
    threshold::forget_compacted(&mut asked);
    let prepared = prepare(&asked, shared)?;
    let mut counted = json!({ "input_tokens": prepared.rendered.tokens });
    if asked.asks("context_management") {
        counted["context_management"] = json!({ "original_input_tokens": prepared.original_tokens });
    }
    Ok(Turn::Send(Parcel::json(200, &counted)))
}

/// `POST /v1/messages`.
pub(super) fn messages(shared: &Arc<Shared>, request: &RecordedRequest) -> Answered {
    let mut asked = Asked::read(shared, request)?;
    threshold::forget_compacted(&mut asked);
    if asked.json["max_tokens"].as_u64().is_none() {
        return Err(ApiError::invalid("max_tokens: Field required"));
    }
    let mut prepared = prepare(&asked, shared)?;
    let (tokens, window) = (prepared.rendered.tokens, asked.row.window);
    if tokens > window {
        return Err(ApiError::invalid(format!("prompt is too long: {tokens} tokens > {window} maximum")));
    }
    let summary = match threshold::summarise(shared, request, &asked, &mut prepared)? {
        Ok(summary) => summary,
        Err(fault) => return Ok(fault),
    };
    let reply = reply_to(shared, request, &asked, summary.as_ref())?;
    let pieces = match pieces_or_fault(shared, request, &reply) {
        Ok(pieces) => pieces,
        Err(fault) => return Ok(fault),
    };
    if pauses(summary.as_ref()) {
        // Nothing is read after a summary that ends the reply, so nothing but the summary is billed.
        prepared.rendered.blocks.clear();
    }
    let outcome = ask_cache(shared, &asked, &prepared.rendered)?;
    let mut composed = compose(shared, &asked, &prepared, (&reply, pieces));
    composed.content.splice(0..0, summary.iter().map(|summary| summary.block.clone()));
    let mut message = message(shared, &asked, &prepared, (&outcome, &composed));
    if let Some(summary) = summary {
        add_iterations(&mut message, &summary);
    }
    shared.update(request.index, |answer| {
        answer.usage = Some(outcome.usage(composed.output));
        answer.cache = Some(outcome.clone());
        answer.content = Value::Array(composed.content);
    });
    let parcel = if request.is_stream() {
        Parcel::events(response::events(&message, reply.stream_error.as_ref()))
    } else {
        Parcel::json(200, &message)
    };
    let later = Arc::clone(shared);
    let begin = move || later.memory().cache.begin_response(&outcome, later.clock.now());
    Ok(Turn::Send(parcel.travelling_like(&reply).at_first_byte(Box::new(begin))))
}

fn pauses(summary: Option<&Summary>) -> bool {
    summary.is_some_and(|summary| summary.afterwards == Afterwards::Pause)
}

/// What the script says, where a model is asked at all.
fn reply_to(
    shared: &Shared,
    request: &RecordedRequest,
    asked: &Asked<'_>,
    summary: Option<&Summary>,
) -> Result<Reply, ApiError> {
    if pauses(summary) {
        return Ok(Reply::message(Vec::new()).stop("compaction"));
    }
    if asked.max_tokens() == 0 {
        return Ok(Reply::message(Vec::new()).stop("max_tokens"));
    }
    shared.reply_to(request)
}

/// Name what was billed apart: the summary, then the message, if one was written.
fn add_iterations(message: &mut Value, summary: &Summary) {
    let named = |kind: &str, mut usage: Value| {
        usage["type"] = json!(kind);
        usage
    };
    let mut iterations = vec![named("compaction", response::usage_json(&summary.usage, 0))];
    if summary.afterwards == Afterwards::GoOn {
        iterations.push(named("message", message["usage"].clone()));
    }
    message["usage"]["iterations"] = json!(iterations);
}

fn ask_cache(shared: &Shared, asked: &Asked<'_>, rendered: &Rendered) -> Result<Outcome, ApiError> {
    let shelf = Shelf { workspace: asked.workspace.to_owned(), model: asked.row.id.clone() };
    let request = CacheRequest {
        shelf: &shelf,
        salts: &rendered.salts,
        blocks: &rendered.blocks,
        min_tokens: asked.row.min_cacheable,
    };
    let now = shared.clock.now();
    shared.memory().cache.request(&request, now).map_err(|error| ApiError::invalid(error.to_string()))
}

fn compose(shared: &Shared, asked: &Asked<'_>, prepared: &Prepared, said: (&Reply, Vec<Piece>)) -> Composed {
    let window_left = asked.row.window - prepared.rendered.tokens;
    let room = if asked.max_tokens() <= window_left {
        Room { tokens: asked.max_tokens(), end: "max_tokens" }
    } else {
        Room { tokens: window_left, end: "model_context_window_exceeded" }
    };
    let mut composed = response::compose(shared, asked, prepared.chain.clone(), said, room);
    if asked.asks("compaction") {
        let texts = composed.content.iter().filter_map(|block| block["text"].as_str());
        let summary = texts.collect::<Vec<_>>().join("\n");
        composed.content = vec![compaction::block(&summary, &prepared.chain)];
        composed.stop = "compaction".to_owned();
    }
    composed
}

fn message(shared: &Shared, asked: &Asked<'_>, prepared: &Prepared, made: (&Outcome, &Composed)) -> Value {
    let (outcome, composed) = made;
    let id = shared.new_id("msg");
    let mut usage = response::usage_json(&outcome.usage(composed.output), composed.thinking);
    if asked.asks("compaction") {
        let mut iteration = usage.clone();
        iteration["type"] = json!("compaction");
        usage["iterations"] = json!([iteration]);
    }
    let mut message = json!({
        "id": id, "type": "message", "role": "assistant", "model": asked.row.id,
        "content": composed.content, "stop_reason": composed.stop, "stop_sequence": null, "stop_details": null,
        "usage": usage, "container": null
    });
    let now = Fingerprint::of(&asked.row.id, &prepared.rendered);
    let mut memory = shared.memory();
    if asked.asks("diagnostics") {
        let wanted = &asked.json["diagnostics"];
        let earlier = wanted["previous_message_id"].as_str().and_then(|id| memory.fingerprints.get(id));
        message["diagnostics"] = diagnostics::diagnose(wanted, earlier, &now);
    }
    memory.fingerprints.insert(id, now);
    if asked.asks("context_management") {
        message["context_management"] = json!({ "applied_edits": prepared.applied_edits });
    }
    if asked.has_beta(betas::BINDING) {
        message["input_transformations"] = json!(prepared.transformations);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::server::{Config, Switch};
    use crate::simulator::{Script, SimClock, default_models};
    use proptest::prelude::*;

    fn shared() -> Arc<Shared> {
        let config = Config {
            models: default_models(),
            key: None,
            cache_edits: Switch::On,
            old_account: Switch::Off,
            control: Switch::Off,
            betas: Vec::new(),
        };
        Arc::new(Shared::new(config, SimClock::default(), Script::echo()))
    }

    /// JSON that is almost a request: the right words in wrong places.
    fn almost() -> impl Strategy<Value = Value> {
        let word = prop::sample::select(vec![
            "text",
            "thinking",
            "tool_use",
            "tool_result",
            "compaction",
            "cache_edits",
            "user",
            "5m",
            "1h",
            "x",
            "",
        ]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            word.prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 40, 4, |inner| {
            let key = prop::sample::select(vec![
                "type",
                "text",
                "content",
                "id",
                "tool_use_id",
                "input",
                "name",
                "signature",
                "thinking",
                "data",
                "cache_control",
                "ttl",
                "edits",
                "keep",
                "value",
                "trigger",
                "clear_at",
                "citations",
                "role",
            ]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((key, inner), 0..5)
                    .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            ]
        })
    }

    proptest! {
        #[test]
        fn no_request_makes_it_fall_over(content in almost(), system in almost(), tools in almost(), extra in almost()) {
            let shared = shared();
            let betas = "compact-2026-09-04,context-management-2025-06-27,thinking-binding-controls-2026-08-01,cache-diagnosis-2026-04-07";
            let headers = vec![("anthropic-version".to_owned(), "2023-06-01".to_owned()), ("anthropic-beta".to_owned(), betas.to_owned())];
            let messages = [json!([{ "role": "user", "content": content }]), json!([content]), content];
            for messages in messages {
                let plain = json!({
                    "model": "claude-opus-5-5", "max_tokens": 9, "messages": messages, "system": system, "tools": tools
                });
                let mut full = plain.clone();
                for field in ["thinking", "output_config", "diagnostics", "cache_control", "tool_choice"] {
                    full[field] = extra.clone();
                }
                let mut edited = plain.clone();
                edited["context_management"] = json!({ "edits": [extra] });
                edited["stream"] = json!(true);
                for json in [plain, full, edited] {
                    let request = RecordedRequest { json, headers: headers.clone(), ..RecordedRequest::default() };
                    let refused = messages_of(&shared, &request);
                    prop_assert!(refused.is_none_or(|status| (400..=500).contains(&status)));
                }
            }
        }
    }

    fn messages_of(shared: &Arc<Shared>, request: &RecordedRequest) -> Option<u16> {
        super::messages(shared, request).err().map(|error| error.status)
    }
}
