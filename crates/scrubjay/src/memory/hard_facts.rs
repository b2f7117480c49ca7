//! Stand-in for the hard facts of a text: words with a digit and addresses.

use crate::dates;
use jiff::civil::Date;
use std::fmt;

/// A text that was shown, and the day it was said.
#[derive(Debug, Clone, Copy)]
pub struct Passage<'a> {
    /// The text.
    pub text: &'a str,
    /// Its day.
    pub day: Option<Date>,
}

/// What kind of fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactKind {
    /// A path or an address.
    Locator,
    /// A number.
    Number,
    /// A date.
    Date,
    /// A name of a thing.
    Identifier,
}

/// A fact that can be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HardFact {
    /// Its kind.
    pub kind: FactKind,
    /// As written.
    pub text: String,
}

impl fmt::Display for HardFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The hard facts of a text that none of these has.
pub fn unsupported(text: &str, shown: &[Passage<'_>]) -> Vec<HardFact> {
    let mut held = String::new();
    for passage in shown {
        held.push_str(&passage.text.to_lowercase());
        held.push(' ');
        held.extend(passage.day.map(|day| dates::absolute(passage.text, day).to_lowercase()));
        held.push(' ');
    }
    let mut found = Vec::new();
    for word in text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric())) {
        let kind = match () {
            () if word.contains("://") => FactKind::Locator,
            () if word.chars().any(|c| c.is_ascii_digit()) => FactKind::Number,
            () => continue,
        };
        if !held.contains(&word.to_lowercase()) {
            found.push(HardFact { kind, text: word.to_owned() });
        }
    }
    found
}
