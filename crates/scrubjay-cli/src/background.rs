//! Background work in a person's words: what runs, what it took, what rests.

use crate::failure::Failure;
use crate::paper::{Ink, Tone, counted, dollars, grouped};
use crate::report::ago;
use crate::workplace::Workplace;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use scrubjay::agents::jobs::{Card, Jobs, State, Stopping};
use scrubjay::ledger::breaker::{Breakers, Rest};
use scrubjay::tools::{shown, shown_path};
use std::time::Duration;

/// What is said where there is nothing to list.
pub(crate) const NONE_YET: &str =
    "no background work in this project yet: it appears here when session notes are written or memories are learned";

/// What is said when a session has given up compacting by itself.
pub(crate) const COMPACTION_RESTS: &str =
    "automatic compaction rests in the newest session after several failures; /compact there still works";

/// What is said of a job that was asked to stop.
pub(crate) const STOPPING: &str =
    "it stops with the next piece of its reply, or before its next turn; the work starts again when it is due";

/// The jobs of this project, whatever process they run in.
pub(crate) fn jobs(workplace: &Workplace) -> Jobs {
    Jobs::at(Some(workplace.project().jobs()))
}

/// Those that run.
pub(crate) fn running(workplace: &Workplace) -> Vec<Card> {
    let cards = jobs(workplace).list(&workplace.limits);
    cards.into_iter().filter(|card| card.state == State::Running).collect()
}

/// The breakers of this machine.
pub(crate) fn breakers(workplace: &Workplace) -> Breakers {
    Breakers::at(Some(&workplace.places.background()))
}

/// What rests on this machine.
pub(crate) fn rests(workplace: &Workplace) -> Vec<Rest> {
    breakers(workplace).resting(Timestamp::now(), &workplace.limits)
}

/// One rest.
pub(crate) fn resting(rest: &Rest, now: Timestamp) -> String {
    shown(&rest.words(now, &TimeZone::system())).into_owned()
}

/// A job that runs, in one short line.
pub(crate) fn brief(card: &Card, now: Timestamp) -> String {
    let cost = card.money.map(|money| format!(" · {}", dollars(money))).unwrap_or_default();
    let (what, phase, time) = (shown(&card.what), shown(&card.phase), seconds(card.elapsed(now)));
    format!("{what} · {phase} · {time}{cost} · {}", shown(&card.id))
}

/// A job in a list.
pub(crate) fn line(card: &Card, now: Timestamp, ink: Ink) -> String {
    let state = match card.state {
        State::Running => ink.paint(Tone::Active, &format!("running, {}", shown(&card.phase))),
        State::Failed | State::Died => ink.paint(Tone::Bad, card.state.word()),
        State::Completed | State::Killed => card.state.word().to_owned(),
    };
    let when = match card.state {
        State::Running => seconds(card.elapsed(now)),
        State::Died => ago(card.started, now),
        _ => format!("{}, {}", ago(card.started, now), seconds(card.elapsed(now))),
    };
    let nothing = (card.calls == 0).then_some(0.0);
    let cost = card.money.or(nothing).map_or_else(|| "cost unknown".to_owned(), dollars);
    let took = format!("{}, {} tokens, {cost}", counted(card.calls, "call"), grouped(card.tokens()));
    let why = card.because.as_ref().map(|why| format!(": {}", shown(why))).unwrap_or_default();
    let (id, what) = (ink.paint(Tone::Strong, &shown(&card.id)), shown(&card.what));
    format!("{id}  {what} · {state}{why} · {when} · {took}")
}

/// The last turn of a job, and what it changed so far.
pub(crate) fn news(card: &Card, now: Timestamp) -> String {
    let turn = card.turns.back().map(|turn| {
        let said = if turn.text.is_empty() { String::new() } else { format!(" · {}", shown(&turn.text)) };
        format!(" · {}{said}", counted(turn.tools, "tool call"))
    });
    let files: Vec<String> = card.files.iter().map(|file| shown_path(file)).collect();
    let files = match card.state {
        State::Running => String::new(),
        _ if files.is_empty() => " · nothing was changed".to_owned(),
        _ => format!(" · changed {}", files.join(", ")),
    };
    format!("{} · {}{}{files}", card.state.word(), brief(card, now), turn.unwrap_or_default())
}

/// Stop a job, or say why not.
pub(crate) fn stop(jobs: &Jobs, id: &str, workplace: &Workplace) -> Result<String, Failure> {
    let list = "`scrubjay jobs` and /jobs list them";
    match jobs.stop(id, &workplace.limits) {
        Ok(Stopping::Asked(id)) => Ok(id),
        Ok(Stopping::NotRunning(id, state)) => {
            Err(Failure::nothing_found(format!("job {} does not run any more ({})", shown(&id), state.word())))
        }
        Ok(Stopping::Several(ids)) => {
            let ids: Vec<_> = ids.iter().map(|id| shown(id).into_owned()).collect();
            Err(Failure::usage(format!("several jobs begin with `{}`: {}", shown(id), ids.join(", ")))
                .fix("give more of the id"))
        }
        Ok(Stopping::NoSuch) => {
            Err(Failure::nothing_found(format!("there is no job `{}` in this project", shown(id))).fix(list))
        }
        Err(error) => Err(Failure::failed(format!("the job could not be told to stop: {error}"))
            .fix("it may just have ended; `scrubjay jobs` shows it")),
    }
}

/// A short time.
pub(crate) fn seconds(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..=99 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}
