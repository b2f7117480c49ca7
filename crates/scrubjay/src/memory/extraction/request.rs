//! What a learner is asked: the user's typed words, clean memories, and answers given before anything foreign had entered.
//! Nothing else of the conversation is in the request, so nothing else can be learned from it (invariant C).

use super::super::shared::{SharedMemory, Wish};
use super::super::typed::{AssistantAnswer, Conversation, Plain, UserMessage};
use super::super::{Entry, Kind, Memory, Speaker, Trust};
use crate::digest::Digest;
use crate::fence::{fenced, fenced_line};
use crate::limits::Limits;
use crate::message::{Block, Message, MessageId, Origin, Role};
use crate::prompt::Prompt;
use crate::prompts;
use crate::transcript::{Options, Thinking, ToolSpec};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The tool that a learner answers with.
pub const TOOL: &str = "memories";

/// How a learner came to see what it saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Typed words alone.
    Typed,
    /// Replies with the answers they reply to, whatever had been heard before.
    Exchange,
    /// The whole conversation.
    Fork,
}

/// Something a learner was shown, and may cite.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// Who said it.
    pub speaker: Speaker,
    /// In which message.
    pub message: MessageId,
    /// The message that replies to it.
    pub replied: Option<MessageId>,
    /// The day it was said.
    pub day: Date,
    /// The words.
    pub text: String,
    /// The same as quotations are looked up in it.
    pub plain: String,
}

impl Passage {
    /// Words of a message.
    pub fn new(speaker: Speaker, message: &MessageId, day: Date, text: String) -> Self {
        let plain = Plain::of(&text).text();
        Self { speaker, message: message.clone(), replied: None, day, text, plain }
    }
}

/// Everything that a learner was shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// By which way.
    pub reader: Reader,
    /// What may be cited.
    pub passages: Vec<Passage>,
    /// Memories it saw in full, by path: what they said then.
    pub memories: BTreeMap<String, (Digest, String)>,
    /// Memories it saw in the list, by path.
    pub listed: BTreeMap<String, String>,
    /// The messages by their numbers.
    pub numbered: Vec<MessageId>,
}

/// One request to a learner.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnerRequest {
    /// What is sent.
    pub prompt: Prompt,
    /// What that shows.
    pub shown: Shown,
}

/// Ask what the user's typed words teach. Blocks: memories are ranked.
pub fn typed_words(conversation: &Conversation, memory: &SharedMemory, now: &Zoned, limits: &Limits) -> LearnerRequest {
    let zone = now.time_zone();
    let mut shown = Shown::new(Reader::Typed, Vec::new());
    let earlier = shown.earlier(&conversation.earlier, zone, limits);
    let mut words = String::new();
    for message in &conversation.pending {
        let clean = message.answers.as_ref().filter(|answer| !answer.tainted);
        words.push_str(&shown.message(message, clean, zone, limits));
    }
    let memories = shown.memories(&conversation_words(conversation), memory, now, limits);
    let before: Vec<String> = [memories, earlier].into_iter().filter(|part| !part.is_empty()).collect();
    let asked = prompts::learner_words(&today(now), &before.join("\n\n"), words.trim_end());
    LearnerRequest { prompt: prompt(prompts::LEARNER, asked, limits), shown }
}

/// Show the exchanges that some replies belong to. Whatever comes of it is unconfirmed.
pub fn exchanges(messages: &[&UserMessage], now: &Zoned, limits: &Limits) -> LearnerRequest {
    let zone = now.time_zone();
    let mut shown = Shown::new(Reader::Exchange, Vec::new());
    let words: String =
        messages.iter().map(|message| shown.message(message, message.answers.as_ref(), zone, limits)).collect();
    let asked = prompts::learner_words(&today(now), "", words.trim_end());
    LearnerRequest { prompt: prompt(prompts::LOOK_BACK, asked, limits), shown }
}

