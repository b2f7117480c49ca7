//! One colour and one letter for each layer and each part of the window, wherever a person meets them: bars, legends,
//! charts, pages. Colour is never alone: whatever is coloured carries its letter too.

use crate::paper::Ink;
use anstyle::{Ansi256Color, Style};
use scrubjay::ledger::Layer;
use scrubjay::tokens::Share;

/// How something is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// What stands for it where there is no colour: a letter for a part of the window, its number for a layer.
    pub(crate) letter: char,
    /// What it is called.
    pub(crate) name: &'static str,
    hue: &'static Hue,
}

/// One colour: on a terminal, on a light page, on a dark page.
#[derive(Debug, PartialEq, Eq)]
struct Hue {
    terminal: u8,
    light: &'static str,
    dark: &'static str,
}

const GREY: Hue = Hue { terminal: 250, light: "#7c828c", dark: "#9aa1ab" };
const SLATE: Hue = Hue { terminal: 245, light: "#5b616b", dark: "#767d88" };
const SKY: Hue = Hue { terminal: 117, light: "#2b87b8", dark: "#6cc3f0" };
const GREEN: Hue = Hue { terminal: 79, light: "#047857", dark: "#34c79a" };
const PURPLE: Hue = Hue { terminal: 141, light: "#7a3aa6", dark: "#b78be6" };
const BLUE: Hue = Hue { terminal: 75, light: "#1d5fd0", dark: "#5b9bf5" };
const ORANGE: Hue = Hue { terminal: 215, light: "#b86a00", dark: "#f2a93b" };
const YELLOW: Hue = Hue { terminal: 186, light: "#857300", dark: "#d9cc5a" };
const RED: Hue = Hue { terminal: 209, light: "#c2410c", dark: "#ff8a5c" };
const PINK: Hue = Hue { terminal: 218, light: "#b4407f", dark: "#ef9cc6" };
const TEAL: Hue = Hue { terminal: 80, light: "#0f766e", dark: "#3fcfc3" };
const INDIGO: Hue = Hue { terminal: 105, light: "#4840c4", dark: "#8f93f8" };

impl Mark {
    const fn new(letter: char, name: &'static str, hue: &'static Hue) -> Self {
        Self { letter, name, hue }
    }

    /// Room that is left.
    pub(crate) const FREE: Mark = Mark::new('.', "free", &GREY);

    /// Its colour on a light page, as CSS has it.
    pub(crate) fn light(self) -> &'static str {
        self.hue.light
    }

    /// Its colour on a dark page.
    pub(crate) fn dark(self) -> &'static str {
        self.hue.dark
    }

    /// A text in its colour.
    pub(crate) fn ink(self, ink: Ink, text: &str) -> String {
        ink.dye(Style::new().fg_color(Some(Ansi256Color(self.hue.terminal).into())), text)
    }

    /// So many cells of a bar. With colour the first cell has the letter, without it every cell has.
    pub(crate) fn cells(self, ink: Ink, count: usize) -> String {
        match (ink, count) {
            (_, 0) => String::new(),
            (Ink::Plain, count) => self.letter.to_string().repeat(count),
            (Ink::Coloured, count) => {
                let (black, ground) = (Ansi256Color(16).into(), Ansi256Color(self.hue.terminal).into());
                let style = Style::new().fg_color(Some(black)).bg_color(Some(ground));
                ink.dye(style, &format!("{:<count$}", self.letter))
            }
        }
    }

    /// Its letter as it stands in a legend.
    pub(crate) fn badge(self, ink: Ink) -> String {
        self.cells(ink, 1)
    }
}

/// Something that has a colour and a letter.
pub(crate) trait Marked {
    /// How it is drawn.
    fn mark(self) -> Mark;
}

impl Marked for Share {
    fn mark(self) -> Mark {
        match self {
            Share::System => Mark::new('S', "system prompt", &SLATE),
            Share::Tools => Mark::new('T', "tools", &GREY),
            Share::Instructions => Mark::new('I', "instructions", &SKY),
            Share::Memory => Mark::new('M', "memory", &GREEN),
            Share::Summary => Mark::new('U', "summaries", &PURPLE),
            Share::Conversation => Mark::new('C', "conversation", &BLUE),
            Share::ToolResults => Mark::new('R', "tool results", &ORANGE),
            Share::Notices => Mark::new('N', "notices", &YELLOW),
        }
    }
}

impl Marked for Layer {
    fn mark(self) -> Mark {
        let (letter, hue) = match self {
            Layer::ToolResults => ('1', &ORANGE),
            Layer::Microcompaction => ('2', &RED),
            Layer::SessionNotes => ('3', &PINK),
            Layer::Compaction | Layer::Collapse | Layer::Snip => ('4', &PURPLE),
            Layer::Extraction => ('5', &GREEN),
            Layer::Dreaming => ('6', &TEAL),
            Layer::Agents => ('7', &INDIGO),
            Layer::Recall => ('M', &GREEN),
            Layer::Lifetime => ('L', &SKY),
            Layer::Other => ('-', &GREY),
        };
        Mark::new(letter, self.word(), hue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const LAYERS: [Layer; 12] = [
        Layer::ToolResults,
        Layer::Microcompaction,
        Layer::SessionNotes,
        Layer::Compaction,
        Layer::Collapse,
        Layer::Snip,
        Layer::Extraction,
        Layer::Dreaming,
        Layer::Agents,
        Layer::Recall,
        Layer::Lifetime,
        Layer::Other,
    ];

    fn marks() -> Vec<Mark> {
        Share::ALL.into_iter().map(Marked::mark).chain(LAYERS.map(Marked::mark)).chain([Mark::FREE]).collect()
    }

    /// Relative luminance, as the accessibility guidelines define it.
    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
        one.max(other) / one.min(other)
    }

    #[test]
    fn parts_of_the_window_differ_in_letter_and_colour() {
        let letters: BTreeSet<char> = Share::ALL.into_iter().map(|share| share.mark().letter).collect();
        let colours: BTreeSet<u8> = Share::ALL.into_iter().map(|share| share.mark().hue.terminal).collect();
        assert_eq!((letters.len(), colours.len()), (Share::ALL.len(), Share::ALL.len()));
        assert!(!letters.contains(&Mark::FREE.letter));
    }

    #[test]
    fn layers_go_by_their_numbers() {
        let numbers: String =
            LAYERS.map(|layer| layer.mark().letter).into_iter().filter(char::is_ascii_digit).collect();
        assert_eq!(numbers, "123444567");
        assert_eq!(Layer::ToolResults.mark().hue, Share::ToolResults.mark().hue, "one thing, one colour");
    }

    #[test]
    fn colours_stand_out_from_both_pages() {
        for mark in marks() {
            assert!(contrast(mark.light(), "#ffffff") >= 3.0, "{mark:?} on white");
            assert!(contrast(mark.dark(), "#14171c") >= 3.0, "{mark:?} on black");
        }
    }

    #[test]
    fn cells_say_what_they_are_with_and_without_colour() {
        let mark = Share::ToolResults.mark();
        assert_eq!((mark.cells(Ink::Plain, 3).as_str(), mark.cells(Ink::Plain, 0).as_str()), ("RRR", ""));
        let coloured = mark.cells(Ink::Coloured, 3);
        assert!(coloured.contains("R  ") && coloured.starts_with('\u{1b}') && coloured.ends_with("\u{1b}[0m"));
    }
}
