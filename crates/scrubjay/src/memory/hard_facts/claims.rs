//! What a stretch of text claims, in a form in which equal facts are equal.

use super::FactKind;
use jiff::civil::Date;
use std::ops::Range;

/// One thing that must have been shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Claim {
    /// Lower case, without scheme and trailing slash.
    Locator(String),
    /// A number by its value, or a version as it is written.
    Number(String),
    Day(Date),
    /// Month and day of no named year.
    MonthDay(i8, i8),
    /// A month of a year.
    Month(i16, i8),
    /// A month of no named year.
    BareMonth(i8),
    Year(i16),
    /// A quarter, of a year if one is named.
    Quarter(Option<i16>, i8),
    /// Folded: lower case, no separators, no plural.
    Identifier(String),
}

/// A stretch of text that may be a hard fact: true if all claims of one of its readings are.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) kind: FactKind,
    pub(super) span: Range<usize>,
    pub(super) readings: Vec<Vec<Claim>>,
}

/// How many tokens something takes, and how it can be read.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    pub(super) tokens: usize,
    pub(super) readings: Vec<Vec<Claim>>,
    /// Whether it can be nothing else.
    pub(super) certain: bool,
}

impl Reading {
    pub(super) fn certain(tokens: usize, claims: Vec<Claim>) -> Self {
        Self { tokens, readings: vec![claims], certain: true }
    }
}
