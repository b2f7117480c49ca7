//! The model when there is none: it says what it is, looks things up where it is asked plainly, and invents nothing.

mod asks;

use asks::{Lookup, understood};
use scrubjay::limits::Limits;
use scrubjay::message::{Block, Kind, Message, Origin, Role, StopReason, ToolCallId, ToolResult, ToolUse, Usage};
use scrubjay::model::{Ability, Delta, Model, ModelError, Pending, Reply};
use scrubjay::prompt::Prompt;
use scrubjay::tokens::ContextWindow;
use std::sync::Arc;

const NAME: &str = "offline";
const WHAT_I_AM: &str = "No language model is configured, so this is not a model's answer.";
const HOW_TO_CHANGE: &str = "To get one: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name a local one with --model \
ollama/NAME or --model local/NAME and --base-url.";
const WHAT_I_CAN: &str = "Without a model I can look things up: \"show FILE\", \"find WORD\", \"where is WORD\", or a \
line that begins with ! to run a command.";

/// Answers without a model: with recalled notes, with what a lookup found, or by saying that there is nothing.
#[derive(Debug, Clone)]
pub struct Offline {
    window: ContextWindow,
    quote_chars: usize,
}

impl Offline {
    /// With these limits.
    pub fn new(limits: &Limits) -> Self {
        Self {
            window: ContextWindow { size: limits.default_window, max_output: limits.max_output },
            quote_chars: usize::try_from(limits.offline_quote_chars).unwrap_or(usize::MAX),
        }
    }

    fn answer(&self, prompt: &Prompt) -> Vec<Block> {
        let turn = current_turn(&prompt.history);
        // Results that stand before the question belong to one that was interrupted.
        let asked = turn.iter().rposition(|message| message.origin == Origin::Person).unwrap_or(0);
        let results: Vec<&ToolResult> = turn[asked..].iter().flat_map(|message| message.tool_results()).collect();
        if !results.is_empty() {
            let notes = self.notes(turn);
            return vec![Block::text(self.found(&prompt.history, &results) + &notes)];
        }
        let has_looked = turn[asked..].iter().any(|message| message.tool_uses().next().is_some());
        let question = turn.get(asked).filter(|message| message.origin == Origin::Person && !has_looked);
        if let Some(question) = question
            && let Some(Lookup { tool, input, why }) = understood(&question.text(), &prompt.tools)
        {
            // A question is answered by one lookup, so its own name makes the call's name unique.
            let call = ToolCallId::new(format!("offline_{}", question.id));
            return vec![Block::text(why), Block::tool_use(call, tool, input)];
        }
        vec![Block::text(self.recalled(turn))]
    }

    /// What lookups brought, with where it is from.
    fn found(&self, history: &[Arc<Message>], results: &[&ToolResult]) -> String {
        let mut said = vec![WHAT_I_AM.to_owned()];
        for result in results {
            let source = call_of(history, &result.call).map_or_else(|| "a tool".to_owned(), source);
            let verdict = if result.is_error { "failed" } else { "found" };
            let text = result.text();
            if text.trim().is_empty() {
                said.push(format!("{source} {verdict} nothing to show."));
            } else {
                said.push(format!("{source} {verdict}:\n\n{}", self.quoted(&text)));
            }
        }
        said.join("\n\n")
    }

    fn recalled(&self, turn: &[Arc<Message>]) -> String {
        let notes = self.notes(turn);
        if notes.is_empty() {
            return [WHAT_I_AM, "Nothing was recalled for this.", WHAT_I_CAN, HOW_TO_CHANGE].join("\n\n");
        }
        format!("{WHAT_I_AM}{notes}\n\n{HOW_TO_CHANGE}")
    }

    /// The memories that were recalled in this turn, each with its path; empty if there are none.
    fn notes(&self, turn: &[Arc<Message>]) -> String {
        let recalled = turn.iter().filter(|message| message.origin == Origin::Memory);
        let notes: Vec<String> = recalled.map(|message| unwrapped(&message.text())).collect();
        if notes.is_empty() {
            return String::new();
        }
        format!(" These notes were recalled for it:\n\n{}", self.quoted(&notes.join("\n\n")))
    }

