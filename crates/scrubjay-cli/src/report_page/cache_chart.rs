//! Cache timeline: what each request read from the cache, wrote to it and sent fresh; when the cache was warm, and why it
//! was not.

use super::drawing::{Axis, Height, Room, block, line, words};
use super::facts::{Miss, Request, SessionReport};
use super::markup::{Html, tag};
use crate::paper::grouped;
use jiff::tz::TimeZone;
use scrubjay::message::Usage;

const TOP: f64 = 34.0;
const BAND: f64 = 12.0;

/// A part of a bar.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) class: &'static str,
    pub(super) name: &'static str,
    /// Which tokens of a request it is.
    pub(super) tokens: fn(&Usage) -> u64,
}

/// The parts of a bar from the bottom up.
pub(super) const PARTS: [Part; 4] = [
    Part { class: "read", name: "from cache", tokens: |usage| usage.cache_read },
    Part { class: "write-5m", name: "written, 5 min", tokens: |usage| usage.cache_write_5m },
    Part { class: "write-1h", name: "written, 1 hour", tokens: |usage| usage.cache_write_1h },
    Part { class: "fresh", name: "sent fresh", tokens: |usage| usage.input },
];

/// The chart for one room.
pub(super) fn chart(report: &SessionReport, zone: &TimeZone, room: Room) -> Html {
    let axis = Axis::of(report, room);
    let plot = if room.is_wide() { 170.0 } else { 140.0 };
    let largest = report.requests.iter().map(|request| request.usage.total_input()).max();
    let height = Height { top: TOP, bottom: TOP + plot, most: largest.unwrap_or(1).max(1) as f64 * 1.04 };
    let band = height.bottom + 5.0;
    let days = band + BAND + 2.0;
    axis.chart(days + 36.0, &said(report))
        .with(height.drawn(room, 4))
        .all(report.requests.chunks(axis.bundle()).map(|bundle| bar(bundle, axis, height)))
        .all(report.requests.iter().map(|request| warmth(request, axis, band)))
        .with(pauses(report, axis, height, band))
        .with(flags(report, axis, height))
        .with(if room.is_wide() { keys(report, room, height, band) } else { Html::default() })
        .with(axis.drawn(report, zone, days))
        .with(axis.cursor(TOP - 8.0, band + BAND))
        .into()
}

fn said(report: &SessionReport) -> String {
    let Usage { cache_read, cache_write_5m, cache_write_1h, input, .. } = report.cache.usage;
    format!(
        "Input of each request: {} tokens read from the cache, {} written to it, {} fresh, in all. Below, where the cache \
         was warm; above, where it was lost and why.",
        grouped(cache_read),
        grouped(cache_write_5m + cache_write_1h),
        grouped(input)
    )
}

/// One bar; several requests in one place are shown by their mean.
fn bar(bundle: &[Request], axis: Axis, height: Height) -> Html {
    let (Some(first), count) = (bundle.first(), bundle.len()) else { return Html::default() };
    let x = axis.x(first.number as f64) - axis.slot() / 2.0;
    let width = axis.slot() * count as f64;
    let gap = (width * 0.18).min(3.0);
    let mut sum = 0.0;
    let mut drawn = Html::default();
    for Part { class, tokens, .. } in PARTS {
        let part = bundle.iter().map(|request| tokens(&request.usage)).sum::<u64>() as f64 / count as f64;
        if part > 0.0 {
            let (high, low) = (height.y(sum + part), height.y(sum));
            let size = (width - gap, low - high);
            drawn = drawn.and(block(class, (x + gap / 2.0, high), size));
            if class != "read" {
                let pattern = format!("url(#pattern-{class})");
                drawn = drawn.and(block("pattern", (x + gap / 2.0, high), size).set("fill", pattern));
            }
            sum += part;
        }
    }
    drawn
}

/// Whether the cache could still hold what came before.
fn warmth(request: &Request, axis: Axis, y: f64) -> Html {
    let class = match (request.warm, request.outlived) {
        (Some(true), false) => "warm",
        (Some(true), true) => "warm hour",
        (Some(false), _) => "cold",
        (None, _) => return Html::default(),
    };
    let x = axis.x(request.number as f64) - axis.slot() / 2.0;
    block(class, (x, y), (axis.slot() + 0.3, BAND)).into()
}

