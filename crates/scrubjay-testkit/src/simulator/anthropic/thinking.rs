//! Thinking signatures: which model wrote a block, after which words, after which thinking, and at what cost.
//!
//! A signature is `sim1:MODEL:PREFIX:PREVIOUS:TOKENS:SEAL`. The prefix is a running digest over tools, system and every
//! block before, thinking and cache markers left out; a compaction block restarts it with what it stands for. `PREVIOUS`
//! names the thinking block before, so that oldest ones can be dropped and middle ones cannot.

use super::betas;
use super::compaction;
use super::request::{Asked, Role, Said, canonical};
use crate::simulator::error::ApiError;
use crate::simulator::models::ThinkingBinding;
use crate::simulator::server::{Config, Switch};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const SECRET: &str = "the simulator's own";
const NONE: &str = "-";

/// A running digest of what was said, and the last thinking that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) prefix: String,
    pub(crate) previous: Option<String>,
}

impl Chain {
    fn start(asked: &Asked<'_>) -> Self {
        let mut prefix = digest(&["begin"]);
        let plain = asked.tools.iter().filter(|tool| tool["defer_loading"] != true);
        for block in plain.chain(&asked.system) {
            prefix = digest(&[&prefix, &canonical(block)]);
        }
        Self { prefix, previous: None }
    }

    /// Go past a block that is no thinking.
    pub(crate) fn pass(&mut self, role: Role, block: &Value) {
        if let Some(prefix) = compaction::stands_for(block) {
            self.prefix = prefix;
        } else if block["type"] != "cache_edits" {
            self.prefix = digest(&[&self.prefix, &format!("{role:?}"), &canonical(block)]);
        }
    }

    /// Sign a new thinking block here, and go past it.
    pub(crate) fn sign(&mut self, model: &str, shown: &str, tokens: u64) -> String {
        let previous = self.previous.as_deref().map_or(NONE.to_owned(), |signature| digest(&[signature]));
        let open = format!("sim1:{}:{}:{previous}:{tokens}", plain(model), self.prefix);
        let signature = format!("{open}:{}", digest(&[SECRET, &open, shown]));
        self.previous = Some(signature.clone());
        signature
    }
}

/// What is left of the conversation after the checks.
pub(crate) struct Checked {
    pub(crate) said: Vec<Said>,
    pub(crate) transformations: Vec<Value>,
    pub(crate) chain: Chain,
}

enum Fault {
    OtherModel,
    OtherPrefix,
}

/// Check every thinking block of a request; drop or refuse what does not belong.
pub(super) fn check(asked: &Asked<'_>, config: &Config) -> Result<Checked, ApiError> {
    let mut checked = Checked { said: Vec::new(), transformations: Vec::new(), chain: Chain::start(asked) };
    let behaviour = asked.json["thinking"]["block_binding"]["prefix_mismatch_behavior"].as_str();
    let enforced = config.old_account == Switch::Off || behaviour.is_some();
    for said in &asked.said {
        if !said.is_thinking() {
            checked.chain.pass(said.role, &said.block);
            checked.said.push(said.clone());
            continue;
        }
        let signature = sealed(asked, said)?;
        let (kind, reason) = match fault(asked, &checked.chain, &signature) {
            None => (None, ""),
            Some(Fault::OtherModel) => (Some("thinking_dropped"), "model_binding_mismatch"),
            Some(Fault::OtherPrefix) if !enforced => (Some("thinking_mismatch_allowed"), "prefix_binding_mismatch"),
            Some(Fault::OtherPrefix) if behaviour == Some("drop_block") => {
                (Some("thinking_dropped"), "prefix_binding_mismatch")
            }
            Some(Fault::OtherPrefix) => return Err(bound_elsewhere(said)),
        };
        if let Some(kind) = kind {
            checked.transformations.push(json!({ "type": kind, "path": said.path(), "reason": reason }));
        }
        if kind != Some("thinking_dropped") {
            checked.chain.previous = Some(signature);
            checked.said.push(said.clone());
        }
    }
    Ok(checked)
}

/// The signature of a block that is exactly as it was sent.
fn sealed(asked: &Asked<'_>, said: &Said) -> Result<String, ApiError> {
    let signature = signature_of(&said.block).unwrap_or_default();
    let shown = said.block["thinking"].as_str().unwrap_or_default();
    if let Some((open, seal)) = signature.rsplit_once(':')
        && seal == digest(&[SECRET, open, shown])
    {
        return Ok(signature.to_owned());
    }
    let latest = asked.roles.iter().rposition(|role| *role == Role::Assistant);
    let message = if latest == Some(said.message) && signature.starts_with("sim1:") {
        "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."
    } else {
        "Invalid `signature` in `thinking` block"
    };
    Err(ApiError::invalid(format!("{}: {message}", said.path())))
}

fn fault(asked: &Asked<'_>, chain: &Chain, signature: &str) -> Option<Fault> {
    let bound = asked.row.binding == ThinkingBinding::Bound;
    let mut parts = signature.split(':').skip(1);
    let (model, prefix, previous) = (parts.next()?, parts.next()?, parts.next()?);
    if bound && model != plain(&asked.row.id) {
        return Some(Fault::OtherModel);
    }
    let follows = chain.previous.as_deref().is_none_or(|last| previous == digest(&[last]));
    (bound && !(prefix == chain.prefix && follows)).then_some(Fault::OtherPrefix)
}

fn bound_elsewhere(said: &Said) -> ApiError {
    ApiError::invalid(format!(
        "{}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". That setting requires the `{}` value in the `anthropic-beta` header.",
        said.path(),
        betas::BINDING
    ))
}

/// A model's name without the sign that parts a signature.
fn plain(model: &str) -> String {
    model.replace(':', "_")
}

/// What a thinking block cost when it was written.
pub(crate) fn counted(block: &Value) -> Option<u64> {
    signature_of(block)?.split(':').nth(4)?.parse().ok()
}

fn signature_of(block: &Value) -> Option<&str> {
    block["signature"].as_str().or_else(|| block["data"].as_str())
}

/// A short digest of some strings, none of which can run into the next.
pub(super) fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}
