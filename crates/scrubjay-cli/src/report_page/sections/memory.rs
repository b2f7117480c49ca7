//! What outlives the session.

use super::{chip, command, empty, folded, section};
use crate::layers::Marked as _;
use crate::report_page::drawing::moment;
use crate::report_page::facts::{Change, File, Proposed, SessionReport};
use crate::report_page::markup::{Html, Tag, tag};
use crate::report_page::window_chart::layer_class;
use jiff::tz::TimeZone;
use scrubjay::ledger::Layer;
use std::collections::BTreeMap;

/// What outlives the session.
pub(in crate::report_page) fn memory(report: &SessionReport, zone: &TimeZone) -> Html {
    let lede = "What this session wrote into the memory for later ones, and what dreams made of it. Every change is in the memory's \
                journal and can be taken back by its number.";
    let (dreams, written): (Vec<&Change>, Vec<&Change>) = report.memories.iter().partition(|change| change.dream);
    let mut page = section("memory", "Memories and dreams", lede);
    if written.is_empty() {
        page = page
            .with(empty("Nothing was remembered in this session. `scrubjay remember \"…\"` writes something down."));
    } else {
        page = page.with(tag("div").class("cards").all(written.iter().flat_map(|change| cards(change, zone))));
    }
    if dreams.is_empty() && report.proposals.is_empty() {
        return page
            .with(empty(
                "No dream touched any of it yet. `scrubjay dream` proposes what would be merged, dated and removed.",
            ))
            .into();
    }
    page.all(dreams.into_iter().map(|change| dream(change, zone)))
        .all(report.proposals.iter().map(|one| proposed(one, zone)))
        .into()
}

/// A card for each memory that a change wrote.
fn cards(change: &Change, zone: &TimeZone) -> Vec<Tag> {
    let card = |file: &File| {
        let title = if file.name.is_empty() { &file.path } else { &file.name };
        let said = format!("{} by {}, {}", file.what, change.by, moment(change.at, zone));
        let back = change.taken_back.then(|| tag("p").class("note").with("This change was taken back later."));
        tag("article")
            .class("card memory")
            .with(tag("p").class("kind").with(tag("span").class(format!("word kind-{}", file.kind)).with(file.kind)))
            .with(tag("h3").with(title.as_str()))
            .with(tag("p").with(file.description.as_str()))
            .with(tag("p").class("said").with(said))
            .all(back)
            .with(folded(&file.path, diff(&file.diff, file.more)))
            .with(tag("p").class("do").with("Take it back: ").with(command(&format!("scrubjay undo {}", change.id))))
    };
    change.files.iter().map(card).collect()
}

fn dream(change: &Change, zone: &TimeZone) -> Tag {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    change.files.iter().for_each(|file| *counts.entry(file.what).or_default() += 1);
    let counts: Vec<String> = counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
    let mark = Layer::Dreaming.mark();
    let title = tag("h3").with(chip(mark, layer_class(mark))).with(format!(" A dream: {}", counts.join(", ")));
    let files = change.files.iter().map(|file| {
        let sign = match file.what {
            "new" => "+",
            "removed" => "−",
            _ => "~",
        };
        folded(&format!("{sign} {} · {}", file.path, file.what), diff(&file.diff, file.more)).set("open", "")
    });
    let back = change.taken_back.then(|| tag("p").class("note").with("This dream was taken back later."));
    tag("article")
        .class("card")
        .with(title)
        .with(tag("p").class("said").with(moment(change.at, zone)))
        .all(back)
        .all(files)
        .with(tag("p").class("do").with("Take it back: ").with(command(&format!("scrubjay undo {}", change.id))))
}

fn proposed(one: &Proposed, zone: &TimeZone) -> Tag {
    let mark = Layer::Dreaming.mark();
    let reasons = one.reasons.iter().map(|reason| tag("li").with(reason.as_str()));
    let steps = format!("scrubjay dream --apply {}", one.id);
    tag("article")
        .class("card")
        .with(tag("h3").with(chip(mark, layer_class(mark))).with(" A dream proposes, and waits for you"))
        .with(tag("p").class("said").with(moment(one.at, zone)))
        .with(tag("ul").all(reasons))
        .with(folded("Line by line", diff(&one.diff, one.more)))
        .with(tag("p").class("do").with("Do it: ").with(command(&steps)))
}

/// Each line with its sign; the colour only repeats it.
fn diff(lines: &[String], more: usize) -> Html {
    let line = |line: &String| {
        let class = match line {
            line if line.starts_with("@@") || line.starts_with("--- a/") || line.starts_with("+++ b/") => "hunk",
            line if line.starts_with('+') => "add",
            line if line.starts_with('-') => "del",
            _ => "same",
        };
        tag("span").class(class).with(line.as_str()).with("\n")
    };
    let rest = (more > 0).then(|| tag("span").class("hunk").with(format!("… {more} more lines")));
    tag("pre").class("diff").all(lines.iter().map(line)).all(rest).into()
}
