//! Compaction by threshold: past a size, the reply begins with a summary and goes on from it.
//!
//! The summary is asked of the script first, by the same request with `compaction` set, so one matcher serves this and
//! compaction on demand; the reply itself is asked for after it.

use super::request::{Asked, Role, Said, Weight};
use super::{Prepared, ask_cache, betas, compaction, render};
use crate::simulator::error::ApiError;
use crate::simulator::recorded::RecordedRequest;
use crate::simulator::reply::Piece;
use crate::simulator::server::{Shared, Turn, pieces_or_fault};
use crate::simulator::tokens;
use scrubjay::clock::Clock as _;
use scrubjay::message::Usage;
use serde_json::{Value, json};

pub(super) const COMPACT: &str = "compact_20260112";

/// When compaction starts, and the lowest a request may ask for. Both are documented.
const DEFAULT_TRIGGER: u64 = 150_000;
const LOWEST_TRIGGER: u64 = 50_000;

/// What comes after a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Afterwards {
    GoOn,
    Pause,
}

/// A summary that was written on the way.
pub(super) struct Summary {
    pub(super) block: Value,
    pub(super) usage: Usage,
    pub(super) afterwards: Afterwards,
}

/// Everything before the last summary is no longer read.
pub(super) fn forget_compacted(asked: &mut Asked<'_>) {
    let is_summary = |said: &Said| said.kind() == "compaction" && said.block["content"].is_string();
    if let (true, Some(at)) = (asked.has_beta(betas::THRESHOLD_COMPACTION), asked.said.iter().rposition(is_summary)) {
        asked.said.drain(..at);
    }
}

/// What the edit asks for, checked.
fn wish<'a>(asked: &'a Asked<'_>) -> Result<Option<(&'a Value, u64)>, ApiError> {
    let mut edits = asked.json["context_management"]["edits"].as_array().into_iter().flatten();
    let Some(edit) = edits.find(|edit| edit["type"] == COMPACT) else { return Ok(None) };
    if !asked.has_beta(betas::THRESHOLD_COMPACTION) {
        let message =
            format!("context_management.edits: `{COMPACT}` requires the `{}` beta", betas::THRESHOLD_COMPACTION);
        return Err(ApiError::invalid(message));
    }
    let trigger = edit["trigger"]["value"].as_u64().unwrap_or(DEFAULT_TRIGGER);
    if trigger < LOWEST_TRIGGER {
        let message = format!("context_management.edits: trigger must be at least {LOWEST_TRIGGER} input tokens");
        return Err(ApiError::invalid(message));
    }
    Ok(Some((edit, trigger)))
}

/// Summarise when the prompt is large enough; what the model reads from then on begins with the summary.
pub(super) fn summarise(
    shared: &Shared,
    request: &RecordedRequest,
    asked: &Asked<'_>,
    prepared: &mut Prepared,
) -> Result<Result<Option<Summary>, Turn>, ApiError> {
    let Some((edit, trigger)) = wish(asked)? else { return Ok(Ok(None)) };
    if prepared.rendered.tokens < trigger {
        return Ok(Ok(None));
    }
    let mut question = request.clone();
    question.json["compaction"] = json!({ "type": "summarize", "instructions": edit["instructions"] });
    let reply = shared.reply_to(&question)?;
    let pieces = match pieces_or_fault(shared, request, &reply) {
        Ok(pieces) => pieces,
        Err(fault) => return Ok(Err(fault)),
    };
    let texts =
        pieces.iter().filter_map(|piece| if let Piece::Text(text) = piece { Some(text.as_str()) } else { None });
    let summary = texts.collect::<Vec<_>>().join("\n");
    let outcome = ask_cache(shared, asked, &prepared.rendered)?;
    shared.memory().cache.begin_response(&outcome, shared.clock.now());
    let usage = outcome.usage(tokens::of_text(&summary, asked.row.scale_percent));
    let block = compaction::block(&summary, &prepared.chain);
    prepared.chain.pass(Role::Assistant, &block);
    let said = Said { message: 0, index: 0, role: Role::Assistant, block: block.clone(), weight: Weight::Full };
    prepared.rendered = render::render(asked, &[said])?;
    let afterwards = if edit["pause_after_compaction"] == true { Afterwards::Pause } else { Afterwards::GoOn };
    Ok(Ok(Some(Summary { block, usage, afterwards })))
}
