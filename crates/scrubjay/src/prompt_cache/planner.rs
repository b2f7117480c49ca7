//! Whether it pays to change what was already sent. Clearing or compacting early is a purchase: what comes behind the
//! change has to be written to the cache again, and only the rest of the session can earn that back.
//!
//! While the cache is *cold* everything is written anew anyway, so whatever is removed is saved at the write price, at
//! once. While it is *warm*, what is removed is saved at the read price, once a request, for as many requests as are
//! still to come. Nobody knows how many: a session that has lasted n requests is taken to last n more, up to a bound,
//! and a warm change must promise several times its price.
//!
//! Where prices are not known (a model on one's own machine), the cost counted is tokens that must be processed again:
//! reading from the cache is free there, so nothing warm is ever rewritten.

use super::prices::Prices;
use super::rules::lifetime;
use crate::limits::Limits;
use crate::message::Usage;
use crate::transcript::Ttl;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

/// Whether the provider still holds what was sent last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warmth {
    /// It does.
    Warm,
    /// It has let go of it, or never had it.
    Cold,
}

/// The moment at which something could be changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Situation {
    /// What tokens cost.
    pub prices: Option<Prices>,
    /// How long the last request asked its cache to live; `None` for a cache without a stated lifetime.
    pub ttl: Option<Ttl>,
    /// How long ago the last request was sent; `None` when there was none.
    pub since_last: Option<SignedDuration>,
    /// How many requests this session has made.
    pub turns: u64,
    /// Where the window is compacted anyway, in tokens.
    pub threshold: u64,
}

impl Situation {
    /// Whether the provider still holds what was sent last.
    pub fn warmth(&self) -> Warmth {
        match (self.since_last, self.ttl) {
            (None, _) => Warmth::Cold,
            (Some(gap), Some(ttl)) if gap >= lifetime(ttl) => Warmth::Cold,
            (Some(_), _) => Warmth::Warm,
        }
    }

    fn rates(&self) -> Rates {
        let ttl = self.ttl.unwrap_or_default();
        let known = self.prices.and_then(|prices| Some((prices.writing(1, ttl)?, prices.reading(1)?)));
        match known {
            Some((write, read)) => Rates { write, read, unit: Unit::Dollars },
            None => Rates { write: 1.0, read: 0.0, unit: Unit::Tokens },
        }
    }

    /// A call that has to be made for the change, in the unit of the rates.
    fn call(&self, usage: &Usage, rates: &Rates) -> f64 {
        let priced = self.prices.and_then(|prices| prices.cost(usage)).filter(|_| rates.unit == Unit::Dollars);
        // A call whose price is not known costs at least what its tokens would cost as input.
        priced.unwrap_or((usage.total_input() - usage.cache_read + usage.output) as f64 * rates.write)
    }
}

/// A change to what was already sent, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Edit {
    /// What goes.
    pub removed: u64,
    /// What comes in its place: markers, a summary, restored files.
    pub added: u64,
    /// What stays behind the first changed byte.
    pub behind: u64,
    /// The call that makes the change, if a model makes it.
    pub making: Usage,
}

/// What costs are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Money.
    Dollars,
    /// Tokens that are processed again, where nothing else is known.
    Tokens,
}

/// What to do about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It pays.
    Act,
    /// It does not, or not yet.
    Wait,
}

/// What a change would cost and bring, and whether to make it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// What to do.
    pub decision: Decision,
    /// What it is expected to save.
    pub predicted_saving: f64,
    /// What it costs now.
    pub rewrite_cost: f64,
    /// What the two are counted in.
    pub unit: Unit,
}

struct Rates {
    write: f64,
    read: f64,
    unit: Unit,
}

/// How many more requests a session is expected to make: as many as it has made, up to a bound.
pub fn expected_turns(so_far: u64, limits: &Limits) -> u64 {
    so_far.min(limits.expected_turns)
}

/// Whether a change pays, and what it costs and brings.
pub fn pays(now: &Situation, edit: &Edit, limits: &Limits) -> Verdict {
    let rates = now.rates();
    let making = now.call(&edit.making, &rates);
    let removed = edit.removed as f64;
    let (saving, cost, margin, least) = match now.warmth() {
        Warmth::Cold => (removed * rates.write, edit.added as f64 * rates.write + making, 1, limits.cold_clear_tokens),
        Warmth::Warm => {
            let turns = expected_turns(now.turns, limits) as f64;
            let rewritten = (edit.behind + edit.added) as f64;
            (
                removed * rates.read * turns,
                rewritten * rates.write + making,
                limits.warm_margin,
                limits.warm_clear_tokens,
            )
        }
    };
    let worth_it = edit.removed >= least && saving > 0.0 && saving >= cost * margin as f64;
    Verdict {
        decision: if worth_it { Decision::Act } else { Decision::Wait },
        predicted_saving: saving,
        rewrite_cost: cost,
        unit: rates.unit,
    }
}

