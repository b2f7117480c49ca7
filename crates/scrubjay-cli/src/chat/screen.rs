//! The screen of a chat: the answer as it arrives, what the tools do, and nothing in it that could steer a terminal.

use crate::failure::reason;
use crate::memories::news;
use crate::paper::{Ink, Tone, short};
use scrubjay::event::Event;
use scrubjay::message::ToolCallId;
use scrubjay::model::Delta;
use scrubjay::tools::shown;
use std::io::{self, Write};
use std::path::Path;

/// Writes a conversation.
pub(super) struct Screen<W> {
    out: W,
    ink: Ink,
    /// Shown paths are cut to what lies below it.
    dir: String,
    /// What the last letters were.
    at: At,
    /// Calls that have begun and not ended.
    open: Vec<ToolCallId>,
    /// The line below everything.
    foot: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// The start of a line.
    Start,
    /// The middle of prose.
    Prose,
    /// The middle of reasoning.
    Thought,
}

impl<W: Write> Screen<W> {
    pub(super) fn new(out: W, ink: Ink, dir: &Path) -> Self {
        Self { out, ink, dir: format!("{}/", dir.display()), at: At::Start, open: Vec::new(), foot: None }
    }

    pub(super) fn ink(&self) -> Ink {
        self.ink
    }

    /// Show what happened.
    pub(super) fn show(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Delta(Delta::Text(text)) => self.prose(text),
            Event::Delta(Delta::Thinking(text)) => self.thought(text),
            Event::Delta(Delta::Retry { attempt, after, because }) => {
                let wait = after.as_millis().div_ceil(1_000);
                self.aside(Tone::Warning, &format!("retrying in {wait} s (attempt {attempt}): {}", reason(because)))
            }
            Event::ToolStarted { call, tool, summary } => {
                self.open.push(call.clone());
                self.started(tool, summary)
            }
            Event::ToolFinished { call, tool, is_error, text } => {
                let several = self.open.len() > 1;
                self.open.retain(|open| open != call);
                let size = if *is_error { failed(self.ink, text) } else { self.ink.paint(Tone::Faint, &size_of(text)) };
                let name = if several { format!("{}: ", shown(tool)) } else { String::new() };
                self.line(&format!("  └ {name}{size}"))
            }
            Event::Agent { name, kind, words, .. } => self.aside(Tone::Faint, &format!("  ◦ {name} ({kind}): {words}")),
            Event::Notice(text) => self.aside(Tone::Warning, text),
            Event::Memory(event) => self.aside(Tone::Faint, &news::words(event, "/undo")),
            Event::Delta(Delta::ToolUse { .. }) | Event::Replied { .. } | Event::ToolRefused { .. } => Ok(()),
        }
    }

    /// A whole line of ours, after whatever was being written.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        self.end_line()?;
        writeln!(self.out, "{text}")?;
        self.out.flush()
    }

    /// Something beside the conversation.
    pub(super) fn aside(&mut self, tone: Tone, text: &str) -> io::Result<()> {
        let painted = self.ink.paint(tone, &shown(text));
        self.line(&painted)
    }

    /// What would be shown, as text.
    pub(super) fn told(&self, event: &Event) -> String {
        let (ink, dir) = (self.ink, self.dir.clone());
        let mut beside = Screen { out: Vec::new(), ink, dir, at: At::Start, open: Vec::new(), foot: None };
        // Memory takes everything.
        beside.show(event).unwrap_or_default();
        String::from_utf8_lossy(&beside.out).trim_end().to_owned()
    }

    /// Leave the line that was being written.
    pub(super) fn end_line(&mut self) -> io::Result<()> {
        self.lift_foot()?;
        if self.at != At::Start {
            writeln!(self.out)?;
        }
        self.at = At::Start;
        self.out.flush()
    }

    fn started(&mut self, tool: &str, summary: &str) -> io::Result<()> {
        let summary = summary.strip_prefix(&self.dir).unwrap_or(summary);
        let dot = self.ink.paint(Tone::Active, "●");
        let name = self.ink.paint(Tone::Strong, &shown(tool));
        let line = format!("{dot} {name} {}", one_line(summary));
        self.line(line.trim_end())
    }

    /// Show a line below everything, in place of the last one, until something is written. In the middle of an answer
    /// there is no below.
    pub(super) fn stand_on(&mut self, line: &str, columns: usize) -> io::Result<()> {
        let line = fitting(line, columns);
        if self.at != At::Start || self.foot.as_deref().unwrap_or_default() == line {
            return Ok(());
        }
        self.lift_foot()?;
        if !line.is_empty() {
            write!(self.out, "{}", self.ink.paint(Tone::Faint, &line))?;
            self.foot = Some(line);
        }
        self.out.flush()
    }

    fn lift_foot(&mut self) -> io::Result<()> {
        match self.foot.take() {
            Some(_) => write!(self.out, "\r\u{1b}[2K"),
            None => Ok(()),
        }
    }

    fn prose(&mut self, text: &str) -> io::Result<()> {
        self.lift_foot()?;
        if self.at == At::Thought {
            self.end_line()?;
        }
        let text = text.replace("\r\n", "\n");
        write!(self.out, "{}", shown(&text))?;
        self.out.flush()?;
        self.stand_after(&text, At::Prose);
        Ok(())
    }

    fn thought(&mut self, text: &str) -> io::Result<()> {
        self.lift_foot()?;
        if self.at == At::Prose {
            self.end_line()?;
        }
        // Painted line by line, so that an interruption never leaves the terminal dim.
        let lines: Vec<String> = text.split('\n').map(|line| self.faint(line)).collect();
        write!(self.out, "{}", lines.join("\n"))?;
        self.out.flush()?;
        self.stand_after(text, At::Thought);
        Ok(())
    }

    fn faint(&self, line: &str) -> String {
        if line.is_empty() { String::new() } else { self.ink.paint(Tone::Faint, &shown(line)) }
    }

    fn stand_after(&mut self, text: &str, middle: At) {
        match text.chars().last() {
            Some('\n') => self.at = At::Start,
            Some(_) => self.at = middle,
            None => {}
        }
    }
}

