//! What is seen while the session plays: on a terminal one picture that changes, elsewhere a line for each thing that a
//! layer does.

use super::chart::{Canvas, SHARES};
use super::firing::Firing;
use super::play::Frame;
use super::script::Script;
use crate::arguments::Layer;
use crate::failure::Failure;
use crate::layers::{Mark, Marked as _};
use crate::paper::{Paper, Tone, grouped, percent, short, unwritten};
use clap::ValueEnum as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use scrubjay::tokens::{Budget, Share};
use std::io::{self, Write as _};

/// Rows of the chart: at least, where there is room, and at most.
const ROWS: [usize; 3] = [6, 8, 12];
/// What stands in front of a row of the chart.
const MARGIN: usize = 7;

/// How the play is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Showing {
    /// One picture, drawn over and over.
    Picture,
    /// Line by line.
    Lines,
}

/// What one layer has done so far.
#[derive(Debug, Clone, Default)]
struct Deeds {
    times: u64,
    last: String,
    is_new: bool,
}

/// What is on the screen.
pub(super) struct Screen {
    paper: Paper,
    showing: Showing,
    /// When each turn happens.
    times: Vec<Timestamp>,
    budget: Budget,
    off: Vec<Layer>,
    frames: Vec<Frame>,
    /// How full the window is without the layers.
    without: Vec<u64>,
    deeds: [Deeds; 7],
    /// How high the chart is.
    rows: usize,
    /// How many lines are drawn over next time.
    drawn: usize,
}

impl Screen {
    pub(super) fn new(paper: &Paper, (script, turns): (&Script, usize), budget: Budget, off: &[Layer]) -> Self {
        Self {
            paper: *paper,
            showing: Showing::Lines,
            times: script.turns.iter().take(turns).map(|turn| turn.at).collect(),
            budget,
            off: off.to_vec(),
            frames: Vec::new(),
            without: Vec::new(),
            deeds: Default::default(),
            rows: ROWS[1],
            drawn: 0,
        }
    }

    /// On a terminal of this height, where the picture fits.
    pub(super) fn on_terminal(mut self, height: usize) -> Self {
        let around = self.picture().len() - self.rows;
        if let Some(rows) = height.checked_sub(around + 1).filter(|rows| *rows >= ROWS[0]) {
            (self.rows, self.showing) = (rows.min(ROWS[2]), Showing::Picture);
        }
        self
    }

    pub(super) fn is_picture(&self) -> bool {
        self.showing == Showing::Picture
    }

    /// How full the window is without the layers after one more turn.
    pub(super) fn compare(&mut self, without: u64) {
        self.without.push(without);
    }

    /// A turn is over.
    pub(super) fn show(&mut self, frame: Frame) -> Result<(), Failure> {
        self.deeds.iter_mut().for_each(|deeds| deeds.is_new = false);
        for Firing { layer, words, .. } in &frame.firings {
            if let Some(deeds) = self.deeds.get_mut(usize::from(*layer) - 1) {
                *deeds = Deeds { times: deeds.times + 1, last: words.clone(), is_new: true };
            }
        }
        let lines = match self.showing {
            Showing::Picture => Vec::new(),
            Showing::Lines => self.lines(&frame),
        };
        self.frames.push(frame);
        match self.showing {
            Showing::Picture => self.redraw(),
            Showing::Lines => say(&lines),
        }
    }

    /// A layer did something that belongs to no turn.
    pub(super) fn tell(&mut self, firing: Firing) -> Result<(), Failure> {
        let deeds = &mut self.deeds[usize::from(firing.layer.clamp(1, 7)) - 1];
        *deeds = Deeds { times: deeds.times + 1, last: firing.words.clone(), is_new: true };
        match self.showing {
            Showing::Picture => self.redraw(),
            Showing::Lines => say(&[format!("{:>27}  {}", "", self.fired(&firing))]),
        }
    }

