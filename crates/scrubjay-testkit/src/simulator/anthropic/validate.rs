//! What the Messages API refuses before a model sees it, with the words it refuses it in.

use super::betas;
use super::request::{Asked, Role, Said};
use crate::simulator::error::ApiError;
use crate::simulator::models::{SystemMessages, ThinkingModes};
use crate::simulator::server::{Config, Switch};
use serde_json::Value;

type Verdict = Result<(), ApiError>;

/// Everything that can be said of the request by looking at it alone.
pub(super) fn check(asked: &Asked<'_>, config: &Config) -> Verdict {
    check_headers(asked, config)?;
    check_fields(asked)?;
    check_version(asked)?;
    check_thinking_config(asked)?;
    check_prewarm(asked)?;
    check_strict_tools(asked)?;
    check_blocks(asked, config)?;
    check_markers(asked)?;
    check_system_messages(asked)?;
    check_pairs(asked)?;
    check_ending(asked)
}

fn refuse(message: impl Into<String>) -> Verdict {
    Err(ApiError::invalid(message))
}

fn check_headers(asked: &Asked<'_>, config: &Config) -> Verdict {
    if !matches!(asked.version, "2023-06-01" | "2026-10-21") {
        return refuse(format!("anthropic-version: \"{}\" is not a valid version", asked.version));
    }
    let known = |beta: &&&str| !betas::KNOWN.contains(*beta) && !config.betas.iter().any(|extra| extra == **beta);
    let unknown: Vec<String> = asked.betas.iter().filter(known).map(|beta| format!("`{beta}`")).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    refuse(format!(
        "Unexpected value(s) {} for the `anthropic-beta` header. Please consult our documentation or try again without the header.",
        unknown.join(", ")
    ))
}

fn check_fields(asked: &Asked<'_>) -> Verdict {
    let gated = [
        ("compaction", &[betas::COMPACTION][..]),
        ("diagnostics", &[betas::DIAGNOSIS]),
        ("context_management", &[betas::CLEARING, betas::THRESHOLD_COMPACTION]),
    ];
    for (field, any_of) in gated {
        if asked.asks(field) && !any_of.iter().any(|beta| asked.has_beta(beta)) {
            return refuse(format!("{field}: Extra inputs are not permitted"));
        }
    }
    if asked.asks("compaction") && asked.asks("context_management") {
        return refuse("compaction: cannot be combined with context_management");
    }
    let binding = &asked.json["thinking"]["block_binding"];
    if !binding.is_null() && !asked.has_beta(betas::BINDING) {
        return refuse(format!(
            "thinking.block_binding: Extra inputs are not permitted. That setting requires the `{}` value in the `anthropic-beta` header.",
            betas::BINDING
        ));
    }
    Ok(())
}

fn check_version(asked: &Asked<'_>) -> Verdict {
    if asked.version != "2026-10-21" {
        return Ok(());
    }
    for field in ["temperature", "top_p", "top_k"] {
        if asked.asks(field) {
            return refuse(format!("{field}: not supported in anthropic-version 2026-10-21"));
        }
    }
    for said in &asked.said {
        if said.role == Role::Assistant && said.kind() == "document" {
            return refuse(format!("{}: `document` blocks are not permitted in assistant messages", said.path()));
        }
        let cites = said.block["citations"].as_array().is_some_and(|list| !list.is_empty());
        if said.role == Role::User && said.kind() == "text" && cites {
            return refuse(format!("{}.citations: not permitted in user messages", said.path()));
        }
    }
    Ok(())
}

fn check_thinking_config(asked: &Asked<'_>) -> Verdict {
    match (asked.json["thinking"]["type"].as_str(), asked.row.thinking) {
        (Some("enabled"), ThinkingModes::Adaptive) => refuse(
            "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
        ),
        (Some("adaptive"), ThinkingModes::Budget) => refuse("adaptive thinking is not supported on this model"),
        (Some("enabled"), _) if asked.json["thinking"]["budget_tokens"].as_u64().is_none_or(|budget| budget < 1024) => {
            refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        }
        _ => Ok(()),
    }
}

fn check_prewarm(asked: &Asked<'_>) -> Verdict {
    if asked.max_tokens() != 0 {
        return Ok(());
    }
    let choice = asked.json["tool_choice"]["type"].as_str();
    let clash = [
        (asked.json["stream"] == true, "stream"),
        (asked.json["thinking"]["type"] == "enabled", "thinking.type \"enabled\""),
        (!asked.json["output_config"]["format"].is_null(), "output_config.format"),
        (matches!(choice, Some("any" | "tool")), "tool_choice"),
    ];
    match clash.into_iter().find(|(there, _)| *there) {
        Some((_, what)) => refuse(format!("max_tokens: 0 cannot be combined with {what}")),
        None => Ok(()),
    }
}

/// A tool whose input is to be checked describes it completely.
fn check_strict_tools(asked: &Asked<'_>) -> Verdict {
    fn is_closed(schema: &Value) -> bool {
        let parts = schema["properties"].as_object().into_iter().flat_map(|all| all.values());
        let own = schema["type"] != "object" || schema["additionalProperties"] == false;
        own && parts.chain(schema.get("items")).all(is_closed)
    }
    for (at, tool) in asked.json["tools"].as_array().into_iter().flatten().enumerate() {
        if tool["strict"] == true && !is_closed(&tool["input_schema"]) {
            return refuse(format!(
                "tools.{at}.custom: For 'object' type, 'additionalProperties' must be explicitly set to false"
            ));
        }
    }
    Ok(())
}

