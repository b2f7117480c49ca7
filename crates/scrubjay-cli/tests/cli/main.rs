//! The program as people and scripts meet it: real processes, a real terminal, a simulated service over loopback.

mod bad_input;
mod chat;
mod commands;
mod print;
mod stage;
mod survival;
mod terminal;
mod web;
