//! Grep: which lines of which files match, on ripgrep's libraries, without a process.

use super::file::explain;
use super::handles::{Handles, is_gone};
use super::input::{at_once, card, parse};
use super::looking::Past;
use super::place::resolve;
use super::shown::{counted, cut, shown, shown_path};
use super::walk::{Hidden, Stoppable, apart, files};
use crate::limits::Limits;
use crate::model::Pending;
use crate::tool::{Bench, Effect, Tool, ToolOutcome, Visible};
use crate::transcript::ToolSpec;
use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Searches file contents.
pub struct Grep {
    spec: ToolSpec,
    past: Option<Past>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    output: Output,
    context: Option<u64>,
    ignore_case: Option<bool>,
    multiline: Option<bool>,
    hidden: Option<bool>,
    head_limit: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Output {
    #[default]
    Files,
    Content,
    Count,
}

impl Grep {
    /// The tool.
    pub fn new() -> Self {
        let spec = card(
            "Grep",
            include_str!("../../prompts/tools/grep.md"),
            &["pattern"],
            json!({
                "pattern": { "type": "string" },
                "path": { "type": "string" },
                "glob": { "type": "string" },
                "output": { "type": "string", "enum": ["files", "content", "count"] },
                "context": { "type": "integer", "minimum": 0 },
                "ignore_case": { "type": "boolean" },
                "multiline": { "type": "boolean" },
                "hidden": { "type": "boolean" },
                "head_limit": { "type": "integer", "minimum": 1 },
            }),
        );
        Self { spec, past: None }
    }

    /// The same, with past sessions of which only the last matching lines are shown.
    pub fn with_past(self, past: Past) -> Self {
        Self { past: Some(past), ..self }
    }
}

impl Default for Grep {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, input: &Value, dir: &Path) -> Effect {
        parse::<Input>(input)
            .map_or(Effect::Nothing, |input| Effect::Reads(vec![resolve(dir, input.path.unwrap_or_default())]))
    }

    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        match parse::<Input>(input) {
            Err(refusal) => at_once(refusal),
            Ok(input) => {
                let (dir, limits, past) = (bench.dir.to_owned(), bench.limits.clone(), self.past.clone());
                let visible = bench.visible.clone();
                let root = bench.approved_path().map(Path::to_owned);
                let root = root.unwrap_or_else(|| resolve(&dir, input.path.as_deref().unwrap_or_default()));
                Box::pin(async move {
                    let around = Around { dir, root, limits, past, visible };
                    let searched = apart(bench.cancel, move |stop| search(&around, &input, stop)).await;
                    searched.unwrap_or_else(|| ToolOutcome::error("The search was stopped before it was done."))
                })
            }
        }
    }
}

/// Where a search happens, and within what.
struct Around {
    dir: PathBuf,
    /// What was permitted, and is not looked up again.
    root: PathBuf,
    limits: Limits,
    past: Option<Past>,
    visible: Visible,
}

fn search(around: &Around, input: &Input, stop: &CancellationToken) -> ToolOutcome {
    let Around { dir, root, limits, past, visible } = around;
    let mut handles = Handles::new();
    if let Err(error) = handles.about(root) {
        return ToolOutcome::error(format!("{} cannot be searched: {}.", shown_path(root), explain(&error)));
    }
    let prepared = matcher(input, limits).and_then(|matcher| Ok((matcher, wanted(input)?)));
    let (matcher, wanted) = match prepared {
        Ok(prepared) => prepared,
        Err(why) => return ToolOutcome::error(why),
    };
    let room = input.head_limit.unwrap_or(limits.search_results).clamp(1, limits.search_results);
    let mut found = Found::with_room(input.output, room, limits.search_line_chars);
    let room = room.min(past.as_ref().map_or(room, |past| past.lines));
    let mut before = Found { keeps: Keeps::Last, ..Found::with_room(input.output, room, limits.search_line_chars) };
    let mut searcher = searcher(input, limits);
    let here = resolve(dir, "");
    for entry in files(root, Hidden::from(input.hidden)) {
        if stop.is_cancelled() {
            break;
        }
        let path = entry.path();
        if wanted.as_ref().is_some_and(|glob| !fits(glob, root, path)) || !visible.shows(path) {
            continue;
        }
        let name = shown_path(path.strip_prefix(&here).unwrap_or(path));
        let is_past = past.as_ref().is_some_and(|past| past.holds(path));
        let mut lines = Lines::of(&name, if is_past { &mut before } else { &mut found }, stop);
        let opened = Stoppable::open(&mut handles, path, stop);
        let searched = opened.and_then(|file| searcher.search_reader(&matcher, file, &mut lines));
        if searched.is_err_and(|error| !is_gone(&error)) {
            found.unread.push(name);
        }
    }
    found.rows.append(&mut before.rows);
    found.unread.append(&mut before.unread);
    found.more += before.more;
    ToolOutcome::ok(found.told())
}

