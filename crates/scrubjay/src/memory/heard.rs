//! What a model was shown before it wrote a note. Whatever it says rests on that, so that forgetting a source finds the note.

use super::provenance::{Source, Speaker};
use crate::message::{Message, ToolUse};
use crate::tool::Occasion;
use std::path::Path;
use std::sync::Arc;

/// Tools whose answers bring nothing from outside.
const OWN: &[&str] = &["Write", "Edit", "Tasks", "Plan", "remember", "forget"];
/// What a call may name that brings something from outside.
const NAMING: &[&str] = &["url", "file_path", "path", "command", "query"];
/// Sources that are kept of one note, the newest ones.
const MOST: usize = 20;
/// How much is kept of what a tool was asked for.
const QUOTED_CHARS: usize = 300;

/// The model itself, and everything its tools brought in this conversation, each thing once.
pub(super) fn sources(occasion: &Occasion, memory: &Path) -> Vec<Source> {
    let source = |speaker: Speaker, message: &str, quote: &str| Source {
        speaker,
        session: occasion.session.to_string(),
        message: message.to_owned(),
        quote: quote.chars().take(QUOTED_CHARS).collect(),
    };
    let last = occasion.history.last().map(|message| message.id.as_str()).unwrap_or_default();
    let mut sources = vec![source(Speaker::Assistant, last, "")];
    let calls = |message: &'_ Arc<Message>| message.tool_uses().cloned().collect::<Vec<ToolUse>>();
    for message in occasion.history.iter().rev() {
        for call in calls(message).into_iter().filter(|call| !OWN.contains(&call.name.as_str())) {
            let named = NAMING.iter().find_map(|key| call.input[*key].as_str()).unwrap_or_default();
            let inside = Path::new(named).strip_prefix(memory).ok().and_then(Path::to_str);
            let heard = match inside {
                Some(inside) => source(Speaker::Memory(inside.to_owned()), message.id.as_str(), ""),
                None => source(speaker(&call.name), message.id.as_str(), named),
            };
            let is_known = |known: &Source| known.speaker == heard.speaker && known.quote == heard.quote;
            if sources.len() < MOST && !sources.iter().any(is_known) {
                sources.push(heard);
            }
        }
    }
    sources
}

/// Whose words a tool brings.
pub(super) fn speaker(tool: &str) -> Speaker {
    match tool {
        "Read" => Speaker::File,
        "WebFetch" | "WebSearch" => Speaker::Web,
        name => Speaker::Tool(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Block, MessageId, Origin, Role, SessionId};
    use serde_json::json;

    // spec: X5
    #[test]
    fn a_note_rests_on_everything_its_writer_was_shown() {
        let call = |tool: &str, path: &str| Block::tool_use("c".into(), tool, json!({ "file_path": path }));
        let said = |id: &str, blocks: Vec<Block>| {
            let (id, at) = (MessageId::new(id), jiff::Timestamp::UNIX_EPOCH);
            Arc::new(Message { id, role: Role::Assistant, origin: Origin::Model, at, blocks })
        };
        let history = [
            said("m1", vec![call("Read", "page.txt"), call("Write", "out.txt")]),
            said("m2", vec![call("Read", "/m/reference_x.md"), call("Read", "page.txt"), call("WebFetch", "u")]),
        ];
        let occasion = Occasion { session: SessionId::new("s"), history: history.into(), errand: None };
        let sources = sources(&occasion, Path::new("/m"));
        let heard: Vec<(&Speaker, &str, &str)> =
            sources.iter().map(|one| (&one.speaker, one.message.as_str(), one.quote.as_str())).collect();
        let memory = Speaker::Memory("reference_x.md".to_owned());
        assert_eq!(
            heard,
            [
                (&Speaker::Assistant, "m2", ""),
                (&memory, "m2", ""),
                (&Speaker::File, "m2", "page.txt"),
                (&Speaker::Web, "m2", "u")
            ]
        );
    }
}