/// As much of a line as surely fits: a line that breaks cannot be taken back.
fn fitting(line: &str, columns: usize) -> String {
    /// From here on letters may be as wide as two.
    const WIDE: char = '\u{1100}';
    let mut left = columns.saturating_sub(1);
    let fits = |letter: &char| {
        let wide = if *letter < WIDE { 1 } else { 2 };
        let fits = left >= wide;
        left = left.saturating_sub(wide);
        fits
    };
    line.chars().take_while(fits).collect()
}

/// A failure is a word first, and red where there is colour.
fn failed(ink: Ink, text: &str) -> String {
    format!("{} {}", ink.paint(Tone::Bad, "error:"), one_line(text))
}

fn size_of(text: &str) -> String {
    let lines = text.lines().count();
    let plural = if lines == 1 { "" } else { "s" };
    format!("{lines} line{plural}, {} characters", short(text.chars().count() as u64))
}

/// The first line that says something, bounded.
pub(super) fn one_line(text: &str) -> String {
    const LONGEST: usize = 160;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = shown(line);
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay::event::MemoryEvent;
    use std::time::Duration;

    fn screen_of(events: &[Event]) -> String {
        let mut bytes = Vec::new();
        let mut screen = Screen::new(&mut bytes, Ink::Plain, Path::new("/p"));
        for event in events {
            screen.show(event).unwrap();
        }
        screen.end_line().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn text(text: &str) -> Event {
        Event::Delta(Delta::Text(text.into()))
    }

    // spec: X3
    #[test]
    fn nothing_a_model_or_tool_says_steers_the_terminal() {
        let evil = "\u{1b}]0;title\u{7}\u{9b}2J\u{202e}x\r";
        let seen = screen_of(&[
            text(evil),
            Event::Delta(Delta::Thinking(evil.into())),
            Event::ToolStarted { call: "a".into(), tool: evil.into(), summary: evil.into() },
            Event::ToolFinished { call: "a".into(), tool: evil.into(), is_error: true, text: evil.into() },
            Event::Agent { name: evil.into(), kind: evil.into(), state: "running", words: evil.into() },
            Event::Notice(evil.into()),
            Event::Memory(MemoryEvent::Refused { title: evil.into(), why: evil.into() }),
            Event::Delta(Delta::Retry { attempt: 2, after: Duration::from_millis(1), because: evil.into() }),
        ]);
        assert!(seen.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{seen:?}");
        assert!(seen.contains("⟦U+001B⟧]0;title"));
    }

    // spec: A6
    #[test]
    fn the_line_below_everything_goes_before_anything_else_is_written_and_never_breaks() {
        let mut screen = Screen::new(Vec::new(), Ink::Plain, Path::new("/p"));
        screen.stand_on("2 agents · Reading a.txt", 80).unwrap();
        screen.stand_on("2 agents · Reading a.txt", 80).unwrap();
        screen.stand_on("2 agents · 読んでいる", 16).unwrap();
        screen.show(&text("An ans")).unwrap();
        screen.stand_on("2 agents · not in the middle of a line", 80).unwrap();
        screen.show(&text("wer.\n")).unwrap();
        screen.stand_on("1 agent", 80).unwrap();
        screen.aside(Tone::Faint, "beside").unwrap();
        screen.stand_on("", 80).unwrap();
        let seen = String::from_utf8(screen.out).unwrap().replace("\r\u{1b}[2K", "<");
        assert_eq!(seen, "2 agents · Reading a.txt<2 agents · 読ん<An answer.\n1 agent<beside\n");
    }

    #[test]
    fn an_answer_with_tools_reads_well() {
        let seen = screen_of(&[
            text("Let me "),
            text("look."),
            Event::ToolStarted { call: "a".into(), tool: "Read".into(), summary: "/p/src/main.rs".into() },
            Event::ToolStarted { call: "b".into(), tool: "Grep".into(), summary: "fn main".into() },
            Event::ToolFinished { call: "a".into(), tool: "Read".into(), is_error: false, text: "1\tx\n2\ty".into() },
            Event::ToolFinished {
                call: "b".into(),
                tool: "Grep".into(),
                is_error: true,
                text: "\nno such\nmore".into(),
            },
            text("Done 👩\u{200d}💻.\n"),
            Event::Notice("window is filling".into()),
        ]);
        insta::assert_snapshot!(seen, @r"
        Let me look.
        ● Read src/main.rs
        ● Grep fn main
          └ Read: 2 lines, 7 characters
          └ error: no such
        Done 👩‍💻.
        window is filling
        ");
    }
}
