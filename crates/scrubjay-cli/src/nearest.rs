//! The known word that a mistyped one most likely meant.

/// The nearest of some words, if one is near enough to be worth suggesting.
pub(crate) fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A word much longer than any we know was not mistyped.
    const LONGEST: usize = 40;
    if typed.len() > LONGEST {
        return None;
    }
    let known: Vec<&str> = known.into_iter().collect();
    let begun = known.iter().filter(|word| !typed.is_empty() && word.starts_with(typed)).min_by_key(|word| word.len());
    if let Some(word) = begun {
        return Some(word);
    }
    let (far, word) = known.into_iter().map(|word| (distance(typed, word), word)).min()?;
    (far <= typed.chars().count().div_ceil(3)).then_some(word)
}

/// How many letters must be changed, added or removed.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], at + 1);
        for (column, other) in to.iter().enumerate() {
            let replaced = corner + usize::from(letter != *other);
            corner = row[column + 1];
            row[column + 1] = replaced.min(corner + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_suggested_and_far_ones_are_not() {
        let known = ["help", "clear", "cost", "context", "quit"];
        for (typed, meant) in [
            ("hlep", Some("help")),
            ("claer", Some("clear")),
            ("con", Some("context")),
            ("cots", Some("cost")),
            ("zebra", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
    }
}
