//! An agent of a kind: a session of its own, with its own prompt, tools, model and memory, that compacts its own record
//! and nothing else.

use super::post::{Ended, Post};
use super::{Agents, Me};
use crate::agents::definition::{Definition, Scope};
use crate::agents::memory;
use crate::agents::reach::Reach;
use crate::agents::roster::State;
use crate::agents::tool;
use crate::desk::Desk;
use crate::limits::Limits;
use crate::memory::SharedMemory;
use crate::memory::prompt::Told;
use crate::message::{Block, Origin, Role, SessionId};
use crate::prompts::{self, Surroundings};
use crate::query_loop::{Answer, Error, Session};
use crate::settings::{Setting, key};
use crate::tool::Tool;
use crate::tools::remember::{Forget, Remember};
use crate::tools::{Keeper, edit, read, write};
use crate::transcript::{Opening, Options, Transcript};
use std::sync::Arc;

/// What is the conversation's alone: an agent keeps no notes, recalls nothing, and nothing is extracted from it.
const OFF: [&Setting; 6] = [
    &key::SESSION_NOTES,
    &key::NOTES_COMPACTION,
    &key::RECALL,
    &key::EXTRACTION,
    &key::EXTRACTION_HEADLESS,
    &key::DREAMING,
];

/// What an agent needs to keep a memory.
const FOR_MEMORY: [&str; 3] = ["Read", "Write", "Edit"];

/// Only the conversation itself plans with the person.
const NEVER: [&str; 1] = ["Plan"];

impl Post {
    pub(super) async fn carry_out(&self) -> Ended {
        let Some(kind) = &self.wish.kind else { return Ended::failed("it has no kind", None) };
        let mut session = match self.child(kind) {
            Ok(session) => session,
            Err(error) => return Ended::failed(error.to_string(), None),
        };
        let answer = session.carry_out(self.wish.task.prompt.clone()).await;
        let record = Some(session.into_transcript());
        match answer {
            Ok(answer) => Ended { state: State::Done, text: answer.text, record },
            Err(Error::Interrupted) => Ended { state: State::Stopped, text: "it was interrupted".to_owned(), record },
            Err(error) => Ended::failed(error.to_string(), record),
        }
    }

    fn child(&self, kind: &Definition) -> Result<Session, Error> {
        let (memory, told) = self.memory(kind);
        let depth = self.by.depth + 1;
        let reach = self.reach(kind, memory.as_ref(), depth);
        let tools = self.tools(kind, memory, &reach);
        let desk = self.desk(reach);
        let settings = Arc::new(desk.settings.without(&OFF));
        let rounds = kind.rounds.unwrap_or(u64::MAX).min(desk.limits.agent_rounds);
        let limits = Arc::new(Limits { rounds_per_question: rounds, ..(*desk.limits).clone() });
        let desk = Desk { tools: tools.into(), settings, limits, ..desk };
        let record = self.record()?;
        let session = SessionId::new(self.session());
        let record = record.unwrap_or_else(|| Transcript::in_memory(session, desk.limits.clone()));
        let opening = self.opening(kind, &desk, told, record.session());
        let mut session = Session::new(record, desk, opening)?.living_under(&self.agent.stop);
        let (agent, before) = (self.agent.clone(), self.before.clone());
        session.agents = Agents {
            shared: self.by.shared.clone(),
            receiver: None,
            mailbox: self.agent.mailbox.clone(),
            main: Some(self.by.main.clone()),
            mail: self.by.mail.clone(),
            me: Some(Me { agent, before, depth }),
        };
        Ok(session)
    }

    /// Its memory, where it has one. One that cannot be opened is said, and the agent works without.
    fn memory(&self, kind: &Definition) -> (Option<SharedMemory>, Option<Told>) {
        let staff = self.by.shared.staff.as_ref();
        let (Some(scope), Some(all)) = (kind.memory, staff.and_then(|staff| staff.memories.as_ref())) else {
            return (None, None);
        };
        let whose: (&str, Scope) = (&kind.name, scope);
        let desk = &self.by.desk;
        match all.open(whose, desk.clock.clone(), &desk.limits) {
            Ok(memory) => {
                let told = memory::told(&memory, whose, &desk.settings);
                (Some(memory), Some(told))
            }
            Err(why) => {
                desk.events.notice(format!("the agent {} has no memory: {why}", self.agent.name()));
                (None, None)
            }
        }
    }

