//! A loopback server that stands in for the model APIs: the published caching rules, thinking signatures, context
//! management and errors of the Messages API, and the two OpenAI APIs, over real HTTP.
//!
//! What the model says comes from a [`Script`]; what was asked is read back with [`Simulator::requests`]; time passes
//! when the test moves the [`SimClock`]. Token counts follow one documented rule ([`tokens`]).
//!
//! ```
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! use scrubjay_testkit::simulator::{Script, Simulator, text, tool_use};
//! use serde_json::json;
//!
//! let script = Script::new()
//!     .reply(tool_use("Read", json!({ "path": "a.txt" })))
//!     .reply(text("It says hello."))
//!     .when(|request| request.last_user_text().contains("summarise"), text("A summary."));
//! let simulator = Simulator::start(script).await?;
//! // … point a client at simulator.url() …
//! assert!(simulator.requests().is_empty());
//! # Ok::<(), std::io::Error>(())
//! # })?;
//! # Ok::<(), std::io::Error>(())
//! ```

mod anthropic;
mod chunks;
mod clock;
mod control;
mod error;
mod listener;
mod models;
mod openai;
mod pacer;
mod recorded;
mod rendering;
mod reply;
mod script;
mod script_file;
mod server;
pub mod tokens;
mod wire;

pub use anthropic::editing::CLEARED_RESULT;
pub use clock::SimClock;
pub use models::{KeptThinking, ModelRow, SystemMessages, ThinkingBinding, ThinkingModes, default_models};
pub use pacer::Pacer;
pub use recorded::{RecordedAnswer, RecordedRequest, Sent};
pub use rendering::Divergence;
pub use reply::{Cut, Piece, Reply, dropped, error, html_page, raw, text, thinking, tool_use, tool_use_as};
pub use script::Script;

use axum::Router;
use listener::{CuttableListener, Line};
use server::{Config, Shared, Switch};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A running simulator. It stops listening when it is dropped.
#[derive(Debug)]
pub struct Simulator {
    shared: Arc<Shared>,
    address: SocketAddr,
    task: JoinHandle<io::Result<()>>,
}

/// How a simulator is built.
#[derive(Debug)]
pub struct Builder {
    config: Config,
    clock: SimClock,
    script: Script,
    port: u16,
}

impl Simulator {
    /// Start with a script and nothing else out of the ordinary.
    pub async fn start(script: Script) -> io::Result<Self> {
        Self::builder().script(script).start().await
    }

    /// Build one with its own models, key, clock or extras.
    pub fn builder() -> Builder {
        let config = Config {
            models: default_models(),
            key: None,
            cache_edits: Switch::Off,
            old_account: Switch::Off,
            control: Switch::Off,
            betas: Vec::new(),
        };
        Builder { config, clock: SimClock::default(), script: Script::new(), port: 0 }
    }

    /// Where it listens, without a trailing slash: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its clock: move it, and cache entries age.
    pub fn clock(&self) -> &SimClock {
        &self.shared.clock
    }

    /// Everything it was asked so far, in the order of arrival.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.memory().records.clone()
    }

    /// The last thing it was asked.
    pub fn last_request(&self) -> Option<RecordedRequest> {
        self.shared.memory().records.last().cloned()
    }

    /// Wait until the record satisfies a condition.
    pub async fn wait_until(&self, mut done: impl FnMut(&[RecordedRequest]) -> bool) {
        let mut changes = self.shared.changes();
        while !done(&self.shared.memory().records) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Wait until this many requests have arrived, and return them.
    pub async fn wait_for_requests(&self, count: usize) -> Vec<RecordedRequest> {
        self.wait_until(|records| records.len() >= count).await;
        self.requests()
    }

    /// Add a reply to the end of the script's list.
    pub fn push(&self, reply: impl Into<Reply>) {
        self.shared.script().push(reply.into());
    }

    /// Replace the script.
    pub fn set_script(&self, script: Script) {
        *self.shared.script() = script;
    }

    /// How many replies of the script's list are left.
    pub fn replies_left(&self) -> usize {
        self.shared.script().left()
    }

    /// Listen until the process ends.
    pub async fn run(mut self) -> io::Result<()> {
        (&mut self.task).await.map_err(io::Error::other)?
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Builder {
    /// What the model will say.
    pub fn script(mut self, script: Script) -> Self {
        self.script = script;
        self
    }

    /// Share this clock instead of making one.
    pub fn clock(mut self, clock: &SimClock) -> Self {
        self.clock = clock.clone();
        self
    }

    /// Add a model, or replace the one of the same name.
    pub fn model(mut self, row: ModelRow) -> Self {
        self.config.models.retain(|known| known.id != row.id);
        self.config.models.push(row);
        self
    }

    /// Accept this key only. Otherwise any key will do.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.config.key = Some(key.into());
        self
    }

    /// Accept `cache_edits` blocks, which no real API documents.
    pub fn with_cache_edits(mut self) -> Self {
        self.config.cache_edits = Switch::On;
        self
    }

    /// Be an account from before the prefix check: thinking is checked only when a request asks for it.
    pub fn old_account(mut self) -> Self {
        self.config.old_account = Switch::On;
        self
    }

    /// Answer under `/_simulator/` too, for suites that are not written in Rust: `requests` lists what was recorded,
    /// `clock` takes `{"advance_seconds": N}`, `script` takes a new script.
    pub fn with_control(mut self) -> Self {
        self.config.control = Switch::On;
        self
    }

    /// Accept one more `anthropic-beta` value.
    pub fn beta(mut self, name: impl Into<String>) -> Self {
        self.config.betas.push(name.into());
        self
    }

    /// Listen on this port instead of a free one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Start listening on 127.0.0.1.
    pub async fn start(self) -> io::Result<Simulator> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(self.config, self.clock, self.script));
        let router = Router::new().fallback(server::answer).with_state(Arc::clone(&shared));
        let service = router.into_make_service_with_connect_info::<Line>();
        let task = tokio::spawn(async move { axum::serve(CuttableListener(listener), service).await });
        Ok(Simulator { shared, address, task })
    }
}
