//! `scrubjay inbox`: what waits for the person, and their answer.

use crate::failure::Failure;
use crate::memories::inbox::{Done, Inbox, Item, Wish};
use crate::memories::{self, dreams};
use crate::paper::{Form, Paper};
use crate::workplace::Workplace;
use scrubjay::memory::Memory;
use scrubjay::memory::dreaming::Dreams;
use serde_json::{Value, json};

pub(super) fn run(wish: &Wish, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let (mut memory, dreams) = (memories::open(workplace, paper)?, dreams::open(workplace, paper)?);
    let inbox = Inbox::of(&memory, &dreams);
    match wish {
        Wish::List => list(&inbox, paper),
        Wish::Show(which) => {
            let item = inbox.one(which)?;
            match paper.form {
                Form::Json => paper.json("inbox-item", item.json()),
                Form::Words => paper.line(&item.whole(&memory, paper.ink)?),
            }
        }
        Wish::Accept(which) => decide(&inbox.find(which)?, Item::accept, (&mut memory, &dreams), paper),
        Wish::Reject(which) => decide(&inbox.find(which)?, Item::reject, (&mut memory, &dreams), paper),
        Wish::Reopen(id) => {
            dreams.reopen(id)?;
            match paper.form {
                Form::Json => paper.json("inbox-reopened", json!({ "id": id })),
                Form::Words => paper.line(&format!("{id} waits again")),
            }
        }
    }
}

fn list(inbox: &Inbox, paper: &Paper) -> Result<(), Failure> {
    if paper.form == Form::Words {
        return paper.line(&inbox.words(paper.ink, "scrubjay inbox"));
    }
    let row = |(at, item): (usize, &Item)| {
        let mut row = item.json();
        row["number"] = (at + 1).into();
        row
    };
    let rows: Vec<Value> = inbox.0.iter().enumerate().map(row).collect();
    paper.json("inbox", json!({ "waiting": rows }))
}

type Decision = fn(&Item, &mut Memory, &Dreams) -> Result<Done, Failure>;

/// One receipt for each.
fn decide(
    items: &[Item],
    decision: Decision,
    (memory, dreams): (&mut Memory, &Dreams),
    paper: &Paper,
) -> Result<(), Failure> {
    let mut receipts = Vec::new();
    for item in items {
        let done = decision(item, memory, dreams)?;
        match (paper.form, &done) {
            (Form::Json, _) => receipts.push(done.json()),
            (Form::Words, Done::Changed(told)) => told.tell(paper)?,
            (Form::Words, Done::Rejected(_)) => paper.line(&done.words(paper.ink, "scrubjay undo"))?,
        }
    }
    if paper.form == Form::Json { paper.json("inbox-receipts", json!({ "receipts": receipts })) } else { Ok(()) }
}