    fn quoted(&self, text: &str) -> String {
        let mut chars = text.chars();
        let short: String = chars.by_ref().take(self.quote_chars).collect();
        let mut lines: Vec<String> = short.lines().map(|line| format!("> {line}")).collect();
        let more = chars.count();
        if more > 0 {
            lines.push(format!("> … and {more} more characters"));
        }
        lines.join("\n")
    }
}

/// A recalled message without the tags that only a model needs, and without the words to it.
fn unwrapped(text: &str) -> String {
    const OPENS: &str = "<system-reminder>";
    let mut lines = text.lines();
    let mut kept = Vec::new();
    while let Some(line) = lines.next() {
        if line == OPENS {
            lines.next();
            continue;
        }
        let is_tag = ["</system-reminder>", "<scrubjay-memory-", "</scrubjay-memory-"].iter();
        if !is_tag.clone().any(|tag| line.starts_with(tag)) {
            kept.push(line);
        }
    }
    kept.join("\n")
}

/// What was said since the last reply that called no tool: one question and all that belongs to it.
fn current_turn(history: &[Arc<Message>]) -> &[Arc<Message>] {
    let begun = history
        .iter()
        .rposition(|message| message.role == Role::Assistant && message.tool_uses().next().is_none())
        .map_or(0, |at| at + 1);
    let turn = &history[begun..];
    let asked = turn.iter().rposition(|message| message.origin == Origin::Person).unwrap_or(0);
    // Notes for a question may stand before it.
    let before = turn[..asked].iter().rposition(|message| message.role == Role::Assistant).map_or(0, |at| at + 1);
    &turn[before..]
}

fn call_of<'a>(history: &'a [Arc<Message>], id: &ToolCallId) -> Option<&'a ToolUse> {
    history.iter().rev().flat_map(|message| message.tool_uses()).find(|call| call.id == *id)
}

fn source(call: &ToolUse) -> String {
    let about = ["file_path", "path", "command", "pattern"].iter().find_map(|key| call.input.get(key)?.as_str());
    about.map_or_else(|| call.name.clone(), |about| format!("{} `{about}`", call.name))
}

impl Model for Offline {
    fn name(&self) -> &str {
        NAME
    }

    fn is_a_mind(&self) -> bool {
        false
    }

    fn window(&self) -> ContextWindow {
        self.window
    }

    fn can(&self, ability: Ability) -> bool {
        ability == Ability::Tools
    }

