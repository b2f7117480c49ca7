//! Commands that only look, answered here: no background agent ever starts a process. A short list of commands with the
//! options people use, alone or piped into each other; everything else is refused with a reason.

mod grep;
mod listing;
mod options;
mod text;

use super::file::{explain, load_from, open_resolved};
use super::input::{at_once, parse};
use super::place::resolve;
use super::shell::reading;
use super::shown::{shown, shown_path};
use super::walk::apart;
use crate::limits::Limits;
use crate::model::Pending;
use crate::tool::{Bench, Effect, Tool, ToolOutcome, Visible};
use crate::transcript::ToolSpec;
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Past sessions: a search there shows only its last lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// Where they lie.
    pub folder: PathBuf,
    /// Folders in there that are no past sessions.
    pub except: Vec<PathBuf>,
    /// How many lines are shown.
    pub lines: u64,
}

impl Past {
    /// Whether a file is part of a past session.
    pub(super) fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.folder) && !self.except.iter().any(|except| path.starts_with(except))
    }

    pub(super) fn most(&self) -> usize {
        usize::try_from(self.lines).unwrap_or(usize::MAX)
    }
}

/// Stands in for the shell, under its name.
pub struct Looking {
    spec: ToolSpec,
    past: Option<Past>,
}

#[derive(Deserialize)]
struct Input {
    command: String,
}

impl Looking {
    /// In place of a tool that runs command lines.
    pub fn instead_of(spec: ToolSpec, past: Option<Past>) -> Self {
        Self { spec, past }
    }
}

/// Why a command line is not answered here; `None` if it is.
pub fn refusal(line: &str) -> Option<String> {
    Pipeline::read(line).err()
}

impl Tool for Looking {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, input: &Value, dir: &Path) -> Effect {
        let Ok(Input { command }) = parse::<Input>(input) else { return Effect::Nothing };
        match Pipeline::read(&command) {
            Ok(pipeline) => Effect::Reads(pipeline.paths(dir)),
            Err(_) => Effect::Runs { command, reads_only: false },
        }
    }

    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        let command = match parse::<Input>(input) {
            Err(refusal) => return at_once(refusal),
            Ok(input) => input.command,
        };
        let (pipeline, paths) = match (Pipeline::read(&command), bench.approved) {
            (Err(why), _) => return at_once(ToolOutcome::error(why)),
            (Ok(pipeline), Effect::Reads(paths)) => (pipeline, paths.clone()),
            (Ok(pipeline), _) => {
                let paths = pipeline.paths(bench.dir);
                (pipeline, paths)
            }
        };
        let (limits, past, visible) = (bench.limits.clone(), self.past.clone(), bench.visible.clone());
        Box::pin(async move {
            let looked = apart(bench.cancel, move |stop| {
                Look { limits: &limits, past: past.as_ref(), stop, visible: &visible }.along(&pipeline, &paths)
            });
            match looked.await {
                Some(Ok(text)) if text.is_empty() => ToolOutcome::ok("[no output]"),
                Some(Ok(text)) => ToolOutcome::ok(shown(&text).into_owned()),
                Some(Err(why)) => ToolOutcome::error(why),
                None => ToolOutcome::error("The look was stopped before it was done."),
            }
        })
    }
}

/// A command line that can be answered.
#[derive(Debug, PartialEq)]
struct Pipeline {
    steps: Vec<Step>,
}

#[derive(Debug, PartialEq)]
struct Step {
    command: Command,
    /// As they were written.
    operands: Vec<String>,
}

#[derive(Debug, PartialEq)]
enum Command {
    Cat { numbered: bool },
    Head(text::Cut),
    Tail(text::Cut),
    Wc(text::Counts),
    Grep(grep::Search),
    Ls(listing::Ls),
    Find(listing::Find),
    Stat,
}

const KNOWN: &str = "ls, find, grep, cat, stat, wc, head, tail";

impl Pipeline {
    fn read(line: &str) -> Result<Self, String> {
        let Some(commands) = reading::pipeline(line) else {
            return Err(format!(
                "Here only {KNOWN} are answered, alone or piped into each other: no `;`, `&&`, wildcards, variables or \
                 redirections. Use Glob for names with wildcards."
            ));
        };
        let mut steps = Vec::new();
        for words in commands {
            let step = Step::read(&words)?;
            let fed = !steps.is_empty();
            let lists = matches!(step.command, Command::Ls(_) | Command::Find(_) | Command::Stat);
            let reads_tree = matches!(&step.command, Command::Grep(search) if search.recursive);
            if step.operands.is_empty() && !fed && !lists && !reads_tree {
                return Err(format!("`{}` needs a file here: there is no standard input.", words[0]));
            }
            steps.push(step);
        }
        Ok(Self { steps })
    }

