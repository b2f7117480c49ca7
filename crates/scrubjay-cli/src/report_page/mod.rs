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
pub(crate) fn write(subject: &Subject<'_>, path: &Path) -> Result<SessionReport, Failure> {
    let report = SessionReport::of(subject)?;
    let page = page::page(&report, &subject.zone)?;
    write_private(path, page.as_bytes())
        .map_err(|error| Failure::failed(format!("the page cannot be written to {}: {error}", path.display())))?;
    Ok(report)
}

/// The same facts for a script.
pub(crate) fn json(report: &SessionReport) -> Result<Value, Failure> {
    let data = serde_json::to_value(report)
        .map_err(|error| Failure::failed(format!("the report cannot be told as JSON: {error}")))?;
    Ok(enveloped("report", data))
}
