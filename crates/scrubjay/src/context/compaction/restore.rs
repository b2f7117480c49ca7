//! What comes back after a compaction: the files that were read last, as they are now, and the task list.

use super::todo;
use crate::desk::Desk;
use crate::message::{Block, Message, Origin, Role, SessionId, ToolCallId};
use crate::prompts;
use crate::tokens;
use crate::tools;
use crate::transcript::CLEARED;
use std::path::PathBuf;
use std::sync::Arc;

/// One message with everything that is brought back; none where there is nothing. What the kept messages still show is not
/// brought back.
pub fn restored(
    history: &[Arc<Message>],
    kept: &[Arc<Message>],
    session: &SessionId,
    desk: &Desk,
) -> Vec<Arc<Message>> {
    let shown = shown(kept, desk);
    let mut paths = recently_read(history, desk);
    paths.retain(|path| !shown.contains(path));
    let mut blocks: Vec<Block> = files(&paths, desk).into_iter().map(Block::text).collect();
    let open = todo::open(history);
    if !open.is_empty() {
        let lines: Vec<String> = open.iter().map(|task| format!("- [{}] {}", task.status.word(), task.title)).collect();
        blocks.push(Block::text(prompts::restored_tasks(&lines.join("\n"))));
    }
    let (false, Some(last)) = (blocks.is_empty(), history.last()) else { return Vec::new() };
    let id = crate::transcript::derived_id(session, &format!("restored after {}", last.id));
    let (role, origin, at) = (Role::User, Origin::Reminder, desk.clock.now());
    vec![Arc::new(Message { id, role, origin, at, blocks })]
}

/// The files that were read last, newest first, re-read from disk and cut to their share.
fn files(paths: &[PathBuf], desk: &Desk) -> Vec<String> {
    let limits = &desk.limits;
    let mut left = limits.restored_files_tokens;
    let mut out = Vec::new();
    for path in paths {
        let room = limits.restored_file_tokens.min(left).saturating_mul(limits.text_bytes_per_token);
        let Some(text) = read(path, room) else { continue };
        left = left.saturating_sub(tokens::of_text(&text, limits));
        out.push(prompts::restored_file(&path.display().to_string(), &text));
        if out.len() as u64 == limits.restored_files || left == 0 {
            break;
        }
    }
    out
}

fn recently_read(history: &[Arc<Message>], desk: &Desk) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for message in history.iter().rev() {
        for call in message.tool_uses().filter(|call| ["Read", "Edit", "Write"].contains(&call.name.as_str())) {
            let path = call.input["file_path"].as_str().map(|path| tools::resolve(&desk.dir, path));
            paths.extend(path.filter(|path| !paths.contains(path)));
        }
    }
    paths
}

/// Files that a read among these messages still shows.
fn shown(messages: &[Arc<Message>], desk: &Desk) -> Vec<PathBuf> {
    let is_gone = |text: &str| text.starts_with(CLEARED.trim()) || text.starts_with("<persisted-output");
    let results = messages.iter().flat_map(|message| message.tool_results());
    let visible: Vec<&ToolCallId> =
        results.filter(|result| !result.is_error && !is_gone(&result.text())).map(|result| &result.call).collect();
    let reads = messages.iter().flat_map(|message| message.tool_uses()).filter(|call| call.name == "Read");
    let paths = reads.filter(|call| visible.contains(&&call.id)).filter_map(|call| call.input["file_path"].as_str());
    paths.map(|path| tools::resolve(&desk.dir, path)).collect()
}

/// The beginning of a file that is text, cut at a line. Anything else is not worth the room.
fn read(path: &std::path::Path, room: u64) -> Option<String> {
    let bytes = tools::beginning(path, room).ok()?;
    let whole = (bytes.len() as u64) < room;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // The cut may have gone through a character; more than that is not text.
        Err(error) if error.utf8_error().valid_up_to() + 4 > error.as_bytes().len() => {
            let end = error.utf8_error().valid_up_to();
            String::from_utf8_lossy(&error.as_bytes()[..end]).into_owned()
        }
        Err(_) => return None,
    };
    let end = if whole { text.len() } else { text.rfind('\n').map_or(text.len(), |line| line + 1) };
    (!text.contains('\0') && end > 0).then(|| text[..end].to_owned())
}
