//! The six commands of the memory tool that Anthropic's models know, served from the same store: `/memories/x.md` is the
//! memory `x.md`. Every change is journalled like any other, and nothing outside the store can be named.

use super::extraction::{Kept, NoteWriter, keep, keep_removal};
use super::journal::Cause;
use super::keeping::in_words;
use super::shared::SharedMemory;
use super::store::{Act, Change, Edit};
use super::{Entry, Memory, MemoryError, name};
use crate::fence::fenced;
use crate::limits::Limits;
use crate::model::Pending;
use crate::prompts;
use crate::tool::{Bench, Effect, MemoryNote, NoteKind, Occasion, Tool, ToolOutcome};
use crate::transcript::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const ROOT: &str = "/memories";
/// How many lines around a change are shown.
const AROUND: usize = 4;

/// The memory tool.
#[derive(Debug, Clone)]
pub struct MemoryTool {
    memory: SharedMemory,
    limits: Limits,
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
enum Command {
    View { path: String, view_range: Option<[i64; 2]> },
    Create { path: String, file_text: String },
    StrReplace { path: String, old_str: String, new_str: Option<String> },
    Insert { path: String, insert_line: i64, insert_text: String },
    Delete { path: String },
    Rename { old_path: String, new_path: String },
}

/// What is said to the model: an answer, or a refusal.
type Said = Result<String, String>;

impl MemoryTool {
    /// Over a memory.
    pub fn new(memory: SharedMemory, limits: &Limits) -> Self {
        let text = json!({ "type": "string" });
        let schema = json!({
            "type": "object",
            "properties": {
                "command": { "type": "string", "enum": ["view", "create", "str_replace", "insert", "delete", "rename"] },
                "path": text, "view_range": { "type": "array", "items": { "type": "integer" } },
                "file_text": text, "old_str": text, "new_str": text, "insert_line": { "type": "integer" },
                "insert_text": text, "old_path": text, "new_path": text,
            },
            "required": ["command"],
        });
        let spec = ToolSpec::new("memory", include_str!("../../prompts/tools/memory.md").trim_end(), &schema);
        Self { memory, limits: limits.clone(), spec }
    }

    /// Answer one call: the text of its result, or of its failure. Blocks.
    pub fn answer(&self, input: &Value, occasion: &Occasion) -> Said {
        let command =
            Command::deserialize(input).map_err(|error| format!("Error: The input is not a command: {error}"))?;
        match command {
            Command::View { path, view_range } => self.view(&path, view_range),
            Command::Create { path, file_text } => self.create(&path, &file_text, occasion),
            Command::StrReplace { path, old_str, new_str } => {
                self.replace(&path, &old_str, &new_str.unwrap_or_default(), occasion)
            }
            Command::Insert { path, insert_line, insert_text } => {
                self.insert(&path, insert_line, &insert_text, occasion)
            }
            Command::Delete { path } => self.delete(&path, occasion),
            Command::Rename { old_path, new_path } => self.rename(&old_path, &new_path),
        }
    }

    fn view(&self, path: &str, range: Option<[i64; 2]>) -> Said {
        let missing = || format!("The path {path} does not exist. Please provide a valid path.");
        let inside = inside(path)?;
        self.memory.with(|memory| memory.refresh().map(drop).map_err(said))?;
        match self.text(inside)? {
            Some(text) => self.numbered(path, &text, range),
            None => self.listing(path, inside).ok_or_else(missing),
        }
    }

    fn numbered(&self, path: &str, text: &str, range: Option<[i64; 2]>) -> Said {
        let lines: Vec<&str> = text.lines().collect();
        if lines.len() as u64 > self.limits.memory_view_lines {
            return Err(format!("File {path} exceeds maximum line limit of 999,999 lines."));
        }
        let (first, last) = match range {
            None => (1, lines.len()),
            Some(range) => within(range, lines.len()).ok_or_else(|| {
                let [from, to] = range;
                let count = lines.len();
                format!("Error: Invalid `view_range` parameter: [{from}, {to}]. It should be within the lines of the file: [1, {count}]")
            })?,
        };
        let mut out = format!("Here's the content of {path} with line numbers:");
        for (number, line) in lines.iter().enumerate().take(last).skip(first - 1) {
            out.push_str(&format!("\n{:>6}\t{}", number + 1, fenced(line)));
            if range.is_none() && out.chars().count() as u64 > self.limits.memory_view_chars {
                out.push_str(&format!("\n[cut here; {} lines in all, see them with view_range]", lines.len()));
                break;
            }
        }
        Ok(out)
    }

