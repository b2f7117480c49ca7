//! Who writes a summary: the service itself where thinking is bound to its prefix and it can, else a fork of the conversation
//! whose tools are listed and refused.

use super::boundary::{Draft, NotCompacted, Part, Subject, Wish};
use super::{fidelity, rounds, sections};
use crate::message::{Block, Kind, Message, MessageId, Origin, Role, ToolResult, without_pictures, without_thinking};
use crate::model::{Ability, ModelError, Reply};
use crate::prompt::Prompt;
use crate::prompt_cache::rules;
use crate::prompts;
use crate::tokens::Budget;
use crate::transcript::{Author, Call};
use std::ops::Range;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Have a stretch summarised by a model.
pub(super) async fn draft(
    subject: &Subject<'_>,
    stretch: Range<usize>,
    wish: &Wish,
    calls: &mut Vec<Call>,
    cancel: &CancellationToken,
) -> Result<Draft, NotCompacted> {
    let mut asked = Asked { subject, stretch, wish, calls };
    let can = |ability| subject.desk.model.can(ability);
    let from_the_start = asked.stretch.start == 0;
    if from_the_start
        && can(Ability::BoundThinking)
        && can(Ability::ServerCompaction)
        && let Some(draft) = asked.by_service(cancel).await?
    {
        return Ok(draft);
    }
    asked.by_fork(cancel).await
}

/// A question to the model: the parent's exact prefix, and what is wanted.
struct Asked<'a> {
    subject: &'a Subject<'a>,
    stretch: Range<usize>,
    wish: &'a Wish,
    calls: &'a mut Vec<Call>,
}

