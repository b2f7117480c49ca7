//! `scrubjay cost`: what sessions took.

use super::period::{Period, Reach, Session};
use crate::arguments::CostFlags;
use crate::failure::Failure;
use crate::health::Health;
use crate::paper::{Form, Paper};
use crate::report::Bill;
use crate::service::catalogue;
use crate::shelf::Shelf;
use crate::workplace::Workplace;
use jiff::Timestamp;
use scrubjay::transcript::{Entry, Record, Spent};
use serde_json::json;
use std::collections::BTreeMap;

pub(super) fn run(workplace: &Workplace, paper: &Paper, flags: &CostFlags) -> Result<(), Failure> {
    let period = Period::of(&flags.period, Reach::Project, workplace)?;
    let shelf = Shelf::of(workplace);
    let mut spent = BTreeMap::new();
    for Session { place, .. } in &period.sessions {
        match shelf.peek(place) {
            Ok((transcript, _)) => add(&mut spent, transcript.records(), period.since),
            Err(error) => paper.warn(&error.to_string()),
        }
    }
    if spent.is_empty() && period.since.is_some() {
        return Err(period.nothing("no call of a model"));
    }
    let catalogue = catalogue(workplace)?;
    let bill = Bill::sum(&spent, |model, usage| catalogue.find(model)?.cost(usage));
    let newest = period.sessions.first().map(|session| session.place.path.as_path());
    let health = newest.map(|path| Health::beside(path, Timestamp::now(), &workplace.limits));
    if paper.form == Form::Json {
        let mut data = bill.json();
        if let [one] = &period.sessions[..] {
            data["session_id"] = json!(one.place.id);
        }
        data["sessions"] = period.sessions.iter().map(|session| json!(session.place.id)).collect();
        data["since"] = json!(period.since);
        data["health"] = health.as_ref().map(Health::json).into();
        return paper.json("cost", data);
    }
    let mut lines = vec![period.words(), String::new(), bill.words(paper.ink), String::new()];
    lines.extend(health.iter().flat_map(Health::lines).map(|line| format!("  {line}")));
    paper.line(&lines.join("\n"))
}

/// The calls of one session, from when on they count.
fn add(spent: &mut BTreeMap<(String, String), Spent>, records: &[Record], since: Option<Timestamp>) {
    for record in records.iter().filter(|record| since.is_none_or(|since| record.at >= since)) {
        if let Entry::Replied(call) = &record.entry {
            let one = spent.entry((call.source.clone(), call.model.clone())).or_default();
            one.calls += 1;
            one.usage += call.usage;
        }
    }
}
