//! One HTTP request to one fixed host: no redirects, keys in headers only, nothing of them in what is said or logged.

use crate::address::Address;
use crate::refusal::{Fault, clip};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, redirect};
use scrubjay::limits::Limits;
use scrubjay::model::ModelError;
use secrecy::{ExposeSecret, SecretString};
use std::error::Error as _;
use std::time::Duration;

/// No refusal, count or list of models is longer; parsing a longer one could cost a hundred times its size.
pub(crate) const SHORT_BYTES: u64 = 1 << 20;

/// No service hands out shorter keys.
const SECRET_BYTES: usize = 8;

/// The road to one API.
#[derive(Clone)]
pub(crate) struct Wire {
    client: Client,
    address: Address,
    headers: HeaderMap,
    secrets: Vec<SecretString>,
    pub(crate) limits: Limits,
}

/// How a request shows who it is from.
pub(crate) enum Auth {
    /// It does not.
    None,
    /// `x-api-key`.
    Key(SecretString),
    /// `Authorization: Bearer`.
    Bearer(SecretString),
}

impl Wire {
    /// Prepare the road; nothing is sent yet.
    pub(crate) fn new(address: Address, auth: Auth, limits: Limits) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let secrets = match auth {
            Auth::None => Vec::new(),
            Auth::Key(key) => {
                headers.insert(HeaderName::from_static("x-api-key"), sensitive(key.expose_secret())?);
                vec![key]
            }
            Auth::Bearer(token) => {
                headers.insert(AUTHORIZATION, sensitive(&format!("Bearer {}", token.expose_secret()))?);
                vec![token]
            }
        };
        let mut client = Client::builder()
            .redirect(redirect::Policy::none())
            .connect_timeout(Duration::from_millis(limits.connect_timeout_ms))
            .tcp_nodelay(true)
            .user_agent(concat!("scrubjay/", env!("CARGO_PKG_VERSION")));
        if address.is_loopback() {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|error| format!("HTTP cannot be used here: {error}"))?;
        Ok(Self { client, address, headers, secrets, limits })
    }

    /// Add the user's own headers to every request; they count before ours, and each may be a secret.
    pub(crate) fn with_custom_headers(mut self, custom: &[(HeaderName, HeaderValue)]) -> Self {
        for (name, value) in custom {
            self.headers.insert(name.clone(), value.clone());
            let text = value.to_str().unwrap_or_default();
            self.secrets.push(SecretString::from(text.strip_prefix("Bearer ").unwrap_or(text)));
        }
        self
    }

    /// Add a header to every request.
    pub(crate) fn with_header(mut self, name: &'static str, value: &str) -> Result<Self, String> {
        let value = HeaderValue::from_str(value).map_err(|_| format!("`{value}` cannot stand in the {name} header"))?;
        self.headers.insert(HeaderName::from_static(name), value);
        Ok(self)
    }

    /// Send a body.
    pub(crate) async fn post(&self, path: &str, body: String) -> Result<Response, Fault> {
        self.send(self.client.post(self.address.at(path)).body(body)).await
    }

    /// Ask for something.
    pub(crate) async fn get(&self, path: &str) -> Result<Response, Fault> {
        self.send(self.client.get(self.address.at(path))).await
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Fault> {
        let patience = Duration::from_millis(self.limits.stream_idle_ms);
        match tokio::time::timeout(patience, request.headers(self.headers.clone()).send()).await {
            Ok(Ok(response)) => {
                tracing::debug!(host = self.host(), status = response.status().as_u16(), "model service answered");
                Ok(response)
            }
            Ok(Err(error)) => Err(self.unreachable(error)),
            Err(_) => Err(Fault::last(ModelError::Unreachable(format!(
                "{} took the request but did not answer within {} s; try again later, or raise limits.stream_idle_ms",
                self.host(),
                patience.as_secs()
            )))),
        }
    }

    fn unreachable(&self, error: reqwest::Error) -> Fault {
        let chain = causes(&error.without_url());
        let host = self.host();
        let lower = chain.to_ascii_lowercase();
        if ["certificate", "tls", "handshake", "invalidcontenttype", "corrupt message"]
            .iter()
            .any(|sign| lower.contains(sign))
        {
            return Fault::last(ModelError::Unreachable(format!(
                "no secure connection to {host}: {}; check the clock, the certificate, any proxy between, and whether the \
                 base URL should begin with http:// or https://",
                self.clean(&chain)
            )));
        }
        Fault::transient(ModelError::Unreachable(format!(
            "{host} cannot be reached ({}); check the network and the base URL, or work without a model with --model offline",
            self.clean(&chain)
        )))
    }

    /// The host that is asked, for messages.
    pub(crate) fn host(&self) -> String {
        self.address.host()
    }

    /// Text from outside, without the key in case it was echoed.
    pub(crate) fn without_key(&self, text: &str) -> String {
        // A placeholder of a few letters is no secret, and taking it out would spoil every word that holds it.
        let secrets =
            self.secrets.iter().map(ExposeSecret::expose_secret).filter(|secret| secret.len() >= SECRET_BYTES);
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "[key]"))
    }

    /// The same, short and on one line.
    pub(crate) fn clean(&self, text: &str) -> String {
        clip(&self.without_key(text))
    }

    /// The whole of an answer as text; one that is longer than it may be is refused.
    pub(crate) async fn text(&self, response: Response, most: u64) -> Result<String, Fault> {
        let status = response.status();
        let cut = |because: String| {
            Fault::transient(ModelError::Garbled(format!("the answer (HTTP {status}) broke off: {because}; try again")))
        };
        let patience = Duration::from_millis(self.limits.stream_idle_ms);
        let (mut response, mut bytes) = (response, Vec::new());
        loop {
            let chunk = tokio::time::timeout(patience, response.chunk()).await;
            match chunk.map_err(|_| cut("nothing more came".to_owned()))? {
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                Ok(None) => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                Err(error) => return Err(cut(self.clean(&causes(&error.without_url())))),
            }
            if bytes.len() as u64 > most {
                let said = format!("the answer is longer than {most} bytes and was not read; check the base URL");
                return Err(Fault::last(ModelError::Garbled(said)));
            }
        }
    }
}

/// A header value that does not show itself in `Debug`; the reason it is refused does not repeat it either.
fn sensitive(value: &str) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| "the key has characters that no key has (a line break?); copy it again".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

/// An error with all its causes, innermost last.
pub(crate) fn causes(error: &reqwest::Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !said.contains(&text) {
            said = format!("{said}: {text}");
        }
        cause = inner.source();
    }
    said
}
