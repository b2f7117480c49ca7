//! Names that only a machine or a catalogue gives: `a_b`, `A::b`, `camelCase`, `RFC7231`.

use super::claims::{Claim, Reading};
use super::tokens::{Shape, Tokens};

/// Letters that a unit of area or volume ends in, once its raised digit is plain: `m2`, `cm3`.
const METRES: [&str; 5] = ["m", "mm", "cm", "dm", "km"];

/// The identifier that begins at a token.
pub(super) fn at(tokens: &Tokens<'_>, at: usize) -> Option<Reading> {
    let path = path_length(tokens, at);
    if path > 1 {
        let claim = Claim::Identifier(folded(tokens.slice(at, at + path - 1)));
        return Some(Reading::certain(path, vec![claim]));
    }
    let word = tokens.word(at);
    let hard = match tokens.shape(at)? {
        Shape::Word => is_camel(word),
        Shape::Mixed => !is_unit(word) && !is_plain_digits(word),
        _ => false,
    };
    hard.then(|| Reading::certain(1, vec![Claim::Identifier(folded(word))]))
}

/// How many tokens `A::b::c` takes.
fn path_length(tokens: &Tokens<'_>, at: usize) -> usize {
    let is_name = |at| matches!(tokens.shape(at), Some(Shape::Word | Shape::Mixed));
    let mut length = usize::from(is_name(at));
    while length > 0
        && (0..3).all(|step| tokens.touches(at + length + step))
        && tokens.is_mark(at + length, &[':'])
        && tokens.is_mark(at + length + 1, &[':'])
        && is_name(at + length + 2)
    {
        length += 3;
    }
    length
}

/// The form in which two spellings of an identifier are equal.
pub(super) fn folded(word: &str) -> String {
    let lower: String =
        word.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '\'')).flat_map(char::to_lowercase).collect();
    match lower.strip_suffix('s') {
        Some(stem) if stem.chars().count() > 2 => stem.to_owned(),
        _ => lower,
    }
}

/// Three small letters, then a capital with a small letter after it. `GitHub`, `macOS`, `iPhone` and `mmHg` are names and units.
fn is_camel(word: &str) -> bool {
    let small = word.chars().take_while(|c| c.is_lowercase()).count();
    let hump = |pair: (char, char)| pair.0.is_uppercase() && pair.1.is_lowercase();
    small > 2 && word.chars().zip(word.chars().skip(1)).skip(small).any(hump)
}

fn is_unit(word: &str) -> bool {
    let stem = word.trim_end_matches(['2', '3']);
    stem.len() + 1 == word.len() && METRES.contains(&stem)
}

/// `1_000` is a number.
fn is_plain_digits(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
}
