//! The published prompt-caching rules as a pure state machine: no clock, no I/O, every moment is handed in.
//!
//! A request is a list of blocks in prefix order (tools, system, messages). An entry stands for the whole prefix through
//! one block. [`CacheState::request`] answers what such a request reads and writes; what it writes becomes visible only
//! when [`CacheState::begin_response`] says that the first byte of the answer was sent, so parallel twins both miss.

use crate::message::Usage;
use crate::transcript::Ttl;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;

/// How many block positions a breakpoint looks at, itself included. The API documents this number.
pub const LOOKBACK: usize = 20;

/// How many blocks of one request may be marked. The API refuses a fifth.
pub const MAX_BREAKPOINTS: usize = 4;

/// How long an entry lives after the start of the request that last wrote or read it.
pub fn lifetime(ttl: Ttl) -> SignedDuration {
    match ttl {
        Ttl::FiveMinutes => SignedDuration::from_mins(5),
        Ttl::OneHour => SignedDuration::from_hours(1),
    }
}

/// Where in the prefix a block stands. A change at one level spoils that level and all later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Tool definitions.
    Tools,
    /// The system prompt.
    System,
    /// The conversation.
    Messages,
}

/// Whether a block may carry a breakpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eligibility {
    /// Text, images, documents, tool definitions, calls and results.
    Eligible,
    /// Thinking and empty text.
    Ineligible,
}

/// One block of a request, as the cache sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheBlock {
    /// Which part of the prefix it belongs to.
    pub level: Level,
    /// A digest of its bytes, without any cache marker.
    pub digest: [u8; 32],
    /// How many tokens it counts.
    pub tokens: u64,
    /// The marker it carries.
    pub breakpoint: Option<Ttl>,
    /// Whether automatic caching may mark it.
    pub eligibility: Eligibility,
}

impl CacheBlock {
    /// An unmarked block that could be marked.
    pub fn new(level: Level, bytes: &[u8], tokens: u64) -> Self {
        let digest = Sha256::digest(bytes).into();
        Self { level, digest, tokens, breakpoint: None, eligibility: Eligibility::Eligible }
    }

    /// The same block with a breakpoint.
    pub fn marked(self, ttl: Ttl) -> Self {
        Self { breakpoint: Some(ttl), ..self }
    }

    /// The same block, but automatic caching passes over it.
    pub fn ineligible(self) -> Self {
        Self { eligibility: Eligibility::Ineligible, ..self }
    }
}

/// What else is part of the prefix at each level: settings that change how the blocks are rendered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Salts {
    /// Spoils everything when it changes.
    pub tools: Vec<u8>,
    /// Spoils system and messages.
    pub system: Vec<u8>,
    /// Spoils the messages only.
    pub messages: Vec<u8>,
}

impl Salts {
    fn at(&self, level: Level) -> &[u8] {
        match level {
            Level::Tools => &self.tools,
            Level::System => &self.system,
            Level::Messages => &self.messages,
        }
    }
}

/// Whose cache it is: nothing is shared between workspaces or between models.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shelf {
    /// The workspace of the key.
    pub workspace: String,
    /// The model that is asked.
    pub model: String,
}

/// The digest of a whole prefix through one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PrefixHash([u8; 32]);

/// The digest of the prefix through each block, in order.
pub fn prefix_hashes(blocks: &[CacheBlock], salts: &Salts) -> Vec<PrefixHash> {
    let mut running = [0u8; 32];
    let mut salted = None;
    let mut hashes = Vec::with_capacity(blocks.len());
    for block in blocks {
        for level in [Level::Tools, Level::System, Level::Messages] {
            if Some(level) > salted && level <= block.level {
                running = mix(&running, salts.at(level));
                salted = Some(level);
            }
        }
        running = mix(&running, &block.digest);
        hashes.push(PrefixHash(running));
    }
    hashes
}

