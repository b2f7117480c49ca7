//! What is known of English before any document is read: words that carry nothing, odd forms, words of one meaning,
//! words of time and of change. General tables, none of them made for a collection.

use super::stem::stem;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

static STOP: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("words/stop.txt").split_whitespace().collect());
static TIME: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("words/time.txt").split_whitespace().collect());
static CHANGE: LazyLock<HashSet<String>> =
    LazyLock::new(|| include_str!("words/change.txt").split_whitespace().filter_map(normal).collect());

/// An odd form to the word it is a form of: the first word of each line.
static IRREGULAR: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let rows = include_str!("words/irregular.txt").lines().map(|line| line.split(' '));
    rows.flat_map(|mut row| {
        let base = row.next().unwrap_or_default();
        row.map(move |form| (form, base))
    })
    .collect()
});

/// A word in its normal form to the others of its lines.
static SAME: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut same: HashMap<String, Vec<String>> = HashMap::new();
    for line in include_str!("words/same.txt").lines() {
        let row: Vec<String> = line.split(' ').filter_map(normal).collect();
        for word in &row {
            let others = same.entry(word.clone()).or_default();
            for other in row.iter().filter(|other| *other != word) {
                if !others.contains(other) {
                    others.push(other.clone());
                }
            }
        }
    }
    same
});

/// The form under which a lower-case word is filed, or nothing when it says nothing.
pub(super) fn normal(word: &str) -> Option<String> {
    if STOP.contains(word) {
        return None;
    }
    Some(stem(IRREGULAR.get(word).copied().unwrap_or(word)))
}

/// Words of nearly the same meaning, in normal form.
pub(super) fn same(normal: &str) -> &'static [String] {
    SAME.get(normal).map_or(&[], Vec::as_slice)
}

/// Whether a lower-case word, as written, speaks of time.
pub(super) fn is_time(word: &str) -> bool {
    let is_year = word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    let ordinal =
        word.strip_suffix("st").or(word.strip_suffix("nd")).or(word.strip_suffix("rd")).or(word.strip_suffix("th"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    TIME.contains(word) || (is_year && is_digits(word)) || ordinal.is_some_and(is_digits)
}

/// Whether a word in normal form says that something is not as it was.
pub(super) fn is_change(normal: &str) -> bool {
    CHANGE.contains(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word_are_one_word() {
        for (form, base) in [("went", "go"), ("children", "child"), ("bought", "buying"), ("citizens", "citizenship")] {
            assert_eq!(normal(form), normal(base), "{form}");
        }
        assert_eq!(normal("the"), None);
    }

    #[test]
    fn words_of_one_meaning_know_each_other() {
        for (a, b) in [("bought", "purchased"), ("k8s", "kubernetes"), ("repo", "repositories"), ("mom", "mothers")] {
            let (a, b) = (normal(a).unwrap(), normal(b).unwrap());
            assert!(same(&a).contains(&b) && same(&b).contains(&a), "{a} {b}");
        }
        assert!(same("xylophon").is_empty());
    }

    #[test]
    fn words_of_time() {
        for word in ["yesterday", "2023", "3rd", "summer"] {
            assert!(is_time(word), "{word}");
        }
        for word in ["2123", "house", "th", "20ab"] {
            assert!(!is_time(word), "{word}");
        }
    }
}
