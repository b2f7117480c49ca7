//! Stories of the tools, with real files and real processes.

mod bench;
mod files;
mod searches;
mod shells;
mod skills;
