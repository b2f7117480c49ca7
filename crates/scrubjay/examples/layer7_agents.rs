//! Layer 7 alone: the conversation sends an agent to look something up; only its report comes back.

use jiff::Timestamp;
use scrubjay::Session;
use scrubjay::agents::{AgentTool, Definitions, Staff};
use scrubjay::desk::Desk;
use scrubjay::gate::Gate;
use scrubjay::message::{Block, SessionId};
use scrubjay::tool::Tool;
use scrubjay::tools;
use scrubjay::transcript::{Opening, Transcript};
use scrubjay_providers::scripted::{Scripted, Turn};
use serde_json::json;
use std::sync::Arc;

/// Run it.
#[tokio::main]
pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    std::fs::write(dir.path().join("seeds.rs"), "fn hide() {}\n")?;
    let wish = json!({ "agent": "explore", "prompt": "Where is `hide`?", "description": "find hide" });
    let model = Scripted::new()
        .then(Turn::call("Agent", wish))
        .then(Turn::call("Grep", json!({ "pattern": "fn hide" })))
        .then(Turn::text("seeds.rs:1"))
        .then(Turn::text("It is in seeds.rs."));
    let mut desk = Desk::new(Arc::new(model), dir.path().canonicalize()?, Arc::new(Timestamp::now));
    let staff = Staff::new(Definitions::built_in(&desk.limits));
    let mut hands = tools::standard(&[], &desk.limits);
    hands.push(Arc::new(AgentTool::new(&staff.kinds)) as Arc<dyn Tool>);
    (desk.tools, desk.gate) = (hands.into(), Gate::open());
    let opening = Opening::new("scripted", "You answer questions.", desk.tools.iter().map(|tool| tool.spec().clone()));
    let record = Transcript::in_memory(SessionId::new("example"), desk.limits.clone());
    let mut session = Session::new(record, desk, opening)?.staffed(Arc::new(staff));
    assert_eq!(session.ask(vec![Block::text("Where is `hide`?")]).await?.text, "It is in seeds.rs.");
    assert_eq!(session.agents().list()[0].calls, 2, "what it did is counted, and stayed out of the conversation");
    Ok(())
}
