//! `scrubjay jobs`: background work of this project, in whatever process it runs.

use crate::arguments::JobsCommand;
use crate::background::{self, breakers, jobs, line, news, resting, rests, running, stop};
use crate::failure::Failure;
use crate::paper::{Form, Paper, Tone};
use crate::workplace::Workplace;
use jiff::Timestamp;
use scrubjay::agents::jobs::{Card, State};
use scrubjay::tools::shown;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

pub(super) async fn run(what: Option<&JobsCommand>, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    match what {
        None => list(workplace, paper),
        Some(JobsCommand::Watch) => watch(workplace, paper).await,
        Some(JobsCommand::Kill { id }) => kill(id, workplace, paper),
        Some(JobsCommand::Reset { kind }) => reset(kind, workplace, paper),
    }
}

fn list(workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let (cards, rests, now) = (jobs(workplace).list(&workplace.limits), rests(workplace), Timestamp::now());
    if paper.form == Form::Json {
        return paper.json("jobs", json!({ "jobs": cards, "resting": rests }));
    }
    if cards.is_empty() {
        paper.line(background::NONE_YET)?;
    }
    for card in &cards {
        paper.line(&line(card, now, paper.ink))?;
    }
    for rest in &rests {
        paper.line(&paper.ink.paint(Tone::Warning, &resting(rest, now)))?;
    }
    if cards.iter().any(|card| card.state == State::Running) {
        paper.talk("`scrubjay jobs watch` follows what runs, `scrubjay jobs kill ID` stops it");
    }
    Ok(())
}

/// What is new about each job, until nothing runs.
async fn watch(workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    const PAUSE: Duration = Duration::from_millis(250);
    let mut known: BTreeMap<String, Card> =
        running(workplace).into_iter().map(|card| (card.id.clone(), card)).collect();
    if known.is_empty() {
        return paper.line("nothing runs; `scrubjay jobs` lists what ran lately");
    }
    for card in known.values() {
        tell(card, paper)?;
    }
    loop {
        let cards = jobs(workplace).list(&workplace.limits);
        for card in &cards {
            let before = known.get(&card.id);
            let begins = before.is_none() && card.state == State::Running;
            if begins || before.is_some_and(|before| before != card) {
                tell(card, paper)?;
                known.insert(card.id.clone(), card.clone());
            }
        }
        if !cards.iter().any(|card| card.state == State::Running) {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn tell(card: &Card, paper: &Paper) -> Result<(), Failure> {
    match paper.form {
        Form::Json => paper.json("job", json!(card)),
        Form::Words => paper.line(&news(card, Timestamp::now())),
    }
}

fn kill(id: &str, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let id = stop(&jobs(workplace), id, workplace)?;
    match paper.form {
        Form::Json => paper.json("job-kill", json!({ "id": id, "asked": true })),
        Form::Words => paper.line(&format!("job {} was asked to stop: {}", shown(&id), background::STOPPING)),
    }
}

fn reset(kind: &str, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let mut breakers = breakers(workplace);
    if !breakers.reset(kind, Timestamp::now(), &workplace.limits) {
        let kinds = breakers.kinds(&workplace.limits).join(", ");
        let fix = if kinds.is_empty() {
            "nothing rests on this machine".to_owned()
        } else {
            format!("calls without progress are held against: {}", shown(&kinds))
        };
        return Err(Failure::nothing_found(format!("nothing is held against `{}`", shown(kind))).fix(fix));
    }
    match paper.form {
        Form::Json => paper.json("jobs-reset", json!({ "kind": kind })),
        Form::Words => paper.line(&format!("{} may try again", shown(kind))),
    }
}
