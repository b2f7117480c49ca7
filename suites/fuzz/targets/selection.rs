//! What a model answers when it is to choose among memories: only what was listed counts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scrubjay::limits::Limits;
use scrubjay::memory::Candidates;
use scrubjay::memory::select::chosen;

fuzz_target!(|answer: &str| {
    let listed = ["a.md", "b.md", "team/c.md", "d e.md", "f.md", "g.md", "h.md"];
    let manifest = listed.map(|name| (name.to_owned(), format!("- {name}"))).to_vec();
    let among = Candidates { manifest, ..Candidates::default() };
    let limits = Limits::default();
    if let Some(chosen) = chosen(answer, &among, &limits) {
        assert!(chosen.len() as u64 <= limits.recall_places);
        assert!(chosen.iter().all(|name| listed.contains(&name.as_str())), "{chosen:?}");
        assert!((1..chosen.len()).all(|at| !chosen[..at].contains(&chosen[at])), "{chosen:?}");
    }
});
