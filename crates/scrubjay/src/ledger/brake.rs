//! The brake: when the engine does more harm than good, it gets out of the way by itself and says why.
//!
//! Looked at is a window of the conversation's last requests. Once tripped, the brake waits for a whole new window, and
//! asks more of it than what tripped it, so that it does not flutter. Its state is a fold over the ledger's rows.

use super::savings::{Account, Amount, Kind};
use super::{Called, Row};
use crate::limits::Limits;
use jiff::Timestamp;
use std::collections::VecDeque;
use std::fmt;

/// Whether the engine acts or passes everything through.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// It acts.
    Released,
    /// It passes everything through.
    Tripped {
        /// Since when.
        at: Timestamp,
        /// Why.
        reason: Reason,
    },
}

/// What went wrong over a window of requests.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// The cache gave far less than the fingerprints promised.
    CacheBelowPromise {
        /// Tokens read from it.
        read: u64,
        /// Tokens promised.
        promised: u64,
    },
    /// We spent more than we saved.
    SpendAboveSaving {
        /// In dollars, or in tokens where a price is missing.
        spent: f64,
        /// In the same.
        saved: f64,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::CacheBelowPromise { read, promised } => {
                write!(f, "the cache gave {read} of {promised} tokens that unchanged prompts promised")
            }
            Reason::SpendAboveSaving { spent, saved } => write!(f, "{spent:.4} was spent to save {saved:.4}"),
        }
    }
}

/// What one request of the conversation showed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sample {
    promised: u64,
    read: u64,
    saved: Amount,
    /// Spent since the request before it; never negative.
    spent: Amount,
}

/// The brake, kept up to date row by row.
#[derive(Debug, Clone)]
pub struct Brake {
    limits: Limits,
    account: Account,
    window: VecDeque<Sample>,
    next: Sample,
    state: State,
}

impl Brake {
    /// A released brake.
    pub fn new(limits: Limits) -> Self {
        let (account, window, next) = (Account::default(), VecDeque::new(), Sample::default());
        Self { limits, account, window, next, state: State::Released }
    }

    /// One more row.
    pub fn apply(&mut self, row: &Row) {
        for item in self.account.apply(row) {
            match item.kind {
                Kind::Saving => self.next.saved += item.amount,
                Kind::Damage | Kind::ReadBack | Kind::Premium => self.next.spent += -item.amount,
                // Its tokens follow below: what a call read from the cache was processed long ago.
                Kind::Spend => self.next.spent += Amount { tokens: 0, ..-item.amount },
            }
        }
        let Row::Called(called) = row else { return };
        if called.is_ours() {
            let processed = called.usage.total_input() - called.usage.cache_read + called.usage.output;
            self.next.spent.tokens = self.next.spent.tokens.saturating_add_unsigned(processed);
        }
        if called.is_main() {
            self.look(called);
        }
    }

    fn look(&mut self, called: &Called) {
        let promised = called.promised.unwrap_or(0);
        let sample = Sample { promised, read: called.usage.cache_read.min(promised), ..self.next };
        self.next = Sample::default();
        self.window.push_back(sample);
        if self.window.len() < usize::try_from(self.limits.brake_window).unwrap_or(usize::MAX) {
            return;
        }
        let window = total(&self.window);
        self.state = match &self.state {
            State::Released => match fault(&window, self.limits.brake_trip_percent, &self.limits) {
                Some(reason) => {
                    self.window.clear();
                    State::Tripped { at: called.at, reason }
                }
                None => State::Released,
            },
            tripped => match fault(&window, self.limits.brake_release_percent, &self.limits) {
                Some(_) => tripped.clone(),
                None => State::Released,
            },
        };
        if self.window.len() as u64 >= self.limits.brake_window {
            self.window.pop_front();
        }
    }

    /// Whether the engine should act.
    pub fn state(&self) -> &State {
        &self.state
    }
}

fn total(window: &VecDeque<Sample>) -> Sample {
    let mut all = Sample::default();
    for sample in window {
        all.promised = all.promised.saturating_add(sample.promised);
        all.read = all.read.saturating_add(sample.read);
        all.saved += sample.saved;
        all.spent += sample.spent;
    }
    all
}

/// What is wrong with a window, if `percent` of the promise is asked of it.
fn fault(window: &Sample, percent: u64, limits: &Limits) -> Option<Reason> {
    let (read, promised) = (window.read, window.promised);
    if promised > limits.break_tokens && u128::from(read) * 100 < u128::from(promised) * u128::from(percent) {
        return Some(Reason::CacheBelowPromise { read, promised });
    }
    let (spent, saved, noise) = match (window.spent.money, window.saved.money) {
        (Some(spent), Some(saved)) => (spent, saved, limits.brake_least_cents as f64 / 100.0),
        _ => (window.spent.tokens as f64, window.saved.tokens as f64, limits.brake_least_tokens as f64),
    };
    (spent - saved > noise).then_some(Reason::SpendAboveSaving { spent, saved })
}

