//! How far the reading is, on one line of the terminal that is gone afterwards.

use crate::paper::{Paper, Volume, size};
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;

const CELLS: usize = 24;
const EVERY: Duration = Duration::from_millis(100);

/// What is done of what there is to do.
pub(super) struct Progress {
    files: usize,
    bytes: u64,
    files_done: AtomicUsize,
    bytes_done: AtomicU64,
    /// Who draws.
    drawer: Thread,
}

impl Progress {
    pub(super) fn over(files: usize, bytes: u64) -> Self {
        Self {
            files,
            bytes,
            files_done: AtomicUsize::new(0),
            bytes_done: AtomicU64::new(0),
            drawer: std::thread::current(),
        }
    }

    /// One more file was read.
    pub(super) fn step(&self, bytes: u64) {
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
        self.files_done.fetch_add(1, Ordering::Relaxed);
        if self.is_over() {
            self.drawer.unpark();
        }
    }

    fn is_over(&self) -> bool {
        self.files_done.load(Ordering::Relaxed) >= self.files
    }

    fn line(&self) -> String {
        let (files, bytes) = (self.files_done.load(Ordering::Relaxed), self.bytes_done.load(Ordering::Relaxed));
        let full = usize::try_from(u128::from(bytes) * CELLS as u128 / u128::from(self.bytes.max(1))).unwrap_or(CELLS);
        let full = full.min(CELLS);
        let bar = format!("{}{}", "▰".repeat(full), "▱".repeat(CELLS - full));
        format!("reading {bar} {files} of {} files, {} of {}", self.files, size(bytes), size(self.bytes))
    }

    /// Draw until all is read or nobody reads any more. Only for a person at a terminal.
    pub(super) fn draw(&self, paper: &Paper) {
        let mut err = std::io::stderr();
        if paper.volume == Volume::Quiet || !err.is_terminal() {
            return;
        }
        let mut draw = |line: &str| write!(err, "\r\x1b[K{line}").and_then(|()| err.flush()).unwrap_or_default();
        draw(&Self::over(self.files, self.bytes).line());
        while !self.is_over() {
            std::thread::park_timeout(EVERY);
            draw(&self.line());
        }
        draw("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_with_the_bytes() {
        let progress = Progress::over(2, 2_000);
        assert!(
            progress.line().contains(&"▱".repeat(CELLS)) && progress.line().ends_with("0 of 2 files, 0 B of 2.0 kB")
        );
        progress.step(1_000);
        assert!(progress.line().contains(&format!("{}▱", "▰".repeat(CELLS / 2))), "{}", progress.line());
        progress.step(9_000);
        assert!(progress.line().contains(&"▰".repeat(CELLS)) && progress.is_over());
    }
}
