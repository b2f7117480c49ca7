//! Layer 3 alone: notes about a conversation, kept by code from the record itself.

use jiff::Timestamp;
use scrubjay::context::session_notes;
use scrubjay::desk::Desk;
use scrubjay::message::{Block, Origin, Role, SessionId};
use scrubjay::transcript::Transcript;
use scrubjay_providers::scripted::Scripted;
use std::sync::Arc;

/// Run it.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (folder, now) = (tempfile::tempdir()?, Timestamp::now());
    let desk = Desk::new(Arc::new(Scripted::new()), folder.path(), Arc::new(Timestamp::now));
    let mut record = Transcript::in_memory(SessionId::new("example"), desk.limits.clone());
    record.say(Role::User, Origin::Person, vec![Block::text("Fix the parser. Never push to main.")], now)?;
    record.say(Role::Assistant, Origin::Model, vec![Block::text("The parser is fixed.")], now)?;
    session_notes::keep(record.view(), &record.view().history, folder.path(), &desk)?;
    let notes = std::fs::read_to_string(session_notes::place(folder.path()))?;
    assert!(notes.contains("Fix the parser"), "{notes}");
    Ok(())
}
