//! Choosing a model: from a name, a base URL and the keys at hand to something that answers.

use crate::address::{Address, AddressError};
use crate::anthropic::{self, Anthropic, LongWindow};
use crate::catalogue::{Catalogue, Entry, Known, LONG_CONTEXT_BETA, has_long_suffix, request_name};
use crate::facts::Facts;
use crate::keys::Keys;
use crate::offline::Offline;
use crate::openai::{OpenAi, Service, is_openai_name};
use crate::vendor::{CustomHeaders, VendorVariables, is_anthropic_key, is_other_vendors, variable_address};
use crate::wire::{Auth, Wire};
use scrubjay::limits::Limits;
use scrubjay::model::{Ability, Model};
use scrubjay::tokens::ContextWindow;
use std::sync::Arc;

const ANTHROPIC_URL: &str = "https://api.anthropic.com";
pub(crate) const OPENAI_HOST: &str = "api.openai.com";
const OPENAI_URL: &str = "https://api.openai.com";
const OLLAMA_URL: &str = "http://127.0.0.1:11434";
const LOCAL_URL: &str = "http://127.0.0.1:8080";

/// Who serves a model, and so which dialect is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// The Messages dialect.
    Anthropic,
    /// The Chat Completions dialect.
    OpenAi,
    /// The Chat Completions dialect on this machine, without a key.
    Ollama,
    /// No model at all.
    Offline,
}

impl std::str::FromStr for Provider {
    type Err = ConnectError;

    fn from_str(name: &str) -> Result<Self, ConnectError> {
        match name.trim().to_ascii_lowercase().as_str() {
            "anthropic" => Ok(Provider::Anthropic),
            "openai" => Ok(Provider::OpenAi),
            "ollama" | "local" => Ok(Provider::Ollama),
            "offline" => Ok(Provider::Offline),
            _ => Err(ConnectError::UnknownProvider(name.to_owned())),
        }
    }
}

impl std::fmt::Display for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Provider::Anthropic => "anthropic",
            Provider::OpenAi => "openai",
            Provider::Ollama => "ollama",
            Provider::Offline => "offline",
        })
    }
}

/// What the user asked for.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// The model's name; empty takes the provider's default.
    pub model: String,
    /// Who serves it; `None` is decided by name, base URL and keys.
    pub provider: Option<Provider>,
    /// Where; `None` is the address in the vendor's own variable, or the vendor's.
    pub base_url: Option<String>,
    /// What the vendors' own variables say.
    pub vendor: VendorVariables,
    /// Betas a request names, for the Messages dialect.
    pub betas: Vec<String>,
    /// How much the model holds, where nothing knows better.
    pub window: Option<u64>,
}

/// Why a model cannot be connected. Each says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// There is no key for it.
    #[error("there is no key for {host}: set {names}, or choose an offline or local model with --model offline")]
    NoKey {
        /// Whom the key would be for.
        host: String,
        /// Where it is looked for.
        names: &'static str,
    },
    /// The base URL is not usable.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A vendor's key would go to the other vendor.
    #[error(
        "a key of {provider}'s would be sent to {host}, which is another vendor's, so nothing was sent; correct the base URL \
         ({origin}), or choose the service with --provider"
    )]
    OtherVendor {
        /// Whose key.
        provider: Provider,
        /// To whom.
        host: String,
        /// Who named the address.
        origin: UrlOrigin,
    },
    /// A header of the user's own cannot be sent.
    #[error(
        "{0} holds a header that cannot be sent; write one `Name: value` a line, without headers that frame a request"
    )]
    Header(&'static str),
    /// A key would travel in the open.
    #[error(
        "the key for {0} would be sent unencrypted; use an https:// base URL, or --provider ollama for a service without a key"
    )]
    Unencrypted(String),
    /// No such provider.
    #[error("there is no provider called `{0}`; there are anthropic, openai, ollama and offline")]
    UnknownProvider(String),
    /// No model was named, and the provider has none by default.
    #[error("no model is named for {0}; name one with --model")]
    NoModel(&'static str),
    /// A header or the HTTP client could not be made.
    #[error("the model cannot be connected: {0}")]
    Unusable(String),
}

