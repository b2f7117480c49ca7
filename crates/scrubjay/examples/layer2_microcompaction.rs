//! Layer 2 alone: when the provider's cache has expired anyway, old tool results give way to a marker.

use jiff::{SignedDuration, Timestamp};
use scrubjay::context::microcompaction::{self, Step};
use scrubjay::desk::Desk;
use scrubjay::message::{Block, Origin, Role, SessionId, ToolResult};
use scrubjay::prompt_cache::planner::Situation;
use scrubjay::transcript::{Transcript, Ttl};
use scrubjay_providers::scripted::Scripted;
use std::sync::Arc;

/// Run it.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let now = Timestamp::now();
    let desk = Desk::new(Arc::new(Scripted::new()), "/", Arc::new(Timestamp::now));
    let mut record = Transcript::in_memory(SessionId::new("example"), desk.limits.clone());
    record.say(Role::User, Origin::Person, vec![Block::text("Read everything.")], now)?;
    for n in 0..12 {
        let id = format!("call-{n}");
        let call = Block::tool_use(id.as_str().into(), "Read", serde_json::json!({ "file_path": format!("/{n}.rs") }));
        record.say(Role::Assistant, Origin::Model, vec![call], now)?;
        let parts = vec![Block::text("fn seeds() {}\n".repeat(400))];
        let result = Block::tool_result(ToolResult { call: id.as_str().into(), parts, is_error: false });
        record.say(Role::User, Origin::Tool, vec![result], now)?;
    }
    let (prices, ttl, since_last) = (None, Some(Ttl::FiveMinutes), Some(SignedDuration::from_hours(2)));
    let cold = Situation { prices, ttl, since_last, turns: 12, threshold: 167_000 };
    let Some(Step::Clear(clearing)) = microcompaction::step(record.view(), &desk, Some(&cold)) else {
        return Err("nothing was cleared".into());
    };
    let before = record.view().count.total();
    record.append(clearing.entry, now)?;
    assert!(record.view().count.total() < before / 2, "only the newest results are left");
    Ok(())
}
