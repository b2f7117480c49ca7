//! A block that is still arriving: the JSON it began with, and what was added to it since.

use crate::fields::{Fields, quoted, raw};
use crate::retry::Teller;
use scrubjay::message::Block;
use scrubjay::model::Delta;
use serde_json::value::RawValue;

/// A block in the making. Fields this program does not know are kept as they came.
#[derive(Debug)]
pub(crate) struct OpenBlock {
    fields: Fields,
    kind: String,
    /// String fields that grow, with all they hold so far.
    grown: Vec<(String, String)>,
    /// Array fields that grow, with all they hold so far.
    listed: Vec<(String, Vec<String>)>,
    /// The input of a tool call, piece by piece.
    input: Option<String>,
}

/// Why a block cannot be used although it came to its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadInput {
    pub(crate) tool: String,
}

impl OpenBlock {
    /// Begin with what the service announced.
    pub(crate) fn begin(fields: Fields, teller: &mut Teller<'_>) -> Self {
        let kind = fields.text("type").unwrap_or_default();
        match kind.as_str() {
            "text" => show(fields.text("text"), Delta::Text, teller),
            "thinking" => show(fields.text("thinking"), Delta::Thinking, teller),
            "tool_use" => teller.show(Delta::ToolUse { name: fields.text("name").unwrap_or_default() }),
            _ => {}
        }
        Self { fields, kind, grown: vec![], listed: vec![], input: None }
    }

    /// Add a delta: strings grow, lists grow, anything else is replaced.
    pub(crate) fn add(&mut self, delta: &Fields, teller: &mut Teller<'_>) {
        let kind = delta.text("type").unwrap_or_default();
        for (name, value) in delta.iter().filter(|(name, _)| *name != "type") {
            let text = serde_json::from_str::<String>(value.get()).ok();
            match (kind.as_str(), name, text) {
                ("input_json_delta", "partial_json", Some(text)) => {
                    // Prose and reasoning have no input that could make them unreadable.
                    if !matches!(self.kind.as_str(), "text" | "thinking") {
                        self.input.get_or_insert_default().push_str(&text);
                    }
                }
                ("citations_delta", "citation", _) => self.list("citations", value),
                ("signature_delta", "signature", Some(text)) => self.replace("signature", text),
                (_, name, Some(text)) => {
                    self.grow(name, &text);
                    // Only what will be kept as prose or reasoning is shown as such.
                    match (self.kind.as_str(), name) {
                        ("text", "text") => show(Some(text), Delta::Text, teller),
                        ("thinking", "thinking") => show(Some(text), Delta::Thinking, teller),
                        _ => {}
                    }
                }
                // Words that were said are not taken back by something that is none.
                (_, name, None) if self.fields.text(name).is_some() => {}
                (_, name, None) => self.fields.set(name, value.to_owned()),
            }
        }
    }

    fn grow(&mut self, name: &str, text: &str) {
        if let Some((_, so_far)) = self.grown.iter_mut().find(|(key, _)| key == name) {
            so_far.push_str(text);
            return;
        }
        let mut so_far = self.fields.text(name).unwrap_or_default();
        so_far.push_str(text);
        self.grown.push((name.to_owned(), so_far));
    }

    fn replace(&mut self, name: &str, text: String) {
        self.grown.retain(|(key, _)| key != name);
        self.grown.push((name.to_owned(), text));
    }

    fn list(&mut self, name: &str, value: &RawValue) {
        if !self.listed.iter().any(|(key, _)| key == name) {
            let begun: Option<Vec<Box<RawValue>>> =
                self.fields.get(name).and_then(|list| serde_json::from_str(list.get()).ok());
            let begun = begun.unwrap_or_default().iter().map(|item| item.get().to_owned()).collect();
            self.listed.push((name.to_owned(), begun));
        }
        if let Some((_, items)) = self.listed.iter_mut().find(|(key, _)| key == name) {
            items.push(value.get().to_owned());
        }
    }

    /// The whole block; `None` for empty prose, which no request may carry.
    pub(crate) fn end(mut self) -> Result<Option<Block>, BadInput> {
        let strings = self.grown.iter().map(|(name, text)| (name.clone(), quoted(text)));
        let lists = self.listed.iter().map(|(name, items)| (name.clone(), format!("[{}]", items.join(","))));
        let changes: Vec<_> = strings.chain(lists).collect();
        for (name, json) in changes {
            if let Some(json) = raw(json) {
                self.fields.set(&name, json);
            }
        }
        if let Some(input) = self.input.take() {
            let input = if input.trim().is_empty() { "{}".to_owned() } else { input };
            let Some(input) = raw(input) else {
                return Err(BadInput { tool: self.fields.text("name").unwrap_or_default() });
            };
            self.fields.set("input", input);
        }
        let block = raw(self.fields.json()).map(Block::from_raw);
        Ok(block.filter(|block| block.as_text() != Some("")))
    }

    /// What can be kept when the stream ends here: prose, and nothing else that is half done.
    pub(crate) fn rescue(self) -> Option<Block> {
        if self.kind != "text" {
            return None;
        }
        self.end().ok().flatten()
    }
}

fn show(text: Option<String>, as_delta: fn(String) -> Delta, teller: &mut Teller<'_>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        teller.show(as_delta(text));
    }
}