/// Who named the address that requests go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlOrigin {
    /// The choice: a flag, a setting, or a variable of this program.
    Chosen,
    /// The vendor's own variable.
    Variable(&'static str),
    /// Nobody: it is the provider's own.
    Provider,
}

impl std::fmt::Display for UrlOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            UrlOrigin::Chosen => "the setting `base_url`",
            UrlOrigin::Variable(name) => name,
            UrlOrigin::Provider => "the provider's own",
        })
    }
}

/// Where requests go and with which key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// Who serves the model.
    pub provider: Provider,
    /// The root of the API; there are no credentials in it.
    pub base_url: String,
    /// Who named it.
    pub origin: UrlOrigin,
    /// The name of the key that requests carry, if any.
    pub key: Option<&'static str>,
}

/// Who would serve a choice.
pub fn provider_of(choice: &Choice, keys: &Keys) -> Provider {
    decide(choice, keys)
}

/// Where a choice leads; `None`: without a model. Nothing is sent.
pub fn destination(choice: &Choice, keys: &Keys) -> Result<Option<Destination>, ConnectError> {
    let provider = decide(choice, keys);
    let Some((address, origin)) = address(choice, provider)? else { return Ok(None) };
    Ok(Some(Destination { provider, base_url: address.shown(), origin, key: keys.name_for(provider) }))
}

/// How much the model of a choice holds, as far as that is known without asking its service.
pub fn window_of(choice: &Choice, keys: &Keys, catalogue: &Catalogue, limits: &Limits) -> ContextWindow {
    let custom = choice.vendor.headers(decide(choice, keys)).unwrap_or_default();
    let named = bare(&choice.model);
    let by_table = catalogue.find(named).map(|entry| entry.betas.as_slice()).unwrap_or_default();
    let betas: Vec<String> = choice.betas.iter().chain(&custom.betas).chain(by_table).cloned().collect();
    catalogue.window(named, &betas, choice.window, limits)
}

/// The address in force, strongest first: the choice, the vendor's own variable, the provider's own.
fn address(choice: &Choice, provider: Provider) -> Result<Option<(Address, UrlOrigin)>, ConnectError> {
    let Some((_, own_url)) = home(provider, &choice.model) else { return Ok(None) };
    Ok(Some(match (&choice.base_url, choice.vendor.base_url(provider)) {
        (Some(url), _) => (Address::read(url)?, UrlOrigin::Chosen),
        (None, Some((name, url))) => (variable_address(provider, url)?, UrlOrigin::Variable(name)),
        (None, None) => (Address::read(own_url)?, UrlOrigin::Provider),
    }))
}

/// Connect a model. Nothing is sent yet.
pub fn connect(
    choice: &Choice,
    keys: &Keys,
    catalogue: &Catalogue,
    limits: &Limits,
) -> Result<Arc<dyn Model>, ConnectError> {
    match Plan::of(choice, keys, catalogue, limits)? {
        None => Ok(Arc::new(Offline::new(limits))),
        Some(plan) => plan.finish(),
    }
}

/// The cheapest model of the same provider that can call tools, for small work beside the conversation; nothing where the service is
/// not the provider's own, or where none is cheaper. Prices that are not known do not count.
pub fn cheapest(choice: &Choice, keys: &Keys, catalogue: &Catalogue) -> Option<String> {
    let provider = decide(choice, keys);
    let is_elsewhere = choice.base_url.is_some() || choice.vendor.base_url(provider).is_some();
    if is_elsewhere || !matches!(provider, Provider::Anthropic | Provider::OpenAi) {
        return None;
    }
    let (label, _) = home(provider, &choice.model)?;
    let served_by = |name: &str| decide(&Choice { model: name.to_owned(), ..Choice::default() }, &Keys::default());
    let priced = catalogue.models().filter(|(name, entry)| served_by(name) == provider && entry.can(Ability::Tools));
    let priced = priced.filter_map(|(name, entry)| Some((entry.price()?, name)));
    let (price, name) = priced.min_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))?;
    let defaults = catalogue.default_of(label);
    let chosen = Some(bare(&choice.model)).filter(|name| !name.is_empty()).or(defaults.model.as_deref());
    let own = chosen.and_then(|name| catalogue.find(name)).and_then(Entry::price);
    own.is_none_or(|own| price < own).then(|| name.to_owned())
}

