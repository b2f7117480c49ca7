//! What the pollution figure costs on a large memory, and what of it is the comparing.
//!
//! `cargo bench -p scrubjay --bench pollution -- [memories]`: texts of some forty words drawn as words are in prose, a few used all the time
//! and most of them hardly ever; one memory in twenty says what the one before it says.

use jiff::Timestamp;
use scrubjay::limits::Limits;
use scrubjay::memory::{Memory, Place};
use scrubjay::paths::Layout;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Different words there are.
const VOCABULARY: f64 = 20_000.0;
const WORDS: usize = 40;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    let memories: usize = words.next().map_or(Ok(10_000), |count| count.parse())?;
    let held = tempfile::tempdir()?;
    let limits = Limits::default();
    let place = Place::of(&Layout::at(held.path()).project(Path::new("/bench"), &limits));
    std::fs::create_dir_all(&place.memory)?;
    let mut dice = Dice(7);
    let mut last = String::new();
    for n in 0..memories {
        let body = if n % 20 == 19 { last.clone() } else { dice.prose() };
        let name = dice.word();
        let text = format!("---\nname: {name} {n}\ndescription: about {name}\ntype: project\n---\n{body}\n");
        std::fs::write(place.memory.join(format!("project_{n:06}.md")), text)?;
        last = body;
    }
    let (memory, _) = Memory::open(&place, Arc::new(Timestamp::now), &limits)?;
    for _ in 0..3 {
        let start = Instant::now();
        let found = memory.pollution(held.path(), &CancellationToken::new())?;
        let (took, twice) = (start.elapsed(), found.duplicates.len());
        println!("{memories} memories: {took:.2?}, {twice} duplicates of {}", memories / 20);
    }
    Ok(())
}

/// The same texts every time.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The n-th word of a language is used an n-th as often as the first.
    fn word(&mut self) -> String {
        let rank = VOCABULARY.powf(self.next()) as u64;
        format!("wo{}", rank.to_string().chars().map(|c| (b'a' + c as u8 - b'0') as char).collect::<String>())
    }

    fn prose(&mut self) -> String {
        let words: Vec<String> = (0..WORDS).map(|_| self.word()).collect();
        words.chunks(10).map(|sentence| format!("{}. ", sentence.join(" "))).collect()
    }
}
