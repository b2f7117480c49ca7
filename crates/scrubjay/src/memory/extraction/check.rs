//! What code checks of a learner's memory, exactly: that its citations stand in what was shown, that its hard facts do,
//! that it holds no credential and repeats no instruction file. Wording is never judged. Doubt makes a memory unconfirmed, with
//! the reason; only a forged citation, a credential and a repeated instruction are refused.

use super::super::hard_facts::{self, HardFact};
use super::super::provenance::{Basis, Source, Speaker, Trust};
use super::super::recall::content_words;
use super::super::typed::Plain;
use super::Grounds;
use super::answer::{Action, Draft};
use super::request::{Passage, Reader, Shown};
use crate::dates;
use crate::limits::Limits;
use crate::secrets;
use jiff::civil::Date;

/// A memory that passed, and what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The memory, its dates made absolute.
    pub draft: Draft,
    /// What it rests on, and whether it may be trusted.
    pub basis: Basis,
    /// What was done to its text.
    pub notes: Vec<String>,
}

/// Of a statement's words, in percent, that stand in one paragraph of an instruction file when it says nothing new.
const REPEATED: usize = 80;
/// With fewer words two texts are alike by chance.
const FEW_WORDS: usize = 3;
/// How much of a quotation is shown where it is not found.
const SHOWN_CHARS: usize = 120;

/// Check a memory against what its writer was shown; or why it is refused.
pub fn check(draft: &Draft, shown: &Shown, grounds: &Grounds) -> Result<Checked, String> {
    if draft.action != Action::Remove && statement(draft).trim().is_empty() {
        return Err("it says nothing".to_owned());
    }
    if let Some(rule) = credential(draft) {
        return Err(format!("it holds a credential ({rule}), and those are never kept"));
    }
    let cited =
        draft.cites.iter().map(|cite| Ok((cite.as_str(), find(cite, shown)?))).collect::<Result<Vec<_>, String>>()?;
    if draft.action != Action::Remove && grounds.instructions.iter().any(|text| repeats(draft, text)) {
        return Err("an instruction file says this already, and it is read in every session".to_owned());
    }
    let doubts = doubts(draft, &cited, shown, &grounds.limits);
    let (draft, notes) = dated(draft, &cited);
    let sources = cited.iter().map(|(cite, passage)| source(cite, passage, grounds)).collect();
    let trust = if doubts.is_empty() { Trust::Clean } else { Trust::Tainted };
    let doubt = (!doubts.is_empty()).then(|| doubts.join("; "));
    Ok(Checked { draft, basis: Basis { sources, trust, doubt }, notes })
}

/// What a memory states, without why and how to apply it.
fn statement(draft: &Draft) -> &str {
    draft
        .topic
        .body
        .split("**Why:**")
        .next()
        .and_then(|body| body.split("**How to apply:**").next())
        .unwrap_or_default()
}

/// The rule that knows a credential in a memory or its citations.
fn credential(draft: &Draft) -> Option<String> {
    let texts = || [&draft.topic.name, &draft.topic.description, &draft.topic.body].into_iter().chain(&draft.cites);
    texts().find_map(|text| secrets::scan(text).into_iter().next()).map(|found| found.rule)
}

/// Where a quotation stands; typed words first.
fn find<'a>(cite: &str, shown: &'a Shown) -> Result<&'a Passage, String> {
    let quote = Plain::of(cite).text();
    let mut holders = shown.passages.iter().filter(|passage| passage.plain.contains(&quote));
    let first = holders.next();
    let typed = |passage: &&Passage| passage.speaker == Speaker::Person;
    let found = first.filter(typed).or_else(|| holders.find(typed)).or(first);
    found.ok_or_else(|| {
        let shown: String = cite.chars().take(SHOWN_CHARS).collect();
        format!("it cites “{shown}”, which stands nowhere in what it was made from")
    })
}

fn source(cite: &str, passage: &Passage, grounds: &Grounds) -> Source {
    Source {
        speaker: passage.speaker.clone(),
        session: grounds.session.to_string(),
        message: passage.message.to_string(),
        quote: cite.to_owned(),
    }
}

/// Whether one paragraph or line of an instruction file has nearly all words of the statement.
fn repeats(draft: &Draft, instructions: &str) -> bool {
    let words = content_words(statement(draft));
    let told = |part: &str| 100 * words.intersection(&content_words(part)).count() / words.len().max(1) >= REPEATED;
    let parts = |paragraph: &str| told(paragraph) || paragraph.lines().any(told);
    words.len() >= FEW_WORDS && instructions.split("\n\n").any(parts)
}

