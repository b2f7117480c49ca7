//! The moments of a session at which the person's own commands run.

use super::{Answering, Error, GoOn, Session};
use crate::hooks::{HookEvent, HookOutcome, Moment, Scene};
use crate::message::{Block, Origin, Question, Role};
use crate::model::Reply;
use crate::prompts;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

impl Session {
    /// Tell hooks that the session starts; `source` is startup, resume, clear, compact or fork.
    pub async fn started(&mut self, source: &str) -> Result<(), Error> {
        let model = self.desk.model.name().to_owned();
        let heard = self.hear(&Moment::SessionStart { source, model: &model }, &CancellationToken::new()).await?;
        self.add_context(HookEvent::SessionStart, heard.context)
    }

    /// Tell hooks that the session ends; `reason` is clear, resume, logout, prompt_input_exit or other.
    pub async fn ended(&mut self, reason: &str) -> Result<(), Error> {
        self.stop_looking()?;
        self.dismiss_agents().await?;
        self.drain(Duration::from_millis(self.desk.limits.notes_exit_ms)).await?;
        self.finish_learning().await?;
        self.hear(&Moment::SessionEnd { reason }, &CancellationToken::new()).await?;
        Ok(self.transcript.settle()?)
    }

    /// A question arrives. Hooks may refuse it, and then it was never asked; what they add follows it.
    pub(super) async fn take_in(&mut self, question: Question, cancel: &CancellationToken) -> Result<(), Error> {
        let prompt = question.blocks.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n");
        let heard = self.hear(&Moment::UserPromptSubmit { prompt: &prompt }, cancel).await?;
        if let Some(reason) = heard.blocked.or(heard.stop) {
            return Err(Error::Blocked(reason));
        }
        self.show_left_over()?;
        self.tell_the_date()?;
        self.tell_changes()?;
        let Question { blocks, labels } = question;
        self.transcript.say_labelled(blocks.clone(), labels, self.desk.clock.now())?;
        self.look_for_memories(&blocks, cancel);
        self.add_context(HookEvent::UserPromptSubmit, heard.context)
    }

    /// The answer is final, unless a hook objects; then the model hears the objection and goes on, a few times at most.
    pub(super) async fn may_stop(
        &mut self,
        reply: &Reply,
        answering: &mut Answering,
        cancel: &CancellationToken,
    ) -> Result<GoOn, Error> {
        let said = reply.blocks.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n");
        let stop_hook_active = answering.objections < self.desk.limits.stop_hook_objections;
        let mut heard = self.hear(&self.stopping(stop_hook_active, &said), cancel).await?;
        heard.context.extend(heard.blocked);
        if heard.context.is_empty() || heard.stop.is_some() || answering.objections == 0 {
            return Ok(GoOn::No);
        }
        answering.objections -= 1;
        self.add_context(HookEvent::Stop, heard.context)?;
        Ok(GoOn::Yes)
    }

    /// The end of an answer, or of an agent's work.
    fn stopping<'a>(&'a self, stop_hook_active: bool, last_assistant_message: &'a str) -> Moment<'a> {
        match self.agent() {
            None => Moment::Stop { stop_hook_active, last_assistant_message },
            Some(agent) => Moment::SubagentStop {
                agent_id: &agent.id,
                agent_type: &agent.summoned.kind,
                agent_transcript_path: self.transcript.path().unwrap_or(Path::new("")),
                stop_hook_active,
                last_assistant_message,
            },
        }
    }

    /// What hooks add enters the conversation as theirs, never as the person's.
    pub(super) fn add_context(&mut self, event: HookEvent, context: Vec<String>) -> Result<(), Error> {
        if context.is_empty() {
            return Ok(());
        }
        let blocks = context.iter().map(|text| Block::text(prompts::hook_context(event.name(), text))).collect();
        self.say(Role::User, Origin::Hook, blocks)
    }

    /// What every hook of this session is told.
    pub(super) fn scene(&self) -> Scene<'_> {
        Scene {
            session_id: self.transcript.session().as_str(),
            transcript_path: self.transcript.path().unwrap_or(Path::new("")),
            cwd: &self.desk.dir,
            permission_mode: self.desk.gate.name(),
        }
    }

    pub(super) async fn hear(&self, moment: &Moment<'_>, cancel: &CancellationToken) -> Result<HookOutcome, Error> {
        let scene = self.scene();
        let mut heard = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Error::Interrupted),
            heard = self.desk.hooks.run(&scene, moment, &self.desk.limits) => heard,
        };
        for text in heard.messages.drain(..).chain(heard.notices.drain(..)) {
            self.desk.events.notice(text);
        }
        Ok(heard)
    }
}
