//! The window over the turns, as columns of text: one colour for each part of it, or its letter where there is no colour.

use super::play::Frame;
use crate::layers::{Mark, Marked as _};
use crate::paper::{Glyphs, Ink};
use crate::sketch::Pencil;
use scrubjay::tokens::Share;

/// Parts from the bottom up, in the order in which a request holds them.
pub(super) const SHARES: [Share; 8] = [
    Share::Tools,
    Share::System,
    Share::Instructions,
    Share::Summary,
    Share::Conversation,
    Share::ToolResults,
    Share::Memory,
    Share::Notices,
];

/// A drawing surface: so many columns for so many turns, so many rows for so many tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Canvas<'a> {
    /// The pencil is as wide as the surface.
    pub(super) pencil: Pencil,
    pub(super) rows: usize,
    pub(super) turns: usize,
    /// Where the window is compacted.
    pub(super) line: u64,
    /// How full it is after each turn.
    pub(super) frames: &'a [Frame],
    /// How full it would be without the layers.
    pub(super) without: &'a [u64],
}

const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

impl Canvas<'_> {
    /// The rows, the highest first, each with its scale in front.
    pub(super) fn draw(&self) -> Vec<String> {
        let row = |row: usize| {
            let cells: String = (0..self.pencil.width).map(|column| self.cell(column, row)).collect();
            format!("{} {cells}", self.scale(row))
        };
        (0..self.rows).rev().map(row).collect()
    }

    /// The turns that share a column, of so many that there are.
    fn turns(&self, column: usize, there: usize) -> std::ops::Range<usize> {
        let place = |column: usize| (column * self.turns / self.pencil.width).min(there);
        place(column)..place(column + 1).max(place(column) + 1).min(there)
    }

    fn scale(&self, row: usize) -> String {
        let (low, high) = self.span(row);
        let [line, other] = self.glyphs(['┄', '│'], ['-', '|']);
        let sign = if (low..high).contains(&self.line) { line } else { other };
        format!("{:>5}{sign}", format!("{}k", high / 1_000))
    }

    fn glyphs(&self, drawn: [char; 2], ascii: [char; 2]) -> [char; 2] {
        if self.pencil.glyphs == Glyphs::Ascii { ascii } else { drawn }
    }

    /// From where to where a row reaches.
    fn span(&self, row: usize) -> (u64, u64) {
        let highest = self.frames.iter().map(Frame::tokens).chain(self.without.iter().copied()).max();
        let top = highest.unwrap_or(0).max(self.line);
        let height = |row: usize| top * row as u64 / self.rows as u64;
        (height(row), height(row + 1))
    }

    fn cell(&self, column: usize, row: usize) -> String {
        let (low, high) = self.span(row);
        let frame = self.frames[self.turns(column, self.frames.len())].iter().max_by_key(|frame| frame.tokens());
        let tokens = frame.map_or(0, Frame::tokens);
        let Some(frame) = frame.filter(|_| tokens > low) else { return self.empty(column, (low, high)) };
        let middle = low + (tokens.min(high) - low) / 2;
        let mark = covering(frame, middle).mark();
        let eighths = usize::try_from(((tokens.min(high) - low) * 8).div_ceil((high - low).max(1))).unwrap_or(8);
        match (self.pencil.ink, self.pencil.glyphs) {
            (Ink::Coloured, Glyphs::Drawn) => mark.ink(self.pencil.ink, &EIGHTHS[eighths.min(8)].to_string()),
            (ink, _) => mark.ink(ink, &mark.letter.to_string()),
        }
    }

    /// What is seen where the window does not reach: how high it would be without the layers, and where it is compacted.
    fn empty(&self, column: usize, (low, high): (u64, u64)) -> String {
        let without = self.without[self.turns(column, self.without.len())].iter().max().copied().unwrap_or(0);
        let [dot, line] = self.glyphs(['·', '┄'], ['.', '-']);
        let sign = match () {
            () if without > low && without <= high => dot,
            () if (low..high).contains(&self.line) => line,
            () => ' ',
        };
        Mark::FREE.ink(self.pencil.ink, &sign.to_string())
    }
}

/// Whose tokens stand at this height.
fn covering(frame: &Frame, height: u64) -> Share {
    let mut sum = 0;
    let reaches = |share: &Share| {
        sum += frame.window.get(share).copied().unwrap_or(0);
        sum > height
    };
    SHARES.into_iter().find(reaches).unwrap_or(Share::Conversation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn frame(turn: usize, tools: u64, results: u64) -> Frame {
        let window = [(Share::Tools, tools), (Share::ToolResults, results)].into();
        Frame { turn, at: Timestamp::UNIX_EPOCH, words: String::new(), window, firings: Vec::new() }
    }

    fn canvas<'a>(width: usize, rows: usize, frames: &'a [Frame], without: &'a [u64]) -> Canvas<'a> {
        let pencil = Pencil { ink: Ink::Plain, glyphs: Glyphs::Drawn, width };
        Canvas { pencil, rows, turns: 4, line: 90_000, frames, without }
    }

    #[test]
    fn parts_stand_on_each_other_and_turns_beside_each_other() {
        let frames = [frame(1, 40_000, 0), frame(2, 40_000, 60_000), frame(3, 10_000, 0)];
        let drawn = canvas(4, 5, &frames, &[40_000, 100_000, 70_000]).draw();
        assert_eq!(drawn, [" 100k┄ ┄R┄┄", "  80k│  R· ", "  60k│  R  ", "  40k│ TT  ", "  20k│ TTT "]);
    }

    #[test]
    fn turns_that_share_a_column_show_the_highest() {
        let frames = [frame(1, 10_000, 0), frame(2, 90_000, 0)];
        assert_eq!(canvas(2, 2, &frames, &[]).draw(), ["  90k│ T ", "  45k│ T "]);
        assert_eq!(canvas(2, 2, &[], &[]).draw(), ["  90k│   ", "  45k│   "]);
    }
}
