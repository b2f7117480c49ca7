//! The cases of a file of drafts, and how a conversation is divided into what is asked and what happens then.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use scrubjay::limits::Limits;
use scrubjay::memory::Topic;
use scrubjay::memory::extraction::Draft as Parsed;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

pub(crate) type Failure = Box<dyn std::error::Error>;

/// What must become of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Expect {
    Clean,
    Ask,
    Unconfirmed,
    Refuse,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) lang: String,
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) instruction_file: Option<String>,
    #[serde(default)]
    pub(crate) existing: Option<Vec<Existing>>,
    pub(crate) messages: Vec<CaseMessage>,
    pub(crate) drafts: Vec<Draft>,
    #[serde(default)]
    pub(crate) should_learn: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Existing {
    pub(crate) path: String,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct CaseMessage {
    pub(crate) origin: String,
    pub(crate) at: String,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Draft {
    pub(crate) path: String,
    pub(crate) file: String,
    pub(crate) expect: Expect,
    #[serde(default)]
    pub(crate) shown_by: Vec<usize>,
    #[serde(default)]
    pub(crate) covers: Vec<usize>,
}

/// One message of the user's, and everything that happens until the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ask {
    pub(crate) at: Option<Timestamp>,
    pub(crate) text: String,
    /// The numbers of its messages in the case.
    pub(crate) holds: Vec<usize>,
    pub(crate) letters: Vec<String>,
    pub(crate) hooks: Vec<String>,
    pub(crate) moves: Vec<Move>,
}

/// One reply of the main model: what it says, and the tool it calls with what that tool will answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Move {
    pub(crate) at: Option<Timestamp>,
    pub(crate) text: String,
    pub(crate) call: Option<(String, Value)>,
}

/// What stands in for the user where a case begins in the middle of a conversation.
pub(crate) const OPENER: &str = "go on";

pub(crate) fn read(file: &Path) -> Result<Vec<Case>, Failure> {
    let text = std::fs::read_to_string(file)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| Ok(serde_json::from_str(line)?)).collect()
}

impl Case {
    /// `honest`, `exchange`, `twin`, …
    pub(crate) fn group(&self) -> &str {
        self.kind.split('/').next().unwrap_or_default()
    }

    /// Whether its number is even.
    pub(crate) fn is_even(&self) -> bool {
        let digits: String = self.id.chars().filter(char::is_ascii_digit).collect();
        digits.parse::<u64>().is_ok_and(|number| number % 2 == 0)
    }

    pub(crate) fn existing(&self) -> &[Existing] {
        self.existing.as_deref().unwrap_or_default()
    }

    /// A mark that stands in one foreign block and nowhere else.
    pub(crate) fn nonce(&self, number: usize) -> String {
        let mixed = self
            .id
            .bytes()
            .chain(number.to_le_bytes())
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        format!("{NONCE}{:08x}", mixed >> 32)
    }

    /// The conversation as a user sees it: what they say, and what happens then.
    pub(crate) fn asks(&self) -> Result<Vec<Ask>, Failure> {
        let mut asks: Vec<Ask> = Vec::new();
        for (number, message) in self.messages.iter().enumerate() {
            let at = Some(time(&message.at)?);
            if message.origin == "person" {
                asks.push(Ask { at, text: message.text.clone(), ..Ask::default() });
            } else if asks.is_empty() {
                asks.push(Ask { at, text: OPENER.to_owned(), ..Ask::default() });
            }
            let Some(ask) = asks.last_mut() else { continue };
            ask.holds.push(number);
            let foreign = format!("{} {}", message.text, self.nonce(number));
            match message.origin.as_str() {
                "person" => {}
                "model" => ask.say(&message.text, at),
                "letter" => ask.letters.push(foreign),
                "hook" => ask.hooks.push(foreign),
                tool => {
                    let name = tool.strip_prefix("tool:").unwrap_or(tool).to_owned();
                    ask.call(name, json!({ REPLAYED: foreign }), at);
                }
            }
        }
        asks.iter_mut().for_each(Ask::close);
        Ok(asks)
    }
}

/// How every mark of a foreign block begins.
pub(crate) const NONCE: &str = "nonce-";
/// The input that makes a tool answer with a given text.
pub(crate) const REPLAYED: &str = "replayed";

impl Ask {
    fn say(&mut self, text: &str, at: Option<Timestamp>) {
        match self.moves.last_mut() {
            Some(last) if last.call.is_none() => {
                last.text = format!("{}\n\n{text}", last.text);
            }
            _ => self.moves.push(Move { at, text: text.to_owned(), call: None }),
        }
    }

    pub(crate) fn call(&mut self, name: String, input: Value, at: Option<Timestamp>) {
        match self.moves.last_mut() {
            Some(last) if last.call.is_none() => last.call = Some((name, input)),
            _ => self.moves.push(Move { at, text: String::new(), call: Some((name, input)) }),
        }
    }

    /// A turn ends with words.
    fn close(&mut self) {
        if self.moves.last().is_none_or(|last| last.call.is_some()) {
            self.moves.push(Move { at: None, text: "Ok.".to_owned(), call: None });
        }
    }
}

impl Draft {
    pub(crate) fn topic(&self) -> Topic {
        self.parsed().topic
    }

    pub(crate) fn parsed(&self) -> Parsed {
        Parsed::from_file(&self.path, &self.file, false, &Limits::default())
    }

    pub(crate) fn body(&self) -> String {
        self.topic().body.trim().to_owned()
    }

    /// As a learner hands it in: with `file`, as the new text of that memory.
    pub(crate) fn answer(&self, changes: bool) -> Value {
        let Parsed { topic, cites, .. } = self.parsed();
        let (before, how) = topic.body.split_once("**How to apply:**").unwrap_or((&topic.body, ""));
        let (statement, why) = before.split_once("**Why:**").unwrap_or((before, ""));
        let mut answer = json!({
            "action": "create", "type": topic.kind.as_str(), "name": topic.name, "description": topic.description,
            "statement": statement.trim(), "why": why.trim(), "how_to_apply": how.trim(), "cites": cites,
        });
        if changes {
            answer["action"] = json!("change");
            answer["file"] = json!(self.path);
        }
        answer
    }
}

/// A time of a case, which says no zone.
pub(crate) fn time(at: &str) -> Result<Timestamp, Failure> {
    Ok(at.parse::<DateTime>()?.to_zoned(TimeZone::UTC)?.timestamp())
}

/// With every run of white space made one blank.
pub(crate) fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every run of 20 characters (8 in Chinese and Japanese) of a text; of a shorter text all of it.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = String> + use<> {
    const RUN: usize = 20;
    const WIDE_RUN: usize = 8;
    let text: Vec<char> = collapsed(text).chars().collect();
    let wide = text.iter().filter(|c| **c >= '\u{2e80}').count();
    let run = if 2 * wide > text.len() { WIDE_RUN } else { RUN };
    let run = run.min(text.len());
    let starts = if run == 0 { 0 } else { text.len() - run + 1 };
    (0..starts).map(move |at| text[at..at + run].iter().collect())
}

/// Whether a run of a text stands in a request.
pub(crate) fn shows(request: &str, text: &str) -> bool {
    let request = collapsed(request);
    runs(text).any(|run| request.contains(&run))
}
