//! What a session holds and what it took, in words and as JSON.

use crate::paper::{Ink, Tone, counted, dollars, grouped, percent, short};
use crate::remedies::Remedies;
use crate::service::Service;
use jiff::Timestamp;
use scrubjay::clock::{age_in_days, age_in_words};
use scrubjay::limits::Limits;
use scrubjay::message::Usage;
use scrubjay::tokens::{Budget, Certainty, ContextWindow};
use scrubjay::transcript::{Transcript, View};
use serde_json::{Value, json};

/// How full a window is, and with what.
pub(crate) struct Filling {
    budget: Budget,
    certainty: &'static str,
    by_share: Vec<(String, u64)>,
    by_form: Vec<(String, u64)>,
    remedies: Remedies,
}

impl Filling {
    /// By the session's own count.
    pub(crate) fn of(transcript: &Transcript, window: ContextWindow, limits: &Limits) -> Self {
        let count = &transcript.view().count;
        let certainty = match count.certainty() {
            Certainty::Reported => "reported by the service",
            Certainty::ReportedThenEstimated => "reported by the service, the newest part estimated",
            Certainty::Estimated => "estimated",
        };
        Self {
            budget: Budget::new(window, count.total(), limits),
            certainty,
            by_share: count.by_share().into_iter().map(|(share, tokens)| (word(&share), tokens)).collect(),
            by_form: count.by_form().into_iter().map(|(form, tokens)| (word(&form), tokens)).collect(),
            remedies: Remedies::of(transcript, limits),
        }
    }

    /// With the count that the service made just now. Its parts cannot be counted apart, so they stay in proportion.
    pub(crate) fn counted(mut self, total: u64) -> Self {
        for parts in [&mut self.by_share, &mut self.by_form] {
            rescale(parts, self.budget.used.max(1), total);
        }
        self.budget.used = total;
        self.certainty = "counted by the service as the next question would find it; parts in proportion to estimates";
        self
    }

    pub(crate) fn words(&self, ink: Ink) -> String {
        let Budget { window, used, .. } = self.budget;
        let [warning, compaction, refusal] = self.budget.left();
        let mut lines = vec![format!(
            "{} {} of {} tokens, {} % ({})",
            bar(used, window),
            ink.paint(Tone::Strong, &grouped(used)),
            grouped(window),
            percent(used, window),
            self.certainty
        )];
        for (heading, parts) in [("by layer", &self.by_share), ("by form", &self.by_form)] {
            lines.push(ink.paint(Tone::Faint, heading));
            let shown = parts.iter().filter(|(_, tokens)| *tokens > 0);
            lines.extend(shown.map(|(name, tokens)| {
                format!("  {name:<14} {:>12}  {:>3} %", grouped(*tokens), percent(*tokens, used))
            }));
        }
        lines.push(ink.paint(Tone::Faint, "tokens left until"));
        for (name, left) in [("warning", warning), ("compaction", compaction), ("refusal", refusal)] {
            lines.push(format!("  {name:<14} {:>12}", grouped(left)));
        }
        let remedies = self.remedies.words();
        if !remedies.is_empty() {
            lines.push(ink.paint(Tone::Faint, "what was done about it"));
            lines.extend(remedies.iter().map(|line| format!("  {line}")));
        }
        lines.extend(self.advice().map(|advice| ink.paint(Tone::Warning, advice)));
        lines.join("\n")
    }

    /// The next useful command, when room is short.
    fn advice(&self) -> Option<&'static str> {
        let short = self.budget.used > self.budget.warning;
        short.then_some("nearly full: /compact in the chat, or `scrubjay compact`, makes room (--preview looks first)")
    }

    pub(crate) fn json(&self) -> Value {
        let parts = |parts: &[(String, u64)]| -> Value {
            parts.iter().map(|(name, tokens)| (name.clone(), json!(tokens))).collect::<serde_json::Map<_, _>>().into()
        };
        let [warning, compaction, refusal] = self.budget.left();
        json!({
            "budget": self.budget,
            "left": { "warning": warning, "compaction": compaction, "refusal": refusal },
            "certainty": self.certainty,
            "by_share": parts(&self.by_share),
            "by_form": parts(&self.by_form),
            "remedies": self.remedies.json(),
            "advice": self.advice(),
        })
    }
}

