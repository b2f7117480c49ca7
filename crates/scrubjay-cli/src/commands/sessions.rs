//! `scrubjay sessions`: what was talked about in this project.

use crate::failure::Failure;
use crate::paper::{Form, Paper, Tone, counted, short};
use crate::report::ago;
use crate::shelf::{Glance, Shelf};
use crate::workplace::Workplace;
use jiff::Timestamp;
use serde_json::json;

/// How many are listed unless all are asked for.
pub(super) fn usual(workplace: &Workplace) -> usize {
    usize::try_from(workplace.limits.listed_sessions).unwrap_or(usize::MAX)
}

pub(super) fn run(workplace: &Workplace, paper: &Paper, most: usize) -> Result<(), Failure> {
    let shelf = Shelf::of(workplace);
    let glances = shelf.glances(most)?;
    if paper.form == Form::Json {
        let listed: Vec<_> = glances.iter().map(as_json).collect();
        return paper.json("sessions", json!({ "project": workplace.root, "sessions": listed }));
    }
    if glances.is_empty() {
        return Err(
            Failure::nothing_found("there is no session in this project yet").fix("start one with `scrubjay chat`")
        );
    }
    for line in listed(&glances, paper) {
        paper.line(&line)?;
    }
    let more = shelf.places()?.len().saturating_sub(glances.len());
    if most != usize::MAX && glances.len() == most && more > 0 {
        paper.talk(&format!("and more; --all lists every one ({more} not looked at)"));
    }
    Ok(())
}

fn listed(glances: &[Glance], paper: &Paper) -> Vec<String> {
    let now = Timestamp::now();
    let line = |glance: &Glance| {
        let tokens = glance.usage.total_input() + glance.usage.output;
        let damage = if glance.damage.is_empty() { "" } else { "  (damaged: see `scrubjay doctor`)" };
        format!(
            "{}  {:<12} {:>13} {:>7} tokens  {}{damage}",
            paper.ink.paint(Tone::Strong, &glance.id),
            ago(glance.last, now),
            counted(glance.questions, "question"),
            short(tokens),
            glance.title
        )
    };
    glances.iter().map(line).collect()
}

fn as_json(glance: &Glance) -> serde_json::Value {
    json!({
        "id": glance.id,
        "last": glance.last,
        "title": glance.title,
        "questions": glance.questions,
        "usage": glance.usage,
        "window_tokens": glance.window,
        "damaged_parts": glance.damage.len(),
    })
}
