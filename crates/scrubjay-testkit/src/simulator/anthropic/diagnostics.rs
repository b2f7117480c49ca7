//! Cache diagnostics: where a request first differs from an earlier one.

use super::render::Rendered;
use scrubjay::prompt_cache::rules::{CacheBlock, Level, PrefixHash, prefix_hashes};
use serde_json::{Value, json};

/// What is remembered of a request for a later comparison.
#[derive(Debug, Clone)]
pub(crate) struct Fingerprint {
    model: String,
    hashes: Vec<PrefixHash>,
    blocks: Vec<CacheBlock>,
}

impl Fingerprint {
    pub(super) fn of(model: &str, rendered: &Rendered) -> Self {
        let hashes = prefix_hashes(&rendered.blocks, &rendered.salts);
        Self { model: model.to_owned(), hashes, blocks: rendered.blocks.clone() }
    }

    /// Where the later request leaves this one, and how many of this one's tokens that costs.
    fn divergence(&self, later: &Fingerprint) -> Option<(&'static str, u64)> {
        let missed = |from: usize| self.blocks[from..].iter().map(|block| block.tokens).sum();
        if self.model != later.model {
            return Some(("model_changed", missed(0)));
        }
        let at = (0..self.hashes.len()).find(|at| self.hashes.get(*at) != later.hashes.get(*at))?;
        let level = self.blocks[at].level.min(later.blocks.get(at).map_or(Level::Messages, |block| block.level));
        let kind = match level {
            Level::Tools => "tools_changed",
            Level::System => "system_changed",
            Level::Messages => "messages_changed",
        };
        Some((kind, missed(at)))
    }
}

/// The `diagnostics` of a response that was asked to compare with an earlier message.
pub(super) fn diagnose(wanted: &Value, earlier: Option<&Fingerprint>, now: &Fingerprint) -> Value {
    if wanted["previous_message_id"].is_null() {
        return Value::Null;
    }
    let Some(earlier) = earlier else {
        return json!({ "cache_miss_reason": { "type": "previous_message_not_found" } });
    };
    match earlier.divergence(now) {
        None => Value::Null,
        Some((kind, missed)) => {
            json!({ "cache_miss_reason": { "type": kind, "cache_missed_input_tokens": missed } })
        }
    }
}