/// Parts of one whole, in proportion to another; what rounding leaves goes to the largest, so that they still add up.
fn rescale(parts: &mut [(String, u64)], before: u64, total: u64) {
    let mut given = 0;
    for (_, tokens) in parts.iter_mut() {
        *tokens = u64::try_from(u128::from(*tokens) * u128::from(total) / u128::from(before)).unwrap_or(u64::MAX);
        given += *tokens;
    }
    if let Some((_, largest)) = parts.iter_mut().max_by_key(|(_, tokens)| *tokens) {
        *largest += total.saturating_sub(given);
    }
}

/// The word a value has in JSON, which is also the one people read.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().replace('_', " ")
}

fn bar(part: u64, whole: u64) -> String {
    const WIDTH: u64 = 20;
    let full = (percent(part, whole) * WIDTH).div_ceil(100).min(WIDTH);
    let cells = |count: u64, cell: &str| cell.repeat(usize::try_from(count).unwrap_or_default());
    format!("{}{}", cells(full, "▰"), cells(WIDTH - full, "▱"))
}

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
        let rows = view.spent.iter().map(|((source, model), spent)| BillRow {
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

    pub(crate) fn words(&self, ink: Ink) -> String {
        if self.rows.is_empty() {
            return "nothing was asked yet".to_owned();
        }
        let mut lines: Vec<String> = self.rows.iter().map(BillRow::words).collect();
        let usage = self.usage();
        let total = self.total().map_or_else(|| "n/a (a price is unknown)".to_owned(), dollars);
        lines.push(format!(
            "{} {total} at listed prices · {} tokens in, {} % from cache, {} out (reported)",
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
    fn words(&self) -> String {
        let cost = self.cost.map_or_else(|| "n/a (price unknown)".to_owned(), dollars);
        let Usage { input, cache_read, cache_write_5m, cache_write_1h, output } = self.usage;
        format!(
            "{} · {} · {} · fresh {} · cache read {} · cache written {} · out {} · {cost}",
            scrubjay::tools::shown(&self.source),
            scrubjay::tools::shown(&self.model),
            counted(self.calls, "call"),
            short(input),
            short(cache_read),
            short(cache_write_5m + cache_write_1h),
            short(output)
        )
    }
}

/// The line under an answer: how full the window is, how well the cache works, what it cost.
pub(crate) fn footer(transcript: &Transcript, asked: &Usage, service: &Service, limits: &Limits) -> String {
    let view = transcript.view();
    let budget = Budget::new(service.model.window(), view.count.total(), limits);
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
        let spent = scrubjay::transcript::Spent { calls: 1, usage: Usage { input: 1_000, ..Usage::default() } };
        view.spent.insert(("main".into(), "known".into()), spent);
        let price = |model: &str, usage: &Usage| (model == "known").then(|| usage.input as f64 / 1e6);
        assert_eq!(Bill::of(&view, price).total(), Some(0.001));
        view.spent.insert(("main".into(), "new".into()), spent);
        assert_eq!(Bill::of(&view, price).total(), None);
        assert!(Bill::of(&view, price).words(Ink::Plain).contains("unknown"));
    }

    // spec: T6
    #[test]
    fn the_window_is_told_by_layer_and_by_form() {
        let limits = Limits::default();
        let window = ContextWindow { size: 200_000, max_output: 64_000 };
        let transcript = Transcript::in_memory("s".into(), limits.clone().into());
        let filling = Filling::of(&transcript, window, &limits);
        let words = filling.words(Ink::Plain);
        for part in ["by layer", "by form", "compaction", "167,000", "estimated"] {
            assert!(words.contains(part), "{part} in {words}");
        }
        let counted = filling.counted(100_000).json();
        assert_eq!((&counted["left"]["compaction"], &counted["advice"]), (&67_000.into(), &Value::Null));
        let full = Filling::of(&transcript, window, &limits).counted(160_000);
        assert!(full.words(Ink::Plain).contains("/compact"), "{}", full.words(Ink::Plain));
    }

    // spec: T6
    #[test]
    fn rescaled_parts_add_up() {
        for (parts, before, total) in
            [([1, 1, 1], 3, 100), ([7, 11, 0], 18, 1_000_003), ([5, 5, 5], 15, 0), ([1, 2, 3], 6, u64::MAX)]
        {
            let mut parts = parts.map(|tokens| (String::new(), tokens)).to_vec();
            rescale(&mut parts, before, total);
            assert_eq!(parts.iter().map(|(_, tokens)| tokens).sum::<u64>(), total);
        }
    }
}
