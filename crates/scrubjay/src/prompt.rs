//! What a model is asked: tools, system, instructions, history, in cache order.

use crate::message::{Block, Kind, Message, Origin, Role, ToolCallId, ToolResult};
use crate::prompts;
use crate::transcript::{Options, ToolSpec, View};
use std::sync::Arc;

/// One request to a model. Two prompts of one lineage differ only at their end, unless a break was declared.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// What the model can call.
    pub tools: Arc<[ToolSpec]>,
    /// Who the model is.
    pub system: Arc<str>,
    /// What every conversation here begins with.
    pub instructions: Vec<Arc<Message>>,
    /// What was said.
    pub history: Vec<Arc<Message>>,
    /// What else the request asks for.
    pub options: Options,
}

impl Prompt {
    /// What a session's view says to the model.
    pub fn of(view: &View) -> Self {
        let history = answered(&view.history);
        match &view.opening {
            Some(opening) => Self {
                tools: opening.tools.clone(),
                system: opening.system.clone(),
                instructions: view.instructions().to_vec(),
                history,
                options: Options { used: Some(view.count.total()), ..opening.options.clone() },
            },
            None => Self {
                tools: Arc::from([]),
                system: Arc::from(""),
                instructions: Vec::new(),
                history,
                options: Options::default(),
            },
        }
    }

    /// Instructions and history: everything that is sent as messages, in order.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> {
        self.instructions.iter().chain(&self.history)
    }

    /// The bytes that a cache compares: tools, system, messages in array form, without markers. A request extends another
    /// exactly when its rendering starts with the other's.
    pub fn rendering(&self) -> String {
        let mut out = String::new();
        for tool in self.tools.iter() {
            out.push_str(&serde_json::to_string(tool).unwrap_or_default());
            out.push('\n');
        }
        out.push_str(&serde_json::to_string(&self.system).unwrap_or_default());
        for message in self.messages() {
            out.push('\n');
            let blocks: Vec<&str> = message.blocks.iter().map(Block::json).collect();
            out.push_str(&format!("{:?} [{}]", message.role, blocks.join(",")));
        }
        out
    }
}

/// A history in which every call has its answer in the next message and every answer its call, as providers demand. A
/// kill in the middle of a tool round, or a damaged record, would otherwise make every later request invalid.
fn answered(history: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut out: Vec<Arc<Message>> = Vec::with_capacity(history.len());
    let mut open: Vec<ToolCallId> = Vec::new();
    for message in history {
        let answers: Vec<&ToolCallId> = message.tool_results().map(|result| &result.call).collect();
        let missing: Vec<ToolCallId> = open.iter().filter(|call| !answers.contains(call)).cloned().collect();
        let stray = answers.iter().any(|call| !open.contains(call));
        if !missing.is_empty() && answers.is_empty() {
            out.push(Arc::new(lost_results(message, &missing)));
            out.push(message.clone());
        } else if !missing.is_empty() || stray {
            out.push(Arc::new(completed(message, &missing, &open)));
        } else {
            out.push(message.clone());
        }
        open = message.tool_uses().map(|call| call.id.clone()).collect();
    }
    if let (false, Some(last)) = (open.is_empty(), history.last()) {
        out.push(Arc::new(lost_results(last, &open)));
    }
    out
}

fn lost_results(near: &Message, calls: &[ToolCallId]) -> Message {
    let blocks = calls.iter().map(lost_result).collect();
    Message { id: near.id.clone(), role: Role::User, origin: Origin::Tool, at: near.at, blocks }
}

/// The answer that stands for one that never came.
fn lost_result(call: &ToolCallId) -> Block {
    let parts = vec![Block::text(prompts::LOST_RESULT.trim())];
    Block::tool_result(ToolResult { call: call.clone(), parts, is_error: true })
}

/// Missing answers first, then the message's own; an answer without a call becomes plain text, because nothing is lost.
fn completed(message: &Message, missing: &[ToolCallId], open: &[ToolCallId]) -> Message {
    let mut blocks: Vec<Block> = missing.iter().map(lost_result).collect();
    for block in &message.blocks {
        match block.kind() {
            Kind::ToolResult(result) if !open.contains(&result.call) => blocks.extend(result.parts.iter().cloned()),
            _ => blocks.push(block.clone()),
        }
    }
    Message { blocks, ..message.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn message(role: Role, blocks: Vec<Block>) -> Arc<Message> {
        let at = jiff::Timestamp::UNIX_EPOCH;
        Arc::new(Message { id: "m".into(), role, origin: Origin::Person, at, blocks })
    }

    fn call(id: &str) -> Block {
        Block::tool_use(id.into(), "Read", json!({}))
    }

    fn answer(id: &str) -> Block {
        Block::tool_result(ToolResult { call: id.into(), parts: vec![Block::text("ok")], is_error: false })
    }

    fn is_valid(history: &[Arc<Message>]) -> bool {
        let mut open: Vec<String> = Vec::new();
        for message in history {
            let answers: Vec<String> = message.tool_results().map(|r| r.call.to_string()).collect();
            if answers != open {
                return false;
            }
            open = message.tool_uses().map(|call| call.id.to_string()).collect();
        }
        open.is_empty()
    }

    #[test]
    fn a_call_without_an_answer_gets_one_and_an_answer_without_a_call_becomes_text() {
        let history = vec![
            message(Role::User, vec![Block::text("q")]),
            message(Role::Assistant, vec![call("a"), call("b")]),
            message(Role::User, vec![answer("b")]),
            message(Role::User, vec![answer("z")]),
            message(Role::Assistant, vec![call("c")]),
        ];
        let mended = answered(&history);
        assert!(is_valid(&mended), "{mended:#?}");
        assert_eq!(mended[3].text(), "ok");
        assert_eq!(mended.len(), 6);
    }

    // spec: H1
    proptest! {
        /// Whatever was lost, the history is one that a provider takes; and what stood before stays as it was.
        #[test]
        fn any_history_becomes_valid_and_grows_only_at_its_end(shape in prop::collection::vec((0..3u8, prop::collection::vec(0..4u8, 0..3)), 0..12)) {
            let history: Vec<_> = shape.iter().map(|(kind, ids)| match kind {
                0 => message(Role::User, vec![Block::text("q")]),
                1 => message(Role::Assistant, ids.iter().enumerate().map(|(n, id)| call(&format!("{id}-{n}"))).collect()),
                _ => message(Role::User, ids.iter().enumerate().map(|(n, id)| answer(&format!("{id}-{n}"))).collect()),
            }).collect();
            let mended = answered(&history);
            let mut open: Vec<ToolCallId> = Vec::new();
            for message in &mended {
                let answers: Vec<_> = message.tool_results().map(|r| r.call.clone()).collect();
                prop_assert!(open.iter().all(|call| answers.contains(call)));
                prop_assert!(answers.iter().all(|call| open.contains(call)));
                open = message.tool_uses().map(|call| call.id.clone()).collect();
            }
            prop_assert!(open.is_empty());
            if history.last().is_none_or(|last| last.tool_uses().next().is_none()) {
                let mut longer = history.clone();
                longer.push(message(Role::User, vec![Block::text("more")]));
                let later = answered(&longer);
                prop_assert_eq!(&later[..mended.len()], &mended[..]);
            }
        }
    }
}