/// The same request once more, after an answer that could not be read.
pub fn again(request: &LearnerRequest, answer: &[Block], why: &str) -> Prompt {
    let mut prompt = request.prompt.clone();
    let text = answer.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n");
    if !text.trim().is_empty() {
        prompt.history.push(said(Role::Assistant, Origin::Model, text));
    }
    prompt.history.push(said(Role::User, Origin::Reminder, prompts::learner_again(why)));
    prompt
}

fn prompt(system: &str, asked: String, limits: &Limits) -> Prompt {
    Prompt {
        tools: Arc::from([tool()]),
        system: system.trim_end().into(),
        instructions: Vec::new(),
        history: vec![said(Role::User, Origin::Reminder, asked)],
        options: Options { max_output: Some(limits.learner_tokens), thinking: Thinking::Off, ..Options::default() },
    }
}

fn said(role: Role, origin: Origin, text: String) -> Arc<Message> {
    let (id, at, blocks) = (MessageId::new(super::ERRAND), Timestamp::UNIX_EPOCH, vec![Block::text(text)]);
    Arc::new(Message { id, role, origin, at, blocks })
}

fn tool() -> ToolSpec {
    let text = || json!({ "type": "string" });
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    let kinds: Vec<&str> = Kind::NAMED.iter().map(|kind| kind.as_str()).collect();
    let memory = json!({
        "type": "object",
        "properties": {
            "action": { "type": "string", "enum": ["create", "change", "remove"] },
            "file": text(), "type": { "type": "string", "enum": kinds }, "name": text(), "description": text(),
            "statement": text(), "why": text(), "how_to_apply": text(), "cites": texts(),
        },
    });
    let memory = closed(memory);
    let schema = json!({
        "type": "object",
        "properties": {
            "memories": { "type": "array", "items": memory },
            "look_back": { "type": "array", "items": { "type": "integer" } },
        },
    });
    ToolSpec::new(TOOL, prompts::LEARNER_TOOL.trim_end(), &closed(schema)).strict()
}

/// An object that has each of its properties and no other: the form in which every service can check it.
fn closed(mut object: Value) -> Value {
    let names: Vec<String> =
        object["properties"].as_object().map(|all| all.keys().cloned().collect()).unwrap_or_default();
    object["required"] = json!(names);
    object["additionalProperties"] = json!(false);
    object
}

fn today(now: &Zoned) -> String {
    dated(now.date())
}

fn dated(date: Date) -> String {
    format!("{date} ({:?})", date.weekday())
}

fn conversation_words(conversation: &Conversation) -> String {
    conversation.pending.iter().map(UserMessage::typed).collect::<Vec<_>>().join("\n")
}

impl Shown {
    /// These passages, and no memories yet.
    pub fn new(reader: Reader, passages: Vec<Passage>) -> Self {
        Self { reader, passages, memories: BTreeMap::new(), listed: BTreeMap::new(), numbered: Vec::new() }
    }

    /// One message under its number, below the answer it replies to where that is shown.
    fn message(
        &mut self,
        message: &UserMessage,
        answer: Option<&AssistantAnswer>,
        zone: &TimeZone,
        limits: &Limits,
    ) -> String {
        let day = |at: Timestamp| at.to_zoned(zone.clone()).date();
        self.numbered.push(message.id.clone());
        let mut out = format!("[{}] {}\n", self.numbered.len(), dated(day(message.at)));
        if let Some(AssistantAnswer { message: answered, .. }) = answer {
            let text = shortened(&answered.text(), limits);
            out.push_str(&prompts::learner_answer(&fenced(&text)));
            out.push('\n');
            let mut passage = Passage::new(Speaker::Assistant, &answered.id, day(answered.at), text);
            passage.replied = Some(message.id.clone());
            self.passages.push(passage);
        }
        out.push_str(&fenced(&message.shown()));
        out.push_str("\n\n");
        self.passages.push(Passage::new(Speaker::Person, &message.id, day(message.at), message.typed()));
        out
    }

