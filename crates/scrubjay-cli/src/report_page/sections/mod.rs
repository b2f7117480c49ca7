//! The parts of the page: a picture, the same numbers in words, and what they mean.

pub(super) mod cache;
pub(super) mod compactions;
pub(super) mod memory;
pub(super) mod money;
pub(super) mod window;

use super::markup::{Html, Tag, tag, tenth};
use crate::layers::Mark;
use std::fmt::Display;

/// A figure that also says where in the JSON it stands, and its exact value.
pub(in crate::report_page) fn figure(place: &str, value: impl Display, text: &str) -> Tag {
    tag("data").set("data-path", place).set("value", value).with(text)
}

/// How sure a figure is.
pub(in crate::report_page) fn tagged(certainty: &'static str) -> Tag {
    tag("small").class("tag").with(certainty)
}

/// A letter on its colour, in text.
pub(super) fn chip(mark: Mark, class: String) -> Tag {
    tag("span").class(format!("chip {class}")).set("aria-hidden", "true").with(mark.letter.to_string())
}

pub(super) fn section(id: &'static str, title: &str, lede: &str) -> Tag {
    let heading = tag("h2").set("id", id).with(title);
    tag("section").set("aria-labelledby", id).with(heading).with(tag("p").class("lede").with(lede))
}

pub(super) fn empty(words: &str) -> Tag {
    tag("p").class("empty").with(words)
}

/// Something that can be typed.
pub(super) fn command(words: &str) -> Tag {
    tag("code").class("command").with(words)
}

/// Rows behind a summary that opens them.
pub(super) fn folded(summary: &str, inside: impl Into<Html>) -> Tag {
    tag("details").with(tag("summary").with(summary)).with(tag("div").class("scroll").with(inside))
}

pub(super) fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<Html>>) -> Tag {
    let head = headings.iter().map(|heading| tag("th").set("scope", "col").with(*heading));
    let rows = rows.into_iter().map(|cells| {
        let cells = cells
            .into_iter()
            .enumerate()
            .map(|(at, cell)| if at == 0 { tag("th").set("scope", "row").with(cell) } else { tag("td").with(cell) });
        tag("tr").all(cells)
    });
    tag("table").with(tag("thead").with(tag("tr").all(head))).with(tag("tbody").all(rows))
}

/// A share as a bar.
pub(super) fn bar(class: &str, share: f64) -> Tag {
    let bar = tag("svg")
        .class("bar")
        .set("viewBox", "0 0 100 6")
        .set("preserveAspectRatio", "none")
        .set("aria-hidden", "true");
    bar.with(tag("rect").class(class).set("width", tenth(share * 100.0)).set("height", 6))
}
