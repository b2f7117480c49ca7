//! One compaction, from a wish to the entry that records it. Nothing is changed here: what comes out can be looked at
//! (a preview) or appended.

use super::extract::{self, TooSmall};
use super::{fidelity, quotes, restore, rounds, summariser};
use crate::context;
use crate::desk::Desk;
use crate::message::{Block, Kind, Message, MessageId, Origin, Role, SessionId};
use crate::model::{Ability, ModelError};
use crate::paths;
use crate::prompts;
use crate::transcript::{Author, Call, Compaction, Marks, Segment, Trigger, View};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A conversation that is to be compacted, and what that needs.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The conversation.
    pub view: &'a View,
    /// Its session.
    pub session: &'a SessionId,
    /// Where the session's own files lie, if it is on disk.
    pub folder: Option<&'a Path>,
    /// What it works with.
    pub desk: &'a Desk,
}

/// What is to be compacted, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// What started it.
    pub trigger: Trigger,
    /// What the summary should attend to.
    pub instructions: Option<String>,
    /// Which part of the conversation.
    pub part: Part,
}

/// A part of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    All,
    /// This message and what follows; what precedes stays, and so does its cache.
    From(MessageId),
    /// What precedes this message and the message itself; the rest stays.
    UpTo(MessageId),
}

/// A compaction that could be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// The entry.
    pub compaction: Compaction,
    /// What the conversation would measure.
    pub after: u64,
    /// The model calls it took.
    pub calls: Vec<Call>,
}

/// A summary that is written and not checked yet.
pub(crate) struct Draft {
    /// The messages it stands for.
    pub(crate) stretch: Range<usize>,
    pub(crate) author: Author,
    pub(crate) summary: Arc<Message>,
    /// What code adds where the summary itself may not be changed.
    pub(crate) beside: Option<Arc<Message>>,
}

/// Why there is no compaction. The conversation is as it was.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotCompacted {
    /// Tools are still running.
    #[error("a round of tools is not finished; the conversation can be compacted after it")]
    OpenRound,
    /// There is nothing there.
    #[error("there is nothing to compact yet")]
    Nothing,
    /// Everything that was to be given back is there.
    #[error("these messages are in view already; nothing was changed")]
    AllThere,
    /// No such message.
    #[error("there is no message {0} in the conversation")]
    NoSuchMessage(MessageId),
    /// What must stay does not fit.
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
    /// The summariser failed.
    #[error("the summary could not be written: {0}")]
    Model(ModelError),
    /// The summariser said nothing that could be used.
    #[error("the summary came back empty")]
    Empty,
    /// It would not help.
    #[error("the summary would not be clearly smaller ({before} tokens before, {after} after), so nothing was changed")]
    NotSmaller {
        /// Before.
        before: u64,
        /// After.
        after: u64,
    },
    /// The person interrupted.
    #[error("interrupted; nothing was changed")]
    Interrupted,
}

/// Plan a compaction: choose the stretch, have it summarised, and check the result. What was asked of a model on the way is
/// in `calls`, also when nothing came of it.
pub async fn plan(
    subject: &Subject<'_>,
    wish: &Wish,
    calls: &mut Vec<Call>,
    cancel: &CancellationToken,
) -> Result<Planned, NotCompacted> {
    if !subject.desk.model.is_a_mind() {
        return plan_by_code(subject, wish).await;
    }
    let desk = &subject.desk.measuring(&subject.view.count);
    let subject = &Subject { desk, ..*subject };
    let stretch = subject.stretch(wish)?;
    let draft = summariser::draft(subject, stretch, wish, calls, cancel).await?;
    let mut planned = subject.checked(wish.trigger, draft).await?;
    planned.calls.clone_from(calls);
    Ok(planned)
}

