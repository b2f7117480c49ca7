//! What the model was sent, request by request: `=` for what it had seen before, `+` for what is new, and which entry
//! broke the prefix if one did. The three invariants of the engine are checked on the way.

use crate::learner_check;
use scrubjay::agents::fork;
use scrubjay::limits::Limits;
use scrubjay::message::{Block, Kind, Message};
use scrubjay::prompt::Prompt;
use scrubjay::transcript::{Entry, EntryId, Record, Transcript, View};
use std::fmt::Write as _;

/// Every request of a session, next to the record it was folded from.
pub struct Storyboard<'a> {
    prompts: &'a [Prompt],
    transcript: &'a Transcript,
    limits: Limits,
}

/// One request of the conversation and the breaks declared since the one before.
struct Frame<'a> {
    prompt: &'a Prompt,
    breaks: Vec<&'static str>,
}

impl<'a> Storyboard<'a> {
    /// The requests and the record of one session.
    pub fn new(prompts: &'a [Prompt], transcript: &'a Transcript, limits: Limits) -> Self {
        Self { prompts, transcript, limits }
    }

    /// Invariant A: the file folds to what is in memory, and every request was a fold of the record.
    /// Invariant B: each request extends the one before, unless exactly one entry between them declares a break.
    /// Invariant C: a learner is shown what the user typed, and nothing foreign.
    pub fn check(&self) -> Result<(), String> {
        self.check_resume()?;
        if let Some(line) = learner_check::leak(self.prompts, self.transcript.records()) {
            return Err(format!("a learner was shown what the user did not type: {line}"));
        }
        let frames = self.frames()?;
        for (at, pair) in frames.windows(2).enumerate() {
            let [earlier, later] = pair else { continue };
            let number = at + 2;
            match later.breaks.as_slice() {
                [] if !later.prompt.rendering().starts_with(&earlier.prompt.rendering()) => {
                    return Err(format!(
                        "request {number} rewrites what request {} had sent, and no entry says so",
                        at + 1
                    ));
                }
                [_, _, ..] => return Err(format!("more than one break before request {number}: {:?}", later.breaks)),
                _ => {}
            }
        }
        Ok(())
    }

    fn check_resume(&self) -> Result<(), String> {
        let Some(path) = self.transcript.path() else { return Ok(()) };
        let limits = std::sync::Arc::new(self.limits.clone());
        let (resumed, damage) =
            Transcript::peek(path, self.transcript.session().clone(), limits).map_err(|error| error.to_string())?;
        if !damage.is_empty() {
            return Err(format!("the file has damage: {damage:?}"));
        }
        if resumed.view() != self.transcript.view() {
            return Err("what the file folds to is not what is in memory".to_owned());
        }
        Ok(())
    }

    /// Find, for each request of the conversation, the place in the record that it is the fold of.
    fn frames(&self) -> Result<Vec<Frame<'a>>, String> {
        let mut frames = Vec::new();
        let records = self.transcript.records();
        let mut next = 0;
        let mut view = View::default();
        let mut breaks = Vec::new();
        for (at, prompt) in self.prompts.iter().filter(|prompt| self.is_own(prompt)).enumerate() {
            while Prompt::of(&view) != *prompt {
                let Some(record) = records.get(next) else {
                    return Err(format!("request {} is not what any part of the record folds to", at + 1));
                };
                next += 1;
                view.follow(&records[..next], &self.limits);
                note_break(&mut breaks, record);
            }
            let breaks = std::mem::take(&mut breaks).into_iter().map(|(_, cause)| cause).collect();
            frames.push(Frame { prompt, breaks });
        }
        Ok(frames)
    }

    /// Forks and other agents have records of their own.
    fn is_own(&self, prompt: &Prompt) -> bool {
        let opened = |record: &Record| match &record.entry {
            Entry::Opened { opening, .. } => opening.system == prompt.system,
            _ => false,
        };
        !fork::is_fork(prompt) && self.transcript.records().iter().any(opened)
    }

    /// The story as text, for a snapshot.
    pub fn draw(&self) -> Result<String, String> {
        let mut out = String::new();
        let mut earlier: Option<&Prompt> = None;
        let mut frames = self.frames()?.into_iter();
        let mut number = 0;
        for prompt in self.prompts {
            number += 1;
            let title = if fork::is_fork(prompt) {
                format!("request {number}, a fork")
            } else if !self.is_own(prompt) {
                format!("request {number}, another agent")
            } else {
                let breaks = frames.next().map(|frame| frame.breaks).unwrap_or_default();
                let broken = breaks.first().map(|cause| format!(", prefix broken by {cause}")).unwrap_or_default();
                format!("request {number}{broken}")
            };
            draw_request(&mut out, &title, prompt, earlier).map_err(|error| error.to_string())?;
            earlier = Some(prompt);
        }
        Ok(out)
    }
}

/// What was taken back before anything was sent has broken nothing.
fn note_break(breaks: &mut Vec<(EntryId, &'static str)>, record: &Record) {
    let undone = match record.entry {
        Entry::Reverted { entry } => breaks.iter().position(|(id, _)| *id == entry),
        _ => None,
    };
    match undone {
        Some(at) => drop(breaks.remove(at)),
        None => breaks.extend(record.entry.breaks_cache().map(|cause| (record.id, cause))),
    }
}

fn draw_request(out: &mut String, title: &str, prompt: &Prompt, earlier: Option<&Prompt>) -> std::fmt::Result {
    writeln!(out, "── {title}")?;
    let opening_same = earlier.is_some_and(|e| e.tools == prompt.tools && e.system == prompt.system);
    if !opening_same {
        writeln!(out, "  + {} tools, {} bytes of system prompt", prompt.tools.len(), prompt.system.len())?;
    }
    let messages: Vec<_> = prompt.messages().collect();
    let before: Vec<_> = earlier.map(|earlier| earlier.messages().collect()).unwrap_or_default();
    let shared = messages.iter().zip(&before).take_while(|(a, b)| a.role == b.role && a.blocks == b.blocks).count();
    if shared > 0 {
        writeln!(out, "  = {shared} messages")?;
    }
    if shared < before.len() {
        writeln!(out, "  - {} messages", before.len() - shared)?;
    }
    for message in &messages[shared..] {
        draw_message(out, message)?;
    }
    Ok(())
}

fn draw_message(out: &mut String, message: &Message) -> std::fmt::Result {
    for block in &message.blocks {
        writeln!(out, "  + {:?}/{:?} {}", message.role, message.origin, draw_block(block))?;
    }
    Ok(())
}

fn draw_block(block: &Block) -> String {
    match block.kind() {
        Kind::Text(text) => format!("text {}", short(text)),
        Kind::Image => "image".to_owned(),
        Kind::Document => "document".to_owned(),
        Kind::Thinking(text) => format!("thinking {}", short(text)),
        Kind::ToolUse(call) => format!("call {} {} {}", call.id, call.name, short(&call.input.to_string())),
        Kind::ToolResult(result) => {
            let failed = if result.is_error { " failed" } else { "" };
            format!("result {}{failed} {}", result.call, short(&result.text()))
        }
        Kind::Summary(text) => format!("summary {}", short(text)),
        Kind::Other(kind) => format!("other {kind}"),
    }
}

/// Enough to recognise it by.
fn short(text: &str) -> String {
    let line = text.replace('\n', "⏎");
    let head: String = line.chars().take(90).collect();
    if head.len() < line.len() { format!("{head}… ({} bytes)", text.len()) } else { head }
}
