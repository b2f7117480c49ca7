//! A request of the Chat Completions dialect: our blocks as its messages, deterministic to the byte.

use crate::fields::{Fields, quoted};
use scrubjay::message::{Block, Kind, Message, Role, ToolResult};
use scrubjay::prompt::Prompt;

const UNSEEN_PICTURE: &str = "[a picture that this model cannot be shown]";
const UNSEEN_DOCUMENT: &str = "[a document that this model cannot be shown]";

/// What a request's bytes depend on besides the prompt.
#[derive(Debug, Clone)]
pub(crate) struct Manner {
    /// The name the request carries.
    pub(crate) model: String,
    /// The most the model writes at once.
    pub(crate) max_tokens: u64,
    /// What the service calls that.
    pub(crate) max_tokens_name: &'static str,
    /// Whether pictures are passed on.
    pub(crate) images: bool,
    /// Whether the service checks what is passed to a tool that asks for it.
    pub(crate) strict_tools: bool,
}

/// One message of the dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Its exact JSON.
    pub(crate) json: String,
    /// The words in it that cost tokens.
    pub(crate) words: Vec<String>,
    /// It holds a picture, whose tokens cannot be counted here.
    pub(crate) has_picture: bool,
}

/// The body of a question; what grows comes last.
pub(crate) fn body(prompt: &Prompt, manner: &Manner) -> String {
    let mut out = format!(
        r#"{{"model":{},"{}":{},"stream":true,"stream_options":{{"include_usage":true}}"#,
        quoted(&manner.model),
        manner.max_tokens_name,
        manner.max_tokens
    );
    if !prompt.tools.is_empty() {
        out.push_str(r#","tools":["#);
        out.push_str(&tools(prompt, manner).join(","));
        out.push(']');
    }
    out.push_str(r#","messages":["#);
    out.push_str(&lines(prompt, manner).into_iter().map(|line| line.json).collect::<Vec<_>>().join(","));
    out.push_str("]}");
    out
}

/// The tools, each as its JSON.
pub(crate) fn tools(prompt: &Prompt, manner: &Manner) -> Vec<String> {
    let tool = |tool: &scrubjay::transcript::ToolSpec| {
        format!(
            r#"{{"type":"function","function":{{"name":{},"description":{},"parameters":{}{}}}}}"#,
            quoted(&tool.name),
            quoted(&tool.description),
            tool.input_schema.get(),
            if tool.strict && manner.strict_tools { r#","strict":true"# } else { "" }
        )
    };
    prompt.tools.iter().map(tool).collect()
}

/// All messages, in order. A message of ours becomes none, one or several of the dialect's, so that what was sent once is
/// sent the same way again. Only texts of the user's that follow each other are one message, because many local models want
/// the speakers to take turns: a reply always stands between what was sent and what is new.
pub(crate) fn lines(prompt: &Prompt, manner: &Manner) -> Vec<Line> {
    let mut lines = vec![];
    if !prompt.system.is_empty() {
        lines.push(spoken("system", prompt.system.to_string()));
    }
    for message in prompt.instructions.iter().chain(&prompt.history) {
        match message.role {
            Role::Assistant => lines.extend(assistant(message)),
            Role::User => {
                let from = lines.len();
                user(message, manner, &mut lines);
                join(&mut lines, from);
            }
            Role::System => lines.extend(Some(message.text()).filter(|t| !t.is_empty()).map(|t| spoken("system", t))),
        }
    }
    lines
}

/// Make one message of a user's text and the one before it.
fn join(lines: &mut Vec<Line>, from: usize) {
    if from > 0 && lines[from..].len() == 1 && lines[from - 1..].iter().all(Line::is_users_text) {
        let words: Vec<String> = lines.drain(from - 1..).flat_map(|line| line.words).collect();
        lines.push(spoken(USER, words.join("\n\n")));
    }
}

const USER: &str = "user";

impl Line {
    fn is_users_text(&self) -> bool {
        self.json.starts_with(r#"{"role":"user","content":""#)
    }
}

fn spoken(role: &str, text: String) -> Line {
    Line { json: format!(r#"{{"role":"{role}","content":{}}}"#, quoted(&text)), words: vec![text], has_picture: false }
}

/// Reasoning stays behind: this dialect has no place for it.
fn assistant(message: &Message) -> Option<Line> {
    let text = joined(&message.blocks);
    let mut words: Vec<String> = text.clone().into_iter().collect();
    let mut calls = vec![];
    for block in &message.blocks {
        let Kind::ToolUse(call) = block.kind() else { continue };
        let exact = Fields::read(block.json()).and_then(|fields| Some(fields.get("input")?.get().to_owned()));
        let arguments = exact.unwrap_or_else(|| call.input.to_string());
        calls.push(format!(
            r#"{{"id":{},"type":"function","function":{{"name":{},"arguments":{}}}}}"#,
            quoted(call.id.as_str()),
            quoted(&call.name),
            quoted(&arguments)
        ));
        words.extend([call.name.clone(), arguments]);
    }
    if words.is_empty() {
        return None;
    }
    let content = text.map_or_else(|| "null".to_owned(), |text| quoted(&text));
    let mut json = format!(r#"{{"role":"assistant","content":{content}"#);
    if !calls.is_empty() {
        json.push_str(&format!(r#","tool_calls":[{}]"#, calls.join(",")));
    }
    json.push('}');
    Some(Line { json, words, has_picture: false })
}

/// Results first, each as its own message: the dialect wants them right after the calls. Then what the person said, and
/// the pictures that results brought, which only a user message may hold.
fn user(message: &Message, manner: &Manner, lines: &mut Vec<Line>) {
    let mut rest: Vec<&Block> = vec![];
    let results: Vec<&ToolResult> = message.tool_results().collect();
    for result in &results {
        lines.push(answered(result));
        rest.extend(result.parts.iter().filter(|part| matches!(part.kind(), Kind::Image)));
    }
    rest.extend(message.blocks.iter().filter(|block| !matches!(block.kind(), Kind::ToolResult(_))));
    lines.extend(person(&rest, manner));
}

fn answered(result: &ToolResult) -> Line {
    let text = result.text();
    let text = if result.is_error { format!("Error: {text}") } else { text };
    let json =
        format!(r#"{{"role":"tool","tool_call_id":{},"content":{}}}"#, quoted(result.call.as_str()), quoted(&text));
    Line { json, words: vec![text], has_picture: false }
}

fn person(blocks: &[&Block], manner: &Manner) -> Option<Line> {
    let url = |block: &Block| manner.images.then(|| picture_url(block)).flatten();
    let text = |block: &Block| match block.kind() {
        Kind::Text(text) if !text.is_empty() => Some(text.clone()),
        Kind::Image => Some(UNSEEN_PICTURE.to_owned()),
        Kind::Document => Some(UNSEEN_DOCUMENT.to_owned()),
        _ => None,
    };
    let has_picture = blocks.iter().any(|block| url(block).is_some());
    if !has_picture {
        let words: Vec<String> = blocks.iter().filter_map(|block| text(block)).collect();
        return (!words.is_empty()).then(|| spoken(USER, words.join("\n\n")));
    }
    let mut words = vec![];
    let mut parts = vec![];
    for block in blocks {
        if let Some(url) = url(block) {
            parts.push(format!(r#"{{"type":"image_url","image_url":{{"url":{}}}}}"#, quoted(&url)));
        } else if let Some(text) = text(block) {
            parts.push(format!(r#"{{"type":"text","text":{}}}"#, quoted(&text)));
            words.push(text);
        }
    }
    Some(Line { json: format!(r#"{{"role":"user","content":[{}]}}"#, parts.join(",")), words, has_picture })
}

fn picture_url(block: &Block) -> Option<String> {
    if !matches!(block.kind(), Kind::Image) {
        return None;
    }
    let source = Fields::read(Fields::read(block.json())?.get("source")?.get())?;
    match source.text("type")?.as_str() {
        "base64" => Some(format!("data:{};base64,{}", source.text("media_type")?, source.text("data")?)),
        "url" => source.text("url"),
        _ => None,
    }
}

fn joined(blocks: &[Block]) -> Option<String> {
    let texts: Vec<&str> = blocks.iter().filter_map(Block::as_text).filter(|text| !text.is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, said};
    use proptest::prelude::*;
    use serde_json::json;

    fn manner() -> Manner {
        Manner { model: "m".into(), max_tokens: 9, max_tokens_name: "max_tokens", images: true, strict_tools: true }
    }

    // spec: H1
    #[test]
    fn the_bytes_of_a_request_are_these() {
        let shot = Block::tool_result(ToolResult {
            call: "t2".into(),
            parts: vec![Block::text("boom"), Block::image("image/png", "QUJD")],
            is_error: true,
        });
        let prompt = samples::prompt(vec![
            said(Role::User, vec![Block::text("look"), Block::image("image/png", "QQ==")]),
            said(
                Role::Assistant,
                vec![
                    Block::from_value(&json!({"type":"thinking","thinking":"secret","signature":"E"})),
                    Block::text("I read"),
                    Block::from_raw(
                        crate::fields::raw(
                            r#"{"type":"tool_use","id":"t1","name":"Read","input":{"z":1.50,"a":2}}"#.into(),
                        )
                        .unwrap(),
                    ),
                    Block::tool_use("t2".into(), "Read", json!({})),
                ],
            ),
            said(Role::User, vec![samples::result("t1", "body"), shot, Block::text("and?")]),
            said(Role::Assistant, vec![Block::from_value(&json!({"type":"thinking","thinking":"only"}))]),
        ]);
        let expected = concat!(
            r#"{"model":"m","max_tokens":9,"stream":true,"stream_options":{"include_usage":true},"#,
            r#""tools":[{"type":"function","function":{"name":"Read","description":"reads a file","parameters":{"type":"object"}}}],"#,
            r#""messages":[{"role":"system","content":"be brief"},{"role":"user","content":"rules"},"#,
            r#"{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,QQ=="}}]},"#,
            r#"{"role":"assistant","content":"I read","tool_calls":[{"id":"t1","type":"function","function":{"name":"Read","arguments":"{\"z\":1.50,\"a\":2}"}},"#,
            r#"{"id":"t2","type":"function","function":{"name":"Read","arguments":"{}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"t1","content":"body"},{"role":"tool","tool_call_id":"t2","content":"Error: boom"},"#,
            r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}},{"type":"text","text":"and?"}]}]}"#,
        );
        assert_eq!(body(&prompt, &manner()), expected);
        let blind = body(&prompt, &Manner { images: false, ..manner() });
        assert!(blind.contains("cannot be shown") && !blind.contains("image_url") && !blind.contains("secret"));
    }

    #[test]
    fn a_service_that_can_checks_what_a_strict_tool_is_passed() {
        let mut prompt = samples::prompt(vec![said(Role::User, vec![Block::text("q")])]);
        let lax = body(&prompt, &manner());
        prompt.tools = prompt.tools.iter().cloned().map(scrubjay::transcript::ToolSpec::strict).collect();
        let strict = body(&prompt, &manner());
        assert_eq!(
            strict.replacen(r#""parameters":{"type":"object"},"strict":true"#, r#""parameters":{"type":"object"}"#, 1),
            lax
        );
        assert_ne!(strict, lax);
        assert_eq!(body(&prompt, &Manner { strict_tools: false, ..manner() }), lax);
    }

    proptest! {
        // spec: H1
        #[test]
        fn a_longer_conversation_only_adds_bytes(history in samples::conversation(), cut in any::<prop::sample::Index>()) {
            let cut = cut.index(history.len() + 1);
            let answered = history.get(cut).is_none_or(|next| next.role == Role::Assistant);
            let earlier = body(&samples::prompt(history[..cut].to_vec()), &manner());
            let later = body(&samples::prompt(history), &manner());
            let open = earlier.strip_suffix("]}").unwrap();
            // Where no reply stands between, a text of the user's grows at its end.
            let open = if answered { open } else { open.trim_end_matches(['"', '}']) };
            prop_assert!(later.starts_with(open));
            let read: serde_json::Value = serde_json::from_str(&later).unwrap();
            let roles: Vec<&str> = read["messages"].as_array().unwrap().iter().map(|it| it["role"].as_str().unwrap()).collect();
            prop_assert!(roles.windows(2).all(|pair| pair[0] == "tool" || pair[0] != pair[1]), "{:?}", roles);
        }
    }
}
