//! A client that sends what it is told, and the words it is told to send.

use scrubjay_testkit::simulator::{ModelRow, Simulator};
use serde_json::{Value, json};

/// A model that counts plainly and caches from ten tokens on.
pub(crate) const PLAIN: &str = "plain";

pub(crate) fn plain() -> ModelRow {
    ModelRow::new(PLAIN).min_cacheable(10)
}

/// A client that sends what it is told to send.
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    headers: Vec<(&'static str, String)>,
}

impl Client {
    pub(crate) fn of(simulator: &Simulator) -> Self {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let headers = vec![("x-api-key", "k".to_owned()), ("anthropic-version", "2023-06-01".to_owned())];
        Self { http, url: simulator.url(), headers }
    }

    pub(crate) fn openai(simulator: &Simulator) -> Self {
        Self { headers: vec![("authorization", "Bearer k".to_owned())], ..Self::of(simulator) }
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self
    }

    pub(crate) fn request(&self, path: &str, body: &Value) -> reqwest::RequestBuilder {
        let request = self.http.post(format!("{}{path}", self.url)).json(body);
        self.headers.iter().fold(request, |request, (name, value)| request.header(*name, value))
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let response = self.request(path, body).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        let request = self.http.get(format!("{}{path}", self.url));
        let request = self.headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// A message that must be answered.
    pub(crate) async fn say(&self, body: &Value) -> Value {
        let (status, reply) = self.post("/v1/messages", body).await;
        assert_eq!(status, 200, "{reply}");
        reply
    }

    /// A message that must be refused; what the refusal says.
    pub(crate) async fn refused(&self, body: &Value) -> String {
        let (status, reply) = self.post("/v1/messages", body).await;
        assert_eq!((status, &reply["error"]["type"]), (400, &json!("invalid_request_error")), "{reply}");
        reply["error"]["message"].as_str().unwrap().to_owned()
    }

    /// The events of a stream, by their data.
    pub(crate) async fn stream(&self, path: &str, body: &Value) -> Vec<Value> {
        let text = self.request(path, body).send().await.unwrap().text().await.unwrap();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| json!(data))).collect()
    }
}

/// A text block of exactly this many plain tokens, told apart by its first letter.
pub(crate) fn words(letter: &str, tokens: usize) -> Value {
    json!({ "type": "text", "text": letter.repeat(tokens * 4) })
}

pub(crate) fn marked(mut block: Value, ttl: &str) -> Value {
    block["cache_control"] = json!({ "type": "ephemeral", "ttl": ttl });
    block
}

pub(crate) fn user(blocks: impl Into<Value>) -> Value {
    json!({ "role": "user", "content": blocks.into() })
}

pub(crate) fn assistant(blocks: impl Into<Value>) -> Value {
    json!({ "role": "assistant", "content": blocks.into() })
}

pub(crate) fn ask(model: &str, messages: &[Value]) -> Value {
    json!({ "model": model, "max_tokens": 1000, "messages": messages })
}

/// (read, hour write, five-minute write, fresh) of a reply.
pub(crate) fn counts(reply: &Value) -> (u64, u64, u64, u64) {
    let usage = &reply["usage"];
    let number = |value: &Value| value.as_u64().unwrap();
    let written = &usage["cache_creation"];
    assert_eq!(
        number(&usage["cache_creation_input_tokens"]),
        number(&written["ephemeral_1h_input_tokens"]) + number(&written["ephemeral_5m_input_tokens"])
    );
    (
        number(&usage["cache_read_input_tokens"]),
        number(&written["ephemeral_1h_input_tokens"]),
        number(&written["ephemeral_5m_input_tokens"]),
        number(&usage["input_tokens"]),
    )
}
