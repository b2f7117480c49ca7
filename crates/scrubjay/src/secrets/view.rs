//! A text as a reader sees it: compatibility forms made plain, invisible characters gone, every byte still knowing its place.

use std::ops::Range;
use unicode_normalization::UnicodeNormalization;

/// Text to search, and where each of its bytes stood.
pub(super) struct View<'t> {
    text: std::borrow::Cow<'t, str>,
    /// Origin of each byte, and of the end; empty where nothing moved.
    places: Vec<usize>,
    /// Where a line break was taken out.
    breaks: Vec<usize>,
}

impl<'t> View<'t> {
    /// `text` in compatibility form, without what cannot be seen.
    pub(super) fn of(text: &'t str) -> Self {
        if text.is_ascii() {
            return Self { text: text.into(), places: Vec::new(), breaks: Vec::new() };
        }
        let (mut out, mut places) = (String::with_capacity(text.len()), Vec::with_capacity(text.len()));
        for (at, c) in text.char_indices().filter(|(_, c)| !is_invisible(*c)) {
            if c.is_ascii() {
                out.push(c);
            } else {
                out.extend(std::iter::once(c).nfkd());
            }
            places.resize(out.len(), at);
        }
        places.push(text.len());
        Self { text: out.into(), places, breaks: Vec::new() }
    }

    /// The text from `from` on, at most `room` bytes of it, with line breaks and their indentation taken out.
    pub(super) fn joined(&self, from: usize, room: usize) -> View<'static> {
        let (mut out, mut places, mut breaks) = (String::new(), Vec::new(), Vec::new());
        let end = self.text.floor_char_boundary(from.saturating_add(room));
        let mut rest = &self.text[from..end];
        while let Some(c) = rest.chars().next() {
            let at = end - rest.len();
            let gap = gap(rest);
            if gap > 0 {
                breaks.push(out.len());
                rest = &rest[gap..];
                continue;
            }
            out.push(c);
            places.resize(out.len(), self.place(at));
            rest = &rest[c.len_utf8()..];
        }
        places.push(self.place(end));
        View { text: out.into(), places, breaks }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether a line broke at `at`.
    pub(super) fn is_break(&self, at: usize) -> bool {
        self.breaks.binary_search(&at).is_ok()
    }

    fn place(&self, at: usize) -> usize {
        if self.places.is_empty() { at } else { self.places.get(at).copied().unwrap_or_default() }
    }

    /// Where a stretch of the view stands in the text it was made of. A character that became several belongs to it whole.
    pub(super) fn origin(&self, span: Range<usize>) -> Range<usize> {
        let start = self.place(span.start);
        let mut end = span.end;
        // The last byte's character ends where the next one that stood elsewhere begins.
        while end < self.text.len() && self.place(end) == self.place(span.end.saturating_sub(1)) {
            end += 1;
        }
        start..self.place(end)
    }
}

/// How long the line break is that a text begins with, its continuation mark and indentation included.
fn gap(text: &str) -> usize {
    let after = text.strip_prefix('\\').unwrap_or(text);
    match after.strip_prefix("\r\n").or_else(|| after.strip_prefix(['\n', '\r'])) {
        Some(after) => text.len() - after.trim_start_matches([' ', '\t']).len(),
        None => 0,
    }
}

/// Whether a character takes no place on a page.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e01ef}'
    )
}
