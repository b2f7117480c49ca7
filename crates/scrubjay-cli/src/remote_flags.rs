//! Remote flags: switches and numbers from a file or an address that the person's own settings name. Nothing is fetched
//! unless they do, and a service that does not answer costs a moment and a warning, never the session.

use scrubjay::limits::Limits;
use scrubjay::paths;
use scrubjay::settings::SettingsFile;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Flags, and what a person should know about how they were had.
pub(crate) struct Flags {
    pub(crate) file: Option<SettingsFile>,
    pub(crate) warning: Option<String>,
}

/// Read them. What was fetched last is kept in `cache` and serves when the address does not answer.
pub(crate) async fn read(named: &str, home: &Path, cache: &Path, limits: &Limits) -> Flags {
    if !named.contains("://") {
        let path = paths::expand_home(named, home);
        return match std::fs::read_to_string(&path) {
            Ok(text) => parsed(&text, path),
            Err(error) => without(format!("the remote flags {} cannot be read ({error}); none count", path.display())),
        };
    }
    match fetch(named, limits).await {
        Ok(text) => {
            let kept =
                paths::create_dir_private(cache).and_then(|()| paths::write_private(&kept_in(cache), text.as_bytes()));
            let mut flags = parsed(&text, PathBuf::from(named));
            flags.warning =
                flags.warning.or(kept.err().map(|error| format!("remote flags could not be kept ({error})")));
            flags
        }
        Err(why) => match std::fs::read_to_string(kept_in(cache)) {
            Ok(text) => {
                let mut flags = parsed(&text, kept_in(cache));
                flags.warning = Some(format!("remote flags were not fetched ({why}); those of the last time count"));
                flags
            }
            Err(_) => without(format!("remote flags were not fetched ({why}); none count")),
        },
    }
}

fn kept_in(cache: &Path) -> PathBuf {
    cache.join("remote-flags.toml")
}

fn without(warning: String) -> Flags {
    Flags { file: None, warning: Some(warning) }
}

fn parsed(text: &str, file: PathBuf) -> Flags {
    match toml::from_str(text) {
        Ok(table) => Flags { file: Some(SettingsFile { table, file }), warning: None },
        Err(error) => without(format!("the remote flags are not TOML ({}); none count", error.message())),
    }
}

/// Over TLS, or from this machine: flags decide what runs.
async fn fetch(url: &str, limits: &Limits) -> Result<String, String> {
    let url: reqwest::Url = url.parse().map_err(|_| "the address is not a URL".to_owned())?;
    let here = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    if url.scheme() != "https" && !(url.scheme() == "http" && here) {
        return Err("the address must be https".to_owned());
    }
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_millis(limits.flags_timeout_ms))
        .build()
        .map_err(|error| error.to_string())?;
    let mut response = client.get(url).send().await.map_err(|_| "no answer".to_owned())?;
    if !response.status().is_success() {
        return Err(format!("HTTP {}", response.status().as_u16()));
    }
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|_| "the answer broke off".to_owned())? {
        body.extend_from_slice(&piece);
        if body.len() as u64 > limits.flags_bytes {
            return Err("the answer is too long".to_owned());
        }
    }
    String::from_utf8(body).map_err(|_| "the answer is not text".to_owned())
}
