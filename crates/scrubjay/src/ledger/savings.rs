//! What the engine saved and what it cost, netted out.
//!
//! A removal is counted once. Its tokens would have been written to the cache once, if they had never been sent, and then
//! read (or, after a pause, written again) by every later request of the conversation. Savings therefore grow call by
//! call at the price of that call, until the conversation would have been compacted without us. That would have taken one
//! more call that reads it all, and what it would have dropped is saved no more.

use super::{Called, Certainty, Forecast, Layer, Row, Sent, Share};
use crate::prompt_cache::planner::{Unit, Warmth};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{AddAssign, Neg};

/// Rates are per this many tokens.
const PER: f64 = 1e6;
/// The part of what was said that a compaction leaves: 18 of 122 thousand tokens in the mean of 11 real ones.
const LEFT: f64 = 0.15;

/// Tokens and money, gained or lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount {
    /// Tokens; what was lost is negative.
    pub tokens: i64,
    /// Dollars; `None` where a receipt is missing.
    pub money: Option<f64>,
    /// How sure it is.
    pub certainty: Certainty,
}

impl Default for Amount {
    fn default() -> Self {
        Self { tokens: 0, money: Some(0.0), certainty: Certainty::Counted }
    }
}

impl Amount {
    pub(super) fn of(tokens: u64, money: Option<f64>, certainty: Certainty) -> Self {
        Self { tokens: i64::try_from(tokens).unwrap_or(i64::MAX), money, certainty }
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, more: Self) {
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.money = self.money.zip(more.money).map(|(one, other)| one + other);
        self.certainty = self.certainty.max(more.certainty);
    }
}

impl Neg for Amount {
    type Output = Self;

    fn neg(self) -> Self {
        Self { tokens: self.tokens.saturating_neg(), money: self.money.map(|money| -money), ..self }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.money {
            Some(money) if money < 0.0 => write!(f, "-${:.4}", -money)?,
            Some(money) => write!(f, "${money:.4}")?,
            None => f.write_str("n/a")?,
        }
        write!(f, ", {} tokens ({})", self.tokens, self.certainty.word())
    }
}

/// What kind of thing was booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Tokens that were not sent.
    Saving,
    /// A warm cache that we spoiled.
    Damage,
    /// Hidden text that was read again.
    ReadBack,
    /// What the longer cache lifetime cost more.
    Premium,
    /// Calls that nobody but the engine wanted.
    Spend,
}

/// One line of the account: positive for a saving, negative for everything else.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// What it is.
    pub kind: Kind,
    /// Whose doing.
    pub layer: Layer,
    /// At which model's prices.
    pub model: String,
    /// In whose call it showed.
    pub source: String,
    /// How much.
    pub amount: Amount,
}

/// What a removal was expected to bring and what it has brought so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// Who removed.
    pub layer: Layer,
    /// What the planner expected.
    pub forecast: Forecast,
    /// What it has saved so far, in the unit of the forecast; `None` where a receipt is missing.
    pub saved: Option<f64>,
    /// What it has cost so far: what had to be written again, and what was read again.
    pub cost: Option<f64>,
}

impl Outcome {
    /// What was expected to be left.
    pub fn expected(&self) -> f64 {
        self.forecast.saving - self.forecast.cost
    }

