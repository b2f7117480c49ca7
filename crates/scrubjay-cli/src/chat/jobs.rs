//! Background work in the chat: one line while something runs, and `/jobs`.

use super::Chat;
use super::agents::at_work;
use super::slash::Jobs;
use crate::background::{self, brief, line, resting, stop};
use crate::failure::Failure;
use crate::paper::{Tone, unwritten};
use jiff::Timestamp;
use scrubjay::ledger::Layer;

impl Chat {
    /// Above the prompt, while something runs.
    pub(super) fn tell_what_runs(&mut self) -> Result<(), Failure> {
        let Some(session) = &self.session else { return Ok(()) };
        let now = Timestamp::now();
        if !session.mailbox().is_empty() {
            self.aside("a letter has come; it is read with your next question")?;
        }
        let Some(session) = &self.session else { return Ok(()) };
        let (agents, jobs) = (at_work(&session.agents(), usize::MAX), session.jobs().running());
        let others = jobs.iter().filter(|card| Layer::of_source(&card.kind) != Layer::Agents);
        let running: Vec<String> = others.map(|card| brief(card, now)).collect();
        if !agents.is_empty() {
            self.aside(&format!("{agents} · /tasks"))?;
        }
        if running.is_empty() { Ok(()) } else { self.aside(&format!("{} · /jobs", running.join("; "))) }
    }

    pub(super) fn jobs(&mut self, what: Jobs) -> Result<(), Failure> {
        let Some(session) = &self.session else { return Ok(()) };
        let (jobs, rests, now) = (session.jobs(), session.resting_work(), Timestamp::now());
        if let Jobs::Stop(id) = what {
            let id = stop(&jobs, &id, &self.seat.workplace)?;
            return self.aside(&format!("job {id} was asked to stop: {}", background::STOPPING));
        }
        let cards = jobs.list(&self.seat.workplace.limits);
        if cards.is_empty() {
            self.aside(background::NONE_YET)?;
        }
        for card in &cards {
            self.say(&line(card, now, self.paper.ink))?;
        }
        for rest in &rests {
            self.screen.aside(Tone::Warning, &resting(rest, now)).map_err(unwritten)?;
        }
        if cards.iter().any(|card| card.ended.is_none()) {
            self.aside("/jobs stop ID stops one")?;
        }
        Ok(())
    }
}
