//! A page of the web: something readable comes out, no longer than what went in allows.
#![no_main]

#[path = "../../../crates/scrubjay-cli/src/web_fetch/page.rs"]
mod page;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|html: &str| {
    let base = reqwest::Url::parse("https://birds.example/jays/").unwrap();
    let text = page::readable(html, &base);
    assert!(text.len() <= html.len() * 16 + 64, "{} bytes from {}", text.len(), html.len());
});
