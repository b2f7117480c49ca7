//! Money: from what the session would have cost to what was billed, step by step, and the net as it grew.

use super::drawing::{Axis, Height, Room, block, line, path, words};
use super::facts::{Money, SessionReport, Step};
use super::markup::{Html, tag};
use crate::layers::Marked as _;
use crate::paper::dollars;
use scrubjay::ledger::savings::Kind;

/// Money with its sign before it.
pub(super) fn signed(amount: f64) -> String {
    let sign = if amount < 0.0 { "−" } else { "+" };
    format!("{sign}{}", dollars(amount.abs()))
}

/// What a step is called.
pub(super) fn name(step: &Step) -> String {
    match (step.kind, step.layer) {
        (Kind::Saving, Some(layer)) => {
            let mark = layer.mark();
            let number = if mark.letter.is_ascii_digit() { format!("{} · ", mark.letter) } else { String::new() };
            format!("{number}{}", mark.name)
        }
        (Kind::Saving, None) => "saved".to_owned(),
        (Kind::Damage, _) => "warm caches we spoiled".to_owned(),
        (Kind::ReadBack, _) => "hidden text read again".to_owned(),
        (Kind::Premium, _) => "longer cache lifetime".to_owned(),
        (Kind::Spend, _) => "our own calls".to_owned(),
    }
}

/// A row of the waterfall: where its bar begins and ends, in dollars.
struct Fall {
    name: String,
    amount: String,
    class: &'static str,
    from: f64,
    to: f64,
}

/// Every row, if every price is known.
fn falls(money: &Money) -> Option<Vec<Fall>> {
    let (without, billed) = money.without_usd.zip(money.billed_usd)?;
    let whole = |name: &str, class, amount: f64| Fall {
        name: name.to_owned(),
        amount: dollars(amount),
        class,
        from: 0.0,
        to: amount,
    };
    let mut rows = vec![whole("without the layers", "whole", without)];
    let mut at = without;
    for step in &money.steps {
        let usd = step.sum.usd?;
        let class = if usd >= 0.0 { "gain" } else { "loss" };
        rows.push(Fall { name: name(step), amount: signed(-usd), class, from: at, to: at - usd });
        at -= usd;
    }
    rows.push(whole("billed", "whole billed", billed));
    Some(rows)
}

/// The waterfall for one room; nothing where a price is missing.
pub(super) fn waterfall(money: &Money, room: Room) -> Option<Html> {
    let rows = falls(money)?;
    let (label, row, thick) = if room.is_wide() { (206.0, 34.0, 20.0) } else { (0.0, 46.0, 18.0) };
    let (start, end) = (label + 4.0, room.width() - if room.is_wide() { 110.0 } else { 4.0 });
    let most = rows.iter().map(|row| row.from.max(row.to)).fold(f64::MIN_POSITIVE, f64::max);
    let x = |usd: f64| start + usd.max(0.0) / most * (end - start);
    let height = row * rows.len() as f64 + 4.0;
    let says = "From what the session would have cost to what was billed; the table below has the same numbers.";
    let mut chart = room.chart(height, says);
    for (at, fall) in rows.iter().enumerate() {
        let y = row * at as f64 + if room.is_wide() { 7.0 } else { 22.0 };
        let (low, high) = (x(fall.from.min(fall.to)), x(fall.from.max(fall.to)));
        let (place, size) = ((low, y), ((high - low).max(1.5), thick));
        chart = chart.with(block(fall.class, place, size).set("rx", 2));
        if fall.class != "whole" {
            let pattern = fall.class.split(' ').next_back().unwrap_or_default();
            chart = chart.with(block("pattern", place, size).set("fill", format!("url(#pattern-{pattern})")));
        }
        if at + 1 < rows.len() {
            chart = chart.with(line("joint", (x(fall.to), y), (x(fall.to), y + row + thick)));
        }
        let (name_x, name_y) = if room.is_wide() { (label - 8.0, y + 14.5) } else { (2.0, y - 5.0) };
        let side = if room.is_wide() { "label end" } else { "label" };
        let amount =
            if room.is_wide() { (high + 8.0, y + 14.5, "amount") } else { (room.width() - 4.0, y - 5.0, "amount end") };
        chart =
            chart.with(words(side, name_x, name_y, &fall.name)).with(words(amount.2, amount.0, amount.1, &fall.amount));
    }
    Some(chart.into())
}

/// The net after each request, on its own axis: it may be below zero.
pub(super) fn net(report: &SessionReport, room: Room) -> Option<Html> {
    let axis = Axis::of(report, room);
    let sums: Option<Vec<f64>> = report.requests.iter().map(|request| request.net.usd).collect();
    let sums = sums.filter(|sums| sums.iter().any(|usd| *usd != 0.0))?;
    let (low, high) = sums
        .iter()
        .chain(&report.money.net.usd)
        .fold((0.0f64, 0.0f64), |(low, high), usd| (low.min(*usd), high.max(*usd)));
    let (top, bottom) = (14.0, 104.0);
    let height = Height { top, bottom, most: (high - low).max(f64::MIN_POSITIVE) };
    let y = |usd: f64| height.y(usd - low);
    let mut points: Vec<(f64, f64)> = vec![(room.left(), y(0.0))];
    points.extend(sums.iter().enumerate().map(|(at, usd)| (axis.x(at as f64 + 1.0), y(*usd))));
    // What our own calls took after the last request counts, too.
    let (last, end) = (report.money.net.usd?, room.end());
    points.push((end, y(last)));
    let mut area = points.clone();
    area.extend([(end, y(0.0)), (room.left(), y(0.0))]);
    let part = |class: &'static str, from: f64, to: f64| {
        let id = room.id(class);
        let clip = tag("clipPath").set("id", &id).with(block("", (0.0, from), (room.width(), to - from)));
        Html::from(clip).and(tag("path").class(class).set("d", path(&area)).set("clip-path", format!("url(#{id})")))
    };
    let (x, anchor) = if room.is_wide() { (room.end() + 8.0, "amount") } else { (end - 4.0, "amount end halo") };
    let chart = axis
        .chart(bottom + 14.0, "The net after each request: savings less what they cost.")
        .with(part("net-gain", 0.0, y(0.0)))
        .with(part("net-loss", y(0.0), bottom + 14.0))
        .with(line("zero", (room.left(), y(0.0)), (room.end(), y(0.0))))
        .with(words("tick end", room.left() - 7.0, y(0.0) + 4.0, "$0"))
        .with(tag("path").class("net").set("d", path(&points)))
        .with(words(anchor, x, y(last) + 4.0, &format!("net {}", signed(last))))
        .with(axis.cursor(top - 8.0, bottom));
    Some(chart.into())
}
