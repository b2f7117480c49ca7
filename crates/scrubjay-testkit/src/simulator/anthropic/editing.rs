//! Context management on the server: what the model no longer reads although the client still sends it.

use super::request::{Asked, Role, Said, Weight};
use super::threshold::COMPACT;
use crate::simulator::error::ApiError;
use crate::simulator::models::KeptThinking;
use crate::simulator::tokens;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};

/// What stands in the place of a cleared result. The real wording is not documented.
pub const CLEARED_RESULT: &str = "[tool result cleared by the server]";

const CLEAR_TOOL_USES: &str = "clear_tool_uses_20250919";
const CLEAR_THINKING: &str = "clear_thinking_20251015";

/// Results kept when a request does not say how many, and the size at which clearing starts. Both are documented.
const DEFAULT_KEPT_USES: u64 = 3;
const DEFAULT_TRIGGER: u64 = 100_000;

/// What the model reads, and what was done to it.
pub(super) struct Edited {
    pub(super) said: Vec<Said>,
    pub(super) applied: Vec<Value>,
}

/// Apply the edits that a request asks for. `opening` is what tools and system count.
pub(super) fn apply(asked: &Asked<'_>, mut said: Vec<Said>, opening: u64) -> Result<Edited, ApiError> {
    let edits = asked.json["context_management"]["edits"].as_array().map_or(&[][..], Vec::as_slice);
    let mut applied = Vec::new();
    for (at, edit) in edits.iter().enumerate() {
        let done = match edit["type"].as_str() {
            Some(CLEAR_THINKING) if at > 0 => {
                let message = format!("context_management.edits.{at}: {CLEAR_THINKING} must be the first edit");
                return Err(ApiError::invalid(message));
            }
            Some(CLEAR_THINKING) => clear_thinking(asked, &mut said, edit),
            Some(COMPACT) => None,
            Some(CLEAR_TOOL_USES) => clear_tool_uses(asked, &mut said, edit, opening),
            other => {
                let tag = other.unwrap_or_default();
                let message =
                    format!("context_management.edits.{at}: Input tag '{tag}' does not match any of the expected tags");
                return Err(ApiError::invalid(message));
            }
        };
        applied.extend(done);
    }
    Ok(Edited { said, applied })
}

fn count(said: &Said, asked: &Asked<'_>) -> u64 {
    match said.weight {
        Weight::Full => tokens::of_block(&said.block, asked.row.scale_percent),
        Weight::Deleted => 0,
    }
}

fn total(said: &[Said], asked: &Asked<'_>) -> u64 {
    said.iter().map(|said| count(said, asked)).sum()
}

fn clear_thinking(asked: &Asked<'_>, said: &mut Vec<Said>, edit: &Value) -> Option<Value> {
    let keep = match (&edit["keep"]["value"], &edit["keep"]) {
        (Value::Number(turns), _) => usize::try_from(turns.as_u64()?).ok()?,
        (_, Value::Null) if asked.row.kept_thinking == KeptThinking::LastTurn => 1,
        _ => return None,
    };
    let turns: BTreeSet<usize> = said.iter().filter(|said| said.is_thinking()).map(|said| said.message).collect();
    let cleared: BTreeSet<usize> = turns.iter().rev().skip(keep).copied().collect();
    let before = total(said, asked);
    said.retain(|said| !(said.is_thinking() && cleared.contains(&said.message)));
    let freed = before - total(said, asked);
    (!cleared.is_empty()).then(
        || json!({ "type": CLEAR_THINKING, "cleared_thinking_turns": cleared.len(), "cleared_input_tokens": freed }),
    )
}

