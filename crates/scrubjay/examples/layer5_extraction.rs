//! Layer 5 alone, without a model: what the user said outright becomes a memory that cites them; nothing else does.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use scrubjay::limits::Limits;
use scrubjay::memory::extraction::{self, Grounds};
use scrubjay::memory::typed::Conversation;
use scrubjay::memory::{Place, SharedMemory, Trust};
use scrubjay::message::{Block, Origin, Role, SessionId};
use scrubjay::paths::Layout;
use scrubjay::transcript::Transcript;
use std::collections::HashSet;
use std::sync::Arc;

/// Run it.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let held = tempfile::tempdir()?;
    let (dir, limits) = (held.path().canonicalize()?, Arc::new(Limits::default()));
    let project = Layout::at(&dir).project(&dir, &limits);
    let (memory, _) = SharedMemory::open(&Place::of(&project), &project, Arc::new(Timestamp::now), &limits)?;
    let mut session = Transcript::in_memory(SessionId::new("example"), limits.clone());
    for words in ["Shall we always run the tests?", "Remember that integration tests must use the real database."] {
        session.say(Role::User, Origin::Person, vec![Block::text(words)], Timestamp::UNIX_EPOCH)?;
    }
    let typed = Conversation::read(session.records(), None, &HashSet::new(), &limits);
    let grounds = Grounds::new(SessionId::new("example"), &dir, TimeZone::UTC, limits);
    let learned = extraction::offline(&typed, &memory, &grounds)?;
    assert_eq!(learned.saved.len(), 1, "a question is no rule");
    let basis = memory.with(|memory| memory.rests_on(&learned.saved[0].path).cloned()).ok_or("it rests on nothing")?;
    assert_eq!((basis.trust, basis.sources[0].message.as_str()), (Trust::Clean, typed.pending[1].id.as_str()));
    Ok(())
}
