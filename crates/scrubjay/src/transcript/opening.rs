//! What every request of a session begins with, exactly as it was sent.

use crate::message::Message;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::sync::Arc;

/// What a model is told about a tool. Part of the cached prefix: its bytes never change within a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToolSpec {
    /// What the model calls.
    pub name: String,
    /// What the model reads.
    pub description: String,
    /// What the model must pass, as a JSON schema.
    pub input_schema: Arc<RawValue>,
}

impl ToolSpec {
    /// A tool by name, with its description and the JSON schema of its input.
    pub fn new(name: impl Into<String>, description: impl Into<String>, schema: &Value) -> Self {
        let raw = to_raw_value(schema).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Self { name: name.into(), description: description.into(), input_schema: Arc::from(raw) }
    }
}

impl PartialEq for ToolSpec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.description == other.description
            && self.input_schema.get() == other.input_schema.get()
    }
}

/// How long a provider should keep a cached prefix.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Ttl {
    /// Five minutes, renewed at each use.
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    /// One hour, renewed at each use; writing costs more.
    #[serde(rename = "1h")]
    OneHour,
}

/// How hard a model should think before it speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// Whatever the model does by itself.
    #[default]
    Default,
    /// As much as the question needs.
    Adaptive,
    /// Not at all.
    Off,
}

/// What a request asks for besides its words. Read once per session: all of it is part of the cached prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// How long a reply may be; `None` takes the limit.
    pub max_output: Option<u64>,
    /// Reasoning.
    pub thinking: Thinking,
    /// How long cached prefixes should live.
    pub cache_ttl: Ttl,
    /// What the provider is asked to clear on its side, in the provider's own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_management: Option<Value>,
}

/// Tools, system prompt and instructions: computed once, sent unchanged until a declared break.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// The model that is asked.
    pub model: String,
    /// What it can call.
    pub tools: Arc<[ToolSpec]>,
    /// Who it is.
    pub system: Arc<str>,
    /// What every conversation here begins with.
    pub instructions: Vec<Arc<Message>>,
    /// What else each request asks for.
    #[serde(default)]
    pub options: Options,
    /// Ends the tags around quoted text. Drawn once per session, so that no text written before can close them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub nonce: String,
}
