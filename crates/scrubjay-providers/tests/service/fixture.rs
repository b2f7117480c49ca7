//! A small service: answers from a list, in pieces, cut or silent, and remembers what it was asked.

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::serve::Listener;
use futures::{StreamExt, stream};
use scrubjay::limits::Limits;
use scrubjay::message::{Block, Message, MessageId, Origin, Role};
use scrubjay::model::{Delta, Model, ModelError, Reply};
use scrubjay::prompt::Prompt;
use scrubjay::transcript::{Options, ToolSpec};
use scrubjay_providers::{Catalogue, Choice, Keys, Provider, connect};
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

pub(crate) const KEY: &str = "sk-ant-canary-5e3b1f0c9a";

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As it should.
    Clean,
    /// The connection breaks.
    Broken,
    /// Nothing more comes, ever.
    Silent,
}

/// One answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) piece: usize,
    pub(crate) ending: Ending,
}

impl Answer {
    pub(crate) fn status(status: u16, body: &str) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self { status, headers, body: body.as_bytes().to_vec(), piece: usize::MAX, ending: Ending::Clean }
    }

    pub(crate) fn sse(body: &str) -> Self {
        Self::status(200, body).with("content-type", "text/event-stream; charset=utf-8")
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn in_pieces(self, piece: usize) -> Self {
        Self { piece, ..self }
    }

    pub(crate) fn cut_at(mut self, bytes: usize, ending: Ending) -> Self {
        self.body.truncate(bytes);
        Self { ending, ..self }
    }
}

/// The service. Dropping it ends it.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
    pub(crate) gone: mpsc::UnboundedReceiver<()>,
}

struct Shared {
    answers: Mutex<VecDeque<Answer>>,
    seen: Mutex<Vec<Seen>>,
    hang_ups: Arc<AtomicUsize>,
    left: mpsc::UnboundedSender<()>,
}

/// Hangs up on the first callers before a word is said.
struct Rude {
    inner: TcpListener,
    hang_ups: Arc<AtomicUsize>,
}

impl Listener for Rude {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            let accepted = Listener::accept(&mut self.inner).await;
            let left = self.hang_ups.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
            if left.is_err() {
                accepted.0.set_nodelay(true).unwrap();
                return accepted;
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.inner.local_addr()
    }
}

/// Tells when a body was dropped, read to its end or not.
struct Watch(mpsc::UnboundedSender<()>);

impl Drop for Watch {
    fn drop(&mut self) {
        // Nobody may be waiting any more when a test ends.
        self.0.send(()).ok();
    }
}

