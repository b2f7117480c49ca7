//! On-demand compaction: a summary in the place of what it summarises, signed.
//!
//! The signature is `simc:PREFIX:SEAL`. The prefix is the running digest at the end of the summarised messages, so that
//! thinking kept behind the block stays valid.

use super::betas;
use super::request::{Asked, Said};
use super::thinking::{Chain, digest};
use crate::simulator::error::ApiError;
use serde_json::{Value, json};

const SECRET: &str = "the simulator's summary";

fn refuse(code: &'static str, message: impl Into<String>) -> Result<(), ApiError> {
    Err(ApiError::invalid(message).coded(code))
}

/// Compaction blocks stand first, alone, as they were sent; a request to compact has something to compact.
pub(super) fn check(asked: &Asked<'_>) -> Result<(), ApiError> {
    let blocks: Vec<&Said> = asked.said.iter().filter(|said| said.kind() == "compaction").collect();
    if asked.asks("compaction") && blocks.len() == asked.said.len() {
        return refuse("compaction_nothing_to_summarize", "compaction: there is nothing to summarize");
    }
    let Some(block) = blocks.first() else { return Ok(()) };
    if !asked.has_beta(betas::COMPACTION) && !asked.has_beta(betas::THRESHOLD_COMPACTION) {
        let tag = "Input tag 'compaction' found using 'type' does not match any of the expected tags";
        return Err(ApiError::invalid(format!("{}: {tag}", block.path())));
    }
    if blocks.len() > 1 {
        return refuse("compaction_block_ambiguous", format!("{}: more than one compaction block", blocks[1].path()));
    }
    // A summary by threshold stands where the reply began; what was before it is already forgotten.
    let first = (block.message, block.index) == (0, 0) || asked.has_beta(betas::THRESHOLD_COMPACTION);
    if !first {
        return refuse("compaction_block_misplaced", format!("{}: a compaction block must come first", block.path()));
    }
    let signature = block.block["signature"].as_str().unwrap_or_default();
    let content = block.block["content"].as_str().unwrap_or_default();
    match signature.split(':').collect::<Vec<_>>()[..] {
        ["simc", prefix, seal, content_seal] if seal == digest(&[SECRET, prefix, content_seal]) => {
            if content_seal == digest(&[content]) {
                return Ok(());
            }
            refuse("compaction_content_mismatch", format!("{}: the summary was changed", block.path()))
        }
        _ => refuse("compaction_signature_invalid", format!("{}: Invalid `signature`", block.path())),
    }
}

/// The block that stands for everything up to here.
pub(super) fn block(summary: &str, chain: &Chain) -> Value {
    let content_seal = digest(&[summary]);
    let seal = digest(&[SECRET, &chain.prefix, &content_seal]);
    let signature = format!("simc:{}:{seal}:{content_seal}", chain.prefix);
    json!({ "type": "compaction", "content": summary, "encrypted_content": null, "signature": signature, "tool_changes": [] })
}

/// The running digest that a compaction block stands for.
pub(super) fn stands_for(block: &Value) -> Option<String> {
    if block["type"] != "compaction" {
        return None;
    }
    block["signature"].as_str()?.strip_prefix("simc:")?.split(':').next().map(str::to_owned)
}
