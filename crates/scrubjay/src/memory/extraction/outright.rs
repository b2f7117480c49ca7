//! Extraction without a model: what the person said outright is saved through the same filter, and what they wanted
//! forgotten is removed where it is clear what they mean.

use super::super::explicit::{Found, Said};
use super::super::journal::Cause;
use super::super::recall::content_words;
use super::super::store::{Change, Edit};
use super::super::{Entry, Kind, Memory, Scope, Team, Topic, scope_of, similarity};
use super::draft::Draft;
use super::{Scribe, begins_with_remember};

impl Scribe {
    /// Do what the person said outright. Blocks.
    pub fn take_down(&self) {
        for found in &self.grounds.found {
            match &found.said {
                // What is refused is counted, and who asked for it is told the reason.
                Said::Remember(topic) => {
                    let refused = self.save(&self.draft(topic, found)).err();
                    self.lock().unkept.extend(refused.filter(|_| begins_with_remember(&found.quote)));
                }
                Said::Forget(words) => self.forget(words),
            }
        }
        self.lock().unkept.extend(self.grounds.unheard.iter().map(|why| (*why).to_owned()));
    }

    /// Do what the person wanted forgotten. Blocks.
    pub fn let_go(&self) {
        self.grounds.found.iter().for_each(|found| match &found.said {
            Said::Forget(words) => self.forget(words),
            Said::Remember(_) => {}
        });
    }

    /// A memory of its own, unless one says the contrary: then that one says this from now on, and its history the rest.
    fn draft(&self, topic: &Topic, found: &Found) -> Draft {
        let limits = &self.grounds.limits;
        let cites = std::iter::once(&found.quote).chain(found.confirms.as_ref().map(|done| &done.quote));
        let cites: Vec<String> = cites.cloned().collect();
        // What might be somebody else's words is no rule until the person has looked at it.
        let apart = found.confirms.is_some() && !self.grounds.vouched.iter().any(|vouched| vouched.is(found));
        if apart {
            let topic = Topic { kind: Kind::Project, ..topic.clone() };
            return Draft { path: topic.file_name(), text: topic.text(), cites, before: None };
        }
        let contrary = self.memory.with(|memory| {
            let path = similarity::contradicted(memory, topic)?;
            let (entry, text) = memory.text(&path).ok().flatten()?;
            (entry.kind == topic.kind).then_some((path, text))
        });
        match contrary {
            None => Draft { path: self.path_of(topic), text: topic.text(), cites, before: None },
            Some((path, before)) => Draft { path, text: topic.text_over(&before, limits), cites, before: Some(before) },
        }
    }

    /// Where a memory belongs: with a team by its type, otherwise with the person.
    fn path_of(&self, topic: &Topic) -> String {
        let shares = self.memory.with(|memory| memory.place().team == Team::On);
        let scope = if shares { scope_of(topic.kind, &topic.body).0 } else { Scope::Private };
        scope.path(&topic.file_name())
    }

    /// Remove the one memory that these words name. Where it is not clear which, nothing is removed.
    fn forget(&self, words: &str) {
        let removed = self.memory.with(|memory| {
            let entry = named(memory, words)?;
            let cause = Cause::Extraction { session: self.grounds.session.to_string() };
            let receipt = memory.commit(Change { cause, edits: vec![Edit::remove(&entry)] }).ok()?;
            Some((entry.path, receipt.change))
        });
        self.lock().removed.extend(removed);
    }
}

/// The only memory that holds all of these words.
fn named(memory: &Memory, words: &str) -> Option<Entry> {
    let wanted = content_words(words);
    let holds = |entry: &&Entry| {
        let text = memory.text(&entry.path).ok().flatten().map(|(_, text)| text).unwrap_or_default();
        let held = content_words(&format!("{} {} {text}", entry.name, entry.description));
        wanted.is_subset(&held)
    };
    let mut holding = memory.list().filter(holds);
    let only = holding.next().filter(|_| !wanted.is_empty() && holding.next().is_none());
    only.cloned()
}
