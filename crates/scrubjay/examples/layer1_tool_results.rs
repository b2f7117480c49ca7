//! Layer 1 alone: a large tool result goes to disk, and a preview with its path takes its place.

use jiff::Timestamp;
use scrubjay::context::tool_results;
use scrubjay::desk::Desk;
use scrubjay::message::{Block, ToolResult, ToolUse};
use scrubjay_providers::scripted::Scripted;
use std::sync::Arc;

/// Run it.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let desk = Desk::new(Arc::new(Scripted::new()), folder.path(), Arc::new(Timestamp::now));
    let call =
        ToolUse { id: "call-1".into(), name: "Bash".to_owned(), input: serde_json::json!({ "command": "seq 1 9000" }) };
    let output: String = (1..=9_000).map(|line| format!("{line}\n")).collect();
    let result = ToolResult { call: call.id.clone(), parts: vec![Block::text(&*output)], is_error: false };
    let admitted = tool_results::admit(vec![Block::tool_result(result)], &[call], Some(folder.path()), &desk);
    let stored = &admitted.spilled[0];
    assert_eq!(std::fs::read_to_string(&stored.file)?, output, "nothing is lost");
    assert!(admitted.results[0].json().len() < 3_000, "the model sees the beginning and where the rest is");
    Ok(())
}
