//! What a hook said: by its exit code, as text, or as JSON; and what several said together.

use super::HookEvent;
use super::config::Hook;
use super::process::Ran;
use crate::limits::Limits;
use serde_json::{Map, Value};

/// What a hook says about a tool call, the strongest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Go ahead without a question.
    Allow,
    /// Ask the person.
    Ask,
    /// No.
    Deny,
}

/// A permission and the reason that was given for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionAsked {
    /// What was said.
    pub permission: Permission,
    /// Why.
    pub reason: String,
}

/// What all hooks of one moment said together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookOutcome {
    /// This must not happen, and why: the prompt, the tool call, the compaction; for a stop, go on instead.
    pub blocked: Option<String>,
    /// The whole session is to stop after this, and why.
    pub stop: Option<String>,
    /// Texts for the model; before a compaction, instructions for the summary.
    pub context: Vec<String>,
    /// What was said about a tool call.
    pub permission: Option<PermissionAsked>,
    /// The tool's input, changed.
    pub updated_input: Option<Value>,
    /// The tool's output, changed.
    pub updated_output: Option<Value>,
    /// Messages for the person.
    pub messages: Vec<String>,
    /// Hooks that went wrong.
    pub notices: Vec<String>,
}

impl HookOutcome {
    /// In the order of the settings: one block blocks, the strictest permission holds, the last change counts.
    pub(super) fn merged(outcomes: Vec<HookOutcome>) -> Self {
        let mut all = HookOutcome::default();
        for one in outcomes {
            join_reasons(&mut all.blocked, one.blocked);
            join_reasons(&mut all.stop, one.stop);
            all.context.extend(one.context);
            all.messages.extend(one.messages);
            all.notices.extend(one.notices);
            all.updated_input = one.updated_input.or(all.updated_input);
            all.updated_output = one.updated_output.or(all.updated_output);
            let stricter =
                |said: &PermissionAsked| all.permission.as_ref().is_none_or(|now| said.permission > now.permission);
            if one.permission.as_ref().is_some_and(stricter) {
                all.permission = one.permission;
            }
        }
        all
    }
}

fn join_reasons(all: &mut Option<String>, one: Option<String>) {
    match (all, one) {
        (Some(all), Some(one)) => {
            all.push('\n');
            all.push_str(&one);
        }
        (all @ None, one) => *all = one,
        (Some(_), None) => {}
    }
}

pub(super) fn read(event: HookEvent, hook: &Hook, ran: Ran, limits: &Limits) -> HookOutcome {
    let mut reading = Reading { event, hook, limits, outcome: HookOutcome::default() };
    match ran {
        Ran::Failed(why) => reading.notice(&why),
        Ran::TimedOut => reading.notice(&format!("took longer than {:?} and was ended", hook.timeout)),
        Ran::Exited { code: Some(0), stdout, .. } => {
            let text = stdout.text();
            if !text.starts_with('{') {
                reading.plain(&text);
            } else if let Some(answer) = object(&text) {
                reading.answer(&answer);
            } else if stdout.is_cut() {
                reading.notice(&format!("answered more than {} bytes, which is not read", limits.hook_output_bytes));
            } else {
                reading.notice("answered something that begins like JSON and is none");
            }
        }
        Ran::Exited { code: Some(2), stderr, .. } => {
            let reason = stderr.text();
            let given = if reason.is_empty() { format!("{} gave no reason", hook.shown()) } else { reason };
            reading.block(&given);
        }
        Ran::Exited { code, stdout, stderr } => match (code, object(&stdout.text())) {
            (Some(_), Some(answer)) => reading.answer(&answer),
            (Some(code), None) => reading.notice(&format!("ended with code {code}: {}", first_line(&stderr.text()))),
            (None, _) => reading.notice("was ended by a signal"),
        },
    }
    reading.outcome
}

struct Reading<'a> {
    event: HookEvent,
    hook: &'a Hook,
    limits: &'a Limits,
    outcome: HookOutcome,
}

impl Reading<'_> {
    fn notice(&mut self, what: &str) {
        self.outcome.notices.push(format!("{} {what}; the turn goes on without it", self.hook.shown()));
    }

    fn plain(&mut self, text: &str) {
        if self.event.takes_plain_text() && !text.is_empty() {
            self.outcome.context.push(self.capped(text));
        }
    }

    fn block(&mut self, reason: &str) {
        if !self.event.can_block() {
            return self.notice(&format!("tried to block, which this event cannot: {}", first_line(reason)));
        }
        let reason = self.capped(reason);
        if self.event == HookEvent::PreToolUse {
            self.permit(Permission::Deny, reason.clone());
        }
        self.outcome.blocked = Some(reason);
    }

    fn permit(&mut self, permission: Permission, reason: String) {
        if self.outcome.permission.as_ref().is_none_or(|now| permission > now.permission) {
            self.outcome.permission = Some(PermissionAsked { permission, reason });
        }
    }

    fn answer(&mut self, answer: &Map<String, Value>) {
        let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
        if !text("systemMessage").is_empty() {
            self.outcome.messages.push(self.capped(text("systemMessage")));
        }
        if answer.get("continue") == Some(&Value::Bool(false)) && self.event != HookEvent::SessionEnd {
            let reason = text("stopReason");
            let given =
                if reason.is_empty() { format!("{} asked to stop", self.hook.shown()) } else { self.capped(reason) };
            self.outcome.stop = Some(given);
        }
        if text("decision") == "block" {
            let reason = text("reason");
            let given =
                if reason.is_empty() { format!("{} gave no reason", self.hook.shown()) } else { reason.to_owned() };
            self.block(&given);
        }
        match answer.get("hookSpecificOutput").and_then(Value::as_object) {
            Some(specific) if is_for(specific, self.event) => self.specific(specific),
            Some(_) => self.notice("answered for another event"),
            None => {}
        }
    }

    fn specific(&mut self, answer: &Map<String, Value>) {
        let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
        if self.event.takes_context() && !text("additionalContext").is_empty() {
            self.outcome.context.push(self.capped(text("additionalContext")));
        }
        match self.event {
            HookEvent::PreToolUse => {
                let reason = self.capped(text("permissionDecisionReason"));
                match text("permissionDecision") {
                    "allow" => self.permit(Permission::Allow, reason),
                    "ask" => self.permit(Permission::Ask, reason),
                    "deny" => self.permit(Permission::Deny, reason),
                    _ => {}
                }
                self.outcome.updated_input = answer.get("updatedInput").filter(|input| input.is_object()).cloned();
            }
            HookEvent::PostToolUse => {
                let output = answer.get("updatedToolOutput").or_else(|| answer.get("updatedMCPToolOutput"));
                self.outcome.updated_output = output.filter(|output| !output.is_null()).cloned();
            }
            _ => {}
        }
    }

    fn capped(&self, text: &str) -> String {
        let most = usize::try_from(self.limits.hook_context_chars).unwrap_or(usize::MAX);
        match text.char_indices().nth(most) {
            None => text.to_owned(),
            Some((end, _)) => {
                let whole = text.chars().count();
                format!("{}\n[cut: {most} of {whole} characters are shown]", &text[..end])
            }
        }
    }
}

fn is_for(specific: &Map<String, Value>, event: HookEvent) -> bool {
    specific.get("hookEventName").and_then(Value::as_str).is_none_or(|name| name == event.name())
}

fn object(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

fn first_line(text: &str) -> String {
    const LONGEST: usize = 200;
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(LONGEST).collect();
    short.escape_debug().to_string()
}
