//! SendMessage: the tool by which agents write to each other. It only reads what is to be said; whoever called it carries
//! it.

use super::{Address, LetterKind};
use crate::model::Pending;
use crate::tool::{Bench, Dispatch, Effect, Tool, ToolOutcome};
use crate::tools::input::{at_once, card, parse};
use crate::transcript::ToolSpec;
use serde_json::{Value, json};
use std::path::Path;

/// Writes letters.
pub struct SendMessage {
    spec: ToolSpec,
}

impl Default for SendMessage {
    fn default() -> Self {
        let fields = json!({
            "to": { "type": "string" },
            "message": { "type": "string" },
            "summary": { "type": "string" },
            "kind": { "type": "string", "enum": LetterKind::ALL.map(LetterKind::word) },
            "approve": { "type": "boolean" },
        });
        let page = include_str!("../../../prompts/tools/send-message.md");
        Self { spec: card("SendMessage", page, &["to", "message", "summary"], fields) }
    }
}

impl Tool for SendMessage {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Agents of this process and of the team are no more than this one; whoever else is reached leaves the session.
    fn effect(&self, input: &Value, _: &Path) -> Effect {
        let to = input.get("to").and_then(Value::as_str).unwrap_or_default();
        match Address::read(to) {
            Ok(Address::Socket(_) | Address::Bridge(_)) => Effect::Reaches(to.trim().to_owned()),
            Ok(Address::Name(_) | Address::Everybody) | Err(_) => Effect::Nothing,
        }
    }

    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        match (parse::<Dispatch>(input), bench.summon) {
            (Err(refusal), _) => at_once(refusal),
            (Ok(_), None) => at_once(ToolOutcome::error("Nobody can be written to from here. Go on alone.")),
            (Ok(dispatch), Some(carrier)) => carrier.send(dispatch),
        }
    }
}
