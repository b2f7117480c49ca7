//! Time: asking an index, against reading every document again; bringing it up to date; loading it.

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use scrubjay::memory::recall::{Document, Index, Query};
use std::time::{Duration, Instant};

const SYLLABLES: [&str; 20] = [
    "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qui", "ro", "su", "ta", "ve", "wi", "xo",
    "zu",
];

/// Made-up words, the same each time, the common ones often.
struct Words(u64);

impl Words {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }

    fn word(&mut self) -> String {
        let spread = 1 + self.next(200);
        let mut number = self.next(spread * spread);
        let mut word = String::new();
        for _ in 0..3 {
            word.push_str(SYLLABLES[(number % 20) as usize]);
            number /= 20;
        }
        word
    }

    fn text(&mut self, count: usize) -> String {
        (0..count).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

fn memories(count: usize) -> Vec<Document> {
    let mut words = Words(0x1234_5678_9abc_def1);
    let start: Timestamp = Timestamp::UNIX_EPOCH;
    let memory = |number: usize| Document {
        id: format!("{number}.md"),
        name: words.text(3),
        description: words.text(10),
        body: words.text(120),
        kind: "project".to_owned(),
        stamp: number as u64,
        time: start.checked_add((number as i64).minutes()).ok(),
        turn: None,
    };
    (0..count).map(memory).collect()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The machine may be busy with something else: the best of a few is the nearest to what it takes.
fn least(times: Vec<Duration>) -> Duration {
    times.into_iter().min().unwrap_or_default()
}

fn timed(act: impl FnOnce()) -> Duration {
    let start = Instant::now();
    act();
    start.elapsed()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// What one would do without an index: read all of it, and count the words of the question.
fn scan(documents: &[Document], asked: &str) -> usize {
    let asked: Vec<String> = asked.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let count = |document: &Document| {
        let text = [&document.name, &document.description, &document.body].map(|field| field.to_lowercase());
        asked.iter().filter(|word| text.iter().any(|field| field.contains(word.as_str()))).count()
    };
    let mut order: Vec<(usize, usize)> =
        documents.iter().enumerate().map(|(place, document)| (count(document), place)).collect();
    order.sort_unstable_by(|a, b| b.cmp(a));
    order.len()
}

pub fn measure() {
    println!(
        "\n### Speed\n\n| memories | recall p50 ms | p99 ms | scan p50 ms | scan : recall | build ms | update one ms | cache MB | load ms |\n|---|---|---|---|---|---|---|---|---|"
    );
    for count in [1000, 10_000, 100_000] {
        let documents = memories(count);
        let mut index = Index::default();
        let read = documents.clone();
        let build = timed(|| index.update(read, []));
        let update = least((0..5).map(|at| timed(|| index.update([documents[at].clone()], []))).collect());
        let bytes = index.to_bytes();
        let load = least((0..5).map(|_| timed(|| drop(std::hint::black_box(Index::from_bytes(&bytes))))).collect());
        let mut words = Words(0xfeed_beef_cafe_f00d);
        let (mut ours, mut scans) = (Vec::new(), Vec::new());
        for round in 0..200 {
            let asked = words.text(6);
            let query = Query::new(&asked, Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC), 10);
            let time = Instant::now();
            std::hint::black_box(index.recall(&query));
            ours.push(time.elapsed());
            if round % 20 == 0 {
                let time = Instant::now();
                std::hint::black_box(scan(&documents, &asked));
                scans.push(time.elapsed());
            }
        }
        ours.sort();
        let (p50, p99) = (ours[ours.len() / 2], ours[ours.len() * 99 / 100]);
        let scan = median(scans);
        println!(
            "| {count} | {:.2} | {:.2} | {:.1} | {:.0} : 1 | {:.0} | {:.1} | {:.1} | {:.1} |",
            milliseconds(p50),
            milliseconds(p99),
            milliseconds(scan),
            scan.as_secs_f64() / p50.as_secs_f64(),
            milliseconds(build),
            milliseconds(update),
            bytes.len() as f64 / 1e6,
            milliseconds(load),
        );
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("peak memory unknown");
    println!("\n{peak} (documents of the benchmark included)");
}
