//! What a session holds and what it took, in words and as JSON.

use crate::paper::{Ink, Tone, dollars, grouped, percent, short};
use crate::service::Service;
use crate::workplace::Workplace;
use jiff::Timestamp;
use scrubjay::clock::{age_in_days, age_in_words};
use scrubjay::context::budget_of;
use scrubjay::message::Usage;
use scrubjay::transcript::{Spent, Transcript, View};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What one source took on one model.
pub(crate) struct Bill {
    rows: Vec<BillRow>,
}

struct BillRow {
    source: String,
    model: String,
    calls: u64,
    usage: Usage,
    cost: Option<f64>,
}

impl Bill {
    /// What a session took, priced where prices are known.
    pub(crate) fn of(view: &View, cost: impl Fn(&str, &Usage) -> Option<f64>) -> Self {
        Self::sum(&view.spent, cost)
    }

    /// What was spent, by who asked and which model answered.
    pub(crate) fn sum(spent: &BTreeMap<(String, String), Spent>, cost: impl Fn(&str, &Usage) -> Option<f64>) -> Self {
        let rows = spent.iter().map(|((source, model), spent)| BillRow {
            source: source.clone(),
            model: model.clone(),
            calls: spent.calls,
            usage: spent.usage,
            cost: cost(model, &spent.usage),
        });
        Self { rows: rows.collect() }
    }

    /// The whole, if every part of it has a price.
    pub(crate) fn total(&self) -> Option<f64> {
        self.rows.iter().map(|row| row.cost).sum()
    }

    fn usage(&self) -> Usage {
        let mut all = Usage::default();
        self.rows.iter().for_each(|row| all += row.usage);
        all
    }

    /// A table: who asked, of which model, how often, what was read and written, what it cost.
    pub(crate) fn words(&self, ink: Ink) -> String {
        if self.rows.is_empty() {
            return "nothing was asked yet".to_owned();
        }
        let columns = ["source", "model", "calls", "fresh", "read", "written", "out", "cost"].map(str::to_owned);
        let mut lines = vec![ink.paint(Tone::Faint, &table(&columns))];
        lines.extend(self.rows.iter().map(|row| table(&row.columns())));
        let usage = self.usage();
        let total = self.total().map_or_else(|| "n/a (a price is unknown)".to_owned(), dollars);
        lines.push(format!(
            "  {} {total} at listed prices\n  {} tokens in, {} % from cache, {} out (reported)",
            ink.paint(Tone::Strong, "total"),
            grouped(usage.total_input()),
            percent(usage.cache_read, usage.total_input().max(1)),
            grouped(usage.output)
        ));
        lines.join("\n")
    }

    pub(crate) fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| json!({ "source": row.source, "model": row.model, "calls": row.calls, "usage": row.usage, "cost_usd": row.cost }))
            .collect();
        json!({ "by_model": rows, "usage": self.usage(), "cost_usd": self.total(), "certainty": "reported" })
    }
}

impl BillRow {
    fn columns(&self) -> [String; 8] {
        let Usage { input, cache_read, cache_write_5m, cache_write_1h, output } = self.usage;
        [
            clipped(&self.source, 15),
            clipped(&self.model, 18),
            grouped(self.calls),
            short(input),
            short(cache_read),
            short(cache_write_5m + cache_write_1h),
            short(output),
            self.cost.map_or_else(|| "n/a".to_owned(), dollars),
        ]
    }
}

fn table([source, model, calls, fresh, read, written, out, cost]: &[String; 8]) -> String {
    format!("  {source:<15} {model:<18} {calls:>5} {fresh:>6} {read:>6} {written:>7} {out:>6} {cost:>8}")
}

/// Somebody else's words in so many columns.
pub(crate) fn clipped(name: &str, most: usize) -> String {
    let name = scrubjay::tools::shown(name);
    match name.char_indices().nth(most) {
        None => name.into_owned(),
        Some(_) => name.chars().take(most - 1).chain(['…']).collect(),
    }
}

/// The line under an answer: how full the window is, how well the cache works, what it cost.
pub(crate) fn footer(transcript: &Transcript, asked: &Usage, service: &Service, workplace: &Workplace) -> String {
    let view = transcript.view();
    let budget = budget_of(service.model.window(), view.count.total(), &workplace.settings, &workplace.limits);
    let mut parts = vec![format!(
        "{} of {} tokens ({} %)",
        short(budget.used),
        short(budget.window),
        percent(budget.used, budget.window)
    )];
    if asked.total_input() > 0 {
        parts.push(format!("cache {} %", percent(asked.cache_read, asked.total_input())));
    }
    let bill = Bill::of(view, |model, usage| service.cost(model, usage));
    if let Some(total) = bill.total().filter(|total| *total > 0.0) {
        parts.push(dollars(total));
    }
    if budget.used > budget.warning {
        parts.push("the window is nearly full: /compact makes room, /clear begins a new session".to_owned());
    }
    parts.join(" · ")
}

/// How long ago, finely for today and in days before.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = (now.as_second() - then.as_second()).max(0);
    match (age_in_days(then, now), seconds) {
        (0, 0..60) => "just now".to_owned(),
        (0, 60..3_600) => format!("{} min ago", seconds / 60),
        (0, _) => format!("{} h ago", seconds / 3_600),
        _ => age_in_words(then, now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_fine_for_today() {
        let at = |s: &str| s.parse::<Timestamp>().unwrap();
        let now = at("2026-03-10T12:00:00Z");
        for (then, words) in [
            ("2026-03-10T11:59:30Z", "just now"),
            ("2026-03-10T11:15:00Z", "45 min ago"),
            ("2026-03-10T02:00:00Z", "10 h ago"),
            ("2026-03-09T02:00:00Z", "yesterday"),
            ("2026-01-22T12:00:00Z", "47 days ago"),
            ("2027-01-01T00:00:00Z", "just now"),
        ] {
            assert_eq!(ago(at(then), now), words, "{then}");
        }
    }

    #[test]
    fn a_bill_with_an_unknown_price_has_no_total() {
        let mut view = View::default();
        let spent = Spent { calls: 1, usage: Usage { input: 1_000, ..Usage::default() } };
        view.spent.insert(("main".into(), "known".into()), spent);
        let price = |model: &str, usage: &Usage| (model == "known").then(|| usage.input as f64 / 1e6);
        assert_eq!(Bill::of(&view, price).total(), Some(0.001));
        view.spent.insert(("main".into(), "new".into()), spent);
        assert_eq!(Bill::of(&view, price).total(), None);
        let words = Bill::of(&view, price).words(Ink::Plain);
        assert!(words.contains("unknown") && words.lines().all(|line| line.chars().count() <= 80), "{words}");
    }
}
