//! The engine's stories: one binary, a file for each part.

// A test fails by panicking, also in the functions its tests share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agent_places;
mod agents;
mod architecture;
mod background;
mod bound_thinking;
mod boundary;
mod collapse;
mod compaction;
mod extraction;
mod faithful;
mod fence;
mod fidelity;
mod finding;
mod fork;
mod hooks;
mod instructions;
mod jobs;
mod learning_carriers;
mod learning_cost;
mod learning_cursor;
mod letters;
mod meaning;
mod memory_tool;
mod long_session;
mod microcompaction;
mod over_http;
mod planner;
mod poisoning;
mod query_loop;
mod recall_story;
mod receipts;
mod session_notes;
mod snip;
mod team;
mod tool_results;
mod transcript;
