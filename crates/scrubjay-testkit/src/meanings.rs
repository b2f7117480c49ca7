//! A loopback service that makes vectors of texts, by a list of words that mean the same.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::{Value, json};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// How the service behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// It answers.
    Willing,
    /// It refuses with this status.
    Refusing(u16),
    /// It never answers.
    Silent,
    /// It answers with one vector too few.
    Careless,
}

/// What it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embedded {
    /// The texts of one request.
    pub texts: Vec<String>,
    /// The model that was named.
    pub model: Option<String>,
    /// What the request showed of itself.
    pub authorization: Option<String>,
}

/// A running service. It stops listening when it is dropped.
#[derive(Debug)]
pub struct Meanings {
    shared: Arc<Shared>,
    address: SocketAddr,
    task: JoinHandle<io::Result<()>>,
}

#[derive(Debug)]
struct Shared {
    meanings: Vec<Vec<String>>,
    seen: Mutex<(Manner, Vec<Embedded>)>,
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, (Manner, Vec<Embedded>)> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A direction for each meaning, and one for everything else.
    fn vector(&self, text: &str) -> Vec<f32> {
        let text = text.to_lowercase();
        let holds = |words: &Vec<String>| words.iter().filter(|word| text.contains(word.as_str())).count() as f32;
        self.meanings.iter().map(holds).chain([0.1]).collect()
    }
}

impl Meanings {
    /// Start on 127.0.0.1. Words of one list mean the same.
    pub async fn start(meanings: &[&[&str]]) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let meanings = meanings.iter().map(|words| words.iter().map(|word| (*word).to_owned()).collect()).collect();
        let shared = Arc::new(Shared { meanings, seen: Mutex::new((Manner::Willing, Vec::new())) });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { shared, address, task })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on.
    pub fn behave(&self, manner: Manner) {
        self.shared.seen().0 = manner;
    }

    /// Every request so far, and forget them.
    pub fn take(&self) -> Vec<Embedded> {
        std::mem::take(&mut self.shared.seen().1)
    }
}

impl Drop for Meanings {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let texts: Vec<String> = asked["input"].as_array().into_iter().flatten().filter_map(text).collect();
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let manner = {
        let mut seen = shared.seen();
        seen.1.push(Embedded { texts: texts.clone(), model: text(&asked["model"]), authorization });
        seen.0
    };
    let few = match manner {
        Manner::Willing => 0,
        Manner::Careless => 1,
        Manner::Silent => std::future::pending().await,
        Manner::Refusing(status) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            return (status, Json(json!({ "error": { "message": "not today" } }))).into_response();
        }
    };
    let vectors = texts.iter().enumerate().skip(few);
    // The last first: the order is told by the index.
    let data: Vec<Value> = vectors
        .map(|(index, text)| json!({ "object": "embedding", "index": index, "embedding": shared.vector(text) }))
        .rev()
        .collect();
    Json(json!({ "object": "list", "data": data })).into_response()
}
