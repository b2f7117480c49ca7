//! What the person said outright, found without a model: "remember that …", "never …", "we decided …", a deadline, where
//! something is tracked, "forget that …".
//!
//! It never guesses. Only the person's own words are read, sentence by sentence; what is a question, a quotation, pasted, meant
//! for the moment, in jest or a credential is nothing. A sentence that is missed costs little, since it can be said again; a wrong
//! one would be believed for months.

mod chinese;
mod doubt;
mod english;
mod european;
mod phrase;
mod signs;
#[cfg(test)]
mod tests;
mod words;

use super::draft::{description, kind_of, title};
use super::recall::content_words;
use super::topic::{Kind, Topic};
use crate::dates::{self, Granularity, When};
use crate::message::{Message, MessageId, Origin};
use crate::prompts;
use crate::prose::{Sentence, Voice, one_line, sentences};
use crate::secrets;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use phrase::{Phrase, Sense};
use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use words::Tongue;

/// Something the person said outright.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What.
    pub said: Said,
    /// The person's exact words.
    pub quote: String,
    /// The message they stand in.
    pub message: MessageId,
    /// The words of somebody else that they confirm.
    pub confirms: Option<Confirmed>,
}

/// What was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// That this is remembered.
    Remember(Topic),
    /// That what these words name is forgotten.
    Forget(String),
}

/// What the model had said when the person said "keep doing that".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    /// The exact words.
    pub quote: String,
    /// The message they stand in.
    pub message: MessageId,
}

/// A text of more sentences is a document: in it only "remember" and its like are meant for later.
const DOCUMENT: usize = 16;
/// Longer sentences were not said.
const LONGEST: usize = 400;
/// Of a sentence's words, in percent, that stand in one line when it says the same.
const SAME: usize = 80;
/// With fewer words two sentences are alike by chance.
const FEW: usize = 3;
/// What is confirmed must be as short as something one can take in at a glance.
const GLANCE: usize = 300;

/// What the person said outright in these messages, in order. Days are reckoned from the day of each message in `zone`.
///
/// ```
/// # use scrubjay::message::{Block, Message, Origin, Role};
/// use scrubjay::memory::explicit::{Said, find};
/// # let (role, origin, at) = (Role::User, Origin::Person, "2026-11-16T09:00:00Z".parse()?);
/// # let message = |text: &str| Message { id: "m1".into(), role, origin, at, blocks: vec![Block::text(text)] };
/// let said = [message("We decided to freeze releases by Thursday. Shall we tag today?").into()];
/// let found = find(&said, &jiff::tz::TimeZone::UTC);
/// let Said::Remember(topic) = &found[0].said else { panic!("not kept") };
/// assert!(topic.body.starts_with("We decided to freeze releases by 2026-11-19 (Thursday)."));
/// assert_eq!(found.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn find(messages: &[Arc<Message>], zone: &TimeZone) -> Vec<Found> {
    let mut all: Vec<Found> = Vec::new();
    let (mut answered, mut previous): (Option<&Arc<Message>>, Option<&Arc<Message>>) = (None, None);
    let mut shown: Vec<BTreeSet<String>> = Vec::new();
    for message in messages {
        match message.origin {
            Origin::Person => {
                let day = message.at.to_zoned(zone.clone()).date();
                Reading { message, day, answered, previous, shown: &shown }.read_into(&mut all);
                (answered, previous) = (None, Some(message));
            }
            Origin::Model if !message.text().trim().is_empty() => answered = Some(message),
            Origin::Tool | Origin::Instructions => shown.extend(message.text().lines().map(content_words)),
            _ => {}
        }
    }
    all
}

/// One message of the person's.
struct Reading<'a> {
    message: &'a Message,
    /// The day it was written.
    day: Date,
    /// What the model said last before it.
    answered: Option<&'a Arc<Message>>,
    /// The person's message before it.
    previous: Option<&'a Arc<Message>>,
    /// The words of each line that a tool has shown before it.
    shown: &'a [BTreeSet<String>],
}

