//! WebFetch: one page from the web, as text. It lives outside the engine, which knows no socket.

mod address;
mod page;

use encoding_rs::{Encoding, UTF_8};
use futures::StreamExt as _;
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response, Url, redirect};
use scrubjay::limits::Limits;
use scrubjay::model::Pending;
use scrubjay::tool::{Bench, Effect, Tool, ToolOutcome};
use scrubjay::tools::shown;
use scrubjay::transcript::ToolSpec;
use serde_json::{Value, json};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

/// How far a fetch may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The public internet.
    Public,
    /// Private networks too: the person said so.
    Everywhere,
}

/// The tool.
pub(crate) struct WebFetch {
    spec: ToolSpec,
    reach: Reach,
}

impl WebFetch {
    pub(crate) fn new(reach: Reach) -> Self {
        let schema = json!({
            "type": "object",
            "properties": { "url": { "type": "string", "description": "The whole address of the page." } },
            "required": ["url"],
            "additionalProperties": false
        });
        let description = include_str!("../../../scrubjay/prompts/tools/web-fetch.md").trim_end();
        Self { spec: ToolSpec::new("WebFetch", description, &schema), reach }
    }

    async fn fetch(&self, input: &Value, limits: &Limits) -> Result<String, String> {
        let mut url = address_in(input)?;
        for _ in 0..=limits.fetch_redirects {
            let response = self.get(&url, limits).await?;
            match redirected(&response, &url)? {
                None => return read(response, &url, limits).await,
                Some(next) if next.host_str() == url.host_str() => url = next,
                Some(next) => {
                    return Ok(format!(
                        "{url} redirects to another host. Nothing was fetched from there; if it is what you want, fetch {next}"
                    ));
                }
            }
        }
        Err(format!("{url} redirects again and again; it was given up after {} times", limits.fetch_redirects))
    }

    async fn get(&self, url: &Url, limits: &Limits) -> Result<Response, String> {
        let host = url.host_str().unwrap_or_default();
        let addresses = self.checked(url, limits).await?;
        let client = Client::builder()
            // The address that was checked is the one that is connected to: a second look-up could answer differently.
            .resolve_to_addrs(host, &addresses)
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(Duration::from_millis(limits.connect_timeout_ms))
            .user_agent(concat!("scrubjay/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("no connection could be set up: {error}"))?;
        client
            .get(url.clone())
            .send()
            .await
            .map_err(|error| format!("{host} could not be fetched: {}", root_cause(&error)))
    }

    /// Look the host up, and refuse it when any of its addresses is not public.
    async fn checked(&self, url: &Url, limits: &Limits) -> Result<Vec<SocketAddr>, String> {
        let host = url.host_str().unwrap_or_default();
        let bare = host.trim_matches(['[', ']']);
        let port = url.port_or_known_default().unwrap_or(443);
        let addresses: Vec<SocketAddr> = match bare.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => look_up(host, port, limits).await?,
        };
        if scrubjay_providers::is_metadata_name(host) || addresses.iter().any(|at| address::is_metadata(at.ip())) {
            return Err(format!(
                "{host} is where a cloud tells a machine its own keys, so it was not contacted. No setting allows it."
            ));
        }
        let private = addresses.iter().find(|address| !address::is_public(address.ip()));
        match (self.reach, private) {
            (Reach::Public, Some(address)) => Err(format!(
                "{host} is at {}, which is not on the public internet, so it was not contacted. \
                 The person can allow private addresses with the setting web.private_addresses = true.",
                address.ip()
            )),
            _ if addresses.is_empty() => Err(format!("{host} has no address")),
            _ => Ok(addresses),
        }
    }
}

impl Tool for WebFetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, input: &Value, _: &Path) -> Effect {
        match address_in(input) {
            Ok(url) => Effect::Reaches(url.host_str().unwrap_or_default().to_owned()),
            Err(_) => Effect::Nothing,
        }
    }

    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        Box::pin(async move {
            let patience = Duration::from_millis(bench.limits.fetch_timeout_ms);
            match tokio::time::timeout(patience, self.fetch(input, bench.limits)).await {
                Ok(Ok(text)) => ToolOutcome::ok(text),
                Ok(Err(reason)) => ToolOutcome::error(reason),
                Err(_) => ToolOutcome::error(format!(
                    "the page had not come after {} seconds and was given up",
                    patience.as_secs()
                )),
            }
        })
    }
}

