//! An agent that is a fork: the conversation's exact prefix, placeholders for open calls, and one directive.

use super::Summoner;
use super::post::{Ended, Post};
use crate::agents::fork::{self, Origins, Standing, Step};
use crate::agents::reach::Reach;
use crate::agents::roster::State;
use crate::errand::{Ending, EndsWhen, Errand, Outcome};
use crate::hooks::{Moment, Scene};
use crate::prompt::Prompt;
use crate::prompts;
use crate::tool::Bench;
use crate::transcript::{Began, Entry, FORMAT, Transcript, TranscriptError};
use std::path::Path;

impl Summoner {
    /// What a fork of the conversation starts from; calls that are open stay open. Nothing where it cannot be seen.
    pub(super) fn origins(&self, bench: &Bench<'_>) -> Option<Origins> {
        let view = bench.view?;
        let mut prompt = Prompt::of(view);
        prompt.history.truncate(view.history.len());
        let (session, seen) = (self.session.clone(), view.files.clone());
        Some(Origins { session, prompt, seen, results: None, standing: Standing::Errand })
    }
}

impl Post {
    pub(super) async fn fork(&self, origins: Origins) -> Ended {
        let mut record = match self.record() {
            Ok(record) => record,
            Err(error) => return Ended::failed(error.to_string(), None),
        };
        let path = self.agent.transcript.clone().unwrap_or_default();
        let origins = Origins {
            results: self.agent.transcript.as_ref().map(|path| path.with_extension("").join("tool-results")),
            standing: Standing::Agent { transcript: path.clone() },
            ..origins
        };
        let reach = Reach { worktree: self.worktree.clone(), ..Reach::default() };
        let desk = self.desk(reach);
        let errand = self.errand(desk.gate.clone());
        let mut unwritten = None;
        let mut tell = |step: Step<'_>| {
            let entry = match step {
                Step::Said(message) => Entry::Said(message.clone()),
                Step::Called(call) => Entry::Replied(call.clone()),
            };
            let written = record.as_mut().map_or(Ok(()), |record| record.append(entry, self.by.desk.clock.now()));
            unwritten = written.err().or(unwritten.take());
        };
        let outcome = fork::run_telling(origins, &errand, &desk, &self.agent.stop, &mut tell).await;
        if let Some(error) = unwritten {
            desk.events.notice(format!("its record is incomplete: {error}"));
        }
        self.tell_hooks(&outcome, &path).await;
        let (state, text) = match &outcome.ending {
            Ending::Done => (State::Done, outcome.text()),
            Ending::OutOfTurns => (State::Failed, format!("its {} rounds are used up", errand.turns)),
            Ending::Cancelled => (State::Stopped, "it was interrupted".to_owned()),
            Ending::Failed(why) => (State::Failed, why.clone()),
        };
        Ended { state, text, record }
    }

    fn errand(&self, gate: crate::gate::Gate) -> Errand {
        let place = self.worktree.as_ref().map(|tree| (self.dir.display().to_string(), Summoner::place_in_words(tree)));
        let place = place.as_ref().map(|(dir, what)| (dir.as_str(), what.as_str()));
        Errand {
            name: self.agent.source(),
            directive: prompts::fork_task(&self.wish.task.prompt, place),
            gate,
            turns: self.by.desk.limits.agent_rounds,
            ends: EndsWhen::Silent,
            receipt: Box::new(|_| None),
        }
    }

    /// The agent's own record, beside the conversation's.
    pub(super) fn record(&self) -> Result<Option<Transcript>, TranscriptError> {
        let Some(path) = &self.agent.transcript else { return Ok(None) };
        let (now, limits) = (self.by.desk.clock.now(), self.by.desk.limits.clone());
        let began = Began {
            format: FORMAT,
            session: self.session(),
            dir: self.dir.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            forked_from: Some(self.by.session.to_string()),
        };
        let mut record = Transcript::create(path, began, now, limits)?;
        record.append(Entry::Summoned(self.agent.summoned.clone()), now)?;
        if let Some(opening) = self.by.opening.clone().filter(|_| self.wish.kind.is_none()) {
            record.append(Entry::Opened { opening, because: None }, now)?;
        }
        Ok(Some(record))
    }

    /// The agent's name as a session.
    pub(super) fn session(&self) -> String {
        format!("{}-{}", self.by.session, self.agent.id)
    }

    /// A fork is over when it says so; hooks hear of it.
    async fn tell_hooks(&self, outcome: &Outcome, path: &Path) {
        let desk = &self.by.desk;
        let scene = Scene {
            session_id: self.by.session.as_str(),
            transcript_path: path,
            cwd: &self.dir,
            permission_mode: desk.gate.name(),
        };
        let moment = Moment::SubagentStop {
            agent_id: &self.agent.id,
            agent_type: &self.agent.summoned.kind,
            agent_transcript_path: path,
            stop_hook_active: false,
            last_assistant_message: &outcome.text(),
        };
        let heard = desk.hooks.run(&scene, &moment, &desk.limits).await;
        heard.messages.into_iter().chain(heard.notices).for_each(|text| desk.events.notice(text));
    }
}
