//! A command's output, however long: the beginning and the end are kept, the middle is counted.

use crate::tools::shown::shown;

/// The head and the tail of a stream of bytes, in bounded memory.
pub(super) struct HeadAndTail {
    head: Vec<u8>,
    /// Up to twice what is kept, so that bytes are moved rarely.
    tail: Vec<u8>,
    half: usize,
    total: u64,
}

impl HeadAndTail {
    /// Keep at most `most` bytes.
    pub(super) fn keeping(most: u64) -> Self {
        let half = usize::try_from(most / 2).unwrap_or(usize::MAX).max(1);
        Self { head: Vec::new(), tail: Vec::new(), half, total: 0 }
    }

    /// More bytes came.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.half - self.head.len();
        let (head, rest) = bytes.split_at(bytes.len().min(room));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        if self.tail.len() > self.half.saturating_mul(2) {
            self.tail.drain(..self.tail.len() - self.half);
        }
    }

    fn end(&self) -> &[u8] {
        &self.tail[self.tail.len().saturating_sub(self.half)..]
    }

    fn dropped(&self) -> u64 {
        self.total - (self.head.len() + self.end().len()) as u64
    }

    /// As text: broken UTF-8 replaced, control characters made visible, the gap named.
    pub(super) fn text(&self) -> String {
        let (head, end) = (self.head.as_slice(), self.end());
        match self.dropped() {
            0 => plain(&[head, end].concat()),
            dropped => {
                format!("{}\n[… {dropped} bytes left out …]\n{}", plain(whole_end(head)), plain(whole_start(end)))
            }
        }
    }
}

/// A progress bar writes over its line: here each state gets a line of its own, so that nothing hides anything.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
    shown(&text).into_owned()
}

/// Without a character that was cut at the end.
fn whole_end(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

/// Without a character that was cut at the start.
fn whole_start(bytes: &[u8]) -> &[u8] {
    let cut = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    &bytes[cut..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kept(most: u64, pieces: &[&[u8]]) -> String {
        let mut output = HeadAndTail::keeping(most);
        pieces.iter().for_each(|piece| output.push(piece));
        output.text()
    }

    #[test]
    fn head_and_tail() {
        assert_eq!(kept(10, &[b"hello", b"world"]), "helloworld");
        assert_eq!(kept(10, &[b"hello", b"wide", b"world"]), "hello\n[… 4 bytes left out …]\nworld");
        assert_eq!(kept(4, &[b"abcdefgh"]), "ab\n[… 4 bytes left out …]\ngh");
        assert_eq!(kept(6, &["aäöüz".as_bytes()]), "aä\n[… 2 bytes left out …]\nüz");
        assert_eq!(kept(100, &[b"bad \xff\r\nnext\x07"]), "bad \u{fffd}\nnext⟦U+0007⟧");
        assert_eq!(kept(100, &[b"1%\r2%\r3%\n"]), "1%\n2%\n3%\n");
        assert_eq!(kept(100, &[]), "");
    }

    proptest! {
        #[test]
        fn every_byte_is_kept_or_counted(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..12), most in 2u64..60) {
            let mut output = HeadAndTail::keeping(most);
            pieces.iter().for_each(|piece| output.push(piece));
            let all = pieces.concat();
            prop_assert_eq!((output.head.len() + output.end().len()) as u64 + output.dropped(), all.len() as u64);
            prop_assert!((output.head.len() + output.end().len()) as u64 <= most);
            prop_assert!(all.starts_with(&output.head) && all.ends_with(output.end()));
            output.text();
        }
    }
}
