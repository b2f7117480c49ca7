//! What is shown of a stored result: its beginning, its end, and of one that failed the lines round the failure.

use regex::{Regex, RegexSet, RegexSetBuilder};
use std::sync::LazyLock;

/// No line that says how many are left out is longer.
const MARK_BYTES: usize = 32;
/// What belongs to a failure ends after so many lines, however it goes on.
const STRETCH_LINES: usize = 40;
/// So many places of failure are shown at most.
const PLACES: usize = 3;

/// Signs of a failure, surest first.
static SIGNS: LazyLock<RegexSet> = LazyLock::new(|| {
    let rows = include_str!("failures.txt").lines().filter(|row| !row.starts_with('#') && !row.trim().is_empty());
    RegexSetBuilder::new(rows).case_insensitive(true).build().unwrap_or_default()
});

/// A line that says how a command ended.
static ENDING: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\[(exit code \d+|stopped by signal|did not end within)|^Exit code \d+").ok());

/// Whether what produced the result succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Success {
    Yes,
    No,
}

/// At most `room` bytes of a text, whole lines where they fit, with a mark where lines are left out.
pub(super) fn excerpt(text: &str, room: usize, success: Success) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut picked = Picked::new(&lines, room);
    picked.endings();
    if success == Success::No {
        picked.failures(room / 2);
        picked.tail(room / 4);
        picked.head(room);
    } else {
        picked.tail(room / 3);
        picked.head(room);
    }
    picked.tail(room);
    picked.text()
}

/// Lines that will be shown, and the bytes they may still take.
struct Picked<'a> {
    lines: &'a [&'a str],
    shown: Vec<bool>,
    /// A longer line is cut.
    longest: usize,
    left: usize,
}

impl<'a> Picked<'a> {
    fn new(lines: &'a [&'a str], room: usize) -> Self {
        // Marks at both ends are paid for beforehand.
        let left = room.saturating_sub(MARK_BYTES);
        let longest = left.saturating_sub(MARK_BYTES) / lines.len().clamp(1, 4);
        Self { lines, shown: vec![false; lines.len()], longest, left }
    }

    /// Show a line if it fits into what is left and into `quota`, which it then uses up.
    fn pick(&mut self, at: usize, quota: &mut usize) -> bool {
        if self.shown[at] {
            return true;
        }
        let beside = |at: Option<usize>| at.and_then(|at| self.shown.get(at)).copied().unwrap_or(false);
        let is_island = !beside(at.checked_sub(1)) && !beside(at.checked_add(1));
        let cost = self.cut(at).len() + 1 + if is_island { MARK_BYTES } else { 0 };
        if cost > self.left.min(*quota) {
            return false;
        }
        self.shown[at] = true;
        self.left -= cost;
        *quota -= cost;
        true
    }

    /// How the command ended, which it says in its last lines or in its first.
    fn endings(&mut self) {
        let Some(ending) = &*ENDING else { return };
        let last = self.lines.len().saturating_sub(2)..self.lines.len();
        let places: Vec<usize> =
            last.chain([0]).filter(|at| self.lines.get(*at).is_some_and(|line| ending.is_match(line))).collect();
        for at in places {
            let mut quota = self.left;
            self.pick(at, &mut quota);
        }
    }

    fn head(&mut self, mut quota: usize) {
        let _fits = (0..self.lines.len()).all(|at| self.pick(at, &mut quota));
    }

    fn tail(&mut self, mut quota: usize) {
        let _fits = (0..self.lines.len()).rev().all(|at| self.pick(at, &mut quota));
    }

    /// The surest signs, each with what belongs to it: its last line first, because that names the cause, then both ends
    /// towards the middle.
    fn failures(&mut self, mut quota: usize) {
        let sign = |(at, line): (usize, &&str)| SIGNS.matches(line).iter().next().map(|rank| (rank, at));
        let mut found: Vec<(usize, usize)> = self.lines.iter().enumerate().filter_map(sign).collect();
        found.sort_unstable();
        let mut places = 0;
        for (_, at) in found {
            if places == PLACES {
                break;
            }
            if self.shown[at] {
                continue;
            }
            places += 1;
            let end = self.stretch_end(at);
            let (mut front, mut back) = (at, end);
            while front <= back {
                if !self.pick(back, &mut quota) || !self.pick(front, &mut quota) {
                    break;
                }
                front += 1;
                back = back.saturating_sub(1);
            }
        }
    }

    /// The last line that belongs to a failure: after those that are indented comes the one that closes them.
    fn stretch_end(&self, at: usize) -> usize {
        let belongs = |line: &&str| line.starts_with([' ', '\t', '|', '=']) && !line.trim().is_empty();
        let following = self.lines[at + 1..].iter().take(STRETCH_LINES);
        let indented = following.take_while(|line| belongs(line)).count();
        let closing = at + indented + 1;
        let closes = self.lines.get(closing).is_some_and(|line| !line.trim().is_empty());
        at + indented + usize::from(closes)
    }

    /// A line as it is shown.
    fn cut(&self, at: usize) -> &'a str {
        let line = self.lines[at];
        let mut end = self.longest.saturating_sub(1).min(line.len());
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        &line[..end]
    }

    fn text(&self) -> String {
        let mut out: Vec<String> = Vec::new();
        let mut hidden = 0;
        for at in 0..self.lines.len() {
            if !self.shown[at] {
                hidden += 1;
                continue;
            }
            if hidden > 0 {
                out.push(left_out(hidden));
                hidden = 0;
            }
            out.push(self.cut(at).to_owned());
        }
        if hidden > 0 {
            out.push(left_out(hidden));
        }
        out.join("\n")
    }
}

