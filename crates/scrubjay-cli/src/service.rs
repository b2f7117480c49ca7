//! The model service of a run: who answers, and what it costs.

use crate::cheap::CheapModel;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::places::Places;
use crate::workplace::Workplace;
use scrubjay::memory::recall::Embedder;
use scrubjay::message::Usage;
use scrubjay::model::Model;
use scrubjay::paths::expand_home;
use scrubjay::settings::{Settings, key};
use scrubjay::tokens::ContextWindow;
use scrubjay::tools::shown;
use scrubjay_providers::{
    ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, Catalogue, Choice, ConnectError, Destination, Keys, OPENAI_API_KEY,
    Provider, UrlOrigin, VendorVariables, cheapest, connect, connect_consulting, destination, embedder as embedder_of,
    provider_of, window_of,
};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

/// Who answers.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) model: Arc<dyn Model>,
    catalogue: Arc<Catalogue>,
    choice: Choice,
    keys: Keys,
}

impl Service {
    /// Connect what settings and keys say; `named` is a model that was chosen since.
    pub(crate) async fn connect(workplace: &Workplace, named: Option<&str>) -> Result<Self, Failure> {
        let catalogue = catalogue(workplace)?;
        let keys = keys(workplace)?;
        let keys = if holds_any(&keys) { keys } else { commanded_key(workplace).await? };
        let choice = choice(&workplace.settings, &workplace.environment, named)?;
        let connected = connect_consulting(&choice, &keys, &catalogue, &workplace.limits).await;
        let model = connected.map_err(|error| unconnected(&error, workplace))?;
        Ok(Self { model, catalogue: Arc::new(catalogue), choice, keys })
    }

    /// The same without asking anyone: for commands that only look.
    pub(crate) fn known(workplace: &Workplace) -> Result<Self, Failure> {
        let catalogue = catalogue(workplace)?;
        // A key that a command would print is not asked for here, and nothing is sent.
        let keys = promised(keys(workplace)?, &workplace.settings);
        let choice = choice(&workplace.settings, &workplace.environment, None)?;
        let connected = connect(&choice, &keys, &catalogue, &workplace.limits);
        let model = connected.map_err(|error| unconnected(&error, workplace))?;
        Ok(Self { model, catalogue: Arc::new(catalogue), choice, keys })
    }

    /// The model that learns from what the user types: the one that is set for it, or the cheapest of the same provider. Without
    /// one the conversation's own learns. Nothing is sent.
    pub(crate) fn learner(&self, workplace: &Workplace) -> Result<Option<Arc<dyn Model>>, Failure> {
        let set = Some(workplace.settings.text(&key::EXTRACTION_MODEL)).filter(|name| !name.is_empty());
        let name = set.map(str::to_owned).or_else(|| cheapest(&self.choice, &self.keys, &self.catalogue));
        let Some(name) = name.filter(|name| !self.is_offline() && name != self.model.name()) else { return Ok(None) };
        self.beside(&name, workplace).map(Some)
    }

    /// The cheapest model of the same provider, for other small work; the conversation's own where the key may not use it.
    pub(crate) fn small_work(&self, workplace: &Workplace) -> Option<Arc<dyn Model>> {
        let name = cheapest(&self.choice, &self.keys, &self.catalogue)?;
        let cheap = self.beside(&name, workplace).ok()?;
        Some(Arc::new(CheapModel::new(cheap, self.model.clone())))
    }

    fn beside(&self, name: &str, workplace: &Workplace) -> Result<Arc<dyn Model>, Failure> {
        let choice = Choice { model: name.to_owned(), ..self.choice.clone() };
        connect(&choice, &self.keys, &self.catalogue, &workplace.limits).map_err(|error| unconnected(&error, workplace))
    }

    /// What a model's calls cost, where every price is known.
    pub(crate) fn cost(&self, model: &str, usage: &Usage) -> Option<f64> {
        self.catalogue.find(model)?.cost(usage)
    }

    /// There is no model, only the answer that says so.
    pub(crate) fn is_offline(&self) -> bool {
        self.model.name() == OFFLINE
    }

    /// Who answers, in a few words.
    pub(crate) fn described(&self, workplace: &Workplace) -> String {
        let model = self.model.name();
        if self.is_offline() {
            return "offline: no language model is connected".to_owned();
        }
        match Route::of(workplace) {
            Ok(Some(route)) if route.destination.origin != UrlOrigin::Provider => {
                shown(&format!("{model} at {}", route.destination.base_url)).into_owned()
            }
            _ => shown(model).into_owned(),
        }
    }

    /// The name of the model that learns; nothing where none does.
    pub(crate) fn learns_with(&self, workplace: &Workplace) -> Option<String> {
        let settings = &workplace.settings;
        let is_on = settings.flag(&key::EXTRACTION) && settings.memory_off_because().is_none() && !self.is_offline();
        let learner = self.learner(workplace).ok().flatten();
        is_on.then(|| learner.as_ref().unwrap_or(&self.model).name().to_owned())
    }

