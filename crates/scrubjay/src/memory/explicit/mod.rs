//! Explicit statements of the user, found without a model: "remember that …", "never …", "we decided …", a deadline, where something is
//! tracked, "forget that …".
//!
//! A sentence counts only if it opens with the statement (`openers.txt`) and nothing in it speaks against it (`signs.txt`): a question, a
//! condition, somebody else's words, the task at hand, a credential. When unsure it stays silent: a missed statement can be repeated, a
//! wrong memory is believed for months.

mod lists;
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
use lists::{Form, Opening, behind_lead, has, is_task, opening, place_of, serves_task};
use std::collections::BTreeSet;
use std::sync::Arc;
use words::{Tongue, masked};

/// An explicit statement of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What to do about it.
    pub said: Said,
    /// The user's exact words.
    pub quote: String,
    /// The message that holds them.
    pub message: MessageId,
}

/// What a statement asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Remember this.
    Remember(Topic),
    /// Forget what these words name.
    Forget(String),
}

/// A message of more sentences is a document: in it only "remember" and "forget" count.
const DOCUMENT: usize = 16;
/// Longer sentences are not read, in bytes.
const LONGEST: usize = 400;
/// Share of a sentence's words in one line of a tool's output, in percent, from which the line says the same.
const SAME: usize = 80;
/// With fewer words two sentences are alike by chance.
const FEW: usize = 3;

/// The explicit statements of the user in these messages, in order. Relative days count from the day of each message in `zone`.
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
    let (mut was_asked, mut previous): (bool, Option<&MessageId>) = (false, None);
    let mut shown: Vec<BTreeSet<String>> = Vec::new();
    for message in messages {
        match message.origin {
            Origin::Person => {
                let day = message.at.to_zoned(zone.clone()).date();
                Reading { message, day, was_asked, previous, shown: &shown }.read_into(&mut all);
                (was_asked, previous) = (false, Some(&message.id));
            }
            Origin::Model if !message.text().trim().is_empty() => was_asked = has("ask", message.text().trim()),
            Origin::Tool | Origin::Instructions => shown.extend(message.text().lines().map(content_words)),
            _ => {}
        }
    }
    all
}

/// Whether a text asks outright for something to be remembered, also where it does not say clearly what.
pub fn asks_to_remember(text: &str) -> bool {
    let mask = masked(text);
    let asks = |sentence: &Own<'_>| {
        let form = opening(sentence.text, sentence.mask).map(|opening| opening.form);
        matches!(form, Some(Form::Remember | Form::This)) && !has("ask", sentence.mask)
    };
    own_sentences(text, &mask).iter().any(asks)
}

/// One message of the user.
struct Reading<'a> {
    message: &'a Message,
    /// The day it was written.
    day: Date,
    /// Whether the model had asked something.
    was_asked: bool,
    /// The user's message before it.
    previous: Option<&'a MessageId>,
    /// The words of each line that a tool has shown before it.
    shown: &'a [BTreeSet<String>],
}

/// A sentence of the user's own, and the same without its quotations.
struct Own<'a> {
    at: usize,
    text: &'a str,
    mask: &'a str,
}

impl Found {
    /// Add a second rule in a row to the same memory.
    fn go_on(&mut self, next: Found, text: &str) {
        let (Said::Remember(topic), Said::Remember(more)) = (&mut self.said, next.said) else { return };
        let (first, rest) = topic.body.split_once("\n\n").unwrap_or((topic.body.trim_end(), ""));
        let second = more.body.split("\n\n").next().unwrap_or_default().trim_end();
        topic.body = format!("{first} {second}\n\n{rest}").trim_end().to_owned() + "\n";
        if let (Some(from), Some(to)) = (text.find(&self.quote), text.find(&next.quote)) {
            self.quote = text[from..(to + next.quote.len()).max(from + self.quote.len())].to_owned();
        }
    }