/// Connect a model, and first ask its service what the catalogue does not know. A service that does not say is no error.
pub async fn connect_consulting(
    choice: &Choice,
    keys: &Keys,
    catalogue: &Catalogue,
    limits: &Limits,
) -> Result<Arc<dyn Model>, ConnectError> {
    match Plan::of(choice, keys, catalogue, limits)? {
        None => Ok(Arc::new(Offline::new(limits))),
        Some(mut plan) => {
            if plan.known.entry.window.is_none() && !has_long_suffix(&choice.model) {
                let facts = Facts::ask(&plan.wire, &plan.known.name).await;
                let by_beta = plan.betas.iter().any(|beta| beta == LONG_CONTEXT_BETA).then_some(limits.long_window);
                facts.fill(&mut plan.known, by_beta.or(choice.window));
            }
            plan.finish()
        }
    }
}

/// Everything decided, nothing sent.
struct Plan {
    provider: Provider,
    wire: Wire,
    known: Known,
    betas: Vec<String>,
    service: Service,
}

impl Plan {
    /// `None`: without a model.
    fn of(choice: &Choice, keys: &Keys, catalogue: &Catalogue, limits: &Limits) -> Result<Option<Self>, ConnectError> {
        let provider = decide(choice, keys);
        let Some((label, _)) = home(provider, &choice.model) else { return Ok(None) };
        let Some((address, origin)) = address(choice, provider)? else { return Ok(None) };
        let custom = choice.vendor.headers(provider).map_err(ConnectError::Header)?;
        let service = if address.is_host(OPENAI_HOST) { Service::OpenAi } else { Service::Compatible };
        let auth = auth(provider, &address, keys, &custom)?;
        if !matches!(auth, Auth::None) || !custom.headers.is_empty() {
            let is_foreign = is_other_vendors(provider, &address) || shows_wrong_key(&auth, &address);
            if is_foreign {
                return Err(ConnectError::OtherVendor { provider, host: address.host(), origin });
            }
            if !address.is_private() {
                return Err(ConnectError::Unencrypted(address.host()));
            }
        }
        let defaults = catalogue.default_of(label);
        let chosen = Some(bare(&choice.model)).filter(|name| !name.is_empty());
        let named = chosen.or(defaults.model.as_deref()).ok_or(ConnectError::NoModel(label))?.to_owned();
        let entry = catalogue.find(&named).cloned().unwrap_or(Entry { model: None, ..defaults });
        let is_long_already = entry.window.is_some_and(|size| size >= limits.long_window);
        let is_asked_for = has_long_suffix(&named) && !is_long_already;
        let long = if is_asked_for { LongWindow::ByRequest } else { LongWindow::AsIs };
        let betas = anthropic::betas(choice.betas.iter().chain(&custom.betas).chain(&entry.betas), long);
        let known = Known {
            window: catalogue.window(&named, &betas, choice.window, limits),
            near: catalogue.near(&named).into_iter().map(str::to_owned).collect(),
            name: request_name(&named).to_owned(),
            entry,
        };
        let wire = Wire::new(address, auth, limits.clone()).map_err(ConnectError::Unusable)?;
        let wire = wire.with_custom_headers(&custom.headers);
        Ok(Some(Self { provider, wire, known, betas, service }))
    }

    fn finish(self) -> Result<Arc<dyn Model>, ConnectError> {
        let Self { provider, wire, known, betas, service } = self;
        Ok(match provider {
            Provider::Anthropic => Arc::new(Anthropic::new(wire, known, &betas).map_err(ConnectError::Unusable)?),
            _ => Arc::new(OpenAi::new(wire, known, service)),
        })
    }
}

