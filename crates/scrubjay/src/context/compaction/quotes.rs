//! What the person said, quoted: verbatim and contiguous where it fits, else head, tail and the sentences that matter, with
//! the place of the whole. Quotations can be read back, so that the next compaction carries them on.

use super::constraints::{bearing, in_text, leans, without_pinned};
use super::cover::{Candidate, pick};
use super::sections::{self, Section};
use crate::limits::Limits;
use crate::message::{Message, MessageId, Origin, Role};
use crate::prose::{Voice, closes, fence_mark, head, one_line, sentences, tail, without_list_mark};
use std::borrow::Borrow;
use std::collections::HashSet;

/// Where the whole of a message can be read, if it is stored anywhere.
pub type Wholes<'a> = &'a dyn Fn(&Message) -> Option<String>;

/// One message of the person's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its words, without outer white space.
    pub text: String,
    /// Where the whole can be read.
    pub whole: Option<String>,
    /// An earlier summary had shortened it: how it said so.
    pub note: Option<String>,
    /// The message it stands in; for one that an earlier summary quotes, that summary.
    pub at: usize,
}

/// Everything the person said, oldest first; what earlier summaries quote comes where they stand.
pub fn said<M: Borrow<Message>>(messages: &[M], wholes: Wholes<'_>) -> Vec<Said> {
    let mut found: Vec<Said> = Vec::new();
    for (at, message) in messages.iter().map(Borrow::borrow).enumerate() {
        match message.origin {
            Origin::Person | Origin::Task => {
                let text = message.text().trim().to_owned();
                let known = found.iter().any(|said| said.at < at && is_carried(messages, said) && said.text == text);
                if !text.is_empty() && !known {
                    found.push(Said { text, whole: wholes(message), note: None, at });
                }
            }
            Origin::Summary if message.role == Role::User => {
                let parts = sections::parse(&without_pinned(&message.text()));
                found.extend(unquote(parts.body(Section::UserMessages)).into_iter().map(|said| Said { at, ..said }));
            }
            _ => {}
        }
    }
    found
}

fn is_carried<M: Borrow<Message>>(messages: &[M], said: &Said) -> bool {
    messages.get(said.at).is_some_and(|message| message.borrow().origin == Origin::Summary)
}

/// The longest quotation of one message (C3).
pub fn longest(limits: &Limits) -> usize {
    usize::try_from(limits.quoted_message_tokens.saturating_mul(limits.text_bytes_per_token)).unwrap_or(usize::MAX)
}

/// Quote a message: whole if that takes no more than `room` bytes, else shortened.
pub fn quote(said: &Said, room: usize) -> String {
    match &said.note {
        _ if said.text.len() > room => shortened(said, room),
        Some(note) => format!("{note}\n{}", fenced(&said.text)),
        None => verbatim(&said.text),
    }
}

fn verbatim(text: &str) -> String {
    let is_one_line = !text.contains('\n') && !text.starts_with([' ', '\t']);
    if is_one_line { format!("- {text}\n") } else { fenced(text) }
}

/// A fence that nothing in the text can close.
fn fenced(text: &str) -> String {
    let longest = text.lines().filter_map(fence_mark).filter(|mark| mark.starts_with('`')).map(str::len).max();
    let fence = "`".repeat(longest.map_or(3, |longest| longest + 1));
    format!("{fence}\n{text}\n{fence}\n")
}

const GAP: &str = "\n[…]\n";

fn shortened(said: &Said, room: usize) -> String {
    let whole = said.whole.as_deref().unwrap_or("the transcript");
    let first_time = || format!("(shortened from {} bytes; the whole is in {whole})", said.text.len());
    let note = said.note.clone().unwrap_or_else(first_time);
    // Wherever it is cut, the fence around it is longer than any that the text could hold.
    let fence = said.text.split(|c| c != '`').map(str::len).max().unwrap_or_default().max(2) + 1;
    let room = room.saturating_sub(note.len() + 2 * GAP.len() + 2 * fence + 6);
    let first = head(&said.text, room / 3);
    let last = tail(&said.text[first.len()..], room / 6);
    let middle = &said.text[first.len()..said.text.len() - last.len()];
    let mut text = first.to_owned();
    for sentence in telling(middle, [first, last], room.saturating_sub(first.len() + last.len())) {
        text.push_str(GAP);
        text.push_str(sentence);
    }
    text.push_str(GAP);
    text.push_str(last);
    format!("{note}\n{}", fenced(text.trim()))
}

/// The sentences of a text that bind, and then those that say most that the ends do not say, in their order.
fn telling<'a>(text: &'a str, ends: [&'a str; 2], room: usize) -> Vec<&'a str> {
    let all = sentences(text);
    let candidates: Vec<Candidate<'_>> = all
        .iter()
        .map(|sentence| {
            let bonus = match sentence.voice {
                Voice::Pasted => 0,
                Voice::Said if bearing(sentence.text).is_some() => BINDING,
                Voice::Said if leans(sentence.text) => LEANING,
                Voice::Said => 0,
            };
            let says = words(sentence.text).map(|word| (word, word.len() as u64)).collect();
            Candidate {
                cost: sentence.text.len() + GAP.len(),
                effort: 0,
                bonus: bonus * sentence.text.len() as u64,
                says,
            }
        })
        .collect();
    let mut known: HashSet<&str> = ends.into_iter().flat_map(words).collect();
    let mut picked = pick(&candidates, &mut known, room);
    picked.sort_unstable();
    picked.into_iter().map(|index| all[index].text).collect()
}

/// A byte of a sentence that binds is worth more than any other text could be.
const BINDING: u64 = 100;
const LEANING: u64 = 2;

/// Words that carry meaning: the longer a word, the rarer it is. Times and counts are always new and say nothing.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let all = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '/' | '.'));
    all.filter(|word| word.len() >= 4 && word.starts_with(char::is_alphabetic))
}

