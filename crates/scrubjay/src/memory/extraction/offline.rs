//! Extraction without a model: what the user said outright, in their own words, through the same checks.

use super::super::explicit::{self, Said};
use super::super::recall::content_words;
use super::super::typed::{Conversation, UserMessage};
use super::super::{Entry, Memory, SharedMemory, Topic, draft, provenance::Speaker, similarity};
use super::answer::{Action, Draft, LearnerAnswer};
use super::request::{Passage, Reader, Shown};
use super::{Grounds, Learned, apply};
use crate::message::{Block, Message, Origin, Role};
use crate::secrets;
use jiff::Timestamp;
use std::sync::Arc;

/// Save what was said outright. Blocks.
pub fn offline(
    conversation: &Conversation,
    memory: &SharedMemory,
    grounds: &Grounds,
) -> Result<Learned, super::super::MemoryError> {
    let messages: Vec<Arc<Message>> = conversation.pending.iter().map(typed).collect();
    let found = explicit::find(&messages, &grounds.zone);
    let mut shown = shown(conversation, grounds);
    let drafts = memory.with(|memory| -> Result<Vec<Draft>, super::super::MemoryError> {
        memory.refresh()?;
        let drafts = found.iter().filter_map(|found| match &found.said {
            Said::Remember(topic) => Some(remembering(topic, &found.quote, memory, &mut shown)),
            Said::Forget(words) => forgetting(words, &found.quote, memory, &mut shown),
        });
        Ok(drafts.collect())
    })?;
    let mut learned = apply(&LearnerAnswer { drafts, look_back: Vec::new() }, &shown, grounds, memory)?;
    let unheard = messages.iter().filter(|message| !found.iter().any(|found| found.message == message.id));
    learned.refused.extend(unheard.filter_map(|message| unkept(&message.text())));
    Ok(learned)
}

/// Why nothing was found in words that ask for something to be remembered.
fn unkept(text: &str) -> Option<(String, String)> {
    let why = match secrets::scan(text).is_empty() {
        true => "what to keep is not clear enough without a model; `/remember WORDS` keeps them as they are",
        false => "it holds a credential, and those are never kept",
    };
    explicit::asks_to_remember(text).then(|| (draft::title(text), why.to_owned()))
}

fn typed(message: &UserMessage) -> Arc<Message> {
    let (id, at, blocks) = (message.id.clone(), message.at, vec![Block::text(message.typed())]);
    Arc::new(Message { id, role: Role::User, origin: Origin::Person, at, blocks })
}

fn shown(conversation: &Conversation, grounds: &Grounds) -> Shown {
    let day = |at: Timestamp| at.to_zoned(grounds.zone.clone()).date();
    let passage = |message: &UserMessage| Passage::new(Speaker::Person, &message.id, day(message.at), message.typed());
    let passages = conversation.pending.iter().map(passage).collect();
    Shown::new(Reader::Typed, passages)
}

/// A memory of its own, unless one says the contrary: then that one says this from now on, and its history the rest.
fn remembering(topic: &Topic, quote: &str, memory: &Memory, shown: &mut Shown) -> Draft {
    let contrary = similarity::contradicted(memory, topic);
    let before = contrary.and_then(|path| memory.text(&path).ok().flatten());
    let is_own =
        |(entry, _): &(Entry, String)| entry.kind == topic.kind && memory.list().any(|known| known.path == entry.path);
    let (action, file) = match before.filter(is_own) {
        Some((entry, text)) => {
            shown.memories.insert(entry.path.clone(), (entry.digest.clone(), text));
            (Action::Change, Some(entry.path))
        }
        None => (Action::Create, None),
    };
    Draft { action, file, topic: topic.clone(), cites: vec![quote.to_owned()] }
}

/// The removal of the one memory that these words name. Where it is not clear which, nothing is removed.
fn forgetting(words: &str, quote: &str, memory: &Memory, shown: &mut Shown) -> Option<Draft> {
    let entry = named(memory, words)?;
    shown.listed.insert(entry.path.clone(), entry.description.clone());
    let topic = memory.read(&entry.path).ok()?.1;
    Some(Draft { action: Action::Remove, file: Some(entry.path), topic, cites: vec![quote.to_owned()] })
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
