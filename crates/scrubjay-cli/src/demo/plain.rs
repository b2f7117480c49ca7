//! A summary as one writes it without thinking much: which files, a bit of every message, and how it ended. What ours kept is
//! measured against this.

use scrubjay::message::{Message, Origin};
use std::collections::BTreeMap;
use std::sync::Arc;

/// In at most so many bytes.
pub(super) fn summary(said: &[Arc<Message>], room: usize) -> String {
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for call in said.iter().flat_map(|message| message.tool_uses()) {
        if let Some(path) = call.input["file_path"].as_str() {
            *files.entry(path).or_default() += 1;
        }
    }
    let files: Vec<String> = files.iter().map(|(path, times)| format!("{path} ×{times}")).collect();
    let files = files.join(", ");
    let files = first(&files, room / 4);
    let questions: Vec<String> =
        said.iter().filter(|message| message.origin == Origin::Person).map(|message| message.text()).collect();
    // Each message gets the same share of half the room.
    let share = (room / 2 / questions.len().max(1)).max(24);
    let asked: Vec<String> = questions.iter().map(|words| format!("- {}", first(words, share))).collect();
    let asked = asked.join("\n");
    let asked = first(&asked, room / 2);
    let answers: Vec<String> =
        said.iter().filter(|message| message.origin == Origin::Model).map(|message| message.text()).collect();
    let left = room.saturating_sub(files.len() + asked.len() + 64);
    format!("Files: {files}\nThe person asked:\n{asked}\nThe end:\n{}", last(&answers.join("\n"), left))
}

fn first(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

fn last(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}