    fn reply<'a>(
        &'a self,
        prompt: &'a Prompt,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Pending<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let blocks = self.answer(prompt);
            let mut stop = StopReason::EndTurn;
            for block in &blocks {
                match block.kind() {
                    Kind::Text(text) => on(Delta::Text(text.clone())),
                    Kind::ToolUse(call) => {
                        stop = StopReason::ToolUse;
                        on(Delta::ToolUse { name: call.name.clone() });
                    }
                    _ => {}
                }
            }
            Ok(Reply { blocks, usage: Usage::default(), stop, model: NAME.to_owned(), request_id: None, cleared: 0 })
        })
    }

    fn count<'a>(&'a self, _: &'a Prompt) -> Pending<'a, Result<Option<u64>, ModelError>> {
        Box::pin(async { Ok(None) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{result, said};
    use scrubjay::message::MessageId;
    use scrubjay::transcript::ToolSpec;
    use serde_json::json;

    fn prompt(history: Vec<Arc<Message>>) -> Prompt {
        let tool = |name: &str, key: &str| {
            ToolSpec::new(name, "", &json!({ "type": "object", "properties": { key: { "type": "string" } } }))
        };
        let tools = [tool("Read", "path"), tool("Grep", "pattern"), tool("Glob", "pattern"), tool("Bash", "command")];
        Prompt { tools: Arc::from(tools), ..crate::samples::prompt(history) }
    }

    fn from(origin: Origin, text: &str) -> Arc<Message> {
        let message = said(Role::User, vec![Block::text(text)]);
        Arc::new(Message { origin, id: MessageId::new(text), ..(*message).clone() })
    }

    async fn ask(history: &[Arc<Message>]) -> Reply {
        Offline::new(&Limits::default()).reply(&prompt(history.to_vec()), &mut |_| {}).await.unwrap()
    }

    fn text(reply: &Reply) -> String {
        reply.blocks.iter().filter_map(Block::as_text).collect()
    }

    // spec: U2
    #[tokio::test]
    async fn without_a_model_it_says_so_and_how_to_get_one() {
        let reply = ask(&[from(Origin::Person, "write me a poem")]).await;
        let said = text(&reply);
        assert!(said.contains("No language model") && said.contains("ANTHROPIC_API_KEY") && reply.is_final(), "{said}");
        assert!(text(&ask(&[]).await).contains("Nothing was recalled"));
    }

    // spec: U2
    #[tokio::test]
    async fn recalled_notes_are_the_answer() {
        let note = "From notes/tea.md: the person drinks green tea";
        for history in [
            vec![from(Origin::Memory, note), from(Origin::Person, "what do I drink?")],
            vec![from(Origin::Person, "what do I drink?"), from(Origin::Memory, note)],
        ] {
            assert!(text(&ask(&history).await).contains("> From notes/tea.md: the person drinks green tea"));
        }
    }

    #[tokio::test]
    async fn one_lookup_and_then_an_answer_with_its_source() {
        let mut history = vec![from(Origin::Person, "show src/main.rs please")];
        let reply = ask(&history).await;
        let call = said(Role::Assistant, reply.blocks.clone());
        let used = call.tool_uses().next().unwrap();
        assert_eq!((used.name.as_str(), &used.input), ("Read", &json!({ "path": "src/main.rs" })));
        assert_eq!(reply.stop, StopReason::ToolUse);
        let id = used.id.to_string();
        history.extend([call.clone(), said(Role::User, vec![result(&id, &"fn main() {}\n".repeat(1000))])]);
        let answer = ask(&history).await;
        let words = text(&answer);
        assert!(answer.is_final() && words.contains("Read `src/main.rs` found") && words.contains("> fn main() {}"));
        assert!(words.contains("more characters") && words.len() < 10_000);
        history.extend([said(Role::Assistant, answer.blocks), from(Origin::Person, "!ls")]);
        let next = said(Role::Assistant, ask(&history).await.blocks);
        assert_ne!(next.tool_uses().next().unwrap().id.as_str(), id, "every call has its own name");
    }

    #[tokio::test]
    async fn an_interrupted_lookup_does_not_answer_the_next_question() {
        let call = said(Role::Assistant, ask(&[from(Origin::Person, "find walrus")]).await.blocks);
        let id = call.tool_uses().next().unwrap().id.to_string();
        let late = said(Role::User, vec![result(&id, "walrus.md")]);
        let reply = ask(&[from(Origin::Person, "find walrus"), call, late, from(Origin::Person, "!ls")]).await;
        assert!(!reply.is_final() && !text(&reply).contains("walrus"));
        let unanswered = said(Role::Assistant, reply.blocks);
        let again = ask(&[from(Origin::Person, "!ls"), unanswered, from(Origin::Reminder, "go on")]).await;
        assert!(again.is_final(), "one lookup per question, even when its result is lost");
    }

    #[tokio::test]
    async fn a_failed_lookup_is_told_not_repeated() {
        let reply = ask(&[from(Origin::Person, "find walrus")]).await;
        let call = said(Role::Assistant, reply.blocks);
        let id = call.tool_uses().next().unwrap().id.clone();
        let failed = Block::tool_result(ToolResult { call: id, parts: vec![], is_error: true });
        let answer = ask(&[from(Origin::Person, "find walrus"), call, said(Role::User, vec![failed])]).await;
        assert!(answer.is_final() && text(&answer).contains("Grep `walrus` failed nothing to show"));
    }
}