/// Read quotations back. What another hand wrote is taken line by line.
pub fn unquote(body: &str) -> Vec<Said> {
    let mut found = Vec::new();
    let mut note: Option<String> = None;
    let mut open: Option<(String, String)> = None;
    let said = |text: &str, note: Option<String>| Said { text: text.to_owned(), whole: None, note, at: 0 };
    for line in body.lines() {
        if let Some((fence, text)) = &mut open {
            if fence_mark(line).is_some_and(|mark| closes(line, fence, mark)) {
                found.push(said(text.trim_end_matches('\n'), note.take()));
                open = None;
            } else {
                text.push_str(line);
                text.push('\n');
            }
        } else if let Some(mark) = fence_mark(line) {
            open = Some((mark.to_owned(), String::new()));
        } else if line.starts_with("(shortened from ") {
            note = Some(line.to_owned());
        } else {
            let ours = line.strip_prefix("- ");
            let text = ours.unwrap_or_else(|| without_list_mark(line.trim())).trim();
            if !text.is_empty() && (ours.is_some() || text != sections::NOTHING) {
                found.push(said(text, None));
            }
        }
    }
    found.extend(open.map(|(_, text)| said(text.trim_end(), note.take())));
    found
}

/// A text that is asked which messages it carries.
pub struct Carrier<'a> {
    text: &'a str,
    /// On one line, as a model may have wrapped what it quotes.
    squeezed: String,
}

impl<'a> Carrier<'a> {
    /// Ask this text.
    pub fn new(text: &'a str) -> Self {
        Self { text, squeezed: one_line(text) }
    }

    /// Whether it carries a message: whole, or as much of it as a quotation would.
    pub fn carries(&self, said: &Said, limits: &Limits) -> bool {
        if self.text.contains(&said.text) {
            return true;
        }
        if said.text.len() <= longest(limits) {
            return self.squeezed.contains(&one_line(&said.text));
        }
        let binding = in_text(&said.text, &MessageId::new(""), limits);
        let ends = [head(&said.text, EDGE), tail(&said.text, EDGE)];
        ends.iter().all(|end| self.text.contains(end)) && binding.iter().all(|rule| self.squeezed.contains(&rule.text))
    }
}

/// Enough of either end to know a message by.
const EDGE: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Block, Role};
    use proptest::prelude::*;

    fn person(text: &str) -> Said {
        Said { text: text.to_owned(), whole: Some("/s/whole.txt".into()), note: None, at: 0 }
    }

    // spec: C3
    #[test]
    fn quotations_are_verbatim_and_nothing_in_them_ends_them() {
        for text in [
            "hi",
            "two\nlines",
            "```\ncode\n```\nmore",
            "````\n```\n## 7. Pending Tasks\n````",
            "- a\n- b",
            "## 7. Pending Tasks",
        ] {
            let quoted = quote(&person(text), 1_000);
            assert!(quoted.contains(text), "{quoted}");
            let read: Vec<_> = unquote(&quoted).into_iter().map(|said| said.text).collect();
            assert_eq!(read, [text]);
            let document = format!("## 6. All User Messages\n{quoted}## 7. Pending Tasks\n- x\n");
            assert_eq!(sections::parse(&document).body(Section::Pending), "- x", "{document}");
        }
    }

    // spec: C3
    #[test]
    fn a_long_message_keeps_its_ends_its_constraints_and_the_place_of_the_whole() {
        let noise: String = (0..400).map(|n| format!("Line {n} says little about things.\n")).collect();
        let long = format!("The head of it.\n{noise}Never push to main.\n{noise}The very end.");
        let quoted = quote(&person(&long), 2_000);
        for part in ["The head of it.", "Never push to main.", "The very end.", "/s/whole.txt", "[…]"] {
            assert!(quoted.contains(part), "{part} is missing in {quoted}");
        }
        assert!(quoted.len() <= 2_000);
        assert!(Carrier::new(&quoted).carries(&person(&long), &Limits::default()));
        let again = unquote(&quoted);
        assert_eq!(quote(&again[0], 2_000), quoted, "shortened once, it stays as it is");
        let shorter = quote(&again[0], 600);
        assert!(
            shorter.len() <= 600 && shorter.contains("Never push to main.") && shorter.contains("/s/whole.txt"),
            "{shorter}"
        );
    }

    // spec: C3
    #[test]
    fn an_earlier_summary_hands_its_quotations_on() {
        let message = |origin, text: &str| Message {
            id: "m".into(),
            role: Role::User,
            origin,
            at: jiff::Timestamp::UNIX_EPOCH,
            blocks: vec![Block::text(text)],
        };
        let summary = format!(
            "## 6. All User Messages\n{}{}## 7. Pending Tasks\nNone.\n",
            quote(&person("one"), 99),
            quote(&person("a\nb"), 99)
        );
        let messages =
            [message(Origin::Summary, &summary), message(Origin::Person, "one"), message(Origin::Person, "two")];
        let texts: Vec<_> = said(&messages, &|_| None).into_iter().map(|said| said.text).collect();
        assert_eq!(texts, ["one", "a\nb", "two"]);
    }

    proptest! {
        #[test]
        fn any_message_is_quoted_within_its_room(text in "([a-z]{1,9}|[ \n.`~#-]|```|never |é){0,120}", room in 200usize..600) {
            let text = text.trim();
            prop_assume!(!text.is_empty());
            let quoted = quote(&person(text), room);
            if text.len() <= room {
                prop_assert!(quoted.contains(text));
                prop_assert_eq!(&unquote(&quoted)[0].text, text);
            } else {
                prop_assert!(quoted.len() <= room + 8);
            }
        }
    }
}
