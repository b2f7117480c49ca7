//! Bash: a command line in the working directory, bounded in time and output, gone when nobody waits for it.

pub mod reading;
pub mod sandbox;
pub mod sight;

mod flags;
mod output;
mod run;

use super::input::{at_once, card, parse};
use crate::model::Pending;
use crate::tool::{Bench, Confinement, Effect, Tool, ToolOutcome};
use crate::transcript::ToolSpec;
use crate::withheld::Withheld;
use run::{Ending, Line, Run, run};
use sandbox::{Confined, Place};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::time::Duration;

/// Runs command lines.
pub struct Bash {
    spec: ToolSpec,
    confined: Option<Confined>,
    withheld: Withheld,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    command: String,
    timeout_ms: Option<u64>,
    #[serde(default)]
    outside_sandbox: bool,
    /// For whoever watches; the command itself is what is judged.
    #[serde(rename = "description")]
    _description: Option<String>,
}

impl Bash {
    /// The tool.
    pub fn new() -> Self {
        Self::of(None)
    }

    /// The same, whose commands are confined.
    pub fn confined(by: Confined) -> Self {
        Self::of(Some(by))
    }

    fn of(confined: Option<Confined>) -> Self {
        let mut words = include_str!("../../../prompts/tools/bash.md").to_owned();
        let mut fields = json!({
            "command": { "type": "string" },
            "timeout_ms": { "type": "integer", "minimum": 1 },
            "description": { "type": "string" },
        });
        if confined.as_ref().is_some_and(Confined::confines_work) {
            words.push_str(include_str!("../../../prompts/tools/bash_sandbox.md"));
            fields["outside_sandbox"] = json!({ "type": "boolean" });
        }
        Self { spec: card("Bash", &words, &["command"], fields), confined, withheld: Withheld::default() }
    }

    /// The same, without these variables in the environment of what it runs.
    pub fn withholding(self, withheld: Withheld) -> Self {
        Self { withheld, ..self }
    }

    /// Where the command runs; an error says why it cannot run at all.
    fn place(&self, bench: &Bench<'_>) -> io::Result<Option<Place>> {
        match (bench.confinement, &self.confined) {
            (Confinement::ReadOnly, Some(confined)) => confined.to_read(bench.dir).map(Some),
            (Confinement::ReadOnly, None) => Err(io::Error::other("it may only run in a sandbox, and there is none")),
            (Confinement::Usual, Some(confined)) => confined.to_work(bench.dir),
            (Confinement::Usual, None) | (Confinement::Outside, _) => Ok(None),
        }
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

    fn leaves_sandbox(&self, input: &Value) -> bool {
        let confines = self.confined.as_ref().is_some_and(Confined::confines_work);
        confines && parse::<Input>(input).is_ok_and(|input| input.outside_sandbox)
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
            let place = match self.place(bench) {
                Ok(place) => place,
                Err(error) => return ToolOutcome::error(format!("The command could not be started: {error}.")),
            };
            let reads_only = matches!(bench.approved, Effect::Runs { reads_only: true, .. });
            let (command, dir, withheld) = (input.command.as_str(), bench.dir, &self.withheld);
            let line = Line { command, dir, place, withheld, reads_only };
            let run = run(line, Duration::from_millis(wanted), limits);
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