    /// Every path it looks at, resolved, in order.
    fn paths(&self, dir: &Path) -> Vec<PathBuf> {
        let places = self.steps.iter().enumerate().flat_map(|(at, step)| step.places(at));
        places.map(|place| resolve(dir, place)).collect()
    }
}

impl Step {
    fn read(words: &[String]) -> Result<Self, String> {
        let (name, rest) = words.split_first().ok_or("The command is empty.")?;
        let (command, operands) = match name.as_str() {
            "cat" => text::cat(rest)?,
            "head" => text::head(rest)?,
            "tail" => text::tail(rest)?,
            "wc" => text::wc(rest)?,
            "grep" => grep::read(rest)?,
            "ls" => listing::ls(rest)?,
            "find" => listing::find(rest)?,
            "stat" => (Command::Stat, options::read("stat", rest, &options::Known::default())?.operands),
            other => return Err(format!("`{other}` is not answered here; only {KNOWN} are.")),
        };
        Ok(Self { command, operands })
    }

    /// What it looks at: its operands, or where it stands if that is what the command takes.
    fn places(&self, at: usize) -> Vec<&str> {
        let here = match &self.command {
            Command::Ls(_) | Command::Find(_) | Command::Stat => true,
            Command::Grep(search) => search.recursive && at == 0,
            _ => false,
        };
        match self.operands.is_empty() {
            true if here => vec!["."],
            true => Vec::new(),
            false => self.operands.iter().map(String::as_str).collect(),
        }
    }
}

/// A look around, within limits.
struct Look<'a> {
    limits: &'a Limits,
    past: Option<&'a Past>,
    stop: &'a CancellationToken,
    visible: &'a Visible,
}

/// A file that was named, and what is shown as its name.
struct Named<'a> {
    name: &'a str,
    path: &'a Path,
}

impl Look<'_> {
    fn along(&self, pipeline: &Pipeline, paths: &[PathBuf]) -> Result<String, String> {
        let mut paths = paths.iter();
        let mut input: Option<String> = None;
        for (at, step) in pipeline.steps.iter().enumerate() {
            let places = step.places(at);
            let named: Vec<Named<'_>> =
                places.into_iter().zip(paths.by_ref()).map(|(name, path)| Named { name, path }).collect();
            let mut output = self.one(&step.command, &named, input.as_deref())?;
            let most = usize::try_from(self.limits.shell_output_bytes).unwrap_or(usize::MAX);
            if output.len() > most {
                output.truncate(output.floor_char_boundary(most));
                output.push_str("\n[more was left out; narrow the look]\n");
            }
            input = Some(output);
        }
        Ok(input.unwrap_or_default())
    }

    fn one(&self, command: &Command, named: &[Named<'_>], input: Option<&str>) -> Result<String, String> {
        match command {
            Command::Ls(ls) => listing::list(ls, named, self),
            Command::Find(find) => listing::search(find, named, self),
            Command::Stat => listing::stat(named),
            Command::Grep(search) => grep::run(search, named, input, self),
            Command::Cat { .. } | Command::Head(_) | Command::Tail(_) | Command::Wc(_) => {
                let texts = self.texts(named, input)?;
                Ok(text::run(command, &texts))
            }
        }
    }

    /// The texts a command works on, each with its name; what was piped in has none.
    fn texts(&self, named: &[Named<'_>], input: Option<&str>) -> Result<Vec<(String, String)>, String> {
        if named.is_empty() {
            return Ok(vec![(String::new(), input.unwrap_or_default().to_owned())]);
        }
        named.iter().map(|one| Ok((one.name.to_owned(), self.text(one.path)?))).collect()
    }

    fn text(&self, path: &Path) -> Result<String, String> {
        let loaded = open_resolved(path).and_then(|file| load_from(&file, self.limits.read_file_bytes));
        let loaded = loaded.map_err(|error| format!("{} cannot be read: {}.", shown_path(path), explain(&error)))?;
        if loaded.bytes.contains(&0) {
            return Err(format!("{} is not text.", shown_path(path)));
        }
        Ok(String::from_utf8_lossy(&loaded.bytes).into_owned())
    }
}

#[cfg(test)]
mod tests;
