//! The long-term memory as sessions of this run use it: where it lies, and who chooses among memories.

use crate::failure::{Exit, Failure};
use crate::memories;
use crate::paper::Paper;
use crate::seat::WallClock;
use crate::service::{Service, embedder};
use crate::workplace::Workplace;
use scrubjay::Remembering;
use scrubjay::memory::{Index, Place, SharedMemory, Team};
use scrubjay::model::Model;
use scrubjay::paths::Layout;
use scrubjay::settings::{Source, key};
use std::sync::Arc;

/// Open the memory and make its directory; `None` when it is off. One that cannot be opened is said, and the session goes
/// on without it.
pub(crate) async fn open(
    workplace: &Workplace,
    service: &Service,
    paper: &Paper,
) -> Result<Option<Remembering>, Failure> {
    if workplace.settings.memory_off_because().is_some() {
        return Ok(None);
    }
    let place = place(workplace)?;
    let opened = SharedMemory::open(&place, &workplace.project(), Arc::new(WallClock), &workplace.limits);
    let (memory, repairs) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            paper.warn(&format!("this session has no memory: {error}"));
            return Ok(None);
        }
    };
    memories::notices(&repairs).iter().for_each(|notice| paper.warn(notice));
    let memory = match embedder(workplace) {
        Ok(Some(embedder)) => memory.with_embedder(embedder),
        Ok(None) => memory,
        Err(failure) => {
            paper.warn(&format!("memories are found by their words alone: {failure}"));
            memory
        }
    };
    let chooser = chooser(workplace, service, paper).await;
    Ok(Some(Remembering { memory, chooser, root: workplace.root.clone() }))
}

/// Where the memory lies: the override, the person's setting, the remote folder, the data folder.
pub(crate) fn place(workplace: &Workplace) -> Result<Place, Failure> {
    let settings = &workplace.settings;
    let layout = Layout::at(&workplace.places.data);
    let home = &workplace.places.home;
    let found = settings.memory_base(&layout, home).and_then(|base| {
        let (usual, dir) = (
            base.project(&workplace.root, &workplace.limits),
            settings.memory_directory(&layout, home, &workplace.root)?,
        );
        // A folder that lies elsewhere has one history, whichever project it is used from, and none of the folder it stands for.
        let history = if dir == usual.memory() { usual } else { base.project(&dir, &workplace.limits) };
        Ok((history, dir))
    });
    let refused = |error| Failure::new(Exit::Refused, format!("memory cannot be kept there: {error}"));
    let (history, dir) = found.map_err(refused)?;
    let index = if settings.flag(&key::SKIP_INDEX) { Index::Skipped } else { Index::Kept };
    let team = if settings.flag(&key::TEAM) { Team::On } else { Team::Off };
    Ok(Place::of(&history).with_memory_at(dir).with_index(index).with_team(team))
}

/// The model that chooses among memories: the one that is set for it, or the small one. Where the user only switched choosing on,
/// the cheapest of the same provider, or else the main one.
pub(crate) async fn chooser(workplace: &Workplace, service: &Service, paper: &Paper) -> Option<Arc<dyn Model>> {
    let settings = &workplace.settings;
    let named = [&key::MODEL_FOR_SELECTING, &key::SMALL_MODEL].map(|setting| settings.text(setting));
    let Some(name) = named.into_iter().find(|name| !name.is_empty()) else {
        let wanted = settings.origin(key::MODEL_RECALL.key) != Source::Default && settings.flag(&key::MODEL_RECALL);
        let wanted = wanted && !service.is_offline();
        return wanted.then(|| service.small_work(workplace).unwrap_or_else(|| service.model.clone()));
    };
    match Service::connect(workplace, Some(name)).await {
        Ok(small) => Some(small.model),
        Err(failure) => {
            paper.warn(&format!("no model chooses among memories: {failure}"));
            None
        }
    }
}
