//! Layer 2: microcompaction.
//!
//! What:   old results of tools that can be asked again are cleared: by us when it pays (mostly when the provider's cache
//!         has expired anyway), by editing its cache, or by asking the provider to do it; at most one of the three.
//! When:   before a request: when the cache has expired anyway, and instead of a compaction where it makes room enough.
//! Cost:   none, or one field of the request.
//! Spares: layer 4, which would have to summarise them.
//! Leaves: the newest results, thinking, everything people and models said, results of other tools, stored previews.

use super::compaction::rounds;
use crate::desk::Desk;
use crate::limits::Limits;
use crate::message::{Block, Kind, Message, ToolCallId, Usage};
use crate::model::{Ability, Model};
use crate::prompt_cache::planner::{self, Decision, Edit, Situation, Verdict, Warmth};
use crate::settings::{ContextPolicy, Settings, Source, key};
use crate::tokens::{self, Budget};
use crate::tool::Tool;
use crate::transcript::{CLEARED, Cause, Entry, Ttl, View};
use jiff::SignedDuration;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Only results of these are ever cleared: each can be asked again.
const CLEARABLE: &[&str] = &["Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write"];

/// The setting's value by which a fixed pause decides, and not what pays.
const FIXED_GAP: &str = "fixed_gap";

/// Whether results of this tool may be cleared.
pub fn is_clearable(tool: &str) -> bool {
    CLEARABLE.contains(&tool)
}

/// A result that could be cleared.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Old {
    call: ToolCallId,
    tokens: u64,
}

/// What this turn does about old results, if anything.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Clear them here.
    Clear(Clearing),
    /// Tell the provider to drop them from its cache: nothing that we send changes.
    Edit {
        /// The block that lists them.
        edits: Block,
        /// What they measure.
        tokens: u64,
    },
}

/// Old results to clear, and why now.
#[derive(Debug, Clone, PartialEq)]
pub struct Clearing {
    /// The entry that does it.
    pub entry: Entry,
    /// What it changes, in tokens.
    pub edit: Edit,
    /// What the planner expects of it; `None` where a fixed gap decided.
    pub verdict: Option<Verdict>,
}

/// Decide. Everything it looks at is handed in, and nothing is changed. Without a moment, nothing that was sent is weighed.
pub fn step(view: &View, desk: &Desk, now: Option<&Situation>) -> Option<Step> {
    if edits_cache(desk) {
        return if server_clears(view) { None } else { edits(view, &desk.limits) };
    }
    let now = now?;
    if !clears_here(view, desk) {
        return None;
    }
    clearing(view, &desk.settings, &desk.limits, now).map(Step::Clear)
}

/// Whether the provider drops results from its cache on our word.
fn edits_cache(desk: &Desk) -> bool {
    desk.settings.flag(&key::MICROCOMPACTION_CACHED) && desk.model.can(Ability::CacheEdits)
}

/// Whether we clear results ourselves: it is on, nobody else does it, and no thinking is bound to them.
fn clears_here(view: &View, desk: &Desk) -> bool {
    desk.settings.flag(&key::MICROCOMPACTION_TIME)
        && !edits_cache(desk)
        && !server_clears(view)
        && !bound(view, desk.model.as_ref())
}

/// All old results, to make room in a window that is full. Whether the cache is cold says whose break it is.
pub fn room(view: &View, desk: &Desk, warmth: Warmth) -> Option<Clearing> {
    if !clears_here(view, desk) {
        return None;
    }
    let stale = stale(view, desk.limits.clear_keep, &desk.limits);
    let edit = edit(view, &stale, &desk.limits)?;
    let because = if warmth == Warmth::Cold { Cause::Ttl } else { Cause::Us };
    let results = stale.into_iter().map(|old| old.call).collect();
    Some(Clearing { entry: Entry::Cleared { results, because }, edit, verdict: None })
}

/// Whether clearing would make room enough if the window were full now, so that nothing has to be summarised.
pub fn suffices(view: &View, desk: &Desk) -> bool {
    let budget = super::budget_of(desk.model.window(), view.count.total(), &desk.settings, &desk.limits);
    room(view, desk, Warmth::Warm).is_some_and(|clearing| clearing.is_enough(&budget, &desk.limits))
}

impl Clearing {
    /// Whether this alone brings the request well below the line.
    pub fn is_enough(&self, budget: &Budget, limits: &Limits) -> bool {
        let freed = self.edit.removed.saturating_sub(self.edit.added);
        budget.used.saturating_sub(freed) <= budget.compaction.saturating_mul(limits.clear_alone_percent) / 100
    }
}

