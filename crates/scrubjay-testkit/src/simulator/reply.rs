//! What the simulated model says, and everything that can go wrong on the way.

use super::pacer::Pacer;
use serde_json::Value;

/// One piece of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Prose.
    Text(String),
    /// Reasoning; sent with a signature, and only to requests that have not turned thinking off.
    Thinking(String),
    /// Reasoning that is never shown.
    RedactedThinking(String),
    /// A tool call.
    ToolUse {
        /// The call's id; `None` lets the simulator number it.
        id: Option<String>,
        /// Which tool.
        name: String,
        /// With what.
        input: Value,
    },
    /// A content block exactly as given (Messages API only).
    Raw(Value),
}

/// Where a connection breaks, counted on the response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// After this many bytes.
    AfterBytes(usize),
    /// After this many whole stream events.
    AfterEvents(usize),
    /// In the middle of this stream event, counted from zero.
    MidEvent(usize),
}

/// An error in the middle of a stream, after some whole events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreamError {
    pub(super) after_events: usize,
    pub(super) kind: String,
    pub(super) message: String,
}

/// What kind of answer it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Message(Vec<Piece>),
    Error { status: u16, kind: String, message: String, code: Option<String> },
    Raw { status: u16, content_type: String, body: Vec<u8> },
    Dropped,
}

/// One answer of the script: a message or a fault, and how it travels.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub(super) kind: Kind,
    pub(super) stop: Option<String>,
    pub(super) output_tokens: Option<u64>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) pacer: Option<Pacer>,
    pub(super) cut: Option<Cut>,
    pub(super) stream_error: Option<StreamError>,
}

/// A reply of one text block.
pub fn text(text: impl Into<String>) -> Reply {
    Reply::message(vec![Piece::Text(text.into())])
}

/// A reply that calls one tool; the simulator numbers the call.
pub fn tool_use(name: impl Into<String>, input: Value) -> Reply {
    Reply::message(vec![Piece::ToolUse { id: None, name: name.into(), input }])
}

/// A reply that calls one tool under a chosen id.
pub fn tool_use_as(id: impl Into<String>, name: impl Into<String>, input: Value) -> Reply {
    Reply::message(vec![Piece::ToolUse { id: Some(id.into()), name: name.into(), input }])
}

/// A reply that begins with thinking; say more with [`Reply::and`].
pub fn thinking(text: impl Into<String>) -> Reply {
    Reply::message(vec![Piece::Thinking(text.into())])
}

/// An API error in the shape of the dialect that is spoken.
pub fn error(status: u16, kind: impl Into<String>, message: impl Into<String>) -> Reply {
    Reply::of(Kind::Error { status, kind: kind.into(), message: message.into(), code: None })
}

/// Any body under any status: an HTML page, garbage under 200, an empty body.
pub fn raw(status: u16, content_type: impl Into<String>, body: impl Into<Vec<u8>>) -> Reply {
    Reply::of(Kind::Raw { status, content_type: content_type.into(), body: body.into() })
}

/// The error page of a gateway.
pub fn html_page(status: u16) -> Reply {
    raw(status, "text/html", format!("<html><head><title>{status}</title></head><body><h1>{status}</h1></body></html>"))
}

/// The connection closes before any header.
pub fn dropped() -> Reply {
    Reply::of(Kind::Dropped)
}

impl Reply {
    /// A message of these pieces.
    pub fn message(pieces: Vec<Piece>) -> Self {
        Self::of(Kind::Message(pieces))
    }

    fn of(kind: Kind) -> Self {
        Self { kind, stop: None, output_tokens: None, headers: Vec::new(), pacer: None, cut: None, stream_error: None }
    }

    /// The pieces of both, in order. Everything else is kept from the first; a fault stays what it is.
    pub fn and(mut self, more: Reply) -> Self {
        if let (Kind::Message(pieces), Kind::Message(later)) = (&mut self.kind, more.kind) {
            pieces.extend(later);
        }
        self
    }

    /// With another stop reason than the pieces imply.
    pub fn stop(mut self, reason: impl Into<String>) -> Self {
        self.stop = Some(reason.into());
        self
    }

    /// With another count of output tokens than the pieces have.
    pub fn output_tokens(mut self, tokens: u64) -> Self {
        self.output_tokens = Some(tokens);
        self
    }

    /// With a response header, such as `retry-after`.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With a machine-readable error code (`error.details.error_code`, or `error.code` for OpenAI).
    pub fn code(mut self, code: impl Into<String>) -> Self {
        if let Kind::Error { code: known, .. } = &mut self.kind {
            *known = Some(code.into());
        }
        self
    }

    /// Sent one stream event at a time, when the pacer says so; a body that is no stream waits for one step.
    pub fn paced(mut self, pacer: &Pacer) -> Self {
        self.pacer = Some(pacer.clone());
        self
    }

    /// The connection breaks on the way.
    pub fn cut(mut self, at: Cut) -> Self {
        self.cut = Some(at);
        self
    }

    /// An `error` event ends the stream after this many whole events.
    pub fn stream_error(mut self, events: usize, kind: impl Into<String>, message: impl Into<String>) -> Self {
        self.stream_error = Some(StreamError { after_events: events, kind: kind.into(), message: message.into() });
        self
    }
}

impl From<&str> for Reply {
    fn from(words: &str) -> Self {
        text(words)
    }
}

impl From<String> for Reply {
    fn from(words: String) -> Self {
        text(words)
    }
}