    /// What is left so far.
    pub fn so_far(&self) -> Option<f64> {
        self.saved.zip(self.cost).map(|(saved, cost)| saved - cost)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |amount: Option<f64>| match (amount, self.forecast.unit) {
            (None, _) => "n/a".to_owned(),
            (Some(money), Unit::Dollars) if money < 0.0 => format!("-${:.4}", -money),
            (Some(money), Unit::Dollars) => format!("${money:.4}"),
            (Some(tokens), Unit::Tokens) => format!("{tokens:.0} tokens"),
        };
        let (expected, so_far) = (shown(Some(self.expected())), shown(self.so_far()));
        write!(f, "{}: expected {expected}, so far {so_far} (estimated)", self.layer.word())
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    /// Removed and not brought back.
    tokens: u64,
    /// Of these, not yet missed by any request.
    new: u64,
    /// Of the new, never sent.
    unsent: u64,
    certainty: Certainty,
    damage: u64,
    read_back: u64,
}

#[derive(Debug, Clone, Copy)]
struct Wager {
    outcome: Outcome,
    tokens: u64,
    sent: Sent,
    is_new: bool,
}

/// The running account of a ledger: apply rows in order.
#[derive(Debug, Clone, Default)]
pub struct Account {
    standing: BTreeMap<Layer, Standing>,
    /// Of all that was removed, what compactions would have dropped without us.
    dropped: u64,
    wagers: Vec<Wager>,
    savings: Savings,
}

/// What the same conversation would hold without us.
struct Without {
    /// The part of what was removed that it would still hold.
    part: f64,
    /// What it would have read to be compacted, if that was due.
    compacted: u64,
}

impl Account {
    /// The account of these rows.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let mut account = Self::default();
        for row in rows {
            account.apply(row);
        }
        account
    }

    /// One more row; what it settles is returned.
    pub fn apply(&mut self, row: &Row) -> Vec<Item> {
        match row {
            Row::Removed(removed) => {
                let standing = self.standing.entry(removed.layer).or_default();
                standing.tokens = standing.tokens.saturating_add(removed.tokens);
                standing.new = standing.new.saturating_add(removed.tokens);
                standing.certainty = standing.certainty.max(removed.certainty);
                if removed.sent == Sent::Never {
                    standing.unsent = standing.unsent.saturating_add(removed.tokens);
                }
                self.wagers.extend(removed.forecast.map(|forecast| Wager {
                    outcome: Outcome { layer: removed.layer, forecast, saved: Some(0.0), cost: Some(0.0) },
                    tokens: removed.tokens,
                    sent: removed.sent,
                    is_new: true,
                }));
            }
            Row::Rewrote(share) => {
                let standing = self.standing.entry(share.layer).or_default();
                standing.damage = standing.damage.saturating_add(share.tokens);
            }
            Row::ReadBack(share) => {
                let standing = self.standing.entry(share.layer).or_default();
                standing.read_back = standing.read_back.saturating_add(share.tokens);
                self.give_back(share);
            }
            Row::Restored(share) => self.give_back(share),
            Row::Called(called) => {
                let items = self.settle(called);
                for item in &items {
                    self.savings.add(item);
                }
                return items;
            }
            Row::Broke { .. } | Row::Announced { .. } | Row::Unknown => {}
        }
        Vec::new()
    }

    /// Tokens are back in the window: the newest removals of the layer had removed them.
    fn give_back(&mut self, share: &Share) {
        self.standing.entry(share.layer).or_default().give_back(share.tokens);
        let mut left = share.tokens;
        for wager in self.wagers.iter_mut().rev().filter(|wager| wager.outcome.layer == share.layer) {
            let back = wager.tokens.min(left);
            (wager.tokens, left) = (wager.tokens - back, left - back);
        }
    }

    fn settle(&mut self, called: &Called) -> Vec<Item> {
        if called.is_main() {
            return self.settle_main(called);
        }
        if !called.is_ours() {
            return Vec::new();
        }
        let tokens = called.usage.total_input().saturating_add(called.usage.output);
        let amount = -Amount::of(tokens, called.money, Certainty::Reported);
        vec![item(Kind::Spend, Layer::of_source(&called.source), called, amount)]
    }

    /// All that was removed and not brought back.
    fn removed(&self) -> u64 {
        self.standing.values().fold(0, |sum, standing| sum.saturating_add(standing.tokens))
    }

    fn without(&mut self, called: &Called) -> Without {
        let all = self.removed();
        let whole = called.usage.total_input().saturating_add(all);
        let mut compacted = 0;
        if let Some(most) = called.threshold.filter(|most| all > 0 && whole.saturating_sub(self.dropped) > *most) {
            let opening = called.opening.min(most);
            self.dropped = whole.saturating_sub(opening + ((most - opening) as f64 * LEFT) as u64);
            compacted = most;
        }
        let held = all.saturating_sub(self.dropped);
        Without { part: if all > 0 { held as f64 / all as f64 } else { 1.0 }, compacted }
    }

