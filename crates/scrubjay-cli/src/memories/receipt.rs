//! What a person is told about a change: which file, what changed in one line, and how to take it back.

use crate::failure::Failure;
use crate::paper::{Form, Ink, Paper, Tone};
use scrubjay::memory::{ChangeId, FileDiff, Memory, Outcome, Receipt, What};
use scrubjay::tools::{shown, shown_path};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A change that was made.
#[derive(Debug)]
pub(crate) struct Told {
    receipt: Receipt,
    dir: PathBuf,
    /// What else a person should know.
    notes: Vec<String>,
}

impl Told {
    pub(crate) fn of(receipt: Receipt, memory: &Memory) -> Self {
        Self::at(receipt, &memory.place().memory)
    }

    pub(crate) fn at(receipt: Receipt, dir: &Path) -> Self {
        Self { receipt, dir: dir.to_owned(), notes: Vec::new() }
    }

    pub(crate) fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub(crate) fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(crate) fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// For people; `undo` is what takes it back where they are.
    pub(crate) fn words(&self, ink: Ink, undo: &str) -> String {
        let line = |outcome: &Outcome| {
            let (word, more) = said(outcome);
            format!("{} {}", ink.paint(Tone::Strong, word), shown(&more))
        };
        let mut lines: Vec<String> = self.receipt.outcomes.iter().map(line).collect();
        let place = match self.receipt.outcomes.as_slice() {
            [] => None,
            [one] => Some(shown_path(&self.dir.join(&one.path))),
            _ => Some(shown_path(&self.dir)),
        };
        lines.extend(place.map(|place| ink.paint(Tone::Faint, &format!("  {place}"))));
        if self.receipt.changed() {
            let take_back = format!("  take it back with `{undo} {}`", self.receipt.change);
            lines.push(ink.paint(Tone::Faint, &take_back));
        }
        lines.join("\n")
    }

    /// For scripts.
    pub(crate) fn json(&self) -> Value {
        let outcome = |outcome: &Outcome| {
            json!({
                "path": self.dir.join(&outcome.path),
                "name": outcome.path,
                "outcome": word(&outcome.what),
                "diff": outcome.diff,
                "other_version": match &outcome.what { What::Conflict(copy) => Some(copy), _ => None },
            })
        };
        let changed = self.receipt.changed();
        json!({
            "changed": changed,
            "change": changed.then_some(self.receipt.change.0),
            "outcomes": self.receipt.outcomes.iter().map(outcome).collect::<Vec<_>>(),
            "notes": self.notes,
            "undo": changed.then(|| undo_command(self.receipt.change)),
        })
    }

    /// Say it: the receipt is the answer, the notes are beside it.
    pub(crate) fn tell(&self, paper: &Paper) -> Result<(), Failure> {
        if paper.form == Form::Json {
            return paper.json("memory-receipt", self.json());
        }
        if !self.receipt.outcomes.is_empty() {
            paper.line(&self.words(paper.ink, "scrubjay undo"))?;
        }
        self.notes.iter().for_each(|note| paper.warn(note));
        Ok(())
    }
}

fn undo_command(change: ChangeId) -> String {
    format!("scrubjay undo {change}")
}

fn word(what: &What) -> &'static str {
    match what {
        What::Saved => "saved",
        What::Unchanged => "unchanged",
        What::Merged => "merged",
        What::Conflict(_) => "conflict",
        What::Removed => "removed",
        What::Stays => "stays",
        What::Confirmed => "confirmed",
    }
}

/// The word for what happened, and the rest of the line.
fn said(outcome: &Outcome) -> (&'static str, String) {
    let Outcome { path, diff, what } = outcome;
    let more = match what {
        What::Saved => format!("{path}: {diff}"),
        What::Removed => format!("{path}: {}, now in the trash", diff.trim_start_matches("removed, ")),
        What::Unchanged => format!("{path}: it says that already"),
        What::Merged => format!("{path}: {diff}, together with a change somebody else made meanwhile"),
        What::Conflict(copy) => {
            format!("{path}: somebody else changed it too. Both are kept: theirs there, yours in {copy}; merge the two")
        }
        What::Stays => {
            format!("{path}: somebody changed it meanwhile, so it was not removed; look at it and try again")
        }
        What::Confirmed => format!("{path}: you vouch for it, so sessions may begin with it"),
    };
    (word(what), more)
}

/// Show what would change, and change nothing.
pub(crate) fn rehearse(diffs: &[FileDiff], notes: &[String], paper: &Paper) -> Result<(), Failure> {
    if paper.form == Form::Json {
        let files: Vec<Value> = diffs.iter().map(diff_json).collect();
        return paper.json("memory-dry-run", json!({ "changed": false, "files": files, "notes": notes }));
    }
    for diff in diffs {
        paper.line(shown(&diff.to_string()).trim_end())?;
    }
    notes.iter().for_each(|note| paper.warn(note));
    paper.talk("nothing was changed: --dry-run only shows what would be");
    Ok(())
}

/// A change of one file, for scripts.
pub(crate) fn diff_json(diff: &FileDiff) -> Value {
    json!({ "name": diff.path, "before": diff.before, "after": diff.after })
}
