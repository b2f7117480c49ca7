//! Errors in the shapes of the APIs.

use super::recorded::RecordedRequest;
use serde_json::{Value, json};

/// Whose words an answer is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Anthropic,
    OpenAi,
}

impl Dialect {
    /// The dialect of a request, by its path; where both have the path, by its headers.
    pub(super) fn of(request: &RecordedRequest) -> Self {
        let anthropic = request.path.starts_with("/v1/messages")
            || request.header("anthropic-version").is_some()
            || request.header("x-api-key").is_some();
        if anthropic { Self::Anthropic } else { Self::OpenAi }
    }
}

/// A refusal, before it takes the shape of a dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    pub(super) status: u16,
    pub(super) kind: String,
    pub(super) message: String,
    pub(super) code: Option<String>,
    pub(super) param: Option<&'static str>,
}

impl ApiError {
    pub(super) fn new(status: u16, kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status, kind: kind.into(), message: message.into(), code: None, param: None }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "invalid_request_error", message)
    }

    pub(super) fn coded(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    pub(super) fn about(mut self, param: &'static str) -> Self {
        self.param = Some(param);
        self
    }

    pub(super) fn json(&self, dialect: Dialect, request_id: &str) -> Value {
        match dialect {
            Dialect::Anthropic => {
                let mut error = json!({ "type": self.kind, "message": self.message });
                if let Some(code) = &self.code {
                    error["details"] = json!({ "error_code": code });
                }
                json!({ "type": "error", "error": error, "request_id": request_id })
            }
            Dialect::OpenAi => json!({ "error": {
                "message": self.message, "type": self.kind, "param": self.param, "code": self.code
            } }),
        }
    }
}
