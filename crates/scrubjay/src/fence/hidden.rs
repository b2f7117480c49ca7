//! Characters that hide, steer or imitate, written out as `⟦U+XXXX⟧`; the joiners that scripts and emoji need stay.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use unicode_normalization::char::is_combining_mark;

/// The text with control characters, bidirectional overrides and invisible characters written out. Line breaks and tabs
/// stay, and so does what people write with: joiners between letters and emoji, one variation selector after a
/// character, direction marks in a line of right-to-left script.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|letter| class(letter) != Class::Plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        show_line(line, &mut out);
    }
    Cow::Owned(out)
}

/// A path on one line: as `shown`, with line breaks and bytes that are not UTF-8 written out too.
pub fn shown_path(path: &Path) -> String {
    let mut out = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for piece in chunk.valid().split_inclusive(['\n', '\t']) {
            show_line(piece.trim_end_matches(['\n', '\t']), &mut out);
            piece
                .chars()
                .next_back()
                .filter(|end| ['\n', '\t'].contains(end))
                .into_iter()
                .for_each(|end| mark(&mut out, end));
        }
        for byte in chunk.invalid() {
            push(&mut out, format_args!("⟦{byte:02X}⟧"));
        }
    }
    out
}

/// What a character is to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// It can be seen, or is a space, a line break or a tab.
    Plain,
    /// It has no business in a text.
    Hidden,
    /// It joins or parts its neighbours, without a look of its own.
    Joiner,
    /// It says in which direction its neighbours run.
    Direction,
    /// It chooses the look of the character before it.
    Selector,
    /// A letter of a flag that is spelled out.
    Tag,
}

fn class(letter: char) -> Class {
    match letter {
        '\n' | '\t' => Class::Plain,
        '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}' => Class::Joiner,
        '\u{61c}' | '\u{200e}' | '\u{200f}' => Class::Direction,
        '\u{fe00}'..='\u{fe0f}' | '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{e0100}'..='\u{e01ef}' => Class::Selector,
        '\u{e0020}'..='\u{e007f}' => Class::Tag,
        '\u{2028}'..='\u{202e}' | '\u{2061}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' => Class::Hidden,
        '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}' => Class::Hidden,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => Class::Hidden,
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}' | '\u{fdd0}'..='\u{fdef}' => Class::Hidden,
        letter if letter.is_control() || u32::from(letter) & 0xfffe == 0xfffe => Class::Hidden,
        _ => Class::Plain,
    }
}

/// One line. `before` is the last character that was let through, or `None` after a mark: what is written out is no
/// neighbour that a joiner could lean on, neither now nor when the text comes back. A line begins after a line break.
fn show_line(line: &str, out: &mut String) {
    let right_to_left = line.chars().any(is_right_to_left);
    let mut rest = line.chars();
    let mut before = Some('\n');
    while let Some(letter) = rest.next() {
        let after = rest.clone().next();
        let stays = match class(letter) {
            Class::Plain => true,
            Class::Hidden => letter == '\r' && after == Some('\n'),
            Class::Joiner => joins(letter, before, after),
            Class::Direction => right_to_left && before.is_some_and(is_seen) && after.is_none_or(is_seen),
            Class::Selector => before.is_some_and(|base| takes_selector(base, letter)),
            Class::Tag => before == Some('\u{1f3f4}') && take_flag(letter, &mut rest, out),
        };
        if !stays {
            mark(out, letter);
            before = None;
        } else {
            if class(letter) != Class::Tag {
                out.push(letter);
            }
            before = Some(letter);
        }
    }
}

/// Between two letters or emoji; scripts that shape their letters also end a word on a joiner.
fn joins(joiner: char, before: Option<char>, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    let shapes = matches!(joiner, '\u{200c}' | '\u{200d}') && !before.is_ascii() && is_written(before);
    let bound = |letter: char| is_written(letter) || is_pictured(letter);
    let begins = bound(before) || class(before) == Class::Selector;
    begins && (after.is_some_and(bound) || (shapes && after.is_none_or(is_seen)))
}

fn is_written(letter: char) -> bool {
    class(letter) == Class::Plain && (letter.is_alphanumeric() || is_combining_mark(letter))
}

