//! The provider's prompt cache: what it promises, and what a request can expect of it.

pub mod rules;
