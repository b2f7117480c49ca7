//! Agents in the chat: the line while they work, `/tasks` to see, follow and stop them, and `/agents` for their kinds.

use super::Chat;
use super::keyboard::Purpose;
use super::slash::{Agents, Tasks};
use crate::background::seconds;
use crate::failure::Failure;
use crate::kinds::{self, Saved};
use crate::paper::{Ink, Tone, counted, dollars, grouped};
use crate::report::ago;
use jiff::Timestamp;
use scrubjay::agents::letters::{Letter, MAIN};
use scrubjay::agents::roster::Agent;
use scrubjay::agents::{Glance, Roster, State, words};
use scrubjay::limits::Limits;
use scrubjay::memory::draft::cut;
use scrubjay::message::{Block, Kind, Message, Role, SessionId};
use scrubjay::tools::{shown, tasks};
use scrubjay::transcript::{Entry, Returned, Transcript};
use std::path::PathBuf;
use std::sync::Arc;

/// What agents that work are doing, in a line of so many columns. Empty when none works.
pub(super) fn at_work(roster: &Roster, columns: usize) -> String {
    const BETWEEN: &str = " · ";
    let mut glances = roster.list();
    glances.retain(|glance| glance.state == State::Running);
    if glances.is_empty() {
        return String::new();
    }
    let money: Option<f64> = glances.iter().map(|glance| glance.money).sum();
    let money = money.map(|money| format!("{BETWEEN}{}", dollars(money))).unwrap_or_default();
    let head = format!("◦ {}{money}", counted(glances.len() as u64, "agent"));
    let each: Vec<String> = glances
        .iter()
        .map(|glance| shown(&format!("{}: {}", glance.summoned.name, glance.words)).into_owned())
        .collect();
    let room = columns.saturating_sub(head.chars().count() + 2 + BETWEEN.chars().count() * each.len());
    let share = share(each.iter().map(|words| words.chars().count()).collect(), room);
    let each: Vec<String> = each.iter().map(|words| cut(words, share)).collect();
    format!("{head}{BETWEEN}{}", each.join(BETWEEN))
}

/// How long each may be so that all fit: what short ones leave is for the long ones.
fn share(mut lengths: Vec<usize>, mut room: usize) -> usize {
    lengths.sort_unstable();
    let mut left = lengths.len();
    for length in lengths {
        if length > room / left {
            return room / left;
        }
        room -= length;
        left -= 1;
    }
    usize::MAX
}

fn tokens(glance: &Glance) -> u64 {
    glance.usage.total_input().saturating_add(glance.usage.output)
}

/// An agent in a list.
fn line(glance: &Glance, now: Timestamp, ink: Ink) -> String {
    let name = ink.paint(Tone::Strong, &shown(&glance.summoned.name));
    let time = Timestamp::duration_since(now, glance.since).try_into().unwrap_or_default();
    let (state, when) = match glance.state {
        State::Running => {
            let doing = format!("running · {}", shown(&glance.words));
            (ink.paint(Tone::Active, &doing), seconds(time))
        }
        State::Failed => (ink.paint(Tone::Bad, glance.state.word()), ago(glance.since, now)),
        State::Done | State::Stopped => (glance.state.word().to_owned(), ago(glance.since, now)),
    };
    let cost = glance.money.map_or_else(|| "cost unknown".to_owned(), dollars);
    let took = format!("{}, {} tokens, {cost}", counted(glance.calls, "call"), grouped(tokens(glance)));
    let (kind, task) = (shown(&glance.summoned.kind), shown(&glance.summoned.task));
    format!("  {name}  {kind} · {state} · {when} · {took} · {task}")
}

/// An agent's record, read as it grows.
pub(super) struct Following {
    agent: Arc<Agent>,
    path: PathBuf,
    limits: Arc<Limits>,
    /// How many records were told.
    told: usize,
    /// How large the file was then.
    size: u64,
    /// Whether its end was told.
    over: bool,
}

impl Following {
    /// What was written since the last time, in lines.
    pub(super) fn news(&mut self) -> Vec<String> {
        let ended = self.agent.state() != State::Running;
        let size = std::fs::metadata(&self.path).map(|file| file.len()).unwrap_or_default();
        let mut lines = Vec::new();
        if size != self.size {
            let id = SessionId::new(self.agent.id.as_str());
            // A record that cannot be read now is tried again with the next look.
            if let Ok((record, _)) = Transcript::peek(&self.path, id, self.limits.clone()) {
                lines.extend(record.records().iter().skip(self.told).flat_map(|record| told(&record.entry)));
                (self.told, self.size) = (record.records().len(), size);
            }
        }
        if ended && !self.over {
            self.over = true;
            lines.push(format!("{} is {}; Enter returns", shown(self.agent.name()), self.agent.state().word()));
        }
        lines
    }
}

/// What one record says to a person.
fn told(entry: &Entry) -> Vec<String> {
    match entry {
        Entry::Said(message) => message.blocks.iter().filter_map(|block| said(message, block)).collect(),
        Entry::Returned(Returned { why, .. }) if !why.is_empty() => vec![shown(why).into_owned()],
        _ => Vec::new(),
    }
}

fn said(message: &Message, block: &Block) -> Option<String> {
    match block.kind() {
        Kind::Text(text) if message.role == Role::User => Some(format!("› {}", shown(text.trim()))),
        Kind::Text(text) => Some(shown(text.trim()).into_owned()),
        Kind::ToolUse(call) => Some(format!("● {}", words::of_call(call))),
        Kind::ToolResult(result) => {
            let failed = if result.is_error { "error, " } else { "" };
            Some(format!("  └ {failed}{}", counted(result.text().lines().count() as u64, "line")))
        }
        _ => None,
    }
}

