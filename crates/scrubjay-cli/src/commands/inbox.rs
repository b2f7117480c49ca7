//! `scrubjay inbox`: what waits for the user, and their answer.

use crate::failure::Failure;
use crate::memories::inbox::{self, Decision, Done, Inbox, Item, Which, Wish};
use crate::memories::{self, dreams};
use crate::paper::{Form, Paper, unwritten};
use crate::workplace::Workplace;
use scrubjay::memory::Memory;
use scrubjay::memory::dreaming::Dreams;
use serde_json::{Value, json};
use std::io::{IsTerminal as _, Write as _};

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
        Wish::Keep(which) => decide((&inbox, which), Decision::Keep, (&mut memory, &dreams), paper),
        Wish::Drop(which) => decide((&inbox, which), Decision::Drop, (&mut memory, &dreams), paper),
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

/// One receipt for each. Everything at once is asked about, where somebody can answer.
fn decide(
    (inbox, which): (&Inbox, &Which),
    decision: Decision,
    (memory, dreams): (&mut Memory, &Dreams),
    paper: &Paper,
) -> Result<(), Failure> {
    let items = inbox.find(which)?;
    if *which == Which::All && std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        list(inbox, paper)?;
        if !agreed(&items, decision)? {
            paper.talk(inbox::LEFT);
            return Ok(());
        }
    }
    let mut receipts = Vec::new();
    for done in inbox::decide(&items, decision, memory, dreams)? {
        match (paper.form, &done) {
            (Form::Json, _) => receipts.push(done.json()),
            (Form::Words, Done::Changed(told)) => told.tell(paper)?,
            (Form::Words, Done::Rejected(_)) => paper.line(&done.words(paper.ink, "scrubjay undo"))?,
        }
    }
    if paper.form == Form::Json { paper.json("inbox-receipts", json!({ "receipts": receipts })) } else { Ok(()) }
}

fn agreed(items: &[Item], decision: Decision) -> Result<bool, Failure> {
    let mut screen = std::io::stderr();
    let asked = write!(screen, "{}", inbox::confirmation(items, decision)).and_then(|()| screen.flush());
    asked.map_err(unwritten)?;
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.map_err(|error| Failure::failed(format!("your answer cannot be read: {error}")))?;
    Ok(inbox::is_yes(&line))
}