/// Who serves it: what was said, else what the name says, else what there is a key or an address for.
fn decide(choice: &Choice, keys: &Keys) -> Provider {
    if let Some(provider) = choice.provider {
        return provider;
    }
    let name = choice.model.trim().to_ascii_lowercase();
    let plain = name.rsplit(['/', '.']).next().unwrap_or_default();
    match name.as_str() {
        "offline" => Provider::Offline,
        name if name.starts_with("ollama/") || name.starts_with("local/") => Provider::Ollama,
        _ if plain.starts_with("claude") => Provider::Anthropic,
        name if is_openai_name(name) => Provider::OpenAi,
        "" if keys.opens_anthropic() => Provider::Anthropic,
        _ if choice.base_url.is_some() => Provider::OpenAi,
        "" if keys.openai_key.is_some() => Provider::OpenAi,
        "" => Provider::Offline,
        _ if choice.vendor.base_url(Provider::OpenAi).is_some() => Provider::OpenAi,
        _ if keys.opens_anthropic() => Provider::Anthropic,
        _ => Provider::OpenAi,
    }
}

/// A provider's name in the catalogue and its own address; `None` for no provider at all.
fn home(provider: Provider, model: &str) -> Option<(&'static str, &'static str)> {
    match provider {
        Provider::Offline => None,
        Provider::Anthropic => Some(("anthropic", ANTHROPIC_URL)),
        Provider::OpenAi => Some(("openai", OPENAI_URL)),
        Provider::Ollama if model.trim().starts_with("local/") => Some(("ollama", LOCAL_URL)),
        Provider::Ollama => Some(("ollama", OLLAMA_URL)),
    }
}

/// The model's name without the word that chose its provider.
fn bare(model: &str) -> &str {
    let model = model.trim();
    ["ollama/", "local/"].iter().find_map(|prefix| model.strip_prefix(prefix)).unwrap_or(model)
}

/// The vendors' own services need a key; others may do without. Headers of the user's own may hold one.
fn auth(provider: Provider, address: &Address, keys: &Keys, custom: &CustomHeaders) -> Result<Auth, ConnectError> {
    let missing = |names| ConnectError::NoKey { host: address.host(), names };
    match provider {
        Provider::Anthropic => match (&keys.anthropic_key, &keys.anthropic_token) {
            (Some(key), _) => Ok(Auth::Key(key.clone())),
            (None, Some(token)) => Ok(Auth::Bearer(token.clone())),
            (None, None) if address.is_loopback() || custom.authorise() => Ok(Auth::None),
            (None, None) => Err(missing("ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN)")),
        },
        Provider::OpenAi => match &keys.openai_key {
            Some(key) => Ok(Auth::Bearer(key.clone())),
            None if address.is_host(OPENAI_HOST) && !custom.authorise() => Err(missing("OPENAI_API_KEY")),
            None => Ok(Auth::None),
        },
        Provider::Ollama | Provider::Offline => Ok(Auth::None),
    }
}

