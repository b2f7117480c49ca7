//! Bash: a command line in the working directory, bounded in time and output, gone when nobody waits for it.

pub mod reading;

mod flags;
mod output;
mod run;

use super::input::{at_once, card, parse};
use crate::model::Pending;
use crate::tool::{Bench, Effect, Tool, ToolOutcome};
use crate::transcript::ToolSpec;
use run::{Ending, Run, run};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// Runs command lines.
pub struct Bash {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    command: String,
    timeout_ms: Option<u64>,
    /// For whoever watches; the command itself is what is judged.
    #[serde(rename = "description")]
    _description: Option<String>,
}

impl Bash {
    /// The tool.
    pub fn new() -> Self {
        let spec = card(
            "Bash",
            include_str!("../../../prompts/tools/bash.md"),
            &["command"],
            json!({
                "command": { "type": "string" },
                "timeout_ms": { "type": "integer", "minimum": 1 },
                "description": { "type": "string" },
            }),
        );
        Self { spec }
    }
}

impl Default for Bash {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, input: &Value, _: &Path) -> Effect {
        match parse::<Input>(input) {
            Ok(input) if is_runnable(&input.command) => {
                let reads_only = reading::read_only_commands(&input.command).is_some();
                Effect::Runs { command: input.command, reads_only }
            }
            _ => Effect::Nothing,
        }
    }

    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        let input = match parse::<Input>(input) {
            Err(refusal) => return at_once(refusal),
            Ok(input) if !is_runnable(&input.command) => {
                return at_once(ToolOutcome::error("The command is empty or contains a NUL byte. Nothing was run."));
            }
            Ok(input) => input,
        };
        let limits = bench.limits;
        let longest = limits.shell_longest_ms.max(limits.shell_timeout_ms);
        let wanted = input.timeout_ms.unwrap_or(limits.shell_timeout_ms).clamp(1, longest);
        Box::pin(async move {
            let run = run(&input.command, bench.dir, Duration::from_millis(wanted), limits);
            tokio::select! {
                ran = run => match ran {
                    Ok(ran) => told(&ran),
                    Err(error) => ToolOutcome::error(format!("The command could not be started: {error}.")),
                },
                () = bench.cancel.cancelled() => {
                    ToolOutcome::error("The command was interrupted; it and everything it started was stopped.")
                }
            }
        })
    }
}

fn is_runnable(command: &str) -> bool {
    !command.trim().is_empty() && !command.contains('\0')
}

/// What the model hears about a run: the output, then how it ended.
fn told(run: &Run) -> ToolOutcome {
    let mut text = run.output.clone();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let end = match run.ending {
        Ending::Exited(0) if text.is_empty() => "[no output, exit code 0]".to_owned(),
        Ending::Exited(code) => format!("[exit code {code}]"),
        Ending::Signalled(signal) => format!("[stopped by signal {signal}]"),
        Ending::TimedOut(limit) => format!(
            "[did not end within {} ms and was stopped, with everything it started; if it needs longer, pass a larger timeout_ms]",
            limit.as_millis(),
        ),
    };
    text.push_str(&end);
    if run.left_children {
        text.push_str("\n[processes it had left in the background were stopped]");
    }
    if run.ending == Ending::Exited(0) { ToolOutcome::ok(text) } else { ToolOutcome::error(text) }
}
