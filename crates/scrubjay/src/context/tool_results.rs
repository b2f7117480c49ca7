//! Layer 1: tool-result storage.
//!
//! What:   a tool result over its threshold is written to a file and the model gets a preview that names it: beginning, end,
//!         how a command ended, and round its failure.
//! When:   a round of tools has finished, before its results enter the record. Decided once: what the record holds is
//!         what every later request carries, in resumed sessions and forks too.
//! Cost:   disk.
//! Spares: layer 2, which would have to clear it, and every request in between, which would have to carry it.
//! Leaves: pictures, empty results, file reads up to a limit of their own; and the whole result wherever the disk refuses.

mod excerpt;

use crate::desk::Desk;
use crate::fence;
use crate::limits::Limits;
use crate::message::{Block, Kind, ToolResult, ToolUse};
use crate::paths;
use crate::prompts;
use crate::settings::{Settings, key};
use crate::tokens;
use crate::transcript::Spilled;
use excerpt::{Success, excerpt};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// What a round's results became: blocks for the record, and where the wholes are.
#[derive(Debug, Default)]
pub struct Admitted {
    /// One block for each result, in order.
    pub results: Vec<Block>,
    /// What was stored.
    pub spilled: Vec<Spilled>,
}

/// Pass a round's results through the gate. `folder` is where this session's results are stored; without one, nothing is.
pub fn admit(results: Vec<Block>, calls: &[ToolUse], folder: Option<&Path>, desk: &Desk) -> Admitted {
    let Some(folder) = folder.filter(|_| desk.settings.flag(&key::TOOL_RESULTS)) else {
        return Admitted { results: results.into_iter().map(fenced).collect(), spilled: Vec::new() };
    };
    let weighed: Vec<Weighed> = results.into_iter().map(|block| Weighed::new(block, calls)).collect();
    let round: Vec<(&str, u64)> = weighed.iter().map(|one| (one.tool.as_str(), one.chars)).collect();
    let store = stored(&round, &desk.settings, &desk.limits);
    let mut admitted = Admitted::default();
    for (weighed, store) in weighed.into_iter().zip(store) {
        match store.then(|| spill(&weighed, folder, &desk.limits)).transpose() {
            Ok(Some((preview, spilled))) => {
                admitted.results.push(preview);
                admitted.spilled.push(spilled);
            }
            Ok(None) => admitted.results.push(fenced(weighed.block)),
            Err(error) => {
                desk.events.notice(format!(
                    "a large {} result stays in the window: it could not be stored ({error})",
                    weighed.tool
                ));
                admitted.results.push(fenced(weighed.block));
            }
        }
    }
    admitted
}

/// What a tool says is data: it cannot hide, and it cannot speak in our name. What is stored keeps its exact bytes.
fn fenced(block: Block) -> Block {
    let Kind::ToolResult(result) = block.kind() else { return block };
    let part = |part: &Block| match part.as_text().map(fence::fenced) {
        Some(Cow::Owned(text)) => Block::text(text),
        Some(Cow::Borrowed(_)) | None => part.clone(),
    };
    let parts: Vec<Block> = result.parts.iter().map(part).collect();
    if parts == result.parts { block } else { Block::tool_result(ToolResult { parts, ..result.clone() }) }
}

/// A result, the tool it came from and the size of its text.
#[derive(Debug)]
struct Weighed {
    block: Block,
    tool: String,
    file: Option<String>,
    chars: u64,
}

impl Weighed {
    fn new(block: Block, calls: &[ToolUse]) -> Self {
        let Kind::ToolResult(result) = block.kind() else {
            return Self { block, tool: String::new(), file: None, chars: 0 };
        };
        let call = calls.iter().find(|call| call.id == result.call);
        let only_text = result.parts.iter().all(|part| part.as_text().is_some());
        let chars = if only_text { result.text().chars().count() as u64 } else { 0 };
        let tool = call.map(|call| call.name.clone()).unwrap_or_default();
        let file =
            call.filter(|call| call.name == READ).and_then(|call| call.input["file_path"].as_str()).map(str::to_owned);
        Self { block, tool, file, chars }
    }

    fn result(&self) -> Option<&ToolResult> {
        match self.block.kind() {
            Kind::ToolResult(result) => Some(result),
            _ => None,
        }
    }
}

const READ: &str = "Read";

/// From how many characters on a result of this tool is stored.
pub fn threshold(tool: &str, settings: &Settings, limits: &Limits) -> u64 {
    settings.tool_result_threshold(tool).unwrap_or_else(|| crate::settings::usual_threshold(tool, limits))
}

/// Which results of a round are stored, each a tool and its characters: those over their own threshold, then the largest
/// until the round fits.
pub fn stored(round: &[(&str, u64)], settings: &Settings, limits: &Limits) -> Vec<bool> {
    let mut store: Vec<bool> = round.iter().map(|(tool, chars)| *chars > threshold(tool, settings, limits)).collect();
    let stays = |store: &[bool]| -> u64 {
        round.iter().zip(store).map(|((_, chars), stored)| if *stored { 0 } else { *chars }).sum()
    };
    while stays(&store) > limits.round_chars {
        let largest = (0..round.len()).filter(|at| !store[*at] && round[*at].1 > limits.preview_bytes);
        let Some(largest) = largest.max_by_key(|at| (round[*at].1, std::cmp::Reverse(*at))) else { break };
        store[largest] = true;
    }
    store
}

/// Write the whole and make the preview. A file that is already there holds the same result and is left as it is.
fn spill(weighed: &Weighed, folder: &Path, limits: &Limits) -> std::io::Result<(Block, Spilled)> {
    let Some(result) = weighed.result() else { return Err(std::io::ErrorKind::InvalidInput.into()) };
    let text = result.text();
    let extension = if tokens::is_json(&text) { "json" } else { "txt" };
    let name = paths::file_name_for(result.call.as_str());
    let file = folder.join(name).with_extension(extension);
    if !file.exists() {
        paths::create_dir_private(folder)?;
        paths::write_private(&file, text.as_bytes())?;
    }
    let preview = preview(weighed, &text, &file, limits);
    let (call, tool) = (result.call.clone(), weighed.tool.clone());
    let spilled = Spilled { call, tool, file, bytes: text.len() as u64, shown: preview.len() as u64 };
    let shown = ToolResult { parts: vec![Block::text(preview)], ..result.clone() };
    Ok((Block::tool_result(shown), spilled))
}

/// What the model sees: size, where, how to read on, and an excerpt. A file read points at the file itself, so that
/// reading it again does not lead in a circle.
fn preview(weighed: &Weighed, text: &str, stored: &Path, limits: &Limits) -> String {
    let room = usize::try_from(limits.preview_bytes).unwrap_or(usize::MAX);
    let failed = weighed.result().is_some_and(|result| result.is_error);
    let shown = excerpt(text, room, if failed { Success::No } else { Success::Yes });
    let lines = text.lines().count();
    let size = format!("{} characters in {lines} lines", weighed.chars);
    let (path, how) = match &weighed.file {
        Some(file) => (PathBuf::from(file), "Read that file again in smaller pages, with `offset` and `limit`."),
        None => (stored.to_owned(), "Read it in pages with the Read tool (`offset`, `limit`), or search it with Grep."),
    };
    prompts::stored_result(&size, &path.display().to_string(), how, &fence::fenced(&shown))
}
