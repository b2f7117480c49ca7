//! Stories with a service on loopback: what is sent, what comes back, and what goes wrong in between.

mod fixture;

mod consult;
mod cuts;
mod faults;
mod replies;
mod secrets;