    /// Two levels of a folder with their sizes; nothing if there is no such folder.
    fn listing(&self, path: &str, inside: &str) -> Option<String> {
        let sizes: Vec<(String, u64)> = self.memory.with(|memory| {
            let index = memory.index().ok().filter(|index| !index.text.is_empty());
            let index = index.map(|index| (name::INDEX.to_owned(), index.text.len() as u64));
            memory.scan().entries.iter().map(|entry| (entry.path.clone(), entry.stamp.size)).chain(index).collect()
        });
        let under = if inside.is_empty() { String::new() } else { format!("{inside}/") };
        let mut rows: BTreeMap<String, u64> = BTreeMap::new();
        let mut total = 0;
        for (file, size) in &sizes {
            let Some(rest) = file.strip_prefix(&under) else { continue };
            total += size;
            let steps: Vec<&str> = rest.split('/').collect();
            for depth in 1..=steps.len().min(2) {
                let folder = if depth < steps.len() { "/" } else { "" };
                *rows.entry(format!("{}{folder}", steps[..depth].join("/"))).or_default() += size;
            }
        }
        if rows.is_empty() && !inside.is_empty() {
            return None;
        }
        let path = path.trim_end_matches('/');
        let mut out = format!(
            "Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:"
        );
        out.push_str(&format!("\n{}\t{path}", readable(total)));
        rows.iter().for_each(|(row, size)| out.push_str(&format!("\n{}\t{path}/{row}", readable(*size))));
        Some(out)
    }

    fn create(&self, path: &str, text: &str, occasion: &Occasion) -> Said {
        let inside = file_inside(path)?;
        if self.text(inside)?.is_some() {
            return Err(format!("Error: File {path} already exists"));
        }
        let told = self.keep(inside, text.to_owned(), occasion)?;
        Ok(format!("File created successfully at: {path}\n{told}"))
    }

    fn replace(&self, path: &str, old: &str, new: &str, occasion: &Occasion) -> Said {
        let (entry, text) = self.existing(path, ". Please provide a valid path.")?;
        let places: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
        let line_of = |at: usize| text[..at].matches('\n').count() + 1;
        match places.as_slice() {
            _ if old.is_empty() => Err(format!("No replacement was performed, old_str `` is empty in {path}.")),
            [] => Err(format!("No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")),
            [at] => {
                let changed = [&text[..*at], new, &text[at + old.len()..]].concat();
                let told = self.keep(&entry.path, changed.clone(), occasion)?;
                Ok(format!("The memory file has been edited.\n{}\n{told}", snippet(&changed, line_of(*at), new)))
            }
            several => {
                let lines: Vec<String> = several.iter().map(|at| line_of(*at).to_string()).collect();
                Err(format!(
                    "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {}. Please ensure it is unique",
                    lines.join(", ")
                ))
            }
        }
    }

    fn insert(&self, path: &str, line: i64, text: &str, occasion: &Occasion) -> Said {
        let (entry, before) = self.existing(path, "")?;
        let lines: Vec<&str> = before.split_inclusive('\n').collect();
        let Some(at) = usize::try_from(line).ok().filter(|at| *at <= lines.len()) else {
            let count = lines.len();
            return Err(format!(
                "Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, {count}]"
            ));
        };
        let mut changed = lines[..at].concat();
        if !changed.is_empty() && !changed.ends_with('\n') {
            changed.push('\n');
        }
        changed.push_str(text);
        if !text.ends_with('\n') {
            changed.push('\n');
        }
        changed.push_str(&lines[at..].concat());
        let told = self.keep(&entry.path, changed, occasion)?;
        Ok(format!("The file {path} has been edited.\n{told}"))
    }

