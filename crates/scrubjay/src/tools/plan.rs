//! Plan: propose, wait, then act. Approval is the gate's: whoever reaches `call` was approved.

use super::input::{at_once, card, parse};
use crate::model::Pending;
use crate::tool::{Bench, Effect, Tool, ToolOutcome};
use crate::transcript::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

/// Proposes a plan to the person.
pub struct Plan {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    plan: String,
}

impl Plan {
    /// The tool.
    pub fn new() -> Self {
        let spec = card(
            "Plan",
            include_str!("../../prompts/tools/plan.md"),
            &["plan"],
            json!({ "plan": { "type": "string" } }),
        );
        Self { spec }
    }
}

impl Default for Plan {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Plan {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, input: &Value, _: &Path) -> Effect {
        match parse::<Input>(input) {
            Ok(input) if !input.plan.trim().is_empty() => Effect::Proposes,
            _ => Effect::Nothing,
        }
    }

    fn call<'a>(&'a self, input: &'a Value, _: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        at_once(match parse::<Input>(input) {
            Err(refusal) => refusal,
            Ok(input) if input.plan.trim().is_empty() => {
                ToolOutcome::error("The plan is empty, so there is nothing to approve. Write down what you will do.")
            }
            Ok(_) => ToolOutcome::ok(include_str!("../../prompts/tools/plan_approved.md").trim_end()),
        })
    }
}
