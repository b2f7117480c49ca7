//! Compaction as people meet it: what they ask for by number, and what they are shown before and after.

use crate::failure::Failure;
use crate::paper::{Ink, Tone, counted, dollars, grouped, percent};
use crate::service::Service;
use crate::shelf::headline;
use scrubjay::context::Full;
use scrubjay::context::compaction::boundary::{Part, Planned, Wish};
use scrubjay::context::compaction::sections::{self, Section};
use scrubjay::context::compaction::{constraints, quotes, todo};
use scrubjay::context::questions;
use scrubjay::message::{Message, MessageId, Origin, Usage};
use scrubjay::prompts;
use scrubjay::tools::shown;
use scrubjay::transcript::{Author, Compaction, Finding, Report, Trigger, View, What};
use scrubjay::{Compacted, Session};
use serde_json::{Value, json};
use std::sync::Arc;

/// What a person asked to be compacted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) stretch: Stretch,
    /// What the summary should attend to.
    pub(crate) focus: Option<String>,
}

/// Which part, by the number of a question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Stretch {
    /// Everything.
    #[default]
    All,
    /// This question and what follows.
    From(u64),
    /// Everything up to this question and its answer.
    UpTo(u64),
}

impl Order {
    /// What was typed behind `/compact`.
    pub(crate) fn read(typed: &str) -> Result<Self, String> {
        let (first, rest) = split(typed);
        let stretch: fn(u64) -> Stretch = match first {
            "from" => Stretch::From,
            "up_to" | "up-to" | "upto" => Stretch::UpTo,
            option if option.starts_with("--") => {
                return Err(format!("/compact has no option {}; there are --preview and --report", shown(option)));
            }
            _ => return Ok(Self { stretch: Stretch::All, focus: words(typed) }),
        };
        let (number, rest) = split(rest);
        let number = number.parse().map_err(|_| {
            format!("/compact {first} needs the number of a question, such as `/compact {first} 2`; /compact list shows them")
        })?;
        Ok(Self { stretch: stretch(number), focus: words(rest) })
    }

    /// The same in terms of one conversation.
    pub(crate) fn wish(&self, view: &View) -> Result<Wish, Failure> {
        let questions = Questions::of(view);
        let part = match self.stretch {
            Stretch::All => Part::All,
            Stretch::From(number) => Part::From(view.history[questions.place(number)?].id.clone()),
            Stretch::UpTo(number) => Part::UpTo(questions.end(number)?),
        };
        Ok(Wish { trigger: Trigger::Manual, instructions: self.focus.clone(), part })
    }

    /// What it does to the provider's cache: said before it is done.
    pub(crate) fn cache_break(&self) -> &'static str {
        match self.stretch {
            Stretch::From(_) => "what precedes stays as it is, and stays cached",
            Stretch::All | Stretch::UpTo(_) => "this rewrites the cached prefix, which breaks it once",
        }
    }
}

fn split(typed: &str) -> (&str, &str) {
    typed.trim().split_once(char::is_whitespace).unwrap_or((typed.trim(), ""))
}

fn words(typed: &str) -> Option<String> {
    Some(typed.trim()).filter(|words| !words.is_empty()).map(str::to_owned)
}

/// Questions by their numbers, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl std::str::FromStr for Numbers {
    type Err = String;

    /// `3` or `3-5`.
    fn from_str(typed: &str) -> Result<Self, String> {
        let (first, last) = typed.split_once('-').unwrap_or((typed, typed));
        let number = |text: &str| text.trim().parse::<u64>().ok().filter(|number| *number > 0);
        match number(first).zip(number(last)) {
            Some((first, last)) if first <= last => Ok(Self { first, last }),
            _ => Err(format!("{} names no questions; `3` is one and `3-5` are three", shown(typed))),
        }
    }
}

/// The questions of a conversation by number, with words for what is wrong with one.
pub(crate) struct Questions<'a> {
    view: &'a View,
    numbered: questions::Questions<'a>,
}

impl<'a> Questions<'a> {
    pub(crate) fn of(view: &'a View) -> Self {
        Self { view, numbered: questions::Questions::of(view) }
    }

