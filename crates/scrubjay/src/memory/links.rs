//! Where the links of a Markdown text lead, and the same text with links that lead elsewhere.

use pulldown_cmark::{Event, Parser, Tag};
use std::ops::Range;

/// The file that a link leads to, as a path, when it leads to one and not into the web. What it points to within the file is
/// left out.
pub fn file(target: &str) -> Option<String> {
    let path = decoded(target.split(['#', '?']).next().unwrap_or_default())?;
    (!path.is_empty() && !path.contains([':', '\0', '\n'])).then_some(path)
}

/// The text with other targets: whatever `to` answers for the path of a linked file takes its place. Text in code, what a link
/// points to within its file and everything else stay to the byte.
///
/// ```
/// let text = "See [the plan](Plan%20B.md#week-1), not `[x](Plan%20B.md)`.";
/// let moved = scrubjay::memory::links::relinked(text, |path| (path == "Plan B.md").then(|| "plan_b.md".to_owned()));
/// assert_eq!(moved, "See [the plan](plan_b.md#week-1), not `[x](Plan%20B.md)`.");
/// ```
pub fn relinked(text: &str, to: impl Fn(&str) -> Option<String>) -> String {
    let mut moved: Vec<(Range<usize>, String)> = Vec::new();
    for place in targets(text) {
        let target = &text[place.clone()];
        let Some(other) = file(target).and_then(|path| to(&path)) else { continue };
        let rest = target.find(['#', '?']).map_or("", |at| &target[at..]);
        moved.push((place, written(&other) + rest));
    }
    moved.sort_by_key(|(place, _)| place.start);
    let mut out = String::new();
    let mut end = 0;
    for (place, target) in moved {
        if place.start >= end {
            out.push_str(&text[end..place.start]);
            out.push_str(&target);
            end = place.end;
        }
    }
    out + &text[end..]
}

/// A line as it is read: of its links the words, and no marks but those of code.
pub fn read(line: &str) -> String {
    let mut words = String::new();
    for event in Parser::new(line) {
        match event {
            Event::Text(text) => words.push_str(&text),
            Event::Code(code) => words.push_str(&format!("`{code}`")),
            Event::SoftBreak | Event::HardBreak => words.push(' '),
            _ => {}
        }
    }
    words
}

/// A path without the escapes of addresses: `a%20b.md`.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let digits = more.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// A path as a target that needs no brackets.
fn written(path: &str) -> String {
    path.replace('%', "%25").replace(' ', "%20").replace('(', "%28").replace(')', "%29").replace('#', "%23")
}

/// Where the targets stand, as far as they mean what is written.
fn targets(text: &str) -> Vec<Range<usize>> {
    let parser = Parser::new(text);
    let mut found: Vec<Range<usize>> = Vec::new();
    for (_, defined) in parser.reference_definitions().iter() {
        let named = text[defined.span.clone()].find("]:").map(|at| defined.span.start + at..defined.span.end);
        found.extend(named.and_then(|within| first_of(text, &within, &defined.dest)));
    }
    for (event, span) in parser.into_offset_iter() {
        if let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event {
            let opens = text[span.clone()].rfind("](").map(|at| span.start + at..span.end);
            found.extend(opens.and_then(|within| first_of(text, &within, &dest_url)));
        }
    }
    found
}

/// Where a target stands within its link.
fn first_of(text: &str, within: &Range<usize>, target: &str) -> Option<Range<usize>> {
    let at = within.start + text[within.clone()].find(target).filter(|_| !target.is_empty())?;
    Some(at..at + target.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn links_lead_elsewhere_and_nothing_else_changes() {
        let to = |path: &str| (path == "a b.md" || path == "../x.md").then(|| "new/x y.md".to_owned());
        for (text, moved) in [
            ("[x](../x.md) ![p](../x.md)", "[x](new/x%20y.md) ![p](new/x%20y.md)"),
            ("[x](<a b.md> \"a b.md\") [y](a%20b.md#part)", "[x](<new/x%20y.md> \"a b.md\") [y](new/x%20y.md#part)"),
            ("[../x.md](../x.md)", "[../x.md](new/x%20y.md)"),
            ("[![p](p.png)](../x.md)", "[![p](p.png)](new/x%20y.md)"),
            (
                "[a][1] and [b]\n\n[1]: ../x.md \"t\"\n[b]: z.md\n",
                "[a][1] and [b]\n\n[1]: new/x%20y.md \"t\"\n[b]: z.md\n",
            ),
            ("`[x](../x.md)`\n\n```\n[x](../x.md)\n```\n", "`[x](../x.md)`\n\n```\n[x](../x.md)\n```\n"),
            ("[w](https://x.org/../x.md) [[../x.md]] ../x.md", "[w](https://x.org/../x.md) [[../x.md]] ../x.md"),
            ("- one [x](../x.md)\n- two\n", "- one [x](new/x%20y.md)\n- two\n"),
        ] {
            assert_eq!(relinked(text, to), moved, "{text}");
        }
    }

    #[test]
    fn a_line_is_read_without_its_marks() {
        let line = "Back **home** to [the *plan*](../Plan.md \"t\"), `src/a.rs`, [[Birds]] ![p](p.png)";
        assert_eq!(read(line), "Back home to the plan, `src/a.rs`, [[Birds]] p");
    }

    #[test]
    fn what_is_a_file() {
        for (target, path) in [
            ("a%20b.md#x", Some("a b.md")),
            ("../x.md?y", Some("../x.md")),
            ("https://x.org/a.md", None),
            ("mailto:a@b.c", None),
            ("#part", None),
            ("%ff.md", None),
        ] {
            assert_eq!(file(target).as_deref(), path, "{target}");
        }
    }

    proptest! {
        #[test]
        fn a_text_whose_links_stay_is_the_same(text in "[ab\\[\\]()<>!`\n #\\\\]{0,40}") {
            prop_assert_eq!(relinked(&text, |_| None), text.clone());
            prop_assert_eq!(relinked(&text, |path| Some(path.to_owned())).is_empty(), text.is_empty());
        }
    }
}
