//! A reply of the Chat Completions dialect, assembled from its chunks; servers differ, so little is demanded of them.

use crate::exchange::{Assembly, Broken, Progress, Trouble};
use crate::refusal::Said;
use crate::retry::Teller;
use scrubjay::digest::Digest;
use scrubjay::message::{Block, StopReason, ToolCallId, Usage};
use scrubjay::model::{Delta, Reply};
use serde::Deserialize;
use serde_json::Value;
use sse_stream::Sse;

/// More calls than any reply makes: a stream that announces more is not a reply.
const MOST_CALLS: usize = 10_000;

/// The reply so far.
#[derive(Debug)]
pub(crate) struct Assembling {
    model: String,
    id: Option<String>,
    /// Distinguishes calls that came without a name of their own.
    seed: Digest,
    text: String,
    calls: Vec<Call>,
    finish: Option<String>,
    is_over: bool,
    counted: Counted,
}

#[derive(Debug)]
struct Call {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct Counted {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct Details {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

impl Counted {
    /// The dialect counts cached input inside the total; ours are separate.
    fn usage(&self) -> Usage {
        let total = self.prompt_tokens.unwrap_or(0);
        let details = self.prompt_tokens_details.unwrap_or_default();
        let cache_read = details.cached_tokens.unwrap_or(0).min(total);
        let cache_write_5m = details.cache_write_tokens.unwrap_or(0).min(total - cache_read);
        Usage {
            input: total - cache_read - cache_write_5m,
            cache_read,
            cache_write_5m,
            cache_write_1h: 0,
            output: self.completion_tokens.unwrap_or(0),
        }
    }
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<Counted>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    delta: Option<Piece>,
    #[serde(default)]
    message: Option<Piece>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Piece {
    content: Option<Value>,
    reasoning_content: Option<Value>,
    reasoning: Option<Value>,
    refusal: Option<Value>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Deserialize)]
struct CallPiece {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<FunctionPiece>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<Value>,
}

impl Assembling {
    /// Nothing has come yet. The request's bytes tell calls of different replies apart.
    pub(crate) fn new(model: &str, request: &str) -> Self {
        Self {
            model: model.to_owned(),
            id: None,
            seed: Digest::of(request.as_bytes()),
            text: String::new(),
            calls: vec![],
            finish: None,
            is_over: false,
            counted: Counted::default(),
        }
    }

    fn chunk(&mut self, chunk: Chunk, teller: &mut Teller<'_>) -> Result<(), Trouble> {
        self.id = chunk.id.or(self.id.take());
        if let Some(model) = chunk.model.filter(|model| !model.is_empty()) {
            self.model = model;
        }
        if let Some(usage) = chunk.usage {
            self.counted = usage;
        }
        for choice in chunk.choices.unwrap_or_default() {
            // Only one answer was asked for.
            if choice.index.unwrap_or(0) == 0 {
                self.piece(choice.delta.or(choice.message).unwrap_or_default(), teller)?;
                self.finish = choice.finish_reason.or(self.finish.take());
            }
        }
        Ok(())
    }

    fn piece(&mut self, piece: Piece, teller: &mut Teller<'_>) -> Result<(), Trouble> {
        // Some servers say it under both names.
        if let Some(thought) = words(piece.reasoning_content).or_else(|| words(piece.reasoning)) {
            teller.show(Delta::Thinking(thought));
        }
        for text in [words(piece.content), words(piece.refusal)].into_iter().flatten() {
            self.text.push_str(&text);
            teller.show(Delta::Text(text));
        }
        piece.tool_calls.unwrap_or_default().into_iter().try_for_each(|call| self.call(call, teller))
    }

