//! Which words of a session the user typed. Trust begins here: a memory is clean only if its writer was shown nothing but
//! these words, clean memories, and answers given before anything foreign had entered the conversation.
//!
//! *Typed* belongs to a span, not to a message. Labelled parts (a paste, a file, a pipe, a command's output), fences and
//! quotation blocks, long unbroken parts, and runs of words that a foreign block had shown before are not typed.

use crate::limits::Limits;
use crate::message::{Block, Kind, Message, MessageId, Origin, SpanLabel, SpanOrigin};
use crate::prompts;
use crate::secrets::is_invisible;
use crate::transcript::{Entry, Record};
use jiff::Timestamp;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use unicode_normalization::UnicodeNormalization as _;

/// Tools whose answers are the engine's own words.
const OWN: &[&str] = &["remember", "forget", "Tasks", "Plan"];

/// Places of a table that says which runs of words may be known.
const MAYBE: usize = 1 << 16;

/// A part of a user's message, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The user typed it.
    Typed(String),
    /// It came from somewhere else; so many lines.
    Pasted(usize),
}

/// A message of the user's.
#[derive(Debug, Clone, PartialEq)]
pub struct UserMessage {
    /// Its name.
    pub id: MessageId,
    /// When it was sent.
    pub at: Timestamp,
    /// What it consists of.
    pub parts: Vec<Part>,
    /// The answer it replies to.
    pub answers: Option<AssistantAnswer>,
}

/// What the model said last before a message of the user's.
#[derive(Debug, Clone, PartialEq)]
pub struct AssistantAnswer {
    /// The message.
    pub message: Arc<Message>,
    /// Whether something foreign had entered the conversation before it.
    pub tainted: bool,
}

impl UserMessage {
    /// The words that were typed.
    pub fn typed(&self) -> String {
        let typed = self.parts.iter().filter_map(|part| match part {
            Part::Typed(text) => Some(text.as_str()),
            Part::Pasted(_) => None,
        });
        typed.collect::<Vec<_>>().join("\n")
    }

    /// Whether anything in it was not typed.
    pub fn has_paste(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Pasted(_)))
    }

    /// As it is shown to a learner: pasted parts are named, not shown.
    pub fn shown(&self) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::Typed(text) => text.clone(),
            Part::Pasted(1) => "[pasted, 1 line]".to_owned(),
            Part::Pasted(lines) => format!("[pasted, {lines} lines]"),
        });
        parts.collect::<Vec<_>>().join("\n")
    }
}

/// A session as a learner may see it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// The user's messages that a learner has not looked at, in order. Those without a typed word are among them.
    pub pending: Vec<UserMessage>,
    /// The last of those that a learner has looked at: a rule and its reason are often typed in different messages.
    pub earlier: Vec<UserMessage>,
}

impl Conversation {
    /// Read a session's records. `after` is the last message that was looked at; of what is `gone` nothing is learned.
    pub fn read(records: &[Record], after: Option<&MessageId>, gone: &HashSet<MessageId>, limits: &Limits) -> Self {
        let start = after.map_or(0, |after| place_after(records, after));
        let labels = labels(records);
        let mut reader = Reader { limits, labels: &labels, foreign: Vec::new(), tainted: false, answer: None };
        let (mut pending, mut earlier) = (Vec::new(), Vec::new());
        let context = last_before(records, start, gone, limits);
        let mut own = HashSet::new();
        for (at, record) in records.iter().enumerate() {
            let message = match &record.entry {
                Entry::Opened { opening, .. } => {
                    let foreign = opening.instructions.iter().filter(|one| prompts::holds_repository_file(&one.text()));
                    foreign.for_each(|one| reader.hear(one.text()));
                    continue;
                }
                // What was lost may have been anything.
                Entry::Mended { .. } | Entry::Unknown(_) => {
                    reader.tainted = true;
                    continue;
                }
                Entry::Recalled(recalled) if recalled.unconfirmed => {
                    let shown = said(records, &recalled.message);
                    shown.into_iter().for_each(|one| reader.hear(one.text()));
                    reader.tainted = true;
                    continue;
                }
                Entry::Said(message) => message,
                _ => continue,
            };
            match message.origin {
                Origin::Person => {
                    let look = at >= start && !gone.contains(&message.id);
                    let read = reader.user(message, look || context.contains(&at));
                    if look { pending.extend(read) } else { earlier.extend(read) }
                }
                Origin::Model => {
                    let calls = message.tool_uses().filter(|call| OWN.contains(&call.name.as_str()));
                    own.extend(calls.map(|call| call.id.clone()));
                    reader.model(message);
                }
                Origin::Tool => {
                    let results = message.tool_results().filter(|result| !own.contains(&result.call));
                    results.for_each(|result| reader.hear(result.text()));
                }
                Origin::Hook | Origin::Letter | Origin::Task | Origin::Instructions => reader.hear(message.text()),
                // A summary says what stands in the record; memories are judged where they are recalled.
                Origin::Memory | Origin::Summary | Origin::Reminder => {}
            }
        }
        Self { pending, earlier }
    }