    fn settle_main(&mut self, called: &Called) -> Vec<Item> {
        let Without { part, compacted } = self.without(called);
        let all = self.removed();
        let share = |tokens: u64| compacted as f64 * tokens as f64 / all.max(1) as f64;
        let price = |tokens: u64, rate: f64| tokens as f64 * rate / PER;
        let write = called.rates.map(|rates| rates.write);
        let again =
            called.rates.map(|rates| if called.warmth == Some(Warmth::Cold) { rates.write } else { rates.read });
        let more = called.rates.map(|rates| rates.write - rates.read);
        let mut items = Vec::new();
        for (layer, standing) in &mut self.standing {
            let mut add = |kind, amount| items.push(item(kind, *layer, called, amount));
            if standing.tokens > 0 {
                let unsent = standing.unsent.min(standing.tokens);
                let money = write.zip(again).map(|(write, again)| {
                    part * (price(unsent, write) + price(standing.tokens - unsent, again))
                        + share(standing.tokens) * again / PER
                });
                add(Kind::Saving, Amount::of(standing.new, money, standing.certainty));
            }
            if standing.damage > 0 {
                let money = more.map(|more| price(standing.damage, more));
                add(Kind::Damage, -Amount::of(standing.damage, money, Certainty::Estimated));
            }
            if standing.read_back > 0 {
                let money = write.map(|write| price(standing.read_back, write));
                add(Kind::ReadBack, -Amount::of(standing.read_back, money, Certainty::Estimated));
            }
            charge(&mut self.wagers, *layer, standing, (more, write));
            *standing = Standing { tokens: standing.tokens, certainty: standing.certainty, ..Standing::default() };
        }
        items.extend(lifetime(called));
        let is_cold = called.warmth == Some(Warmth::Cold);
        for wager in &mut self.wagers {
            let anew = wager.is_new && wager.sent == Sent::Never;
            let earned = match wager.outcome.forecast.unit {
                Unit::Dollars => if anew { write } else { again }.map(|rate| part * price(wager.tokens, rate)),
                Unit::Tokens => Some(if anew || is_cold { part * wager.tokens as f64 } else { 0.0 }),
            };
            wager.outcome.saved = wager.outcome.saved.zip(earned).map(|(saved, more)| saved + more);
            wager.is_new = false;
        }
        items
    }

    /// What each layer keeps out of the window now, in tokens; one that keeps nothing out is left out.
    pub fn kept_out(&self) -> BTreeMap<Layer, u64> {
        let standing = self.standing.iter().map(|(layer, standing)| (*layer, standing.tokens));
        standing.filter(|(_, tokens)| *tokens > 0).collect()
    }

    /// How many tokens more the same conversation would hold without us, where it is compacted when its window is full; fewer
    /// once that has dropped more than we keep out.
    pub fn more_without(&self) -> i64 {
        let all = self.removed();
        let signed = |tokens| i64::try_from(tokens).unwrap_or(i64::MAX);
        signed(all) - signed(self.dropped)
    }

    /// What it all comes to.
    pub fn savings(&self) -> &Savings {
        &self.savings
    }

    /// Prediction and outcome side by side, for every removal the planner decided.
    pub fn outcomes(&self) -> Vec<Outcome> {
        self.wagers.iter().map(|wager| wager.outcome).collect()
    }
}

/// What a layer had written and read again is a cost of its last planned removal.
fn charge(wagers: &mut [Wager], layer: Layer, standing: &Standing, (more, write): (Option<f64>, Option<f64>)) {
    let Some(wager) = wagers.iter_mut().rev().find(|wager| wager.outcome.layer == layer) else { return };
    let paid = match wager.outcome.forecast.unit {
        Unit::Tokens => Some((standing.damage + standing.read_back) as f64),
        Unit::Dollars if standing.damage + standing.read_back == 0 => Some(0.0),
        Unit::Dollars => more
            .zip(write)
            .map(|(more, write)| (standing.damage as f64 * more + standing.read_back as f64 * write) / PER),
    };
    wager.outcome.cost = wager.outcome.cost.zip(paid).map(|(cost, more)| cost + more);
}

