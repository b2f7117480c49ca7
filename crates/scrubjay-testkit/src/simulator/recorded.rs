//! What the simulator heard: every request with its headers, its bytes, and what became of it.

use jiff::Timestamp;
use scrubjay::message::Usage;
use scrubjay::prompt_cache::rules::Outcome;
use serde_json::Value;

/// How far an answer has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sent {
    /// Not yet, or not all of it.
    #[default]
    Waiting,
    /// To the last byte.
    Whole,
    /// The connection broke, by script or because the client left.
    Broken,
}

/// One request, exactly as it came, and what the simulator made of it.
#[derive(Debug, Clone, Default)]
pub struct RecordedRequest {
    /// Its place in the record, from zero.
    pub index: usize,
    /// When it came, by the simulator's clock.
    pub at: Timestamp,
    /// `GET` or `POST`.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query, without the question mark.
    pub query: String,
    /// Header names in lower case, with their values, in order.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
    /// The body as JSON; null when it is none.
    pub json: Value,
    /// What became of it.
    pub answer: RecordedAnswer,
}

/// What became of a request.
#[derive(Debug, Clone, Default)]
pub struct RecordedAnswer {
    /// The status that was sent; zero while nothing was.
    pub status: u16,
    /// What the cache did, for requests that a model answered (Messages API).
    pub cache: Option<Outcome>,
    /// What was counted, for requests that a model answered.
    pub usage: Option<Usage>,
    /// The content blocks, chat message or output items that were sent.
    pub content: Value,
    /// The error that was sent.
    pub error: Option<String>,
    /// How far it has come.
    pub sent: Sent,
}

impl RecordedRequest {
    /// A header's value, by its name in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The model that was asked for.
    pub fn model(&self) -> &str {
        self.json["model"].as_str().unwrap_or_default()
    }

    /// Whether a stream was asked for.
    pub fn is_stream(&self) -> bool {
        self.json["stream"] == true
    }

    /// The conversation: `messages`, or `input` of the Responses API.
    pub fn messages(&self) -> &[Value] {
        let list = self.json["messages"].as_array().or_else(|| self.json["input"].as_array());
        list.map_or(&[], Vec::as_slice)
    }

    /// The system prompt as text, whichever dialect it came in.
    pub fn system_text(&self) -> String {
        let top = [&self.json["system"], &self.json["instructions"]];
        let inside =
            self.messages().iter().filter(|said| matches!(said["role"].as_str(), Some("system" | "developer")));
        let parts = top.into_iter().map(text_in).chain(inside.map(|said| text_in(&said["content"])));
        parts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// The text of the last message from the user. Tool results are not text.
    pub fn last_user_text(&self) -> String {
        if let Some(input) = self.json["input"].as_str() {
            return input.to_owned();
        }
        let mut users = self.messages().iter().rev().filter(|said| said["role"] == "user");
        users.next().map(|said| text_in(&said["content"])).unwrap_or_default()
    }

    /// Every text of the conversation, joined by line breaks, tool results included.
    pub fn all_text(&self) -> String {
        let parts = self.messages().iter().map(|said| match said["output"].as_str() {
            Some(output) => output.to_owned(),
            None => all_text_in(&said["content"]),
        });
        parts.collect::<Vec<_>>().join("\n")
    }

    /// The names of the tools that were offered, in order.
    pub fn tool_names(&self) -> Vec<String> {
        let tools = self.json["tools"].as_array().map_or(&[][..], Vec::as_slice);
        let name =
            |tool: &Value| tool["name"].as_str().or_else(|| tool["function"]["name"].as_str()).map(str::to_owned);
        tools.iter().filter_map(name).collect()
    }

    /// Tool results of the conversation as (call id, text), in order, whichever dialect they came in.
    pub fn tool_results(&self) -> Vec<(String, String)> {
        let mut results = Vec::new();
        for said in self.messages() {
            if let Some(call) = said["tool_call_id"].as_str() {
                results.push((call.to_owned(), text_in(&said["content"])));
            } else if let (Some("function_call_output"), Some(call)) = (said["type"].as_str(), said["call_id"].as_str())
            {
                results.push((call.to_owned(), text_in(&said["output"])));
            }
            for block in said["content"].as_array().map_or(&[][..], Vec::as_slice) {
                if let (Some("tool_result"), Some(call)) = (block["type"].as_str(), block["tool_use_id"].as_str()) {
                    results.push((call.to_owned(), text_in(&block["content"])));
                }
            }
        }
        results
    }

    /// How many cache markers the request carries, the automatic one included.
    pub fn cache_markers(&self) -> usize {
        count_key(&self.json, "cache_control")
    }
}

fn text_in(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

fn all_text_in(content: &Value) -> String {
    let Some(parts) = content.as_array() else { return text_in(content) };
    let text = |part: &Value| part["text"].as_str().map(str::to_owned).unwrap_or_else(|| text_in(&part["content"]));
    parts.iter().map(text).collect::<Vec<_>>().join("\n")
}

fn count_key(value: &Value, key: &str) -> usize {
    match value {
        Value::Object(map) => map.iter().map(|(name, value)| usize::from(name == key) + count_key(value, key)).sum(),
        Value::Array(list) => list.iter().map(|value| count_key(value, key)).sum(),
        _ => 0,
    }
}
