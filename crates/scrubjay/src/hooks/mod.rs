//! Hooks: commands a person configured, run at named moments, told what happens as JSON and allowed to answer.
//!
//! A hook may block, add context or change a call where its moment allows it. A broken one never fails the turn: it
//! becomes a notice.

mod answer;
mod config;
mod process;

pub use answer::{HookOutcome, Permission, PermissionAsked};

use crate::limits::Limits;
use crate::settings::{Settings, key};
use crate::withheld::Withheld;
use config::Hook;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The moments at which hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEvent {
    /// A session begins, or begins again after a compaction.
    SessionStart,
    /// The person said something.
    UserPromptSubmit,
    /// A tool is about to be called.
    PreToolUse,
    /// A tool was called.
    PostToolUse,
    /// The conversation is about to be compacted.
    PreCompact,
    /// The answer is final.
    Stop,
    /// A sub-agent's answer is final.
    SubagentStop,
    /// The session ends.
    SessionEnd,
}

impl HookEvent {
    /// All of them, in the order of a session.
    pub const ALL: [HookEvent; 8] = [
        HookEvent::SessionStart,
        HookEvent::UserPromptSubmit,
        HookEvent::PreToolUse,
        HookEvent::PostToolUse,
        HookEvent::PreCompact,
        HookEvent::Stop,
        HookEvent::SubagentStop,
        HookEvent::SessionEnd,
    ];

    /// Its name in settings and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            HookEvent::SessionStart => "SessionStart",
            HookEvent::UserPromptSubmit => "UserPromptSubmit",
            HookEvent::PreToolUse => "PreToolUse",
            HookEvent::PostToolUse => "PostToolUse",
            HookEvent::PreCompact => "PreCompact",
            HookEvent::Stop => "Stop",
            HookEvent::SubagentStop => "SubagentStop",
            HookEvent::SessionEnd => "SessionEnd",
        }
    }

    fn can_block(self) -> bool {
        !matches!(self, HookEvent::SessionStart | HookEvent::SessionEnd)
    }

    fn takes_context(self) -> bool {
        self != HookEvent::SessionEnd
    }

    /// Where plain output is meant for the model. Before a compaction it joins the instructions.
    fn takes_plain_text(self) -> bool {
        matches!(self, HookEvent::SessionStart | HookEvent::UserPromptSubmit | HookEvent::PreCompact)
    }
}

/// What happens, with what a hook is told about it.
#[derive(Debug, Clone, Copy)]
pub enum Moment<'a> {
    /// `source` is startup, resume, clear, compact or fork.
    SessionStart {
        /// Why it starts.
        source: &'a str,
        /// Which model answers.
        model: &'a str,
    },
    /// The person said something.
    UserPromptSubmit {
        /// What was said.
        prompt: &'a str,
    },
    /// A tool is about to be called.
    PreToolUse {
        /// Which tool.
        tool_name: &'a str,
        /// With what.
        tool_input: &'a Value,
        /// The call's name.
        tool_use_id: &'a str,
    },
    /// A tool was called.
    PostToolUse {
        /// Which tool.
        tool_name: &'a str,
        /// With what.
        tool_input: &'a Value,
        /// The call's name.
        tool_use_id: &'a str,
        /// What came back.
        tool_response: &'a Value,
    },
    /// `trigger` is manual or auto.
    PreCompact {
        /// Why.
        trigger: &'a str,
        /// What the person asked the summary to keep.
        custom_instructions: &'a str,
    },
    /// The answer is final.
    Stop {
        /// Whether a hook has already made the session go on.
        stop_hook_active: bool,
        /// What was said last.
        last_assistant_message: &'a str,
    },
    /// A sub-agent's answer is final.
    SubagentStop {
        /// Which agent.
        agent_id: &'a str,
        /// Of which kind.
        agent_type: &'a str,
        /// Its own transcript.
        agent_transcript_path: &'a Path,
        /// Whether a hook has already made it go on.
        stop_hook_active: bool,
        /// What it said last.
        last_assistant_message: &'a str,
    },
    /// `reason` is clear, resume, logout, prompt_input_exit or other.
    SessionEnd {
        /// Why.
        reason: &'a str,
    },
}

