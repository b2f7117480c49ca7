//! What a model passed to a tool, read in one place, and what is wrong with it in words the model can act on.

use crate::model::Pending;
use crate::tool::ToolOutcome;
use crate::transcript::ToolSpec;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The input as the tool wants it, or an answer that says which field is wrong and what was expected.
pub(crate) fn parse<T: DeserializeOwned>(input: &Value) -> Result<T, ToolOutcome> {
    T::deserialize(input).map_err(|error| {
        let given = match input {
            Value::Object(fields) => format!("fields given: {}", fields.keys().cloned().collect::<Vec<_>>().join(", ")),
            other => format!("given {} instead of an object", kind(other)),
        };
        ToolOutcome::error(format!("The input does not fit this tool: {error} ({given}). Nothing was done."))
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A tool's card, from its page among the prompts: what stands before the first `## ` is the description, and each
/// `## field` says what that field of the input is for.
pub(crate) fn card(name: &str, page: &str, required: &[&str], mut fields: Value) -> ToolSpec {
    let mut sections = page.split("\n## ");
    let description = sections.next().unwrap_or_default().trim();
    for (field, about) in sections.filter_map(|section| section.split_once('\n')) {
        if let Some(Value::Object(field)) = fields.get_mut(field.trim()) {
            field.insert("description".to_owned(), about.trim().into());
        }
    }
    let schema = json!({ "type": "object", "properties": fields, "required": required, "additionalProperties": false });
    ToolSpec::new(name, description, &schema)
}

/// An answer that needs no waiting.
pub(crate) fn at_once<'a>(outcome: ToolOutcome) -> Pending<'a, ToolOutcome> {
    Box::pin(std::future::ready(outcome))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wants {
        #[serde(rename = "file_path")]
        _file_path: String,
        #[serde(rename = "limit")]
        _limit: Option<u64>,
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (input, says) in [
            (json!({}), "missing field `file_path`"),
            (json!({"file_path": 7}), "expected a string"),
            (json!({"file_path": "a", "limit": -1}), "invalid value: integer `-1`, expected u64"),
            (json!({"file_path": "a", "colour": 1}), "unknown field `colour`, expected `file_path` or `limit`"),
            (json!("a"), "given a string instead of an object"),
            (Value::Null, "given null instead of an object"),
        ] {
            let refused = parse::<Wants>(&input).unwrap_err();
            let text = refused.parts[0].as_text().unwrap();
            assert!(refused.is_error && text.contains(says), "{input}: {text}");
        }
        assert!(parse::<Wants>(&json!({"file_path": "a", "limit": null})).is_ok());
    }
}
