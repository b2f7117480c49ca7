//! The index as bytes, so that a new process need not read what an earlier one read. What cannot be read back, for any
//! reason, is no index: it is built again.

use super::index::{BREAK, Entry, Index, Lexicon};
use super::table::Meaning;
use super::words::Language;
use super::{Turn, Voice};

/// Changes whenever the bytes, or how words are read, change: an older file is then built again.
const MAGIC: &[u8; 8] = b"sjrecal5";

impl Index {
    /// The index in a compact form of its own, checksummed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = Writer::default();
        body.number(self.lexicon.words.len() as u64);
        for word in &self.lexicon.words {
            body.text(word);
        }
        body.number(self.entries.len() as u64);
        for entry in &self.entries {
            body.entry(entry);
        }
        body.sealed(MAGIC)
    }

    /// The index that was written, or nothing when these are not its bytes, whole and of this version.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::unsealed(bytes, MAGIC)?;
        let mut lexicon = Lexicon::default();
        for _ in 0..reader.count()? {
            lexicon.add(reader.text()?);
        }
        let vocabulary = lexicon.words.len() as u32;
        let entries: Option<Vec<Entry>> = (0..reader.count()?).map(|_| reader.entry(vocabulary)).collect();
        let mut index = Self { lexicon, entries: entries?, ..Self::default() };
        index.settle();
        Some(index)
    }
}

#[derive(Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    /// What was written, under its name and with a checksum.
    pub(super) fn sealed(&self, magic: &[u8; 8]) -> Vec<u8> {
        [magic.as_slice(), &crc32c::crc32c(&self.0).to_le_bytes(), &self.0].concat()
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// Seven bits a byte, the lowest first.
    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend(text.as_bytes());
    }

    /// Breaks as 0, every word one higher than its number.
    fn terms(&mut self, terms: &[u32]) {
        self.number(terms.len() as u64);
        for term in terms {
            self.number(u64::from(term.wrapping_add(1)));
        }
    }

    fn entry(&mut self, entry: &Entry) {
        self.text(&entry.id);
        self.text(&entry.kind);
        self.number(entry.stamp);
        self.number(u64::from(entry.time.is_some()));
        self.number(entry.time.unwrap_or_default().cast_unsigned());
        self.number(u64::from(entry.turn.is_some()));
        if let Some(turn) = &entry.turn {
            self.text(&turn.session);
            self.number(u64::from(turn.position));
            self.number(turn.voice as u64);
        }
        self.terms(&entry.terms);
        for field in entry.fields {
            self.number(u64::from(field));
        }
        for meaning in &entry.meanings {
            self.number(meaning.0.len() as u64);
            self.0.extend(meaning.0.iter().map(|value| value.cast_unsigned()));
        }
        self.number(u64::from(entry.language.number()));
        self.number(entry.shorts.len() as u64);
        for (short, long) in &entry.shorts {
            self.number(u64::from(*short));
            self.terms(long);
        }
        self.number(u64::from(entry.has_time) + 2 * u64::from(entry.has_number));
        self.raw(&entry.fingerprint.to_le_bytes());
    }
}

pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// What was sealed under this name, if it is whole.
    pub(super) fn unsealed(bytes: &'a [u8], magic: &[u8; 8]) -> Option<Self> {
        let (sum, body) = bytes.strip_prefix(magic)?.split_at_checked(4)?;
        (crc32c::crc32c(body).to_le_bytes() == sum).then_some(Self(body))
    }

    pub(super) fn raw(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// A number of things still to come; each takes a byte at least.
    pub(super) fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|count| *count <= self.0.len())
    }

    fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        let length = self.count()?;
        std::str::from_utf8(self.raw(length)?).ok()
    }

    fn terms(&mut self, vocabulary: u32) -> Option<Vec<u32>> {
        let known = |term: u32| term.checked_sub(1).map_or(Some(BREAK), |term| (term < vocabulary).then_some(term));
        (0..self.count()?).map(|_| self.small().and_then(known)).collect()
    }

    fn meaning(&mut self) -> Option<Meaning> {
        let length = self.count()?;
        Some(Meaning(self.raw(length)?.iter().map(|byte| byte.cast_signed()).collect()))
    }

    fn turn(&mut self) -> Option<Turn> {
        let session = self.text()?.to_owned();
        let position = self.small()?;
        let voice = [Voice::User, Voice::Assistant].get(self.small()? as usize).copied()?;
        Some(Turn { session, position, voice })
    }

    fn entry(&mut self, vocabulary: u32) -> Option<Entry> {
        let (id, kind, stamp) = (self.text()?.to_owned(), self.text()?.to_owned(), self.number()?);
        let has_clock = self.number()? == 1;
        let time = self.number()?.cast_signed();
        let turn = if self.number()? == 1 { Some(self.turn()?) } else { None };
        let terms = self.terms(vocabulary)?;
        let fields = [self.small()?, self.small()?, self.small()?];
        let meanings = [self.meaning()?, self.meaning()?];
        let language = Language::numbered(u8::try_from(self.number()?).ok()?)?;
        let known = |term: u32| (term < vocabulary).then_some(term);
        let shorts: Option<Vec<_>> =
            (0..self.count()?).map(|_| Some((known(self.small()?)?, self.terms(vocabulary)?))).collect();
        let marks = self.number()?;
        let fingerprint = u64::from_le_bytes(self.raw(8)?.try_into().ok()?);
        let time = has_clock.then_some(time);
        let (has_time, has_number) = (marks & 1 == 1, marks & 2 == 2);
        let shorts = shorts?;
        Some(Entry {
            id,
            kind,
            stamp,
            fingerprint,
            time,
            turn,
            terms,
            fields,
            meanings,
            language,
            shorts,
            has_time,
            has_number,
        })
    }
}
