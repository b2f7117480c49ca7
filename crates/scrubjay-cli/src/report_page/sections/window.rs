//! Window over turns, and one request of it in numbers.

use super::{bar, chip, empty, folded, section, table};
use crate::layers::{Mark, Marked as _};
use crate::paper::{dollars, grouped};
use crate::report_page::drawing::{Room, moment};
use crate::report_page::facts::{Event, Request, SessionReport};
use crate::report_page::markup::{Html, Tag, tag};
use crate::report_page::money_chart::signed;
use crate::report_page::window_chart::{self, layer_class, share_class};
use jiff::tz::TimeZone;
use scrubjay::ledger::Layer;
use scrubjay::tokens::Share;
use std::collections::BTreeSet;

/// The window after each request.
pub(in crate::report_page) fn window(report: &SessionReport, zone: &TimeZone) -> Html {
    let lede = "Each column is one request to the model; its height is what stood in the window afterwards, by what put it \
                there. The bars below show when a layer acted. The dashed line is the same conversation without \
                the layers, compacted when it is full.";
    let charts = Room::BOTH.map(|room| window_chart::chart(report, zone, room));
    section("window", "Window over turns", lede)
        .with(tag("figure").all(charts))
        .with(lanes(report))
        .with(slider(report))
        .with(readout(report, zone))
        .with(folded("Every request as a table", requests(report, zone)))
        .into()
}

/// What the letters before the lanes mean; on a desk their names stand beside them.
fn lanes(report: &SessionReport) -> Tag {
    let lane = |(_, events): (char, Vec<&Event>)| {
        let mark = events.first().map(|event| event.layer.mark())?;
        let acted = events.iter().filter(|event| event.acted).count() as u64;
        let times = tag("b").with(grouped(acted));
        Some(tag("li").class("beside-chart").with(chip(mark, layer_class(mark))).with(mark.name).with(times))
    };
    tag("ul").class("legend").all(window_chart::lanes(report).into_iter().filter_map(lane))
}

fn slider(report: &SessionReport) -> Tag {
    let last = report.requests.len();
    let button = |id: &'static str, says: &'static str, sign: &'static str| {
        tag("button").set("type", "button").set("id", id).set("aria-label", says).set("title", says).with(sign)
    };
    let range = tag("input").set("type", "range").set("id", "slider").set("min", 1).set("max", last).set("value", last);
    let label = tag("label").class("hidden").set("for", "slider").with("Request");
    tag("div")
        .class("slider")
        .with(label)
        .with(button("back", "Back to where a layer acted", "◂"))
        .with(button("play", "Play", "▶"))
        .with(button("on", "On to where a layer acted", "▸"))
        .with(range.set("aria-describedby", "at"))
}

/// One request in numbers; the script puts another one here.
fn readout(report: &SessionReport, zone: &TimeZone) -> Tag {
    let Some(last) = report.requests.last() else { return tag("div") };
    let number = |id: &'static str, words: &str| tag("b").set("id", id).with(words);
    let heading = tag("p")
        .set("id", "at")
        .class("at")
        .with("Request ")
        .with(number("r-number", &grouped(last.number)))
        .with(format!(" of {} · ", grouped(report.requests.len() as u64)))
        .with(tag("span").set("id", "r-at").with(moment(last.at, zone)))
        .with(" · question ")
        .with(number("r-question", &grouped(last.question)))
        .with(": ")
        .with(tag("q").set("id", "r-asked").with(last.asked.as_str()));
    let total = tag("h3").with(number("r-total", &grouped(last.filling.total))).with(" tokens in the window");
    let most = last.filling.by_share.values().copied().max().unwrap_or(1).max(1);
    let parts = Share::ALL.into_iter().filter(|share| is_there(report, *share)).map(|share| {
        let tokens = last.filling.by_share.get(&share).copied().unwrap_or_default();
        row("data-share", word(share), (share.mark(), share_class(share)), (tokens, most))
    });
    let out = tag("h3").with(number("r-out", &grouped(kept_out(last)))).with(" kept out of it so far");
    let most = last.kept_out.values().copied().max().unwrap_or(1).max(1);
    let ever: BTreeSet<Layer> = report.requests.iter().flat_map(|request| request.kept_out.keys().copied()).collect();
    let layers: Vec<Tag> = ever
        .into_iter()
        .map(|layer| {
            let (mark, tokens) = (layer.mark(), last.kept_out.get(&layer).copied().unwrap_or_default());
            row("data-layer", layer.word().to_owned(), (mark, layer_class(mark)), (tokens, most))
        })
        .collect();
    let nothing = layers.is_empty().then(|| empty("No layer had to keep anything out."));
    let here = report.events.iter().filter(|event| event.after + 1 >= last.number).map(|event| {
        let mark = event.layer.mark();
        tag("li").with(chip(mark, layer_class(mark))).with(tag("span").with(event.what.as_str()))
    });
    tag("div").class("readout").set("aria-live", "polite").with(heading).with(
        tag("div")
            .class("columns")
            .with(tag("div").with(total).with(tag("ul").class("rows").all(parts)))
            .with(tag("div").with(out).with(tag("ul").class("rows").all(layers)).all(nothing))
            .with(
                tag("div")
                    .with(tag("h3").with("What happened here"))
                    .with(tag("ul").set("id", "r-events").class("events").all(here)),
            ),
    )
}

fn is_there(report: &SessionReport, share: Share) -> bool {
    report.requests.iter().any(|request| request.filling.by_share.contains_key(&share))
}

/// A part as the JSON names it.
fn word(share: Share) -> String {
    serde_json::to_value(share).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn kept_out(request: &Request) -> u64 {
    request.kept_out.values().sum()
}

/// One part with its letter, its bar and its number.
fn row(kind: &'static str, key: String, (mark, class): (Mark, String), (tokens, most): (u64, u64)) -> Tag {
    let bar = bar(&class, tokens as f64 / most as f64);
    tag("li")
        .set(kind, key)
        .with(chip(mark, class))
        .with(tag("span").with(mark.name))
        .with(bar)
        .with(tag("span").class("number").with(grouped(tokens)))
}

fn requests(report: &SessionReport, zone: &TimeZone) -> Tag {
    let shares: Vec<Share> = Share::ALL.into_iter().filter(|share| is_there(report, *share)).collect();
    let mut headings = vec!["#", "when", "window"];
    headings.extend(shares.iter().map(|share| share.mark().name));
    headings.extend(["without", "from cache", "written", "fresh", "out", "cost", "net so far"]);
    let rows = report.requests.iter().map(|request| {
        let money = |usd: Option<f64>| usd.map_or_else(|| "n/a".to_owned(), dollars);
        let usage = request.usage;
        let mut cells = vec![grouped(request.number), moment(request.at, zone), grouped(request.filling.total)];
        cells.extend(
            shares.iter().map(|share| grouped(request.filling.by_share.get(share).copied().unwrap_or_default())),
        );
        cells.push(grouped(request.without));
        cells.extend(
            [usage.cache_read, usage.cache_write_5m + usage.cache_write_1h, usage.input, usage.output].map(grouped),
        );
        cells.extend([money(request.usd), request.net.usd.map_or_else(|| "n/a".to_owned(), signed)]);
        cells.into_iter().map(Html::from).collect()
    });
    table(&headings, rows).set("id", "requests")
}
