//! The attack list: every attack is tried and none may succeed, and each class has a control that shows the attack is
//! real. Lists of words and lines lie in `suites/attacks`; `suites/attacks/run.sh` prints the table of docs/security.md.

// A test fails by panicking, also in the functions its tests share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod classifier;
mod clock;
mod consent;
mod deny;
mod environment;
mod git;
mod listings;
mod races;
mod repository;
mod sandbox;
mod secrets;
#[path = "../cli/stage.rs"]
#[allow(dead_code)]
mod stage;
mod tally;
mod transcripts;