impl Moment<'_> {
    /// Which event this is.
    pub fn event(&self) -> HookEvent {
        match self {
            Moment::SessionStart { .. } => HookEvent::SessionStart,
            Moment::UserPromptSubmit { .. } => HookEvent::UserPromptSubmit,
            Moment::PreToolUse { .. } => HookEvent::PreToolUse,
            Moment::PostToolUse { .. } => HookEvent::PostToolUse,
            Moment::PreCompact { .. } => HookEvent::PreCompact,
            Moment::Stop { .. } => HookEvent::Stop,
            Moment::SubagentStop { .. } => HookEvent::SubagentStop,
            Moment::SessionEnd { .. } => HookEvent::SessionEnd,
        }
    }

    /// What a matcher is held against; `None` where every hook of the event runs.
    fn matched(&self) -> Option<&str> {
        match self {
            Moment::SessionStart { source, .. } => Some(source),
            Moment::PreToolUse { tool_name, .. } | Moment::PostToolUse { tool_name, .. } => Some(tool_name),
            Moment::PreCompact { trigger, .. } => Some(trigger),
            Moment::SubagentStop { agent_type, .. } => Some(agent_type),
            Moment::SessionEnd { reason } => Some(reason),
            Moment::UserPromptSubmit { .. } | Moment::Stop { .. } => None,
        }
    }

    fn fields(&self) -> Value {
        match *self {
            Moment::SessionStart { source, model } => json!({ "source": source, "model": model }),
            Moment::UserPromptSubmit { prompt } => json!({ "prompt": prompt }),
            Moment::PreToolUse { tool_name, tool_input, tool_use_id } => {
                json!({ "tool_name": tool_name, "tool_input": tool_input, "tool_use_id": tool_use_id })
            }
            Moment::PostToolUse { tool_name, tool_input, tool_use_id, tool_response } => json!({
                "tool_name": tool_name, "tool_input": tool_input, "tool_use_id": tool_use_id,
                "tool_response": tool_response,
            }),
            Moment::PreCompact { trigger, custom_instructions } => {
                json!({ "trigger": trigger, "custom_instructions": custom_instructions })
            }
            Moment::Stop { stop_hook_active, last_assistant_message } => {
                json!({ "stop_hook_active": stop_hook_active, "last_assistant_message": last_assistant_message })
            }
            Moment::SubagentStop {
                agent_id,
                agent_type,
                agent_transcript_path,
                stop_hook_active,
                last_assistant_message,
            } => json!({
                "agent_id": agent_id, "agent_type": agent_type,
                "agent_transcript_path": agent_transcript_path.to_string_lossy(),
                "stop_hook_active": stop_hook_active, "last_assistant_message": last_assistant_message,
            }),
            Moment::SessionEnd { reason } => json!({ "reason": reason }),
        }
    }
}

/// What every hook of a session is told.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The session.
    pub session_id: &'a str,
    /// Its transcript.
    pub transcript_path: &'a Path,
    /// The working directory; hooks run in it.
    pub cwd: &'a Path,
    /// What the agent may do without asking.
    pub permission_mode: &'a str,
}

impl Scene<'_> {
    /// The JSON a hook reads.
    pub fn told(&self, moment: &Moment<'_>) -> Value {
        let mut told = Map::new();
        told.insert("session_id".to_owned(), json!(self.session_id));
        told.insert("transcript_path".to_owned(), json!(self.transcript_path.to_string_lossy()));
        told.insert("cwd".to_owned(), json!(self.cwd.to_string_lossy()));
        told.insert("hook_event_name".to_owned(), json!(moment.event().name()));
        told.insert("permission_mode".to_owned(), json!(self.permission_mode));
        if let Value::Object(fields) = moment.fields() {
            told.extend(fields);
        }
        Value::Object(told)
    }
}

/// The configured hooks of a session.
#[derive(Debug, Clone, Default)]
pub struct Hooks {
    hooks: Vec<Hook>,
    withheld: Withheld,
}

impl Hooks {
    /// The hooks that settings allow in this session.
    pub fn configured(settings: &Settings) -> (Self, Vec<String>) {
        match settings.table(&key::HOOKS) {
            Some(table) if settings.flag(&key::HOOKS_ENABLED) => Self::from_toml(table, settings.limits()),
            _ => (Self::default(), Vec::new()),
        }
    }

    /// Hooks from settings, and what was wrong with them. A hook that cannot be understood is left out, the others run.
    pub fn from_toml(table: &toml::Table, limits: &Limits) -> (Self, Vec<String>) {
        match serde_json::to_value(table) {
            Ok(value) => Self::from_json(&value, limits),
            Err(error) => (Self::default(), vec![format!("hooks cannot be read ({error}); none of them will run")]),
        }
    }

    /// Hooks from the JSON shape that other agents use, with or without the outer `hooks`.
    pub fn from_json(value: &Value, limits: &Limits) -> (Self, Vec<String>) {
        let (hooks, warnings) = config::read(value, limits);
        (Self { hooks, withheld: Withheld::default() }, warnings)
    }

    /// The same, without these variables in their environment.
    pub fn withholding(self, withheld: Withheld) -> Self {
        Self { withheld, ..self }
    }

    /// Whether any hook could run at this event.
    pub fn listens_to(&self, event: HookEvent) -> bool {
        self.hooks.iter().any(|hook| hook.event == event)
    }

    /// Run every hook that matches, side by side, and put their answers together. Dropping the future ends them all.
    pub async fn run(&self, scene: &Scene<'_>, moment: &Moment<'_>, limits: &Limits) -> HookOutcome {
        let event = moment.event();
        let matching: Vec<&Hook> =
            self.hooks.iter().filter(|hook| hook.event == event && hook.matcher.admits(moment.matched())).collect();
        if matching.is_empty() {
            return HookOutcome::default();
        }
        let told = scene.told(moment).to_string();
        let running = matching.iter().map(|hook| async {
            let ran = process::run(hook, (told.as_bytes(), &self.withheld), scene.cwd, limits).await;
            answer::read(event, hook, ran, limits)
        });
        HookOutcome::merged(futures::future::join_all(running).await)
    }
}

#[cfg(test)]
mod tests;
