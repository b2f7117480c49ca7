//! Choosing a model: from a name, a base URL and the keys at hand to something that answers.

use crate::address::{Address, AddressError};
use crate::anthropic::{self, Anthropic, LongWindow};
use crate::catalogue::{Catalogue, Entry, Known, has_long_suffix, request_name};
use crate::facts::Facts;
use crate::keys::Keys;
use crate::offline::Offline;
use crate::openai::{OpenAi, Service, is_openai_name};
use crate::wire::{Auth, Wire};
use scrubjay::limits::Limits;
use scrubjay::model::{Ability, Model};
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

/// What a person asked for.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// The model's name; empty takes the provider's default.
    pub model: String,
    /// Who serves it; `None` is decided by name, base URL and keys.
    pub provider: Option<Provider>,
    /// Where; `None` is the provider's own address.
    pub base_url: Option<String>,
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
    if choice.base_url.is_some() || !matches!(provider, Provider::Anthropic | Provider::OpenAi) {
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
                facts.fill(&mut plan.known, choice.window);
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
        let Some((label, own_url)) = home(provider, &choice.model) else { return Ok(None) };
        let address = Address::read(choice.base_url.as_deref().unwrap_or(own_url))?;
        let service = if address.is_host(OPENAI_HOST) { Service::OpenAi } else { Service::Compatible };
        let auth = auth(provider, &address, keys)?;
        if !matches!(auth, Auth::None) && !address.is_private() {
            return Err(ConnectError::Unencrypted(address.host()));
        }
        let defaults = catalogue.default_of(label);
        let chosen = Some(bare(&choice.model)).filter(|name| !name.is_empty());
        let named = chosen.or(defaults.model.as_deref()).ok_or(ConnectError::NoModel(label))?.to_owned();
        let entry = catalogue.find(&named).cloned().unwrap_or(Entry { model: None, ..defaults });
        let long = match entry.window {
            Some(size) if has_long_suffix(&named) && size < limits.long_window => LongWindow::ByRequest,
            _ => LongWindow::AsIs,
        };
        let betas = anthropic::betas(choice.betas.iter().chain(&entry.betas), long);
        let known = Known {
            window: catalogue.window(&named, &betas, choice.window, limits),
            near: catalogue.near(&named).into_iter().map(str::to_owned).collect(),
            name: request_name(&named).to_owned(),
            entry,
        };
        let wire = Wire::new(address, auth, limits.clone()).map_err(ConnectError::Unusable)?;
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

/// The vendors' own services need a key; others may do without.
fn auth(provider: Provider, address: &Address, keys: &Keys) -> Result<Auth, ConnectError> {
    let missing = |names| ConnectError::NoKey { host: address.host(), names };
    match provider {
        Provider::Anthropic => match (&keys.anthropic_token, &keys.anthropic_key) {
            (Some(token), _) => Ok(Auth::Bearer(token.clone())),
            (None, Some(key)) => Ok(Auth::Key(key.clone())),
            (None, None) if address.is_loopback() => Ok(Auth::None),
            (None, None) => Err(missing("ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN)")),
        },
        Provider::OpenAi => match &keys.openai_key {
            Some(key) => Ok(Auth::Bearer(key.clone())),
            None if address.is_host(OPENAI_HOST) => Err(missing("OPENAI_API_KEY")),
            None => Ok(Auth::None),
        },
        Provider::Ollama | Provider::Offline => Ok(Auth::None),
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
    }
}
