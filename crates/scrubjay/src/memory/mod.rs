//! Memory across sessions: plain files, told to the model, found when they matter, and shown with their age.

pub mod freshness;
pub mod prompt;
pub mod recall;
pub mod shown;
