//! Stories about dreams: when they begin, what they do, what they must never do, and what happens when they are cut off.

// A test fails by panicking, also in the functions its tests share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bench;
mod days;
mod gates;
mod judging;
mod logs;
mod poisoning;
mod processes;
mod tidying;
mod uses;
