//! Write: a whole file, new or replaced, in one move.

use super::file::{explain, load_resolved, parent_of, replace};
use super::input::{at_once, card, parse};
use super::keeper::{self, Keeper, Replacement};
use super::place::resolve;
use super::shown::{counted, shown_path};
use crate::digest::Digest;
use crate::model::Pending;
use crate::tool::{Bench, Effect, Tool, ToolOutcome};
use crate::transcript::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Writes a file.
pub struct Write {
    spec: ToolSpec,
    keeper: Option<Arc<dyn Keeper>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    file_path: String,
    content: String,
}

/// What a file looks like to somebody who wants to change it.
pub(super) enum Standing {
    /// Nothing is there.
    Absent,
    /// These bytes are there, and the model knows them.
    Known(Vec<u8>),
    /// It may not be changed, and why.
    Refused(String),
}

/// Look at a file before changing it. `seen` is the digest of what the model saw of it.
pub(super) fn standing(path: &Path, seen: Option<&Digest>, most: u64) -> Standing {
    let refused = |why: &str| Standing::Refused(format!("{}: {}", shown_path(path), why.trim_end()));
    match load_resolved(path, most) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Standing::Absent,
        Err(error) => refused(&format!("cannot be changed, {}.", explain(&error))),
        Ok(loaded) if !loaded.whole => {
            refused("this file is too large to be changed here; use a program in the shell.")
        }
        Ok(loaded) => match seen {
            None => refused(include_str!("../../prompts/tools/read_first.md")),
            Some(seen) if *seen != Digest::of(&loaded.bytes) => {
                refused(include_str!("../../prompts/tools/changed_since.md"))
            }
            Some(_) => Standing::Known(loaded.bytes),
        },
    }
}

/// Put new bytes where `before` was (`None`: nothing). Refuses when something else is there by the time of the move.
pub(super) fn put(path: &Path, before: Option<&[u8]>, bytes: &[u8], most: u64) -> Result<Digest, String> {
    let unchanged = || match (before, load_resolved(path, most)) {
        (None, Err(error)) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        (Some(before), Ok(now)) if now.whole && now.bytes == before => Ok(()),
        _ => Err(io::Error::other("it changed in this very moment; read it again")),
    };
    let name = path.file_name().ok_or("this is not a file name")?;
    parent_of(path)
        .and_then(|dir| replace(&dir, Path::new(name), bytes, unchanged))
        .map(|()| Digest::of(bytes))
        .map_err(|error| {
            format!("{} could not be written: {}. It is as it was before.", shown_path(path), explain(&error))
        })
}

impl Write {
    /// The tool.
    pub fn new() -> Self {
        Self::kept_by(None)
    }

    /// The same, with a folder in which writing is somebody's business.
    pub fn kept_by(keeper: Option<Arc<dyn Keeper>>) -> Self {
        let spec = card(
            "Write",
            include_str!("../../prompts/tools/write.md"),
            &["file_path", "content"],
            json!({
                "file_path": { "type": "string" },
                "content": { "type": "string" },
            }),
        );
        Self { spec, keeper }
    }
}

impl Default for Write {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, input: &Value, dir: &Path) -> Effect {
        parse::<Input>(input).map_or(Effect::Nothing, |input| Effect::Writes(resolve(dir, input.file_path)))
    }

    /// A file that was not read, or changed since, is no question for the user.
    fn foresee<'a>(&'a self, _: &'a Value, bench: &'a Bench<'a>, may_look: bool) -> Pending<'a, Option<ToolOutcome>> {
        Box::pin(async move {
            let path = bench.approved_path().filter(|_| may_look)?.to_owned();
            let (seen, most) = (bench.seen.get(&path).cloned(), bench.limits.read_file_bytes);
            let looking = tokio::task::spawn_blocking(move || standing(&path, seen.as_ref(), most));
            match looking.await {
                Ok(Standing::Refused(why)) => Some(ToolOutcome::error(why)),
                _ => None,
            }
        })
    }

    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        match parse::<Input>(input) {
            Err(refusal) => at_once(refusal),
            Ok(input) => {
                let path = bench.approved_path().map_or_else(|| resolve(bench.dir, &input.file_path), Path::to_owned);
                let (seen, most) = (bench.seen.get(&path).cloned(), bench.limits.read_file_bytes);
                Box::pin(async move {
                    let looked = path.clone();
                    let looking = tokio::task::spawn_blocking(move || standing(&looked, seen.as_ref(), most));
                    let before = match looking.await {
                        Ok(before) => before,
                        Err(_) => return ToolOutcome::error("Writing stopped before it was done."),
                    };
                    let (before, verb) = match before {
                        Standing::Absent => (None, "Created"),
                        Standing::Known(bytes) => (Some(bytes), "Updated"),
                        Standing::Refused(why) => return ToolOutcome::error(why),
                    };
                    let done = in_words(verb, &path, before.as_deref(), &input.content);
                    let (bytes, occasion) = (input.content.into_bytes(), bench.occasion.clone());
                    let change = Replacement { path: path.clone(), before, bytes, occasion };
                    match keeper::replace(self.keeper.as_ref(), change, bench.memory, most).await {
                        Ok(kept) => kept.outcome(path, done),
                        Err(why) => ToolOutcome::error(why),
                    }
                })
            }
        }
    }
}

fn in_words(verb: &str, path: &Path, before: Option<&[u8]>, content: &str) -> String {
    let lines = counted(content.lines().count(), "line");
    let was = before
        .map_or_else(String::new, |before| format!(", {} before", String::from_utf8_lossy(before).lines().count()));
    format!("{verb} {} ({lines}{was}).", shown_path(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_since_the_last_look_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("f");
        std::fs::write(&path, "theirs").unwrap();
        for before in [None, Some(&b"ours"[..])] {
            let why = put(&path, before, b"new", 1_000).unwrap_err();
            assert!(why.contains("changed in this very moment"), "{why}");
            assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
        }
        assert_eq!(put(&path, Some(b"theirs"), b"new", 1_000), Ok(Digest::of(b"new")));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file is left");
    }
}