    /// It is over: what was drawn stays, and whoever saw lines gets the picture too.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        self.deeds.iter_mut().for_each(|deeds| deeds.is_new = false);
        match self.showing {
            Showing::Picture => self.redraw()?,
            Showing::Lines => say(&[vec![String::new()], self.picture()].concat())?,
        }
        self.leave()
    }

    /// Give the terminal back.
    pub(super) fn leave(&self) -> Result<(), Failure> {
        if self.showing == Showing::Lines {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        write!(out, "\x1b[?25h").and_then(|()| out.flush()).map_err(unwritten)
    }

    fn redraw(&mut self) -> Result<(), Failure> {
        let picture = self.picture();
        let mut text = String::from("\x1b[?2026h\x1b[?25l");
        if self.drawn > 0 {
            text.push_str(&format!("\x1b[{}A", self.drawn));
        }
        for line in &picture {
            text.push_str(&format!("\r{line}\x1b[K\n"));
        }
        text.push_str("\x1b[?2026l");
        self.drawn = picture.len();
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(unwritten)
    }

    fn lines(&self, frame: &Frame) -> Vec<String> {
        let head = format!("{:>4}  {}  {:>7}", frame.turn, when(frame.at), short(frame.tokens()));
        let line = |(at, firing): (usize, &Firing)| {
            let head = if at == 0 { head.clone() } else { " ".repeat(head.chars().count()) };
            format!("{head}  {}", self.fired(firing))
        };
        frame.firings.iter().enumerate().map(line).collect()
    }

    fn fired(&self, Firing { layer: number, words, .. }: &Firing) -> String {
        let Some(layer) = Layer::value_variants().get(usize::from(*number) - 1) else { return words.clone() };
        let mark = layer.booked_as().mark();
        let text = clipped(&format!("{number} {}: {words}", mark.name), self.paper.width.saturating_sub(33));
        mark.ink(self.paper.ink, &text)
    }

    /// The whole picture: what is asked, the window over the turns, the window now, the layers.
    fn picture(&self) -> Vec<String> {
        let mut lines = vec![self.heading(), self.question(), String::new()];
        let columns = self.paper.width.saturating_sub(MARGIN + 1).clamp(1, 120);
        let (line, turns, pencil) = (self.budget.compaction, self.times.len(), self.paper.pencil(columns));
        let Self { frames, without, .. } = self;
        // No further than the play has come.
        let without = &without[..without.len().min(frames.len())];
        lines.extend(Canvas { pencil, rows: self.rows, turns, line, frames, without }.draw());
        lines.push(self.days(columns));
        lines.extend(self.legend());
        lines.push(String::new());
        lines.extend(Layer::value_variants().iter().map(|layer| self.layer(*layer)));
        lines
    }

    fn heading(&self) -> String {
        let (turns, now) = (self.times.len(), self.frames.last());
        let (turn, at) = (self.frames.len(), now.map(|frame| frame.at).or(self.times.first().copied()));
        let used = now.map_or(0, Frame::tokens);
        let left = format!("{} · turn {turn} of {turns}", at.map(when).unwrap_or_default());
        let right = format!(
            "window {} of {} tokens, {} %",
            grouped(used),
            grouped(self.budget.window),
            percent(used, self.budget.window)
        );
        let gap = self.paper.width.saturating_sub(left.chars().count() + right.chars().count()).max(1);
        format!("{}{}{right}", self.paper.ink.paint(Tone::Strong, &left), " ".repeat(gap))
    }

    fn question(&self) -> String {
        let words = self.frames.last().map(|frame| frame.words.as_str()).unwrap_or_default();
        self.paper.ink.paint(Tone::Active, &clipped(&format!("> {words}"), self.paper.width))
    }

    /// The names of the days, where each begins.
    fn days(&self, columns: usize) -> String {
        let mut line = String::new();
        let date = |at: &Timestamp| at.to_zoned(TimeZone::UTC).date();
        for (at, time) in self.times.iter().enumerate() {
            let begins = at == 0 || date(&self.times[at - 1]) != date(time);
            let column = MARGIN + at * columns / self.times.len();
            if begins && line.chars().count() <= column {
                line.push_str(&" ".repeat(column - line.chars().count()));
                line.push_str(&format!("└ {}", time.strftime("%A")));
            }
        }
        self.paper.ink.paint(Tone::Faint, &clipped(&line, self.paper.width))
    }

    /// Which colour and letter is which, and how much of it there is now.
    fn legend(&self) -> Vec<String> {
        let window = self.frames.last().map(|frame| frame.window.clone()).unwrap_or_default();
        let part = |share: Share| {
            let (mark, tokens) = (share.mark(), window.get(&share).copied().unwrap_or(0));
            (mark, format!("{} {} {}", mark.letter, mark.name, short(tokens)))
        };
        let without = (Mark::FREE, "· without the layers".to_owned());
        let (mut lines, mut width) = (vec![" ".repeat(MARGIN)], MARGIN);
        for (mark, text) in SHARES.into_iter().map(part).chain([without]) {
            let taken = text.chars().count() + 2;
            if width + taken > self.paper.width + 2 {
                lines.push(" ".repeat(MARGIN));
                width = MARGIN;
            }
            width += taken;
            if let Some(line) = lines.last_mut() {
                line.push_str(&format!("{}  ", mark.ink(self.paper.ink, &text)));
            }
        }
        lines.iter().map(|line| line.trim_end().to_owned()).collect()
    }

    fn layer(&self, which: Layer) -> String {
        let (mark, deeds) = (which.booked_as().mark(), &self.deeds[usize::from(which.number()) - 1]);
        let name = format!("{} {:<16}", mark.letter, mark.name);
        let (times, words) = match (self.off.contains(&which), deeds.times) {
            (true, _) => ("  off".to_owned(), String::new()),
            (false, 0) => ("    ·".to_owned(), String::new()),
            (false, times) => (format!("{times:>4}×"), clipped(&deeds.last, self.paper.width.saturating_sub(27))),
        };
        let (sign, tone) = if deeds.is_new { ("▸", Tone::Strong) } else { (" ", Tone::Faint) };
        format!("{sign}{}{times}  {}", mark.ink(self.paper.ink, &name), self.paper.ink.paint(tone, &words))
            .trim_end()
            .to_owned()
    }
}

/// `Tue 3 March 09:12`.
fn when(at: Timestamp) -> String {
    at.strftime("%a %d %b %H:%M").to_string()
}

/// A text in at most so many columns.
pub(super) fn clipped(text: &str, width: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = if text.starts_with(' ') { text } else { &line };
    match text.chars().count() > width {
        true => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// Lines of data.
pub(super) fn say(lines: &[String]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = lines.iter().try_for_each(|line| writeln!(out, "{line}"));
    written.and_then(|()| out.flush()).map_err(unwritten)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_the_line_ends() {
        assert_eq!(clipped("one two three", 7), "one tw…");
        assert_eq!(clipped("one\n two", 9), "one two");
    }
}
