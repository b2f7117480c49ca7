//! What was tried in one class of attacks, and what came of it.

use std::fmt::Display;

/// One class of attacks.
pub(crate) struct Tally {
    class: &'static str,
    tried: usize,
    succeeded: Vec<String>,
    /// Attacks that succeeded against the control, the same thing without the defence.
    control: usize,
}

impl Tally {
    pub(crate) fn of(class: &'static str) -> Self {
        Self { class, tried: 0, succeeded: Vec::new(), control: 0 }
    }

    /// One attack, and whether it succeeded.
    pub(crate) fn tried(&mut self, attack: impl Display, succeeded: bool) {
        self.tried += 1;
        if succeeded {
            self.succeeded.push(attack.to_string());
        }
    }

    /// The same attack where nothing defends: it should succeed, or it proves nothing.
    pub(crate) fn control(&mut self, succeeded: bool) {
        self.control += usize::from(succeeded);
    }

    /// Print the row of the table. Nothing may have succeeded, and the control must have been broken into.
    pub(crate) fn finish(self) {
        let Self { class, tried, succeeded, control } = self;
        println!("attacks | {class} | {tried} | {} | {control} | {:.1} %", succeeded.len(), bound(tried));
        assert!(tried > 0, "{class}: nothing was tried");
        assert!(control > 0, "{class}: no attack succeeds where nothing defends, so the list proves nothing");
        assert!(
            succeeded.is_empty(),
            "{class}: {} of {tried} attacks succeeded:\n{}",
            succeeded.len(),
            succeeded.join("\n")
        );
    }
}

/// The share of attacks like these that succeeds at most, with 95 % confidence, where none of `tried` did, in percent.
fn bound(tried: usize) -> f64 {
    let tried = u32::try_from(tried).map_or(f64::INFINITY, f64::from);
    (1.0 - 0.05_f64.powf(1.0 / tried)) * 100.0
}

#[test]
fn a_class_without_a_loss_is_bounded_by_its_size() {
    assert!((bound(150) - 1.98).abs() < 0.01);
    assert!((bound(1) - 95.0).abs() < 1e-9);
}

#[test]
#[should_panic(expected = "1 of 2 attacks succeeded")]
fn one_success_is_too_many() {
    let mut tally = Tally::of("test");
    tally.tried("held", false);
    tally.tried("broke in", true);
    tally.control(true);
    tally.finish();
}

#[test]
#[should_panic(expected = "proves nothing")]
fn a_class_needs_a_control_that_is_broken_into() {
    let mut tally = Tally::of("test");
    tally.tried("held", false);
    tally.finish();
}
