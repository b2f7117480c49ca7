//! Requests as the prefix they are: block by block, markers removed, so that two can be laid over each other.

use super::anthropic::canonical;
use super::recorded::RecordedRequest;
use serde_json::{Value, json};

/// Where a later request leaves an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// Which block of the earlier rendering, from zero.
    pub block: usize,
    /// What the earlier request said there.
    pub earlier: String,
    /// What the later one says there; `None` where it is shorter.
    pub later: Option<String>,
}

impl RecordedRequest {
    /// The request in prefix order: the model, tools, system, then each block with the role that says it. Cache markers
    /// are removed and content is always a list, so what is left is what a provider's cache goes by.
    pub fn rendering(&self) -> Vec<String> {
        let json = &self.json;
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mut blocks = vec![format!("model {}", self.model())];
        blocks.extend(list(&json["tools"]).iter().map(|tool| format!("tool {}", canonical(tool))));
        let system = [&json["system"], &json["instructions"]];
        blocks.extend(system.into_iter().flat_map(parts).map(|part| format!("system {}", canonical(&part))));
        for said in self.messages() {
            blocks.extend(rendered(said));
        }
        blocks
    }

    /// Where this request leaves an earlier one of its lineage; `None` when it only adds to its end.
    pub fn divergence_from(&self, earlier: &RecordedRequest) -> Option<Divergence> {
        let later = self.rendering();
        let mut pairs = earlier.rendering().into_iter().enumerate();
        pairs.find(|(at, block)| later.get(*at) != Some(block)).map(|(block, earlier)| Divergence {
            block,
            earlier,
            later: later.get(block).cloned(),
        })
    }
}

/// A message of the Messages API block by block; a message or item of the OpenAI APIs as it is.
fn rendered(said: &Value) -> Vec<String> {
    let role = said["role"].as_str().unwrap_or("item");
    let anthropic_only =
        said.as_object().is_some_and(|fields| fields.keys().all(|key| key == "role" || key == "content"));
    if anthropic_only {
        return parts(&said["content"]).iter().map(|part| format!("{role} {}", canonical(part))).collect();
    }
    vec![format!("{role} {}", canonical(said))]
}

fn parts(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        Value::Array(parts) => parts.clone(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(json: Value) -> RecordedRequest {
        RecordedRequest { json, ..RecordedRequest::default() }
    }

    // spec: H1
    #[test]
    fn only_what_a_cache_goes_by_counts() {
        let marked = json!({ "type": "text", "text": "a", "cache_control": { "type": "ephemeral" } });
        let first = asked(json!({ "model": "m", "max_tokens": 1, "messages": [{ "role": "user", "content": "a" }] }));
        let say = |blocks: Value| asked(json!({ "model": "m", "messages": [{ "role": "user", "content": blocks }] }));
        assert_eq!(say(json!([marked, { "type": "text", "text": "b" }])).divergence_from(&first), None);
        let changed = say(json!("c")).divergence_from(&first).unwrap();
        assert_eq!((changed.block, changed.earlier.as_str()), (1, r#"user {"type":"text","text":"a"}"#));
        assert_eq!(say(json!([])).divergence_from(&first).unwrap().later, None);
        let other = asked(json!({ "model": "n", "messages": [{ "role": "user", "content": "a" }] }));
        assert_eq!(other.divergence_from(&first).unwrap().block, 0);
    }

    // spec: H1
    #[test]
    fn key_order_inside_a_block_counts() {
        let call = |input: &str| {
            let input: Value = serde_json::from_str(input).unwrap();
            asked(json!({ "model": "m", "messages": [
                { "role": "assistant", "content": [{ "type": "tool_use", "id": "t", "name": "n", "input": input }] }] }))
        };
        assert!(call(r#"{"b":1,"a":2}"#).divergence_from(&call(r#"{"a":2,"b":1}"#)).is_some());
        assert!(call(r#"{"a":2,"b":1}"#).divergence_from(&call(r#"{"a":2,"b":1}"#)).is_none());
    }
}
