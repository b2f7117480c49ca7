//! The OpenAI APIs: Chat Completions and Responses, over one way to count and to speak.

pub(super) mod cache;
pub(super) mod chat;
pub(super) mod responses;

use super::chunks;
use super::error::{ApiError, Dialect};
use super::models::ModelRow;
use super::recorded::RecordedRequest;
use super::reply::{Piece, Reply};
use super::server::{Shared, unknown_model};
use super::tokens;
use scrubjay::clock::Clock as _;
use scrubjay::message::Usage;
use scrubjay::prompt_cache::rules::{CacheBlock, Level};
use serde_json::{Value, json};

/// A tool call as OpenAI writes it: arguments are text.
struct Call {
    id: String,
    name: String,
    arguments: String,
}

/// What the model said.
struct Spoken {
    reasoning: String,
    text: String,
    calls: Vec<Call>,
    reasoning_tokens: u64,
    output_tokens: u64,
    /// The output limit was reached.
    cut_short: bool,
}

fn row_of<'a>(shared: &'a Shared, request: &RecordedRequest) -> Result<&'a ModelRow, ApiError> {
    if !request.json.is_object() {
        return Err(ApiError::invalid("We could not parse the JSON body of your request."));
    }
    let model = request.json["model"].as_str();
    let model = model.ok_or_else(|| ApiError::invalid("you must provide a model parameter").about("model"))?;
    shared.model(model).ok_or_else(|| unknown_model(Dialect::OpenAi, model))
}

/// Tools and items as blocks of the implicit cache.
fn blocks_of<'a>(json: &Value, items: impl Iterator<Item = &'a Value>, scale: u64) -> Vec<CacheBlock> {
    let block = |level, item: &Value| CacheBlock::new(level, item.to_string().as_bytes(), count(item, scale));
    let tools = json["tools"].as_array().into_iter().flatten().map(|tool| block(Level::Tools, tool));
    let system = json["instructions"].as_str().map(|text| json!({ "content": text }));
    let system = system.iter().map(|text| block(Level::System, text)).collect::<Vec<_>>();
    tools.chain(system).chain(items.map(|item| block(Level::Messages, item))).collect()
}

/// Tokens of one chat message, input item or tool: its text, its calls, or its whole JSON where it has neither.
fn count(item: &Value, scale: u64) -> u64 {
    let content = match (&item["content"], &item["output"]) {
        (Value::String(text), _) | (_, Value::String(text)) => tokens::of_text(text, scale),
        (Value::Array(parts), _) | (_, Value::Array(parts)) => {
            parts.iter().map(|part| tokens::of_block(part, scale)).sum()
        }
        _ => 0,
    };
    let calls = item["tool_calls"].as_array().into_iter().flatten().map(|call| call["function"].to_string());
    let calls: u64 = calls.map(|call| tokens::of_text(&call, scale)).sum();
    if content + calls > 0 { content + calls } else { tokens::of_text(&item.to_string(), scale) }
}

/// What the cache does with a prompt.
fn ask_cache(shared: &Shared, request: &RecordedRequest, blocks: &[CacheBlock]) -> Usage {
    let route = request.json["prompt_cache_key"].as_str().unwrap_or_default();
    let shelf = format!("{} {route}", request.model());
    let now = shared.clock.now();
    shared.memory().openai_cache.request(&shelf, blocks, now)
}

fn total(blocks: &[CacheBlock]) -> u64 {
    blocks.iter().map(|block| block.tokens).sum()
}

/// Say the script's pieces within a limit.
fn speak(shared: &Shared, reply: &Reply, pieces: Vec<Piece>, limits: (u64, Option<u64>)) -> Spoken {
    let (scale, most) = limits;
    let mut spoken = Spoken {
        reasoning: String::new(),
        text: String::new(),
        calls: Vec::new(),
        reasoning_tokens: 0,
        output_tokens: 0,
        cut_short: reply.stop.as_deref().is_some_and(|stop| matches!(stop, "length" | "max_tokens")),
    };
    for piece in pieces {
        let left = most.unwrap_or(u64::MAX).saturating_sub(spoken.output_tokens);
        match piece {
            Piece::Text(text) => {
                let fitting = chunks::fitting(&text, left, scale);
                spoken.cut_short |= fitting.len() < text.len();
                spoken.output_tokens += tokens::of_text(fitting, scale);
                spoken.text.push_str(fitting);
            }
            Piece::Thinking(text) | Piece::RedactedThinking(text) => {
                let tokens = tokens::of_text(&text, scale);
                spoken.reasoning_tokens += tokens;
                spoken.output_tokens += tokens;
                spoken.reasoning.push_str(&text);
            }
            Piece::ToolUse { id, name, input } => {
                let arguments = input.to_string();
                spoken.output_tokens += tokens::of_text(&format!("{name}{arguments}"), scale);
                spoken.calls.push(Call { id: id.unwrap_or_else(|| shared.new_id("call")), name, arguments });
            }
            Piece::Raw(_) => {}
        }
        if spoken.cut_short {
            break;
        }
    }
    spoken.output_tokens = reply.output_tokens.unwrap_or(spoken.output_tokens);
    spoken
}
