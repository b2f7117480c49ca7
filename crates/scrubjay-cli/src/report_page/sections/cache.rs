//! What the cache gave, and why it did not.

use super::{empty, folded, section, table};
use crate::paper::{counted, grouped, short};
use crate::report_page::cache_chart::{self, PARTS, Part, explained};
use crate::report_page::drawing::Room;
use crate::report_page::facts::SessionReport;
use crate::report_page::markup::{Html, tag};
use jiff::tz::TimeZone;

/// What the cache gave.
pub(in crate::report_page) fn cache(report: &SessionReport, zone: &TimeZone) -> Html {
    let lede = "What a request shares with the one before it is read from the provider's cache at a fraction of the price, as long \
                as not one byte of it changes and the pause is short. The band shows where the cache was warm; a flag says \
                why it was not.";
    let charts = Room::BOTH.map(|room| cache_chart::chart(report, zone, room));
    let usage = &report.cache.usage;
    let all = usage.total_input().max(1);
    let parts = PARTS.into_iter().filter(|part| (part.tokens)(usage) > 0).map(|Part { class, name, tokens }| {
        let key = tag("svg").class("key").set("viewBox", "0 0 16 16").set("aria-hidden", "true");
        let square = tag("rect").class(class).set("width", 16).set("height", 16).set("rx", 3);
        let pattern = tag("rect")
            .class("pattern")
            .set("fill", format!("url(#pattern-{class})"))
            .set("width", 16)
            .set("height", 16);
        let tokens = tokens(usage);
        let words = format!("{} · {} tokens", cache_chart::share(tokens, all), short(tokens));
        tag("li")
            .class("beside-chart")
            .with(key.with(square).with(pattern))
            .with(format!("{name}: "))
            .with(tag("b").with(words))
    });
    let bands = [("warm", "warm"), ("hour", "warm thanks to the hour-long lifetime"), ("cold", "cold")];
    let seen = |class: &str| match class {
        "warm" => report.requests.iter().any(|one| one.warm == Some(true) && !one.outlived),
        "hour" => report.requests.iter().any(|one| one.outlived),
        _ => report.requests.iter().any(|one| one.warm == Some(false)),
    };
    let bands = bands.into_iter().filter(|(class, _)| seen(class)).map(|(class, name)| {
        let key = tag("svg").class("key").set("viewBox", "0 0 16 16").set("aria-hidden", "true");
        let class = if class == "hour" { "warm hour" } else { class };
        tag("li").with(key.with(tag("rect").class(class).set("y", 4).set("width", 16).set("height", 8))).with(name)
    });
    section("cache", "Cache timeline", lede)
        .with(tag("figure").all(charts))
        .with(tag("ul").class("legend").all(parts).all(bands))
        .with(misses(report))
        .into()
}

fn misses(report: &SessionReport) -> Html {
    let rows: Vec<Vec<Html>> = report
        .requests
        .iter()
        .flat_map(|request| request.misses.iter().map(move |miss| (request, miss)))
        .map(|(request, miss)| {
            let lost = miss.lost_tokens.map_or_else(|| "–".to_owned(), grouped);
            let cause = tag("span").class("word").with(miss.cause);
            vec![grouped(request.number).into(), cause.into(), lost.into(), explained(miss, request).into()]
        })
        .collect();
    if rows.is_empty() {
        return empty("Not once did the cache give less than the request before had left in it.").into();
    }
    let (lost, announced): (Vec<_>, Vec<_>) =
        report.requests.iter().flat_map(|request| &request.misses).partition(|miss| !miss.announced);
    let summary = format!(
        "{} of the cache, {} by a layer: when and why",
        counted(lost.len() as u64, "loss").replace("losss", "losses"),
        counted(announced.len() as u64, "announced break")
    );
    folded(&summary, table(&["request", "cause", "tokens lost", "why"], rows)).into()
}
