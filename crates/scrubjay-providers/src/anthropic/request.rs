//! A request of the Messages dialect as exact bytes: the same prompt gives the same bytes, a longer one only adds.

use crate::fields::{Fields, quoted};
use scrubjay::message::{Block, Role};
use scrubjay::prompt::Prompt;
use scrubjay::prompt_cache::breakpoints::{Breakpoint, breakpoints};
use scrubjay::transcript::{Thinking, Ttl};

/// What a request's bytes depend on besides the prompt.
#[derive(Debug, Clone, Default)]
pub(crate) struct Manner {
    /// The name the request carries.
    pub(crate) model: String,
    /// The most the model writes at once.
    pub(crate) max_tokens: u64,
    /// Which `thinking` settings it takes.
    pub(crate) thinking: Vec<String>,
    /// Whether `system` may stand in the middle.
    pub(crate) system_messages: bool,
    /// Whether places are marked for the cache.
    pub(crate) marks: bool,
    /// Whether the service checks what is passed to a tool that asks for it.
    pub(crate) strict_tools: bool,
}

/// The body of a question.
pub(crate) fn body(prompt: &Prompt, manner: &Manner) -> String {
    let head = format!(r#"{{"model":{},"max_tokens":{},"stream":true"#, quoted(&manner.model), manner.max_tokens);
    written(head, prompt, manner)
}

/// The body of a request for the service's own summary: the prompt as it is, and what the summary should hold.
pub(crate) fn summary_body(prompt: &Prompt, manner: &Manner, instructions: &str) -> String {
    let head = format!(
        r#"{{"model":{},"max_tokens":{},"stream":true,"compaction":{{"type":"summarize","instructions":{}}}"#,
        quoted(&manner.model),
        manner.max_tokens,
        quoted(instructions)
    );
    written(head, prompt, manner)
}

/// The body of a request to count: the same prompt, without what only matters for a reply.
pub(crate) fn count_body(prompt: &Prompt, manner: &Manner) -> String {
    written(format!(r#"{{"model":{}"#, quoted(&manner.model)), prompt, manner)
}

/// What changes from request to request comes last: `messages` is the end of the body.
fn written(mut out: String, prompt: &Prompt, manner: &Manner) -> String {
    let marks = if manner.marks { breakpoints(prompt) } else { vec![] };
    let lifetimes = prompt.options.cache_ttl;
    let mark_at = |place: Breakpoint| {
        let ttl = match place {
            Breakpoint::Tools | Breakpoint::System => lifetimes.opening(),
            Breakpoint::Message { .. } => lifetimes.messages(),
        };
        marks.contains(&place).then(|| marker(ttl))
    };
    if let Some(thinking) = thinking(prompt.options.thinking, manner) {
        out.push_str(r#","thinking":"#);
        out.push_str(thinking);
    }
    if let Some(management) = &prompt.options.context_management {
        out.push_str(r#","context_management":"#);
        out.push_str(&management.to_string());
    }
    write_tools(&mut out, prompt, manner, mark_at(Breakpoint::Tools));
    if !prompt.system.is_empty() {
        let block = Block::text(&*prompt.system);
        out.push_str(r#","system":["#);
        write_block(&mut out, block.json(), mark_at(Breakpoint::System));
        out.push(']');
    }
    write_messages(&mut out, prompt, manner, mark_at);
    out.push('}');
    out
}

fn marker(ttl: Ttl) -> &'static str {
    match ttl {
        Ttl::FiveMinutes => r#""cache_control":{"type":"ephemeral"}"#,
        Ttl::OneHour => r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#,
    }
}

fn thinking(wanted: Thinking, manner: &Manner) -> Option<&'static str> {
    let (kind, json) = match wanted {
        Thinking::Default => return None,
        Thinking::Adaptive => ("adaptive", r#"{"type":"adaptive"}"#),
        Thinking::Off => ("disabled", r#"{"type":"disabled"}"#),
    };
    manner.thinking.iter().any(|known| known == kind).then_some(json)
}

fn write_tools(out: &mut String, prompt: &Prompt, manner: &Manner, mark: Option<&str>) {
    if prompt.tools.is_empty() {
        return;
    }
    out.push_str(r#","tools":["#);
    for (at, tool) in prompt.tools.iter().enumerate() {
        let json = format!(
            r#"{{"name":{},"description":{},"input_schema":{}{}}}"#,
            quoted(&tool.name),
            quoted(&tool.description),
            tool.input_schema.get(),
            if tool.strict && manner.strict_tools { r#","strict":true"# } else { "" }
        );
        separate(out, at);
        write_block(out, &json, mark.filter(|_| at + 1 == prompt.tools.len()));
    }
    out.push(']');
}

fn write_messages<'m>(
    out: &mut String,
    prompt: &Prompt,
    manner: &Manner,
    mark_at: impl Fn(Breakpoint) -> Option<&'m str>,
) {
    out.push_str(r#","messages":["#);
    let said = prompt.instructions.iter().chain(&prompt.history).enumerate().filter(|(_, m)| !m.blocks.is_empty());
    for (written, (index, message)) in said.enumerate() {
        separate(out, written);
        out.push_str(r#"{"role":""#);
        out.push_str(match message.role {
            Role::Assistant => "assistant",
            Role::System if manner.system_messages => "system",
            Role::User | Role::System => "user",
        });
        out.push_str(r#"","content":["#);
        for (block, content) in message.blocks.iter().enumerate() {
            separate(out, block);
            write_block(out, content.json(), mark_at(Breakpoint::Message { index, block }));
        }
        out.push_str("]}");
    }
    out.push(']');
}

fn separate(out: &mut String, at: usize) {
    if at > 0 {
        out.push(',');
    }
}

/// A block as it is, with the mark before its closing brace. A block that brought its own mark keeps that one.
fn write_block(out: &mut String, json: &str, mark: Option<&str>) {
    let open = json.strip_suffix('}').filter(|open| open.len() > 1);
    let marked_already = || Fields::read(json).is_none_or(|fields| fields.get("cache_control").is_some());
    match (open, mark) {
        (Some(open), Some(mark)) if !marked_already() => {
            out.push_str(open);
            out.push(',');
            out.push_str(mark);
            out.push('}');
        }
        _ => out.push_str(json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, said};
    use proptest::prelude::*;
    use scrubjay::transcript::Lifetimes;
    use serde_json::Value;

    fn manner() -> Manner {
        Manner {
            model: "claude-opus-5-5".into(),
            max_tokens: 32_000,
            thinking: vec!["adaptive".into()],
            system_messages: true,
            marks: true,
            strict_tools: true,
        }
    }

    // spec: H1
    #[test]
    fn the_bytes_of_a_request_are_these() {
        let mut prompt = samples::prompt(vec![
            said(Role::User, vec![Block::text("q")]),
            said(
                Role::Assistant,
                vec![
                    Block::from_value(&serde_json::json!({"type":"thinking","thinking":"","signature":"Eo=="})),
                    Block::tool_use("t1".into(), "Read", serde_json::json!({"z":1,"a":2})),
                ],
            ),
            said(Role::User, vec![samples::result("t1", "body")]),
        ]);
        prompt.options.thinking = Thinking::Adaptive;
        prompt.options.cache_ttl = Lifetimes::new(Ttl::OneHour, Ttl::FiveMinutes);
        let mark = r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#;
        let expected = format!(
            concat!(
                r#"{{"model":"claude-opus-5-5","max_tokens":32000,"stream":true,"thinking":{{"type":"adaptive"}},"#,
                r#""tools":[{{"name":"Read","description":"reads a file","input_schema":{{"type":"object"}},{m}}}],"#,
                r#""system":[{{"type":"text","text":"be brief",{m}}}],"#,
                r#""messages":[{{"role":"user","content":[{{"type":"text","text":"rules"}}]}},"#,
                r#"{{"role":"user","content":[{{"type":"text","text":"q",{s}}}]}},"#,
                r#"{{"role":"assistant","content":[{{"type":"thinking","thinking":"","signature":"Eo=="}},"#,
                r#"{{"type":"tool_use","id":"t1","name":"Read","input":{{"z":1,"a":2}}}}]}},"#,
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t1","content":[{{"type":"text","text":"body"}}],{s}}}]}}]}}"#,
            ),
            m = mark,
            s = r#""cache_control":{"type":"ephemeral"}"#
        );
        assert_eq!(body(&prompt, &manner()), expected);
        assert_eq!(body(&prompt, &manner()), body(&prompt.clone(), &manner()));
        assert!(!count_body(&prompt, &manner()).contains("max_tokens"));
        let asked = r#""compaction":{"type":"summarize","instructions":"say \"all\""},"#;
        let summary = summary_body(&prompt, &manner(), "say \"all\"");
        assert_eq!(summary.replacen(asked, "", 1), expected, "the same prompt, and what is wanted of it");
    }

    #[test]
    fn a_service_that_can_checks_what_a_strict_tool_is_passed() {
        let mut prompt = samples::prompt(vec![said(Role::User, vec![Block::text("q")])]);
        let lax = body(&prompt, &manner());
        prompt.tools = prompt.tools.iter().cloned().map(scrubjay::transcript::ToolSpec::strict).collect();
        let strict = body(&prompt, &manner());
        assert_eq!(strict.replacen(r#","strict":true"#, "", 1), lax);
        assert_ne!(strict, lax);
        assert_eq!(body(&prompt, &Manner { strict_tools: false, ..manner() }), lax);
    }

    #[test]
    fn what_a_model_does_not_take_is_not_sent() {
        let mut prompt =
            samples::prompt(vec![said(Role::User, vec![Block::text("q")]), said(Role::System, vec![Block::text("s")])]);
        prompt.options.thinking = Thinking::Off;
        let plain = Manner { marks: false, system_messages: false, ..manner() };
        let text = body(&prompt, &plain);
        assert!(!text.contains("cache_control") && !text.contains("thinking") && !text.contains(r#""role":"system""#));
    }

    #[test]
    fn odd_blocks_are_neither_marked_twice_nor_broken() {
        let own = r#"{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}"#;
        for json in [own, "[1,2]", "{}"] {
            let mut out = String::new();
            write_block(&mut out, json, Some(marker(Ttl::OneHour)));
            assert_eq!(out, json);
        }
    }

    fn without_marks(body: &str) -> String {
        body.replace(r#","cache_control":{"type":"ephemeral"}"#, "")
    }

    proptest! {
        // spec: H1
        // safety: F-61
        #[test]
        fn a_longer_conversation_only_adds_bytes(history in samples::conversation(), cut in any::<prop::sample::Index>()) {
            let earlier = samples::prompt(history[..cut.index(history.len() + 1)].to_vec());
            let later = samples::prompt(history.clone());
            let (first, second) = (body(&earlier, &manner()), body(&later, &manner()));
            prop_assert_eq!(&first, &body(&earlier, &manner()));
            let kept = without_marks(&first);
            let open = kept.strip_suffix("]}").unwrap();
            prop_assert!(without_marks(&second).starts_with(open));
            prop_assert!(second.matches(r#""cache_control""#).count() <= 4);
            let read: Value = serde_json::from_str(&second).unwrap();
            prop_assert!(read["messages"].is_array());
            for message in &history {
                for block in &message.blocks {
                    prop_assert!(without_marks(&second).contains(block.json()));
                }
            }
        }
    }
}
