//! Agent: the tool by which a model starts other agents. It only reads the wish; whoever called it starts the agent.

use super::definition::Definitions;
use crate::model::Pending;
use crate::tool::{Bench, Effect, Task, Tool, ToolOutcome};
use crate::tools::input::{at_once, card, parse};
use crate::tools::shown;
use crate::transcript::ToolSpec;
use serde_json::{Value, json};
use std::path::Path;

/// Starts agents.
pub struct Agent {
    spec: ToolSpec,
}

/// What the tool is called.
pub const NAME: &str = "Agent";

impl Agent {
    /// With these kinds to choose from. They are listed once, here, because the list is part of what every request
    /// begins with.
    pub fn new(kinds: &Definitions) -> Self {
        let listing: Vec<String> =
            kinds.iter().map(|kind| format!("- {}: {}", kind.name, said(&kind.description))).collect();
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
        let page = include_str!("../../prompts/tools/agent.md").replace("{agents}", &listing.join("\n"));
        let switch = || json!({ "type": "boolean" });
        let fields = json!({
            "agent": { "type": "string", "enum": names },
            "prompt": { "type": "string" },
            "description": { "type": "string" },
            "name": { "type": "string" },
            "background": switch(),
            "fork": switch(),
            "worktree": switch(),
            "teammate": switch(),
        });
        Self { spec: card(NAME, &page, &["prompt", "description"], fields) }
    }
}

/// A description on one line, and not too long: it may come with a repository.
fn said(description: &str) -> String {
    const SHOWN: usize = 400;
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ").replace('#', "");
    let line: String = line.chars().take(SHOWN).collect();
    if line.is_empty() { "(no description)".to_owned() } else { shown(&line).into_owned() }
}

impl Tool for Agent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, _: &Value, _: &Path) -> Effect {
        Effect::Summons
    }

    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        match (parse::<Task>(input), bench.summon) {
            (Err(refusal), _) => at_once(refusal),
            (Ok(_), None) => at_once(ToolOutcome::error("Agents cannot be started here. Do the work yourself.")),
            (Ok(task), Some(_)) if task.prompt.trim().is_empty() => {
                at_once(ToolOutcome::error("The prompt is empty. Nothing was started; say what the agent is to do."))
            }
            (Ok(task), Some(summoner)) => summoner.summon(task, bench),
        }
    }
}
