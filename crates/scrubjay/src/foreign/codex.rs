//! Codex: `sessions/<year>/<month>/<day>/rollout-….jsonl` below its own folder, one record a line.

use super::line::{Billed, Block, Content, Payload};
use super::{Event, Part, Speaker};
use crate::message::Usage;
use serde_json::value::RawValue;

/// What messages begin with that stand where a person's do and are the agent's own.
const NOT_SAID: [&str; 6] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "<turn_aborted>",
    "<collaboration_mode>",
    "# AGENTS.md instructions",
];

/// What a record says, if it is one of Codex.
pub(super) fn event(kind: &str, payload: Payload<'_>) -> Option<Event> {
    match kind {
        "response_item" => Some(item(payload)),
        "event_msg" => Some(counted(payload)),
        "turn_context" => Some(payload.model.map_or(Event::Other, Event::Chose)),
        "compacted" => Some(Event::Compacted { id: None, summary: Some(summary(payload)) }),
        "session_meta" | "ghost_snapshot" => Some(Event::Other),
        _ => None,
    }
}

fn item(payload: Payload<'_>) -> Event {
    let replied = |part: Part| Event::Replied { id: None, model: None, usage: None, parts: vec![part] };
    match payload.kind.as_deref().unwrap_or_default() {
        "message" => message(payload),
        "reasoning" => replied(Part::Thinking(payload.summary.map(Content::prose).unwrap_or_default())),
        "function_call" | "custom_tool_call" | "local_shell_call" | "web_search_call" => replied(call(payload)),
        "function_call_output" | "custom_tool_call_output" => {
            let text = payload.output.map(Content::prose).unwrap_or_default();
            let answer = Part::Answer { id: payload.call_id.unwrap_or_default(), text, is_error: false };
            Event::Heard { by: Speaker::Agent, parts: vec![answer] }
        }
        _ => Event::Other,
    }
}

fn call(payload: Payload<'_>) -> Part {
    let usual = if payload.kind.as_deref() == Some("web_search_call") { "web_search" } else { "local_shell" };
    let input = payload.arguments.or(payload.input).or(payload.action).map(plain).unwrap_or_default();
    Part::Call {
        id: payload.call_id.unwrap_or_default(),
        tool: payload.name.unwrap_or_else(|| usual.to_owned()),
        input,
    }
}

/// JSON that stands inside a string, or JSON.
fn plain(raw: &RawValue) -> String {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
}

fn message(payload: Payload<'_>) -> Event {
    let parts = parts(payload.content);
    let role = payload.role.as_deref().unwrap_or_default();
    if role == "assistant" {
        return Event::Replied { id: None, model: None, usage: None, parts };
    }
    let is_own = |part: &Part| match part {
        Part::Text(text) => NOT_SAID.iter().any(|start| text.trim_start().starts_with(start)),
        _ => false,
    };
    let is_said = role == "user" && !parts.is_empty() && !parts.iter().any(is_own);
    Event::Heard { by: if is_said { Speaker::Person } else { Speaker::Agent }, parts }
}

fn parts(content: Option<Content<'_>>) -> Vec<Part> {
    let part = |block: Block<'_>| match block.kind.as_deref()? {
        "input_image" | "image" => Some(Part::Media),
        _ => block.text.map(Part::Text),
    };
    match content {
        Some(Content::Text(text)) => vec![Part::Text(text)],
        Some(Content::Blocks(blocks)) => blocks.into_iter().filter_map(part).collect(),
        None => Vec::new(),
    }
}

/// All that stands for the conversation afterwards.
fn summary(payload: Payload<'_>) -> String {
    let own = payload.message.map(Content::prose);
    let kept = payload.replacement_history.into_iter().flatten();
    let kept = kept.filter_map(|item| item.content.or(item.output).or(item.summary)).map(Content::prose);
    own.into_iter().chain(kept).collect::<Vec<_>>().join("\n")
}

fn counted(payload: Payload<'_>) -> Event {
    let info = payload.info.filter(|_| payload.kind.as_deref() == Some("token_count"));
    let Some((last, info)) = info.and_then(|mut info| Some((info.last_token_usage.take()?, info))) else {
        return Event::Other;
    };
    let total = |billed: &Billed| billed.total_tokens.or(billed.input_tokens).unwrap_or(0);
    let so_far = info.total_token_usage.as_ref().map_or(0, total);
    Event::Counted { usage: usage(&last), so_far, window: info.model_context_window }
}

/// What was read from the cache is counted among the input there, and beside it here.
fn usage(billed: &Billed) -> Usage {
    let input = billed.input_tokens.unwrap_or(0);
    let read = billed.cached_input_tokens.unwrap_or(0).min(input);
    let written = billed.cache_write_input_tokens.unwrap_or(0).min(input - read);
    let (output, cache_write_1h) = (billed.output_tokens.unwrap_or(0), 0);
    Usage { input: input - read - written, cache_read: read, cache_write_5m: written, cache_write_1h, output }
}
