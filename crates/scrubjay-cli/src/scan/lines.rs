//! The lines of a file, plain or compressed, however long they are: a line that is too long is passed over, not held.

use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

const BUFFER: usize = 1 << 17;

/// What compressed files begin with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

pub(super) struct Lines {
    from: io::Take<Box<dyn BufRead>>,
    line: Vec<u8>,
    /// A line holds this many bytes at most.
    longest: u64,
}

/// The next line.
pub(super) enum Next<'a> {
    Line(&'a [u8]),
    /// It is longer than a line may be.
    TooLong,
    End,
}

impl Lines {
    /// Open a file; behind `most` bytes it is not read.
    pub(super) fn open(path: &Path, longest: u64, most: u64) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(BUFFER, File::open(path)?);
        let compressed = file.fill_buf()?.starts_with(&GZIP);
        let from: Box<dyn BufRead> = if compressed {
            Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(file)))
        } else {
            Box::new(file)
        };
        Ok(Self { from: from.take(most), line: Vec::new(), longest })
    }

    /// Whether the end of what is read is not the end of the file.
    pub(super) fn is_cut(&self) -> bool {
        self.from.limit() == 0
    }

    pub(super) fn next(&mut self) -> io::Result<Next<'_>> {
        self.line.clear();
        if self.piece()? == 0 {
            return Ok(Next::End);
        }
        if self.line.len() as u64 <= self.longest || self.line.ends_with(b"\n") {
            return Ok(Next::Line(self.line.trim_ascii()));
        }
        while !self.line.ends_with(b"\n") {
            self.line.clear();
            if self.piece()? == 0 {
                break;
            }
        }
        self.line = Vec::new();
        Ok(Next::TooLong)
    }

    fn piece(&mut self) -> io::Result<usize> {
        (&mut self.from).take(self.longest + 1).read_until(b'\n', &mut self.line)
    }
}
