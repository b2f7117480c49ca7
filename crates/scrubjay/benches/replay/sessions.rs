//! Real sessions, read from other agents' transcripts.

use flate2::read::GzDecoder;
use jiff::Timestamp;
use scrubjay::message::SpanOrigin;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Something that was added to the conversation.
#[derive(Debug, Clone)]
pub struct Piece {
    pub kind: Kind,
    pub chars: usize,
}

#[derive(Debug, Clone)]
pub enum Kind {
    User,
    /// A block the model said; an edit carries the longest line it looks for.
    Assistant {
        edit: Option<String>,
    },
    Tool {
        text: Arc<str>,
    },
    /// The agent compacted here.
    Compacted,
    Summary,
}

/// A block that was said to the model, and where it came from if nobody typed it.
#[derive(Debug, Clone)]
pub struct Word {
    pub block: Value,
    pub origin: Option<SpanOrigin>,
}

/// One model call: what was added before it, what it answered, and what it was billed.
#[derive(Debug, Clone)]
pub struct Step {
    pub at: f64,
    /// Which record of the file its answer begins with.
    pub record: usize,
    pub added: Vec<Piece>,
    /// What was said to the model before it, besides answers of tools.
    pub words: Vec<Word>,
    pub reply: Vec<Value>,
    pub output: u64,
    pub fresh: u64,
    pub written: u64,
    pub read: u64,
}

impl Step {
    pub fn billed(&self) -> u64 {
        self.fresh + self.written + self.read
    }
}

/// A session: the tokens of its opening, tokens per character, its calls, and what tools answered by the call's id.
pub struct Session {
    pub name: String,
    pub path: PathBuf,
    pub model: String,
    pub base: u64,
    pub ratio: f64,
    pub steps: Vec<Step>,
    pub results: HashMap<String, Value>,
}

/// Every session under a folder that can be replayed, and how many files could not.
pub fn load(folder: &Path) -> std::io::Result<(Vec<Session>, usize)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.to_string_lossy().contains(".jsonl"));
    files.sort();
    let sessions: Vec<Session> = files.iter().filter_map(|file| session(file).ok().flatten()).collect();
    let skipped = files.len() - sessions.len();
    Ok((sessions, skipped))
}

