//! Layer 2: microcompaction.
//!
//! What:   old results of tools that can be asked again are cleared: by us when the provider's cache has expired anyway,
//!         by editing its cache, or by asking the provider to do it; at most one of the three.
//! When:   before a request, on turns on which no compaction is due.
//! Cost:   none, or one field of the request.
//! Spares: layer 4, which would have to summarise them.
//! Leaves: the newest results, thinking, everything people and models said, results of other tools, stored previews.

use crate::desk::Desk;
use crate::limits::Limits;
use crate::message::{Block, Kind, Message, Origin, ToolCallId};
use crate::model::{Ability, Model};
use crate::settings::{Settings, key};
use crate::tokens::{self, Budget};
use crate::transcript::{Cause, Entry, Ttl, View};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Only results of these are ever cleared: each can be asked again.
const CLEARABLE: &[&str] = &["Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write"];

/// A result that could be cleared.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Old {
    call: ToolCallId,
    tokens: u64,
}

/// What this turn does about old results, if anything: an entry to append, or a message to add.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Clear them here; the cache is cold.
    Clear(Entry),
    /// Tell the provider to drop them from its cache.
    Edit(Block),
}

/// Decide. Everything it looks at is handed in, and nothing is changed.
pub fn step(view: &View, desk: &Desk, now: Timestamp) -> Option<Step> {
    let options = view.opening.as_ref().map(|opening| opening.options.clone()).unwrap_or_default();
    if options.context_management.is_some() {
        return None;
    }
    let (settings, limits) = (&desk.settings, &desk.limits);
    if settings.flag(&key::MICROCOMPACTION_CACHED) && desk.model.can(Ability::CacheEdits) {
        return edits(view, limits).map(Step::Edit);
    }
    if !settings.flag(&key::MICROCOMPACTION_TIME) || bound(view, desk.model.as_ref()) {
        return None;
    }
    let cold = is_cold(view, now, gap(settings, limits, options.cache_ttl.messages()));
    let stale = if cold { stale(view, limits) } else { Vec::new() };
    let freed: u64 = stale.iter().map(|old| old.tokens).sum();
    if freed < limits.clear_least_tokens.max(1) {
        return None;
    }
    let results = stale.into_iter().map(|old| old.call).collect();
    Some(Step::Clear(Entry::Cleared { results, because: Cause::Ttl }))
}

/// Thinking that is bound to the exact bytes before it would be refused after a rewrite.
fn bound(view: &View, model: &dyn Model) -> bool {
    let thinks = |message: &Arc<Message>| message.blocks.iter().any(|block| matches!(block.kind(), Kind::Thinking(_)));
    model.can(Ability::BoundThinking) && view.history.iter().any(thinks)
}

/// After how many seconds without a request the cache is certainly gone.
fn gap(settings: &Settings, limits: &Limits, ttl: Ttl) -> i64 {
    let fixed = i64::try_from(limits.clear_fixed_gap_minutes.saturating_mul(60)).unwrap_or(i64::MAX);
    match settings.text(&key::MICROCOMPACTION_WHEN) {
        "fixed_gap" => fixed,
        _ => crate::prompt_cache::rules::lifetime(ttl).as_secs(),
    }
}

fn is_cold(view: &View, now: Timestamp, gap: i64) -> bool {
    let last = view.history.iter().rev().find(|message| message.origin == Origin::Model);
    last.is_some_and(|message| now.as_second() - message.at.as_second() > gap)
}

/// Results that can be asked again, oldest first, without the newest.
fn stale(view: &View, limits: &Limits) -> Vec<Old> {
    let mut old = clearable(view, limits);
    let keep = usize::try_from(limits.clear_keep.max(1)).unwrap_or(usize::MAX);
    old.truncate(old.len().saturating_sub(keep));
    old.retain(|one| one.tokens > 0);
    old
}

fn clearable(view: &View, limits: &Limits) -> Vec<Old> {
    let mut tools: BTreeMap<&ToolCallId, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for message in &view.history {
        tools.extend(message.tool_uses().map(|call| (&call.id, call.name.as_str())));
        for block in &message.blocks {
            let Kind::ToolResult(result) = block.kind() else { continue };
            let known = tools.get(&result.call).is_some_and(|tool| CLEARABLE.contains(tool));
            let gone = view.cleared.contains(&result.call) || view.spilled.contains_key(&result.call);
            let only_text = result.parts.iter().all(|part| part.as_text().is_some());
            if known && !gone && only_text {
                let marker = tokens::of_text(crate::transcript::CLEARED, limits);
                let tokens = tokens::estimate(block, limits).saturating_sub(marker);
                found.push(Old { call: result.call.clone(), tokens });
            }
        }
    }
    found
}

/// Where the provider can edit its cache: past a threshold, list the oldest that were not listed before. The block is
/// part of the conversation from then on, so every later request repeats it at the same place.
fn edits(view: &View, limits: &Limits) -> Option<Block> {
    let listed: Vec<String> =
        view.history.iter().flat_map(|message| &message.blocks).flat_map(already_listed).collect();
    let mut live = clearable(view, limits);
    live.retain(|old| !listed.iter().any(|id| id == old.call.as_str()));
    if (live.len() as u64) <= limits.edit_results_from {
        return None;
    }
    let keep = usize::try_from(limits.clear_keep.max(1)).unwrap_or(usize::MAX);
    live.truncate(live.len().saturating_sub(keep));
    let edits: Vec<Value> =
        live.iter().map(|old| json!({ "type": "delete", "tool_use_id": old.call.as_str() })).collect();
    Some(Block::from_value(&json!({ "type": "cache_edits", "edits": edits })))
}

fn already_listed(block: &Block) -> Vec<String> {
    if !matches!(block.kind(), Kind::Other(kind) if kind == "cache_edits") {
        return Vec::new();
    }
    let value: Value = serde_json::from_str(block.json()).unwrap_or_default();
    let edits = value["edits"].as_array().cloned().unwrap_or_default();
    edits.iter().filter_map(|edit| edit["tool_use_id"].as_str().map(str::to_owned)).collect()
}

/// What the provider is asked to clear on its side: on every request of a session from the first, or on none. The trigger
/// stays below the line at which we would compact ourselves.
pub fn server_clearing(model: &dyn Model, settings: &Settings, limits: &Limits) -> Option<Value> {
    if !settings.flag(&key::MICROCOMPACTION_API) || !model.can(Ability::ServerClearing) {
        return None;
    }
    let line = Budget::new(model.window(), 0, limits).warning;
    let trigger = limits.server_clear_from.min(line);
    let least = limits.server_clear_least.min(trigger.saturating_mul(3) / 4);
    Some(json!({ "edits": [{
        "type": "clear_tool_uses_20250919",
        "trigger": { "type": "input_tokens", "value": trigger },
        "keep": { "type": "tool_uses", "value": limits.clear_keep },
        "clear_at_least": { "type": "input_tokens", "value": least },
    }] }))
}
