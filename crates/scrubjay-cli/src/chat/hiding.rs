//! `/fold` and `/snip`: parts of the conversation behind one line, and back again.

use super::Chat;
use super::slash::{Fold, Snip};
use crate::compaction::{Numbers, Questions, change};
use crate::failure::{Failure, switch_on};
use crate::paper::{counted, grouped};
use scrubjay::Compacted;
use scrubjay::context::compaction::rounds;
use scrubjay::context::snip::{By, Cut};
use scrubjay::settings::key;
use scrubjay::tools::shown;
use scrubjay::transcript::{Hidden, Way};

impl Chat {
    pub(super) fn fold(&mut self, fold: Fold) -> Result<(), Failure> {
        let done = match fold {
            Fold::List => return self.list(Way::Fold),
            Fold::UpTo(question) => self.with_session(|session| session.fold(question))?,
            Fold::Open(number) => self.with_session(|session| session.show(Way::Fold, Some(number)))?,
        };
        self.told(&done, "/fold lists what is folded")
    }

    pub(super) fn snip(&mut self, snip: Snip) -> Result<(), Failure> {
        let done = match snip {
            Snip::List => return self.list(Way::Snip),
            Snip::Out { questions: Numbers { first, last }, reason } => {
                let cut = Cut { questions: first..=last, by: By::Person, reason };
                self.with_session(|session| session.snip(&cut))?
            }
            Snip::Undo(number) => self.with_session(|session| session.show(Way::Snip, number))?,
        };
        self.told(&done, "/snip lists what was taken out")
    }

    fn with_session(
        &mut self,
        change: impl FnOnce(&mut scrubjay::Session) -> Result<Compacted, scrubjay::Error>,
    ) -> Result<Compacted, Failure> {
        let Some(session) = &mut self.session else { return Err(Failure::failed("there is no session")) };
        Ok(change(session)?)
    }

    fn told(&mut self, done: &Compacted, next: &str) -> Result<(), Failure> {
        let change = change(done.before, done.after);
        self.aside(&format!("{change}; the cached prefix is written anew from there once; {next}"))
    }

    /// What is hidden in this way, and the questions that could be named.
    fn list(&mut self, way: Way) -> Result<(), Failure> {
        let switch = if way == Way::Fold { &key::COLLAPSE } else { &key::SNIP };
        let (is_on, limits) = (self.seat.workplace.settings.flag(switch), self.seat.workplace.limits.clone());
        let Some(session) = &self.session else { return Ok(()) };
        let view = session.transcript().view();
        let row = |hidden: &Hidden| {
            let tokens = grouped(rounds::weight(&hidden.messages, &limits));
            let first = hidden.span.line.text().lines().next().map(|line| shown(line).into_owned()).unwrap_or_default();
            format!(
                "{:>4}  {}, {tokens} tokens\n      {first}",
                hidden.span.number,
                counted(hidden.messages.len() as u64, "message")
            )
        };
        let mut lines: Vec<String> = view.hidden.iter().filter(|hidden| hidden.span.way == way).map(row).collect();
        if lines.is_empty() {
            lines.push(if way == Way::Fold { "nothing is folded" } else { "nothing was taken out" }.to_owned());
        }
        if is_on && let Ok(questions) = Questions::of(view).words() {
            lines.push(format!("questions\n{questions}"));
        }
        self.say(&lines.join("\n"))?;
        if is_on { Ok(()) } else { self.aside(&format!("{} is off; {}", switch.key, switch_on(switch.key))) }
    }
}
