//! Dates that were made absolute before, by us or by whoever wrote the text: they are not touched again.

use super::{Found, Granularity, Kind, SAID, SAID_HAN, When, calendar, names, words};
use jiff::civil::{Date, Weekday};
use std::collections::BTreeSet;
use std::ops::Range;

/// Days: an absolute date this near to the day the words were said may be what a weekday beside it means.
const NEAR: i64 = 14;

/// What a text already says about its relative dates.
pub(super) struct Done<'t> {
    text: &'t str,
    said: Date,
    /// Where sentences end.
    ends: Vec<usize>,
    /// Sentences in which a date already stands beside its words, or the day they were said.
    sentences: BTreeSet<usize>,
    /// Days that are written out.
    written: Vec<(Range<usize>, Date)>,
}

impl<'t> Done<'t> {
    pub(super) fn of(text: &'t str, said: Date, all: &[Found]) -> Self {
        let marks = text.match_indices(['.', '!', '?', ';', '。', '！', '？', '；']).map(|(at, _)| at);
        let mut ends: Vec<usize> = marks.chain(words::empty_lines(text)).collect();
        ends.sort_unstable();
        let written = all.iter().filter_map(written_out).collect();
        let mut done = Self { text, said, ends, sentences: BTreeSet::new(), written };
        for (at, _) in text.match_indices(['(', '（']).filter(|(at, _)| is_explanation(text, *at)) {
            done.sentences.insert(done.sentence(at));
        }
        done
    }

    /// Whether these words have their date, or stand in a sentence that was done.
    pub(super) fn has(&self, found: &Found) -> bool {
        self.touches(&found.span) || self.written.iter().any(|(span, date)| self.is_date_of(found, span, *date))
    }

    /// Whether the absolute date at `span` says what `found` means: right beside it, or as the same day in the same sentence.
    fn is_date_of(&self, found: &Found, span: &Range<usize>, date: Date) -> bool {
        let same_sentence = self.sentence(found.span.start) == self.sentence(span.start);
        match found.when {
            When::Days { first, last } if first == last && first == date => same_sentence,
            When::Days { .. } => self.follows(found, span, &[' ', '(', '（', '[', '=']),
            When::Unclear => {
                let near = calendar::days_between(self.said, date).abs() <= NEAR;
                let named = weekday_in(&self.text[found.span.clone()]) == Some(date.weekday());
                (same_sentence && near && named)
                    || self.follows(found, span, &[' ', '(', '（', '[', '=', ',', '，', ':', '：', '、'])
            }
        }
    }

    /// Whether nothing but these marks stands between the words and the date.
    fn follows(&self, found: &Found, span: &Range<usize>, marks: &[char]) -> bool {
        self.text.get(found.span.end..span.start).is_some_and(|between| between.chars().all(|c| marks.contains(&c)))
    }

    fn sentence(&self, at: usize) -> usize {
        self.ends.partition_point(|end| *end < at)
    }

    /// Whether any of the sentences that a span reaches into is done.
    fn touches(&self, span: &Range<usize>) -> bool {
        self.sentences.range(self.sentence(span.start)..=self.sentence(span.end)).next().is_some()
    }
}

fn written_out(found: &Found) -> Option<(Range<usize>, Date)> {
    let When::Days { first, .. } = found.when else { return None };
    let is_day = found.kind == Kind::Absolute && found.granularity == Granularity::Day;
    is_day.then(|| (found.span.clone(), first))
}

/// The weekday that is named in some words.
fn weekday_in(text: &str) -> Option<Weekday> {
    let spaced = || words::split(text).iter().find_map(|word| names::weekday(word.raw));
    let dense =
        || names::all("weekday").find(|(name, _)| !name.is_ascii() && text.contains(name)).map(|(name, _)| name);
    names::weekday(text).or_else(spaced).or_else(|| dense().and_then(names::weekday))
}

/// Whether the bracket at `at` opens the words of the date before it, or the day on which the words before it were said.
fn is_explanation(text: &str, at: usize) -> bool {
    let (before, inside) = (text[..at].trim_end_matches(' '), &text[at..]);
    let said = inside.starts_with(SAID.trim_start()) || inside.starts_with(SAID_HAN);
    let mut parts = inside.split(['(', '（', ')', '）', '\n']).skip(1);
    let inside = parts.next().unwrap_or_default();
    let year = ends_in(before, "0000") && (inside.contains("year") || inside.contains('年'));
    said || year || ends_in(before, "0000-00") || ends_in(before, "0000-00-00")
}

/// Whether a text ends in digits and dashes as `shape` has them.
fn ends_in(text: &str, shape: &str) -> bool {
    let tail = text.len().checked_sub(shape.len()).and_then(|start| text.get(start..)).unwrap_or_default();
    let fits = |(byte, like): (u8, u8)| if like == b'0' { byte.is_ascii_digit() } else { byte == like };
    tail.len() == shape.len() && tail.bytes().zip(shape.bytes()).all(fits)
}