    fn place(&self, number: u64) -> Result<usize, Failure> {
        self.numbered.place(number).ok_or_else(|| match self.numbered.count() {
            0 => Failure::nothing_found(
                "there is no question that could be named: all were compacted, or none was asked",
            ),
            most => Failure::nothing_found(format!("there is no question {number}: they are numbered 1 to {most}"))
                .fix("`list` shows them: `/compact list` or `/uncompact list` in a chat, `--list` on the command line"),
        })
    }

    /// The last message that answers a question.
    fn end(&self, number: u64) -> Result<MessageId, Failure> {
        let start = self.place(number)?;
        let last = self.numbered.stretch(number).map_or(start, |stretch| stretch.end - 1);
        Ok(self.view.history[last].id.clone())
    }

    /// The messages of some questions and their answers, also those that are folded.
    pub(crate) fn messages(&self, these: Numbers) -> Result<Vec<MessageId>, Failure> {
        let (start, last) = (self.place(these.first)?, self.place(these.last)?);
        let end = self.numbered.stretch(these.last).map_or(last + 1, |stretch| stretch.end);
        let spoken = |message: &&Arc<Message>| matches!(message.origin, Origin::Person | Origin::Model | Origin::Tool);
        let whole = self.view.unfolded(&self.view.history[start..end.max(start)]);
        Ok(whole.iter().filter(spoken).map(|message| message.id.clone()).collect())
    }

    fn titles(&self) -> impl Iterator<Item = (u64, String)> {
        let place = |number| Some((number, headline(&self.view.history[self.numbered.place(number)?].text())));
        (1..=self.numbered.count()).filter_map(place)
    }

    pub(crate) fn words(&self) -> Result<String, Failure> {
        let lines: Vec<String> = self.titles().map(|(number, title)| format!("{number:>4}  {title}")).collect();
        match lines.is_empty() {
            true => Err(Failure::nothing_found("there is no question here that could be named")),
            false => Ok(lines.join("\n")),
        }
    }

    pub(crate) fn json(&self) -> Value {
        self.titles().map(|(number, title)| json!({ "number": number, "title": title })).collect()
    }
}

/// What a compaction would do, for a person to decide about.
pub(crate) struct Preview {
    planned: Planned,
    summary: String,
    replaced: usize,
    kept: usize,
    /// How many of the person's messages it replaces, and how many of them the summary quotes word for word.
    said: (usize, usize),
    constraints: Vec<String>,
    files: Vec<String>,
    tasks: usize,
    stretch: Stretch,
    cost: Option<f64>,
}

impl Preview {
    /// Of a conversation as it is.
    pub(crate) fn of(view: &View, planned: Planned, stretch: Stretch, service: &Service) -> Self {
        let compaction = &planned.compaction;
        let text = compaction.words();
        let place = |id: &MessageId| view.history.iter().position(|message| message.id == *id).unwrap_or_default();
        let stretch_of = place(&compaction.first)..=place(&compaction.last);
        let stood = view.history.get(stretch_of).unwrap_or_default();
        let replaced = view.unfolded(stood);
        let quoted = sections::parse(&constraints::without_pinned(&text));
        let quoted = quotes::unquote(quoted.body(Section::UserMessages));
        let said = quotes::said(&replaced, &|_| None);
        let verbatim = |one: &&quotes::Said| quoted.iter().any(|q| q.note.is_none() && q.text == one.text);
        let written = Usage { cache_write_5m: planned.after, ..Usage::default() };
        let model = view.opening.as_ref().map(|opening| opening.model.as_str()).unwrap_or_default();
        Self {
            summary: without_frame(&text).trim().to_owned(),
            replaced: replaced.len(),
            kept: view.history.len() - stood.len(),
            said: (said.len(), said.iter().filter(verbatim).count()),
            constraints: constraints::parse_pinned(&text).into_iter().map(|one| one.text).collect(),
            files: compaction.marks.brought.files.iter().map(|file| file.display().to_string()).collect(),
            tasks: todo::open(&view.unfolded(&view.history)).len().max(compaction.marks.brought.tasks.len()),
            cost: service.cost(model, &written),
            stretch,
            planned,
        }
    }

