//! What a service itself says about a model, where it says anything.

use crate::catalogue::Known;
use crate::wire::{SHORT_BYTES, Wire};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// A service's own facts; what it does not say is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    window: Option<u64>,
    max_output: Option<u64>,
    thinking: Vec<String>,
}

#[derive(Deserialize)]
struct List {
    data: Vec<Value>,
}

impl Facts {
    /// Ask. No answer, a late one or a strange one is the same as knowing nothing.
    pub(crate) async fn ask(wire: &Wire, model: &str) -> Self {
        let patience = Duration::from_millis(wire.limits.connect_timeout_ms);
        tokio::time::timeout(patience, Self::asked(wire, model)).await.ok().flatten().unwrap_or_default()
    }

    async fn asked(wire: &Wire, model: &str) -> Option<Self> {
        if is_plain(model)
            && let Some(facts) = body(wire, &format!("/v1/models/{model}")).await.and_then(|text| Self::read(&text))
        {
            return Some(facts);
        }
        let list: List = serde_json::from_str(&body(wire, "/v1/models").await?).ok()?;
        let named = list.data.iter().find(|entry| entry.get("id").and_then(Value::as_str) == Some(model));
        // A local server has one model and answers to any name.
        let only = (list.data.len() == 1).then(|| list.data.first()).flatten();
        named.or(only).map(Self::of)
    }

    fn read(text: &str) -> Option<Self> {
        let facts = Self::of(&serde_json::from_str(text).ok()?);
        (facts != Self::default()).then_some(facts)
    }

    fn of(entry: &Value) -> Self {
        let number = |paths: &[&str]| paths.iter().find_map(|path| entry.pointer(path)?.as_u64().filter(|n| *n > 0));
        let types = entry.pointer("/capabilities/thinking/types");
        let thinking = match types {
            Some(Value::Object(kinds)) => {
                kinds.iter().filter(|(_, takes)| takes_it(takes)).map(|(kind, _)| kind.clone()).collect()
            }
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => vec![],
        };
        Self {
            window: number(&["/max_input_tokens", "/max_model_len", "/meta/n_ctx", "/meta/n_ctx_train"]),
            max_output: number(&["/max_tokens"]),
            thinking,
        }
    }

    /// Fill the gaps of what is known; an override by the person stays.
    pub(crate) fn fill(self, known: &mut Known, own_window: Option<u64>) {
        if let (Some(window), None) = (self.window, own_window) {
            known.window.size = window;
        }
        if let (Some(most), None) = (self.max_output, known.entry.max_output) {
            known.window.max_output = most;
        }
        known.window.max_output = known.window.max_output.min(known.window.size);
        if known.entry.thinking.is_empty() {
            known.entry.thinking = self.thinking;
        }
    }
}

fn takes_it(value: &Value) -> bool {
    value.as_bool().or_else(|| value.get("supported")?.as_bool()).unwrap_or(false)
}

/// A name that can stand in a path as it is.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

async fn body(wire: &Wire, path: &str) -> Option<String> {
    let response = wire.get(path).await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    wire.text(response, SHORT_BYTES).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_service_says_it_differently() {
        let table = [
            (
                json!({"id":"c","max_input_tokens":1_000_000,"max_tokens":128_000,"capabilities":{"thinking":{"types":{"adaptive":{"supported":true},"enabled":{"supported":false}}}}}),
                Facts { window: Some(1_000_000), max_output: Some(128_000), thinking: vec!["adaptive".into()] },
            ),
            (json!({"id":"v","max_model_len":4096}), Facts { window: Some(4096), ..Facts::default() }),
            (json!({"id":"l","meta":{"n_ctx_train":8192}}), Facts { window: Some(8192), ..Facts::default() }),
            (json!({"id":"x","max_model_len":"many","capabilities":7}), Facts::default()),
            (json!([]), Facts::default()),
        ];
        for (entry, facts) in table {
            assert_eq!(Facts::of(&entry), facts, "{entry}");
        }
        assert!(!is_plain("../etc") && !is_plain("a/b") && is_plain("claude-opus-5-5"));
    }
}
