//! What services say when a request does not fit their window. The wordings are data: `overflow.toml`.

use regex::{Captures, Regex};
use serde::Deserialize;
use std::sync::LazyLock;

/// A request that does not fit, as far as the service gave numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Overflow {
    /// By how many tokens.
    pub(crate) over_by: Option<u64>,
    /// What the window has left for a reply, where the prompt alone would fit.
    pub(crate) room: Option<u64>,
}

impl Overflow {
    /// From the sizes of a prompt and of a window.
    pub(crate) fn of_sizes(prompt: u64, window: u64) -> Self {
        Self { over_by: positive(prompt.checked_sub(window)), room: positive(window.checked_sub(prompt)) }
    }

    /// From a service's words, if they are about this.
    pub(crate) fn read(message: &str) -> Option<Self> {
        let wordings = &*WORDINGS;
        let counted =
            wordings.counted.iter().find_map(|wording| wording.captures(message)).map(|found| counted(&found));
        counted.or_else(|| {
            let lower = message.to_lowercase();
            wordings.phrases.iter().any(|phrase| lower.contains(phrase.as_str())).then(Self::default)
        })
    }
}

/// Whether a code or kind of error names this.
pub(crate) fn is_overflow_code(code: &str) -> bool {
    WORDINGS.codes.iter().any(|known| known == code)
}

/// The groups of a wording: `input`, `output`, `total`, `window`, `over`.
fn counted(found: &Captures<'_>) -> Overflow {
    let number = |name: &str| found.name(name)?.as_str().replace(',', "").parse::<u64>().ok();
    let window = number("window");
    let input = number("input");
    let total = number("total").or_else(|| Some(input? + number("output").unwrap_or_default()));
    let over_by = number("over").or_else(|| total?.checked_sub(window?));
    let room = input.and_then(|input| window?.checked_sub(input));
    Overflow { over_by: positive(over_by), room: positive(room) }
}

fn positive(number: Option<u64>) -> Option<u64> {
    number.filter(|number| *number > 0)
}

#[derive(Deserialize)]
struct Table {
    codes: Vec<String>,
    counted: Vec<String>,
    phrases: Vec<String>,
}

struct Wordings {
    codes: Vec<String>,
    counted: Vec<Regex>,
    phrases: Vec<String>,
}

static WORDINGS: LazyLock<Wordings> = LazyLock::new(|| {
    let table = toml::from_str(include_str!("overflow.toml"));
    let Table { codes, counted, phrases } =
        table.unwrap_or(Table { codes: Vec::new(), counted: Vec::new(), phrases: Vec::new() });
    // `N` stands for a number with or without separators.
    let pattern = |text: &String| Regex::new(&format!("(?is){}", text.replace("=N)", r">[0-9][0-9,]*)"))).ok();
    Wordings { codes, counted: counted.iter().filter_map(pattern).collect(), phrases }
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_used() {
        let table: Table = toml::from_str(include_str!("overflow.toml")).unwrap();
        assert_eq!(WORDINGS.counted.len(), table.counted.len(), "a pattern does not compile");
        assert!(WORDINGS.phrases.iter().all(|phrase| *phrase == phrase.to_lowercase()));
        assert!(!WORDINGS.codes.is_empty() && !WORDINGS.phrases.is_empty());
    }

    const fn overflow(over_by: Option<u64>, room: Option<u64>) -> Option<Overflow> {
        Some(Overflow { over_by, room })
    }

    /// What services were heard to say, and what it means.
    const HEARD: &[(&str, Option<Overflow>)] = &[
        ("prompt is too long: 213462 tokens > 200000 maximum", overflow(Some(13_462), None)),
        (
            "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length or `max_tokens` and try again",
            overflow(Some(7_951), Some(241)),
        ),
        (
            "The model returned the following errors: input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length",
            overflow(Some(42_959), Some(21_041)),
        ),
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
            overflow(Some(808), None),
        ),
        (
            "This model's maximum context length is 6048 tokens. However, you requested 6616 tokens (568 in the messages, 6048 in the completion).",
            overflow(Some(568), Some(5_480)),
        ),
        (
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens (140000 of text input, 10000 in the output).",
            overflow(Some(18_928), None),
        ),
        (
            "This model's maximum context length is 128000 tokens. However, you requested 65535 output tokens and your prompt contains at least 62466 input tokens, for a total of at least 128001 tokens.",
            overflow(Some(1), Some(65_534)),
        ),
        (
            "This model's maximum context length is 2048 tokens. However, your request has 8 input tokens plus 2045 'max_tokens'.",
            overflow(Some(5), Some(2_040)),
        ),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192 tokens and your request has 500 input tokens (9000 > 8192 - 500).",
            overflow(None, Some(7_692)),
        ),
        (
            "You passed 202753 input tokens and requested 0 output tokens. However, the model's context length is only 202752 tokens, resulting in a maximum input length of 202752 tokens.",
            overflow(Some(1), None),
        ),
        (
            "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5000 tokens: 4000 tokens from the input messages and 1000 tokens for the completion.",
            overflow(Some(904), Some(96)),
        ),
        ("The input (5000 tokens) is longer than the model's context length (4096 tokens).", overflow(Some(904), None)),
        (
            "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
            overflow(Some(808), None),
        ),
        (
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
            overflow(Some(904), None),
        ),
        (
            "ValidationException: 400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 9279",
            overflow(Some(1_087), None),
        ),
        (
            "The input token count (1,050,000) exceeds the maximum number of tokens allowed (1,048,576).",
            overflow(Some(1_424), None),
        ),
        (
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
            overflow(Some(28_000), None),
        ),
        (
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            overflow(Some(406_740), None),
        ),
        ("prompt token count of 150000 exceeds the limit of 128000", overflow(Some(22_000), None)),
        (
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4000 `inputs` tokens and 1000 `max_new_tokens`",
            overflow(Some(903), Some(97)),
        ),
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            overflow(Some(7_232), None),
        ),
        ("Your request exceeded model token limit: 8192 (requested: 9000)", overflow(Some(808), None)),
        ("prompt too long; exceeded max context length by 12 tokens", overflow(Some(12), None)),
        ("the input length exceeds the context length", overflow(None, None)),
        ("Your input exceeds the context window of this model.", overflow(None, None)),
        ("Input is too long for requested model.", overflow(None, None)),
        ("litellm.ContextWindowExceededError: boom", overflow(None, None)),
        ("Too many tokens, please wait before trying again.", None),
        ("max_tokens: 9 > 8, which is the maximum", None),
        ("max_tokens is too large: 100000. This model supports at most 16384 completion tokens", None),
        ("This request would exceed your organization's rate limit of 40,000 input tokens per minute", None),
        ("Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000.", None),
    ];

    // spec: Q2
    #[test]
    fn the_numbers_of_each_wording_are_read() {
        for (message, expected) in HEARD {
            assert_eq!(Overflow::read(message), *expected, "{message}");
        }
        assert_eq!(Overflow::of_sizes(9_000, 8_192), Overflow { over_by: Some(808), room: None });
    }
}
