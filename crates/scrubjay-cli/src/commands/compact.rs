//! `scrubjay compact` and `scrubjay uncompact`: the same as in a chat, on a session that lies on disk.

use super::print::next;
use crate::arguments::{Arguments, CompactFlags, UncompactFlags, WhichSession};
use crate::compaction::{
    LastReport, Order, Preview, Questions, Stretch, author, bring_back, change, nothing_to_take_back,
};
use crate::failure::{Exit, Failure, reason};
use crate::happening::{Happening, Wire, unattended_wire};
use crate::paper::{Form, Paper};
use crate::redaction::veiled_json;
use crate::seat::{Beginning, Seat};
use crate::shelf::Shelf;
use crate::workplace::Workplace;
use scrubjay::context::compaction::boundary::{Planned, Wish};
use scrubjay::event::Event;
use scrubjay::model::Delta;
use scrubjay::secrets::veiled;
use scrubjay::{Compacted, Error, Session};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::UnboundedReceiver;

/// What is done with a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Preview,
    Compact,
}

/// What came of it.
enum Done {
    Planned(Box<Planned>),
    Compacted(Compacted),
}

/// The questions of a session with their numbers. Looking needs no model and disturbs nobody.
pub(super) fn list(workplace: &Workplace, paper: &Paper, which: &WhichSession) -> Result<(), Failure> {
    let (shelf, place) = super::chosen(workplace, which)?;
    let (transcript, _) = shelf.peek(&place)?;
    let questions = Questions::of(transcript.view());
    match paper.form {
        Form::Json => paper.json("questions", json!({ "session_id": place.id, "questions": questions.json() })),
        Form::Words => paper.line(&questions.words()?),
    }
}

/// What the last compaction kept and dropped. Looking disturbs nobody here either.
pub(super) fn report(workplace: &Workplace, paper: &Paper, which: &WhichSession) -> Result<(), Failure> {
    let (shelf, place) = super::chosen(workplace, which)?;
    let (transcript, _) = shelf.peek(&place)?;
    let report = LastReport::of(transcript.view())?;
    if paper.form == Form::Words {
        return paper.line(&veiled(&report.words(paper.ink)));
    }
    let mut data = report.json();
    data["session_id"] = place.id.to_string().into();
    paper.json("report", veiled_json(data))
}

/// The questions that could be given back.
pub(super) fn list_replaced(workplace: &Workplace, paper: &Paper, which: &WhichSession) -> Result<(), Failure> {
    let (shelf, place) = super::chosen(workplace, which)?;
    let (transcript, _) = shelf.peek(&place)?;
    let view = transcript.before_compaction().ok_or_else(nothing_to_take_back)?;
    let questions = Questions::of(&view);
    match paper.form {
        Form::Json => paper.json("questions", json!({ "session_id": place.id, "questions": questions.json() })),
        Form::Words => paper.line(&questions.words()?),
    }
}

/// Compact a session, or show what that would do.
pub(crate) async fn run(arguments: &Arguments, flags: &CompactFlags, seat: Seat, paper: &Paper) -> Result<(), Failure> {
    let (session, happenings) = open(arguments, &flags.which, &seat, paper)?;
    let order = order(flags);
    let wish = order.wish(session.transcript().view())?;
    let deed = if flags.preview { Deed::Preview } else { Deed::Compact };
    if deed == Deed::Compact && paper.form == Form::Words {
        paper.talk(&format!("compacting: {}", order.cache_break()));
    }
    let view = session.transcript().view().clone();
    let (session, done) = stay_with(session, wish, deed, happenings, paper).await?;
    let id = session.transcript().session().to_string();
    match (done, paper.form) {
        (Done::Planned(planned), form) => {
            let preview = Preview::of(&view, *planned, order.stretch, &seat.service);
            if form == Form::Words {
                return paper.line(&preview.words(paper.ink));
            }
            let mut data = preview.json();
            data["session_id"] = id.into();
            paper.json("compact", data)
        }
        (Done::Compacted(Compacted { before, after }), Form::Words) => {
            let tokens = change(before, after);
            paper.line(&format!("compacted by {}: {tokens} tokens; `scrubjay uncompact` takes it back", by(&session)))
        }
        (Done::Compacted(Compacted { before, after }), Form::Json) => paper.json(
            "compact",
            json!({ "session_id": id, "preview": false, "before": before, "after": after, "author": by(&session) }),
        ),
    }
}

