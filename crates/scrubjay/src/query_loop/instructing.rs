//! Instruction files in the loop: read again after a compaction and when a session goes on, and rules told when a file they
//! are for is touched.

use super::{Error, Session};
use crate::instructions::{Rule, changes, due, reminders, rules_text};
use crate::message::{Block, Origin, Role};
use crate::prompt_cache::planner::Warmth;
use crate::transcript::{Call, Cause, Entry, Opening};
use std::path::PathBuf;
use std::sync::Arc;

/// What instruction files say now.
#[derive(Debug, Clone)]
pub struct Instructed {
    /// What requests begin with.
    pub opening: Opening,
    /// Rules for some files.
    pub rules: Vec<Rule>,
}

/// Reads the files again, for a session that began with this opening.
type Reread = Arc<dyn Fn(&Opening) -> Instructed + Send + Sync>;

/// How files are read again, and what they said when the session went on from its record, until the model knows.
pub(super) struct Rereading {
    read: Reread,
    found: Option<Instructed>,
}

/// How the next request begins.
enum Beginning {
    /// As the last one did; what changed is told at its end.
    AsItWas,
    /// With what the files say now; a cause, where nothing else declares the break.
    Anew { because: Option<Cause> },
}

impl Session {
    /// With these rules for some files, and a way to read everything again after a compaction.
    pub fn instructed(
        mut self,
        rules: Vec<Rule>,
        reread: impl Fn(&Opening) -> Instructed + Send + Sync + 'static,
    ) -> Self {
        self.rules = rules;
        let goes_on = !self.transcript.view().history.is_empty();
        let opening = self.transcript.view().opening.as_ref().filter(|_| goes_on);
        let found = opening.map(|opening| reread(opening));
        self.reread = Some(Rereading { read: Arc::new(reread), found });
        self
    }

    /// Before a question: while the cache is warm, files and memory indexes that changed before the session went on are told
    /// here, once. A copy of a session begins as the session does, so it is told in any case.
    pub(super) fn tell_changes(&mut self) -> Result<(), Error> {
        let is_told = self.is_new_copy() || !self.is_cold();
        if is_told { self.catch_up(Beginning::AsItWas) } else { Ok(()) }
    }

    /// Before a request: when the cache is cold anyway, or a break was declared, requests begin with what changed. Never both:
    /// a conversation that holds a reminder goes on with reminders.
    pub(super) fn begin_anew(&mut self) -> Result<(), Error> {
        let because = if self.announced().is_some() { None } else { Some(Cause::History) };
        let may_begin_anew = because.is_none() || self.is_cold();
        self.catch_up(if may_begin_anew { Beginning::Anew { because } } else { Beginning::AsItWas })
    }

    fn is_cold(&self) -> bool {
        self.situation(self.desk.clock.now()).warmth() == Warmth::Cold
    }

    /// See to it that the next request holds what was found to have changed.
    fn catch_up(&mut self, beginning: Beginning) -> Result<(), Error> {
        match self.reread.as_mut().and_then(|rereading| rereading.found.take()) {
            Some(found) => self.heed_files(found, beginning),
            None => Ok(()),
        }
    }

    fn heed_files(&mut self, now: Instructed, beginning: Beginning) -> Result<(), Error> {
        let Some(opening) = self.transcript.view().opening.clone() else { return Ok(()) };
        self.rules = now.rules;
        let history = &self.transcript.view().history;
        let changed = changes(&opening.instructions, history, &now.opening.instructions, &opening.nonce);
        let Some(changed) = changed else { return Ok(()) };
        let names = changed.paths().join(", ");
        match beginning {
            Beginning::Anew { because } if reminders(history).next().is_none() => {
                self.desk.events.notice(format!("changed, and requests begin with it from now on: {names}"));
                let instructions = now.opening.instructions;
                let opening = Opening { instructions, ..(*opening).clone() };
                let entry = Entry::Opened { opening: Arc::new(opening), because };
                Ok(self.transcript.append(entry, self.desk.clock.now())?)
            }
            _ => {
                self.desk.events.notice(format!("changed, and the model is told: {names}"));
                self.say(Role::User, Origin::Instructions, vec![Block::text(changed.reminder)])
            }
        }
    }

    /// A copy of another session that has not asked anything itself: what was copied happened before it began.
    fn is_new_copy(&self) -> bool {
        let records = self.transcript.records();
        let began = records.iter().find_map(|record| match &record.entry {
            Entry::Began(began) if began.forked_from.is_some() => Some(record.at),
            _ => None,
        });
        let Some(began) = began else { return false };
        let is_own = |entry: &Entry| matches!(entry, Entry::Replied(call) if call.source == Call::MAIN);
        !records.iter().any(|record| record.at > began && is_own(&record.entry))
    }

    /// A compaction has just declared its break, so what requests begin with may change now at no further cost.
    pub(super) fn renew(&mut self) -> Result<(), Error> {
        let Some(opening) = self.transcript.view().opening.clone() else { return Ok(()) };
        let Some(rereading) = &mut self.reread else { return Ok(()) };
        rereading.found = None;
        let now = (rereading.read)(&opening);
        self.heed_files(now, Beginning::Anew { because: None })
    }

    /// Rules for files that were touched are told once, after the round that touched them.
    pub(super) fn tell_rules(&mut self) -> Result<(), Error> {
        let view = self.transcript.view();
        let touched: Vec<PathBuf> = view.files.keys().cloned().collect();
        let rules = due(&self.rules, &touched, &view.history);
        if rules.is_empty() {
            return Ok(());
        }
        let nonce = view.opening.as_ref().map(|opening| opening.nonce.clone()).unwrap_or_default();
        let text = rules_text(&rules, &nonce);
        self.say(Role::User, Origin::Instructions, vec![Block::text(text)])
    }
}
