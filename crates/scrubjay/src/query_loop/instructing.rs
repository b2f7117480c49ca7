//! Instruction files in the loop: read again after a compaction, and rules told when a file they are for is touched.

use super::{Error, Session};
use crate::instructions::{Rule, due, rules_text};
use crate::message::{Block, Origin, Role};
use crate::transcript::{Entry, Opening};
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
pub(super) type Rereading = Arc<dyn Fn(&Opening) -> Instructed + Send + Sync>;

impl Session {
    /// With these rules for some files, and a way to read everything again after a compaction.
    pub fn instructed(
        mut self,
        rules: Vec<Rule>,
        reread: impl Fn(&Opening) -> Instructed + Send + Sync + 'static,
    ) -> Self {
        self.rules = rules;
        self.reread = Some(Arc::new(reread));
        self
    }

    /// A compaction has just declared its break, so what requests begin with may change now at no further cost.
    pub(super) fn renew(&mut self) -> Result<(), Error> {
        let (Some(reread), Some(opening)) = (&self.reread, &self.transcript.view().opening) else { return Ok(()) };
        let now = reread(opening);
        self.rules = now.rules;
        if now.opening == **opening {
            return Ok(());
        }
        let entry = Entry::Opened { opening: Arc::new(now.opening), because: None };
        Ok(self.transcript.append(entry, self.desk.clock.now())?)
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
