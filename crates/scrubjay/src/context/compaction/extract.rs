//! A summary without a model: the nine sections, taken from the transcript alone and fitted into the room there is.

use super::allocation::{Offer, choose};
use super::anchors::{self, Anchor, Sort};
use super::constraints::{self, Constraint, pinned_block};
use super::deeds::{self, label};
use super::offers::{Past, base};
use super::quotes::{self, Wholes};
use super::sections::{ALL, Section, Sections};
use super::todo;
use crate::limits::Limits;
use crate::message::{Message, Origin};
use crate::prose::code;
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
     Raise `limits.summary_tokens`, or start afresh with /clear"
)]
pub struct TooSmall {
    /// What is needed at least.
    pub needed: usize,
    /// What there is.
    pub room: usize,
}

/// How many bytes a summary may take.
pub fn room(limits: &Limits) -> usize {
    usize::try_from(limits.summary_tokens.saturating_mul(limits.text_bytes_per_token)).unwrap_or(usize::MAX)
}

/// Whether what may never be left out has room in a summary: the standing constraints and the headings (F-74).
pub fn fits<M: Borrow<Message>>(messages: &[M], limits: &Limits) -> Result<(), TooSmall> {
    let needed = Sections::after(preamble(&constraints::pinned(messages, limits))).render().len();
    let room = room(limits);
    if needed <= room { Ok(()) } else { Err(TooSmall { needed, room }) }
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
        parts.set(Section::Files, &format!("{RELATIVE}{}.", code(&base)));
    }
    let needed = parts.render().len();
    let Some(free) = room.checked_sub(needed) else { return Err(TooSmall { needed, room }) };

    let mut anchors = anchors::anchors(messages, limits);
    anchors.truncate(usize::try_from(limits.anchors_checked).unwrap_or(usize::MAX).saturating_mul(10));
    let (said, tasks) = (quotes::said(messages, wholes), todo::tasks(messages));
    let past = Past { messages, said: &said, deeds: &deeds, tasks: &tasks, limits };
    let share = free * usize::try_from(limits.anchor_percent).unwrap_or(0) / 100;
    buy(&mut parts, &past.offers(&base), free - anchor_room(share, limits));
    let text = parts.render();
    let seen = Seen { text: &text, base: &base };
    parts.anchors = anchor_lines(messages, &anchors, &seen, anchor_room(room - text.len(), limits));
    Ok(Summary { text: parts.render(), pinned })
}

const RELATIVE: &str = "Paths in this list are relative to ";

/// The directory that a summary's paths are relative to, if it says so.
pub(super) fn base_of(summary: &str) -> &str {
    let line = summary.lines().find_map(|line| line.strip_prefix(RELATIVE)).unwrap_or_default();
    line.trim_end_matches('.').trim_matches('`')
}

/// Put the offers that are worth their bytes into their sections.
pub(super) fn buy(parts: &mut Sections, offers: &[Offer], free: usize) {
    let chosen = choose(offers, free);
    for section in ALL {
        let mut body = parts.body(section).to_owned();
        if !body.is_empty() {
            body.push('\n');
        }
        let bought = offers.iter().zip(&chosen).filter(|(offer, _)| offer.section == section);
        body.extend(bought.filter_map(|(offer, form)| form.map(|form| offer.forms[form].text.as_str())));
        parts.set(section, &body);
    }
}

