//! The way from what a conversation would have cost to what it did cost, step by step: what layers saved, the cache we
//! spoiled, what was read again, longer lifetimes, our own calls; then what was billed.

use super::savings::{Account, Amount, Kind, Outcome, Savings};
use super::{Certainty, Layer, Row};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// Every step of the way. Those of several sessions add up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Waterfall {
    /// How many model calls were answered.
    pub calls: u64,
    /// How many of them have no price.
    pub unpriced: u64,
    /// What all of them cost together, at listed prices.
    pub billed: Amount,
    /// What was saved and what that cost.
    pub savings: Savings,
    /// The same, step by step and layer by layer.
    pub steps: BTreeMap<(Kind, Layer), Amount>,
    /// What the planner expected of its decisions, and what came of them.
    pub outcomes: Vec<Outcome>,
}

impl Waterfall {
    /// The rows of one session's ledger, in order. With `since`, what was removed before then still counts for what it saved
    /// afterwards.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row>, since: Option<Timestamp>) -> Self {
        let mut whole = Self::default();
        let mut account = Account::default();
        for row in rows {
            let items = account.apply(row);
            if since.is_some_and(|since| row.at().is_none_or(|at| at < since)) {
                continue;
            }
            for item in &items {
                whole.savings.add(item);
                *whole.steps.entry((item.kind, item.layer)).or_default() += item.amount;
            }
            if let Row::Called(called) = row {
                let tokens = called.usage.total_input().saturating_add(called.usage.output);
                whole.calls += 1;
                whole.unpriced += u64::from(called.money.is_none());
                whole.billed += Amount::of(tokens, called.money, Certainty::Reported);
            }
        }
        whole.outcomes = account.outcomes();
        whole
    }

    /// What it would have cost without the engine, in dollars: an estimate, and none where a receipt is missing.
    pub fn without(&self) -> Option<f64> {
        self.billed.money.zip(self.savings.net().money).map(|(billed, net)| billed + net)
    }

    /// The share of that which was saved; negative where the engine cost more than it saved.
    pub fn saved_share(&self) -> Option<f64> {
        let (without, net) = self.without().zip(self.savings.net().money)?;
        (without > 0.0).then(|| net / without)
    }
}

impl AddAssign for Waterfall {
    fn add_assign(&mut self, more: Self) {
        self.calls += more.calls;
        self.unpriced += more.unpriced;
        self.billed += more.billed;
        self.savings += more.savings;
        for (step, amount) in more.steps {
            *self.steps.entry(step).or_default() += amount;
        }
        self.outcomes.extend(more.outcomes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sent;
    use super::super::tests::{at, called, removed, share};
    use super::*;
    use crate::message::Usage;
    use crate::prompt_cache::planner::Warmth;

    const MILLION: u64 = 1_000_000;

    fn rows() -> Vec<Row> {
        let usage = Usage { input: MILLION, ..Usage::default() };
        let asked = |second| {
            let mut called = called(second, "main", usage);
            called.warmth = Some(Warmth::Warm);
            Row::Called(called)
        };
        vec![
            removed(0, Layer::ToolResults, MILLION, Sent::Never),
            asked(1),
            Row::Rewrote(share(2, Layer::Compaction, MILLION / 10)),
            Row::Called(called(3, "extract", Usage { input: MILLION / 4, ..Usage::default() })),
            asked(4),
        ]
    }

    // spec: V1
    #[test]
    fn the_steps_lead_from_one_bill_to_the_other() {
        let whole = Waterfall::of(&rows(), None);
        assert_eq!((whole.calls, whole.unpriced), (3, 0));
        let steps: f64 = whole.steps.values().filter_map(|amount| amount.money).sum();
        let (without, billed) = (whole.without().unwrap(), whole.billed.money.unwrap());
        assert!((billed - 9.0).abs() < 1e-9, "two questions and our own call: {billed}");
        assert!((without - steps - billed).abs() < 1e-9, "{without} less {steps} is {billed}");
        assert!((whole.steps[&(Kind::Spend, Layer::Extraction)].money.unwrap() + 1.0).abs() < 1e-9);
        assert!((whole.saved_share().unwrap() - (without - billed) / without).abs() < 1e-9);
    }

    // spec: V1
    #[test]
    fn what_was_removed_before_saves_afterwards() {
        let late = Waterfall::of(&rows(), Some(at(4)));
        assert_eq!(late.calls, 1);
        let saved = late.steps[&(Kind::Saving, Layer::ToolResults)].money.unwrap();
        assert!((saved - 0.5).abs() < 1e-9, "the second question was spared the reading: {saved}");
        let early = Waterfall::of(&rows()[..4], None);
        let (mut sum, whole) = (early, Waterfall::of(&rows(), None));
        sum += late;
        assert!((sum.without().unwrap() - whole.without().unwrap()).abs() < 1e-9);
        assert_eq!((sum.calls, &sum.steps.keys().collect::<Vec<_>>()), (3, &whole.steps.keys().collect::<Vec<_>>()));
    }

    // spec: V1
    #[test]
    fn a_missing_receipt_leaves_no_figure() {
        let mut rows = rows();
        if let Row::Called(called) = &mut rows[1] {
            (called.money, called.rates) = (None, None);
        }
        let whole = Waterfall::of(&rows, None);
        assert_eq!((whole.unpriced, whole.without(), whole.saved_share()), (1, None, None));
    }
}
