//! From words to a topic: which kind, which title. Rules of thumb, each of which says why.

use super::Kind;
use crate::secrets;

const TITLE_WORDS: usize = 7;
const TITLE_CHARS: usize = 48;
const DESCRIPTION_CHARS: usize = 120;

/// What decides a type when nobody says it: the first row that fits. The last column is how the reason is told.
const RULES: &[(Kind, &[&str], &str)] = &[
    (
        Kind::Reference,
        &["http://", "https://", "documented in", "documented at", "can be found", "dashboard", "wiki"],
        "says where something is",
    ),
    (
        Kind::User,
        &[
            "i am",
            "i'm",
            "i work",
            "i prefer",
            "i like",
            "i know",
            "i have",
            "call me",
            "my role",
            "my name",
            "my background",
        ],
        "is about you",
    ),
    (
        Kind::Feedback,
        &[
            "always",
            "never",
            "don't",
            "do not",
            "prefer",
            "avoid",
            "instead of",
            "stop",
            "must not",
            "please",
            "should",
        ],
        "says how to work",
    ),
];

/// The kind that words seem to be, and why.
pub fn kind_of(text: &str) -> (Kind, String) {
    let text = spaced(text);
    let holds = |words: &&&str| has(&text, words);
    let fits = RULES.iter().find_map(|(kind, words, why)| words.iter().find(holds).map(|word| (*kind, word, why)));
    match fits {
        Some((kind, word, why)) => (kind, format!("`{word}` {why}")),
        None => {
            (Kind::Project, "nothing in it says that it is about you, how to work or where something is".to_owned())
        }
    }
}

/// A title of these words: the first few of the first sentence. No credential becomes the name of a file.
pub fn title(text: &str) -> String {
    let clean = secrets::left_out(text);
    let mut words: Vec<&str> = Vec::new();
    for word in first_line(&clean).split_whitespace().take(TITLE_WORDS) {
        words.push(word);
        if word.ends_with(['.', '!', '?', ';', '。', '！', '？', '；']) {
            break;
        }
    }
    cut(words.join(" ").trim_end_matches(['.', '!', '?', ';', ',', ':', '。', '！', '，', '；']), TITLE_CHARS)
}

/// A description of these words: their first line. No credential becomes a line of the index.
pub fn description(text: &str) -> String {
    cut(first_line(&secrets::left_out(text)), DESCRIPTION_CHARS)
}

/// Lower case, with one space around each word.
pub fn spaced(text: &str) -> String {
    let plain = text.to_lowercase().replace('’', "'");
    let words = plain.split_whitespace().map(|word| word.trim_matches([',', '.', ';', ':', '!', '?', '"', '(', ')']));
    format!(" {} ", words.collect::<Vec<_>>().join(" "))
}

/// Whether a spaced text has this word.
pub fn has(spaced: &str, word: &str) -> bool {
    let inside = word.ends_with('/') || word.starts_with('`');
    if inside { spaced.contains(word) } else { spaced.contains(&format!(" {word} ")) }
}

/// At most so many characters, cut at a word.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    let end = kept.rfind(' ').filter(|end| *end > kept.len() / 2).unwrap_or(kept.len());
    format!("{}…", kept[..end].trim_end())
}

fn first_line(text: &str) -> &str {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or(text);
    line.trim_start_matches(['#', '-', '*', ' '])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_kind_has_a_reason() {
        for (text, kind, word) in [
            ("Never mock the database.", Kind::Feedback, "`never`"),
            ("I'm a violinist who writes Rust.", Kind::User, "`i'm`"),
            ("Alarms are listed on https://status.example/board", Kind::Reference, "`https://`"),
            ("Nevertheless the shipment left.", Kind::Project, "nothing"),
        ] {
            let (found, why) = kind_of(text);
            assert_eq!(found, kind, "{text}");
            assert!(why.contains(word), "{why}");
        }
    }

    proptest! {
        #[test]
        fn titles_and_descriptions_stay_short(text in "\\PC{0,200}(\n\\PC{0,20}){0,2}") {
            prop_assert!(title(&text).chars().count() <= TITLE_CHARS);
            prop_assert!(description(&text).chars().count() <= DESCRIPTION_CHARS);
        }
    }
}