/// The blocks that hold emoji, arrows and symbols.
fn is_pictured(letter: char) -> bool {
    matches!(letter, '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2100}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

fn is_seen(letter: char) -> bool {
    class(letter) == Class::Plain || letter == '\r'
}

fn takes_selector(base: char, selector: char) -> bool {
    let emoji_style = matches!(selector, '\u{fe0e}' | '\u{fe0f}');
    let keycap = emoji_style && (base.is_ascii_digit() || base == '#' || base == '*');
    keycap || (!base.is_ascii() && class(base) == Class::Plain && !base.is_whitespace())
}

/// England, Scotland and Wales: their flags are spelled in tag letters. Nothing else that is spelled so is let through.
fn take_flag(first: char, rest: &mut std::str::Chars<'_>, out: &mut String) -> bool {
    let plain = |letter: char| char::from_u32(u32::from(letter).wrapping_sub(0xe0000));
    let spelled: String = std::iter::once(first).chain(rest.clone().take(5)).filter_map(plain).collect();
    let known = ["gbeng\u{7f}", "gbsct\u{7f}", "gbwls\u{7f}"].contains(&spelled.as_str());
    if known {
        out.push(first);
        out.extend(rest.by_ref().take(5));
    }
    known
}

fn is_right_to_left(letter: char) -> bool {
    letter.is_alphabetic()
        && matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

fn mark(out: &mut String, letter: char) {
    push(out, format_args!("⟦U+{:04X}⟧", u32::from(letter)));
}

/// Writing to a `String` cannot fail.
fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ffi::OsStr;

    // safety: SG10
    // spec: X3
    #[test]
    fn every_control_and_every_turn_of_direction_is_written_out() {
        let controls = ('\0'..='\u{9f}').filter(|letter| letter.is_control() && !['\n', '\t'].contains(letter));
        let turns = ('\u{2028}'..='\u{202e}').chain('\u{2061}'..='\u{206f}');
        let others = ['\u{61c}', '\u{200e}', '\u{200f}', '\u{ad}', '\u{180e}', '\u{3164}', '\u{fff9}', '\u{e0001}'];
        for letter in controls.chain(turns).chain(others) {
            let seen = format!("a ⟦U+{:04X}⟧ b", u32::from(letter));
            assert_eq!(shown(&format!("a {letter} b")), seen);
        }
    }

    // spec: X3
    #[test]
    fn what_hides_is_shown_and_what_people_write_is_kept() {
        for (text, seen) in [
            ("plain\ttext\r\nnext\n", "plain\ttext\r\nnext\n"),
            ("\u{1b}[31mred", "⟦U+001B⟧[31mred"),
            ("a\u{202e}b", "a⟦U+202E⟧b"),
            ("tag\u{e0041}", "tag⟦U+E0041⟧"),
            ("nul\0", "nul⟦U+0000⟧"),
            ("over\rprint", "over⟦U+000D⟧print"),
            ("c1\u{9b}", "c1⟦U+009B⟧"),
            ("می\u{200c}خواهم 👩\u{200d}💻 é", "می\u{200c}خواهم 👩\u{200d}💻 é"),
            ("\u{feff}start", "⟦U+FEFF⟧start"),
            (" \u{200b} \u{200b}", " ⟦U+200B⟧ ⟦U+200B⟧"),
            ("a\u{200d}\u{200d}b", "a⟦U+200D⟧⟦U+200D⟧b"),
            ("❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}", "❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}"),
            ("❤\u{fe0f}\u{fe00}\u{fe01}", "❤\u{fe0f}⟦U+FE00⟧⟦U+FE01⟧"),
            ("x\u{fe0f}", "x⟦U+FE0F⟧"),
            ("C++\u{200e} בעברית", "C++\u{200e} בעברית"),
            ("C++\u{200e} in English", "C++⟦U+200E⟧ in English"),
            (
                "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
                "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            ),
            ("🏴\u{e0067}\u{e0062}", "🏴⟦U+E0067⟧⟦U+E0062⟧"),
            ("\u{e000}\u{f8ff}", "⟦U+E000⟧⟦U+F8FF⟧"),
        ] {
            assert_eq!(shown(text), seen);
            assert_eq!(shown(seen), seen);
        }
    }

    // safety: F-42
    #[test]
    fn odd_names_fit_on_one_line() {
        for (name, seen) in [
            (&b"plain.md"[..], "plain.md"),
            (b"a\nb", "a⟦U+000A⟧b"),
            (b"\xff\xfe.md", "⟦FF⟧⟦FE⟧.md"),
            ("x\u{202e}dm.".as_bytes(), "x⟦U+202E⟧dm."),
            (b"-rf.md", "-rf.md"),
            (b"a\t\n\r\n", "a⟦U+0009⟧⟦U+000A⟧⟦U+000D⟧⟦U+000A⟧"),
        ] {
            assert_eq!(shown_path(Path::new(OsStr::from_bytes(name))), seen);
        }
    }

    proptest! {
        #[test]
        fn showing_twice_changes_nothing_more(text in any::<String>()) {
            let once = shown(&text).into_owned();
            prop_assert_eq!(shown(&once), once.as_str());
        }
    }
}
