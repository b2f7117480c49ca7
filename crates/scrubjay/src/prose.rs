//! Prose, sentence by sentence: what somebody said, told apart from code and output that they pasted.

/// One sentence of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sentence<'a> {
    /// Its words, without list marks and outer white space.
    pub(crate) text: &'a str,
    /// Where it begins in the text.
    pub(crate) at: usize,
    /// Whether it was said, or looks pasted: quoted, code, a log, a table.
    pub(crate) voice: Voice,
}

/// Whose words a sentence seems to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    /// The writer's own.
    Said,
    /// Copied from somewhere.
    Pasted,
}

/// The sentences of a text, in order. A line break ends a sentence, as people write to a terminal.
pub(crate) fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let mark = fence_mark(line);
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if closes(line, open, mark) => fence = None,
            (Some(_), _) => push(&mut found, text, start..at, Voice::Pasted),
            (None, None) => {
                let voice = if looks_pasted(line) { Voice::Pasted } else { Voice::Said };
                split_line(&mut found, text, start..at, voice);
            }
        }
    }
    found
}

/// The run of backticks or tildes that opens or closes a fence, if the line is one.
pub(crate) fn fence_mark(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(' ');
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    (length >= 3).then(|| &line[..length])
}

/// Whether a line with this mark closes the fence that `open` opened.
pub(crate) fn closes(line: &str, open: &str, mark: &str) -> bool {
    mark.starts_with(open) && line.trim().len() == mark.len()
}

fn split_line<'a>(found: &mut Vec<Sentence<'a>>, text: &'a str, range: std::ops::Range<usize>, voice: Voice) {
    let line = &text[range.clone()];
    let mut start = range.start;
    let mut chars = line.char_indices().peekable();
    while let Some((offset, c)) = chars.next() {
        let after = offset + c.len_utf8();
        let ends = match c {
            '。' | '！' | '？' | '；' => true,
            '.' | '!' | '?' => {
                chars.peek().is_none_or(|(_, next)| next.is_whitespace()) && !abbreviates(&line[..after])
            }
            _ => false,
        };
        if ends {
            push(found, text, start..range.start + after, voice);
            start = range.start + after;
        }
    }
    push(found, text, start..range.end, voice);
}

fn abbreviates(so_far: &str) -> bool {
    let word = so_far.rsplit(char::is_whitespace).next().unwrap_or_default().trim_start_matches('(');
    let numbers_an_item = so_far.trim().trim_end_matches('.').chars().all(|c| c.is_ascii_digit());
    numbers_an_item || ["e.g.", "i.e.", "etc.", "vs.", "cf.", "approx."].contains(&word.to_ascii_lowercase().as_str())
}

fn push<'a>(found: &mut Vec<Sentence<'a>>, text: &'a str, range: std::ops::Range<usize>, voice: Voice) {
    let whole = &text[range.clone()];
    let words = without_list_mark(whole.trim_start());
    let at = range.end - words.len();
    let words = words.trim_end();
    if words.chars().any(char::is_alphanumeric) {
        found.push(Sentence { text: words, at, voice });
    }
}

/// A line without `- `, `* `, `1. ` or `2) ` at its start.
pub(crate) fn without_list_mark(line: &str) -> &str {
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+', '•']),
        1..=3 => line[digits..].strip_prefix(['.', ')']),
        _ => None,
    };
    match rest {
        Some(rest) if rest.starts_with([' ', '\t']) => rest.trim_start(),
        _ => line,
    }
}

/// Logs, tables, quotations and code have more marks than prose, or begin in a telling way.
fn looks_pasted(line: &str) -> bool {
    let trimmed = line.trim();
    let begins =
        ["> ", ">>", "|", "{", "[{", "$ ", "<", "//", "# ", "##", "at ", "+++", "---", "@@", "⎿", "│", "╰", "├"];
    if begins.iter().any(|mark| trimmed.starts_with(mark)) || trimmed == ">" || line.starts_with('\t') {
        return true;
    }
    let letters = trimmed.chars().filter(|c| c.is_alphanumeric() || c.is_whitespace()).count();
    let all = trimmed.chars().count();
    let dated =
        trimmed.len() > 10 && trimmed.as_bytes()[..4].iter().all(u8::is_ascii_digit) && trimmed.as_bytes()[4] == b'-';
    dated || letters * 4 < all * 3
}

