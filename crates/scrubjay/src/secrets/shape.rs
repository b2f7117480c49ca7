//! Whether a string looks random, or like the example in somebody's documentation.

/// Bits per character.
pub(super) fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = text.len().max(1) as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / length)
        .map(|share| -share * share.log2())
        .sum()
}

/// Whether it is there to be replaced: a run of one character, a row that counts up, a word that says so.
pub(super) fn is_placeholder(text: &str) -> bool {
    const WORDS: &[&str] =
        &["example", "placeholder", "redacted", "changeme", "your_", "your-", "dummy", "abcdef", "123456", "qwerty"];
    let lower = text.to_ascii_lowercase();
    let bytes = lower.as_bytes();
    let run =
        bytes.windows(6).any(|window| window.iter().all(|byte| *byte == window[0] && !matches!(byte, b'-' | b'a')));
    let crossed = lower.contains("xxxx") || lower.contains("****") || lower.contains("....");
    run || crossed || WORDS.iter().any(|word| lower.contains(word))
}

/// Whether something else goes on at the edge of a token.
pub(super) fn goes_on(byte: Option<u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Whether a password says nothing: a variable, a blank, the word itself.
pub(super) fn is_blank_password(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "pass", "password", "passwd", "pwd", "secret", "user", "token", "test", "foo", "bar", "root", "admin",
        "postgres", "guest",
    ];
    let lower = text.to_ascii_lowercase();
    WORDS.contains(&lower.as_str()) || text.contains(['$', '{', '<', '*', '[', '(']) || is_placeholder(text)
}