/// Who wrote the last summary.
fn by(session: &Session) -> &'static str {
    session.transcript().view().compactions.last().map_or("nobody", |(_, made)| author(made.author))
}

/// Take the last compaction back, or some of it.
pub(crate) fn undo(arguments: &Arguments, flags: &UncompactFlags, seat: &Seat, paper: &Paper) -> Result<(), Failure> {
    let (mut session, _) = open(arguments, &flags.which, seat, paper)?;
    let (done, words) = bring_back(&mut session, flags.questions)?;
    let id = session.transcript().session().as_str();
    match paper.form {
        Form::Words => paper.line(&words),
        Form::Json => paper.json("uncompact", json!({ "session_id": id, "before": done.before, "after": done.after })),
    }
}

fn order(flags: &CompactFlags) -> Order {
    let stretch = match (flags.from, flags.up_to) {
        (Some(number), _) => Stretch::From(number),
        (None, Some(number)) => Stretch::UpTo(number),
        (None, None) => Stretch::All,
    };
    let focus = Some(flags.focus.join(" ")).filter(|focus| !focus.trim().is_empty());
    Order { stretch, focus }
}

fn open(
    arguments: &Arguments,
    which: &WhichSession,
    seat: &Seat,
    paper: &Paper,
) -> Result<(Session, UnboundedReceiver<Happening>), Failure> {
    let place = Shelf::of(&seat.workplace).find(&which.session)?;
    let beginning = if arguments.session.fork_session { Beginning::Copy(place) } else { Beginning::GoOn(place) };
    let (transcript, notices) = seat.transcript(beginning)?;
    notices.iter().for_each(|notice| paper.warn(notice));
    let Wire { events, person, happenings } = unattended_wire(|_| "nobody can be asked here".to_owned());
    Ok((seat.session(transcript, person, events)?, happenings))
}

async fn stay_with(
    session: Session,
    wish: Wish,
    deed: Deed,
    mut happenings: UnboundedReceiver<Happening>,
    paper: &Paper,
) -> Result<(Session, Done), Failure> {
    let interrupt = session.interrupt();
    let [mut ctrl_c, mut ended] = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    let mut work = tokio::spawn(work(session, wish, deed));
    let mut stopped = None;
    let done = loop {
        tokio::select! {
            Some(happening) = happenings.recv() => tell(&happening, paper),
            done = &mut work => break done,
            () = next(&mut ctrl_c) => { stopped = Some(Exit::Interrupted); interrupt.now(); }
            () = next(&mut ended) => { stopped = Some(Exit::Terminated); interrupt.now(); }
        }
    };
    while let Ok(happening) = happenings.try_recv() {
        tell(&happening, paper);
    }
    let (session, done) = done.map_err(|error| Failure::failed(format!("the session broke: {error}")))?;
    match (done, stopped) {
        (Ok(done), _) => Ok((session, done)),
        (Err(_), Some(exit)) => Err(Failure::new(exit, "interrupted; nothing was changed")),
        (Err(error), None) => Err(error.into()),
    }
}

async fn work(mut session: Session, wish: Wish, deed: Deed) -> (Session, Result<Done, Error>) {
    let done = match deed {
        Deed::Preview => session.preview(wish).await.map(|planned| Done::Planned(planned.into())),
        Deed::Compact => session.compact(wish).await.map(Done::Compacted),
    };
    (session, done)
}

/// Success is this command's own answer, so only trouble on the way is told beside it.
fn tell(happening: &Happening, paper: &Paper) {
    match happening {
        Happening::Event(Event::Notice(text)) if !text.starts_with("compacted ") => paper.warn(text),
        Happening::Event(Event::Delta(Delta::Retry { because, .. })) => {
            paper.warn(&format!("trying again: {}", reason(because)));
        }
        _ => {}
    }
}
