//! `scrubjay dream`: put the memory in order now. It proposes; the person decides.

use super::print::next;
use crate::background::news;
use crate::failure::Failure;
use crate::happening::{Happening, Wire, unattended_wire};
use crate::memories::dreams::{self, Dreamt, Wish, apply, chosen, diffs, proposal_json, rehearsal, rejected};
use crate::memories::receipt::rehearse;
use crate::paper::{Form, Paper};
use crate::seat::{Beginning, Seat};
use crate::shelf::Shelf;
use crate::workplace::Workplace;
use jiff::Timestamp;
use scrubjay::Session;
use scrubjay::agents::jobs::{Card, Jobs};
use scrubjay::event::Event;
use scrubjay::tools::shown;
use serde_json::json;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::UnboundedReceiver;

/// Dream, and show what is proposed.
pub(crate) async fn run(seat: Seat, paper: &Paper) -> Result<(), Failure> {
    let (transcript, _) = seat.transcript(Beginning::New)?;
    let Wire { events, person, happenings } = unattended_wire(|_| "nobody can be asked here".to_owned());
    let session = seat.session(transcript, person, events)?;
    let (session, dreamt) = watched(session, happenings, paper).await?;
    Shelf::of(&seat.workplace).discard_if_empty(session.into_transcript());
    let dreamt = dreamt?;
    match paper.form {
        Form::Json => paper.json("dream", dreamt.json()),
        Form::Words => paper.line(&dreamt.words(paper.ink, "scrubjay dream --")),
    }
}

/// Stay with it: say how far it is, and stop it with Ctrl-C.
async fn watched(
    mut session: Session,
    mut happenings: UnboundedReceiver<Happening>,
    paper: &Paper,
) -> Result<(Session, Result<Dreamt, Failure>), Failure> {
    const PAUSE: Duration = Duration::from_millis(250);
    let (interrupt, jobs) = (session.interrupt(), session.jobs());
    let [mut ctrl_c, mut ended] = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    let mut work = tokio::spawn(async move {
        let dreamt = dreams::dream(&mut session).await;
        (session, dreamt)
    });
    let (mut pulse, mut known) = (tokio::time::interval(PAUSE), None);
    let done = loop {
        tokio::select! {
            done = &mut work => break done,
            Some(Happening::Event(Event::Notice(text))) = happenings.recv() => paper.warn(&text),
            _ = pulse.tick() => tell(&jobs, &mut known, paper),
            () = next(&mut ctrl_c) => interrupt.now(),
            () = next(&mut ended) => interrupt.now(),
        }
    };
    done.map_err(|error| Failure::failed(format!("the dream broke: {error}")))
}

/// How far it is, whenever it is further.
fn tell(jobs: &Jobs, known: &mut Option<Card>, paper: &Paper) {
    let now = jobs.running().pop();
    if let Some(card) = now.filter(|card| known.as_ref() != Some(card)) {
        paper.talk(&format!("{} · Ctrl-C stops it, and nothing is changed", news(&card, Timestamp::now())));
        *known = Some(card);
    }
}

/// Look at proposals and decide on them. It needs no model.
pub(super) fn settle(wish: Wish, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let dreams = dreams::open(workplace, paper)?;
    match wish {
        Wish::Dream | Wish::Rehearse => {
            let (diffs, notes) = rehearsal(&dreams)?;
            rehearse(&diffs, &notes, paper)
        }
        Wish::Diff(id) => {
            let proposal = chosen(&dreams, id.as_deref())?;
            match paper.form {
                Form::Json => paper.json("dream-proposal", proposal_json(&proposal)),
                Form::Words => paper.line(shown(&proposal.to_string()).trim_end()),
            }
        }
        Wish::Apply(id) => apply(&dreams, &chosen(&dreams, id.as_deref())?)?.tell(paper),
        Wish::Reject(id) => {
            let proposal = chosen(&dreams, id.as_deref())?;
            dreams.reject(&proposal.id)?;
            match paper.form {
                Form::Json => paper.json("dream-rejected", json!({ "id": proposal.id })),
                Form::Words => paper.line(&rejected(&proposal.id)),
            }
        }
    }
}

/// What applying a proposal would change.
pub(super) fn rehearse_applying(id: Option<&str>, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let proposal = chosen(&dreams::open(workplace, paper)?, id)?;
    rehearse(&diffs(&proposal.steps), &proposal.reasons, paper)
}
