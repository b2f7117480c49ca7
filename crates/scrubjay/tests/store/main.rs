//! The store of long-term memory, with real files and real processes.

// A test fails by panicking, also in the functions its tests share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bench;
#[cfg(test)]
mod files;
#[cfg(test)]
mod forgetting;
#[cfg(test)]
mod history;
#[cfg(test)]
mod index;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod outside;
#[cfg(test)]
mod pollution;
#[cfg(test)]
mod provenance;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod sharing;
#[cfg(test)]
mod model;
#[cfg(test)]
mod processes;
