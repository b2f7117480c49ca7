//! The model service of a run: who answers, and what it costs.

use crate::cheap::CheapModel;
use crate::failure::{Exit, Failure};
use crate::workplace::Workplace;
use scrubjay::memory::recall::Embedder;
use scrubjay::message::Usage;
use scrubjay::model::Model;
use scrubjay::paths::expand_home;
use scrubjay::settings::key;
use scrubjay::tools::shown;
use scrubjay_providers::{
    ANTHROPIC_API_KEY, Catalogue, Choice, ConnectError, Keys, OPENAI_API_KEY, Provider, cheapest, connect,
    connect_consulting, embedder as embedder_of,
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
        let choice = choice(workplace, named)?;
        let connected = connect_consulting(&choice, &keys, &catalogue, &workplace.limits).await;
        let model = connected.map_err(|error| unconnected(&error, workplace))?;
        Ok(Self { model, catalogue: Arc::new(catalogue), choice, keys })
    }

    /// The same without asking anyone: for commands that only look.
    pub(crate) fn known(workplace: &Workplace) -> Result<Self, Failure> {
        let catalogue = catalogue(workplace)?;
        // A key that a command would print is not asked for here, and nothing is sent.
        let promised = if key_command(workplace).is_empty() { Keys::default() } else { either_key("promised") };
        let keys = keys(workplace)?.or(promised);
        let choice = choice(workplace, None)?;
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
        match workplace.settings.text(&key::BASE_URL) {
            _ if self.is_offline() => "offline: no language model is connected".to_owned(),
            "" => shown(model).into_owned(),
            address => shown(&format!("{model} at {}", without_credentials(address))).into_owned(),
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
    let here = Keys::from_values(workplace.environment.values());
    let path = workplace.places.keys();
    if !path.exists() {
        return Ok(here);
    }
    let filed = Keys::from_file(&path).map_err(|error| Failure::failed(error.to_string()))?;
    Ok(here.or(filed))
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

fn choice(workplace: &Workplace, named: Option<&str>) -> Result<Choice, Failure> {
    let settings = &workplace.settings;
    let said = |setting| Some(settings.text(setting)).filter(|text: &&str| !text.is_empty());
    let provider = match said(&key::PROVIDER) {
        Some(name) => Some(name.parse::<Provider>().map_err(|error| Failure::usage(error.to_string()))?),
        None => None,
    };
    Ok(Choice {
        model: named.unwrap_or(settings.text(&key::MODEL)).to_owned(),
        provider,
        base_url: said(&key::BASE_URL).map(str::to_owned),
        betas: Vec::new(),
        window: None,
    })
}

fn unconnected(error: &ConnectError, workplace: &Workplace) -> Failure {
    match error {
        ConnectError::NoKey { .. } => Failure::failed(error.to_string())
            .fix(format!("export the key, or write NAME=value to {} (mode 0600)", workplace.places.keys().display())),
        ConnectError::Unencrypted(_) => Failure::new(Exit::Refused, error.to_string()),
        ConnectError::UnknownProvider(_) | ConnectError::Address(_) | ConnectError::NoModel(_) => {
            Failure::usage(error.to_string())
        }
        ConnectError::Unusable(_) => Failure::failed(error.to_string()),
    }
}

/// What stands before an `@` may be a password.
fn without_credentials(address: &str) -> &str {
    address.rsplit_once('@').map_or(address, |(_, rest)| rest)
}
