//! A vendor's own environment variables, as the vendor's SDK reads them, and which hosts are the vendor's.

use crate::address::{Address, AddressError};
use crate::choice::Provider;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use std::collections::BTreeMap;

/// Where requests to Anthropic's models go instead of to Anthropic.
pub const ANTHROPIC_BASE_URL: &str = "ANTHROPIC_BASE_URL";
/// Where requests to OpenAI's models go instead of to OpenAI.
pub const OPENAI_BASE_URL: &str = "OPENAI_BASE_URL";
/// More headers for requests of the Messages dialect, one `Name: value` a line.
pub const ANTHROPIC_CUSTOM_HEADERS: &str = "ANTHROPIC_CUSTOM_HEADERS";
/// More headers for requests of the Chat Completions dialect, one `Name: value` a line.
pub const OPENAI_CUSTOM_HEADERS: &str = "OPENAI_CUSTOM_HEADERS";

/// Headers that frame a request; nobody else sets them.
const FRAMING: [&str; 4] = ["content-length", "transfer-encoding", "connection", "content-type"];
const BETA_HEADER: &str = "anthropic-beta";
const KEY_HEADER: &str = "x-api-key";

/// What the vendors' own variables say. Header values may be secrets: they are never shown, not even by `Debug`.
#[derive(Debug, Clone, Default)]
pub struct VendorVariables {
    anthropic: Variables,
    openai: Variables,
}

#[derive(Debug, Clone, Default)]
struct Variables {
    base_url: Option<String>,
    custom_headers: Option<SecretString>,
    /// Headers that have a variable each.
    named_headers: Vec<(&'static str, SecretString)>,
}

impl VendorVariables {
    /// From environment values; empty ones count as absent.
    pub fn from_values(values: &BTreeMap<String, String>) -> Self {
        let text = |name: &str| values.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
        let secret = |name: &str| text(name).map(SecretString::from);
        let organisation = [("openai-organization", "OPENAI_ORG_ID"), ("openai-project", "OPENAI_PROJECT_ID")];
        Self {
            anthropic: Variables {
                base_url: text(ANTHROPIC_BASE_URL).map(str::to_owned),
                custom_headers: secret(ANTHROPIC_CUSTOM_HEADERS),
                named_headers: Vec::new(),
            },
            openai: Variables {
                base_url: text(OPENAI_BASE_URL).map(str::to_owned),
                custom_headers: secret(OPENAI_CUSTOM_HEADERS),
                named_headers: organisation
                    .into_iter()
                    .filter_map(|(header, variable)| Some((header, secret(variable)?)))
                    .collect(),
            },
        }
    }

    fn of(&self, provider: Provider) -> Option<&Variables> {
        match provider {
            Provider::Anthropic => Some(&self.anthropic),
            Provider::OpenAi => Some(&self.openai),
            Provider::Ollama | Provider::Offline => None,
        }
    }

    /// The base URL of a provider's own variable, with the variable's name.
    pub(crate) fn base_url(&self, provider: Provider) -> Option<(&'static str, &str)> {
        let name = if provider == Provider::Anthropic { ANTHROPIC_BASE_URL } else { OPENAI_BASE_URL };
        Some((name, self.of(provider)?.base_url.as_deref()?))
    }

    /// The headers for a provider, or the name of the variable with one that cannot be sent.
    pub(crate) fn headers(&self, provider: Provider) -> Result<CustomHeaders, &'static str> {
        let Some(variables) = self.of(provider) else { return Ok(CustomHeaders::default()) };
        let variable = if provider == Provider::Anthropic { ANTHROPIC_CUSTOM_HEADERS } else { OPENAI_CUSTOM_HEADERS };
        let mut found = CustomHeaders::default();
        for (name, value) in &variables.named_headers {
            found.add(name, value.expose_secret()).ok_or(variable)?;
        }
        let custom = variables.custom_headers.as_ref().map(ExposeSecret::expose_secret).unwrap_or_default();
        // A line without a colon is no header.
        for (name, value) in custom.lines().filter_map(|line| line.split_once(':')) {
            found.add(name.trim(), value.trim()).ok_or(variable)?;
        }
        Ok(found)
    }
}

