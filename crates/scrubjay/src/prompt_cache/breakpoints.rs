//! Where a request is marked so that the next one finds it in the provider's cache.

use crate::message::{Block, Message, Role};
use crate::prompt::Prompt;
use std::sync::Arc;

/// Providers refuse a request with more marks than this.
const MOST: usize = 4;

/// A place in a request up to which a provider should keep what it read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Breakpoint {
    /// The last tool.
    Tools,
    /// The system prompt.
    System,
    /// A block of a message.
    Message {
        /// Which message, counted over instructions and then history.
        index: usize,
        /// Which of its blocks.
        block: usize,
    },
}

/// The marks of a request, in prompt order: tools, system, the last block the previous request marked, the last block of
/// all. A provider looks back only some twenty blocks from a mark, so without the third one a long round would lose
/// everything that was cached before it.
pub fn breakpoints(prompt: &Prompt) -> Vec<Breakpoint> {
    let before_last_reply = prompt.history.iter().rposition(|message| message.role == Role::Assistant);
    let previous = before_last_reply.and_then(|at| last_cacheable(prompt, prompt.instructions.len() + at));
    let last = last_cacheable(prompt, prompt.instructions.len() + prompt.history.len());

    let mut marks = Vec::with_capacity(MOST);
    marks.extend((!prompt.tools.is_empty()).then_some(Breakpoint::Tools));
    marks.extend((!prompt.system.is_empty()).then_some(Breakpoint::System));
    marks.extend(previous.filter(|_| previous != last));
    marks.extend(last);
    marks
}

/// The last block among the first `end` messages that may carry a mark.
fn last_cacheable(prompt: &Prompt, end: usize) -> Option<Breakpoint> {
    let messages: Vec<&Arc<Message>> = prompt.instructions.iter().chain(&prompt.history).take(end).collect();
    messages.iter().enumerate().rev().find_map(|(index, message)| {
        let block = message.blocks.iter().rposition(Block::is_cacheable)?;
        Some(Breakpoint::Message { index, block })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{MessageId, Origin};
    use crate::transcript::{Options, ToolSpec};
    use jiff::Timestamp;
    use proptest::prelude::*;
    use serde_json::json;

    fn said(role: Role, blocks: Vec<Block>) -> Arc<Message> {
        let origin = if role == Role::Assistant { Origin::Model } else { Origin::Person };
        Arc::new(Message { id: MessageId::new("m"), role, origin, at: Timestamp::UNIX_EPOCH, blocks })
    }

    fn text(role: Role, words: &str) -> Arc<Message> {
        said(role, vec![Block::text(words)])
    }

    fn thinking() -> Block {
        Block::from_value(&json!({ "type": "thinking", "thinking": "hm", "signature": "s" }))
    }

    fn prompt(instructions: Vec<Arc<Message>>, history: Vec<Arc<Message>>) -> Prompt {
        Prompt {
            tools: Arc::from([ToolSpec::new("Read", "reads", &json!({ "type": "object" }))]),
            system: Arc::from("be brief"),
            instructions,
            history,
            options: Options::default(),
        }
    }

    fn at(index: usize, block: usize) -> Breakpoint {
        Breakpoint::Message { index, block }
    }

    // spec: H2
    #[test]
    fn tools_system_previous_end_and_end_are_marked() {
        use Role::{Assistant, User};
        let rules = vec![text(User, "rules")];
        let table = [
            ("only instructions", vec![], vec![at(0, 0)]),
            ("a first question", vec![text(User, "q")], vec![at(1, 0)]),
            ("after a reply", vec![text(User, "q"), text(Assistant, "a"), text(User, "q2")], vec![at(1, 0), at(3, 0)]),
            (
                "thinking and empty text are passed over",
                vec![text(User, "q"), said(Assistant, vec![Block::text("a"), thinking(), Block::text("")])],
                vec![at(1, 0), at(2, 0)],
            ),
            (
                "a last message without any cacheable block",
                vec![text(User, "q"), said(Assistant, vec![thinking()])],
                vec![at(1, 0)],
            ),
        ];
        for (name, history, expected) in table {
            let mut all = vec![Breakpoint::Tools, Breakpoint::System];
            all.extend(expected);
            assert_eq!(breakpoints(&prompt(rules.clone(), history)), all, "{name}");
        }
    }

    #[test]
    fn nothing_to_mark_marks_nothing() {
        let mut empty = prompt(vec![], vec![]);
        empty.tools = Arc::from([]);
        empty.system = Arc::from("");
        assert_eq!(breakpoints(&empty), vec![]);
    }

    proptest! {
        // spec: H2
        #[test]
        fn the_end_of_one_request_is_marked_again_by_the_next(
            rounds in prop::collection::vec((1..40usize, any::<bool>()), 1..8),
        ) {
            let mut history = vec![];
            let mut end_of_previous = None;
            for (blocks, with_thinking) in rounds {
                history.push(said(Role::User, (0..blocks).map(|n| Block::text(format!("b{n}"))).collect()));
                let marks = breakpoints(&prompt(vec![text(Role::User, "rules")], history.clone()));
                prop_assert!(marks.len() <= MOST);
                if let Some(previous) = end_of_previous {
                    prop_assert!(marks.contains(&previous));
                }
                end_of_previous = marks.last().copied();
                let mut reply = vec![Block::text("a")];
                if with_thinking {
                    reply.insert(0, thinking());
                }
                history.push(said(Role::Assistant, reply));
            }
        }
    }
}