/// How many old results the next cold cache lets go for nothing, and what they measure; nothing where clearing is off, where
/// the provider does it, where a fixed gap decides, where thinking could be bound to them, or where it is too little.
pub fn free_when_cold(view: &View, settings: &Settings, limits: &Limits) -> Option<(u64, u64)> {
    let clears = settings.flag(&key::MICROCOMPACTION_TIME) && settings.text(&key::MICROCOMPACTION_WHEN) != FIXED_GAP;
    if !clears || server_clears(view) || thinks(view) {
        return None;
    }
    let stale = stale(view, limits.clear_keep, limits);
    let edit = edit(view, &stale, limits).filter(|edit| edit.removed >= limits.cold_clear_tokens.max(1))?;
    Some((stale.len() as u64, edit.removed))
}

/// Whether the provider clears this request by itself: at most one of the three kinds runs on a turn.
fn server_clears(view: &View) -> bool {
    let management = view.opening.as_ref().and_then(|opening| opening.options.context_management.as_ref());
    let trigger = management.and_then(|asked| result_clearing(asked)?["trigger"]["value"].as_u64());
    trigger.is_some_and(|trigger| view.count.total().saturating_add(view.server_cleared) >= trigger)
}

/// Clear what can be asked again, where it pays; or, where the setting says so, after a fixed gap.
fn clearing(view: &View, settings: &Settings, limits: &Limits, now: &Situation) -> Option<Clearing> {
    let fixed = settings.text(&key::MICROCOMPACTION_WHEN) == FIXED_GAP;
    let cold = if fixed { is_past(now, limits) } else { now.warmth() == Warmth::Cold };
    let keep = if fixed || cold { limits.clear_keep } else { limits.warm_clear_keep };
    let stale = stale(view, keep, limits);
    let edit = edit(view, &stale, limits)?;
    let verdict = (!fixed).then(|| planner::pays(now, &edit, limits));
    let clears = match &verdict {
        Some(verdict) => verdict.decision == Decision::Act,
        None => cold && edit.removed >= limits.cold_clear_tokens.max(1),
    };
    let because = if cold { Cause::Ttl } else { Cause::Us };
    let results = stale.into_iter().map(|old| old.call).collect();
    clears.then(|| Clearing { entry: Entry::Cleared { results, because }, edit, verdict })
}

fn is_past(now: &Situation, limits: &Limits) -> bool {
    let gap = i64::try_from(limits.clear_fixed_gap_minutes.saturating_mul(60)).unwrap_or(i64::MAX);
    now.since_last.is_some_and(|since| since.as_secs() >= gap)
}

/// What clearing these would change, in the provider's tokens.
fn edit(view: &View, stale: &[Old], limits: &Limits) -> Option<Edit> {
    let first = &stale.first()?.call;
    let from = view.history.iter().position(|message| message.tool_results().any(|result| result.call == *first))?;
    let after = rounds::weight(&view.history[from..], limits);
    let removed: u64 = stale.iter().map(|old| old.tokens).sum();
    let added = tokens::of_text(CLEARED, limits).saturating_mul(stale.len() as u64);
    let fitted = |estimate| view.count.fitted(estimate);
    let behind = fitted(after.saturating_sub(removed));
    Some(Edit { removed: fitted(removed), added: fitted(added), behind, making: Usage::default() })
}

/// Thinking that is bound to the exact bytes before it would be refused after a rewrite.
fn bound(view: &View, model: &dyn Model) -> bool {
    model.can(Ability::BoundThinking) && thinks(view)
}

fn thinks(view: &View) -> bool {
    let thought = |message: &Arc<Message>| message.blocks.iter().any(|block| matches!(block.kind(), Kind::Thinking(_)));
    view.history.iter().any(thought)
}

/// Results that can be asked again, oldest first, without the newest.
fn stale(view: &View, keep: u64, limits: &Limits) -> Vec<Old> {
    let mut old = clearable(view, limits);
    let keep = usize::try_from(keep.max(1)).unwrap_or(usize::MAX);
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
            let known = tools.get(&result.call).is_some_and(|tool| is_clearable(tool));
            let gone = view.cleared.contains(&result.call) || view.spilled.contains_key(&result.call);
            let only_text = result.parts.iter().all(|part| part.as_text().is_some());
            if known && !gone && only_text {
                let marker = tokens::of_text(CLEARED, limits);
                let tokens = tokens::estimate(block, limits);
                let tokens = if tokens > marker { tokens } else { 0 };
                found.push(Old { call: result.call.clone(), tokens });
            }
        }
    }
    found
}

