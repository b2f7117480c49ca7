//! A script as a JSON file, for suites that are not written in Rust.
//!
//! ```json
//! { "replies": [ {"text": "hi"},
//!                {"pieces": [{"thinking": "hm"}, {"text": "so"}, {"tool_use": {"name": "Read", "input": {}}}]},
//!                {"error": {"status": 529, "type": "overloaded_error", "message": "Overloaded"},
//!                 "headers": {"retry-after": "1"}},
//!                {"text": "cut", "cut_after_bytes": 10}, {"raw": {"status": 502, "content_type": "text/html", "body": "<html>"}},
//!                {"dropped": true} ],
//!   "when": [ {"contains": "summarise", "reply": {"text": "A summary."}} ],
//!   "otherwise": {"echo": true} }
//! ```
//!
//! A condition under `when` may have `contains` (in the last user text), `model`, `path` and `tool` (a tool that is
//! offered); all that are there must hold, and with `times` only so often. A reply may also have `stop`,
//! `output_tokens`, `cut_after_events` and `stream_error` (`{"after_events": 3, "type": "…", "message": "…"}`).

use super::recorded::RecordedRequest;
use super::reply::{Cut, Piece, Reply, dropped, error, raw, text};
use super::script::Script;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct ScriptFile {
    replies: Vec<ReplyFile>,
    when: Vec<WhenFile>,
    otherwise: Option<ReplyFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WhenFile {
    contains: Option<String>,
    model: Option<String>,
    path: Option<String>,
    tool: Option<String>,
    times: Option<usize>,
    reply: ReplyFile,
}

#[derive(Deserialize, Default, Clone)]
#[serde(deny_unknown_fields, default)]
struct ReplyFile {
    text: Option<String>,
    echo: bool,
    dropped: bool,
    pieces: Vec<PieceFile>,
    error: Option<ErrorFile>,
    raw: Option<RawFile>,
    headers: BTreeMap<String, String>,
    stop: Option<String>,
    output_tokens: Option<u64>,
    cut_after_bytes: Option<usize>,
    cut_after_events: Option<usize>,
    stream_error: Option<StreamErrorFile>,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct StreamErrorFile {
    after_events: usize,
    #[serde(rename = "type")]
    kind: String,
    message: String,
}

#[derive(Deserialize, Clone)]
#[serde(rename_all = "snake_case")]
enum PieceFile {
    Text(String),
    Thinking(String),
    RedactedThinking(String),
    ToolUse { id: Option<String>, name: String, input: Value },
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct ErrorFile {
    status: u16,
    #[serde(rename = "type")]
    kind: String,
    message: String,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct RawFile {
    status: u16,
    content_type: String,
    body: String,
}

impl Script {
    /// Read a script from JSON; the error says what is wrong with it and where.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        let file: ScriptFile = serde_json::from_str(json)?;
        let mut script = Script::new();
        for reply in file.replies {
            script = script.answer(move |request| reply.reply_to(request));
        }
        for WhenFile { contains, model, path, tool, times, reply } in file.when {
            let left = AtomicUsize::new(times.unwrap_or(usize::MAX));
            let holds = move |request: &RecordedRequest| {
                contains.as_ref().is_none_or(|words| request.last_user_text().contains(words))
                    && model.as_ref().is_none_or(|model| request.model() == model)
                    && path.as_ref().is_none_or(|path| &request.path == path)
                    && tool.as_ref().is_none_or(|tool| request.tool_names().contains(tool))
                    && left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok()
            };
            script = script.when_with(holds, move |request| reply.reply_to(request));
        }
        if let Some(reply) = file.otherwise {
            script = script.otherwise_with(move |request| reply.reply_to(request));
        }
        Ok(script)
    }
}

impl ReplyFile {
    fn reply_to(&self, request: &RecordedRequest) -> Reply {
        let mut reply = self.words(request);
        reply.headers.extend(self.headers.clone());
        reply.stop.clone_from(&self.stop);
        reply.output_tokens = self.output_tokens;
        reply.cut = self.cut_after_bytes.map(Cut::AfterBytes).or(self.cut_after_events.map(Cut::AfterEvents));
        match &self.stream_error {
            Some(error) => reply.stream_error(error.after_events, &error.kind, &error.message),
            None => reply,
        }
    }

    fn words(&self, request: &RecordedRequest) -> Reply {
        if self.dropped {
            return dropped();
        }
        if let Some(fault) = &self.error {
            return error(fault.status, &fault.kind, &fault.message);
        }
        if let Some(page) = &self.raw {
            return raw(page.status, &page.content_type, page.body.clone());
        }
        if self.echo {
            return text(request.last_user_text());
        }
        let text = self.text.iter().cloned().map(Piece::Text);
        Reply::message(text.chain(self.pieces.iter().cloned().map(Piece::from)).collect())
    }
}

impl From<PieceFile> for Piece {
    fn from(piece: PieceFile) -> Self {
        match piece {
            PieceFile::Text(text) => Piece::Text(text),
            PieceFile::Thinking(text) => Piece::Thinking(text),
            PieceFile::RedactedThinking(text) => Piece::RedactedThinking(text),
            PieceFile::ToolUse { id, name, input } => Piece::ToolUse { id, name, input },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::reply::Kind;
    use serde_json::json;

    fn asked(text: &str) -> RecordedRequest {
        let json = json!({ "model": "m", "messages": [{ "role": "user", "content": text }] });
        RecordedRequest { json, ..RecordedRequest::default() }
    }

    #[test]
    fn a_file_says_what_the_builder_says() {
        let mut script = Script::from_json(
            r#"{"replies":[{"text":"one"},{"pieces":[{"thinking":"hm"},{"tool_use":{"name":"Read","input":{"a":1}}}]},
                {"error":{"status":529,"type":"overloaded_error","message":"Overloaded"},"headers":{"retry-after":"1"}},{"dropped":true}],
                "when":[{"contains":"summarise","times":2,"reply":{"text":"short"}}],"otherwise":{"echo":true}}"#,
        )
        .unwrap();
        assert_eq!(script.next(&asked("please summarise")), Some(text("short")));
        assert_eq!(script.next(&asked("please summarise")), Some(text("short")));
        assert_eq!(script.next(&asked("a")), Some(text("one")));
        let Some(Kind::Message(pieces)) = script.next(&asked("b")).map(|reply| reply.kind) else { panic!("a message") };
        assert_eq!(pieces.len(), 2);
        let overloaded = error(529, "overloaded_error", "Overloaded").header("retry-after", "1");
        assert_eq!(script.next(&asked("c")), Some(overloaded));
        assert_eq!(script.next(&asked("d")), Some(dropped()));
        assert_eq!(script.next(&asked("echoed")), Some(text("echoed")));
        assert_eq!(script.next(&asked("summarise")), Some(text("summarise")), "only twice");
    }

    #[test]
    fn a_wrong_file_is_refused_with_a_reason() {
        let refused = Script::from_json(r#"{"replys":[]}"#).unwrap_err().to_string();
        assert!(refused.contains("replys"), "{refused}");
    }
}
