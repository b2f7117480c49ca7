//! The session that is played: a text that people can read, and what it means. `session.txt` says how it is written.

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use std::fmt;

/// The session.
const SESSION: &str = include_str!("session.txt");

/// Everything that is said and done.
#[derive(Debug, Clone, Default)]
pub(super) struct Script {
    pub(super) turns: Vec<Turn>,
    /// What the model makes of the memory in the night, and after which turn that is.
    pub(super) night: Option<Night>,
}

/// The person says something, and the model works until it has an answer.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) at: Timestamp,
    pub(super) words: String,
    pub(super) replies: Vec<Reply>,
    /// What the model would remember of it.
    pub(super) learns: Vec<Note>,
    /// What the person wants kept in mind when they have the conversation compacted after it.
    pub(super) compact: Option<String>,
}

/// One reply of the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
}

/// A tool it calls, and what the agent does whom it starts by that.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) tool: &'static str,
    pub(super) input: Value,
    pub(super) agent: Vec<Reply>,
}

/// A memory as the model writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) file: String,
    pub(super) text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Night {
    pub(super) after: usize,
    pub(super) notes: Vec<Note>,
}

/// A line that means nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unclear {
    line: usize,
    why: String,
}

impl fmt::Display for Unclear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the demo's script: {}", self.line, self.why)
    }
}

impl Script {
    /// The session that comes with the program.
    pub(super) fn embedded() -> Result<Self, Unclear> {
        Self::read(SESSION)
    }

    fn read(text: &str) -> Result<Self, Unclear> {
        let mut reader = Reader::of(text);
        let (mut script, mut date) = (Self::default(), None);
        while let Some(line) = reader.next() {
            let unclear = |why: &str| Unclear { line: line.number, why: why.to_owned() };
            match line.text.split_once(' ').unwrap_or((line.text, "")) {
                ("day", day) => date = Some(day.parse::<Date>().map_err(|_| unclear("this is no date"))?),
                ("night", "") => {
                    let notes = reader.notes()?;
                    script.night = Some(Night { after: script.turns.len(), notes });
                }
                ("learn", file) => {
                    let note = Note { file: file.to_owned(), text: reader.body(2, "|") };
                    script.turns.last_mut().ok_or_else(|| unclear("nobody has spoken yet"))?.learns.push(note);
                }
                ("compact", focus) => {
                    let turn = script.turns.last_mut().ok_or_else(|| unclear("nobody has spoken yet"))?;
                    turn.compact = Some(focus.to_owned());
                }
                (time, words) if words.starts_with("> ") => {
                    let time = time.parse::<Time>().map_err(|_| unclear("this is no time"))?;
                    let date = date.ok_or_else(|| unclear("no day has begun"))?;
                    let at = date.to_datetime(time).to_zoned(TimeZone::UTC).map_err(|_| unclear("no such moment"))?;
                    let words = words[2..].to_owned();
                    let replies = reader.replies(0)?;
                    script.turns.push(Turn { at: at.timestamp(), words, replies, learns: Vec::new(), compact: None });
                }
                _ => return Err(unclear("nobody says or does this")),
            }
        }
        Ok(script)
    }
}

#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    number: usize,
    indent: usize,
    text: &'a str,
}

struct Reader<'a> {
    lines: Vec<Line<'a>>,
    at: usize,
}

impl<'a> Reader<'a> {
    fn of(text: &'a str) -> Self {
        let line = |(at, line): (usize, &'a str)| {
            let text = line.trim_start_matches(' ');
            Line { number: at + 1, indent: line.len() - text.len(), text }
        };
        let means_something = |line: &Line<'_>| !line.text.is_empty() && !line.text.starts_with('#');
        Self { lines: text.lines().enumerate().map(line).filter(means_something).collect(), at: 0 }
    }