    /// Whether it is a newer statement about the same thing.
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
        let mask = masked(&text);
        let sentences = own_sentences(&text, &mask);
        if sentences.iter().any(|sentence| has("private", sentence.mask)) {
            return all.truncate(self.before(all));
        }
        if sentences.iter().any(|sentence| has("role", sentence.mask)) {
            return;
        }
        let mut here: Vec<Found> = Vec::new();
        let mut last: Option<(usize, Form)> = None;
        for (at, sentence) in sentences.iter().enumerate() {
            if has("back", sentence.mask) {
                // The statement before it in this message, or else those of the message before.
                if here.pop().is_none() {
                    all.truncate(self.before(all));
                }
                continue;
            }
            let Some(opening) = self.explicit(sentence, &sentences) else { continue };
            if opening.form == Form::This {
                let before = &sentences[..at];
                here.retain(|found| !before.iter().any(|sentence| found.quote.contains(sentence.text)));
                here.extend(self.all_of(&text, before));
                continue;
            }
            let goes_on = last.is_some_and(|(before, form)| before + 1 == at && goes_on(form, opening.form));
            let Some(found) = self.found(&opening, sentence, sentences.get(at + 1)) else { continue };
            last = Some((at, opening.form));
            match here.last_mut().filter(|_| goes_on) {
                Some(before) => before.go_on(found, &text),
                None => here.push(found),
            }
        }
        for found in here {
            all.retain(|known| !found.replaces(known));
            all.push(found);
        }
    }

    /// The statement that a sentence opens with, if nothing speaks against it.
    fn explicit<'s>(&self, sentence: &Own<'s>, all: &[Own<'_>]) -> Option<Opening<'s>> {
        let opening = opening(sentence.text, sentence.mask)?;
        let form = opening.form;
        let is = |sign: &str| has(sign, sentence.mask);
        if form == Form::Forget && !is("ask") {
            return Some(opening);
        }
        if is("ask") || is("doubt") || has("never", sentence.text) {
            return None;
        }
        let body = behind_lead(sentence.mask);
        let is_vague = form == Form::Remember && has("vague", opening.what.trim());
        if is_vague || serves_task(form, body) {
            return None;
        }
        if form.is_asked_for() {
            return Some(opening);
        }
        let has_task = || all.iter().any(|other| is_task(other.text));
        let first = body.split([',', ';', '，', '；', '—']).next().unwrap_or(body);
        let points = has("point", first);
        let holds = match form {
            Form::Rule => !is("moment") && !points && (is("lasting") || !has_task()),
            Form::Ban => !is("moment") && !points && is("lasting"),
            Form::Wish => !is("moment") && !points && is("work") && !self.is_answer(sentence),
            Form::Decision => is("work") && !is("leisure") && !points,
            Form::Deadline => self.is_ahead(opening.what),
            _ => true,
        };
        let is_document = all.len() > DOCUMENT;
        (holds && !is_document && !self.is_shown(sentence.text)).then_some(opening)
    }

    /// "I prefer the small one" right after a question is an answer and no rule.
    fn is_answer(&self, sentence: &Own<'_>) -> bool {
        self.was_asked && !has("lasting", sentence.mask)
    }

    /// Whether a tool has just shown the same: it can be read there again.
    fn is_shown(&self, sentence: &str) -> bool {
        let words = content_words(sentence);
        words.len() >= FEW && self.shown.iter().any(|line| shared(&words, line) >= SAME)
    }

    /// How many were found before the user's previous message.
    fn before(&self, all: &[Found]) -> usize {
        all.iter().position(|found| Some(&found.message) == self.previous).unwrap_or(all.len())
    }

    /// "…. Remember this." is about the sentences before it.
    fn all_of(&self, text: &str, before: &[Own<'_>]) -> Option<Found> {
        let meant: Vec<&Own<'_>> = before.iter().filter(|sentence| !has("ask", sentence.mask)).collect();
        let (first, last) = (meant.first()?, meant.last()?);
        let quote = &text[first.at..last.at + last.text.len()];
        if quote.len() > LONGEST || has("never", quote) || !secrets::scan(quote).is_empty() {
            return None;
        }
        let statement = meant.iter().map(|sentence| one_line(sentence.text)).collect::<Vec<_>>().join(" ");
        let form = meant.iter().find_map(|sentence| opening(sentence.text, sentence.mask));
        let form = form.map_or(Form::Remember, |opening| opening.form);
        Some(self.topic(&Opening { form, what: &statement }, quote, None))
    }

    fn found(&self, opening: &Opening<'_>, sentence: &Own<'_>, next: Option<&Own<'_>>) -> Option<Found> {
        let told = opening.what.chars().filter(|c| c.is_alphanumeric()).count() >= FEW;
        if !told || !secrets::scan(sentence.text).is_empty() {
            return None;
        }
        if opening.form == Form::Forget {
            return Some(self.saying(Said::Forget(words::ended(opening.what).to_owned()), sentence.text));
        }
        let reason = next.filter(|next| words::is_reason(next.text) && !has("ask", next.mask));
        Some(self.topic(opening, sentence.text, reason.map(|next| next.text)))
    }

    /// Whether a day is named that is not over.
    fn is_ahead(&self, words: &str) -> bool {
        dates::find(words, self.day).iter().any(|found| match found.when {
            When::Days { last, .. } => last >= self.day && found.granularity != Granularity::Year,
            When::Unclear => true,
        })
    }

    fn topic(&self, opening: &Opening<'_>, quote: &str, reason: Option<&str>) -> Found {
        let form = if opening.form == Form::Remember { self.plainly(opening.what) } else { opening.form };
        let kind = form.kind().unwrap_or_else(|| kind_of(opening.what).0);
        let form = if kind == Kind::Feedback { Form::Rule } else { form };
        let dated = |text: &str| match (kind, form) {
            (Kind::Project, Form::Deadline) => dates::absolute_ahead(text, self.day),
            (Kind::Project, _) => dates::absolute(text, self.day),
            _ => text.to_owned(),
        };
        let whole = dated(&words::sentence(&one_line(opening.what)));
        let (statement, within) = words::split_reason(&whole);
        let mut body = format!("{}\n", statement.trim_end());
        if let Some(why) = reason.map(one_line).or(within) {
            body.push_str(&format!("\n**Why:** {}\n", words::sentence(&why)));
        }
        body.push_str(&how(form, Tongue::of(quote)));
        let topic = Topic { name: title(&statement), description: description(&whole), kind, body };
        self.saying(Said::Remember(topic), quote)
    }

    /// The form that the words behind "remember that" have by themselves.
    fn plainly(&self, what: &str) -> Form {
        let form = opening(what, &masked(what)).map(|opening| opening.form);
        let form = form.filter(|form| *form != Form::Deadline || self.is_ahead(what));
        form.filter(|form| form.kind().is_some()).unwrap_or(Form::Remember)
    }

    fn saying(&self, said: Said, quote: &str) -> Found {
        Found { said, quote: quote.to_owned(), message: self.message.id.clone() }
    }
}

/// Whether the next statement in a row belongs to the same memory.
fn goes_on(before: Form, next: Form) -> bool {
    let more = before == Form::Decision && matches!(next, Form::Deadline | Form::Rule);
    more || (before.is_rule() && next.is_rule()) || (before == Form::User && next == Form::User)
}

/// How to apply a statement, for the forms that say it.
fn how(form: Form, tongue: Tongue) -> String {
    let how = match (form, tongue) {
        (Form::Rule | Form::Ban | Form::Wish, Tongue::Han) => prompts::HOW_RULE_HAN,
        (Form::Rule | Form::Ban | Form::Wish, Tongue::Other) => prompts::HOW_RULE,
        (Form::Decision, Tongue::Han) => prompts::HOW_DECISION_HAN,
        (Form::Decision, Tongue::Other) => prompts::HOW_DECISION,
        (Form::Deadline, Tongue::Han) => prompts::HOW_DATE_HAN,
        (Form::Deadline, Tongue::Other) => prompts::HOW_DATE,
        _ => return String::new(),
    };
    format!("\n**How to apply:** {}\n", how.trim_end())
}

/// The sentences that are the user's own: not pasted, not too long, and not the material of a task ("translate this: …").
fn own_sentences<'a>(text: &'a str, mask: &'a str) -> Vec<Own<'a>> {
    if has("signed", text) {
        return Vec::new();
    }
    let end = place_of("pasted", text).unwrap_or(text.len());
    let mut own = Vec::new();
    for Sentence { text: sentence, at, voice } in sentences(&text[..end]) {
        let (to, rest) = (at + sentence.len(), &text[at + sentence.len()..]);
        if voice == Voice::Said && sentence.len() <= LONGEST {
            own.push(Own { at, text: sentence, mask: &mask[at..to] });
        }
        let gap = rest.len() - rest.trim_start().len();
        let ends_paragraph = rest[..gap].matches('\n').count() > 1 && gap < rest.len();
        let asks = || has("ask", sentence) || is_task(sentence) || sentence.ends_with([':', '：']);
        if has("material", sentence) || (ends_paragraph && asks()) {
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
