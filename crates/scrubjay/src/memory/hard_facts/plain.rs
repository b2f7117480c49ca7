//! A text as a reader sees it: compatibility forms made plain, invisible characters gone, digits of every script as ASCII.

use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The zeros of scripts that people write numbers in; NFKC only knows the full-width ones.
const ZEROS: [char; 6] = ['\u{660}', '\u{6f0}', '\u{966}', '\u{9e6}', '\u{e50}', '\u{1040}'];

/// The text after NFKC, without format characters.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    text.chars().filter(|c| !is_format(*c)).flat_map(apart).nfkc().map(digit).collect::<String>().into()
}

/// `1½` is not eleven halves: a fraction gets a space before it.
fn apart(c: char) -> impl Iterator<Item = char> {
    let is_fraction = matches!(c, '\u{bc}'..='\u{be}' | '\u{2150}'..='\u{215e}' | '\u{2189}');
    is_fraction.then_some(' ').into_iter().chain([c])
}

/// Digits of other scripts, and the sign in sizes: `M8×40` is `M8x40`.
fn digit(c: char) -> char {
    if c == '×' {
        return 'x';
    }
    let offset = |zero: &char| u32::from(c).checked_sub(u32::from(*zero)).filter(|offset| *offset < 10);
    let found = if c.is_ascii() { None } else { ZEROS.iter().find_map(offset) };
    found.and_then(|value| char::from_digit(value, 10)).unwrap_or(c)
}

fn is_format(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{180b}'..='\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e01ef}'
    )
}

/// Ideographs, kana and Hangul: no spaces stand between words.
pub(super) fn is_han(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3130}'..='\u{318f}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Letters of the scripts that part words by spaces.
pub(super) fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || !c.is_ascii() && (c.is_alphanumeric() || is_combining_mark(c)) && !is_han(c)
}