/// Whether to compact before the window is full: only a conversation long enough to be worth the loss of detail, and only
/// when it pays. While the cache is cold the moment is good, whatever the window. While it is warm the conversation must
/// also fill a good part of the window: who chose a large one wants it used.
pub fn compacts_early(now: &Situation, edit: &Edit, limits: &Limits) -> Verdict {
    let verdict = pays(now, edit, limits);
    let least = match now.warmth() {
        Warmth::Cold => limits.early_compaction_tokens,
        Warmth::Warm => limits.early_compaction_tokens.max(now.threshold / 100 * limits.warm_compaction_percent),
    };
    if edit.removed + edit.behind >= least { verdict } else { Verdict { decision: Decision::Wait, ..verdict } }
}

/// The least that must be cleared for clearing to pay, of `tail` tokens from the first clearable result on. It is never
/// more than `tail`: what is cleared does not have to be written again.
pub fn clear_at_least(now: &Situation, tail: u64, limits: &Limits) -> u64 {
    let rates = now.rates();
    match now.warmth() {
        Warmth::Cold => limits.cold_clear_tokens.min(tail),
        Warmth::Warm => {
            let price = rates.write * limits.warm_margin as f64;
            let earned = rates.read * expected_turns(now.turns, limits) as f64;
            // One token more than break-even, so that no rounding puts it on the wrong side.
            let least = (tail as f64 * price / (price + earned)).ceil() as u64 + 1;
            least.max(limits.warm_clear_tokens).min(tail)
        }
    }
}

/// How a session was interrupted so far: pauses longer than the short lifetime.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pauses {
    /// Up to an hour: a long lifetime would have outlived them.
    pub within_hour: u64,
    /// Longer: nothing would have.
    pub beyond_hour: u64,
}

impl Pauses {
    /// One more request, this long after the one before it.
    pub fn add(&mut self, gap: SignedDuration) {
        if gap >= lifetime(Ttl::OneHour) {
            self.beyond_hour += 1;
        } else if gap >= lifetime(Ttl::FiveMinutes) {
            self.within_hour += 1;
        }
    }
}

/// A part of the prompt whose lifetime is to be chosen, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// What must be written again when the part is lost.
    pub kept: u64,
    /// What is written, at the price of the lifetime, from one pause to the next.
    pub written: u64,
}

/// What may be risked on a guess: all that was saved, and a small share of what was spent.
pub fn purse(saved: f64, spent: f64, limits: &Limits) -> f64 {
    saved + spent * limits.risk_percent as f64 / 100.0
}

