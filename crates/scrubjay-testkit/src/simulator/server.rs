//! The server: records what comes in, finds who answers it, and sends what they say.

use super::clock::SimClock;
use super::error::{ApiError, Dialect};
use super::listener::Line;
use super::models::ModelRow;
use super::recorded::{RecordedAnswer, RecordedRequest, Sent};
use super::reply::{Kind, Reply};
use super::script::Script;
use super::wire::{self, Parcel};
use super::{anthropic, control, openai};
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{Response, request};
use scrubjay::clock::Clock as _;
use scrubjay::prompt_cache::rules::CacheState;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Bodies larger than this are refused, as the API does.
const BODY_LIMIT: usize = 32 * 1024 * 1024;

/// What a simulator was built with.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) models: Vec<ModelRow>,
    pub(super) key: Option<String>,
    pub(super) cache_edits: Switch,
    pub(super) old_account: Switch,
    pub(super) control: Switch,
    pub(super) betas: Vec<String>,
}

/// A behaviour that is there or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Switch {
    On,
    Off,
}

/// What the simulator remembers between requests.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) records: Vec<RecordedRequest>,
    pub(super) cache: CacheState,
    pub(super) openai_cache: openai::cache::ImplicitCache,
    pub(super) fingerprints: HashMap<String, anthropic::diagnostics::Fingerprint>,
    pub(super) responses: HashMap<String, Vec<Value>>,
    last_id: u64,
}

/// Everything the answering code shares.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) clock: SimClock,
    script: Mutex<Script>,
    memory: Mutex<Memory>,
    changes: watch::Sender<u64>,
}