impl Chat {
    pub(super) async fn tasks(&mut self, what: Tasks) -> Result<(), Failure> {
        match what {
            Tasks::List => self.list_tasks(),
            Tasks::Attach(name) => self.attach(&name).await,
            Tasks::Stop(name) => {
                let agent = self.working(&name)?;
                agent.stop.cancel();
                self.aside(&format!("the agent {} was told to stop", shown(agent.name())))
            }
            Tasks::Message { name, text } => {
                let agent = self.working(&name)?;
                agent.mailbox.post(Letter::new(MAIN, agent.name(), text, Timestamp::now()));
                self.aside(&format!("the agent {} reads it before its next request", shown(agent.name())))
            }
        }
    }

    fn list_tasks(&mut self) -> Result<(), Failure> {
        let Some(session) = &self.session else { return Ok(()) };
        let view = session.transcript().view();
        let list = tasks::current(&view.unfolded(&view.history)).unwrap_or_default();
        let (agents, now) = (session.agents().list(), Timestamp::now());
        if list.is_empty() && agents.is_empty() {
            return self.aside("there is no task list, and no agent was started here");
        }
        let heading = |name: &str| self.paper.ink.paint(Tone::Strong, name);
        let mut lines = Vec::new();
        if !list.is_empty() {
            lines.push(heading("tasks"));
            lines.extend(list.iter().map(|task| format!("  {} {}", mark(task.status), shown(&task.title))));
        }
        if !agents.is_empty() {
            lines.push(heading("agents"));
            lines.extend(agents.iter().map(|glance| line(glance, now, self.paper.ink)));
        }
        self.say(&lines.join("\n"))?;
        match agents.is_empty() {
            true => Ok(()),
            false => self.aside(
                "/tasks attach NAME follows an agent, /tasks stop NAME stops it, /tasks message NAME TEXT writes to it",
            ),
        }
    }

    fn agent(&self, name: &str) -> Result<Arc<Agent>, Failure> {
        let found = self.session.as_ref().and_then(|session| session.agents().find(name));
        found.ok_or_else(|| {
            Failure::nothing_found(format!("no agent `{}` was started here", shown(name))).fix("/tasks lists them")
        })
    }

    /// One that works.
    fn working(&self, name: &str) -> Result<Arc<Agent>, Failure> {
        let agent = self.agent(name)?;
        match agent.state() {
            State::Running => Ok(agent),
            state => {
                let (name, state) = (shown(agent.name()), state.word());
                Err(Failure::nothing_found(format!("the agent {name} does not work any more ({state})")))
            }
        }
    }

    /// Show what an agent did so far, and then what it does, until the person presses Enter.
    async fn attach(&mut self, name: &str) -> Result<(), Failure> {
        let agent = self.agent(name)?;
        let Some(path) = agent.transcript.clone() else {
            return Err(Failure::nothing_found(format!("the agent {} keeps no record", shown(name))));
        };
        let (limits, working) = (self.seat.workplace.limits.clone(), agent.state() == State::Running);
        let mut following = Following { agent, path, limits, told: 0, size: 0, over: !working };
        for line in following.news() {
            self.say(&line)?;
        }
        if !working {
            return self.aside(&format!("{} is {}", shown(name), following.agent.state().word()));
        }
        let prompt = format!("  following {} · Enter returns › ", shown(name));
        self.listen(&prompt, Purpose::Answer, Some(following)).await.map(|_| ())
    }

    pub(super) fn agents(&mut self, what: Agents) -> Result<(), Failure> {
        let workplace = &self.seat.workplace;
        match what {
            Agents::List => {
                let all = kinds::all(workplace);
                self.say(&kinds::listed(&all, self.paper.ink))?;
                all.notices.iter().try_for_each(|notice| self.aside(notice))?;
                self.aside("/agents show NAME, /agents create NAME [--project], /agents edit NAME")
            }
            Agents::Show(name) => {
                let all = kinds::all(workplace);
                let words = kinds::described(kinds::find(&all, &name)?, self.paper.ink);
                self.say(&words)
            }
            Agents::Create { name, author } => {
                let saved = kinds::create(&name, "", author, workplace)?;
                self.tell_of_kind(&saved)
            }
            Agents::Edit(name) => match kinds::edit(&name, workplace)? {
                Some(saved) => self.tell_of_kind(&saved),
                None => self.aside("nothing was changed"),
            },
        }
    }

    fn tell_of_kind(&mut self, saved: &Saved) -> Result<(), Failure> {
        saved.notices.iter().try_for_each(|notice| self.aside(notice))?;
        self.aside(&saved.words())
    }
}

fn mark(status: tasks::Status) -> &'static str {
    match status {
        tasks::Status::Pending => "[ ]",
        tasks::Status::InProgress => "[>]",
        tasks::Status::Done => "[x]",
    }
}

#[cfg(test)]
mod tests {
    use super::share;
    use proptest::prelude::*;

    // spec: A6
    #[test]
    fn what_short_ones_leave_is_for_the_long_ones() {
        assert_eq!(share(vec![10, 30, 40], 60), 25);
        assert_eq!(share(vec![10, 20], 30), usize::MAX);
        assert_eq!(share(Vec::new(), 0), usize::MAX);
        assert_eq!(share(vec![5, 5], 1), 0);
    }

    proptest! {
        // spec: A6
        #[test]
        fn all_fit(lengths in prop::collection::vec(0_usize..200, 0..20), room in 0_usize..400) {
            let share = share(lengths.clone(), room);
            let cut: usize = lengths.iter().map(|length| (*length).min(share)).sum();
            prop_assert!(cut <= room);
            prop_assert!(cut == lengths.iter().sum::<usize>() || room - cut < lengths.len());
        }
    }
}