/// What asking for the longer lifetime cost and brought in this call.
fn lifetime(called: &Called) -> Vec<Item> {
    let mut items = Vec::new();
    let hour = called.usage.cache_write_1h;
    if hour > 0 {
        let money = called.rates.and_then(|rates| rates.premium).map(|more| hour as f64 * more / PER);
        items.push(item(Kind::Premium, Layer::Lifetime, called, -Amount::of(0, money, Certainty::Reported)));
    }
    if called.outlived > 0 {
        let money = called.rates.map(|rates| called.outlived as f64 * (rates.write - rates.read) / PER);
        items.push(item(Kind::Saving, Layer::Lifetime, called, Amount::of(0, money, Certainty::Reported)));
    }
    items
}

impl Standing {
    fn give_back(&mut self, tokens: u64) {
        self.tokens = self.tokens.saturating_sub(tokens);
        self.new = self.new.min(self.tokens);
        self.unsent = self.unsent.min(self.tokens);
    }
}

fn item(kind: Kind, layer: Layer, called: &Called, amount: Amount) -> Item {
    Item { kind, layer, model: called.model.clone(), source: called.source.clone(), amount }
}

/// Savings and costs, netted out. The three groupings each add up to the net.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Savings {
    /// What was not sent.
    pub gross: Amount,
    /// Warm caches that we spoiled.
    pub damage: Amount,
    /// Hidden text that was read again.
    pub read_back: Amount,
    /// What longer cache lifetimes cost more.
    pub premium: Amount,
    /// Our own calls.
    pub spend: Amount,
    /// Net, by who did it.
    pub by_layer: BTreeMap<Layer, Amount>,
    /// Net, by whose prices.
    pub by_model: BTreeMap<String, Amount>,
    /// Net, by whose call.
    pub by_source: BTreeMap<String, Amount>,
}

impl AddAssign for Savings {
    fn add_assign(&mut self, more: Self) {
        self.gross += more.gross;
        self.damage += more.damage;
        self.read_back += more.read_back;
        self.premium += more.premium;
        self.spend += more.spend;
        join(&mut self.by_layer, more.by_layer);
        join(&mut self.by_model, more.by_model);
        join(&mut self.by_source, more.by_source);
    }
}

fn join<K: Ord>(all: &mut BTreeMap<K, Amount>, more: BTreeMap<K, Amount>) {
    for (key, amount) in more {
        *all.entry(key).or_default() += amount;
    }
}

impl Savings {
    pub(super) fn add(&mut self, item: &Item) {
        *match item.kind {
            Kind::Saving => &mut self.gross,
            Kind::Damage => &mut self.damage,
            Kind::ReadBack => &mut self.read_back,
            Kind::Premium => &mut self.premium,
            Kind::Spend => &mut self.spend,
        } += item.amount;
        *self.by_layer.entry(item.layer).or_default() += item.amount;
        *self.by_model.entry(item.model.clone()).or_default() += item.amount;
        *self.by_source.entry(item.source.clone()).or_default() += item.amount;
    }

    /// What is left.
    pub fn net(&self) -> Amount {
        let mut net = self.gross;
        net += self.damage;
        net += self.read_back;
        net += self.premium;
        net += self.spend;
        net
    }
}

impl fmt::Display for Savings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = [
            ("saved", self.gross),
            ("cache damage", self.damage),
            ("read again", self.read_back),
            ("longer lifetime", self.premium),
            ("own calls", self.spend),
            ("net", self.net()),
        ];
        for (word, amount) in lines {
            writeln!(f, "{word:<16}{amount}")?;
        }
        for (layer, amount) in &self.by_layer {
            writeln!(f, "  {:<16}{amount}", layer.word())?;
        }
        Ok(())
    }
}