    fn call(&mut self, piece: CallPiece, teller: &mut Teller<'_>) -> Result<(), Trouble> {
        let id = piece.id.filter(|id| !id.is_empty());
        let function = piece.function.unwrap_or_default();
        let name = function.name.filter(|name| !name.is_empty());
        let at = self.place(piece.index, id.as_deref(), name.as_deref());
        if at.is_none() {
            if self.calls.len() >= MOST_CALLS {
                return Err(Trouble::Malformed("too many tool calls".to_owned()));
            }
            teller.show(Delta::ToolUse { name: name.clone().unwrap_or_default() });
            self.calls.push(Call { index: piece.index, id: None, name: String::new(), arguments: String::new() });
        }
        let last = self.calls.len().saturating_sub(1);
        let Some(call) = self.calls.get_mut(at.unwrap_or(last)) else { return Ok(()) };
        call.id = call.id.take().or(id);
        if call.name.is_empty() {
            call.name = name.unwrap_or_default();
        }
        match function.arguments {
            Some(Value::String(text)) => call.arguments.push_str(&text),
            None | Some(Value::Null) => {}
            Some(whole) => call.arguments = whole.to_string(),
        }
        Ok(())
    }

    /// Which call a piece belongs to: by its index; without one, by its id; without either, the last one, unless it
    /// names a tool and so begins another.
    fn place(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        match (index, id) {
            (Some(_), _) => self.calls.iter().position(|call| call.index == index),
            (None, Some(id)) => self.calls.iter().position(|call| call.id.as_deref() == Some(id)),
            (None, None) if name.is_some() => None,
            (None, None) => self.calls.len().checked_sub(1),
        }
    }

    fn tool_use(&self, at: usize, call: &Call) -> Result<Block, String> {
        let arguments = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
        let input = serde_json::from_str::<Value>(arguments)
            .ok()
            .filter(Value::is_object)
            .ok_or_else(|| format!("the input of its call of {} is not a JSON object", call.name))?;
        let id = call.id.clone().unwrap_or_else(|| format!("call_{}_{at}", self.seed.as_str()));
        Ok(Block::tool_use(ToolCallId::new(id), call.name.clone(), input))
    }

    fn prose(&self) -> Vec<Block> {
        if self.text.is_empty() { vec![] } else { vec![Block::text(self.text.clone())] }
    }
}

/// Words as a string, or as a list of parts that hold some.
fn words(value: Option<Value>) -> Option<String> {
    let text = match value? {
        Value::String(text) => text,
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => String::new(),
    };
    (!text.is_empty()).then_some(text)
}

impl Assembly for Assembling {
    fn take(&mut self, sse: &Sse, teller: &mut Teller<'_>) -> Result<Progress, Trouble> {
        let Some(data) = sse.data.as_deref().map(str::trim).filter(|data| !data.is_empty()) else {
            return Ok(Progress::More);
        };
        if data == "[DONE]" {
            self.is_over = true;
            return Ok(Progress::Done);
        }
        let chunk = serde_json::from_str::<Chunk>(data)
            .map_err(|error| Trouble::Malformed(format!("an event that is not JSON as expected ({error})")))?;
        if chunk.error.as_ref().is_some_and(|error| !error.is_null()) || sse.event.as_deref() == Some("error") {
            return Err(Trouble::Reported(Said::read(data)));
        }
        self.chunk(chunk, teller)?;
        Ok(Progress::More)
    }

    fn take_whole(&mut self, body: &str, teller: &mut Teller<'_>) -> Result<(), Trouble> {
        let chunk = serde_json::from_str::<Chunk>(body).map_err(|_| Trouble::Malformed("something".to_owned()))?;
        if chunk.error.as_ref().is_some_and(|error| !error.is_null()) {
            return Err(Trouble::Reported(Said::read(body)));
        }
        if chunk.choices.as_ref().is_none_or(Vec::is_empty) {
            return Err(Trouble::Malformed("JSON that holds no choice".to_owned()));
        }
        self.chunk(chunk, teller)?;
        self.is_over = true;
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.is_over || self.finish.is_some()
    }

