//! A summary from the session's notes: no model is asked. The notes say what was done; what the person said stands under
//! them in their own words.

use super::allocation::choose;
use super::constraints;
use super::deeds::Deeds;
use super::extract::{Seen, Summary, TooSmall, anchor_lines, anchor_room, preamble};
use super::fidelity;
use super::offers::Past;
use super::quotes::{self, Wholes};
use super::sections::{ANCHORS, Section};
use crate::context::notes::template::truncated;
use crate::limits::Limits;
use crate::message::Message;
use std::borrow::Borrow;

/// The notes as a summary in at most `room` bytes: each section cut to its limit, the standing constraints before them, the
/// person's messages and a short list of anchors under them (S9, C11).
pub fn summary<M: Borrow<Message>>(
    notes: &str,
    messages: &[M],
    room: usize,
    wholes: Wholes<'_>,
    limits: &Limits,
) -> Result<Summary, TooSmall> {
    let pinned = constraints::pinned(messages, limits);
    let heading = format!("## 6. {}\n", Section::UserMessages.title());
    let mut text = format!("{}\n{}\n\n", preamble(&pinned).trim_end(), truncated(notes, limits).trim());
    let needed = text.len() + heading.len();
    let Some(free) = room.checked_sub(needed) else { return Err(TooSmall { needed, room }) };

    let (said, anchors) = (quotes::said(messages, wholes), fidelity::said_anchors(messages, limits));
    let past = Past { messages, said: &said, deeds: &Deeds::default(), tasks: &[], limits };
    let offers = past.user_messages();
    let kept_free = fidelity::kept_free(text.len(), free, limits);
    let chosen = choose(&offers, free - kept_free);
    let found = format!("## 5. {}\n", Section::Solving.title());
    let quoted: usize =
        offers.iter().zip(&chosen).filter_map(|(offer, form)| Some(offer.forms[(*form)?].text.len())).sum();
    let left = free.saturating_sub(quoted + found.len());
    let lines = fidelity::lacking(messages, &text, left, kept_free.min(left), limits);
    if !lines.is_empty() {
        text.push_str(&format!("{found}{lines}"));
    }
    text.push_str(&heading);
    text.extend(offers.iter().zip(chosen).filter_map(|(offer, form)| Some(offer.forms[form?].text.as_str())));
    let seen = Seen { text: &text, base: "" };
    let lines = anchor_lines(messages, &anchors, &seen, anchor_room(room - text.len(), limits));
    if !lines.is_empty() {
        text.push_str(&format!("{ANCHORS}\n{lines}"));
    }
    Ok(Summary { text, pinned })
}

#[cfg(test)]
mod tests {
    use super::super::extract::summarise;
    use super::super::sections::parse;
    use super::*;
    use crate::context::notes::template::{TEMPLATE, written};
    use crate::message::{Block, Origin, Role};
    use proptest::prelude::*;

    fn said(origin: Origin, id: &str, text: &str) -> Message {
        Message {
            id: id.into(),
            role: Role::User,
            origin,
            at: jiff::Timestamp::UNIX_EPOCH,
            blocks: vec![Block::text(text)],
        }
    }

    // spec: S9
    // spec: C11
    #[test]
    fn notes_serve_as_the_summary_and_what_the_person_said_stays() {
        let limits = Limits { notes_section_tokens: 50, ..Limits::default() };
        let notes = written(
            TEMPLATE,
            &[
                ("Errors & Corrections", "- E0308 in head.rs, fixed by a cast".to_owned()),
                ("Worklog", "- a step\n".repeat(99)),
            ],
        );
        let messages = [said(Origin::Person, "1", "Never push to main.\nFix it."), said(Origin::Person, "2", "go on")];
        let made = summary(&notes, &messages, 6_000, &|_| None, &limits).unwrap();
        for words in [
            "- [1] Never push to main.",
            "E0308 in head.rs",
            "[cut here",
            "```\nNever push to main.\nFix it.\n```\n- go on",
        ] {
            assert!(made.text.contains(words), "{words} is missing in {}", made.text);
        }
        let later = [said(Origin::Summary, "s", &made.text), said(Origin::Person, "3", "and now?")];
        let again = summarise(&later, 6_000, &|_| None, &limits).unwrap();
        assert_eq!(again.pinned, made.pinned);
        let parts = parse(&again.text);
        assert!(parts.body(Section::Errors).contains("E0308 in head.rs"), "{}", again.text);
        assert!(parts.body(Section::UserMessages).contains("- go on\n- and now?"));
        assert!(summary(&notes, &messages, 300, &|_| None, &limits).is_err());
    }

    proptest! {
        #[test]
        fn any_notes_fit_or_are_refused(notes in "(# [a-c]\n|_x_\n|```\n|[a-z é]{0,30}\n){0,30}", text in "[a-z \n`]{0,300}", room in 200usize..3_000) {
            let messages = [said(Origin::Person, "1", &text)];
            if let Ok(made) = summary(&notes, &messages, room, &|_| None, &Limits::default()) {
                prop_assert!(made.text.len() <= room);
            }
        }
    }
}