impl Found {
    /// A second sentence to the same effect belongs to the same memory.
    fn go_on(&mut self, next: Found, text: &str) {
        let (Said::Remember(topic), Said::Remember(more)) = (&mut self.said, next.said) else { return };
        let (first, rest) = topic.body.split_once("\n\n").unwrap_or((topic.body.trim_end(), ""));
        let second = more.body.split("\n\n").next().unwrap_or_default().trim_end();
        topic.body = format!("{first} {second}\n\n{rest}").trim_end().to_owned() + "\n";
        let quotes = (text.find(&self.quote), text.find(&next.quote));
        if let (Some(from), Some(to)) = quotes {
            self.quote = text[from..(to + next.quote.len()).max(from + self.quote.len())].to_owned();
        }
    }

    /// What was said later about the same thing stands for what was said before.
    fn replaces(&self, known: &Found) -> bool {
        let (Said::Remember(new), Said::Remember(old)) = (&self.said, &known.said) else {
            return self.said == known.said;
        };
        let about = |topic: &Topic| content_words(&words::undated(&topic.description));
        let (new_words, old_words) = (about(new), about(old));
        let shared = new_words.intersection(&old_words).count();
        new.kind == old.kind && 2 * shared > new_words.union(&old_words).count()
    }
}

impl Reading<'_> {
    fn read_into(&self, all: &mut Vec<Found>) {
        let text = own(self.message);
        let text = doubt::unpasted(&text);
        let sentences = own_sentences(text);
        // Most of what is said is nothing of the kind, and there is nothing to take back.
        if all.is_empty() && sentences.iter().all(|sentence| phrase::of(sentence.text).is_none()) {
            return;
        }
        if sentences.iter().any(|sentence| doubt::is_off_the_record(sentence.text)) {
            return all.truncate(self.before(all));
        }
        if doubt::is_jest(text) || sentences.iter().any(|sentence| doubt::casts_a_role(sentence.text)) {
            return;
        }
        let is_document = sentences.len() > DOCUMENT;
        let has_task = LazyCell::new(|| sentences.iter().any(|sentence| phrase::is_task(sentence.text)));
        let mut here: Vec<Found> = Vec::new();
        let mut last: Option<(usize, Sense)> = None;
        for (at, sentence) in sentences.iter().enumerate() {
            if doubt::takes_back(sentence.text) {
                // What was said in this message, or else in the one before.
                if here.pop().is_none() {
                    all.truncate(self.before(all));
                }
                continue;
            }
            let Some(phrase) = phrase::of(sentence.text) else { continue };
            let of_task = !doubt::outlives_task(phrase.sense, sentence.text) && *has_task;
            if of_task || (is_document && !phrase.sense.is_asked_for()) || self.is_answer(&phrase, sentence.text) {
                continue;
            }
            match phrase.sense {
                Sense::RememberThis => {
                    let before = &sentences[..at];
                    // What was said just now is kept as it was asked for, once.
                    here.retain(|found| !before.iter().any(|sentence| found.quote.contains(sentence.text)));
                    here.extend(self.all_of(text, before));
                }
                _ => {
                    let goes_on =
                        last.is_some_and(|(before, sense)| before + 1 == at && sense.goes_on_as(phrase.sense));
                    let Some(found) = self.found(&phrase, sentence, sentences.get(at + 1)) else { continue };
                    last = Some((at, phrase.sense));
                    match here.last_mut().filter(|_| goes_on) {
                        Some(before) => before.go_on(found, text),
                        None => here.push(found),
                    }
                }
            }
        }
        for found in here {
            all.retain(|known| !found.replaces(known));
            all.push(found);
        }
    }

    /// "I prefer the small one" to somebody who has just asked which is an answer, and no rule.
    fn is_answer(&self, phrase: &Phrase<'_>, sentence: &str) -> bool {
        let asked = self.answered.is_some_and(|answer| doubt::is_question(&answer.text()));
        phrase.sense == Sense::Liking && asked && !doubt::is_lasting(sentence)
    }

    /// Whether a file or another tool has just said the same: it can be read there again.
    fn is_shown(&self, sentence: &str) -> bool {
        let words = content_words(sentence);
        words.len() >= FEW && self.shown.iter().any(|line| shared(&words, line) >= SAME)
    }

    /// How many were found before the message that this one answers to.
    fn before(&self, all: &[Found]) -> usize {
        let previous = self.previous.map(|message| &message.id);
        all.iter().position(|found| Some(&found.message) == previous).unwrap_or(all.len())
    }

    /// "…. Remember this." is about the sentences before it.
    fn all_of(&self, text: &str, before: &[Sentence<'_>]) -> Option<Found> {
        let meant: Vec<&Sentence<'_>> = before.iter().filter(|sentence| !doubt::is_question(sentence.text)).collect();
        let (first, last) = (meant.first()?, meant.last()?);
        let quote = &text[first.at..last.at + last.text.len()];
        let words: Vec<String> = meant.iter().map(|sentence| one_line(sentence.text)).collect();
        if quote.len() > LONGEST || words.iter().any(|words| doubt::is_never_kept(words)) {
            return None;
        }
        let statement = words.join(" ");
        let sense = words.iter().find_map(|words| phrase::of(words)).map_or(Sense::Remember, |phrase| phrase.sense);
        Some(self.topic(&Phrase { sense, what: &statement }, quote, None))
    }

    fn found(&self, phrase: &Phrase<'_>, sentence: &Sentence<'_>, next: Option<&Sentence<'_>>) -> Option<Found> {
        let never = doubt::is_never_kept(sentence.text) || doubt::is_never_kept(phrase.what);
        let never =
            never || words::breaks_off(sentence.text) || (!phrase.sense.is_asked_for() && self.is_shown(sentence.text));
        if never || !secrets::scan(sentence.text).is_empty() {
            return None;
        }
        match phrase.sense {
            Sense::Forget => {
                let what = words::ended(phrase.what).to_owned();
                Some(self.saying(Said::Forget(what), sentence.text, None))
            }
            Sense::Deadline if !self.lies_ahead(phrase.what) => None,
            Sense::Confirmation => self.confirmation(phrase, sentence.text),
            _ => {
                let reason = next.filter(|next| words::is_reason(next.text) && !doubt::is_question(next.text));
                Some(self.topic(phrase, sentence.text, reason.map(|next| next.text)))
            }
        }
    }

    /// Whether a day is named that is not over.
    fn lies_ahead(&self, words: &str) -> bool {
        dates::find(words, self.day).iter().any(|found| match found.when {
            When::Days { last, .. } => last >= self.day && found.granularity != Granularity::Year,
            When::Unclear => true,
        })
    }

    fn confirmation(&self, phrase: &Phrase<'_>, quote: &str) -> Option<Found> {
        let answer = self.answered?;
        let text = answer.text();
        let done = text.trim();
        if done.len() > GLANCE || done.contains("```") || doubt::is_question(done) || !secrets::scan(done).is_empty() {
            return None;
        }
        let tongue = Tongue::of(quote);
        let done_line = one_line(done);
        let body =
            format!("{}\n\n{} {done_line}\n{}", phrase.what.trim(), tongue.confirmed(), how(Sense::Rule, tongue));
        let topic = Topic { name: title(&done_line), description: description(&done_line), kind: Kind::Feedback, body };
        let confirms = Confirmed { quote: done.to_owned(), message: answer.id.clone() };
        Some(self.saying(Said::Remember(topic), quote, Some(confirms)))
    }

    fn topic(&self, phrase: &Phrase<'_>, quote: &str, reason: Option<&str>) -> Found {
        let asked = matches!(phrase.sense, Sense::Remember | Sense::Mind);
        let sense = if asked { self.plainly(phrase.what) } else { phrase.sense };
        let kind = sense.kind().unwrap_or_else(|| kind_of(phrase.what).0);
        let sense = if kind == Kind::Feedback { Sense::Rule } else { sense };
        let dated = |text: &str| match (kind, sense) {
            (Kind::Project, Sense::Deadline) => dates::absolute_ahead(text, self.day),
            (Kind::Project, _) => dates::absolute(text, self.day),
            _ => text.to_owned(),
        };
        let whole = dated(&words::sentence(&one_line(phrase.what)));
        let (statement, within) = words::split_reason(&whole);
        let why = reason.map(one_line).or(within);
        let mut body = format!("{}\n", statement.trim_end());
        if let Some(why) = &why {
            body.push_str(&format!("\n**Why:** {}\n", words::sentence(why)));
        }
        body.push_str(&how(sense, Tongue::of(quote)));
        let topic = Topic { name: title(&statement), description: description(&whole), kind, body };
        self.saying(Said::Remember(topic), quote, None)
    }

    /// What "remember that …" is about, as its words would be without it.
    fn plainly(&self, what: &str) -> Sense {
        let sense = phrase::plainly(what).filter(|sense| *sense != Sense::Deadline || self.lies_ahead(what));
        sense.filter(|sense| sense.kind().is_some()).unwrap_or(Sense::Remember)
    }

    fn saying(&self, said: Said, quote: &str, confirms: Option<Confirmed>) -> Found {
        Found { said, quote: quote.to_owned(), message: self.message.id.clone(), confirms }
    }
}