    /// Whether anything was typed that was not looked at.
    pub fn is_silent(&self) -> bool {
        self.pending.iter().all(|message| message.typed().trim().is_empty())
    }
}

/// The place behind a message, or behind the last mark of a learner where damage took the message.
fn place_after(records: &[Record], after: &MessageId) -> usize {
    let is_it = |record: &Record| matches!(&record.entry, Entry::Said(message) if message.id == *after);
    let is_mark = |record: &Record| matches!(record.entry, Entry::Extracted(_));
    let place = |is: &dyn Fn(&Record) -> bool| records.iter().rposition(is);
    place(&is_it).or_else(|| place(&is_mark)).map_or(0, |at| at + 1)
}

/// Places of the last messages of the user's before a place.
fn last_before(records: &[Record], start: usize, gone: &HashSet<MessageId>, limits: &Limits) -> HashSet<usize> {
    let is_users = |(_, record): &(usize, &Record)| {
        matches!(&record.entry, Entry::Said(message)
            if message.origin == Origin::Person && !gone.contains(&message.id))
    };
    let most = usize::try_from(limits.learner_earlier).unwrap_or(usize::MAX);
    let before = records.iter().enumerate().take(start);
    before.rev().filter(is_users).take(most).map(|(at, _)| at).collect()
}

fn labels(records: &[Record]) -> BTreeMap<&MessageId, &[SpanLabel]> {
    let labelled = records.iter().filter_map(|record| match &record.entry {
        Entry::Labelled(labels) => Some((&labels.message, labels.labels.as_slice())),
        _ => None,
    });
    labelled.collect()
}

fn said<'a>(records: &'a [Record], id: &MessageId) -> Option<&'a Arc<Message>> {
    records.iter().rev().find_map(|record| match &record.entry {
        Entry::Said(message) if message.id == *id => Some(message),
        _ => None,
    })
}

/// Follows a session and remembers what was foreign in it.
struct Reader<'a> {
    limits: &'a Limits,
    labels: &'a BTreeMap<&'a MessageId, &'a [SpanLabel]>,
    /// Foreign texts so far, as they are compared.
    foreign: Vec<Vec<char>>,
    /// Whether anything foreign has entered.
    tainted: bool,
    /// The model's last words since the user's last message.
    answer: Option<AssistantAnswer>,
}

impl Reader<'_> {
    fn hear(&mut self, text: String) {
        self.tainted = true;
        self.foreign.push(Plain::of(&text).chars);
    }

    fn model(&mut self, message: &Arc<Message>) {
        let is_plain = |block: &Block| {
            matches!(block.kind(), Kind::Text(_) | Kind::Thinking(_) | Kind::ToolUse(_) | Kind::Summary(_))
        };
        self.tainted |= !message.blocks.iter().all(is_plain);
        let text = message.text();
        if text.trim().is_empty() {
            return;
        }
        let tainted = self.tainted;
        self.answer = Some(AssistantAnswer { message: message.clone(), tainted });
        // Whoever has heard something foreign may repeat it.
        if tainted {
            self.foreign.push(Plain::of(&text).chars);
        }
    }

    /// A message of the user's. Only those that are looked at are taken apart for what was shown before.
    fn user(&mut self, message: &Arc<Message>, look: bool) -> Option<UserMessage> {
        let answers = self.answer.take();
        let (mut parts, mut pasted) = (Vec::new(), Vec::new());
        let labels = self.labels.get(&message.id).copied().unwrap_or_default();
        for (at, block) in message.blocks.iter().enumerate() {
            let Some(text) = block.as_text() else {
                self.tainted = true;
                continue;
            };
            let labels: Vec<&SpanLabel> = labels.iter().filter(|label| label.block == at).collect();
            let mut spans = Spans::of(text, &labels, self.limits);
            if look {
                spans.mark_echoes(&self.foreign, self.limits);
            }
            pasted.extend(spans.pasted().map(str::to_owned));
            parts.extend(spans.parts());
        }
        pasted.into_iter().for_each(|text| self.hear(text));
        look.then(|| UserMessage { id: message.id.clone(), at: message.at, parts: joined(parts), answers })
    }
}

/// Neighbouring pasted parts are one.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut out: Vec<Part> = Vec::new();
    for part in parts {
        match (out.last_mut(), part) {
            (Some(Part::Pasted(lines)), Part::Pasted(more)) => *lines += more,
            (_, part) => out.push(part),
        }
    }
    out
}

