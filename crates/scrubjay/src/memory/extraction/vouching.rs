//! "Keep doing that": the person vouches for what the model has just said. Its words do not become the person's by it; the memory
//! names both. And where anybody else was heard before, nobody can tell whose words the model passed on: then it is kept apart.

use super::super::explicit::Found;
use super::super::footing;
use super::super::provenance::Speaker;
use super::evidence::{Heard, Statement, plain};
use crate::message::{Block, Kind, Message, MessageId, Origin, ToolCallId, ToolUse};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A yes of the person's that a memory may rest on together with the model's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Vouched {
    /// The person's message, and the words of it that say so.
    yes: (MessageId, String),
    /// The model's message.
    done: MessageId,
}

impl Vouched {
    /// Whether it is this one.
    pub(super) fn is(&self, found: &Found) -> bool {
        self.yes.0 == found.message && found.confirms.as_ref().is_some_and(|done| done.message == self.done)
    }
}

/// The model's last words before the new messages.
pub(super) fn answered<'a>(session: &'a [Arc<Message>], fresh: &[Arc<Message>]) -> Option<&'a Arc<Message>> {
    let begins = session.iter().position(|message| fresh.first().is_some_and(|first| first.id == message.id))?;
    let spoke = |message: &&Arc<Message>| matches!(message.origin, Origin::Model | Origin::Person);
    let last = session[..begins].iter().rev().filter(spoke).find(|message| !message.text().trim().is_empty());
    last.filter(|message| message.origin == Origin::Model)
}

/// What the person vouched for before anybody but the two had spoken.
pub(super) fn vouched(found: &[Found], session: &[Arc<Message>]) -> Vec<Vouched> {
    let pairs = found.iter().filter_map(|found| Some((found, found.confirms.as_ref()?)));
    let alone = pairs.filter(|(_, done)| !others_spoke(session, &done.message));
    let vouched = alone
        .map(|(found, done)| Vouched { yes: (found.message.clone(), plain(&found.quote)), done: done.message.clone() });
    vouched.collect()
}

/// Whether the person vouched for all that is cited here besides their own words, and cites the words that do.
pub(super) fn carries(vouched: &[Vouched], cited: &[(&str, &Statement)]) -> bool {
    let says = |one: &Vouched, (quote, said): &(&str, &Statement)| {
        let quote = plain(quote);
        said.speaker == Speaker::Person
            && said.message == one.yes.0
            && (one.yes.1.contains(&quote) || quote.contains(&one.yes.1))
    };
    let stands = |(_, said): &(&str, &Statement)| match said.speaker {
        Speaker::Person => true,
        Speaker::Assistant => {
            vouched.iter().any(|one| one.done == said.message && cited.iter().any(|cite| says(one, cite)))
        }
        _ => false,
    };
    cited.iter().all(stands)
}

/// Whether anybody but the person and the model was heard until this message: a tool, a file, a page, another agent, a memory, a
/// picture, something pasted. What is not known in the session was heard from somebody else.
fn others_spoke(session: &[Arc<Message>], until: &MessageId) -> bool {
    let Some(end) = session.iter().position(|message| message.id == *until) else { return true };
    let heard = &session[..=end];
    let is_own = |call: &&ToolUse| footing::brings_nothing(&call.name);
    let own: BTreeSet<&ToolCallId> =
        heard.iter().flat_map(|message| message.tool_uses()).filter(is_own).map(|call| &call.id).collect();
    let is_plain = |block: &Block| match block.kind() {
        Kind::Text(text) => Heard::of(text).pasted.is_empty(),
        _ => false,
    };
    let is_ours = |block: &Block| matches!(block.kind(), Kind::Text(_) | Kind::Thinking(_) | Kind::ToolUse(_));
    heard.iter().any(|message| match message.origin {
        Origin::Person => !message.blocks.iter().all(is_plain),
        Origin::Model => !message.blocks.iter().all(is_ours),
        Origin::Tool => message.tool_results().any(|result| !own.contains(&result.call)),
        Origin::Instructions | Origin::Reminder => false,
        Origin::Memory | Origin::Summary | Origin::Hook | Origin::Task | Origin::Letter => true,
    })
}
