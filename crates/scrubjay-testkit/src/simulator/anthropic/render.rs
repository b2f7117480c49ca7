//! The prompt as the cache sees it: blocks in prefix order, and the settings that are part of the prefix.

use super::request::{Asked, Role, Said, Weight, canonical};
use crate::simulator::error::ApiError;
use crate::simulator::tokens;
use scrubjay::prompt_cache::rules::{CacheBlock, Level, Salts, mark_automatically};
use scrubjay::transcript::Ttl;
use serde_json::{Value, json};

/// What the model reads, ready for the cache.
#[derive(Debug)]
pub(super) struct Rendered {
    pub(super) blocks: Vec<CacheBlock>,
    pub(super) salts: Salts,
    pub(super) tokens: u64,
}

/// Render tools, system and what is left of the conversation.
pub(super) fn render(asked: &Asked<'_>, said: &[Said]) -> Result<Rendered, ApiError> {
    let mut blocks = opening(asked);
    for said in said {
        let bytes = format!("{:?} {}", said.role, canonical(&said.block));
        let tokens = match said.weight {
            Weight::Full => tokens::of_block(&said.block, asked.row.scale_percent),
            Weight::Deleted => 0,
        };
        let block = CacheBlock {
            breakpoint: marker(&said.block),
            ..CacheBlock::new(Level::Messages, bytes.as_bytes(), tokens)
        };
        let empty = said.kind() == "text" && said.block["text"] == "";
        blocks.push(if said.is_thinking() || empty { block.ineligible() } else { block });
    }
    if let Some(ttl) = ttl(&asked.json["cache_control"]) {
        mark_automatically(&mut blocks, ttl).map_err(|error| ApiError::invalid(error.to_string()))?;
    }
    let tokens = blocks.iter().map(|block| block.tokens).sum();
    Ok(Rendered { blocks, salts: salts(asked, said), tokens })
}

/// Tools and system.
pub(super) fn opening(asked: &Asked<'_>) -> Vec<CacheBlock> {
    let block = |level: Level, json: &Value| CacheBlock {
        breakpoint: marker(json),
        ..CacheBlock::new(level, canonical(json).as_bytes(), tokens::of_block(json, asked.row.scale_percent))
    };
    let tools = asked.tools.iter().filter(|tool| tool["defer_loading"] != true).map(|tool| block(Level::Tools, tool));
    tools.chain(asked.system.iter().map(|text| block(Level::System, text))).collect()
}

fn marker(block: &Value) -> Option<Ttl> {
    ttl(&block["cache_control"])
}

fn ttl(mark: &Value) -> Option<Ttl> {
    match mark["ttl"].as_str() {
        _ if mark.is_null() => None,
        Some("1h") => Some(Ttl::OneHour),
        _ => Some(Ttl::FiveMinutes),
    }
}

/// Settings that change how a level is rendered. What is not named here (`max_tokens`, `metadata`, `stop_sequences`,
/// `stream`, `compaction`, `diagnostics`, how a binding mismatch is treated) changes nothing.
fn salts(asked: &Asked<'_>, said: &[Said]) -> Salts {
    let json = asked.json;
    let web = asked.tools.iter().any(|tool| tool["type"].as_str().is_some_and(|kind| kind.starts_with("web_")));
    let cites = said.iter().any(|said| said.block["citations"]["enabled"] == true);
    let pictures = said.iter().any(|said| said.role == Role::User && shows_picture(&said.block));
    let mut thinking = json["thinking"].clone();
    if let Some(fields) = thinking.as_object_mut() {
        fields.shift_remove("block_binding");
    }
    let effort = json["output_config"]["effort"].as_str().unwrap_or("high");
    let mut betas = asked.betas.clone();
    betas.sort_unstable();
    betas.dedup();
    let system = json!([web, cites, json["speed"].as_str().unwrap_or("standard")]);
    let messages = json!([
        json["tool_choice"],
        pictures,
        thinking,
        effort,
        betas,
        json["output_config"]["format"],
        json["context_management"]
    ]);
    Salts { tools: Vec::new(), system: system.to_string().into_bytes(), messages: messages.to_string().into_bytes() }
}

fn shows_picture(block: &Value) -> bool {
    let inside = block["content"].as_array().into_iter().flatten().any(|part| part["type"] == "image");
    block["type"] == "image" || inside
}
