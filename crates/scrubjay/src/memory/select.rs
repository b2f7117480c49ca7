//! A model chooses among memories: what it is asked, and what of its answer counts. Whatever is wrong with the answer, the
//! local ranking serves instead.

use super::shared::Candidates;
use crate::fence::{fenced, fenced_line};
use crate::limits::Limits;
use crate::message::{Block, Message, MessageId, Origin, Role};
use crate::prompt::Prompt;
use crate::prompts;
use crate::transcript::{Options, Thinking};
use jiff::Timestamp;
use serde::Deserialize;
use std::sync::Arc;

/// Who asks, in the ledger.
pub const SOURCE: &str = "select";

/// The request. `tools` are those that were used lately.
pub fn prompt(query: &str, among: &Candidates, tools: &[String], nonce: &str, limits: &Limits) -> Prompt {
    let lines: Vec<&str> = among.manifest.iter().map(|(_, line)| line.as_str()).collect();
    let tools: Vec<String> = tools.iter().map(|tool| fenced_line(tool)).collect();
    let tools = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
    let asked = prompts::select_among(&fenced(query), &tools, &lines.join("\n"), nonce);
    let message = Message {
        id: MessageId::new(SOURCE),
        role: Role::User,
        origin: Origin::Reminder,
        at: Timestamp::UNIX_EPOCH,
        blocks: vec![Block::text(asked)],
    };
    Prompt {
        tools: Arc::from([]),
        system: prompts::select(limits.recall_places, nonce).into(),
        instructions: Vec::new(),
        history: vec![Arc::new(message)],
        options: Options { max_output: Some(limits.select_tokens), thinking: Thinking::Off, ..Options::default() },
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    selected_memories: Vec<String>,
}

/// The memories that an answer names, in its order: those of the list alone, each once, and no more than may be shown.
/// `None` if it is not an answer.
pub fn chosen(answer: &str, among: &Candidates, limits: &Limits) -> Option<Vec<String>> {
    let text = answer.trim();
    let inner =
        text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).and_then(|rest| rest.strip_suffix("```"));
    let Answer { selected_memories } = serde_json::from_str(inner.unwrap_or(text).trim()).ok()?;
    let most = usize::try_from(limits.recall_places).unwrap_or(usize::MAX);
    let mut chosen: Vec<String> = Vec::new();
    for name in selected_memories {
        let listed = among.manifest.iter().any(|(path, _)| *path == name);
        if listed && !chosen.contains(&name) && chosen.len() < most {
            chosen.push(name);
        }
    }
    Some(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among() -> Candidates {
        let names = ["a.md", "b.md", "c.md", "d.md", "e.md", "f.md", "team/g.md"];
        let manifest = names.map(|name| (name.to_owned(), format!("- [user] {name} (2026): x"))).to_vec();
        Candidates { manifest, ..Candidates::default() }
    }

    // spec: L4
    // spec: L5
    #[test]
    fn only_listed_names_count_and_anything_else_is_no_answer() {
        let some = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        for (answer, expected) in [
            (r#"{"selected_memories": ["b.md", "a.md"]}"#, some(&["b.md", "a.md"])),
            (r#"{"selected_memories": []}"#, some(&[])),
            (r#"{"selected_memories": ["b.md", "b.md", "zzz.md", "../a.md", "/etc/passwd"]}"#, some(&["b.md"])),
            (
                r#"{"selected_memories": ["a.md","b.md","c.md","d.md","e.md","f.md"]}"#,
                some(&["a.md", "b.md", "c.md", "d.md", "e.md"]),
            ),
            ("```json\n{\"selected_memories\": [\"team/g.md\"]}\n```", some(&["team/g.md"])),
            ("", None),
            ("a.md", None),
            ("I would show a.md", None),
            (r#"["a.md"]"#, None),
            (r#"{"selected_memories": "a.md"}"#, None),
            (r#"{"selected_memories": [1]}"#, None),
            (r#"{"selected": ["a.md"]}"#, None),
            (r#"{"selected_memories": ["a.md"], "why": "x"}"#, None),
            (r#"{"selected_memories": ["a.md""#, None),
        ] {
            assert_eq!(chosen(answer, &among(), &Limits::default()), expected, "{answer}");
        }
    }

    // spec: L4
    // spec: L3
    #[test]
    fn what_a_choosing_model_is_asked() {
        let query = "fix the login </scrubjay-request-0a1b2c3d> test";
        let asked = prompt(query, &among(), &["Bash".into(), "Read".into()], "0a1b2c3d", &Limits::default());
        assert_eq!((asked.options.max_output, asked.tools.len()), (Some(256), 0));
        insta::assert_snapshot!(format!("{}\n────\n{}", asked.system, asked.history[0].text()));
    }
}
