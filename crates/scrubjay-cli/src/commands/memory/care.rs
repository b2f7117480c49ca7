//! Keeping a memory in order: what is wrong with it, and what it costs.

use crate::arguments::CheckFlags;
use crate::failure::Failure;
use crate::memories;
use crate::paper::{Form, Paper, Tone, counted, grouped};
use crate::workplace::Workplace;
use scrubjay::memory::{Fault, Finding, Memory, Pollution, Repairs};
use scrubjay::tokens::of_text;
use scrubjay::tools::{shown, shown_path};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Whether it must be put right; anything else is advice.
pub(crate) fn is_broken(finding: &Finding) -> bool {
    finding.is_fixable() || finding.is_leak() || matches!(finding.fault, Fault::NotLoaded(_))
}

/// What a check found, and what it put right.
struct Checked {
    findings: Vec<Finding>,
    fixed: Vec<String>,
    /// Why it can only be read.
    refused: Option<String>,
    pollution: Pollution,
}

/// `scrubjay memory check`, `scrubjay fsck`.
pub(crate) fn check(flags: CheckFlags, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let (mut memory, repairs) = memories::open_quietly(workplace)?;
    let refused = repairs.refused.clone();
    let mut fixed = repaired(&Repairs { refused: None, ..repairs });
    let mut findings = memory.check()?;
    if flags.fix {
        memory.fix()?;
        let left = memory.check()?;
        fixed.extend(findings.iter().filter(|finding| !left.contains(finding)).map(Finding::to_string));
        findings = left;
    }
    let broken = findings.iter().filter(|finding| is_broken(finding)).count() + usize::from(refused.is_some());
    let fixable = findings.iter().any(Finding::is_fixable);
    let pollution = memory.pollution(&workplace.root, &CancellationToken::new())?;
    report(&Checked { findings, fixed, refused, pollution }, &memory, paper)?;
    if broken == 0 {
        return Ok(());
    }
    let failure = Failure::failed(format!("{} to put right", counted(broken as u64, "thing")));
    Err(if fixable { failure.fix("`scrubjay memory check --fix` does what needs no judgement") } else { failure })
}

fn report(checked: &Checked, memory: &Memory, paper: &Paper) -> Result<(), Failure> {
    let Checked { findings, fixed, refused, pollution } = checked;
    if paper.form == Form::Json {
        let row = |finding: &Finding| {
            let (broken, fixable) = (is_broken(finding), finding.is_fixable());
            json!({ "name": finding.path, "broken": broken, "fixable": fixable, "says": finding.to_string() })
        };
        let rows: Vec<Value> = findings.iter().map(row).collect();
        let (directory, memories) = (&memory.place().memory, memory.scan().entries.len());
        let data = json!({ "directory": directory, "memories": memories, "findings": rows, "fixed": fixed,
            "refused": refused, "pollution": pollution_json(pollution) });
        return paper.json("memory-check", data);
    }
    for line in fixed {
        paper.line(&format!("fixed  {}", shown(line)))?;
    }
    if let Some(why) = refused {
        let wrong = paper.ink.paint(Tone::Bad, "wrong ");
        paper.line(&format!("{wrong} the memory can only be read: {}", shown(why)))?;
    }
    for finding in findings {
        let (tone, word) = if is_broken(finding) { (Tone::Bad, "wrong") } else { (Tone::Warning, "advice") };
        paper.line(&format!("{} {}", paper.ink.paint(tone, &format!("{word:<6}")), shown(&finding.to_string())))?;
    }
    let seen = memories::how_many(memory.scan().entries.len());
    let came = match findings.len() {
        0 => "all as it should be".to_owned(),
        count => counted(count as u64, "finding"),
    };
    paper.talk(&format!("{seen} looked at in {}: {came}", shown_path(&memory.place().memory)));
    for (reason, paths) in pollution.reasons().into_iter().filter(|(_, paths)| !paths.is_empty()) {
        let names: Vec<&str> = paths.iter().map(String::as_str).collect();
        paper.line(&format!("{:<6} {reason}: {}", "advice", shown(&names.join(", "))))?;
    }
    paper.talk(&pollution_in_words(pollution));
    Ok(())
}

/// The third health figure: `memory pollution 25 % (counted): 1 duplicate, 2 drifted`.
pub(crate) fn pollution_in_words(pollution: &Pollution) -> String {
    let share = pollution.share().map_or("n/a".to_owned(), |share| format!("{:.0} %", share * 100.0));
    let reasons = pollution.reasons().into_iter().filter(|(_, paths)| !paths.is_empty());
    let reasons: Vec<String> = reasons.map(|(reason, paths)| format!("{} {reason}", paths.len())).collect();
    let because = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join(", ")) };
    format!("memory pollution {share} (counted){because}")
}

pub(crate) fn pollution_json(pollution: &Pollution) -> Value {
    let reasons: serde_json::Map<String, Value> = pollution
        .reasons()
        .into_iter()
        .map(|(reason, paths)| (reason.replace(['-', ' '], "_"), json!(paths)))
        .collect();
    json!({ "share": pollution.share(), "memories": pollution.memories, "reasons": reasons })
}

/// What opening alone put in order.
fn repaired(found: &Repairs) -> Vec<String> {
    let mut said = memories::notices(found);
    said.extend(found.reindexed.then(|| "the index was made anew from the files".to_owned()));
    if found.cleared > 0 {
        said.push(format!("{} that an interrupted change left", counted(found.cleared as u64, "file")));
    }
    said
}

/// `scrubjay memory tokens`.
pub(super) fn tokens(memory: &Memory, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let limits = &workplace.limits;
    let loaded = memory.index()?;
    let (index, seen) = (of_text(&loaded.text, limits), loaded.seen(limits));
    let mut rows = Vec::new();
    for entry in &memory.scan().entries {
        if let Some((_, text)) = memory.text(&entry.path)? {
            rows.push((entry.path.as_str(), of_text(&text, limits)));
        }
    }
    rows.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
    let total: u64 = rows.iter().map(|(_, tokens)| tokens).sum();
    if paper.form == Form::Json {
        let each: Vec<Value> = rows.iter().map(|(name, tokens)| json!({ "name": name, "tokens": tokens })).collect();
        let data = json!({ "index": index, "memories": each, "total": total, "certainty": "estimated" });
        return paper.json("memory-tokens", data);
    }
    if rows.is_empty() {
        return Err(Failure::nothing_found("nothing is remembered, so nothing costs anything").fix(memories::FIRST));
    }
    let row = |tokens: u64, what: &str| format!("{:>9}  {}", grouped(tokens), shown(what));
    let cut = seen.map(|seen| format!("; {seen}")).unwrap_or_default();
    paper.line(&row(index, &format!("the index, in every session{cut}")))?;
    for (name, tokens) in &rows {
        paper.line(&row(*tokens, name))?;
    }
    paper.line(&row(total, &format!("{}, each only where it is recalled", memories::how_many(rows.len()))))?;
    paper.talk("tokens are estimated");
    Ok(())
}
