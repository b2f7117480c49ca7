//! Window over turns: what stood in the window after each request, what kept it small, and what would have stood there.

use super::drawing::{Axis, Height, Room, badge, block, line, path, words};
use super::facts::{Event, SessionReport};
use super::markup::{Html, tag};
use crate::layers::{Mark, Marked as _};
use crate::paper::{grouped, short};
use jiff::tz::TimeZone;
use scrubjay::tokens::Share;
use scrubjay::transcript::Filling;
use std::collections::BTreeMap;

const TOP: f64 = 28.0;
const LANE: f64 = 20.0;

/// The class under which a part of the window has its colour.
pub(super) fn share_class(share: Share) -> String {
    format!("share-{}", share.mark().letter)
}

/// The same for a layer.
pub(super) fn layer_class(mark: Mark) -> String {
    format!("layer-{}", mark.letter)
}

/// A window at a place between requests.
struct Stand<'a> {
    place: f64,
    filling: &'a Filling,
}

/// The chart for one room.
pub(super) fn chart(report: &SessionReport, zone: &TimeZone, room: Room) -> Html {
    let axis = Axis::of(report, room);
    let plot = if room.is_wide() { 320.0 } else { 230.0 };
    let height = Height { top: TOP, bottom: TOP + plot, most: most(report) };
    let lanes = lanes(report);
    let first = height.bottom + 44.0;
    let bottom = first + LANE * lanes.len() as f64;
    axis.chart(bottom + 6.0, &said(report))
        .with(height.drawn(room, 5))
        .with(words("tick end", room.left() - 7.0, TOP - 16.0, "tokens"))
        .with(stack(report, axis, height))
        .with(boundaries(report, axis, height))
        .with(without(report, axis, height))
        .with(limits(report, room, height))
        .with(if room.is_wide() { names(report, axis, height) } else { Html::default() })
        .with(axis.drawn(report, zone, height.bottom))
        .all(lanes.iter().enumerate().map(|(at, (_, events))| lane(events, axis, first + LANE * at as f64)))
        .with(axis.cursor(TOP - 6.0, bottom))
        .into()
}

/// What a screen reader tells.
fn said(report: &SessionReport) -> String {
    let last = report.requests.last();
    let (used, without) = last.map_or((0, 0), |last| (last.filling.total, last.without));
    format!(
        "Tokens in the window after each of {} requests, stacked by what put them there. In the end {} tokens; without the \
         layers about {}. The slider below reads every request, and the table has all of them.",
        grouped(report.requests.len() as u64),
        grouped(used),
        grouped(without)
    )
}

/// How high the picture reaches: all that stood in the window, and what would have, up to a quarter more than it holds.
fn most(report: &SessionReport) -> f64 {
    let fillings = report.requests.iter().map(|request| &request.filling);
    let used = fillings.chain(report.changes.iter().map(|change| &change.filling)).map(|filling| filling.total).max();
    let without = report.requests.iter().map(|request| request.without).max();
    let used = used.unwrap_or(1).max(1) as f64;
    (used * 1.15).max((without.unwrap_or(1) as f64 * 1.08).min(report.window.window as f64 * 1.25))
}

/// The window after each request, and before and after each change between two of them.
fn stands<'a>(report: &'a SessionReport, axis: Axis) -> Vec<Stand<'a>> {
    let mut stands: Vec<Stand<'a>> = Vec::new();
    let mut changes = report.changes.iter().peekable();
    for (at, request) in report.requests.iter().enumerate() {
        while let Some(change) = changes.next_if(|change| change.request < request.number) {
            let place = change.request as f64 + 0.5;
            // What fell, fell at once.
            let before = at.checked_sub(1).and_then(|before| report.requests.get(before));
            stands.extend(before.map(|before| Stand { place, filling: &before.filling }));
            stands.push(Stand { place, filling: &change.filling });
        }
        if at % axis.bundle() == 0 || at + 1 == report.requests.len() {
            stands.push(Stand { place: request.number as f64, filling: &request.filling });
        }
    }
    stands
}

