//! The parts of the page: a picture, the same numbers in words, and what they mean.

use super::cache_chart::{self, PARTS, explained};
use super::drawing::{Room, moment};
use super::facts::{Boundary, Change, Event, File, Proposed, Request, SessionReport};
use super::markup::{Html, Tag, tag, tenth};
use super::money_chart::{self, signed};
use super::window_chart::{self, layer_class, share_class};
use crate::layers::{Mark, Marked as _};
use crate::paper::{counted, dollars, grouped, short};
use jiff::tz::TimeZone;
use scrubjay::ledger::{Certainty, Layer};
use scrubjay::tokens::Share;
use scrubjay::transcript::{Finding, What};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

/// A figure that also says where in the JSON it stands, and its exact value.
pub(super) fn figure(place: &str, value: impl Display, text: &str) -> Tag {
    tag("data").set("data-path", place).set("value", value).with(text)
}

/// How sure a figure is.
pub(super) fn tagged(certainty: &'static str) -> Tag {
    tag("small").class("tag").with(certainty)
}

/// A letter on its colour, in text.
pub(super) fn chip(mark: Mark, class: String) -> Tag {
    tag("span").class(format!("chip {class}")).set("aria-hidden", "true").with(mark.letter.to_string())
}

fn section(id: &'static str, title: &str, lede: &str) -> Tag {
    let heading = tag("h2").set("id", id).with(title);
    tag("section").set("aria-labelledby", id).with(heading).with(tag("p").class("lede").with(lede))
}

fn empty(words: &str) -> Tag {
    tag("p").class("empty").with(words)
}

/// Something that can be typed.
fn command(words: &str) -> Tag {
    tag("code").class("command").with(words)
}

/// Rows behind a summary that opens them.
fn folded(summary: &str, inside: impl Into<Html>) -> Tag {
    tag("details").with(tag("summary").with(summary)).with(tag("div").class("scroll").with(inside))
}

fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<Html>>) -> Tag {
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

// ── window over turns ──────────────────────────────────────────────────────────────────────────────────────────────────

/// The window after each request.
pub(super) fn window(report: &SessionReport, zone: &TimeZone) -> Html {
    let lede = "Each column is one request to the model; its height is what stood in the window afterwards, by what put it \
                there. The bars below show when a layer acted. The dashed line is what the same conversation would have taken.";
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

/// A share as a bar.
fn bar(class: &str, share: f64) -> Tag {
    let bar = tag("svg")
        .class("bar")
        .set("viewBox", "0 0 100 6")
        .set("preserveAspectRatio", "none")
        .set("aria-hidden", "true");
    bar.with(tag("rect").class(class).set("width", tenth(share * 100.0)).set("height", 6))
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

// ── cache ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

/// What the cache gave.
pub(super) fn cache(report: &SessionReport, zone: &TimeZone) -> Html {
    let lede = "What a request shares with the one before it is read from the provider's cache at a fraction of the price, as long \
                as not one byte of it changes and the pause is short. The band shows where the cache was warm; a flag says \
                why it was not.";
    let charts = Room::BOTH.map(|room| cache_chart::chart(report, zone, room));
    let usage = &report.cache.usage;
    let all = usage.total_input().max(1);
    let parts = PARTS.into_iter().filter(|(_, _, tokens)| tokens(usage) > 0).map(|(class, name, tokens)| {
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

// ── money ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

/// What it cost, and what it would have.
pub(super) fn money(report: &SessionReport) -> Html {
    let lede = "From what this session would have cost without the layers to what was billed: every saving, and everything the \
                savings cost. What was billed comes from the service's own counts; what would have been is an estimate.";
    let money = &report.money;
    let falls: Option<Vec<Html>> = Room::BOTH.map(|room| money_chart::waterfall(money, room)).into_iter().collect();
    let net: Option<Vec<Html>> = Room::BOTH.map(|room| money_chart::net(report, room)).into_iter().collect();
    let picture = match falls {
        Some(charts) => tag("figure").class("waterfall").all(charts),
        None => empty(
            "A price is not known, so no money can be told: n/a. Prices of your own models belong into models.toml beside the settings. \
             The tokens are below.",
        ),
    };
    let over_time = net.map(|charts| {
        let words = tag("figcaption").with(
            "The net after each request: savings less what they cost. Below the line it costs more than it saves.",
        );
        tag("figure").class("net-figure").with(words).all(charts)
    });
    section("money", "Money", lede)
        .with(picture)
        .with(verdict(report))
        .all(over_time)
        .with(folded("Every step and every layer as a table", steps(report)))
        .with(folded("Every call, by who asked", calls(report)))
        .into()
}

/// The net in a sentence, as plainly when it is a loss.
fn verdict(report: &SessionReport) -> Tag {
    let money = &report.money;
    let said = tag("p").class("verdict");
    let Some(net) = money.net.usd else {
        let tokens = figure("money.net.tokens", money.net.tokens, &grouped(money.net.tokens.unsigned_abs()));
        return said.with("Net: n/a in money, ").with(tokens).with(" tokens ").with(tagged(money.net.certainty.word()));
    };
    let amount = figure("money.net.usd", net, &signed(net)).class(if net < 0.0 { "loss" } else { "gain" });
    let words = if net < 0.0 { " net: the layers cost more than they saved" } else { " net saved" };
    let share = money.without_usd.filter(|without| *without > 0.0 && net > 0.0);
    let share = share.map(|without| format!(", {:.0} % of what it would have cost", net / without * 100.0));
    said.with(amount).with(words).with(share.unwrap_or_default()).with(" ").with(tagged(money.net.certainty.word()))
}

fn in_money(usd: Option<f64>) -> String {
    usd.map_or_else(|| "n/a".to_owned(), signed)
}

fn steps(report: &SessionReport) -> Html {
    let money = &report.money;
    let whole = |name: &str, place: &str, usd: Option<f64>, certainty: Certainty| {
        let text = usd.map_or_else(|| "n/a".to_owned(), dollars);
        let cell = figure(place, usd.map_or_else(|| "null".to_owned(), |usd| usd.to_string()), &text);
        vec![Html::from(name), "".into(), cell.into(), certainty.word().into()]
    };
    let mut rows = vec![whole("without the layers", "money.without_usd", money.without_usd, Certainty::Estimated)];
    rows.extend(money.steps.iter().map(|step| {
        let sum = step.sum;
        let saved = sum.usd.map(|usd| -usd);
        vec![
            money_chart::name(step).into(),
            sum.tokens.to_string().into(),
            in_money(saved).into(),
            sum.certainty.word().into(),
        ]
    }));
    rows.push(whole("billed", "money.billed_usd", money.billed_usd, Certainty::Reported));
    let falls = table(&["step", "tokens", "money", "how sure"], rows);
    let layers = money.by_layer.iter().map(|net| {
        let sum = net.sum;
        vec![
            net.layer.word().into(),
            sum.tokens.to_string().into(),
            in_money(sum.usd).into(),
            sum.certainty.word().into(),
        ]
    });
    let layers = table(&["net by layer", "tokens", "money", "how sure"], layers);
    Html::from(falls).and(layers)
}

fn calls(report: &SessionReport) -> Tag {
    let rows = report.money.calls.iter().map(|one| {
        let usage = one.usage;
        let numbers =
            [one.calls, usage.input, usage.cache_read, usage.cache_write_5m + usage.cache_write_1h, usage.output];
        let mut cells = vec![Html::from(one.source.as_str()), one.model.as_str().into()];
        cells.extend(numbers.map(grouped).map(Html::from));
        cells.push(one.usd.map_or_else(|| "n/a".to_owned(), dollars).into());
        cells
    });
    table(&["who asked", "model", "calls", "fresh", "from cache", "written", "out", "cost"], rows)
}

// ── compactions ────────────────────────────────────────────────────────────────────────────────────────────────────────

/// What summaries kept and dropped.
pub(super) fn compactions(report: &SessionReport) -> Html {
    let lede = "When the window is nearly full, a summary takes the place of what was said. Code compares the two: what the person \
                said, standing constraints, open tasks, and names and numbers that nobody can reconstruct. What was dropped \
                left the window only; the session's file still has it.";
    let page = section("compactions", "Compactions", lede);
    match report.compactions.as_slice() {
        [] => page
            .with(empty("Nothing had to be compacted: the layers before this one kept the window small enough."))
            .into(),
        all => page.all(all.iter().enumerate().map(|(at, one)| boundary(at, one, report))).into(),
    }
}

fn boundary(at: usize, one: &Boundary, report: &SessionReport) -> Tag {
    let place = |field: &str| format!("compactions.{at}.{field}");
    let title = tag("h3")
        .with(figure(&place("tokens_before"), one.tokens_before, &short(one.tokens_before)))
        .with(" → ")
        .with(figure(&place("tokens_after"), one.tokens_after, &short(one.tokens_after)))
        .with(" tokens");
    let said = format!("after request {}, {}, summary by {}", grouped(one.after), one.trigger, one.author);
    let back = one.taken_back.then(|| tag("p").class("note").with("This compaction was taken back later."));
    let score = one.score.map(|score| {
        let words = figure(&place("score"), score, &format!("{:.1} %", score * 100.0));
        let meter = bar("share-M", score);
        tag("p").class("score").with(meter).with(words).with(" of what matters was kept ").with(tagged("counted"))
    });
    let list = |title: String, sign: &'static str, class: &'static str, findings: &[Finding], all: usize| {
        let items = findings.iter().map(|finding| item(sign, finding));
        let more = all.checked_sub(findings.len()).filter(|more| *more > 0);
        let more =
            more.map(|more| tag("li").class("more").with(format!("and {more} more in `scrubjay compact --report`")));
        let none = findings.is_empty().then(|| tag("li").class("more").with("nothing"));
        tag("div")
            .class(class)
            .with(tag("h4").with(title))
            .with(tag("ul").class("findings").all(items).all(more).all(none))
    };
    let lists = one.score.map(|_| {
        tag("div")
            .class("columns two")
            .with(list(format!("Kept · {}", one.kept_in_all), "✓", "kept", &one.kept, one.kept_in_all))
            .with(list(
                format!("Dropped from the window · {}", one.dropped_in_all),
                "✗",
                "dropped",
                &one.dropped,
                one.dropped_in_all,
            ))
    });
    let last = at + 1 == report.compactions.len() && !one.taken_back;
    let undo = last.then(|| {
        tag("p")
            .class("do")
            .with("Take it back: ")
            .with(command(&format!("scrubjay uncompact --session {}", report.session.id)))
    });
    tag("article")
        .class("card")
        .with(title)
        .with(tag("p").class("said").with(said))
        .all(back)
        .all(score)
        .all(lists)
        .all(undo)
}

fn item(sign: &'static str, finding: &Finding) -> Tag {
    let what = match finding.what {
        What::Constraint => "constraint",
        What::UserMessage => "you said",
        What::Task => "open task",
        What::Anchor => "name or number",
    };
    tag("li")
        .with(tag("span").class("sign").set("aria-hidden", "true").with(sign))
        .with(tag("span").class("word").with(what))
        .with(tag("span").class("text").with(finding.text.as_str()))
}

// ── memory ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/// What outlives the session.
pub(super) fn memory(report: &SessionReport, zone: &TimeZone) -> Html {
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
        let class = match line.chars().next() {
            Some('+') => "add",
            Some('-') => "del",
            Some('@') => "hunk",
            _ => "same",
        };
        tag("span").class(class).with(line.as_str()).with("\n")
    };
    let rest = (more > 0).then(|| tag("span").class("hunk").with(format!("… {more} more lines")));
    tag("pre").class("diff").all(lines.iter().map(line)).all(rest).into()
}