    fn delete(&self, path: &str, occasion: &Occasion) -> Said {
        let inside = inside(path)?;
        if inside.is_empty() {
            return Err(format!("Error: Cannot delete the {ROOT} directory itself"));
        }
        let below = self.below(inside)?;
        if below.is_empty() {
            return Err(format!("Error: The path {path} does not exist"));
        }
        let by = self.writer(occasion);
        let removed = below.iter().map(|(entry, _)| keep_removal(&self.memory, &entry.path, &by));
        let removed = removed.collect::<Result<Vec<_>, _>>().map_err(|why| format!("Error: {why}"))?;
        let waits = removed.iter().any(|kept| matches!(kept, Kept::Waiting(_)));
        Ok(match waits {
            true => format!("{path} is the user's own, so the user is asked before it goes"),
            false => format!("Successfully deleted {path}"),
        })
    }

    fn rename(&self, old: &str, new: &str) -> Said {
        let (from, to) = (inside(old)?, inside(new)?);
        if from.is_empty() || to.is_empty() {
            return Err(format!("Error: Cannot rename the {ROOT} directory itself"));
        }
        let moved = self.below(from)?;
        if moved.is_empty() {
            return Err(format!("Error: The path {old} does not exist"));
        }
        if !self.below(to)?.is_empty() {
            return Err(format!("Error: The destination {new} already exists"));
        }
        let mut edits = Vec::new();
        for (entry, text) in moved {
            let rest = entry.path.strip_prefix(from).unwrap_or_default();
            let basis = self.memory.with(|memory| memory.rests_on(&entry.path).cloned());
            edits.push(Edit { rests_on: basis, ..Edit::create(format!("{to}{rest}"), text) });
            edits.push(Edit::remove(&entry));
        }
        self.commit(edits)?;
        Ok(format!("Successfully renamed {old} to {new}"))
    }

    /// The memory at a path or those below it, each with its text.
    fn below(&self, inside: &str) -> Result<Vec<(Entry, String)>, String> {
        self.memory.with(|memory| {
            memory.refresh().map_err(said)?;
            let is_below =
                |path: &str| path == inside || path.strip_prefix(inside).is_some_and(|rest| rest.starts_with('/'));
            let paths: Vec<String> =
                memory.scan().entries.iter().map(|entry| entry.path.clone()).filter(|path| is_below(path)).collect();
            let read = |path: &String| memory.text(path).map_err(said).transpose();
            paths.iter().filter_map(read).collect()
        })
    }

    fn existing(&self, path: &str, advice: &str) -> Result<(Entry, String), String> {
        let inside = inside(path)?;
        let found = self.memory.with(|memory| memory.text(inside)).ok().flatten();
        found.ok_or_else(|| format!("Error: The path {path} does not exist{advice}"))
    }

    /// A file's text; the index is one of them.
    fn text(&self, inside: &str) -> Result<Option<String>, String> {
        if inside == name::INDEX {
            let index = self.memory.with(|memory| memory.index()).map_err(said)?;
            return Ok(Some(index.text).filter(|text| !text.is_empty()));
        }
        if !inside.ends_with(".md") {
            return Ok(None);
        }
        Ok(self.memory.with(|memory| memory.text(inside)).map_err(said)?.map(|(_, text)| text))
    }

    fn writer(&self, occasion: &Occasion) -> NoteWriter {
        NoteWriter::of(occasion, &self.memory).with_tool(&self.spec.name)
    }

    /// A file of the model's is a note: it waits for the user, and so does a change of what is the user's own.
    fn keep(&self, inside: &str, text: String, occasion: &Occasion) -> Result<String, String> {
        if inside == name::INDEX {
            return Err(format!("Error: {}", prompts::MEMORY_INDEX_REFUSED.trim_end()));
        }
        let note = MemoryNote { kind: NoteKind::File(inside.to_owned()), text };
        keep(&self.memory, &note, &self.writer(occasion))
            .map(|kept| in_words(&kept))
            .map_err(|why| format!("Error: {why}"))
    }