    pub(crate) fn words(&self, ink: Ink) -> String {
        let (before, after) = (self.planned.compaction.before, self.planned.after);
        let (said, verbatim) = self.said;
        let shortened = if said > verbatim { format!(", {} shortened", said - verbatim) } else { String::new() };
        let row = |name: &str, value: &str| format!("  {name:<14} {}", shown(value));
        let list = |items: &[String], joint: &str| if items.is_empty() { "none".to_owned() } else { items.join(joint) };
        let cost = self.cost.filter(|cost| *cost > 0.0).map(|cost| format!(", {}", dollars(cost))).unwrap_or_default();
        let cache = match self.stretch {
            Stretch::From(_) => "what precedes stays cached; the summary and what follows are new".to_owned(),
            _ => format!("the cached prefix breaks once: about {} tokens are written anew{cost}", grouped(after)),
        };
        let heading = |text: &str| ink.paint(Tone::Strong, text);
        let author = author(self.planned.compaction.author);
        [
            heading(&format!("summary of {}, by {author}", counted(self.replaced as u64, "message"))),
            shown(&self.summary).into_owned(),
            heading("what survives beside it"),
            row("your words", &format!("{verbatim} of {} word for word{shortened}", counted(said as u64, "message"))),
            row("constraints", &list(&self.constraints, " · ")),
            row("files again", &list(&self.files, ", ")),
            row("open tasks", &self.tasks.to_string()),
            row("as it is", &counted(self.kept as u64, "message")),
            row("looked for", &self.planned.compaction.report.as_ref().map(looked_for).unwrap_or_default()),
            row("missing", &self.missing()),
            heading("what it changes"),
            row("tokens", &change(before, after)),
            row("cache", &cache),
            ink.paint(Tone::Faint, "nothing was changed; the same without --preview does it"),
        ]
        .join("\n")
    }

    /// What the text would no longer say, the weightiest by name.
    fn missing(&self) -> String {
        let Some(report) = &self.planned.compaction.report else { return "not looked for".to_owned() };
        let shown: Vec<String> = report.dropped.iter().take(MISSING_SHOWN).map(|it| headline(&it.text)).collect();
        match report.dropped.len() {
            0 => "nothing of what was looked for".to_owned(),
            all if all > shown.len() => format!("{} · and {} more", shown.join(" · "), all - shown.len()),
            _ => shown.join(" · "),
        }
    }

    pub(crate) fn json(&self) -> Value {
        let mut usage = Usage::default();
        self.planned.calls.iter().for_each(|call| usage += call.usage);
        json!({
            "preview": true,
            "before": self.planned.compaction.before,
            "after": self.planned.after,
            "author": author(self.planned.compaction.author),
            "summary": self.summary,
            "replaced_messages": self.replaced,
            "kept_messages": self.kept,
            "quoted_messages": { "all": self.said.0, "word_for_word": self.said.1 },
            "constraints": self.constraints,
            "files": self.files,
            "open_tasks": self.tasks,
            "breaks_cached_prefix": !matches!(self.stretch, Stretch::From(_)),
            "rewrite_cost_usd": self.cost,
            "report": self.planned.compaction.report,
            "usage": usage,
        })
    }
}

/// How many missing things a preview names.
const MISSING_SHOWN: usize = 5;

/// Stands for what a template wraps.
const HOLE: &str = "\u{0}";

/// What a text holds in the place where its template has a hole.
fn inside<'a>(template: &str, text: &'a str) -> Option<&'a str> {
    let (head, tail) = template.split_once(HOLE)?;
    text.strip_prefix(head)?.strip_suffix(tail)
}

/// A summary without what frames it for the model; a service's own has no frame.
fn without_frame(text: &str) -> &str {
    inside(&prompts::summary(HOLE), text).unwrap_or(text)
}

pub(crate) fn author(author: Author) -> &'static str {
    match author {
        Author::Notes => "the session notes the model wrote",
        Author::Model => "the model",
        Author::Extract => "code, without a model",
    }
}