/// What the anchor list may take.
pub(super) fn anchor_room(free: usize, limits: &Limits) -> usize {
    free.min(usize::try_from(limits.anchor_list_bytes).unwrap_or(usize::MAX))
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
    pub(super) fn names(&self, anchor: &Anchor) -> bool {
        self.text.contains(&anchor.text) || (anchor.sort == Sort::Path && self.names_path(&anchor.text))
    }

    /// A path may be spelt from another directory: from the root, or from one that the base lies in.
    fn names_path(&self, path: &str) -> bool {
        let ends = |start: &str| {
            self.base.strip_suffix(start).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        path.match_indices('/')
            .any(|(at, _)| ends(&path[..=at]) && at + 1 < path.len() && self.text.contains(&path[at + 1..]))
    }
}

/// The most important anchors that a text lacks, each under where it was last or first seen, in at most `room` bytes with heading.
pub(super) fn anchor_lines<M: Borrow<Message>>(
    messages: &[M],
    anchors: &[Anchor],
    seen: &Seen<'_>,
    room: usize,
) -> String {
    let Some(mut left) = room.checked_sub(AROUND) else { return String::new() };
    let labels = labels(messages, seen.base);
    let mut lines: Vec<Line<'_>> = Vec::new();
    let telling = |anchor: &&Anchor| anchor.matters() && !seen.names(anchor);
    for anchor in anchors.iter().filter(telling) {
        if left < SHORTEST_ANCHOR {
            break;
        }
        let name = code(&anchor.text);
        let crowded = |place: &str| lines.iter().any(|line| line.place == place && line.count >= MOST_BY_PLACE);
        let mut places = [anchor.last, anchor.first].into_iter().filter_map(|at| labels.get(at));
        let Some(place) = places.find(|place| !crowded(place)) else { continue };
        let known = lines.iter().position(|line| line.place == place);
        let cost = name.len() + known.map_or(place.len() + "-  named .\n".len(), |_| ", ".len());
        if cost > left
            || (known.is_some() && place.contains(&anchor.text))
            || lines.iter().any(|line| line.names.contains(&anchor.text))
        {
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
            Origin::Task => "The task".to_owned(),
            Origin::Model => "The model".to_owned(),
            Origin::Summary => "An earlier summary".to_owned(),
            _ => "A notice".to_owned(),
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::deeds::tests::round;
    use super::super::fidelity::check;
    use super::super::sections::{NOTHING, parse};
    use super::*;
    use crate::message::{Block, Role};
    use proptest::prelude::*;
    use serde_json::json;

    fn said(origin: Origin, id: &str, text: &str) -> Message {
        let role = if origin == Origin::Model { Role::Assistant } else { Role::User };
        Message { id: id.into(), role, origin, at: jiff::Timestamp::UNIX_EPOCH, blocks: vec![Block::text(text)] }
    }

    fn story() -> Vec<Message> {
        let todos = json!({"todos": [{"content": "add a test", "status": "in_progress"}, {"content": "write docs", "status": "pending"}]});
        let edit =
            json!({"file_path": "/home/p/project/src/head.rs", "old_string": "let a = 1;", "new_string": "let a = 2;"});
        let mut all = vec![said(Origin::Person, "u1", "Fix parse_header.\nNever push to main.")];
        all.extend(round("1", "Read", json!({"file_path": "/home/p/project/src/lib.rs"}), "fn main() {}"));
        all.extend(round("0", "Read", json!({"file_path": "/home/p/project/src/deep/er.rs"}), "fn x() {}"));
        all.extend(round(
            "2",
            "Bash",
            json!({"command": "cargo test"}),
            "src/head.rs:3: error: mismatch of things\n[exit code 101]",
        ));
        all.extend(round("3", "Edit", edit, "ok"));
        all.extend(round("4", "Bash", json!({"command": "cargo test"}), "4 passed\n[exit code 0]"));
        all.extend(round("5", "TodoWrite", todos, "ok"));
        all.push(said(Origin::Model, "a1", "The cause was an off-by-one in parse_header, now fixed in src/head.rs."));
        all.push(said(Origin::Person, "u2", "now write the docs"));
        all
    }

    // spec: C13
    #[test]
    fn nine_sections_from_the_transcript_alone() {
        let limits = Limits::default();
        let text = summarise(&story(), 6_000, &|_| None, &limits).unwrap().text;
        let parts = parse(&text);
        for (section, words) in [
            (Section::Request, "The latest request: \"now write the docs\""),
            (Section::Concepts, "The cause was an off-by-one in parse_header"),
            (Section::Files, "relative to `/home/p/project/src/`"),
            (Section::Files, "- head.rs: edited; last: `let a = 1;` became `let a = 2;`"),
            (Section::Files, "- lib.rs: read"),
            (
                Section::Errors,
                "`cargo test` failed: src/head.rs:3: error: mismatch of things; then `head.rs` was edited and it went well.",
            ),
            (Section::Solving, "- Ran `cargo test`: exit 0 at the last of 2 runs; it printed `4 passed`"),
            (Section::UserMessages, "```\nFix parse_header.\nNever push to main.\n```\n- now write the docs"),
            (Section::Pending, "- in progress: add a test\n- to do: write docs"),
            (Section::Current, "off-by-one"),
            (Section::Next, "Go on with the open task: add a test"),
        ] {
            assert!(parts.body(section).contains(words), "{words} is missing:\n{text}");
        }
        assert!(parts.preamble.contains("It is past") && parts.preamble.contains("- [u1] Never push to main."));
        assert_eq!(check(&story(), &text, &limits).dropped, []);
    }

    // spec: C11
    // spec: C13
    #[test]
    fn a_second_compaction_carries_on_what_the_first_one_kept() {
        let limits = Limits::default();
        let first = summarise(&story(), 6_000, &|_| None, &limits).unwrap();
        let mut messages =
            vec![said(Origin::Summary, "s", &first.text), said(Origin::Person, "u3", "and don't touch CI")];
        let mut blocks = vec![pinned_block(&first.pinned)];
        for n in 0..4 {
            let next = summarise(&messages, 6_000, &|_| None, &limits).unwrap();
            for words in [
                "```\nFix parse_header.\nNever push to main.\n```",
                "- now write the docs",
                "- and don't touch CI",
                "mismatch of things",
                "head.rs: edited",
            ] {
                assert!(next.text.contains(words), "{words} is missing after {n}:\n{}", next.text);
            }
            blocks.push(pinned_block(&next.pinned));
            assert!(next.text.contains(&blocks[n + 1]), "the block stands in the text as it is");
            messages = vec![said(Origin::Summary, "s", &next.text)];
        }
        assert!(blocks[1..].windows(2).all(|pair| pair[0] == pair[1]));
        assert!(blocks[1].starts_with(blocks[0].rsplit_once("</").unwrap().0));
    }

    // spec: C11
    #[test]
    fn constraints_that_do_not_fit_are_a_refusal_and_never_a_cut() {
        let rules: String = (0..40).map(|n| format!("Never touch directory number {n}.\n")).collect();
        let messages = [said(Origin::Person, "u", &rules)];
        let refused = summarise(&messages, 1_000, &|_| None, &Limits::default()).unwrap_err();
        assert!(refused.needed > refused.room && refused.to_string().contains("limits.summary_tokens"), "{refused}");
        let fits = summarise(&messages, refused.needed, &|_| None, &Limits::default()).unwrap();
        assert!(fits.text.contains("Never touch directory number 39.") && fits.text.len() <= refused.needed);
    }

    #[test]
    fn nothing_said_is_nothing_summarised() {
        let text = summarise(&[] as &[Message], 2_000, &|_| None, &Limits::default()).unwrap().text;
        assert_eq!(text.matches(NOTHING).count(), 8, "{text}");
    }

    fn any_message() -> impl Strategy<Value = (u8, String)> {
        let text = "([a-z]{1,9}|[ \\n.`~#-]|```|never push|src/[a-z]{2,4}\\.rs|don't touch |[a-z]{3}_[a-z]{3} |不要|## 7\\. Pending Tasks\\n|é){0,40}";
        (0u8..8, text)
    }

    fn conversation(all: &[(u8, String)]) -> Vec<Message> {
        let one = |(n, (kind, text)): (usize, &(u8, String))| match kind {
            0..=2 => vec![said(Origin::Person, &format!("m{n}"), text)],
            3 => vec![said(Origin::Model, &format!("m{n}"), text)],
            4 => round(&format!("c{n}"), "Bash", json!({"command": text}), &format!("Exit code 1\n{text}")).to_vec(),
            5 => round(
                &format!("c{n}"),
                "Edit",
                json!({"file_path": format!("/p/{n}.rs"), "old_string": text, "new_string": "b"}),
                text,
            )
            .to_vec(),
            6 => vec![said(Origin::Summary, &format!("m{n}"), text)],
            _ => round(&format!("c{n}"), "Whatever", json!(text), text)[..1].to_vec(),
        };
        all.iter().enumerate().flat_map(one).collect()
    }

    proptest! {
        // spec: C13
        #[test]
        fn any_conversation_fits_and_keeps_what_it_must(all in proptest::collection::vec(any_message(), 0..14), room in 300usize..9_000) {
            let limits = Limits::default();
            let messages = conversation(&all);
            let Ok(summary) = summarise(&messages, room, &|_| None, &limits) else { return Ok(()) };
            prop_assert!(summary.text.len() <= room, "{} > {room}", summary.text.len());
            prop_assert_eq!(constraints::parse_pinned(&summary.text), constraints::pinned(&messages, &limits));
            prop_assert_eq!(&summarise(&messages, room, &|_| None, &limits).unwrap(), &summary);
            let roomy = summarise(&messages, 200_000, &|_| None, &limits).unwrap().text;
            for said in quotes::said(&messages, &|_| None) {
                prop_assert!(roomy.contains(&said.text), "{:?} is missing in {roomy}", said.text);
            }
            let read = parse(&roomy);
            prop_assert!(!read.body(Section::Next).is_empty(), "a section swallowed the rest: {roomy}");
            let quoted: Vec<_> = quotes::unquote(read.body(Section::UserMessages)).into_iter().map(|said| said.text).collect();
            let spoken: Vec<_> = quotes::said(&messages, &|_| None).into_iter().map(|said| said.text).collect();
            prop_assert_eq!(quoted, spoken);
        }
    }
}
