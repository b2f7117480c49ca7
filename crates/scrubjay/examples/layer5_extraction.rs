//! Layer 5 alone, without a model: what the person said outright becomes a memory that cites them; nothing else does.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use scrubjay::limits::Limits;
use scrubjay::memory::extraction::{Grounds, Scribe};
use scrubjay::memory::{Place, SharedMemory, Trust};
use scrubjay::message::{Block, Message, Origin, Role, SessionId};
use scrubjay::paths::Layout;
use std::sync::Arc;

/// Run it.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let held = tempfile::tempdir()?;
    let (dir, limits) = (held.path().canonicalize()?, Limits::default());
    let project = Layout::at(&dir).project(&dir, &limits);
    let (memory, _) = SharedMemory::open(&Place::of(&project), &project, Arc::new(Timestamp::now), &limits)?;
    let said = ["Shall we always run the tests?", "Remember that integration tests must use the real database."];
    let fresh = said.map(|words| {
        let (role, origin, at) = (Role::User, Origin::Person, Timestamp::UNIX_EPOCH);
        Arc::new(Message { id: words.into(), role, origin, at, blocks: vec![Block::text(words)] })
    });
    let grounds = Grounds::new(SessionId::new("example"), &dir, TimeZone::UTC, Arc::new(limits));
    let scribe = Scribe::new(memory.clone(), grounds.hearing(&fresh, &fresh, memory.dir()));
    scribe.take_down();
    let files = scribe.done().files;
    assert_eq!(files.len(), 1, "a question is no rule");
    let basis = memory.with(|memory| memory.rests_on(&files[0]).cloned()).ok_or("it rests on nothing")?;
    assert_eq!((basis.trust, basis.sources[0].message.as_str()), (Trust::Clean, said[1]));
    Ok(())
}
