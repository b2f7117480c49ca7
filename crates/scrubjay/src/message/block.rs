//! A content block: the exact JSON that was said, and what it means to us.

use super::{ToolCallId, raw};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::io::{self, Write as _};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// One content block. Its JSON is kept byte for byte, unknown kinds and unknown fields included, so that a request made
/// from it tomorrow has the same bytes as the one made today.
#[derive(Clone)]
pub struct Block {
    raw: Raw,
    kind: Kind,
}

/// The JSON of a block, held once: what is part of another block is a stretch of that one's.
#[derive(Clone)]
enum Raw {
    /// Its own.
    Own(Arc<RawValue>),
    /// These bytes of another block's.
    Part(Arc<RawValue>, Range<usize>),
    /// Exactly what would be made of what it means, and made when it is asked for: most of a long session never is.
    Made(OnceLock<Box<RawValue>>),
}

/// What a block is, as far as the engine needs to know.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Prose.
    Text(String),
    /// A picture.
    Image,
    /// A document.
    Document,
    /// The model's reasoning, readable or not. Never changed, never moved.
    Thinking(String),
    /// The model calls a tool.
    ToolUse(ToolUse),
    /// A tool answers.
    ToolResult(ToolResult),
    /// The provider's own summary of everything before it, signed: sent back as it came, and first.
    Summary(String),
    /// Something this version does not know: passed on as it came.
    Other(String),
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    /// The name the answer must carry.
    pub id: ToolCallId,
    /// Which tool.
    pub name: String,
    /// With what.
    pub input: Value,
}

/// The answer of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// Which call it answers.
    pub call: ToolCallId,
    /// What it says: text, pictures.
    pub parts: Vec<Block>,
    /// Whether the tool failed.
    pub is_error: bool,
}

impl ToolResult {
    /// The result's text parts, joined by line breaks.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n")
    }
}

impl Block {
    /// Prose.
    pub fn text(text: impl Into<String>) -> Self {
        Self { raw: Raw::Made(OnceLock::new()), kind: Kind::Text(text.into()) }
    }

    /// A picture, as base64.
    pub fn image(media_type: &str, base64: &str) -> Self {
        Self::made(
            json!({ "type": "image", "source": { "type": "base64", "media_type": media_type, "data": base64 } }),
            Kind::Image,
        )
    }

    /// A call of a tool.
    pub fn tool_use(id: ToolCallId, name: impl Into<String>, input: Value) -> Self {
        let name = name.into();
        Self::made(
            json!({ "type": "tool_use", "id": id.as_str(), "name": name, "input": input }),
            Kind::ToolUse(ToolUse { id, name, input }),
        )
    }

    /// The answer of a tool.
    pub fn tool_result(result: ToolResult) -> Self {
        let value = value_of(&Kind::ToolResult(result.clone()));
        Self::made(value, Kind::ToolResult(result))
    }

    /// Any block, as a provider sent it.
    pub fn from_raw(raw: Box<RawValue>) -> Self {
        Self::understood(raw::compact(raw))
    }

    /// JSON that is known to be on one line.
    fn understood(raw: Box<RawValue>) -> Self {
        let raw: Arc<RawValue> = Arc::from(raw);
        let kind = understand(&raw, 0..raw.get().len());
        let raw = if is_as_made(raw.get(), &kind) { Raw::Made(OnceLock::new()) } else { Raw::Own(raw) };
        Self { raw, kind }
    }

    /// Any block, from a JSON value.
    pub fn from_value(value: &Value) -> Self {
        Self::from_raw(as_raw(value))
    }

    fn made(value: Value, kind: Kind) -> Self {
        Self { raw: Raw::Own(Arc::from(raw::compact(as_raw(&value)))), kind }
    }

    /// The block's exact JSON.
    pub fn json(&self) -> &str {
        match &self.raw {
            Raw::Own(own) => own.get(),
            Raw::Part(of, at) => &of.get()[at.clone()],
            Raw::Made(made) => made.get_or_init(|| made_of(&self.kind)).get(),
        }
    }

    /// What the block is.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Its prose, if it is prose or a summary.
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) | Kind::Summary(text) => Some(text),
            _ => None,
        }
    }

    /// Whether a provider lets this block carry a cache marker.
    pub fn is_cacheable(&self) -> bool {
        match &self.kind {
            Kind::Text(text) => !text.is_empty(),
            Kind::Thinking(_) | Kind::Other(_) => false,
            Kind::Image | Kind::Document | Kind::ToolUse(_) | Kind::ToolResult(_) | Kind::Summary(_) => true,
        }
    }
}

