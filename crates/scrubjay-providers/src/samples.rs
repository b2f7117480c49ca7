//! Conversations for this crate's own tests.

use proptest::prelude::*;
use scrubjay::message::{Block, Message, MessageId, Origin, Role, ToolResult};
use scrubjay::prompt::Prompt;
use scrubjay::transcript::{Options, ToolSpec};
use serde_json::json;
use std::sync::Arc;

pub(crate) fn said(role: Role, blocks: Vec<Block>) -> Arc<Message> {
    let origin = if role == Role::Assistant { Origin::Model } else { Origin::Person };
    Arc::new(Message { id: MessageId::new("m"), role, origin, at: jiff::Timestamp::UNIX_EPOCH, blocks })
}

pub(crate) fn result(call: &str, text: &str) -> Block {
    Block::tool_result(ToolResult { call: call.into(), parts: vec![Block::text(text)], is_error: false })
}

pub(crate) fn prompt(history: Vec<Arc<Message>>) -> Prompt {
    Prompt {
        tools: Arc::from([ToolSpec::new("Read", "reads a file", &json!({ "type": "object" }))]),
        system: Arc::from("be brief"),
        instructions: vec![said(Role::User, vec![Block::text("rules")])],
        history,
        options: Options::default(),
    }
}

/// Rounds of a question, a reply that may think and call tools, and the results.
pub(crate) fn conversation() -> impl Strategy<Value = Vec<Arc<Message>>> {
    prop::collection::vec((any::<String>(), "\\PC{1,20}", 0..4usize, any::<bool>()), 0..6).prop_map(|rounds| {
        let mut history = vec![];
        for (round, (question, words, calls, thinks)) in rounds.into_iter().enumerate() {
            history.push(said(Role::User, vec![Block::text(format!("q{question}"))]));
            let mut reply = vec![];
            if thinks {
                reply.push(Block::from_value(&json!({"type":"thinking","thinking":words,"signature":"E=="})));
            }
            reply.push(Block::text(words.clone()));
            let ids: Vec<String> = (0..calls).map(|call| format!("t{round}.{call}")).collect();
            reply.extend(
                ids.iter().map(|id| Block::tool_use(id.as_str().into(), "Read", json!({"w": words, "n": 1.5}))),
            );
            history.push(said(Role::Assistant, reply));
            if !ids.is_empty() {
                history.push(said(Role::User, ids.iter().map(|id| result(id, &words)).collect()));
            }
        }
        history
    })
}
