//! What people write: dates, things said outright, credentials, words that are filed. Nothing is lost or changed by looking.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scrubjay::memory::explicit::{self, Said};
use scrubjay::memory::{credential, draft, recall};
use scrubjay::message::{Block, Message, Origin, Role};
use scrubjay::{dates, secrets};
use std::sync::Arc;

// The patterns are made when they are tried first, which is no matter of the input.
fuzz_target!(init: look("Remember that we never deploy by Friday; token ghp_x.", "Keep doing that?"), |texts: (&str, &str)| {
    look(texts.0, texts.1);
});

fn look(text: &str, answered: &str) {
    let said = jiff::civil::date(2026, 11, 16);
    let mut end = 0;
    for found in dates::find(text, said) {
        assert!(end <= found.span.start && !text[found.span.clone()].is_empty(), "{found:?}");
        end = found.span.end;
    }
    let absolute = dates::absolute(text, said);
    assert_eq!(dates::absolute(&absolute, said), absolute, "twice changes nothing more: {text:?}");
    drop((dates::absolute_ahead(text, said), dates::absolute_where_clear(text, said)));

    let message = |role, origin, text: &str| {
        let at = "2026-11-16T09:00:00Z".parse().unwrap();
        Arc::new(Message { id: "m".into(), role, origin, at, blocks: vec![Block::text(text)] })
    };
    let person = message(Role::User, Origin::Person, text);
    let others = [(Role::User, Origin::Tool), (Role::Assistant, Origin::Model)];
    let spoken = [others.map(|(role, origin)| message(role, origin, answered)).to_vec(), vec![person]].concat();
    for found in explicit::find(&spoken, &jiff::tz::TimeZone::UTC) {
        assert!(text.contains(&found.quote), "the person's exact words: {found:?}");
        if let Said::Remember(topic) = found.said {
            assert!(!topic.name.trim().is_empty() && !topic.body.trim().is_empty(), "{topic:?}");
            assert_eq!(credential(&topic.text(), ""), None);
        }
    }

    let veiled = secrets::veiled(text);
    let specific = |text: &str| credential(text, "").is_some();
    assert!(!specific(&veiled), "what is veiled shows nothing: {veiled:?}");
    assert_eq!(secrets::scan(text).is_empty(), veiled == text);
    let _ = (draft::title(text), draft::description(text), draft::kind_of(text), recall::content_words(text));
}