/// Everything that speaks against taking a memory as the user's own word.
fn doubts(draft: &Draft, cited: &[(&str, &Passage)], shown: &Shown, limits: &Limits) -> Vec<String> {
    let mut doubts = Vec::new();
    match shown.reader {
        Reader::Typed => {}
        Reader::Exchange => doubts.push("it rests on an answer of the assistant, and you only agreed".to_owned()),
        Reader::Fork => doubts.push("its writer saw the whole conversation, not only your words".to_owned()),
    }
    let typed: Vec<_> = cited.iter().filter(|(_, passage)| passage.speaker == Speaker::Person).collect();
    let telling = |cite: &str| telling_chars(cite) >= limits.learner_cite_chars;
    if !typed.iter().any(|(cite, _)| telling(cite)) {
        doubts.push("it cites too little of what you typed".to_owned());
    }
    let agreed = |answer: &Passage| {
        typed.iter().any(|(cite, reply)| answer.replied.as_ref() == Some(&reply.message) && telling(cite))
    };
    let answers = || cited.iter().filter(|(_, passage)| passage.speaker == Speaker::Assistant);
    if answers().any(|(_, answer)| !agreed(answer)) {
        doubts.push("it cites an answer of the assistant without your reply to it".to_owned());
    }
    // What an answer says counts where the memory cites it together with the reply.
    let confirmed = |answer: &Passage| agreed(answer) && answers().any(|(_, cited)| std::ptr::eq(*cited, answer));
    let unsupported = unsupported(draft, shown, confirmed);
    if !unsupported.is_empty() {
        let facts: Vec<String> = unsupported.iter().map(HardFact::to_string).collect();
        doubts.push(format!("you did not type {}", facts.join(", ")));
    }
    doubts
}

/// Letters and digits of a quotation; wide ones count twice.
fn telling_chars(cite: &str) -> u64 {
    cite.chars().filter(|c| c.is_alphanumeric()).map(|c| 1 + u64::from(c >= '\u{2e80}')).sum()
}

/// Hard facts that neither typed words say, nor an answer that the user confirmed, nor a memory that was shown.
fn unsupported(draft: &Draft, shown: &Shown, confirmed: impl Fn(&Passage) -> bool) -> Vec<HardFact> {
    if draft.action == Action::Remove {
        return Vec::new();
    }
    let counts = |passage: &&Passage| match passage.speaker {
        Speaker::Person => true,
        Speaker::Assistant => shown.reader != Reader::Typed || confirmed(passage),
        _ => shown.reader == Reader::Fork,
    };
    let said = shown.passages.iter().filter(counts);
    let said = said.map(|passage| hard_facts::Passage { text: &passage.text, day: Some(passage.day) });
    let known = shown.memories.values().map(|(_, text)| text).chain(shown.listed.values());
    let known = known.map(|text| hard_facts::Passage { text, day: None });
    let passages: Vec<_> = said.chain(known).collect();
    let text = [draft.topic.name.as_str(), &draft.topic.description, &draft.topic.body].join("\n");
    hard_facts::unsupported(&text, &passages)
}

/// The memory with its relative dates made absolute, counted from the day their words were typed, and what that came to.
fn dated(draft: &Draft, cited: &[(&str, &Passage)]) -> (Draft, Vec<String>) {
    let Some(said) = said_on(cited) else { return (draft.clone(), Vec::new()) };
    let mut draft = draft.clone();
    let (description, body) = (dates::resolve(&draft.topic.description, said), dates::resolve(&draft.topic.body, said));
    let mut notes = Vec::new();
    if body.resolved + description.resolved > 0 {
        notes.push(format!("dates are counted from {said}, when it was said"));
    }
    if body.left_open > 0 {
        notes.push(format!(
            "a day in it could not be told for certain; it keeps its words and {said}, when it was said"
        ));
    }
    (draft.topic.description, draft.topic.body) = (description.text, body.text);
    (draft, notes)
}

/// The day from which relative dates are counted: that of the newest cited words that name one, or else of the newest.
fn said_on(cited: &[(&str, &Passage)]) -> Option<Date> {
    let names_one = |passage: &&Passage| {
        dates::find(&passage.text, passage.day).iter().any(|date| date.kind == dates::Kind::Relative)
    };
    let passages = || cited.iter().map(|(_, passage)| *passage);
    let days = |passage: &Passage| passage.day;
    passages().filter(names_one).map(days).max().or_else(|| passages().map(days).max())
}
