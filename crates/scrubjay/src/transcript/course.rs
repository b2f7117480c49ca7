//! The course of a session: how full its window was after each request and each change, and with what.

use super::{Call, Entry, EntryId, Record, View};
use crate::limits::Limits;
use crate::message::Origin;
use crate::tokens::{Certainty, Share};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;

/// How full a window is, and with what. The parts add up to the total; only where damage took all that was said is there a
/// total without parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Filling {
    /// All of it, in tokens.
    pub total: u64,
    /// By who put it there; what put nothing there is left out.
    pub by_share: BTreeMap<Share, u64>,
    /// How sure the total is.
    pub certainty: Certainty,
}

impl Filling {
    /// What stands in the window of this view.
    pub fn of(view: &View) -> Self {
        let mut by_share = view.count.by_share();
        by_share.retain(|_, tokens| *tokens > 0);
        Self { total: view.count.total(), by_share, certainty: view.count.certainty() }
    }
}

/// What had just happened to the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// A request of the conversation was answered.
    Answered,
    /// Every later request begins otherwise.
    Reopened,
    /// Layer 2 cleared old results.
    Cleared,
    /// A summary took the place of a stretch.
    Compacted,
    /// A stretch was hidden or shown.
    Hid,
    /// Something came back: a change was undone, or messages were given back.
    Restored,
}

impl Moment {
    fn of(entry: &Entry) -> Option<Self> {
        match entry {
            Entry::Replied(call) if call.source == Call::MAIN => Some(Moment::Answered),
            Entry::Opened { because: Some(_), .. } => Some(Moment::Reopened),
            Entry::Cleared { .. } => Some(Moment::Cleared),
            Entry::Compacted(_) => Some(Moment::Compacted),
            Entry::Hid(_) => Some(Moment::Hid),
            Entry::GivenBack { .. } | Entry::Reverted { .. } => Some(Moment::Restored),
            _ => None,
        }
    }
}

/// The window after one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Point {
    /// The entry that was the last one then.
    pub entry: EntryId,
    /// When.
    pub at: Timestamp,
    /// How many questions the person had asked.
    pub question: u64,
    /// How many requests of the conversation had been answered.
    pub request: u64,
    /// What had just happened.
    pub moment: Moment,
    /// What stood in the window.
    pub filling: Filling,
}

/// The window after each answered request and each change of it, in order: each point is the fold of the records up to
/// its entry. One walk over the records, whatever their number.
pub fn course(records: &[Record], limits: &Limits) -> Vec<Point> {
    let mut view = View::default();
    let (mut question, mut request) = (0, 0);
    let mut points = Vec::new();
    for (at, record) in records.iter().enumerate() {
        view.follow(&records[..=at], limits);
        if matches!(&record.entry, Entry::Said(message) if message.origin == Origin::Person) {
            question += 1;
        }
        let Some(moment) = Moment::of(&record.entry) else { continue };
        request += u64::from(moment == Moment::Answered);
        let filling = Filling::of(&view);
        points.push(Point { entry: record.id, at: record.at, question, request, moment, filling });
    }
    points
}

#[cfg(test)]
mod tests {
    use super::super::{Author, Cause, Compaction, Marks, Transcript, Trigger};
    use super::*;
    use crate::message::{Block, Message, Role, SessionId, StopReason, ToolResult, Usage};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn now() -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn answered(transcript: &mut Transcript, source: &str, input: u64) {
        let usage = Usage { input, output: 10, ..Usage::default() };
        let (source, model) = (source.to_owned(), "m".to_owned());
        let call = Call { source, model, usage, stop: StopReason::EndTurn, cleared: 0 };
        transcript.append(Entry::Replied(call), now()).unwrap();
    }

    fn ask(transcript: &mut Transcript, size: usize) {
        transcript.say(Role::User, Origin::Person, vec![Block::text("q".repeat(size))], now()).unwrap();
        transcript.say(Role::Assistant, Origin::Model, vec![Block::text("a".repeat(size / 2))], now()).unwrap();
    }

