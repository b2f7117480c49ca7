//! Carrying letters: to an agent of this process, to a mailbox of the team, to a socket or over a bridge, in this order.

use super::Summoner;
use crate::agents::letters::address::NO_BRIDGE;
use crate::agents::letters::{Address, Letter, LetterKind, MAIN, Mailbox, inbox, is_name};
use crate::agents::roster::{Agent, State};
use crate::prompts;
use crate::tool::{Dispatch, Task};
use std::sync::Arc;

/// What a fork is called among the kinds; it reads no letters.
const FORK: &str = "fork";

impl Summoner {
    /// Carry it, and say to whom it went.
    pub(super) async fn carry(&self, dispatch: Dispatch) -> Result<String, String> {
        if dispatch.message.trim().is_empty() {
            return Err("the message is empty".to_owned());
        }
        match Address::read(&dispatch.to).map_err(|error| error.to_string())? {
            Address::Name(name) => self.to_name(&name, &dispatch).map(|()| prompts::sent(&name)),
            Address::Everybody => self.to_everybody(&dispatch).map(|names| prompts::sent(&names.join(", "))),
            Address::Bridge(_) if self.mail.is_none() => Err(NO_BRIDGE.to_owned()),
            outside => self.outside(outside, &dispatch).await.map(|()| prompts::sent(&dispatch.to)),
        }
    }

    fn my_name(&self) -> &str {
        self.me.as_deref().unwrap_or(MAIN)
    }

    /// The same letter, from one name to another.
    fn letter(&self, (from, to): (&str, &str), dispatch: &Dispatch) -> Letter {
        let letter = Letter::new(from, to, dispatch.message.as_str(), self.desk.clock.now());
        letter.summed_up(&dispatch.summary).of_kind(dispatch.kind, dispatch.approve)
    }

    fn to_name(&self, name: &str, dispatch: &Dispatch) -> Result<(), String> {
        if name == self.my_name() || self.mail.as_ref().is_some_and(|mail| mail.name == name) {
            return Err(format!("`{name}` is you"));
        }
        match self.shared.roster.find(name) {
            Some(agent) if agent.state() == State::Running => return self.to_agent(&agent, dispatch),
            Some(agent) if !self.team().iter().any(|mate| mate == name) => {
                return Err(format!("{name} has ended ({})", agent.state().word()));
            }
            _ => {}
        }
        if name == MAIN && self.me.is_some() {
            return self.put(&self.main, MAIN, dispatch);
        }
        self.to_team(name, dispatch)
    }

    /// An agent of this process. Whoever is at the top may stop it; nothing else is more than words here.
    fn to_agent(&self, agent: &Arc<Agent>, dispatch: &Dispatch) -> Result<(), String> {
        match dispatch.kind {
            LetterKind::Message if agent.summoned.kind == FORK => {
                Err(format!("{} is a fork and reads no letters", agent.name()))
            }
            LetterKind::Message => self.put(&agent.mailbox, agent.name(), dispatch),
            LetterKind::ShutdownRequest if self.me.is_none() => {
                agent.stop.cancel();
                Ok(())
            }
            kind => Err(format!("a {} is not for {}", kind.word(), agent.name())),
        }
    }

    fn put(&self, mailbox: &Mailbox, to: &str, dispatch: &Dispatch) -> Result<(), String> {
        let (from, most) = (self.my_name(), self.desk.limits.letters_from_one);
        let letter = self.letter((from, to), dispatch);
        letter.to_bytes(&self.desk.limits).map_err(|error| error.to_string())?;
        let waiting = mailbox.waiting_from(from);
        if waiting >= most {
            return Err(format!("{to} has not read {waiting} of your letters yet; wait for an answer"));
        }
        mailbox.post(letter);
        Ok(())
    }

