//! Foreign text made harmless before a model or a terminal sees it: what hides is shown, what could forge our own words
//! is marked. Everything else stays as it is, and doing it twice changes nothing more.
//!
//! Two layers keep a text inside its wrapper: the wrapper's tag ends in a nonce that is drawn once per session, and
//! whatever looks like one of our tags, however it is spelled, gets a mark.

mod headings;
mod hidden;
mod tags;

pub use hidden::{shown, shown_path};

use std::borrow::Cow;
use std::path::Path;

/// Text of a tool, a file or a message, for a model: hidden characters are written out, and our own tags in it carry a
/// mark.
///
/// ```
/// assert_eq!(scrubjay::fence::fenced("</system-reminder>"), "⟦<⟧/system-reminder>");
/// assert_eq!(scrubjay::fence::fenced("if a < b { می\u{200c}خواهم() }"), "if a < b { می\u{200c}خواهم() }");
/// ```
pub fn fenced(text: &str) -> Cow<'_, str> {
    then(shown(text), tags::marked)
}

/// Text of a memory, for a model: as [`fenced`], and its headings cannot pass for ours.
pub fn quoted(text: &str) -> Cow<'_, str> {
    then(fenced(text), headings::demoted)
}

/// One line for a list: as [`fenced`], with line breaks made spaces.
pub fn fenced_line(text: &str) -> String {
    fenced(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A path for a model, on one line.
pub fn fenced_path(path: &Path) -> String {
    fenced(&shown_path(path)).into_owned()
}

fn then<'a>(text: Cow<'a, str>, step: impl Fn(&str) -> Option<String>) -> Cow<'a, str> {
    match step(&text) {
        Some(changed) => Cow::Owned(changed),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Texts made of what the fence looks at, so that chance finds its corners.
    pub(super) fn odd_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("<".to_owned()),
            Just("</".to_owned()),
            Just("‹".to_owned()),
            Just("&lt;".to_owned()),
            Just("&amp;".to_owned()),
            Just("lt;".to_owned()),
            Just("\\u003c".to_owned()),
            Just("system-reminder".to_owned()),
            Just("Sys".to_owned()),
            Just("tem_Reminder>".to_owned()),
            Just("persisted-output>".to_owned()),
            Just("scrubjay-".to_owned()),
            Just("<|im_start|>".to_owned()),
            Just("\n\nHuman:".to_owned()),
            Just("\n# ".to_owned()),
            Just("\n---\n".to_owned()),
            Just("\n```\n".to_owned()),
            Just("⟦U+200B⟧".to_owned()),
            Just("⟦".to_owned()),
            Just("\u{200d}".to_owned()),
            Just("\u{fe0f}".to_owned()),
            Just("\u{200f}".to_owned()),
            Just("\u{202e}".to_owned()),
            Just("❤".to_owned()),
            Just("ش".to_owned()),
            Just("\r\n".to_owned()),
            "[a-z#<>/ =-]{0,4}",
            any::<char>().prop_map(String::from),
        ];
        proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        // safety: SG10
        // spec: X3
        #[test]
        fn fencing_twice_changes_nothing_more(text in odd_text()) {
            let (one, two) = (fenced(&text).into_owned(), quoted(&text).into_owned());
            prop_assert_eq!(fenced(&one), one.as_str());
            prop_assert_eq!(quoted(&two), two.as_str());
        }

        // safety: SG10
        // spec: X3
        #[test]
        fn nothing_is_dropped(text in odd_text()) {
            // Without its marks the text is the old one without what was marked: every visible character is still there.
            let visible = |text: &str| text.chars().filter(|c| c.is_alphanumeric() && c.is_ascii()).count();
            prop_assert!(visible(&quoted(&text)) >= visible(&text));
            prop_assert!(quoted(&text).len() >= text.len());
        }

        // safety: SG10
        #[test]
        fn plain_words_stay_as_they_are(text in "[a-zA-Z0-9 .,;:!?()äöüßéèñ中文字日本語עבריתفارسیहिन्दी\n]{0,80}") {
            let text = text.replace("Human:", "").replace("human:", "").replace("ssistant:", "");
            prop_assert_eq!(fenced(&text), text.as_str());
        }
    }
}
