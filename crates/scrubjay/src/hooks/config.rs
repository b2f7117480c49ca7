//! Hooks as they are written in settings: which event, which matcher, which command, how long.

use super::HookEvent;
use crate::limits::Limits;
use regex::{Regex, RegexBuilder};
use serde_json::Value;
use std::time::Duration;

/// One configured command.
#[derive(Debug, Clone)]
pub(super) struct Hook {
    pub(super) event: HookEvent,
    pub(super) matcher: Matcher,
    pub(super) command: String,
    /// With arguments the command is a program; without, a line for the shell.
    pub(super) args: Option<Vec<String>>,
    pub(super) timeout: Duration,
}

impl Hook {
    /// For messages: short, one line.
    pub(super) fn shown(&self) -> String {
        const LONGEST: usize = 60;
        let mut line: String = self.command.chars().take(LONGEST).collect();
        if line.len() < self.command.len() {
            line.push('…');
        }
        format!("{} hook `{}`", self.event.name(), line.escape_debug())
    }
}

/// Which tools, sources or reasons a hook is for.
#[derive(Debug, Clone)]
pub(super) enum Matcher {
    All,
    OneOf(Vec<String>),
    Pattern(Regex),
}

impl Matcher {
    pub(super) fn admits(&self, name: Option<&str>) -> bool {
        match (self, name) {
            (Matcher::All, _) | (_, None) => true,
            (Matcher::OneOf(names), Some(name)) => names.iter().any(|one| one == name),
            (Matcher::Pattern(pattern), Some(name)) => pattern.is_match(name),
        }
    }

    fn read(text: &str, limits: &Limits) -> Result<Self, regex::Error> {
        if text.is_empty() || text == "*" {
            return Ok(Matcher::All);
        }
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ',' | ' ' | '|');
        if text.chars().all(plain) {
            let names = text.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            return Ok(Matcher::OneOf(names.map(str::to_owned).collect()));
        }
        let size = usize::try_from(limits.search_pattern_bytes).unwrap_or(usize::MAX);
        RegexBuilder::new(text).size_limit(size).build().map(Matcher::Pattern)
    }
}

/// Every hook that can be understood, and a sentence for each that cannot.
pub(super) fn read(value: &Value, limits: &Limits) -> (Vec<Hook>, Vec<String>) {
    let mut reading = Reading { limits, hooks: Vec::new(), warnings: Vec::new() };
    let events = value.get("hooks").filter(|inner| inner.is_object()).unwrap_or(value);
    match events.as_object() {
        Some(events) => events.iter().for_each(|(name, groups)| reading.event(name, groups)),
        None => reading.warnings.push("`hooks` is not a table of events; none of them will run".to_owned()),
    }
    (reading.hooks, reading.warnings)
}

struct Reading<'a> {
    limits: &'a Limits,
    hooks: Vec<Hook>,
    warnings: Vec<String>,
}

impl Reading<'_> {
    fn event(&mut self, name: &str, groups: &Value) {
        let Some(event) = HookEvent::ALL.into_iter().find(|event| event.name() == name) else {
            let known: Vec<&str> = HookEvent::ALL.iter().map(|event| event.name()).collect();
            let (name, known) = (name.escape_debug(), known.join(", "));
            return self
                .warnings
                .push(format!("there is no hook event `{name}`, so its hooks never run; there are {known}"));
        };
        let Some(groups) = groups.as_array() else { return self.left_out(event, "is not a list") };
        for group in groups {
            self.group(event, group);
        }
    }

    fn group(&mut self, event: HookEvent, group: &Value) {
        let text = match group.get("matcher") {
            None | Some(Value::Null) => "",
            Some(Value::String(text)) => text.as_str(),
            Some(_) => return self.left_out(event, "has a matcher that is not text"),
        };
        let matcher = match Matcher::read(text, self.limits) {
            Ok(matcher) => matcher,
            Err(error) => return self.left_out(event, &format!("has a matcher that is no pattern ({error})")),
        };
        let Some(hooks) = group.get("hooks").and_then(Value::as_array) else {
            return self.left_out(event, "has no list `hooks`");
        };
        for hook in hooks {
            self.hook(event, &matcher, hook);
        }
    }

    fn hook(&mut self, event: HookEvent, matcher: &Matcher, value: &Value) {
        match value.get("type").and_then(Value::as_str) {
            None | Some("command") => {}
            Some(other) => {
                return self.left_out(event, &format!("is of type `{}`, only commands are run", other.escape_debug()));
            }
        }
        if value.get("if").is_some() {
            return self.left_out(event, "has an `if`, which is not understood here; use a matcher");
        }
        let Some(command) = value.get("command").and_then(Value::as_str).filter(|line| !line.trim().is_empty()) else {
            return self.left_out(event, "has no command");
        };
        let args = match value.get("args") {
            None | Some(Value::Null) => None,
            Some(list) => match texts(list) {
                Some(args) => Some(args),
                None => return self.left_out(event, "has `args` that are not a list of texts"),
            },
        };
        if value.get("async") == Some(&Value::Bool(true)) {
            let name = event.name();
            self.warnings.push(format!("a {name} hook asks to run in the background; it runs, and is waited for"));
        }
        let timeout = self.timeout(event, value.get("timeout"));
        let hook = Hook { event, matcher: matcher.clone(), command: command.to_owned(), args, timeout };
        let twin = |other: &Hook| {
            let same_matcher = format!("{:?}", other.matcher) == format!("{:?}", hook.matcher);
            other.event == event && same_matcher && other.command == hook.command && other.args == hook.args
        };
        if !self.hooks.iter().any(twin) {
            self.hooks.push(hook);
        }
    }

    /// Seconds, as other agents count them.
    fn timeout(&mut self, event: HookEvent, value: Option<&Value>) -> Duration {
        let usual = Duration::from_millis(self.limits.hook_timeout_ms);
        let Some(value) = value else { return usual };
        let seconds = value.as_f64().filter(|seconds| *seconds > 0.0);
        match seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
            Some(time) => time.min(longest()),
            None => {
                let name = event.name();
                self.warnings
                    .push(format!("a {name} hook has a timeout that is no number of seconds; {usual:?} is used"));
                usual
            }
        }
    }

    fn left_out(&mut self, event: HookEvent, why: &str) {
        self.warnings.push(format!("a {} hook {why}; it will not run", event.name()));
    }
}

fn longest() -> Duration {
    let bounds = Limits::table().into_iter().find(|limit| limit.name == "hook_timeout_ms").map(|limit| limit.bounds);
    Duration::from_millis(bounds.map_or(u64::MAX, |bounds| *bounds.end()))
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}