fn mix(running: &[u8; 32], more: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(running);
    hash.update((more.len() as u64).to_be_bytes());
    hash.update(more);
    hash.finalize().into()
}

/// One request as the cache sees it.
#[derive(Debug, Clone)]
pub struct CacheRequest<'a> {
    /// Whose cache is asked.
    pub shelf: &'a Shelf,
    /// Settings that are part of the prefix.
    pub salts: &'a Salts,
    /// Everything the model reads, in prefix order.
    pub blocks: &'a [CacheBlock],
    /// The model's shortest cacheable prefix, in tokens.
    pub min_tokens: u64,
}

/// Why markers are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MarkerError {
    /// A fifth marker.
    #[error("A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided. Found {found}.")]
    TooMany {
        /// How many there were.
        found: usize,
    },
    /// An hour-long marker behind a five-minute one.
    #[error("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.")]
    LongAfterShort {
        /// The offending block's position.
        block: usize,
    },
    /// Automatic caching wants another lifetime than the marker that is already there.
    #[error("automatic caching asks for another ttl than the last block's own cache_control")]
    TwoLifetimes {
        /// The marked block's position.
        block: usize,
    },
}

/// What a request reads and writes, in tokens. The four counts add up to the whole prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Read from the cache.
    pub read: u64,
    /// Written for five minutes.
    pub write_5m: u64,
    /// Written for an hour.
    pub write_1h: u64,
    /// Neither read nor written.
    pub fresh: u64,
    /// The block whose entry was found.
    pub hit_block: Option<usize>,
    writes: Vec<Write>,
}