fn address_in(input: &Value) -> Result<Url, String> {
    let text = input.get("url").and_then(Value::as_str).ok_or("WebFetch needs a `url`, as a string.")?;
    let url = Url::parse(text.trim()).map_err(|error| format!("`{}` is not an address ({error}).", shown(text)))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("Only http and https addresses can be fetched, not {}.", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("The address carries a user name or password; fetch it without.".to_owned());
    }
    Ok(url)
}

async fn look_up(host: &str, port: u16, limits: &Limits) -> Result<Vec<SocketAddr>, String> {
    let patience = Duration::from_millis(limits.connect_timeout_ms);
    match tokio::time::timeout(patience, tokio::net::lookup_host((host, port))).await {
        Ok(Ok(addresses)) => Ok(addresses.collect()),
        Ok(Err(error)) => Err(format!("{host} could not be found: {error}")),
        Err(_) => Err(format!("{host} could not be found: its name server does not answer")),
    }
}

fn redirected(response: &Response, from: &Url) -> Result<Option<Url>, String> {
    if !response.status().is_redirection() {
        return Ok(None);
    }
    let Some(target) = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()) else { return Ok(None) };
    let next = from.join(target).map_err(|_| format!("{from} redirects to something that is not an address"))?;
    address_in(&json!({ "url": next.as_str() })).map(Some)
}

async fn read(response: Response, url: &Url, limits: &Limits) -> Result<String, String> {
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("").to_owned();
    if !is_text(&kind) {
        return Err(format!("{url} is not text but {}; only text can be read", shown(&kind)));
    }
    let (bytes, whole) = body(response, limits).await?;
    if bytes.iter().take(SNIFFED).any(|byte| *byte == 0) {
        return Err(format!("{url} says that it is text, but it is binary; only text can be read"));
    }
    let text = decode(&bytes, &kind);
    let text = if is_html(&kind, &text) { page::readable(&text, url) } else { text };
    let text = said(url, &text, whole, limits);
    if status.is_success() {
        Ok(text)
    } else {
        Err(format!("{} answered {status}.\n{text}", url.host_str().unwrap_or("?")))
    }
}

const SNIFFED: usize = 8_192;

/// Whether everything that was there was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whole {
    Yes,
    No,
}

async fn body(response: Response, limits: &Limits) -> Result<(Vec<u8>, Whole), String> {
    let most = usize::try_from(limits.fetch_bytes).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| format!("the page broke off: {}", root_cause(&error)))?;
        let room = most - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((bytes, Whole::No));
        }
    }
    Ok((bytes, Whole::Yes))
}

fn said(url: &Url, text: &str, whole: Whole, limits: &Limits) -> String {
    let most = usize::try_from(limits.fetch_chars).unwrap_or(usize::MAX);
    let cut = text.char_indices().nth(most).map(|(at, _)| at);
    let kept = shown(&text[..cut.unwrap_or(text.len())]);
    let note = match (cut, whole) {
        (Some(_), _) => format!("\n\n[cut here: the page goes on after {most} characters]"),
        (None, Whole::No) => "\n\n[cut here: the page is larger than what is fetched]".to_owned(),
        (None, Whole::Yes) => String::new(),
    };
    let nothing = if kept.trim().is_empty() { "(the page has no text)" } else { "" };
    format!("{url}\n\n{kept}{nothing}{note}")
}

fn is_text(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let structured = ["json", "xml", "javascript", "yaml", "toml", "x-sh", "x-ndjson"];
    kind.is_empty()
        || kind.starts_with("text/")
        || kind
            .strip_prefix("application/")
            .is_some_and(|kind| structured.iter().any(|known| kind == *known || kind.ends_with(&format!("+{known}"))))
}

fn is_html(kind: &str, text: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    let start = text.trim_start().get(..15).unwrap_or_default().to_ascii_lowercase();
    kind.contains("html") || (kind.is_empty() && (start.starts_with("<!doctype html") || start.starts_with("<html")))
}

fn decode(bytes: &[u8], kind: &str) -> String {
    let charset =
        kind.split(';').find_map(|part| part.trim().strip_prefix("charset=")).map(|name| name.trim_matches('"'));
    let encoding = charset.and_then(|name| Encoding::for_label(name.as_bytes())).unwrap_or(UTF_8);
    encoding.decode(bytes).0.into_owned()
}

/// The innermost reason: the outer ones repeat the address.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
