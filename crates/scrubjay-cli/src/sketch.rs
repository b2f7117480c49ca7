//! Small pictures in one line: a bar of parts, a line over time.

use crate::layers::{Mark, Marked as _};
use crate::paper::{Glyphs, Ink};
use scrubjay::tokens::Share;
use std::collections::BTreeMap;

/// What pictures are drawn with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pencil {
    /// Colour.
    pub(crate) ink: Ink,
    /// Letters.
    pub(crate) glyphs: Glyphs,
    /// How wide a picture may be.
    pub(crate) width: usize,
}

/// The window by parts, in the order in which a request holds them, and what is free. What is there is seen: each part has a
/// cell at least. Where the window holds more than it should, the picture is the whole of that.
pub(crate) fn bar(parts: &BTreeMap<Share, u64>, window: u64, pencil: Pencil) -> String {
    let mut bar = String::new();
    let mut drawn = 0;
    for (share, cells) in cells(parts, window, pencil.width) {
        bar.push_str(&share.mark().cells(pencil.ink, cells));
        drawn += cells;
    }
    let free = match pencil.glyphs {
        Glyphs::Drawn => "·",
        Glyphs::Ascii => ".",
    };
    bar.push_str(&Mark::FREE.ink(pencil.ink, &free.repeat(pencil.width.saturating_sub(drawn))));
    bar
}

/// How many cells each part has: its share of the width, and one at least as long as there is room.
fn cells(parts: &BTreeMap<Share, u64>, window: u64, width: usize) -> Vec<(Share, usize)> {
    let used: u64 = parts.values().fold(0, |sum, tokens| sum.saturating_add(*tokens));
    let whole = u128::from(window.max(used).max(1));
    let share = |tokens: u64| u128::from(tokens) * width as u128;
    let mut cells: Vec<(Share, usize, u128)> = Share::ALL
        .into_iter()
        .filter_map(|part| parts.get(&part).filter(|tokens| **tokens > 0).map(|tokens| (part, *tokens)))
        .map(|(part, tokens)| {
            (part, usize::try_from(share(tokens) / whole).unwrap_or(width).max(1), share(tokens) % whole)
        })
        .collect();
    let aim = usize::try_from(share(used).div_ceil(whole)).unwrap_or(width).min(width);
    let sum = |cells: &[(Share, usize, u128)]| cells.iter().map(|(_, count, _)| count).sum::<usize>();
    while sum(&cells) < aim {
        let Some(next) = cells.iter_mut().max_by_key(|(_, _, rest)| *rest) else { break };
        (next.1, next.2) = (next.1 + 1, 0);
    }
    while sum(&cells) > width {
        let Some(largest) = cells.iter_mut().max_by_key(|(_, count, _)| *count) else { break };
        largest.1 -= 1;
    }
    cells.into_iter().map(|(part, count, _)| (part, count)).collect()
}

/// What a line over time shows in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// How high.
    pub(crate) height: u64,
    /// Whether something happened here that is marked below.
    pub(crate) is_marked: bool,
}

/// Heights as a line of columns, and below it a mark where something happened; the second line is empty when nothing did.
/// More steps than columns share one, and the highest is seen.
pub(crate) fn spark(steps: &[Step], pencil: Pencil) -> (String, String) {
    let (levels, mark): (&[char], char) = match pencil.glyphs {
        Glyphs::Drawn => (&['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'], '▴'),
        Glyphs::Ascii => (&['_', '.', '-', '=', '+', '*', '#'], '^'),
    };
    let top = u128::from(steps.iter().map(|step| step.height).max().unwrap_or_default().max(1));
    let columns = steps.len().min(pencil.width);
    let (mut line, mut below) = (String::new(), String::new());
    for column in 0..columns {
        let part = &steps[column * steps.len() / columns..(column + 1) * steps.len() / columns];
        let height = u128::from(part.iter().map(|step| step.height).max().unwrap_or_default());
        let level = usize::try_from(height * (levels.len() as u128 - 1) / top).unwrap_or_default();
        line.extend(levels.get(level));
        below.push(if part.iter().any(|step| step.is_marked) { mark } else { ' ' });
    }
    (line, below.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(width: usize) -> Pencil {
        Pencil { ink: Ink::Plain, glyphs: Glyphs::Ascii, width }
    }

    // spec: U7
    #[test]
    fn a_bar_shows_its_parts_in_proportion() {
        let parts = BTreeMap::from([(Share::ToolResults, 50), (Share::System, 20), (Share::Conversation, 30)]);
        assert_eq!(bar(&parts, 200, plain(20)), "SSCCCRRRRR..........");
        assert_eq!(bar(&parts, 50, plain(10)), "SSCCCRRRRR", "more than it should hold");
        assert_eq!(bar(&BTreeMap::new(), 0, plain(4)), "....");
        let few = BTreeMap::from([(Share::Tools, 3), (Share::Conversation, 1)]);
        assert_eq!(bar(&few, 1_000_000, plain(8)), "TC......", "what is there is seen");
        assert_eq!(bar(&few, 4, plain(8)), "TTTTTTCC");
        let drawn = bar(&parts, 200, Pencil { glyphs: Glyphs::Drawn, ..plain(20) });
        assert!(drawn.ends_with("R··········"), "{drawn}");
    }

    #[test]
    fn a_line_over_time_marks_what_happened() {
        let steps: Vec<Step> =
            [10, 40, 70, 20, 30].iter().map(|height| Step { height: *height, is_marked: *height == 20 }).collect();
        assert_eq!(spark(&steps, plain(20)), ("_=#.-".to_owned(), "   ^".to_owned()));
        let (short, below) = spark(&steps, plain(2));
        assert_eq!((short.as_str(), below.as_str()), ("=#", " ^"), "what is squeezed is still seen");
        assert_eq!(spark(&[], plain(20)), (String::new(), String::new()));
    }

    proptest! {
        #[test]
        fn pictures_are_as_wide_as_they_may_be(
            tokens in proptest::collection::vec(any::<u32>(), 8),
            window in any::<u64>(),
            width in 1..200usize,
        ) {
            let parts: BTreeMap<Share, u64> = Share::ALL.into_iter().zip(tokens.iter().map(|one| u64::from(*one))).collect();
            prop_assert_eq!(bar(&parts, window, plain(width)).chars().count(), width);
            let steps: Vec<Step> = tokens.iter().map(|one| Step { height: u64::from(*one), is_marked: true }).collect();
            let (line, below) = spark(&steps, plain(width));
            prop_assert_eq!(line.chars().count(), width.min(steps.len()));
            prop_assert_eq!(line.chars().count(), below.chars().count());
        }
    }
}