/// `12,000 → 3,000 (75 % less)`.
pub(crate) fn change(before: u64, after: u64) -> String {
    let less = match before.checked_sub(after) {
        Some(less) => format!("{} % less", percent(less, before)),
        None => format!("{} more", grouped(after - before)),
    };
    format!("{} → {} ({less})", grouped(before), grouped(after))
}

/// Take the last compaction of a session back, or give some of its questions back; and say so.
pub(crate) fn bring_back(session: &mut Session, these: Option<Numbers>) -> Result<(Compacted, String), Failure> {
    let Some(these) = these else {
        let done = session.uncompact().map_err(not_taken_back)?;
        let words = taken_back(&done);
        return Ok((done, words));
    };
    let view = session.transcript().before_compaction().ok_or_else(nothing_to_take_back)?;
    let done = session.give_back(Questions::of(&view).messages(these)?).map_err(not_taken_back)?;
    let words = given_back(&done);
    Ok((done, words))
}

pub(crate) fn nothing_to_take_back() -> Failure {
    Failure::nothing_found("there is no compaction to take back")
}

/// What was taken back, in words.
fn taken_back(done: &Compacted) -> String {
    format!("taken back: {} tokens; every message is there again", change(done.before, done.after))
}

/// What was given back, in words.
fn given_back(done: &Compacted) -> String {
    format!("given back: {} tokens; the summary stays before them", change(done.before, done.after))
}

/// What the last compaction kept and what it dropped.
pub(crate) struct LastReport<'a> {
    compaction: &'a Compaction,
    report: &'a Report,
}

impl<'a> LastReport<'a> {
    pub(crate) fn of(view: &'a View) -> Result<Self, Failure> {
        let Some((_, compaction)) = view.compactions.last() else {
            return Err(Failure::nothing_found("there is no compaction to report on")
                .fix("`scrubjay compact --preview`, or /compact --preview in a chat, shows what one would do"));
        };
        match &compaction.report {
            Some(report) => Ok(Self { compaction, report }),
            None => Err(Failure::nothing_found("an earlier version made this compaction and kept no report")),
        }
    }

    pub(crate) fn words(&self, ink: Ink) -> String {
        let Report { kept, dropped, unchecked, .. } = self.report;
        let (all, author) = (kept.len() + dropped.len(), author(self.compaction.author));
        let weight = format!("{:.1} % by weight", self.report.percent());
        let mut lines = vec![
            format!(
                "by {author}, at {} tokens: {} of {all} kept, {weight}",
                grouped(self.compaction.before),
                kept.len()
            ),
            format!("looked for: {}", looked_for(self.report)),
            ink.paint(Tone::Strong, "dropped, what matters most first"),
        ];
        lines.extend(listed(dropped, "nothing of what was looked for"));
        if *unchecked > 0 {
            lines.push(format!(
                "  {} more of the model's statements weigh less and were not looked for",
                grouped(*unchecked)
            ));
        }
        lines.push(ink.paint(Tone::Strong, "kept"));
        lines.extend(listed(kept, "nothing"));
        lines.join("\n")
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "author": author(self.compaction.author),
            "before": self.compaction.before,
            "report": self.report,
        })
    }
}

/// More of one kind are counted and not shown.
const LISTED: usize = 40;

fn name(what: What) -> &'static str {
    match what {
        What::Constraint => "constraint",
        What::UserMessage => "your words",
        What::Task => "open task",
        What::Commit => "commit",
        What::Measure => "value",
        What::Finding => "finding",
        What::Anchor => "name",
    }
}

/// `constraint 2 of 2, value 30 of 41`.
fn looked_for(report: &Report) -> String {
    let kinds = report.by_kind();
    let told: Vec<String> = kinds.iter().map(|(what, kept, all)| format!("{} {kept} of {all}", name(*what))).collect();
    if told.is_empty() { "nothing".to_owned() } else { told.join(", ") }
}

fn listed(findings: &[Finding], none: &str) -> Vec<String> {
    let one = |finding: &Finding| format!("  {:<12} {}", name(finding.what), headline(&finding.text));
    let mut lines: Vec<String> = findings.iter().take(LISTED).map(one).collect();
    if findings.len() > LISTED {
        lines.push(format!("  and {} more; --json has them all", findings.len() - LISTED));
    }
    if lines.is_empty() {
        lines.push(format!("  {none}"));
    }
    lines
}

