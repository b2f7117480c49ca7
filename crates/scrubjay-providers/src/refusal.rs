//! Reading a refusal: which error it is, whether asking again could help, and what a person can do.

use crate::overflow::{Overflow, is_overflow_code};
use crate::retry::asked_pause;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use scrubjay::model::ModelError;
use serde_json::Value;
use std::time::Duration;

/// Of a service's own words, so much is repeated.
const SAID_CHARS: usize = 500;

/// A failed attempt.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) error: ModelError,
    pub(crate) again: Again,
    /// What the window has left for a reply, where the prompt fits and the room asked for beside it does not.
    pub(crate) room: Option<u64>,
}

/// Whether another attempt could help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// It could not.
    Never,
    /// It could, after a pause that the service may have named.
    After(Option<Duration>),
}

impl Fault {
    /// Asking again would not help.
    pub(crate) fn last(error: ModelError) -> Self {
        Self::new(error, Again::Never)
    }

    /// Asking again may help.
    pub(crate) fn transient(error: ModelError) -> Self {
        Self::new(error, Again::After(None))
    }

    /// A failed attempt, and whether to ask again.
    pub(crate) fn new(error: ModelError, again: Again) -> Self {
        Self { error, again, room: None }
    }

    /// The request did not fit.
    pub(crate) fn overflow(Overflow { over_by, room }: Overflow) -> Self {
        Self { room, ..Self::last(ModelError::PromptTooLong { over_by }) }
    }
}

/// What a service said when it refused, whatever its dialect.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// Its kind of error (`type`).
    pub(crate) kind: String,
    /// Its machine-readable reason (`code`, `details.error_code`).
    pub(crate) code: String,
    /// Its words.
    pub(crate) message: String,
    /// How long the prompt was and what fits, where fields say so.
    sizes: Option<(u64, u64)>,
}

impl Said {
    /// From the JSON of an error, or from text that is none.
    pub(crate) fn read(body: &str) -> Self {
        let Ok(value) = serde_json::from_str::<Value>(body) else {
            let message = if looks_like_html(body) { "(a web page)".to_owned() } else { body.trim().to_owned() };
            return Self { message, ..Self::default() };
        };
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(&value);
        let text = |value: Option<&Value>| match value {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let message = error.as_str().map_or_else(|| text(error.get("message")), str::to_owned);
        let message = if message.is_empty() { text(error.get("detail")) } else { message };
        let code = text(error.pointer("/details/error_code").or_else(|| error.get("code")));
        let sizes =
            error.get("n_prompt_tokens").and_then(Value::as_u64).zip(error.get("n_ctx").and_then(Value::as_u64));
        Self { kind: text(error.get("type")), code, message, sizes }
    }

    /// The request did not fit; by how much, if that was said.
    pub(crate) fn overflow(&self) -> Option<Overflow> {
        let in_words = Overflow::read(&self.message);
        if in_words.is_none() && !self.has_overflow_code() {
            return None;
        }
        let in_fields = self.sizes.map(|(prompt, window)| Overflow::of_sizes(prompt, window));
        Some(in_fields.or(in_words).unwrap_or_default())
    }

    fn has_overflow_code(&self) -> bool {
        is_overflow_code(&self.code) || is_overflow_code(&self.kind)
    }

    /// Money, not speed, is what ran out.
    fn is_about_money(&self) -> bool {
        const CODES: [&str; 5] = [
            "insufficient_quota",
            "billing_hard_limit_reached",
            "billing_error",
            "spend_limit_reached",
            "credit_balance_too_low",
        ];
        const WORDS: [&str; 8] = [
            "spend limit",
            "spending limit",
            "spend cap",
            "plan and billing",
            "plans & billing",
            "credit balance",
            "exceeded your current quota",
            "usage limits. you will regain access",
        ];
        let lower = self.message.to_ascii_lowercase();
        CODES.iter().any(|code| self.code == *code || self.kind == *code)
            || WORDS.iter().any(|words| lower.contains(words))
    }

    /// The service is busy or ill, by the name of its error (for errors in the middle of a stream).
    pub(crate) fn is_transient(&self) -> bool {
        ["overloaded_error", "api_error", "timeout_error", "rate_limit_error", "server_error"]
            .contains(&self.kind.as_str())
            && !self.is_about_money()
    }

    /// Its words, or its kind where it has none.
    pub(crate) fn words(&self) -> &str {
        [&self.message, &self.code, &self.kind]
            .into_iter()
            .find(|words| !words.is_empty())
            .map_or("no reason given", |w| w)
    }
}

/// Who was asked for what, for the messages.
pub(crate) struct Asked<'a> {
    pub(crate) host: String,
    pub(crate) model: &'a str,
    /// What to set when there is no key, or a wrong one.
    pub(crate) key_name: &'a str,
    /// Known names like the model's.
    pub(crate) near: &'a [String],
}