/// What these rows come to.
pub fn savings<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Savings {
    Account::of(rows).savings
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at, called, removed, share};
    use super::super::{Rates, Removed};
    use super::*;
    use crate::message::Usage;
    use proptest::prelude::*;

    const MILLION: u64 = 1_000_000;

    fn asked(second: i64, warmth: Warmth) -> Row {
        Row::Called(Called { warmth: Some(warmth), ..called(second, "main", Usage::default()) })
    }

    fn close(amount: Amount, money: f64) -> bool {
        amount.money.is_some_and(|found| (found - money).abs() < 1e-9)
    }

    // spec: V1
    #[test]
    fn a_removal_is_counted_once_and_its_replays_at_the_read_price() {
        let mut rows = vec![removed(0, Layer::ToolResults, MILLION, Sent::Never)];
        assert_eq!(savings(&rows).gross, Amount::default(), "nothing is saved before a request misses it");
        rows.push(asked(1, Warmth::Warm));
        assert!(close(savings(&rows).gross, 5.0));
        rows.push(asked(2, Warmth::Warm));
        rows.push(asked(3, Warmth::Warm));
        assert!(close(savings(&rows).gross, 5.0 + 0.5 + 0.5));
        rows.push(asked(4, Warmth::Cold));
        let all = savings(&rows);
        assert!(close(all.gross, 5.0 + 0.5 + 0.5 + 5.0));
        assert_eq!((all.gross.tokens, all.gross.certainty), (MILLION as i64, Certainty::Counted));

        let before = [removed(0, Layer::Microcompaction, MILLION, Sent::Before), asked(1, Warmth::Warm)];
        assert!(close(savings(&before).gross, 0.5), "what the cache had is only spared the reading");
    }

    // spec: V1, M6
    #[test]
    fn damage_read_backs_and_own_calls_are_taken_off_and_the_net_may_be_negative() {
        let usage = Usage { input: MILLION, ..Usage::default() };
        let rows = [
            removed(0, Layer::Microcompaction, MILLION, Sent::Before),
            Row::Rewrote(share(0, Layer::Microcompaction, MILLION)),
            asked(1, Warmth::Warm),
            Row::ReadBack(share(2, Layer::Microcompaction, MILLION / 2)),
            asked(3, Warmth::Warm),
            Row::Called(called(4, "extract", usage)),
            Row::Called(called(5, "agent:explore", usage)),
        ];
        let all = savings(&rows);
        assert!(close(all.gross, 0.5 + 0.25), "{all}");
        assert!(close(all.damage, -4.5) && close(all.read_back, -2.5) && close(all.spend, -4.0), "{all}");
        assert!(close(all.net(), 0.75 - 4.5 - 2.5 - 4.0));
        assert!(close(all.by_layer[&Layer::Extraction], -4.0) && close(all.by_source["extract"], -4.0));
        assert!(all.to_string().contains("net             -$10.2500"), "{all}");
        assert!(!all.by_source.contains_key("agent:explore"), "a sub-agent's work is the person's");
    }

    // spec: V1
    #[test]
    fn a_longer_lifetime_is_a_cost_until_it_outlives_a_pause() {
        let usage = Usage { cache_write_1h: MILLION, ..Usage::default() };
        let bought = Row::Called(called(0, "main", usage));
        let kept = Row::Called(Called { outlived: MILLION, ..called(1, "main", Usage::default()) });
        assert!(close(savings([&bought]).net(), -3.0));
        let all = savings([&bought, &kept]);
        assert!(
            close(all.premium, -3.0) && close(all.gross, 4.5) && close(all.by_layer[&Layer::Lifetime], 1.5),
            "{all}"
        );
    }

    // spec: V1
    #[test]
    fn a_missing_receipt_makes_money_unknown_and_not_zero() {
        let unpriced = Row::Called(Called { money: None, rates: None, ..called(1, "main", Usage::default()) });
        let rows = [removed(0, Layer::ToolResults, 100, Sent::Never), unpriced];
        let all = savings(&rows);
        assert_eq!((all.gross.money, all.gross.tokens, all.net().money), (None, 100, None));
        assert_eq!(all.net().to_string(), "n/a, 100 tokens (counted)");
    }

    // spec: V1
    #[test]
    fn what_would_have_been_compacted_without_us_is_saved_no_more() {
        let asked = |second, input| {
            let usage = Usage { input, ..Usage::default() };
            Row::Called(Called { threshold: Some(150_000), ..called(second, "main", usage) })
        };
        let gross = |rows: &[Row]| savings(rows).gross.money.unwrap() * 1e6 / 0.5;
        let mut rows = vec![removed(0, Layer::ToolResults, 80_000, Sent::Before), asked(1, 20_000)];
        let near = |found: f64, tokens: f64| assert!((found - tokens).abs() < 1.0, "{found} is not {tokens}");
        near(gross(&rows), 80_000.0);
        assert_eq!(Account::of(&rows).more_without(), 80_000);
        // Without us it would hold 160,000 now: it is read once more to be summarised, and 22,500 are left of it.
        rows.extend([removed(2, Layer::Microcompaction, 20_000, Sent::Before), asked(3, 60_000)]);
        near(gross(&rows), 80_000.0 + 150_000.0);
        assert_eq!(Account::of(&rows).more_without(), 22_500 - 60_000);
        rows.push(asked(4, 70_000));
        near(gross(&rows), 80_000.0 + 150_000.0);
        // It stands at 32,500. We compact to 10,000, and are below it again.
        rows.extend([removed(5, Layer::Compaction, 60_000, Sent::Before), asked(6, 10_000)]);
        near(gross(&rows), 80_000.0 + 150_000.0 + 22_500.0);
        assert_eq!(Account::of(&rows).kept_out().values().sum::<u64>(), 160_000, "all of it is kept out all the same");
        let undone = [
            removed(0, Layer::Compaction, 9, Sent::Before),
            Row::Restored(share(0, Layer::Compaction, 99)),
            asked(1, 0),
        ];
        assert_eq!(savings(&undone).gross.tokens, 0);
    }

    // spec: V1
    #[test]
    fn a_compaction_without_us_would_have_left_system_and_tools_as_they_are() {
        let usage = Usage { input: 140_000, ..Usage::default() };
        let full = Called { threshold: Some(150_000), opening: 110_000, ..called(1, "main", usage) };
        let rows = |full| [removed(0, Layer::Microcompaction, 20_000, Sent::Before), Row::Called(full)];
        assert_eq!(Account::of(&rows(full.clone())).more_without(), 110_000 + 6_000 - 140_000);
        let nothing_but_an_opening = Called { opening: 170_000, ..full };
        assert_eq!(Account::of(&rows(nothing_but_an_opening)).more_without(), 150_000 - 140_000);
    }

    #[test]
    fn what_is_kept_out_follows_what_leaves_and_what_comes_back() {
        let mut rows =
            vec![removed(0, Layer::ToolResults, 700, Sent::Never), removed(1, Layer::Compaction, 50, Sent::Before)];
        let kept_out = |rows: &[Row]| Account::of(rows).kept_out();
        assert_eq!(kept_out(&rows), [(Layer::ToolResults, 700), (Layer::Compaction, 50)].into());
        rows.push(Row::ReadBack(share(2, Layer::ToolResults, 200)));
        rows.push(Row::Restored(share(3, Layer::Compaction, 50)));
        assert_eq!(kept_out(&rows), [(Layer::ToolResults, 500)].into());
    }

    // spec: H7
    #[test]
    fn prediction_and_outcome_stand_side_by_side() {
        let forecast = Forecast { saving: 9.0, cost: 1.0, unit: Unit::Dollars };
        let planned = Row::Removed(Removed {
            at: at(0),
            layer: Layer::Microcompaction,
            tokens: MILLION,
            sent: Sent::Before,
            certainty: Certainty::Estimated,
            forecast: Some(forecast),
        });
        let mut rows = vec![planned, asked(1, Warmth::Cold), asked(2, Warmth::Warm)];
        let account = Account::of(&rows);
        let [outcome] = account.outcomes()[..] else { panic!("one removal was planned") };
        assert_eq!((outcome.layer, outcome.forecast), (Layer::Microcompaction, forecast));
        assert!((outcome.saved.unwrap() - 5.5).abs() < 1e-9);
        assert_eq!(account.savings().gross.certainty, Certainty::Estimated);
        assert_eq!(outcome.to_string(), "microcompaction: expected $8.0000, so far $5.5000 (estimated)");

        rows.push(Row::ReadBack(share(3, Layer::Microcompaction, MILLION)));
        rows.push(asked(4, Warmth::Warm));
        let [outcome] = Account::of(&rows).outcomes()[..] else { panic!("one removal was planned") };
        assert!(
            (outcome.so_far().unwrap() - 0.5).abs() < 1e-9,
            "what was read again is saved no more, and cost: {outcome}"
        );
        let blind = Row::Called(Called { rates: None, ..called(5, "main", Usage::default()) });
        rows.extend([Row::Rewrote(share(5, Layer::Microcompaction, 9)), blind]);
        assert_eq!(Account::of(&rows).outcomes()[0].so_far(), None, "a missing price makes it unknown");
    }

    fn any_row() -> impl Strategy<Value = Row> {
        let layer = prop::sample::select(vec![Layer::ToolResults, Layer::Microcompaction, Layer::Compaction]);
        let source = prop::sample::select(vec!["main", "main", "extract", "compact", "agent:x"]);
        let model = prop::sample::select(vec!["opus", "haiku"]);
        prop_oneof![
            (layer.clone(), 0..MILLION, any::<bool>()).prop_map(|(layer, tokens, sent)| removed(
                0,
                layer,
                tokens,
                if sent { Sent::Before } else { Sent::Never }
            )),
            (layer.clone(), 0..MILLION).prop_map(|(layer, tokens)| Row::Rewrote(share(0, layer, tokens))),
            (layer.clone(), 0..MILLION).prop_map(|(layer, tokens)| Row::ReadBack(share(0, layer, tokens))),
            (layer, 0..MILLION).prop_map(|(layer, tokens)| Row::Restored(share(0, layer, tokens))),
            (source, model, 0..MILLION, any::<bool>()).prop_map(|(source, model, input, cold)| {
                let warmth = Some(if cold { Warmth::Cold } else { Warmth::Warm });
                let rates = Some(Rates { read: 0.5, write: 5.0, premium: Some(3.0) });
                let row = called(0, source, Usage { input, cache_write_1h: input / 3, ..Usage::default() });
                let outlived = if cold { input } else { 0 };
                Row::Called(Called { model: model.into(), warmth, rates, threshold: Some(MILLION), outlived, ..row })
            }),
        ]
    }

    fn total<K>(parts: &BTreeMap<K, Amount>) -> (i64, f64) {
        parts.values().fold((0, 0.0), |(tokens, money), part| (tokens + part.tokens, money + part.money.unwrap()))
    }

    proptest! {
        // spec: V1
        #[test]
        fn every_grouping_adds_up_to_the_net(rows in prop::collection::vec(any_row(), 0..60)) {
            let all = savings(&rows);
            let net = all.net();
            for (tokens, money) in [total(&all.by_layer), total(&all.by_model), total(&all.by_source)] {
                prop_assert_eq!(tokens, net.tokens);
                prop_assert!((money - net.money.unwrap()).abs() < 1e-6);
            }
            prop_assert!(all.gross.money >= Some(0.0) && all.damage.money <= Some(0.0));
            prop_assert!(all.read_back.money <= Some(0.0) && all.spend.money <= Some(0.0));
            let removals: u64 = rows.iter().map(|row| if let Row::Removed(row) = row { row.tokens } else { 0 }).sum();
            prop_assert!(all.gross.tokens as u64 <= removals, "no token is removed twice");
        }
    }
}
