//! How two texts differ, in one line and in full; and whether two changes of one text go together.

use similar::{ChangeTag, TextDiff};

/// The stretch in which two texts differ: lines shared before it, and the lines of each.
struct Stretch<'a> {
    start: usize,
    old: Vec<&'a str>,
    new: Vec<&'a str>,
}

fn stretch<'a>(old: &'a str, new: &'a str) -> Stretch<'a> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    Stretch { start, old: old[start..old.len() - end].to_vec(), new: new[start..new.len() - end].to_vec() }
}

/// One text that holds both changes, if they touch different lines of what they started from.
pub(super) fn merged(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let (a, b) = (stretch(base, ours), stretch(base, theirs));
    let (first, second) = if a.start <= b.start { (a, b) } else { (b, a) };
    // At least one shared line between them: neighbours may depend on each other.
    if first.start + first.old.len() >= second.start {
        return None;
    }
    let lines: Vec<&str> = base.split_inclusive('\n').collect();
    let between = &lines[first.start + first.old.len()..second.start];
    let rest = &lines[second.start + second.old.len()..];
    Some([&lines[..first.start], &first.new, between, &second.new, rest].concat().concat())
}

/// A change in one line: what was said and what is said now, where that is one line each; otherwise how much changed.
pub(super) fn in_one_line(old: Option<&str>, new: Option<&str>) -> String {
    const MOST: usize = 60;
    let counted = |text: &str| match text.lines().count() {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    };
    let (old, new) = match (old, new) {
        (None, Some(new)) => return format!("new, {}", counted(new)),
        (Some(old), None) => return format!("removed, {}", counted(old)),
        (Some(old), Some(new)) => (old, new),
        (None, None) => return String::new(),
    };
    let short = |line: &str| match line.trim().char_indices().nth(MOST) {
        Some((end, _)) => line.trim()[..end].to_owned() + "…",
        None => line.trim().to_owned(),
    };
    let changed = stretch(old, new);
    match (changed.old.as_slice(), changed.new.as_slice()) {
        ([], []) => "unchanged".to_owned(),
        ([old], [new]) => {
            let from = differs(old.trim(), new.trim(), MOST);
            let part = |line: &str| if from == 0 { short(line) } else { format!("…{}", short(&line.trim()[from..])) };
            format!("“{}” → “{}”", part(old), part(new))
        }
        ([], [new]) => format!("+ “{}”", short(new)),
        ([old], []) => format!("− “{}”", short(old)),
        (removed, added) => {
            // What stays the same between two changes is no change.
            let whole = TextDiff::from_slices(removed, added);
            let count = |tag| whole.iter_all_changes().filter(|change| change.tag() == tag).count();
            format!("−{} +{} lines", count(ChangeTag::Delete), count(ChangeTag::Insert))
        }
    }
}

/// Where to begin to show two lines so that the difference is seen: a few words before it, where it lies far from the beginning.
fn differs(old: &str, new: &str, most: usize) -> usize {
    const WORDS: usize = 3;
    let shared = old.char_indices().zip(new.chars()).take_while(|((_, a), b)| a == b).last();
    let shared = shared.map_or(0, |((at, c), _)| at + c.len_utf8());
    if old[..shared].chars().count() <= most / 2 {
        return 0;
    }
    let starts = old[..shared].match_indices(' ').map(|(at, _)| at + 1).rev();
    starts.take(WORDS + 1).last().unwrap_or(0)
}

/// The whole difference, as `diff -u` shows it.
pub(super) fn unified(path: &str, old: &str, new: &str) -> String {
    TextDiff::from_lines(old, new).unified_diff().header(&format!("a/{path}"), &format!("b/{path}")).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // spec: N2
    #[test]
    fn changes_of_different_lines_go_together_and_others_do_not() {
        let base = "a\nb\nc\nd\ne\n";
        assert_eq!(merged(base, "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n").as_deref(), Some("A\nb\nc\nd\nE\n"));
        assert_eq!(merged(base, "a\nb\nc\nd\ne\nf\n", "x\na\nb\nc\nd\ne\n").as_deref(), Some("x\na\nb\nc\nd\ne\nf\n"));
        assert_eq!(merged(base, "a\nc\nd\ne\n", "a\nb\nc\ne\n").as_deref(), Some("a\nc\ne\n"));
        for (ours, theirs) in [
            ("a\nB\nc\nd\ne\n", "a\nX\nc\nd\ne\n"),
            ("a\nB\nc\nd\ne\n", "a\nb\nC\nd\ne\n"),
            ("a\nb\nc\nd\ne\nours\n", "a\nb\nc\nd\ne\ntheirs\n"),
            ("", "a\nb\nc\nd\ne\nmore\n"),
        ] {
            assert_eq!(merged(base, ours, theirs), None, "{ours:?} {theirs:?}");
        }
    }

    #[test]
    fn a_change_in_one_line() {
        assert_eq!(in_one_line(None, Some("a\nb\n")), "new, 2 lines");
        assert_eq!(in_one_line(Some("a\n"), None), "removed, 1 line");
        assert_eq!(in_one_line(Some("a\nb\n"), Some("a\nc\n")), "“b” → “c”");
        let line = |port: &str| {
            format!("The staging database of the harbour office listens on port {port}, ask Ada for the password.\n")
        };
        let told = in_one_line(Some(&line("5433")), Some(&line("6543")));
        assert_eq!(
            told,
            "“…listens on port 5433, ask Ada for the password.” → “…listens on port 6543, ask Ada for the password.”"
        );
        assert_eq!(in_one_line(Some("a\n"), Some("a\nb\n")), "+ “b”");
        assert_eq!(in_one_line(Some("a\nb\nc"), Some("x")), "−3 +1 lines");
        assert_eq!(in_one_line(Some("a\nb\nc\nd\n"), Some("A\nb\nc\nD\n")), "−2 +2 lines");
    }

    proptest! {
        #[test]
        fn merging_is_fair_and_keeps_both(base in "[abc\n]{0,12}", ours in "[abc\n]{0,12}", theirs in "[abc\n]{0,12}") {
            prop_assert_eq!(merged(&base, &ours, &theirs), merged(&base, &theirs, &ours));
        }
    }
}
