//! How much of a line is shown, and how things are counted in words.

pub use crate::fence::{shown, shown_path};

use std::borrow::Cow;

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_cut_between_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöü", 1), "ä… [2 more characters in this line]");
        assert_eq!(cut("", 0), "");
    }

    proptest! {
        #[test]
        fn any_line_can_be_cut(text in any::<String>(), chars in 0u64..20) {
            prop_assert!(!cut(&text, chars).is_empty() || text.is_empty());
        }
    }
}
