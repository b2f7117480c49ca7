//! One page for one session: a file that needs nothing else, drawn from [`SessionReport`] alone.

mod cache_chart;
mod drawing;
mod facts;
mod folding;
mod markup;
mod money_chart;
mod page;
mod remembering;
mod sections;
#[cfg(test)]
mod tests;
mod window_chart;

pub(crate) use facts::SessionReport;

use crate::failure::Failure;
use crate::paper::enveloped;
use jiff::tz::TimeZone;
use scrubjay::limits::Limits;
use scrubjay::memory::Memory;
use scrubjay::memory::dreaming::Proposal;
use scrubjay::message::Usage;
use scrubjay::paths::write_private;
use scrubjay::settings::Settings;
use scrubjay::tokens::ContextWindow;
use serde_json::Value;
use std::path::Path;

/// What a page is about. Nothing of it is changed.
pub(crate) struct Subject<'a> {
    /// The session's file; its receipts lie beside it.
    pub(crate) transcript: &'a Path,
    /// The window of its model.
    pub(crate) window: ContextWindow,
    /// What the calls of a model cost, where every price is known.
    pub(crate) price: &'a dyn Fn(&str, &Usage) -> Option<f64>,
    /// The memory it wrote to.
    pub(crate) memory: Option<&'a Memory>,
    /// What dreams propose and nobody has answered.
    pub(crate) proposals: &'a [Proposal],
    pub(crate) settings: &'a Settings,
    pub(crate) limits: &'a Limits,
    /// Where the person is.
    pub(crate) zone: TimeZone,
}

impl Subject<'_> {
    fn session(&self) -> String {
        self.transcript.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// Read a session and write its page, for its owner alone.
///
/// A file that this did not write stays as it is, unless the user says otherwise; a link is never followed.
pub(crate) fn write(subject: &Subject<'_>, path: &Path, over: Overwrite) -> Result<SessionReport, Failure> {
    check_target(path, over)?;
    let report = SessionReport::of(subject)?;
    let page = page::page(&report, &subject.zone)?;
    write_private(path, page.as_bytes())
        .map_err(|error| Failure::failed(format!("the page cannot be written to {}: {error}", path.display())))?;
    Ok(report)
}

/// By this we know a page of ours again.
pub(super) const GENERATOR: &str = "scrubjay report";

/// Our mark stands in the head of a page, before anything that was said.
const HEAD_BYTES: u64 = 4_096;

/// What may be written over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overwrite {
    /// Pages of our own.
    OwnPages,
    /// Any file: the user said so.
    AnyFile,
}

fn check_target(path: &Path, over: Overwrite) -> Result<(), Failure> {
    use std::io::ErrorKind::NotFound;
    let shown = path.display();
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == NotFound => return Ok(()),
        Err(error) => return Err(Failure::failed(format!("{shown} cannot be looked at: {error}"))),
    };
    if found.is_dir() {
        return Err(Failure::usage(format!("{shown} is a folder; no page was written"))
            .fix(format!("name a file in it: --out {shown}/report.html")));
    }
    if over == Overwrite::AnyFile || found.is_file() && is_ours(path) {
        return Ok(());
    }
    let what =
        if found.is_file() { "is there already and is no page of scrubjay" } else { "is a link or no plain file" };
    Err(Failure::usage(format!("{shown} {what}; it was left as it is and no page was written"))
        .fix("name another file with --out, or replace this one with --force"))
}

fn is_ours(path: &Path) -> bool {
    use std::io::Read as _;
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    let mark = format!("<meta name=\"generator\" content=\"{GENERATOR}\">");
    read.is_ok() && head.starts_with(b"<!doctype html>") && String::from_utf8_lossy(&head).contains(&mark)
}

/// The same facts for a script.
pub(crate) fn json(report: &SessionReport) -> Result<Value, Failure> {
    let data = serde_json::to_value(report)
        .map_err(|error| Failure::failed(format!("the report cannot be told as JSON: {error}")))?;
    Ok(enveloped("report", data))
}
