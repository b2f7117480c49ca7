//! Glob: which files have a name like this, newest first.

use super::file::explain;
use super::handles::{About, Handles};
use super::input::{at_once, card, parse};
use super::place::resolve;
use super::shown::{counted, shown_path};
use super::walk::{Hidden, apart, files};
use crate::limits::Limits;
use crate::model::Pending;
use crate::tool::{Bench, Effect, Tool, ToolOutcome, Visible};
use crate::transcript::ToolSpec;
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;
use tokio_util::sync::CancellationToken;

/// Finds files by name.
pub struct Glob {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    pattern: String,
    path: Option<String>,
    hidden: Option<bool>,
    head_limit: Option<u64>,
}

impl Input {
    /// Where to look, and for what below it. A pattern may begin with a path of its own.
    fn parted(&self, dir: &Path) -> (PathBuf, String) {
        let base = resolve(dir, self.path.as_deref().unwrap_or_default());
        let mut fixed = PathBuf::new();
        let mut rest = PathBuf::new();
        let count = Path::new(&self.pattern).components().count();
        for (index, part) in Path::new(&self.pattern).components().enumerate() {
            let text = part.as_os_str().to_string_lossy();
            let is_plain = !text.contains(['*', '?', '[', '{', '\\']) && index + 1 < count;
            match part {
                part if rest.as_os_str().is_empty() && is_plain => fixed.push(part),
                Component::CurDir | Component::RootDir => {}
                part => rest.push(part),
            }
        }
        (resolve(&base, fixed), rest.to_string_lossy().into_owned())
    }
}

impl Glob {
    /// The tool.
    pub fn new() -> Self {
        let spec = card(
            "Glob",
            include_str!("../../prompts/tools/glob.md"),
            &["pattern"],
            json!({
                "pattern": { "type": "string" },
                "path": { "type": "string" },
                "hidden": { "type": "boolean" },
                "head_limit": { "type": "integer", "minimum": 1 },
            }),
        );
        Self { spec }
    }
}

impl Default for Glob {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, input: &Value, dir: &Path) -> Effect {
        parse::<Input>(input).map_or(Effect::Nothing, |input| Effect::Reads(vec![input.parted(dir).0]))
    }

    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        match parse::<Input>(input) {
            Err(refusal) => at_once(refusal),
            Ok(input) => {
                let (dir, limits, visible) = (bench.dir.to_owned(), bench.limits.clone(), bench.visible.clone());
                let (root, pattern) = input.parted(&dir);
                // What was permitted is not looked up again.
                let root = bench.approved_path().map_or(root, Path::to_owned);
                Box::pin(async move {
                    let wanted = Wanted { dir, root, pattern, visible, input };
                    let found = apart(bench.cancel, move |stop| find(&wanted, &limits, stop)).await;
                    found.unwrap_or_else(|| ToolOutcome::error("The search was stopped before it was done."))
                })
            }
        }
    }
}

/// What is looked for, and where.
struct Wanted {
    dir: PathBuf,
    root: PathBuf,
    pattern: String,
    visible: Visible,
    input: Input,
}

fn find(wanted: &Wanted, limits: &Limits, stop: &CancellationToken) -> ToolOutcome {
    let Wanted { dir, root, pattern, visible, input } = wanted;
    if let Err(error) = Handles::new().about(root) {
        return ToolOutcome::error(format!("{} cannot be searched: {}.", shown_path(root), explain(&error)));
    }
    let glob = match GlobBuilder::new(pattern).literal_separator(true).build() {
        Ok(glob) => glob.compile_matcher(),
        Err(error) => return ToolOutcome::error(format!("The pattern cannot be used: {error}.")),
    };
    let mut found = fitting(root, &glob, Hidden::from(input.hidden), stop);
    found.retain(|path| visible.shows(path));
    let room = input.head_limit.unwrap_or(limits.search_results).clamp(1, limits.search_results);
    ToolOutcome::ok(told(&resolve(dir, ""), &found, usize::try_from(room).unwrap_or(usize::MAX)))
}

/// Newest first, then by name.
fn fitting(root: &Path, glob: &GlobMatcher, hidden: Hidden, stop: &CancellationToken) -> Vec<PathBuf> {
    let mut handles = Handles::new();
    let mut found: Vec<(Reverse<SystemTime>, PathBuf)> = files(root, hidden)
        .take_while(|_| !stop.is_cancelled())
        .filter(|entry| glob.is_match(entry.path().strip_prefix(root).unwrap_or(entry.path())))
        .filter_map(|entry| {
            let about = handles.about(entry.path()).ok().filter(About::is_file)?;
            Some((Reverse(about.changed_at()), entry.into_path()))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

fn told(here: &Path, found: &[PathBuf], room: usize) -> String {
    if found.is_empty() {
        return "No file has a name like this.".to_owned();
    }
    let names: Vec<String> =
        found.iter().take(room).map(|path| shown_path(path.strip_prefix(here).unwrap_or(path))).collect();
    let more = found.len() - names.len();
    let note = if more == 0 {
        String::new()
    } else {
        format!("\n[{} not shown; narrow the pattern]", counted(more, "more file"))
    };
    names.join("\n") + &note
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_may_begin_with_a_path() {
        let dir = Path::new("/no/such/dir");
        for (pattern, path, root, rest) in [
            ("**/*.rs", None, "/no/such/dir", "**/*.rs"),
            ("src/*.rs", None, "/no/such/dir/src", "*.rs"),
            ("a/b/c.txt", Some("sub"), "/no/such/dir/sub/a/b", "c.txt"),
            ("/abs/x/**", None, "/abs/x", "**"),
            ("../up/*.md", None, "/no/such/up", "*.md"),
            ("a/*/../b", None, "/no/such/dir/a", "*/../b"),
            ("./x", None, "/no/such/dir", "x"),
            ("", None, "/no/such/dir", ""),
        ] {
            let input =
                Input { pattern: pattern.into(), path: path.map(str::to_owned), hidden: None, head_limit: None };
            assert_eq!(input.parted(dir), (PathBuf::from(root), rest.to_owned()), "{pattern}");
        }
    }
}
