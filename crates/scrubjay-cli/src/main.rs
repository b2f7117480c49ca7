//! scrubjay: the terminal agent and its doors.
fn main() {}
