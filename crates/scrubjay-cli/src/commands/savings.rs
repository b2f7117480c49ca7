//! `scrubjay savings`: what the layers saved and cost in one session, netted out from its receipts.

use super::chosen;
use crate::arguments::WhichSession;
use crate::failure::Failure;
use crate::paper::{Form, Paper};
use crate::workplace::Workplace;
use scrubjay::ledger::book::{self, Book};
use scrubjay::ledger::savings::{Amount, Savings, savings};
use scrubjay::ledger::{Row, health};
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
    let (account, hits) = (savings(&reading.records), health::cache_hit_rate(&reading.records));
    match paper.form {
        Form::Words => paper.line(&words(&account, calls, hits)),
        Form::Json => {
            let mut data = as_json(&account);
            data["session_id"] = json!(place.id);
            data["calls"] = json!(calls);
            data["cache_hit_rate"] = json!(hits);
            data["unreadable_receipts"] = json!(reading.damage.len());
            paper.json("savings", data)
        }
    }
}

/// Costs and gains in one place and size, whichever way the net goes.
fn words(account: &Savings, calls: usize, hits: Option<f64>) -> String {
    let hits = hits.map_or("n/a".to_owned(), |rate| format!("{:.0} %", rate * 100.0));
    format!("{calls} calls · {hits} of the input read from cache\n{}", account.to_string().trim_end())
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