fn left_out(lines: usize) -> String {
    format!("[{lines} lines left out]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ROOM: usize = 2_000;

    fn numbered(count: usize) -> String {
        (0..count).map(|n| format!("line {n} of quite ordinary output\n")).collect()
    }

    #[test]
    fn every_sign_is_read() {
        let rows = include_str!("failures.txt").lines().filter(|row| !row.starts_with('#') && !row.trim().is_empty());
        assert_eq!(SIGNS.len(), rows.count());
        assert!(ENDING.is_some());
    }

    // spec: R2
    #[test]
    fn head_and_tail_are_shown_with_how_it_ended() {
        let shown = excerpt(&format!("{}[exit code 0]", numbered(1_000)), ROOM, Success::Yes);
        assert!(shown.starts_with("line 0 of") && shown.ends_with("line 999 of quite ordinary output\n[exit code 0]"));
        assert_eq!(shown.matches("lines left out]").count(), 1, "{shown}");
        let (head, tail) = shown.split_once("lines left out]").unwrap();
        assert!(head.len() > tail.len() && shown.len() <= ROOM, "{shown}");
        let small = "all of it\nis shown";
        assert_eq!(excerpt(small, ROOM, Success::No), small);
    }

    // spec: R2
    #[test]
    fn the_failure_of_a_command_is_shown_wherever_it_stands() {
        let (before, after) = (numbered(700), numbered(700));
        for failure in [
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    go()\nValueError: no seeds in cache 7",
            "thread 'main' panicked at src/lib.rs:9:5:\nno seeds in cache 7",
            "error[E0308]: no seeds in cache 7\n  --> src/lib.rs:9:5\n   |\n 9 |     seeds()\n   |     ^^^^^^^ expected `u32`",
            "src/seeds.c:12:3: error: no seeds in cache 7",
            "E       AssertionError: no seeds in cache 7",
            "--- FAIL: TestSeeds (0.00s)\n    seeds_test.go:7: no seeds in cache 7",
            "FAILED tests/test_seeds.py::test_cache - no seeds in cache 7",
            "Exception in thread \"main\" java.lang.Error: no seeds in cache 7\n\tat Seeds.main(Seeds.java:7)",
            "TypeError [ERR_SEEDS]: no seeds in cache 7\n    at main (/app/index.js:7:1)",
            "make: *** [Makefile:7: no seeds in cache 7] Error 2",
        ] {
            let text = format!("{before}{failure}\n{after}[exit code 1]");
            let shown = excerpt(&text, ROOM, Success::No);
            for line in failure.lines() {
                assert!(shown.contains(line), "`{line}` of {failure}\nin {shown}");
            }
            assert!(shown.starts_with("line 0 of") && shown.ends_with("[exit code 1]"), "{shown}");
            assert!(shown.len() <= ROOM, "{} bytes", shown.len());
        }
    }

    // spec: R2
    #[test]
    fn of_a_long_traceback_both_ends_are_shown() {
        let frames: String = (0..400).map(|n| format!("  File \"deep.py\", line {n}, in f{n}\n    call()\n")).collect();
        let text = format!(
            "{}Traceback (most recent call last):\n{frames}KeyError: 'acorn'\n{}[exit code 1]",
            numbered(400),
            numbered(400)
        );
        let shown = excerpt(&text, ROOM, Success::No);
        assert!(shown.contains("Traceback (most recent call last):\n  File \"deep.py\", line 0"), "{shown}");
        let short = text.replace(&frames, "  File \"a.py\", line 3, in <module>\n");
        assert!(excerpt(&short, ROOM, Success::No).contains("KeyError: 'acorn'"));
    }

    // spec: R2
    #[test]
    fn a_success_is_not_searched_for_failures() {
        let text = format!("{}error: of another day\n{}[exit code 0]", numbered(700), numbered(700));
        assert!(!excerpt(&text, ROOM, Success::Yes).contains("another day"));
        assert!(excerpt(&text, ROOM, Success::No).contains("another day"));
    }

    proptest! {
        // spec: R2
        #[test]
        fn whatever_it_is_it_fits(text in "(?s).{0,400}", times in 1usize..40, room in 100usize..3_000, failed in any::<bool>()) {
            let text = text.repeat(times);
            let success = if failed { Success::No } else { Success::Yes };
            let shown = excerpt(&text, room, success);
            prop_assert!(shown.len() <= room.max(MARK_BYTES), "{} of {room}", shown.len());
            prop_assert_eq!(&shown, &excerpt(&text, room, success));
        }
    }
}
