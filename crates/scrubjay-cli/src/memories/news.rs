//! What became of the memory, in the words of this program.

use scrubjay::event::{MemoryEvent, MemoryQuestion, QuestionId};
use serde_json::{Value, json};

/// In one line; `undo` is what takes a change back where the user is.
pub(crate) fn words(event: &MemoryEvent, undo: &str) -> String {
    let undo = |change: &Option<u64>| change.map(|change| format!(" · {undo} {change}")).unwrap_or_default();
    match event {
        MemoryEvent::Remembered { title, change, .. } => format!("✓ remembered: {title}{}", undo(change)),
        MemoryEvent::Forgotten { title, change, .. } => format!("✓ forgotten: {title}{}", undo(change)),
        MemoryEvent::Refused { .. } | MemoryEvent::Note(_) => event.to_string(),
        MemoryEvent::Question(question) => format!("{question} · scrubjay inbox"),
    }
}

/// For scripts.
pub(crate) fn json(event: &MemoryEvent) -> Value {
    let undo = |change: &Option<u64>| change.map(|change| format!("scrubjay undo {change}"));
    match event {
        MemoryEvent::Remembered { title, path, change } => {
            json!({ "event": "remembered", "title": title, "path": path, "undo": undo(change) })
        }
        MemoryEvent::Forgotten { title, path, change } => {
            json!({ "event": "forgotten", "title": title, "path": path, "undo": undo(change) })
        }
        MemoryEvent::Refused { title, why } => json!({ "event": "refused", "title": title, "doubt": why }),
        MemoryEvent::Note(text) => json!({ "event": "note", "text": text }),
        MemoryEvent::Question(question) => question_json(question),
    }
}

fn question_json(MemoryQuestion { id, title, text, doubt }: &MemoryQuestion) -> Value {
    let (event, path, proposal) = match id {
        QuestionId::Memory { path, .. } => ("unconfirmed", Some(path), None),
        QuestionId::Proposal { id } => ("proposed", None, Some(id)),
    };
    json!({ "event": event, "title": title, "path": path, "proposal": proposal, "doubt": doubt, "text": text })
}