    fn finish(self) -> Result<Reply, Broken> {
        let ran_out = self.finish.as_deref() == Some("length");
        let mut blocks = self.prose();
        let mut because = None;
        for (at, call) in self.calls.iter().enumerate() {
            match self.tool_use(at, call) {
                Ok(block) => blocks.push(block),
                Err(_) if ran_out => {}
                Err(error) => because = Some(error),
            }
        }
        let usage = self.counted.usage();
        if let Some(because) = because {
            return Err(Broken { partial: self.prose(), usage, because });
        }
        let stop = match self.finish.as_deref() {
            Some("length") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            // Some servers say `stop` although they call tools.
            None | Some("stop" | "tool_calls" | "function_call") if self.calls.is_empty() => StopReason::EndTurn,
            None | Some("stop" | "tool_calls" | "function_call") => StopReason::ToolUse,
            Some(other) => StopReason::Other(other.to_owned()),
        };
        Ok(Reply { blocks, usage, stop, model: self.model, request_id: self.id, cleared: 0 })
    }

    fn partial(self) -> (Vec<Block>, Usage) {
        (self.prose(), self.counted.usage())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(events: &[&str]) -> (Assembling, Vec<Delta>, Option<Trouble>) {
        let mut told = vec![];
        let mut on = |delta| told.push(delta);
        let mut teller = Teller::new(&mut on);
        let mut assembly = Assembling::new("asked-for", "the request");
        let trouble = events.iter().find_map(|data| {
            assembly.take(&Sse { data: Some((*data).to_owned()), ..Sse::default() }, &mut teller).err()
        });
        (assembly, told, trouble)
    }

    fn calls(events: &[&str]) -> Vec<(String, String, String)> {
        let (assembly, _, trouble) = read(events);
        assert!(trouble.is_none(), "{trouble:?}");
        let reply = assembly.finish().unwrap();
        assert_eq!(reply.stop, StopReason::ToolUse);
        let message = crate::samples::said(scrubjay::message::Role::Assistant, reply.blocks);
        message.tool_uses().map(|call| (call.id.to_string(), call.name.clone(), call.input.to_string())).collect()
    }

    fn piece(json: &str) -> String {
        format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{json}]}}}}]}}"#)
    }

    #[test]
    fn calls_are_put_together_however_a_server_names_them() {
        let owned = |events: &[&str]| -> Vec<(String, String, String)> {
            let mut all: Vec<String> = events.iter().map(|json| piece(json)).collect();
            all.push(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#.into());
            calls(&all.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let by_index = owned(&[
            r#"{"index":0,"id":"a","function":{"name":"f","arguments":""}}"#,
            r#"{"index":1,"id":"b","function":{"name":"g","arguments":"{\"x\":"}}"#,
            r#"{"index":0,"function":{"arguments":"{}"}}"#,
            r#"{"index":1,"function":{"arguments":"1}"}}"#,
        ]);
        assert_eq!(by_index, [("a".into(), "f".into(), "{}".into()), ("b".into(), "g".into(), r#"{"x":1}"#.into())]);
        let by_id = owned(&[
            r#"{"id":"a","function":{"name":"f","arguments":"{}"}}"#,
            r#"{"id":"b","function":{"name":"f","arguments":{"y":2}}}"#,
        ]);
        assert_eq!(by_id[1], ("b".into(), "f".into(), r#"{"y":2}"#.into()));
        let nameless =
            [r#"{"function":{"name":"f","arguments":"{}"}}"#, r#"{"function":{"name":"f","arguments":"{}"}}"#];
        let (first, again) = (owned(&nameless), owned(&nameless));
        assert_eq!(first, again, "made-up ids are stable");
        assert_ne!(first[0].0, first[1].0);
    }

    #[test]
    fn usage_is_taken_apart() {
        let (assembly, told, _) = read(&[
            r#"{"id":"c1","model":"gpt","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":"hm","reasoning":"hm"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"h"},{"type":"text","text":"i"}],"reasoning":{}}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":10}}}"#,
            "[DONE]",
        ]);
        assert_eq!(told, [Delta::Thinking("hm".into()), Delta::Text("hi".into())]);
        let reply = assembly.finish().unwrap();
        assert_eq!(reply.usage, Usage { input: 30, cache_read: 60, cache_write_5m: 10, cache_write_1h: 0, output: 5 });
        assert_eq!(
            (reply.blocks, reply.stop, reply.model.as_str()),
            (vec![Block::text("hi")], StopReason::EndTurn, "gpt")
        );
    }

    // spec: Q2
    #[test]
    fn half_a_reply_is_prose_at_most() {
        let (assembly, _, _) = read(&[
            r#"{"choices":[{"index":0,"delta":{"content":"so far"}}]}"#,
            &piece(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}"#),
        ]);
        assert!(!assembly.is_whole());
        assert_eq!(assembly.partial().0, vec![Block::text("so far")]);
    }

    #[test]
    fn bad_arguments_and_errors_are_told() {
        let bad = piece(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"[1]"}}"#);
        assert!(read(&[&bad]).0.finish().unwrap_err().because.contains("call of f"));
        let error = r#"{"error":{"message":"boom","type":"server_error"}}"#;
        assert!(
            matches!(read(&[error]).2, Some(Trouble::Reported(said)) if said.message == "boom" && said.is_transient())
        );
        assert!(matches!(read(&["<p>"]).2, Some(Trouble::Malformed(_))));
    }

    fn any_event() -> impl Strategy<Value = String> {
        let pieces = [
            r#""content":"a""#,
            r#""content":null,"reasoning":"hm""#,
            r#""refusal":"b""#,
            r#""tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}]"#,
            r#""tool_calls":[{"function":{"arguments":"}"}}]"#,
            r#""tool_calls":[{"id":"y"},{"index":9}]"#,
            r#""tool_calls":null"#,
        ];
        let ends = ["null", r#""stop""#, r#""length""#, r#""odd""#];
        (prop::sample::select(pieces.to_vec()), prop::sample::select(ends.to_vec()), 0..2u64).prop_map(
            |(piece, end, index)| {
                format!(r#"{{"choices":[{{"index":{index},"delta":{{{piece}}},"finish_reason":{end}}}]}}"#)
            },
        )
    }

    proptest! {
        // safety: F-64
        #[test]
        fn any_order_of_chunks_is_survived(events in prop::collection::vec(any_event(), 0..16)) {
            let events: Vec<&str> = events.iter().map(String::as_str).collect();
            let (assembly, told, trouble) = read(&events);
            prop_assert!(trouble.is_none());
            let shown = told.iter().filter(|delta| matches!(delta, Delta::Text(_))).count();
            let blocks = match assembly.finish() {
                Ok(reply) => reply.blocks,
                Err(broken) => broken.partial,
            };
            let kept: usize = blocks.iter().filter_map(Block::as_text).map(str::len).sum();
            prop_assert_eq!(kept, shown, "every word shown is kept");
        }
    }

    #[test]
    fn a_reply_in_one_piece_is_taken_too() {
        let mut told = vec![];
        let mut on = |delta| told.push(delta);
        let mut assembly = Assembling::new("m", "r");
        let body = r#"{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"hi","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
        assembly.take_whole(body, &mut Teller::new(&mut on)).unwrap();
        let reply = assembly.finish().unwrap();
        assert_eq!((reply.blocks.len(), reply.stop, reply.usage.input), (2, StopReason::ToolUse, 3));
        for bad in ["{}", "[]", r#"{"choices":[]}"#] {
            let mut on = |_| {};
            assert!(Assembling::new("m", "r").take_whole(bad, &mut Teller::new(&mut on)).is_err(), "{bad}");
        }
    }
}
