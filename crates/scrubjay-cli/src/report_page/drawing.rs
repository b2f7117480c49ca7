//! The paper that charts are drawn on: how wide it is, where a request and a number lie on it, and what every chart has.

use super::facts::SessionReport;
use super::markup::{Html, Tag, tag, tenth};
use crate::layers::Mark;
use crate::paper::{grouped, short};
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil::Date};

/// For whom a chart is drawn. Each is drawn twice, because letters must not shrink with the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// A desk.
    Wide,
    /// A phone.
    Narrow,
}

impl Room {
    pub(super) const BOTH: [Room; 2] = [Room::Wide, Room::Narrow];

    pub(super) fn is_wide(self) -> bool {
        self == Room::Wide
    }

    pub(super) fn width(self) -> f64 {
        if self.is_wide() { 1_040.0 } else { 360.0 }
    }

    /// Where the plot begins: numbers stand before it.
    pub(super) fn left(self) -> f64 {
        if self.is_wide() { 50.0 } else { 36.0 }
    }

    /// What stays free behind the plot: on a desk, names stand there.
    pub(super) fn right(self) -> f64 {
        if self.is_wide() { 172.0 } else { 8.0 }
    }

    pub(super) fn end(self) -> f64 {
        self.width() - self.right()
    }

    fn name(self) -> &'static str {
        if self.is_wide() { "wide" } else { "narrow" }
    }

    /// How many requests can be told apart.
    pub(super) fn most(self) -> usize {
        if self.is_wide() { 400 } else { 150 }
    }

    /// A name that is used once in a page.
    pub(super) fn id(self, what: &str) -> String {
        format!("{what}-{}", self.name())
    }

    /// An empty chart of this height; `says` is what a screen reader tells.
    pub(super) fn chart(self, height: f64, says: &str) -> Tag {
        tag("svg")
            .class(format!("chart {}", self.name()))
            .set("viewBox", format!("0 0 {} {}", tenth(self.width()), tenth(height)))
            .set("role", "img")
            .set("aria-label", says)
    }
}

/// Where requests lie from left to right.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    pub(super) room: Room,
    pub(super) requests: usize,
}

impl Axis {
    pub(super) fn of(report: &SessionReport, room: Room) -> Self {
        Self { room, requests: report.requests.len().max(1) }
    }

    /// How wide one request is.
    pub(super) fn slot(self) -> f64 {
        (self.room.end() - self.room.left()) / self.requests as f64
    }

    /// The middle of a request, counted from 1; what happened after it lies half a request further.
    pub(super) fn x(self, request: f64) -> f64 {
        self.room.left() + (request - 0.5) * self.slot()
    }

    /// How many requests are drawn as one.
    pub(super) fn bundle(self) -> usize {
        self.requests.div_ceil(self.room.most())
    }

    /// Requests by number, and days by name.
    pub(super) fn drawn(self, report: &SessionReport, zone: &TimeZone, y: f64) -> Html {
        let about = if self.room.is_wide() { 10 } else { 4 };
        let numbers = steps(self.requests as f64, about).into_iter().filter(|step| *step >= 1.0 && step.fract() == 0.0);
        let mut drawn: Html =
            numbers.map(|step| words("tick mid", self.x(step), y + 13.0, &grouped(step as u64))).collect();
        let mut free = f64::MIN;
        for (number, at) in days(report, zone) {
            let x = self.x(number as f64) - self.slot() / 2.0;
            drawn = drawn.and(line("day", (x, y), (x, y + 30.0)));
            if x >= free && x + 60.0 < self.room.end() {
                drawn = drawn.and(words("tick day-name", x + 4.0, y + 28.0, &at.strftime("%a %-d %b").to_string()));
                free = x + 76.0;
            }
        }
        drawn
    }

    /// The line that follows the pointer and the slider.
    pub(super) fn cursor(self, top: f64, bottom: f64) -> Html {
        let x = self.x(self.requests as f64);
        let mark = tag("g").class("cursor").set("transform", format!("translate({} 0)", tenth(x)));
        mark.with(line("hair", (0.0, top), (0.0, bottom))).into()
    }

    /// A chart that the pointer moves over.
    pub(super) fn chart(self, height: f64, says: &str) -> Tag {
        self.room.chart(height, says).at("data-left", self.room.left()).set("data-slot", format!("{:.4}", self.slot()))
    }
}