/// How long nothing was asked, where that cost the cache.
fn pauses(report: &SessionReport, axis: Axis, height: Height, band: f64) -> Html {
    let mut free = f64::MIN;
    let (mut lines, mut labels) = (Html::default(), Html::default());
    for request in report.requests.iter().filter(|request| request.warm == Some(false)) {
        let Some(pause) = request.pause_seconds else { continue };
        let x = axis.x(request.number as f64) - axis.slot() / 2.0;
        lines = lines.and(line("pause", (x, height.top - 4.0), (x, band + BAND)));
        let told = duration(pause);
        let wide = 10.0 + 6.4 * told.len() as f64;
        if x > free && x + wide < axis.room.end() {
            labels = labels.and(words("label halo small", x + 4.0, height.top + 8.0, &told));
            free = x + wide;
        }
    }
    lines.and(labels)
}

/// A flag with its cause where the cache gave less than the last request had left in it.
fn flags(report: &SessionReport, axis: Axis, height: Height) -> Html {
    let mut free = f64::MIN;
    let mut drawn = Html::default();
    for request in &report.requests {
        let Some(miss) = request.misses.iter().find(|miss| !miss.announced).or(request.misses.first()) else {
            continue;
        };
        let x = axis.x(request.number as f64);
        let class = if miss.announced { "flag announced" } else { "flag lost" };
        let wide = 9.0 + 6.6 * miss.cause.len() as f64;
        let y = height.top - 26.0;
        let mut flag = tag("g").class(class).with(tag("title").with(explained(miss, request)));
        // Where flags stand too close for words, only short poles are left; the table below has the words.
        let fits = x > free && x + wide < axis.room.end() + axis.room.right();
        flag = flag.with(line("pole", (x, if fits { y } else { height.top - 9.0 }), (x, height.top - 2.0)));
        if fits {
            let cloth =
                tag("path").class("cloth").set("d", format!("M{x:.1} {y:.1}h{wide:.1}l-3 7.5l3 7.5h-{wide:.1}z"));
            flag = flag.with(cloth).with(words("cause", x + 4.0, y + 11.5, miss.cause));
            free = x + wide + 3.0;
        }
        drawn = drawn.and(flag);
    }
    drawn
}

/// What the parts of the bars and the band are called, beside them.
fn keys(report: &SessionReport, room: Room, height: Height, band: f64) -> Html {
    let (usage, x) = (&report.cache.usage, room.end() + 17.0);
    let parts = PARTS.into_iter().filter(|part| (part.tokens)(usage) > 0);
    let row = |(at, Part { class, name, tokens }): (usize, Part)| {
        let (y, share) = (height.top + 20.0 * at as f64, share(tokens(usage), usage.total_input()));
        Html::from(block(class, (x, y), (15.0, 15.0)).set("rx", 4))
            .and(block("pattern", (x, y), (15.0, 15.0)).set("fill", format!("url(#pattern-{class})")))
            .and(words("label", x + 20.0, y + 12.0, name))
            .and(words("label number end", room.width() - 2.0, y + 12.0, &share))
    };
    let rows: Html = parts.enumerate().map(row).collect();
    rows.and(words("label small", x, band + 10.0, "warm, or cold after a pause"))
}

/// A share of the input to a tenth of a per cent.
pub(super) fn share(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// What a break was, in a sentence.
pub(super) fn explained(miss: &Miss, request: &Request) -> String {
    let pause = request.pause_seconds.map(|pause| format!(" of {}", duration(pause))).unwrap_or_default();
    let why = match miss.cause {
        "ttl" => format!("the pause{pause} was longer than the cache lives"),
        "us" => "a layer changed what was sent before".to_owned(),
        "model" => "another model was asked".to_owned(),
        "system" => "the system prompt changed".to_owned(),
        "tools" => "the tools changed".to_owned(),
        "history" => "earlier messages changed".to_owned(),
        "server" => "the service dropped it".to_owned(),
        other => other.to_owned(),
    };
    let part = miss.part.as_ref().map(|part| format!(" ({part})")).unwrap_or_default();
    let lost = miss.lost_tokens.map(|tokens| format!(": {} tokens were processed again", grouped(tokens)));
    let announced = if miss.announced { "; announced before the request" } else { "" };
    format!("{why}{part}{}{announced}", lost.unwrap_or_default())
}

/// Seconds in the largest unit that fits.
pub(super) fn duration(seconds: i64) -> String {
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_in_words() {
        assert_eq!(
            [5, 119, 120, 7_199, 57_600, 200_000].map(duration),
            ["5 s", "119 s", "2 min", "119 min", "16 h", "2 days"]
        );
    }
}
