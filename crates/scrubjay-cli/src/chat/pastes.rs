//! Which parts of a line were pasted. The editor says where a paste begins; from then on every edit moves the marks along.

use rustyline::{Cmd, ConditionalEventHandler, Event, EventContext, RepeatCount};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pasted texts that are known again when they come back from the kill ring or the history, the newest ones.
const KNOWN: usize = 32;
/// Shorter pastes are not looked for: they stand in a line by chance. As many as make an echo for the learner.
const TELLING_CHARS: usize = 30;

/// The pastes of the line that is being edited.
#[derive(Debug, Default)]
struct State {
    line: String,
    /// In order, apart from each other.
    marks: Vec<Range<usize>>,
    /// A paste begins here.
    begins: Option<usize>,
    known: VecDeque<String>,
}

/// Shared by the editor's handler, its helper and the chat.
#[derive(Debug, Clone, Default)]
pub(super) struct Pastes(Arc<Mutex<State>>);

impl Pastes {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new line begins.
    pub(super) fn begin(&self) {
        let mut state = self.state();
        state.line.clear();
        state.marks.clear();
        state.begins = None;
    }

    /// The line is this now, with the cursor here.
    pub(super) fn follow(&self, line: &str, cursor: usize) {
        self.state().follow(line, cursor);
    }

    /// The parts of the finished line that were pasted.
    pub(super) fn of(&self, line: &str) -> Vec<Range<usize>> {
        let mut state = self.state();
        state.follow(line, line.len());
        let mut marks = state.marks.clone();
        for text in &state.known {
            marks.extend(line.match_indices(text.as_str()).map(|(at, text)| at..at + text.len()));
        }
        joined(marks)
    }
}

impl State {
    fn follow(&mut self, line: &str, cursor: usize) {
        let (before, after) = ends_in_common(&self.line, line, self.begins);
        let (old_end, new_end) = (self.line.len() - after, line.len() - after);
        self.marks.iter_mut().for_each(|mark| *mark = moved(mark, before, old_end, new_end));
        self.marks.retain(|mark| !mark.is_empty());
        if let Some(start) = self.begins.take()
            && let Some(text) = line.get(start..cursor).filter(|text| !text.is_empty())
        {
            self.marks.push(start..cursor);
            self.marks = joined(std::mem::take(&mut self.marks));
            if text.trim().chars().count() >= TELLING_CHARS || text.trim().contains('\n') {
                self.known.push_back(text.trim().to_owned());
                self.known.drain(..self.known.len().saturating_sub(KNOWN));
            }
        }
        line.clone_into(&mut self.line);
    }
}

/// How many bytes two texts share at their beginning and at their end. A paste begins exactly where the cursor was.
fn ends_in_common(old: &str, new: &str, pasted_at: Option<usize>) -> (usize, usize) {
    let same = |(a, b): &(char, char)| a == b;
    let before: usize = old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let before = pasted_at.map_or(before, |at| before.min(at));
    let (old, new) = (&old[before..], &new[before..]);
    let after = old.chars().rev().zip(new.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    (before, after)
}

/// Where a mark is after the bytes from `start` to `old_end` became those to `new_end`. What is typed into the middle of a paste
/// belongs to it.
fn moved(mark: &Range<usize>, start: usize, old_end: usize, new_end: usize) -> Range<usize> {
    let shifted = |at: usize| at - old_end + new_end;
    match (mark.start < start, mark.end > old_end) {
        (true, true) => mark.start..shifted(mark.end),
        (true, false) => mark.start..mark.end.min(start),
        (false, true) => shifted(mark.start.max(old_end))..shifted(mark.end),
        (false, false) => start..start,
    }
}

fn joined(mut marks: Vec<Range<usize>>) -> Vec<Range<usize>> {
    marks.sort_by_key(|mark| mark.start);
    let mut out: Vec<Range<usize>> = Vec::new();
    for mark in marks {
        match out.last_mut() {
            Some(last) if mark.start <= last.end => last.end = last.end.max(mark.end),
            _ => out.push(mark),
        }
    }
    out
}

/// Hears that a paste begins, and lets the editor insert it.
impl ConditionalEventHandler for Pastes {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let mut state = self.state();
        state.follow(context.line(), context.pos());
        state.begins = Some(context.pos());
        None
    }
}