/// How to apply what was said, for the kinds that carry it.
fn how(sense: Sense, tongue: Tongue) -> String {
    let how = match (sense, tongue) {
        (Sense::Rule | Sense::Liking, Tongue::Han) => prompts::HOW_RULE_HAN,
        (Sense::Rule | Sense::Liking, Tongue::Other) => prompts::HOW_RULE,
        (Sense::Decision, Tongue::Han) => prompts::HOW_DECISION_HAN,
        (Sense::Decision, Tongue::Other) => prompts::HOW_DECISION,
        (Sense::Deadline, Tongue::Han) => prompts::HOW_DATE_HAN,
        (Sense::Deadline, Tongue::Other) => prompts::HOW_DATE,
        _ => return String::new(),
    };
    format!("\n**How to apply:** {}\n", how.trim_end())
}

/// The sentences that are the person's own: not pasted, and not the material of a task ("translate this: …"). What only says that
/// the one before it is meant for good ("Always.", "That goes for every file.") belongs to it.
fn own_sentences(text: &str) -> Vec<Sentence<'_>> {
    let mut own: Vec<Sentence<'_>> = Vec::new();
    for sentence in sentences(text) {
        let end = sentence.at + sentence.text.len();
        let is_own = sentence.voice == Voice::Said && !words::is_in_quotation(text, sentence.at);
        if is_own && sentence.text.len() <= LONGEST {
            match own.last_mut().filter(|before| !doubt::is_question(before.text)) {
                Some(before) if doubt::endorses(sentence.text) => before.text = &text[before.at..end],
                _ => own.push(sentence),
            }
        }
        if doubt::introduces_material(sentence.text, &text[end..]) {
            break;
        }
    }
    own
}

/// The user's words without what they only passed on.
fn own(message: &Message) -> String {
    let texts = message.blocks.iter().filter_map(crate::message::Block::as_text);
    texts.filter(|text| !crate::prompts::is_passed_on(text)).collect::<Vec<_>>().join("\n")
}

/// How much of `words` is among `others`, in percent.
fn shared(words: &std::collections::BTreeSet<String>, others: &std::collections::BTreeSet<String>) -> usize {
    100 * words.intersection(others).count() / words.len().max(1)
}