impl Outcome {
    /// The same as a usage, with what the model wrote.
    pub fn usage(&self, output: u64) -> Usage {
        Usage {
            input: self.fresh,
            cache_read: self.read,
            cache_write_5m: self.write_5m,
            cache_write_1h: self.write_1h,
            output,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Write {
    at: (Shelf, PrefixHash),
    ttl: Ttl,
    expires_at: Timestamp,
}

#[derive(Debug, Clone)]
struct Entry {
    ttl: Ttl,
    expires_at: Timestamp,
    visible_at: Timestamp,
}

impl Entry {
    fn refresh(&mut self, now: Timestamp) {
        self.expires_at = self.expires_at.max(later(now, self.ttl));
    }
}

/// Everything a provider remembers.
#[derive(Debug, Clone, Default)]
pub struct CacheState {
    entries: HashMap<(Shelf, PrefixHash), Entry>,
}

impl CacheState {
    /// What a request that starts now reads and writes. Entries it reads through live on from now; what it writes waits
    /// for [`CacheState::begin_response`].
    pub fn request(&mut self, request: &CacheRequest<'_>, now: Timestamp) -> Result<Outcome, MarkerError> {
        check_markers(request.blocks)?;
        self.entries.retain(|_, entry| now < entry.expires_at);
        let hashes = prefix_hashes(request.blocks, request.salts);
        let sums = cumulative(request.blocks);
        let hit_block = self.look_back(request, &hashes, now);
        for hash in hit_block.map_or(&[][..], |hit| &hashes[..=hit]) {
            if let Some(entry) = self.entries.get_mut(&(request.shelf.clone(), *hash)) {
                entry.refresh(now);
            }
        }
        let read = hit_block.map_or(0, |hit| sums[hit]);
        let long_enough = breakpoints(request.blocks).filter(|(at, _)| sums[*at] >= request.min_tokens);
        let marks: Vec<(usize, Ttl)> = long_enough.collect();
        let cached = marks.last().map_or(read, |(at, _)| sums[*at].max(read));
        let hour = marks.iter().filter(|(_, ttl)| *ttl == Ttl::OneHour).map(|(at, _)| sums[*at]).max();
        let hour = hour.unwrap_or(read).max(read);
        let total = sums.last().copied().unwrap_or(0);
        let write = |&(at, ttl): &(usize, Ttl)| Write {
            at: (request.shelf.clone(), hashes[at]),
            ttl,
            expires_at: later(now, ttl),
        };
        Ok(Outcome {
            read,
            write_1h: hour - read,
            write_5m: cached - hour,
            fresh: total - cached,
            hit_block,
            writes: marks.iter().map(write).collect(),
        })
    }

    /// The first byte of the answer goes out: what the request wrote can be found from now on.
    pub fn begin_response(&mut self, outcome: &Outcome, now: Timestamp) {
        for write in &outcome.writes {
            let entry = Entry { ttl: write.ttl, expires_at: write.expires_at, visible_at: now };
            self.entries
                .entry(write.at.clone())
                // An entry keeps its own lifetime: it was paid for once, under that one.
                .and_modify(|known| known.expires_at = known.expires_at.max(later(started(write), known.ttl)))
                .or_insert(entry);
        }
    }

    fn look_back(&self, request: &CacheRequest<'_>, hashes: &[PrefixHash], now: Timestamp) -> Option<usize> {
        let key = |at: usize| (request.shelf.clone(), hashes[at]);
        let found = |at: &usize| self.entries.get(&key(*at)).is_some_and(|entry| entry.visible_at <= now);
        let marks: Vec<usize> = breakpoints(request.blocks).map(|(at, _)| at).collect();
        marks.iter().rev().find_map(|&mark| (0..=mark).rev().take(LOOKBACK).find(found))
    }
}

/// Put the marker that top-level `cache_control` asks for on the last block that may carry one.
pub fn mark_automatically(blocks: &mut [CacheBlock], ttl: Ttl) -> Result<(), MarkerError> {
    let marked = breakpoints(blocks).count();
    let Some(at) = blocks.iter().rposition(|block| block.eligibility == Eligibility::Eligible) else { return Ok(()) };
    match blocks[at].breakpoint {
        Some(own) if own == ttl => Ok(()),
        Some(_) => Err(MarkerError::TwoLifetimes { block: at }),
        None if marked >= MAX_BREAKPOINTS => Err(MarkerError::TooMany { found: marked + 1 }),
        None => {
            blocks[at].breakpoint = Some(ttl);
            Ok(())
        }
    }
}

/// At most four markers, and no hour-long one behind a five-minute one.
pub fn check_markers(blocks: &[CacheBlock]) -> Result<(), MarkerError> {
    let found = breakpoints(blocks).count();
    if found > MAX_BREAKPOINTS {
        return Err(MarkerError::TooMany { found });
    }
    let first_short = breakpoints(blocks).find(|(_, ttl)| *ttl == Ttl::FiveMinutes).map(|(at, _)| at);
    let late =
        breakpoints(blocks).find(|(at, ttl)| *ttl == Ttl::OneHour && first_short.is_some_and(|short| short < *at));
    late.map_or(Ok(()), |(block, _)| Err(MarkerError::LongAfterShort { block }))
}

fn breakpoints(blocks: &[CacheBlock]) -> impl Iterator<Item = (usize, Ttl)> {
    blocks.iter().enumerate().filter_map(|(at, block)| block.breakpoint.map(|ttl| (at, ttl)))
}

fn cumulative(blocks: &[CacheBlock]) -> Vec<u64> {
    let add = |sum: &mut u64, block: &CacheBlock| {
        *sum = sum.saturating_add(block.tokens);
        Some(*sum)
    };
    blocks.iter().scan(0, add).collect()
}

fn later(now: Timestamp, ttl: Ttl) -> Timestamp {
    now.checked_add(lifetime(ttl)).unwrap_or(Timestamp::MAX)
}

fn started(write: &Write) -> Timestamp {
    write.expires_at.checked_sub(lifetime(write.ttl)).unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FIVE: Option<Ttl> = Some(Ttl::FiveMinutes);
    const HOUR: Option<Ttl> = Some(Ttl::OneHour);

    struct Bench {
        state: CacheState,
        shelf: Shelf,
        salts: Salts,
        min: u64,
        now: Timestamp,
    }

    impl Bench {
        fn new() -> Self {
            let shelf = Shelf { workspace: "w".into(), model: "m".into() };
            let now = "2026-11-15T12:00:00Z".parse().unwrap();
            Self { state: CacheState::default(), shelf, salts: Salts::default(), min: 0, now }
        }

        fn ask(&mut self, blocks: &[CacheBlock]) -> Outcome {
            let outcome = self.start(blocks);
            self.state.begin_response(&outcome, self.now);
            outcome
        }

        fn start(&mut self, blocks: &[CacheBlock]) -> Outcome {
            let request = CacheRequest { shelf: &self.shelf, salts: &self.salts, blocks, min_tokens: self.min };
            self.state.request(&request, self.now).unwrap()
        }

        fn after(&mut self, seconds: i64) -> &mut Self {
            self.now += SignedDuration::from_secs(seconds);
            self
        }
    }

    /// `count` message blocks of ten tokens, marked at the given positions.
    fn talk(count: usize, marks: &[(usize, Option<Ttl>)]) -> Vec<CacheBlock> {
        let block = |at: usize| {
            let mut block = CacheBlock::new(Level::Messages, format!("block {at}").as_bytes(), 10);
            block.breakpoint = marks.iter().find(|(mark, _)| *mark == at).and_then(|(_, ttl)| *ttl);
            block
        };
        (0..count).map(block).collect()
    }

    fn counts(outcome: &Outcome) -> (u64, u64, u64, u64) {
        (outcome.read, outcome.write_1h, outcome.write_5m, outcome.fresh)
    }

    // spec: H5
    #[test]
    fn a_conversation_reads_what_it_wrote_and_pays_for_what_is_new() {
        let mut bench = Bench::new();
        assert_eq!(counts(&bench.ask(&talk(3, &[(1, FIVE)]))), (0, 0, 20, 10));
        let next = bench.ask(&talk(6, &[(4, FIVE)]));
        assert_eq!((counts(&next), next.hit_block), ((20, 0, 30, 10), Some(1)));
        assert_eq!(next.usage(7).total_input(), 60);
        assert_eq!(counts(&bench.ask(&talk(6, &[]))), (0, 0, 0, 60), "without a marker nothing is read");
    }

    // spec: H5
    #[test]
    fn a_breakpoint_looks_at_twenty_positions_and_no_more() {
        // Fifteen blocks are cached; the next request has `blocks` of them with these markers.
        for (blocks, marks, read) in [
            (35, vec![34], 0),
            (34, vec![33], 150),
            (35, vec![20, 34], 150),
            (35, vec![14, 34], 150),
            (55, vec![34, 54], 0),
            (15, vec![14], 150),
        ] {
            let mut bench = Bench::new();
            bench.ask(&talk(15, &[(14, FIVE)]));
            let marks: Vec<_> = marks.into_iter().map(|at| (at, FIVE)).collect();
            assert_eq!(bench.ask(&talk(blocks, &marks)).read, read, "{blocks} blocks, marks {marks:?}");
        }
    }

    // spec: H5
    #[test]
    fn it_finds_entries_not_stable_content() {
        let mut bench = Bench::new();
        bench.ask(&talk(10, &[(9, FIVE)]));
        assert_eq!(bench.ask(&talk(5, &[(4, FIVE)])).read, 0, "nothing was ever written at block 4");
    }

    // spec: H5
    #[test]
    fn mixed_lifetimes_are_billed_apart() {
        let mut bench = Bench::new();
        assert_eq!(counts(&bench.ask(&talk(10, &[(2, HOUR), (5, FIVE)]))), (0, 30, 30, 40));
        bench.after(301);
        assert_eq!(counts(&bench.ask(&talk(10, &[(2, HOUR), (4, HOUR), (8, FIVE)]))), (30, 20, 40, 10));
        bench.after(301);
        assert_eq!(counts(&bench.ask(&talk(10, &[(2, HOUR), (5, FIVE)]))), (50, 0, 10, 40), "the hour lives on");
        bench.after(3601);
        assert_eq!(bench.ask(&talk(10, &[(2, HOUR), (5, FIVE)])).read, 0);
    }

    // spec: H5
    #[test]
    fn an_entry_lives_from_the_start_of_its_last_use() {
        let blocks = talk(4, &[(3, FIVE)]);
        for (pauses, read) in [(vec![299], 40), (vec![300], 0), (vec![200, 299], 40), (vec![200, 300], 0)] {
            let mut bench = Bench::new();
            bench.ask(&blocks);
            let last = pauses.iter().map(|pause| bench.after(*pause).ask(&blocks).read).last();
            assert_eq!(last, Some(read), "{pauses:?}");
        }
    }

    // spec: H5
    #[test]
    fn reading_through_a_prefix_keeps_shorter_entries_warm() {
        let mut bench = Bench::new();
        bench.ask(&talk(3, &[(2, FIVE)]));
        bench.ask(&talk(6, &[(5, FIVE)]));
        bench.after(200).ask(&talk(6, &[(5, FIVE)]));
        assert_eq!(bench.after(200).ask(&talk(3, &[(2, FIVE)])).read, 30);
    }

    // spec: H5
    #[test]
    fn a_write_is_seen_from_the_first_byte_of_its_answer() {
        let mut bench = Bench::new();
        let blocks = talk(3, &[(2, FIVE)]);
        let first = bench.start(&blocks);
        let twin = bench.start(&blocks);
        assert_eq!((first.read, twin.read, twin.write_5m), (0, 0, 30));
        bench.after(10);
        bench.state.begin_response(&first, bench.now);
        assert_eq!(bench.start(&blocks).read, 30);
        bench.state.begin_response(&twin, bench.now);
        assert_eq!(bench.after(299).start(&blocks).read, 30, "the read ten seconds in counts");
    }

    #[test]
    fn an_answer_still_to_begin_is_not_seen() {
        let mut bench = Bench::new();
        let blocks = talk(3, &[(2, FIVE)]);
        let outcome = bench.start(&blocks);
        bench.state.begin_response(&outcome, bench.now + SignedDuration::from_secs(10));
        assert_eq!(bench.after(9).start(&blocks).read, 0);
        assert_eq!(bench.after(1).start(&blocks).read, 30);
    }

    #[test]
    fn a_slow_answer_does_not_lengthen_a_life() {
        let mut bench = Bench::new();
        let blocks = talk(3, &[(2, FIVE)]);
        let outcome = bench.start(&blocks);
        bench.after(100);
        bench.state.begin_response(&outcome, bench.now);
        assert_eq!(bench.after(200).start(&blocks).read, 0, "five minutes count from the start of the request");
    }

    // spec: H5
    #[test]
    fn below_the_minimum_nothing_is_written() {
        let mut bench = Bench::new();
        bench.min = 50;
        assert_eq!(counts(&bench.ask(&talk(4, &[(3, FIVE)]))), (0, 0, 0, 40));
        assert_eq!(counts(&bench.ask(&talk(4, &[(3, FIVE)]))), (0, 0, 0, 40));
        assert_eq!(counts(&bench.ask(&talk(8, &[(1, HOUR), (5, FIVE)]))), (0, 0, 60, 20));
    }

    // spec: H5
    #[test]
    fn each_salt_spoils_its_level_and_what_follows() {
        let blocks = || {
            let levels = [Level::Tools, Level::System, Level::Messages];
            let block = |level| CacheBlock::new(level, b"same bytes", 10).marked(Ttl::FiveMinutes);
            levels.map(block).to_vec()
        };
        for (change, read) in [
            (Salts { tools: b"x".into(), ..Salts::default() }, 0),
            (Salts { system: b"x".into(), ..Salts::default() }, 10),
            (Salts { messages: b"x".into(), ..Salts::default() }, 20),
            (Salts::default(), 30),
        ] {
            let mut bench = Bench::new();
            bench.ask(&blocks());
            bench.salts = change.clone();
            assert_eq!(bench.ask(&blocks()).read, read, "{change:?}");
        }
    }

    #[test]
    fn nothing_is_shared_between_models_or_workspaces() {
        let blocks = talk(3, &[(2, FIVE)]);
        for shelf in [("w", "other"), ("other", "m")] {
            let mut bench = Bench::new();
            bench.ask(&blocks);
            bench.shelf = Shelf { workspace: shelf.0.into(), model: shelf.1.into() };
            assert_eq!(bench.ask(&blocks).read, 0);
        }
    }

    // spec: H5
    #[test]
    fn markers_are_checked() {
        let marks = |ttls: &[Option<Ttl>]| talk(9, &ttls.iter().copied().enumerate().collect::<Vec<_>>());
        for (ttls, verdict) in [
            (&[FIVE; 4][..], Ok(())),
            (&[FIVE; 5], Err(MarkerError::TooMany { found: 5 })),
            (&[HOUR, HOUR, FIVE], Ok(())),
            (&[FIVE, None, HOUR], Err(MarkerError::LongAfterShort { block: 2 })),
        ] {
            assert_eq!(check_markers(&marks(ttls)), verdict, "{ttls:?}");
        }
        let five = MarkerError::TooMany { found: 5 }.to_string();
        assert_eq!(five, "A maximum of 4 blocks with cache_control may be provided. Found 5.");
    }

    // spec: H5
    #[test]
    fn automatic_caching_marks_the_last_block_that_may_be_marked() {
        let mut blocks = talk(3, &[]);
        blocks[2].eligibility = Eligibility::Ineligible;
        mark_automatically(&mut blocks, Ttl::FiveMinutes).unwrap();
        assert_eq!(blocks[1].breakpoint, FIVE);
        let mut none: Vec<_> = talk(2, &[]).into_iter().map(CacheBlock::ineligible).collect();
        assert_eq!(mark_automatically(&mut none, Ttl::OneHour), Ok(()));
        assert!(none.iter().all(|block| block.breakpoint.is_none()));
        let mut own = talk(2, &[(1, HOUR)]);
        assert_eq!(mark_automatically(&mut own, Ttl::OneHour), Ok(()));
        assert_eq!(mark_automatically(&mut own, Ttl::FiveMinutes), Err(MarkerError::TwoLifetimes { block: 1 }));
        let mut full = talk(6, &[(0, FIVE), (1, FIVE), (2, FIVE), (3, FIVE)]);
        assert_eq!(mark_automatically(&mut full, Ttl::FiveMinutes), Err(MarkerError::TooMany { found: 5 }));
    }

    proptest! {
        #[test]
        fn the_counts_always_add_up(sizes in prop::collection::vec((0u64..3000, 0u8..12), 0..60), min in 0u64..5000, waits in prop::collection::vec(0i64..4000, 1..5)) {
            let mut bench = Bench::new();
            bench.min = min;
            let mut blocks: Vec<_> = sizes.iter().enumerate()
                .map(|(at, (tokens, _))| CacheBlock::new(Level::Messages, &at.to_be_bytes(), *tokens)).collect();
            for (at, (_, mark)) in sizes.iter().enumerate().filter(|(_, (_, mark))| *mark < 2).take(MAX_BREAKPOINTS) {
                blocks[at].breakpoint = if *mark == 0 { HOUR } else { FIVE };
            }
            prop_assume!(check_markers(&blocks).is_ok());
            let total: u64 = sizes.iter().map(|(tokens, _)| tokens).sum();
            for wait in waits {
                let outcome = bench.after(wait).ask(&blocks);
                prop_assert_eq!(outcome.usage(0).total_input(), total);
            }
        }
    }
}
