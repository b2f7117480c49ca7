//! Stories with a service on loopback: what is sent, what comes back, and what goes wrong in between.

#[cfg(test)]
mod fixture;

#[cfg(test)]
mod consult;
#[cfg(test)]
mod cuts;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod fitting;
#[cfg(test)]
mod replies;
#[cfg(test)]
mod secrets;
