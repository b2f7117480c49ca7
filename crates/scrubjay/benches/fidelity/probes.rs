//! Four probes by string evidence: what of a conversation survives in the text that stands for it.

use flate2::read::GzDecoder;
use regex::Regex;
use scrubjay::foreign::said_by_person;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::io::Read as _;
use std::path::Path;

pub type Failure = Box<dyn std::error::Error>;

/// A place where the product compacted: what it replaced, by what, and what came after.
pub struct Point<'a> {
    pub before: &'a [Value],
    pub after: &'a [Value],
    pub theirs: String,
}

pub fn load(path: &Path) -> Result<Vec<Value>, Failure> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path)?;
    if path.extension().is_some_and(|ending| ending == "gz") {
        GzDecoder::new(file).read_to_end(&mut bytes)?;
    } else {
        std::io::BufReader::new(file).read_to_end(&mut bytes)?;
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).filter(Value::is_object).collect())
}

pub fn truthy(value: &Value) -> bool {
    value.as_bool() == Some(true)
}

/// The text of content, as the probes see it.
pub fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect(),
        Value::Object(_) => match content["type"].as_str() {
            Some("text") => content["text"].as_str().unwrap_or_default().to_owned(),
            Some("tool_result") => text(&content["content"]),
            Some("tool_use") => spaced_json(&content["input"]),
            Some("thinking") => content["thinking"].as_str().unwrap_or_default().to_owned(),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

/// JSON with spaces after commas and colons, everything beyond ASCII escaped.
fn spaced_json(value: &Value) -> String {
    let string = |text: &str| {
        let plain = Value::from(text).to_string();
        let escape = |c: char| match c.is_ascii() {
            true => c.to_string(),
            false => c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
        };
        plain.chars().map(escape).collect::<String>()
    };
    match value {
        Value::Object(fields) => {
            let all: Vec<String> =
                fields.iter().map(|(key, value)| format!("{}: {}", string(key), spaced_json(value))).collect();
            format!("{{{}}}", all.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(spaced_json).collect::<Vec<_>>().join(", ")),
        Value::String(text) => string(text),
        other => other.to_string(),
    }
}

/// What a person wrote, if the record is that.
pub fn human(record: &Value) -> Option<String> {
    let marked = ["isMeta", "isCompactSummary", "isSidechain"].iter().any(|mark| truthy(&record[*mark]));
    if record["type"] != "user" || marked {
        return None;
    }
    let said = match &record["message"]["content"] {
        Value::Array(blocks) if blocks.iter().any(|block| block["type"] == "tool_result") => return None,
        Value::Array(blocks) => {
            let texts = blocks.iter().filter(|block| block["type"] == "text");
            texts.map(|block| block["text"].as_str().unwrap_or_default()).collect::<Vec<_>>().join("\n")
        }
        content => content.as_str().unwrap_or_default().to_owned(),
    };
    said_by_person(&said)
}

/// The files a record's calls name, with the tool.
pub fn files(record: &Value) -> Vec<(&str, &str)> {
    let Some(blocks) = record["message"]["content"].as_array() else { return Vec::new() };
    if record["type"] != "assistant" || truthy(&record["isSidechain"]) {
        return Vec::new();
    }
    let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
    let known = calls.filter_map(|block| Some((block["name"].as_str()?, block["input"]["file_path"].as_str()?)));
    known.filter(|(name, path)| ["Read", "Edit", "Write", "MultiEdit"].contains(name) && !path.is_empty()).collect()
}

pub enum Reading {
    Everything,
    Prose,
}

pub fn flat<'a>(records: impl IntoIterator<Item = &'a Value>, reading: &Reading) -> String {
    let mut all: Vec<String> = Vec::new();
    for record in records {
        if truthy(&record["isSidechain"]) || !(record["type"] == "user" || record["type"] == "assistant") {
            continue;
        }
        match &record["message"]["content"] {
            Value::Array(blocks) => {
                let wanted = |block: &&Value| {
                    block.is_object() && (matches!(reading, Reading::Everything) || block["type"] == "text")
                };
                all.extend(blocks.iter().filter(wanted).map(text));
            }
            content => all.push(text(content)),
        }
    }
    all.join("\n")
}

pub struct Probes {
    identifier: Regex,
    word: Regex,
}

impl Probes {
    pub fn new() -> Result<Self, Failure> {
        let identifier = concat!(
            r"[\w.-]+/[\w./-]+\w|\b[A-Za-z]+_[A-Za-z0-9_]+\b|\b[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b",
            r"|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b|--[a-z][a-z-]+|\b[\w-]+\.(?:go|md|sh|json|ya?ml|toml|ts|py|rs|jsonl)\b"
        );
        Ok(Self { identifier: Regex::new(identifier)?, word: Regex::new("[a-z][a-z0-9'-]{3,}")? })
    }

    /// files_future, files_edited, user_msgs, user_future; none where a point has nothing to ask.
    pub fn score(&self, point: &Point<'_>, kept: &str) -> [Option<f64>; 4] {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let touched: BTreeSet<String> = point.before.iter().flat_map(files).map(|(_, path)| name(path)).collect();
        let edited: BTreeSet<String> = point
            .before
            .iter()
            .flat_map(files)
            .filter(|(tool, _)| *tool != "Read")
            .map(|(_, path)| name(path))
            .collect();
        let later: BTreeSet<String> = point.after.iter().flat_map(files).map(|(_, path)| name(path)).collect();
        let future = later.intersection(&touched).cloned().collect();
        let source = flat(point.before, &Reading::Everything);
        let asked: Vec<String> = point.after.iter().filter_map(human).collect();
        let named =
            asked.iter().flat_map(|said| self.identifier.find_iter(said)).map(|found| found.as_str().to_owned());
        let named = named.filter(|name| source.contains(name.as_str())).collect();
        [share(&future, kept), share(&edited, kept), self.messages(point, &kept.to_lowercase()), share(&named, kept)]
    }

    fn messages(&self, point: &Point<'_>, kept: &str) -> Option<f64> {
        let words = |said: &String| -> BTreeSet<String> {
            self.word.find_iter(&said.to_lowercase()).map(|found| found.as_str().to_owned()).collect()
        };
        let said: Vec<BTreeSet<String>> = point.before.iter().filter_map(human).map(|said| words(&said)).collect();
        let mut frequency: HashMap<&str, usize> = HashMap::new();
        for word in said.iter().flatten() {
            *frequency.entry(word).or_default() += 1;
        }
        let mut passed = Vec::new();
        for message in &said {
            let mut rarest: Vec<&str> = message.iter().map(String::as_str).collect();
            rarest
                .sort_by_key(|word| (frequency.get(word).copied().unwrap_or(0), std::cmp::Reverse(word.len()), *word));
            rarest.truncate(12);
            if rarest.len() >= 3 {
                let found = rarest.iter().filter(|word| kept.contains(**word)).count();
                passed.push(f64::from(u8::from(found as f64 >= 0.6 * rarest.len() as f64)));
            }
        }
        (!passed.is_empty()).then(|| passed.iter().sum::<f64>() / passed.len() as f64)
    }
}

fn share(wanted: &BTreeSet<String>, kept: &str) -> Option<f64> {
    let found = wanted.iter().filter(|name| kept.contains(name.as_str())).count();
    (!wanted.is_empty()).then(|| found as f64 / wanted.len() as f64)
}