/// Where the provider can edit its cache: past a threshold, list the oldest that were not listed before. The block is
/// part of the conversation from then on, so every later request repeats it at the same place.
fn edits(view: &View, limits: &Limits) -> Option<Step> {
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
    let tokens = view.count.fitted(live.iter().map(|old| old.tokens).sum());
    Some(Step::Edit { edits: Block::from_value(&json!({ "type": "cache_edits", "edits": edits })), tokens })
}

fn already_listed(block: &Block) -> Vec<String> {
    if !matches!(block.kind(), Kind::Other(kind) if kind == "cache_edits") {
        return Vec::new();
    }
    let value: Value = serde_json::from_str(block.json()).unwrap_or_default();
    let edits = value["edits"].as_array().cloned().unwrap_or_default();
    edits.iter().filter_map(|edit| edit["tool_use_id"].as_str().map(str::to_owned)).collect()
}

/// What the provider is asked to clear on its side: on every request of a session from the first, or on none. It is asked
/// where results cannot be cleared here, because thinking is bound to them, or where somebody switched it on.
///
/// It decides anew at every request and starts from all that we send: each result that leaves the newest makes it write the
/// cache again from there. So its trigger lies just below the line at which we would compact, and it must bring the request
/// well below that line or leave it alone.
pub fn server_clearing(
    model: &dyn Model,
    tools: &[Arc<dyn Tool>],
    settings: &Settings,
    limits: &Limits,
) -> Option<Value> {
    let chosen = settings.origin(key::MICROCOMPACTION_API.key) != Source::Default;
    let wanted = settings.flag(&key::MICROCOMPACTION_API) && (chosen || model.can(Ability::BoundThinking));
    let drops_thinking = settings.flag(&key::MICROCOMPACTION_THINKING);
    if !model.can(Ability::ServerClearing) || !(wanted || drops_thinking) {
        return None;
    }
    // The provider takes them in this order only.
    let thinking = drops_thinking.then(|| {
        json!({
            "type": "clear_thinking_20251015",
            "keep": { "type": "thinking_turns", "value": limits.server_thinking_keep },
        })
    });
    let budget = super::budget_of(model.window(), 0, settings, limits);
    let results = wanted.then(|| {
        let (trigger, least) = server_thresholds(model, &budget, settings, limits);
        let kept: Vec<&str> =
            tools.iter().map(|tool| tool.spec().name.as_str()).filter(|it| !is_clearable(it)).collect();
        json!({
            "type": CLEAR_RESULTS,
            "trigger": { "type": "input_tokens", "value": trigger },
            "keep": { "type": "tool_uses", "value": limits.clear_keep },
            "clear_at_least": { "type": "input_tokens", "value": least },
            "exclude_tools": kept,
            "clear_tool_inputs": ["Edit", "Write"],
        })
    });
    Some(json!({ "edits": thinking.into_iter().chain(results).collect::<Vec<_>>() }))
}

const CLEAR_RESULTS: &str = "clear_tool_uses_20250919";

/// From which size of a request on the provider clears, and how much at least.
fn server_thresholds(model: &dyn Model, budget: &Budget, settings: &Settings, limits: &Limits) -> (u64, u64) {
    if settings.context_policy() == ContextPolicy::Faithful {
        let trigger = budget.compaction.saturating_sub(limits.server_clear_margin.min(budget.compaction / 20));
        let goal = budget.compaction.saturating_mul(limits.clear_alone_percent) / 100;
        return (trigger, trigger.saturating_sub(goal));
    }
    let trigger = limits.server_clear_from.min(budget.warning);
    let then = Situation {
        prices: model.prices(),
        ttl: Some(Ttl::default()),
        since_last: Some(SignedDuration::ZERO),
        turns: 1,
        threshold: budget.compaction,
    };
    // About a quarter of a full window is never cleared: the opening, and what was said.
    let tail = trigger.saturating_mul(3) / 4;
    (trigger, planner::clear_at_least(&then, tail, limits).min(limits.server_clear_least))
}

/// The edit by which results are cleared, of all that a request asks for.
pub fn result_clearing(management: &Value) -> Option<&Value> {
    management["edits"].as_array()?.iter().find(|edit| edit["type"] == CLEAR_RESULTS)
}
