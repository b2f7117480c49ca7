//! Repairs of one memory that need no judgement: dates that meant something only on the day they were written, and links that
//! lead nowhere. Nothing a memory says is lost by them.

use crate::dates;
use jiff::civil::Date;
use pulldown_cmark::{Event, LinkType, Parser, Tag, TagEnd};
use std::ops::Range;

/// A text with every relative date made absolute. `written` says on which day a paragraph was written.
pub(super) fn dated(text: &str, written: impl Fn(&str) -> Date) -> String {
    text.split("\n\n")
        .map(|paragraph| dates::absolute_where_clear(paragraph, written(paragraph)))
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// Whether a text has dates that need the day they were written.
pub(super) fn has_relative_dates(text: &str) -> bool {
    dates::find(text, Date::ZERO).iter().any(|found| found.kind == dates::Kind::Relative)
}

/// What is to become of a link.
pub(super) enum Link {
    /// It leads somewhere.
    Stays,
    /// What it led to is now here.
    Leads(String),
    /// There is nothing: its words stay.
    Dead,
}

/// A link in a text: all of it, where it leads, and its words.
struct Found {
    all: Range<usize>,
    target: String,
    words: Range<usize>,
}

fn links(body: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut open: Option<Found> = None;
    for (event, range) in Parser::new(body).into_offset_iter() {
        match event {
            Event::Start(Tag::Link { link_type: LinkType::Inline, dest_url, .. }) if open.is_none() => {
                let words = range.end..range.start;
                open = Some(Found { all: range, target: dest_url.into_string(), words });
            }
            Event::End(TagEnd::Link) => found.extend(open.take()),
            _ => open.iter_mut().for_each(|link| {
                link.words = link.words.start.min(range.start)..link.words.end.max(range.end);
            }),
        }
    }
    found
}

/// A text whose links to files were decided upon one by one, and where those led that are dead.
pub(super) fn relinked(body: &str, decide: impl Fn(&str) -> Link) -> (String, Vec<String>) {
    let (mut text, mut dead) = (body.to_owned(), Vec::new());
    for link in links(body).into_iter().rev() {
        // A link without words says nothing.
        let words = body.get(link.words).unwrap_or_default();
        match decide(&link.target) {
            Link::Stays => {}
            Link::Leads(to) => text.replace_range(link.all, &format!("[{words}]({to})")),
            Link::Dead => {
                text.replace_range(link.all, words);
                dead.push(link.target);
            }
        }
    }
    dead.reverse();
    (text, dead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    // spec: Z6
    #[test]
    fn dates_are_those_of_the_day_a_paragraph_was_written() {
        let text = "The freeze starts tomorrow.\n\nSend it by Thursday.";
        let written = |paragraph: &str| if paragraph.contains("Send") { date(2026, 3, 2) } else { date(2026, 2, 9) };
        let once = dated(text, written);
        assert_eq!(once, "The freeze starts 2026-02-10 (tomorrow).\n\nSend it by 2026-03-05 (Thursday).");
        assert_eq!(dated(&once, |_| date(2027, 1, 1)), once, "once is enough");
        assert!(has_relative_dates(text) && !has_relative_dates(&once));
    }

    // spec: Z6
    #[test]
    fn links_are_kept_moved_or_dropped_and_their_words_stay() {
        let body =
            "See [the *old* rules](gone.md), [tests](b.md) and [the web](https://x.example).\n`[code](gone.md)`\n";
        let decide = |target: &str| match target {
            "gone.md" => Link::Dead,
            "b.md" => Link::Leads("a.md".to_owned()),
            _ => Link::Stays,
        };
        let (text, dead) = relinked(body, decide);
        assert_eq!(text, "See the *old* rules, [tests](a.md) and [the web](https://x.example).\n`[code](gone.md)`\n");
        assert_eq!(dead, ["gone.md"]);
    }

    proptest! {
        #[test]
        fn any_text_can_be_relinked(text in "(\\[|\\]|\\(|\\)|a\\.md|é|`|\n|x| ){0,40}") {
            let (same, _) = relinked(&text, |_| Link::Stays);
            prop_assert_eq!(&same, &text);
            let letters = |text: &str| text.chars().filter(|c| *c == 'x').count();
            let (dropped, dead) = relinked(&text, |_| Link::Dead);
            prop_assert!(letters(&dropped) + letters(&dead.concat()) <= letters(&text));
        }
    }
}