fn clear_tool_uses(asked: &Asked<'_>, said: &mut Vec<Said>, edit: &Value, opening: u64) -> Option<Value> {
    let names = tool_names(said);
    let results = said.iter().filter(|said| said.kind() == "tool_result");
    let calls: Vec<String> = results.filter_map(|said| said.block["tool_use_id"].as_str()).map(str::to_owned).collect();
    let reached = match edit["trigger"]["type"].as_str() {
        Some("tool_uses") => calls.len() as u64,
        _ => opening + total(said, asked),
    };
    if reached <= edit["trigger"]["value"].as_u64().unwrap_or(DEFAULT_TRIGGER) {
        return None;
    }
    let lists = |list: &Value, name: &str| list.as_array().is_some_and(|names| names.iter().any(|known| known == name));
    let name_of = |call: &String| names.get(call).map_or("", String::as_str);
    let keep = usize::try_from(edit["keep"]["value"].as_u64().unwrap_or(DEFAULT_KEPT_USES)).unwrap_or(usize::MAX);
    let open: Vec<&String> = calls.iter().filter(|call| !lists(&edit["exclude_tools"], name_of(call))).collect();
    let cleared: BTreeSet<&str> = open.iter().rev().skip(keep).map(|call| call.as_str()).collect();
    let inputs = |call: &str| {
        let name = names.get(call).map_or("", String::as_str);
        edit["clear_tool_inputs"] == true || lists(&edit["clear_tool_inputs"], name)
    };
    let after: Vec<Said> = said.iter().map(|said| without(said, &cleared, &inputs)).collect();
    let freed = total(said, asked).saturating_sub(total(&after, asked));
    if cleared.is_empty() || freed < edit["clear_at_least"]["value"].as_u64().unwrap_or(0) {
        return None;
    }
    *said = after;
    Some(json!({ "type": CLEAR_TOOL_USES, "cleared_tool_uses": cleared.len(), "cleared_input_tokens": freed }))
}

fn without(said: &Said, cleared: &BTreeSet<&str>, inputs: &impl Fn(&str) -> bool) -> Said {
    let mut said = said.clone();
    let id = |field: &str| said.block[field].as_str().unwrap_or_default().to_owned();
    if said.kind() == "tool_result" && cleared.contains(id("tool_use_id").as_str()) {
        said.block["content"] = json!(CLEARED_RESULT);
    } else if said.kind() == "tool_use" && cleared.contains(id("id").as_str()) && inputs(&id("id")) {
        said.block["input"] = json!({});
    }
    said
}

fn tool_names(said: &[Said]) -> HashMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let calls = said.iter().filter(|said| said.kind() == "tool_use");
    calls.map(|said| (text(&said.block["id"]), text(&said.block["name"]))).collect()
}

/// Old thinking, on models that read only the turn in progress.
pub(super) fn strip_old_thinking(asked: &Asked<'_>, said: &mut Vec<Said>) {
    if asked.row.kept_thinking == KeptThinking::All {
        return;
    }
    let question = said.iter().rposition(|said| said.role == Role::User && said.kind() != "tool_result");
    let mut at = 0;
    said.retain(|said| {
        at += 1;
        !(said.is_thinking() && question.is_some_and(|question| at <= question))
    });
}

/// System messages that were to be read until the next user message, once that is there.
pub(super) fn hide_cleared_reminders(asked: &Asked<'_>, said: &mut Vec<Said>) {
    let last_user = asked.roles.iter().rposition(|role| *role == Role::User);
    let cleared = |at: usize| asked.json["messages"][at]["clear_at"] == "next_user_message";
    said.retain(|said| {
        !(said.role == Role::System && cleared(said.message) && last_user.is_some_and(|last| last > said.message))
    });
}

/// The simulator's extra, off unless asked for: a user message may hold
/// `{"type":"cache_edits","edits":[{"type":"delete","tool_use_id":"…"}]}`. The named results leave the cached prefix in
/// place: the prefix keeps its name, so entries are still found, but what was deleted is neither read nor billed. The
/// block itself counts nothing and must be sent again, like everything else.
pub(super) fn delete_from_cache(said: &mut Vec<Said>) -> Result<(), ApiError> {
    let mut deleted = BTreeSet::new();
    for edits in said.iter().filter(|said| said.kind() == "cache_edits") {
        for (at, edit) in edits.block["edits"].as_array().into_iter().flatten().enumerate() {
            let call = edit["tool_use_id"].as_str().unwrap_or_default();
            let known = said.iter().any(|said| said.kind() == "tool_result" && said.block["tool_use_id"] == call);
            if edit["type"] != "delete" || !known {
                let message = format!("{}.edits.{at}: no `tool_result` for `{call}` to delete", edits.path());
                return Err(ApiError::invalid(message));
            }
            deleted.insert(call.to_owned());
        }
    }
    said.retain(|said| said.kind() != "cache_edits");
    for said in said.iter_mut().filter(|said| said.kind() == "tool_result") {
        if said.block["tool_use_id"].as_str().is_some_and(|call| deleted.contains(call)) {
            said.weight = Weight::Deleted;
        }
    }
    Ok(())
}
