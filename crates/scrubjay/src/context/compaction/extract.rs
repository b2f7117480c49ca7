//! A summary without a model: the nine sections, taken from the transcript alone and fitted into the room there is.

use super::allocation::choose;
use super::anchors::{self, Anchor};
use super::constraints::{self, Constraint, pinned_block};
use super::deeds::{self, label};
use super::offers::{Past, base, relative};
use super::prose::code;
use super::quotes::{self, Wholes};
use super::sections::{ALL, Section, Sections};
use super::todo;
use crate::limits::Limits;
use crate::message::{Message, Origin};
use std::borrow::Borrow;
use std::collections::HashMap;

/// What serves instead of the messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// What the model is to read.
    pub text: String,
    /// The constraints pinned in it.
    pub pinned: Vec<Constraint>,
}

/// The room is too small for what may not be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the standing constraints and the nine headings take {needed} bytes and a summary may take {room}: nothing was compacted. \
     Raise `limits.summary_room`, or start afresh with /clear"
)]
pub struct TooSmall {
    /// What is needed at least.
    pub needed: usize,
    /// What there is.
    pub room: usize,
}

/// Summarise messages in at most `room` bytes. The same messages give the same bytes.
pub fn summarise<M: Borrow<Message>>(
    messages: &[M],
    room: usize,
    wholes: Wholes<'_>,
    limits: &Limits,
) -> Result<Summary, TooSmall> {
    let pinned = constraints::pinned(messages, limits);
    let deeds = deeds::deeds(messages);
    let base = base(&deeds.files);
    let mut parts = Sections::after(preamble(&pinned));
    if !base.is_empty() {
        parts.set(Section::Files, &format!("Paths in this list are relative to {}.", code(&base)));
    }
    let needed = parts.render().len();
    let Some(free) = room.checked_sub(needed) else { return Err(TooSmall { needed, room }) };

    let anchors = anchors::anchors(messages, limits);
    let (said, tasks) = (quotes::said(messages, wholes), todo::tasks(messages));
    let past = Past { messages, said: &said, deeds: &deeds, tasks: &tasks, anchors: &anchors, limits };
    let offers = past.offers(&base);
    let kept_for_anchors = free * usize::try_from(limits.anchor_percent).unwrap_or(0) / 100;
    let chosen = choose(&offers, free - kept_for_anchors);
    for section in ALL {
        let mut body = parts.body(section).to_owned();
        if !body.is_empty() {
            body.push('\n');
        }
        let bought = offers.iter().zip(&chosen).filter(|(offer, _)| offer.section == section);
        body.extend(bought.filter_map(|(offer, form)| form.map(|form| offer.forms[form].text.as_str())));
        parts.set(section, &body);
    }
    let text = parts.render();
    let seen = Seen { text: &text, base: &base };
    parts.anchors = anchor_lines(messages, &anchors, &seen, room - text.len());
    Ok(Summary { text: parts.render(), pinned })
}

/// What stands before the sections: that this is past, and the standing constraints.
pub(super) fn preamble(pinned: &[Constraint]) -> String {
    format!("{}\n{}", include_str!("../../../prompts/compaction/past.md").trim_end(), pinned_block(pinned))
}

/// The heading of the anchor list and the line breaks around it.
const AROUND: usize = super::sections::ANCHORS.len() + 2;

/// A text that may name an anchor already, and the directory that its paths are relative to.
pub(super) struct Seen<'a> {
    pub(super) text: &'a str,
    pub(super) base: &'a str,
}

impl Seen<'_> {
    fn names(&self, anchor: &Anchor) -> bool {
        self.text.contains(&anchor.text) || self.text.contains(relative(&anchor.text, self.base))
    }
}

/// The most important anchors that a text lacks, each under where it was last seen, in at most `room` bytes with heading.
pub(super) fn anchor_lines<M: Borrow<Message>>(messages: &[M], anchors: &[Anchor], seen: &Seen<'_>, room: usize) -> String {
    let Some(mut left) = room.checked_sub(AROUND) else { return String::new() };
    let labels = labels(messages, seen.base);
    let mut lines: Vec<Line<'_>> = Vec::new();
    let telling = |anchor: &&Anchor| (anchor.by.all() > 1 || anchor.by.person > 0) && !seen.names(anchor);
    for anchor in anchors.iter().filter(telling) {
        if left < SHORTEST_ANCHOR {
            break;
        }
        let name = match anchor.by.all() {
            1 => code(&anchor.text),
            count => format!("{} {count} times", code(&anchor.text)),
        };
        let place = labels.get(anchor.last).map_or("", String::as_str);
        let known = lines.iter().position(|line| line.place == place);
        let cost = name.len() + known.map_or(place.len() + "-  named .\n".len(), |_| ", ".len());
        let full = known.is_some_and(|index| lines[index].count >= MOST_BY_PLACE);
        if full || cost > left || lines.iter().any(|line| line.names.contains(&anchor.text)) {
            continue;
        }
        left -= cost;
        match known {
            Some(index) => lines[index].add(&name),
            None => lines.push(Line { place, names: name, count: 1 }),
        }
    }
    lines.into_iter().map(|line| format!("- {} named {}.\n", line.place, line.names)).collect()
}

/// What one place named.
struct Line<'a> {
    place: &'a str,
    names: String,
    count: usize,
}

impl Line<'_> {
    fn add(&mut self, name: &str) {
        self.names.push_str(", ");
        self.names.push_str(name);
        self.count += 1;
    }
}

/// More names than this from one place are a listing and no longer anchors.
const MOST_BY_PLACE: usize = 8;

/// Nothing shorter is worth looking for.
const SHORTEST_ANCHOR: usize = 12;

/// Who spoke in each message, in words that can begin a sentence.
fn labels<M: Borrow<Message>>(messages: &[M], base: &str) -> Vec<String> {
    let mut calls: HashMap<&str, String> = HashMap::new();
    let mut all = Vec::new();
    for message in messages.iter().map(Borrow::borrow) {
        for call in message.tool_uses() {
            let words = label(call);
            calls.insert(call.id.as_str(), if base.is_empty() { words } else { words.replace(base, "") });
        }
        let call = message.tool_uses().next().map(|call| call.id.as_str());
        let answered = message.tool_results().next().map(|result| result.call.as_str());
        let place = call.or(answered).and_then(|id| calls.get(id).cloned());
        all.push(place.unwrap_or_else(|| match message.origin {
            Origin::Person => "The person".to_owned(),
            Origin::Model => "The model".to_owned(),
            Origin::Summary => "An earlier summary".to_owned(),
            _ => "A notice".to_owned(),
        }));
    }
    all
}
