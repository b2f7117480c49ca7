//! What is sent back: content blocks, usage, and the stream of events that says the same.

use super::request::{Asked, Role};
use super::thinking::Chain;
use crate::simulator::chunks;
use crate::simulator::reply::{Piece, Reply, StreamError};
use crate::simulator::server::Shared;
use crate::simulator::tokens;
use axum::body::Bytes;
use scrubjay::message::Usage;
use serde_json::{Value, json};

/// What the model said, signed and counted.
pub(super) struct Composed {
    pub(super) content: Vec<Value>,
    pub(super) output: u64,
    pub(super) thinking: u64,
    pub(super) stop: String,
}

/// Room for a reply, and what its end is called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) tokens: u64,
    pub(super) end: &'static str,
}

/// Make content blocks of the script's pieces, up to the room there is.
pub(super) fn compose(
    shared: &Shared,
    asked: &Asked<'_>,
    chain: Chain,
    said: (&Reply, Vec<Piece>),
    room: Room,
) -> Composed {
    let (reply, pieces) = said;
    let mut writer = Writer { asked, chain, content: Vec::new(), output: 0, thinking: 0 };
    let mut stop = None;
    for piece in pieces {
        let left = room.tokens.saturating_sub(writer.output);
        if !writer.write(shared, piece, left) {
            stop = Some(room.end.to_owned());
            break;
        }
    }
    let calls = writer.content.iter().any(|block| block["type"] == "tool_use");
    let natural = if calls { "tool_use" } else { "end_turn" };
    let stop = reply.stop.clone().or(stop).unwrap_or_else(|| natural.to_owned());
    let output = reply.output_tokens.unwrap_or(writer.output);
    Composed { content: writer.content, output, thinking: writer.thinking, stop }
}

struct Writer<'a> {
    asked: &'a Asked<'a>,
    chain: Chain,
    content: Vec<Value>,
    output: u64,
    thinking: u64,
}

impl Writer<'_> {
    /// Write one piece; false when there was no room for all of it.
    fn write(&mut self, shared: &Shared, piece: Piece, left: u64) -> bool {
        let scale = self.asked.row.scale_percent;
        match piece {
            Piece::Thinking(_) | Piece::RedactedThinking(_) if self.asked.json["thinking"]["type"] == "disabled" => {
                true
            }
            Piece::Thinking(text) => self.think(&text, left),
            Piece::RedactedThinking(text) => {
                let tokens = tokens::of_text(&text, scale);
                let data = self.chain.sign(&self.asked.row.id, "", tokens);
                self.thinking += tokens;
                self.output += tokens;
                self.content.push(json!({ "type": "redacted_thinking", "data": data }));
                true
            }
            Piece::Text(text) => {
                let fitting = chunks::fitting(&text, left, scale);
                let whole = fitting.len() == text.len();
                self.say(json!({ "type": "text", "text": fitting }));
                whole
            }
            Piece::ToolUse { id, name, input } => {
                let id = id.unwrap_or_else(|| shared.new_id("toolu"));
                let block = json!({ "type": "tool_use", "id": id, "name": name, "input": input });
                let fits = tokens::of_block(&block, scale) <= left;
                if fits {
                    self.say(block);
                }
                fits
            }
            Piece::Raw(block) => {
                self.say(block);
                true
            }
        }
    }

    fn think(&mut self, text: &str, left: u64) -> bool {
        let tokens = tokens::of_text(text, self.asked.row.scale_percent);
        let display = self.asked.json["thinking"]["display"].as_str();
        let hidden = display.map_or(self.asked.row.hides_thinking(), |display| display == "omitted");
        let shown = if hidden { "" } else { text };
        let signature = self.chain.sign(&self.asked.row.id, shown, tokens);
        self.thinking += tokens;
        self.output += tokens;
        self.content.push(json!({ "type": "thinking", "thinking": shown, "signature": signature }));
        tokens <= left
    }

    fn say(&mut self, block: Value) {
        self.output += tokens::of_block(&block, self.asked.row.scale_percent);
        self.chain.pass(Role::Assistant, &block);
        self.content.push(block);
    }
}

/// A usage as the Messages API writes it.
pub(super) fn usage_json(usage: &Usage, thinking: u64) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_5m,
            "ephemeral_1h_input_tokens": usage.cache_write_1h
        },
        "output_tokens": usage.output,
        "output_tokens_details": { "thinking_tokens": thinking },
        "server_tool_use": null,
        "service_tier": "standard",
        "inference_geo": "not_available"
    })
}

/// The stream that says what a whole message says.
pub(super) fn events(message: &Value, error: Option<&StreamError>) -> Vec<Bytes> {
    let mut start = message.clone();
    let managed = start.as_object_mut().and_then(|fields| fields.shift_remove("context_management"));
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    let mut events = vec![json!({ "type": "message_start", "message": start }), json!({ "type": "ping" })];
    for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
        let (empty, deltas) = parts(block);
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": empty }));
        let delta = |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta });
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let stop = json!({ "stop_reason": message["stop_reason"], "stop_sequence": null });
    let mut end = json!({ "type": "message_delta", "delta": stop, "usage": message["usage"] });
    if let Some(managed) = managed {
        end["context_management"] = managed;
    }
    events.extend([end, json!({ "type": "message_stop" })]);
    if let Some(error) = error {
        events.truncate(error.after_events);
        events.push(json!({ "type": "error", "error": { "type": error.kind, "message": error.message } }));
    }
    events.iter().map(|event| chunks::named_event(event["type"].as_str().unwrap_or_default(), event)).collect()
}

/// A block as it starts, and the deltas that fill it.
fn parts(block: &Value) -> (Value, Vec<Value>) {
    let mut empty = block.clone();
    let text = |field: &str| block[field].as_str().unwrap_or_default().to_owned();
    let deltas = match block["type"].as_str() {
        Some("text") => {
            empty["text"] = json!("");
            chunks::split(&text("text")).map(|piece| json!({ "type": "text_delta", "text": piece })).collect()
        }
        Some("thinking") => {
            empty["thinking"] = json!("");
            empty["signature"] = json!("");
            let thoughts = text("thinking");
            let thoughts = chunks::split(&thoughts).map(|piece| json!({ "type": "thinking_delta", "thinking": piece }));
            let signature = json!({ "type": "signature_delta", "signature": block["signature"] });
            thoughts.chain([signature]).collect()
        }
        Some("tool_use") => {
            empty["input"] = json!({});
            let input = block["input"].to_string();
            let pieces =
                chunks::split(&input).map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
            std::iter::once(json!({ "type": "input_json_delta", "partial_json": "" })).chain(pieces).collect()
        }
        Some("compaction") => {
            empty["content"] = Value::Null;
            vec![json!({ "type": "compaction_delta", "content": block["content"], "encrypted_content": null })]
        }
        _ => Vec::new(),
    };
    (empty, deltas)
}