/// The JSON that we make of prose and of a result.
fn value_of(kind: &Kind) -> Value {
    match kind {
        Kind::Text(text) => json!({ "type": "text", "text": text }),
        Kind::ToolResult(result) => {
            let mut value =
                json!({ "type": "tool_result", "tool_use_id": result.call.as_str(), "content": result.parts });
            if result.is_error {
                value["is_error"] = Value::Bool(true);
            }
            value
        }
        _ => Value::Null,
    }
}

fn made_of(kind: &Kind) -> Box<RawValue> {
    raw::compact(as_raw(&value_of(kind)))
}

/// Whether [`made_of`] gives these very bytes. They are compared while they are written, and held nowhere.
fn is_as_made(json: &str, kind: &Kind) -> bool {
    let mut same = Same(json.as_bytes());
    let written = match kind {
        Kind::Text(text) => same.prose(text),
        Kind::ToolResult(result) => same.result(result),
        _ => return false,
    };
    written.is_ok() && same.0.is_empty()
}

/// Takes only the bytes it expects.
struct Same<'j>(&'j [u8]);

impl Same<'_> {
    fn prose(&mut self, text: &str) -> io::Result<()> {
        self.write_all(br#"{"type":"text","text":"#)?;
        serde_json::to_writer(&mut *self, text)?;
        self.write_all(b"}")
    }

    fn result(&mut self, result: &ToolResult) -> io::Result<()> {
        self.write_all(br#"{"type":"tool_result","tool_use_id":"#)?;
        serde_json::to_writer(&mut *self, result.call.as_str())?;
        self.write_all(br#","content":["#)?;
        for (at, part) in result.parts.iter().enumerate() {
            let (Raw::Made(_), Kind::Text(text)) = (&part.raw, &part.kind) else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            self.write_all(if at > 0 { b"," } else { b"" })?;
            self.prose(text)?;
        }
        self.write_all(if result.is_error { br#"],"is_error":true}"# } else { b"]}" })
    }
}

impl io::Write for Same<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.strip_prefix(bytes).ok_or(io::ErrorKind::InvalidData)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A `Value` always has a JSON text: its keys are strings and its numbers finite.
fn as_raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[derive(Deserialize)]
struct Known<'j> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    input: Option<Value>,
    #[serde(default)]
    tool_use_id: Option<String>,
    #[serde(default, borrow)]
    content: Option<&'j RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
}

/// Read what we know of a block. A block that does not look as its type promises is `Other`: kept, never an error.
fn understand(whole: &Arc<RawValue>, at: Range<usize>) -> Kind {
    let Ok(known) = serde_json::from_str::<Known<'_>>(&whole.get()[at]) else {
        return Kind::Other("unreadable".to_owned());
    };
    let kind = known.kind.clone();
    match (kind.as_str(), known) {
        ("text", Known { text: Some(text), .. }) => Kind::Text(text),
        ("image", _) => Kind::Image,
        ("document", _) => Kind::Document,
        ("thinking" | "redacted_thinking", known) => Kind::Thinking(known.thinking.unwrap_or_default()),
        ("tool_use", Known { id: Some(id), name: Some(name), input, .. }) => {
            Kind::ToolUse(ToolUse { id: ToolCallId::new(id), name, input: input.unwrap_or_else(|| json!({})) })
        }
        ("tool_result", Known { tool_use_id: Some(call), content, is_error, .. }) => Kind::ToolResult(ToolResult {
            call: ToolCallId::new(call),
            parts: content.map(|content| parts(whole, content)).unwrap_or_default(),
            is_error: is_error.unwrap_or(false),
        }),
        ("compaction", Known { content: Some(content), .. }) => match serde_json::from_str(content.get()) {
            Ok(Some(summary)) => Kind::Summary(summary),
            _ => Kind::Other(kind),
        },
        (kind, _) => Kind::Other(kind.to_owned()),
    }
}

/// A result's content is a string or a list of blocks.
fn parts(whole: &Arc<RawValue>, content: &RawValue) -> Vec<Block> {
    match serde_json::from_str::<String>(content.get()) {
        Ok(text) => vec![Block::text(text)],
        // Part of a block that is on one line already.
        Err(_) => {
            let parts: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
            let part = |part: &RawValue| {
                let start = part.get().as_ptr().addr() - whole.get().as_ptr().addr();
                let at = start..start + part.get().len();
                let kind = understand(whole, at.clone());
                let made = is_as_made(part.get(), &kind);
                Block { raw: if made { Raw::Made(OnceLock::new()) } else { Raw::Part(Arc::clone(whole), at) }, kind }
            };
            parts.into_iter().map(part).collect()
        }
    }
}

impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        self.json() == other.json()
    }
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.json())
    }
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.raw {
            Raw::Own(own) => own.serialize(serializer),
            Raw::Part(..) => {
                let json: &RawValue = serde_json::from_str(self.json()).map_err(serde::ser::Error::custom)?;
                json.serialize(serializer)
            }
            Raw::Made(made) => match made.get() {
                Some(made) => made.serialize(serializer),
                None => made_of(&self.kind).serialize(serializer),
            },
        }
    }
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_raw(Box::<RawValue>::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(json: &str) -> Block {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn unknown_blocks_and_fields_come_back_byte_for_byte() {
        for json in [
            r#"{"type":"hologram","z":1.0,"a":[1e3,{"q":"\u00e9"}]}"#,
            r#"{"caller":{"type":"direct"},"type":"tool_use","id":"t1","name":"Read","input":{"b":1,"a":2},"new":null}"#,
            r#"{"type":"thinking","thinking":"","signature":"Eos=="}"#,
            r#"{"type":"tool_result","tool_use_id":"t1","content":"plain","toolset_name":"x"}"#,
            r#"{"no_type":true}"#,
            r#"[1,2]"#,
        ] {
            assert_eq!(serde_json::to_string(&block(json)).unwrap(), json);
        }
    }

    #[test]
    fn meaning_is_read_leniently() {
        let Kind::ToolResult(result) =
            block(r#"{"type":"tool_result","tool_use_id":"t","content":"hi"}"#).kind().clone()
        else {
            panic!("a result")
        };
        assert_eq!((result.text().as_str(), result.is_error), ("hi", false));
        assert_eq!(block(r#"{"type":"text"}"#).kind(), &Kind::Other("text".into()));
        assert_eq!(block(r#"{"type":"text","text":7}"#).kind(), &Kind::Other("unreadable".into()));
    }

    #[test]
    fn parts_of_a_result_have_their_own_json() {
        let parts = r#"[{"type":"text","text":"a\u00e9\n","x":1},{"type":"tool_result","tool_use_id":"u","content":[{"type":"text","text":"deep"}]}]"#;
        let Kind::ToolResult(result) =
            block(&format!(r#"{{"type":"tool_result","tool_use_id":"t","content":{parts}}}"#)).kind().clone()
        else {
            panic!("a result")
        };
        assert_eq!(serde_json::to_string(&result.parts).unwrap(), parts);
        assert_eq!(result.parts[0].as_text(), Some("aé\n"));
        let Kind::ToolResult(inner) = result.parts[1].kind() else { panic!("a result") };
        assert_eq!(inner.parts[0], Block::text("deep"));
        let Kind::ToolResult(plain) =
            block(r#"{"type":"tool_result","tool_use_id":"t","content":"a\u2028b"}"#).kind().clone()
        else {
            panic!("a result")
        };
        assert_eq!(serde_json::to_string(&plain.parts).unwrap(), r#"[{"type":"text","text":"a\u2028b"}]"#);
    }

    #[test]
    fn json_that_we_would_make_ourselves_is_not_held() {
        for (json, made) in [
            (r#"{"type":"text","text":"a\n\"é\u0001"}"#, true),
            (r#"{"type":"text","text":"a\u00e9"}"#, false),
            (r#"{"type":"text","text":"a\/b"}"#, false),
            (r#"{"type":"text","text":"a\u2028b"}"#, false),
            (r#"{"text":"a","type":"text"}"#, false),
            (r#"{"type":"text","text":"a","x":1}"#, false),
            (
                r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
                true,
            ),
            (r#"{"type":"tool_result","tool_use_id":"t","content":[],"is_error":true}"#, true),
            (r#"{"type":"tool_result","tool_use_id":"t","content":[],"is_error":false}"#, false),
            (r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a\u00e9"}]}"#, false),
            (r#"{"type":"tool_result","tool_use_id":"t","content":"a"}"#, false),
        ] {
            let block = block(json);
            assert_eq!(matches!(block.raw, Raw::Made(_)), made, "{json}");
            assert_eq!((serde_json::to_string(&block).unwrap().as_str(), block.json()), (json, json));
        }
    }

    #[test]
    fn made_blocks_mean_what_they_say() {
        let made = Block::tool_result(ToolResult {
            call: "t1".into(),
            parts: vec![Block::text("a\u{2028}b")],
            is_error: true,
        });
        assert_eq!(block(made.json()).kind(), made.kind());
        assert!(!made.json().contains('\u{2028}'));
    }
}
