//! What tokens cost. A price that is not known makes a cost unknown, never zero.

use crate::message::Usage;
use crate::transcript::Ttl;
use serde::{Deserialize, Serialize};

/// Prices are per this many tokens.
const PER: f64 = 1e6;

/// Dollars per million tokens. What is not known is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prices {
    /// Fresh input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<f64>,
    /// Written to the cache for five minutes (or the vendor's only lifetime).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_5m: Option<f64>,
    /// Written to the cache for an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_1h: Option<f64>,
    /// Read from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<f64>,
    /// Written by the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<f64>,
}

impl Prices {
    /// What a call cost, if every price it needs is known.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        [
            (usage.input, self.input),
            (usage.cache_read, self.read),
            (usage.cache_write_5m, self.write_5m),
            (usage.cache_write_1h, self.write_1h),
            (usage.output, self.output),
        ]
        .into_iter()
        .filter(|(tokens, _)| *tokens > 0)
        .try_fold(0.0, |sum, (tokens, price)| Some(sum + dollars(tokens, price?)))
    }

    /// What it costs to have this many tokens read from the cache.
    pub fn reading(&self, tokens: u64) -> Option<f64> {
        self.read.map(|price| dollars(tokens, price))
    }

    /// The price of putting tokens into the cache; a vendor without one bills plain input.
    pub fn write(&self, ttl: Ttl) -> Option<f64> {
        match ttl {
            Ttl::FiveMinutes => self.write_5m.or(self.input),
            Ttl::OneHour => self.write_1h.or(self.input),
        }
    }

    /// What it costs to have this many tokens put into the cache.
    pub fn writing(&self, tokens: u64, ttl: Ttl) -> Option<f64> {
        self.write(ttl).map(|price| dollars(tokens, price))
    }

    /// Whether anything is known at all.
    pub fn known(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}

fn dollars(tokens: u64, per_million: f64) -> f64 {
    tokens as f64 * per_million / PER
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices() -> Prices {
        Prices { input: Some(4.0), write_5m: Some(5.0), write_1h: Some(8.0), read: Some(0.2), output: Some(20.0) }
    }

    // spec: H4
    #[test]
    fn each_kind_of_token_has_its_price_and_a_missing_one_makes_the_cost_unknown() {
        let usage = Usage {
            input: 1_000_000,
            cache_read: 10_000_000,
            cache_write_5m: 1_000_000,
            cache_write_1h: 500_000,
            output: 100_000,
        };
        assert_eq!(prices().cost(&usage), Some(4.0 + 2.0 + 5.0 + 4.0 + 2.0));
        let silent = Prices { output: None, ..prices() };
        assert_eq!(silent.cost(&usage), None);
        assert_eq!(silent.cost(&Usage { output: 0, ..usage }), Some(15.0));
        assert_eq!(Prices::default().cost(&Usage::default()), Some(0.0));
        assert_eq!((Prices::default().known(), prices().known()), (None, Some(prices())));
    }

    #[test]
    fn a_vendor_without_a_write_price_bills_input() {
        let plain = Prices { input: Some(3.0), read: Some(0.3), ..Prices::default() };
        assert_eq!(plain.writing(1_000_000, Ttl::OneHour), Some(3.0));
        assert_eq!(prices().writing(1_000_000, Ttl::OneHour), Some(8.0));
        assert_eq!(Prices::default().reading(1), None);
    }
}
