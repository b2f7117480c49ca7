//! Snip: finished questions are taken out of the conversation because somebody says they no longer matter.
//!
//! What:   a span of whole questions gives way to a marker; the person's standing constraints stay in it, pinned.
//! When:   the person or the model names the span.
//! Cost:   no call; the service's cache is written anew from the marker on.
//! Spares: the window, without a summary of what nobody needs.
//! Leaves: the transcript as it was; the marker says how to bring the span back.

use super::compaction::constraints::{pinned, pinned_block};
use super::compaction::rounds;
use super::questions::Questions;
use super::spans::{self, NotHidden, harmless};
use crate::limits::Limits;
use crate::message::{Message, Origin};
use crate::model::Pending;
use crate::prompts;
use crate::tool::{Bench, Effect, Tool, ToolOutcome};
use crate::tools::input::{at_once, card, parse};
use crate::transcript::{Hiding, Span, ToolSpec, View, Way};
use serde::Deserialize;
use serde_json::{Value, json};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

const NAME: &str = "Snip";

/// What is taken out, by whom, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The questions, by number.
    pub questions: RangeInclusive<u64>,
    /// Who wants it.
    pub by: By,
    /// Why, if that was said.
    pub reason: Option<String>,
}

/// Who takes something out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The person.
    Person,
    /// The model.
    Model,
}

/// Take questions out, with everything that answers them.
pub fn snip(view: &View, cut: &Cut, limits: &Limits) -> Result<Hiding, NotHidden> {
    let (from, to) = (*cut.questions.start(), *cut.questions.end());
    let (from, to) = (from.min(to), from.max(to));
    let questions = Questions::of(view);
    let stretch = |number| {
        let most = questions.count();
        questions.stretch(number).ok_or(NotHidden::NoSuchQuestion { number, most })
    };
    let (start, end) = (stretch(from)?.start, stretch(to)?.end);
    if questions.is_open(to) {
        return Err(NotHidden::StillOpen(to));
    }
    let messages = &view.history[start..end];
    if messages.iter().any(|message| is_summary(view, message)) {
        return Err(NotHidden::Summary { from, to });
    }
    let [first, ..] = messages else { return Ok(Hiding::default()) };
    let (last, number) = (&messages[messages.len() - 1], view.next_span());
    let text = prompts::snip(&prompts::Snipped {
        number,
        messages: messages.len() as u64,
        tokens: rounds::weight(messages, limits),
        who: if cut.by == By::Person { "the person" } else { "the model" },
        reason: &harmless(cut.reason.as_deref().unwrap_or_default(), limits),
        constraints: &pinned_block(&pinned(messages, limits)),
    });
    let line = spans::line(number, last, text);
    let span = Span { number, way: Way::Snip, first: first.id.clone(), last: last.id.clone(), line };
    Ok(Hiding { hide: vec![span], ..Hiding::default() })
}

/// Whether a message stands for something that a compaction replaced; folds and earlier snips may go.
fn is_summary(view: &View, message: &Arc<Message>) -> bool {
    message.origin == Origin::Summary && !view.hidden.iter().any(|hidden| hidden.span.line.id == message.id)
}

/// Lets the model take finished questions out.
pub struct Snip {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    from: Option<u64>,
    to: Option<u64>,
    reason: Option<String>,
}

impl Snip {
    /// The tool.
    pub fn new() -> Self {
        let number = || json!({ "type": "integer", "minimum": 1 });
        let fields = json!({ "from": number(), "to": number(), "reason": { "type": "string" } });
        Self { spec: card(NAME, include_str!("../../prompts/tools/snip.md"), &[], fields) }
    }
}

impl Default for Snip {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Snip {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, _: &Value, _: &Path) -> Effect {
        Effect::Nothing
    }

    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        at_once(parse(input).map_or_else(|refusal| refusal, |input| called(input, bench)))
    }
}

fn called(input: Input, bench: &Bench<'_>) -> ToolOutcome {
    let Some(view) = bench.view else { return ToolOutcome::error(prompts::NOT_IN_A_FORK.trim()) };
    let Some(from) = input.from else { return ToolOutcome::ok(listed(view, bench.limits)) };
    if !is_first_of_its_round(view, bench) {
        return ToolOutcome::error("Only one span can be taken out in a round. This call changed nothing.");
    }
    let cut = Cut { questions: from..=input.to.unwrap_or(from), by: By::Model, reason: input.reason };
    match snip(view, &cut, bench.limits) {
        Ok(hiding) => ToolOutcome::ok(markers(&hiding)).hiding(hiding),
        Err(reason) => ToolOutcome::error(format!("Nothing was taken out: {reason}.")),
    }
}

/// What the conversation will show instead, without the constraints that stand there anyway.
fn markers(hiding: &Hiding) -> String {
    hiding.hide.iter().filter_map(|span| Some(span.line.text().lines().next()?.to_owned())).collect()
}

/// Numbers are those of one conversation, and a second cut would mean another one.
fn is_first_of_its_round(view: &View, bench: &Bench<'_>) -> bool {
    let mut calls = view.history.last().into_iter().flat_map(|last| last.tool_uses());
    let cuts = |call: &&crate::message::ToolUse| call.name == NAME && call.input.get("from").is_some();
    calls.find(cuts).is_none_or(|first| first.id == *bench.call)
}

/// The questions with their numbers and what they measure.
fn listed(view: &View, limits: &Limits) -> String {
    let questions = Questions::of(view);
    let row = |(number, title): (u64, String)| {
        let stretch = questions.stretch(number).unwrap_or_default();
        let open = if questions.is_open(number) { ", being answered" } else { "" };
        format!("{number}. {title} ({} tokens{open})\n", rounds::weight(&view.history[stretch], limits))
    };
    questions.titles().map(row).collect()
}
