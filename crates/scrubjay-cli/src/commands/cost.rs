//! `scrubjay cost`: what a session took.

use super::chosen;
use crate::arguments::WhichSession;
use crate::failure::Failure;
use crate::health::Health;
use crate::paper::{Form, Paper};
use crate::report::Bill;
use crate::service::catalogue;
use crate::workplace::Workplace;
use jiff::Timestamp;

pub(super) fn run(workplace: &Workplace, paper: &Paper, which: &WhichSession) -> Result<(), Failure> {
    let (shelf, place) = chosen(workplace, which)?;
    let (transcript, _) = shelf.peek(&place)?;
    let catalogue = catalogue(workplace)?;
    let bill = Bill::of(transcript.view(), |model, usage| catalogue.find(model)?.cost(usage));
    let health = Health::beside(&place.path, Timestamp::now(), &workplace.limits);
    match paper.form {
        Form::Words => paper.line(&format!("{}\n{}", bill.words(paper.ink), health.lines().join("\n"))),
        Form::Json => {
            let mut data = bill.json();
            data["session_id"] = place.id.into();
            data["health"] = health.json();
            paper.json("cost", data)
        }
    }
}
