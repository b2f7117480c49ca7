//! What providers keep of a prompt between two requests, and how a request asks for it.

pub mod breakpoints;