/// Why a compaction was not taken back.
fn not_taken_back(error: scrubjay::Error) -> Failure {
    use scrubjay::context::compaction::boundary::NotCompacted;
    match error {
        scrubjay::Error::NotCompacted(NotCompacted::Nothing) => nothing_to_take_back(),
        scrubjay::Error::Full(Full { used, refusal }) => Failure::failed(format!(
            "what was compacted no longer fits: it would be {} tokens, and the window takes {}; nothing was changed",
            grouped(used),
            grouped(refusal)
        ))
        .fix("choose a model with a larger window, with --model or /model"),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use scrubjay::message::{Block, Role};

    fn order(stretch: Stretch, focus: &str) -> Result<Order, ()> {
        Ok(Order { stretch, focus: words(focus) })
    }

    // spec: C8
    // spec: Q7
    #[test]
    fn what_was_typed_is_read() {
        for (typed, wanted) in [
            ("", order(Stretch::All, "")),
            ("  the parser ", order(Stretch::All, "the parser")),
            ("from 2", order(Stretch::From(2), "")),
            ("up_to 12 keep the numbers", order(Stretch::UpTo(12), "keep the numbers")),
            ("up-to 1", order(Stretch::UpTo(1), "")),
            ("from", Err(())),
            ("from the beginning", Err(())),
            ("up_to -1", Err(())),
            ("up_to 99999999999999999999999", Err(())),
            ("--rapport", Err(())),
        ] {
            assert_eq!(Order::read(typed).map_err(|_| ()), wanted, "{typed:?}");
        }
        assert!(!Order::read("--\u{1b}[31m").unwrap_err().contains('\u{1b}'));
    }

    fn conversation(origins: &[Origin]) -> View {
        let message = |(at, origin): (usize, &Origin)| {
            let role = if *origin == Origin::Model { Role::Assistant } else { Role::User };
            let blocks = vec![Block::text(format!("words {at}"))];
            let id = MessageId::new(at.to_string());
            Arc::new(Message { id, role, origin: *origin, at: Timestamp::UNIX_EPOCH, blocks })
        };
        let mut view = View::default();
        view.history = origins.iter().enumerate().map(message).collect();
        view
    }

    // spec: C8
    #[test]
    fn numbers_name_questions_with_their_answers() {
        use Origin::{Model, Person, Reminder, Summary, Tool};
        let view = conversation(&[Summary, Reminder, Person, Model, Tool, Model, Reminder, Person, Model, Person]);
        let part = |stretch| Order { stretch, focus: None }.wish(&view).map(|wish| wish.part);
        let at = |at: usize| MessageId::new(at.to_string());
        assert_eq!(part(Stretch::From(1)).unwrap(), Part::From(at(2)));
        assert_eq!(part(Stretch::UpTo(1)).unwrap(), Part::UpTo(at(5)), "with every round, without the reminder");
        assert_eq!(part(Stretch::UpTo(2)).unwrap(), Part::UpTo(at(8)));
        assert_eq!(part(Stretch::UpTo(3)).unwrap(), Part::UpTo(at(9)), "not answered yet");
        for number in [0, 4, u64::MAX] {
            let failure = part(Stretch::From(number)).unwrap_err();
            assert!(failure.message.contains("1 to 3"), "{failure}");
        }
        let nothing = conversation(&[Summary]);
        assert!(Order { stretch: Stretch::UpTo(1), focus: None }.wish(&nothing).is_err());
        assert!(Questions::of(&nothing).words().is_err());
    }

    #[test]
    fn a_change_is_told_either_way() {
        assert_eq!(change(12_000, 3_000), "12,000 → 3,000 (75 % less)");
        assert_eq!(change(3_000, 12_000), "3,000 → 12,000 (9,000 more)");
        assert_eq!(change(0, 0), "0 → 0 (0 % less)");
    }

    #[test]
    fn what_templates_wrap_can_be_read_back() {
        assert_eq!(inside(&prompts::summary(HOLE), &prompts::summary("the words")), Some("the words"));
        assert_eq!(without_frame("a service's own"), "a service's own");
    }
}