    fn reach(&self, kind: &Definition, memory: Option<&SharedMemory>, depth: u64) -> Reach {
        let lent = FOR_MEMORY.iter().filter(|name| memory.is_some() && !has(kind, name)).map(|name| (*name).to_owned());
        let memories = self.by.shared.staff.as_ref().and_then(|staff| staff.memories.as_ref());
        Reach {
            reads_only: kind.reads_only,
            alone: depth >= self.by.desk.limits.agent_depth,
            for_memory: lent.collect(),
            memory: memory.map(|memory| memory.dir().to_owned()),
            main_memory: memories.and_then(|memories| memories.main.clone()),
            worktree: self.worktree.clone(),
        }
    }

    /// Those of the caller's tools that its kind has, and what it needs for its memory, which it writes through the store.
    fn tools(&self, kind: &Definition, memory: Option<SharedMemory>, reach: &Reach) -> Vec<Arc<dyn Tool>> {
        let keeper = memory.map(|memory| Arc::new(memory) as Arc<dyn Keeper>);
        let listed = |name: &str| {
            // Without a memory of its own an agent has nothing to note things in: the main one is not its.
            if [Remember::NAME, Forget::NAME].contains(&name) {
                return keeper.is_some();
            }
            let wanted = has(kind, name) && !(name == tool::NAME && reach.alone) && !NEVER.contains(&name);
            wanted || (keeper.is_some() && FOR_MEMORY.contains(&name))
        };
        let kept = |tool: &Arc<dyn Tool>| -> Arc<dyn Tool> {
            match (tool.spec().name.as_str(), &keeper) {
                ("Read", Some(_)) => Arc::new(read::Read::new()),
                ("Write", Some(_)) => Arc::new(write::Write::kept_by(keeper.clone())),
                ("Edit", Some(_)) => Arc::new(edit::Edit::kept_by(keeper.clone())),
                (Remember::NAME, Some(keeper)) => Arc::new(Remember::kept_by(keeper.clone())),
                (Forget::NAME, Some(keeper)) => Arc::new(Forget::kept_by(keeper.clone())),
                _ => tool.clone(),
            }
        };
        self.by.desk.tools.iter().filter(|tool| listed(&tool.spec().name)).map(kept).collect()
    }

    fn opening(&self, kind: &Definition, desk: &Desk, told: Option<Told>, session: &SessionId) -> Opening {
        let (behaviour, indexes) = told.map(|told| (Some(told.behaviour), told.indexes)).unwrap_or_default();
        let callers = self.by.opening.as_deref();
        let nonce = callers.map(|opening| opening.nonce.clone()).unwrap_or_default();
        let same_model = callers.is_some_and(|opening| opening.model == desk.model.name());
        let options = callers.filter(|_| same_model).map(|opening| opening.options.clone());
        let staff = self.by.shared.staff.as_ref();
        Opening {
            model: desk.model.name().to_owned(),
            tools: desk.tools.iter().map(|tool| tool.spec().clone()).collect(),
            system: [self.system(kind)].into_iter().chain(behaviour).collect::<Vec<_>>().join("\n\n").into(),
            instructions: staff.map(|staff| (staff.context)(session, &indexes, &nonce)).unwrap_or_default(),
            options: options.unwrap_or_else(|| Options { cache_ttl: cache_ttl(callers), ..Options::default() }),
            nonce,
        }
    }

    fn system(&self, kind: &Definition) -> String {
        let around = self.by.shared.staff.as_ref().map(|staff| staff.surroundings.clone()).unwrap_or_default();
        let git = self.worktree.as_ref().map_or(around.git, super::Summoner::place_in_words);
        let here = Surroundings { dir: self.dir.display().to_string(), git, ..around };
        prompts::agent(&kind.role, (&kind.name, self.agent.name()), &here)
    }
}

fn cache_ttl(callers: Option<&Opening>) -> crate::transcript::Lifetimes {
    callers.map(|opening| opening.options.cache_ttl).unwrap_or_default()
}

/// Whether a kind has a tool.
fn has(kind: &Definition, name: &str) -> bool {
    let named = |names: &[String]| names.iter().any(|listed| listed == name);
    kind.tools.as_deref().is_none_or(named) && !named(&kind.without)
}

impl Session {
    /// Do what another agent asks. It is no word of the person's, so neither their hooks nor recall hear of it.
    pub async fn carry_out(&mut self, task: String) -> Result<Answer, Error> {
        let cancel = self.interrupt.arm();
        self.tell_the_date()?;
        self.say(Role::User, Origin::Task, vec![Block::text(task)])?;
        self.answer(&cancel).await
    }
}