/// One area for each part, from the bottom up, each in its colour and with its pattern.
fn stack(report: &SessionReport, axis: Axis, height: Height) -> Html {
    let stands = stands(report, axis);
    let edge = |at: usize, x: f64, upto: usize| {
        let filling = stands[at].filling;
        let sum: u64 = Share::ALL[..upto].iter().filter_map(|share| filling.by_share.get(share)).sum();
        (x, height.y(sum as f64))
    };
    let line_of = |upto: usize| -> Vec<(f64, f64)> {
        let mut points = vec![edge(0, axis.room.left(), upto)];
        points.extend((0..stands.len()).map(|at| edge(at, axis.x(stands[at].place), upto)));
        points.push(edge(stands.len() - 1, axis.room.end(), upto));
        points
    };
    if stands.is_empty() {
        return Html::default();
    }
    let is_there = |share: &Share| stands.iter().any(|stand| stand.filling.by_share.contains_key(share));
    let area = |(at, share): (usize, Share)| {
        let (mut points, mut below) = (line_of(at + 1), line_of(at));
        below.reverse();
        points.append(&mut below);
        let d = path(&points);
        let plain = tag("path").class(format!("area {}", share_class(share))).set("d", &d);
        let pattern = tag("path").set("fill", format!("url(#pattern-{})", share.mark().letter)).set("d", &d);
        Html::from(plain).and(pattern)
    };
    let areas = Share::ALL.into_iter().enumerate().filter(|(_, share)| is_there(share)).map(area);
    tag("g").class("stack").all(areas).into()
}

/// The lines of the window, as far as the picture reaches.
fn limits(report: &SessionReport, room: Room, height: Height) -> Html {
    let window = &report.window;
    let mut lowest = f64::MIN;
    let mut drawn = Html::default();
    for (class, word, tokens) in [
        ("limit full", "the window holds", window.window),
        ("limit compaction", "compacts at", window.compaction),
        ("limit warning", "warns at", window.warning),
    ] {
        let y = height.y(tokens as f64);
        if tokens as f64 > height.most {
            continue;
        }
        drawn = drawn.and(line(class, (room.left(), y), (room.end(), y)));
        // Lines that lie close together share the label of the upper one.
        if y - lowest > 14.0 {
            drawn = drawn.and(words("label halo", room.left() + 6.0, y - 4.0, &format!("{word} {}", short(tokens))));
            lowest = y;
        }
    }
    drawn
}

/// Where a summary took the place of a stretch.
fn boundaries(report: &SessionReport, axis: Axis, height: Height) -> Html {
    let mut free = f64::MIN;
    let mut drawn = Html::default();
    for boundary in &report.compactions {
        let x = axis.x(boundary.after as f64 + 0.5);
        let mark = scrubjay::ledger::Layer::Compaction.mark();
        drawn = drawn.and(line("boundary", (x, TOP - 4.0), (x, height.bottom))).and(badge(
            mark,
            &layer_class(mark),
            x - 7.5,
            TOP - 6.0,
        ));
        let change = format!("{} → {}", short(boundary.tokens_before), short(boundary.tokens_after));
        if !axis.room.is_wide() {
            continue;
        }
        // Behind the mark if there is room, else before it.
        if x > free && x + 96.0 < axis.room.end() {
            drawn = drawn.and(words("label halo", x + 12.0, TOP - 5.0, &change));
            free = x + 110.0;
        } else if x - 100.0 > free {
            drawn = drawn.and(words("label halo end", x - 12.0, TOP - 5.0, &change));
        }
    }
    drawn
}

