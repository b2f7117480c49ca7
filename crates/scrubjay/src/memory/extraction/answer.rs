//! What a learner answers: memories to create, change or remove, and replies it could not understand alone.

use super::super::{Kind, Topic, draft};
use super::request::TOOL;
use crate::frontmatter::{self, Value};
use crate::limits::Limits;
use crate::message::{Block, Kind as BlockKind};
use serde::Deserialize;
use serde_json::Value as Json;

/// What is to happen to a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// A new one.
    #[default]
    Create,
    /// It says this from now on.
    Change,
    /// It goes.
    Remove,
}

/// A memory as a learner hands it in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// What is to happen.
    pub action: Action,
    /// The memory that is changed or removed; of a new one, the file that is wished for.
    pub file: Option<String>,
    /// What it is to say.
    pub topic: Topic,
    /// The words it rests on.
    pub cites: Vec<String>,
}

/// All of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LearnerAnswer {
    /// The memories.
    pub drafts: Vec<Draft>,
    /// Numbers of replies that need the answer they reply to.
    pub look_back: Vec<usize>,
}

#[derive(Deserialize)]
struct Raw {
    memories: Vec<RawMemory>,
    #[serde(default)]
    look_back: Vec<Json>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct RawMemory {
    action: Action,
    file: Option<String>,
    r#type: Option<String>,
    name: Option<String>,
    description: Option<String>,
    statement: Option<String>,
    why: Option<String>,
    how_to_apply: Option<String>,
    cites: Cites,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Cites {
    Many(Vec<String>),
    One(String),
}

impl Default for Cites {
    fn default() -> Self {
        Cites::Many(Vec::new())
    }
}

impl LearnerAnswer {
    /// Read a reply: the call of the one tool, or the same object as text. An error says what is wrong with it.
    pub fn read(blocks: &[Block]) -> Result<Self, String> {
        let call = blocks.iter().find_map(|block| match block.kind() {
            BlockKind::ToolUse(call) if call.name == TOOL => Some(call.input.clone()),
            _ => None,
        });
        let raw: Raw = match call {
            Some(input) => serde_json::from_value(input).map_err(|error| error.to_string())?,
            None => {
                let text = blocks.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n");
                serde_json::from_str(object_in(&text)?).map_err(|error| error.to_string())?
            }
        };
        let look_back = raw.look_back.iter().filter_map(Json::as_u64).filter_map(|number| usize::try_from(number).ok());
        Ok(Self { drafts: raw.memories.into_iter().map(Draft::from).collect(), look_back: look_back.collect() })
    }
}

/// The object that a text holds, also within a fence.
fn object_in(text: &str) -> Result<&str, String> {
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    let (start, end) = (text.find('{'), text.rfind('}'));
    match (start, end) {
        (Some(start), Some(end)) if start < end => Ok(&text[start..=end]),
        _ => Err("it is prose".to_owned()),
    }
}

impl From<RawMemory> for Draft {
    fn from(raw: RawMemory) -> Self {
        let text = |text: Option<String>| text.map(|text| text.trim().to_owned()).unwrap_or_default();
        let (statement, why, how) = (text(raw.statement), text(raw.why), text(raw.how_to_apply));
        let mut body = statement.clone();
        let parts = [("**Why:**", &why), ("**How to apply:**", &how)];
        let parts: Vec<String> =
            parts.iter().filter(|(_, text)| !text.is_empty()).map(|(title, text)| format!("{title} {text}")).collect();
        if !parts.is_empty() {
            body = format!("{body}\n\n{}", parts.join("\n"));
        }
        let one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (mut name, mut description) = (one_line(text(raw.name)), one_line(text(raw.description)));
        if name.is_empty() {
            name = draft::title(&statement);
        }
        if description.is_empty() {
            description = draft::description(&statement);
        }
        let kind = raw.r#type.as_deref().map_or(Kind::Untyped, Kind::of);
        let kind = if kind == Kind::Untyped { Kind::Project } else { kind };
        let cites = match raw.cites {
            Cites::Many(cites) => cites,
            Cites::One(cite) => vec![cite],
        };
        let cites = cites.iter().map(|cite| unwrapped(cite)).filter(|cite| !cite.is_empty()).collect();
        let file = raw.file.map(|file| file.trim().to_owned()).filter(|file| !file.is_empty());
        let body = if body.trim().is_empty() { String::new() } else { format!("{}\n", body.trim_end()) };
        Self { action: raw.action, file, topic: Topic { name, description, kind, body }, cites }
    }
}

const KEYS: &[&str] = &["name", "description", "type", CITES];
const CITES: &str = "cites";

impl Draft {
    /// Read a memory that was written as a file: its citations stand in the header.
    pub fn from_file(path: &str, written: &str, exists: bool, limits: &Limits) -> Self {
        let mut document = frontmatter::parse(written, KEYS, limits);
        let cites = match document.take(CITES) {
            Some(Value::List(cites)) => cites,
            Some(Value::Text(cite)) => vec![cite],
            None => Vec::new(),
        };
        let cites = cites.iter().map(|cite| unwrapped(cite)).filter(|cite| !cite.is_empty()).collect();
        let topic = Topic::read(&frontmatter::render(&document), limits);
        let action = if exists { Action::Change } else { Action::Create };
        Self { action, file: Some(path.to_owned()), topic, cites }
    }
}

/// Models like to put a quotation into marks of its own, or to end it with dots.
fn unwrapped(cite: &str) -> String {
    cite.trim().trim_matches(['"', '\u{201c}', '\u{201d}', '\u{2026}']).trim_end_matches("...").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(text: &str) -> Result<LearnerAnswer, String> {
        LearnerAnswer::read(&[Block::text(text)])
    }

    #[test]
    fn an_answer_is_read_from_a_call_and_from_text() {
        let object = json!({ "memories": [
            { "action": "create", "type": "feedback", "name": "Tabs", "description": "tabs", "statement": "Use tabs.",
              "why": "They said so.", "how_to_apply": "", "cites": "\u{201c}use tabs\u{201d}" },
            { "action": "remove", "file": "user_x.md", "cites": [] },
        ], "look_back": [2, "x"] });
        let call = Block::tool_use("c".into(), TOOL, object.clone());
        let read_call = LearnerAnswer::read(&[Block::text("Sure."), call]).unwrap();
        assert_eq!(read(&format!("```json\n{object}\n```")).unwrap(), read_call);
        let [tabs, gone] = read_call.drafts.as_slice() else { panic!("{read_call:?}") };
        assert_eq!(
            (tabs.topic.body.as_str(), tabs.cites.as_slice()),
            ("Use tabs.\n\n**Why:** They said so.\n", ["use tabs".to_owned()].as_slice())
        );
        assert_eq!(
            (gone.action, gone.file.as_deref(), read_call.look_back),
            (Action::Remove, Some("user_x.md"), vec![2])
        );
    }

    #[test]
    fn what_is_no_answer_says_why() {
        for (text, why) in [
            ("", "empty"),
            ("nothing to keep", "prose"),
            ("{\"memories\": [", "prose"),
            ("{\"x\": 1}", "memories"),
            ("{\"memories\": 3}", "sequence"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
        assert_eq!(read("{\"memories\": []}").unwrap(), LearnerAnswer::default());
    }

    #[test]
    fn a_file_carries_its_citations_in_its_header() {
        let text =
            "---\nname: Tea\ndescription: likes tea\ntype: user\ncites: [\"I like tea\", 'at four']\n---\nLikes tea.\n";
        let draft = Draft::from_file("user_tea.md", text, false, &Limits::default());
        assert_eq!(draft.cites, ["I like tea", "at four"]);
        assert!(!draft.topic.text().contains("cites"), "{}", draft.topic.text());
    }

    proptest! {
        #[test]
        fn no_answer_breaks_the_reader(text in "\\PC{0,80}", json in "[\\[\\]{}\":,a-z0-9 ]{0,80}") {
            drop(read(&text));
            drop(read(&json));
        }
    }
}