impl Service {
    pub(crate) async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let inner = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = inner.local_addr().unwrap();
        let (left, gone) = mpsc::unbounded_channel();
        let hang_ups = Arc::new(AtomicUsize::new(0));
        let shared = Arc::new(Shared {
            answers: Mutex::new(answers.into_iter().collect()),
            seen: Mutex::default(),
            hang_ups: Arc::clone(&hang_ups),
            left,
        });
        let app = axum::Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move {
            axum::serve(Rude { inner, hang_ups }, app).await.unwrap();
        });
        Self { address, shared, task, gone }
    }

    pub(crate) fn then(&self, answer: Answer) {
        self.shared.answers.lock().unwrap().push_back(answer);
    }

    pub(crate) fn hang_up(&self, times: usize) {
        self.shared.hang_ups.store(times, Ordering::SeqCst);
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn model(&self, provider: Provider, name: &str, limits: &Limits) -> Arc<dyn Model> {
        let choice = Choice {
            model: name.to_owned(),
            provider: Some(provider),
            base_url: Some(self.url()),
            ..Choice::default()
        };
        connect(&choice, &keys(), &Catalogue::built_in().unwrap(), limits).unwrap()
    }

    pub(crate) fn claude(&self, limits: &Limits) -> Arc<dyn Model> {
        self.model(Provider::Anthropic, "claude-opus-5-5", limits)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 26).await.unwrap();
    shared.seen.lock().unwrap().push(Seen {
        path: parts.uri.path().to_owned(),
        headers: parts.headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    });
    let answer = shared.answers.lock().unwrap().pop_front();
    let answer = answer.unwrap_or_else(|| Answer::status(404, r#"{"error":{"message":"no such path"}}"#));
    let mut response = Response::builder().status(StatusCode::from_u16(answer.status).unwrap());
    for (name, value) in &answer.headers {
        response = response.header(*name, value);
    }
    let pieces: Vec<Result<Bytes, std::io::Error>> =
        answer.body.chunks(answer.piece.max(1)).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    let rest = match answer.ending {
        Ending::Clean => stream::empty().boxed(),
        Ending::Broken => stream::iter([Err(std::io::Error::other("cut"))]).boxed(),
        Ending::Silent => stream::pending().boxed(),
    };
    let watch = Watch(shared.left.clone());
    // The pause lets each piece leave on its own before the next one, or the break, is looked at.
    let paced = stream::iter(pieces).chain(rest).then(move |piece| {
        let _held = &watch;
        async move {
            tokio::task::yield_now().await;
            piece
        }
    });
    response.body(Body::from_stream(paced)).unwrap()
}

pub(crate) fn keys() -> Keys {
    let named = |name: &str| (name.to_owned(), KEY.to_owned());
    Keys::from_values(&BTreeMap::from([named("ANTHROPIC_API_KEY"), named("OPENAI_API_KEY")]))
}

/// Limits that do not make a test wait.
pub(crate) fn hasty(attempts: u64) -> Limits {
    Limits { retry_attempts: attempts, retry_first_delay_ms: 1, retry_longest_delay_ms: 2, ..Limits::default() }
}

pub(crate) fn said(role: Role, blocks: Vec<Block>) -> Arc<Message> {
    let origin = if role == Role::Assistant { Origin::Model } else { Origin::Person };
    Arc::new(Message { id: MessageId::new("m"), role, origin, at: jiff::Timestamp::UNIX_EPOCH, blocks })
}

pub(crate) fn prompt(history: Vec<Arc<Message>>) -> Prompt {
    Prompt {
        tools: Arc::from([ToolSpec::new("Read", "reads a file", &json!({ "type": "object" }))]),
        system: Arc::from("be brief"),
        instructions: vec![],
        history,
        options: Options::default(),
    }
}

pub(crate) fn question() -> Prompt {
    prompt(vec![said(Role::User, vec![Block::text("what does a.rs say?")])])
}

/// Ask, and hear what was told on the way.
pub(crate) async fn ask(model: &dyn Model, prompt: &Prompt) -> (Result<Reply, ModelError>, Vec<Delta>) {
    let mut told = vec![];
    let reply = model.reply(prompt, &mut |delta| told.push(delta)).await;
    (reply, told)
}

/// A recorded reply of the Messages dialect: reasoning, prose, a call, an unknown block, pings and an unknown event.
pub(crate) const RECORDED: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-opus-5-5\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":12,\"cache_read_input_tokens\":900,\"cache_creation_input_tokens\":30,\"cache_creation\":{\"ephemeral_5m_input_tokens\":30,\"ephemeral_1h_input_tokens\":0},\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n",
    "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"The file, hmm \\u2014 ü\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"EosCCkYIBxgC+/==\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"Ich lese \"}}\n\n",
    "event: weather\ndata: {\"type\":\"weather\",\"sun\":true}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"die Datei für dich 🐦.\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"hologram\",\"depth\":2.50}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":2}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\",\"input\":{},\"caller\":{\"type\":\"direct\"}}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"file_path\\\": \"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\\\"a.rs\\\"}\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":3}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":58,\"input_tokens\":null}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

/// A recorded reply of the Chat Completions dialect.
pub(crate) const CHUNKS: &str = concat!(
    "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null},\"finish_reason\":null}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Ich lese \"},\"finish_reason\":null}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"für dich 🐦.\"},\"finish_reason\":null}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"Read\",\"arguments\":\"\"}}]},\"finish_reason\":null}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"file_path\\\":\\\"a.rs\\\"}\"}}]},\"finish_reason\":null}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":9,\"prompt_tokens_details\":{\"cached_tokens\":64}}}\n\n",
    "data: [DONE]\n\n",
);
