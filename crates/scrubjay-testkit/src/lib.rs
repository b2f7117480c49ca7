//! What the tests of the other crates stand on: a simulator of the model APIs, and what belongs to it.

pub mod simulator;