    /// What was typed before and looked at already, as much of the newest as there is room for.
    fn earlier(&mut self, messages: &[UserMessage], zone: &TimeZone, limits: &Limits) -> String {
        let (mut parts, mut room) = (Vec::new(), limits.learner_earlier_chars);
        for message in messages.iter().rev().filter(|message| !message.typed().trim().is_empty()) {
            let day = message.at.to_zoned(zone.clone()).date();
            let text = format!("{}\n{}", dated(day), fenced(&message.shown()));
            let length = text.chars().count() as u64;
            if length > room {
                break;
            }
            room -= length;
            parts.push(text);
            self.passages.push(Passage::new(Speaker::Person, &message.id, day, message.typed()));
        }
        parts.reverse();
        if parts.is_empty() { String::new() } else { prompts::learner_earlier(&parts.join("\n\n")) }
    }

    /// The user's clean memories: a list of those that are near, and the nearest in full.
    fn memories(&mut self, words: &str, memory: &SharedMemory, now: &Zoned, limits: &Limits) -> String {
        let wish = Wish::new(words, now);
        let ranked = memory.candidates(&wish).manifest;
        let (mut list, mut whole, mut room) = (String::new(), String::new(), limits.learner_list_chars);
        memory.with(|memory| {
            let clean =
                ranked.iter().filter_map(|(path, _)| memory.scan().get(path)).filter(|entry| is_own(memory, entry));
            for entry in clean {
                let line =
                    format!("- {}: {} — {}\n", entry.path, fenced_line(&entry.name), fenced_line(&entry.description));
                let length = line.chars().count() as u64;
                if length > room {
                    break;
                }
                room -= length;
                list.push_str(&line);
                self.listed.insert(entry.path.clone(), format!("{}\n{}", entry.name, entry.description));
                let full = self.memories.len() as u64;
                if full >= limits.learner_nearest {
                    continue;
                }
                let Ok(Some((entry, text))) = memory.text(&entry.path) else { continue };
                if text.len() as u64 <= limits.learner_memory_bytes {
                    whole.push_str(&prompts::learner_memory(&entry.path, fenced(&text).trim_end()));
                    whole.push('\n');
                    self.memories.insert(entry.path.clone(), (entry.digest.clone(), text));
                }
            }
        });
        match list.is_empty() {
            true => String::new(),
            false => prompts::learner_memories(list.trim_end(), whole.trim_end()),
        }
    }
}

/// Whether a memory is the user's own and may be shown to a learner.
fn is_own(memory: &Memory, entry: &Entry) -> bool {
    let trust = memory.rests_on(&entry.path).map(|basis| basis.trust);
    !entry.is_shared() && !matches!(trust, Some(Trust::Tainted | Trust::Shared))
}

/// Long answers are shown by their beginning and their end.
fn shortened(text: &str, limits: &Limits) -> String {
    const BEGINNING: usize = 4;
    let most = usize::try_from(limits.learner_answer_chars).unwrap_or(usize::MAX);
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most / BEGINNING).collect();
    let tail: String = text.chars().skip(count - (most - most / BEGINNING)).collect();
    format!("{head}\n[…]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::super::super::typed::Part;
    use super::*;

    fn typed(id: &str, parts: &[Part]) -> UserMessage {
        UserMessage { id: id.into(), at: Timestamp::UNIX_EPOCH, parts: parts.to_vec(), answers: None }
    }

    #[test]
    fn earlier_words_are_shown_without_pastes_and_may_be_cited() {
        let mut shown = Shown::new(Reader::Typed, Vec::new());
        let messages = [
            typed("m1", &[Part::Typed("too long ago to be shown".into())]),
            typed("m2", &[Part::Typed("use jj here".into()), Part::Pasted(3)]),
            typed("m3", &[Part::Pasted(9)]),
        ];
        let limits = Limits { learner_earlier_chars: 60, ..Limits::default() };
        let text = shown.earlier(&messages, &TimeZone::UTC, &limits);
        assert!(text.contains("use jj here\n[pasted, 3 lines]") && !text.contains("long ago"), "{text}");
        let cited: Vec<&str> = shown.passages.iter().map(|passage| passage.text.as_str()).collect();
        assert_eq!(cited, ["use jj here"]);
        assert!(shown.numbered.is_empty(), "nobody looks back at them");
    }
}
