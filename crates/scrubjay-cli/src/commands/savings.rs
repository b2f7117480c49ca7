//! `scrubjay savings`: what the layers saved and cost in one session, netted out from its receipts.

use super::chosen;
use crate::arguments::WhichSession;
use crate::failure::Failure;
use crate::health::Health;
use crate::paper::{Form, Paper};
use crate::workplace::Workplace;
use jiff::Timestamp;
use scrubjay::ledger::Row;
use scrubjay::ledger::book::{self, Book};
use scrubjay::ledger::savings::{Account, Amount, Outcome, Savings};
use serde_json::{Value, json};

pub(super) fn run(workplace: &Workplace, paper: &Paper, which: &WhichSession) -> Result<(), Failure> {
    let (_, place) = chosen(workplace, which)?;
    let file = Book::path_of(&place.path);
    let reading = book::read(&file, &workplace.limits)
        .map_err(|error| Failure::failed(format!("the receipts in {} cannot be read: {error}", file.display())))?;
    let calls = reading.records.iter().filter(|row| matches!(row, Row::Called(_))).count();
    if calls == 0 {
        let none = "this session has no receipts: no model was asked in it";
        return Err(Failure::nothing_found(none).fix("`scrubjay sessions` lists sessions; `--session ID` names one"));
    }
    let account = Account::of(&reading.records);
    let health = Health::of(&reading.records, Timestamp::now(), &workplace.limits);
    match paper.form {
        Form::Words => paper.line(&words(&account, calls, &health)),
        Form::Json => {
            let mut data = as_json(account.savings());
            data["session_id"] = json!(place.id);
            data["calls"] = json!(calls);
            data["planned"] = account.outcomes().iter().map(outcome).collect();
            data["health"] = health.json();
            data["unreadable_receipts"] = json!(reading.damage.len());
            paper.json("savings", data)
        }
    }
}

/// Costs and gains in one place and size, whichever way the net goes; then what was expected of each decision.
fn words(account: &Account, calls: usize, health: &Health) -> String {
    let mut lines = vec![format!("{calls} calls"), account.savings().to_string().trim_end().to_owned()];
    let outcomes = account.outcomes();
    if !outcomes.is_empty() {
        lines.push("planned changes, net".to_owned());
        lines.extend(outcomes.iter().map(|outcome| format!("  {outcome}")));
    }
    lines.extend(health.lines());
    lines.join("\n")
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
    let by_layer: serde_json::Map<String, Value> =
        account.by_layer.iter().map(|(layer, share)| (layer.word().to_owned(), amount(share))).collect();
    json!({
        "saved": amount(&account.gross),
        "cache_damage": amount(&account.damage),
        "read_again": amount(&account.read_back),
        "longer_lifetime": amount(&account.premium),
        "own_calls": amount(&account.spend),
        "net": amount(&account.net()),
        "by_layer": by_layer,
    })
}

fn amount(amount: &Amount) -> Value {
    json!({ "tokens": amount.tokens, "usd": amount.money, "certainty": amount.certainty.word() })
}