/// What a line asks: without white space around it and without backslashes that only joined typed lines, and which parts of
/// that were pasted.
pub(super) fn asked(line: &str, pasted: &[Range<usize>]) -> (String, Vec<Range<usize>>) {
    let (mut text, mut marks) = (String::new(), Vec::<Range<usize>>::new());
    let kept = line.len() - line.trim_start().len()..line.trim_end().len();
    for (at, c) in line.char_indices().filter(|(at, _)| kept.contains(at)) {
        let is_pasted = pasted.iter().any(|mark| mark.contains(&at));
        if c == '\\' && !is_pasted && line[at + 1..].starts_with('\n') {
            continue;
        }
        let place = text.len()..text.len() + c.len_utf8();
        text.push(c);
        match marks.last_mut() {
            Some(last) if is_pasted && last.end == place.start => last.end = place.end,
            _ if is_pasted => marks.push(place),
            _ => {}
        }
    }
    (text, marks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Type and paste; a paste stands in brackets.
    fn written(keys: &[&str]) -> (Pastes, String) {
        let (pastes, mut line) = (Pastes::default(), String::new());
        for keys in keys {
            match keys.strip_prefix('[').and_then(|keys| keys.strip_suffix(']')) {
                Some(text) => {
                    pastes.state().begins = Some(line.len());
                    line.push_str(text);
                    pastes.follow(&line, line.len());
                }
                None => {
                    for c in keys.chars() {
                        line.push(c);
                        pastes.follow(&line, line.len());
                    }
                }
            }
        }
        (pastes, line)
    }

    fn parts<'a>(line: &'a str, marks: &[Range<usize>]) -> Vec<&'a str> {
        marks.iter().map(|mark| &line[mark.clone()]).collect()
    }

    #[test]
    fn what_was_pasted_is_marked_and_stays_so_while_the_line_is_edited() {
        let (pastes, line) = written(&["see ", "[one\ntwo\nthree]", " ok"]);
        assert_eq!(parts(&line, &pastes.of(&line)), ["one\ntwo\nthree"]);
        for (edited, marked) in [
            ("please see one\ntwo\nthree ok", vec!["one\ntwo\nthree"]),
            ("see one\nt ok", vec!["one\nt"]),
            ("see one\nTYPED two\nthree ok", vec!["one\nTYPED two\nthree"]),
            ("see", vec![]),
        ] {
            let (pastes, _) = written(&["see ", "[one\ntwo\nthree]", " ok"]);
            assert_eq!(parts(edited, &pastes.of(edited)), marked, "{edited}");
        }
    }

    #[test]
    fn a_paste_that_comes_back_is_known_again() {
        let (pastes, _) = written(&["[one\ntwo\nthree]"]);
        pastes.follow("", 0);
        assert_eq!(pastes.of("again: one\ntwo\nthree"), std::iter::once(7..20).collect::<Vec<_>>());
        pastes.begin();
        assert!(pastes.of("one two three").is_empty());
    }

    #[test]
    fn joined_lines_lose_their_backslash_and_pasted_ones_keep_it() {
        let line = "  typed \\\nmore x \\\ny ";
        let at = line.find('x').unwrap_or_default();
        let (text, marks) = asked(line, std::slice::from_ref(&(at..line.len())));
        assert_eq!((text.as_str(), parts(&text, &marks)), ("typed \nmore x \\\ny", vec!["x \\\ny"]));
    }

    proptest! {
        #[test]
        fn marks_stay_within_the_line(lines in prop::collection::vec("[ab\n\u{e9}\u{4e2d}]{0,8}", 1..12), pasted in prop::collection::vec(any::<bool>(), 12)) {
            let pastes = Pastes::default();
            for (line, pasted) in lines.iter().zip(pasted) {
                let at = pastes.state().line.len();
                if pasted && line.is_char_boundary(at) {
                    pastes.state().begins = Some(at);
                }
                pastes.follow(line, line.len());
                for mark in pastes.of(line) {
                    prop_assert!(line.get(mark.clone()).is_some(), "{line:?} {mark:?}");
                }
            }
        }
    }
}
