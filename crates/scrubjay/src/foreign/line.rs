//! A line of either agent's file. What is not named here is passed over without being kept.

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

#[derive(Deserialize)]
pub(super) struct Line<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    pub(super) timestamp: Option<Cow<'a, str>>,
    // Claude Code
    pub(super) subtype: Option<Cow<'a, str>>,
    #[serde(rename = "isSidechain")]
    pub(super) is_sidechain: Option<bool>,
    #[serde(rename = "isMeta")]
    pub(super) is_meta: Option<bool>,
    #[serde(rename = "isCompactSummary")]
    pub(super) is_compact_summary: Option<bool>,
    pub(super) uuid: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) version: Option<String>,
    #[serde(borrow)]
    pub(super) message: Option<Said<'a>>,
    // Codex
    #[serde(borrow)]
    pub(super) payload: Option<Payload<'a>>,
}

/// What Claude Code keeps of a message.
#[derive(Deserialize)]
pub(super) struct Said<'a> {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    pub(super) usage: Option<Billed>,
}

#[derive(Deserialize)]
pub(super) struct Billed {
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
    pub(super) cache_creation: Option<ByLifetime>,
    // Codex
    pub(super) cached_input_tokens: Option<u64>,
    pub(super) cache_write_input_tokens: Option<u64>,
    pub(super) total_tokens: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct ByLifetime {
    pub(super) ephemeral_1h_input_tokens: Option<u64>,
}

/// What Codex keeps of anything.
#[derive(Deserialize)]
pub(super) struct Payload<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) role: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    #[serde(borrow)]
    pub(super) summary: Option<Content<'a>>,
    pub(super) name: Option<String>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) action: Option<&'a RawValue>,
    pub(super) call_id: Option<String>,
    #[serde(borrow)]
    pub(super) output: Option<Content<'a>>,
    #[serde(borrow)]
    pub(super) message: Option<Content<'a>>,
    #[serde(borrow)]
    pub(super) replacement_history: Option<Vec<Payload<'a>>>,
    pub(super) info: Option<Info>,
    pub(super) model: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) cli_version: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Info {
    pub(super) total_token_usage: Option<Billed>,
    pub(super) last_token_usage: Option<Billed>,
    pub(super) model_context_window: Option<u64>,
}

/// Words, or a list of blocks, or one block.
pub(super) enum Content<'a> {
    Text(String),
    Blocks(Vec<Block<'a>>),
}

/// A block of either agent.
#[derive(Deserialize)]
pub(super) struct Block<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    pub(super) tool_use_id: Option<String>,
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    pub(super) is_error: Option<bool>,
}

impl Content<'_> {
    /// All of its prose, joined by line breaks.
    pub(super) fn prose(self) -> String {
        match self {
            Content::Text(text) => text,
            Content::Blocks(blocks) => {
                let said = |block: Block<'_>| block.text.or_else(|| block.content.map(Content::prose));
                let mut said: Vec<String> = blocks.into_iter().filter_map(said).collect();
                if said.len() == 1 { said.remove(0) } else { said.join("\n") }
            }
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or blocks")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Content::Text(text))
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
        Ok(Content::Blocks(vec![Block::deserialize(MapAccessDeserializer::new(map))?]))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut blocks: S) -> Result<Self::Value, S::Error> {
        let mut all = Vec::new();
        while let Some(block) = blocks.next_element()? {
            all.push(block);
        }
        Ok(Content::Blocks(all))
    }
}