/// What a refusal means.
pub(crate) fn refusal(status: StatusCode, headers: &HeaderMap, body: &str, asked: &Asked<'_>) -> Fault {
    let said = Said::read(body);
    // A speed limit may speak of tokens, too; only a code says for certain that it means the window.
    let about_speed = status == StatusCode::TOO_MANY_REQUESTS && !said.has_overflow_code();
    if let Some(overflow) = said.overflow().filter(|_| !about_speed) {
        return Fault::overflow(overflow);
    }
    let (host, words) = (&asked.host, clip(said.words()));
    let pause = asked_pause(headers);
    let busy = |message: String| {
        let again = if header_is(headers, "x-should-retry", "false") { Again::Never } else { Again::After(pause) };
        Fault::new(ModelError::Busy { message, retry_after: pause }, again)
    };
    // The number alone: not every status has a name.
    let code = status.as_u16();
    match code {
        402 => Fault::last(out_of_budget(host, &words)),
        400 | 403 | 429 if said.is_about_money() && pause.is_none() => Fault::last(out_of_budget(host, &words)),
        401 | 403 => Fault::last(ModelError::Unauthorised(format!(
            "{host} did not accept the key (HTTP {code}: {words}); check {}, or choose an offline or local model with \
             --model offline",
            asked.key_name
        ))),
        404 => Fault::last(not_found(asked, &said, &words)),
        413 => Fault::last(ModelError::PromptTooLong { over_by: None }),
        429 => busy(format!("{host} allows no more requests now ({words}); wait, or use another model")),
        408 | 409 | 500..=599 => busy(format!("{host} is overloaded or ill (HTTP {code}: {words}); try again later")),
        300..=399 => Fault::last(ModelError::Refused(format!(
            "{host} wants to send the request elsewhere (HTTP {code}), which is not followed because it carries a key; \
             set the base URL to the service's real address"
        ))),
        _ if header_is(headers, "x-should-retry", "true") => {
            busy(format!("{host} asks to try again (HTTP {code}: {words})"))
        }
        _ => Fault::last(ModelError::Refused(format!("{host} refused the request (HTTP {code}): {words}"))),
    }
}

fn out_of_budget(host: &str, words: &str) -> ModelError {
    ModelError::OutOfBudget(format!(
        "the budget at {host} is used up ({words}); trying again would not help: raise the limit there, or choose another model"
    ))
}

fn not_found(asked: &Asked<'_>, said: &Said, words: &str) -> ModelError {
    let (host, model) = (&asked.host, asked.model);
    let names_model = said.message.contains(model) || said.kind == "not_found_error" || said.code == "model_not_found";
    if !names_model {
        return ModelError::Refused(format!(
            "{host} has nothing at this path (HTTP 404: {words}); check the base URL and whether the service speaks this dialect"
        ));
    }
    let near = match asked.near {
        [] => String::new(),
        names => format!("; known names like it: {}", names.join(", ")),
    };
    ModelError::UnknownModel(format!("{host} has no model `{model}`{near}; choose one with --model"))
}

fn header_is(headers: &HeaderMap, name: &str, value: &str) -> bool {
    headers.get(name).and_then(|header| header.to_str().ok()).is_some_and(|header| header.eq_ignore_ascii_case(value))
}

/// A page instead of an answer.
pub(crate) fn looks_like_html(body: &str) -> bool {
    let start = body.trim_start().get(..15).unwrap_or(body.trim_start()).to_ascii_lowercase();
    start.starts_with("<!doctype") || start.starts_with("<html") || start.starts_with("<head")
}

