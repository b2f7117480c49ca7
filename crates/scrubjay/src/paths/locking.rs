//! One way to wait for a lock that another process may hold.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Lock an open file or folder for ourselves alone, waiting at most this long for whoever has it. Whether it is ours; it is
/// given back when the file is closed.
pub fn lock_within(file: impl AsFd, patience: Duration) -> io::Result<bool> {
    const PAUSE: Duration = Duration::from_millis(1);
    let began = Instant::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) if began.elapsed() < patience => std::thread::sleep(PAUSE),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
