//! The session's notes: their template, and notes kept by code where no model keeps them.

pub mod keeper;
pub mod template;
