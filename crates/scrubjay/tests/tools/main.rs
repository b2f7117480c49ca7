//! Stories of the tools, with real files and real processes.

#[cfg(test)]
mod bench;
#[cfg(test)]
mod files;
#[cfg(test)]
mod searches;
#[cfg(test)]
mod shells;
#[cfg(test)]
mod skills;
#[cfg(test)]
mod read_only;
