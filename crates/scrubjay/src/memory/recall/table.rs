//! What is known of words before any document is read: how rare each is in general, and what it means, as a row of numbers.
//! Texts mean what their words mean together.
//!
//! The table is part of the program and is read where it lies: nothing is parsed or copied at the start. How it was made is
//! in `suites/table/`. Rarity in a store says little while the store is small; that a word is common anywhere says it at once.

use super::text;
use super::words::normal;
use std::sync::LazyLock;

static BYTES: &[u8] = include_bytes!("words/table.bin");
const MAGIC: &[u8; 8] = b"sjtable1";
/// The head: the magic, then how many words, how many numbers each, and how many bytes all words take.
const HEAD: usize = 8 + 3 * 4;
/// Rarities are kept in thousandths.
const RARITY_UNIT: f32 = 1000.0;
/// Rarer than every word of the table: a word that it does not hold.
const UNKNOWN: f32 = 12.3;
/// Words that are more common than this (one text in twenty) say nothing of what a text is about.
const COMMON: f32 = 3.0;
/// A vector of length one in whole numbers.
const UNIT: f32 = 127.0;

/// The words in order, and what is kept of each.
struct Table {
    count: usize,
    width: usize,
    ends: &'static [u8],
    words: &'static [u8],
    rarities: &'static [u8],
    scales: &'static [u8],
    rows: &'static [u8],
}

static TABLE: LazyLock<Option<Table>> = LazyLock::new(|| Table::of(BYTES));

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at * N..(at + 1) * N)?.try_into().ok()
}

impl Table {
    fn of(bytes: &'static [u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let size = |at: usize| number::<4>(rest, at).map(|bytes| u32::from_le_bytes(bytes) as usize);
        let (count, width, letters) = (size(0)?, size(1)?, size(2)?);
        let mut rest = &bytes[HEAD..];
        let mut part = |length: usize| {
            let (part, after) = rest.split_at_checked(length)?;
            rest = after;
            Some(part)
        };
        let (ends, words, rarities) = (part(4 * count)?, part(letters)?, part(2 * count)?);
        Some(Self { count, width, ends, words, rarities, scales: part(4 * count)?, rows: part(width * count)? })
    }

    fn word(&self, at: usize) -> &'static [u8] {
        let end = |at: usize| number::<4>(self.ends, at).map_or(0, |bytes| u32::from_le_bytes(bytes) as usize);
        let from = at.checked_sub(1).map_or(0, end);
        self.words.get(from..end(at)).unwrap_or_default()
    }

    fn find(&self, word: &str) -> Option<usize> {
        let (mut from, mut to) = (0, self.count);
        while from < to {
            let middle = usize::midpoint(from, to);
            match self.word(middle).cmp(word.as_bytes()) {
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Greater => to = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }
}

/// The place of a word, or of its stem.
fn place(table: &Table, word: &str) -> Option<usize> {
    table.find(word).or_else(|| table.find(&normal(word)?))
}

/// How much a word tells of what a text is about, wherever it stands: 0 for common ones.
pub(super) fn tells(word: &str) -> f32 {
    let known = TABLE.as_ref().and_then(|table| number::<2>(table.rarities, place(table, word)?));
    let rarity = known.map_or(UNKNOWN, |bytes| f32::from(u16::from_le_bytes(bytes)) / RARITY_UNIT);
    (rarity - COMMON).max(0.0)
}

/// What a text means: a vector of length one in hundred-and-twenty-sevenths, none where no word is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Meaning(pub(super) Box<[i8]>);

/// The place of a word in the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Row(usize);

/// The place of a lower-case word, if it is known.
pub(super) fn row(word: &str) -> Option<Row> {
    place(TABLE.as_ref()?, word).map(Row)
}

/// What words mean together, while they are read.
#[derive(Debug, Clone, Default)]
pub(super) struct Sum(Vec<f32>);

impl Sum {
    pub(super) fn add(&mut self, Row(at): Row) {
        let Some(table) = TABLE.as_ref() else { return };
        let row = table.rows.get(at * table.width..(at + 1) * table.width);
        let scale = number::<4>(table.scales, at).map(f32::from_le_bytes);
        let (Some(row), Some(scale)) = (row, scale) else { return };
        self.0.resize(table.width, 0.0);
        self.0.iter_mut().zip(row).for_each(|(sum, value)| *sum += scale * f32::from(value.cast_signed()));
    }

    pub(super) fn meaning(&self) -> Meaning {
        let length = self.0.iter().map(|x| x * x).sum::<f32>().sqrt();
        if !length.is_normal() {
            return Meaning::default();
        }
        Meaning(self.0.iter().map(|x| (x / length * UNIT).round() as i8).collect())
    }
}

impl Meaning {
    pub(super) fn of(text: &str) -> Self {
        let mut sum = Sum::default();
        text::pieces(text, &mut |piece| {
            if let text::Piece::Word(word) | text::Piece::Part(word) = piece {
                row(word).into_iter().for_each(|row| sum.add(row));
            }
        });
        sum.meaning()
    }

    /// How near another is, from -1 to 1; 0 where one means nothing.
    pub(super) fn near(&self, other: &Self) -> f32 {
        let product: i32 = self.0.iter().zip(&other.0).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        product as f32 / (UNIT * UNIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: L8
    #[test]
    fn common_words_tell_nothing_and_unknown_ones_most() {
        assert_eq!(tells("the"), 0.0);
        assert!(tells("file") < tells("database") && tells("database") < tells("migration"));
        assert!(tells("migration") < tells("zzxqy"));
    }

    // spec: L8
    #[test]
    fn texts_about_the_same_are_near_in_several_languages() {
        let near = |a: &str, b: &str| Meaning::of(a).near(&Meaning::of(b));
        assert!((near("a small bird", "a small bird") - 1.0).abs() < 0.02);
        assert!(near("how do we test", "never mock the database") > near("how do we test", "the train leaves at noon"));
        for other in
            ["die Verbindung zur Datenbank", "la connexion à la base de données", "la conexión a la base de datos"]
        {
            assert!(near("the database connection", other) > near("paint the fence", other) + 0.1, "{other}");
        }
        assert_eq!(near("", "anything"), 0.0);
    }
}
