//! Text in stream-sized pieces, and events as they stand on the wire.

use axum::body::Bytes;
use serde_json::Value;

/// Characters of one delta: small, so that every reply has several.
const DELTA_CHARS: usize = 16;

/// Cut text into deltas, never inside a character.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(DELTA_CHARS).map_or(rest.len(), |(at, _)| at);
        let (piece, later) = rest.split_at(end);
        rest = later;
        (!piece.is_empty()).then_some(piece)
    })
}

/// As much of a text as fits into some tokens.
pub(super) fn fitting(text: &str, tokens: u64, scale_percent: u64) -> &str {
    let bytes = tokens.saturating_mul(400) / scale_percent.max(1);
    let mut end = usize::try_from(bytes).unwrap_or(usize::MAX).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A server-sent event with a name.
pub(super) fn named_event(name: &str, data: &Value) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}

/// A server-sent event without one.
pub(super) fn event(data: &str) -> Bytes {
    format!("data: {data}\n\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_join_to_the_whole(text in any::<String>(), tokens in 0u64..50, scale in 1u64..300) {
            prop_assert_eq!(split(&text).collect::<String>(), text.clone());
            prop_assert!(text.starts_with(fitting(&text, tokens, scale)));
        }
    }
}