fn check_blocks(asked: &Asked<'_>, config: &Config) -> Verdict {
    for said in &asked.said {
        let marked = !said.block["cache_control"].is_null();
        if marked && said.is_thinking() {
            return refuse(format!("{}.{}.cache_control: Extra inputs are not permitted", said.path(), said.kind()));
        }
        if marked && said.kind() == "text" && said.block["text"] == "" {
            return refuse(format!("{}.text: cache_control cannot be set for empty text blocks", said.path()));
        }
        if said.kind() == "cache_edits" && config.cache_edits == Switch::Off {
            return refuse(format!(
                "{}: Input tag 'cache_edits' found using 'type' does not match any of the expected tags",
                said.path()
            ));
        }
    }
    Ok(())
}

fn check_markers(asked: &Asked<'_>) -> Verdict {
    let tools = asked.tools.iter().enumerate().map(|(at, tool)| (format!("tools.{at}"), tool));
    let system = asked.system.iter().enumerate().map(|(at, block)| (format!("system.{at}"), block));
    let said = asked.said.iter().map(|said| (said.path(), &said.block));
    let all = tools.chain(system).chain(said);
    let marks: Vec<(String, &Value)> =
        all.map(|(path, block)| (path, &block["cache_control"])).filter(|(_, mark)| !mark.is_null()).collect();
    if marks.len() > scrubjay::prompt_cache::rules::MAX_BREAKPOINTS {
        return refuse(format!("A maximum of 4 blocks with cache_control may be provided. Found {}.", marks.len()));
    }
    let mut short_seen = false;
    for (path, mark) in marks {
        match mark["ttl"].as_str() {
            Some("1h") if short_seen => {
                return refuse(format!(
                    "{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."
                ));
            }
            Some("1h") => {}
            Some("5m") | None => short_seen = true,
            Some(_) => return refuse(format!("{path}.cache_control.ttl: Input should be '5m' or '1h'")),
        }
    }
    Ok(())
}

fn check_system_messages(asked: &Asked<'_>) -> Verdict {
    let Some(first) = asked.roles.iter().position(|role| *role == Role::System) else { return Ok(()) };
    if asked.row.system_messages == SystemMessages::Refused {
        return refuse(format!("messages.{first}: role 'system' is not supported on this model"));
    }
    for (at, role) in asked.roles.iter().enumerate().filter(|(_, role)| **role == Role::System) {
        let not_system = |other: &&Role| *other != role;
        let before = asked.roles[..at].iter().rev().find(not_system);
        let after = asked.roles[at..].iter().find(not_system);
        if before != Some(&Role::User) {
            return refuse(format!("messages.{at}: role 'system' must directly follow a 'user' message"));
        }
        if after == Some(&Role::User) {
            return refuse(format!(
                "messages.{at}: role 'system' must precede an 'assistant' message or end the array"
            ));
        }
        let clears = !asked.json["messages"][at]["clear_at"].is_null();
        if clears && !asked.has_beta(betas::CLEAR_AT) {
            return refuse(format!("messages.{at}.clear_at: Extra inputs are not permitted"));
        }
    }
    Ok(())
}

/// The turns of a conversation: neighbours of one role are one turn, system messages stand outside.
fn turns<'a>(asked: &'a Asked<'_>) -> Vec<Vec<&'a Said>> {
    let mut turns: Vec<Vec<&Said>> = Vec::new();
    for said in asked.said.iter().filter(|said| said.role != Role::System) {
        match turns.last_mut() {
            Some(turn) if turn[0].role == said.role => turn.push(said),
            _ => turns.push(vec![said]),
        }
    }
    turns
}

fn check_pairs(asked: &Asked<'_>) -> Verdict {
    let ids = |turn: Option<&Vec<&Said>>, kind: &str, field: &str| -> Vec<String> {
        let blocks = turn.into_iter().flatten().filter(|said| said.kind() == kind);
        blocks.filter_map(|said| said.block[field].as_str()).map(str::to_owned).collect()
    };
    let turns = turns(asked);
    for (at, turn) in turns.iter().enumerate() {
        let earlier = ids(at.checked_sub(1).and_then(|at| turns.get(at)), "tool_use", "id");
        for said in turn.iter().filter(|said| said.kind() == "tool_result") {
            let call = said.block["tool_use_id"].as_str().unwrap_or_default();
            if !earlier.iter().any(|id| id == call) {
                return refuse(format!(
                    "{}: unexpected `tool_use_id` found in `tool_result` blocks: {call}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
                    said.path()
                ));
            }
        }
        let answered = ids(turns.get(at + 1), "tool_result", "tool_use_id");
        let open: Vec<String> =
            ids(Some(turn), "tool_use", "id").into_iter().filter(|id| !answered.contains(id)).collect();
        if !open.is_empty() {
            return Err(unanswered(asked, turn, &open));
        }
    }
    Ok(())
}

fn unanswered(asked: &Asked<'_>, turn: &[&Said], open: &[String]) -> ApiError {
    let message = turn.last().map_or(0, |said| said.message);
    let error = ApiError::invalid(format!(
        "messages.{message}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        open.join(", ")
    ));
    if asked.asks("compaction") { error.coded("compaction_incomplete_turn") } else { error }
}

fn check_ending(asked: &Asked<'_>) -> Verdict {
    let last = asked.roles.iter().rev().find(|role| **role != Role::System);
    let prefill_allowed = asked.row.thinking == ThinkingModes::Budget || asked.asks("compaction");
    if last == Some(&Role::Assistant) && !prefill_allowed {
        return refuse(
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        );
    }
    Ok(())
}
