//! The provider's prompt cache: what it promises, and how a request asks for it.

pub mod breakpoints;
pub mod rules;
