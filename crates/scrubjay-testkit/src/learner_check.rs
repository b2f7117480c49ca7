//! Invariant C, looked at from outside: what of a learner's request stands under "What the user typed" was typed, or was an answer
//! given before anything foreign had entered. Told apart here by simpler means than the engine's own, so that a mistake there shows.

use scrubjay::message::{Message, Origin};
use scrubjay::prompt::Prompt;
use scrubjay::prompts;
use scrubjay::transcript::{Entry, Record};
use std::collections::BTreeSet;

/// Lines shorter than this stand everywhere.
const TELLING: usize = 24;

/// A line of foreign text that a learner was shown, if there is one.
pub(crate) fn leak(asked: &[Prompt], records: &[Record]) -> Option<String> {
    let learners = asked.iter().filter(|prompt| *prompt.system == *prompts::LEARNER.trim_end());
    let foreign = foreign_lines(records);
    for prompt in learners {
        let text = prompt.history.first().map(|message| message.text()).unwrap_or_default();
        let words = plain(text.split("What the user typed:").nth(1).unwrap_or(&text));
        if let Some(line) = foreign.iter().find(|line| words.contains(line.as_str())) {
            return Some(line.clone());
        }
    }
    None
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Lines that somebody else than the user said first.
fn foreign_lines(records: &[Record]) -> BTreeSet<String> {
    let (mut foreign, mut typed, mut tainted) = (BTreeSet::new(), String::new(), false);
    for record in records {
        let Entry::Said(message) = &record.entry else { continue };
        match message.origin {
            Origin::Person => {
                typed.push_str(&plain(&outside_fences(&message.text())));
                typed.push(' ');
            }
            Origin::Model if !tainted => {}
            Origin::Memory | Origin::Summary | Origin::Reminder => {}
            _ => {
                let texts = texts(message);
                tainted |= message.origin != Origin::Model && !texts.is_empty();
                let lines = texts.iter().flat_map(|text| text.lines()).map(plain);
                foreign.extend(lines.filter(|line| line.chars().count() >= TELLING && !typed.contains(line.as_str())));
            }
        }
    }
    foreign
}

fn texts(message: &Message) -> Vec<String> {
    let results = message.tool_results().map(|result| result.text());
    let own = Some(message.text()).filter(|text| !text.is_empty());
    results.chain(own).collect()
}

fn outside_fences(text: &str) -> String {
    let mut inside = false;
    let kept = text.lines().filter(|line| {
        let mark = line.trim_start().starts_with("```");
        inside ^= mark;
        !inside && !mark && !line.trim_start().starts_with('>')
    });
    kept.collect::<Vec<_>>().join("\n")
}
