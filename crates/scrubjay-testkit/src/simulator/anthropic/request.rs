//! A Messages request, taken apart: tools, system, and what was said, block by block.

use crate::simulator::error::{ApiError, Dialect};
use crate::simulator::models::ModelRow;
use crate::simulator::recorded::RecordedRequest;
use crate::simulator::server::{Shared, key_of, unknown_model};
use serde_json::{Value, json};

/// Who said a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
    System,
}

/// Whether a block counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Full,
    /// Deleted through `cache_edits`: it still names the prefix, but the model no longer reads it.
    Deleted,
}

/// One block of the conversation and where it stood in the request.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) message: usize,
    pub(crate) index: usize,
    pub(crate) role: Role,
    pub(crate) block: Value,
    pub(crate) weight: Weight,
}

impl Said {
    pub(crate) fn kind(&self) -> &str {
        self.block["type"].as_str().unwrap_or_default()
    }

    pub(crate) fn path(&self) -> String {
        format!("messages.{}.content.{}", self.message, self.index)
    }

    pub(crate) fn is_thinking(&self) -> bool {
        matches!(self.kind(), "thinking" | "redacted_thinking")
    }
}

/// A whole request.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) json: &'a Value,
    pub(crate) row: &'a ModelRow,
    pub(crate) version: &'a str,
    pub(crate) betas: Vec<&'a str>,
    pub(crate) workspace: &'a str,
    pub(crate) tools: Vec<Value>,
    pub(crate) system: Vec<Value>,
    /// The role of each message.
    pub(crate) roles: Vec<Role>,
    pub(crate) said: Vec<Said>,
}

impl<'a> Asked<'a> {
    pub(crate) fn read(shared: &'a Shared, request: &'a RecordedRequest) -> Result<Self, ApiError> {
        let json = &request.json;
        if !json.is_object() {
            return Err(ApiError::invalid("The request body is not valid JSON"));
        }
        let version = request.header("anthropic-version");
        let version = version.ok_or_else(|| ApiError::invalid("anthropic-version: header is required"))?;
        let model = json["model"].as_str().ok_or_else(|| ApiError::invalid("model: Field required"))?;
        let messages = json["messages"].as_array().ok_or_else(|| ApiError::invalid("messages: Field required"))?;
        if messages.is_empty() {
            return Err(ApiError::invalid("messages: at least one message is required"));
        }
        let row = shared.model(model).ok_or_else(|| unknown_model(Dialect::Anthropic, model))?;
        let betas = request.headers.iter().filter(|(name, _)| name == "anthropic-beta");
        let betas = betas.flat_map(|(_, list)| list.split(',')).map(str::trim).filter(|beta| !beta.is_empty());
        let (roles, said) = conversation(messages)?;
        Ok(Self {
            json,
            row,
            version,
            betas: betas.collect(),
            workspace: request.header("anthropic-workspace-id").or_else(|| key_of(request)).unwrap_or_default(),
            tools: json["tools"].as_array().cloned().unwrap_or_default(),
            system: as_blocks(&json["system"]),
            roles,
            said,
        })
    }

    pub(crate) fn has_beta(&self, beta: &str) -> bool {
        self.betas.contains(&beta)
    }

    /// Whether a field is there and not null.
    pub(crate) fn asks(&self, field: &str) -> bool {
        !self.json[field].is_null()
    }

    pub(crate) fn max_tokens(&self) -> u64 {
        self.json["max_tokens"].as_u64().unwrap_or(u64::MAX)
    }
}

fn conversation(messages: &[Value]) -> Result<(Vec<Role>, Vec<Said>), ApiError> {
    let mut roles = Vec::new();
    let mut said = Vec::new();
    for (message, json) in messages.iter().enumerate() {
        let role = match json["role"].as_str() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            _ => {
                let wanted = "Input should be 'user', 'assistant' or 'system'";
                return Err(ApiError::invalid(format!("messages.{message}.role: {wanted}")));
            }
        };
        roles.push(role);
        if json["content"].is_null() {
            return Err(ApiError::invalid(format!("messages.{message}.content: Field required")));
        }
        for (index, block) in as_blocks(&json["content"]).into_iter().enumerate() {
            said.push(Said { message, index, role, block, weight: Weight::Full });
        }
    }
    Ok((roles, said))
}

/// Content as blocks: a string is one text block.
fn as_blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

/// A block's JSON without cache markers: what the prefix is made of. Key order counts.
pub(crate) fn canonical(block: &Value) -> String {
    let mut bare = block.clone();
    strip(&mut bare);
    if let Some(parts) = bare.get_mut("content").and_then(Value::as_array_mut) {
        parts.iter_mut().for_each(strip);
    }
    bare.to_string()
}

fn strip(block: &mut Value) {
    if let Some(fields) = block.as_object_mut() {
        fields.shift_remove("cache_control");
    }
}