/// The dashed line of what would have stood in the window, up to where it leaves the picture.
fn without(report: &SessionReport, axis: Axis, height: Height) -> Html {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut leaves = None;
    for request in &report.requests {
        let (x, y) = (axis.x(request.number as f64), height.y(request.without as f64));
        if y < height.top {
            let (from, low) = points.last().copied().unwrap_or((x, height.bottom));
            let crossing = from + (x - from) * (low - height.top) / (low - y);
            points.push((crossing, height.top));
            leaves = Some((crossing, request.number));
            break;
        }
        points.push((x, y));
    }
    let (Some(last), Some((x, y))) = (report.requests.last(), points.last().copied()) else { return Html::default() };
    if last.kept_out.is_empty() {
        return Html::default();
    }
    let total = short(last.without);
    let y = height.top + 13.0_f64.max(if leaves.is_some() { 0.0 } else { y - height.top - 8.0 });
    let early = leaves.filter(|(x, _)| *x < axis.room.left() + 0.55 * (axis.room.end() - axis.room.left()));
    let (class, x, told) = match early {
        Some((x, number)) if axis.room.is_wide() => {
            let number = grouped(number);
            let told = format!("without the layers: off this picture from request {number}, {total} in the end");
            ("label without halo", x + 8.0, told)
        }
        Some((x, _)) => ("label without halo", x + 6.0, format!("without the layers: {total}")),
        None => ("label without halo end", x - 8.0, format!("without the layers: {total}")),
    };
    Html::from(tag("path").class("without").set("d", path(&points))).and(words(class, x, y, &told))
}

/// The name of each part beside where it ends.
fn names(report: &SessionReport, axis: Axis, height: Height) -> Html {
    const ROW: f64 = 18.0;
    let Some(last) = report.requests.last() else { return Html::default() };
    let mut sum = 0;
    let mut rows: Vec<(f64, f64, Share, u64)> = Vec::new();
    for share in Share::ALL {
        let tokens = last.filling.by_share.get(&share).copied().unwrap_or_default();
        if tokens > 0 {
            let middle = height.y(sum as f64 + tokens as f64 / 2.0);
            rows.push((middle, middle, share, tokens));
            sum += tokens;
        }
    }
    // From the bottom up, each at least a row above the one below it.
    let mut below = height.bottom + ROW;
    for row in &mut rows {
        row.1 = row.1.min(below - ROW);
        below = row.1;
    }
    let x = axis.room.end();
    let name = |(middle, y, share, tokens): (f64, f64, Share, u64)| {
        let mark = share.mark();
        line("leader", (x + 1.0, middle), (x + 14.0, y))
            .and(badge(mark, &share_class(share), x + 17.0, y + 4.0))
            .and(words("label", x + 37.0, y + 4.5, mark.name))
            .and(words("label number end", axis.room.width() - 2.0, y + 4.5, &short(tokens)))
    };
    rows.into_iter().map(name).collect()
}

/// What each layer did, by layer.
pub(super) fn lanes(report: &SessionReport) -> Vec<(char, Vec<&Event>)> {
    let mut lanes: BTreeMap<char, Vec<&Event>> = BTreeMap::new();
    for event in &report.events {
        lanes.entry(event.letter).or_default().push(event);
    }
    lanes.into_iter().collect()
}

/// One layer: a bar wherever it acted.
fn lane(events: &[&Event], axis: Axis, y: f64) -> Html {
    let Some(mark) = events.first().map(|event| event.layer.mark()) else { return Html::default() };
    let (class, room) = (layer_class(mark), axis.room);
    let base = line("lane", (room.left(), y + LANE - 3.0), (room.end(), y + LANE - 3.0));
    let bar = |event: &&Event| {
        let x = axis.x(event.after as f64 + 0.5).min(room.end() - 2.0);
        // What came to nothing is a dot on the line.
        let (class, height) =
            if event.acted { (format!("firing {class}"), LANE - 7.0) } else { (format!("firing idle {class}"), 3.6) };
        let place = (x - 1.8, y + LANE - 3.0 - height);
        block(&class, place, (3.6, height)).set("rx", 1.5).with(tag("title").with(event.what.as_str()))
    };
    let bars: Html = events.iter().map(bar).collect();
    let count = grouped(events.iter().filter(|event| event.acted).count() as u64);
    let label = if room.is_wide() {
        badge(mark, &class, room.end() + 17.0, y + LANE - 6.0)
            .and(words("label", room.end() + 37.0, y + LANE - 5.5, mark.name))
            .and(words("label number end", room.width() - 2.0, y + LANE - 5.5, &count))
    } else {
        badge(mark, &class, room.left() - 22.0, y + LANE - 6.0)
    };
    base.and(bars).and(label)
}
