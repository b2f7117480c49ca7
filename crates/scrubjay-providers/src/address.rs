//! Where requests go: one base URL, fixed when a model is connected.

use crate::metadata::{is_metadata_address, is_metadata_name};
use reqwest::Url;

/// The root of an API, without its `/v1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    root: Url,
    /// Whether the root already holds what stands for `/v1` there.
    is_exact: bool,
}

/// Why a base URL was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is no URL.
    #[error("`{0}` is not a base URL; write it like https://api.example.com or http://127.0.0.1:8080/v1")]
    NotAUrl(String),
    /// Not a scheme this program speaks.
    #[error("a base URL begins with http:// or https://, not with {0}://")]
    Scheme(String),
    /// A user name or password stands in it.
    #[error(
        "the base URL for {0} carries a user name or password; leave it out and put the key in the environment or in a key file"
    )]
    Credentials(String),
    /// A cloud tells a machine its own keys there.
    #[error(
        "`{0}` is where a cloud tells a machine its own keys, not a model; nothing is ever sent there. Write the address of the model's service"
    )]
    Metadata(String),
    /// A query or fragment stands in it.
    #[error("the base URL for {0} has a `?` or `#` part; requests are made below a plain path, so leave that part out")]
    NotPlain(String),
}

impl Address {
    /// Read a base URL, with or without `/v1` and slashes at its end.
    pub(crate) fn read(text: &str) -> Result<Self, AddressError> {
        let mut url = Url::parse(text.trim()).map_err(|_| AddressError::NotAUrl(without_credentials(text)))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(AddressError::Scheme(url.scheme().to_owned()));
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressError::Credentials(host));
        }
        let number = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        if is_metadata_name(&host) || number.is_ok_and(is_metadata_address) {
            return Err(AddressError::Metadata(host));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(AddressError::NotPlain(host));
        }
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/v1").unwrap_or(path).trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self { root: url, is_exact: false })
    }

    /// Read a base URL below which endpoints stand without `/v1`, unless it is a host alone or ends in `/v1` itself.
    pub(crate) fn read_exact(text: &str) -> Result<Self, AddressError> {
        let address = Self::read(text)?;
        let path = text.trim().trim_end_matches('/');
        let is_exact = !address.root.path().trim_end_matches('/').is_empty() && !path.ends_with("/v1");
        Ok(Self { is_exact, ..address })
    }

    /// A path below the root.
    pub(crate) fn at(&self, path: &str) -> Url {
        let mut url = self.root.clone();
        let path = if self.is_exact { path.strip_prefix("/v1").unwrap_or(path) } else { path };
        url.set_path(&format!("{}{path}", self.root.path().trim_end_matches('/')));
        url
    }

    /// The whole of it, for messages to people: there are no credentials in it.
    pub(crate) fn shown(&self) -> String {
        self.root.as_str().trim_end_matches('/').to_owned()
    }

    /// Host and port, for messages to people.
    pub(crate) fn host(&self) -> String {
        let host = self.root.host_str().unwrap_or("?");
        self.root.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// The machine itself: no proxy stands between.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.root.host_str().unwrap_or_default().trim_matches(['[', ']']);
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// Nobody between can read what is sent.
    pub(crate) fn is_private(&self) -> bool {
        self.root.scheme() == "https" || self.is_loopback()
    }

    /// Whether this is the vendor's own service, and not one that speaks like it.
    pub(crate) fn is_host(&self, name: &str) -> bool {
        self.root.host_str() == Some(name)
    }

    /// Whether the host is this domain's.
    pub(crate) fn is_below(&self, domain: &str) -> bool {
        let host = self.root.host_str().unwrap_or_default().trim_end_matches('.');
        host == domain || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
    }
}

/// What stands before an `@` may be a password, even in something that is no URL.
fn without_credentials(text: &str) -> String {
    text.rsplit_once('@').map_or_else(|| text.to_owned(), |(_, rest)| format!("…@{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_and_slashes_are_optional() {
        for text in ["http://h:8080", "http://h:8080/", "http://h:8080/v1", " http://h:8080/v1/ "] {
            assert_eq!(Address::read(text).unwrap().at("/v1/messages").as_str(), "http://h:8080/v1/messages", "{text}");
        }
        let below = Address::read("https://gate.example/anthropic/v1").unwrap();
        assert_eq!(below.at("/v1/messages").as_str(), "https://gate.example/anthropic/v1/messages");
        assert_eq!(below.host(), "gate.example");
    }

    #[test]
    fn an_exact_base_url_gets_no_version() {
        for (text, url) in [
            ("https://gate.example/v1beta/openai/", "https://gate.example/v1beta/openai/chat/completions"),
            ("https://gate.example/openai", "https://gate.example/openai/chat/completions"),
            ("https://gate.example/openai/v1", "https://gate.example/openai/v1/chat/completions"),
            ("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1/chat/completions"),
            ("https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions"),
        ] {
            assert_eq!(Address::read_exact(text).unwrap().at("/v1/chat/completions").as_str(), url, "{text}");
        }
    }

    #[test]
    fn a_domain_is_known_by_its_whole_name() {
        for (text, is) in [
            ("https://api.openai.com", true),
            ("https://OPENAI.com", true),
            ("https://eu.api.openai.com./v1", true),
            ("https://notopenai.com", false),
            ("https://openai.com.example", false),
        ] {
            assert_eq!(Address::read(text).unwrap().is_below("openai.com"), is, "{text}");
        }
    }

    // spec: X3
    #[test]
    fn no_base_url_leads_to_a_metadata_service() {
        for text in [
            "http://169.254.169.254/v1",
            "http://2852039166",
            "http://0xa9fea9fe",
            "http://0251.0376.0251.0376",
            "http://169.254.43518",
            "http://[::ffff:169.254.169.254]",
            "http://[64:ff9b::a9fe:a9fe]",
            "http://[fd00:ec2::254]",
            "http://168.63.129.16/machine",
            "http://100.100.100.200",
            "http://metadata.google.internal./computeMetadata",
            "http://METADATA.GOOGLE.INTERNAL",
            "http://169。254。169。254",
        ] {
            assert!(matches!(Address::read(text), Err(AddressError::Metadata(_))), "{text}: {:?}", Address::read(text));
        }
        for text in ["http://127.0.0.1:11434", "http://10.0.0.7:8000/v1", "https://api.example.com"] {
            assert!(Address::read(text).is_ok(), "{text}");
        }
    }

    // safety: F-70
    #[test]
    fn what_is_refused_is_refused_without_repeating_a_secret() {
        for text in
            ["ftp://h", "h:8080", "file:///etc/passwd", "not a url", "https://me:canary@h", "http://h?key=canary"]
        {
            let said = Address::read(text).unwrap_err().to_string();
            assert!(!said.contains("canary"), "{said}");
        }
        assert!(!Address::read("::me:canary@h").unwrap_err().to_string().contains("canary"));
    }

    #[test]
    fn loopback_is_known_by_name_and_number() {
        for (text, is) in [
            ("http://127.0.0.1:1", true),
            ("http://[::1]:1", true),
            ("http://localhost", true),
            ("http://10.0.0.1", false),
            ("http://localhost.example", false),
        ] {
            assert_eq!(Address::read(text).unwrap().is_loopback(), is, "{text}");
        }
    }
}