impl Shared {
    pub(super) fn new(config: Config, clock: SimClock, script: Script) -> Self {
        let changes = watch::Sender::new(0);
        Self { config, clock, script: Mutex::new(script), memory: Mutex::default(), changes }
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Change what is recorded about an answer.
    pub(super) fn update(&self, index: usize, change: impl FnOnce(&mut RecordedAnswer)) {
        if let Some(record) = self.memory().records.get_mut(index) {
            change(&mut record.answer);
        }
        self.changes.send_modify(|count| *count += 1);
    }

    /// A new id with this prefix, numbered so that no two are the same.
    pub(super) fn new_id(&self, prefix: &str) -> String {
        let mut memory = self.memory();
        memory.last_id += 1;
        format!("{prefix}_sim{:08}", memory.last_id)
    }

    pub(super) fn model(&self, id: &str) -> Option<&ModelRow> {
        self.config.models.iter().rev().find(|row| row.id == id)
    }

    /// What the script says to this request.
    pub(super) fn reply_to(&self, request: &RecordedRequest) -> Result<Reply, ApiError> {
        let reply = self.script().next(request);
        reply
            .ok_or_else(|| ApiError::new(500, "api_error", "the simulator's script has no reply left for this request"))
    }

    fn record(&self, parts: &request::Parts, body: &Bytes) -> RecordedRequest {
        let text = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let mut memory = self.memory();
        let request = RecordedRequest {
            index: memory.records.len(),
            at: self.clock.now(),
            method: parts.method.to_string(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            headers: parts.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
            body: body.to_vec(),
            json: serde_json::from_slice(body).unwrap_or_default(),
            answer: RecordedAnswer::default(),
        };
        memory.records.push(request.clone());
        drop(memory);
        self.changes.send_modify(|count| *count += 1);
        request
    }
}

/// What happens to a request.
pub(super) enum Turn {
    Send(Parcel),
    Drop,
}

/// A refusal, or a turn.
pub(super) type Answered = Result<Turn, ApiError>;

/// Answer one request.
pub(super) async fn answer(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(line): ConnectInfo<Line>,
    request: Request,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, BODY_LIMIT).await;
    if let (Switch::On, Some(order)) = (shared.config.control, parts.uri.path().strip_prefix(control::PREFIX)) {
        return control::obey(&shared, order, &body.unwrap_or_default());
    }
    let request = shared.record(&parts, body.as_ref().unwrap_or(&Bytes::new()));
    let turn = match body {
        Ok(_) => route(&shared, &request),
        Err(_) => Err(ApiError::new(413, "request_too_large", "Request exceeds the maximum size")),
    };
    let dialect = Dialect::of(&request);
    let request_id = format!("req_sim{:08}", request.index);
    match turn {
        Ok(Turn::Drop) => {
            line.cut();
            shared.update(request.index, |answer| answer.sent = Sent::Broken);
            Response::new(Body::empty())
        }
        Ok(Turn::Send(parcel)) => wire::send(with_id(parcel, dialect, &request_id), shared, request.index).await,
        Err(error) => {
            shared.update(request.index, |answer| answer.error = Some(error.message.clone()));
            let parcel = Parcel::json(error.status, &error.json(dialect, &request_id));
            wire::send(with_id(parcel, dialect, &request_id), shared, request.index).await
        }
    }
}

fn with_id(mut parcel: Parcel, dialect: Dialect, id: &str) -> Parcel {
    let name = if dialect == Dialect::Anthropic { "request-id" } else { "x-request-id" };
    parcel.headers.insert(0, (name.to_owned(), id.to_owned()));
    parcel
}

fn route(shared: &Arc<Shared>, request: &RecordedRequest) -> Answered {
    let fault = shared.script().fault_at(&request.path);
    if let Some(Err(turn)) = fault.map(|reply| pieces_or_fault(shared, request, &reply)) {
        return Ok(turn);
    }
    check_key(shared, request)?;
    match (request.method.as_str(), request.path.trim_end_matches('/')) {
        ("POST", "/v1/messages") => anthropic::messages(shared, request),
        ("POST", "/v1/messages/count_tokens") => anthropic::count_tokens(shared, request),
        ("POST", "/v1/chat/completions") => openai::chat::completions(shared, request),
        ("POST", "/v1/responses") => openai::responses::create(shared, request),
        ("POST", "/v1/responses/input_tokens") => openai::responses::input_tokens(shared, request),
        ("GET", "/v1/models") => Ok(Turn::Send(Parcel::json(200, &model_list(shared, request)))),
        ("GET", path) => match path.strip_prefix("/v1/models/") {
            Some(id) => one_model(shared, request, id),
            None => Err(nothing_here(request)),
        },
        _ => Err(nothing_here(request)),
    }
}

fn nothing_here(request: &RecordedRequest) -> ApiError {
    match Dialect::of(request) {
        Dialect::Anthropic => ApiError::new(404, "not_found_error", "Not Found"),
        Dialect::OpenAi => {
            let message = format!("Invalid URL ({} {})", request.method, request.path);
            ApiError::new(404, "invalid_request_error", message)
        }
    }
}

fn check_key(shared: &Shared, request: &RecordedRequest) -> Result<(), ApiError> {
    let key = key_of(request);
    let right = shared.config.key.as_deref().is_none_or(|expected| key == Some(expected));
    match (key, Dialect::of(request)) {
        (Some(_), _) if right => Ok(()),
        (Some(_), Dialect::Anthropic) => Err(ApiError::new(401, "authentication_error", "invalid x-api-key")),
        (None, Dialect::Anthropic) => Err(ApiError::new(401, "authentication_error", "x-api-key header is required")),
        (Some(_), Dialect::OpenAi) => {
            Err(ApiError::new(401, "invalid_request_error", "Incorrect API key provided.").coded("invalid_api_key"))
        }
        // Local servers are asked without a key.
        (None, Dialect::OpenAi) if shared.config.key.is_none() => Ok(()),
        (None, Dialect::OpenAi) => Err(ApiError::new(401, "invalid_request_error", "You didn't provide an API key.")),
    }
}

/// The key of a request, from either header.
pub(super) fn key_of(request: &RecordedRequest) -> Option<&str> {
    let bearer = || request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    request.header("x-api-key").or_else(bearer)
}

fn model_list(shared: &Shared, request: &RecordedRequest) -> Value {
    let rows = &shared.config.models;
    match Dialect::of(request) {
        Dialect::OpenAi => {
            json!({ "object": "list", "data": rows.iter().map(ModelRow::openai_json).collect::<Vec<_>>() })
        }
        Dialect::Anthropic => json!({
            "data": rows.iter().map(ModelRow::anthropic_json).collect::<Vec<_>>(), "has_more": false,
            "first_id": rows.first().map(|row| &row.id), "last_id": rows.last().map(|row| &row.id)
        }),
    }
}

fn one_model(shared: &Shared, request: &RecordedRequest, id: &str) -> Answered {
    let dialect = Dialect::of(request);
    let row = shared.model(id).ok_or_else(|| unknown_model(dialect, id))?;
    let json = match dialect {
        Dialect::Anthropic => row.anthropic_json(),
        Dialect::OpenAi => row.openai_json(),
    };
    Ok(Turn::Send(Parcel::json(200, &json)))
}

/// No model has this name.
pub(super) fn unknown_model(dialect: Dialect, id: &str) -> ApiError {
    match dialect {
        Dialect::Anthropic => ApiError::new(404, "not_found_error", format!("model: {id}")),
        Dialect::OpenAi => {
            let message = format!("The model `{id}` does not exist or you do not have access to it.");
            ApiError::new(404, "invalid_request_error", message).coded("model_not_found")
        }
    }
}

/// The pieces of a scripted message, or the fault that is sent instead of one.
pub(super) fn pieces_or_fault(
    shared: &Shared,
    request: &RecordedRequest,
    reply: &Reply,
) -> Result<Vec<super::Piece>, Turn> {
    match &reply.kind {
        Kind::Message(pieces) => Ok(pieces.clone()),
        Kind::Dropped => Err(Turn::Drop),
        Kind::Raw { status, content_type, body } => {
            let mut parcel = Parcel::body(*status, "application/octet-stream", body.clone()).travelling_like(reply);
            parcel.headers.push(("content-type".to_owned(), content_type.clone()));
            Err(Turn::Send(parcel))
        }
        Kind::Error { status, kind, message, code } => {
            shared.update(request.index, |answer| answer.error = Some(message.clone()));
            let error = ApiError { code: code.clone(), ..ApiError::new(*status, kind, message) };
            let json = error.json(Dialect::of(request), &format!("req_sim{:08}", request.index));
            Err(Turn::Send(Parcel::json(*status, &json).travelling_like(reply)))
        }
    }
}
