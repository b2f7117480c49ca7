//! `scrubjay limits`: every number that can be tuned, and why it has its value.

use crate::failure::Failure;
use crate::paper::{Form, Paper, Tone, grouped, wrapped};
use crate::workplace::Workplace;
use scrubjay::limits::{Limit, Limits};
use serde_json::{Value, json};

pub(super) fn run(workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let value = |limit: &Limit| workplace.limits.get(limit.name).unwrap_or(limit.default);
    if paper.form == Form::Json {
        let rows: Vec<Value> = Limits::table().iter().map(|limit| as_json(limit, value(limit))).collect();
        return paper.json("limits", json!({ "limits": rows }));
    }
    let mut part = "";
    for limit in Limits::table() {
        if limit.part != part {
            part = limit.part;
            paper.line(&paper.ink.paint(Tone::Strong, part))?;
        }
        let now = value(&limit);
        let changed =
            if now == limit.default { String::new() } else { format!(" (default {})", grouped(limit.default)) };
        let amount = format!("{} {}{changed}", grouped(now), limit.unit);
        paper.line(&format!("  {:<28} {amount}", limit.name))?;
        let why = format!("{}; {}", limit.why, limit.narrower.rule());
        for why in wrapped(&why, paper.width.saturating_sub(6)).lines() {
            paper.line(&format!("      {}", paper.ink.paint(Tone::Faint, why)))?;
        }
    }
    Ok(())
}

fn as_json(limit: &Limit, value: u64) -> Value {
    json!({
        "name": limit.name,
        "value": value,
        "default": limit.default,
        "unit": limit.unit,
        "part": limit.part,
        "min": limit.bounds.start(),
        "max": limit.bounds.end(),
        "repository": limit.narrower.rule(),
        "why": limit.why,
    })
}