/// One text of the user's, and which bytes of it were not typed.
struct Spans<'a> {
    text: &'a str,
    /// In order, apart from each other.
    foreign: Vec<Range<usize>>,
}

impl<'a> Spans<'a> {
    fn of(text: &'a str, labels: &[&SpanLabel], limits: &Limits) -> Self {
        let mut spans = Self { text, foreign: Vec::new() };
        if prompts::is_passed_on(text) || labels.iter().any(|label| label.range.is_none()) {
            spans.mark(0..text.len());
            return spans;
        }
        for label in labels {
            let Some((start, end)) = label.range else { continue };
            let (start, end) = (text.floor_char_boundary(start), text.floor_char_boundary(end));
            let piece = text.get(start..end).unwrap_or_default();
            let short = label.origin == SpanOrigin::Pasted
                && !piece.trim().contains('\n')
                && piece.chars().count() as u64 <= limits.typed_paste_line_chars;
            if !short {
                spans.mark(start..end);
            }
        }
        spans.mark_quotations();
        spans.mark_long_parts(limits);
        spans
    }

    fn mark(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        self.foreign.push(range);
        self.foreign.sort_by_key(|range| range.start);
        let mut joined: Vec<Range<usize>> = Vec::new();
        for range in self.foreign.drain(..) {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        self.foreign = joined;
    }

    /// What is not marked.
    fn typed(&self) -> Vec<Range<usize>> {
        let (mut out, mut from) = (Vec::new(), 0);
        for range in &self.foreign {
            out.push(from..range.start);
            from = range.end;
        }
        out.push(from..self.text.len());
        out.retain(|range| !self.text[range.clone()].trim().is_empty());
        out
    }

    fn pasted(&self) -> impl Iterator<Item = &str> {
        self.foreign.iter().map(|range| &self.text[range.clone()])
    }

    fn parts(&self) -> Vec<Part> {
        let mut parts: Vec<(usize, Part)> = Vec::new();
        for range in self.typed() {
            parts.push((range.start, Part::Typed(self.text[range].trim().to_owned())));
        }
        for range in &self.foreign {
            let lines = self.text[range.clone()].trim().lines().count().max(1);
            parts.push((range.start, Part::Pasted(lines)));
        }
        parts.sort_by_key(|(at, _)| *at);
        parts.into_iter().map(|(_, part)| part).collect()
    }

    /// Blocks between fences, and lines that begin with `>`.
    fn mark_quotations(&mut self) {
        let mut fence: Option<(&str, usize)> = None;
        let mut at = 0;
        let mut found = Vec::new();
        for line in self.text.split_inclusive('\n') {
            let (start, begins) = (at, line.trim_start());
            at += line.len();
            let mark = ["```", "~~~"].into_iter().find(|mark| begins.starts_with(mark));
            match (fence, mark) {
                (None, Some(mark)) => fence = Some((mark, start)),
                (Some((open, from)), Some(mark)) if open == mark => {
                    found.push(from..at);
                    fence = None;
                }
                (None, None) if begins.starts_with('>') => found.push(start..at),
                _ => {}
            }
        }
        // A fence that nobody closes goes on to the end.
        found.extend(fence.map(|(_, from)| from..self.text.len()));
        found.into_iter().for_each(|range| self.mark(range));
    }

    /// A part of many lines or characters is pasted. Whoever pastes something says a line about it before, or behind: of
    /// a long part the first paragraph is typed, if it is short; or else the last, if it is one line.
    fn mark_long_parts(&mut self, limits: &Limits) {
        for part in self.typed() {
            if !is_long(&self.text[part.clone()], limits) {
                continue;
            }
            let paragraphs = paragraphs(&self.text[part.clone()]);
            let shift = |range: &Range<usize>| part.start + range.start..part.start + range.end;
            let is_short = |range: &Range<usize>| !is_long(&self.text[shift(range)], limits);
            let is_line = |range: &Range<usize>| !self.text[shift(range)].trim().contains('\n');
            let typed = match paragraphs.as_slice() {
                [first, _, ..] if is_short(first) => Some(shift(first)),
                [_, .., last] if is_short(last) && is_line(last) => Some(shift(last)),
                _ => None,
            };
            match typed {
                Some(typed) => {
                    self.mark(part.start..typed.start);
                    self.mark(typed.end..part.end);
                }
                None => self.mark(part),
            }
        }
    }

    /// Runs of words that a foreign block showed before: repeated, not typed.
    fn mark_echoes(&mut self, foreign: &[Vec<char>], limits: &Limits) {
        let width = usize::try_from(limits.typed_echo_chars).unwrap_or(usize::MAX);
        for part in self.typed() {
            let plain = Plain::of(&self.text[part.clone()]);
            for echo in plain.echoes(foreign, width) {
                self.mark(part.start + echo.start..part.start + echo.end);
            }
        }
    }
}

fn is_long(text: &str, limits: &Limits) -> bool {
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count() as u64;
    lines >= limits.typed_paste_lines || text.trim().chars().count() as u64 >= limits.typed_paste_chars
}

/// The paragraphs of a text, apart by empty lines.
fn paragraphs(text: &str) -> Vec<Range<usize>> {
    let (mut out, mut open, mut at): (Vec<Range<usize>>, bool, usize) = (Vec::new(), false, 0);
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        match (line.trim().is_empty(), out.last_mut()) {
            (true, _) => open = false,
            (false, Some(last)) if open => last.end = range.end,
            (false, _) => {
                out.push(range);
                open = true;
            }
        }
    }
    out
}

