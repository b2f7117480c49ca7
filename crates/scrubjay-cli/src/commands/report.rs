//! `scrubjay report`: one page about a session.

use super::{chosen, context::holder};
use crate::arguments::ReportFlags;
use crate::failure::Failure;
use crate::memories;
use crate::paper::{Form, Paper, counted};
use crate::report_page::{self, Overwrite, SessionReport, Subject};
use crate::service::catalogue;
use crate::workplace::Workplace;
use jiff::tz::TimeZone;
use scrubjay::memory::dreaming::Proposal;
use scrubjay::tools::shown_path;
use std::path::Path;

/// Where the page is written when nothing is said.
const USUAL: &str = "report.html";

pub(super) fn run(flags: &ReportFlags, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let (shelf, place) = chosen(workplace, &flags.which)?;
    // The page reads the session itself: it is not held twice.
    let window = holder(workplace, &shelf.peek(&place)?.0)?.window;
    let catalogue = catalogue(workplace)?;
    let memory = memories::peek(workplace)?.map(|(memory, _)| memory);
    let proposals = if memory.is_some() { waiting(workplace)? } else { Vec::new() };
    let subject = Subject {
        transcript: &place.path,
        window,
        price: &|model, usage| catalogue.find(model)?.cost(usage),
        memory: memory.as_ref(),
        proposals: &proposals,
        settings: &workplace.settings,
        limits: &workplace.limits,
        zone: TimeZone::system(),
    };
    let over = if flags.force { Overwrite::AnyFile } else { Overwrite::OwnPages };
    match (paper.form, &flags.out) {
        (Form::Json, None) => paper.line(&report_page::json(&SessionReport::of(&subject)?)?.to_string()),
        (Form::Json, Some(out)) => {
            let report = report_page::write(&subject, &workplace.dir.join(out), over)?;
            paper.line(&report_page::json(&report)?.to_string())
        }
        (Form::Words, out) => {
            let path = workplace.dir.join(out.as_deref().unwrap_or(Path::new(USUAL)));
            let report = report_page::write(&subject, &path, over)?;
            let requests = counted(report.requests.len() as u64, "request");
            paper.line(&format!("{}: session {}, {requests}", shown_path(&path), report.session.id))?;
            paper.talk(
                "open it in a browser: it loads nothing and sends nothing; what was said is in it, credentials are not",
            );
            Ok(())
        }
    }
}

fn waiting(workplace: &Workplace) -> Result<Vec<Proposal>, Failure> {
    Ok(memories::dreams::open_quietly(workplace)?.0.proposals())
}
