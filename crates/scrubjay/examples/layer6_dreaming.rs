//! Layer 6 alone, without a model: two memories that say the same become one, and one undo brings both back.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use scrubjay::limits::Limits;
use scrubjay::memory::dreaming::{Dreams, Judgement};
use scrubjay::memory::{Cause, Change, Edit, Kind, Place, SharedMemory, Topic};
use scrubjay::paths::Layout;
use scrubjay::settings::{Settings, Sources};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Run it.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let held = tempfile::tempdir()?;
    let (dir, limits) = (held.path().canonicalize()?, Limits::default());
    let project = Layout::at(&dir).project(&dir, &limits);
    let (memory, _) = SharedMemory::open(&Place::of(&project), &project, Arc::new(Timestamp::now), &limits)?;
    let text = Topic {
        name: "Roof".into(),
        description: "who mended the roof of the aviary".into(),
        kind: Kind::Project,
        body: "The roof of the aviary was mended by the neighbour.\n".into(),
    }
    .text();
    let edits = ["roof.md", "roof_again.md"].map(|path| Edit::create(path, text.clone())).to_vec();
    memory.with(|memory| memory.commit(Change { cause: Cause::Person, edits }))?;

    let settings = Settings::resolve(&Sources::default());
    let places = [project.dir(), dir.as_path()];
    let dreams = Dreams::outside(memory.clone(), places, &settings, Arc::new(Timestamp::now), TimeZone::UTC);
    let landed = dreams.plan(dreams.news("example")?, CancellationToken::new())?.land(Judgement::Nobody)?;
    assert!(landed.to_string().contains("take it back"), "{landed}");
    assert_eq!(memory.with(|memory| memory.list().count()), 1);
    memory.with(|memory| -> Result<_, scrubjay::memory::MemoryError> {
        let newest = memory.log()?.last().map(|change| change.id);
        newest.map(|change| memory.undo(change)).transpose()
    })?;
    assert_eq!(memory.with(|memory| memory.list().count()), 2);
    Ok(())
}