fn matcher(input: &Input, limits: &Limits) -> Result<RegexMatcher, String> {
    let size = usize::try_from(limits.search_pattern_bytes).unwrap_or(usize::MAX);
    let multiline = input.multiline == Some(true);
    RegexMatcherBuilder::new()
        .case_insensitive(input.ignore_case == Some(true))
        .multi_line(true)
        .dot_matches_new_line(multiline)
        .line_terminator(if multiline { None } else { Some(b'\n') })
        .size_limit(size)
        .dfa_size_limit(size)
        .build(&input.pattern)
        .map_err(|error| {
            format!(
                "The pattern cannot be used: {}. Escape what is meant literally, with `\\`.",
                shown(&error.to_string())
            )
        })
}

fn searcher(input: &Input, limits: &Limits) -> Searcher {
    let context = match input.output {
        Output::Content => usize::try_from(input.context.unwrap_or(0).min(limits.search_results)).unwrap_or(0),
        Output::Files | Output::Count => 0,
    };
    SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(true)
        .multi_line(input.multiline == Some(true))
        .before_context(context)
        .after_context(context)
        .heap_limit(usize::try_from(limits.read_file_bytes).ok())
        .build()
}

fn wanted(input: &Input) -> Result<Option<GlobMatcher>, String> {
    let Some(glob) = &input.glob else { return Ok(None) };
    let built = GlobBuilder::new(glob).literal_separator(true).build();
    built.map(|glob| Some(glob.compile_matcher())).map_err(|error| format!("The glob cannot be used: {error}."))
}

/// A glob without a slash is about names, one with a slash about the path below the root.
fn fits(glob: &GlobMatcher, root: &Path, path: &Path) -> bool {
    let below = path.strip_prefix(root).unwrap_or(path);
    let name = path.file_name().map(Path::new).unwrap_or(path);
    if glob.glob().glob().contains('/') { glob.is_match(below) } else { glob.is_match(name) }
}

/// What a search has found so far, and how much more it may say.
struct Found {
    output: Output,
    keeps: Keeps,
    rows: Vec<String>,
    room: usize,
    line_chars: u64,
    /// Results there was no room for.
    more: usize,
    /// Files that could not be searched to their end.
    unread: Vec<String>,
}

/// Which results stay when there is no room for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeps {
    First,
    Last,
}

impl Found {
    fn with_room(output: Output, room: u64, line_chars: u64) -> Self {
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        Self { output, keeps: Keeps::First, rows: Vec::new(), room, line_chars, more: 0, unread: Vec::new() }
    }

    fn push(&mut self, row: impl FnOnce() -> String) {
        let is_full = self.rows.len() >= self.room;
        self.more += usize::from(is_full);
        if is_full && self.keeps == Keeps::First {
            return;
        }
        if is_full {
            self.rows.remove(0);
        }
        self.rows.push(row());
    }

    fn told(self) -> String {
        const NAMED: usize = 5;
        let mut text = if self.rows.is_empty() { "Nothing matches.".to_owned() } else { self.rows.join("\n") };
        if self.more > 0 {
            text.push_str(&format!("\n[{} not shown; narrow the search]", counted(self.more, "more result")));
        }
        if !self.unread.is_empty() {
            let names = self.unread.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            text.push_str(&format!("\n[{} could not be searched: {names}]", counted(self.unread.len(), "file")));
        }
        text
    }
}

/// The matching lines of one file, on their way into what was found.
struct Lines<'a> {
    name: &'a str,
    found: &'a mut Found,
    stop: &'a CancellationToken,
    matches: usize,
    /// What had been found before this file, to return to if it turns out to be binary.
    before: (usize, usize),
}

impl<'a> Lines<'a> {
    fn of(name: &'a str, found: &'a mut Found, stop: &'a CancellationToken) -> Self {
        let before = (found.rows.len(), found.more);
        Self { name, found, stop, matches: 0, before }
    }

    fn row(&mut self, mark: char, number: Option<u64>, line: &[u8]) {
        let (name, chars) = (self.name, self.found.line_chars);
        self.found.push(|| {
            let line = String::from_utf8_lossy(line);
            let line = line.trim_end_matches(['\r', '\n']);
            format!("{name}{mark}{}{mark}{}", number.unwrap_or_default(), shown(&cut(line, chars)))
        });
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.matches += 1;
        match self.found.output {
            Output::Files => return Ok(false),
            Output::Count => {}
            Output::Content => {
                for (line, number) in found.lines().zip(found.line_number().unwrap_or_default()..) {
                    self.row(':', Some(number), line);
                }
            }
        }
        Ok(!self.stop.is_cancelled())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        if *context.kind() != SinkContextKind::Other && self.found.rows.len() < self.found.room {
            self.row('-', context.line_number(), context.bytes());
        }
        Ok(!self.stop.is_cancelled())
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        if self.found.rows.len() < self.found.room {
            self.found.rows.push("--".to_owned());
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), io::Error> {
        if end.binary_byte_offset().is_some() {
            let name = self.name;
            self.found.rows.retain(|row| self.found.keeps == Keeps::First || !row.starts_with(name));
            self.found.rows.truncate(self.before.0);
            self.found.more = self.before.1;
        } else if self.matches > 0 {
            let (name, matches) = (self.name, self.matches);
            match self.found.output {
                Output::Files => self.found.push(|| name.to_owned()),
                Output::Count => self.found.push(|| format!("{name}:{matches}")),
                Output::Content => {}
            }
        }
        Ok(())
    }
}
