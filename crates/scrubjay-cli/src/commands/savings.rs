//! `scrubjay savings`: from what it would have cost to what was billed, netted out from receipts; a loss stands where a gain
//! would.

use super::period::{Period, Reach, Session};
use crate::arguments::{Grouping, SavingsFlags};
use crate::failure::Failure;
use crate::health::Health;
use crate::layers::Marked as _;
use crate::paper::{Form, Paper, Tone, counted, grouped, wrapped};
use crate::workplace::Workplace;
use jiff::Timestamp;
use scrubjay::ledger::savings::{Amount, Kind, Outcome, Savings};
use scrubjay::ledger::waterfall::Waterfall;
use scrubjay::ledger::{Certainty, Row};
use scrubjay::tools::shown;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) fn run(workplace: &Workplace, paper: &Paper, flags: &SavingsFlags) -> Result<(), Failure> {
    let reach = if flags.by == Some(Grouping::Project) { Reach::Machine } else { Reach::Project };
    let period = Period::of(&flags.period, reach, workplace)?;
    let account = Accounts::of(&period, workplace);
    if account.all.calls == 0 {
        return Err(period.nothing("no receipt: no model was asked"));
    }
    let health = Health::of(&account.rows, Timestamp::now(), &workplace.limits);
    match paper.form {
        Form::Words => paper.line(&account.words(&period, flags.by, &health, paper)),
        Form::Json => {
            let mut data = account.json(flags.by);
            data["sessions"] = period.sessions.iter().map(|session| json!(session.place.id)).collect();
            if let [one] = &period.sessions[..] {
                data["session_id"] = json!(one.place.id);
            }
            data["since"] = json!(period.since);
            data["health"] = health.json();
            paper.json("savings", data)
        }
    }
}

/// What the receipts of a period come to.
struct Accounts {
    all: Waterfall,
    by_project: BTreeMap<String, Waterfall>,
    /// The receipts of the newest session, for the figures of health.
    rows: Vec<Row>,
    /// Receipts that cannot be read.
    unreadable: usize,
}

impl Accounts {
    fn of(period: &Period, workplace: &Workplace) -> Self {
        let mut accounts =
            Self { all: Waterfall::default(), by_project: BTreeMap::new(), rows: Vec::new(), unreadable: 0 };
        for session in &period.sessions {
            let Session { project, place } = session;
            let Some(reading) = super::period::receipts(place, &workplace.limits) else {
                accounts.unreadable += 1;
                continue;
            };
            let waterfall = Waterfall::of(&reading.records, period.since);
            accounts.unreadable += reading.damage.len();
            *accounts.by_project.entry(project.clone()).or_default() += waterfall.clone();
            accounts.all += waterfall;
            if accounts.rows.is_empty() {
                accounts.rows = reading.records;
            }
        }
        accounts
    }

    /// Costs and gains in one place and size, whichever way the net goes; then what was expected of each decision.
    fn words(&self, period: &Period, by: Option<Grouping>, health: &Health, paper: &Paper) -> String {
        let mut lines = vec![wrapped(&self.heading(period), paper.width), String::new()];
        lines.extend(steps(&self.all, paper));
        lines.push(net(&self.all, paper));
        if let Some(by) = by {
            lines.push(format!("\n  net by {}", by.word()));
            lines.extend(self.groups(by).iter().map(|(name, amount)| {
                format!(
                    "  {:<24} {:>12}  {:>12} tokens  {}",
                    shown(name),
                    money(amount.money),
                    amount.tokens,
                    tag(amount)
                )
            }));
        }
        if !self.all.outcomes.is_empty() {
            lines.push("\n  planned changes, net".to_owned());
            lines.extend(outcomes(&self.all.outcomes).iter().map(|line| format!("  {line}")));
        }
        lines.push(String::new());
        lines.extend(health.lines().iter().map(|line| format!("  {line}")));
        lines.join("\n")
    }

    fn heading(&self, period: &Period) -> String {
        let Waterfall { calls, unpriced, .. } = self.all;
        let receipts = match (unpriced, self.unreadable) {
            (0, 0) => "every receipt is there".to_owned(),
            (0, unreadable) => format!("{} cannot be read", counted(unreadable as u64, "receipt")),
            (unpriced, _) => format!("{unpriced} without a price (n/a)"),
        };
        format!("{} · {} · {receipts}", period.words(), counted(calls, "call"))
    }

    fn groups(&self, by: Grouping) -> Vec<(String, Amount)> {
        let savings = &self.all.savings;
        let texts = |groups: &BTreeMap<String, Amount>| groups.iter().map(|(name, net)| (name.clone(), *net)).collect();
        match by {
            Grouping::Layer => savings.by_layer.iter().map(|(layer, net)| (layer.word().to_owned(), *net)).collect(),
            Grouping::Model => texts(&savings.by_model),
            Grouping::Source => texts(&savings.by_source),
            Grouping::Project => self.by_project.iter().map(|(name, one)| (name.clone(), one.savings.net())).collect(),
        }
    }

