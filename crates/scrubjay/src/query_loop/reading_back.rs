//! What a layer hid and the model asked for again: a cost of hiding it, and booked as one.

use super::Session;
use super::receipts::{layer_hiding, layer_of};
use crate::context::collapse;
use crate::ledger::Layer;
use crate::message::{Block, Kind, ToolUse};
use crate::tokens;
use crate::transcript::Hidden;

/// Tools that only look: the same call again asks for the same text.
const LOOKING: &[&str] = &["Read", "Grep", "Glob", "WebSearch", "WebFetch"];

impl Session {
    /// Before a round's results enter the record.
    pub(super) fn book_read_backs(&mut self, calls: &[ToolUse], results: &[Block]) {
        for block in results {
            let Kind::ToolResult(result) = block.kind() else { continue };
            let call = calls.iter().find(|call| call.id == result.call).filter(|_| !result.is_error);
            if let Some(layer) = call.and_then(|call| self.hidden_by(call)) {
                let estimate = tokens::estimate(block, &self.desk.limits);
                self.receipt_of_reading_back(layer, self.transcript.view().count.fitted(estimate));
            }
        }
    }

    /// The layer that had hidden what this call asks for.
    fn hidden_by(&self, call: &ToolUse) -> Option<Layer> {
        let view = self.transcript.view();
        let input = call.input.to_string();
        if view.spilled.values().any(|spilled| input.contains(&*spilled.file.to_string_lossy())) {
            return Some(Layer::ToolResults);
        }
        if call.name == collapse::UNFOLD {
            return Some(Layer::Collapse);
        }
        let nothing_cut = view.spilled.is_empty() && view.cleared.is_empty() && view.compactions.is_empty();
        if (nothing_cut && view.hidden.is_empty()) || !LOOKING.contains(&call.name.as_str()) {
            return None;
        }
        let calls =
            || view.history.iter().rev().flat_map(|message| message.tool_uses()).filter(|one| one.id != call.id);
        let same = calls().find(|one| one.name == call.name && one.input == call.input);
        let before = same.or_else(|| calls().find(|one| path_of(one).is_some() && path_of(one) == path_of(call)));
        let is_same = |one: &ToolUse| {
            one.name == call.name
                && (one.input == call.input || (path_of(one).is_some() && path_of(one) == path_of(call)))
        };
        let asked = |hidden: &&Hidden| hidden.messages.iter().flat_map(|it| it.tool_uses()).any(is_same);
        let hidden = view.hidden.iter().rev().find(asked);
        match (before.map(|before| &before.id), path_of(call)) {
            (Some(before), _) if view.cleared.contains(before) => Some(Layer::Microcompaction),
            (Some(before), _) => view.spilled.contains_key(before).then_some(Layer::ToolResults),
            (None, _) if hidden.is_some() => hidden.map(|hidden| layer_hiding(hidden.span.way)),
            (None, Some(path)) if view.files.contains_key(&self.desk.dir.join(path)) => {
                view.compactions.last().map(|(_, compaction)| layer_of(compaction.author))
            }
            (None, _) => None,
        }
    }
}

fn path_of(call: &ToolUse) -> Option<&str> {
    call.input["file_path"].as_str().filter(|_| call.name == "Read")
}
