//! What a session taught, and what dreams made of it: from the memory's journal.

use super::Subject;
use super::facts::{Change, Event, File, LONGEST, Proposed, SessionReport, told};
use crate::failure::Failure;
use crate::paper::counted;
use jiff::Timestamp;
use scrubjay::ledger::Layer;
use scrubjay::limits::Limits;
use scrubjay::memory::dreaming::Proposal;
use scrubjay::memory::{Cause, FileDiff, Recorded, Topic};
use std::collections::BTreeSet;

/// How many lines of a difference are told; `scrubjay memory diff N` has all of it.
const LINES: usize = 60;

/// How many lines of a difference only name the file.
const HEADING: usize = 2;

/// Add what the journal says. A memory that is not there says nothing.
pub(super) fn fill(report: &mut SessionReport, subject: &Subject<'_>) -> Result<(), Failure> {
    let Some(memory) = subject.memory else { return Ok(()) };
    let log = memory.log()?;
    let undone: BTreeSet<_> =
        log.iter().filter_map(|change| if let Cause::Undo { of } = change.cause { Some(of) } else { None }).collect();
    for recorded in chosen(&log, report) {
        let files = memory.diff(recorded.id).unwrap_or_else(|error| {
            report.gaps.push(format!("what change {} of the memory did cannot be shown: {error}", recorded.id));
            Vec::new()
        });
        let dream = matches!(recorded.cause, Cause::Dream | Cause::Proposal { .. });
        let files: Vec<File> = files.iter().filter_map(|diff| file(diff, subject.limits)).collect();
        if files.is_empty() {
            continue;
        }
        if dream {
            let what = format!("a dream changed {}", counted(files.len() as u64, "file"));
            report.events.push(Event::new(answered(report, recorded.at), recorded.at, Layer::Dreaming, &what));
        }
        report.memories.push(Change {
            id: recorded.id.0,
            at: recorded.at,
            by: told(&by(&recorded.cause, &report.session.id), LONGEST),
            dream,
            taken_back: undone.contains(&recorded.id),
            files,
        });
    }
    report.proposals = subject.proposals.iter().map(proposed).collect();
    Ok(())
}

/// What this session wrote, what the person or a dream wrote while it was open, and what they made of any of that later.
fn chosen<'a>(log: &'a [Recorded], report: &SessionReport) -> Vec<&'a Recorded> {
    let card = &report.session;
    let meanwhile = |at: Timestamp| card.began <= Some(at) && card.ended >= Some(at);
    let mut touched: BTreeSet<&str> = BTreeSet::new();
    let mut found = Vec::new();
    for change in log {
        let ours = match &change.cause {
            Cause::Session { session } | Cause::Message { session, .. } | Cause::Extraction { session, .. } => {
                *session == card.id
            }
            Cause::Dream | Cause::Proposal { .. } | Cause::Person => {
                meanwhile(change.at) || change.edits.iter().any(|edit| touched.contains(edit.path.as_str()))
            }
            _ => false,
        };
        if ours {
            touched.extend(change.edits.iter().map(|edit| edit.path.as_str()));
            found.push(change);
        }
    }
    found
}

fn by(cause: &Cause, session: &str) -> String {
    match cause {
        Cause::Person => "you".to_owned(),
        Cause::Dream => "a dream".to_owned(),
        Cause::Proposal { .. } => "a dream, applied by you".to_owned(),
        Cause::Extraction { session: from, .. } if from == session => "extraction from this session".to_owned(),
        Cause::Session { session: from } | Cause::Message { session: from, .. } if from == session => {
            "the agent in this session".to_owned()
        }
        other => other.to_string(),
    }
}

/// How many requests had been answered at a moment.
fn answered(report: &SessionReport, at: Timestamp) -> u64 {
    report.requests.iter().take_while(|request| request.at <= at).count() as u64
}

/// A change of one memory.
fn file(change: &FileDiff, limits: &Limits) -> Option<File> {
    let topic = change.after.as_ref().or(change.before.as_ref()).map(|text| Topic::read(text, limits))?;
    let what = match (&change.before, &change.after) {
        (None, _) => "new",
        (Some(_), Some(_)) => "changed",
        (Some(_), None) => "removed",
    };
    let (mut diff, more) = lines(&change.to_string());
    // Its heading only repeats the name of the file.
    diff.drain(..diff.len().min(HEADING));
    Some(File {
        path: told(&change.path, LONGEST),
        what,
        name: told(&topic.name, LONGEST),
        description: told(&topic.description, LONGEST),
        kind: topic.kind.as_str(),
        diff,
        more,
    })
}

fn proposed(proposal: &Proposal) -> Proposed {
    let (diff, more) = lines(&proposal.diff);
    let reasons = proposal.reasons.iter().map(|reason| told(reason, LONGEST)).collect();
    Proposed { id: told(&proposal.id, LONGEST), at: proposal.at, reasons, diff, more }
}

/// The lines of a difference, and how many are left out.
fn lines(diff: &str) -> (Vec<String>, usize) {
    // Credentials may span lines, so the whole is redacted before it is taken apart.
    let whole = told(diff, usize::MAX);
    let told: Vec<String> = whole.lines().take(LINES).map(|line| line.chars().take(LONGEST).collect()).collect();
    let more = whole.lines().count() - told.len();
    (told, more)
}
