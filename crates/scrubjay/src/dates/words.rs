//! A text as words and marks, and which of them are prose.
//!
//! A name in code, a path, a version or an address is not prose: nothing inside it is a date.

use std::ops::Range;

/// A word, a mark, or the end of a paragraph.
#[derive(Debug, Clone)]
pub(super) struct Word<'a> {
    /// As written.
    pub(super) raw: &'a str,
    /// In lower case.
    pub(super) lower: String,
    /// Where it stands.
    pub(super) span: Range<usize>,
}

impl Word<'_> {
    /// Whether it begins with a capital letter.
    pub(super) fn is_capitalised(&self) -> bool {
        self.raw.starts_with(char::is_uppercase)
    }
}

/// Ideographs and their punctuation: no spaces stand between words.
pub(super) fn is_han(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{303f}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}')
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() && !is_han(c)
}

/// Words and marks in order. `'s` and `'ll` are words of their own; an empty line is the mark `¶`.
pub(super) fn split(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        let apostrophe = matches!(c, '\'' | '’');
        if is_letter(c) || apostrophe {
            while let Some((at, next)) = chars.next_if(|(_, next)| is_letter(*next)) {
                end = at + next.len_utf8();
            }
        } else if c.is_whitespace() {
            let mut lines = usize::from(c == '\n');
            while let Some((_, next)) = chars.next_if(|(_, next)| next.is_whitespace()) {
                lines += usize::from(next == '\n');
            }
            if lines > 1 {
                words.push(Word { raw: "¶", lower: "¶".to_owned(), span: start..end });
            }
            continue;
        }
        let raw = &text[start..end];
        words.push(Word { raw, lower: raw.to_lowercase().replace('’', "'"), span: start..end });
    }
    words
}

/// Where paragraphs end.
pub(super) fn empty_lines(text: &str) -> impl Iterator<Item = usize> {
    split(text).into_iter().filter(|word| word.raw == "¶").map(|word| word.span.start)
}

/// Stretches of code: between fences, between backticks.
pub(super) fn code(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(open) = text[from..].find('`').map(|at| from + at) {
        let ticks = text[open..].bytes().take_while(|byte| *byte == b'`').count();
        let inside = open + ticks;
        let close = closing(text, inside, ticks);
        // A fence that never closes runs to the end; a lone backtick is a mark like any other.
        let end = match close {
            Some(close) => close + ticks,
            None if ticks >= 3 => text.len(),
            None => inside,
        };
        if end > inside {
            found.push(open..end);
        }
        from = end;
    }
    found
}

fn closing(text: &str, from: usize, ticks: usize) -> Option<usize> {
    let mut at = from;
    while let Some(next) = text[at..].find('`').map(|found| at + found) {
        let run = text[next..].bytes().take_while(|byte| *byte == b'`').count();
        if run == ticks {
            return Some(next);
        }
        at = next + run;
    }
    None
}

/// Whether what stands at `span` is joined to something else: part of a path, an address, a version, a longer name.
pub(super) fn is_joined(text: &str, span: &Range<usize>) -> bool {
    let mut before = text[..span.start].chars().rev();
    let left = match before.next() {
        Some(c) if is_letter(c) => true,
        Some('/' | '\\' | '_' | '@' | '#' | '-' | '–' | '~' | '=' | '&' | '?' | '%' | '+' | '$' | '.' | ':') => true,
        Some(',') => before.next().is_some_and(|c| c.is_ascii_digit()),
        _ => false,
    };
    let mut after = text[span.end..].chars();
    let right = match after.next() {
        Some(c) if is_letter(c) => true,
        Some('/' | '\\' | '_' | '@' | '=' | '&' | '%' | '-' | '–' | '~' | '+' | '(') => true,
        Some('.' | ':' | '#') => after.next().is_some_and(is_letter),
        _ => false,
    };
    left || right
}
