//! Short forms that a text explains itself: "TypeScript (TS)", "continuous integration (CI)", "CI (continuous
//! integration)". Learned while a document is read, so a question may use either.

use super::{text, words};

/// Longer than this, what stands in brackets is a remark.
const LONGEST: usize = 60;

/// Each short form with the words it stands for, all in normal form.
pub(super) fn shorts(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for (open, _) in text.match_indices('(') {
        let rest = &text[open + 1..];
        let Some(inside) = rest.find(')').filter(|end| *end <= LONGEST).map(|end| rest[..end].trim()) else { continue };
        let before = &text[..open];
        let sentence = before.rfind(['.', '\n', '(', ':', ';']).map_or(before, |end| &before[end + 1..]);
        let outside: Vec<&str> = sentence.split_whitespace().collect();
        let inner: Vec<&str> = inside.split_whitespace().collect();
        let last = outside.last().copied().unwrap_or_default();
        let pair = expansion(inside, &outside).map(|long| (inside, long));
        let turned = || Some((last, expansion(last, &inner).filter(|long| long.len() == inner.len())?));
        if let Some((short, long)) = pair.or_else(turned) {
            let long: Vec<String> =
                long.iter().flat_map(|word| text::words(word)).filter_map(|word| words::normal(&word)).collect();
            found.extend(
                words::normal(&short.to_lowercase()).map(|short| (short, long)).filter(|(_, long)| !long.is_empty()),
            );
        }
    }
    found
}

/// The last of `words` that `short` abbreviates: by the initials of several, by the capitals of one, or by its first
/// and last letter with the number of those between.
fn expansion<'a>(short: &str, words: &'a [&'a str]) -> Option<&'a [&'a str]> {
    let letters: Vec<char> = short.chars().map(|c| c.to_ascii_lowercase()).collect();
    let is_short = (2..=8).contains(&letters.len()) && short.chars().all(|c| c.is_ascii_alphanumeric());
    if !is_short || !short.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let tail = words.len().checked_sub(letters.len()).map(|from| &words[from..]);
    let initials = |words: &[&str]| {
        words.iter().filter_map(|word| word.chars().next()).map(|c| c.to_ascii_lowercase()).eq(letters.iter().copied())
    };
    if let Some(tail) = tail.filter(|tail| initials(tail)) {
        return Some(tail);
    }
    let last = words.last()?;
    let capitals =
        last.chars().filter(char::is_ascii_uppercase).map(|c| c.to_ascii_lowercase()).eq(letters.iter().copied());
    let counted = || {
        let inner = last.len().checked_sub(2)?.to_string();
        Some(format!("{}{inner}{}", last.chars().next()?, last.chars().next_back()?).eq_ignore_ascii_case(short))
    };
    (last.len() > short.len() && (capitals || counted() == Some(true))).then(|| &words[words.len() - 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_forms_are_learned_where_they_are_explained() {
        for (text, short, long) in [
            ("We write TypeScript (TS) here.", "ts", vec!["typescript"]),
            ("Our continuous integration (CI) is slow", "ci", vec!["continu", "integr"]),
            ("The DLQ (dead letter queue) is full", "dlq", vec!["dead", "letter", "queue"]),
            ("internationalization (i18n)", "i18n", vec!["internation"]),
        ] {
            let long: Vec<String> = long.into_iter().map(str::to_owned).collect();
            assert_eq!(shorts(text), [(short.to_owned(), long)], "{text}");
        }
        for text in ["we went (again)", "a (b", "the cat (at home) sat", "() (é)", "see page (12)"] {
            assert_eq!(shorts(text), [], "{text}");
        }
    }
}
