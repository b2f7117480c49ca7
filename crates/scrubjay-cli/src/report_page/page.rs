//! The page around the parts: head, figures at a glance, and what makes it work without a network.

use super::drawing::{moment, round};
use super::facts::SessionReport;
use super::markup::{Html, Tag, tag};
use super::money_chart::signed;
use super::sections::{
    cache::cache, compactions::compactions, figure, memory::memory, money::money, tagged, window::window,
};
use super::window_chart::share_class;
use crate::failure::Failure;
use crate::layers::{Mark, Marked as _};
use crate::paper::{counted, percent, short};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::tz::TimeZone;
use scrubjay::ledger::Layer;
use scrubjay::tokens::Share;
use sha2::{Digest as _, Sha256};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const PATTERNS: &str = include_str!("patterns.svg");
const JAY: &str = include_str!("jay.svg");

const LAYERS: [Layer; 9] = [
    Layer::ToolResults,
    Layer::Microcompaction,
    Layer::SessionNotes,
    Layer::Compaction,
    Layer::Extraction,
    Layer::Dreaming,
    Layer::Agents,
    Layer::Recall,
    Layer::Lifetime,
];

/// The whole page.
pub(super) fn page(report: &SessionReport, zone: &TimeZone) -> Result<String, Failure> {
    let json = super::json(report)?.to_string();
    let body = tag("body")
        .with(tag("a").class("skip").set("href", "#main").with("Skip to the pictures"))
        .with(Html::own(PATTERNS))
        .with(header(report, zone))
        .with(main(report, zone))
        .with(footer(report))
        .with(Html::data("report", &json))
        .with(tag("script").with(Html::own(SCRIPT)));
    let html = tag("html").set("lang", "en").with(head(report)).with(body);
    Ok(format!("<!doctype html>\n{}\n", Html::from(html).into_string()))
}

/// Nothing is loaded from anywhere, and only our own words are run or used as style.
fn head(report: &SessionReport) -> Tag {
    let style = format!("{STYLE}{}", colours());
    let policy = format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
        hash(&style),
        hash(SCRIPT)
    );
    let named = |name: &str, content: &str| tag("meta").set("name", name).set("content", content);
    tag("head")
        .with(tag("meta").set("charset", "utf-8"))
        .with(tag("meta").set("http-equiv", "Content-Security-Policy").set("content", policy))
        .with(named("viewport", "width=device-width, initial-scale=1"))
        .with(named("color-scheme", "light dark"))
        .with(named("referrer", "no-referrer"))
        .with(named("generator", super::GENERATOR))
        .with(tag("title").with(format!("{} · scrubjay", title(report))))
        .with(tag("style").with(Html::style(&style)))
}

fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// A colour for each part and each layer, on a light and on a dark page.
fn colours() -> String {
    let rule = |class: String, mark: Mark| format!(".{class}{{--c:light-dark({},{})}}\n", mark.light(), mark.dark());
    let shares = Share::ALL.into_iter().map(|share| rule(share_class(share), share.mark()));
    let layers = LAYERS.into_iter().map(|layer| rule(super::window_chart::layer_class(layer.mark()), layer.mark()));
    shares.chain(layers).collect()
}

fn title(report: &SessionReport) -> &str {
    if report.session.title.is_empty() { "A session" } else { &report.session.title }
}

fn header(report: &SessionReport, zone: &TimeZone) -> Tag {
    let card = &report.session;
    let mut facts = vec![card.model.clone(), counted(card.questions, "question")];
    facts.push(counted(report.requests.len() as u64, "request"));
    if let (Some(began), Some(ended)) = (card.began, card.ended) {
        facts.push(format!("{} to {}", moment(began, zone), moment(ended, zone)));
    }
    facts.retain(|fact| !fact.is_empty());
    let gaps = report.gaps.iter().map(|gap| tag("p").class("note").with(gap.as_str()));
    tag("header")
        .with(tag("div").class("brand").with(Html::own(JAY)).with(tag("span").with("scrubjay")).with(theme()))
        .with(tag("h1").with(title(report)))
        .with(tag("p").class("facts").with(facts.join(" · ")))
        .with(tag("p").class("facts id").with("session ").with(tag("code").with(card.id.as_str())))
        .all(gaps)
}

/// Light or dark without a script: the style looks at what is chosen here.
fn theme() -> Tag {
    let choice = |id: &'static str, name: &'static str| {
        let input = tag("input").set("type", "radio").set("name", "theme").set("id", id);
        let input = if id == "theme-auto" { input.set("checked", "") } else { input };
        tag("span").with(input).with(tag("label").set("for", id).with(name))
    };
    tag("fieldset")
        .class("theme")
        .with(tag("legend").class("hidden").with("Colours"))
        .with(choice("theme-auto", "Auto"))
        .with(choice("theme-light", "Light"))
        .with(choice("theme-dark", "Dark"))
}