    fn to_team(&self, name: &str, dispatch: &Dispatch) -> Result<(), String> {
        let mates = self.team();
        let (Some(mail), true) = (&self.mail, mates.iter().any(|mate| mate == name)) else {
            return Err(format!("there is nobody called `{name}`; {}", inbox::in_words(&self.known())));
        };
        let letter = mail.trusted().sign(self.letter((&mail.name, name), dispatch));
        inbox::deliver(&mail.folder, &letter, &self.desk.limits).map_err(|error| error.to_string())
    }

    /// Everybody who has a mailbox outside of this process, also those who were cut off and will find it again.
    fn team(&self) -> Vec<String> {
        self.mail.as_ref().map(|mail| inbox::known(&mail.folder)).unwrap_or_default()
    }

    /// Everybody who reads letters, without the writer.
    fn known(&self) -> Vec<String> {
        let agents = self.shared.roster.running();
        let agents = agents.iter().filter(|agent| agent.summoned.kind != FORK).map(|agent| agent.name().to_owned());
        let top = self.me.is_some().then(|| MAIN.to_owned());
        let mates = self.mail.as_ref().map(|mail| inbox::living(&mail.folder)).unwrap_or_default();
        let mut all: Vec<String> = top.into_iter().chain(agents).chain(mates).collect();
        let own = self.mail.as_ref().map(|mail| mail.name.as_str());
        all.retain(|name| name != self.my_name() && Some(name.as_str()) != own);
        all.dedup();
        all
    }

    /// One after the other; whoever could not be reached is named.
    fn to_everybody(&self, dispatch: &Dispatch) -> Result<Vec<String>, String> {
        if dispatch.kind != LetterKind::Message {
            return Err(format!("a {} is for one alone", dispatch.kind.word()));
        }
        let known = self.known();
        if known.is_empty() {
            return Err("there is nobody to write to".to_owned());
        }
        let failed: Vec<String> = known
            .iter()
            .filter_map(|name| self.to_name(name, dispatch).err().map(|why| format!("{name}: {why}")))
            .collect();
        match failed.is_empty() {
            true => Ok(known),
            false => Err(format!("not everybody could be reached, the others have it ({})", failed.join("; "))),
        }
    }

    /// Start a teammate, and say what it is called.
    pub(super) async fn recruit(&self, mut task: Task) -> Result<String, String> {
        let mail = self.mail.as_ref().filter(|_| self.me.is_none());
        let Some((mail, recruit)) = mail.and_then(|mail| Some((mail, mail.recruit.clone()?))) else {
            return Err("Teammates can only be started by the conversation itself, in a chat.".to_owned());
        };
        if task.fork || task.agent.is_some() || task.worktree == Some(true) {
            return Err("A teammate is a session of its own: leave agent, fork and worktree out.".to_owned());
        }
        let (known, most) = (self.known(), self.desk.limits.agents_at_once);
        let mates = mail.trusted().teammates(&known);
        if mates as u64 >= most {
            return Err(format!("{mates} teammates work already, and no more may at once. End one of them."));
        }
        let free = || (1_u64..).map(|n| format!("mate-{n}")).find(|name| !known.contains(name)).unwrap_or_default();
        let name = task.name.take().unwrap_or_else(free);
        if !is_name(&name) || name == MAIN {
            return Err(format!("`{name}` cannot be a name: use letters, digits, `-` and `_`, 64 at most."));
        }
        if known.contains(&name) {
            return Err(format!("Somebody called `{name}` works already. Choose another name."));
        }
        recruit(Task { name: Some(name), ..task }).await
    }

    async fn outside(&self, address: Address, dispatch: &Dispatch) -> Result<(), String> {
        let Some(mail) = &self.mail else { return Err("other sessions cannot be reached from here".to_owned()) };
        if dispatch.kind != LetterKind::Message {
            return Err(format!("a {} goes to a teammate by its name", dispatch.kind.word()));
        }
        // The other side knows itself by its own name.
        let letter = self.letter((&mail.name, MAIN), dispatch);
        letter.to_bytes(&self.desk.limits).map_err(|error| error.to_string())?;
        (mail.courier)(address, letter).await
    }
}
