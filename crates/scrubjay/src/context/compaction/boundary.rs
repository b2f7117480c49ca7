//! One compaction, from a wish to the entry that records it. Nothing is changed here: what comes out can be looked at
//! (a preview) or appended.

use super::extract::{self, TooSmall};
use super::fidelity::Report;
use super::{fidelity, restore, rounds, sections};
use crate::desk::Desk;
use crate::limits::Limits;
use crate::message::{Block, Kind, Message, MessageId, Origin, Role, SessionId, ToolResult};
use crate::model::{Ability, ModelError, Reply};
use crate::prompt::Prompt;
use crate::prompts;
use crate::transcript::{Author, Call, Compaction, Trigger, View};
use std::ops::Range;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What is to be compacted, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// What started it.
    pub trigger: Trigger,
    /// What the summary should attend to.
    pub instructions: Option<String>,
    /// Which part of the conversation.
    pub part: Part,
}

/// A part of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    All,
    /// This message and what follows; what precedes stays, and so does its cache.
    From(MessageId),
    /// What precedes this message and the message itself; the rest stays.
    UpTo(MessageId),
}

/// A compaction that could be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// The entry.
    pub compaction: Compaction,
    /// What the conversation would measure.
    pub after: u64,
    /// The model calls it took.
    pub calls: Vec<Call>,
    /// What of the replaced messages survives in the summary, and what does not.
    pub report: Report,
}

/// Why there is no compaction. The conversation is as it was.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotCompacted {
    /// Tools are still running.
    #[error("a round of tools is not finished; the conversation can be compacted after it")]
    OpenRound,
    /// There is nothing there.
    #[error("there is nothing to compact yet")]
    Nothing,
    /// No such message.
    #[error("there is no message {0} in the conversation")]
    NoSuchMessage(MessageId),
    /// What must stay does not fit.
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
    /// The summariser failed.
    #[error("the summary could not be written: {0}")]
    Model(ModelError),
    /// The summariser said nothing that could be used.
    #[error("the summary came back empty")]
    Empty,
    /// It would not help.
    #[error("the summary would not be clearly smaller ({before} tokens before, {after} after), so nothing was changed")]
    NotSmaller {
        /// Before.
        before: u64,
        /// After.
        after: u64,
    },
    /// The person interrupted.
    #[error("interrupted; nothing was changed")]
    Interrupted,
}

/// Plan a compaction: choose the stretch, have it summarised, and check the result.
pub async fn plan(
    view: &View,
    session: &SessionId,
    desk: &Desk,
    wish: &Wish,
    cancel: &CancellationToken,
) -> Result<Planned, NotCompacted> {
    if rounds::is_open(&view.history) {
        return Err(NotCompacted::OpenRound);
    }
    let stretch = stretch(&view.history, &wish.part)?;
    let replaced = &view.history[stretch.clone()];
    let [first, .., last] = replaced else { return Err(NotCompacted::Nothing) };
    let whole = view.unfolded(replaced);
    let (author, text, calls) = if desk.model.is_a_mind() {
        let asked = Asked { view, stretch: stretch.clone(), wish, desk };
        let (text, calls) = asked.summary(cancel).await?;
        (Author::Model, text, calls)
    } else {
        let room = room(&desk.limits);
        (Author::Extract, extract::summarise(&whole, room, &|_| None, &desk.limits)?.text, Vec::new())
    };
    let report = fidelity::check(&whole, &text, &desk.limits);
    let kept = stretch.end < view.history.len();
    let compaction = Compaction {
        trigger: wish.trigger,
        author,
        first: first.id.clone(),
        last: last.id.clone(),
        summary: summary_message(session, last, &text, desk),
        restored: restore::restored(&view.unfolded(&view.history), session, desk),
        before: view.count.total(),
        without_thinking: kept && desk.model.can(Ability::BoundThinking),
    };
    let after = view.compacted(&compaction, &desk.limits).count.total();
    if !fidelity::is_worth_it(compaction.before, after, &desk.limits) {
        return Err(NotCompacted::NotSmaller { before: compaction.before, after });
    }
    Ok(Planned { compaction, after, calls, report })
}

/// Which messages are replaced: whole rounds only.
fn stretch(history: &[Arc<Message>], part: &Part) -> Result<Range<usize>, NotCompacted> {
    let place = |id: &MessageId| -> Result<Range<usize>, NotCompacted> {
        let at = history.iter().position(|message| message.id == *id);
        let at = at.ok_or_else(|| NotCompacted::NoSuchMessage(id.clone()))?;
        let round = rounds::rounds(history).into_iter().find(|round| round.contains(&at));
        Ok(round.unwrap_or(at..at + 1))
    };
    match part {
        Part::All => Ok(0..answered(history)),
        Part::From(id) => Ok(place(id)?.start..history.len()),
        Part::UpTo(id) => Ok(0..place(id)?.end),
    }
}

