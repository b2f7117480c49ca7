//! What stands in a text once more, encoded: base64, hexadecimal, percent signs.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::ops::Range;

/// Shorter runs hold no credential; longer ones are files.
const RUN: std::ops::RangeInclusive<usize> = 24..=8192;

/// Each run of a text that decodes to text, once.
pub(super) fn runs(text: &str) -> Vec<(Range<usize>, String)> {
    let mut found = Vec::new();
    let is_run =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=' | b'%' | b'.');
    let bytes = text.as_bytes();
    let mut start = 0;
    while start < bytes.len() {
        let length = bytes[start..].iter().take_while(|byte| is_run(**byte)).count();
        if RUN.contains(&length) {
            let run = &text[start..start + length];
            found.extend(decoded(run).map(|decoded| (start..start + length, decoded)));
        }
        start += length + 1;
    }
    found
}

fn decoded(run: &str) -> Option<String> {
    let bytes = percent(run).or_else(|| hexadecimal(run)).or_else(|| base64(run))?;
    let text = String::from_utf8(bytes).ok()?;
    let readable = text.chars().all(|c| !c.is_control() || c.is_whitespace());
    readable.then_some(text)
}

fn hexadecimal(run: &str) -> Option<Vec<u8>> {
    let even = run.len().is_multiple_of(2) && run.bytes().all(|byte| byte.is_ascii_hexdigit());
    even.then(|| run.as_bytes().chunks_exact(2).filter_map(pair).collect())
}

fn pair(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn percent(run: &str) -> Option<Vec<u8>> {
    if run.bytes().filter(|byte| *byte == b'%').count() < 2 {
        return None;
    }
    let (mut out, mut rest) = (Vec::new(), run.as_bytes());
    while let [first, after @ ..] = rest {
        match (first, after.get(..2).and_then(pair)) {
            (b'%', Some(byte)) => {
                out.push(byte);
                rest = &after[2..];
            }
            _ => {
                out.push(*first);
                rest = after;
            }
        }
    }
    Some(out)
}

fn base64(run: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    // `name=` before a value is a run of its own kind.
    let run = run.trim_end_matches('=');
    let run = run.rsplit('=').next()?;
    let alphabet = if run.contains(['-', '_']) { alphabet::URL_SAFE } else { alphabet::STANDARD };
    GeneralPurpose::new(&alphabet, LENIENT).decode(run).ok()
}