/// Which lifetime to ask for when a part is written anew. The long one costs more now and pays at the next pause that
/// the short one does not outlive; as many of those are expected as there were, and nothing is risked that was not saved
/// before. Asked for only at a moment when the part has to be written anyway, so choosing breaks nothing.
pub fn choose_ttl(part: Stretch, pauses: Pauses, prices: Option<Prices>, purse: f64) -> Ttl {
    let wager = || {
        let prices = prices?;
        let premium = prices.write_1h.and(prices.writing(part.written, Ttl::OneHour))?
            - prices.writing(part.written, Ttl::FiveMinutes)?;
        let gain = prices.writing(part.kept, Ttl::FiveMinutes)? - prices.reading(part.kept)?;
        let likely = pauses.within_hour > pauses.beyond_hour;
        Some(likely && gain * pauses.within_hour as f64 > premium && premium <= purse)
    };
    if wager().unwrap_or(false) { Ttl::OneHour } else { Ttl::FiveMinutes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn opus() -> Option<Prices> {
        Some(Prices {
            input: Some(5.0),
            write_5m: Some(6.25),
            write_1h: Some(10.0),
            read: Some(0.5),
            output: Some(25.0),
        })
    }

    fn now(minutes: i64, turns: u64) -> Situation {
        Situation {
            prices: opus(),
            ttl: Some(Ttl::FiveMinutes),
            since_last: Some(SignedDuration::from_mins(minutes)),
            turns,
            threshold: 167_000,
        }
    }

    fn clearing(removed: u64, behind: u64) -> Edit {
        Edit { removed, behind, ..Edit::default() }
    }

    // spec: M2
    #[test]
    fn the_cache_is_cold_when_its_lifetime_is_over() {
        let table = [
            (Some(4), Some(Ttl::FiveMinutes), Warmth::Warm),
            (Some(5), Some(Ttl::FiveMinutes), Warmth::Cold),
            (Some(59), Some(Ttl::OneHour), Warmth::Warm),
            (Some(61), Some(Ttl::OneHour), Warmth::Cold),
            (Some(100_000), None, Warmth::Warm),
            (None, Some(Ttl::OneHour), Warmth::Cold),
        ];
        for (minutes, ttl, warmth) in table {
            let at = Situation { ttl, since_last: minutes.map(SignedDuration::from_mins), ..now(0, 9) };
            assert_eq!(at.warmth(), warmth, "{minutes:?} {ttl:?}");
        }
    }

    // spec: H7
    #[test]
    fn a_change_is_made_when_it_pays() {
        let summarised = Usage { cache_read: 150_000, output: 3_500, ..Usage::default() };
        let table = [
            ("cold: what goes is not written", now(6, 1), clearing(30_000, 90_000), Decision::Act),
            ("cold, but hardly anything goes", now(6, 1), clearing(500, 90_000), Decision::Wait),
            ("warm and early", now(1, 3), clearing(30_000, 30_000), Decision::Wait),
            ("warm, much goes, little is behind it", now(1, 40), clearing(80_000, 10_000), Decision::Act),
            ("warm, much is behind it", now(1, 40), clearing(30_000, 300_000), Decision::Wait),
            (
                "warm: more than its price, but not several times it",
                now(1, 40),
                clearing(40_000, 60_000),
                Decision::Wait,
            ),
            ("warm, little goes", now(1, 40), clearing(3_000, 10), Decision::Wait),
            (
                "cold: a summary larger than what it replaces",
                now(6, 40),
                Edit { removed: 10_000, added: 13_500, ..Edit::default() },
                Decision::Wait,
            ),
            (
                "cold: the summariser's call is part of the price",
                now(6, 40),
                Edit { removed: 20_000, added: 13_500, behind: 0, making: Usage { input: 20_000, ..summarised } },
                Decision::Wait,
            ),
        ];
        for (name, now, edit, decision) in table {
            let verdict = pays(&now, &edit, &Limits::default());
            assert_eq!(verdict.decision, decision, "{name}: {verdict:?}");
            assert_eq!(verdict.unit, Unit::Dollars);
        }
    }

    // spec: H7
    #[test]
    fn the_figures_are_the_prices() {
        let cold =
            pays(&now(6, 7), &Edit { removed: 1_000_000, added: 100_000, ..Edit::default() }, &Limits::default());
        assert!((cold.predicted_saving - 6.25).abs() < 1e-9 && (cold.rewrite_cost - 0.625).abs() < 1e-9, "{cold:?}");
        let warm = pays(&now(0, 7), &clearing(1_000_000, 200_000), &Limits::default());
        assert!((warm.predicted_saving - 3.5).abs() < 1e-9 && (warm.rewrite_cost - 1.25).abs() < 1e-9, "{warm:?}");
    }

    // spec: H7
    #[test]
    fn without_prices_tokens_processed_again_are_the_cost() {
        let here = Situation { prices: None, ttl: None, ..now(600, 90) };
        assert_eq!(pays(&here, &clearing(90_000, 1), &Limits::default()).decision, Decision::Wait);
        let first = Situation { since_last: None, ..here };
        let verdict = pays(&first, &Edit { removed: 90_000, added: 10_000, ..Edit::default() }, &Limits::default());
        assert_eq!(
            (verdict.decision, verdict.predicted_saving, verdict.rewrite_cost),
            (Decision::Act, 90_000.0, 10_000.0)
        );
        assert_eq!(verdict.unit, Unit::Tokens);
        let no_output_price = Prices { output: None, ..opus().unwrap() };
        let summed =
            Edit { removed: 90_000, making: Usage { output: 1_000_000, ..Usage::default() }, ..Edit::default() };
        let verdict = pays(&Situation { prices: Some(no_output_price), ..now(6, 9) }, &summed, &Limits::default());
        assert!(verdict.rewrite_cost > 6.0, "an unknown price is not zero: {verdict:?}");
    }

    // spec: H7
    #[test]
    fn a_long_conversation_is_compacted_early_when_it_pays() {
        let edit = |removed| Edit { removed, added: 13_500, behind: 10_000, making: Usage::default() };
        let wide = Situation { threshold: 967_000, ..now(1, 90) };
        let table = [
            ("cold and long", now(6, 9), 80_000, Decision::Act),
            ("cold and short", now(6, 9), 30_000, Decision::Wait),
            ("warm, and half the window", now(1, 90), 80_000, Decision::Act),
            ("warm, and less than half", now(1, 90), 70_000, Decision::Wait),
            ("warm and young", now(1, 5), 80_000, Decision::Wait),
            ("warm in a wide window", wide, 300_000, Decision::Wait),
        ];
        for (name, now, removed, decision) in table {
            assert_eq!(compacts_early(&now, &edit(removed), &Limits::default()).decision, decision, "{name}");
        }
    }

    // spec: M2
    #[test]
    fn the_long_lifetime_is_bought_when_pauses_are_likely_and_there_is_something_to_risk() {
        let opening = Stretch { kept: 40_000, written: 40_000 };
        let premium = 40_000.0 * 3.75 / 1e6;
        let seen = |within_hour, beyond_hour| Pauses { within_hour, beyond_hour };
        let table = [
            ("no pause yet", seen(0, 0), 1.0, Ttl::FiveMinutes),
            ("one pause", seen(1, 0), 1.0, Ttl::OneHour),
            ("one pause and nothing saved", seen(1, 0), premium / 2.0, Ttl::FiveMinutes),
            ("pauses are long", seen(1, 2), 1.0, Ttl::FiveMinutes),
        ];
        for (name, pauses, purse, ttl) in table {
            assert_eq!(choose_ttl(opening, pauses, opus(), purse), ttl, "{name}");
        }
        let growing = Stretch { kept: 10_000, written: 90_000 };
        assert_eq!(
            choose_ttl(growing, seen(1, 0), opus(), 9.0),
            Ttl::FiveMinutes,
            "more is written than would be lost"
        );
        assert_eq!(choose_ttl(opening, seen(5, 0), None, 9.0), Ttl::FiveMinutes, "no prices");
        let short_only = opus().map(|prices| Prices { write_1h: None, ..prices });
        assert_eq!(choose_ttl(opening, seen(5, 0), short_only, 9.0), Ttl::FiveMinutes, "no such lifetime");
        assert_eq!(purse(0.5, 100.0, &Limits::default()), 0.5 + 1.0);
    }

    #[test]
    fn pauses_are_counted_by_the_lifetime_they_outlast() {
        let mut pauses = Pauses::default();
        for minutes in [1, 4, 5, 59, 60, 600] {
            pauses.add(SignedDuration::from_mins(minutes));
        }
        assert_eq!(pauses, Pauses { within_hour: 2, beyond_hour: 2 });
    }

    fn any_situation() -> impl Strategy<Value = Situation> {
        (0..200i64, 0..500u64, any::<bool>(), any::<bool>()).prop_map(|(minutes, turns, priced, hour)| Situation {
            prices: opus().filter(|_| priced),
            ttl: Some(if hour { Ttl::OneHour } else { Ttl::FiveMinutes }),
            ..now(minutes, turns)
        })
    }

    proptest! {
        // spec: H7
        #[test]
        fn nothing_is_bought_that_costs_more_than_it_can_save(
            now in any_situation(), removed in 0..2_000_000u64, added in 0..200_000u64, behind in 0..2_000_000u64,
            output in 0..10_000u64,
        ) {
            let making = Usage { output, cache_read: removed, ..Usage::default() };
            let verdict = pays(&now, &Edit { removed, added, behind, making }, &Limits::default());
            if verdict.decision == Decision::Act {
                prop_assert!(verdict.rewrite_cost <= verdict.predicted_saving, "{verdict:?}");
            }
            let more = pays(&now, &Edit { removed: removed + 1, added, behind, making: Usage { output, cache_read: removed, ..Usage::default() } }, &Limits::default());
            prop_assert!(more.predicted_saving >= verdict.predicted_saving);
        }

        // spec: M4, M5
        #[test]
        fn clearing_the_least_that_pays_pays(now in any_situation(), tail in 1..2_000_000u64) {
            let limits = Limits::default();
            let least = clear_at_least(&now, tail, &limits);
            prop_assert!(least <= tail);
            let verdict = pays(&now, &clearing(least, tail - least), &limits);
            let can_pay = pays(&now, &clearing(tail, 0), &limits).decision == Decision::Act;
            prop_assert_eq!(verdict.decision == Decision::Act, can_pay, "{} of {}: {:?}", least, tail, verdict);
        }
    }
}
