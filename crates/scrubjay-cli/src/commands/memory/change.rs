//! The commands that change: each makes one change, hands out its receipt, and can be taken back.

use crate::arguments::{ForgetFlags, Trial, UndoFlags};
use crate::editor;
use crate::failure::Failure;
use crate::memories::draft::{Asked, Draft};
use crate::memories::receipt::{Told, rehearse};
use crate::memories::{self, chosen_change, find, find_removed};
use crate::paper::Paper;
use crate::workplace::Workplace;
use jiff::Zoned;
use scrubjay::limits::Limits;
use scrubjay::memory::{ChangeId, Edit, Entry, FileDiff, Kind, Memory, Recorded, Topic};
use std::io::IsTerminal as _;

/// What the person gave: words, or standard input for `-` and for nothing.
pub(super) fn given(words: &[String]) -> Result<String, Failure> {
    let text = words.join(" ");
    if !(text.is_empty() || text == "-") {
        return Ok(text);
    }
    if std::io::stdin().is_terminal() && text.is_empty() {
        return Err(Failure::usage("what should be remembered?").fix(memories::FIRST));
    }
    editor::from_standard_input()
}

/// Where a command works and where it writes.
type Here<'a> = (&'a Workplace, &'a Paper);

pub(super) fn add(
    memory: &mut Memory,
    asked: &Asked<'_>,
    trial: Trial,
    (workplace, paper): Here<'_>,
) -> Result<(), Failure> {
    let draft = Draft::of(asked, Zoned::now().date(), &workplace.limits)?;
    if trial.dry_run {
        return rehearse(&[draft.rehearsed(memory)?], &draft.notes(memory), paper);
    }
    draft.save(memory)?.tell(paper)
}

pub(super) fn edit(memory: &mut Memory, name: &str, trial: Trial, (workplace, paper): Here<'_>) -> Result<(), Failure> {
    let path = find(memory, name)?.path;
    let Some((entry, old)) = memory.text(&path)? else {
        return Err(Failure::nothing_found(format!("`{path}` was just removed")));
    };
    let new = editor::rewritten(&path, &old, workplace)?;
    if new.trim().is_empty() {
        let read = if std::io::stdin().is_terminal() {
            ""
        } else {
            " (it was read from standard input, which is no terminal)"
        };
        return Err(Failure::usage(format!("the new text of `{path}` is empty{read}, so nothing was changed"))
            .fix(format!("`scrubjay memory forget {}` removes a memory", memories::typed(&path))));
    }
    let lost = lost_header(&old, &new, &workplace.limits);
    if trial.dry_run {
        return rehearse(&[FileDiff { path, before: Some(old), after: Some(new) }], lost.as_slice(), paper);
    }
    // Based on what was read before the editor opened: whatever others did meanwhile is merged or kept beside it.
    memories::make(memory, vec![Edit::update(&entry, new)])?.with_notes(lost).tell(paper)
}

/// What an edit took out of the header: without it a memory is hard to find.
fn lost_header(old: &str, new: &str, limits: &Limits) -> Option<String> {
    let (old, new) = (Topic::read(old, limits), Topic::read(new, limits));
    let keys = [
        ("name", !old.name.is_empty() && new.name.is_empty()),
        ("description", !old.description.is_empty() && new.description.is_empty()),
        ("type", old.kind != Kind::Untyped && new.kind == Kind::Untyped),
    ];
    let lost: Vec<&str> = keys.into_iter().filter_map(|(key, is_lost)| is_lost.then_some(key)).collect();
    let told = |keys: String| format!("its header says no {keys} any more, and recall and the index go by that");
    (!lost.is_empty()).then(|| told(lost.join(", no ")))
}

pub(super) fn forget(memory: &mut Memory, flags: &ForgetFlags, (workplace, paper): Here<'_>) -> Result<(), Failure> {
    if !flags.trial.dry_run {
        let told = match &flags.source {
            Some(source) => memories::forget_source(memory, source, workplace),
            None => memories::forget(memory, &flags.names),
        };
        return told?.tell(paper);
    }
    let (entries, notes) = match &flags.source {
        Some(source) => memories::resting_on(memory, source, workplace)?,
        None => (flags.names.iter().map(|name| find(memory, name)).collect::<Result<Vec<_>, _>>()?, Vec::new()),
    };
    let removed = |entry: Entry| {
        let before = memory.text(&entry.path)?.map(|(_, text)| text);
        Ok(FileDiff { path: entry.path, before, after: None })
    };
    let diffs = entries.into_iter().map(removed).collect::<Result<Vec<_>, Failure>>()?;
    rehearse(&diffs, &notes, paper)
}

pub(super) fn restore(memory: &mut Memory, name: &str, trial: Trial, paper: &Paper) -> Result<(), Failure> {
    let path = find_removed(memory, name)?;
    if trial.dry_run {
        let log = memory.log()?;
        let removed = |change: &&Recorded| change.edits.iter().any(|edit| edit.path == path && edit.after.is_none());
        let change = log.iter().rev().find(removed).map_or(ChangeId(0), |change| change.id);
        let mut diffs = reversed(memory, change)?;
        diffs.retain(|diff| diff.path == path);
        return rehearse(&diffs, &[], paper);
    }
    let receipt = memory.restore(&path)?;
    Told::of(receipt, memory).tell(paper)
}

/// Take a change back.
pub(super) fn undo(memory: &mut Memory, flags: &UndoFlags, paper: &Paper) -> Result<(), Failure> {
    if flags.trial.dry_run {
        let change = chosen_change(memory, flags.change)?;
        return rehearse(&reversed(memory, change)?, &[], paper);
    }
    memories::undo(memory, flags.change)?.tell(paper)
}

fn reversed(memory: &Memory, change: ChangeId) -> Result<Vec<FileDiff>, Failure> {
    let reverse = |diff: FileDiff| FileDiff { path: diff.path, before: diff.after, after: diff.before };
    Ok(memory.diff(change)?.into_iter().map(reverse).collect())
}

pub(super) fn confirm(memory: &mut Memory, name: &str, paper: &Paper) -> Result<(), Failure> {
    let entry = find(memory, name)?;
    if !memory.is_unconfirmed(&entry) {
        return Err(Failure::nothing_found(format!("`{}` does not wait for a confirmation", entry.path))
            .fix("`scrubjay memory check` lists those that do"));
    }
    memories::make(memory, vec![Edit::confirm(&entry)])?.tell(paper)
}