fn main(report: &SessionReport, zone: &TimeZone) -> Tag {
    let page = tag("main").set("id", "main");
    if report.requests.is_empty() {
        let words =
            tag("section")
                .class("nothing")
                .with(tag("h2").with("There is nothing to draw yet"))
                .with(tag("p").with(
                    "No request was answered in this session, so its window was never filled and nothing was spent.",
                ))
                .with(
                    tag("p")
                        .with("Ask something with ")
                        .with(tag("code").with("scrubjay chat"))
                        .with(", then write this page again; ")
                        .with(tag("code").with("scrubjay sessions"))
                        .with(" lists sessions in which something was asked."),
                );
        return page.with(words).with(if report.memories.is_empty() { Html::default() } else { memory(report, zone) });
    }
    page.with(glance(report))
        .with(window(report, zone))
        .with(cache(report, zone))
        .with(money(report))
        .with(compactions(report))
        .with(memory(report, zone))
}

/// Six figures, each with how sure it is.
fn glance(report: &SessionReport) -> Tag {
    let one = |name: &str, number: Tag, beside: String, certainty: &'static str| {
        let small = tag("dd").class("beside").with(beside).with(" ").with(tagged(certainty));
        tag("div").with(tag("dt").with(name)).with(tag("dd").class("number").with(number)).with(small)
    };
    let window = &report.window;
    let used = figure("window.used", window.used, &short(window.used));
    let of = format!("tokens, {} % of {}", percent(window.used, window.window), round(window.window));
    let last = report.requests.len() - 1;
    let out = report.requests.last().map_or(0, |request| request.kept_out.values().sum());
    let without = report.requests.last().map_or(0, |request| request.without);
    let without = figure(&format!("requests.{last}.without"), without, &short(without));
    let rate = report.cache.hit_rate;
    let rate_text = rate.map_or_else(|| "n/a".to_owned(), |rate| format!("{:.1} %", rate * 100.0));
    let rate = figure("cache.hit_rate", rate.map_or_else(|| "null".to_owned(), |rate| rate.to_string()), &rate_text);
    let money = &report.money;
    let net = money.net.usd.map_or_else(|| "n/a".to_owned(), signed);
    let net = figure("money.net.usd", money.net.usd.map_or_else(|| "null".to_owned(), |usd| usd.to_string()), &net);
    let billed = money
        .billed_usd
        .map_or_else(|| "a price is not known".to_owned(), |usd| format!("net, {} billed", crate::paper::dollars(usd)));
    let boundaries = figure("compactions.length", report.compactions.len(), &report.compactions.len().to_string());
    let dropped: usize = report.compactions.iter().map(|one| one.dropped_in_all).sum();
    let written = report.memories.iter().filter(|change| !change.dream).map(|change| change.files.len()).sum::<usize>();
    let dreams = report.memories.iter().filter(|change| change.dream).count() as u64;
    tag("dl")
        .class("glance")
        .with(one("in the window", used, of, if last == 0 { "estimated" } else { "reported" }))
        .with(one("would have been", without, format!("tokens; {} are kept out", short(out)), "estimated"))
        .with(one("from the cache", rate, "of the input".to_owned(), "reported"))
        .with(one("saved", net, billed, "estimated"))
        .with(one(
            "compactions",
            boundaries,
            match dropped {
                0 => "nothing that matters dropped".to_owned(),
                some => format!("{} dropped from the window", counted(some as u64, "finding")),
            },
            "counted",
        ))
        .with(one(
            "memories",
            tag("span").with(written.to_string()),
            format!("written, {}", counted(dreams, "dream")),
            "counted",
        ))
}

fn footer(report: &SessionReport) -> Tag {
    let id = &report.session.id;
    let commands = ["context", "savings", "cost", "report"]
        .map(|verb| tag("li").with(tag("code").with(format!("scrubjay {verb} --session {id}"))));
    tag("footer")
        .with(tag("h2").with("How to read the numbers"))
        .with(tag("p").with(
            "Reported: the service counted it. Counted: this program did. Estimated: calculated from sizes, or from what would have \
             happened. n/a: a receipt or a price is missing, and nothing is made up in its place.",
        ))
        .with(tag("p").with("The same numbers in a terminal; with --json the facts this page is drawn from:"))
        .with(tag("ul").class("commands").all(commands))
        .with(tag("p").class("said").with(format!("scrubjay {} · this file loads nothing and sends nothing", env!("CARGO_PKG_VERSION"))))
}