/// The first request of each day.
fn days(report: &SessionReport, zone: &TimeZone) -> Vec<(u64, Date)> {
    let mut days: Vec<(u64, Date)> = Vec::new();
    for request in &report.requests {
        let day = request.at.to_zoned(zone.clone()).date();
        if days.last().is_none_or(|(_, last)| *last != day) {
            days.push((request.number, day));
        }
    }
    days
}

/// Where numbers lie from the bottom to the top.
#[derive(Debug, Clone, Copy)]
pub(super) struct Height {
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) most: f64,
}

impl Height {
    pub(super) fn y(self, value: f64) -> f64 {
        self.bottom - value / self.most * (self.bottom - self.top)
    }

    /// Lines across the plot with their numbers before it.
    pub(super) fn drawn(self, room: Room, about: usize) -> Html {
        let row = |value: f64| {
            let y = self.y(value);
            let across = line("grid", (room.left(), y), (room.end(), y));
            across.and(words("tick end", room.left() - 7.0, y + 4.0, &round(value as u64)))
        };
        std::iter::once(0.0).chain(steps(self.most, about)).map(row).collect()
    }
}

/// Tokens in round numbers: `0`, `50k`, `1.5M`.
pub(super) fn round(value: u64) -> String {
    short(value).replace(".0", "")
}

/// About so many round numbers between nothing and this.
pub(super) fn steps(most: f64, about: usize) -> Vec<f64> {
    if most <= 0.0 || most.is_nan() {
        return Vec::new();
    }
    let rough = most / about as f64;
    let ten = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|by| by * ten).find(|step| *step >= rough).unwrap_or(rough);
    (1..=about * 2).map(|n| n as f64 * step).take_while(|value| *value <= most).collect()
}

/// A straight line.
pub(super) fn line(class: &'static str, from: (f64, f64), to: (f64, f64)) -> Html {
    tag("line").class(class).at("x1", from.0).at("y1", from.1).at("x2", to.0).at("y2", to.1).into()
}

/// A rectangle.
pub(super) fn block(class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) -> Tag {
    tag("rect").class(class).at("x", x).at("y", y).at("width", width.max(0.0)).at("height", height.max(0.0))
}

/// Words in a chart.
pub(super) fn words(class: &str, x: f64, y: f64, text: &str) -> Html {
    tag("text").class(class).at("x", x).at("y", y).with(text).into()
}

/// A path through these points.
pub(super) fn path(points: &[(f64, f64)]) -> String {
    let mut d = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        d.push(if at == 0 { 'M' } else { 'L' });
        d.push_str(&format!("{} {}", tenth(*x), tenth(*y)));
    }
    d
}

/// A letter on its colour, in a chart.
pub(super) fn badge(mark: Mark, class: &str, x: f64, y: f64) -> Html {
    let ground = tag("rect").at("x", x).at("y", y - 11.0).set("width", 15).set("height", 15).set("rx", 4);
    let letter = words("badge-letter", x + 7.5, y + 0.5, &mark.letter.to_string());
    tag("g").class(class).with(ground.class("ground")).with(letter).into()
}

/// A moment as a person reads it.
pub(super) fn moment(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%a %-d %b %Y, %H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn round_numbers_cover_the_axis() {
        assert_eq!(steps(214_000.0, 5), [50_000.0, 100_000.0, 150_000.0, 200_000.0]);
        assert_eq!(steps(7.0, 10), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        assert!(steps(0.0, 5).is_empty() && steps(f64::NAN, 5).is_empty());
        assert_eq!([0, 50_000, 1_500_000].map(round), ["0", "50k", "1.5M"]);
    }

    #[test]
    fn requests_fill_the_plot() {
        for room in Room::BOTH {
            for requests in [1, 2, 5_000] {
                let axis = Axis { room, requests };
                let half = axis.slot() / 2.0;
                assert!((axis.x(1.0) - half - room.left()).abs() < 1e-6);
                assert!((axis.x(requests as f64) + half - room.end()).abs() < 1e-6);
                assert!(requests / axis.bundle() <= room.most());
            }
        }
    }

    proptest! {
        #[test]
        fn steps_rise_and_stay_below_the_top(most in 1e-3..1e12f64, about in 1usize..12) {
            let steps = steps(most, about);
            prop_assert!(steps.len() <= about, "{steps:?}");
            prop_assert!(steps.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(steps.iter().all(|step| *step > 0.0 && *step <= most));
        }
    }
}