    fn next(&mut self) -> Option<Line<'a>> {
        self.at += 1;
        self.lines.get(self.at - 1).copied()
    }

    /// The next line, if it stands this far in and begins with this word.
    fn next_if(&mut self, indent: usize, begins: impl Fn(&str) -> bool) -> Option<Line<'a>> {
        let line = self.lines.get(self.at).filter(|line| line.indent == indent && begins(line.text))?;
        self.at += 1;
        Some(*line)
    }

    /// Lines that follow, this far in and with this sign before them, as one text.
    fn body(&mut self, indent: usize, sign: &str) -> String {
        let mut lines = Vec::new();
        while let Some(line) = self.next_if(indent, |text| text.starts_with(sign)) {
            let text = &line.text[sign.len()..];
            lines.push(text.strip_prefix(' ').unwrap_or(text));
        }
        lines.join("\n")
    }

    fn replies(&mut self, indent: usize) -> Result<Vec<Reply>, Unclear> {
        let mut replies = Vec::new();
        while let Some(line) = self.next_if(indent, |text| text == "<" || text.starts_with("< ")) {
            let mut reply = Reply { text: line.text[1..].trim().to_owned(), calls: Vec::new() };
            let more = self.body(indent + 2, "|");
            if !more.is_empty() {
                reply.text = [reply.text, more].join("\n");
            }
            while let Some(line) = self.next_if(indent + 2, |_| true) {
                reply.calls.push(self.call(line)?);
            }
            replies.push(reply);
        }
        Ok(replies)
    }

    fn call(&mut self, line: Line<'_>) -> Result<Call, Unclear> {
        let unclear = |why: &str| Unclear { line: line.number, why: why.to_owned() };
        let (verb, rest) = line.text.split_once(' ').unwrap_or((line.text, ""));
        let below = line.indent + 2;
        let mut agent = Vec::new();
        let (tool, input) = match verb {
            "$" => ("Bash", json!({ "command": rest })),
            "read" => ("Read", json!({ "file_path": rest })),
            "glob" => ("Glob", json!({ "pattern": rest })),
            "remember" => ("remember", json!({ "note": rest })),
            "grep" => {
                let (pattern, path) = rest.rsplit_once(" in ").ok_or_else(|| unclear("grep PATTERN in PATH"))?;
                ("Grep", json!({ "pattern": pattern, "path": path, "output": "content" }))
            }
            "edit" => {
                let (old, new) = (self.body(below, "-"), self.body(below, "+"));
                ("Edit", json!({ "file_path": rest, "old_string": old, "new_string": new }))
            }
            "write" => ("Write", json!({ "file_path": rest, "content": self.body(below, "|") + "\n" })),
            "tasks" => ("Tasks", self.tasks(below)),
            "agent" => {
                let (who, description) = rest.split_once(": ").ok_or_else(|| unclear("agent KIND NAME: TASK"))?;
                let (kind, name) = who.split_once(' ').ok_or_else(|| unclear("agent KIND NAME: TASK"))?;
                let prompt = self.body(below, "|");
                agent = self.replies(below)?;
                ("Agent", json!({ "agent": kind, "name": name, "description": description, "prompt": prompt }))
            }
            _ => return Err(unclear("there is no such tool")),
        };
        Ok(Call { tool, input, agent })
    }

    fn tasks(&mut self, indent: usize) -> Value {
        let mut tasks = Vec::new();
        while let Some(line) = self.next_if(indent, |text| text.starts_with('[')) {
            let status = match &line.text[..2] {
                "[x" => "done",
                "[>" => "in_progress",
                _ => "pending",
            };
            tasks.push(json!({ "title": line.text[3..].trim(), "status": status }));
        }
        json!({ "tasks": tasks })
    }

    fn notes(&mut self) -> Result<Vec<Note>, Unclear> {
        let mut notes = Vec::new();
        while let Some(line) = self.next_if(2, |text| text.starts_with("write ")) {
            notes.push(Note { file: line.text["write ".len()..].to_owned(), text: self.body(4, "|") });
        }
        Ok(notes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U1
    #[test]
    fn the_embedded_session_is_120_turns_over_four_days() {
        let script = Script::embedded().map_err(|unclear| unclear.to_string()).unwrap();
        assert_eq!(script.turns.len(), 120);
        let days: std::collections::BTreeSet<Date> =
            script.turns.iter().map(|turn| turn.at.to_zoned(TimeZone::UTC).date()).collect();
        assert_eq!(days.len(), 4);
        assert!(script.turns.is_sorted_by_key(|turn| turn.at));
        for turn in &script.turns {
            let (last, before) = turn.replies.split_last().expect(&turn.words);
            assert!(last.calls.is_empty() && !last.text.is_empty(), "it ends with an answer: {}", turn.words);
            assert!(before.iter().all(|reply| !reply.calls.is_empty()), "only calls go on: {}", turn.words);
        }
        let calls: Vec<&Call> = script.turns.iter().flat_map(|turn| &turn.replies).flat_map(|one| &one.calls).collect();
        assert!(calls.iter().any(|call| !call.agent.is_empty()));
        assert!(script.night.is_some_and(|night| night.after < script.turns.len() && !night.notes.is_empty()));
    }

    #[test]
    fn each_sign_has_its_meaning() {
        let text = "# a comment\nday 2026-03-02\n09:30 > Fix it.\n< Looking.\n  | Twice.\n  $ ls\n  grep a b in src\n  edit x.awk\n    - old\n    + new\n    + more\n\
                    <\n  agent explore scout: look\n    | Look well.\n    < Here.\n      read x\n    < Found.\n< Done.\nlearn user_a.md\n  | ---\n  |\n  | body\nnight\n  write b.md\n    | c\n";
        let script = Script::read(text).unwrap();
        let turn = &script.turns[0];
        assert_eq!((turn.at.to_string().as_str(), turn.words.as_str()), ("2026-03-02T09:30:00Z", "Fix it."));
        assert_eq!(turn.replies[0].text, "Looking.\nTwice.");
        let inputs: Vec<&Value> = turn.replies[0].calls.iter().map(|call| &call.input).collect();
        assert_eq!(inputs[1], &json!({ "pattern": "a b", "path": "src", "output": "content" }));
        assert_eq!(inputs[2], &json!({ "file_path": "x.awk", "old_string": "old", "new_string": "new\nmore" }));
        let agent = &turn.replies[1].calls[0];
        assert_eq!((agent.input["prompt"].as_str(), agent.agent.len()), (Some("Look well."), 2));
        assert_eq!(turn.learns, [Note { file: "user_a.md".into(), text: "---\n\nbody".into() }]);
        let notes = vec![Note { file: "b.md".into(), text: "c".into() }];
        assert_eq!(script.night, Some(Night { after: 1, notes }));
        for (wrong, line) in [("09:30 > x\n", 1), ("day x\n", 1), ("day 2026-03-02\n09:30 > x\n<\n  jump\n", 4)] {
            assert_eq!(Script::read(wrong).unwrap_err().line, line, "{wrong}");
        }
    }
}
