//! OpenAI's cache: automatic, no markers, no limit to how far it looks back.

use jiff::{SignedDuration, Timestamp};
use scrubjay::message::Usage;
use scrubjay::prompt_cache::rules::{CacheBlock, PrefixHash, Salts, prefix_hashes};
use std::collections::HashMap;

/// Shortest prefix that is cached, in tokens. Documented.
const MIN_TOKENS: u64 = 1024;

/// How long an entry lives after its last use at least. Documented.
const LIFETIME: SignedDuration = SignedDuration::from_mins(30);

/// Entries by model, routing key and prefix.
#[derive(Debug, Default)]
pub(crate) struct ImplicitCache {
    entries: HashMap<(String, PrefixHash), Timestamp>,
}

impl ImplicitCache {
    /// What a prompt reads, and writes at its one implicit breakpoint: the end.
    pub(super) fn request(&mut self, shelf: &str, blocks: &[CacheBlock], now: Timestamp) -> Usage {
        self.entries.retain(|_, expires| now < *expires);
        let hashes = prefix_hashes(blocks, &Salts::default());
        let key = |hash: &PrefixHash| (shelf.to_owned(), *hash);
        let hit = hashes.iter().rposition(|hash| self.entries.contains_key(&key(hash)));
        let tokens = |count: usize| blocks[..count].iter().map(|block| block.tokens).sum::<u64>();
        let (total, cache_read) = (tokens(blocks.len()), hit.map_or(0, |at| tokens(at + 1)));
        let expires = now.checked_add(LIFETIME).unwrap_or(Timestamp::MAX);
        if let Some(at) = hit {
            self.entries.insert(key(&hashes[at]), expires);
        }
        let cache_write = if total >= MIN_TOKENS { total - cache_read } else { 0 };
        if let (Some(last), true) = (hashes.last(), cache_write > 0) {
            self.entries.insert(key(last), expires);
        }
        Usage { input: total - cache_read - cache_write, cache_read, cache_write_5m: cache_write, ..Usage::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay::prompt_cache::rules::Level;

    // spec: H5
    #[test]
    fn the_longest_known_prefix_is_read_however_far_back() {
        let block = |at: u64| CacheBlock::new(Level::Messages, &at.to_be_bytes(), 100);
        let talk = |count: u64| (0..count).map(block).collect::<Vec<_>>();
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let mut cache = ImplicitCache::default();
        assert_eq!(cache.request("m", &talk(5), now).cache_write_5m, 0, "too short");
        assert_eq!(cache.request("m", &talk(20), now).cache_write_5m, 2000);
        let later = cache.request("m", &talk(60), now);
        assert_eq!((later.cache_read, later.cache_write_5m, later.input), (2000, 4000, 0));
        assert_eq!(cache.request("other", &talk(60), now).cache_read, 0);
        assert_eq!(cache.request("m", &talk(60), now + LIFETIME).cache_read, 0);
    }
}