/// The same without asking a model: code summarises what the record says.
pub async fn plan_by_code(subject: &Subject<'_>, wish: &Wish) -> Result<Planned, NotCompacted> {
    let desk = &subject.desk.measuring(&subject.view.count);
    let subject = &Subject { desk, ..*subject };
    let stretch = subject.stretch(wish)?;
    let replaced = &subject.view.history[stretch.clone()];
    let (whole, wholes) = (subject.view.unfolded(replaced), |message: &Message| subject.whole(message));
    // It is the last resort, so it has to be smaller whatever the limits say.
    let budget = context::budget_of(desk.model.window(), 0, &desk.settings, &desk.limits);
    let most = budget.compaction.saturating_mul(desk.limits.text_bytes_per_token) / 3;
    let room = extract::room(&desk.limits).min(usize::try_from(most).unwrap_or(usize::MAX));
    let text = extract::summarise(&whole, room, &wholes, &desk.limits)?.text;
    let summary = subject.summary(replaced, &text);
    subject.checked(wish.trigger, Draft { stretch, author: Author::Extract, summary, beside: None }).await
}

impl Subject<'_> {
    /// The messages that a compaction would replace. What may not be left out must fit, before a call is paid for.
    fn stretch(&self, wish: &Wish) -> Result<Range<usize>, NotCompacted> {
        let history = &self.view.history;
        if rounds::is_open(history) {
            return Err(NotCompacted::OpenRound);
        }
        let stretch = stretch(history, &wish.part)?;
        let replaced = &history[stretch.clone()];
        if replaced.len() < 2 {
            return Err(NotCompacted::Nothing);
        }
        extract::fits(&self.view.unfolded(replaced), &self.desk.limits)?;
        Ok(stretch)
    }

    /// The boundary around a summary: what stays, what comes back, what was lost. It must be worth it.
    pub(crate) async fn checked(&self, trigger: Trigger, draft: Draft) -> Result<Planned, NotCompacted> {
        let Subject { view, desk, .. } = *self;
        let Draft { stretch, author, summary, beside } = draft;
        let [first, .., last] = &view.history[stretch.clone()] else { return Err(NotCompacted::Nothing) };
        let (restored, brought) = restore::restored(self, &stretch).await;
        let date = self.date_again(&stretch);
        let (marks, tail) = (self.marks(&stretch, &summary), stretch.end < view.history.len());
        let is_bound = desk.model.can(Ability::BoundThinking) && !self.stays_valid(&stretch, &summary);
        let mut compaction = Compaction {
            trigger,
            author,
            first: first.id.clone(),
            last: last.id.clone(),
            restored: beside.into_iter().chain(self.instructions(&summary)).chain(restored).chain(date).collect(),
            before: view.count.total(),
            without_thinking: tail && is_bound,
            without_pictures: tail && !is_services(&summary),
            marks: Marks { brought, ..marks },
            summary,
            report: None,
        };
        let report = fidelity::check(&view.unfolded(&view.history[stretch]), &compaction.words(), &desk.limits);
        compaction.report = Some(report);
        let after = view.compacted(&compaction, &desk.limits).count;
        // System and tools stay what they are, however much is said: they are no part of what is replaced.
        if !fidelity::is_worth_it(view.count.said(), after.said(), &desk.limits) {
            return Err(NotCompacted::NotSmaller { before: compaction.before, after: after.total() });
        }
        Ok(Planned { compaction, after: after.total(), calls: Vec::new() })
    }

    fn marks(&self, stretch: &Range<usize>, summary: &Message) -> Marks {
        let history = &self.view.history;
        let kept = if stretch.end < history.len() { &history[stretch.end..] } else { &history[..stretch.start] };
        let segment = |(head, tail): (&Arc<Message>, &Arc<Message>)| Segment {
            head: head.id.clone(),
            anchor: summary.id.clone(),
            tail: tail.id.clone(),
        };
        let whole = self.view.unfolded(history);
        let used = whole.iter().flat_map(|message| message.tool_uses()).map(|call| call.name.clone());
        let earlier = self.view.compactions.iter().flat_map(|(_, compaction)| compaction.marks.tools.iter().cloned());
        Marks {
            after: history.last().map(|last| last.id.clone()),
            kept: kept.first().zip(kept.last()).map(segment),
            tools: used.chain(earlier).collect::<BTreeSet<_>>().into_iter().collect(),
            ..Marks::default()
        }
    }

    /// Thinking behind a service's own summary stays valid where it follows directly and the speaker changes there.
    fn stays_valid(&self, stretch: &Range<usize>, summary: &Message) -> bool {
        let history = &self.view.history;
        let changes = history.get(stretch.end).is_none_or(|next| next.role != history[stretch.end - 1].role);
        is_services(summary) && changes
    }

    /// Today's date, where the message that told it is replaced.
    fn date_again(&self, stretch: &Range<usize>) -> Option<Arc<Message>> {
        let (history, words) = (&self.view.history, self.desk.todays_date());
        let kept = history[..stretch.start].iter().chain(&history[stretch.end..]);
        let is_told = kept.into_iter().any(|message| message.origin == Origin::Reminder && message.text() == words);
        let replaced = &history[stretch.clone()];
        (!is_told).then(|| {
            let last = replaced.last().map(|last| last.id.as_str()).unwrap_or_default();
            let id = crate::transcript::derived_id(self.session, &format!("date after {last}"));
            let (role, origin, at) = (Role::User, Origin::Reminder, self.desk.clock.now());
            Arc::new(Message { id, role, origin, at, blocks: vec![Block::text(words)] })
        })
    }

    /// What every conversation here begins with comes back where a service's summary has taken its place.
    fn instructions(&self, summary: &Message) -> Vec<Arc<Message>> {
        match &self.view.opening {
            Some(opening) if is_services(summary) => opening.instructions.clone(),
            _ => Vec::new(),
        }
    }

    /// The message that stands for what was said. Its id is derived, like every other.
    pub(crate) fn summary(&self, replaced: &[Arc<Message>], text: &str) -> Arc<Message> {
        self.standing_for(replaced, "summary", Role::User, vec![Block::text(prompts::summary(text))])
    }

    pub(super) fn standing_for(
        &self,
        replaced: &[Arc<Message>],
        what: &str,
        role: Role,
        blocks: Vec<Block>,
    ) -> Arc<Message> {
        let last = replaced.last().map(|last| last.id.as_str()).unwrap_or_default();
        let id = crate::transcript::derived_id(self.session, &format!("{what} of {last}"));
        Arc::new(Message { id, role, origin: Origin::Summary, at: self.desk.clock.now(), blocks })
    }

    /// Where the whole of a long message of the person's can be read. It is stored the first time somebody asks.
    pub(crate) fn whole(&self, message: &Message) -> Option<String> {
        let text = message.text();
        if text.trim().len() <= quotes::longest(&self.desk.limits) {
            return None;
        }
        let folder = self.folder?.join("messages");
        let file = folder.join(format!("{}.txt", paths::file_name_for(message.id.as_str())));
        let stored = match file.exists() {
            true => Ok(()),
            false => paths::create_dir_private(&folder).and_then(|()| paths::write_private(&file, text.as_bytes())),
        };
        match stored {
            Ok(()) => Some(file.display().to_string()),
            Err(error) => {
                self.desk.events.notice(format!("a long message stays in the transcript alone: {error}"));
                None
            }
        }
    }
}

/// Whether a service wrote it and has sealed it.
fn is_services(summary: &Message) -> bool {
    summary.blocks.iter().any(|block| matches!(block.kind(), Kind::Summary(_)))
}

/// Which messages are replaced: whole rounds only.
fn stretch(history: &[Arc<Message>], part: &Part) -> Result<Range<usize>, NotCompacted> {
    let place = |id: &MessageId| -> Result<Range<usize>, NotCompacted> {
        let at = history.iter().position(|message| message.id == *id);
        let at = at.ok_or_else(|| NotCompacted::NoSuchMessage(id.clone()))?;
        let round = rounds::rounds(history).into_iter().find(|round| round.contains(&at));
        Ok(round.unwrap_or(at..at + 1))
    };
    match part {
        Part::All => Ok(0..answered(history)),
        Part::From(id) => Ok(place(id)?.start..history.len()),
        Part::UpTo(id) => Ok(0..place(id)?.end),
    }
}

/// Where a question begins that the model has not answered yet: it stays as it is, so that it can be answered.
fn answered(history: &[Arc<Message>]) -> usize {
    let is_old = |message: &Arc<Message>| matches!(message.origin, Origin::Model | Origin::Tool);
    history.iter().rposition(is_old).map_or(0, |at| at + 1)
}