/// A key that lies under the wrong name shows by its look whose it is.
fn shows_wrong_key(auth: &Auth, address: &Address) -> bool {
    match auth {
        Auth::Key(key) | Auth::Bearer(key) => is_anthropic_key(key) && is_other_vendors(Provider::Anthropic, address),
        Auth::None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn keys(names: &[&str]) -> Keys {
        let values: BTreeMap<String, String> =
            names.iter().map(|name| ((*name).to_owned(), "canary".to_owned())).collect();
        Keys::from_values(&values)
    }

    fn named(model: &str) -> Choice {
        Choice { model: model.to_owned(), ..Choice::default() }
    }

    /// With these variables of the vendors.
    fn behind(model: &str, variables: &[(&str, &str)]) -> Choice {
        let values = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Choice { vendor: VendorVariables::from_values(&values), ..named(model) }
    }

    fn connected(choice: &Choice, keys: &Keys) -> Result<Arc<dyn Model>, ConnectError> {
        connect(choice, keys, &Catalogue::built_in().unwrap(), &Limits::default())
    }

    // spec: U2
    #[test]
    fn the_provider_follows_from_name_address_and_keys() {
        let (anthropic, openai) = (keys(&["ANTHROPIC_API_KEY"]), keys(&["OPENAI_API_KEY"]));
        let at = |model: &str, url: &str| Choice { base_url: Some(url.into()), ..named(model) };
        for (choice, keys, provider) in [
            (named("offline"), &anthropic, Provider::Offline),
            (named(""), &Keys::default(), Provider::Offline),
            (named(""), &anthropic, Provider::Anthropic),
            (named(""), &openai, Provider::OpenAi),
            (named("claude-opus-5-5"), &openai, Provider::Anthropic),
            (named("us.anthropic.claude-opus-5"), &openai, Provider::Anthropic),
            (named("gpt-5.6"), &anthropic, Provider::OpenAi),
            (named("o3-mini"), &anthropic, Provider::OpenAi),
            (named("ollama/qwen3"), &anthropic, Provider::Ollama),
            (named("local/smol"), &anthropic, Provider::Ollama),
            (at("mistral", "http://h"), &anthropic, Provider::OpenAi),
            (at("", "http://h"), &anthropic, Provider::Anthropic),
            (at("claude-x", "http://h"), &anthropic, Provider::Anthropic),
            (Choice { provider: Some(Provider::Anthropic), ..at("smol", "http://h") }, &openai, Provider::Anthropic),
            (behind("mistral", &[("OPENAI_BASE_URL", "http://h")]), &anthropic, Provider::OpenAi),
            (behind("", &[("OPENAI_BASE_URL", "http://h")]), &anthropic, Provider::Anthropic),
            (behind("", &[("OPENAI_BASE_URL", "http://h")]), &Keys::default(), Provider::Offline),
            (behind("claude-x", &[("OPENAI_BASE_URL", "http://h")]), &anthropic, Provider::Anthropic),
        ] {
            assert_eq!(decide(&choice, keys), provider, "{choice:?}");
        }
        assert!("gemini".parse::<Provider>().unwrap_err().to_string().contains("ollama"));
    }

    // spec: E1
    #[test]
    fn small_work_goes_to_the_cheapest_model_of_the_same_provider() {
        let own = "[models.\"gpt-mini\"]\nabilities = [\"tools\"]\nprices = { input = 0.2, output = 0.8 }\n\
                   [models.\"gpt-mute\"]\nprices = { input = 0.1, output = 0.1 }\n\
                   [models.\"gpt-vague\"]\nabilities = [\"tools\"]\nprices = { input = 0.1 }\n";
        let catalogue = Catalogue::with(Some(own)).unwrap();
        let anthropic = keys(&["ANTHROPIC_API_KEY"]);
        for (choice, name) in [
            (named("claude-opus-5-5"), Some("claude-haiku-4-5")),
            (named(""), Some("claude-haiku-4-5")),
            (named("claude-haiku-5-5"), Some("claude-haiku-4-5")),
            (named("claude-haiku-4-5"), None),
            (named("gpt-5.6"), Some("gpt-mini")),
            (named("ollama/qwen3"), None),
            (named("offline"), None),
            (Choice { base_url: Some("https://proxy.example".into()), ..named("claude-opus-5-5") }, None),
        ] {
            assert_eq!(cheapest(&choice, &anthropic, &catalogue).as_deref(), name, "{choice:?}");
        }
        let built_in = Catalogue::built_in().unwrap();
        assert_eq!(cheapest(&named("gpt-5.6"), &anthropic, &built_in), None, "no price of it is known");
    }

    #[test]
    fn a_missing_key_names_the_remedy() {
        let said = |model: &str| connected(&named(model), &Keys::default()).err().unwrap().to_string();
        assert!(said("claude-opus-5-5").contains("set ANTHROPIC_API_KEY"));
        assert!(said("claude-opus-5-5").contains("--model offline"));
        assert!(said("gpt-5.6").contains("set OPENAI_API_KEY"));
        assert!(connected(&named("ollama/"), &Keys::default()).err().unwrap().to_string().contains("--model"));
        let broken = Keys::from_values(&BTreeMap::from([("ANTHROPIC_API_KEY".into(), "can\nary".into())]));
        let said = connected(&named("claude-opus-5-5"), &broken).err().unwrap().to_string();
        assert!(said.contains("copy it again") && !said.contains("ary"), "{said}");
    }

    // safety: F-70
    #[test]
    fn a_key_never_travels_in_the_open() {
        let at = |url: &str| Choice { base_url: Some(url.into()), ..named("claude-opus-5-5") };
        let keys = keys(&["ANTHROPIC_API_KEY"]);
        assert!(connected(&at("http://h.example"), &keys).err().unwrap().to_string().contains("https://"));
        for url in ["https://h.example", "http://127.0.0.1:1", "http://localhost:1/v1"] {
            assert!(connected(&at(url), &keys).is_ok(), "{url}");
        }
        let lan = Choice { provider: Some(Provider::Ollama), ..at("http://h.example") };
        assert!(connected(&lan, &keys).is_ok(), "without a key there is nothing to protect");
    }

    // spec: W5
    #[test]
    fn the_strongest_base_url_counts() {
        let keys = keys(&["ANTHROPIC_API_KEY", "OPENAI_API_KEY"]);
        let variables = [("ANTHROPIC_BASE_URL", "https://a.example/x/"), ("OPENAI_BASE_URL", "https://o.example/v1")];
        let led = |choice: &Choice| {
            let found = destination(choice, &keys).unwrap().unwrap();
            (found.base_url, found.origin, found.key)
        };
        let claude = behind("claude-opus-5-5", &variables);
        let gpt = behind("gpt-5.6", &variables);
        let chosen = Choice { base_url: Some("https://mine.example".into()), ..claude.clone() };
        let own = |url: &str, origin, key| (url.to_owned(), origin, Some(key));
        assert_eq!(led(&chosen), own("https://mine.example", UrlOrigin::Chosen, "ANTHROPIC_API_KEY"));
        let variable = UrlOrigin::Variable("ANTHROPIC_BASE_URL");
        assert_eq!(led(&claude), own("https://a.example/x", variable, "ANTHROPIC_API_KEY"));
        let variable = UrlOrigin::Variable("OPENAI_BASE_URL");
        assert_eq!(led(&gpt), own("https://o.example", variable, "OPENAI_API_KEY"));
        let vendor = led(&behind("claude-opus-5-5", &variables[1..]));
        assert_eq!(vendor, own("https://api.anthropic.com", UrlOrigin::Provider, "ANTHROPIC_API_KEY"));
        let local = destination(&behind("ollama/x", &variables), &keys).unwrap().unwrap();
        assert_eq!((local.base_url.as_str(), local.key), ("http://127.0.0.1:11434", None));
        assert_eq!(destination(&named("offline"), &keys).unwrap(), None);
        assert_eq!(cheapest(&claude, &keys, &Catalogue::built_in().unwrap()), None, "a gateway may not have it");
    }

    // spec: W5
    // safety: F-70
    #[test]
    fn no_key_goes_to_the_other_vendor() {
        let keys = keys(&["ANTHROPIC_API_KEY", "OPENAI_API_KEY"]);
        let at = |model: &str, url: &str| Choice { base_url: Some(url.into()), ..named(model) };
        for (choice, host) in [
            (at("claude-opus-5-5", "https://api.openai.com/v1"), "api.openai.com"),
            (at("gpt-5.6", "https://api.anthropic.com"), "api.anthropic.com"),
            (behind("claude-opus-5-5", &[("ANTHROPIC_BASE_URL", "https://eu.api.openai.com")]), "eu.api.openai.com"),
            (behind("gpt-5.6", &[("OPENAI_BASE_URL", "https://api.anthropic.com/v1/")]), "api.anthropic.com"),
        ] {
            let said = connected(&choice, &keys).err().unwrap().to_string();
            assert!(said.contains(host) && said.contains("another vendor's") && !said.contains("canary"), "{said}");
        }
        let misplaced = Keys::from_values(&BTreeMap::from([("OPENAI_API_KEY".into(), "sk-ant-canary".into())]));
        let said = connected(&named("gpt-5.6"), &misplaced).err().unwrap().to_string();
        assert!(said.contains("api.openai.com") && !said.contains("canary"), "{said}");
        let gateway = at("gpt-5.6", "https://gate.example");
        assert!(connected(&gateway, &misplaced).is_ok(), "a gateway may take any key");
        let header = [("ANTHROPIC_CUSTOM_HEADERS", "Authorization: Bearer canary")];
        let elsewhere =
            Choice { base_url: Some("https://api.openai.com".into()), ..behind("claude-opus-5-5", &header) };
        assert!(matches!(connected(&elsewhere, &Keys::default()), Err(ConnectError::OtherVendor { .. })));
        assert!(connected(&behind("claude-opus-5-5", &header), &Keys::default()).is_ok(), "a header can be the key");
        let open = Choice { base_url: Some("http://h.example".into()), ..behind("claude-opus-5-5", &header) };
        assert!(matches!(connected(&open, &Keys::default()), Err(ConnectError::Unencrypted(_))));
    }

    // spec: T3
    #[test]
    fn a_connected_model_knows_its_window_and_abilities() {
        let keys = keys(&["ANTHROPIC_API_KEY", "OPENAI_API_KEY"]);
        let model = connected(&named("claude-haiku-4-5-20251001[1m]"), &keys).unwrap();
        assert_eq!((model.name(), model.window().size), ("claude-haiku-4-5-20251001", 1_000_000));
        assert!(model.can(Ability::CacheMarkers) && !model.can(Ability::BoundThinking));
        assert!(connected(&named("claude-opus-5-5"), &keys).unwrap().can(Ability::BoundThinking));
        let local = connected(&Choice { window: Some(4_096), ..named("ollama/smol") }, &keys).unwrap();
        assert_eq!((local.name(), local.window().size, local.window().max_output), ("smol", 4_096, 4_096));
        assert!(
            !local.can(Ability::ExactCount) && connected(&named("gpt-5.6"), &keys).unwrap().can(Ability::ExactCount)
        );
        assert_eq!(connected(&named(""), &Keys::default()).unwrap().name(), "offline");
    }

    // spec: H8
    #[test]
    fn betas_come_from_the_choice_the_catalogue_and_the_suffix() {
        let own = "[models.'claude-haiku-4-5']\nbetas = ['m-1']";
        let catalogue = Catalogue::with(Some(own)).unwrap();
        let choice = Choice { betas: vec!["z-1".into()], ..named("claude-haiku-4-5[1m]") };
        let plan = Plan::of(&choice, &keys(&["ANTHROPIC_API_KEY"]), &catalogue, &Limits::default()).unwrap().unwrap();
        assert_eq!(plan.betas, ["context-1m-2025-08-07", "m-1", "z-1"]);
        let keys = keys(&["ANTHROPIC_API_KEY"]);
        let window = |choice: &Choice| connected(choice, &keys).unwrap().window().size;
        let custom = [("ANTHROPIC_CUSTOM_HEADERS", "anthropic-beta: context-1m-2025-08-07")];
        assert_eq!(window(&behind("claude-unheard-of", &custom)), 1_000_000, "a beta in a header counts");
        assert_eq!(window(&behind("claude-haiku-4-5", &custom)), 200_000, "the table counts before the beta");
        let unheard = Plan::of(&named("claude-unheard-of[1m]"), &keys, &catalogue, &Limits::default());
        assert_eq!(unheard.unwrap().unwrap().betas, ["context-1m-2025-08-07"], "what is not known is asked for");
    }
}
