//! Words, digits and marks of a plain text.

use super::plain::{is_han, is_letter};
use std::ops::Range;

/// What a token is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Letters alone.
    Word,
    /// Digits alone.
    Digits,
    /// Letters, digits and underscores together.
    Mixed,
    /// One character of a script without spaces.
    Han,
    /// Anything else that is no space. An empty line is the mark `\n`.
    Mark(char),
}

/// One token.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) shape: Shape,
    pub(super) span: Range<usize>,
}

/// The tokens of a text.
pub(super) struct Tokens<'t> {
    pub(super) text: &'t str,
    all: Vec<Token>,
}

impl<'t> Tokens<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let mut all = Vec::with_capacity(text.len() / 5);
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let end = match c {
                c if is_word(c) => word_end(text, at),
                c if c.is_whitespace() => at + text[at..].find(|c: char| !c.is_whitespace()).unwrap_or(text.len() - at),
                c => at + c.len_utf8(),
            };
            let shape = match c {
                c if is_word(c) => Some(shape_of(&text[at..end])),
                c if is_han(c) => Some(Shape::Han),
                // What an empty line parts is not read together.
                c if c.is_whitespace() => (text[at..end].matches('\n').count() > 1).then_some(Shape::Mark('\n')),
                c => Some(Shape::Mark(c)),
            };
            all.extend(shape.map(|shape| Token { shape, span: at..end }));
            at = end;
        }
        Self { text, all }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&Token> {
        self.all.get(at)
    }

    pub(super) fn shape(&self, at: usize) -> Option<Shape> {
        self.get(at).map(|token| token.shape)
    }

    /// The text of a token; empty past the end.
    pub(super) fn word(&self, at: usize) -> &'t str {
        self.get(at).map_or("", |token| &self.text[token.span.clone()])
    }

    /// The digits of a token that has nothing else.
    pub(super) fn digits(&self, at: usize) -> Option<&'t str> {
        (self.shape(at) == Some(Shape::Digits)).then(|| self.word(at))
    }

    pub(super) fn is_mark(&self, at: usize, marks: &[char]) -> bool {
        matches!(self.shape(at), Some(Shape::Mark(mark)) if marks.contains(&mark))
    }

    /// Whether two neighbours touch: nothing stands between the token at `at` and the one before it.
    pub(super) fn touches(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.get(before));
        matches!((before, self.get(at)), (Some(before), Some(token)) if before.span.end == token.span.start)
    }

    /// The text from one token to another, itself included.
    pub(super) fn slice(&self, from: usize, to: usize) -> &'t str {
        match (self.get(from), self.get(to)) {
            (Some(first), Some(last)) => self.text.get(first.span.start..last.span.end).unwrap_or_default(),
            _ => "",
        }
    }

    /// Whether the token is the first of its line.
    pub(super) fn starts_line(&self, at: usize) -> bool {
        let Some(token) = self.get(at) else { return false };
        let before = at.checked_sub(1).and_then(|before| self.get(before));
        let from = before.map_or(0, |before| before.span.end);
        let parted = before.is_none_or(|before| before.shape == Shape::Mark('\n'));
        parted || self.text[from..token.span.start].contains('\n')
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_digit() || is_letter(c)
}

/// Where the word that begins at `at` ends. An underscore belongs to it between letters and digits.
fn word_end(text: &str, at: usize) -> usize {
    let mut end = at;
    let mut chars = text[at..].char_indices().peekable();
    while let Some((offset, c)) = chars.next() {
        let joins = c == '_' && chars.clone().find(|(_, c)| *c != '_').is_some_and(|(_, next)| is_word(next));
        if !is_word(c) && !joins {
            break;
        }
        end = at + offset + c.len_utf8();
        if joins {
            // The rest of a run of underscores joins as well; it is not looked at again.
            while let Some((offset, _)) = chars.next_if(|(_, c)| *c == '_') {
                end = at + offset + 1;
            }
        }
    }
    end
}

fn shape_of(word: &str) -> Shape {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    match digits {
        0 if !word.contains('_') => Shape::Word,
        digits if digits == word.len() => Shape::Digits,
        _ => Shape::Mixed,
    }
}