/// At most `most` bytes of `text`, cut at a character, and at a space where one is near.
pub(crate) fn head(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let cut = &text[..text.floor_char_boundary(most)];
    match cut.rfind(char::is_whitespace) {
        Some(space) if space * 4 >= cut.len() * 3 => cut[..space].trim_end(),
        _ => cut,
    }
}

/// At most `most` bytes from the end of `text`, cut in the same way.
pub(crate) fn tail(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let cut = &text[text.ceil_char_boundary(text.len() - most)..];
    match cut.find(char::is_whitespace) {
        Some(space) if space * 4 <= cut.len() => cut[space..].trim_start(),
        _ => cut,
    }
}

/// The text on one line, every run of white space one space.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text on one line, cut to about `most` bytes with a mark.
pub(crate) fn gist(text: &str, most: usize) -> String {
    let line = one_line(head(text, most.saturating_mul(2)));
    let cut = head(&line, most);
    if cut.len() == line.len() && text.len() <= most.saturating_mul(2) { line } else { format!("{cut}…") }
}

/// Text as an inline code span that its own backticks cannot end.
pub(crate) fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let mark = "`".repeat(longest + 1);
    let pad = if longest > 0 { " " } else { "" };
    format!("{mark}{pad}{text}{pad}{mark}")
}

/// What people tell an agent to do.
const VERBS: [&str; 5] = [
    "use edit change touch work commit push run write read add remove delete modify create make do fix update keep call",
    "install merge rebase rename move refactor implement test build deploy release send post show tell answer reply",
    "speak respond ask start stop open close apply copy import log print format lint report include support return try",
    "set leave put let squash amend force replace rewrite restart migrate look check finish continue go store save break",
    "skip mock stub hard-code disable enable download upload publish revert reset stage tag bump upgrade downgrade",
];

/// Whether a word is one of them.
pub(crate) fn is_verb(word: &str) -> bool {
    VERBS.iter().flat_map(|line| line.split(' ')).any(|verb| verb == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(text: &str) -> Vec<&str> {
        sentences(text).into_iter().filter(|s| s.voice == Voice::Said).map(|s| s.text).collect()
    }

    #[test]
    fn sentences_are_told_apart_from_what_was_pasted() {
        for (text, expected) in [
            ("One. Two! Three?", vec!["One.", "Two!", "Three?"]),
            ("- first point\n2) second, e.g. this\n", vec!["first point", "second, e.g. this"]),
            ("1. keep v5.1 of x.rs\nnext", vec!["keep v5.1 of x.rs", "next"]),
            ("before\n```sh\nnever this\n```\nafter", vec!["before", "after"]),
            ("````\n```\nnever\n````\nend", vec!["end"]),
            ("> quoted never\nmine", vec!["mine"]),
            ("{\"level\":\"DEBUG\"}\n2026-02-15T20:46 INFO x\nmine", vec!["mine"]),
            ("不要改这个。以后都用中文！好", vec!["不要改这个。", "以后都用中文！", "好"]),
            ("   \n\n", vec![]),
        ] {
            assert_eq!(said(text), expected, "{text:?}");
        }
    }

    #[test]
    fn cuts_are_at_words() {
        assert_eq!(head("alpha beta gamma", 11), "alpha beta");
        assert_eq!(tail("alpha beta gamma", 11), "beta gamma");
        assert_eq!(head("äöü", 3), "ä");
        assert_eq!(gist("a  b\nc", 80), "a b c");
        assert_eq!(code("a`b"), "`` a`b ``");
    }

    proptest! {
        #[test]
        fn every_sentence_stands_where_it_says(text in "[a-c.!?。`>~ \n\t{}0-9é-]{0,200}", most in 0usize..50) {
            let mut end = 0;
            for sentence in sentences(&text) {
                prop_assert_eq!(&text[sentence.at..sentence.at + sentence.text.len()], sentence.text);
                prop_assert!(sentence.at >= end);
                end = sentence.at + sentence.text.len();
            }
            prop_assert!(head(&text, most).len() <= most && tail(&text, most).len() <= most);
            prop_assert!(text.starts_with(head(&text, most)) && text.ends_with(tail(&text, most)));
            gist(&text, most);
        }
    }
}
