//! Stories about the simulator, told over real HTTP.

#[cfg(test)]
mod caching;
#[cfg(test)]
mod client;
#[cfg(test)]
mod compaction;
#[cfg(test)]
mod control;
#[cfg(test)]
mod editing;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod openai;
#[cfg(test)]
mod thinking;
#[cfg(test)]
mod validation;
