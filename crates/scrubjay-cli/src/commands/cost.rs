//! `scrubjay cost`: what a session took.

use super::chosen;
use crate::arguments::WhichSession;
use crate::failure::Failure;
use crate::paper::{Form, Paper};
use crate::report::Bill;
use crate::service::catalogue;
use crate::workplace::Workplace;

pub(super) fn run(workplace: &Workplace, paper: &Paper, which: &WhichSession) -> Result<(), Failure> {
    let (shelf, place) = chosen(workplace, which)?;
    let (transcript, _) = shelf.peek(&place)?;
    let catalogue = catalogue(workplace)?;
    let bill = Bill::of(transcript.view(), |model, usage| catalogue.find(model)?.cost(usage));
    match paper.form {
        Form::Words => paper.line(&bill.words(paper.ink)),
        Form::Json => {
            let mut data = bill.json();
            data["session_id"] = place.id.into();
            paper.json("cost", data)
        }
    }
}
