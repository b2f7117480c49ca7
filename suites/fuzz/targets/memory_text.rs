//! A memory's header and text, the index, and the fence around what a model sees.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scrubjay::limits::Limits;
use scrubjay::memory::{Topic, load_index};
use scrubjay::{fence, frontmatter};

fuzz_target!(|text: &str| {
    let limits = Limits::default();
    let topic = Topic::read(text, &limits);
    assert!(text.ends_with(&topic.body), "the body is the end of the file");
    assert_eq!(Topic::read(&topic.text_over(text, &limits), &limits), topic, "a rewrite says the same");
    let document = frontmatter::parse(text, &["name", "description", "type", "paths"], &limits);
    assert!(frontmatter::render(&document).ends_with(document.body));

    let loaded = load_index(text, "MEMORY.md", &limits);
    assert_eq!(loaded.warning.is_some(), loaded.line_cut.is_some() || loaded.byte_cut.is_some());

    let fenced = fence::fenced(text);
    assert_eq!(fence::fenced(&fenced), fenced, "twice changes nothing more");
    assert!(!fenced.to_lowercase().contains("</system-reminder"), "nothing closes our wrapper");
    let quoted = fence::quoted(text);
    assert_eq!(fence::quoted(&quoted), quoted);
    assert!(!fence::fenced_line(text).contains('\n'));
});
