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
    /// Whether a service that can is asked to let nothing through that does not fit the schema.
    #[serde(default, skip_serializing_if = "is_false")]
    pub strict: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl ToolSpec {
    /// A tool by name, with its description and the JSON schema of its input.
    pub fn new(name: impl Into<String>, description: impl Into<String>, schema: &Value) -> Self {
        let raw = to_raw_value(schema).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Self { name: name.into(), description: description.into(), input_schema: Arc::from(raw), strict: false }
    }

    /// The same, with input that a service checks where it can. The schema must list every property as required and
    /// allow no other.
    pub fn strict(self) -> Self {
        Self { strict: true, ..self }
    }
}

impl PartialEq for ToolSpec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.description == other.description
            && self.input_schema.get() == other.input_schema.get()
            && self.strict == other.strict
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

/// How long the two parts of a request should be kept: tools and system, which hardly ever change, and the messages. A
/// provider refuses a long-lived part behind a short-lived one, so the first is never shorter than the second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct Lifetimes {
    opening: Ttl,
    messages: Ttl,
}

/// A single lifetime stands for both.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    One(Ttl),
    Two { opening: Ttl, messages: Ttl },
}

impl Lifetimes {
    /// One for tools and system, one for the messages; the first is raised to the second.
    pub fn new(opening: Ttl, messages: Ttl) -> Self {
        Self { opening: opening.max(messages), messages }
    }

    /// How long tools and system live.
    pub fn opening(self) -> Ttl {
        self.opening
    }

    /// How long messages live.
    pub fn messages(self) -> Ttl {
        self.messages
    }
}

impl From<Ttl> for Lifetimes {
    fn from(both: Ttl) -> Self {
        Self::new(both, both)
    }
}

impl From<Written> for Lifetimes {
    fn from(written: Written) -> Self {
        match written {
            Written::One(both) => both.into(),
            Written::Two { opening, messages } => Self::new(opening, messages),
        }
    }
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

/// What a request asks for besides its words. Read once per session, because providers cache by most of it; how long a reply
/// may be is no part of that.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// How long a reply may be; `None` takes the limit.
    pub max_output: Option<u64>,
    /// What the conversation measures so far in tokens, as far as its record says; no part of an opening.
    #[serde(skip)]
    pub used: Option<u64>,
    /// Reasoning.
    pub thinking: Thinking,
    /// How long cached prefixes should live.
    pub cache_ttl: Lifetimes,
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

impl Opening {
    /// Who the model is and what it can call; everything else as it is when nobody says anything.
    pub fn new(model: &str, system: &str, tools: impl IntoIterator<Item = ToolSpec>) -> Self {
        Self {
            model: model.to_owned(),
            tools: tools.into_iter().collect(),
            system: Arc::from(system),
            instructions: Vec::new(),
            options: Options::default(),
            nonce: String::new(),
        }
    }

    /// The same opening with other lifetimes in the cache.
    pub fn living(&self, cache_ttl: Lifetimes) -> Self {
        Self { options: Options { cache_ttl, ..self.options.clone() }, ..self.clone() }
    }

    /// Whether two openings differ at most in how long they should be cached.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.living(other.options.cache_ttl) == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: H2
    #[test]
    fn the_opening_never_lives_shorter_than_what_follows_it() {
        let read = |json: &str| serde_json::from_str::<Options>(json).unwrap().cache_ttl;
        for (json, opening, messages) in [
            (r#"{"cache_ttl":"1h"}"#, Ttl::OneHour, Ttl::OneHour),
            (r#"{"cache_ttl":{"opening":"1h","messages":"5m"}}"#, Ttl::OneHour, Ttl::FiveMinutes),
            (r#"{"cache_ttl":{"opening":"5m","messages":"1h"}}"#, Ttl::OneHour, Ttl::OneHour),
            ("{}", Ttl::FiveMinutes, Ttl::FiveMinutes),
        ] {
            let lifetimes = read(json);
            assert_eq!((lifetimes.opening(), lifetimes.messages()), (opening, messages), "{json}");
            let written = serde_json::to_string(&Options { cache_ttl: lifetimes, ..Options::default() }).unwrap();
            assert_eq!(read(&written), lifetimes);
        }
    }
}
