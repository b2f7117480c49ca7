//! The model service of a run: who answers, and what it costs.

use crate::failure::{Exit, Failure};
use crate::workplace::Workplace;
use scrubjay::message::Usage;
use scrubjay::model::Model;
use scrubjay::settings::key;
use scrubjay::tools::shown;
use scrubjay_providers::{Catalogue, Choice, ConnectError, Keys, Provider, connect, connect_consulting};
use std::sync::Arc;

/// Who answers.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) model: Arc<dyn Model>,
    catalogue: Arc<Catalogue>,
}

impl Service {
    /// Connect what settings and keys say; `named` is a model that was chosen since.
    pub(crate) async fn connect(workplace: &Workplace, named: Option<&str>) -> Result<Self, Failure> {
        let catalogue = catalogue(workplace)?;
        let keys = keys(workplace)?;
        let choice = choice(workplace, named)?;
        let connected = connect_consulting(&choice, &keys, &catalogue, &workplace.limits).await;
        let model = connected.map_err(|error| unconnected(&error, workplace))?;
        Ok(Self { model, catalogue: Arc::new(catalogue) })
    }

    /// The same without asking anyone: for commands that only look.
    pub(crate) fn known(workplace: &Workplace) -> Result<Self, Failure> {
        let catalogue = catalogue(workplace)?;
        let connected = connect(&choice(workplace, None)?, &keys(workplace)?, &catalogue, &workplace.limits);
        let model = connected.map_err(|error| unconnected(&error, workplace))?;
        Ok(Self { model, catalogue: Arc::new(catalogue) })
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

    /// Models that look like this name.
    pub(crate) fn near(&self, name: &str) -> Vec<&str> {
        self.catalogue.near(name)
    }
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
