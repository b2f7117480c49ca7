//! What folds and snips have in common: the line that stands for a span, and why something stays as it is.

use crate::limits::Limits;
use crate::message::{Block, Message, Origin, Role, SessionId};
use crate::prose::gist;
use crate::tools::shown;
use crate::transcript::Way;
use std::sync::Arc;

/// Why nothing was hidden or shown. The conversation is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotHidden {
    /// The switch is off.
    #[error("{0} is switched off, so nothing was changed")]
    Off(&'static str),
    /// Nothing is old enough, or long enough.
    #[error(
        "there is nothing to fold: the newest rounds stay as they are, and what is short or folded already is left"
    )]
    NothingToFold,
    /// No such question.
    #[error("there is no question {number}: they are numbered 1 to {most}; nothing was changed")]
    NoSuchQuestion {
        /// What was asked for.
        number: u64,
        /// The last one.
        most: u64,
    },
    /// It is being answered.
    #[error("question {0} is still being answered; only what is over can be taken out")]
    StillOpen(u64),
    /// A summary stands between the questions.
    #[error(
        "the summary of a compaction stands between questions {from} and {to}, and taking it out would lose what it \
         stands for; name questions on one side of it, or take the compaction back first; nothing was changed"
    )]
    Summary {
        /// The first question.
        from: u64,
        /// The last question.
        to: u64,
    },
    /// No such span.
    #[error("there is no {} {number} that could be shown again", word(*.way))]
    NoSuchSpan {
        /// What kind.
        way: Way,
        /// Which.
        number: u64,
    },
    /// Nothing is hidden in this way.
    #[error("there is no {} to show again", word(*.0))]
    NothingHidden(Way),
    /// It would not fit.
    #[error("the conversation would be {used} tokens with it, and there is room for {room}; nothing was changed")]
    NoRoom {
        /// What it would measure.
        used: u64,
        /// What there is.
        room: u64,
    },
}

/// What a person calls it.
pub fn word(way: Way) -> &'static str {
    match way {
        Way::Fold => "fold",
        Way::Snip => "snip",
    }
}

/// The message that stands for a span. Its name and its date come from what it stands for, so that equal sessions have
/// equal lines.
pub(super) fn line(number: u64, last: &Message, text: String) -> Arc<Message> {
    let id = crate::transcript::derived_id(&SessionId::new(last.id.as_str()), &format!("span {number}"));
    let blocks = vec![Block::text(text)];
    Arc::new(Message { id, role: Role::User, origin: Origin::Summary, at: last.at, blocks })
}

/// Foreign words on one line, short, and unable to open or close anything the engine writes.
pub(super) fn harmless(text: &str, limits: &Limits) -> String {
    let most = usize::try_from(limits.span_words_bytes).unwrap_or(usize::MAX);
    shown(&gist(text, most)).replace('<', "‹").replace('>', "›")
}