/// Where a question begins that the model has not answered yet: it stays as it is, so that it can be answered.
fn answered(history: &[Arc<Message>]) -> usize {
    let is_old = |message: &Arc<Message>| matches!(message.origin, Origin::Model | Origin::Tool | Origin::Summary);
    history.iter().rposition(is_old).map_or(0, |at| at + 1)
}

/// How many bytes a summary may take.
fn room(limits: &Limits) -> usize {
    usize::try_from(limits.summary_tokens.saturating_mul(limits.text_bytes_per_token)).unwrap_or(usize::MAX)
}

/// The message that stands for what was said. Its id is derived, like every other.
fn summary_message(session: &SessionId, last: &Message, text: &str, desk: &Desk) -> Arc<Message> {
    let id = crate::transcript::derived_id(session, &format!("summary of {}", last.id));
    let blocks = vec![Block::text(prompts::summary(text))];
    Arc::new(Message { id, role: Role::User, origin: Origin::Summary, at: desk.clock.now(), blocks })
}

/// A question to the model: the parent's exact prefix and one more message.
struct Asked<'a> {
    view: &'a View,
    stretch: Range<usize>,
    wish: &'a Wish,
    desk: &'a Desk,
}

impl Asked<'_> {
    async fn summary(&self, cancel: &CancellationToken) -> Result<(String, Vec<Call>), NotCompacted> {
        let mut prompt = Prompt::of(self.view);
        prompt.history.truncate(self.stretch.end);
        prompt.history.push(self.directive());
        let mut calls = Vec::new();
        let (mut too_long, mut refused) = (0, false);
        loop {
            let replied = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(NotCompacted::Interrupted),
                replied = ask(self.desk, &prompt) => replied,
            };
            let reply = match replied {
                Err(ModelError::PromptTooLong { over_by }) if too_long < self.desk.limits.summary_retries => {
                    too_long += 1;
                    shorten(&mut prompt, over_by, &self.desk.limits);
                    continue;
                }
                replied => replied.map_err(NotCompacted::Model)?,
            };
            calls.push(booked(&reply));
            // Tools stay listed, because they are part of the prefix; a call is refused once, then it counts as silence.
            if !reply.is_final() && !refused {
                refused = true;
                refuse(&mut prompt, &reply, self.desk);
                continue;
            }
            let text = self.checked(&reply)?;
            return Ok((text, calls));
        }
    }

    /// What the model wrote, in nine sections, with what may not be left out put back by code: standing constraints, and
    /// every word of the person.
    fn checked(&self, reply: &Reply) -> Result<String, NotCompacted> {
        let said = reply.blocks.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n");
        let parts = sections::parse(&said);
        if parts.is_empty() {
            return Err(NotCompacted::Empty);
        }
        let (limits, replaced) = (&self.desk.limits, self.view.unfolded(&self.view.history[self.stretch.clone()]));
        Ok(fidelity::complete(&parts, &replaced, room(limits), &|_| None, limits)?.text)
    }

    fn directive(&self) -> Arc<Message> {
        let focus = self.wish.instructions.as_deref().unwrap_or_default();
        let part = match self.wish.part {
            Part::From(_) => self.view.history[self.stretch.start].text(),
            _ => String::new(),
        };
        let blocks = vec![Block::text(prompts::errand("compact", &prompts::summarise(focus, &part)))];
        let (id, at) = (MessageId::new("summarise"), self.desk.clock.now());
        Arc::new(Message { id, role: Role::User, origin: Origin::Reminder, at, blocks })
    }
}

async fn ask(desk: &Desk, prompt: &Prompt) -> Result<Reply, ModelError> {
    let mut quiet = |_| {};
    desk.model.reply(prompt, &mut quiet).await
}

fn booked(reply: &Reply) -> Call {
    Call {
        source: "compact".to_owned(),
        model: reply.model.clone(),
        usage: reply.usage,
        stop: reply.stop.clone(),
        cleared: reply.cleared,
    }
}

/// Leave out the oldest rounds; the directive at the end stays.
fn shorten(prompt: &mut Prompt, over_by: Option<u64>, limits: &Limits) {
    let directive = prompt.history.pop();
    let gone = rounds::without_oldest(&prompt.history, over_by, limits);
    prompt.history.drain(..gone);
    prompt.history.extend(directive);
}

fn refuse(prompt: &mut Prompt, reply: &Reply, desk: &Desk) {
    let at = desk.clock.now();
    let (said, told) = (MessageId::new("called"), MessageId::new("refused"));
    let results = reply.blocks.iter().filter_map(|block| match block.kind() {
        Kind::ToolUse(call) => Some(Block::tool_result(ToolResult {
            call: call.id.clone(),
            parts: vec![Block::text(prompts::NO_TOOLS_NOW.trim())],
            is_error: true,
        })),
        _ => None,
    });
    let results = results.collect();
    let blocks = reply.blocks.clone();
    prompt.history.push(Arc::new(Message { id: said, role: Role::Assistant, origin: Origin::Model, at, blocks }));
    prompt.history.push(Arc::new(Message { id: told, role: Role::User, origin: Origin::Tool, at, blocks: results }));
}
