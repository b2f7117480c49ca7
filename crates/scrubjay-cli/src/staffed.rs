//! The agents of this run: where their kinds are defined, what they think with, and where they keep what they learned.

use crate::instructed;
use crate::paper::Paper;
use crate::service::{self, Service};
use crate::workplace::Workplace;
use scrubjay::Remembering;
use scrubjay::agents::{Definitions, Folders, Memories, Staff};
use scrubjay::model::Model;
use scrubjay::paths::expand_home;
use scrubjay::settings::key;
use std::sync::Arc;

/// A kind may ask for the small model by this name.
const SMALL: &str = "small";

/// Read every kind; `None` when agents are off. What was not understood is said.
pub(crate) async fn staff(
    workplace: &Workplace,
    (main, service): (Option<&Remembering>, Option<&Service>),
    paper: &Paper,
) -> Option<Arc<Staff>> {
    if !workplace.settings.flag(&key::AGENTS) {
        return None;
    }
    let kinds = Definitions::load(&folders(workplace), &workplace.limits);
    kinds.notices.iter().for_each(|notice| paper.warn(notice));
    let (models, context) = (workplace.clone(), workplace.clone());
    Some(Arc::new(Staff {
        kinds,
        surroundings: workplace.surroundings(),
        models: Arc::new(move |name| {
            let workplace = models.clone();
            Box::pin(async move { named(&workplace, &name).await })
        }),
        offered: offered(workplace),
        small: small(workplace, service, paper).await,
        context: Arc::new(move |session, indexes, nonce| instructed::messages(&context, (session, indexes), nonce)),
        memories: memories(workplace, main),
    }))
}

/// The person's own folder and that of the other agent they may use, and the same of the project.
pub(crate) fn folders(workplace: &Workplace) -> Folders {
    let (places, root) = (&workplace.places, &workplace.root);
    Folders {
        person: vec![places.config.join("agents"), places.home.join(".claude/agents")],
        project: vec![root.join(".scrubjay/agents"), root.join(".claude/agents")],
        root: root.clone(),
    }
}

/// Names that a repository may choose among.
fn offered(workplace: &Workplace) -> Vec<String> {
    let settings = [&key::MODEL, &key::SMALL_MODEL].map(|setting| workplace.settings.text(setting).to_owned());
    settings.into_iter().filter(|name| !name.is_empty()).chain([SMALL.to_owned()]).collect()
}

/// The model of this name at the service that the person has chosen.
async fn named(workplace: &Workplace, name: &str) -> Result<Arc<dyn Model>, String> {
    let name = if name == SMALL { workplace.settings.text(&key::SMALL_MODEL) } else { name };
    if name.is_empty() {
        return Err("no `small_model` is set".to_owned());
    }
    // `sonnet` is a word of another program for whatever it thinks best.
    let is_nickname = !name.contains(['-', '.', ':', '/']);
    let known = service::catalogue(workplace).map_err(|failure| failure.to_string())?;
    if is_nickname && known.find(name).is_none() && !service::is_elsewhere(workplace) {
        return Err(format!("`{name}` is no model's whole name"));
    }
    Service::connect(workplace, Some(name)).await.map(|service| service.model).map_err(|failure| failure.to_string())
}

/// The model that puts into words what agents are doing: the small one that is set, or the cheapest of the same provider.
pub(crate) async fn small(workplace: &Workplace, service: Option<&Service>, paper: &Paper) -> Option<Arc<dyn Model>> {
    if !workplace.settings.flag(&key::AGENT_SUMMARY) {
        return None;
    }
    let name = workplace.settings.text(&key::SMALL_MODEL);
    if name.is_empty() {
        return service.and_then(|service| service.small_work(workplace));
    }
    match named(workplace, name).await {
        Ok(model) => Some(model),
        Err(why) => {
            paper.warn(&format!("the small model does not describe what agents do: {why}"));
            None
        }
    }
}

fn memories(workplace: &Workplace, main: Option<&Remembering>) -> Option<Memories> {
    if workplace.settings.memory_off_because().is_some() {
        return None;
    }
    let remote = workplace.settings.text(&key::REMOTE_MEMORY_DIRECTORY);
    Some(Memories {
        home: workplace.places.data.clone(),
        root: workplace.root.clone(),
        remote: (!remote.is_empty()).then(|| expand_home(remote, &workplace.places.home)),
        main: main.map(|main| main.memory.dir().to_owned()),
    })
}
