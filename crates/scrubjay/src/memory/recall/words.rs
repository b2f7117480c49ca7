//! What is known of languages before any document is read: how words are cut to their stems, and of English words that
//! carry nothing, odd forms, words of time and of change. General tables, none of them made for a collection.

use frostem::{Algorithm, Stemmer};
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

static STOP: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("words/stop.txt").split_whitespace().collect());
static TIME: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("words/time.txt").split_whitespace().collect());
static CHANGE: LazyLock<HashSet<String>> =
    LazyLock::new(|| include_str!("words/change.txt").split_whitespace().filter_map(normal).collect());

static ADDITION: LazyLock<HashSet<String>> =
    LazyLock::new(|| include_str!("words/addition.txt").split_whitespace().filter_map(normal).collect());

/// An odd form to the word it is a form of: the first word of each line.
static IRREGULAR: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let rows = include_str!("words/irregular.txt").lines().map(|line| line.split(' '));
    rows.flat_map(|mut row| {
        let base = row.next().unwrap_or_default();
        row.map(move |form| (form, base))
    })
    .collect()
});

/// The language a text is written in, as far as its words are cut to stems by it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Language(u8);

/// Languages with a stemmer, by the name under which a text's language is recognised. English is what everything else is.
const LANGUAGES: &[(whatlang::Lang, Algorithm)] = &[
    (whatlang::Lang::Eng, Algorithm::English),
    (whatlang::Lang::Deu, Algorithm::German),
    (whatlang::Lang::Fra, Algorithm::French),
    (whatlang::Lang::Spa, Algorithm::Spanish),
    (whatlang::Lang::Ita, Algorithm::Italian),
    (whatlang::Lang::Por, Algorithm::Portuguese),
    (whatlang::Lang::Nld, Algorithm::Dutch),
    (whatlang::Lang::Swe, Algorithm::Swedish),
    (whatlang::Lang::Dan, Algorithm::Danish),
    (whatlang::Lang::Nob, Algorithm::Norwegian),
    (whatlang::Lang::Fin, Algorithm::Finnish),
    (whatlang::Lang::Pol, Algorithm::Polish),
    (whatlang::Lang::Ces, Algorithm::Czech),
    (whatlang::Lang::Hun, Algorithm::Hungarian),
    (whatlang::Lang::Ron, Algorithm::Romanian),
    (whatlang::Lang::Tur, Algorithm::Turkish),
    (whatlang::Lang::Rus, Algorithm::Russian),
    (whatlang::Lang::Ukr, Algorithm::Ukrainian),
    (whatlang::Lang::Ell, Algorithm::Greek),
    (whatlang::Lang::Ara, Algorithm::Arabic),
    (whatlang::Lang::Hin, Algorithm::Hindi),
];

static DETECTOR: LazyLock<whatlang::Detector> =
    LazyLock::new(|| whatlang::Detector::with_allowlist(LANGUAGES.iter().map(|(language, _)| *language).collect()));

/// Words of which every English text is full, and no other.
const SMALL: [&str; 8] = ["the", "and", "of", "to", "is", "for", "with", "that"];
/// So many words of a text are looked through for them.
const TELLING_WORDS: usize = 40;
/// So much of a text tells its language.
const TELLING_BYTES: usize = 600;

impl Language {
    pub(super) const ENGLISH: Self = Self(0);

    /// The language of a text; English when that is not sure.
    pub(super) fn of(text: &str) -> Self {
        let few = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(TELLING_WORDS);
        let (all, small) = few.fold((0, 0), |(all, small), word| (all + 1, small + usize::from(SMALL.contains(&word))));
        if small * 10 > all {
            return Self::ENGLISH;
        }
        let told =
            DETECTOR.detect(&text[..text.floor_char_boundary(TELLING_BYTES)]).filter(whatlang::Info::is_reliable);
        let place = told.and_then(|told| LANGUAGES.iter().position(|(language, _)| *language == told.lang()));
        Self(place.unwrap_or(0) as u8)
    }

    pub(super) fn number(self) -> u8 {
        self.0
    }

    pub(super) fn numbered(number: u8) -> Option<Self> {
        LANGUAGES.get(usize::from(number)).map(|_| Self(number))
    }

    /// The form under which a lower-case word of this language is filed, or nothing when it says nothing.
    pub(super) fn normal(self, word: &str) -> Option<String> {
        if STOP.contains(word) {
            return None;
        }
        let regular = if self == Self::ENGLISH { IRREGULAR.get(word).copied().unwrap_or(word) } else { word };
        let algorithm = LANGUAGES.get(usize::from(self.0)).map_or(Algorithm::English, |(_, algorithm)| *algorithm);
        Some(Stemmer::new(algorithm).stem(regular).into_owned())
    }
}

/// The form under which a word is compared where its language does not matter, or nothing when it says nothing.
pub(super) fn normal(word: &str) -> Option<String> {
    Language::ENGLISH.normal(word)
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

/// Whether a word in normal form says that something holds beside something else.
pub(super) fn is_addition(normal: &str) -> bool {
    ADDITION.contains(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word_are_one_word() {
        for (form, base) in [("went", "go"), ("children", "child"), ("bought", "buying"), ("citizens", "citizen")] {
            assert_eq!(normal(form), normal(base), "{form}");
        }
        assert_eq!(normal("the"), None);
    }

    // spec: L8
    #[test]
    fn the_forms_of_a_language_are_one_word_in_it() {
        for (text, forms) in [
            (
                "Die Zahlungen werden nachts verbucht, und die Rechnungen gehen am Morgen hinaus.",
                ["zahlungen", "zahlung"],
            ),
            (
                "Les migrations sont toujours relues par une autre personne de notre équipe.",
                ["migrations", "migration"],
            ),
            ("Los despliegues se hacen siempre por la mañana y nunca los viernes.", ["despliegues", "despliegue"]),
            ("The payments are booked at night and the invoices go out in the morning.", ["payments", "payment"]),
        ] {
            let language = Language::of(text);
            assert_eq!(language.normal(forms[0]), language.normal(forms[1]), "{text}");
        }
        assert_ne!(
            Language::of("Die Zahlungen werden nachts verbucht, und die Rechnungen gehen am Morgen hinaus."),
            Language::ENGLISH
        );
        assert_eq!(Language::of("ok"), Language::ENGLISH, "too little to tell");
        assert_eq!(Language::ENGLISH.normal("k8s").as_deref(), Some("k8s"));
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
