//! Tasks: the list of what is done and what is left. The last call in the history is the list; there is no other state.

use super::input::{at_once, card, parse};
use super::shown::shown;
use crate::message::Message;
use crate::model::Pending;
use crate::tool::{Bench, Effect, Tool, ToolOutcome};
use crate::transcript::ToolSpec;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Borrow;
use std::path::Path;

const NAME: &str = "Tasks";

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// In a few words.
    pub title: String,
    /// How far it is.
    pub status: Status,
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Done,
}

impl Status {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::InProgress => "in progress",
            Status::Done => "done",
        }
    }
}

/// Keeps the task list.
pub struct Tasks {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    tasks: Vec<Task>,
}

/// The task list as of the last `Tasks` call that was well formed.
pub fn current<M: Borrow<Message>>(messages: &[M]) -> Option<Vec<Task>> {
    messages.iter().rev().find_map(|message| {
        let calls: Vec<_> = message.borrow().tool_uses().filter(|call| call.name == NAME).collect();
        calls.into_iter().rev().find_map(|call| read(&call.input).ok())
    })
}

fn read(input: &Value) -> Result<Vec<Task>, ToolOutcome> {
    let tasks = parse::<Input>(input)?.tasks;
    match tasks.iter().position(|task| task.title.trim().is_empty()) {
        Some(index) => Err(ToolOutcome::error(format!("Task {} has no title. The list was not changed.", index + 1))),
        None => Ok(tasks),
    }
}

fn told(tasks: &[Task]) -> String {
    if tasks.is_empty() {
        return "The list is empty.".to_owned();
    }
    let mut text: String = tasks
        .iter()
        .map(|task| {
            let mark = match task.status {
                Status::Pending => "[ ]",
                Status::InProgress => "[>]",
                Status::Done => "[x]",
            };
            format!("{mark} {}\n", shown(&task.title.split_whitespace().collect::<Vec<_>>().join(" ")))
        })
        .collect();
    if tasks.iter().filter(|task| task.status == Status::InProgress).count() > 1 {
        text.push_str("Note: several tasks are in progress; keep one at a time.\n");
    }
    text
}

impl Tasks {
    /// The tool.
    pub fn new() -> Self {
        let spec = card(
            NAME,
            include_str!("../../prompts/tools/tasks.md"),
            &["tasks"],
            json!({ "tasks": { "type": "array", "items": {
                "type": "object",
                "properties": {
                    "title": { "type": "string" },
                    "status": { "type": "string", "enum": ["pending", "in_progress", "done"] },
                },
                "required": ["title", "status"],
                "additionalProperties": false,
            } } }),
        );
        Self { spec }
    }
}

impl Default for Tasks {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Tasks {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, _: &Value, _: &Path) -> Effect {
        Effect::Nothing
    }

    fn call<'a>(&'a self, input: &'a Value, _: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        at_once(read(input).map_or_else(|refusal| refusal, |tasks| ToolOutcome::ok(told(&tasks))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Block, Origin, Role};

    fn saying(calls: &[(&str, Value)]) -> Message {
        Message {
            id: "m".into(),
            role: Role::Assistant,
            origin: Origin::Model,
            at: "2026-01-01T00:00:00Z".parse().unwrap(),
            blocks: calls.iter().map(|(name, input)| Block::tool_use("t".into(), *name, input.clone())).collect(),
        }
    }

    fn list(title: &str) -> Value {
        json!({"tasks": [{"title": title, "status": "pending"}]})
    }

    // spec: Q6
    #[test]
    fn the_last_good_call_is_the_list() {
        let titles = |messages: &[Message]| current(messages).map(|tasks| tasks[0].title.clone());
        assert_eq!(titles(&[]), None);
        assert_eq!(titles(&[saying(&[("Read", list("no"))])]), None);
        assert_eq!(titles(&[saying(&[("Tasks", list("a"))]), saying(&[("Tasks", list("b"))])]), Some("b".into()));
        assert_eq!(titles(&[saying(&[("Tasks", list("a")), ("Tasks", list("b"))])]), Some("b".into()));
        assert_eq!(
            titles(&[saying(&[("Tasks", list("a"))]), saying(&[("Tasks", json!({"tasks": 1}))])]),
            Some("a".into())
        );
    }

    #[test]
    fn lists_are_checked_and_shown() {
        let say = |tasks: Value| match read(&json!({ "tasks": tasks })) {
            Ok(tasks) => told(&tasks),
            Err(refusal) => refusal.parts[0].as_text().unwrap().to_owned(),
        };
        assert_eq!(say(json!([])), "The list is empty.");
        assert_eq!(
            say(json!([{"title": "a\nb", "status": "done"}, {"title": "c", "status": "in_progress"}])),
            "[x] a b\n[>] c\n"
        );
        let two = json!([{"title": "a", "status": "in_progress"}, {"title": "b", "status": "in_progress"}]);
        assert!(say(two).contains("keep one at a time"));
        assert!(say(json!([{"title": "a", "status": "doing"}])).contains("unknown variant `doing`"));
        assert!(say(json!([{"title": " ", "status": "done"}])).contains("Task 1 has no title"));
    }
}