    fn use_tool(transcript: &mut Transcript, call: &str, size: usize) {
        let parts = vec![Block::text("r".repeat(size))];
        let result = Block::tool_result(ToolResult { call: call.into(), parts, is_error: false });
        transcript.say(Role::User, Origin::Tool, vec![result], now()).unwrap();
    }

    /// All that is there, replaced by a line.
    fn compact(transcript: &mut Transcript) {
        let history = &transcript.view().history;
        let (Some(first), Some(last)) = (history.first(), history.last()) else { return };
        let (role, origin, blocks) = (Role::User, Origin::Summary, vec![Block::text("short")]);
        let id = format!("s{}", transcript.records().len()).as_str().into();
        let compaction = Compaction {
            trigger: Trigger::Auto,
            author: Author::Extract,
            first: first.id.clone(),
            last: last.id.clone(),
            summary: Arc::new(Message { id, role, origin, at: now(), blocks }),
            restored: Vec::new(),
            before: transcript.view().count.total(),
            without_thinking: false,
            without_pictures: false,
            marks: Marks::default(),
            report: None,
        };
        transcript.append(Entry::Compacted(Arc::new(compaction)), now()).unwrap();
    }

    // spec: T6
    #[test]
    fn the_window_grows_with_each_request_and_falls_at_a_compaction() {
        let mut transcript = Transcript::in_memory(SessionId::new("s"), Arc::new(Limits::default()));
        ask(&mut transcript, 4_000);
        answered(&mut transcript, Call::MAIN, 1_200);
        ask(&mut transcript, 8_000);
        answered(&mut transcript, "session_notes", 9_000);
        answered(&mut transcript, Call::MAIN, 4_000);
        compact(&mut transcript);
        let points = course(transcript.records(), &Limits::default());
        let seen: Vec<_> = points.iter().map(|point| (point.moment, point.question, point.request)).collect();
        assert_eq!(
            seen,
            [(Moment::Answered, 1, 1), (Moment::Answered, 2, 2), (Moment::Compacted, 2, 2)],
            "what the engine asks for itself is not in this window"
        );
        let totals: Vec<u64> = points.iter().map(|point| point.filling.total).collect();
        assert_eq!(totals[..2], [1_210, 4_010], "what the service reported");
        assert!(totals[2] < 100, "{totals:?}");
        assert_eq!(points[2].filling.by_share.keys().collect::<Vec<_>>(), [&Share::Summary]);
    }

    proptest! {
        // spec: T6
        #[test]
        fn each_point_is_the_fold_of_what_came_before_it(deeds in proptest::collection::vec((0..6u8, 1..4_000usize), 0..40)) {
            let limits = Limits::default();
            let mut transcript = Transcript::in_memory(SessionId::new("s"), Arc::new(limits.clone()));
            for (at, (deed, size)) in deeds.into_iter().enumerate() {
                match deed {
                    0 => ask(&mut transcript, size),
                    1 => use_tool(&mut transcript, &format!("t{at}"), size),
                    2 => answered(&mut transcript, Call::MAIN, size as u64),
                    3 => {
                        let results = vec![format!("t{}", at / 2).as_str().into()];
                        transcript.append(Entry::Cleared { results, because: Cause::Ttl }, now()).unwrap();
                    }
                    4 => compact(&mut transcript),
                    _ => {
                        let entry = (transcript.records().len() / 2) as u64;
                        transcript.append(Entry::Reverted { entry }, now()).unwrap();
                    }
                }
            }
            let records = transcript.records();
            let points = course(records, &limits);
            prop_assert_eq!(points.len(), records.iter().filter(|record| Moment::of(&record.entry).is_some()).count());
            for point in points {
                let end = records.iter().position(|record| record.id == point.entry).unwrap() + 1;
                prop_assert_eq!(&point.filling, &Filling::of(&View::of(&records[..end], &limits)));
                let sum = point.filling.by_share.values().sum::<u64>();
                prop_assert!(sum == point.filling.total || point.filling.by_share.is_empty(), "{:?}", point.filling);
            }
        }
    }
}