/// Text from outside made fit for one line of a terminal.
pub(crate) fn clip(text: &str) -> String {
    let mut chars = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut short: String = chars.by_ref().take(SAID_CHARS).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn asked() -> Asked<'static> {
        Asked { host: "h".into(), model: "claude-opus-55", key_name: "ANTHROPIC_API_KEY", near: &[] }
    }

    fn judged(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Fault {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_static(value));
        }
        refusal(StatusCode::from_u16(status).unwrap(), &map, body, &asked())
    }

    // spec: Q2
    #[test]
    fn a_prompt_that_is_too_long_is_recognised_in_every_wording() {
        let table = [
            (
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#,
                Some(13_462),
            ),
            (r#"{"message":"Input is too long for requested model."}"#, None),
            (r#"{"error":{"type":"invalid_request_error","message":"capability_rejected: prompt_too_long"}}"#, None),
            (
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","code":"context_length_exceeded"}}"#,
                Some(808),
            ),
            (r#"{"error":{"message":"too big","code":"context_length_exceeded"}}"#, None),
            (
                r#"{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error"}}"#,
                Some(808),
            ),
            (
                r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#,
                Some(808),
            ),
            (r#"{"error":"the input length exceeds the context length"}"#, None),
            (
                r#"{"object":"error","message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096."}"#,
                Some(904),
            ),
        ];
        for (body, by) in table {
            assert_eq!(judged(400, &[], body).error, ModelError::PromptTooLong { over_by: by }, "{body}");
        }
        assert!(matches!(
            judged(413, &[], "<html>too large</html>").error,
            ModelError::PromptTooLong { over_by: None }
        ));
        let refused = judged(400, &[], r#"{"error":{"message":"max_tokens: 9 > 8, which is the maximum"}}"#);
        assert!(matches!(refused.error, ModelError::Refused(_)), "{refused:?}");
        let speed = r#"{"error":{"type":"rate_limit_error","message":"too many input tokens per minute"}}"#;
        assert!(matches!(judged(429, &[], speed).error, ModelError::Busy { .. }));
        let code = r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#;
        assert!(matches!(judged(429, &[], code).error, ModelError::PromptTooLong { .. }));
    }

    // safety: F-65
    #[test]
    fn speed_limits_are_waited_for_and_spend_limits_are_not() {
        let rate = r#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#;
        let spend = r#"{"error":{"type":"rate_limit_error","message":"You have reached your spend limit"}}"#;
        let quota = r#"{"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"x"}}"#;
        assert_eq!(judged(429, &[("retry-after", "7")], rate).again, Again::After(Some(Duration::from_secs(7))));
        assert_eq!(judged(429, &[], rate).again, Again::After(None));
        for (status, body) in [(429, spend), (429, quota), (402, rate), (400, spend)] {
            let fault = judged(status, &[], body);
            assert_eq!(fault.again, Again::Never, "{status} {body}");
            assert!(matches!(fault.error, ModelError::OutOfBudget(_)), "{status} {body}");
        }
        for status in [408, 409, 500, 502, 503, 504, 529] {
            assert_eq!(judged(status, &[], "").again, Again::After(None), "{status}");
            assert_eq!(judged(status, &[("x-should-retry", "false")], "").again, Again::Never, "{status}");
        }
        assert_eq!(judged(400, &[], rate).again, Again::Never);
        assert_eq!(judged(418, &[("x-should-retry", "true")], "").again, Again::After(None));
    }

    #[test]
    fn every_refusal_names_a_remedy() {
        let near = ["claude-opus-5-5".to_owned()];
        let missing = r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-opus-55"}}"#;
        let asked = Asked { near: &near, ..asked() };
        let said = refusal(StatusCode::NOT_FOUND, &HeaderMap::new(), missing, &asked).error.to_string();
        assert!(said.contains("claude-opus-5-5") && said.contains("--model"), "{said}");
        for (status, body, remedy) in [
            (401, "", "ANTHROPIC_API_KEY"),
            (404, "<html>not here</html>", "base URL"),
            (307, "", "base URL"),
            (402, "", "raise the limit"),
        ] {
            let said = judged(status, &[], body).error.to_string();
            assert!(said.contains(remedy) && !said.contains("<html"), "{said}");
        }
    }

    #[test]
    fn words_from_outside_cannot_command_the_terminal() {
        assert_eq!(clip("a\u{1b}[2Jb\nc"), "a [2Jb c");
        assert_eq!(clip(&"x".repeat(1000)).chars().count(), SAID_CHARS + 1);
    }
}
