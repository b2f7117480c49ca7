//! Memories and questions of any words, and an index from any bytes: what is found is there, once, and as often as asked for.
#![no_main]

mod seal;

use libfuzzer_sys::fuzz_target;
use scrubjay::memory::recall::{Document, Index, Query, Turn, Voice};
use std::collections::BTreeSet;

fuzz_target!(|input: (&str, &str, Vec<&str>, &[u8])| {
    let (question, name, bodies, bytes) = input;
    let documents = bodies.iter().take(12).enumerate().map(|(at, body)| {
        let turn =
            Turn { session: (at / 3).to_string(), position: at as u32, speaker: name.into(), voice: Voice::User };
        let time = jiff::Timestamp::from_second(1_700_000_000 + at as i64 * 86_400).ok();
        let (id, name, body) = (at.to_string(), name.to_owned(), (*body).to_owned());
        Document { id, name, body, time, turn: (at % 2 == 0).then_some(turn), ..Document::default() }
    });
    let mut index = Index::default();
    index.update(documents, []);
    asked(&index, question);
    let kept = Index::from_bytes(&index.to_bytes()).expect("what was written is read");
    assert_eq!(ids(&kept, question), ids(&index, question), "kept and read it answers the same");

    let magic = &index.to_bytes()[..8];
    let any = [magic, &seal::crc32c(bytes).to_le_bytes(), bytes].concat();
    if let Some(index) = Index::from_bytes(&any) {
        asked(&index, question);
    }
});

fn query(text: &str) -> Query<'_> {
    Query::new(text, jiff::Timestamp::from_second(1_800_000_000).unwrap().to_zoned(jiff::tz::TimeZone::UTC), 5)
}

fn ids(index: &Index, question: &str) -> Vec<String> {
    index.recall(&query(question)).into_iter().map(|hit| hit.id).collect()
}

fn asked(index: &Index, question: &str) {
    let found = index.recall(&query(question));
    let sessions = index.sessions(&query(question));
    assert!(found.len() <= 5 && sessions.len() <= 5);
    assert!(found.iter().chain(&sessions).all(|hit| hit.score.is_finite()), "{found:?} {sessions:?}");
    let known = index.stamps();
    assert!(found.iter().all(|hit| known.contains_key(hit.id.as_str())), "{found:?}");
    if known.len() == index.len() {
        assert_eq!(found.iter().map(|hit| &hit.id).collect::<BTreeSet<_>>().len(), found.len(), "{found:?}");
    }
}
