//! Small things about words: their script, what is quoted among them, where a reason begins.

use regex::Regex;
use std::sync::LazyLock;

/// Which script a sentence is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tongue {
    Han,
    Other,
}

impl Tongue {
    pub(super) fn of(text: &str) -> Self {
        let is_han = |c: &char| ('\u{4e00}'..='\u{9fff}').contains(c);
        if text.chars().filter(is_han).count() >= 2 { Tongue::Han } else { Tongue::Other }
    }
}

const PAIRS: &[(char, char)] =
    &[('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('「', '」'), ('『', '』'), ('‘', '’'), ('\'', '\''), ('`', '`')];

/// The text with everything between quotation marks made opaque, byte for byte, and apostrophes made plain in meaning only.
pub(super) fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut until: Option<char> = None;
    for (at, c) in text.char_indices() {
        let (before, after) = (text[..at].chars().next_back(), text[at + c.len_utf8()..].chars().next());
        let in_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        match until {
            Some(close) if c == close && (c != '\'' || !in_word(after)) => {
                until = None;
                out.push(c);
            }
            Some(_) => out.extend(std::iter::repeat_n('_', c.len_utf8())),
            None => {
                let opens = |open: char| open == c && (c != '\'' || !in_word(before));
                let pair = PAIRS.iter().find(|(open, _)| opens(*open)).map(|(_, close)| *close);
                until = pair.filter(|close| text[at + c.len_utf8()..].contains(*close));
                out.push(c);
            }
        }
    }
    out
}

/// Without the mark that ends it.
pub(super) fn ended(text: &str) -> &str {
    text.trim().trim_end_matches(['.', '!', '。', '！', '；', ';', ','])
}

/// As a sentence of its own: a capital letter, and a mark at its end.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim().trim_start_matches([',', ':', '，', '：', '-', '–', '—', ' ']);
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    let rest = chars.as_str();
    let code = text.split_whitespace().next().is_some_and(|word| word.contains(['_', '/', '.', '`']));
    let body = if code { text.to_owned() } else { format!("{first}{rest}") };
    let marked = body.ends_with(['.', '!', '?', '。', '！', '？', '…', ':', '"', '”']);
    match (marked, Tongue::of(&body)) {
        (true, _) => body,
        (false, Tongue::Han) => format!("{body}。"),
        (false, Tongue::Other) => format!("{body}."),
    }
}

fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// Where a sentence goes on to say why.
static WHY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let latin = r"(?i)[,;]?\s+(?:because|otherwise|weil|denn|sonst|parce qu[e']|sinon|porque|ya que)\s+";
    let remark = r"|(?i)[,;]\s+(?:it|they|that|this|last time|the last time)\s+";
    let han = r"|[，；,]?\s*(?:因为|否则|不然|原因是|上次|上回)";
    pattern(&format!("{latin}{remark}{han}"))
});
/// A sentence that is nothing but the reason of the one before.
static REASON: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let latin =
        r"(?i)^(?:(?:that's |this is |it's )?because|otherwise|last time|the reason is|reason:|weil|sonst|sinon)\b";
    pattern(&format!("{latin}|^(?:因为|否则|不然|原因是|上次|上回)"))
});

/// Dates as they are written into memories, with the words they stand for.
static DATES: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"\d{4}-\d{2}(?:-\d{2})?(?:\s?[(（][^)）]*[)）])?"));

/// The text without its dates: what it is about.
pub(super) fn undated(text: &str) -> String {
    DATES.as_ref().map_or_else(|| text.to_owned(), |dates| dates.replace_all(text, "").into_owned())
}

/// A statement, and the reason given within it.
pub(super) fn split_reason(text: &str) -> (String, Option<String>) {
    let found = WHY.as_ref().and_then(|why| why.find_iter(text).find(|hit| hit.start() > 0));
    let Some(found) = found else { return (text.to_owned(), None) };
    let (before, after) = text.split_at(found.start());
    let after = after.trim_start_matches([',', ';', '，', '；', ' ']);
    if before.chars().count() < 4 || after.chars().count() < 4 {
        return (text.to_owned(), None);
    }
    (sentence(before), Some(sentence(after)))
}

/// Whether a sentence only says why.
pub(super) fn is_reason(sentence: &str) -> bool {
    REASON.as_ref().is_some_and(|reason| reason.is_match(sentence))
}