    /// Who answers and who learns.
    pub(crate) fn described_whole(&self, workplace: &Workplace) -> String {
        let learns =
            self.learns_with(workplace).map(|name| format!(" · learns with: {}", shown(&name))).unwrap_or_default();
        format!("{}{learns}", self.described(workplace))
    }

    /// Models that look like this name.
    pub(crate) fn near(&self, name: &str) -> Vec<&str> {
        self.catalogue.near(name)
    }
}

/// What makes vectors of texts, where the person named something. Nothing is sent yet.
pub(crate) fn embedder(workplace: &Workplace) -> Result<Option<Arc<dyn Embedder>>, Failure> {
    let settings = &workplace.settings;
    let named = settings.text(&key::EMBEDDINGS);
    if named.is_empty() {
        return Ok(None);
    }
    let named = expand_home(named, &workplace.places.home);
    let named = named.to_string_lossy();
    let model = settings.text(&key::EMBEDDING_MODEL);
    let found = embedder_of(&named, model, &keys(workplace)?, &workplace.limits);
    found.map(Some).map_err(|error| unconnected(&error, workplace))
}

/// The name of the answer without a model.
const OFFLINE: &str = "offline";

/// The built-in catalogue with the person's own models over it.
pub(crate) fn catalogue(workplace: &Workplace) -> Result<Catalogue, Failure> {
    let path = workplace.places.models();
    let own = match std::fs::read_to_string(&path) {
        Ok(own) => Some(own),
        Err(_) if !path.exists() => None,
        Err(error) => {
            return Err(Failure::failed(format!("the model list {} cannot be read: {error}", path.display())));
        }
    };
    Catalogue::with(own.as_deref())
        .map_err(|error| Failure::failed(error.to_string()).fix(format!("correct {}", path.display())))
}

/// Keys of the environment, then those of the key file.
pub(crate) fn keys(workplace: &Workplace) -> Result<Keys, Failure> {
    keys_at(&workplace.environment, &workplace.places)
}

fn keys_at(environment: &Environment, places: &Places) -> Result<Keys, Failure> {
    Ok(Keys::from_values(environment.values()).or(filed_keys(places)?))
}

fn filed_keys(places: &Places) -> Result<Keys, Failure> {
    let path = places.keys();
    if !path.exists() {
        return Ok(Keys::default());
    }
    Keys::from_file(&path).map_err(|error| Failure::failed(error.to_string()))
}

/// These keys, or the one that the user's command would print.
fn promised(keys: Keys, settings: &Settings) -> Keys {
    if holds_any(&keys) || settings.text(&key::API_KEY_COMMAND).is_empty() { keys } else { either_key("promised") }
}

/// Where requests go, and where its address and its key come from.
pub(crate) struct Route {
    pub(crate) destination: Destination,
    /// Who named the address.
    pub(crate) address_from: &'static str,
    /// The key that is sent and where it lies; `None`: no key is sent.
    pub(crate) key: Option<(&'static str, &'static str)>,
    /// A token that is set and not sent, because there is a key.
    pub(crate) unused_token: bool,
}

impl Route {
    /// `None`: without a model.
    pub(crate) fn of(workplace: &Workplace) -> Result<Option<Self>, Failure> {
        let keys = promised(keys(workplace)?, &workplace.settings);
        let choice = choice(&workplace.settings, &workplace.environment, None)?;
        let found = destination(&choice, &keys).map_err(|error| unconnected(&error, workplace))?;
        let Some(found) = found else { return Ok(None) };
        let address_from = match found.origin {
            UrlOrigin::Chosen => workplace.settings.origin(key::BASE_URL.key).name(),
            UrlOrigin::Variable(name) => name,
            UrlOrigin::Provider => "default",
        };
        let key = key_in_force(workplace, found.provider)?;
        let unused_token = key.is_some_and(|(name, _)| name == ANTHROPIC_API_KEY) && keys.anthropic_token.is_some();
        Ok(Some(Self { destination: found, address_from, key, unused_token }))
    }

    /// In a few words.
    pub(crate) fn words(&self) -> String {
        let key = match self.key {
            Some((name, place)) => format!("with {name} ({place})"),
            None => "without a key".to_owned(),
        };
        let token = if self.unused_token { format!("; {ANTHROPIC_AUTH_TOKEN} is not used") } else { String::new() };
        format!("{} ({}), {key}{token}", self.destination.base_url, self.address_from)
    }
}

/// How much a model holds, as far as that is known without asking anyone.
pub(crate) fn window(workplace: &Workplace, model: &str) -> Result<ContextWindow, Failure> {
    let choice = choice(&workplace.settings, &workplace.environment, Some(model))?;
    let keys = keys(workplace).unwrap_or_default();
    Ok(window_of(&choice, &keys, &catalogue(workplace)?, &workplace.limits))
}

/// Whether requests go to another address than the provider's own.
pub(crate) fn is_elsewhere(workplace: &Workplace) -> bool {
    let route = Route::of(workplace).ok().flatten();
    route.is_some_and(|route| route.destination.origin != UrlOrigin::Provider)
}

