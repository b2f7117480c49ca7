//! `@path` in an instruction file: another file belongs to it. Not in code, where it is an example.

use crate::paths::expand_home;
use pulldown_cmark::{Event, Parser, Tag};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What stands behind each `@` that could be a path, in order, once each.
pub(super) fn targets(text: &str) -> Vec<String> {
    if !text.contains('@') {
        return Vec::new();
    }
    let code = code(text);
    let mut found: Vec<String> = Vec::new();
    for (at, _) in text.match_indices('@') {
        let begins_word = text[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || "([{\"'*>".contains(c));
        let next = code.partition_point(|range| range.end <= at);
        let in_code = code.get(next).is_some_and(|range| range.contains(&at));
        if begins_word && !in_code {
            found.extend(target(&text[at + 1..]).filter(|target| !found.contains(target)));
        }
    }
    found
}

/// Where code and HTML stand, in order.
fn code(text: &str) -> Vec<Range<usize>> {
    let is_code = |event: &Event<'_>| {
        matches!(
            event,
            Event::Code(_) | Event::InlineHtml(_) | Event::Start(Tag::CodeBlock(_)) | Event::Start(Tag::HtmlBlock)
        )
    };
    Parser::new(text).into_offset_iter().filter(|(event, _)| is_code(event)).map(|(_, range)| range).collect()
}

/// The word behind an `@`, without the punctuation of its sentence. A space in a name is written `\ `.
fn target(rest: &str) -> Option<String> {
    let mut word = String::new();
    let mut chars = rest.chars().peekable();
    while let Some(letter) = chars.next() {
        match letter {
            '\\' if chars.peek() == Some(&' ') => word.extend(chars.next()),
            letter if letter.is_whitespace() || letter == '<' => break,
            letter => word.push(letter),
        }
    }
    let word = word.trim_end_matches(|c: char| ".,;:!?)]}\"'*>".contains(c));
    let is_path = word.starts_with(|c: char| c.is_alphanumeric() || "./~_".contains(c)) && !word.contains(['@', '\0']);
    (is_path && word.contains(char::is_alphanumeric) && !word.contains("://")).then(|| word.to_owned())
}

/// A name that is nothing but a path.
pub(super) fn is_plainly_a_path(target: &str) -> bool {
    ["./", "../", "~/", "/"].iter().any(|begin| target.starts_with(begin))
}

/// Where a target leads: from home, from the root, or from the folder of the file that names it.
pub(super) fn path(target: &str, by: &Path, home: &Path) -> PathBuf {
    let folder = by.parent().unwrap_or(Path::new("/"));
    let target = target.strip_prefix("./").unwrap_or(target);
    folder.join(expand_home(target, home))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // spec: I2
    #[test]
    fn paths_are_found_in_prose_and_not_in_code() {
        for (text, found) in [
            ("@a.md", vec!["a.md"]),
            (
                "See @./docs/style.md, @docs/tests.md. (@~/notes.md) and @/etc/motd!",
                vec!["./docs/style.md", "docs/tests.md", "~/notes.md", "/etc/motd"],
            ),
            ("- @a.md\n- **@b.md**\n> @c.md", vec!["a.md", "b.md", "c.md"]),
            ("@my\\ notes/a\\ b.md", vec!["my notes/a b.md"]),
            ("@docs/under_score_name.md @a.md @a.md", vec!["docs/under_score_name.md", "a.md"]),
            ("`@a.md` and ``x @b.md``", vec![]),
            ("```\n@a.md\n```\n@b.md", vec!["b.md"]),
            ("~~~md\n@a.md\n~~~\n\n    @c.md\n", vec![]),
            ("<!-- @a.md -->\n\nx <b>@c.md</b>", vec!["c.md"]),
            ("ada@example.com @user@host @https://x.org/a", vec![]),
            ("@ @. @/ @@a", vec![]),
            ("`unclosed @a.md", vec!["a.md"]),
            ("@ada please", vec!["ada"]),
        ] {
            assert_eq!(targets(text), found, "{text}");
        }
    }

    #[test]
    fn targets_lead_from_the_file_that_names_them() {
        let (by, home) = (Path::new("/p/docs/CLAUDE.md"), Path::new("/home/ada"));
        for (target, lead) in [
            ("a.md", "/p/docs/a.md"),
            ("./a.md", "/p/docs/a.md"),
            ("../a.md", "/p/docs/../a.md"),
            ("~/a.md", "/home/ada/a.md"),
            ("/a.md", "/a.md"),
            ("~bob/a.md", "/p/docs/~bob/a.md"),
        ] {
            assert_eq!(path(target, by, home), Path::new(lead));
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_searched(text in "[@`~\\n a./<>!-]{0,60}") {
            for target in targets(&text) {
                prop_assert!(!target.is_empty() && !target.contains('@'));
            }
        }
    }
}