impl Asked<'_> {
    /// The service's own summary of a request it has answered, so that thinking behind it stays valid. It may not be
    /// changed; what it may not lose is put beside it. `None`: the service cannot, and a fork has to.
    async fn by_service(&mut self, cancel: &CancellationToken) -> Result<Option<Draft>, NotCompacted> {
        let Subject { view, desk, .. } = *self.subject;
        let end = view.history[self.stretch.clone()].iter().rposition(|message| message.role == Role::User);
        let Some(end) = end.map(|at| at + 1).filter(|end| *end > 1) else { return Ok(None) };
        let mut prompt = self.prompt(end);
        prompt.options.context_management = None;
        let instructions = prompts::summarise(self.wish.instructions.as_deref().unwrap_or_default(), "");
        let replied = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(NotCompacted::Interrupted),
            replied = desk.model.summarise(&prompt, &instructions) => replied,
        };
        let reply = match replied {
            Ok(reply) => reply,
            Err(ModelError::Refused(_) | ModelError::PromptTooLong { .. }) => return Ok(None),
            Err(error) => return Err(NotCompacted::Model(error)),
        };
        self.calls.push(booked(&reply));
        let written = reply.blocks.iter().find_map(|block| match block.kind() {
            Kind::Summary(text) if !text.trim().is_empty() => Some(text.clone()),
            _ => None,
        });
        let Some(written) = written else { return Ok(None) };
        let (replaced, wholes) = (&view.history[..end], |message: &Message| self.subject.whole(message));
        let (whole, end_of_whole) = (view.unfolded(&view.history), view.unfolded(replaced).len());
        let text = fidelity::beside(&written, &whole, end_of_whole, &wholes, &desk.limits)?.text;
        let beside = vec![Block::text(prompts::beside(&text))];
        Ok(Some(Draft {
            stretch: 0..end,
            author: Author::Model,
            summary: self.subject.standing_for(replaced, "service summary", Role::Assistant, reply.blocks),
            beside: Some(self.subject.standing_for(replaced, "beside the summary", Role::User, beside)),
        }))
    }

    async fn by_fork(&mut self, cancel: &CancellationToken) -> Result<Draft, NotCompacted> {
        let desk = self.subject.desk;
        let mut prompt = self.fitting();
        let (mut too_long, mut refused) = (0, false);
        loop {
            let replied = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(NotCompacted::Interrupted),
                replied = ask(self.subject, &prompt) => replied,
            };
            let reply = match replied {
                Err(ModelError::PromptTooLong { over_by }) if too_long < desk.limits.summary_retries => {
                    too_long += 1;
                    self.shorten(&mut prompt, over_by);
                    continue;
                }
                replied => {
                    if let Err(ModelError::Cut { usage, .. }) = &replied {
                        self.calls.push(Call::cut("compact", desk.model.name(), *usage));
                    }
                    replied.map_err(NotCompacted::Model)?
                }
            };
            self.calls.push(booked(&reply));
            // Tools stay listed, because they are part of the prefix; a call is refused once, then it counts as silence.
            if !reply.is_final() && !refused {
                refused = true;
                refuse(&mut prompt, &reply, self.subject);
                continue;
            }
            let summary = self.completed(&reply)?;
            return Ok(Draft { stretch: self.stretch.clone(), author: Author::Model, summary, beside: None });
        }
    }

    /// What the model wrote, in nine sections, with what may not be left out put back by code: standing constraints, and
    /// every word of the person.
    fn completed(&self, reply: &Reply) -> Result<Arc<Message>, NotCompacted> {
        let said = reply.blocks.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n");
        let parts = sections::parse(&said);
        if parts.is_empty() {
            return Err(NotCompacted::Empty);
        }
        let (limits, replaced) = (&self.subject.desk.limits, &self.subject.view.history[self.stretch.clone()]);
        let wholes = |message: &Message| self.subject.whole(message);
        let whole = self.subject.view.unfolded(replaced);
        let text = fidelity::complete(&parts, &whole, fidelity::room(&said, limits), &wholes, limits)?.text;
        Ok(self.subject.summary(replaced, &text))
    }

    /// The conversation up to a message, as it is sent.
    fn prompt(&self, end: usize) -> Prompt {
        let mut view = self.subject.view.clone();
        view.history.truncate(end);
        Prompt::of(&view)
    }

    /// The conversation with the directive at its end: unchanged while the cache is warm and it fits, because then nearly
    /// all of it is read from there; else without what a summary does not need.
    fn fitting(&self) -> Prompt {
        let Subject { view, desk, .. } = *self.subject;
        let mut prompt = self.prompt(self.stretch.end);
        let left_out = rounds::weight(&view.history[self.stretch.end..], &desk.limits);
        let used = view.count.total().saturating_sub(left_out);
        let line = Budget::new(desk.model.window(), used, &desk.limits).effective;
        if self.is_warm() && used <= line {
            prompt.history.push(self.directive());
            return prompt;
        }
        let left = used.saturating_sub(self.strip(&mut prompt));
        if left > line {
            let gone = rounds::without_oldest(&prompt.history, Some(left - line), &desk.limits);
            prompt.history.drain(..gone);
        }
        prompt.history.push(self.directive());
        prompt
    }

    fn is_warm(&self) -> bool {
        let Subject { view, desk, .. } = *self.subject;
        let ttl = view.opening.as_ref().map(|opening| opening.options.cache_ttl).unwrap_or_default();
        let last = view.history.iter().rev().find(|message| message.origin == Origin::Model);
        last.is_some_and(|last| desk.clock.now().duration_since(last.at) <= rules::lifetime(ttl.messages()))
    }

    /// Words for pictures, nothing for what is brought back afterwards anyway. Thinking that is bound to what stood before
    /// goes, all of it. What that frees, in tokens.
    fn strip(&self, prompt: &mut Prompt) -> u64 {
        let Subject { view, desk, .. } = *self.subject;
        let before = rounds::weight(&prompt.history, &desk.limits);
        let restored = view.compactions.iter().flat_map(|(_, compaction)| &compaction.restored);
        let again: Vec<&MessageId> = restored.filter(|it| it.origin == Origin::Reminder).map(|it| &it.id).collect();
        prompt.history.retain(|message| !again.contains(&&message.id));
        prompt.history.iter_mut().for_each(|message| *message = without_pictures(message));
        if desk.model.can(Ability::BoundThinking) {
            prompt.history = prompt.history.iter().filter_map(without_thinking).collect();
        }
        before.saturating_sub(rounds::weight(&prompt.history, &desk.limits))
    }

    /// The service found it too long: strip it, and leave out the oldest rounds as far as that does not do. The directive
    /// at the end stays.
    fn shorten(&self, prompt: &mut Prompt, over_by: Option<u64>) {
        let freed = self.strip(prompt);
        let gap = over_by.map(|over_by| over_by.saturating_sub(freed));
        let directive = prompt.history.pop();
        if gap != Some(0) {
            let gone = rounds::without_oldest(&prompt.history, gap, &self.subject.desk.limits);
            prompt.history.drain(..gone);
        }
        prompt.history.extend(directive);
    }

    fn directive(&self) -> Arc<Message> {
        let focus = self.wish.instructions.as_deref().unwrap_or_default();
        let part = match self.wish.part {
            Part::From(_) => self.subject.view.history[self.stretch.start].text(),
            _ => String::new(),
        };
        let blocks = vec![Block::text(prompts::errand("compact", &prompts::summarise(focus, &part)))];
        let (id, at) = (MessageId::new("summarise"), self.subject.desk.clock.now());
        Arc::new(Message { id, role: Role::User, origin: Origin::Reminder, at, blocks })
    }
}

async fn ask(subject: &Subject<'_>, prompt: &Prompt) -> Result<Reply, ModelError> {
    let mut quiet = |_| {};
    subject.desk.model.reply(prompt, &mut quiet).await
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

fn refuse(prompt: &mut Prompt, reply: &Reply, subject: &Subject<'_>) {
    let at = subject.desk.clock.now();
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