/// Where the brake stands after these rows.
pub fn state<'a>(rows: impl IntoIterator<Item = &'a Row>, limits: &Limits) -> State {
    let mut brake = Brake::new(limits.clone());
    for row in rows {
        brake.apply(row);
    }
    brake.state
}

#[cfg(test)]
mod tests {
    use super::super::tests::{called, removed, share};
    use super::super::{Layer, Sent};
    use super::*;
    use crate::message::Usage;
    use proptest::prelude::*;

    fn asked(promised: u64, cache_read: u64) -> Row {
        let usage = Usage { cache_read, ..Usage::default() };
        Row::Called(Called { promised: Some(promised), ..called(0, "main", usage) })
    }

    fn limits() -> Limits {
        Limits { brake_window: 4, brake_least_cents: 5, brake_least_tokens: 20_000, ..Limits::default() }
    }

    fn spent(input: u64) -> Row {
        Row::Called(called(0, "extract", Usage { input, ..Usage::default() }))
    }

    fn is_tripped(rows: &[Row]) -> bool {
        state(rows, &limits()) != State::Released
    }

    // spec: V3
    #[test]
    fn a_cache_far_below_its_promise_trips_the_brake_and_a_good_one_releases_it() {
        let mut rows = vec![asked(100_000, 0); 3];
        assert!(!is_tripped(&rows), "three requests are no window");
        rows.push(asked(100_000, 100_000));
        let State::Tripped { reason, .. } = state(&rows, &limits()) else {
            panic!("a quarter of the promise was kept")
        };
        assert_eq!(reason, Reason::CacheBelowPromise { read: 100_000, promised: 400_000 });
        assert!(reason.to_string().contains("100000 of 400000"));
        let mut fair = rows.clone();
        fair.extend(vec![asked(100_000, 70_000); 9]);
        assert!(is_tripped(&fair), "70 % would not have tripped it, but does not release it");
        rows.extend(vec![asked(100_000, 90_000); 3]);
        assert!(is_tripped(&rows), "a whole new window is needed");
        rows.push(asked(100_000, 90_000));
        assert!(!is_tripped(&rows));
    }

    // spec: V3
    #[test]
    fn spending_more_than_is_saved_trips_the_brake() {
        let quiet = vec![asked(9_000, 9_000); 4];
        assert!(!is_tripped(&quiet));
        let mut costly = vec![spent(100_000)];
        costly.extend(quiet.clone());
        let State::Tripped { reason, .. } = state(&costly, &limits()) else { panic!("$0.40 for nothing") };
        assert_eq!(reason, Reason::SpendAboveSaving { spent: 0.4, saved: 0.0 });
        let mut earned = vec![removed(0, Layer::ToolResults, 200_000, Sent::Never)];
        earned.extend(costly);
        assert!(!is_tripped(&earned), "it had saved a dollar");
        for harm in [Row::Rewrote, Row::ReadBack] {
            let mut harmed = vec![harm(share(0, Layer::ToolResults, 200_000))];
            harmed.extend(quiet.clone());
            assert!(is_tripped(&harmed), "what we make others write or read again is spent, too: {:?}", harmed[0]);
        }
        let mut cheap = vec![spent(10_000)];
        cheap.extend(quiet);
        assert!(!is_tripped(&cheap), "four cents are noise");
    }

    // spec: V3
    #[test]
    fn where_prices_are_missing_tokens_decide() {
        let unpriced = |row: Row| match row {
            Row::Called(called) => Row::Called(Called { money: None, rates: None, ..called }),
            other => other,
        };
        let mut rows = vec![unpriced(spent(100_000))];
        rows.extend(vec![unpriced(asked(0, 0)); 4]);
        assert!(is_tripped(&rows));
        rows.insert(0, removed(0, Layer::ToolResults, 200_000, Sent::Never));
        assert!(!is_tripped(&rows));
    }

    proptest! {
        // spec: V3
        #[test]
        fn reading_less_or_spending_more_never_releases(
            reads in prop::collection::vec(0..100_000u64, 4), less in prop::collection::vec(0..100_000u64, 4),
            costs in 0..100_000u64, more in 0..100_000u64,
        ) {
            let rows = |spend, reads: Vec<u64>| {
                let mut rows = vec![removed(0, Layer::ToolResults, 20_000, Sent::Never), spent(spend)];
                rows.extend(reads.into_iter().map(|read| asked(100_000, read)));
                rows
            };
            let worse = reads.iter().zip(&less).map(|(read, less)| read.saturating_sub(*less)).collect();
            if is_tripped(&rows(costs, reads)) {
                prop_assert!(is_tripped(&rows(costs + more, worse)));
            }
        }
    }
}
