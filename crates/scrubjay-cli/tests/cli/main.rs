//! The program as people and scripts meet it: real processes, a real terminal, a simulated service over loopback.

// A test fails by panicking, also in the functions its tests share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agents;
mod bad_input;
mod chat;
mod commands;
mod compaction;
mod demo;
mod dreaming;
mod gateways;
mod hiding;
mod instructions;
mod jobs;
mod letters;
mod memory;
mod print;
mod remembering;
mod report;
mod results;
mod sandbox;
mod scan;
mod scopes;
mod small_models;
mod stage;
mod stumbles;
mod surfaces;
mod survival;
mod terminal;
mod watching;
mod web;
mod workweek;