    fn json(&self, by: Option<Grouping>) -> Value {
        let Waterfall { savings, billed, calls, unpriced, outcomes, .. } = &self.all;
        let groups = |by| -> serde_json::Map<String, Value> {
            self.groups(by).iter().map(|(name, net)| (name.clone(), amount(net))).collect()
        };
        let mut data = as_json(savings);
        data["calls"] = json!(calls);
        data["calls_without_price"] = json!(unpriced);
        data["unreadable_receipts"] = json!(self.unreadable);
        data["without"] = json!({ "usd": self.all.without(), "certainty": "estimated" });
        data["billed"] = amount(billed);
        data["saved_share"] = json!(self.all.saved_share());
        data["by_layer"] = groups(Grouping::Layer).into();
        if let Some(by) = by {
            data[format!("by_{}", by.word())] = groups(by).into();
        }
        data["planned"] = outcomes.iter().map(outcome).collect();
        data
    }
}

/// The way down: each step with its sign, how sure it is, and whose it was.
fn steps(all: &Waterfall, paper: &Paper) -> Vec<String> {
    let estimated = Certainty::Estimated.word();
    let mut lines = vec![line("without", &money(all.without()), estimated, "")];
    for (name, kind, amount) in [
        ("layer savings", Kind::Saving, all.savings.gross),
        ("cache damage we caused", Kind::Damage, all.savings.damage),
        ("read again", Kind::ReadBack, all.savings.read_back),
        ("longer cache lifetime", Kind::Premium, all.savings.premium),
        ("our own model calls", Kind::Spend, all.savings.spend),
    ] {
        let whose = all.steps.iter().filter(|((step, _), _)| *step == kind);
        let whose: Vec<String> = whose
            .map(|((_, layer), amount)| {
                let (mark, figure) = (layer.mark(), signed(amount.money.map(|saved| -saved)));
                format!("    {} {:<20} {figure:>12}", mark.badge(paper.ink), mark.name)
            })
            .collect();
        let is_needed = matches!(kind, Kind::Saving | Kind::Damage | Kind::Spend) || amount != Amount::default();
        if is_needed {
            lines.push(line(name, &signed(amount.money.map(|saved| -saved)), tag(&amount), ""));
            lines.extend(whose);
        }
    }
    lines.push(line("with (billed)", &money(all.billed.money), tag(&all.billed), "at listed prices"));
    lines
}

fn net(all: &Waterfall, paper: &Paper) -> String {
    let net = all.savings.net();
    let share = match all.saved_share() {
        Some(share) => format!("{:.1} % of the bill without", share * 100.0),
        None => format!("{} tokens", net.tokens),
    };
    let rule = "-".repeat(44);
    let tone = if net.money.is_some_and(|money| money < 0.0) { Tone::Warning } else { Tone::Strong };
    let figures = line("net saved", &money(net.money), tag(&net), &share);
    format!("  {rule}\n{}", paper.ink.paint(tone, &figures))
}

fn line(name: &str, figure: &str, certainty: &str, note: &str) -> String {
    format!("  {name:<24} {figure:>12}  {certainty:<9}  {note}").trim_end().to_owned()
}

fn tag(amount: &Amount) -> &'static str {
    amount.certainty.word()
}

/// Dollars; what is lost has its sign.
fn money(amount: Option<f64>) -> String {
    match amount {
        Some(amount) if amount < 0.0 => format!("-${:.4}", -amount),
        Some(amount) => format!("${:.4}", amount.abs()),
        None => "n/a".to_owned(),
    }
}

/// Dollars that are added to a bill or taken off it.
fn signed(amount: Option<f64>) -> String {
    match amount {
        Some(amount) if amount > 0.0 => format!("+${amount:.4}"),
        amount => money(amount),
    }
}

/// Decisions of a layer in one line: there may be hundreds.
fn outcomes(all: &[Outcome]) -> Vec<String> {
    if all.len() <= 5 {
        return all.iter().map(Outcome::to_string).collect();
    }
    let mut lines: Vec<String> = all.iter().rev().take(5).map(Outcome::to_string).collect();
    lines.push(format!("and {} before these; --json has them all", grouped(all.len() as u64 - 5)));
    lines
}

fn outcome(outcome: &Outcome) -> Value {
    json!({
        "layer": outcome.layer.word(),
        "unit": outcome.forecast.unit,
        "predicted": { "saving": outcome.forecast.saving, "cost": outcome.forecast.cost },
        "so_far": { "saving": outcome.saved, "cost": outcome.cost },
        "certainty": "estimated",
    })
}

fn as_json(account: &Savings) -> Value {
    json!({
        "saved": amount(&account.gross),
        "cache_damage": amount(&account.damage),
        "read_again": amount(&account.read_back),
        "longer_lifetime": amount(&account.premium),
        "own_calls": amount(&account.spend),
        "net": amount(&account.net()),
    })
}

fn amount(amount: &Amount) -> Value {
    json!({ "tokens": amount.tokens, "usd": amount.money, "certainty": amount.certainty.word() })
}