    fn commit(&self, edits: Vec<Edit>) -> Result<(), String> {
        let removes_only = edits.iter().all(|edit| edit.act == Act::Remove);
        let cause = Cause::Tool { name: self.spec.name.clone() };
        let receipt = self.memory.with(|memory: &mut Memory| memory.commit(Change { cause, edits })).map_err(said)?;
        match receipt.changed() || !removes_only {
            true => Ok(()),
            false => Err(format!("Error: {receipt}")),
        }
    }
}

fn said(error: MemoryError) -> String {
    format!("Error: {error}")
}

/// The part of a path below the root, if it stays there however it is read.
fn inside(path: &str) -> Result<&str, String> {
    let rest = path.strip_prefix(ROOT).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let Some(rest) = rest else { return Err(format!("Error: Path must start with {ROOT}, got: {path}")) };
    let lower = rest.to_lowercase();
    let climbs = rest.split('/').any(|step| step == "..")
        || rest.contains(['\\', '\0'])
        || lower.contains("%2e")
        || lower.contains("%2f");
    if climbs {
        return Err(format!("Error: Path {path} would escape {ROOT} directory"));
    }
    Ok(rest.trim_matches('/'))
}

/// The same for a path that must name a file.
fn file_inside(path: &str) -> Result<&str, String> {
    let inside = inside(path)?;
    if inside.is_empty() { Err(format!("Error: The path {path} is not a file.")) } else { Ok(inside) }
}

/// The first and last line of a range, counted from 1; -1 is the end.
fn within([from, to]: [i64; 2], count: usize) -> Option<(usize, usize)> {
    let last = if to == -1 { count } else { usize::try_from(to).ok()? };
    let first = usize::try_from(from).ok()?;
    (first >= 1 && first <= count.max(1) && last >= first && last <= count).then_some((first, last))
}

/// The changed lines with a few around them, numbered.
fn snippet(text: &str, line: usize, new: &str) -> String {
    let (first, last) = (line.saturating_sub(AROUND).max(1), line + new.matches('\n').count() + AROUND);
    let rows = text.lines().enumerate().take(last).skip(first - 1);
    rows.map(|(number, line)| format!("{:>6}\t{}", number + 1, fenced(line))).collect::<Vec<_>>().join("\n")
}

/// A size as people read it: `512B`, `1.5K`.
fn readable(bytes: u64) -> String {
    let units = ["K", "M", "G"];
    let mut size = bytes as f64;
    if bytes < 1 << 10 {
        return format!("{bytes}B");
    }
    let mut unit = "";
    for next in units {
        if size < f64::from(1 << 10) {
            break;
        }
        size /= f64::from(1 << 10);
        unit = next;
    }
    format!("{size:.1}{unit}")
}

impl Tool for MemoryTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, input: &Value, _: &Path) -> Effect {
        let at = |path: &str| -> Option<PathBuf> { inside(path).ok().map(|inside| self.memory.dir().join(inside)) };
        match Command::deserialize(input) {
            Ok(Command::View { path, .. }) => at(&path).map_or(Effect::Nothing, |path| Effect::Reads(vec![path])),
            Ok(
                Command::Create { path, .. }
                | Command::StrReplace { path, .. }
                | Command::Insert { path, .. }
                | Command::Delete { path }
                | Command::Rename { new_path: path, .. },
            ) => at(&path).map_or(Effect::Nothing, Effect::Writes),
            Err(_) => Effect::Nothing,
        }
    }

    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        let (tool, input, occasion) = (self.clone(), input.clone(), bench.occasion.clone());
        Box::pin(async move {
            let answering = tokio::task::spawn_blocking(move || tool.answer(&input, &occasion));
            match answering.await {
                Ok(Ok(text)) => ToolOutcome::ok(text),
                Ok(Err(text)) => ToolOutcome::error(text),
                Err(_) => ToolOutcome::error("The memory tool stopped before it was done."),
            }
        })
    }
}
