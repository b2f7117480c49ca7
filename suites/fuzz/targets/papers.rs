//! Small papers that others write: kinds of agents, letters and addresses, drafts with citations.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scrubjay::agents::definition::{Author, Definition, is_kind};
use scrubjay::agents::letters::{Address, Letter, is_name};
use scrubjay::limits::Limits;
use scrubjay::memory::Topic;
use scrubjay::memory::extraction::Draft;

fuzz_target!(|text: &str| {
    let limits = Limits::default();
    let (definition, notices) = Definition::read(text, Author::Project, None, &limits);
    assert!(notices.iter().all(|line| !line.contains(['\n', '\u{1b}', '\u{202e}'])), "{notices:?}");
    assert!(definition.is_none_or(|it| is_kind(&it.name) && !it.description.contains('\u{1b}')));

    if let Ok(letter) = Letter::from_bytes(text.as_bytes(), &limits) {
        assert!([&letter.id, &letter.from, &letter.to].into_iter().all(|name| is_name(name)), "{letter:?}");
        assert_eq!(Letter::from_bytes(&letter.to_bytes(&limits).unwrap(), &limits), Ok(letter));
    }
    if let Ok(Address::Name(name)) = Address::read(text) {
        assert!(is_name(&name));
    }

    let draft = Draft::read("a.md", text, None, &limits);
    assert!(draft.cites.iter().all(|cite| !cite.trim().is_empty()));
    assert!(
        text.ends_with(&Topic::read(&draft.text, &limits).body),
        "citations take nothing with them: {:?}",
        draft.text
    );
    assert!(Draft::read("a.md", &draft.text, None, &limits).cites.is_empty(), "none is saved: {:?}", draft.text);
});