/// The name of the key that a provider's service is shown, and where it lies.
pub(crate) fn key_in_force(
    workplace: &Workplace,
    provider: Provider,
) -> Result<Option<(&'static str, &'static str)>, Failure> {
    let here = Keys::from_values(workplace.environment.values());
    let filed = filed_keys(&workplace.places)?;
    let printed = !holds_any(&here) && !holds_any(&filed) && !key_command(workplace).is_empty();
    let is_vendor = matches!(provider, Provider::Anthropic | Provider::OpenAi);
    let found = here.name_for(provider).map(|name| (name, "environment"));
    let found = found.or_else(|| filed.name_for(provider).map(|name| (name, "key file")));
    Ok(found.or((printed && is_vendor).then_some(("api_key_command", "what it prints"))))
}

/// Why a model that a repository names is not taken: it would lead to another service than the user's own settings do, and
/// with that to another key.
pub(crate) fn leads_elsewhere(
    settings: &Settings,
    own: &Settings,
    environment: &Environment,
    places: &Places,
) -> Option<String> {
    let keys = promised(keys_at(environment, places).unwrap_or_default(), own);
    let (named, chosen) = (choice(settings, environment, None).ok()?, choice(own, environment, None).ok()?);
    let provider = provider_of(&named, &keys);
    let before = provider_of(&chosen, &keys);
    let is_local = provider == Provider::Ollama && named.base_url.is_none();
    let has_no_choice = chosen.model.is_empty() && !holds_any(&keys);
    let is_fine = match before {
        // Nothing was chosen, and there is no key that could go anywhere.
        Provider::Offline => provider == Provider::Offline || has_no_choice,
        _ => provider == before || provider == Provider::Offline || is_local,
    };
    (!is_fine).then(|| format!("that model is {provider}'s and your own settings lead to {before}"))
}

fn holds_any(keys: &Keys) -> bool {
    keys.opens_anthropic() || keys.openai_key.is_some()
}

fn key_command(workplace: &Workplace) -> &str {
    workplace.settings.text(&key::API_KEY_COMMAND)
}

/// One key for whichever service was chosen.
fn either_key(key: &str) -> Keys {
    let names = [ANTHROPIC_API_KEY, OPENAI_API_KEY];
    Keys::from_values(&names.map(|name| (name.to_owned(), key.to_owned())).into())
}

/// The key that the person's own command prints. What it printed is never shown, not even when it fails.
async fn commanded_key(workplace: &Workplace) -> Result<Keys, Failure> {
    let command = key_command(workplace);
    if command.is_empty() {
        return Ok(Keys::default());
    }
    let broken = |what: String| {
        Failure::failed(format!("the command that prints the key {what}")).fix("correct the setting `api_key_command`")
    };
    let mut shell = tokio::process::Command::new("sh");
    shell.args(["-c", command]).current_dir(&workplace.places.home).stdin(Stdio::null()).kill_on_drop(true);
    let patience = Duration::from_millis(workplace.limits.hook_timeout_ms);
    let output = match tokio::time::timeout(patience, shell.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(broken(format!("could not be started ({error})"))),
        Err(_) => return Err(broken(format!("did not end within {} s", patience.as_secs()))),
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    match printed.lines().next().map(str::trim) {
        Some(key) if output.status.success() && !key.is_empty() => Ok(either_key(key)),
        _ => Err(broken(format!("failed ({}) or printed nothing", output.status))),
    }
}

fn choice(settings: &Settings, environment: &Environment, named: Option<&str>) -> Result<Choice, Failure> {
    let said = |setting| Some(settings.text(setting)).filter(|text: &&str| !text.is_empty());
    let provider = match said(&key::PROVIDER) {
        Some(name) => Some(name.parse::<Provider>().map_err(|error| Failure::usage(error.to_string()))?),
        None => None,
    };
    Ok(Choice {
        model: named.unwrap_or(settings.text(&key::MODEL)).to_owned(),
        provider,
        base_url: said(&key::BASE_URL).map(str::to_owned),
        vendor: VendorVariables::from_values(environment.values()),
        betas: settings.list(&key::BETAS).into_iter().map(str::to_owned).collect(),
        window: Some(settings.number(&key::MODEL_WINDOW)).filter(|tokens| *tokens > 0),
    })
}

fn unconnected(error: &ConnectError, workplace: &Workplace) -> Failure {
    match error {
        ConnectError::NoKey { .. } => Failure::failed(error.to_string())
            .fix(format!("export the key, or write NAME=value to {} (mode 0600)", workplace.places.keys().display())),
        ConnectError::Unencrypted(_) | ConnectError::OtherVendor { .. } => {
            Failure::new(Exit::Refused, error.to_string())
        }
        ConnectError::UnknownProvider(_)
        | ConnectError::Address(_)
        | ConnectError::NoModel(_)
        | ConnectError::Header(_) => Failure::usage(error.to_string()),
        ConnectError::Unusable(_) => Failure::failed(error.to_string()),
    }
}