/// Headers that the user added.
#[derive(Debug, Clone, Default)]
pub(crate) struct CustomHeaders {
    /// In the order in which they were written; of two with the same name the later counts.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// The betas among them, which join those that requests name anyway.
    pub(crate) betas: Vec<String>,
}

impl CustomHeaders {
    fn add(&mut self, name: &str, value: &str) -> Option<()> {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        if FRAMING.contains(&name.as_str()) {
            return None;
        }
        let mut value = HeaderValue::from_str(value).ok()?;
        if name == BETA_HEADER {
            self.betas.extend(value.to_str().ok()?.split(',').map(|beta| beta.trim().to_owned()));
            return Some(());
        }
        value.set_sensitive(true);
        self.headers.push((name, value));
        Some(())
    }

    /// Whether they say who asks, so that no key is needed.
    pub(crate) fn authorise(&self) -> bool {
        self.headers.iter().any(|(name, _)| name == AUTHORIZATION || name == KEY_HEADER)
    }
}

/// Whether an address belongs to the other vendor.
pub(crate) fn is_other_vendors(provider: Provider, address: &Address) -> bool {
    match provider {
        Provider::Anthropic => address.is_below("openai.com"),
        Provider::OpenAi => address.is_below("anthropic.com") || address.is_below("claude.com"),
        Provider::Ollama | Provider::Offline => false,
    }
}

/// Whether a key is Anthropic's by its look.
pub(crate) fn is_anthropic_key(key: &SecretString) -> bool {
    key.expose_secret().starts_with("sk-ant-")
}

/// The root of an API from a vendor's own variable. OpenAI's SDK appends nothing but the endpoint to a path.
pub(crate) fn variable_address(provider: Provider, text: &str) -> Result<Address, AddressError> {
    if provider == Provider::OpenAi { Address::read_exact(text) } else { Address::read(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> VendorVariables {
        VendorVariables::from_values(&pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn custom_headers_are_read_as_the_sdks_read_them() {
        let custom =
            "X-Team: blue:green\n\nno header\n x-team :red\nanthropic-beta: b-2, a-1\nAuthorization: Bearer canary";
        let read =
            variables(&[(ANTHROPIC_CUSTOM_HEADERS, custom), ("OPENAI_ORG_ID", "org-1"), ("OPENAI_PROJECT_ID", " ")]);
        let headers = read.headers(Provider::Anthropic).unwrap();
        let shown: Vec<(&str, &str)> =
            headers.headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(shown, [("x-team", "blue:green"), ("x-team", "red"), ("authorization", "Bearer canary")]);
        assert_eq!((headers.betas.as_slice(), headers.authorise()), (&["b-2".to_owned(), "a-1".to_owned()][..], true));
        let openai = read.headers(Provider::OpenAi).unwrap();
        assert_eq!(openai.headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["openai-organization"]);
        assert!(!openai.authorise() && read.headers(Provider::Ollama).unwrap().headers.is_empty());
        assert!(!format!("{read:?}{headers:?}").contains("canary"));
        for bad in ["x y: 1", "Content-Length: 3", "x: \u{7}"] {
            let read = variables(&[(OPENAI_CUSTOM_HEADERS, bad)]);
            assert_eq!(read.headers(Provider::OpenAi).unwrap_err(), OPENAI_CUSTOM_HEADERS, "{bad}");
            assert!(read.headers(Provider::Anthropic).is_ok(), "{bad} is for the other vendor");
        }
    }

    #[test]
    fn each_vendor_has_its_own_variable() {
        let both = variables(&[(ANTHROPIC_BASE_URL, "http://a"), (OPENAI_BASE_URL, "http://o")]);
        assert_eq!(both.base_url(Provider::Anthropic), Some((ANTHROPIC_BASE_URL, "http://a")));
        assert_eq!(both.base_url(Provider::OpenAi), Some((OPENAI_BASE_URL, "http://o")));
        assert_eq!((both.base_url(Provider::Ollama), both.base_url(Provider::Offline)), (None, None));
        assert_eq!(variables(&[(OPENAI_BASE_URL, " ")]).base_url(Provider::OpenAi), None);
    }
}
