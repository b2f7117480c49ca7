//! A complete agent with a memory: what it is told to remember in one session it knows in the next. The model follows a
//! script here; put one from `scrubjay_providers::connect` in its place.

use jiff::Timestamp;
use scrubjay::desk::Desk;
use scrubjay::memory::{Place, SharedMemory};
use scrubjay::message::{Block, SessionId};
use scrubjay::model::Model;
use scrubjay::paths::Layout;
use scrubjay::permission::Permissions;
use scrubjay::transcript::{Opening, Transcript};
use scrubjay::{Remembering, Session, tools};
use scrubjay_providers::scripted::{Scripted, Turn};
use std::path::Path;
use std::sync::Arc;

/// Run it.
#[tokio::main]
pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (data, dir) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let (data, dir) = (data.path().canonicalize()?, dir.path().canonicalize()?);
    let file = Layout::at(&data).project(&dir, &Default::default()).memory().join("feedback_tests.md");
    let memory =
        "---\nname: Tests\ndescription: never mock the database\ntype: feedback\n---\nNever mock the database.\n";
    let saves = Turn::call("Write", serde_json::json!({ "file_path": file, "content": memory }));
    let model = Scripted::new().then(saves).then(Turn::text("Saved.")).then(Turn::text("Against the real one."));
    let model: Arc<dyn Model> = Arc::new(model);
    assert_eq!(ask(&model, &data, &dir, "Remember: never mock the database in tests.").await?, "Saved.");
    assert_eq!(ask(&model, &data, &dir, "How do we test the database?").await?, "Against the real one.");
    Ok(())
}

/// One session with one question.
async fn ask(
    model: &Arc<dyn Model>,
    data: &Path,
    dir: &Path,
    question: &str,
) -> Result<String, Box<dyn std::error::Error>> {
    let clock: Arc<dyn scrubjay::clock::Clock> = Arc::new(Timestamp::now);
    let mut desk = Desk::new(model.clone(), dir, clock.clone());
    let project = Layout::at(data).project(dir, &desk.limits);
    let (memory, _) = SharedMemory::open(&Place::of(&project), &project, clock, &desk.limits)?;
    desk.tools = tools::kept_by(Some(Arc::new(memory.clone())), &[], &desk.limits).into();
    desk.gate = Permissions { dir: dir.into(), memory: Some(memory.dir().into()), ..Permissions::default() }.gate();
    let told = memory.told(project.dir(), &desk.settings).map(|told| told.behaviour).unwrap_or_default();
    let opening = Opening::new(model.name(), &told, desk.tools.iter().map(|tool| tool.spec().clone()));
    let record = Transcript::in_memory(SessionId::new(question), desk.limits.clone());
    let mut session = Session::new(record, desk, opening)?;
    session = session.remembering(Remembering { memory, chooser: None, root: dir.into() });
    Ok(session.ask(vec![Block::text(question)]).await?.text)
}
