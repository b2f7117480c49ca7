//! What is still to be done: the task list, whichever tool kept it.

use crate::message::{Message, ToolUse};
use crate::tools::tasks::{self, Status, Task};
use serde_json::Value;
use std::borrow::Borrow;

/// The tasks as of the end, in their order. Our own tool's list if there is one; else what other tools of that kind left.
pub fn tasks<M: Borrow<Message>>(messages: &[M]) -> Vec<Task> {
    match tasks::current(messages) {
        Some(tasks) => tasks,
        None => of_other_tools(messages),
    }
}

/// The last message that changed them.
pub fn last_call<M: Borrow<Message>>(messages: &[M]) -> Option<usize> {
    let changes = |call: &ToolUse| whole_list(call).is_some() || ["TaskCreate", "TaskUpdate"].contains(&&*call.name);
    messages.iter().rposition(|message| message.borrow().tool_uses().any(changes))
}

/// The tasks that are not done.
pub fn open<M: Borrow<Message>>(messages: &[M]) -> Vec<Task> {
    tasks(messages).into_iter().filter(|task| task.status != Status::Done).collect()
}

fn of_other_tools<M: Borrow<Message>>(messages: &[M]) -> Vec<Task> {
    let mut list = Vec::new();
    for call in messages.iter().flat_map(|message| message.borrow().tool_uses()) {
        if let Some(whole) = whole_list(call) {
            list = whole;
        } else if call.name == "TaskCreate" {
            list.extend(title(&call.input).map(|title| Task { title, status: Status::Pending }));
        } else if call.name == "TaskUpdate" {
            update(&mut list, &call.input);
        }
    }
    list
}

/// A call that carries the whole list.
fn whole_list(call: &ToolUse) -> Option<Vec<Task>> {
    let items = call.input.get("todos").or_else(|| call.input.get("tasks"))?.as_array()?;
    Some(items.iter().filter_map(|item| Some(Task { title: title(item)?, status: status(item) })).collect())
}

fn title(item: &Value) -> Option<String> {
    let text = ["title", "subject", "content", "description"].iter().find_map(|key| item.get(key)?.as_str())?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn status(item: &Value) -> Status {
    match item.get("status").and_then(Value::as_str) {
        Some("in_progress" | "in-progress" | "active") => Status::InProgress,
        Some("done" | "completed" | "complete" | "cancelled" | "deleted") => Status::Done,
        _ => Status::Pending,
    }
}

/// Tasks made one by one are numbered from one.
fn update(list: &mut [Task], input: &Value) {
    let id = input.get("taskId").or_else(|| input.get("id"));
    let number = id.and_then(|id| id.as_u64().or_else(|| id.as_str()?.parse().ok()));
    let index = number.and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
    if let Some(task) = index.and_then(|index| list.get_mut(index))
        && input.get("status").is_some()
    {
        task.status = status(input);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Block, Origin, Role};
    use serde_json::json;

    fn calling(calls: &[(&str, Value)]) -> Message {
        let blocks = calls.iter().map(|(name, input)| Block::tool_use("t".into(), *name, input.clone())).collect();
        Message {
            id: "m".into(),
            role: Role::Assistant,
            origin: Origin::Model,
            at: jiff::Timestamp::UNIX_EPOCH,
            blocks,
        }
    }

    // spec: C11
    #[test]
    fn open_tasks_of_any_tool() {
        let todo = |text, status| json!({"todos": [{"content": text, "status": status, "activeForm": "x"}]});
        for (calls, expected) in [
            (vec![("TodoWrite", todo("a", "completed")), ("TodoWrite", todo("b", "in_progress"))], vec!["b"]),
            (
                vec![
                    ("Tasks", json!({"tasks": [{"title": "ours", "status": "pending"}]})),
                    ("TodoWrite", todo("b", "pending")),
                ],
                vec!["ours"],
            ),
            (
                vec![
                    ("TaskCreate", json!({"subject": "one"})),
                    ("TaskCreate", json!({"subject": "two"})),
                    ("TaskUpdate", json!({"taskId": "1", "status": "completed"})),
                    ("TaskUpdate", json!({"taskId": "9", "status": "completed"})),
                ],
                vec!["two"],
            ),
            (vec![("TodoWrite", json!({"todos": 7}))], vec![]),
        ] {
            let titles: Vec<_> = open(&[calling(&calls)]).into_iter().map(|task| task.title).collect();
            assert_eq!(titles, expected);
        }
    }
}
