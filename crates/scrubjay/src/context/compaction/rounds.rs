//! API rounds: one assistant message and the tool results that answer it, never split.

use crate::limits::Limits;
use crate::message::{Message, MessageId};
use crate::tokens;
use std::ops::Range;
use std::sync::Arc;

/// Where a history may be cut: before a message that answers no call of the message before it.
fn may_start(history: &[Arc<Message>], at: usize) -> bool {
    history.get(at).is_none_or(|message| message.tool_results().next().is_none())
}

/// Whether the last message still waits for its tools.
pub fn is_open(history: &[Arc<Message>]) -> bool {
    history.last().is_some_and(|last| last.tool_uses().next().is_some())
}

/// The rounds of a history, in order: together they are all of it.
pub fn rounds(history: &[Arc<Message>]) -> Vec<Range<usize>> {
    let mut starts: Vec<usize> = (0..history.len()).filter(|at| *at == 0 || may_start(history, *at)).collect();
    starts.push(history.len());
    starts.windows(2).map(|pair| pair[0]..pair[1]).filter(|round| !round.is_empty()).collect()
}

/// What some messages measure, before fitting.
pub fn weight(messages: &[Arc<Message>], limits: &Limits) -> u64 {
    messages.iter().flat_map(|message| &message.blocks).map(|block| tokens::estimate(block, limits)).sum()
}

/// Where the kept messages begin when everything up to `covered` is in the notes: after it, then backwards in whole rounds
/// until enough is kept, and never too much. `None`: what came since is too much to keep, so the notes cannot serve.
pub fn kept_from(history: &[Arc<Message>], covered: Option<&MessageId>, limits: &Limits) -> Option<usize> {
    let covered = covered.and_then(|id| history.iter().position(|message| message.id == *id));
    let mut start = covered.map_or(0, |at| at + 1);
    while start > 0 && !may_start(history, start) {
        start -= 1;
    }
    if weight(&history[start..], limits) > limits.kept_most_tokens {
        return None;
    }
    let covered = start;
    for round in rounds(history).into_iter().rev().filter(|round| round.end <= covered) {
        let (kept, longer) = (&history[start..], &history[round.start..]);
        let spoken = kept.iter().filter(|message| tokens::is_spoken(message)).count() as u64;
        let enough = weight(kept, limits) >= limits.kept_least_tokens && spoken >= limits.kept_least_messages;
        if enough || weight(longer, limits) > limits.kept_most_tokens {
            break;
        }
        start = round.start;
    }
    Some(start)
}

/// How many of the oldest messages to leave out so that `over_by` tokens go; without a figure, a fifth of the rounds.
pub fn without_oldest(history: &[Arc<Message>], over_by: Option<u64>, limits: &Limits) -> usize {
    let rounds = rounds(history);
    let mut freed = 0;
    let fifth = rounds.len().div_ceil(5);
    for (nth, round) in rounds.iter().enumerate() {
        freed += weight(&history[round.clone()], limits);
        let covered = match over_by {
            Some(gap) => freed >= gap,
            None => nth + 1 >= fifth,
        };
        if covered {
            return round.end;
        }
    }
    history.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Block, Origin, Role, ToolResult};
    use proptest::prelude::*;
    use serde_json::json;

    fn message(id: usize, role: Role, blocks: Vec<Block>) -> Arc<Message> {
        let (id, at) = (MessageId::new(format!("m{id}")), jiff::Timestamp::UNIX_EPOCH);
        Arc::new(Message { id, role, origin: Origin::Person, at, blocks })
    }

    /// Letters: `u` a question, `a` an answer, `c` a call, `r` its result, each with `size` bytes of text.
    fn history(shape: &str, size: usize) -> Vec<Arc<Message>> {
        let text = || Block::text("x".repeat(size));
        let mut calls = 0;
        let mut out = Vec::new();
        for (at, letter) in shape.chars().enumerate() {
            out.push(match letter {
                'u' => message(at, Role::User, vec![text()]),
                'a' => message(at, Role::Assistant, vec![text()]),
                'c' => {
                    calls += 1;
                    message(
                        at,
                        Role::Assistant,
                        vec![Block::tool_use(format!("t{calls}").as_str().into(), "Read", json!({}))],
                    )
                }
                _ => {
                    let call = format!("t{calls}").as_str().into();
                    message(
                        at,
                        Role::User,
                        vec![Block::tool_result(ToolResult { call, parts: vec![text()], is_error: false })],
                    )
                }
            });
        }
        out
    }

    #[test]
    fn a_call_and_its_result_are_one_round() {
        let history = history("ucrcrau", 4);
        assert_eq!(rounds(&history), [0..1, 1..3, 3..5, 5..6, 6..7]);
        assert!(!is_open(&history) && is_open(&history[..2]));
    }

    // spec: S9
    #[test]
    fn enough_is_kept_and_never_too_much_and_never_half_a_round() {
        let limits =
            Limits { kept_least_tokens: 100, kept_least_messages: 3, kept_most_tokens: 400, ..Limits::default() };
        let id = |at: usize| MessageId::new(format!("m{at}"));
        for (shape, size, covered, expected, why) in [
            ("uauaua", 40, Some(5), Some(0), "little was said, so all of it is kept"),
            ("uauauaua", 200, Some(7), Some(5), "three messages and enough tokens"),
            ("uauacrcr", 200, Some(5), Some(1), "backwards past rounds until three messages with words are kept"),
            ("uauauacrcr", 160, Some(6), Some(3), "the covered message stands inside a round, which is kept whole"),
            ("uauauaua", 400, Some(2), None, "what came since is more than may be kept"),
            ("uaua", 40, None, Some(0), "nothing covered and little said"),
        ] {
            let history = history(shape, size);
            let covered = covered.map(id);
            assert_eq!(kept_from(&history, covered.as_ref(), &limits), expected, "{shape}: {why}");
        }
    }

    // spec: C7
    #[test]
    fn the_oldest_rounds_go_until_the_gap_is_covered() {
        let limits = Limits::default();
        let history = history("uaucrcraua", 400);
        assert_eq!(without_oldest(&history, Some(150), &limits), 2);
        assert_eq!(without_oldest(&history, Some(301), &limits), 5, "the whole round goes");
        assert_eq!(without_oldest(&history, None, &limits), 2, "a fifth of eight rounds");
        assert_eq!(without_oldest(&history, Some(1_000_000), &limits), history.len());
    }

    proptest! {
        #[test]
        fn no_cut_ever_splits_a_round(shape in "(u|a|cr){0,30}", size in 0..800usize, covered in 0..30usize, gap in 0..5_000u64) {
            let history = history(&shape, size);
            let limits = Limits { kept_least_tokens: 300, kept_least_messages: 2, kept_most_tokens: 1_200, ..Limits::default() };
            let covered = MessageId::new(format!("m{covered}"));
            if let Some(start) = kept_from(&history, Some(&covered), &limits) {
                prop_assert!(may_start(&history, start));
                prop_assert!(weight(&history[start..], &limits) <= limits.kept_most_tokens);
            }
            prop_assert!(may_start(&history, without_oldest(&history, Some(gap), &limits)));
            let joined: Vec<usize> = rounds(&history).into_iter().flatten().collect();
            prop_assert_eq!(joined, (0..history.len()).collect::<Vec<_>>());
        }
    }
}