/// A text as it is compared: compatibility forms made plain, case, white space and what cannot be seen left out of account.
pub(super) struct Plain {
    chars: Vec<char>,
    /// The bytes each of them stands for.
    places: Vec<Range<usize>>,
}

impl Plain {
    pub(super) fn of(text: &str) -> Self {
        let mut plain = Self { chars: Vec::new(), places: Vec::new() };
        for (at, c) in text.char_indices().filter(|(_, c)| !is_invisible(*c) || c.is_whitespace()) {
            let place = at..at + c.len_utf8();
            if c.is_whitespace() {
                if plain.chars.last().is_some_and(|last| *last != ' ') {
                    plain.push(' ', place);
                }
            } else if c.is_ascii() {
                plain.push(c.to_ascii_lowercase(), place);
            } else {
                std::iter::once(c)
                    .nfkc()
                    .flat_map(char::to_lowercase)
                    .for_each(|c| plain.push(quote(c), place.clone()));
            }
        }
        plain
    }

    fn push(&mut self, c: char, place: Range<usize>) {
        self.chars.push(c);
        self.places.push(place);
    }

    /// The text itself, without white space at its ends.
    pub(super) fn text(&self) -> String {
        self.chars.iter().collect::<String>().trim().to_owned()
    }

    /// The bytes of every run of `width` that stands in one of these texts too. Wide characters count twice.
    fn echoes(&self, others: &[Vec<char>], width: usize) -> Vec<Range<usize>> {
        let wide = |c: &char| 1 + usize::from(*c >= '\u{2e80}');
        let total: usize = self.chars.iter().map(wide).sum();
        if total < width {
            return Vec::new();
        }
        // Text of wide characters needs half as many of them.
        let share = self.chars.iter().filter(|c| wide(c) == 2).count() * 2 > self.chars.len();
        let run = if share { width.div_ceil(2) } else { width };
        let mut windows: HashSet<u64> = HashSet::new();
        // Most runs of the others are none of ours, and one bit says so.
        let mut maybe = vec![false; MAYBE];
        let bit = |hash: u64| (hash >> 32) as usize % MAYBE;
        rolling(&self.chars, run, |_, hash| {
            windows.insert(hash);
            maybe[bit(hash)] = true;
        });
        let mut seen: HashSet<u64> = HashSet::new();
        for other in others {
            rolling(other, run, |_, hash| {
                if maybe[bit(hash)] && windows.contains(&hash) {
                    seen.insert(hash);
                }
            });
        }
        let mut found = Vec::new();
        rolling(&self.chars, run, |at, hash| {
            if seen.contains(&hash) {
                found.push(self.places[at].start..self.places[at + run - 1].end);
            }
        });
        found
    }
}

/// One shape for every kind of quotation mark and dash.
fn quote(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{02bc}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        '\u{2010}'..='\u{2014}' => '-',
        c => c,
    }
}

/// A hash of every run of `length` characters.
fn rolling(chars: &[char], length: usize, mut each: impl FnMut(usize, u64)) {
    const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
    if length == 0 || chars.len() < length {
        return;
    }
    let mixed = |c: char| (u64::from(c) + 1).wrapping_mul(0xff51_afd7_ed55_8ccd) ^ u64::from(c);
    let top = (1..length).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let mut hash = chars[..length].iter().fold(0_u64, |hash, c| hash.wrapping_mul(BASE).wrapping_add(mixed(*c)));
    each(0, hash);
    for at in length..chars.len() {
        hash = hash.wrapping_sub(mixed(chars[at - length]).wrapping_mul(top));
        hash = hash.wrapping_mul(BASE).wrapping_add(mixed(chars[at]));
        each(at + 1 - length, hash);
    }
}

#[cfg(test)]
mod tests;
