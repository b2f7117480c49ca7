//! One daily budget for all background work, over every ledger of the day.

use super::Row;
use crate::limits::Limits;
use jiff::Timestamp;

/// What background work took today, and what it may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// Tokens taken.
    pub tokens: u64,
    /// Dollars taken, as far as receipts say.
    pub money: f64,
    /// Tokens allowed.
    pub most_tokens: u64,
    /// Dollars allowed.
    pub most_money: f64,
}

impl Budget {
    /// What background calls since `midnight` took. The rows may come from several sessions, in any order.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row>, midnight: Timestamp, limits: &Limits) -> Self {
        let mut budget = Self {
            tokens: 0,
            money: 0.0,
            most_tokens: limits.background_day_tokens,
            most_money: limits.background_day_cents as f64 / 100.0,
        };
        for row in rows {
            let Row::Called(called) = row else { continue };
            if called.is_background() && called.at >= midnight {
                budget.tokens =
                    budget.tokens.saturating_add(called.usage.total_input()).saturating_add(called.usage.output);
                budget.money += called.money.unwrap_or(0.0);
            }
        }
        budget
    }

    /// Why no more background work may start today, if so.
    pub fn refusal(&self) -> Option<String> {
        let remedy =
            "it goes on tomorrow, or with higher `limits.background_day_tokens` and `limits.background_day_cents`";
        if self.tokens >= self.most_tokens {
            let Self { tokens, most_tokens, .. } = self;
            return Some(format!("background work used {tokens} of today's {most_tokens} tokens and stops; {remedy}"));
        }
        (self.money >= self.most_money).then(|| {
            let Self { money, most_money, .. } = self;
            format!("background work used ${money:.2} of today's ${most_money:.2} and stops; {remedy}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Called;
    use super::super::tests::{at, called};
    use super::*;
    use crate::message::Usage;

    fn took(second: i64, source: &str, input: u64) -> Row {
        Row::Called(called(second, source, Usage { input, ..Usage::default() }))
    }

    // spec: V2
    #[test]
    fn background_work_stops_at_the_day_s_limit_and_says_so() {
        let limits = Limits { background_day_tokens: 1_000, background_day_cents: 1, ..Limits::default() };
        let refusal = |rows: &[Row]| Budget::of(rows, at(100), &limits).refusal();
        let table = [
            ("nothing yet", vec![], false),
            ("yesterday", vec![took(99, "extract", 5_000)], false),
            ("the person's own", vec![took(101, "main", 5_000), took(101, "agent:x", 5_000)], false),
            ("a compaction cannot wait", vec![took(101, "compact", 5_000)], false),
            ("below", vec![took(100, "extract", 999)], false),
            ("at it, from two", vec![took(100, "extract", 500), took(500, "dream", 500)], true),
        ];
        for (name, rows, stops) in table {
            assert_eq!(refusal(&rows).is_some(), stops, "{name}: {:?}", refusal(&rows));
        }
        let costly = [
            took(100, "select", 999),
            Row::Called(Called { money: Some(0.02), ..called(100, "dream", Usage::default()) }),
        ];
        let said = refusal(&costly).unwrap();
        assert!(said.contains("of today's $0.01 and stops"), "{said}");
        let unpriced =
            [Row::Called(Called { money: None, ..called(100, "dream", Usage { input: 9, ..Usage::default() }) })];
        assert_eq!(Budget::of(&unpriced, at(0), &limits).tokens, 9);
    }
}
