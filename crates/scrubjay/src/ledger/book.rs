//! The ledger on disk: sealed JSON lines, as the transcript's.

use super::Row;
use crate::limits::Limits;
use crate::transcript::{Log, Reading, read_as};
use std::io;
use std::path::{Path, PathBuf};

/// A ledger that is written to.
#[derive(Debug)]
pub struct Book {
    log: Option<Log>,
    rows: Vec<Row>,
}

impl Book {
    /// Where a session's receipts lie, by the path of its transcript.
    pub fn path_of(transcript: &Path) -> PathBuf {
        transcript.with_extension("").join("ledger.jsonl")
    }

    /// A ledger that is kept in memory alone.
    pub fn in_memory() -> Self {
        Self { log: None, rows: Vec::new() }
    }

    /// Open or begin a ledger. Damaged rows are skipped: receipts are evidence, not state that others build on.
    pub fn open(path: &Path, limits: &Limits) -> io::Result<Self> {
        let log = Log::open(path, limits)?;
        Ok(Self { log: Some(log), rows: read(path, limits)?.records })
    }

    /// Book one row. It counts even if the disk refuses it; then it waits in memory and goes out with the next.
    pub fn book(&mut self, row: Row) -> io::Result<()> {
        let json = serde_json::to_string(&row).map_err(io::Error::other)?;
        self.rows.push(row);
        self.log.as_mut().map_or(Ok(()), |log| log.append_json(&json))
    }

    /// Everything booked so far.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}

/// Read a ledger without the right to write it. A ledger that is not there has no rows.
pub fn read(path: &Path, limits: &Limits) -> io::Result<Reading<Row>> {
    match read_as(path, limits, |json| serde_json::from_str(json).ok()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Reading { records: Vec::new(), damage: Vec::new(), torn_tail_only: false })
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{called, removed};
    use super::super::{Layer, Sent};
    use super::*;
    use crate::message::Usage;
    use proptest::prelude::*;

    fn some_rows() -> Vec<Row> {
        let usage = Usage { cache_read: 90, output: 5, ..Usage::default() };
        vec![
            Row::Called(called(0, "main", usage)),
            removed(1, Layer::ToolResults, 9_000, Sent::Never),
            Row::Called(called(2, "extract", usage)),
        ]
    }

    // spec: V1
    #[test]
    fn receipts_come_back_as_they_were_booked() {
        let home = tempfile::tempdir().unwrap();
        let path = Book::path_of(&home.path().join("p/s1.jsonl"));
        assert!(path.ends_with("p/s1/ledger.jsonl"));
        assert!(read(&path, &Limits::default()).unwrap().records.is_empty());
        for row in some_rows() {
            Book::open(&path, &Limits::default()).unwrap().book(row).unwrap();
        }
        let book = Book::open(&path, &Limits::default()).unwrap();
        assert_eq!(book.rows(), some_rows());
        let mut memory = Book::in_memory();
        memory.book(some_rows().remove(0)).unwrap();
        assert_eq!(memory.rows().len(), 1);
    }

    proptest! {
        // spec: V1
        #[test]
        fn damage_costs_the_damaged_row_alone(byte in any::<prop::sample::Index>(), value in any::<u8>(), cut in any::<bool>()) {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("ledger.jsonl");
            let mut book = Book::open(&path, &Limits::default()).unwrap();
            for row in some_rows() {
                book.book(row).unwrap();
            }
            let mut bytes = std::fs::read(&path).unwrap();
            let at = byte.index(bytes.len());
            let old = std::mem::replace(&mut bytes[at], value);
            let lines = bytes.split(|b| *b == b'\n').count();
            if cut {
                bytes.truncate(at);
            }
            std::fs::write(&path, &bytes).unwrap();
            let reading = read(&path, &Limits::default()).unwrap();
            let whole = some_rows();
            prop_assert!(reading.records.iter().all(|row| whole.contains(row)));
            // A line break written into a line, or one removed, can spoil two rows; nothing spoils three.
            let least = if cut { 0 } else if lines == 4 && old != b'\n' { 2 } else { 1 };
            prop_assert!(reading.records.len() >= least, "{:?}", reading);
            let mut again = Book::open(&path, &Limits::default()).unwrap();
            again.book(whole[1].clone()).unwrap();
            let last = read(&path, &Limits::default()).unwrap().records.pop();
            prop_assert_eq!(last.as_ref(), Some(&whole[1]));
        }
    }
}
