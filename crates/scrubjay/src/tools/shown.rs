//! Making foreign text safe to show: what cannot be seen, or would steer a terminal, becomes visible.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The text with control characters, bidirectional overrides and invisible tags written out as `⟦U+XXXX⟧`. Line breaks
/// and tabs stay, and so do the joiners that scripts and emoji need.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_hidden(letter) {
            mark(&mut out, letter);
        } else {
            out.push(letter);
        }
    }
    Cow::Owned(out)
}

/// A path on one line: as `shown`, with line breaks and bytes that are not UTF-8 written out too.
pub fn shown_path(path: &Path) -> String {
    let mut out = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\n' | '\t' => mark(&mut out, letter),
                letter if is_hidden(letter) => mark(&mut out, letter),
                letter => out.push(letter),
            }
        }
        for byte in chunk.invalid() {
            push(&mut out, format_args!("⟦{byte:02X}⟧"));
        }
    }
    out
}

/// The first `chars` characters of a line, and how many were left out. Cuts between characters, never inside one.
pub(super) fn cut(line: &str, chars: u64) -> Cow<'_, str> {
    let keep = usize::try_from(chars).unwrap_or(usize::MAX);
    match line.char_indices().nth(keep) {
        None => Cow::Borrowed(line),
        Some((end, _)) => {
            let more = line[end..].chars().count();
            Cow::Owned(format!("{}… [{more} more characters in this line]", &line[..end]))
        }
    }
}

/// `1 line`, `2 lines`.
pub(super) fn counted(count: usize, one: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {one}{plural}")
}

fn mark(out: &mut String, letter: char) {
    push(out, format_args!("⟦U+{:04X}⟧", u32::from(letter)));
}

/// Writing to a `String` cannot fail.
fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).unwrap_or_default();
}

fn is_hidden(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        '\u{e0000}'..='\u{e007f}' | '\u{fff9}'..='\u{fffb}' | '\u{fdd0}'..='\u{fdef}' => true,
        letter => letter.is_control() || u32::from(letter) & 0xfffe == 0xfffe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ffi::OsStr;

    // spec: X3
    #[test]
    fn what_hides_is_shown_and_what_people_write_is_kept() {
        for (text, seen) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[31mred", "⟦U+001B⟧[31mred"),
            ("a\u{202e}b", "a⟦U+202E⟧b"),
            ("tag\u{e0041}", "tag⟦U+E0041⟧"),
            ("nul\0", "nul⟦U+0000⟧"),
            ("over\rprint", "over⟦U+000D⟧print"),
            ("c1\u{9b}", "c1⟦U+009B⟧"),
            ("می\u{200c}خواهم 👩\u{200d}💻 é", "می\u{200c}خواهم 👩\u{200d}💻 é"),
        ] {
            assert_eq!(shown(text), seen);
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
        ] {
            assert_eq!(shown_path(Path::new(OsStr::from_bytes(name))), seen);
        }
    }

    #[test]
    fn lines_are_cut_between_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöü", 1), "ä… [2 more characters in this line]");
        assert_eq!(cut("", 0), "");
    }

    proptest! {
        #[test]
        fn showing_twice_changes_nothing_more(text in any::<String>(), chars in 0u64..20) {
            let once = shown(&text).into_owned();
            prop_assert_eq!(shown(&once), once.as_str());
            prop_assert!(!cut(&text, chars).is_empty() || text.is_empty());
        }
    }
}