fn text_of(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    let mut file = File::open(path)?;
    if path.extension().is_some_and(|extension| extension == "gz") {
        GzDecoder::new(file).read_to_end(&mut bytes)?;
    } else {
        file.read_to_end(&mut bytes)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[derive(Default)]
struct Reader {
    at: usize,
    steps: Vec<Step>,
    by_id: HashMap<String, usize>,
    pending: Vec<Piece>,
    words: Vec<Word>,
    model: String,
    results: HashMap<String, Value>,
}

fn session(path: &Path) -> std::io::Result<Option<Session>> {
    let text = text_of(path)?;
    let mut reader = Reader::default();
    let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).filter(Value::is_object);
    for (at, record) in records.enumerate() {
        reader.at = at;
        reader.record(&if record["type"] == "message" { plain(&record) } else { record });
    }
    Ok(reader.finish(path))
}

/// A record of the `pi` agent in the words of the others.
fn plain(record: &Value) -> Value {
    let said = &record["message"];
    let usage = &said["usage"];
    let blocks: Vec<Value> =
        said["content"].as_array().map_or(&[][..], Vec::as_slice).iter().map(plain_block).collect();
    match said["role"].as_str() {
        Some("toolResult") => json!({ "type": "user", "message": { "content": [
            { "type": "tool_result", "tool_use_id": said["toolCallId"], "content": said["content"] },
        ] } }),
        Some("assistant") if usage["input"].as_u64() > Some(0) => json!({
            "type": "assistant", "timestamp": record["timestamp"],
            "message": { "content": blocks, "model": said["model"], "usage": {
                "input_tokens": usage["input"], "output_tokens": usage["output"],
                "cache_read_input_tokens": usage["cacheRead"], "cache_creation_input_tokens": usage["cacheWrite"],
            } },
        }),
        Some("user") => json!({ "type": "user", "message": { "content": blocks } }),
        _ => Value::Null,
    }
}

fn plain_block(block: &Value) -> Value {
    if block["type"] != "toolCall" {
        return block.clone();
    }
    let input = &block["arguments"];
    let name = block["name"].as_str().unwrap_or_default();
    let capital = name.get(..1).unwrap_or_default().to_uppercase() + name.get(1..).unwrap_or_default();
    let mut input = input.clone();
    if let Some(fields) = input.as_object_mut() {
        for (theirs, ours) in [("path", "file_path"), ("oldText", "old_string")] {
            if let Some(value) = fields.remove(theirs) {
                fields.insert(ours.to_owned(), value);
            }
        }
    }
    json!({ "type": "tool_use", "id": block["id"], "name": capital, "input": input })
}

impl Reader {
    fn record(&mut self, record: &Value) {
        let kind = record["type"].as_str().unwrap_or_default();
        if record["isSidechain"] == true {
            return;
        }
        if kind == "system" && record["subtype"] == "compact_boundary" {
            self.pending.push(Piece { kind: Kind::Compacted, chars: 0 });
        }
        let content = &record["message"]["content"];
        let whole = [json!({ "type": "text", "text": content.as_str().unwrap_or_default() })];
        let blocks = content.as_array().map_or(&whole[..], Vec::as_slice);
        match kind {
            "assistant" if record["message"]["model"] != "<synthetic>" => {
                let step = self.call(record);
                blocks.iter().filter(|block| block.is_object()).for_each(|block| self.said(block, step));
            }
            "user" if record["isCompactSummary"] == true => {
                let chars = chars_of(content);
                self.pending.push(Piece { kind: Kind::Summary, chars });
            }
            "user" => blocks.iter().filter(|block| block.is_object()).for_each(|block| self.heard(block, record)),
            _ => {}
        }
    }

    /// Which call a record belongs to.
    fn call(&mut self, record: &Value) -> usize {
        let usage = &record["message"]["usage"];
        let count = |name: &str| usage[name].as_u64().unwrap_or(0);
        let id = record["message"]["id"].as_str();
        if let Some(known) = id.and_then(|id| self.by_id.get(id)) {
            let step = &mut self.steps[*known];
            step.output = step.output.max(count("output_tokens"));
            return *known;
        }
        let at = record["timestamp"].as_str().and_then(|at| at.parse::<Timestamp>().ok()).unwrap_or_default();
        if let Some(id) = id {
            self.by_id.insert(id.to_owned(), self.steps.len());
        }
        if let Some(model) = record["message"]["model"].as_str() {
            model.clone_into(&mut self.model);
        }
        self.steps.push(Step {
            at: at.as_microsecond() as f64 / 1e6,
            record: self.at,
            added: std::mem::take(&mut self.pending),
            words: std::mem::take(&mut self.words),
            reply: Vec::new(),
            output: count("output_tokens"),
            fresh: count("input_tokens"),
            written: count("cache_creation_input_tokens"),
            read: count("cache_read_input_tokens"),
        });
        self.steps.len() - 1
    }

    fn said(&mut self, block: &Value, step: usize) {
        self.steps[step].reply.push(block.clone());
        let mut edit = None;
        if block["type"] == "tool_use" {
            let name = block["name"].as_str().unwrap_or_default();
            if name == "Edit" {
                edit = Some(longest_line(block["input"]["old_string"].as_str().unwrap_or_default()));
            }
        }
        self.pending.push(Piece { kind: Kind::Assistant { edit }, chars: chars_of(block) + 20 });
    }

    fn heard(&mut self, block: &Value, record: &Value) {
        let chars = chars_of(block) + 20;
        let kind = if block["type"] == "tool_result" {
            let id = block["tool_use_id"].as_str().unwrap_or_default();
            self.results.insert(id.to_owned(), block.clone());
            Kind::Tool { text: Arc::from(prose(&block["content"])) }
        } else {
            self.words.push(Word { block: block.clone(), origin: origin(block, record) });
            Kind::User
        };
        self.pending.push(Piece { kind, chars });
    }

    fn finish(self, path: &Path) -> Option<Session> {
        let steps = self.steps;
        let chars = |step: &Step| step.added.iter().map(|piece| piece.chars).sum::<usize>();
        let compacted = |step: &Step| step.added.iter().any(|piece| matches!(piece.kind, Kind::Compacted));
        let grown = steps
            .windows(2)
            .filter(|pair| pair[1].billed() > pair[0].billed() && !compacted(&pair[1]) && chars(&pair[1]) > 0);
        let (mut tokens, mut text) = (0, 0);
        for pair in grown {
            tokens += pair[1].billed() - pair[0].billed();
            text += chars(&pair[1]);
        }
        if steps.len() < 3 || text == 0 {
            return None;
        }
        let ratio = (tokens as f64 / text as f64).clamp(0.15, 0.8);
        let base = steps[0].billed().saturating_sub((chars(&steps[0]) as f64 * ratio) as u64).max(3_000);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Some(Session { name, path: path.to_owned(), model: self.model, base, ratio, steps, results: self.results })
    }
}

/// Where a block came from that nobody typed: the agent wrote it, a command printed it, or it is a plan of the model's.
fn origin(block: &Value, record: &Value) -> Option<SpanOrigin> {
    const COMMANDS: &[&str] =
        &["<command-name>", "<command-message>", "<local-command-caveat>", "[Request interrupted"];
    const OUTPUTS: &[&str] = &["<local-command-stdout>", "<bash-input>", "<bash-stdout>", "<task-notification>"];
    let text = block["text"].as_str().unwrap_or_default().trim_start();
    let begins = |marks: &[&str]| marks.iter().any(|mark| text.starts_with(mark));
    match () {
        () if record["isMeta"] == true || begins(COMMANDS) => Some(SpanOrigin::Command),
        () if begins(OUTPUTS) => Some(SpanOrigin::Output),
        () if record["planContent"].is_string() => Some(SpanOrigin::Pasted),
        () => None,
    }
}

/// The longest line of what an edit looks for: what must have been seen to write it.
pub fn longest_line(text: &str) -> String {
    let mut best = ("", 0);
    for line in text.split('\n').map(str::trim) {
        let length = line.chars().count();
        if length > best.1 {
            best = (line, length);
        }
    }
    if best.1 > 15 { best.0.to_owned() } else { String::new() }
}

pub fn prose(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(prose).collect(),
        Value::Object(block) => match block.get("type").and_then(Value::as_str) {
            Some("text") => block.get("text").map(prose).unwrap_or_default(),
            Some("tool_result") => block.get("content").map(prose).unwrap_or_default(),
            Some("thinking") => block.get("thinking").map(prose).unwrap_or_default(),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

/// How many characters a block has; a call's input counts as escaped JSON with spaces after `,` and `:`.
pub fn chars_of(content: &Value) -> usize {
    if content["type"] == "tool_use" {
        return json_chars(&content["input"]);
    }
    match content {
        Value::Array(parts) => parts.iter().map(chars_of).sum(),
        other => prose(other).chars().count(),
    }
}

fn json_chars(value: &Value) -> usize {
    let separators = |count: usize| 2 + 2 * count.saturating_sub(1);
    match value {
        Value::Null => 2,
        Value::Bool(yes) => {
            if *yes {
                4
            } else {
                5
            }
        }
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => 2 + text.chars().map(escaped).sum::<usize>(),
        Value::Array(items) => separators(items.len()) + items.iter().map(json_chars).sum::<usize>(),
        Value::Object(fields) => {
            let pair =
                |(name, value): (&String, &Value)| 4 + name.chars().map(escaped).sum::<usize>() + json_chars(value);
            separators(fields.len()) + fields.iter().map(pair).sum::<usize>()
        }
    }
}

fn escaped(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        ' '..='~' => 1,
        other => 6 * other.len_utf16(),
    }
}
