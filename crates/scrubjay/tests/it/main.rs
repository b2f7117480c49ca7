//! The engine's stories: one binary, a file for each part.

mod architecture;
mod background;
mod transcript;
