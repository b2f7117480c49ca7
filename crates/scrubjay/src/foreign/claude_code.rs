//! Claude Code: `projects/<folder>/<session>.jsonl` below its own folder, one record a line.

use super::line::{Billed, Block, Content, Line, Said};
use super::{Event, Part, Speaker};
use crate::message::Usage;

/// What stands for a reply that no model made.
const SYNTHETIC: &str = "<synthetic>";

/// What messages of the agent's own begin with that stand where a person's do.
const NOT_SAID: [&str; 8] = [
    "<command-",
    "<local-command",
    "Caveat:",
    "[Request interrupted",
    "<task-notification",
    "<bash-",
    "<user-memory",
    "This session is being continued",
];

/// The kinds of records that are known to be no part of the conversation.
const ASIDE: [&str; 6] = ["progress", "summary", "file-history-snapshot", "queue-operation", "pr-link", "attachment"];

/// What a record says, if it is one.
pub(super) fn event(line: Line<'_>) -> Option<Event> {
    let is_boundary = line.subtype.as_deref() == Some("compact_boundary");
    match (&*line.kind, line.message) {
        ("system", _) if is_boundary => Some(Event::Compacted { id: line.uuid, summary: None }),
        ("assistant", Some(said)) if said.model.as_deref() == Some(SYNTHETIC) => Some(Event::Other),
        ("assistant", Some(said)) => Some(replied(said)),
        ("user", Some(said)) if line.is_compact_summary == Some(true) => {
            Some(Event::Summarised(said.content.map(Content::prose).unwrap_or_default()))
        }
        ("user", Some(said)) if line.is_meta == Some(true) => {
            Some(Event::Heard { by: Speaker::Agent, parts: parts(said.content) })
        }
        ("user", Some(said)) => Some(heard(parts(said.content))),
        ("system", _) => Some(Event::Other),
        (kind, _) if ASIDE.contains(&kind) => Some(Event::Other),
        // What newer versions add is theirs by the session's id and the record's own.
        _ => line.uuid.map(|_| Event::Other),
    }
}

fn replied(said: Said<'_>) -> Event {
    let usage = said.usage.as_ref().map(usage);
    Event::Replied { id: said.id, model: said.model, usage, parts: parts(said.content) }
}

fn heard(mut parts: Vec<Part>) -> Event {
    let answers = parts.iter().any(|part| matches!(part, Part::Answer { .. }));
    let words: Vec<&str> = parts.iter().filter_map(text).collect();
    let said = said_by_person(&words.join("\n")).filter(|_| !answers);
    let by = if said.is_some() { Speaker::Person } else { Speaker::Agent };
    if let Some(said) = said {
        parts.retain(|part| text(part).is_none());
        parts.insert(0, Part::Text(said));
    }
    Event::Heard { by, parts }
}

fn text(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(text),
        _ => None,
    }
}

fn parts(content: Option<Content<'_>>) -> Vec<Part> {
    match content {
        Some(Content::Text(text)) => vec![Part::Text(text)],
        Some(Content::Blocks(blocks)) => blocks.into_iter().filter_map(part).collect(),
        None => Vec::new(),
    }
}

fn part(block: Block<'_>) -> Option<Part> {
    match block.kind.as_deref()? {
        "text" => block.text.map(Part::Text),
        "thinking" => Some(Part::Thinking(block.thinking.unwrap_or_default())),
        "tool_use" | "server_tool_use" => {
            let input = block.input.map(|input| input.get().to_owned()).unwrap_or_default();
            Some(Part::Call { id: block.id.unwrap_or_default(), tool: block.name.unwrap_or_default(), input })
        }
        "image" | "document" => Some(Part::Media),
        _ => {
            let text = block.content.map(Content::prose).unwrap_or_default();
            let is_error = block.is_error == Some(true);
            block.tool_use_id.map(|id| Part::Answer { id, text, is_error })
        }
    }
}

fn usage(billed: &Billed) -> Usage {
    let written = billed.cache_creation_input_tokens.unwrap_or(0);
    let hour = billed.cache_creation.as_ref().and_then(|by| by.ephemeral_1h_input_tokens).unwrap_or(0).min(written);
    Usage {
        input: billed.input_tokens.unwrap_or(0),
        cache_read: billed.cache_read_input_tokens.unwrap_or(0),
        cache_write_5m: written - hour,
        cache_write_1h: hour,
        output: billed.output_tokens.unwrap_or(0),
    }
}

/// What of a message a person wrote: without what the agent put around it; `None` where all of it is the agent's.
pub fn said_by_person(text: &str) -> Option<String> {
    let said = without_reminders(text);
    let said = said.trim();
    (!said.is_empty() && !NOT_SAID.iter().any(|start| said.starts_with(start))).then(|| said.to_owned())
}

fn without_reminders(text: &str) -> String {
    let (open, close) = ("<system-reminder>", "</system-reminder>");
    let (mut rest, mut out) = (text, String::new());
    while let Some(start) = rest.find(open) {
        let Some(length) = rest[start..].find(close) else { break };
        out.push_str(&rest[..start]);
        rest = &rest[start + length + close.len()..];
    }
    out + rest
}
